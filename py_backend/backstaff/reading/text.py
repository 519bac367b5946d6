r"""The text of a file, or of the unsaved buffer in its place: decoded, hashed, lines counted.

It is read in pieces, and only a window is kept of a large one: a file of a gibibyte takes no more
memory than one of a mebibyte.

`\r\n` counts as `\n`, and lines end at `\n` (read 1). A lone `\r` ends no line, except in a text
without any `\n`, of an old Macintosh (search 1).
"""

import codecs
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import BytesIO, FileIO, IncrementalNewlineDecoder
from itertools import chain

from backstaff.contents.outlines import outline
from backstaff.errors import DeadlineExceeded, NotAFile, NotFound, ToolError
from backstaff.fs.contents import MAX_FILE_BYTES
from backstaff.reading.encoding import HEAD_BYTES, candidates, kind, suggestions
from backstaff.render.lines import first_bytes, show_size, size
from backstaff.render.names import quote
from backstaff.result import Keyword
from backstaff.structure.languages import MAX_CHARACTERS
from backstaff.structure.outline import Outline
from backstaff.tool import Context

TABLE = "read_file"  # the table of the settings, as contract read 5 names it
PIECE_BYTES = 128 << 10  # bytes that are read at once
LINE_BYTES = 2_000  # bytes that are kept of a line, except of a window's first
REVISION_DIGITS = 16  # hex digits of a text's SHA-256 that name its state
_ENDS: dict[object, str] = {None: "none", "\n": "lf", "\r\n": "crlf", "\r": "cr"}
SAMPLE_BYTES = 2 << 10  # before and behind an undecodable byte, to find likely encodings


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.read_file]`, for all tools that read files (read 5)."""

    max_file_bytes: int = field(default=MAX_FILE_BYTES, metadata={"limits": (1 << 10, 1 << 30)})


@dataclass(slots=True)
class Line:
    """The first characters of a line of the window. In UTF-8, `left` bytes follow them."""

    text: str = ""
    left: int = 0

    def add(self, piece: str, most: int) -> None:
        """Add `piece` to the line, but keep no more than `most` bytes of it."""
        kept = "" if self.left else first_bytes(piece, most - size(self.text))
        self.text += kept
        self.left += size(piece) - size(kept)

    def first(self, most: int) -> "Line":
        """Return the line with at most `most` bytes of its text."""
        text = first_bytes(self.text, most)
        return Line(text, self.left + size(self.text) - size(text))


@dataclass(slots=True)
class Window:
    """Keeps `count` lines of a text from the line `start` on."""

    start: int
    count: int
    limit: int  # bytes that are kept of the first, because it may be shown alone
    whole: bool = False  # the text and its outline are wanted, too, unless it is too large for one
    lines: list[Line] = field(default_factory=list)

    def take(self, text: str, first: int, last: int) -> None:
        r"""Take the next piece, with `\n` alone as end, from within line `first` to `last`."""
        end = self.start + self.count
        if first < end and last >= self.start:
            pieces = text.split("\n")
            for number in range(max(first, self.start), min(last + 1, end)):
                position, piece = number - self.start, pieces[number - first]
                if position == len(self.lines):
                    self.lines.append(Line())
                self.lines[position].add(piece, LINE_BYTES if position else self.limit)


@dataclass(frozen=True, slots=True)
class Text:
    """The facts about a whole text, as contract read has them, and the `lines` of the window."""

    path: str  # from the root on
    source: Keyword
    mtime_ms: int | None  # None for a file that is not on the disk
    byte_length: int
    line_count: int
    encoding: str
    eol: Keyword
    revision: str
    lines: Sequence[Line]
    text: str  # all of it, if it is wanted
    outline: Outline | None = None  # if it is wanted and known


def read(path: str, window: Window, context: Context, encoding: str = "") -> Text:
    """Read the `window` of `path` below the root, in the first encoding that fits.

    A buffer stands for the file that its links lead to, and for one that does not exist yet.
    `encoding` comes from the caller, or is "". Raises `PathError`, and `ToolError` with the codes
    of read 6.
    """
    with ExitStack() as stack:
        source = _opened(path, context, stack)
        had, most = source.size, context.settings.max_file_bytes
        if had > most:
            problem = f"it has {had} bytes ({show_size(had)}), more than the {most} allowed"
            problem += f"; a person can raise max_file_bytes in [tools.{TABLE}] of the settings"
            raise _refusal(path, "SIZE_LIMIT_EXCEEDED", problem, size_bytes=had, limit_bytes=most)
        try:
            found = _read(source, path, window, encoding)
            made = outline(found.text, found.path, context.budget) if found.text else None
        except DeadlineExceeded as error:
            problem = "The file was not read, as the time was up: allow the call more time"
            raise DeadlineExceeded(problem) from error
        return replace(found, outline=made)


def _refusal(path: str, code: str, problem: str, **details: object) -> ToolError:
    return ToolError(code, f"Path {quote(path)} cannot be read: {problem}", **details)


@dataclass(frozen=True, slots=True)
class _Source:
    """An open file, or the buffer in its place; `coding` is its encoding by Emacs, or ""."""

    path: str
    origin: Keyword
    size: int
    mtime_ms: int | None
    coding: str
    stream: BytesIO | FileIO
    context: Context

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes, from the beginning each time."""
        self.stream.seek(0)
        left = self.size  # a file that grows all the while would have no end
        while left and (piece := self.stream.read(min(left, PIECE_BYTES))):
            self.context.budget.check()
            left -= len(piece)
            yield piece


def _opened(path: str, context: Context, stack: ExitStack) -> _Source:
    try:
        place = stack.enter_context(context.root.resolve(path))
        relative, mtime_ms = place.relative, place.status.st_mtime_ns // 10**6
    except NotFound as error:
        place, relative, mtime_ms = None, error.relative, None
        if relative not in context.unsaved:
            raise
    if place is None or relative in context.unsaved:
        text = context.unsaved[relative]
        context.root.judge(relative, path)
        origin, data = Keyword("buffer"), text.data
        return _Source(relative, origin, len(data), mtime_ms, text.coding, BytesIO(data), context)
    descriptor, status = stack.enter_context(place.opened())
    stream = FileIO(descriptor, closefd=False)
    if not status.st_size and stream.read(1):
        raise NotAFile("kernel-file", "it is a file of the kernel, and has no size")
    origin, coding = Keyword("disk"), context.codings.get(relative, "")
    return _Source(relative, origin, status.st_size, mtime_ms, coding, stream, context)


def _read(source: _Source, path: str, window: Window, encoding: str) -> Text:
    """Read `source` in the first of its encodings. Raises `ToolError`."""
    failures = dict[str, int]()  # the byte at which each encoding failed
    source.stream.seek(0)
    head = source.stream.read(HEAD_BYTES) or b""
    for name in candidates(head, source.coding, encoding, sure=source.origin == "buffer"):
        try:
            text = _decoded(source, name, window)
            # Only at the end of a text is it known to have no line feed: it is read again.
            return text if text.eol != "cr" else _decoded(source, name, window, "\r")
        except _Undecodable as error:
            failures[name] = error.args[0]
    if b"\0" in head:
        offset, told = head.index(b"\0"), kind(head)
        problem = f"it is binary: byte {offset} is NUL" + f"; it begins like {told}" * bool(told)
        raise _refusal(path, "BINARY_NOT_SUPPORTED", problem, offset=offset, kind=told or None)
    offset = max(at for name, at in failures.items() if name.startswith("utf-8"))
    start = max(0, offset - SAMPLE_BYTES)
    source.stream.seek(start)
    likely = suggestions(source.stream.read(offset + SAMPLE_BYTES - start) or b"")
    tried = [f" nor {name} (byte {at})" for name, at in failures.items() if name[:5] != "utf-8"]
    problem = f"its encoding is not known: it is not UTF-8 (byte {offset}){''.join(tried)}"
    remedy = " or ".join(f'encoding="{name}"' for name in likely)
    problem += f"; call again with encoding, perhaps {remedy}"
    raise _refusal(path, "ENCODING_UNKNOWN", problem, offset=offset, suggestions=likely)


class _Undecodable(Exception):
    """The byte at the offset that is its argument cannot be decoded."""


def _decoded(source: _Source, name: str, window: Window, end: str = "\r\n") -> Text:
    r"""Read `source` in the encoding `name`. Its lines end at `\n` and at `end`."""
    window, kept = replace(window, lines=[]), list[str]()
    is_kept = window.whole and source.size <= MAX_CHARACTERS
    digest, length, count, is_empty = hashlib.sha256(), 0, 1, True
    decoder = codecs.getincrementaldecoder(name)("strict")
    whole_ends = IncrementalNewlineDecoder(decoder, translate=False)  # it never splits a `\r\n`
    for piece in chain(source.pieces(), [b""]):
        digest.update(piece)
        pending = len(decoder.getstate()[0])
        try:
            text = whole_ends.decode(piece, final=not piece)
        except UnicodeError as error:  # UTF-16 without a byte order mark has no `start`
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            raise _Undecodable(length - pending + start) from None
        length += len(piece)
        is_empty = is_empty and not text
        text = text.replace(end, "\n")
        first, count = count, count + text.count("\n")
        window.take(text, first, count)
        kept += [text] * is_kept
    return Text(
        path=source.path,
        source=source.origin,
        mtime_ms=source.mtime_ms,
        byte_length=length,
        line_count=0 if is_empty else count,
        encoding=name,
        eol=Keyword(_ENDS.get(whole_ends.newlines, "mixed")),  # one end, or several
        revision=digest.hexdigest()[:REVISION_DIGITS],
        lines=[] if is_empty else window.lines,
        text="".join(kept),
    )
