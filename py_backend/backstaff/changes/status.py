"""A status: the staged, changed, conflicting and untracked paths.

Git compares all files, but not those within submodules: it would start another git there, with the
submodule's own settings. So each submodule is looked at here as a work tree of its own.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from stat import S_IFMT

from backstaff.changes.work_tree import (
    EMPTY_TREES,
    GITLINK,
    LISTED,
    Change,
    Changes,
    Origin,
    Side,
    WorkTree,
    in_order,
    opened,
)
from backstaff.errors import PathError
from backstaff.project.git import find_repository
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


@dataclass(frozen=True, slots=True)
class Status:
    """All that differs, with paths from the base; `untracked` directories end with a slash."""

    staged: Changes
    changed: Changes
    conflicts: Mapping[str, str]
    untracked: Sequence[str]
    undecided: Sequence[str]


def status_of(tree: WorkTree) -> Status:
    """The status of the work `tree`. Raises `Unanswered`.

    Git goes through the files once, and lists those that are not as in the index. Only these are
    compared more closely.
    """
    repository, budget = tree.repository, tree.budget
    configuration = repository.configuration
    words = (*tree.renames("status", "diff"), *LISTED, "--ita-invisible-in-index")
    head = repository.head or EMPTY_TREES[configuration.object_format]
    untracked_counts = configuration.flag("status.showuntrackedfiles", default=True)
    others = ["ls-files", "-z", "-t", "--modified", "--unmerged", *repository.excludes]
    others += ["--others"] * untracked_counts
    if configuration.values.get("status.showuntrackedfiles", "").lower() != "all":
        others += ["--directory", "--no-empty-directory"]
    staged, listed = repository.answers(
        [  # both at the same time
            repository.start(budget, *words, "--cached", head, *tree.below(), files=True),
            repository.start(budget, *others, *tree.below(), files=True),
        ]
    )
    untracked, stages, modified = list[str](), dict[str, int](), set[str]()
    for line in os.fsdecode(listed).split("\0")[:-1]:  # "? new", or "C 100644 6d3c... 0\ta.py"
        facts, _, path = line.partition("\t" if line[0] != "?" else " ")
        path = path.removeprefix(tree.inside)
        if facts == "?":
            untracked.append(path)
        elif facts[0] == "M":
            stages[path] = stages.get(path, 0) | 1 << int(facts[-1]) - 1
        else:
            modified.add(path)
    modified -= stages.keys()
    changed = Changes()
    if modified:
        below = tree.below(*modified if len(modified) <= MAX_NAMED else ())
        told = repository.ask(budget, *words, *below, files=True)
        changed = tree.parsed(told, disk=True)
    # A file of another size is changed for a status, even if its line ends are converted to those
    # in the index. A diff leaves it out.
    side = Side(0o100644, "")
    for path in modified - changed.keys() - {one.source for one in changed.values()}:
        if tree.on_disk(path):
            changed[path] = Change("M", side, side, origin=Origin.DISK)
    changed = {path: one for path, one in changed.items() if path not in stages}
    changed, undecided = decided(tree, changed, untracked_counts=untracked_counts)
    return Status(
        {path: one for path, one in tree.parsed(staged).items() if path not in stages},
        {path: one for path, one in changed.items() if not one.undecided},
        {path: _CONFLICTS[stages[path]] for path in in_order(stages)},
        in_order(untracked),
        undecided,
    )


def without_hidden(tree: WorkTree, changes: Changes) -> Changes:
    """The `changes` without those of submodules of which no change counts."""

    def is_of_submodule(one: Change) -> bool:
        return {S_IFMT(side.mode) for side in (one.old, one.new) if side} == {GITLINK}

    links = {path for path, one in changes.items() if is_of_submodule(one)}
    ignored = _ignored(tree) if links else {}
    hidden = {path for path in links if ignored.get(path, ignored[""]) == "all"}
    return {path: one for path, one in changes.items() if path not in hidden}


def decided(
    tree: WorkTree, changed: Changes, below: str = "", *, untracked_counts: bool = False
) -> tuple[Changes, list[str]]:
    """The changes on the disk with those of submodules, and the paths that cannot be compared.

    Undecided ones are among the changes, too. With `untracked_counts`, an untracked file of a
    submodule is a change of it. Raises `Unanswered`.
    """
    changes = without_hidden(tree, changed)
    on_disk = [path for path, one in changes.items() if one.origin and not is_submodule(one)]
    undecided = set(tree.undecided(on_disk))
    gitlinks = _gitlinks(tree, below)
    ignored = _ignored(tree) if gitlinks else {}
    for path, oid in gitlinks.items():
        ignores = ignored.get(path, ignored[""])
        if ignores == "all":
            changes.pop(path, None)  # even a file in its place
            continue
        head, is_dirty = _submodule(tree, path, ignores, untracked_counts=untracked_counts)
        change = changes.get(path)
        if is_dirty is None and (head is None or not change):
            undecided.add(path)
        elif change and is_submodule(change):
            new = Side(GITLINK, (head or oid) + "-dirty" * bool(is_dirty))
            changes[path] = replace(change, new=new)
            if change.old == new:
                del changes[path]
        elif is_dirty and not change:
            new = Side(GITLINK, f"{head or oid}-dirty")
            changes[path] = Change("M", Side(GITLINK, oid), new, origin=Origin.DISK)
    for path in undecided:
        change = changes.get(path) or Change("M", None, None)
        changes[path] = replace(change, undecided=True)
    return {path: changes[path] for path in in_order(changes)}, in_order(undecided)


def is_submodule(change: Change) -> bool:
    """Whether the new side of `change` is a submodule."""
    return change.new is not None and S_IFMT(change.new.mode) == GITLINK


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


def _submodule(  # noqa: PLR0911  # one case after the other
    tree: WorkTree, path: str, ignores: str, *, untracked_counts: bool
) -> tuple[str | None, bool | None]:
    """The latest commit of the submodule at `path`, and whether its files differ from it.

    The commit is "" if it has none or is not cloned. None stands for what cannot be said: all, if
    it is too deep or no git answers there, as in one that was moved without git. A `.git` file that
    came with a project can name any repository of the user's, whose state is not the project's:
    nothing is said of such a one, either.
    """
    if tree.nested == MAX_NESTED:
        return None, None
    try:
        with tree.base.root.directory(tree.base.prefix + path) as place:
            repository = find_repository(place, tree.budget)
            if isinstance(repository, NoGit):
                return ("", False) if repository is NoGit.NO_WORK_TREE else (None, None)
            if repository.depth:  # it was not cloned: this is the repository around
                return "", False
            if ignores == "dirty":
                return repository.head, False
            with opened(place, repository, tree.budget) as inner:
                status = status_of(replace(inner, nested=tree.nested + 1))
    except Unanswered:
        return None, None
    except PathError:
        return "", False  # it is gone, or a file is in its place
    counts = ignores == "none" or (untracked_counts and ignores != "untracked")
    if status.staged or status.changed or status.conflicts or (status.untracked and counts):
        return repository.head, True
    return repository.head, None if status.undecided else False
