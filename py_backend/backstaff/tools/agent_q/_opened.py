"""Opens the path that Agent-Q gives, with refusals in the words of its contracts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from backstaff.errors import PathError
from backstaff.fs.root import Place, Root
from backstaff.render.refusals import AGENT_Q_DIRECTORY, AGENT_Q_FILE, refused


@contextmanager
def opened(root: Root, path: str, noun: Literal["Directory", "File"]) -> Iterator[Place]:
    """Hold `path` below `root` open. As a "File" it may be of any kind.

    Raises `ToolError` if it cannot be opened, and for a `PathError` while it is in use.
    """
    of_directory = noun == "Directory"
    try:
        with root.directory(path) if of_directory else root.resolve(path) as place:
            yield place
    except PathError as error:
        words = AGENT_Q_DIRECTORY if of_directory else AGENT_Q_FILE
        raise refused(error, path, words) from error
