"""The server on another host: says that it is ready, takes the settings, and serves stdin.

The settings are those of the Emacs that asks, whatever host it looks at: what a policy denies here
it denies there. They follow the ready line, ahead of the first frame, which saves a round trip.
"""

import logging
import os
import sys
from collections.abc import Callable
from typing import Never

from backstaff.errors import SettingsError, ToolError
from backstaff.registry import Registry, discover
from backstaff.server import Server, enable_garbage_collection
from backstaff.settings import Settings, parse
from backstaff.wire import stdio

NO_ROOT = "/<no root>"
"""What a call without a root looks at: nothing. Emacs sends one with each."""
EXIT_SETTINGS = 2

Say = Callable[[str, str], None]


def main(say: Say, how: str, settings_bytes: int) -> Never:
    """Serve until stdin ends. HOW the payload came, and a settings file of so many bytes follow."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    registry = discover()
    say("READY", f"{how} {sys.version_info.major}.{sys.version_info.minor}")
    try:
        settings = _settings(_read(settings_bytes), registry)
    except (SettingsError, ToolError) as error:
        os.write(2, f"backstaff: {error}\n".encode())
        os._exit(EXIT_SETTINGS)
    _silence_terminal()
    server = Server(registry, settings, NO_ROOT)
    enable_garbage_collection()
    status = stdio.serve(server)
    logging.shutdown()
    os._exit(status)  # whatever a worker is doing: the client is gone


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def _settings(text: bytes, registry: Registry) -> Settings:
    if not text:
        return Settings()
    tables = registry.settings_tables()
    return parse("the settings sent by Emacs", text, tables, registry.by_id)


def _silence_terminal() -> None:
    """On a terminal, stderr is where the frames go: from here on what is said there is lost."""
    if os.isatty(2):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
