"""Reads a text file, or the unsaved buffer in its place, for the workspace's tools, or refuses it.

The limits of all that workspace/read_file reads stand here.
"""

from backstaff.errors import Fault, NotAFile, PathError
from backstaff.fs.entry import Kind
from backstaff.reading.text import Text, Window, read
from backstaff.render.lines import all_files
from backstaff.render.refusals import READ_FILE, refused
from backstaff.tool import Context
from backstaff.tools.workspace._refusals import nearest, nearest_names

DEFAULT_LINES, MAX_LINES = 200, 500
"""The default and the maximum of `max_lines`."""
MAX_RANGES = 20
"""Maximum number of items of `ranges`."""
MAX_TEXT_BYTES = 4 << 20
"""Maximum number of bytes of a text. It is sent three times, and a frame holds 16 MiB."""
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


def read_text(path: str, window: Window, context: Context, encoding: str = "") -> Text:
    """Read the `window` of the file `path`. Raises `ToolError` with the codes of read 6."""
    try:
        return read(path, window, context, encoding)
    except PathError as error:
        near = nearest(path, context) if error.fault is Fault.MISSING else []
        kind = ""
        if isinstance(error, NotAFile) and error.kind == Kind.DIRECTORY:
            shows = all_files(path, context.text_limit(), context.named)
            kind = "is a directory" + (f": {shows} shows what is in it" if shows else "")
        elif isinstance(error, NotAFile):
            describes = context.hint("; {} describes it", "agent-q/get_file_info")
            kind = f"is no regular file: {error.message}{describes}"
        refusal = refused(error, path, READ_FILE, near=nearest_names(near), kind=kind)
        # The file that a link without a target is to lead to has another name than the link.
        if error.fault in {Fault.MISSING, Fault.DANGLING}:
            refusal.details["nearest"] = near
        raise refusal from error
