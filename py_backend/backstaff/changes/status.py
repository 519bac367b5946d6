"""A status: the staged, changed, conflicting and untracked paths, as git prints them.

Git compares all files, but not those within submodules: it would start another git there, with the
submodule's own settings. So each submodule is looked at here as a work tree of its own.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from stat import S_IFDIR, S_IFMT
from typing import NamedTuple

from backstaff.changes.work_tree import (
    GITLINK,
    UNDECIDED,
    Change,
    Changes,
    Side,
    WorkTree,
    in_order,
    opened,
    quoted,
)
from backstaff.errors import PathError
from backstaff.fs.handles import HANDLES
from backstaff.project.git import Sees
from backstaff.project.running_git import NoGit, Unanswered

MAX_NESTED = 16
"""Maximum number of submodules within each other: each level holds some directories open."""
_CONFLICTS = {1: "DD", 2: "AU", 3: "UD", 4: "UA", 5: "DU", 6: "AA", 7: "UU"}
"""Git's words for a conflict, by the bits of the stages that there are."""
_RULES = ".gitmodules"
_SUBMODULES = (
    *("config", "-z", "--file", "-", "--no-includes", "--get-regexp"),
    r"^submodule\..*\.(path|ignore)$",
)
# Git prints the line of the branch alone, because it sees no file and no index.
_BRANCH = ("status", "--porcelain=v1", "--branch", "--untracked-files=no", "--", ":(literal).git")


class Row(NamedTuple):
    """A path that differs, with git's two letters: staged and not, as in "RM", or "??"."""

    letters: str
    path: str
    source: str = ""


class Status(NamedTuple):
    """All that differs, as git prints it, and with paths from the base, in the same order."""

    raw: str
    rows: Sequence[Row]
    undecided: Sequence[str]


def status_of(tree: WorkTree) -> Status:
    """The status of the work `tree`. Raises `Unanswered`."""
    repository, below = tree.repository, tree.repository.below()
    # Else git compares the files with another time once more, by other attributes.
    words = ["-c", "diff.autoRefreshIndex=false", *tree.listing("status", "diff")]
    words.append("--ita-invisible-in-index")
    untracked_counts = repository.flag("status.showuntrackedfiles", default=True)
    is_whole = repository.values.get("status.showuntrackedfiles", "").lower() == "all"
    files = ["ls-files", "-z", "-v", "--modified", "--unmerged", "--killed", *repository.excludes]
    files += ["--others"] * untracked_counts
    files += ["--directory", "--no-empty-directory"] * (not is_whole)
    questions: list[tuple[Sequence[str], Sees]] = [
        ([*words, "--cached", tree.head, *below], "files"),
        ([*files, *below], "files"),
        (_BRANCH, "references"),
    ]
    told, listed, branch = repository.answers(  # all at the same time
        repository.start(*question, sees=sees) for question, sees in questions
    )
    staged, untracked, stages = tree.parsed(told), list[str](), dict[str, int]()
    changed, is_sure = Changes(), True
    for line in os.fsdecode(listed).split("\0")[:-1]:  # "? new", or "C 100644 6d3c... 0\ta.py"
        facts, _, path = line.partition(" " if line[0] in "?K" else "\t")
        (letter, *index), path = facts.split(" "), tree.from_base(path)
        if letter == "?":
            untracked.append(path)
        elif letter == "K":  # a link, perhaps to a directory with the same files
            is_sure = False
        elif letter == "M":
            stages[path] = stages.get(path, 0) | 1 << int(index[2]) - 1
        elif letter == "C" and path not in stages:  # "c" if it counts as unchanged
            changed[path] = _changed(tree, path, Side(int(index[0], 8), index[1]))
            is_sure &= changed[path] is not UNDECIDED
    if not is_sure:
        known = tree.parsed(repository.ask(*words, *below, sees="files"), disk=True)
        # Git lists a file "U" also beside a conflict that it looks for copies in, and files that
        # have another time but the same content.
        known = {p: one for p, one in known.items() if p in changed or one.letter == "D"}
        changed = {p: one for p, one in known.items() if p not in stages and one.letter != "U"}
    changed = decided(tree, changed, gitlinks_of(tree), untracked_counts=untracked_counts)
    undecided = in_order(path for path, one in changed.items() if one is UNDECIDED)
    rows = list[Row]()
    for path in in_order({**staged, **changed, **stages}):
        sides = [one for one in (staged.get(path), changed.get(path)) if one is not UNDECIDED]
        letters = "".join(one.letter if one else " " for one in sides).ljust(2)
        letters = _CONFLICTS[stages[path]] if path in stages else letters
        source = next((one.source for one in sides if one and one.source), "")
        rows += [Row(letters, path, source)] if letters.strip() else []
    rows += (Row("??", path) for path in in_order(untracked))
    lines = [os.fsdecode(branch.strip())]
    for letters, path, source in rows:  # a path is "" where the base itself is untracked
        names = [source, path] if source else [path]
        text = " -> ".join(quoted(tree.inside + name, blanks=True) for name in names)
        lines.append(f"{letters} {text}")
    return Status("\n".join(lines) + "\n", rows, undecided)


