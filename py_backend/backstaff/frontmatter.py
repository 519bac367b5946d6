"""Front matter: the YAML at the head of a Markdown file, read without trusting it. No I/O.

The parser of PyYAML reports each node as an event, and only the `KEYS` at the top are read. No node
is built, so neither aliases, with which a few hundred bytes can stand for gigabytes, nor 60,000 `[`
can do harm. Broken front matter hides no file: it has no fields then, and there is a warning.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

KEYS = ("description", "is_dependency")  # the fields to read
MAX_BYTES = 64 << 10  # up to the end of the front matter
MAX_EVENTS = 4_000  # values and ends of collections in a block

_EOL = rb"(?:\n|\r\n?)"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*" + _EOL)
_CLOSING = re.compile(rb"[\r\n]---[ \t]*(?:" + _EOL + rb"|\Z)")

Value = str | bool | None  # a number or date is text, and a collection is empty text
# The plain (unquoted) scalars that are no text in YAML 1.2's core schema: `yes` is text.
_WORDS: Mapping[str, Value] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
}


class Document(NamedTuple):
    """A file, split: the `KEYS` in its front matter, and the bytes of its body."""

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
        # A text that begins with a rule looks the same: all of it is the body.
        cut = not whole or len(head) > MAX_BYTES
        end = f"within {MAX_BYTES >> 10} KiB" if cut else "by a line ---"
        return Document({}, b"" if cut else head, f"the front matter is not closed {end}")
    block, rest = head[opening.end() : closing.start() + 1], head[closing.end() :]
    try:
        fields = _fields(_decoded(block))
    except _Unreadable as error:
        return Document({}, rest, f"front matter, {error}; it is not used")
    is_utf_8 = len(block.decode(errors="ignore").encode()) == len(block)
    return Document(fields, rest, "" if is_utf_8 else "the front matter is not UTF-8")


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


class _Unreadable(Exception):
    """A block that is no mapping, or is refused: why, and in which line."""

    def __init__(self, problem: object, mark: Any) -> None:  # noqa: ANN401  # it has two types
        # The first line of the block is the second of the file.
        super().__init__(f"line {mark.line + 2}: {problem}" if mark else str(problem))


def _fields(text: str) -> dict[str, Value]:
    """Return the fields in the mapping `text`. Raises `_Unreadable`."""
    import yaml  # here: this takes as long as reading a hundred files

    fields = dict[str, Value]()
    try:
        nodes = list(_nodes(text))
    except yaml.MarkedYAMLError as error:
        raise _Unreadable(error.problem, error.problem_mark) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _Unreadable("it holds a character that YAML does not allow", None) from error
    for key, node in zip(nodes[::2], nodes[1::2], strict=True):
        if isinstance(key, yaml.ScalarEvent) and key.value in KEYS:
            fields[key.value] = ""
            if isinstance(node, yaml.ScalarEvent):
                is_plain = node.implicit[0] or node.tag == "tag:yaml.org,2002:bool"
                fields[key.value] = _WORDS.get(node.value, node.value) if is_plain else node.value
    return fields


def _nodes(text: str) -> Iterator[Any]:
    """Yield the keys and values of the mapping `text` in turns; an end stands for a collection."""
    import yaml

    depth = documents = 0
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        is_end, problem = isinstance(event, yaml.CollectionEndEvent), ""
        documents += isinstance(event, yaml.DocumentStartEvent)
        if getattr(event, "anchor", None) is not None:
            problem = "it uses an anchor or alias, which is refused"
        elif documents > 1:
            problem = "it is more than one document"
        elif not depth and isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent):
            problem = "it is not a mapping of keys to values"
        elif count == MAX_EVENTS:
            problem = "it holds too much"
        if problem:
            raise _Unreadable(problem, event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - is_end
        if depth == 1 and (is_end or isinstance(event, yaml.ScalarEvent)):
            yield event
