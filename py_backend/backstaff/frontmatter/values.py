"""The values in front matter: YAML 1.2's core schema, as far as the tools need it."""

import re
from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = "str | bool | tuple[Value, ...] | Mapping[str, Value] | None"
"""Text, a truth value, null, a list or a mapping. A plain number is a `Number`; a date is text."""


class Number(str):
    """A plain number, left as written: nothing calculates with it, and it may be huge."""

    __slots__ = ()


_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
}
_NUMBER_STARTS = "+-.0123456789"
_NUMBER = re.compile(
    r"[-+]?[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?"
    r"|[-+]?\.[0-9]++(?:[eE][-+]?[0-9]++)?"
    r"|0o[0-7]++|0x[0-9a-fA-F]++"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


def plain(text: str) -> Value:
    """Return the value of the plain (unquoted) scalar `text`. `yes`, `on` and `1` are not true."""
    if text in _WORDS:
        return _WORDS[text]
    return Number(text) if text[0] in _NUMBER_STARTS and _NUMBER.fullmatch(text) else text
