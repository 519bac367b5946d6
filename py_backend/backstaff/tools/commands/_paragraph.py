"""The first paragraph of a Markdown text: what stands for a description where none is given.

Only the block structure is looked at, line by line as CommonMark's appendix describes it: each line
first continues the containers that are open (quotes, list items), then may open blocks, and what is
left is text. Text within a container is no paragraph of ours, but has to be followed, as a line
without a marker may continue it. Tables are GitHub's. Links and emphasis stay as they are written.
"""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

MAX_LINES = 2_000
MAX_CONTAINERS = 32  # deeper ones are text, so that a line of 10,000 quote marks costs no more
_CODE_INDENT = 4
_QUOTE = 0
_WIDEST_PADDING = 4

_HEADING = re.compile(r"#{1,6}(?: |\Z)")
_UNDERLINE = re.compile(r"(?:=+|-+) *\Z")
_RULE = re.compile(r"(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})\Z")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_ITEM = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
_DELIMITER_ROW = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*+\|? *\Z")
_CELL_END = re.compile(r"(?<!\\)\|")
_NO_TEXT = re.compile(r"\A *\Z")
_DEFINITION = re.compile(
    r"\s*\[(?:[^\[\]\\]|\\.){1,999}+\]:\s*(?:<(?:[^<>\n\\]|\\.)*+>|[^\s<]\S*)"
    r"(?:(?:[ \t]+|[ \t]*\n\s*)(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?"
    r"[ \t]*(?:\n|\Z)",
    re.DOTALL,
)

