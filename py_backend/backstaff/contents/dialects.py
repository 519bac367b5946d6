r"""Patterns as callers write them: the words of JavaScript's dialect in those of Python's `re`."""

import re
import sys

_JAVASCRIPT = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|\(\?<(?P<group>[A-Za-z_]\w*)>"
    r"|\\k<(?P<back>[A-Za-z_]\w*)>"
    r"|\\u\{(?P<code>[0-9A-Fa-f]{1,6})\}"
    r"|(?P<property>\\[pP]\{[^}]*\}?)"
    r"|\\.",
    re.DOTALL,
)


class BadRegexp(ValueError):
    """A pattern that cannot be used, and the `position` of the fault, from 0, if it is known."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.position = position


def translated(pattern: str) -> str:
    r"""Translate the parts of `pattern` that only JavaScript has. Raises `BadRegexp`.

    `(?<name>x)\k<name>\u{1F600}` becomes `(?P<name>x)(?P=name)\U0001F600`. Both know `\/`.
    """

    def python(found: re.Match[str]) -> str:
        if name := found["group"]:
            return f"(?P<{name}>"
        if name := found["back"]:
            return f"(?P={name})"
        if code := found["code"]:
            if int(code, 16) > sys.maxunicode:
                raise BadRegexp(f"there is no character {found[0]}", found.start())
            return f"\\U{int(code, 16):08X}"
        if found["property"]:
            remedy = r"write [^\W\d_] for a letter, \d for a digit, \w for either"
            raise BadRegexp(f"Python has no {found[0]}: {remedy}", found.start())
        return found[0]

    return _JAVASCRIPT.sub(python, pattern)
