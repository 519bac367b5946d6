"""The history: commits with the lines that they add and remove, and who wrote which line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from backstaff.budget import Budget
from backstaff.project.git import Repository, log_entries
from backstaff.project.running_git import NoGit, answered

MAX_COUNTED = 200
"""Maximum number of files of a commit whose lines are counted; of a larger one the files are."""
_FORMAT = "--format=tformat:%x00%H%x00%ad%x00%<(200,trunc)%an%x00%<(400,trunc)%s%x00%P%x00"
_LOG = (
    *("log", "-z", _FORMAT, "--date=short", "--encoding=UTF-8", "--no-color", "--no-mailmap"),
    *("--no-notes", "--no-ext-diff", "--no-textconv", "-O/dev/null", "--ignore-submodules=none"),
    *("--root", "--no-renames", "--diff-merges=off"),
)
_COUNTS = (
    *("diff-tree", "--stdin", "--root", "-r", "--shortstat", "-M", "-l100"),
    *("--no-ext-diff", "--no-textconv", "-O/dev/null", "--ignore-submodules=none"),
)
_COUNTED = re.compile(
    rb"([0-9a-f]{40,64})\n (\d+) files? changed"
    rb"(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?\n"
)
_BOUNDARY = re.compile(
    rb"^([0-9a-f]{40,64}) \d+ \d+(?: \d+)?\n(?:[a-z][^\n]*\n)*?boundary$", re.MULTILINE
)
_LINE = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `files` counts those that it changes, None for a merge."""

    oid: str
    date: str
    author: str
    subject: str
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
    words = [f"-n{most}", f"--skip={skip}", "--name-only"]
    words += ["--fixed-strings", f"--grep={grep}"] if grep else []
    below = ["--", f":(top,literal){path}"] if path else ["--"]
    told = answered(repository.ask(budget, *_LOG, *words, ref, *below))
    found = list(_parsed(told))
    small = [one.oid for one in found if one.files is not None and one.files <= MAX_COUNTED]
    asked = "".join(f"{oid}\n" for oid in small).encode()
    counted = repository.ask(budget, *_COUNTS, *below, given=asked) if small else b""
    counts = {
        oid.decode(): [int(count or 0) for count in numbers]
        for oid, *numbers in _COUNTED.findall(b"" if isinstance(counted, NoGit) else counted)
    }
    return [
        Commit(one.oid, one.date, one.author, one.subject, *counts.get(one.oid, [one.files]))
        for one in found
    ]


def _parsed(told: bytes) -> Iterator[Commit]:
    """Yield the commits that git has `told` in `_FORMAT`, each with the number of its files."""
    for fields, paths in log_entries(told, 5):
        oid, date, author, subject, parents = (
            part.decode("utf-8", "replace").rstrip(" ") for part in fields
        )
        yield Commit(oid, date, author, subject, None if " " in parents else len(paths))


def blame(  # noqa: PLR0913, PLR0917  # the parameters of the tool
    repository: Repository, ref: str, path: str, first: int, last: int, budget: Budget
) -> list[Written]:
    """Who wrote lines `first` to `last` of `path`, from the top, as of `ref`.

    Raises `Unanswered`.
    """
    words = ("blame", "--porcelain", "--no-textconv", f"-L{first},{last}", ref, "--", path)
    told = answered(repository.ask(budget, *words))
    lines, ends = _LINE.findall(told), set(_BOUNDARY.findall(told)) if repository.is_shallow else ()
    oids = b"\n".join({oid for oid, _ in lines})
    told = answered(repository.ask(budget, *_LOG, "--no-walk", "--stdin", given=oids))
    known = {one.oid: replace(one, files=None) for one in _parsed(told)}
    found: list[Written] = []
    for oid, text in lines:
        commit, number = known[oid.decode()], int(text)
        if found and found[-1].commit == commit and found[-1].last == number - 1:
            found[-1] = replace(found[-1], last=number)
        else:
            found.append(Written(number, number, commit, oid in ends))
    return found
