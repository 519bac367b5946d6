"""Suggestions for a search of files that found none: a glob that finds some, and similar names.

Each function uses only the paths that the search has already read, and gives up after `SECONDS`.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nsmallest

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded
from backstaff.globs.globs import BadGlob, compile_globs
from backstaff.names.ranking import name_of
from backstaff.render.lines import EXAMPLES, plural, some_of
from backstaff.render.names import quote, word

SECONDS = 1.0
"""Maximum number of seconds for a search for suggestions."""
MIN_SIMILARITY = 0.4
"""Minimum similarity of a name that `similar` returns."""
# With .4 it returns the name of .96 of 383 names with two edits, with .6 of .77. For a name of
# another project it returns some with .4 in .48 of the cases, and with .2 in .95.

_SPECIAL_OR_BLANK = re.compile(r"[*?\[\]{}\\\s]")
_BETWEEN_GLOBS = re.compile(r"\s*[,|;]\s*|\s+")


@dataclass(frozen=True, slots=True)
class Searched:
    """The paths of the searched files, relative to the start.

    `prefix` goes before each path in an answer. `budget` is that of the call.
    """

    files: Sequence[str]
    budget: Budget
    prefix: str = ""


def nearest_glob(pattern: str, searched: Searched, *starts: str) -> str | None:
    """Say which glob like `pattern`, which matches no file, does: `'**/*.c' matches 9 files`.

    Before the glob may stand one of `starts`, such as a directory that its author took for the
    start. The last glob tried ignores case.
    """
    bare = pattern.replace("\\", "/").removeprefix("./")
    for start in starts:
        bare = bare.removeprefix(start)
    bare = bare.lstrip("/")
    several = ",".join(one for one in _BETWEEN_GLOBS.split(bare) if one)
    in_braces = (f"{{{several}}}", f"**/{{{several}}}") if "," in several else ()
    with suppress(DeadlineExceeded):
        for glob in (bare, f"{bare.rstrip('/')}/**", *deeper_globs(bare), *in_braces):
            if glob.strip("*/") and glob != pattern and (files := _matching(glob, searched)):
                return f"{quote(glob, None)} matches {plural(len(files), 'file')}"
        for glob in (pattern, f"**/{bare}"):
            if files := _matching(glob, searched, ignore_case=True):
                shown = some_of((word(searched.prefix + path) for path in files), len(files))
                matches = f"{quote(glob)} matches {plural(len(files), 'file')} without regard to"
                return f"{matches} case" + (f": {shown}" if shown else "")
    return None


def _matching(glob: str, searched: Searched, *, ignore_case: bool = False) -> list[str]:
    """Return the files that `glob` matches; none if it is no glob. Raises `DeadlineExceeded`."""
    try:
        globs = compile_globs((glob.casefold() if ignore_case else glob,))
    except BadGlob:  # it became too long, or a range such as [_-Z] runs backwards as [_-z]
        return []
    files, budget = searched.files, searched.budget
    folded = [path.casefold() for path in budget.checked(files)] if ignore_case else files
    return [files[position] for position in globs.files(folded, budget)]


def deeper_globs(pattern: str) -> Sequence[str]:
    """Return `pattern` for any directory, and for any below its own: `**/a/*.c`, `a/**/*.c`."""
    plain = pattern.removeprefix("./")
    above, slash, name = plain.rpartition("/")
    below = plain if "**" in plain or not name else f"{above}{slash}**/{name}"
    return list(dict.fromkeys((f"**/{plain}", below)))


def shallow_glob(pattern: str, searched: Searched) -> str | None:
    """Say that a deeper glob matches more files: `'*.c' matches 1 file, '**/*.c' 9`."""
    globs = (pattern, *deeper_globs(pattern))
    with suppress(DeadlineExceeded):
        counts = {glob: len(_matching(glob, searched)) for glob in globs}
        most = max(counts, key=counts.__getitem__)
        if most != pattern and not pattern.startswith("**/"):
            matches = f"{quote(pattern, None)} matches {plural(counts[pattern], 'file')}"
            return f"{matches}, {quote(most, None)} {counts[most]:,}"
    return None


def nearest_names(text: str, searched: Searched) -> str | None:
    """Name the files whose names are most similar to the last name in `text`."""
    with suppress(DeadlineExceeded):
        near = similar(text, searched.files, searched.budget)
        shown = some_of((word(searched.prefix + path) for path in near), len(near))
        return f"the nearest names: {shown}" if shown else None
    return None


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
