"""Every lesson runs, has the shape of a lesson, and leads nowhere that does not exist."""

import copy
import json
import posixpath
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from nbclient import NotebookClient

from tests.browser.lab import copy_course
from tests.repository import committed_files, read_committed

LESSONS = [path for path in committed_files("course/*.ipynb") if re.match(r"course/\d\d-", path)]
SHAPED = [path for path in LESSONS if not path.startswith("course/00-")]
"""Lesson 00 is the door: it has no topic to predict, check and build."""

SECONDS = 30  # for the cells of one lesson

OPENING = ["Question", "Objectives", "What you need to know"]
CLOSING = [
    "Check yourself",
    "Claim check",
    "Now build it",
    "Key points",
    "Interview answer",
    "Sources",
]


@dataclass
class Section:
    """A heading and what stands below it, up to the next heading of any level."""

    level: int
    title: str
    text: str = ""
    code: list[str] = field(default_factory=list)


def sections(notebook: dict[str, Any]) -> list[Section]:
    found = [Section(0, "")]
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            found[-1].code.append(source)
            continue
        for line in re.sub(r"(?ms)^```.*?^```", "", source).splitlines():
            if heading := re.match(r"(#+) +(.+)", line):
                found.append(Section(len(heading[1]), heading[2]))
            else:
                found[-1].text += line + "\n"
    return found


def heading_problems(notebook: dict[str, Any]) -> list[str]:
    first, *rest = sections(notebook)
    levels = [section.level for section in rest]
    said = []
    if first.text.strip() or first.code or levels[:1] != [1] or levels.count(1) != 1:
        said.append("does not begin with its only heading of level 1")
    said += [
        f"jumps from level {before} to {section.level} at {section.title!r}"
        for before, section in zip(levels, rest[1:], strict=False)
        if section.level > before + 1
    ]
    return said


def shape_problems(notebook: dict[str, Any]) -> list[str]:
    """What a lesson lacks of the shape that all of them have."""
    chapters = [section for section in sections(notebook) if section.level == 2]
    titles = [section.title for section in chapters]
    opening = titles[: len(OPENING)]
    closing = [title.partition(":")[0] for title in titles[-len(CLOSING) :]]
    if (opening, closing) != (OPENING, CLOSING):
        return [f"has the chapters {titles}; a lesson opens with {OPENING}, ends with {CLOSING}"]
    said = []
    objectives = len(re.findall(r"(?m)^\d+\. ", chapters[1].text))
    if not 1 <= objectives <= 3:
        said.append(f"has {objectives} objectives, not 1 to 3")
    checks, claim, build, points, interview, sources = chapters[-len(CLOSING) :]
    if not any("quiz(" in code for code in checks.code):
        said.append("has no quiz under 'Check yourself'")
    if not claim.code:
        said.append("measures nothing under 'Claim check'")
    if "../exercises/" not in build.text:
        said.append("does not lead to an exercise under 'Now build it'")
    for listed in (points, sources):
        if len(re.findall(r"(?m)^- ", listed.text)) < 2:
            said.append(f"lists too little under {listed.title!r}")
    answer = re.sub(r"\*[^*]*\?\*", "", interview.text)
    if (sentences := len(re.findall(r"[.!?](?=\s|$)", answer))) != 2:
        said.append(f"has {sentences} sentences in its interview answer, not 2")
    return said + prediction_problems(notebook)


def prediction_problems(notebook: dict[str, Any]) -> list[str]:
    """Each prediction is asked once, in a cell of its own, and taken up in a later cell."""
    number = re.search(r"\d\d", sections(notebook)[1].title)
    asked: list[str] = []
    taken_up: list[str] = []
    said = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        asks = re.findall(r"\bpredict\(\s*\"([^\"]+)\"", source)
        recalls = re.findall(r"\brecall\(\s*\"([^\"]+)\"", source)
        said += [f"recalls {name!r} before it is asked" for name in recalls if name not in asked]
        if asks and recalls:
            said.append(f"asks {asks} where it shows the answer to {recalls}")
        asked += asks
        taken_up += recalls
    if not asked:
        said.append("asks for no prediction")
    said += [f"never takes up the prediction {name!r}" for name in {*asked} - {*taken_up}]
    said += [f"asks {name!r} twice" for name in {*asked} if asked.count(name) > 1]
    said += [
        f"names a prediction {name!r}, which does not begin with the lesson's number"
        for name in asked
        if number is None or not name.startswith(f"{number[0]}-")
    ]
    return said


def folded_problems(notebook: dict[str, Any]) -> list[str]:
    """JupyterLab shows the first line of a folded cell: it has to say what the cell is."""
    return [
        f"folds the cell {cell['id']!r}, whose first line is no comment that says what it is"
        for cell in notebook["cells"]
        if cell["metadata"].get("jupyter", {}).get("source_hidden")
        and not "".join(cell["source"]).startswith("# ")
    ]


