r"""One line of git's ignore rules, and what it matches: gitignore(5), and git where it is silent.

Everything is about bytes, as it is for git: `?` is one byte. What the manual leaves out: a carriage
return before the end of a line does not count; blanks at the end do not, tabs do; a line ends at a
NUL; one slash at the end means directories, and a line with no other slash is about the name alone;
a class that is not closed matches nothing; and whatever stands before the first special character
is compared first and cut off, so `b**/x` is `b` and then `**/x`. Without regard to case, paths are
in small letters, and so is a plain capital in a line; one in a range of a class stands for both, an
escaped one or a single member of a class for none.

Nothing backtracks: what stands between two stars has a fixed length, so its leftmost match is as
good as any and is put into an atomic group, and so are the whole segments between two `**`.
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple


class _Is(StrEnum):
    """What a token stands for: one byte, any of a segment, some directories, all that is left."""

    ONE = "one"
    STAR = "star"
    SPAN = "span"
    REST = "rest"


class _Token(NamedTuple):
    """A token, its regular expression, and the byte that it is if it is a certain one."""

    kind: _Is
    regex: bytes
    byte: bytes = b""


_SPANNING = (_Is.SPAN, _Is.REST)
_SLASH = b"/"
_SPECIAL = re.compile(rb"[*?\[\\]")
_STAR = _Token(_Is.STAR, b"")
_ANY = _Token(_Is.ONE, b"[^/]")
_REST = _Token(_Is.REST, b".*")
_SPAN = _Token(_Is.SPAN, b"(?:[^/]*/)*?")
_SPAN_SOME = _Token(_Is.SPAN, b"(?:[^/]*/)+?")
_NOTHING = _Token(_Is.ONE, b"(?!)")


class Line:
    """A rule: `negative` with `!`, for `directories` only with a slash at its end.

    `anywhere` tells that it is about a name in whatever directory, be it by a `**/` before. Paths
    are relative to the directory of the file that the line stands in; a directory's own is "" or
    `a/b/`.
    """

    def __init__(self, text: bytes, *, ignore_case: bool = False) -> None:
        """Read TEXT, a line that `rule` has left something of."""
        self.negative = text.startswith(b"!")
        text = text.removeprefix(b"!")
        self.directories = text.endswith(_SLASH)
        text = text.removesuffix(_SLASH)
        path = text.removeprefix(_SLASH)
        name = path.removeprefix(b"**/")
        self.anywhere = _SLASH not in text or (name != path and _SLASH not in name)
        self._ignore_case = ignore_case
        self._text = name if self.anywhere else path
        special = _SPECIAL.search(self._text)
        self._literal = special.start() if special else len(self._text)

    def matches(self, parent: bytes, name: bytes) -> bool:
        """Whether it is about NAME in the directory PARENT."""
        path = name if self.anywhere else parent + name
        if self.plain:
            return path == self._text
        return self._regex(path) is not None

    @property
    def plain(self) -> bool:
        """Whether every character stands for itself."""
        return self._literal == len(self._text) and not self._ignore_case

    @cached_property
    def parent(self) -> bytes | None:
        """The one directory in which it can match, if that is named in full."""
        parent = self._text[: self._text.rfind(_SLASH) + 1]
        named = len(parent) <= self._literal and not self._ignore_case and not self._spans
        return parent if named else None

    def reaches(self, parent: bytes) -> bool:
        """Whether it can match anything in the directory PARENT; it may say so too often."""
        if self._cut_before_span:
            return True
        if self._tokens and self._tokens[-1] is _REST:
            return self.matches(parent, b"x")
        if self._spans:
            return self._starts(parent)
        return self._regex_of_parent(parent) is not None

    @cached_property
    def exactly(self) -> bytes | None:
        """The only name that it can match, if it is certain."""
        return self._bytes_of(self._last)

    @cached_property
    def ending(self) -> bytes | None:
        """What ends each name that it matches, where any name with that end can match."""
        last = self._last
        return self._bytes_of(last[1:]) if last and last[0] is _STAR else None

    @cached_property
    def name(self) -> Callable[[bytes], object]:
        """Tells of a name whether it can match in some directory."""
        return self._compiled(_regex([self._last]) if self._last is not None else b".*")

    def _bytes_of(self, tokens: "list[_Token] | None") -> bytes | None:
        if tokens is None or self._ignore_case or not all(token.byte for token in tokens):
            return None
        return b"".join(token.byte for token in tokens)

    @cached_property
    def _tokens(self) -> list[_Token]:
        text, literal, fold = self._text, self._literal, self._ignore_case
        return _tokens(text, literal, paths=not self.anywhere, fold=fold)

    @cached_property
    def _spans(self) -> bool:
        return any(token.kind in _SPANNING for token in self._tokens)

    @cached_property
    def _cut_before_span(self) -> bool:
        """Whether git's cutting off makes a `**` span directories that has no slash before it."""
        cut = self._literal
        spans = self._spans and self._tokens[cut].kind in _SPANNING
        return spans and cut > 0 and self._text[cut - 1 : cut] != _SLASH

    @cached_property
    def _last(self) -> list[_Token] | None:
        """The tokens that the name itself has to match; None if the whole path decides."""
        if self._cut_before_span:
            return None
        last: list[_Token] = []
        for token in reversed(self._tokens):
            if token is _REST:
                return None
            if token.kind is _Is.SPAN or token.byte == _SLASH:
                break
            last.append(token)
        return last[::-1]

    def _starts(self, parent: bytes) -> bool:
        named = self._text[: self._text.rfind(_SLASH, 0, self._literal) + 1]
        return self._ignore_case or parent.startswith(named)

    @cached_property
    def _regex(self) -> Callable[[bytes], object]:
        return self._compiled(_regex(_blocks(self._tokens)))

    @cached_property
    def _regex_of_parent(self) -> Callable[[bytes], object]:
        name = len(self._last or ())
        return self._compiled(_regex([self._tokens[: len(self._tokens) - name]]))

    def _compiled(self, regex: bytes) -> Callable[[bytes], object]:
        matches = re.compile(regex, re.DOTALL).fullmatch
        return (lambda path: matches(path.lower())) if self._ignore_case else matches


