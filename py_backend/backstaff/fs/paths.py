"""How paths are normalized: on POSIX as they are; on Windows with a drive, and with either slash.

Everything above this module sees one form: components between single slashes. A Windows drive is
the first component (`C:`), so that an absolute path is its components joined, there as here.
"""

import os
import re

from backstaff.errors import InvalidPath

WINDOWS = os.name == "nt"
_DRIVE = re.compile("[A-Za-z]:")


def normalized(text: str, *, windows: bool = WINDOWS) -> str:
    r"""TEXT with plain slashes only. Raises `InvalidPath` (safety S12).

    On Windows a path that starts on no drive is refused: `//server` opens the network, `//?/` a
    device, and what `C:x` and `/x` mean depends on hidden state.
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
    """The names in TEXT, normalized, without those that say nothing."""
    return [part for part in text.split("/") if part not in ("", ".")]


def join(parts: list[str], *, windows: bool = WINDOWS) -> str:
    """The absolute path of these components."""
    path = "/".join(parts)
    if not windows:
        return f"/{path}"
    return path if len(parts) > 1 else f"{path}/"
