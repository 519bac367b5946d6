"""The server on another host: says that it is ready, reads the settings, and serves stdin.

The settings are those of the Emacs that asks, so its policy holds on every host. They follow the
ready line, ahead of the first frame, which saves a round trip.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Never

from backstaff import log
from backstaff.errors import SettingsError, ToolError
from backstaff.registry import discover
from backstaff.settings import parse
from backstaff.start import make_server, serve_until_the_end
from backstaff.wire import stdio


def main(
    say: Callable[[str, str], None], take: Callable[[int], bytes], how: str, settings_bytes: int
) -> Never:
    """Serve until stdin ends. The ready line says `how` the payload came."""
    log.start(None, "warning")
    say("READY", f"{how} {sys.version_info.major}.{sys.version_info.minor}")
    text = take(settings_bytes)
    if len(text) < settings_bytes:
        os._exit(0)
    try:
        # Emacs sends a root with each call.
        read = partial(parse, "the settings sent by Emacs", text) if text else None
        server = make_server(discover(), "/<no root>", read)
    except (SettingsError, ToolError) as error:
        os.write(2, f"backstaff: {error}\n".encode())
        os._exit(2)
    # Emacs reads stderr as it reads the frames, so it is dropped.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    serve_until_the_end(stdio.serve, server)
