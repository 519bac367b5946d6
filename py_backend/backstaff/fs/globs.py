r"""Glob patterns on workspace-relative paths: whole-path, anchored, case-sensitive, linear in time.

`*` and `?` stay within a name, `**` as a whole segment spans any number of them, `[ab]` `[!a]`
`[a-z]` are classes, `{a,b}` alternatives, `\` takes the next character as it is, also in a class;
a leading dot is like any other character, and so is a leading `!`. Every path is tried as `p` and
as `p/`, so `**/x/**` matches x itself. A `./` at the start changes nothing.

A bracket that belongs to no class stands for itself, as in a shell, if the pattern has as many `[`
as `]`: in `[[id]].ts` the class is `[[id]`, in `a[/]b` there is none, as no class holds a slash.

pathspec's pattern does the matching, bracex expands the braces. The regular expressions are ours:
those that pathspec makes of `*a*a*a*a*b` backtrack for minutes on a long name. In a glob everything
between two stars has a fixed length, so its leftmost match is as good as any, and is put into an
atomic group that is never tried again; the same holds for whole segments between two `**`.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from backstaff.fs.budget import Budget

if TYPE_CHECKING:
    from pathspec.pattern import RegexPattern

MAX_PATTERNS = 100
MAX_PATTERN_CHARACTERS = 1024
MAX_EXPANSIONS = 1000
MAX_EXPANDED_CHARACTERS = 32_768
MAX_ECHO = 200
"""Characters of a pattern in a message."""
TOGETHER = 4096
"""Names that are searched as one text: a mebibyte at most, as no other thread runs meanwhile."""
STRIDE = 16
"""Paths between two looks at the clock: to match one of 4 KB can take 10 milliseconds."""

_CLASS = r"\[[!^]?+\]?+(?:\\[^/]|[^\\\]/])*\]"
_TOKEN = re.compile(rf"\\(?P<escaped>.)|(?P<class>{_CLASS})|(?P<plain>[^\\])", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_SEGMENT = re.compile(rf"((?:\\[^/]|{_CLASS}|[^/\\])*)(\\?/|\Z|\\\Z)", re.DOTALL)
_MEMBER = re.compile(r"\\?(?P<first>.)(?:-\\?(?P<last>.))?", re.DOTALL)


class BadGlob(ValueError):
    """A pattern that cannot be used; the message names it and says why."""


@lru_cache(maxsize=64)
def compile_globs(patterns: tuple[str, ...]) -> "Globs":
    """The PATTERNS, ready to match. Raises `BadGlob`."""
    if len(patterns) > MAX_PATTERNS:
        raise BadGlob(f"there are {len(patterns)} patterns, more than {MAX_PATTERNS}")
    expanded = [(pattern, plain) for pattern in patterns for plain in _expanded(pattern)]
    if len(expanded) > MAX_EXPANSIONS:
        raise BadGlob(f"the braces stand for more than {MAX_EXPANSIONS} patterns")
    if sum(len(plain) for _, plain in expanded) > MAX_EXPANDED_CHARACTERS:
        raise BadGlob(f"the braces stand for more than {MAX_EXPANDED_CHARACTERS} characters")
    compiled = [(plain, _compiled(pattern, plain)) for pattern, plain in expanded]
    return Globs(
        [(_literal(plain), regex) for plain, regex in compiled],
        {_literal(_last_name(plain)) for plain, _ in compiled},
    )


class Globs:
    """Compiled patterns."""

    def __init__(
        self, single: Sequence[tuple[str, re.Pattern[str]]], in_names: Collection[str]
    ) -> None:
        """Match what any of SINGLE matches, each after a literal that is in all that it matches.

        One of the literals IN_NAMES is in the last name of whatever matches, unless a directory
        above it matches, too.
        """
        self._single = single
        self._in_names = in_names

    @cached_property
    def _whole(self) -> "RegexPattern":
        """All patterns in one, for a path and a slash.

        It matches `p/` or, but for the slash, `p`: so one look at `p/` tells both.
        """
        from pathspec.pattern import RegexPattern  # late: most starts never see a glob

        alternatives = "|".join(regex.pattern for _, regex in self._single)
        return RegexPattern(re.compile(rf"\A(?:{alternatives})/?\Z"), include=True)

    def among(self, prefix: str, names: Sequence[str], budget: Budget) -> AbstractSet[str]:
        """Which of NAMES match as `PREFIX + name`; PREFIX is empty or a directory and a slash.

        Only a name that holds what must be in it is tried, and most directories have none. Raises
        `DeadlineExceeded`.
        """
        matches_prefix = bool(prefix) and self._whole.match_file(prefix) is not None
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
        """Which of PATHS, by their places, match as they are: files need no slash at their end.

        A path is only tried where it holds what must be in it, which is a tenth of the work. Raises
        `DeadlineExceeded`.
        """
        found: set[int] = set()
        for literal, regex in self._single:
            matches = regex.fullmatch
            budget.check()
            tried = [number for number, path in enumerate(paths) if literal in path]
            checked = budget.checked(tried, STRIDE)
            found.update([number for number in checked if matches(paths[number])])
        return sorted(found)

    def match(self, path: str) -> bool:
        """Whether any pattern matches the relative PATH, written `a/b` without a slash at its end.

        The cost is linear in the length of the path for each pattern.
        """
        return self._whole.match_file(path + "/") is not None


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
    """Whether the PAIR, such as `{}`, opens and closes equally often in PATTERN, and in order."""
    depth = 0
    for character in _ESCAPE.sub("", pattern):
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return depth == 0


def _compiled(pattern: str, plain: str) -> re.Pattern[str]:
    """PLAIN, one of the expansions of PATTERN, as an expression for whole paths."""
    try:
        return re.compile(_regex(plain))
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        raise _bad(pattern, str(error)) from error


def _regex(pattern: str) -> str:
    alone = any(match["plain"] in ("[", "]") for match in _TOKEN.finditer(pattern))
    if alone and not _is_balanced(pattern, "[]"):
        raise ValueError("has unbalanced brackets")
    segments = list(_segments(pattern))
    blocks: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            blocks.append([])
        else:
            blocks[-1].append(_segment_regex(segment))
    first, *others = blocks
    if not others:
        return "/".join(first)
    *middle, last = others
    start = "".join(f"{segment}/" for segment in first)
    between = "".join(f"(?>(?:[^/]+/)*?{'/'.join(block)}/)" for block in middle if block)
    end = f"(?:[^/]+/)*?{'/'.join(last)}" if last else "(?s:.*)"
    return start + between + end


def _segments(pattern: str) -> Iterator[str]:
    """The parts between the slashes; a class holds none."""
    end = -1
    while end < len(pattern):
        match = _SEGMENT.match(pattern, end + 1)
        if match is None or match[2] == "\\":
            raise ValueError("ends with a backslash")
        yield match[1]
        end = match.end() - 1 if match[2] else match.end()


def _segment_regex(segment: str) -> str:
    """One segment: chunks between stars, each but the last at its leftmost place and final."""
    chunks = [""]
    for match in _TOKEN.finditer(segment):
        if match["plain"] == "*":
            chunks.append("")
        else:
            chunks[-1] += _token_regex(match)
    first, *rest = chunks
    if not rest:
        return first
    *middle, last = rest
    if not any(chunks):
        return "[^/]+"  # a name is never empty, so `src/*` does not match `src/`
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle if chunk) + f"[^/]*{last}"


def _literal(pattern: str) -> str:
    """The longest run of characters that whatever matches PATTERN has in one of its names."""
    runs = [""]
    for match in _TOKEN.finditer(pattern):
        plain = match["escaped"] or match["plain"]
        if plain is None or plain == "/" or match["plain"] in ("*", "?"):
            runs.append("")
        else:
            runs[-1] += plain
    return max(runs, key=len)


def _last_name(pattern: str) -> str:
    """The last segment of PATTERN that stands for one name; empty if there is none.

    What follows it (`**` and nothing) lets whatever is in a directory match that matches itself.
    """
    names = [segment for segment in _segments(pattern) if segment not in ("", "**")]
    return names[-1] if names else ""


def _token_regex(match: re.Match[str]) -> str:
    if match["class"]:
        return _class_regex(match["class"])
    if match["plain"] == "?":
        return "[^/]"
    return re.escape(match["escaped"] or match["plain"])


def _class_regex(text: str) -> str:
    negated = text[1] in "!^"
    members = text[2:-1] if negated else text[1:-1]
    if "[:" in members:
        raise ValueError("uses a named character class, which is not supported")
    ranges = "".join(_member_regex(match) for match in _MEMBER.finditer(members))
    return f"(?!/)[{'^' if negated else ''}{ranges}]"


def _member_regex(match: re.Match[str]) -> str:
    first, last = match["first"], match["last"]
    if last is None:
        return re.escape(first)
    if last < first:
        raise ValueError(f"has a range that runs backwards: {match[0]!r}")
    return f"{re.escape(first)}-{re.escape(last)}"


def _bad(pattern: str, reason: str) -> BadGlob:
    shown = pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + "..."
    return BadGlob(f"the pattern {shown!r} {reason}")
