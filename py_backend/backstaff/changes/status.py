"""A status: the staged, changed, conflicting and untracked paths, as git prints them.

Git compares all files, but not those within submodules: it would start another git there, with the
submodule's own settings. So each submodule is looked at here as a work tree of its own.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from stat import S_IFMT
from typing import NamedTuple

from backstaff.changes.work_tree import (
    GITLINK,
    Change,
    Changes,
    Origin,
    Side,
    WorkTree,
    in_order,
    opened,
    quoted,
)
from backstaff.errors import PathError
from backstaff.project.running_git import NoGit, Unanswered

MAX_NESTED = 16
"""Maximum number of submodules within each other that are looked into.

Real ones are a few levels deep. Each level starts git, and holds some directories open.
"""
MAX_NAMED = 100
"""Maximum number of changed files that git gets by name: it compares each file with each name."""

_CONFLICTS = {1: "DD", 2: "AU", 3: "UD", 4: "UA", 5: "DU", 6: "AA", 7: "UU"}
"""Git's words for a conflict, by the bits of the stages that there are."""
_SUBMODULES = (
    *("config", "-z", "--file", "-", "--no-includes", "--get-regexp"),
    r"^submodule\..*\.(path|ignore)$",
)
_STATUS = ("status", "--porcelain=v1", "--branch", "--untracked-files=no", "--", ":(literal).git")


class Row(NamedTuple):
    """A path that differs, with git's two letters: staged and not, as in "RM"."""

    letters: str
    path: str
    source: str = ""

    @property
    def is_conflict(self) -> bool:
        """Whether both sides of a merge changed it."""
        return self.letters in _CONFLICTS.values()


@dataclass(frozen=True, slots=True)
class Status:
    """All that differs, with paths from the base; `untracked` directories end with a slash."""

    rows: Sequence[Row]
    untracked: Sequence[str]
    undecided: Sequence[str]

    def raw(self, branch: str, inside: str) -> str:
        """The text of git's status, whose first line is `branch`; `inside` is before each path."""

        def named(path: str) -> str:
            return quoted(inside + path, blanks=True)

        lines = [branch]
        for letters, path, source in self.rows:
            lines.append(f"{letters} {f'{named(source)} -> ' * bool(source)}{named(path)}\n")
        return "".join((*lines, *(f"?? {named(path)}\n" for path in self.untracked)))


def branch_line(tree: WorkTree) -> str:
    """The line of the branch, such as `## main...origin/main [ahead 1]`. Raises `Unanswered`."""
    # Git prints nothing else, because it sees no file and no index.
    return os.fsdecode(tree.repository.ask(tree.budget, *_STATUS, sees="references").strip()) + "\n"


def status_of(tree: WorkTree) -> Status:
    """The status of the work `tree`. Raises `Unanswered`.

    Git goes through the files once, and lists those that are not as in the index. Only these are
    compared more closely.
    """
    repository, budget = tree.repository, tree.budget
    words = [*tree.listing("diff", "status", "diff"), "--ita-invisible-in-index", "--cached"]
    untracked_counts = repository.configuration.flag("status.showuntrackedfiles", default=True)
    files = ["ls-files", "-z", "-t", "--modified", "--unmerged", *repository.excludes]
    files += ["--others"] * untracked_counts
    if repository.configuration.values.get("status.showuntrackedfiles", "").lower() != "all":
        files += ["--directory", "--no-empty-directory"]
    below = tree.below()
    told, listed = repository.answers(  # both at the same time
        repository.start(budget, *question, *below, sees="files")
        for question in ([*words, tree.head], files)
    )
    staged, untracked, stages, modified = tree.parsed(told), list[str](), dict[str, int](), set()
    for line in os.fsdecode(listed).split("\0")[:-1]:  # "? new", or "C 100644 6d3c... 0\ta.py"
        facts, _, path = line.partition("\t" if line[0] != "?" else " ")
        path = path.removeprefix(tree.inside)
        if facts == "?":
            untracked.append(path)
        elif facts[0] == "M":
            stages[path] = stages.get(path, 0) | 1 << int(facts[-1]) - 1
        else:
            modified.add(path)
    changed = Changes()
    if modified:
        below = tree.below(*modified if len(modified) <= MAX_NAMED else ())
        words = [*tree.listing("diff-files", "status", "diff"), "--ita-invisible-in-index"]
        changed = tree.parsed(repository.ask(budget, *words, *below, sees="files"), disk=True)
    # Git lists a file "U" also beside a conflict that it looks for copies in, and files that have
    # another time but the same content.
    modified -= stages.keys()
    changed = {p: one for p, one in changed.items() if p in modified and one.letter != "U"}
    changed = decided(tree, changed, untracked_counts=untracked_counts)
    rows = []
    for path in in_order({**staged, **changed, **stages}):
        sides = staged.get(path), changed.get(path)
        letters = "".join(" " if not one or one.undecided else one.letter for one in sides)
        letters = _CONFLICTS[stages[path]] if path in stages else letters
        source = next((one.source for one in sides if one and one.source), "")
        rows += [Row(letters, path, source)] if letters.strip() else []
    return Status(rows, in_order(untracked), [p for p, one in changed.items() if one.undecided])


