"""The history: commits with the lines that they add and remove, and who wrote which line."""

import re
from dataclasses import dataclass, replace
from itertools import groupby

from backstaff.errors import Unanswered
from backstaff.project.git import Repository
from backstaff.project.running_git import QUIET

COUNT_SHARE = 0.5  # of a call's time: then git may count no more lines, and there are commits alone
_FORMAT = "--format=tformat:%x00%H%x00%ad%x00%<(200,trunc)%an%x00%<(400,trunc)%s"
_LOG = ("log", "-z", _FORMAT, "--date=short", "--encoding=UTF-8", "--root", *QUIET)
_COUNTED = re.compile(r"(\d+) ([fid])")
_LINE = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; its numbers are None if it is empty, a merge, or git could not count its lines."""

    oid: str
    date: str
    author: str
    subject: str
    files: int | None
    added: int | None
    removed: int | None


def commits(  # noqa: PLR0913  # the parameters of the tool
    repository: Repository, ref: str, path: str, *, grep: str, most: int, skip: int
) -> tuple[list[Commit], bool]:
    """The `most` latest commits before `ref` that touch `path`, after `skip`.

    The second value says whether git could count their lines. Raises `Unanswered`.
    """
    words = [*_LOG, f"-n{most}", f"--skip={skip}", ref]
    words += ["--fixed-strings", f"--grep={grep}"] if grep else []
    below = repository.below(path)
    try:
        quick = replace(repository, budget=repository.budget.share(COUNT_SHARE))
        return _parsed(quick.ask(*words, "--shortstat", "-M", "-l100", *below)), True
    except Unanswered:  # a partial clone has not all contents, and many take long
        return _parsed(repository.ask(*words, *below)), False


def _parsed(told: bytes) -> list[Commit]:
    """The commits that git has `told` in `_FORMAT`."""
    found = list[Commit]()
    # After the fields, git itself prints a NUL, and then the counts or nothing.
    parts = iter(told.decode("utf-8", "replace").split("\0")[1:])
    for *fields, counted in zip(*[parts] * 5, strict=True):
        oid, date, author, subject = (field.rstrip(" ") for field in fields)
        counts = {letter: int(number) for number, letter in _COUNTED.findall(counted)}
        lines = (counts.get("i", 0), counts.get("d", 0)) if counts else (None, None)
        found.append(Commit(oid, date, author, subject, counts.get("f"), *lines))
    return found


def blame(
    repository: Repository, ref: str, path: str, first: int, last: int
) -> list[tuple[int, int, Commit]]:
    """Who wrote lines `first` to `last` of `path`, from the top, as of `ref`.

    Each commit stands with the first and the last of its neighbouring lines. Raises `Unanswered`.
    """
    words = ("blame", "--porcelain", "--no-textconv", f"-L{first},{last}", ref, "--", path)
    lines = _LINE.findall(repository.ask(*words))
    oids = b"\n".join({oid for oid, _ in lines})
    told = repository.ask(*_LOG, "--no-walk", "--stdin", given=oids)
    known = {one.oid: one for one in _parsed(told)}
    runs = (list(run) for _, run in groupby(lines, lambda line: line[0]))
    return [(int(run[0][1]), int(run[-1][1]), known[run[0][0].decode()]) for run in runs]
