"""The outline of a text in a known language: its definitions, their lines and names around them."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.structure.headings import HEADINGS, sections
from backstaff.structure.languages import LANGUAGES, language_of
from backstaff.structure.walker import Block, Walk

_TEST = re.compile(  # in the lines from a test's first to its name; it has `est`, `F` or `B`
    r"[mfdc(#@[](?:(?<=\bm)od tests?\b|(?<=\bf)unc (?:Test|Benchmark|Fuzz)[A-Z_]|(?<=\bd)ef test_"
    r"|(?<=\bc)lass Test[A-Z]|(?<=\()ert-deftest\b|(?<=#)\[cfg\(test\)|(?<=#)\[(?:\w+::)?test\b"
    r"|(?<=@)(?:Parameterized)?Test\b|(?<=\[)(?:Test|Fact)\b)"
)
_JOINTS = re.compile(r"::|[.#/:]|\[[\"']?|[\"']?\]")


class Definition(NamedTuple):
    """A definition. Lines count from 1."""

    name: str
    kind: str  # the language's own word, or "function"
    line: int  # the line of the name
    first_line: int  # the first one of the comments and decorators above it
    last_line: int
    depth: int
    parent: int  # the number of the definition around it, or -1
    qualified: str  # the name with those around it: `Server.run`
    text: str  # its own line, without a comment
    is_test: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a text, in the order of their lines, and the name of its language."""

    language: str
    definitions: Sequence[Definition]
    problem: str = ""  # why they are not known: `page.js` "took too long"
    comments: Sequence[tuple[int, int]] = ()  # the first and the last line of each run of them

    def in_comment(self, line: int) -> bool:
        """Return True if `line` is within a comment or a docstring on lines of its own."""
        at = bisect_right(self.comments, line, key=itemgetter(0)) - 1
        return at >= 0 and line <= self.comments[at][1]

    def around(self, line: int) -> Definition | None:
        """Return the innermost definition that `line` is in."""
        at = bisect_right(self.definitions, line, key=attrgetter("first_line")) - 1
        while at >= 0 and self.definitions[at].last_line < line:
            at = self.definitions[at].parent
        return self.definitions[at] if at >= 0 else None

    def above(self, definition: Definition) -> list[Definition]:
        """Return the definitions around `definition`, the outermost first."""
        result = []
        while definition.parent >= 0:
            definition = self.definitions[definition.parent]
            result.append(definition)
        return result[::-1]

    def named(self, symbol: str) -> list[Definition]:
        """Return the definitions whose qualified name is `symbol` or ends with it, part by part."""
        parts, every = names_in(symbol) or [symbol], self.definitions
        ends = [one for one in every if names_in(one.qualified)[-len(parts) :] == parts]
        return ends or [one for one in every if symbol in (one.name, one.qualified)]


def names_in(symbol: str) -> list[str]:
    """Return the names that `symbol` joins by `.`, `::`, `#`, `/` or brackets."""
    return [part for part in _JOINTS.split(symbol) if part]


def outline(text: str, path: str, budget: Budget) -> Outline | None:
    """Return the outline of `text`, the file `path`, or None. Raises as `budget` does."""
    if not (language := language_of(path, text)):
        return None
    text = text.removeprefix("\ufeff")
    if language in HEADINGS:
        return Outline(language, _definitions(sections(text, language), ()))
    walk = Walk(text, LANGUAGES[language])
    found = _definitions(walk.run(budget), walk.code.bodies)
    return Outline(language, found, comments=walk.comments())


def _definitions(found: Sequence[Block], lines: Sequence[str]) -> list[Definition]:
    result, parent = list[Definition](), -1
    for number, block in enumerate(found):
        while parent >= 0 and found[parent].last < block.line:
            parent = result[parent].parent
        is_impl = block.kind == "impl"  # a method of Go is in its receiver
        name = (is_impl and block.owner) or block.name
        around = (not is_impl and block.owner) or (result[parent].qualified if parent >= 0 else "")
        qualified = f"{around}.{name}" if around else name
        depth = result[parent].depth + 1 if parent >= 0 else 0
        at = block.line, block.first, block.last, depth, parent
        above = "\n".join(lines[block.first - 1 : block.line])
        is_test = ("est" in above or "F" in above or "B" in above) and bool(_TEST.search(above))
        result.append(Definition(block.name, block.kind, *at, qualified, block.text, is_test))
        parent = number
    return result
