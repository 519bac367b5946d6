"""A status as `git status --porcelain=v1 --branch` prints it, and names as git quotes them."""

import os
import re

from backstaff.changes.status import Status
from backstaff.changes.work_tree import WorkTree, in_order

_UNSAFE = re.compile('[\0-\x1f\x7f"\\\\]')
_ESCAPES = dict(zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True))
_TRACK = "%(if)%(upstream:track)%(then) %(upstream:track)%(end)"
_UPSTREAM = f"%(if)%(upstream)%(then)...%(upstream:short){_TRACK}%(end)"
_FORMAT = f"--format=%(if)%(HEAD)%(then)## %(refname:lstrip=2){_UPSTREAM}%(end)"
_STATUS = ("status", "--porcelain=v1", "--branch", "--untracked-files=no", "--", ":(literal).git")


def branch_line(tree: WorkTree) -> str:
    """The line of the branch, such as `## main...origin/main [ahead 1]`. Raises `Unanswered`."""
    repository, line = tree.repository, b""
    if repository.head:
        # Only branches at HEAD are asked for: to compare each with its upstream takes time.
        words = ("for-each-ref", "--points-at=HEAD", _FORMAT, "refs/heads/")
        line = repository.ask_references(tree.budget, *words).strip()
    # Without a branch, or before its first commit, git prints the line where it sees no file and no
    # index. This takes longer, because git goes through all files of the commit.
    line = line or repository.ask_references(tree.budget, *_STATUS).strip()
    return os.fsdecode(line) + "\n"


def raw(branch: str, status: Status, inside: str) -> str:
    """The whole text. The line of the `branch` is its first, and `inside` stands before paths."""

    def named(path: str) -> str:
        return quoted(inside + path, blanks=True)

    rows = {path: f"{letters} {named(path)}\n" for path, letters in status.conflicts.items()}
    for path in status.staged | status.changed:
        both = status.staged.get(path), status.changed.get(path)
        letters = "".join(change.letter if change else " " for change in both)
        source = next((one.source for one in both if one and one.source), "")
        rows[path] = f"{letters} {f'{named(source)} -> ' if source else ''}{named(path)}\n"
    untracked = (f"?? {named(path)}\n" for path in status.untracked)
    return "".join((branch, *(rows[path] for path in in_order(rows)), *untracked))


def quoted(path: str, *, blanks: bool = False) -> str:
    r"""`path` as git prints it with core.quotePath=false: `"a\tb"`; with `blanks` also `"a b"`."""
    if not _UNSAFE.search(path):
        return f'"{path}"' if blanks and " " in path else path
    return f'"{_UNSAFE.sub(_escaped, path)}"'


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\{_ESCAPES[character]}" if character in _ESCAPES else f"\\{ord(character):03o}"
