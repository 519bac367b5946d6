"""The content of a file as git would store it: line ends and `$Id$`, by attributes and settings.

A filter or an encoding of the work tree is never run. Its file `needs_program`, so it cannot be
compared.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backstaff.changes.attributes import State
from backstaff.project.configuration import Configuration

_ID = re.compile(rb"\$Id:[^$\n]*\$")
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\b\t\n\f\r\x1b"})
_RATIO = 128
"""Minimum number of printable characters of a text for each that is not printable."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The changes to a file's content on its way to git.

    With `text` the line ends become newlines, with `guessed` only if the content looks like text.
    With `ident` the value of `$Id$` goes. `needs_program` says that a program would have to be run
    first.
    """

    text: bool = False
    guessed: bool = False
    ident: bool = False
    needs_program: bool = False

    def to_git(self, content: bytes, in_index: Callable[[], bytes]) -> bytes:
        """`content` as git would store it.

        `in_index` returns the content of the file in the index.
        """
        # A text that has such line ends in the index keeps them, unless an attribute says text.
        guessed = self.guessed and _has_crlf(content) and not _has_crlf(in_index())
        if self.text or guessed:
            content = content.replace(b"\r\n", b"\n")
        return _ID.sub(b"$Id$", content) if self.ident else content


def conversion(attributes: Mapping[str, State], configuration: Configuration) -> Conversion:
    """The conversion of a file with these `attributes`."""
    text = attributes.get("text")
    if text is None or text not in (True, False, "input", "auto"):
        text = attributes.get("crlf")
    is_text, guessed = text is True or text == "input", text == "auto"
    if text is not False and not guessed and attributes.get("eol") in ("lf", "crlf"):
        is_text = True
    if text is not False and not (is_text or guessed):
        guessed = configuration.flag("core.autocrlf")  # or "input"
    encoding, name = attributes.get("working-tree-encoding"), attributes.get("filter")
    program = isinstance(encoding, str) and encoding.upper().replace("-", "") not in ("", "UTF8")
    if isinstance(name, str):
        programs = (
            configuration.values.get(f"filter.{name}.{key}") for key in ("clean", "process")
        )
        program |= any(programs)
    return Conversion(is_text, guessed, attributes.get("ident") is True, program)


def oid_of(content: bytes, oid_bytes: int, kind: bytes = b"blob") -> bytes:
    """The hash of an object of git's with this `content`."""
    algorithm = hashlib.sha1 if oid_bytes == 20 else hashlib.sha256  # noqa: PLR2004
    return algorithm(b"%b %d\0" % (kind, len(content)) + content).digest()


def _has_crlf(content: bytes) -> bool:
    """Whether `content` has such line ends, and git does not guess that it is binary."""
    without = len(content.translate(None, _CONTROLS))
    controls = len(content) - without - content.endswith(b"\x1a")
    pairs, returns = content.count(b"\r\n"), content.count(b"\r")
    printable = without - content.count(b"\n") - returns
    return 0 < pairs == returns and b"\0" not in content and printable // _RATIO >= controls
