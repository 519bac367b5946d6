"""Two states of a work tree, file by file: commits, the index, and the files as they are now.

Git lists the changes and then writes their patches, one after the other, as far as they are read.
The text of a buffer that is not saved stands for its file.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from stat import S_IFMT

from backstaff.budget import Budget
from backstaff.changes import patch as patches
from backstaff.changes.patch import Patch, oid_of
from backstaff.changes.porcelain import quoted
from backstaff.changes.status import decided, without_hidden
from backstaff.changes.work_tree import (
    EMPTY_TREES,
    GITLINK,
    LISTED,
    MAX_BYTES,
    QUIET,
    Change,
    Changes,
    Origin,
    Side,
    WorkTree,
    in_order,
)
from backstaff.project.running_git import GitFailed, NoGit, Unanswered

INDEX = "index"
AT_ONCE = 16
"""Number of files whose new texts git is asked for together."""
_PATCH = ("--patch", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
_REVERSED = ("-R", "--src-prefix=b/", "--dst-prefix=a/")
_EOL = re.compile(r"i/(\S*) *w/\S* *attr/([^\t]*?) *\t(.*)", re.DOTALL)
"""A line of `ls-files --eol`: `i/lf    w/crlf  attr/text=auto eol=lf \ta.py`."""
_BOUNDARY = re.compile(rb"\n(?=diff --|\* Unmerged path )")


class Unshown(StrEnum):
    """The reason why the lines of a file are not shown."""

    SECRET = "it may hold secrets: a person has to allow it"  # noqa: S105  # no password
    UNDECIDED = "a filter or an encoding would have to run to compare it, or it cannot be read"
    UNREADABLE = "git cannot read it"
    CHANGED = "it is larger than 4 MiB, or it changed meanwhile: ask again"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files that differ below a path, in git's order; `texts` are those of buffers."""

    tree: WorkTree
    files: Changes
    words: Sequence[str]
    chunks: Iterator[bytes]
    texts: Mapping[str, bytes]
    context: int
    old_texts: Mapping[str, bytes]
    allowed: str = ""
    """A file that may hold secrets, but that a person has allowed to be shown."""

    def patches(self, first: int, budget: Budget) -> Iterator[tuple[str, Change, Patch | Unshown]]:
        """Yield the files from the `first` on, each with its patch or the reason for none.

        Raises `DeadlineExceeded` and `Unanswered`.
        """
        waiting: dict[bytes, bytes] = {}
        known: Mapping[str, bytes] = {}
        for number, (path, change) in enumerate(self.files.items()):
            text = b""
            if change.origin is not Origin.BUFFER and not _is_ours(change):
                text = self._next(path, change, waiting)
            if number < first:
                continue
            if (number - first) % AT_ONCE == 0:
                ahead = islice(self.files.items(), number, number + AT_ONCE)
                oids = [
                    one.new.oid
                    for p, one in ahead
                    if one.new and _is_text(one) and not self._hides(p)
                ]
                known = self.tree.blobs(oids)
            yield (
                path,
                change,
                self._unshown(path) or self._patch(path, change, text, known, budget),
            )

    def _hides(self, path: str) -> bool:
        change, hides = self.files[path], self.tree.base.hides
        return any(map(hides, {path, change.source} - {"", self.allowed}))

    def _unshown(self, path: str) -> Unshown | None:
        if self._hides(path):
            return Unshown.SECRET
        return Unshown.UNDECIDED if self.files[path].undecided else None

    def _next(self, path: str, change: Change, waiting: dict[bytes, bytes]) -> bytes:
        """Git's patch of the file, both parts of it if its type changed."""
        names = (f"{letter}/{self.tree.inside}" for letter in "ab")
        before, after = (quoted(next(names) + name) for name in (change.source or path, path))
        head = os.fsencode(f"diff --git {before} {after}")
        found = waiting.pop(head, b"")
        parts = found.count(b"\n" + head + b"\n") + bool(found)
        try:
            while parts < 1 + (change.letter == "T") and (chunk := next(self.chunks, None)):
                first = chunk.partition(b"\n")[0]
                if first == head:
                    found += chunk
                    parts += 1
                elif first.startswith(b"diff --git "):
                    waiting[first] = waiting.get(first, b"") + chunk
            return found or self._alone(path, change)
        except Unanswered as error:
            if error.why is NoGit.SLOW:
                raise
            return found or self._alone(path, change)

    def _alone(self, path: str, change: Change) -> bytes:
        """Git's patch of this file, after git has ended at a file that it cannot read."""
        paths = [*self.tree.below(path), *self.tree.below(change.source)[1:] * bool(change.source)]
        told = self.tree.repository.ask(self.tree.budget, *self.words, *paths, files=True)
        return b"" if isinstance(told, NoGit) else told.partition(b"\0\0")[2]

    def _patch(
        self, path: str, change: Change, text: bytes, known: Mapping[str, bytes], budget: Budget
    ) -> Patch | Unshown:
        if _is_ours(change):
            old, new = (
                b"Subproject commit %b%b\n" % (side.oid.encode(), b"-dirty" * dirty)
                if side
                else b""
                for side, dirty in ((change.old, False), (change.new, change.dirty))
            )
            return self._made(path, change, (old, new), budget)
        if change.origin is Origin.BUFFER:
            return self._made(path, change, (self.old_texts[path], self.texts[path]), budget)
        if not text:
            return Unshown.UNREADABLE
        patch = patches.read(text)
        content = known.get(change.new.oid) if change.new else None
        if change.new and change.origin is Origin.DISK and patch.added is not None:
            content = self.tree.content(path, change.new.mode)
            if content is None or not patches.shows_only(text, content):
                return Unshown.CHANGED
        if content is None or not change.old:
            return patch
        return patches.with_definitions(patch, path, content, budget)

    def _made(self, path: str, change: Change, texts: tuple[bytes, bytes], budget: Budget) -> Patch:
        inside, context = self.tree.inside, self.context
        patch = patches.made(path, change, texts, inside=inside, context=context, budget=budget)
        return patches.with_definitions(patch, path, texts[1], budget) if change.old else patch