def _changed(tree: WorkTree, path: str, old: Side) -> Change:
    """The change of a file that is `old` in the index; `UNDECIDED` if git has to tell it."""
    try:
        kind = S_IFMT(HANDLES.lstat(path, tree.base.directory).st_mode)
    except OSError as error:
        kind = 0 if isinstance(error, FileNotFoundError) else -1
    is_same = kind == (S_IFDIR if old.mode == GITLINK else S_IFMT(old.mode))
    if old.oid == tree.oid(b"") or (kind and not is_same):  # as after `git add --intent-to-add`
        return UNDECIDED
    if not kind:
        return Change("D", old, None)
    return Change("M", old, Side(old.mode, ""), origin="disk")


def decided(
    tree: WorkTree, changes: Changes, gitlinks: Mapping[str, str], *, untracked_counts: bool = False
) -> Changes:
    """The `changes` with those of submodules, and with paths that cannot be compared.

    The submodules `gitlinks` are looked into. With `untracked_counts`, an untracked file there is a
    change, too. Raises `Unanswered`.
    """
    ignored = _ignored(tree, {*gitlinks, *(p for p, one in changes.items() if one.is_submodule)})
    changes = {path: one for path, one in changes.items() if ignored.get(path) != "all"}
    files = (path for path, one in changes.items() if one.origin and not one.is_submodule)
    undecided = [path for path, its in tree.attributes(files).items() if tree.needs_program(its)]
    for path, oid in gitlinks.items():
        if ignored[path] == "all":
            continue
        ignore = ignored[path] or ("none" if untracked_counts else "untracked")
        new = _submodule(tree, path, oid, ignore)
        change = changes.get(path, Change("M", Side(GITLINK, oid), Side(GITLINK, oid)))
        if new is None:
            undecided.append(path)
        elif change.is_submodule and change.new:
            changes[path] = replace(change, new=Side(GITLINK, new), origin="disk")
            if change.old == changes[path].new:
                del changes[path]
    return changes | dict.fromkeys(undecided, UNDECIDED)


def gitlinks_of(tree: WorkTree, below: str = "") -> dict[str, str]:
    """The submodules in the index below a path, each with its commit, of a conflict ours."""
    if not tree.repository.has_gitlinks:
        return {}
    words = ("ls-files", "-z", "-v", "--stage", *tree.repository.below(below))
    entries = (entry.partition("\t")[::2] for entry in tree.repository.entries(*words))
    return {
        path.removeprefix(tree.inside): facts.split(" ")[2]
        for facts, path in entries
        # "H" is not said of one that is not looked at, as with --skip-worktree.
        if facts.startswith(("H 160000 ", "M 160000 ")) and facts[-1] in "02"
    }


def _ignored(tree: WorkTree, submodules: Iterable[str]) -> dict[str, str]:
    """The changes that do not count in each of the `submodules`.

    They are "untracked" files, "dirty" for all but other commits, or "all"; "none" is such a
    setting, and "" if there is none. As for git, a `.gitmodules` that is gone is that of the index.
    """
    if not submodules:
        return {}
    if tree.inside or not os.path.lexists(f"{tree.repository.top}/{_RULES}"):
        rules = tree.blobs([f":{_RULES}"]).get(f":{_RULES}")
    else:
        rules = tree.content(_RULES, 0o100644)
    told = tree.repository.ask(*_SUBMODULES, given=rules or b"\n", fine=(0, 1, 3, 128))
    settings = [setting.partition("\n")[::2] for setting in os.fsdecode(told).split("\0")[:-1]]
    values = dict(reversed(settings))  # the first of several counts
    known = {**values, **tree.repository.values}
    found = dict.fromkeys(submodules, known.get("diff.ignoresubmodules", ""))
    for key, place in reversed(values.items()):
        ignore = f"{key[:-5]}.ignore"
        if key.endswith(".path") and ignore in known:
            found[place.rstrip("/").removeprefix(tree.inside)] = known[ignore]
    return found


def _submodule(tree: WorkTree, path: str, oid: str, ignored: str) -> str | None:
    """The commit of the submodule at `path`, with `-dirty` if its files differ from it.

    It is `oid`, that of the index, if the submodule has none or is not cloned. Nothing can be said,
    None, if it is too deep, a filter would decide, or git does not answer there, as in one that was
    moved without git. A `.git` file that came with a project can name any repository of the user's,
    whose state is not the project's: nothing is said of such a one, either.
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
            head, status = inner.repository.head or oid, Status("", (), ())
            if ignored != "dirty":
                status = status_of(replace(inner, nested=tree.nested + 1))
    except Unanswered as error:
        return oid if error.why is NoGit.NO_WORK_TREE else None
    except PathError:
        return oid  # it is gone, or a file is in its place
    if any(ignored == "none" or row.letters != "??" for row in status.rows):
        return f"{head}-dirty"
    return None if status.undecided and head == oid else head
