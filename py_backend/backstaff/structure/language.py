"""The facts about a language that its definitions are found by, and the expressions made of them.

Every expression sees at most `LONGEST` characters of a line, or walks the text once: the time is
linear in the text. Only single characters are repeated possessively, as Python before 3.11.5 loses
matches of groups that are.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property
from typing import NamedTuple

LONGEST = 400
"""Characters of a line that are looked at."""
CONTAINERS = frozenset(
    "class interface struct enum trait impl module mod namespace object protocol extension record"
    " union @interface type".split()
)
"""Kinds of definitions that have members."""
Match = Callable[..., re.Match[str] | None]


class Ends(Enum):
    """How a definition ends: at a closing bracket, at the word `end`, or by indentation alone."""

    BRACKET = "})]"
    WORD = "end"
    INDENT = ""


class Shape(IntEnum):
    """How a line defines a function without a keyword."""

    NONE = 0
    TYPED = 1
    """A type stands before the name: `static int name(...)`."""
    BARE = 2
    """Nothing but modifiers does: `async name(...) {`."""


class Long(NamedTuple):
    """How a token ends that may go on over lines: at the first `close` that is in no `escape`."""

    close: str
    escape: str = ""
    """A pattern."""

    def end(self, text: str, place: int) -> int:
        """Where the token of `text` ends that goes on at `place`; -1 if it does not."""
        if not self.escape:
            at = text.find(self.close, place)
            return at + len(self.close) if at >= 0 else -1
        found = re.compile(f"{self.escape}|{re.escape(self.close)}", re.DOTALL).finditer(
            text, place
        )
        return next((one.end() for one in found if one[0] == self.close), -1)


ESCAPED = r"\\."


@dataclass(frozen=True, kw_only=True, eq=False)
class Language:
    """What a definition looks like, how it ends, and what else hides or holds brackets and words.

    Each of `rules` is a pattern with two groups, the kind and the name. `modifiers` are words, and
    patterns without blanks, that may stand before any of them.
    """

    rules: tuple[str, ...]
    modifiers: str = ""
    ends: Ends = Ends.BRACKET

    shape: Shape = Shape.NONE
    at_top: bool = False
    """Functions by shape stand outside classes, too, and have a body there."""
    local: bool = False
    """Functions by shape stand within functions, too."""
    dotted: bool = False
    """The types before a name may hold dots and question marks."""
    anonymous: bool = False
    """`new Type() {` and constants of an enum have members."""
    leaves: bool = False
    """Functions hold no definitions."""
    template: bool = False
    """`template <...>` may stand before any definition."""
    need_body: frozenset[str] = frozenset()
    """Kinds that define nothing without a body."""
    flat: frozenset[str] = frozenset()
    """Kinds whose members may stand at their own indentation."""
    group: str = ""
    """A pattern for a member of a nameless definition; its group is the name: Go's `type (`."""
    owner: str = ""
    """A pattern that finds in the line of a definition, or its name, whom it belongs to."""

    comments: tuple[str, ...] = ("//",)
    """What begins a comment up to the end of the line."""
    comment_lines: tuple[str, ...] = ("//", "/*", "*/", "* ")
    """What begins a line that holds nothing but a comment."""
    long_comments: Mapping[str, Long] = field(default_factory=lambda: {"/*": Long("*/")})
    long_strings: Mapping[str, Long] = field(default_factory=dict)
    """Tokens that may go on over lines, by their beginnings."""
    quotes: str = "\"'"
    """What begins strings within a line."""
    long_quotes: Mapping[str, Long] = field(default_factory=dict)
    """Those of them that may go on over lines."""
    resumes: bool = False
    """A definition at the margin shows that such a quote was none, such as one in a comment."""
    here_document: str = ""
    opaque: str = ""
    """A token in which quotes and other marks mean nothing, such as a regular expression."""
    last_line: str = ""
    """The line after which there is no code."""
    neutral: str = ""
    """Lines that say nothing about structure: preprocessor, labels."""
    above: str = ""
    """Lines that belong to the definition below them: decorators, attributes."""
    goes_on: str = ""
    """Beginnings of lines that go on with a definition at their own indentation."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The modifiers that are words."""
        return frozenset(self.modifiers.split())

    @cached_property
    def rule(self) -> Match:
        """Matches a line that a keyword makes a definition; the last two groups count."""
        before = f"(?:(?:{'|'.join(self.modifiers.split())})\\s++)*" if self.modifiers else ""
        return _matcher(f"{before}(?:{'|'.join(self.rules)})")

    @cached_property
    def is_neutral(self) -> Match:
        """Matches a line that is `neutral`."""
        return _matcher(self.neutral)

    @cached_property
    def is_above(self) -> Match:
        """Matches a line that belongs to what is below it."""
        return _matcher(self.above)

    @cached_property
    def is_going_on(self) -> Match:
        """Matches a line that goes on with the definition above it."""
        return _matcher(self.goes_on)

    @cached_property
    def is_group_member(self) -> Match:
        """Matches a member of a nameless definition."""
        return _matcher(self.group)

    @cached_property
    def token(self) -> Match:
        """Finds the next token that hides what is in it, or the end of the line."""
        parts = [
            r"\n",
            self.opaque,
            # Those of Perl and Ruby that begin with an equals sign begin a line.
            *(
                "(?<![^\n])" * (m[0] == "=") + re.escape(m)
                for m in sorted(self.long, key=len)[::-1]
            ),
            *(re.escape(mark) + r"[^\n]*+" for mark in self.comments),
            *(
                rf"{q}(?:[^{q}\\\n]|\\.){{0,400}}{q}?"
                for q in self.quotes
                if q not in self.long_quotes
            ),
        ]
        return re.compile("|".join(filter(None, parts))).search

    @cached_property
    def long(self) -> Mapping[str, Long]:
        """All tokens that may go on over lines, by their beginnings."""
        return {**self.long_comments, **self.long_strings, **self.long_quotes}


def _matcher(pattern: str) -> Match:
    return re.compile(pattern or r"(?!)").match
