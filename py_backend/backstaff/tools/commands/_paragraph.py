"""The first paragraph of a Markdown text, which describes a command without a `description`.

`# Title`, `- item` and the text after them give only the text. The rules are CommonMark's for
blocks, and GitHub's for tables. Links and emphasis stay as written.
"""

import re
from dataclasses import dataclass, field

MAX_LINES = 2_000
MAX_DEPTH = 32  # deeper quotes and lists are text, so that a line of 10,000 `>` costs little
_CODE_INDENT = 4

_HEADING_OR_RULE = re.compile(r"#{1,6}(?: |\Z)|(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})\Z")
_UNDERLINE = re.compile(r"(?:=+|-+) *\Z")
_QUOTE_OR_ITEM = re.compile(r"> ?|(?:[-+*]|([0-9]{1,9})[.)])(?: {1,4}(?=[^ ])| |\Z)")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_DELIMITER_ROW = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*+\|? *\Z")
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
# How HTML starts, and the line that ends it. The last is a line with one tag of any name.
_HTML = [
    (re.compile(start, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for start, end in (
        (r"<(?:script|pre|style|textarea)(?:\s|>|\Z)", r"</(?:script|pre|style|textarea)>"),
        ("<!--", "-->"),
        (r"<\?", r"\?>"),
        ("<![A-Z]", ">"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (rf"</?(?:{_TAGS})(?:\s|/?>|\Z)", r"\A *\Z"),
        (r"</?[A-Z][A-Z0-9-]*+(?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+|/)?>\s*\Z", r"\A *\Z"),
    )
]


def first_paragraph(text: str) -> str:
    """Return the first paragraph of `text` outside lists and quotes, or "".

    Only the first `MAX_LINES` lines are read.
    """
    blocks = _Blocks()
    for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
        blocks.take(line.expandtabs(_CODE_INDENT))
        if blocks.found:
            return blocks.found
    blocks.close()
    return blocks.found


@dataclass(slots=True)
class _Blocks:
    """The blocks of a text, or of a quote or list item in it, where the same rules hold.

    At most one block is open: a `paragraph` (its lines), a `table`, a `container` (a quote or list
    item), or fenced code or HTML until a line matches `end`. The content of a list item is set in
    by `offset` columns. The `offset` of a quote is 0.
    """

    depth: int = 0
    offset: int = 0
    empty: bool = True
    paragraph: list[str] = field(default_factory=list)
    table: bool = False
    end: re.Pattern[str] | None = None
    container: "_Blocks | None" = None
    found: str = ""

    def take(self, line: str) -> None:
        """Take the next `line`, its tabs expanded."""
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if self.container and (inside := self.container.content(text, indent)) is not None:
            self.container.take(inside)
        elif self.end:
            self.end = None if self.end.search(line) else self.end
        elif not text:
            self.close()
        else:
            self.empty = False
            # A line of text without a marker continues the paragraph in a quote or list item.
            lazy = self.container is not None and self.container.in_paragraph()
            if indent < _CODE_INDENT and self._starts_block(text, indent, lazy=lazy):
                return
            if self.paragraph:
                self.paragraph.append(line)
            elif not lazy and (indent >= _CODE_INDENT or not self.table):
                self.close()
                self.paragraph += [line] if indent < _CODE_INDENT else []

    def content(self, text: str, indent: int) -> str | None:
        """Return the content of `text` behind `indent`, or None if it is outside the container."""
        if self.offset == 0:
            quoted = text.startswith(">") and indent < _CODE_INDENT
            return text[1:].removeprefix(" ") if quoted else None
        if not text:
            return None if self.empty else ""  # an item can begin with one blank line, not with two
        return " " * (indent - self.offset) + text if indent >= self.offset else None

    def in_paragraph(self) -> bool:
        """Whether a paragraph is open here, at any depth."""
        return bool(self.paragraph or (self.container and self.container.in_paragraph()))

    def close(self) -> None:
        """Close the open block. The first closed paragraph is the result."""
        self.found = self.found or _without_definitions(self.paragraph)
        self.paragraph.clear()
        self.table, self.end, self.container = False, None, None

    def _starts_block(self, text: str, indent: int, *, lazy: bool) -> bool:
        """Take `text` if it begins a block, or makes the open paragraph a heading or a table."""
        head = self.paragraph[-1] if self.paragraph else ""
        if "|" in head and _DELIMITER_ROW.match(text) and _bars(head) == _bars(text):
            self.paragraph.pop()
            self.close()
            self.table = True
        elif self.paragraph and _UNDERLINE.match(text) and _without_definitions(self.paragraph):
            self.paragraph.clear()
        elif _HEADING_OR_RULE.match(text):
            self.close()
        elif (marker := _QUOTE_OR_ITEM.match(text)) and self.depth < MAX_DEPTH:
            content = text[marker.end() :]
            # A list item within a paragraph must have text, and the number 1 if it is numbered.
            quote = text.startswith(">")
            if self.paragraph and not quote and (not content.strip() or int(marker[1] or 1) != 1):
                return False
            self.close()
            offset = indent + max(len(marker[0]), len(marker[0].rstrip()) + 1)
            self.container = _Blocks(self.depth + 1, 0 if quote else offset)
            self.container.take(content)
        elif fence := _FENCE.match(text):
            mark = fence[1] or fence[2]
            self.close()
            self.end = re.compile(rf"\A {{0,3}}{mark[0]}{{{len(mark)},}} *\Z")
        elif text.startswith("<"):
            # Within a paragraph or table, a tag of any name is text.
            known = _HTML[:-1] if self.paragraph or self.table or lazy else _HTML
            end = next((end for start, end in known if start.match(text)), None)
            if end is None:
                return False
            self.close()
            self.end = None if end.search(text) else end
        else:
            return False
        return True


def _bars(row: str) -> int:
    """Count the bars between the cells in `row` of a table."""
    return row.strip().replace("\\|", "").removeprefix("|").removesuffix("|").count("|")


def _without_definitions(paragraph: list[str]) -> str:
    """Return the text of `paragraph` without the link definitions at its start: `[a]: /url`."""
    text, at = "\n".join(paragraph), 0
    while match := _DEFINITION.match(text, at):
        at = match.end()
    return text[at:].strip()
