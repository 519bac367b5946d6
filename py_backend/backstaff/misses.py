"""Why a search for files found nothing, and what would find something: for all tools that search.

A search hands over what it has looked at, and nothing is looked up again. Each function is for an
answer without a match, and gives a line of it, or None where there is nothing to say. A reason is
worth a second at most (`hurried`): where that is over, or the call's time, none is looked for.
"""

import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import accumulate, takewhile

from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.globs import Globs
from backstaff.render.lines import EXAMPLES, some_of
from backstaff.render.names import quote, word

SECONDS = 1.0
"""How long a search for reasons may go on."""
LEAST_ALIKE = 0.4

_SPECIAL = re.compile(r"[*?\[\]{}\\]")
_NO_LETTER = re.compile(r"[*?\[\]{}\\\s]")

Compile = Callable[[str], Globs]
"""Makes globs of a pattern as the tool reads it. Raises `ToolError`."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What was searched: files and directories by their paths from the start.

    `where` is the start as it stands in text; `prefix` is what goes before a path that is told.
    """

    files: Sequence[str]
    directories: Sequence[str]
    where: str
    budget: Budget
    prefix: str = ""


def hurried(budget: Budget) -> Budget:
    """What of BUDGET may go into a reason."""
    return replace(budget, deadline=min(budget.deadline, time.monotonic() + SECONDS))


def of_glob(pattern: str, compiled: Compile, searched: Searched) -> str | None:
    """Why PATTERN matches no file."""
    deeper = f"**/{pattern.removeprefix('./')}"
    reasons: tuple[Callable[[], str | None], ...] = (
        lambda: _only_directories(pattern, compiled, searched),
        lambda: _in_another_case(pattern, compiled, searched),
        lambda: _further_down(deeper, compiled, searched),
        lambda: _only_directories(deeper, compiled, searched),
        lambda: _in_another_case(deeper, compiled, searched),
        lambda: _no_such_directory(pattern, searched),
    )
    if pattern.startswith("/"):
        return f"a glob starts in {searched.where}, without a slash before it"
    try:
        return next(filter(None, (reason() for reason in reasons)), None)
    except DeadlineExceeded:
        return None


def nearest(text: str, searched: Searched) -> str | None:
    """The files whose names are most like the last name in TEXT, the likest first."""
    try:
        examples = _examples(likest(text, searched.files, searched.budget), searched)
    except DeadlineExceeded:
        return None
    return f"the nearest names{examples}" if examples else None


# ---------------------------------------------------------------------------- of globs


def _only_directories(pattern: str, compiled: Compile, searched: Searched) -> str | None:
    found = _matching(pattern, compiled, searched.directories, searched.budget)
    if not found:
        return None
    noun = "directory" if len(found) == 1 else "directories"
    told = f"{quote(pattern)} matches {len(found)} {noun}, but only files are found"
    return f"{told}{_examples(found, searched, '/')}"


def _in_another_case(pattern: str, compiled: Compile, searched: Searched) -> str | None:
    found = _matching(pattern, compiled, searched.files, searched.budget, folded=True)
    if not found:
        return None
    told = f"{quote(pattern)} matches {_counted(found)} without regard to case"
    return f"{told}{_examples(found, searched)}"


def _further_down(deeper: str, compiled: Compile, searched: Searched) -> str | None:
    found = _matching(deeper, compiled, searched.files, searched.budget)
    told = f"a glob is about the whole path: {quote(deeper, None)} matches"
    return f"{told} {_counted(found)}" if found else None


def _no_such_directory(pattern: str, searched: Searched) -> str | None:
    """What of the path in PATTERN is not there."""
    missing = next(_missing(pattern, searched.directories), None)
    if missing is None:
        return None
    if missing in searched.files:
        return f"{quote(missing)} is a file or a link, and nothing is searched below it"
    told = f"no directory {quote(missing)} is searched in {searched.where}"
    if near := _examples(likest(missing, searched.directories, searched.budget), searched, "/"):
        return f"{told}; the nearest{near}"
    if not pattern.removeprefix("./").startswith(missing):
        return told
    beside = [path for path in searched.directories if _above(path) == _above(missing)]
    return f"{told}; those there{_examples(beside, searched, '/')}" if beside else told


def _missing(pattern: str, directories: Collection[str]) -> Iterator[str]:
    """The directories that PATTERN names and that are not there, by their paths if these are known.

    Behind a `*` only the name is.
    """
    paths = set(directories)
    names = set(map(_name, directories))
    *above, _ = pattern.removeprefix("./").rstrip("/").split("/")
    literal = list(takewhile(lambda name: not _SPECIAL.search(name), above))
    yield from (path for path in accumulate(literal, "{}/{}".format) if path not in paths)
    for name in above[len(literal) :]:
        if not _SPECIAL.search(name) and name not in names:
            yield name


def _matching(
    pattern: str, compiled: Compile, paths: Sequence[str], budget: Budget, *, folded: bool = False
) -> list[str]:
    """Those of PATHS that PATTERN matches, FOLDED without regard to case.

    Raises `DeadlineExceeded`.
    """
    try:
        globs = compiled(pattern.casefold() if folded else pattern)
    except ToolError:  # it has become too long, or a range in it runs backwards in small letters
        return []
    tried = [path.casefold() for path in budget.checked(paths)] if folded else paths
    return [paths[number] for number in globs.files(tried, budget)]


# ---------------------------------------------------------------------------- of names


def likest(
    text: str, paths: Sequence[str], budget: Budget, least: float = LEAST_ALIKE
) -> list[str]:
    """Those of PATHS whose names are most like the last name in TEXT, the likest first.

    They are alike as far as they have the same pairs of characters (Dice), each as often as it may:
    from 0 to 1, and LEAST at least. Raises `DeadlineExceeded`.
    """
    wanted = _pairs(_NO_LETTER.sub("", _name(text.rstrip("/")).casefold()))
    # Two names so unlike in length have too few pairs in common; nor need they be looked at.
    shortest, longest = len(wanted) * least / 2, len(wanted) * 2 / least
    scored = (
        (-2 * sum(map(name.__contains__, wanted)) / (len(wanted) + len(name) - 1), number)
        for number, name in enumerate(map(str.casefold, map(_name, budget.checked(paths))))
        if wanted and shortest < len(name) <= longest
    )
    likely = nsmallest(EXAMPLES, (one for one in scored if -one[0] >= least))
    return [paths[number] for _, number in likely]


def _pairs(name: str) -> set[str]:
    return {name[at : at + 2] for at in range(len(name) - 1)}


def _name(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def _above(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _counted(paths: Sequence[str]) -> str:
    return f"{len(paths)} {'file' if len(paths) == 1 else 'files'}"


def _examples(paths: Sequence[str], searched: Searched, end: str = "") -> str:
    """After a colon the first of PATHS that have room, and how many there are besides."""
    found = some_of((word(searched.prefix + path) + end for path in paths), len(paths))
    return f": {found}" if found else ""
