"""A status: the staged, changed, conflicting and untracked paths, as git prints them.

Git compares all files, but not those within submodules: it would start another git there, with the
submodule's own settings. So each submodule is looked at here as a work tree of its own.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
_BRANCH = ("status", "--porcelain=v1", "--branch", "--untracked-files=no", "--", ":(literal).git")


class Row(NamedTuple):
    """A path that differs, with git's two letters: staged and not, as in "RM"."""

    letters: str
    path: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """All that differs, with paths from the base; `untracked` directories end with a slash."""

    rows: Sequence[Row]
    untracked: Sequence[str]
    undecided: Sequence[str]

    def raw(self, branch: str, inside: str) -> str:
        """The text of git's status, whose first line is `branch`; `inside` is before each path."""
        lines = [branch]
        for letters, path, source in (*self.rows, *(Row("??", path) for path in self.untracked)):
            # A path is "" where the base itself is untracked.
            names = (
                quoted(inside + name, blanks=True) for name in ([source] * bool(source) + [path])
            )
            lines.append(f"{letters} {' -> '.join(names)}\n")
        return "".join(lines)


def branch_line(tree: WorkTree) -> str:
    """The line of the branch, such as `## main...origin/main [ahead 1]`. Raises `Unanswered`."""
    # Git prints nothing else, because it sees no file and no index.
    return os.fsdecode(tree.repository.ask(*_BRANCH, sees="references").strip()) + "\n"


def status_of(tree: WorkTree) -> Status:
    """The status of the work `tree`. Raises `Unanswered`.

    Git goes through the files once, and lists those that are not as in the index. Only these are
    compared more closely.
    """
    repository, below = tree.repository, tree.repository.below()
    # Else git compares the other files once more, by other attributes.
    words = ["-c", "diff.autoRefreshIndex=false", *tree.listing("status", "diff")]
    words.append("--ita-invisible-in-index")
    shown = repository.values.get("status.showuntrackedfiles", "").lower()
    untracked_counts = repository.flag("status.showuntrackedfiles", default=True)
    files = ["ls-files", "-z", "-t", "--modified", "--unmerged", *repository.excludes]
    files += ["--others"] * untracked_counts
    files += ["--directory", "--no-empty-directory"] * (shown != "all")
    told, listed = repository.answers(  # both at the same time
        repository.start(*question, *below, sees="files")
        for question in ([*words, "--cached", tree.head], files)
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
        below = repository.below(*modified) if len(modified) <= MAX_NAMED else below
        changed = tree.parsed(repository.ask(*words, *below, sees="files"), disk=True)
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
    undecided = (path for path, one in changed.items() if one.undecided)
    return Status(rows, in_order(untracked), in_order(undecided))


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
    submodules = gitlinks.keys() | {path for path, one in changes.items() if one.is_submodule}
    ignored = _ignored(tree, submodules) if submodules else {}
    changes = {path: one for path, one in changes.items() if ignored.get(path) != "all"}
    files = (path for path, one in changes.items() if one.origin and not one.is_submodule)
    undecided = set(tree.undecided(tree.attributes(files)))
    for path, oid in gitlinks.items():
        if ignored[path] == "all":
            continue
        counts = ignored[path] == "none" or (untracked_counts and ignored[path] != "untracked")
        new = _submodule(tree, path, oid, is_looked_into=ignored[path] != "dirty", counts=counts)
        change = changes.get(path, Change("M", Side(GITLINK, oid), Side(GITLINK, oid)))
        if new is None:
            undecided.add(path)
        elif change.is_submodule and change.new:
            changes[path] = replace(change, new=Side(GITLINK, new), origin=Origin.DISK)
            if change.old == changes[path].new:
                del changes[path]
    for path in undecided:
        change = changes.get(path) or Change("M", None, None)
        changes[path] = replace(change, undecided=True)
    return changes


def _gitlinks(tree: WorkTree, below: str) -> dict[str, str]:
    """The submodules in the index below a path, each with its commit."""
    if not tree.repository.has_gitlinks:
        return {}
    found = dict[str, str]()
    words = ("ls-files", "-z", "-v", "--stage", *tree.repository.below(below))
    for entry in tree.repository.entries(*words):
        facts, _, path = entry.partition("\t")
        # "H" is not said of one that is not looked at, as with --skip-worktree.
        if facts.startswith("H 160000 ") and facts.endswith(" 0"):
            found[path.removeprefix(tree.inside)] = facts.split(" ")[2]
    return found


def _ignored(tree: WorkTree, submodules: Iterable[str]) -> dict[str, str]:
    """The changes that do not count in each of the `submodules`.

    They are "untracked" files, "dirty" for all but other commits, or "all"; "none" is such a
    setting, and "" if there is none. As for git, a `.gitmodules` that is gone is that of the index.
    """
    file, repository = ".gitmodules", tree.repository
    rules = None if tree.inside else tree.content(file, 0o100644)
    if rules is None:
        rules = tree.blobs([f":{file}"]).get(f":{file}")
    told = repository.ask(*_SUBMODULES, given=rules or b"\n", fine=(0, 1, 3, 128))
    settings = (setting.partition("\n") for setting in os.fsdecode(told).split("\0")[:-1])
    values = {key: value for key, _, value in reversed(list(settings))}
    known = {**values, **repository.values}
    found = dict.fromkeys(submodules, known.get("diff.ignoresubmodules", ""))
    for key, place in reversed(values.items()):
        ignore = f"{key[:-5]}.ignore"
        if key.endswith(".path") and ignore in known:
            found[place.rstrip("/").removeprefix(tree.inside)] = known[ignore]
    return found


def _submodule(
    tree: WorkTree, path: str, oid: str, *, is_looked_into: bool, counts: bool
) -> str | None:
    """The commit of the submodule at `path`, with `-dirty` if its files differ from it.

    It is `oid`, that of the index, if the submodule has none or is not cloned. Untracked files are
    a difference if that `counts`. Nothing can be said, None, if it is too deep, a filter would
    decide, or git does not answer there, as in one that was moved without git. A `.git` file that
    came with a project can name any repository of the user's, whose state is not the project's:
    nothing is said of such a one, either.
    """
    if tree.nested == MAX_NESTED:
        return None
    try:
        with (
            tree.base.root.directory(tree.base.prefix + path) as place,
            opened(place, tree.repository.budget) as inner,
        ):
            if inner.base.path != place.path:  # it was not cloned: this is the repository around
                return oid
            head, status = inner.repository.head or oid, Status((), (), ())
            if is_looked_into:
                status = status_of(replace(inner, nested=tree.nested + 1))
    except Unanswered as error:
        return oid if error.why is NoGit.NO_WORK_TREE else None
    except PathError:
        return oid  # it is gone, or a file is in its place
    if status.rows or (status.untracked and counts):
        return f"{head}-dirty"
    return None if status.undecided and head == oid else head
