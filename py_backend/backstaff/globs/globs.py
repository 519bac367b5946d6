r"""Glob patterns on workspace-relative paths: whole-path, anchored, case-sensitive, linear in time.

`*` and `?` stay within a name, `**` as a whole segment spans any number of them, `[ab]` `[!a]`
`[a-z]` are classes, `{a,b}` alternatives, `\` takes the next character as it is, also in a class;
a leading dot is like any other character, and so is a leading `!`. Every path is tried as `p` and
as `p/`, so `**/x/**` matches x itself. A `./` at the start changes nothing.

A class also matches its own text, unless its name has a star: `app/[id]/page.tsx` matches the file
of that path, as routers of the web have it, beside `app/i/page.tsx`.

A bracket that belongs to no class stands for itself, as in a shell, if the pattern has as many `[`
as `]`: in `[[id]].ts` the class is `[[id]`, in `a[/]b` there is none, as no class holds a slash.

pathspec decides which of several patterns match, and bracex expands the braces. The expressions are
ours, because pathspec's backtrack for minutes (`globs.wildcards`).
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING

from backstaff.budget import Budget

if TYPE_CHECKING:  # pathspec takes 40 ms to load, and most starts never see a glob
    from backstaff.globs.glob_pattern import GlobPattern

MAX_PATTERNS, MAX_PATTERN_CHARACTERS = 100, 1024
MAX_EXPANSIONS, MAX_EXPANDED_CHARACTERS = 1000, 32_768
MAX_ECHO = 200
"""Maximum number of characters of a pattern in a message."""
TOGETHER = 4096
"""Maximum number of names in one text: a mebibyte, because no other thread runs meanwhile."""
STRIDE = 16
"""Number of paths between two looks at the clock: one of 4 KB can take 10 milliseconds."""


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


class Globs:
    """Compiled patterns: a path matches if any of them does."""

    def __init__(self, patterns: Sequence["GlobPattern"]) -> None:
        from pathspec import PathSpec

        self._patterns = patterns
        self._spec = PathSpec(patterns, backend="simple")
        self._in_names = {pattern.name_literal for pattern in patterns}

    def match(self, path: str) -> bool:
        """Return whether any pattern matches the relative `path`, such as `a/b`."""
        return self._spec.match_file(path + "/")

    def among(self, prefix: str, names: Sequence[str], budget: Budget) -> AbstractSet[str]:
        """The `names` that match as `PREFIX + name`. `prefix` is empty or a directory and a slash.

        Only a name that holds one of the literals is tried, and most directories have none. Raises
        `DeadlineExceeded`.
        """
        matches_prefix = bool(prefix) and self._spec.match_file(prefix)
        found: set[str] = set()
        for first in range(0, len(names), TOGETHER):
            budget.check()
            tried = names[first : first + TOGETHER]
            if not matches_prefix:
                together = "\n".join(tried)
                literals = [literal for literal in self._in_names if literal in together]
                tried = [name for name in tried if any(map(name.__contains__, literals))]
            checked = budget.checked(tried, STRIDE)
            found.update(name for name in checked if self.match(prefix + name))
        return found

    def files(self, paths: Sequence[str], budget: Budget) -> list[int]:
        """The positions in `paths` of the files that match. Raises `DeadlineExceeded`.

        Only a path that holds the literal of a pattern is tried, which is a tenth of the work.
        """
        found: set[int] = set()
        for pattern in self._patterns:
            matches, literal = pattern.regex.match, pattern.literal
            budget.check()
            tried = [(number, path) for number, path in enumerate(paths) if literal in path]
            checked = budget.checked(tried, STRIDE)
            found.update([number for number, path in checked if matches(path)])
        return sorted(found)


def _expanded(pattern: str) -> Sequence[str]:
    import bracex

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
    for character in re.sub(r"(?s)\\.", "", pattern):
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return depth == 0


def _compiled(pattern: str, plain: str) -> "GlobPattern":
    from backstaff.globs.glob_pattern import TOKEN, GlobPattern

    alone = any(match["plain"] in ("[", "]") for match in TOKEN.finditer(plain))
    if alone and not _is_balanced(plain, "[]"):
        raise _bad(pattern, "has unbalanced brackets")
    try:
        return GlobPattern(plain)
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        raise _bad(pattern, str(error)) from error


def _bad(pattern: str, reason: str) -> BadGlob:
    shown = pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + "..."
    return BadGlob(f"the pattern {shown!r} {reason}")
