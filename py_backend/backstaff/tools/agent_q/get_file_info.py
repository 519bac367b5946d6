"""agent-q/get_file_info: the metadata of one file or directory as formatted text (contract 004).

Links are resolved first and their target is described (INV-003). Beyond the contract: a special
file has its kind after "Type:", e.g. "fifo", and the data add `permissions` and `kind`.
"""

import os
import stat
import time
from dataclasses import dataclass

from backstaff.errors import PathError
from backstaff.fs.entry import Kind
from backstaff.render.lines import show_size
from backstaff.render.names import show
from backstaff.render.refusals import AGENT_Q_FILE, refused
from backstaff.result import Keyword
from backstaff.tool import Context, Result, ResultKind, Tool, argument


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument("File or directory path (relative to project root)")


def run(arguments: Arguments, context: Context) -> Result:
    """Describe the file; refusals have the words of the contract's table of error cases."""
    try:
        with context.root.resolve(arguments.path) as place:
            status, kind = place.status, place.kind
            readable, writable = place.accessible(os.R_OK), place.accessible(os.W_OK)
    except PathError as error:
        raise refused(error, arguments.path, AGENT_Q_FILE) from error
    directory = kind is Kind.DIRECTORY
    path = place.path_as_directory if directory else place.path
    modified, accessed = _local(status.st_mtime_ns), _local(status.st_atime_ns)
    return Result(
        text=(
            f"File: {show(path)}\n\n"
            f"Type: {kind}\n"
            f"Size: {show_size(status.st_size)}\n"
            f"Modified: {modified}\n"
            f"Accessed: {accessed}\n"
            f"Readable: {'Yes' if readable else 'No'}\n"
            f"Writable: {'Yes' if writable else 'No'}\n"
        ),
        data={
            "path": path,
            "type": Keyword("directory" if directory else "file"),
            "size": status.st_size,
            "modified": modified,
            "accessed": accessed,
            "readable": readable,
            "writable": writable,
            "permissions": stat.filemode(status.st_mode),
            "kind": kind,
        },
    )


def _local(nanoseconds: int) -> str:
    """Return `2026-01-15 14:23:45` in local time, or `@` and seconds if no calendar has them."""
    seconds = nanoseconds // 10**9
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"@{seconds}"


TOOL = Tool(
    description=(
        "Get detailed information about a file or directory including size, timestamps,"
        " and permissions."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.FILE_INFO,
    categories=("filesystem", "navigation"),
)
