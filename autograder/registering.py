"""How the parameters of a module differ from those it should have, in a sentence.

Pure: compares two lists as `module_probing.list_parameters` writes them, a line for each.
"""

import re

from autograder.declaring import NO_MODULE

LINE = re.compile(
    r"(?P<name>\S+) (?P<shape>\(.*?\))(?:, the same as (?P<twin>\S+?))?(?P<frozen>, frozen)?$"
)


def compare_parameters(name: str, seen: str, expected: str) -> tuple[str, str]:
    """What is wrong with a list of parameters, and the id of that mistake.

    name: of the learner's class.
    """
    if seen == NO_MODULE:
        said = f"{name} is not an nn.Module. Its first line should be `class {name}(nn.Module):`."
        return said, "not-a-module"
    have, wanted = _read(seen), _read(expected)
    missing = [key for key in wanted if key not in have]
    extra = [key for key in have if key not in wanted]
    if missing:
        return _missing_sentence(name, missing, extra, have), "missing-parameter"
    if extra:
        said = f"{name} has parameters that it should not have: {_listed(extra)}."
        return said, "extra-parameter"
    weights_first = sorted(have.items(), key=lambda item: item[0].endswith("bias"))
    for key, line in weights_first:
        if line["twin"]:
            said = f"{key} and {line['twin']} are one parameter; each should have its own numbers."
            return said, "shared-parameter"
        if line["frozen"]:
            return f"{key} does not require gradients, so it never learns.", "frozen-parameter"
        if line["shape"] != wanted[key]["shape"]:
            said = f"{key} has shape {line['shape']}, and should have {wanted[key]['shape']}."
            return said, "wrong-parameter-shape"
    return f"{name} has other parameters than it should have.", "missing-parameter"


def _read(listed: str) -> dict[str, dict[str, str | None]]:
    found = (LINE.match(line) for line in listed.splitlines())
    return {line["name"]: line.groupdict() for line in found if line is not None}


def _missing_sentence(
    name: str, missing: list[str], extra: list[str], have: dict[str, dict[str, str | None]]
) -> str:
    whole = dict.fromkeys(key.partition(".")[0] for key in missing)
    gone = [key for key in whole if not any(k.partition(".")[0] == key for k in have)]
    what = _listed(gone) if gone else _listed(missing)
    start = f"{name} has no {what} among its parameters"
    if not have:
        return f"{start}; it has no parameters at all."
    others = list(dict.fromkeys(key.rpartition(".")[0] or key for key in extra or have))
    return f"{start}. {'What it has instead' if extra else 'What it has'}: {_listed(others)}."


def _listed(names: list[str]) -> str:
    shown = names[:8] + ["…"] * (len(names) > 8)
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
