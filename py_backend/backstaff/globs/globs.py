r"""Glob patterns on workspace-relative paths: whole-path, anchored, case-sensitive, linear in time.

`*` and `?` stay within a name, `**` as a whole segment spans any number of them, `[ab]` `[!a]`
`[a-z]` are classes, `{a,b}` alternatives, `\` takes the next character as it is, also in a class;
a leading dot is like any other character, and so is a leading `!`. Every path is tried as `p` and
as `p/`, so `**/x/**` matches x itself. A `./` at the start changes nothing.

A class also matches its own text, unless its name has a star: `app/[id]/page.tsx` matches the file
of that path, as routers of the web have it, beside `app/i/page.tsx`.

A bracket that belongs to no class stands for itself, as in a shell, if the pattern has as many `[`
as `]`: in `[[id]].ts` the class is `[[id]`, in `a[/]b` there is none, as no class holds a slash.

bracex expands the braces. The expressions are made of tokens (`globs.wildcards`), and none of them
backtracks.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from backstaff.budget import Budget
from backstaff.globs.wildcards import (
    ANY,
    REST,
    SLASH,
    SPAN,
    STAR,
    Token,
    literal,
    longest_literal,
    regex,
)

MAX_PATTERNS = 100
MAX_PATTERN_CHARACTERS = 1024
MAX_EXPANSIONS = 1000
MAX_EXPANDED_CHARACTERS = 32_768
MAX_ECHO = 200
"""Maximum number of characters of a pattern in a message."""
STRIDE = 16
"""Number of paths between two looks at the clock: one of 4 KB can take 10 milliseconds."""

_CLASS = r"\[[!^]?+\]?+(?:\\[^/]|[^\\\]/])*\]"
_TOKEN = re.compile(rf"\\(?P<escaped>.)|(?P<class>{_CLASS})|(?P<plain>[^\\])", re.DOTALL)
_SEGMENT = re.compile(rf"((?:\\[^/]|{_CLASS}|[^/\\])*)(\\?/|\Z|\\\Z)", re.DOTALL)
_MEMBER = re.compile(r"\\?(?P<first>.)(?:-\\?(?P<last>.))?", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)


class BadGlob(ValueError):
    """A pattern that cannot be used; the message names it and says why."""


@lru_cache(maxsize=16)  # each can take 600 kB
def compile_globs(patterns: tuple[str, ...]) -> "Globs":
    """The `patterns`, ready to match. Raises `BadGlob`."""
    if len(patterns) > MAX_PATTERNS:
        raise BadGlob(f"there are {len(patterns)} patterns, more than {MAX_PATTERNS}")
    expanded = [(pattern, plain) for pattern in patterns for plain in _expanded(pattern)]
    if len(expanded) > MAX_EXPANSIONS:
        raise BadGlob(f"the braces stand for more than {MAX_EXPANSIONS} patterns")
    if sum(len(plain) for _, plain in expanded) > MAX_EXPANDED_CHARACTERS:
        raise BadGlob(f"the braces stand for more than {MAX_EXPANDED_CHARACTERS} characters")
    return Globs([_compiled(pattern, plain) for pattern, plain in expanded])


@dataclass(frozen=True, slots=True, eq=False)
class Globs:
    """Compiled patterns: of each, a literal that stands in all matching paths, and its regex."""

    patterns: Sequence[tuple[str, re.Pattern[str]]]

    def match(self, path: str) -> bool:
        """Return whether any pattern matches the relative `path`, such as `a/b`.

        The cost is linear in the length of the path for each pattern.
        """
        return any(expression.match(path + "/") for _, expression in self.patterns)

    def among(self, prefix: str, names: Sequence[str], budget: Budget) -> set[str]:
        """The `names` that match as `PREFIX + name`. `prefix` is empty or a directory and a slash.

        Raises `DeadlineExceeded`.
        """
        matching = self.files([f"{prefix}{name}/" for name in names], budget)
        return {names[number] for number in matching}

    def files(self, paths: Sequence[str], budget: Budget) -> list[int]:
        """The positions in `paths` of the files that match. Raises `DeadlineExceeded`.

        Only a path that holds the literal of a pattern is tried, which is a tenth of the work.
        """
        matching: set[int] = set()
        for part, expression in self.patterns:
            budget.check()
            tried = [(number, path) for number, path in enumerate(paths) if part in path]
            checked = budget.checked(tried, STRIDE)
            matching.update([number for number, path in checked if expression.match(path)])
        return sorted(matching)


def _expanded(pattern: str) -> Sequence[str]:
    import bracex  # most starts never see a glob

    plain = pattern.removeprefix("./")
    if not plain:
        raise BadGlob("a pattern is empty")
    if "\0" in pattern:
        raise _bad(pattern, "holds a NUL character")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise _bad(pattern, f"is longer than {MAX_PATTERN_CHARACTERS} characters")
    if not _is_balanced(pattern, "{}"):
        raise _bad(pattern, "has unbalanced braces")
    try:
        return bracex.expand(plain, keep_escapes=True, limit=MAX_EXPANSIONS)
    except (bracex.ExpansionLimitException, RecursionError) as error:
        raise _bad(pattern, f"stands for more than {MAX_EXPANSIONS} patterns") from error


def _is_balanced(pattern: str, pair: str) -> bool:
    """Return whether the `pair`, such as `{}`, is balanced in `pattern`."""
    depth = 0
    for character in _ESCAPE.sub("", pattern):
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return depth == 0


def _compiled(pattern: str, plain: str) -> tuple[str, re.Pattern[str]]:
    """Return the literal and the regex of `plain`, one of the expansions of `pattern`.

    The regex matches paths with or without a slash at their end.
    """
    alone = any(match["plain"] in ("[", "]") for match in _TOKEN.finditer(plain))
    if alone and not _is_balanced(plain, "[]"):
        raise _bad(pattern, "has unbalanced brackets")
    try:
        tokens = list(_tokens(plain))
        return longest_literal(tokens), re.compile(rf"\A(?:{regex(tokens)})/?\Z")
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        raise _bad(pattern, str(error)) from error


def _tokens(glob: str) -> Iterator[Token]:
    segments = list(_segments(glob))
    for number, segment in enumerate(segments, 1):
        last = number == len(segments)
        if segment == "**":
            yield REST if last else SPAN
            continue
        if segment and not segment.strip("*"):
            yield ANY  # a name is never empty, so `src/*` does not match `src/`
        parts = list(_TOKEN.finditer(segment))
        has_star = any(match["plain"] == "*" for match in parts)
        for match in parts:
            if match["class"]:
                # Where a star precedes, no chunk may have two lengths (`globs.wildcards`).
                itself = "" if has_star else f"{re.escape(match['class'])}|"
                yield Token(f"(?:{itself}{_class_regex(match['class'])})")
            elif match["plain"] == "*":
                yield STAR
            elif match["plain"] == "?":
                yield ANY
            else:
                yield literal(match["escaped"] or match["plain"])
        if not last:
            yield SLASH


def _segments(glob: str) -> Iterator[str]:
    """Yield the parts between the slashes; a class holds none."""
    end = -1
    while end < len(glob):
        match = _SEGMENT.match(glob, end + 1)
        if match is None or match[2] == "\\":
            raise ValueError("ends with a backslash")
        yield match[1]
        end = match.end() - 1 if match[2] else match.end()


def _class_regex(text: str) -> str:
    """The expression for a class such as `[!a-z_]`."""
    negated = text[1] in "!^"
    members = text[2:-1] if negated else text[1:-1]
    if "[:" in members:
        raise ValueError("uses a named character class, which is not supported")
    ranges = ""
    for match in _MEMBER.finditer(members):
        first, last = match["first"], match["last"]
        if last is not None and last < first:
            raise ValueError(f"has a range that runs backwards: {match[0]!r}")
        ranges += re.escape(first) + (f"-{re.escape(last)}" if last else "")
    return f"(?!/)[{'^' if negated else ''}{ranges}]"


def _bad(pattern: str, reason: str) -> BadGlob:
    shown = pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + "..."
    return BadGlob(f"the pattern {shown!r} {reason}")
