r"""Globs without braces, as patterns of pathspec. Their meaning stands in `globs.globs`."""

import re
from collections.abc import Iterator

from pathspec import RegexPattern  # not from pathspec.pattern: two threads could deadlock

from backstaff.globs.wildcards import ANY, REST, SLASH, SPAN, SPANS, STAR, Token, literal, regex

CLASS = r"\[[!^]?+\]?+(?:\\[^/]|[^\\\]/])*\]"
TOKEN = re.compile(rf"\\(?P<escaped>.)|(?P<class>{CLASS})|(?P<plain>[^\\])", re.DOTALL)
_SEGMENT = re.compile(rf"((?:\\[^/]|{CLASS}|[^/\\])*)(\\?/|\Z|\\\Z)", re.DOTALL)
_MEMBER = re.compile(r"\\?(?P<first>.)(?:-\\?(?P<last>.))?", re.DOTALL)


class GlobPattern(RegexPattern):
    """A glob, to be matched against a path and a slash: `src/*.c` against `src/a.c/`.

    `literal` stands in each path that matches. `name_literal` stands in the last name of each, or a
    directory above that name matches, too.
    """

    __slots__ = ("literal", "name_literal")

    def __init__(self, glob: str) -> None:
        """Read `glob`. Raises ValueError with the reason, such as "ends with a backslash"."""
        tokens = list(_tokens(glob))
        self.regex: re.Pattern[str]
        super().__init__(re.compile(rf"\A(?:{regex(tokens)})/?\Z"), include=True)
        # The literals with a slash between names, and a NUL between others.
        text = "".join("/" if one in SPANS else one.character or "\0" for one in tokens)
        self.literal = max(re.split(r"[/\0]", text), key=len)
        self.name_literal = max(text.rstrip("/").rpartition("/")[2].split("\0"), key=len)


def _tokens(glob: str) -> Iterator[Token]:
    segments = list(_segments(glob))
    for number, segment in enumerate(segments, 1):
        last = number == len(segments)
        if segment == "**":
            yield REST if last else SPAN
            continue
        if segment and not segment.strip("*"):
            yield ANY  # a name is never empty, so `src/*` does not match `src/`
        parts = list(TOKEN.finditer(segment))
        has_star = any(match["plain"] == "*" for match in parts)
        for match in parts:
            if match["class"]:
                # Where a star precedes, no chunk may have two lengths (`globs.wildcards`).
                itself = "" if has_star else f"{re.escape(match['class'])}|"
                yield Token(f"(?:{itself}{_class_regex(match['class'])})")
            elif match["plain"] == "*":
                yield STAR
            elif match["plain"] == "?":
                yield ANY
            else:
                yield literal(match["escaped"] or match["plain"])
        if not last:
            yield SLASH


def _segments(glob: str) -> Iterator[str]:
    """Yield the parts between the slashes; a class holds none."""
    end = -1
    while end < len(glob):
        match = _SEGMENT.match(glob, end + 1)
        if match is None or match[2] == "\\":
            raise ValueError("ends with a backslash")
        yield match[1]
        end = match.end() - 1 if match[2] else match.end()


def _class_regex(text: str) -> str:
    """The expression for a class such as `[!a-z_]`."""
    negated = text[1] in "!^"
    members = text[2:-1] if negated else text[1:-1]
    if "[:" in members:
        raise ValueError("uses a named character class, which is not supported")
    ranges = ""
    for match in _MEMBER.finditer(members):
        first, last = match["first"], match["last"]
        if last is not None and last < first:
            raise ValueError(f"has a range that runs backwards: {match[0]!r}")
        ranges += re.escape(first) + (f"-{re.escape(last)}" if last else "")
    return f"(?!/)[{'^' if negated else ''}{ranges}]"
