"""The history: commits with the lines that they add and remove, and who wrote which line."""

import re
from dataclasses import dataclass, replace

from backstaff.budget import Budget
from backstaff.project.git import Repository
from backstaff.project.running_git import QUIET, Unanswered

COUNT_SHARE = 0.5
"""The part of a call's time in which git may count lines; later there are commits alone."""
_FORMAT = "--format=tformat:%x00%H%x00%ad%x00%<(200,trunc)%an%x00%<(400,trunc)%s%x00%P%x00"
_LOG = ("log", "-z", _FORMAT, "--date=short", "--encoding=UTF-8", "--root", *QUIET)
_COUNTS = ("--shortstat", "-M", "-l100")
_COUNTED = re.compile(r"(\d+) files? changed|(\d+) insertion|(\d+) deletion")
_BOUNDARY = re.compile(
    rb"^([0-9a-f]{40,64}) \d+ \d+(?: \d+)?\n(?:[a-z][^\n]*\n)*?boundary$", re.MULTILINE
)
_LINE = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `files` counts those that it changes, None for a merge or if not counted."""

    oid: str
    date: str
    author: str
    subject: str
    is_merge: bool
    files: int | None = None
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Lines `first` to `last`, which one commit wrote."""

    first: int
    last: int
    commit: Commit
    boundary: bool = False
    """Whether the history ends there, so that an earlier commit may have written them."""


def commits(  # noqa: PLR0913  # the parameters of the tool
    repository: Repository, ref: str, path: str, budget: Budget, *, grep: str, most: int, skip: int
) -> list[Commit]:
    """The `most` latest commits before `ref` that touch `path`, after `skip`.

    Raises `Unanswered`.
    """
    words = [*_LOG, f"-n{most}", f"--skip={skip}", ref]
    words += ["--fixed-strings", f"--grep={grep}"] if grep else []
    below = ["--", f":(top,literal){path}"] if path else ["--"]
    try:
        told = repository.ask(budget.share(COUNT_SHARE), *words, *_COUNTS, *below)
    except Unanswered:  # a partial clone has not all contents, and many take long
        return _parsed(repository.ask(budget, *words, *below))
    return [
        one if one.is_merge or one.files is not None else replace(one, files=0, added=0, removed=0)
        for one in _parsed(told)
    ]


def _parsed(told: bytes) -> list[Commit]:
    """The commits that git has `told` in `_FORMAT`."""
    found = list[Commit]()
    # After the fields, git itself prints a NUL, and then the counts or nothing.
    parts = iter(told.decode("utf-8", "replace").split("\0")[1:])
    for *fields, parents, _, counted in zip(*[parts] * 7, strict=True):
        numbers = [0, 0, 0]
        for match in _COUNTED.finditer(counted):
            numbers[(match.lastindex or 1) - 1] = int(match[match.lastindex or 1])
        oid, date, author, subject = (field.rstrip(" ") for field in fields)
        counts = numbers if counted else (None, None, None)
        found.append(Commit(oid, date, author, subject, " " in parents, *counts))
    return found


def blame(  # noqa: PLR0913, PLR0917  # the parameters of the tool
    repository: Repository, ref: str, path: str, first: int, last: int, budget: Budget
) -> list[Written]:
    """Who wrote lines `first` to `last` of `path`, from the top, as of `ref`.

    Raises `Unanswered`.
    """
    words = ("blame", "--porcelain", "--no-textconv", f"-L{first},{last}", ref, "--", path)
    told = repository.ask(budget, *words)
    lines, ends = _LINE.findall(told), set(_BOUNDARY.findall(told)) if repository.is_shallow else ()
    oids = b"\n".join({oid for oid, _ in lines})
    told = repository.ask(budget, *_LOG, "--no-walk", "--stdin", given=oids)
    known = {one.oid: one for one in _parsed(told)}
    found: list[Written] = []
    for oid, text in lines:
        commit, number = known[oid.decode()], int(text)
        if found and found[-1].commit == commit and found[-1].last == number - 1:
            found[-1] = replace(found[-1], last=number)
        else:
            found.append(Written(number, number, commit, oid in ends))
    return found