def decided(
    tree: WorkTree,
    changes: Changes,
    below: str = "",
    *,
    disk: bool = True,
    untracked_counts: bool = False,
) -> Changes:
    """The `changes` with those of submodules, and with paths that cannot be compared.

    Without `disk`, no submodule is looked at. With `untracked_counts`, an untracked file of a
    submodule is a change of it. Raises `Unanswered`.
    """
    gitlinks = _gitlinks(tree, below) if disk else {}
    paths = {path for path, one in changes.items() if is_submodule(one)} | gitlinks.keys()
    ignored = _ignored(tree) if paths else {}
    ignored = {path: ignored.get(path, ignored[""]) for path in paths}
    changes = {path: one for path, one in changes.items() if ignored.get(path) != "all"}
    files = (path for path, one in changes.items() if one.origin and not is_submodule(one))
    undecided = set(tree.undecided(tree.attributes(files)))
    for path, oid in gitlinks.items():
        if ignored[path] == "all":
            continue
        head, is_dirty = _submodule(tree, path, ignored[path], untracked_counts=untracked_counts)
        change = changes.get(path)
        if is_dirty is None and (head is None or not change):
            undecided.add(path)
        elif change and is_submodule(change):
            new = change.new and Side(GITLINK, (head or oid) + "-dirty" * bool(is_dirty))
            changes[path] = replace(change, new=new)
            if change.old == new:
                del changes[path]
        elif is_dirty and not change:
            new = Side(GITLINK, f"{head or oid}-dirty")
            changes[path] = Change("M", Side(GITLINK, oid), new, origin=Origin.DISK)
    for path in undecided:
        change = changes.get(path) or Change("M", None, None)
        changes[path] = replace(change, undecided=True)
    return {path: changes[path] for path in in_order(changes)}


def is_submodule(change: Change) -> bool:
    """Whether the `change` is one of a submodule alone."""
    return {S_IFMT(side.mode) for side in (change.old, change.new) if side} == {GITLINK}


def _gitlinks(tree: WorkTree, below: str) -> dict[str, str]:
    """The submodules in the index below a path, each with its commit."""
    if not tree.repository.has_gitlinks:
        return {}
    found = dict[str, str]()
    for entry in tree.ask("ls-files", "-z", "-v", "--stage", *tree.below(below)):
        facts, _, path = entry.partition("\t")
        # "H" is not said of one that is not looked at, as with --skip-worktree.
        if facts.startswith("H 160000 ") and facts.endswith(" 0"):
            found[path.removeprefix(tree.inside)] = facts.split(" ")[2]
    return found


def _ignored(tree: WorkTree) -> dict[str, str]:
    """The changes that do not count in each submodule, and by default: "".

    They are "untracked" files, "dirty" for all but other commits, or "all"; "none" is such a
    setting, and "" if there is none. As for git, a `.gitmodules` that is gone is that of the index.
    """
    file = ".gitmodules"
    rules = None if tree.inside else tree.content(file, 0o100644)
    if rules is None:
        rules = tree.blobs([f":{file}"]).get(f":{file}")
    repository, values = tree.repository, dict[str, str]()
    told = repository.ask(tree.budget, *_SUBMODULES, given=rules or b"\n", fine=(0, 1, 3, 128))
    for setting in os.fsdecode(told).split("\0")[:-1]:
        key, _, value = setting.partition("\n")
        values.setdefault(key, value)
    known = {**values, **repository.configuration.values}
    found = {"": known.get("diff.ignoresubmodules", "")}
    for key, place in values.items():
        ignore = f"{key[:-5]}.ignore"
        if key.endswith(".path") and ignore in known:
            found[place.rstrip("/").removeprefix(tree.inside)] = known[ignore]
    return found


def _submodule(
    tree: WorkTree, path: str, ignores: str, *, untracked_counts: bool
) -> tuple[str | None, bool | None]:
    """The latest commit of the submodule at `path`, and whether its files differ from it.

    The commit is "" if it has none or is not cloned. Nothing can be said, None, if it is too deep,
    or git does not answer there, as in one that was moved without git. A `.git` file that came with
    a project can name any repository of the user's, whose state is not the project's: nothing is
    said of such a one, either.
    """
    if tree.nested == MAX_NESTED:
        return None, None
    try:
        with (
            tree.base.root.directory(tree.base.prefix + path) as place,
            opened(place, tree.budget) as inner,
        ):
            head = inner.repository.head
            if inner.repository.depth:  # it was not cloned: this is the repository around
                return "", False
            if ignores == "dirty":
                return head, False
            status = status_of(replace(inner, nested=tree.nested + 1))
    except Unanswered as error:
        return ("", False) if error.why is NoGit.NO_WORK_TREE else (None, None)
    except PathError:
        return "", False  # it is gone, or a file is in its place
    counts = ignores == "none" or (untracked_counts and ignores != "untracked")
    is_dirty = bool(status.rows or (status.untracked and counts))
    return head, None if status.undecided and not is_dirty else is_dirty
