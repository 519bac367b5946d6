"""A Markdown file's front matter and body.

A block that holds nothing but `key: plain scalar` lines, as most do, is read line by line, which
costs a hundredth of what the YAML library does and comes to the same. Any other goes through the
library. One that is broken is not lost: what can be made out line by line is taken, with a warning.
A key given twice is broken, too.
"""

import codecs
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from backstaff.frontmatter.values import Value, plain

KEYS = ("title", "description", "tags", "is_dependency")
"""What is asked for here; whatever else front matter says is not kept."""
MAX_BYTES = 64 * 1024

_ASKED = frozenset(key.encode() for key in KEYS)
_EOL = rb"(?:\n|\r\n?)"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*" + _EOL)
_CLOSING = re.compile(rb"[\r\n]---[ \t]*(?:" + _EOL + rb"|\Z)")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_KEY = rb"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_TEXT = rb"[^:#\x00-\x1f\x7f]"
_MARK = rb"(?::++(?=[^ \r\n])|(?<! )#)"  # not the colon of a key, not the mark of a comment
# What repeats is unambiguous, so a match is linear in time. Only single characters are repeated
# possessively: before 3.11.5 Python gives a character of a possessive group's last round back.
_PLAIN = rb"(?=[^-?,\[\]{}&*!|>'\"%@` ])" + _TEXT + rb"++(?:" + _MARK + _TEXT + rb"*+)*"
_LINE = rb"(?:" + _KEY + rb":(?: ++(?:" + _PLAIN + rb")?)?| ++|#[ -~]*+)?"
_SIMPLE = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?:" + _LINE + rb"\r?\n)*---[ \t]*(?:\r?\n|\Z)"
)
_PAIR = re.compile(rb"\n(" + _KEY + rb"):([^\n]*)")

_ANY_PAIR = re.compile(rf"({'|'.join(KEYS)})[ \t]*:(?:[ \t]+(.*))?", re.DOTALL)
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_QUOTED = re.compile(r"(['\"])(.*)\1")
_LIST = re.compile(r"\[(.*)\]")


class Document(NamedTuple):
    """A file taken apart: what its front matter says of `KEYS`, and the bytes of its body.

    `warning` tells what is wrong with it, or is empty. `unfinished` tells that the front matter
    did not end in what was given: more of the file may say more.
    """

    fields: Mapping[str, Value] = MappingProxyType({})
    rest: bytes = b""
    warning: str = ""
    unfinished: bool = False

    def body(self) -> str:
        """The body as text with plain line ends; what is not UTF-8 in it becomes U+FFFD."""
        return _with_plain_ends(self.rest.removeprefix(codecs.BOM_UTF8).decode(errors="replace"))


def parse(head: bytes, *, whole: bool = True) -> Document:
    """Take apart the first bytes of a file; WHOLE tells that they are all. Never raises."""
    simple = _SIMPLE.match(head, 0, MAX_BYTES)
    if simple and (fields := _simple_fields(simple[0])) is not None:
        return Document(fields, head[simple.end() :])
    opening = _OPENING.match(head)
    if opening is None:
        utf_16 = head.startswith(_UTF_16)
        return Document(warning="the text is UTF-16") if utf_16 else Document(rest=head)
    closing = _CLOSING.search(head, opening.end() - 1, MAX_BYTES)
    if closing is None:
        return _unclosed(head, opening.end(), whole=whole)
    fields, warning = _fields(head[opening.end() : closing.start() + 1])
    return Document(fields, head[closing.end() :], warning)


def _simple_fields(block: bytes) -> Mapping[str, Value] | None:
    """What a BLOCK of simple lines says; None if the library has to judge it."""
    pairs = _PAIR.findall(block)
    given = dict(pairs)
    if len(given) < len(pairs):
        return None
    fields: dict[str, Value] = {}
    for key in given.keys() & _ASKED:
        try:
            text = given[key].decode().strip(" \r")
        except UnicodeDecodeError:
            return None
        if not text.isprintable():
            return None
        fields[key.decode()] = plain(text)
    return fields


def _unclosed(head: bytes, start: int, *, whole: bool) -> Document:
    """Without an end it may be no front matter at all but a text that begins with a rule."""
    text, _ = _decoded(head[start:MAX_BYTES])
    fields = _made_out(text)
    cut = not whole or len(head) > MAX_BYTES
    warning = f"the front matter is not closed {'within 64 KiB' if cut else 'by a line ---'}"
    return Document(fields, b"" if fields or cut else head, warning, unfinished=not whole)


def _fields(block: bytes) -> tuple[Mapping[str, Value], str]:
    """What BLOCK says, and what is wrong with it."""
    from backstaff.frontmatter.events import Unreadable, mapping

    text, warning = _decoded(block)
    try:
        said = mapping(text)
    except Unreadable as error:
        return _made_out(text), f"front matter, {error}; it was read line by line"
    return {key: said[key] for key in KEYS if key in said}, warning


def _decoded(block: bytes) -> tuple[str, str]:
    """BLOCK as text with plain line ends, and a warning."""
    try:
        return _with_plain_ends(block.decode()), ""
    except UnicodeDecodeError:
        return _with_plain_ends(block.decode(errors="replace")), "the front matter is not UTF-8"


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _made_out(text: str) -> Mapping[str, Value]:
    """What those lines of a broken block say that look like pairs."""
    return dict(_guessed_pairs(text.split("\n")))


def _guessed_pairs(lines: Iterable[str]) -> Iterable[tuple[str, Value]]:
    for line in lines:
        if match := _ANY_PAIR.fullmatch(line):
            yield match[1], _guessed((match[2] or "").strip())


def _guessed(text: str) -> Value:
    if match := _QUOTED.match(text):
        return match[2]
    if match := _LIST.match(text):
        return tuple(item.strip(" \t'\"") for item in match[1].split(",") if item.strip())
    return plain(_COMMENT.sub("", text).rstrip())
