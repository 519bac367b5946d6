"""Two states of a work tree, file by file: commits, the index, and the files as they are now.

Git lists the changes and then writes their patches, one after the other, as far as they are read.
The text of a buffer that is not saved stands for its file.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import groupby, islice

from backstaff.changes import patch as patches
from backstaff.changes.patch import Patch, oid_of
from backstaff.changes.status import decided
from backstaff.changes.work_tree import (
    MAX_BYTES,
    Change,
    Changes,
    Origin,
    Side,
    WorkTree,
    in_order,
    quoted,
)
from backstaff.project.git import Sees
from backstaff.project.running_git import NoGit, RunningGit, Unanswered

INDEX = "index"
AT_ONCE = 16
"""Number of files whose new texts git is asked for together."""
_PATCH = ("--patch", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
_REVERSED = ("-R", "--src-prefix=b/", "--dst-prefix=a/")
_END_OF_LIST = re.compile(rb"(?<=\0)\0")
_BOUNDARY = re.compile(rb"(?<=\n)(?=diff --|\* Unmerged path )")
_BOUNDARY_BYTES = 20


class Unshown(StrEnum):
    """The reason why the lines of a file are not shown."""

    SECRET = "it may hold secrets: a person has to allow it"  # noqa: S105  # no password
    UNDECIDED = "a filter or an encoding would have to run to compare it, or it cannot be read"
    UNREADABLE = "git cannot read it"
    CHANGED = "it is larger than 4 MiB, or it changed meanwhile: ask again"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files that differ below a path, in git's order.

    The `question` starts git with more words, and its patches come with their first lines. `texts`
    are the old and new texts of those whose patch git does not write: of buffers and of submodules.
    A file that is `alone` was asked for by its path: whoever shows it asks whether it may be.
    """

    tree: WorkTree
    files: Changes
    question: Callable[..., RunningGit]
    parts: Iterator[tuple[bytes, bytes]]
    texts: Mapping[str, tuple[bytes, bytes]]
    context: int | None = None
    alone: str = ""

    def patches(self, first: int) -> Iterator[tuple[str, Change, Patch | Unshown | None]]:
        """Yield the files from the `first` on, each with its patch or the reason for none.

        Without a `context`, no patch is made: None. Raises `DeadlineExceeded` and `Unanswered`.
        """
        if self.context is None:
            yield from ((*one, None) for one in islice(self.files.items(), first, None))
            return
        waiting: dict[bytes, bytes] = {}
        known: Mapping[str, bytes] = {}
        for number, (path, change) in enumerate(self.files.items()):
            text = b"" if path in self.texts else self._by_git(path, change, waiting)
            if number < first:
                continue
            if (number - first) % AT_ONCE == 0:
                ahead = islice(self.files.items(), number, number + AT_ONCE)
                known = self.tree.blobs(
                    one.new.oid for p, one in ahead if one.new and not self._hides(p)
                )
            new = known.get(change.new.oid) if change.new else None
            yield path, change, self._patch(path, change, text, new)

    def _hides(self, path: str) -> bool:
        shown = {path, self.files[path].source} - {"", self.alone}
        return any(map(self.tree.base.hides, shown))

    def _by_git(self, path: str, change: Change, waiting: dict[bytes, bytes]) -> bytes:
        """Git's patch of the file. Git ends at one that it cannot read, and is asked again."""
        names = (self.tree.inside + (change.source or path), self.tree.inside + path)
        head = os.fsencode(f"diff --git {quoted(f'a/{names[0]}')} {quoted(f'b/{names[1]}')}")
        try:
            while head not in waiting and (part := next(self.parts, None)):
                waiting[part[0]] = part[1]
            if head not in waiting:
                below = self.tree.repository.below(*{path, change.source or path})
                waiting[head] = b"".join(islice(_parts(self.question(*below).pieces()), 1, None))
        except Unanswered as error:
            if error.why is NoGit.SLOW:
                raise
        return waiting.pop(head, b"")

    def _patch(self, path: str, change: Change, text: bytes, new: bytes | None) -> Patch | Unshown:
        budget = self.tree.repository.budget
        if self._hides(path):
            return Unshown.SECRET
        if change.undecided:
            return Unshown.UNDECIDED
        if path in self.texts:
            old, new = self.texts[path]
            patch = patches.made(
                change, (self.tree.inside, path), (old, new), self.context or 0, budget
            )
        elif not text:
            return Unshown.UNREADABLE
        else:
            patch = patches.read(text)
            if change.origin and change.new and patch.added is not None:
                new = self.tree.content(path, change.new.mode)
                if new is None or not patches.shows_only(text, new):
                    return Unshown.CHANGED
        if new is None or not change.old:
            return patch
        return patches.with_definitions(patch, path, new, budget)


