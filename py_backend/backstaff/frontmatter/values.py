"""The values in front matter: those of YAML 1.2's core schema that the tools need."""

from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = "str | bool | Mapping[str, Value] | None"
"""Text, a truth value, null or a mapping. A number or date is text, and a list is empty text,
because no tool needs one."""

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
}


def plain(text: str) -> Value:
    """Return the value of the plain (unquoted) scalar `text`. `yes`, `on` and `1` are not true."""
    return _WORDS.get(text, text)
