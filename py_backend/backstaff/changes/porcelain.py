"""A status as `git status --porcelain=v1 --branch` prints it, and names as git quotes them."""

import os
import re
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.changes.objects import Change, answered, in_order
from backstaff.changes.status import Status
from backstaff.changes.work_tree import WorkTree

_UNSAFE = re.compile('[\0-\x1f\x7f"\\\\]')
_ESCAPES = dict(zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True))
_FORMAT = "--format=%(HEAD)%00%(refname:lstrip=2)%00%(upstream:short)%00%(upstream:track)"
_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch: its name, None for a detached HEAD, the one it follows, and how they differ.

    `track` is such as "[ahead 1, behind 2]", "[gone]" or "". The first commit may not be there yet.
    """

    name: str | None
    upstream: str
    track: str
    begun: bool

    def line(self) -> str:
        """The line of the branch: `## main...origin/main [ahead 1]`."""
        start = "## " if self.begun else "## No commits yet on "
        if self.name is None:
            return f"{start}HEAD (no branch)\n"
        behind = f"...{self.upstream}" if self.upstream else ""
        return f"{start}{self.name}{behind}{self.track and ' '}{self.track}\n"


def branch_of(work_tree: WorkTree, budget: Budget) -> Branch:
    """The branch of `work_tree`. Raises `Unanswered`."""
    repository, begun = work_tree.repository, bool(work_tree.repository.head)
    if begun:
        # Only branches at HEAD are asked for: to compare each with its upstream takes time.
        words = ("for-each-ref", "--points-at=HEAD", _FORMAT, _HEADS)
        told = os.fsdecode(answered(repository.ask(budget, *words)))
        for line in told.splitlines():
            mark, name, upstream, track = line.split("\0")
            if mark == "*":
                return Branch(name, upstream, track, begun)
    answer = repository.ask(budget, "symbolic-ref", "--quiet", "HEAD", fine=(0, 1))
    name = os.fsdecode(answered(answer)).removesuffix("\n").removeprefix(_HEADS)
    if not name:
        return Branch(None, "", "", begun)
    upstream = repository.configuration.upstream(name)
    return Branch(name, upstream, "[gone]" if upstream else "", begun)


def raw(branch: Branch, status: Status, inside: str) -> str:
    """The whole text. `inside` stands before each path."""

    def named(path: str) -> str:
        return quoted(inside + path, blanks=True)

    rows = {path: f"{letters} {named(path)}\n" for path, letters in status.conflicts.items()}
    nothing = Change(None, None)
    for path in status.staged | status.changed:
        one, other = status.staged.get(path), status.changed.get(path)
        letters = "".join(change.letter if change else " " for change in (one, other))
        source = (one or nothing).source or (other or nothing).source
        rows[path] = f"{letters} {f'{named(source)} -> ' if source else ''}{named(path)}\n"
    untracked = (f"?? {named(path)}\n" for path in status.untracked)
    return "".join((branch.line(), *(rows[path] for path in in_order(rows)), *untracked))


def quoted(path: str, *, blanks: bool = False) -> str:
    r"""PATH as git prints it with core.quotePath=false: `"a\tb"`; with `blanks`, `"a b"`, too."""
    if not _UNSAFE.search(path):
        return f'"{path}"' if blanks and " " in path else path
    return f'"{_UNSAFE.sub(_escaped, path)}"'


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\{_ESCAPES[character]}" if character in _ESCAPES else f"\\{ord(character):03o}"
