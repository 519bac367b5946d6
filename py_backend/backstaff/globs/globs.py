r"""Glob patterns on workspace-relative paths: whole-path, anchored, case-sensitive, linear in time.

`*` and `?` stay within a name, `**` as a whole segment spans any number of them, `[ab]` `[!a]`
`[a-z]` are classes, `{a,b}` alternatives, `\` takes the next character as it is, also in a class;
a leading dot is like any other character, and so is a leading `!`. Every path is tried as `p` and
as `p/`, so `**/x/**` matches x itself. A `./` at the start changes nothing.

A class also matches its own text, unless its name has a star: `app/[id]/page.tsx` matches the file
of that path, as routers of the web have it, beside `app/i/page.tsx`.

A bracket that belongs to no class stands for itself, as in a shell, if the pattern has as many `[`
as `]`: in `[[id]].ts` the class is `[[id]`, in `a[/]b` there is none, as no class holds a slash.

pathspec decides which of several patterns match, and bracex expands the braces; both are imported
when needed, as most starts see no glob. The expressions are ours: pathspec's backtrack for minutes.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.globs.wildcards import ANY, REST, SLASH, SPAN, SPANS, STAR, Token, literal, regex

MAX_PATTERNS, MAX_PATTERN_CHARACTERS = 100, 1024
MAX_EXPANSIONS, MAX_EXPANDED_CHARACTERS = 1000, 32_768
MAX_ECHO = 200  # characters of a pattern in a message
TOGETHER = 4096  # names in one text: a mebibyte, because no other thread runs meanwhile
STRIDE = 16  # paths between two looks at the clock: one of 4 KB can take 10 milliseconds

_PART = re.compile(r"\\(.)|(\[[!^]?+\]?+(?:\\.|[^\\\]])*\])|(.)", re.DOTALL)
"""Matches an escaped character, a class, or a plain character, in a name of a pattern."""
_MEMBER = re.compile(r"\\?(.)(?:-\\?(.))?", re.DOTALL)


class BadGlob(ValueError):
    """A pattern that cannot be used; the message names it and says why."""


class Plain(NamedTuple):
    """A pattern without braces, to be matched against a path and a slash."""

    regex: re.Pattern[str]
    literal: str  # stands in each path that matches
    name_literal: str  # in its last name, unless a directory above that matches, too


@lru_cache(maxsize=16)  # each can take 600 kB
def compile_globs(patterns: tuple[str, ...]) -> "Globs":
    """The `patterns`, ready to match. Raises `BadGlob`."""
    if len(patterns) > MAX_PATTERNS:
        raise BadGlob(f"there are {len(patterns)} patterns, more than {MAX_PATTERNS}")
    if not all(pattern.removeprefix("./") for pattern in patterns):
        raise BadGlob("a pattern is empty")
    plain, count, characters = list[Plain](), 0, 0
    for pattern in patterns:
        try:
            globs = _expanded(pattern.removeprefix("./"))
            count, characters = count + len(globs), characters + sum(map(len, globs))
            if count <= MAX_EXPANSIONS and characters <= MAX_EXPANDED_CHARACTERS:
                plain += map(_compiled, globs)
        except ValueError as error:
            shown = pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + "..."
            raise BadGlob(f"the pattern {shown!r} {error}") from error
    if len(plain) < count:
        most = f"{MAX_EXPANSIONS} patterns or {MAX_EXPANDED_CHARACTERS} characters"
        raise BadGlob(f"the braces stand for more than {most}")
    return Globs(plain)


class Globs:
    """Compiled patterns: a path matches if any of them does."""

    def __init__(self, patterns: Sequence[Plain]) -> None:
        from pathspec import PathSpec, RegexPattern  # not from its modules: threads could deadlock

        self._patterns, self._in_names = patterns, {one.name_literal for one in patterns}
        each = [RegexPattern(one.regex, include=True) for one in patterns]
        self._spec = PathSpec(each, backend="simple")

    def match(self, path: str) -> bool:
        """Return whether any pattern matches the relative `path`, such as `a/b`."""
        return self._spec.match_file(path + "/")

    def among(self, prefix: str, names: Sequence[str], budget: Budget) -> set[str]:
        """The `names` that match as `PREFIX + name`. `prefix` is empty or a directory and a slash.

        Only names with one of the literals, which most lack, are tried. Raises `DeadlineExceeded`.
        """
        literals = {""} if prefix and self._spec.match_file(prefix) else self._in_names
        found: set[str] = set()
        for first in range(0, len(names), TOGETHER):
            budget.check()
            some = names[first : first + TOGETHER]
            together = "\n".join(some)
            held = [literal for literal in literals if literal in together]
            tried = [name for name in some if any(map(name.__contains__, held))]
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
            tried = [(at, path) for at, path in enumerate(paths) if literal in path]
            found.update([at for at, path in budget.checked(tried, STRIDE) if matches(path)])
        return sorted(found)


def _expanded(pattern: str) -> Sequence[str]:
    """Return the globs that `pattern` stands for. Raises ValueError with the reason."""
    import bracex

    if "\0" in pattern:
        raise ValueError("holds a NUL character")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"is longer than {MAX_PATTERN_CHARACTERS} characters")
    if not _is_balanced(pattern, "{}"):
        raise ValueError("has unbalanced braces")
    try:
        return bracex.expand(pattern, keep_escapes=True, limit=MAX_EXPANSIONS)
    except (bracex.ExpansionLimitException, RecursionError) as error:
        raise ValueError(f"stands for more than {MAX_EXPANSIONS} patterns") from error


def _is_balanced(pattern: str, pair: str) -> bool:
    """Return whether the `pair`, such as `{}`, is balanced in `pattern`."""
    plain = re.sub(r"(?s)\\.", "", pattern)
    steps = [(character == pair[0]) - (character == pair[1]) for character in plain]
    return sum(steps) == 0 and min(accumulate(steps, initial=0)) == 0


def _compiled(glob: str) -> Plain:
    """Compile a `glob` without braces. Raises ValueError with the reason."""
    names = re.sub(r"(?s)(\\[^/])|\\/", lambda found: found[1] or "/", glob).split("/")
    plain = {character for name in names for _, _, character in _PART.findall(name)}
    if plain & {"[", "]"} and not _is_balanced(glob, "[]"):
        raise ValueError("has unbalanced brackets")
    if "\\" in plain:
        raise ValueError("ends with a backslash")
    tokens, last = list[Token](), names.pop()
    for name in names:
        tokens += [SPAN] if name == "**" else [*_tokens(name), SLASH]
    tokens += [REST] if last == "**" else _tokens(last)
    # The literals with a slash between names, and a NUL between others.
    text = "".join("/" if one in SPANS else one.character or "\0" for one in tokens)
    return Plain(
        re.compile(rf"\A(?:{regex(tokens)})/?\Z"),
        literal=max(re.split(r"[/\0]", text), key=len),
        name_literal=max(text.rstrip("/").rpartition("/")[2].split("\0"), key=len),
    )


def _tokens(name: str) -> Iterator[Token]:
    if name and not name.strip("*"):
        yield ANY  # a name is never empty, so `src/*` does not match `src/`
    parts = _PART.findall(name)
    for escaped, group, plain in parts:
        if group:
            # Where a star precedes, no chunk may have two lengths (`globs.wildcards`).
            itself = "" if ("", "", "*") in parts else f"{re.escape(group)}|"
            yield Token(f"(?:{itself}{_class_regex(group)})")
        else:
            yield {"*": STAR, "?": ANY}.get(plain) or literal(escaped or plain)


def _class_regex(text: str) -> str:
    """The expression for a class such as `[!a-z_]`."""
    negated = text[1] in "!^"
    members = text[1 + negated : -1]
    if "[:" in members:
        raise ValueError("uses a named character class, which is not supported")
    ranges = ""
    for first, last in _MEMBER.findall(members):
        if last and last < first:
            raise ValueError(f"has a range that runs backwards: {f'{first}-{last}'!r}")
        ranges += re.escape(first) + (f"-{re.escape(last)}" if last else "")
    return f"(?!/)[{'^' * negated}{ranges}]"
