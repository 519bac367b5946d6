"""The lines of a window of a text file, or of the unsaved buffer in its place, and its outline.

The limits of all that workspace/read_file reads stand here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backstaff.contents.outlines import outline
from backstaff.errors import DeadlineExceeded, Fault, NotAFile, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.reading.source import ContentError, Source, opened
from backstaff.reading.text import LineSink, TextFacts, read
from backstaff.render.lines import all_files, size
from backstaff.render.names import quote
from backstaff.render.refusals import READ_FILE, refused
from backstaff.structure.languages import MAX_CHARACTERS
from backstaff.structure.outline import Outline
from backstaff.tool import Context
from backstaff.tools.workspace._refusals import nearest, nearest_names

DEFAULT_LINES, MAX_LINES = 200, 500
"""The default and the maximum of `max_lines`."""
MAX_RANGES = 20
"""Maximum number of items of `ranges`."""
MAX_TEXT_BYTES = 4 << 20
"""Maximum number of bytes of a text. It is sent three times, and a frame holds 16 MiB."""
LINE_BYTES = 2_000
"""Maximum number of bytes that are kept of a line, except of a window's first."""
MEMBER_BYTES = 100
"""Maximum number of bytes of a member's own line in the row for it."""
MAX_TOGETHER = 3
"""Maximum number of definitions with one name that are read at once; more are listed."""
GAP = 3
"""Maximum number of lines between two parts of a file that become one part."""
LONG = 100
"""Maximum number of lines of a definition that is shown whole in any case."""
WHOLE_SHARE = 3
"""A long function is shown whole in a third of the limit of the answer."""
BEGINNING, AROUND, NEAR = 20, 15, 3
"""Number of lines at the beginning of a long function; on each side of a line that was asked for;
and on each side of one that matches."""
SHORT_SHARE = 10
"""A part that takes a tenth of the limit comes whole, wherever it stands."""
NAMED_BYTES = 100
"""Number of bytes that are kept for the name of a missing part."""
MAX_LEFT_OUT, NAMES_SHARE = 5, 4
"""Maximum number of definitions that the end of a cut part names, and the part of the limit, a
quarter, that they take."""


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
    """Takes a text in pieces, and keeps `count` lines from the line `start` on.

    The first line keeps up to `limit` bytes, because it may be shown alone. Where `all_text` is a
    list, it gets all of the text.
    """

    start: int
    count: int
    limit: int
    lines: list[Line] = field(default_factory=list)
    all_text: list[str] | None = None

    def take(self, text: str, first: int, last: int) -> bool:
        """Take the next piece of the text; return whether more is wanted."""
        if self.all_text is not None:
            self.all_text.append(text)
        end = self.start + self.count
        if first < end and last >= self.start:
            pieces = text.split("\n")
            for number in range(max(first, self.start), min(last + 1, end)):
                position, piece = number - self.start, pieces[number - first]
                if position == len(self.lines):
                    self.lines.append(Line())
                self.lines[position].add(piece, LINE_BYTES if position else self.limit)
        return self.all_text is not None or last < end


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read: all of its text and its outline, if they are known and wanted.

    `lines` are the lines of the window.
    """

    source: Source
    whole: TextFacts
    text: str
    outline: Outline | None
    lines: Sequence[Line]


def read_text(
    path: str, window: Window, context: Context, encoding: str = "", *, whole: bool = False
) -> File:
    """Read the lines of `window` from the file `path`, and with `whole` all of its text.

    No text is kept that is too large for an outline. Raises `ToolError` with the codes of read 6.
    """
    windows: list[Window] = []

    def taker() -> LineSink:
        kept = list[str]() if whole and source.size <= MAX_CHARACTERS else None
        windows[:] = [replace(window, lines=[], all_text=kept)]
        return windows[0]

    try:
        with opened(path, context) as source:
            facts = read(source, encoding, taker)
    except ContentError as error:
        likely = " or ".join(f'encoding="{name}"' for name in error.suggestions)
        remedy = f"; call again with encoding, perhaps {likely}" if likely else ""
        message = f"Path {quote(path)} cannot be read: {error.message}{remedy}"
        raise ToolError(error.code, message, **error.details) from error
    except PathError as error:
        near = nearest(path, context) if error.fault is Fault.MISSING else []
        kind = ""
        if isinstance(error, NotAFile) and error.kind == Kind.DIRECTORY:
            call = json.dumps({"path": path, "entry_kind": "all"})
            shows = context.hint(f"{{}} {call}", "workspace/tree") or all_files(
                path, "**", context.text_limit(), context.named
            )
            kind = "is a directory" + (f": {shows} shows what is in it" if shows else "")
        elif isinstance(error, NotAFile):
            describes = context.hint("; {} describes it", "agent-q/get_file_info")
            kind = f"is no regular file: {error.message}{describes}"
        refusal = refused(error, path, READ_FILE, near=nearest_names(near), kind=kind)
        # The file that a link without a target is to lead to has another name than the link.
        if error.fault in {Fault.MISSING, Fault.DANGLING}:
            refusal.details["nearest"] = near
        raise refusal from error
    text = "".join(windows[0].all_text or ())
    try:
        made = outline(text, source.path, context.budget) if text else None
    except DeadlineExceeded as error:
        problem = "the time was up before its definitions were known: allow the call more time"
        raise DeadlineExceeded(f"The file was not read, as {problem}") from error
    return File(source, facts, text, made, windows[0].lines if facts.line_count else [])


def first_bytes(text: str, most: int) -> str:
    """Return the first characters of `text` that take at most `most` bytes."""
    if len(text) <= most // 4 or (len(text) <= most and size(text) <= most):
        return text
    most = max(most, 0)
    return text[:most].encode()[:most].decode(errors="ignore")
