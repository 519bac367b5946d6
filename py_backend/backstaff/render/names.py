"""The one rule for names in text: a name is data and can neither forge a row nor drive a terminal.

A plain visible name stands bare. Any other (control, newline, bidi, invisible or undecodable
characters, leading `[ ( < " ' -` or combining mark, blanks at an end or doubled, a quote or a
backslash) stands as a JSON string literal in which everything invisible is escaped, so a JSON
reader gives it back.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from json.encoder import encode_basestring

# Written out, not taken from unicodedata: that table changes with the Python version, and the same
# name must be shown alike everywhere. Classes Cc, Cf, Cs, Zl, Zp, Zs (but for the blank),
# default-ignorable characters and noncharacters, as of Unicode 15.
_INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\xa0\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2"
    "\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f"
    "\\u3000\\u3164\\ud800-\\udfff\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb"
    "\\ufffe\\uffff\\U000110bd\\U000110cd\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
    + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 17))
)
_PLAIN = r"[A-Za-z0-9_.+@,~!#$%&*/:;=?^{}|\]`)>][\w.+@,~!#$%&*/:;=?^{}|\[\]`()<>'-]*"
_PLAIN_ASCII = re.compile(_PLAIN, re.ASCII)
_ALL_PLAIN_ASCII = re.compile(rf"(?:{_PLAIN}\n)*", re.ASCII)
_ALL_WORDS_ASCII = re.compile(rf"(?:{_PLAIN}(?<![@/])\n)*", re.ASCII)
_NEEDS_QUOTES = rf"[{_INVISIBLE}\"\\]|  |^[ \[(<\"'-]|[ ]$|^$"
_ESCAPED = f"[{_INVISIBLE}]"
_EMOJI = "[\u203c\u2049\u2122-\u27bf\u2934-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_HIDDEN = (
    f"(?<!{_EMOJI})\ufe0f|(?<!{_EMOJI})(?<!{_EMOJI}\ufe0f)\u200d"
    f"|(?![\ufe0f\u200d\t\n\xa0\u2000-\u200a\u202f\u3000])[{_INVISIBLE}]"
)
_LAST_SINGLE = 0xFFFF
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
MAX_ECHO = 200
"""Characters of an argument in a message that echoes it."""
_UNSAFE_IN_QUOTES = f"[{_INVISIBLE}']"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """PATTERN, which takes a millisecond to compile and is rarely needed in a first answer."""
    return re.compile(pattern)


def show(name: str) -> str:
    """NAME as it stands in text: bare, or as a JSON string literal."""
    return name if is_plain(name) else literal(name)


def show_all(names: Sequence[str]) -> Sequence[str]:
    """`show` of each of NAMES. Where all are plain ASCII, as nearly always, one look tells it."""
    return names if _all(_ALL_PLAIN_ASCII, names) else [show(name) for name in names]


def _all(lines: re.Pattern[str], names: Sequence[str]) -> bool:
    """Whether LINES, an expression for names each with a newline, matches NAMES."""
    together = "".join([f"{name}\n" for name in names])
    return lines.fullmatch(together) is not None and together.count("\n") == len(names)


def labels(shown: Callable[[str], str], texts: Iterable[str]) -> list[tuple[str, str]]:
    r"""Pair each of TEXTS that SHOWN changes with its new form: `("a\nb", '"a\\nb"')`."""
    distinct = list(dict.fromkeys(filter(None, texts)))
    if _all(_ALL_WORDS_ASCII, distinct):
        return []
    return [(text, label) for text in distinct if (label := shown(text)) != text]


def word(name: str) -> str:
    """NAME as one word of a line of names: quoted, too, where a blank would end it."""
    return name if " " not in name and is_plain(name) and name[-1] not in "@/…" else literal(name)


def words(names: Sequence[str]) -> Sequence[str]:
    """`word` of each of NAMES. Where all are plain ASCII, as nearly always, one look tells it."""
    return names if _all(_ALL_WORDS_ASCII, names) else [word(name) for name in names]


def quote(text: str, most: int | None = MAX_ECHO) -> str:
    """TEXT that a caller gave, as a message echoes it: 'as given', or a JSON string literal.

    Of more than MOST characters only these are there, and `…`; None is for what is to be used.
    """
    if most is not None and len(text) > most:
        text = text[:most] + "…"
    return literal(text) if _compiled(_UNSAFE_IN_QUOTES).search(text) else f"'{text}'"


def visible(text: str) -> str:
    """TEXT of several lines with whatever is invisible written as escapes, but for blanks.

    What joins the parts of an emoji stays, between them; elsewhere it could carry a message.
    """
    return _compiled(_HIDDEN).sub(lambda match: _escape(match[0]), text)


def prose(text: str) -> str:
    """TEXT that someone wrote freely, on one line, with whatever is invisible escaped."""
    return visible(" ".join(text.split()))


def is_plain(name: str) -> bool:
    """Whether NAME can stand bare."""
    if _PLAIN_ASCII.fullmatch(name):
        return True
    if _compiled(_NEEDS_QUOTES).search(name):
        return False
    return not unicodedata.category(name[0]).startswith("M")


def literal(name: str) -> str:
    """NAME as a JSON string literal with whatever is invisible written as escapes."""
    quoted: str = encode_basestring(name)
    return _compiled(_ESCAPED).sub(lambda match: _escape(match[0]), quoted)


def _escape(character: str) -> str:
    code = ord(character)
    if code <= _LAST_SINGLE:
        return f"\\u{code:04x}"
    high, low = divmod(code - _LAST_SINGLE - 1, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def lossy(text: str) -> str:
    """TEXT as valid Unicode: what could not be decoded becomes U+FFFD (SRD NFR-LD-REL-02)."""
    if text.isascii():
        return text
    text = _NO_BYTE.sub("\ufffd", text)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def width(text: str) -> int:
    """The columns that TEXT takes on a screen."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def widths(texts: Sequence[str]) -> list[int]:
    """The columns that each of TEXTS takes."""
    return list(map(len if "".join(texts).isascii() else width, texts))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
