"""The definitions of the fixtures by tree-sitter's grammars, and their pairs among ours.

`fixtures/answers.json` has them. A definition that tree-sitter may or may not count is optional.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from backstaff.structure.outline import Definition

FIXTURES = Path(__file__).parent / "fixtures"
ANSWERS = FIXTURES / "answers.json"


class Known(NamedTuple):
    """A definition by tree-sitter: `first` is the line of decorators, `head` that of the node."""

    name: str
    first: int
    head: int
    line: int
    last: int
    optional: bool


def plain(name: str) -> str:
    """Return the last part of `name`, without type parameters."""
    if "operator" in name:
        return "operator"
    name = name.strip().removeprefix("(setf ").strip("()[]").removeprefix("<<").lstrip("~")
    if name.isupper() is False and "(" in name:
        name = name.partition("(")[2].partition(",")[0] or name
    name = re.sub(r"<(?:[^<>]|<[^<>]*>)*>(?=::)", "", name)
    name = re.sub(r"<.*", "", name.strip().strip("\"'`")) or name
    return re.split(r"::|[.:#]", name.replace(" ", ""))[-1] or name


def pairs(ours: list[Definition], theirs: list[Known]) -> list[int | None]:
    """Return the index in `theirs` for each of `ours`: the same name, within its head."""
    by_name = defaultdict(list)
    for at, one in sorted(enumerate(theirs), key=lambda pair: pair[1].optional):
        by_name[plain(one.name)].append(at)
        by_name[f"impl {one.head}"].append(at)
    used = set[int]()
    result: list[int | None] = []
    for mine in ours:
        names = [plain(mine.name)] + [f"impl {mine.line}"] * (mine.kind == "impl")
        if mine.name.endswith(")"):  # a macro: TEST(suite, name)
            names += [plain(part) for part in mine.name.partition("(")[2][:-1].split(",")]
            names.append(plain(mine.name.partition("(")[0]))
        found = next(
            (
                at
                for name in names
                for at in by_name[name]
                if at not in used
                and theirs[at].first <= mine.line <= max(theirs[at].line, theirs[at].head)
            ),
            None,
        )
        if found is not None:
            used.add(found)
        result.append(found)
    return result
