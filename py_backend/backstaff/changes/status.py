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
    QUIET,
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
from backstaff.project.running_git import NoGit, Unanswered, answered

MAX_NESTED = 16
"""Maximum number of submodules within each other that are looked into.

Real ones are a few levels deep. Each level starts git, and holds some directories open.
"""

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
    """The status of the work `tree`. Raises `Unanswered`."""
    repository, budget, below = tree.repository, tree.budget, tree.below()
    configuration = repository.configuration
    words = (*tree.renames("status", "diff"), *LISTED, *QUIET, "--ita-invisible-in-index")
    head = repository.head or EMPTY_TREES[configuration.object_format]
    shown = configuration.values.get("status.showuntrackedfiles", "normal").lower()
    others = ["ls-files", "-z", "-t", "--modified", *repository.excludes]
    untracked_counts = configuration.flag("status.showuntrackedfiles", default=True)
    others += ["--others"] * untracked_counts
    if shown != "all":
        others += ["--directory", "--no-empty-directory"]
    gits = [  # all at the same time
        repository.start(budget, *words, "--cached", head, *below, files=True),
        repository.start(budget, *words, *below, files=True),
        repository.start(budget, *others, *below, files=True),
    ]
    try:
        answers = [answered(repository.taken(one)) for one in gits]
    finally:
        for one in gits:
            if not isinstance(one, NoGit):
                one.end()
    staged, changed = tree.parsed(answers[0]), tree.parsed(answers[1], disk=True)
    listed = [os.fsdecode(line) for line in answers[2].split(b"\0")[:-1]]
    untracked = [line[2:].removeprefix(tree.inside) for line in listed if line[0] == "?"]
    # A file of another size is changed for a status, even if its line ends are converted to those
    # in the index. A diff leaves it out.
    known = changed.keys() | {one.source for one in changed.values()}
    side = Side(0o100644, "")
    for line in listed:
        path = line[2:].removeprefix(tree.inside)
        if line[0] == "C" and path not in known and tree.on_disk(path):
            changed[path] = Change("M", side, side, origin=Origin.DISK)
    conflicts = _conflicts(tree) if b" U\0" in answers[1] else {}
    staged, changed = (
        {path: one for path, one in changes.items() if path not in conflicts}
        for changes in (staged, changed)
    )
    changed, undecided = decided(tree, changed, untracked_counts=untracked_counts)
    return Status(
        staged,
        {path: one for path, one in changed.items() if not one.undecided},
        {path: conflicts[path] for path in in_order(conflicts)},
        in_order(untracked),
        undecided,
    )


def without_hidden(tree: WorkTree, changes: Changes) -> Changes:
    """The `changes` without those of submodules of which no change counts."""
    links = {
        path
        for path, one in changes.items()
        if {S_IFMT(side.mode) for side in (one.old, one.new) if side} == {GITLINK}
    }
    rules = _ignored(tree) if links else {}
    hidden = {path for path in links if rules.get(path, rules[""]) == "all"}
    return {path: one for path, one in changes.items() if path not in hidden}


def decided(
    tree: WorkTree, changed: Changes, below: str = "", *, untracked_counts: bool = False
) -> tuple[Changes, list[str]]:
    """The changes on the disk with those of submodules, and the paths that cannot be compared.

    Undecided ones are among the changes, too. With `untracked_counts`, an untracked file of a
    submodule is a change of it. Raises `Unanswered`.
    """
    changed = without_hidden(tree, changed)
    found = dict(changed)
    on_disk = ((path, one.new) for path, one in changed.items() if one.origin)
    regular = (path for path, new in on_disk if new and S_IFMT(new.mode) != GITLINK)
    undecided = set(tree.undecided(regular))
    gitlinks = _gitlinks(tree, below)
    rules = _ignored(tree) if gitlinks else {}
    for path, old in gitlinks.items():
        change, ignored = changed.get(path), rules.get(path, rules[""])
        if ignored == "all":
            found.pop(path, None)
            continue
        state = _submodule(tree, path, ignored)
        if state is None:
            undecided.add(path)
            found.pop(path, None)
            continue
        is_dirty = state.dirty or (state.untracked and ignored == "none")
        new = Side(GITLINK, state.head or old)
        if change and change.new and S_IFMT(change.new.mode) == GITLINK:
            found[path] = replace(change, new=new, dirty=is_dirty)
            if change.old == new and not is_dirty:
                del found[path]
        elif not change and (is_dirty or (state.untracked and untracked_counts)):
            found[path] = Change("M", Side(GITLINK, old), new, dirty=is_dirty, origin=Origin.DISK)
        elif state.unknown and not change:
            undecided.add(path)
    for path in undecided:
        one = changed.get(path)
        found[path] = (
            replace(one, undecided=True) if one else Change("M", None, None, undecided=True)
        )
    return {path: found[path] for path in in_order(found)}, in_order(undecided)


