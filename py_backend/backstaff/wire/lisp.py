r"""The Lisp on the wire: requests read by sexpdata, replies written here.

Joining strings writes replies, as sexpdata's writer costs ten times the listing of a directory.
There are two dialects:

- `PLAIN`, for any EPC client: strings are UTF-8, with escapes for the quote and the backslash only,
  as every reader understands these. Bytes of an undecodable name become U+FFFD.
- `ESCAPED`, which our own client asks for in `hello`: strings are ASCII, so Emacs reads a frame
  without decoding it. A frame never holds a `#`, so the client can refuse the read syntax that
  makes objects. Bytes of an undecodable name travel bare, as the only bytes over 0x7f: Emacs can
  then open the file.

`backstaff.tool.Result` says which values there are. False, None and empty lists are nil.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from json.encoder import encode_basestring_ascii
from types import NoneType
from typing import NamedTuple

import sexpdata

from backstaff.arguments import NIL, Symbol
from backstaff.render.names import lossy
from backstaff.result import Keyword, Rows, Verbatim

MAX_LISP_BYTES = 1 << 20  # of a request, beside long Base64 strings: reading Lisp is slow

_BASE64 = re.compile(rb'"[A-Za-z0-9+/]{256,}=*"')
_UID = re.compile(rb"\s*\(\s*[a-z-]+\s+(\d{1,15})(?=[\s)])")
_WITHOUT_ARGUMENTS = re.compile(rb"\(call (\d{1,15}) (ping|describe) nil\)\n?")
_OCTAL_OR_OTHER = re.compile(r"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
_SURROGATES = re.compile(
    r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u(d[89a-f][0-9a-f]{2})|.)", re.DOTALL
)
_CONSTANTS = {":false": False, ":json-false": False, ":null": None}

FIRST_RAW, LAST_RAW = 0x80, 0xFF
BYTE_0 = 0xDC00  # Python shows the undecodable byte B of a name as the character BYTE_0 + B


class Unreadable(Exception):
    """A message that cannot be understood; the text says why."""


class Message(NamedTuple):
    """One EPC message: its kind (`call`, `methods`, ...), uid, and the rest of the list."""

    kind: str
    uid: int
    rest: list[object]


def uid_of(body: bytes) -> int | None:
    """Return the uid at the start of a message, readable or not; None if there is none."""
    match = _UID.match(body)
    return int(match[1]) if match else None


def read(body: bytes) -> Message:
    """Parse `body`; its values are as `backstaff.arguments` takes them. Raises `Unreadable`."""
    if bare := _WITHOUT_ARGUMENTS.fullmatch(body):
        # A ping should cost little, and sexpdata would double its time.
        return Message("call", int(bare[1]), [Symbol(bare[2].decode()), NIL])
    if len(body) > MAX_LISP_BYTES and (size := len(_BASE64.sub(b'""', body))) > MAX_LISP_BYTES:
        allowed = f"more than the {MAX_LISP_BYTES} allowed beside texts in Base64"
        raise Unreadable(f"the request has {size} bytes, {allowed}")
    text = _OCTAL_OR_OTHER.sub(_without_octal, body.decode("utf-8", "surrogateescape"))
    try:
        parsed = _value(sexpdata.parse(text))
    except Unreadable:
        raise
    except Exception as error:  # sexpdata has no error of its own: five kinds were seen
        problem = "nests too deep" if isinstance(error, RecursionError) else "is no readable Lisp"
        raise Unreadable(f"the request {problem}") from error
    match parsed:
        case [[Symbol(name=kind), int() as uid, *rest]] if uid == uid_of(body):
            return Message(kind, uid, rest)
    raise Unreadable("the request is not of the form (call UID METHOD ARGUMENTS)")


def _without_octal(match: re.Match[str]) -> str:
    r"""Replace Emacs's octal escapes (`\351`, a raw byte), which sexpdata does not know."""
    if match[1] is None:
        return match[0]
    code = int(match[1], 8) & 0xFF
    character = chr(code) if code < FIRST_RAW else chr(BYTE_0 + code)
    return "\\" + character if character in '"\\' else character