def compared(  # noqa: PLR0913  # the parameters of the tool
    tree: WorkTree,
    base: str,
    target: str | None,
    below: str,
    buffers: Mapping[str, bytes],
    *,
    context: int | None = 3,
) -> Comparison:
    """Compare `base` with `target`, each the hash of a commit or `INDEX`.

    If `target` is None, it is the files as they are, where `buffers` have the texts of some. Only
    the file or directory `below` counts, "" for all. Paths are from the base of the `tree`. Without
    a `context`, there are no patches. Raises `Unanswered` and `DeadlineExceeded`.
    """
    repository, base = tree.repository, base or tree.head
    if base == target:
        return Comparison(tree, {}, repository.start, iter(()), {})
    words = ["-c", f"core.bigFileThreshold={MAX_BYTES}", *tree.listing("diff")]
    words += [] if context is None else [*_PATCH, f"--unified={context}"]
    if target is None:
        words += ["--ours"] if base == INDEX else [base]
    elif INDEX not in (base, target):
        words += [base, target]
    else:
        words += ["--cached", base] if target == INDEX else [*_REVERSED, "--cached", target]
    # If git had the files for the other comparisons, it would read one in place of its object.
    sees: Sees = "files" if target is None else "index"
    question = partial(repository.start, *words, sees=sees)
    parts = _parts(question(*repository.below(below)).pieces())
    files, texts = tree.parsed(next(parts), disk=target is None), dict[str, tuple[bytes, bytes]]()
    files = decided(tree, files, below, disk=target is None)
    if target is None:
        buffers = {p: t for p, t in buffers.items() if not below or f"{p}/".startswith(f"{below}/")}
        files, texts = _with_buffers(tree, base, files, buffers)
    texts |= {
        path: (_subproject(one.old), _subproject(one.new))
        for path, one in files.items()
        if one.is_submodule
    }
    files = {path: files[path] for path in in_order(files)}
    repository.require_in_place()
    # A file of another type has two parts with the same first line.
    by_head = groupby(parts, lambda part: part.partition(b"\n")[0])
    by_git = ((head, b"".join(both)) for head, both in by_head)
    return Comparison(
        tree, files, question, by_git, texts, context, below if below in files else ""
    )


def _subproject(side: Side | None) -> bytes:
    """The text that git shows for a submodule."""
    return os.fsencode(f"Subproject commit {side.oid}\n") if side else b""


def _parts(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Git's list of the changes, and then its patches, one by one."""
    left, at, boundary = bytearray(), 0, _END_OF_LIST
    for piece in pieces:
        left += piece
        while found := boundary.search(left, at):
            yield bytes(left[: found.start()])
            del left[: found.end()]
            at, boundary = 0, _BOUNDARY
        at = max(0, len(left) - _BOUNDARY_BYTES)
    yield bytes(left)


def _with_buffers(
    tree: WorkTree, base: str, files: Changes, buffers: Mapping[str, bytes]
) -> tuple[Changes, dict[str, tuple[bytes, bytes]]]:
    """`files` with those whose text in a buffer is another one, and both texts of these."""
    start = ":" if base == INDEX else f"{base}:"
    names, changes, texts = dict[str, str](), dict(files), dict[str, tuple[bytes, bytes]]()
    for path in buffers:
        old = files[path].old if path in files else Side(0, f"{start}{tree.inside}{path}")
        names[path] = old.oid if old else ""
    known, attributes = tree.blobs(names.values()), tree.attributes(buffers)
    undecided = tree.undecided(attributes)
    object_format = tree.repository.object_format
    for path, text in buffers.items():
        before = known.get(names[path])
        if path not in files and before is None:
            continue  # git tracks no such file
        before = before or b""
        change = files.get(path) or Change("M", Side(0o100644, oid_of(before, object_format)), None)
        if path in undecided:
            changes[path] = replace(change, origin=Origin.DISK, undecided=True)
            continue
        stored = _to_git(tree, text, before, attributes[path])
        side = change.new or change.old
        new = Side(side.mode if side else 0o100644, oid_of(stored, object_format))
        if change.old == new and not change.source:
            changes.pop(path, None)
            continue
        letter = "M" if change.letter == "D" else change.letter
        changes[path] = replace(change, letter=letter, new=new, origin=Origin.BUFFER)
        texts[path] = before, stored
    return changes, texts


def _to_git(tree: WorkTree, text: bytes, before: bytes, attributes: Mapping[str, str]) -> bytes:
    """The `text` of a buffer as git would store it in place of `before` (gitattributes, "text")."""
    has_end = attributes["eol"] in {"lf", "crlf"}
    is_text = attributes["text"] == "set" or (has_end and attributes["text"] == "unspecified")
    automatic = tree.repository.flag("core.autocrlf")  # or "input"
    if attributes["text"] == "auto" or (
        automatic and attributes["text"] == "unspecified" and not has_end
    ):
        is_plain = b"\0" not in text and text.count(b"\r") == text.count(b"\r\n")
        is_text = is_plain and b"\r\n" not in before
    text = text.replace(b"\r\n", b"\n") if is_text else text
    return patches.ID.sub(b"$Id$", text) if attributes["ident"] == "set" else text
