"""Two states of a work tree, file by file: commits, the index, and the files as they are now.

Git lists the changes and then writes their patches, one after the other, as far as they are read.
The text of a buffer that is not saved stands for its file.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from backstaff.changes import patch as patches
from backstaff.changes import work_tree
from backstaff.changes.patch import Patch
from backstaff.changes.work_tree import RAW, UNDECIDED, Change, Changes, Side, WorkTree
from backstaff.errors import NoGit, Unanswered
from backstaff.project.git import Sees

INDEX = "index"
AT_ONCE = 16  # files whose new texts git is asked for together
_PATCH = ("--patch", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
_REVERSED = ("-R", "--src-prefix=b/", "--dst-prefix=a/")


@dataclass(slots=True)
class Comparison:
    """The files that differ at or below a path, in git's order, and git's patches to come."""

    tree: WorkTree
    below: str
    context: int | None
    files: Changes
    coming: Iterator[tuple[bytes, Iterator[bytes]]]  # the first line and the parts of each patch
    _came: dict[bytes, bytes] = field(default_factory=dict)
    _why: str = "git writes no patch of it"

    def patches(self, first: int) -> Iterator[tuple[str, Change, Patch]]:
        """Yield the files from the `first` on, each with its patch.

        Without a `context`, all are empty. Raises `DeadlineExceeded` and `Unanswered`.
        """
        files = list(self.files.items())
        if self.context is None:
            yield from ((*one, Patch()) for one in files[first:])
            return
        for start in range(first, len(files), AT_ONCE):
            some = files[start : start + AT_ONCE]
            known = self.tree.blobs(one.new.oid for path, one in some if not self._hides(path))
            for path, change in some:
                yield path, change, self._patch(path, change, known.get(change.new.oid))

    def _hides(self, path: str) -> bool:
        # Whoever shows the file that was asked for alone asks whether it may be.
        return any(map(self.tree.base.hides, {path, self.files[path].source} - {"", self.below}))

    def _patch(self, path: str, change: Change, new: bytes | None) -> Patch:
        budget, inside = self.tree.repository.budget, self.tree.repository.inside
        if self._hides(path):
            return Patch(missing="it may hold secrets: a person has to allow it")
        if change is UNDECIDED:
            return Patch(missing="a filter or an encoding would decide it, or it cannot be read")
        if change.texts or change.is_submodule:
            patch = patches.made(change, inside, path, self.context or 0, budget)
            new = change.texts[1] if change.texts else None
        elif text := self._by_git(f"a/{inside}{change.source or path}", f"b/{inside}{path}"):
            patch = patches.read(text)
            if change.origin and change.new.mode and patch.added is not None:
                new = self.tree.content(path, change.new.mode)
                if new is None or not patches.shows_only(text, new):
                    return Patch(missing="it is larger than 4 MiB, or changes now: ask again")
        else:
            return Patch(missing="it is in conflict" if change.letter == "U" else self._why)
        is_whole = new is None or not change.old.mode
        return patch if is_whole else patches.with_definitions(patch, path, new or b"", budget)

    def _by_git(self, old: str, new: str) -> bytes:
        """Git's patch of the file; empty if git writes none, or stopped at an unreadable file."""
        head = os.fsencode(f"diff --git {work_tree.quoted(old)} {work_tree.quoted(new)}")
        try:
            while head not in self._came and (part := next(self.coming, None)):
                self._came[part[0]] = b"".join(part[1])
        except Unanswered as error:
            if error.why is NoGit.SLOW:
                raise
            self._why = f"for it or a file before it, {error.why}: ask for it alone"
        return self._came.pop(head, b"")


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

    If `target` is None, it is the files as they are, and `buffers` have the texts of some. Only the
    file or directory `below` counts, "" for all. Paths are from the base of the `tree`. Without a
    `context`, there are no patches. Raises `Unanswered` and `DeadlineExceeded`.
    """
    repository, base = tree.repository, base or tree.oid(b"", "tree")
    if base == target:
        return Comparison(tree, below, context, {}, iter(()))
    sees: Sees = "index"  # if git had the files, it would read one in place of its object
    if target is None:
        sees, states = "files", ["--ours"] if base == INDEX else [base]
    elif INDEX not in (base, target):
        sees, states = "attributes", [base, target]
    else:
        states = ["--cached", base] if target == INDEX else [*_REVERSED, "--cached", target]
    words = RAW if context is None else (*RAW, *_PATCH, f"--unified={context}")
    parts = _parts(repository.start(*words, *states, *repository.below(below), sees=sees).pieces())
    files = work_tree.decided(tree, tree.parsed(next(parts)), below if target is None else None)
    if target is None:
        _put_buffers(tree, base, files, buffers)
    # A file of another type has two parts with the same first line.
    coming = groupby(parts, lambda part: part.partition(b"\n")[0])
    files = {path: files[path] for path in sorted(files, key=os.fsencode)}
    return Comparison(tree, below, context, files, coming)


def _parts(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Git's list of the changes, and then its patches, one by one."""
    left, boundary = bytearray(), b"\0\0"
    for piece in pieces:
        at = max(0, len(left) - len(boundary))
        left += piece
        while end := left.find(boundary, at) + 1:
            yield bytes(left[:end])
            left, boundary, at = left[end:].lstrip(b"\0"), b"\ndiff --git ", 0
    yield bytes(left)


def _put_buffers(tree: WorkTree, base: str, files: Changes, buffers: Mapping[str, bytes]) -> None:
    """Put the changes of the texts in `buffers` in place of those of their `files`."""
    start = f"{'' if base == INDEX else base}:{tree.repository.inside}"
    olds = {path: files[path].old if path in files else Side(0, start + path) for path in buffers}
    known, attributes = tree.blobs(old.oid for old in olds.values()), tree.attributes(buffers)
    for path, data in buffers.items():
        old, its = olds[path], attributes[path]
        if path not in files and old.oid not in known:
            continue  # git tracks no such file
        if tree.needs_program(its):
            files[path] = UNDECIDED
            continue
        before = known.get(old.oid, b"")
        # As for git, line ends are converted if attributes or settings say so.
        converts = its["eol"] != "unspecified" or tree.repository.flag("core.autocrlf")
        converts = converts if its["text"] == "unspecified" else its["text"] != "unset"
        text = data.replace(b"\r\n", b"\n") if converts and b"\r\n" not in before else data
        change = files.get(path) or Change("M", Side(0o100644, tree.oid(before)), Side())
        mode, letter = change.new.mode or change.old.mode, change.letter.replace("D", "M")
        new = Side(mode or 0o100644, tree.oid(text))
        if change.old == new and not change.source:
            files.pop(path, None)
        else:
            texts = before, text
            files[path] = replace(change, letter=letter, new=new, origin="buffer", texts=texts)
