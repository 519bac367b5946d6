"""The facts about a language by which its definitions are found, and the expressions made of them.

An expression sees at most `LONGEST` characters of a line, or walks the text once, so the time is
linear in the text. Only single characters are repeated possessively, because Python before 3.11.5
loses matches where groups are.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal, NamedTuple

LONGEST = 400
"""Maximum number of characters of a line that are looked at."""
CONTAINERS = frozenset(
    "class interface struct enum trait impl module mod namespace object protocol extension record"
    " union @interface type".split()
)
"""Kinds of definitions that have members."""
Match = Callable[..., re.Match[str] | None]


class Long(NamedTuple):
    """The end of a token that may go on over lines: the first `close` that is in no `escape`."""

    close: str
    escape: str = ""
    """A pattern."""

    def end(self, text: str, place: int) -> int:
        """Return the place where the token ends that goes on at `place`; -1 if it has no end."""
        if not self.escape:
            at = text.find(self.close, place)
            return at if at < 0 else at + len(self.close)
        pattern = f"{self.escape}|{re.escape(self.close)}"
        found = re.compile(pattern, re.DOTALL).finditer(text, place)
        return next((one.end() for one in found if one[0] == self.close), -1)


ESCAPED = r"\\."


@dataclass(frozen=True, kw_only=True, eq=False)
class Language:
    """The look of a definition, its end, and the tokens that hide brackets and words.

    Each of `rules` is a pattern with two groups, the kind and the name. `modifiers` are words and
    patterns, with blanks between them, that may stand before each of the rules.
    """

    files: str
    """Its files, by their extensions or whole names."""
    modes: str = ""
    """Interpreters and modes of Emacs that name the language in a first line."""
    rules: tuple[str, ...]
    modifiers: str = ""
    ends: Literal["bracket", "word", "indent"] = "bracket"
    """How a definition ends: at a closing bracket, at the word `end`, or by indentation alone."""

    bare: bool = False
    """Functions have no keyword, but modifiers at most: `async name(...) {`."""
    typed: bool = False
    """Functions have no keyword, but a type before the name: `static int name(...)`."""
    at_top: bool = False
    """Typed functions stand outside classes as well, and have a body there."""
    local: bool = False
    """Typed functions stand within functions as well."""
    anonymous: bool = False
    """`new Type() {` and constants of an enum have members."""
    flat: frozenset[str] = frozenset()
    """Kinds whose members may stand at their own indentation."""
    group: str = ""
    """A pattern for a member of a nameless definition, such as `type (`; its group is the name."""
    owner: str = ""
    """A pattern for the line of a definition; its group is the type that has the definition."""

    comments: tuple[str, ...] = ("//",)
    """Beginnings of comments that end with the line."""
    long: Mapping[str, Long] = field(default_factory=dict)
    """Comments and strings that may go on over lines, by their beginnings; `/*` goes with `//`."""
    quotes: str = "\"'"
    """Marks around strings that end with the line at the latest."""
    long_quotes: Mapping[str, Long] = field(default_factory=dict)
    """Quotes that may go on over lines."""
    braced: bool = False
    """Only a closing bracket or a definition ends a body, however its lines are indented."""
    resumes: bool = False
    """A quote with a definition at the margin before its end is none, such as one in a comment."""
    here_document: str = ""
    opaque: str = ""
    """A token in which quotes and other marks mean nothing, such as a regular expression."""
    neutral: str = ""
    """A pattern for lines without structure: preprocessor, labels."""
    above: str = ""
    """A pattern for lines that belong to the definition below: decorators, attributes."""
    goes_on: str = ""
    """A pattern for lines that continue a definition at their own indentation."""

    @cached_property
    def rule(self) -> Match:
        """Matches a line that a keyword makes a definition; the last two groups count.

        It matches a neutral line as well, but then no group.
        """
        before = f"(?:(?:{'|'.join(self.modifiers.split())})\\s++)*" if self.modifiers else ""
        return matcher(f"{self.neutral or '(?!)'}|{before}(?:{'|'.join(self.rules)})")

    @cached_property
    def modifier_words(self) -> frozenset[str]:
        """The parts of `modifiers`, to compare with words. A regexp among them equals no word."""
        return frozenset(self.modifiers.split())

    @cached_property
    def comment_lines(self) -> tuple[str, ...]:
        """The beginnings of lines that are comments. A line needs a blank at its end to compare."""
        lines = tuple(map(str.strip, self.comments))
        star = "* " if self.bare else "*"  # JavaScript has methods such as `*name() {`
        return (*lines, "/*", "*/", star) if "//" in lines else lines

    @cached_property
    def all_long(self) -> Mapping[str, Long]:
        """All tokens that may go on over lines, by their beginnings."""
        long = {**self.long, **self.long_quotes}
        return long | {"/*": Long("*/")} if "//" in self.comments else long

    @cached_property
    def token(self) -> Match:
        """Finds the next token that hides brackets and words, or the end of the line."""
        # Those of Perl and Ruby that begin with an equals sign begin a line.
        long = (
            "(?<![^\n])" * (mark[0] == "=") + re.escape(mark)
            for mark in sorted(self.all_long, key=len)[::-1]
        )
        comments = (re.escape(mark) + r"[^\n]*+" for mark in self.comments)
        quotes = set(self.quotes) - self.long_quotes.keys()
        strings = (rf"{q}(?:[^{q}\\\n]|\\.){{0,400}}{q}?" for q in quotes)
        parts = (r"\n", self.opaque, *long, *comments, *strings)
        return re.compile("|".join(filter(None, parts))).search


@cache
def matcher(pattern: str) -> Match:
    """Return the function that matches `pattern` at the beginning; "" matches nothing."""
    return re.compile(pattern or r"(?!)").match
