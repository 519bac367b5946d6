r"""A line of git's ignore rules as a pattern of pathspec: gitignore(5), and git where it is silent.

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
from functools import cached_property

from pathspec import Pattern  # not from pathspec.pattern: two threads could deadlock

from backstaff.globs.wildcards import (
    ANY,
    NOTHING,
    REST,
    SPAN,
    SPAN_SOME,
    STAR,
    Token,
    is_span,
    last_name,
    literal,
    regex,
)

_SPECIAL = re.compile(r"[*?\[\\]")


def as_bytes(name: str) -> str:
    """Return `name` with one character for each byte: "é" as "Ã©"."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def as_name(text: str) -> str:
    """The name that `as_bytes` made `text` of."""
    return text if text.isascii() else os.fsdecode(text.encode("latin-1"))


class IgnorePattern(Pattern):
    """A line such as `!/build/*.o`. It matches paths from the directory of its file.

    `include` is pathspec's word for the meaning of a match: True if the line ignores, False if it
    takes back (`!`). A path of a directory ends with a slash, and a line with `directories_only`
    matches no other path. A line with `any_directory` is about a name wherever it is.
    """

    def __init__(self, line: str, *, ignore_case: bool = False) -> None:
        """Read `line`, which `rule` has returned."""
        super().__init__(include=not line.startswith("!"))
        line = line.removeprefix("!")
        self.directories_only = line.endswith("/")
        line = line.removesuffix("/")
        path = line.removeprefix("/")
        name = path.removeprefix("**/")
        self.any_directory = "/" not in line or (name != path and "/" not in name)
        self._ignore_case = ignore_case
        self._text = name if self.any_directory else path
        special = _SPECIAL.search(self._text)
        self._literal = special.start() if special else len(self._text)
        self._plain = self._literal == len(self._text) and not ignore_case

    def match_file(self, file: str) -> bool | None:
        """True if the line is about the path `file`, else None, as pathspec has it."""
        if file.endswith("/"):
            file = file[:-1]
        elif self.directories_only:
            return None
        if self.any_directory:
            file = file[file.rfind("/") + 1 :]
        matches = file == self._text if self._plain else self._matches(self._regex, file)
        return True if matches else None

    @cached_property
    def parent(self) -> str | None:
        """The one directory in which the line can match, such as `a/b/`, if it names that."""
        parent = self._text[: self._text.rfind("/") + 1]
        named = len(parent) <= self._literal and not self._ignore_case and not self._spans
        return parent if named else None

    def reaches(self, parent: str) -> bool:
        """Whether the line can match anything in the directory `parent`; True in doubt."""
        if self._cut_before_span:
            return True
        if REST in self._tokens:
            return self.match_file(f"{parent}x/") is not None
        if self._spans:
            named = self._text[: self._text.rfind("/", 0, self._literal) + 1]
            return self._ignore_case or parent.startswith(named)
        return self._matches(self._regex_of_parent, parent)

    @cached_property
    def exactly(self) -> str | None:
        """The only name that the line can match, if there is one."""
        return None if self._last is None else self._text_of(self._last)

    @cached_property
    def ending(self) -> str | None:
        """The ending of all names that the line can match, as `.o` of `*.o`."""
        starred = self._last and self._last[0] is STAR
        return self._text_of(self._last[1:]) if self._last and starred else None

    def may_match(self, name: str) -> bool:
        """Whether the line can match `name` in some directory."""
        return self._last is None or self._matches(self._regex_of_name, name)

    def _text_of(self, tokens: list[Token]) -> str | None:
        if self._ignore_case or not all(token.character for token in tokens):
            return None
        return "".join(token.character for token in tokens)

    @cached_property
    def _tokens(self) -> list[Token]:
        return _tokens(
            self._text, self._literal, paths=not self.any_directory, ignore_case=self._ignore_case
        )

    @cached_property
    def _spans(self) -> bool:
        return any(map(is_span, self._tokens))

    @cached_property
    def _cut_before_span(self) -> bool:
        """Whether git's cutting off lets a `**` span directories without a slash before it."""
        cut = self._literal
        spans = self._spans and is_span(self._tokens[cut])
        return spans and cut > 0 and self._text[cut - 1] != "/"

    @cached_property
    def _last(self) -> list[Token] | None:
        """The tokens that the name itself has to match; None if the whole path decides."""
        whole = self._cut_before_span or REST in self._tokens
        return None if whole else list(last_name(self._tokens))

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(regex(self._tokens), re.DOTALL)

    @cached_property
    def _regex_of_name(self) -> re.Pattern[str]:
        return re.compile(regex(self._last or []), re.DOTALL)

    @cached_property
    def _regex_of_parent(self) -> re.Pattern[str]:
        parent = self._tokens[: len(self._tokens) - len(self._last or ())]
        return re.compile(regex(parent), re.DOTALL)

    def _matches(self, pattern: re.Pattern[str], path: str) -> bool:
        if self._ignore_case:
            path = path.encode("latin-1").lower().decode("latin-1")  # of bytes, only A-Z change
        return pattern.fullmatch(path) is not None