def _conflicts(tree: WorkTree) -> dict[str, str]:
    """Git's two letters for each path in conflict."""
    stages = dict[str, int]()
    for entry in tree.ask("ls-files", "-z", "--unmerged", *tree.below()).split(b"\0")[:-1]:
        facts, _, name = entry.partition(b"\t")
        path = os.fsdecode(name).removeprefix(tree.inside)
        stages[path] = stages.get(path, 0) | 1 << int(facts[-1:]) - 1
    return {path: _CONFLICTS[bits] for path, bits in stages.items()}


def _gitlinks(tree: WorkTree, below: str) -> dict[str, str]:
    """The submodules in the index below a path, each with its commit."""
    found = dict[str, str]()
    if tree.repository.has_gitlinks:
        listed = tree.ask("ls-files", "-z", "-v", "--stage", *tree.below(below))
        for entry in listed.split(b"\0")[:-1]:
            facts, _, name = entry.partition(b"\t")
            # "H" is not said of one that is not looked at, as with --skip-worktree.
            if facts.startswith(b"H 160000 ") and facts.endswith(b"0"):
                path = os.fsdecode(name).removeprefix(tree.inside)
                found[path] = facts.split(b" ")[2].decode()
    return found


def _ignored(tree: WorkTree) -> dict[str, str]:
    """The changes that do not count in each submodule, and by default: "".

    They are "untracked" files, "dirty" for all but other commits, or "all"; "none" is such a
    setting, and "" if there is none. As for git, a `.gitmodules` that is gone is that of the index,
    and one in conflict does not count.
    """
    configuration, file = tree.repository.configuration, ".gitmodules"
    kept = tree.blobs(f":{stage}{file}" for stage in ("", "1:", "2:", "3:"))
    rules = None if tree.inside else tree.content(file, 0o100644)
    if kept.keys() - {f":{file}"}:
        rules = None
    elif rules is None:
        rules = kept.get(f":{file}")
    asked = tree.repository.ask(tree.budget, *_SUBMODULES, given=rules or b"\n", fine=(0, 1))
    values = dict[str, str]()
    for setting in () if isinstance(asked, NoGit) else os.fsdecode(asked).split("\0")[:-1]:
        key, _, value = setting.partition("\n")
        values.setdefault(key, value)
    known = {**values, **configuration.values}
    found = {"": configuration.values.get("diff.ignoresubmodules", "")}
    for key, place in values.items():
        ignore = f"{key[:-5]}.ignore"
        if key.endswith(".path") and ignore in known:
            found[place.rstrip("/").removeprefix(tree.inside)] = known[ignore]
    return found


@dataclass(frozen=True, slots=True)
class _Submodule:
    """The changes in a submodule, and its latest commit, "" if it has none or is not cloned."""

    head: str = ""
    dirty: bool = False
    untracked: bool = False
    unknown: bool = False


def _submodule(  # noqa: PLR0911  # one case after the other
    tree: WorkTree, path: str, ignored: str
) -> _Submodule | None:
    """The state of the submodule at `path`; None if nothing can be said about it.

    A `.git` file that came with a project can name any repository of the user's, whose state is not
    the project's: such a one is None, too.
    """
    if tree.nested == MAX_NESTED:
        return None
    try:
        with tree.base.root.directory(tree.base.prefix + path) as place:
            repository = find_repository(place, tree.budget)
            if isinstance(repository, NoGit) and repository is not NoGit.NO_WORK_TREE:
                return None
            if isinstance(repository, NoGit) or repository.depth:
                return _Submodule()  # it was not cloned: this is the repository around, if any
            if ignored == "dirty":
                return _Submodule(repository.head)
            with opened(place, repository, tree.budget) as inner:
                found = status_of(replace(inner, nested=tree.nested + 1))
    except Unanswered:
        return None
    except PathError:
        return _Submodule()  # it is gone, or a file is in its place
    dirty = bool(found.staged or found.changed or found.conflicts)
    untracked = bool(found.untracked) and ignored != "untracked"
    return _Submodule(repository.head, dirty, untracked, bool(found.undecided))