def rule(line: bytes) -> bytes:
    """What of LINE, which ended with a newline, is a rule; empty if it is none."""
    if line.startswith(b"#"):
        return b""
    line = line.removesuffix(b"\r").partition(b"\0")[0]
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return bare + b" " if backslashes % 2 and len(bare) < len(line) else bare


def _blocks(tokens: Iterable[_Token]) -> list[list[_Token]]:
    """TOKENS, taken apart before each `**` that spans directories."""
    blocks: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind in _SPANNING:
            blocks.append([])
        blocks[-1].append(token)
    return blocks


def _regex(blocks: list[list[_Token]]) -> bytes:
    *middle, last = blocks
    closed = b"".join(b"(?>" + _block(block, final=False) + b")" for block in middle if block)
    return closed + _block(last, final=True)


def _block(block: list[_Token], *, final: bool) -> bytes:
    """Chunks between stars, each at its leftmost place for good, but what has to end a path."""
    chunks = [b""]
    for token in block:
        if token is _STAR:
            chunks.append(b"")
        else:
            chunks[-1] += token.regex
    first, *rest = chunks
    last = b"[^/]*" + rest.pop() if final and rest else b""
    return first + b"".join(b"(?>[^/]*?" + chunk + b")" for chunk in rest) + last


def _tokens(text: bytes, literal: int, *, paths: bool, fold: bool) -> list[_Token]:
    """The tokens of TEXT, of which so many bytes are LITERAL; `**` spans in PATHS alone.

    To FOLD is to make them for paths in small letters.
    """
    tokens = [_plain(text[at : at + 1], fold=fold) for at in range(literal)]
    at = literal
    while at < len(text):
        token, at = _next(text, at, literal, paths=paths, fold=fold)
        tokens.append(token)
    return tokens


def _byte(byte: bytes) -> _Token:
    return _Token(_Is.ONE, re.escape(byte), byte)


def _plain(byte: bytes, *, fold: bool) -> _Token:
    return _byte(byte.lower() if fold else byte)


def _next(text: bytes, at: int, literal: int, *, paths: bool, fold: bool) -> tuple[_Token, int]:
    """The token at this place of TEXT, and where the next one starts."""
    match text[at : at + 1]:
        case b"*":
            return _stars(text, at, literal, paths=paths)
        case b"?":
            return _ANY, at + 1
        case b"[":
            return _class(text, at + 1, fold=fold)
        case b"\\":
            byte = text[at + 1 : at + 2]
            return (_byte(byte) if byte else _NOTHING), at + 2
        case byte:
            return _plain(byte, fold=fold), at + 1


def _stars(text: bytes, at: int, literal: int, *, paths: bool) -> tuple[_Token, int]:
    end = at
    while text[end : end + 1] == b"*":
        end += 1
    bounded = at == literal or text[at - 1 : at] == _SLASH
    if not (paths and bounded and end - at > 1):
        return _STAR, end
    if end == len(text):
        return _REST, end
    if text[end : end + 1] == _SLASH:
        return _SPAN, end + 1
    if text[end : end + 2] == b"\\/":
        return _SPAN_SOME, end + 2
    return _STAR, end


_NAMED = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
_ITEM = re.compile(rb"\[:(?P<named>[^\]]*):\]|\\(?P<escaped>.)|(?P<plain>[^\\])", re.DOTALL)
_RANGE_END = re.compile(rb"-(?:\\(?P<escaped>.)|(?P<plain>[^\\\]]))", re.DOTALL)


def _class(text: bytes, at: int, *, fold: bool) -> tuple[_Token, int]:
    """The class whose members start at this place of TEXT, and where the next token starts."""
    negated = text[at : at + 1] in (b"!", b"^")
    start = at = at + negated
    members = b""
    while at == start or text[at : at + 1] != b"]":
        item = _ITEM.match(text, at)
        if item is None:
            return _NOTHING, len(text)
        at = item.end()
        if (named := item["named"]) is not None:
            if named not in _NAMED:
                return _NOTHING, len(text)
            members += _NAMED[b"lower" if fold and named == b"upper" else named]
            continue
        first = item["escaped"] or item["plain"]
        members += _hex(first)
        if until := _RANGE_END.match(text, at):
            at = until.end()
            last = until["escaped"] or until["plain"]
            members += _range(first, last)
            capital, until_capital = max(first, b"A"), min(last, b"Z")
            if fold and capital <= until_capital:
                members += _range(capital.lower(), until_capital.lower())
    if not members:
        return (_ANY if negated else _NOTHING), at + 1
    return _Token(_Is.ONE, b"(?!/)[" + b"^" * negated + members + b"]"), at + 1


def _range(first: bytes, last: bytes) -> bytes:
    """Members from FIRST to LAST, if there are any."""
    return _hex(first) + b"-" + _hex(last) if first <= last else b""


def _hex(byte: bytes) -> bytes:
    return b"\\x%02x" % byte[0]