def rule(line: bytes) -> str:
    """The rule in `line`, which ended with a newline; "" if it holds none."""
    if line.startswith(b"#"):
        return ""
    text = line.removesuffix(b"\r").partition(b"\0")[0].decode("latin-1")
    bare = text.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(text) else bare


def _tokens(text: str, cut: int, *, paths: bool, ignore_case: bool) -> list[Token]:
    """The tokens of `text`, which begins with `cut` literal characters.

    `**` spans in `paths` alone.
    """

    def plain(character: str) -> Token:
        capital = ignore_case and "A" <= character <= "Z"
        return literal(character.lower() if capital else character)

    tokens = [plain(character) for character in text[:cut]]
    at = cut
    while at < len(text):
        match text[at]:
            case "*":
                token, at = _stars(text, at, cut, paths=paths)
            case "?":
                token, at = ANY, at + 1
            case "[":
                token, at = _class(text, at + 1, ignore_case=ignore_case)
            case "\\":
                escaped = text[at + 1 : at + 2]
                token, at = literal(escaped) if escaped else NOTHING, at + 2
            case character:
                token, at = plain(character), at + 1
        tokens.append(token)
    return tokens


def _stars(text: str, at: int, cut: int, *, paths: bool) -> tuple[Token, int]:
    """The token of the stars at this place of `text`, and the place of the next token."""
    end = at
    while text[end : end + 1] == "*":
        end += 1
    bounded = at == cut or text[at - 1] == "/"
    if not (paths and bounded and end - at > 1):
        return STAR, end
    if end == len(text):
        return REST, end
    if text[end] == "/":
        return SPAN, end + 1
    if text.startswith("\\/", end):
        return SPAN_SOME, end + 2
    return STAR, end


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
_ITEM = re.compile(r"\[:(?P<named>[^\]]*):\]|\\(?P<escaped>.)|(?P<plain>[^\\])", re.DOTALL)
_RANGE_END = re.compile(r"-(?:\\(?P<escaped>.)|(?P<plain>[^\\\]]))", re.DOTALL)


def _class(text: str, at: int, *, ignore_case: bool) -> tuple[Token, int]:
    """Return the token of the class that starts here in `text`, and the next token's place."""
    negated = text[at : at + 1] in ("!", "^")
    start = at = at + negated
    members = ""
    while at == start or text[at : at + 1] != "]":
        item = _ITEM.match(text, at)
        if item is None:
            return NOTHING, len(text)  # the class is not closed
        at = item.end()
        if (named := item["named"]) is not None:
            if named not in _NAMED:
                return NOTHING, len(text)
            members += _NAMED["lower" if ignore_case and named == "upper" else named]
            continue
        first = item["escaped"] or item["plain"]
        members += _hex(first)
        if until := _RANGE_END.match(text, at):
            at = until.end()
            last = until["escaped"] or until["plain"]
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
