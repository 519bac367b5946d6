"""A work tree: its status and its changes as git tells them, and contents read through the root.

Each submodule is a work tree of its own here, because git would use the submodule's settings.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.errors import PathError, Unanswered
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place, is_within
from backstaff.programs import answers
from backstaff.project.git import Repository, find_repository
from backstaff.project.running_git import QUIET

MAX_BYTES, MAX_NESTED = 4 << 20, 32  # of a file that is shown; directories around a submodule
LINK, GITLINK = 0o120000, 0o160000
RAW = ("-c", f"core.bigFileThreshold={MAX_BYTES}", "diff", "--raw", "-z", "--no-abbrev", *QUIET)
_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--ignore-submodules=dirty")
_FIELDS = {"1": 9, "2": 10, "u": 11}  # of git's lines: a change, a renamed file, a conflict
# A submodule in the index, of a conflict ours. Git compares none without H or M (--skip-worktree).
_GITLINK = re.compile(r"(?<![^\0])[HM] 160000 (\w+) [02]\t([^\0]+)")
_ODD = re.compile(r"/(?:\.{1,2}|\.git|(?=/[^/]))/", re.IGNORECASE)
"""Matches a name that no file of a work tree has: git itself writes none into an index."""
_ESCAPES = {number: f"\\{number:03o}" for number in (*range(32), 127)}
_ESCAPES |= {ord(a): f"\\{b}" for a, b in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}
_ATTRIBUTES = ("check-attr", "-z", "--stdin", "filter", "working-tree-encoding", "text", "eol")


class Side(NamedTuple):
    """A file on one side of a comparison: its mode, 0 for none, and its hash, "" on the disk."""

    mode: int = 0
    oid: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs: git's letter, and its two sides."""

    letter: str
    old: Side
    new: Side
    source: str = ""  # the path before, of a renamed or copied file
    origin: str = ""  # where the new text is: "disk", "buffer", or "" for git
    texts: tuple[bytes, bytes] | None = None  # both, as git stores them, if it writes no patch

    @property
    def is_submodule(self) -> bool:
        """Whether it is a change of a submodule alone."""
        return {self.old.mode, self.new.mode} - {0} == {GITLINK}