def _is_ours(change: Change) -> bool:
    """Whether git has no patch of the `change`, or not the right one: of a submodule."""
    sides = [side for side in (change.old, change.new) if side]
    return bool(sides) and all(S_IFMT(side.mode) == GITLINK for side in sides)


def _is_text(change: Change) -> bool:
    return bool(change.old and change.new and change.new.oid) and not (
        change.origin or _is_ours(change)
    )


def compared(  # noqa: PLR0913  # the parameters of the tool
    tree: WorkTree,
    base: str,
    target: str | None,
    below: str,
    texts: Mapping[str, bytes],
    *,
    context: int | None = 3,
) -> Comparison:
    """Compare `base` with `target`, each the hash of a commit or `INDEX`.

    If `target` is None, it is the files as they are, where `texts` are those of buffers. `below` is
    the only file or directory that counts, "" for all. Paths are from the base of the `tree`.
    Without a `context`, there are no patches. Raises `Unanswered` and `DeadlineExceeded`.
    """
    base = base or EMPTY_TREES[tree.repository.configuration.object_format]
    words = [*tree.renames("diff"), "-c", f"core.bigFileThreshold={MAX_BYTES}", *LISTED, *QUIET]
    words += [] if context is None else [*_PATCH, f"--unified={context}"]
    if target is None:
        words += ["--ours"] if base == INDEX else [base]
    elif base == target:
        return Comparison(tree, {}, (), iter(()), {}, 0, {})
    elif INDEX not in (base, target):
        words += [base, target]
    elif target == INDEX:
        words += ["--cached", base]
    else:
        words += [*_REVERSED, "--cached", target]
    try:
        listed, chunks = _listed(tree, words, below)
    except Unanswered as error:
        if error.why is NoGit.SLOW:
            raise
        # Git reads contents, which may be missing, for renames and for files of another time.
        words = ["-c", "diff.autoRefreshIndex=false", *words, "--no-renames"]
        listed, chunks = _listed(tree, words, below)
    files = tree.parsed(listed, disk=target is None)
    old_texts: Mapping[str, bytes] = {}
    if target is not None:
        files = without_hidden(tree, files)
    else:
        files, _ = decided(tree, files, below)
        texts = {p: t for p, t in texts.items() if not below or f"{p}/".startswith(f"{below}/")}
        files, texts, old_texts = _with_buffers(tree, base, files, texts)
    if not tree.repository.is_in_place():
        raise Unanswered(GitFailed("its directories were moved meanwhile"))
    return Comparison(tree, files, words, chunks, texts, context or 0, old_texts)


