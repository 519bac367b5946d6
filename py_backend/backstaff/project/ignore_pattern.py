r"""A line of git's ignore rules as a pattern: gitignore(5), and git where that is silent.

Git matches bytes, and `?` is one byte. So paths are text here with one character for each byte
(`as_bytes`): `é` is two characters. The manual leaves out:

- A carriage return before the end of a line does not count. Blanks at the end do not count, tabs
  do. A line ends at a NUL.
- One slash at the end means directories. A line with no other slash is about the name alone.
- A class that is not closed matches nothing.
- Git compares whatever stands before the first special character first, and cuts it off. So
  `b**/x` is `b` and then `**/x`.
- Without regard to case, paths are in small letters, and so is a plain capital in a line. A capital
  in a range of a class stands for both letters; an escaped one, or one alone in a class, for none.
"""

import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf

from backstaff.globs.wildcards import (
    ANY,
    NOTHING,
    REST,
    SPAN,
    SPAN_SOME,
    STAR,
    Token,
    last_name,
    literal,
    regex,
)

_SPECIAL = re.compile(r"[*?\[\\]")


def as_bytes(name: str) -> str:
    """Return `name` with one character for each byte: "é" as "Ã©"."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def in_small_letters(text: str) -> str:
    """Return `text`, from `as_bytes`, with small letters in place of A to Z."""
    return text.encode("latin-1").lower().decode("latin-1")


class IgnorePattern:
    """A line such as `!/build/*.o`. It matches paths from the directory of its file.

    `include` says that the line ignores, and does not take back (`!`). A line with
    `directories_only` matches no other path. One with `any_directory` is about a name wherever it
    is. Others match in `directory`, such as "" or `a/b/`, or below it, at most `depth` directories
    below that of the file.
    """

    def __init__(self, line: str, *, ignore_case: bool = False) -> None:
        """Read `line`, which `rule` has returned."""
        self.ignore_case = ignore_case
        self.include = not line.startswith("!")
        line = line.removeprefix("!")
        self.directories_only = line.endswith("/")
        line = line.removesuffix("/")
        path = line.removeprefix("/")
        name = path.removeprefix("**/")
        self.any_directory = "/" not in line or (name != path and "/" not in name)
        self._text = name if self.any_directory else path
        special = _SPECIAL.search(self._text)
        self._cut = special.start() if special else len(self._text)
        named = 0 if ignore_case else self._text.rfind("/", 0, self._cut) + 1
        self.directory = self._text[:named]
        self.depth = inf if "**" in self._text else self._text.count("/")

    def match_file(self, path: str) -> bool:
        """Whether the line is about `path`; that of a directory ends with a slash."""
        if path.endswith("/"):
            path = path[:-1]
        elif self.directories_only:
            return False
        if self.any_directory:
            path = path[path.rfind("/") + 1 :]
        if self.ignore_case:
            return bool(self._matches(in_small_letters(path)))
        return path == self._text if self._cut == len(self._text) else bool(self._matches(path))

    def reaches(self, parent: str) -> bool:
        """Whether the line can match anything in the directory `parent`; True in doubt."""
        rest = REST in self._tokens  # as in `build/**`, which is about all names in `build/`
        return parent.startswith(self.directory) and (not rest or self.match_file(f"{parent}x/"))

    @cached_property
    def _matches(self) -> Callable[[str], object]:
        return re.compile(regex(self._tokens), re.DOTALL).fullmatch

    @property
    def name(self) -> Sequence[Token]:
        """The tokens that the last name of a path has to match."""
        cut, tokens = self._cut, self._tokens
        spans = (
            cut and self._text[cut - 1] != "/" and tokens[cut : cut + 1] in ([SPAN], [SPAN_SOME])
        )
        # In `b**/x` a name can begin with `b` and go on after the slashes.
        return [REST] if spans or REST in tokens else last_name(tokens)

    @cached_property
    def _tokens(self) -> list[Token]:  # noqa: C901  # a case for each kind of token
        def plain(character: str) -> Token:
            capital = self.ignore_case and "A" <= character <= "Z"
            return literal(character.lower() if capital else character)

        text, at = self._text, self._cut
        tokens = [plain(character) for character in text[:at]]
        while at < len(text):
            match text[at]:
                case "*":
                    token, end = STAR, at + 1
                    while text.startswith("*", end):
                        end += 1
                    bounded = at == self._cut or text[at - 1] == "/"
                    if bounded and end - at > 1 and not self.any_directory:
                        if end == len(text):
                            token = REST
                        elif text[end] == "/":
                            token, end = SPAN, end + 1
                        elif text.startswith("\\/", end):
                            token, end = SPAN_SOME, end + 2
                    at = end
                case "?":
                    token, at = ANY, at + 1
                case "[":
                    token, at = _class(text, at + 1, ignore_case=self.ignore_case)
                case "\\":
                    escaped = text[at + 1 : at + 2]
                    token, at = literal(escaped) if escaped else NOTHING, at + 2
                case character:
                    token, at = plain(character), at + 1
            tokens.append(token)
        return tokens


def rule(line: bytes) -> str:
    """The rule in `line`, which ended with a newline; "" if it holds none."""
    if line.startswith(b"#"):
        return ""
    text = line.removesuffix(b"\r").partition(b"\0")[0].decode("latin-1")
    bare = text.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(text) else bare


_NAMED = {
    "alnum": r"0-9A-Za-z",
    "alpha": r"A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": r"0-9",
    "graph": r"!-~",
    "lower": r"a-z",
    "print": r" -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r",
    "upper": r"A-Z",
    "xdigit": r"0-9A-Fa-f",
}
_ITEM = re.compile(r"\[:(?P<named>[^\]]*):\]|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^\\\]])))?", re.DOTALL)
"""A named class, or a character and the end of a range; either can be escaped."""


def _class(text: str, at: int, *, ignore_case: bool) -> tuple[Token, int]:
    """Return the token of the class that starts here in `text`, and the next token's place."""
    negated = text[at : at + 1] in ("!", "^")
    start = at = at + negated
    members = ""
    while at == start or text[at : at + 1] != "]":
        item = _ITEM.match(text, at)
        if item is None or item["named"] not in (None, *_NAMED):
            return NOTHING, len(text)  # the class is not closed, or has no such name
        at = item.end()
        if named := item["named"]:
            members += _NAMED["lower" if ignore_case and named == "upper" else named]
            continue
        first, last = item[2] or item[3], item[4] or item[5]
        members += _hex(first)
        if last:
            members += _range(first, last)
            capital, until_capital = max(first, "A"), min(last, "Z")
            if ignore_case and capital <= until_capital:
                members += _range(capital.lower(), until_capital.lower())
    if not members:
        return (ANY if negated else NOTHING), at + 1
    return Token(f"(?!/)[{'^' * negated}{members}]"), at + 1


def _range(first: str, last: str) -> str:
    """Members of a class from `first` to `last`, if there are any."""
    return f"{_hex(first)}-{_hex(last)}" if first <= last else ""


def _hex(character: str) -> str:
    return f"\\x{ord(character):02x}"
