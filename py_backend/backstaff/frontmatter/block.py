"""A Markdown file, split into front matter and body.

Broken front matter, such as a key given twice, hides no file: its fields are guessed line by line,
with a warning.
"""

import codecs
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from backstaff.frontmatter.values import Value, plain

KEYS = ("description", "is_dependency")
"""The fields to read; any others are dropped."""
MAX_BYTES = 64 << 10
"""Maximum number of bytes up to the end of the front matter."""

_EOL = rb"(?:\n|\r\n?)"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*" + _EOL)
_CLOSING = re.compile(rb"[\r\n]---[ \t]*(?:" + _EOL + rb"|\Z)")

_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_QUOTED = re.compile(r"(['\"])(.*)\1")


class Document(NamedTuple):
    """A file, split: the `KEYS` in its front matter, and the bytes of its body.

    `warning` names a fault in it, or is empty.
    """

    fields: Mapping[str, Value] = MappingProxyType({})
    rest: bytes = b""
    warning: str = ""

    def body(self) -> str:
        """Return the body with plain line ends, and U+FFFD for bytes that are not UTF-8."""
        return _decoded(self.rest.removeprefix(codecs.BOM_UTF8))


def parse(head: bytes, *, whole: bool = True) -> Document:
    """Split the first bytes of a file; `whole` says that there are no more. Never raises."""
    opening = _OPENING.match(head)
    if opening is None:
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return Document(warning="the text is UTF-16")
        return Document(rest=head)
    closing = _CLOSING.search(head, opening.end() - 1, MAX_BYTES)
    if closing is None:
        # A text that begins with a rule looks the same: without fields, all of it is the body.
        fields = _guessed_fields(_decoded(head[opening.end() : MAX_BYTES]))
        cut = not whole or len(head) > MAX_BYTES
        end = f"within {MAX_BYTES >> 10} KiB" if cut else "by a line ---"
        warning = f"the front matter is not closed {end}"
        return Document(fields, b"" if fields or cut else head, warning)
    fields, warning = _fields(head[opening.end() : closing.start() + 1])
    return Document(fields, head[closing.end() :], warning)


def _fields(block: bytes) -> tuple[dict[str, Value], str]:
    """Return the fields in `block`, and a warning or ""."""
    # Here, as many files have no front matter, and the import takes milliseconds.
    from backstaff.frontmatter.events import Unreadable, mapping

    text, warning = _decoded(block), ""
    try:
        found = mapping(text)
        block.decode()
    except Unreadable as error:
        return _guessed_fields(text), f"front matter, {error}; it was read line by line"
    except UnicodeDecodeError:
        warning = "the front matter is not UTF-8"
    return {key: found[key] for key in KEYS if key in found}, warning


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _guessed_fields(text: str) -> dict[str, Value]:
    """Return the fields in the lines of a broken block that look like `key: value`."""
    fields: dict[str, Value] = {}
    for key, given in re.findall(rf"^({'|'.join(KEYS)})[ \t]*:([ \t].*)?$", text, re.MULTILINE):
        value = given.strip()
        quoted = _QUOTED.match(value)
        fields[key] = quoted[2] if quoted else plain(_COMMENT.sub("", value).rstrip())
    return fields
