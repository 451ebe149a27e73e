"""Whose each file of a source is: what the platform or the instructor wrote decides.

A path begins with that and ends with what the student chose. So the outermost folder that can be a
student's, or that a platform has named, says whose a file is, and what is further in says nothing,
least of all the inside of a zip. Where the outermost may be no student's, nothing is guessed.
"""

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from autograder.grading.roster import squashed
from autograder.grading.sources import Found
from autograder.grading.submitters import (
    Submitter,
    from_file_name,
    name_in,
    on_platform,
    without_serial,
)

GENERIC = {"exercises", "submitted", "submissions", "solutions", "source", "release", "many-heads"}
NOBODY = (
    "its name does not say whose it is: put it into a folder with the student's name, or name it "
    "STUDENT_{notebook}.ipynb"
)
AROUND = (
    "{outer} may be a student's folder, or one around {inner}'s: if it is no student's, collect "
    "from {outer} itself (unpack a zip first), else give a roster that knows {outer}"
)
WITHIN = (
    "{outer} is no name in the roster, and {inner} in it is: name {outer} as the student it is of, "
    "or collect from {outer} itself if it is no student's"
)
DOWNLOAD = (
    "{outer} looks like a download with the work of several students ({inner}): collect from "
    "{outer} itself"
)


@dataclass(frozen=True)
class _Level:
    """A folder on a path that may be a student's, or a zip that may.

    at: which of the path's parts it is. name: without what no name of a student has.
    """

    at: int
    name: str


@dataclass(frozen=True)
class _Place:
    """A file, and what its path may say.

    levels: the folders and the zip on its way that may be a student's, the outermost first.
    on_platform: the outermost part that a platform seems to have named, and what it says.
    """

    found: Found
    levels: tuple[_Level, ...]
    on_platform: tuple[int, Submitter] | None


def submitters_of(
    found: Sequence[Found], assignment: str, notebook: str, known: Set[str] = frozenset()
) -> list[Submitter | str]:
    """Whose each file of a source is; or why that is not clear, "" where nobody need know.

    known: names that students go by, squashed.
    """
    places = [_place(one, assignment, notebook) for one in found]
    paths = [place for place in places if not place.found.escapes]
    counted = [each for each in paths if each.found.is_notebook or each.found.inner] or paths
    around = _shared([_folders(place.found) for place in counted])
    everywhere = all(place.on_platform for place in counted)
    owners = {_owner(place.on_platform[1]) for place in counted if place.on_platform}

    def by_platform(place: _Place) -> Submitter | str | None:
        if place.found.escapes:
            return ""
        if place.on_platform is None:
            return None
        at, submitter = place.on_platform
        outer = [level.name for level in place.levels if level.at < at]
        if not (at <= around or everywhere) or any(squashed(name) in known for name in outer):
            return None  # a student's own folder, and what the student called things in it
        if outer and len(owners) == 1:
            return AROUND.format(outer=outer[0], inner=submitter.name)
        return submitter

    told = [by_platform(place) for place in places]
    plain = [place for place, who in zip(places, told, strict=True) if who is None]
    others = iter(_plain(plain, notebook, known))
    return [next(others) if who is None else who for who in told]


def _place(one: Found, assignment: str, notebook: str) -> _Place:
    levels = []
    for at, part in enumerate(_folders(one)):
        packed = one.inner and at == one.within - 1
        name = name_in(part, notebook)[0] if packed else part
        if name and (packed or (part != assignment and part.lower() not in GENERIC)):
            levels.append(_Level(at, name))
    each = ((at, on_platform(one, at)) for at in range(len(one.outside)))
    first = next(((at, who) for at, who in each if who), None)
    return _Place(one, tuple(levels), first)


def _folders(one: Found) -> tuple[str, ...]:
    """The folders around a file; a zip in the source is one, and the last that is looked at."""
    return one.outside if one.inner else one.outside[:-1]


def _shared(paths: Sequence[Sequence[str]]) -> int:
    """How many folders around everything all paths share, at most all but one of each path's."""
    shared = 0
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        shared += 1
    return min([shared, *(max(0, len(each) - 1) for each in paths)])


def _owner(submitter: Submitter) -> tuple[str, str]:
    return submitter.platform, submitter.number or submitter.name


