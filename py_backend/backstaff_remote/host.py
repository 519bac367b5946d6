"""The server on another host: says that it is ready, reads the settings, and serves stdin.

The settings are those of the Emacs that asks, so its policy holds on every host. They follow the
ready line, ahead of the first frame, which saves a round trip.
"""

import logging
import os
import sys
from collections.abc import Callable
from typing import Never

from backstaff.errors import SettingsError, ToolError
from backstaff.registry import discover
from backstaff.server import Server, enable_garbage_collection
from backstaff.settings import Settings, parse
from backstaff.wire import stdio


def main(say: Callable[[str, str], None], how: str, settings_bytes: int) -> Never:
    """Serve until stdin ends. HOW the payload came goes into the ready line."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    registry = discover()
    say("READY", f"{how} {sys.version_info.major}.{sys.version_info.minor}")
    settings, text = Settings(), b""
    while len(text) < settings_bytes:
        piece = os.read(0, settings_bytes - len(text))
        if not piece:
            os._exit(0)
        text += piece
    try:
        if text:
            tables = registry.settings_tables()
            settings = parse("the settings sent by Emacs", text, tables, registry.by_id)
    except (SettingsError, ToolError) as error:
        os.write(2, f"backstaff: {error}\n".encode())
        os._exit(2)
    if os.isatty(2):  # then stderr would mix with the frames: drop it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    server = Server(registry, settings, "/<no root>")  # Emacs sends a root with each call
    enable_garbage_collection()
    status = stdio.serve(server)
    logging.shutdown()
    os._exit(status)  # whatever a worker is doing: the client is gone