_TAGS = (
    "address article aside base basefont blockquote body caption center col colgroup dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option"
    " p param search section summary table tbody td tfoot th thead title tr track ul"
).replace(" ", "|")
_ATTRIBUTE = r"\s+[A-Za-z_:][A-Za-z0-9:._-]*+(?:\s*=\s*(?:[^\s\"'=<>`]++|'[^']*'|\"[^\"]*\"))?"
_HTML = tuple(
    (re.compile(start, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for start, end in (
        (r"<(?:script|pre|style|textarea)(?:\s|>|\Z)", r"</(?:script|pre|style|textarea)>"),
        ("<!--", "-->"),
        (r"<\?", r"\?>"),
        ("<![A-Z]", ">"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (rf"</?(?:{_TAGS})(?:\s|/?>|\Z)", r"\A *\Z"),
    )
)
_ANY_TAG = re.compile(
    rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*/?|/[A-Za-z][\w-]*\s*)>\s*\Z"
)


class _Leaf(Enum):
    """The innermost open block: where a line of text would go."""

    NONE = auto()
    PARAGRAPH = auto()
    TABLE = auto()
    OPAQUE = auto()
    """Fenced code or HTML, in which nothing has a meaning but its end."""


def first_paragraph(text: str) -> tuple[str, bool]:
    """The first paragraph of TEXT that is in no list or quote, or "", and if it ended before TEXT.

    It is looked for in the first `MAX_LINES` lines.
    """
    blocks = _Blocks()
    lines = text.split("\n", MAX_LINES)
    for line in lines[:MAX_LINES]:
        blocks.take(line.expandtabs(_CODE_INDENT))
        if blocks.found:
            return blocks.found, True
    blocks.close(0)
    return blocks.found, len(lines) > MAX_LINES


@dataclass(slots=True)
class _Blocks:
    """The open blocks. A container is `_QUOTE`, or the columns by which a list item is set in."""

    containers: list[int] = field(default_factory=list)
    empty_item: bool = False
    leaf: _Leaf = _Leaf.NONE
    end: re.Pattern[str] = _NO_TEXT
    paragraph: list[str] = field(default_factory=list)
    inside: bool = False
    found: str = ""

    def take(self, line: str) -> None:
        """Take the next LINE, its tabs expanded."""
        matched, at = self._continued(line)
        whole = matched == len(self.containers)
        rest = line[at:]
        if self.leaf is _Leaf.OPAQUE and whole:
            self.leaf = _Leaf.NONE if self.end.search(rest) else _Leaf.OPAQUE
            return
        while (opened := _opened(rest, interrupts=whole and self.leaf is _Leaf.PARAGRAPH))[0]:
            if matched == MAX_CONTAINERS:
                break
            self.close(matched)
            self.containers.append(opened[1])
            self.empty_item = opened[1] != _QUOTE
            rest, matched = rest[opened[0] :], matched + 1
        self._take_text(rest, matched, whole=whole)

    def close(self, matched: int) -> None:
        """Close the leaf and all containers but the first MATCHED."""
        del self.containers[matched:]
        if self.paragraph and not self.inside and not self.found:
            self.found = _without_definitions("\n".join(self.paragraph)).strip()
        self.paragraph.clear()
        self.leaf = _Leaf.NONE

    def _continued(self, line: str) -> tuple[int, int]:
        """How many containers LINE continues, and where their content begins in it."""
        at = 0
        for number, offset in enumerate(self.containers):
            indent = _indent(line, at)
            blank = at + indent == len(line)
            if offset == _QUOTE:
                if blank or indent >= _CODE_INDENT or line[at + indent] != ">":
                    return number, at
                at += indent + 1
                at += line.startswith(" ", at)
            elif blank and not (self.empty_item and number + 1 == len(self.containers)):
                at = len(line)
            elif indent >= offset and not blank:
                at += offset
            else:
                return number, at
        return len(self.containers), at

    def _take_text(self, rest: str, matched: int, *, whole: bool) -> None:
        """Take what is left of a line that continues or opens MATCHED containers, WHOLE if all."""
        indent = _indent(rest, 0)
        text = rest[indent:]
        if not text:
            self.close(matched)
            return
        self.empty_item = False
        if indent < _CODE_INDENT and self._block(text, matched, whole=whole):
            return
        if self.leaf is _Leaf.PARAGRAPH:
            self.paragraph.append(rest)
        elif indent >= _CODE_INDENT:
            self.close(matched)
        elif self.leaf is not _Leaf.TABLE or not whole:
            self.close(matched)
            self.leaf, self.inside = _Leaf.PARAGRAPH, matched > 0
            self.paragraph.append(rest)

    def _block(self, text: str, matched: int, *, whole: bool) -> bool:
        """Whether TEXT is or begins a block other than a paragraph, which is then taken."""
        if self.leaf is _Leaf.PARAGRAPH and whole and self._is_under_paragraph(text):
            return True
        if _HEADING.match(text) or _RULE.match(text):
            self.close(matched)
            return True
        end = _opaque(text, alone=self.leaf not in (_Leaf.PARAGRAPH, _Leaf.TABLE))
        if end is None:
            return False
        self.close(matched)
        if not text.startswith("<") or not end.search(text):
            self.leaf, self.end = _Leaf.OPAQUE, end
        return True

    def _is_under_paragraph(self, text: str) -> bool:
        """Whether TEXT makes a heading of the open paragraph, or a table of its last line."""
        if _makes_table(self.paragraph[-1], text):
            del self.paragraph[-1]
            self.close(len(self.containers))
            self.leaf = _Leaf.TABLE
            return True
        if _UNDERLINE.match(text) and _without_definitions("\n".join(self.paragraph)).strip():
            self.paragraph.clear()
            self.close(len(self.containers))
            return True
        return False


def _indent(line: str, at: int) -> int:
    return len(line) - at - len(line[at:].lstrip(" "))


def _opened(rest: str, *, interrupts: bool) -> tuple[int, int]:
    """The width of the marker with which REST opens a container, or 0, and the container.

    A list item that INTERRUPTS a paragraph has to have text, and to be the first if it is numbered.
    """
    indent = _indent(rest, 0)
    text = rest[indent:]
    if indent >= _CODE_INDENT:
        return 0, 0
    if text.startswith(">"):
        return indent + (2 if text.startswith("> ") else 1), _QUOTE
    match = _ITEM.match(text)
    if match is None or _RULE.match(text):
        return 0, 0
    content = text[match.end() :]
    padding = _indent(content, 0)
    blank = padding == len(content)
    if interrupts and (blank or int(match[1] or 1) != 1):
        return 0, 0
    if blank or padding > _WIDEST_PADDING:
        padding = 1
    offset = indent + match.end() + padding
    return min(offset, len(rest)), offset


def _opaque(text: str, *, alone: bool) -> re.Pattern[str] | None:
    """What ends the fenced code or HTML that begins with TEXT; None if none does.

    A line with a tag of any name is HTML only where it stands ALONE, after no other text.
    """
    if match := _FENCE.match(text):
        fence = match[1] or match[2]
        return re.compile(rf"\A {{0,3}}{fence[0]}{{{len(fence)},}} *\Z")
    if not text.startswith("<"):
        return None
    ends = (end for start, end in _HTML if start.match(text))
    return next(ends, _NO_TEXT if alone and _ANY_TAG.match(text) else None)


def _makes_table(head: str, row: str) -> bool:
    """Whether ROW is the delimiter row below the header HEAD."""
    if "|" not in head or not _DELIMITER_ROW.match(row) or _indent(head, 0) >= _CODE_INDENT:
        return False
    return _cells(head) == _cells(row)


def _cells(row: str) -> int:
    cells = _CELL_END.split(row.strip())
    return len(cells) - (not cells[0]) - (len(cells) > 1 and not cells[-1])


def _without_definitions(text: str) -> str:
    """TEXT of a paragraph without the link definitions that it begins with."""
    at = 0
    while match := _DEFINITION.match(text, at):
        at = match.end()
    return text[at:]
