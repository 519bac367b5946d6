"""The history: commits with the lines that they add and remove, and who wrote which line."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from backstaff.budget import Budget
from backstaff.changes.lines import blocks
from backstaff.changes.objects import Side, answered, blobs, raw_pairs
from backstaff.changes.renames import renames
from backstaff.changes.work_tree import COUNTS_LAST_LINES, WorkTree
from backstaff.errors import DeadlineExceeded

MAX_COUNTED = 200
"""Files of a commit whose lines are counted; of a larger one only the files are."""
_FORMAT = "--format=tformat:%x00%H%x00%ad%x00%an%x00%s%x00%P%x00"
_FIELDS = 5
_COMMIT = re.compile(rb"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?\Z")


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


def commits(  # noqa: PLR0913  # the parameters of the tool
    work_tree: WorkTree, ref: str, path: str, *, grep: str, most: int, skip: int, budget: Budget
) -> list[Commit]:
    """The `most` latest commits before `ref` that touch `path`, after `skip`.

    Raises `Unanswered`.
    """
    words = ["log", "-z", "--raw", "--no-renames", "--no-abbrev", "--diff-merges=off", _FORMAT]
    words += ["--date=short", f"-n{most}", f"--skip={skip}", "--encoding=UTF-8", "--no-color"]
    words += ["--no-ext-diff", "--no-textconv", "--no-mailmap", "-O/dev/null"]
    words += ["--ignore-submodules=none", "--no-notes"]
    if grep:
        words += ["--fixed-strings", f"--grep={grep}"]
    below = [f":(top,literal){path}"] if path else []
    told = answered(work_tree.repository.ask(budget, *words, ref, "--", *below))
    found = list(_parsed(told))
    wanted = {
        side.oid
        for _, pairs in found
        if len(pairs) <= MAX_COUNTED
        for _, *sides in pairs
        for side in sides
        if side
    }
    known = blobs(work_tree.repository, wanted, budget)
    to_the_end = work_tree.repository.version(budget) >= COUNTS_LAST_LINES
    return [_counted(*one, known, budget, to_the_end=to_the_end) for one in found]


_Pairs = Sequence[tuple[str, Side | None, Side | None]]
"""Path, old side and new side of each file."""


def _parsed(told: bytes) -> Iterator[tuple[Commit, _Pairs]]:
    """Yield each commit in `told`, with the sides of its files. Nothing stands before each."""
    parts = told.split(b"\0")
    at = 1
    while at + _FIELDS <= len(parts):
        oid, date, author, subject, parents = (
            part.decode("utf-8", "replace") for part in parts[at : at + _FIELDS]
        )
        at += _FIELDS
        at += parts[at : at + 1] == [b""]
        end = at
        while end < len(parts) and parts[end].lstrip(b"\n").startswith(b":"):
            end += 2
        raw = [
            part.lstrip(b"\n") if not number % 2 else part
            for number, part in enumerate(parts[at:end])
        ]
        pairs = [(path, *sides) for path, sides in raw_pairs(raw, "")]
        is_merge = " " in parents
        yield Commit(oid, date, author, subject, None if is_merge else len(pairs)), pairs
        at = end + 1


def _counted(
    commit: Commit,
    pairs: _Pairs,
    known: Mapping[bytes, bytes],
    budget: Budget,
    *,
    to_the_end: bool,
) -> Commit:
    """COMMIT with the lines of its files, if all of them are `known` and there is time."""

    def content(sides: Iterable[tuple[str, Side]]) -> Mapping[str, bytes]:
        return {path: known[side.oid] for path, side in sides if side.oid in known}

    gone = {path: old for path, old, new in pairs if old and not new}
    fresh = {path: new for path, old, new in pairs if new and not old}
    added = removed = 0
    try:
        found = renames(gone, fresh, content, budget, to_the_end=to_the_end)
        sources = {rename.source for rename in found.values()}
        for path, old, new in pairs:
            if path in sources:
                continue
            before = gone[found[path].source] if path in found else old
            one, other = (known.get(side.oid) if side else b"" for side in (before, new))
            if one is None or other is None:
                return replace(commit, files=len(pairs) - len(sources))
            if b"\0" not in one + other:
                differ = blocks(one.split(b"\n"), other.split(b"\n"), budget)
                added += sum(end - start for _, _, start, end in differ)
                removed += sum(end - start for start, end, _, _ in differ)
    except DeadlineExceeded:
        return commit
    if commit.files is None:
        return commit
    return replace(commit, files=len(pairs) - len(sources), added=added, removed=removed)


def blame(  # noqa: PLR0913, PLR0917  # the parameters of the tool
    work_tree: WorkTree, ref: str, path: str, first: int, last: int, budget: Budget
) -> list[Written]:
    """Who wrote lines `first` to `last` of `path`, from the top, as of `ref`.

    Raises `Unanswered`.
    """
    told = answered(work_tree.repository.blame(ref, first, last, path, budget))
    facts: dict[str, dict[str, str]] = {}
    found: list[Written] = []
    oid, number = "", 0
    for line in told.split(b"\n"):
        if line.startswith(b"\t"):
            commit = _commit(oid, facts[oid])
            if found and found[-1].commit == commit and found[-1].last == number - 1:
                found[-1] = replace(found[-1], last=number)
            else:
                found.append(Written(number, number, commit))
        elif start := _COMMIT.match(line):
            oid, number = start[1].decode(), int(start[2])
            facts.setdefault(oid, {})
        else:
            key, _, value = os.fsdecode(line).partition(" ")
            facts.setdefault(oid, {})[key] = value
    return found


def _commit(oid: str, facts: dict[str, str]) -> Commit:
    zone = facts.get("author-tz", "+0000")
    minutes = int(zone[:1] + "1") * (int(zone[1:3]) * 60 + int(zone[3:5]))
    try:
        offset = timezone(timedelta(minutes=minutes))
        date = datetime.fromtimestamp(int(facts["author-time"]), offset).date().isoformat()
    except (KeyError, OverflowError, ValueError):
        date = datetime.fromtimestamp(0, UTC).date().isoformat()
    return Commit(oid, date, facts.get("author", ""), facts.get("summary", ""))