def links(notebook: dict[str, Any]) -> list[tuple[str, str]]:
    """The words and the target of every link and image in the text."""
    text = "\n".join(section.text for section in sections(notebook))
    return re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", text)


def link_problems(path: str, notebook: dict[str, Any]) -> list[str]:
    exist = set(committed_files())
    said = []
    for words, target in links(notebook):
        parts = urlsplit(target)
        if len(words) < 3 or words.lower() in ("here", "this", "link", "click here"):
            said.append(f"calls the link to {target} {words!r}, which does not say where it leads")
        if parts.scheme or not parts.path:
            continue
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))
        if file not in exist:
            said.append(f"leads to {file}, which is not there")
    return said


def read(path: str) -> dict[str, Any]:
    return json.loads(read_committed(path))


def test_there_are_lessons():
    assert LESSONS[0] == "course/00-start-here.ipynb"
    assert SHAPED


@pytest.mark.parametrize("path", LESSONS)
def test_a_lesson_runs_from_top_to_bottom_in_time(path, tmp_path, monkeypatch):
    # The kernel of this environment, whatever the user has installed elsewhere.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("MANY_HEADS_HOME", str(tmp_path / "many-heads"))
    copy_course(tmp_path)
    file = tmp_path / path
    notebook = nbformat.read(file, as_version=4)
    run(notebook, file.parent)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source]
    assert all(cell.execution_count for cell in code)
    seconds = {cell.id: seconds_of(cell) for cell in code}
    assert sum(seconds.values()) < SECONDS, seconds


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run all cells; an error that no `raises-exception` announces is raised here."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()


def seconds_of(cell: nbformat.NotebookNode) -> float:
    times = cell.metadata.execution
    began, ended = times["iopub.execute_input"], times["shell.execute_reply"]
    parse = datetime.fromisoformat
    return (parse(ended) - parse(began)).total_seconds()


def test_an_error_that_is_not_announced_is_noticed(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(Exception, match="ZeroDivisionError"):
        run(notebook, tmp_path)
    notebook.cells[0].metadata["tags"] = ["raises-exception"]
    run(notebook, tmp_path)


@pytest.mark.parametrize("path", LESSONS)
def test_headings_and_folded_cells(path):
    notebook = read(path)
    assert heading_problems(notebook) + folded_problems(notebook) == []


@pytest.mark.parametrize("path", LESSONS)
def test_every_link_leads_somewhere_and_says_where(path):
    assert link_problems(path, read(path)) == []


@pytest.mark.parametrize("path", SHAPED)
def test_a_lesson_has_the_shape_of_a_lesson(path):
    assert shape_problems(read(path)) == []


def test_the_first_lesson_leads_to_every_other_and_to_every_exercise():
    targets = {target for _, target in links(read(LESSONS[0]))}
    exercises = committed_files("exercises/*/*.ipynb")
    wanted = {path.removeprefix("course/") for path in SHAPED} | {
        f"../{path}" for path in exercises
    }
    assert wanted - targets == set()


def cell_with(notebook: dict[str, Any], text: str) -> dict[str, Any]:
    return next(cell for cell in notebook["cells"] if text in "".join(cell["source"]))


def replaced(notebook: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    spoilt = copy.deepcopy(notebook)
    cell = cell_with(spoilt, old)
    cell["source"] = ["".join(cell["source"]).replace(old, new)]
    return spoilt


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("## Question", "## The question", "has the chapters"),
        ("## Sources", "## Sources\n\n## Appendix", "has the chapters"),
        ("\n1. ", "\n1. one more;\n1. ", "has 4 objectives"),
        ("quiz(", "print(", "has no quiz"),
        ("../exercises/", "../solutions/", "does not lead to an exercise"),
        ("predict(", "print(", "recalls"),
        ('recall("', 'print("', "never takes up"),
        ("## Interview answer", "## Interview answer\n\nOne. Two.", "has 4 sentences"),
    ],
)
def test_a_lesson_out_of_shape_is_noticed(old, new, said):
    problems = shape_problems(replaced(read(SHAPED[0]), old, new))
    assert problems[0].startswith(said)


def test_other_problems_are_noticed():
    notebook = read(SHAPED[0])
    assert heading_problems(replaced(notebook, "## Sources", "#### Sources"))
    assert heading_problems(replaced(notebook, "## Sources", "# Sources"))
    assert folded_problems(replaced(notebook, "# A question for you", "question = "))
    (missing,) = link_problems(SHAPED[0], replaced(notebook, "00-start-here", "00-not-here"))
    assert missing == "leads to course/00-not-here.ipynb, which is not there"
    (unclear,) = link_problems(SHAPED[0], replaced(notebook, "[Start here]", "[here]"))
    assert unclear.startswith("calls the link to 00-start-here.ipynb 'here'")
    (no_words,) = link_problems(SHAPED[0], replaced(notebook, "[Start here]", "[]"))
    assert no_words.startswith("calls the link")
