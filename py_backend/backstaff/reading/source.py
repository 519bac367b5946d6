"""The bytes that a path stands for: those of its unsaved buffer, or else those on the disk.

A file is read in pieces through a descriptor that the sandbox opened, and no piece is kept. So a
file of a gibibyte takes no more memory than one of a kibibyte.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from backstaff.errors import NotAFile, NotFound, ToolError
from backstaff.fs.contents import MAX_FILE_BYTES
from backstaff.fs.root import Place
from backstaff.render.sizes import show_size
from backstaff.tool import Context
from backstaff.unsaved import UnsavedText

TABLE = "read_file"
"""The table of the settings, as contract read 5 names it."""
PIECE_BYTES = 128 << 10
"""Maximum number of bytes that are read at once."""
SIZE_LIMIT_EXCEEDED = "SIZE_LIMIT_EXCEEDED"


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.read_file]`, for all tools that read files (read 5)."""

    max_file_bytes: int = field(default=MAX_FILE_BYTES, metadata={"limits": (1 << 10, 1 << 30)})


class ContentError(ToolError):
    """A file without text to answer with. The message is a clause: "it is binary".

    `suggestions` are encodings that the file may have.
    """

    def __init__(
        self, code: str, message: str, *, suggestions: Sequence[str] = (), **details: object
    ) -> None:
        if suggestions:
            details["suggestions"] = list(suggestions)
        super().__init__(code, message, **details)
        self.suggestions = suggestions


class Origin(StrEnum):
    """Where the text comes from."""

    DISK = "disk"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or the buffer in its place, while it is open.

    `path` starts at the root. `coding` is its encoding by Emacs, or "". `mtime_ms` is None for a
    file that is not on the disk. `pieces` reads all bytes, from the beginning each time.
    """

    path: str
    origin: Origin
    size: int
    mtime_ms: int | None
    coding: str
    pieces: Callable[[], Iterator[bytes]]


@contextmanager
def opened(path: str, context: Context) -> Iterator[Source]:
    """Open `path` below the root. Raises `PathError`, `ContentError`.

    A buffer stands for the file that its links lead to, and for one that does not exist yet.
    """
    try:
        place = context.root.resolve(path)
    except NotFound as error:
        text = context.unsaved.get(error.relative)
        if text is None:
            raise
        context.root.judge(error.relative, path)
        yield _of_buffer(error.relative, text, None, context)
        return
    with place:
        text = context.unsaved.get(place.relative)
        if text is not None:
            context.root.judge(place.relative, path)
            yield _of_buffer(place.relative, text, place.status.st_mtime_ns // 10**6, context)
            return
        with _on_disk(place, context) as source:
            yield source


def _of_buffer(path: str, text: UnsavedText, mtime_ms: int | None, context: Context) -> Source:
    def pieces() -> Iterator[bytes]:
        for start in range(0, len(text.data), PIECE_BYTES):
            context.budget.check()
            yield text.data[start : start + PIECE_BYTES]

    _refuse_large(len(text.data), context)
    return Source(
        path=path,
        origin=Origin.BUFFER,
        size=len(text.data),
        mtime_ms=mtime_ms,
        coding=text.coding,
        pieces=pieces,
    )


@contextmanager
def _on_disk(place: Place, context: Context) -> Iterator[Source]:
    with place.opened() as (descriptor, status):

        def pieces() -> Iterator[bytes]:
            os.lseek(descriptor, 0, os.SEEK_SET)
            left = status.st_size  # a file that grows all the while would have no end
            while left:
                context.budget.check()
                piece = os.read(descriptor, min(left, PIECE_BYTES))
                if not piece:  # it was cut meanwhile
                    return
                left -= len(piece)
                yield piece

        _refuse_large(status.st_size, context)
        if not status.st_size and os.read(descriptor, 1):
            raise NotAFile("it is a file of the kernel, and has no size", kind="kernel-file")
        yield Source(
            path=place.relative,
            origin=Origin.DISK,
            size=status.st_size,
            mtime_ms=status.st_mtime_ns // 10**6,
            coding=context.codings.get(place.relative, ""),
            pieces=pieces,
        )


def _refuse_large(size: int, context: Context) -> None:
    limit: int = context.settings.max_file_bytes
    if size > limit:
        allowed = f"more than the {limit} allowed"
        remedy = f"a person can raise max_file_bytes in [tools.{TABLE}] of the settings"
        problem = f"it has {size} bytes ({show_size(size)}), {allowed}; {remedy}"
        raise ContentError(SIZE_LIMIT_EXCEEDED, problem, size_bytes=size, limit_bytes=limit)