def _plain(places: Sequence[_Place], notebook: str, known: Set[str]) -> list[Submitter | str]:
    """Whose each file of a plain folder or archive is: of the folder with the student's name.

    Folders around everything are left out of account, and so are those of the course. Where all
    notebooks lie in one folder, their own names tell; a zip's name tells as a folder's does.
    """
    counted = [each for each in places if each.found.is_notebook or each.found.inner]
    names = [[level.name for level in place.levels] for place in counted]
    around = _shared(names)
    wrapped = names[0][:around] if names else []
    level = next((at for at, name in enumerate(wrapped) if squashed(name) in known), None)
    if level is None and _is_flat(counted, notebook, known):
        places = [
            replace(place, levels=tuple(each for each in place.levels if _is_packed(place, each)))
            for place in places
        ]
        level = 0
    elif level is None and wrapped and len({each[around] for each in names}) == 1:
        why = AROUND.format(outer=wrapped[-1], inner=names[0][around])
        return [why for _ in places]
    level = _level_of(names, around, known) if level is None else level
    pairs = [
        (place, place.levels[min(level, len(place.levels) - 1)] if place.levels else None)
        for place in places
    ]
    claims: dict[tuple[str, ...], list[tuple[str, bool]]] = defaultdict(list)
    for place, own in pairs:
        if own is not None:
            claims[place.found.outside[: own.at + 1]] += _claims(place, own.at, known)
    whose: list[Submitter | str] = []
    for place, own in pairs:
        if own is None:
            who = from_file_name(place.found.path, notebook)
            whose.append(who or NOBODY.format(notebook=notebook))
        else:
            inside = claims[place.found.outside[: own.at + 1]]
            outer = place.found.outside[own.at]
            why = "" if squashed(own.name) in known else _why_unclear(outer, inside, known)
            whose.append(why or _of_level(place, own, notebook))
    return whose


def _is_packed(place: _Place, level: _Level) -> bool:
    return place.found.inner and level.at == place.found.within - 1


def _is_flat(counted: Sequence[_Place], notebook: str, known: Set[str]) -> bool:
    """Whether all lies in one folder, which is no student's, with names that tell more."""
    files = {place.found.outside for place in counted}
    one_folder = len(files) > 1 and len({file[:-1] for file in files}) == 1
    if not one_folder or any(
        squashed(level.name) in known
        for level in counted[0].levels
        if not _is_packed(counted[0], level)
    ):
        return False
    return all(PurePosixPath(file[-1]).stem.lower() != notebook.lower() for file in files)


def _level_of(names: Sequence[Sequence[str]], around: int, known: Set[str]) -> int:
    """How far in the students' folders lie: at the first place where the paths differ.

    Further in only where most of the folders there, as those of groups, hold a name of the roster:
    what one folder holds may be what one student wrote.
    """
    tops: dict[str, list[Sequence[str]]] = defaultdict(list)
    for each in names:
        if len(each) > around:
            tops[each[around]].append(each)
    if any(squashed(top) in known for top in tops):
        return around
    for level in range(around + 1, max(map(len, names), default=0)):
        bearing = sum(
            any(len(each) > level and squashed(each[level]) in known for each in paths)
            for paths in tops.values()
        )
        if 2 * bearing > len(tops):
            return level
    return around


def _claims(place: _Place, at: int, known: Set[str]) -> list[tuple[str, bool]]:
    """Names of students further in on a path, and of each whether a platform seems to say it."""
    parts = place.found.path.parts
    prefixed = (on_platform(place.found, further) for further in range(at + 1, len(parts)))
    first = next((who for who in prefixed if who), None)
    bare = (part[:-4] if part.lower().endswith(".zip") else part for part in parts[at + 1 : -1])
    named = [(name, False) for name in bare if squashed(name) in known]
    return [(first.name, True), *named] if first else named


def _why_unclear(outer: str, inside: Sequence[tuple[str, bool]], known: Set[str]) -> str:
    """Why a folder or zip whose name is none in the roster may be no student's, or ""."""
    several = sorted({theirs for theirs, prefixed in inside if prefixed})
    if len(several) > 1:
        return DOWNLOAD.format(outer=outer, inner=", ".join(several[:3]))
    named = [theirs for theirs, _ in inside if squashed(theirs) in known]
    return WITHIN.format(outer=outer, inner=named[0]) if named else ""


def _of_level(place: _Place, level: _Level, notebook: str) -> Submitter:
    own, serial = without_serial(place.found.path.name, notebook)
    parts = place.found.outside[: level.at + 1]
    if _is_packed(place, level):
        serial = name_in(parts[-1], notebook)[1] or serial
        parts = parts[:-1]
    return Submitter(level.name, own, PurePosixPath(*parts), serial=serial)
