"""A Markdown file, split into front matter and body.

Most front matter holds only lines like `title: Deploy`. These are read line by line, a hundred
times faster than by the YAML library and with the same result. Any other front matter goes through
the library. If it is broken, its fields are guessed line by line, with a warning. A key given twice
is broken, too.
"""

import codecs
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from backstaff.frontmatter.values import Value, plain

KEYS = ("title", "description", "tags", "is_dependency")
"""The fields to read; any others are dropped."""
MAX_BYTES = 64 * 1024

_EOL = rb"(?:\n|\r\n?)"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*" + _EOL)
_CLOSING = re.compile(rb"[\r\n]---[ \t]*(?:" + _EOL + rb"|\Z)")

_KEY = rb"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_TEXT = rb"[^:#\x00-\x1f\x7f]"
_MARK = rb"(?::++(?=[^ \r\n])|(?<! )#)"  # a colon that ends no key, or a `#` that is no comment
# No text can match in two ways, so the time is linear. Only single characters are repeated
# possessively: before 3.11.5, Python gives back a character of a possessive group's last round.
_PLAIN = rb"(?=[^-?,\[\]{}&*!|>'\"%@` ])" + _TEXT + rb"++(?:" + _MARK + _TEXT + rb"*+)*"
_LINE = rb"(?:" + _KEY + rb":(?: ++(?:" + _PLAIN + rb")?)?| ++|#[ -~]*+)?"
_SIMPLE = re.compile(rb"(?:" + _LINE + rb"\r?\n)*")
_PAIR = re.compile(rf"^({_KEY.decode()}):([^\n]*)", re.MULTILINE)

_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_QUOTED = re.compile(r"(['\"])(.*)\1")
_BLOCK_MARK = re.compile(r"^[ \t]*[|>][-+0-9]*(?=\n)")
_LIST = re.compile(r"\[(.*)\]")


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


def parse(head: bytes, *, whole: bool = True, keys: Sequence[str] = KEYS) -> Document:
    """Split the first bytes of a file; `whole` says that there are no more. Never raises.

    For `keys` other than the contract's, a value in a broken block may continue in indented lines.
    """
    opening = _OPENING.match(head)
    if opening is None:
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return Document(warning="the text is UTF-16")
        return Document(rest=head)
    closing = _CLOSING.search(head, opening.end() - 1, MAX_BYTES)
    if closing is None:
        # A text that begins with a rule looks the same: without fields, all of it is the body.
        fields = _guessed_fields(_decoded(head[opening.end() : MAX_BYTES]), keys)
        cut = not whole or len(head) > MAX_BYTES
        warning = f"the front matter is not closed {'within 64 KiB' if cut else 'by a line ---'}"
        return Document(fields, b"" if fields or cut else head, warning)
    fields, warning = _fields(head[opening.end() : closing.start() + 1], keys)
    return Document(fields, head[closing.end() :], warning)


def _fields(block: bytes, keys: Sequence[str]) -> tuple[dict[str, Value], str]:
    """Return the fields in `block`, and a warning or ""."""
    pairs = _PAIR.findall(block.decode(errors="surrogateescape"))
    given = dict(pairs)
    if len(given) == len(pairs) and _SIMPLE.fullmatch(block):
        texts = [(key, given[key].strip(" \r")) for key in keys if key in given]
        if all(text.isprintable() for _, text in texts):  # and so is UTF-8
            return {key: plain(text) for key, text in texts}, ""
    # Only the library can judge it.
    from backstaff.frontmatter.events import Unreadable, mapping

    text, warning = _decoded(block), ""
    try:
        found = mapping(text)
        block.decode()
    except Unreadable as error:
        return _guessed_fields(text, keys), f"front matter, {error}; it was read line by line"
    except UnicodeDecodeError:
        warning = "the front matter is not UTF-8"
    return {key: found[key] for key in keys if key in found}, warning


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _guessed_fields(text: str, keys: Sequence[str]) -> dict[str, Value]:
    """Return the fields in the lines of a broken block that look like `key: value`."""
    fields: dict[str, Value] = {}
    more = "" if keys == KEYS else r"(?:\n[ \t]+\S.*)*"
    pair = rf"^({'|'.join(keys)})[ \t]*:((?:[ \t]+.*)?{more})$"
    for key, given in re.findall(pair, text, re.MULTILINE):
        value = " ".join(_BLOCK_MARK.sub("", given).split("\n")).strip()
        if quoted := _QUOTED.match(value):
            fields[key] = quoted[2]
        elif items := _LIST.match(value):
            tags = (item.strip(" \t'\"") for item in items[1].split(",") if item.strip())
            fields[key] = tuple(tags)
        else:
            fields[key] = plain(_COMMENT.sub("", value).rstrip())
    return fields
