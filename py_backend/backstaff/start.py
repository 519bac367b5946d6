"""Starts every server, for the command line and for another host: first settings, then its loop."""

import gc
import os
import sys
from collections.abc import Callable, Collection
from typing import Never

from backstaff.manifest import CLIENT_TOOLS
from backstaff.registry import Registry
from backstaff.server import Server
from backstaff.settings import Settings, Tables

Read = Callable[[Tables, Collection[str]], Settings]  # from the tools' tables and ids


def make_server(
    registry: Registry, root: str, read: Read | None, kind: type[Server] = Server
) -> Server:
    """Return a server of the tools at `root`, and turn the garbage collector on.

    Raises `SettingsError`, and `ToolError` for a tool whose settings cannot be asked for.
    """
    ids = [*registry.by_id, *CLIENT_TOOLS]
    settings = read(registry.settings_tables(), ids) if read else Settings()
    collect_garbage()
    return kind(registry, settings, root)


def collect_garbage() -> None:
    """Turn the garbage collector on, for objects that are made from now on."""
    gc.freeze()
    # A large answer makes many new objects before the next collection, and none is garbage.
    gc.set_threshold(100_000, 10, 10)
    gc.enable()


def serve_until_the_end(serve: Callable[..., int], *arguments: object) -> Never:
    """Call `serve` with `arguments`, and end the process with the status that it returns."""
    # Switch threads every 0.5 ms: with Python's 5 ms, a ping behind a busy thread took as long.
    sys.setswitchinterval(0.0005)
    status = serve(*arguments)
    # The client is gone, even if a worker still runs. No orderly shutdown comes first: a worker may
    # hang with a lock of the log, whose lines are all written by now.
    os._exit(status)
