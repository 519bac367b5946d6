"""Two states of a work tree, file by file: commits, the index, and the files as they are now.

Git lists the changes and then writes their patches, one after the other, as far as they are read.
The text of a buffer that is not saved stands for its file.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice

from backstaff.changes import patch as patches
from backstaff.changes.patch import Patch
from backstaff.changes.work_tree import (
    MAX_BYTES,
    RAW,
    UNDECIDED,
    Change,
    Changes,
    Side,
    WorkTree,
    decided,
    gitlinks_of,
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files that differ at or below a path, in git's order.

    The `question` starts git with more words, and its patches come with their first lines.
    """

    tree: WorkTree
    below: str
    context: int | None
    files: Changes
    question: Callable[..., RunningGit]
    parts: Iterator[tuple[bytes, Iterator[bytes]]]

    def patches(self, first: int) -> Iterator[tuple[str, Change, Patch | str | None]]:
        """Yield the files from the `first` on, each with its patch or the reason for none.

        Without a `context`, no patch is made: None. Raises `DeadlineExceeded` and `Unanswered`.
        """
        files, waiting = list(self.files.items()), dict[bytes, bytes]()
        known: Mapping[str, bytes] = {}
        if self.context is None:
            yield from ((*one, None) for one in files[first:])
            return
        for number, (path, change) in enumerate(files):
            text = b"" if change.texts else self._by_git(path, change.source or path, waiting)
            if number < first:
                continue
            if (number - first) % AT_ONCE == 0:
                ahead = files[number : number + AT_ONCE]
                oids = [one.new.oid for p, one in ahead if one.new and not self._hides(p)]
                known = self.tree.blobs(oids)
            new = known.get(change.new.oid) if change.new else None
            yield path, change, self._patch(path, change, text, new)

    def _hides(self, path: str) -> bool:
        # Whoever shows the file that was asked for alone asks whether it may be.
        return any(map(self.tree.base.hides, {path, self.files[path].source} - {"", self.below}))

    def _by_git(self, path: str, source: str, waiting: dict[bytes, bytes]) -> bytes:
        """Git's patch of the file. Git ends at one that it cannot read, and is asked again."""
        names = quoted(f"a/{self.tree.inside}{source}"), quoted(f"b/{self.tree.inside}{path}")
        head = os.fsencode(f"diff --git {' '.join(names)}")
        try:
            while head not in waiting and (part := next(self.parts, None)):
                waiting[part[0]] = b"".join(part[1])
            if head not in waiting:
                again = self.question(*self.tree.repository.below(*{path, source}))
                waiting[head] = b"".join(islice(_parts(again.pieces()), 1, None))
        except Unanswered as error:
            if error.why is NoGit.SLOW:
                raise
        return waiting.pop(head, b"")

    def _patch(self, path: str, change: Change, text: bytes, new: bytes | None) -> Patch | str:
        budget = self.tree.repository.budget
        if self._hides(path):
            return "it may hold secrets: a person has to allow it"
        if change is UNDECIDED:
            return "a filter or an encoding would have to run to compare it, or it cannot be read"
        if change.texts:
            patch = patches.made(change, self.tree.inside, path, self.context or 0, budget)
            new = change.texts[1]
        elif text:
            patch = patches.read(text)
            if change.origin and change.new and patch.added is not None:
                new = self.tree.content(path, change.new.mode)
                if new is None or not patches.shows_only(text, new):
                    return "it is larger than 4 MiB, or it changed meanwhile: ask again"
        else:
            return "git cannot read it"
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
    sees: Sees = "index"  # if git had the files, it would read one in place of its object
    if target is None:
        sees, states = "files", ["--ours"] if base == INDEX else [base]
    elif INDEX not in (base, target):
        sees, states = "attributes", [base, target]
    else:
        states = ["--cached", base] if target == INDEX else [*_REVERSED, "--cached", target]
    words = ["-c", f"core.bigFileThreshold={MAX_BYTES}", *tree.renames("diff"), *RAW]
    words += [] if context is None else [*_PATCH, f"--unified={context}"]
    question = partial(repository.start, *words, *states, sees=sees)
    if base == target:
        return Comparison(tree, below, context, {}, question, iter(()))
    parts = _parts(question(*repository.below(below)).pieces())
    files = tree.parsed(next(parts))
    files = decided(tree, files, gitlinks_of(tree, below) if target is None else {})
    if target is None:
        _put_buffers(tree, base, files, buffers)
    for path, one in files.items():
        if one.is_submodule:
            files[path] = replace(one, texts=(_subproject(one.old), _subproject(one.new)))
    files = {path: files[path] for path in in_order(files)}
    repository.require_in_place()
    # A file of another type has two parts with the same first line.
    by_head = groupby(parts, lambda part: part.partition(b"\n")[0])
    return Comparison(tree, below, context, files, question, by_head)


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


def _put_buffers(tree: WorkTree, base: str, files: Changes, buffers: Mapping[str, bytes]) -> None:
    """Put the changes of the texts in `buffers` in place of those of their `files`."""
    start = ":" if base == INDEX else f"{base}:"
    names, attributes = dict[str, str](), tree.attributes(buffers)
    for path in buffers:
        old = files[path].old if path in files else Side(0, f"{start}{tree.inside}{path}")
        names[path] = old.oid if old else ""
    known = tree.blobs(names.values())
    for path, data in buffers.items():
        before, its = known.get(names[path], b""), attributes[path]
        if path not in files and names[path] not in known:
            continue  # git tracks no such file
        if tree.needs_program(its):
            files[path] = UNDECIDED
            continue
        # As for git, line ends are converted if attributes or settings say so.
        converts = its["eol"] != "unspecified" or tree.repository.flag("core.autocrlf")
        converts = converts if its["text"] == "unspecified" else its["text"] != "unset"
        converts = converts and b"\r\n" not in before
        text = data.replace(b"\r\n", b"\n") if converts else data
        change = files.get(path) or Change("M", Side(0o100644, tree.oid(before)), None)
        side = change.new or change.old or Side(0o100644, "")
        new, letter = Side(side.mode, tree.oid(text)), change.letter.replace("D", "M")
        if change.old == new and not change.source:
            files.pop(path, None)
        else:
            texts = before, text
            files[path] = replace(change, letter=letter, new=new, origin="buffer", texts=texts)
