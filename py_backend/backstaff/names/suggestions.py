"""Suggestions: why a search found no file, and which query would find one.

Each function returns one line for an empty answer, or None. It uses only the paths that the search
has already read, and gives up after `SECONDS`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate, takewhile

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.names.ranking import name_of
from backstaff.render.lines import EXAMPLES, plural, some_of
from backstaff.render.names import quote, word

SECONDS = 1.0
"""Maximum number of seconds for a search for reasons."""
MIN_SIMILARITY = 0.4
"""Minimum similarity of a name that `similar` returns."""
# With .4 it returns the name of .96 of 383 names with two edits, with .6 of .77. For a name of
# another project it returns some with .4 in .48 of the cases, and with .2 in .95.

_SPECIAL = re.compile(r"[*?\[\]{}\\]")
_SPECIAL_OR_BLANK = re.compile(r"[*?\[\]{}\\\s]")

CompileGlob = Callable[[str], Globs]
"""Compiles a pattern as the tool reads it. Raises `ToolError` or `BadGlob`."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The paths of the searched files and directories, relative to the start.

    `where` names the start in a sentence, such as `src/`. `prefix` goes before each path in an
    answer. `budget` is that of the call.
    """

    files: Sequence[str]
    directories: Sequence[str]
    where: str
    budget: Budget
    prefix: str = ""


def explain_glob(
    pattern: str, compile_glob: CompileGlob, searched: Searched, rebased: str = ""
) -> str | None:
    """Say why `pattern` matches no file: it names a directory, its case differs, it lies deeper.

    `rebased` is the pattern of an author who took another directory for its start.
    """
    where, plain = searched.where, pattern.removeprefix("./")
    bare = plain.lstrip("/")

    def matching(tried: str, paths: Sequence[str], *, ignore_case: bool = False) -> list[str]:
        try:
            globs = compile_glob(tried.casefold() if ignore_case else tried)
        except (ToolError, BadGlob):
            # It became too long, or a range such as [_-Z] runs backwards as [_-z].
            return []
        budget = searched.budget
        folded = [path.casefold() for path in budget.checked(paths)] if ignore_case else paths
        return [paths[position] for position in globs.files(folded, budget)]

    def files(*globs: str) -> str:
        # The glob that matches most saves the reader a second miss.
        counts = {glob: len(matching(glob, searched.files)) for glob in globs}
        most = max(counts, key=counts.__getitem__)
        matches = f"{quote(most, None)} matches {plural(counts[most], 'file')}"
        return matches if counts[most] else ""

    # Patterns to try in turn, each with a rule of globs for the reader.
    tries = [
        (pattern, ""),
        (rebased, f"counts from {where}"),
        (bare, f"starts in {where}, without a slash before it"),
        (bare.replace("\\", "/"), "has slashes where this one has backslashes"),
        *((deeper, "is about the whole path") for deeper in deeper_globs(bare)),
    ]
    try:
        for tried, rule in tries:
            if rule and tried in {"", "**/", plain}:
                continue
            if rule and (matches := files(tried, deepened(tried))):
                return f"a glob {rule}: {matches}"
            if found := matching(tried.rstrip("/"), searched.directories):
                directories = plural(len(found), "directory", "directories")
                matches = f"{quote(tried)} matches {directories}, but only files are found"
                inside = files(f"{tried.rstrip('/')}/**")
                return (
                    f"{matches}: {inside}" if inside else matches + _examples(found, searched, "/")
                )
            if found := matching(tried, searched.files, ignore_case=True):
                matches = f"{quote(tried)} matches {plural(len(found), 'file')}"
                return f"{matches} without regard to case{_examples(found, searched)}"
        return _missing_directory(pattern, searched)
    except DeadlineExceeded:
        return None


def deepened(pattern: str) -> str:
    """Return `pattern` for any directory below its own: `a/**/*.c` for `a/*.c`."""
    above, slash, name = pattern.rpartition("/")
    return pattern if "**" in pattern or not name else f"{above}{slash}**/{name}"


def deeper_globs(pattern: str) -> Sequence[str]:
    """Return `pattern` for any directory, and for any below its own: `**/a/*.c`, `a/**/*.c`."""
    plain = pattern.removeprefix("./")
    return list(dict.fromkeys((f"**/{plain}", deepened(plain))))


def shallow_glob(pattern: str, count: Callable[[str], int]) -> str | None:
    """Say that a deeper glob matches more files: `'*.c' matches 1 file, '**/*.c' 9`.

    `count` returns how many files a glob matches.
    """
    if pattern.startswith("**/"):
        return None
    counts = {glob: count(glob) for glob in (pattern, *deeper_globs(pattern))}
    most = max(counts, key=counts.__getitem__)
    if most == pattern:
        return None
    matches = f"{quote(pattern, None)} matches {plural(counts[pattern], 'file')}"
    return f"{matches}, {quote(most, None)} {counts[most]:,}"


def nearest_names(text: str, searched: Searched) -> str | None:
    """Name the files whose names are most similar to the last name in `text`."""
    try:
        examples = _examples(similar(text, searched.files, searched.budget), searched)
    except DeadlineExceeded:
        return None
    return f"the nearest names{examples}" if examples else None


def similar(
    text: str, paths: Sequence[str], budget: Budget, minimum: float = MIN_SIMILARITY
) -> list[str]:
    """Return up to `EXAMPLES` of `paths` whose names are most similar to the last name in `text`.

    The similarity is Dice's, from `minimum` to 1: twice the pairs of adjacent characters that both
    names have, divided by the pairs of both. Case does not matter. Raises `DeadlineExceeded`.
    """
    wanted = _SPECIAL_OR_BLANK.sub("", name_of(text.rstrip("/")).casefold())
    pairs = {wanted[at : at + 2] for at in range(len(wanted) - 1)}
    # Names of very different lengths share too few pairs.
    shortest, longest = len(pairs) * minimum / 2, len(pairs) * 2 / minimum
    scored = (
        (-2 * sum(map(name.__contains__, pairs)) / (len(pairs) + len(name) - 1), position)
        for position, name in enumerate(map(str.casefold, map(name_of, budget.checked(paths))))
        if pairs and shortest < len(name) <= longest
    )
    likely = nsmallest(EXAMPLES, (one for one in scored if -one[0] >= minimum))
    return [paths[position] for _, position in likely]


def useless_excludes(patterns: Sequence[str]) -> Iterator[str]:
    """Warn of each kind of pattern that cannot have the effect its author wants."""
    names = [one.removeprefix("./").rstrip("/").split("/") for one in patterns]
    odd = {"", ".", ".."}
    negated = [one for one in patterns if one.startswith("!")]
    unlike_paths = [one for one, parts in zip(patterns, names, strict=True) if odd & {*parts}]
    for found, problem in (
        (negated, "brings nothing back: it only matches names that begin with '!'"),
        (unlike_paths, "matches nothing: paths are relative to the workspace, as in 'src/a.c'"),
    ):
        if found:
            yield f"exclude {quote(found[0])}{_one_of(found)} {problem}"


def shallow_excludes(
    patterns: Sequence[str], left_out: Sequence[str], kept: Sequence[str], are: str, budget: Budget
) -> Iterator[str]:
    """Warn if a pattern excludes nothing, but would in any directory: `*.py` for `**/*.py`.

    `left_out` are the paths that `patterns` exclude. `kept` are the others, with or without a slash
    at their end; `are` is a participle for them, such as `shown`.
    """
    shallow = list[tuple[str, str, int]]()
    with suppress(DeadlineExceeded):
        budget = budget.at_most(SECONDS)
        for pattern in patterns:
            if pattern.startswith("**/"):
                continue
            deeper = f"**/{pattern.removeprefix('./')}"
            try:
                here, below = compile_globs((pattern,)), compile_globs((deeper,))
            except BadGlob:  # it became too long
                continue
            count = len(below.files(kept, budget))
            if count and not here.files(left_out, budget):
                shallow.append((pattern, deeper, count))
    if shallow:
        pattern, deeper, count = shallow[0]
        why = "excludes nothing, as a glob is about the whole path from the workspace on"
        matches = f"{quote(deeper, None)} matches {plural(count, 'name')} {are}"
        yield f"exclude {quote(pattern)}{_one_of(shallow)} {why}: {matches}"


def _one_of(found: Sequence[object]) -> str:
    return f" (one of {len(found)} such patterns)" if len(found) > 1 else ""


def _missing_directory(pattern: str, searched: Searched) -> str | None:
    """Name the first directory in `pattern` that does not exist, and its neighbours."""
    if pattern.startswith("/"):
        return f"a glob starts in {searched.where}, without a slash before it"
    paths = set(searched.directories)
    *parents, _ = pattern.removeprefix("./").rstrip("/").split("/")
    literal = list(takewhile(lambda name: not _SPECIAL.search(name), parents))
    absent = [path for path in accumulate(literal, "{}/{}".format) if path not in paths]
    if not absent:
        # Behind a wildcard only names are known: `*/lib/x` says nothing about where `lib` is.
        names = set(map(name_of, paths))
        later = parents[len(literal) :]
        absent = [name for name in later if not _SPECIAL.search(name) and name not in names]
    if not absent:
        return None
    missing = absent[0]
    if missing in searched.files:
        return f"{quote(missing)} is a file or a link, and nothing is searched below it"
    reason = f"no directory {quote(missing)} is searched in {searched.where}"
    near = similar(missing, searched.directories, searched.budget)
    if near:
        return f"{reason}; the nearest{_examples(near, searched, '/')}"
    if not pattern.removeprefix("./").startswith(missing):
        return reason
    parent = missing.rpartition("/")[0]
    beside = [path for path in searched.directories if path.rpartition("/")[0] == parent]
    return f"{reason}; those there{_examples(beside, searched, '/')}" if beside else reason


def _examples(paths: Sequence[str], searched: Searched, end: str = "") -> str:
    """List the first `paths` that fit, and count the others: `: a.py b.py and 3 more`."""
    shown = some_of((word(searched.prefix + path) + end for path in paths), len(paths))
    return f": {shown}" if shown else ""
