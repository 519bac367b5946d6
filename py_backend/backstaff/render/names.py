r"""The one rule for names in text: a name is data and can neither forge a row nor drive a terminal.

A plain visible name stands bare. Any other name stands as a JSON string literal with escapes for
everything invisible, so a JSON reader gives the name back: `"a\nb"`. A name is not plain if it
holds a control character, a newline, a bidi mark, an invisible or undecodable character, a quote, a
backslash or two blanks in a row; if it starts with `[ ( < " ' -`, a combining mark or a blank; if
it ends with a blank; or if it is empty.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from json.encoder import encode_basestring

# The classes Cc, Cf, Cs, Zl, Zp, Zs (except the blank), the default-ignorable characters and the
# noncharacters of Unicode 15. The table of unicodedata changes with the Python version, but a name
# must look the same everywhere.
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
_NEEDS_QUOTES = rf"[{_INVISIBLE}\"\\]|  |^[ \[(<\"'-]|[ ]$|^$"
_EMOJI = "[\u203c\u2049\u2122-\u27bf\u2934-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_HIDDEN = (
    f"(?<!{_EMOJI})\ufe0f|(?<!{_EMOJI})(?<!{_EMOJI}\ufe0f)\u200d"
    f"|(?![\ufe0f\u200d\t\n\xa0\u2000-\u200a\u202f\u3000])[{_INVISIBLE}]"
)
_ESCAPED, _UNSAFE_IN_QUOTES = f"[{_INVISIBLE}]", f"[{_INVISIBLE}']"
_LONE_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # for no undecodable byte of a name
CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")
"""Characters that drive a terminal, or change the direction of the text behind them. Only these
stand as escapes in the text of a file: an agent that edits it needs all others as they are."""
MAX_ECHO = 200  # characters of an argument in a message
_compiled = cache(re.compile)  # at the first use: each takes 1 ms, and few answers need one


def show(name: str) -> str:
    """Return `name` as it stands in text: bare, or as a JSON string literal."""
    return name if is_plain(name) else literal(name)


def word(name: str) -> str:
    """Return `name` as one word: quoted if it has a blank, ends with `@ / …`, or is like `+6`."""
    is_count = name[:1] == "+" and name[1:].isdigit()
    is_word = " " not in name and is_plain(name) and name[-1] not in "@/…" and not is_count
    return name if is_word else literal(name)


def show_all(names: Sequence[str]) -> Sequence[str]:
    """`show` of each of `names`. Nearly always all stand bare, so one match tests all."""
    together = "\n".join([*names, ""])
    are_lines = together.count("\n") == len(names) and _ALL_PLAIN_ASCII.fullmatch(together)
    return names if are_lines else [show(name) for name in names]


def quote(text: str, most: int | None = MAX_ECHO) -> str:
    """Return an argument as messages echo it: 'as given', or a JSON string literal.

    After `most` characters `…` stands for the rest; None keeps all, for a reader who copies it.
    """
    if most is not None and len(text) > most:
        text = text[:most] + "…"
    return literal(text) if _compiled(_UNSAFE_IN_QUOTES).search(text) else f"'{text}'"


def visible(text: str) -> str:
    """Return `text` with escapes for what is invisible, except blanks and joiners in an emoji."""
    return _compiled(_HIDDEN).sub(escaped, text)


def prose(text: str) -> str:
    """Return `text` of free prose on one line, with escapes for everything invisible."""
    return visible(" ".join(text.split()))


def is_plain(name: str) -> bool:
    """Whether `name` can stand bare."""
    return bool(_PLAIN_ASCII.fullmatch(name)) or not (
        _compiled(_NEEDS_QUOTES).search(name) or unicodedata.category(name[0]).startswith("M")
    )


def literal(name: str) -> str:
    r"""Return `name` as a JSON string literal with escapes for invisible parts: `"a\u202eb"`."""
    return _compiled(_ESCAPED).sub(escaped, encode_basestring(name))


def escaped(match: re.Match[str]) -> str:
    r"""The one character of `match` as JSON escapes, two beyond U+FFFF: `\ud83d\ude00`."""
    code = ord(match[0])
    if code < 1 << 16:
        return f"\\u{code:04x}"
    high, low = divmod(code - (1 << 16), 1 << 10)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def lossy(text: str) -> str:
    """Return `text` as valid Unicode: undecodable bytes become U+FFFD (SRD NFR-LD-REL-02)."""
    if text.isascii():
        return text
    text = _LONE_SURROGATE.sub("\ufffd", text)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