def _value(item: object) -> object:
    match item:
        case sexpdata.Symbol():
            name = str(item)
            if name.startswith("#") and name != "##":
                known = "strings, numbers, lists, vectors, symbols and keywords"
                raise Unreadable(f"the request holds {name[:20]!r}; only {known} can be sent")
            return _CONSTANTS.get(name, Symbol(name))
        case sexpdata.Quoted():
            return Symbol("'")
        case sexpdata.Delimiters():
            return _values(item.I)
        case list():
            return _values(item) or NIL
        case _:
            return item


def _values(items: Iterable[object]) -> list[object]:
    """Convert `items`. A string with text properties, `#("a" 0 1 (face bold))`, becomes "a"."""
    found, rest = list[object](), iter(items)
    for item in rest:
        if not (isinstance(item, sexpdata.Symbol) and str(item) == "#"):
            found.append(_value(item))
            continue
        match next(rest, None):  # sexpdata reads the `#` as a symbol before a list
            case [str() as text, *intervals] if len(intervals) % len(("FROM", "TO", "PLIST")) == 0:
                found.append(text)
            case _:
                problem = "a '#' that begins no string with text properties"
                raise Unreadable(f"the request holds {problem}")
    return found


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way to write strings: `quote` writes one, `finish` encodes a whole message."""

    quote: Callable[[str], str]
    finish: Callable[[str], bytes]

    def text(self, value: object) -> str:  # noqa: PLR0911  # one for each type
        """Return `value` as Lisp, before `finish`."""
        match value:
            case None | False:
                return "nil"
            case True:
                return "t"
            case StrEnum() | Keyword():
                return _keyword(value)
            case str():
                return self.quote(value)
            case int() | float():
                return repr(value)
            case Symbol():
                return value.name
            case Rows():
                return f"({' '.join(self.rows(value))})" if len(value) else "nil"
            case Mapping():
                keyword = ":{}".format if isinstance(value, Verbatim) else _keyword
                pairs = (f"{keyword(key)} {self.text(item)}" for key, item in value.items())
                return f"({' '.join(pairs)})" if value else "nil"
            case list() | tuple():
                return f"({' '.join(map(self.text, value))})" if value else "nil"
        raise TypeError(f"{type(value).__name__} has no Lisp form")

    def rows(self, rows: Rows) -> Iterator[str]:
        """Yield each of `rows`, which are some, as a plist. They are written column by column."""
        keys = (_keyword(key).replace("%", "%%") for key in rows.columns)
        row = f"({' '.join(f'{key} %s' for key in keys)})"
        return map(row.__mod__, zip(*map(self.column, rows.columns.values()), strict=True))

    def column(self, values: Sequence[object]) -> Iterable[str]:
        """Write a column by the fastest way for its types."""
        types = set(map(type, values))
        if types == {str}:
            return map(self.quote, values)  # type: ignore[arg-type]  # all str
        if types == {int}:
            return map(str, values)
        if all(issubclass(kind, StrEnum | Keyword | NoneType) for kind in types):
            words = {value: self.text(value) for value in set(values)}
            return map(words.__getitem__, values)
        return map(self.text, values)


def _keyword(key: str) -> str:
    return ":" + key.replace("_", "-")


def _quote_plain(text: str) -> str:
    return '"' + lossy(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _finish_escaped(text: str) -> bytes:
    text = text.replace("#", "\\u0023")
    if "\\\\" not in text:  # then each `\\n` is a newline, and a bare one is read faster
        text = text.replace("\\n", "\n")
    if "\\ud" in text:
        text = _SURROGATES.sub(_joined, text)
    return text.encode("ascii", "surrogateescape")


def _joined(match: re.Match[str]) -> str:
    r"""Join the pair `\ud83d\ude00`; a lone `\udcff` becomes the byte ff, other halves are lost."""
    high, low, lone = match.groups()
    if high:  # Lisp does not join them
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
        return f"\\U{code:08x}"
    if not lone:
        return match[0]
    code = int(lone, 16)
    return chr(code) if FIRST_RAW <= code - BYTE_0 <= LAST_RAW else "\\ufffd"


PLAIN = Dialect(_quote_plain, str.encode)
ESCAPED = Dialect(encode_basestring_ascii, _finish_escaped)


def write(value: object, dialect: Dialect) -> bytes:
    """Return `value` as Lisp in the `dialect`, ready to be framed."""
    return dialect.finish(dialect.text(value))