def _listed(tree: WorkTree, words: Sequence[str], below: str) -> tuple[bytes, Iterator[bytes]]:
    """Git's list of the changes, which comes first, and its patches, as they are read."""
    running = tree.repository.start(tree.budget, *words, *tree.below(below), files=True)
    if isinstance(running, NoGit):
        raise Unanswered(running)
    pieces = running.pieces()
    start = b""
    for piece in pieces:
        start += piece
        if b"\0\0" in start[-len(piece) - 1 :]:
            break
    listed, _, first = start.partition(b"\0\0")

    def chunks() -> Iterator[bytes]:
        left = bytearray(first)
        at = 0
        for piece in pieces:
            left += piece
            while found := _BOUNDARY.search(left, at):
                yield bytes(left[: found.end()])
                del left[: found.end()]
                at = 0
            at = max(0, len(left) - 20)
        while found := _BOUNDARY.search(left):
            yield bytes(left[: found.end()])
            del left[: found.end()]
        if left:
            yield bytes(left)

    return listed + b"\0" * bool(first), chunks()


def _with_buffers(
    tree: WorkTree, base: str, files: Changes, texts: Mapping[str, bytes]
) -> tuple[Changes, Mapping[str, bytes], Mapping[str, bytes]]:
    """`files` with those whose text in a buffer is another one, and both texts of these."""
    start = ":" if base == INDEX else f"{base}:"
    olds = {path: files[path].old for path in texts if path in files}
    names = {
        path: (old.oid if old else "") if path in files else f"{start}{tree.inside}{path}"
        for path in texts
        for old in [olds.get(path)]
    }
    known, undecided = tree.blobs(names.values()), tree.undecided(texts)
    converted, before = dict[str, bytes](), dict[str, bytes]()
    object_format, found = tree.repository.configuration.object_format, dict(files)
    for path, text in _to_git(tree, texts).items():
        old_text = known.get(names[path])
        if path not in files and old_text is None:
            continue  # git tracks no such file
        change = files.get(path) or Change(
            "M", Side(0o100644, oid_of(old_text or b"", object_format)), None
        )
        if path in undecided:
            found[path] = replace(change, origin=Origin.DISK, undecided=True)
            continue
        side = change.new or change.old
        mode = side.mode if side and S_IFMT(side.mode) != GITLINK else 0o100644
        new = Side(mode, oid_of(text, object_format))
        letter = "M" if change.letter == "D" else change.letter
        change = replace(change, letter=letter, new=new, origin=Origin.BUFFER, undecided=False)
        if change.old == new and not change.source:
            found.pop(path, None)
            continue
        found[path], converted[path], before[path] = change, text, old_text or b""
    return {path: found[path] for path in in_order(found)}, converted, before


def _to_git(tree: WorkTree, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """`texts` of buffers as git would store them, by git's own view of the files' line ends."""
    if not texts:
        return {}
    paths = [f":(top,literal){tree.inside}{path}" for path in texts]
    told = os.fsdecode(tree.ask("ls-files", "-z", "--eol", "--", *paths)).split("\0")[:-1]
    ends = {found[3]: found for found in map(_EOL.fullmatch, told) if found}
    automatic = tree.repository.configuration.flag("core.autocrlf")  # or "input"
    attributes, found = tree.attributes(texts), dict[str, bytes]()
    for path, text in texts.items():
        facts = ends.get(tree.inside + path)
        index, attribute = (facts[1], facts[2]) if facts else ("", "")
        guessed = attribute.startswith("text=auto") or (automatic and not attribute)
        is_text = attribute.startswith("text") and not guessed
        if guessed and b"\0" not in text and text.count(b"\r") == text.count(b"\r\n"):
            is_text = index not in ("crlf", "mixed")
        stored = text.replace(b"\r\n", b"\n") if is_text else text
        has_ident = attributes.get(path, {}).get("ident") == "set"
        found[path] = patches.ID.sub(b"$Id$", stored) if has_ident else stored
    return found
