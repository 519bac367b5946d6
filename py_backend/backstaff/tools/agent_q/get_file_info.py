"""agent-q/get_file_info: the metadata of one file or directory as formatted text (contract 004).

Links are resolved first and their target is described (INV-003). Beyond the contract: the kind of
what is neither a file nor a directory stands after "Type:" by its name, e.g. "fifo". The data
mirror the plist of the contract's handler, times as formatted local time, and add `permissions`,
`kind` and both times in epoch seconds.
"""

import os
import stat
import time
from dataclasses import dataclass

from backstaff.errors import PathError
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.render.names import show
from backstaff.render.sizes import show_size
from backstaff.result import Keyword
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._refusals import refusal


@dataclass(frozen=True, slots=True)
class Arguments:
    """As the contract's table of parameters."""

    path: str


def run(arguments: Arguments, context: Context) -> Result:
    """Describe the file; refusals are worded as the contract's table of error cases."""
    try:
        with context.root.resolve(arguments.path) as place:
            data = _data(place)
            return Result(text=_text(data, place.status.st_size), data=data)
    except PathError as error:
        raise refusal(error, arguments.path, "File") from error


def _data(place: Place) -> dict[str, object]:
    status = place.status
    directory = place.kind is Kind.DIRECTORY
    modified, accessed = status.st_mtime_ns // 10**9, status.st_atime_ns // 10**9
    return {
        "path": place.path_as_directory if directory else place.path,
        "type": Keyword("directory" if directory else "file"),
        "size": status.st_size,
        "modified": _local(modified),
        "accessed": _local(accessed),
        "readable": place.accessible(os.R_OK),
        "writable": place.accessible(os.W_OK),
        "permissions": stat.filemode(status.st_mode),
        "kind": place.kind,
        "modified_epoch": modified,
        "accessed_epoch": accessed,
    }


def _local(seconds: int) -> str:
    """Local time; a time that the system cannot break down stands as its epoch seconds."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"@{seconds}"


def _text(data: dict[str, object], size: int) -> str:
    return (
        f"File: {show(str(data['path']))}\n\n"
        f"Type: {data['kind']}\n"
        f"Size: {show_size(size)}\n"
        f"Modified: {data['modified']}\n"
        f"Accessed: {data['accessed']}\n"
        f"Readable: {'Yes' if data['readable'] else 'No'}\n"
        f"Writable: {'Yes' if data['writable'] else 'No'}\n"
    )


TOOL = Tool(
    name="get_file_info",
    description=(
        "Get detailed information about a file or directory including size, timestamps,"
        " and permissions."
    ),
    parameters=(
        Parameter(
            name="path",
            type=ParameterType.STRING,
            required=True,
            description="File or directory path (relative to project root)",
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.FILE_INFO,
    categories=("filesystem", "navigation"),
)