UNDECIDED = Change("?", Side(), Side(), origin="disk")  # of a file that cannot be compared
Changes = dict[str, Change]  # by path from the base, in git's order


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A work tree. The `base` is its top, or the root of the call if the top is above that."""

    base: Place
    repository: Repository

    def oid(self, content: bytes, kind: str = "blob") -> str:
        """The hash of git's object with this `content`."""
        head = f"{kind} {len(content)}\0".encode()
        return hashlib.new(self.repository.object_format, head + content).hexdigest()

    def from_base(self, path: str) -> str:
        """A `path` of git's, from the base. Raises `Unanswered` if no file can have its name."""
        if _ODD.search(f"/{path}/"):
            raise Unanswered("the index or a commit has a name such as '..'")
        return path.removeprefix(self.repository.inside)

    def parsed(self, listed: bytes) -> Changes:
        """The changes `listed` by git as `RAW`; a new side without a hash is the disk's."""
        changes, parts = Changes(), iter(os.fsdecode(listed).split("\0")[:-1])
        # Such as ":100644 100755 6d3c... 9b1e... M", then the path.
        for facts, first in self.repository.budget.checked(zip(parts, parts, strict=False)):
            was, now, oid, new_oid, letter = facts[1:].split(" ")
            source, path = (first, next(parts)) if letter[0] in "RC" else ("", first)
            old, new = Side(int(was, 8), oid), Side(int(now, 8), new_oid.strip("0") and new_oid)
            path, source = self.from_base(path), self.from_base(source)
            if letter != "U" or path not in changes:
                origin = "disk" if new.mode and not new.oid else ""
                changes[path] = Change(letter[0], old, new, source, origin)
        return changes

    def attributes(self, paths: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        """The attributes of `paths` that decide how git reads a file."""
        found = dict[str, dict[str, str]]()
        if given := b"".join(os.fsencode(f"{self.repository.inside}{path}\0") for path in paths):
            parts = iter(self.repository.entries(*_ATTRIBUTES, given=given))
            for path, name, value in zip(parts, parts, parts, strict=True):
                found.setdefault(path.removeprefix(self.repository.inside), {})[name] = value
        return found

    def needs_program(self, attributes: Mapping[str, str]) -> bool:
        """Whether git reads a file with these `attributes` by the help of a program."""
        keys = (f"filter.{attributes['filter']}.{key}" for key in ("clean", "process"))
        encoding = attributes["working-tree-encoding"].upper().replace("-", "")
        plain = ("", "UTF8", "SET", "UNSET", "UNSPECIFIED")
        return any(map(self.repository.values.get, keys)) or encoding not in plain

    def content(self, path: str, mode: int) -> bytes | None:
        """The content of the file `path` on the disk, or of a link; None if it cannot be read."""
        parent, _, name = (self.base.prefix + path).rpartition("/")
        with suppress(OSError, PathError), self.base.root.directory(parent or ".") as place:
            if place.relative != (parent or "."):
                return None  # a link on the way leads elsewhere
            if mode == LINK:
                with suppress(OSError):  # with core.symlinks=false, a file has its target
                    return os.fsencode(HANDLES.readlink(name, place.directory))
            content = read(name, place.directory, MAX_BYTES)
            return content.head if content.whole else None
        return None

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The contents of the blobs `names`, such as a hash or `HEAD:a.py`, that are there."""
        wanted = [name for name in names if name and "\n" not in name]
        if not wanted:
            return {}
        found, given = dict[str, bytes](), os.fsencode("\n".join(wanted) + "\n")
        with suppress(Unanswered):
            words = ("cat-file", "--batch")
            stream = BytesIO(self.repository.ask(*words, given=given, sees="files", fine=(0, 128)))
            for name in wanted:  # git ends at an object that it cannot read
                facts = re.fullmatch(rb"[0-9a-f]+ (\w+) (\d+)\n", stream.readline())
                content = stream.read(int(facts[2])) if facts else b""
                if facts and stream.read(1) and facts[1] == b"blob":
                    found[name] = content
        return found


@contextmanager
def opened(start: Place, budget: Budget) -> Iterator[WorkTree]:
    """The work tree around the directory `start`. Raises `PathError` and `Unanswered`."""
    repository = find_repository(start, budget)
    root, top = start.root.path, repository.top.path
    is_below = is_within(top, root)
    inside = "" if is_below else os.path.relpath(root, top) + "/"
    with start.root.directory(top if is_below else root) as base:
        yield WorkTree(base, replace(repository, inside=inside))


def quoted(path: str, *, blanks: bool = False) -> str:
    r"""`path` as git prints it with core.quotePath=false: `"a\tb"`; with `blanks` also `"a b"`."""
    escapes = path.translate(_ESCAPES)
    return f'"{escapes}"' if escapes != path or (blanks and " " in path) else path


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
    """The status of the work `tree`. Raises `Unanswered` and `DeadlineExceeded`."""
    repository, below = tree.repository, tree.repository.below()
    untracked_counts = repository.flag("status.showuntrackedfiles", default=True)
    # A status reads one file of rules beside those of directories.
    asked = [["-c", f"core.excludesFile={[*repository.rules, os.devnull][0]}", *_STATUS]]
    if len(repository.rules) > 1:
        asked[0].append("--untracked-files=no")
        is_all = repository.values.get("status.showuntrackedfiles") == "all"
        others = () if is_all else ("--directory", "--no-empty-directory")
        asked += [["ls-files", "-z", "--others", *others, *repository.excludes]] * untracked_counts
    tracked, *listed = answers(repository.start(*one, *below, sees="files") for one in asked)
    rows, changed, lines = dict[str, Row](), Changes(), iter(os.fsdecode(tracked).split("\0")[:-1])
    headers, untracked = list[str](), os.fsdecode(b"".join(listed)).split("\0")[:-1]
    for line in repository.budget.checked(lines):
        if line[0] in "#?":  # such as "# branch.head main", or "? new.py"
            (headers if line[0] == "#" else untracked).append(line[2:])
            continue
        # Such as "1 .M N... 100644 100644 100755 6d3c... 6d3c... a.py".
        kind, letters, *facts, path = line.split(" ", _FIELDS[line[0]] - 1)
        path, source = tree.from_base(path), tree.from_base(next(lines)) if kind == "2" else ""
        staged, other = letters[0].replace(".", " "), letters[1] if kind == "u" else " "
        rows[path] = Row(staged + other, path, source)
        if kind != "u" and letters[1] != ".":
            old, new = Side(int(facts[2], 8), facts[5]), Side(int(facts[3], 8))
            changed[path] = Change(letters[1], old, new, source, "disk" if new.mode else "")
    changed = decided(tree, changed, untracked_counts=untracked_counts)
    undecided = sorted((p for p, one in changed.items() if one is UNDECIDED), key=os.fsencode)
    for path, change in changed.items():
        row = rows.get(path, Row("  ", path))
        if row.letters[1] == " ":  # else it is a conflict
            rows[path] = row._replace(letters=row.letters[0] + change.letter.replace("?", " "))
    ordered = [rows[p] for p in sorted(rows, key=os.fsencode) if rows[p].letters.strip()]
    # Git walks by paths, which can have led out just then.
    prefix, checked = tree.base.prefix, repository.budget.checked(map(tree.from_base, untracked))
    there = tree.base.root.present(prefix + path for path in sorted(checked, key=os.fsencode))
    ordered += (Row("??", path.removeprefix(prefix)) for path in repository.budget.checked(there))
    raw = [_branch_line(headers, repository.branch)]
    for letters, path, source in ordered:  # a path is "" where the base itself is untracked
        names = [source, path] if source else [path]
        text = " -> ".join(quoted(repository.inside + name, blanks=True) for name in names)
        raw.append(f"{letters} {text}")
    return Status("\n".join(raw) + "\n", ordered, undecided)


def _branch_line(headers: Sequence[str], branch: str | None) -> str:
    """Git's line of the `branch`, such as "## main...origin/main [ahead 1]", by its `headers`."""
    oid, name, *more = (header.partition(" ")[2] for header in headers)
    if branch is not None and name not in (branch or "(detached)", "(null)"):  # as of refs/foo
        raise Unanswered("its HEAD is a link, or is broken, or changes now")
    if name == "(detached)":
        return "## HEAD (no branch)"
    line = f"## {'No commits yet on ' * (oid == '(initial)')}{branch or name}"
    if more:  # the upstream, and the distance from it, such as "+1 -2", if it is there
        counts = zip(("ahead", "behind"), more[-1].split(" "), strict=False)
        far = ", ".join(f"{word} {count[1:]}" for word, count in counts if count[1:] != "0")
        far = far if more[1:] else "gone"
        line += f"...{more[0]}" + f" [{far}]" * bool(far)
    return line


def decided(
    tree: WorkTree, changes: Changes, below: str | None = "", *, untracked_counts: bool = False
) -> Changes:
    """The `changes` with those of submodules, and with paths that cannot be compared.

    The submodules `below` a path are looked into; for None, there are no changes on the disk. With
    `untracked_counts`, an untracked file there is a change, too. Raises `Unanswered`.
    """
    repository, gitlinks = tree.repository, dict[str, str]()
    if below is not None and repository.has_gitlinks:
        told = repository.ask("ls-files", "-zv", "--stage", *repository.below(below), sees="files")
        gitlinks = {tree.from_base(path): oid for oid, path in _GITLINK.findall(os.fsdecode(told))}
    ignored = _ignored(tree, {*gitlinks, *(p for p, one in changes.items() if one.is_submodule)})
    changes = {path: one for path, one in changes.items() if ignored.get(path) != "all"}
    files = (path for path, one in changes.items() if one.origin and not one.is_submodule)
    undecided = [path for path, its in tree.attributes(files).items() if tree.needs_program(its)]
    for path, oid in repository.budget.checked(gitlinks.items(), 1):
        ignore = ignored[path] or ("none" if untracked_counts else "untracked")
        new = oid if ignore == "all" else _submodule(tree, path, oid, ignore)
        change = changes.pop(path, Change("M", Side(GITLINK, oid), Side(GITLINK, oid)))
        if new is None:
            undecided.append(path)
        elif not (change.is_submodule and change.new.mode):
            changes[path] = change
        elif change.source or change.old.oid != new:
            changes[path] = replace(change, new=Side(GITLINK, new), origin="disk")
    return changes | dict.fromkeys(undecided, UNDECIDED)


def _ignored(tree: WorkTree, submodules: Iterable[str]) -> dict[str, str]:
    """What does not count in each of the `submodules`: "" if there is no setting.

    Else it is "untracked", "dirty" for all but other commits, "all", or "none". As for git, a
    `.gitmodules` that is gone is that of the index, else that of the last commit.
    """
    if not submodules:
        return {}
    repository, is_there = tree.repository, os.path.lexists(f"{tree.repository.top}/.gitmodules")
    blobs = tree.blobs((":.gitmodules", "HEAD:.gitmodules")) if not is_there else {}
    file = ("--file", ".gitmodules") if is_there else ("--blob", next(iter(blobs), ":.gitmodules"))
    words = ("config", "-z", *file, "--get-regexp", r"^submodule\..*\.(path|ignore)$")
    told = repository.ask(*words, sees="files", fine=(0, 1, 3, 128))
    settings = [setting.partition("\n")[::2] for setting in os.fsdecode(told).split("\0")[:-1]]
    values = {**dict(reversed(settings)), **repository.values}  # the first of several counts
    found = dict.fromkeys(submodules, values.get("diff.ignoresubmodules", ""))
    for key, place in reversed(values.items()):
        ignore = key.endswith(".path") and values.get(f"{key[:-5]}.ignore")
        if ignore and place[:1] != "-":  # else git takes it for an option, and ignores it
            found[place.rstrip("/").removeprefix(repository.inside)] = ignore
    return found


def _submodule(tree: WorkTree, path: str, oid: str, ignored: str) -> str | None:
    """The commit of the submodule at `path`, with `-dirty` if its files differ from it.

    It is `oid`, that of the index, if the submodule has none or is not cloned; None if it is too
    deep, a filter would decide, or git does not answer: it was moved, or its `.git` leads away.
    """
    base, budget = tree.base, tree.repository.budget
    if base.prefix.count("/") >= MAX_NESTED:
        return None
    try:
        with base.root.directory(base.prefix + path) as place, opened(place, budget) as inner:
            if inner.base.path != place.path:  # it was not cloned: this is the repository around
                return oid
            head = inner.repository.latest_commit() or oid
            _, rows, undecided = status_of(inner) if ignored != "dirty" else ("", (), ())
    except Unanswered:
        return None
    except PathError:
        return oid  # it is gone, or a file is in its place
    if any(ignored == "none" or row.letters != "??" for row in rows):
        return f"{head}-dirty"
    return None if undecided and head == oid else head
