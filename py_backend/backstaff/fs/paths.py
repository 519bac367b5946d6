"""Paths in one spelling for all systems: components between single slashes.

On Windows, either slash is taken, and the drive (`C:`) is the first component. So an absolute path
is its components joined, there as here.
"""

import os
import re

from backstaff.errors import InvalidPath

WINDOWS = os.name == "nt"
_DRIVE = re.compile("[A-Za-z]:")


def normalized(text: str, *, windows: bool = WINDOWS) -> str:
    r"""TEXT with plain slashes only. Raises `InvalidPath`.

    On Windows a path that starts on no drive is refused: `//server` opens the network, `//?/` opens
    a device, and the meaning of `C:x` and `/x` depends on hidden state.
    """
    if not windows:
        return text
    text = text.replace("\\", "/")
    if text.startswith("//"):
        raise InvalidPath("network and device paths are not accepted")
    if text.startswith("/") or (_DRIVE.match(text) and text[2:3] != "/"):
        raise InvalidPath("an absolute path must name its drive and root, as C:/x does")
    return text


def absolute(text: str, *, windows: bool = WINDOWS) -> bool:
    """Whether TEXT, normalized, is an absolute path."""
    return bool(_DRIVE.match(text)) if windows else text.startswith("/")


def components(text: str) -> list[str]:
    """The names in TEXT, which is normalized. Empty ones and `.` do not count."""
    return [part for part in text.split("/") if part not in ("", ".")]


def join(parts: list[str], *, windows: bool = WINDOWS) -> str:
    """The absolute path of these components."""
    path = "/".join(parts)
    if not windows:
        return f"/{path}"
    return path if len(parts) > 1 else f"{path}/"
