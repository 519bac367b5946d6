"""The pass over the lines of a text: a stack of the definitions whose end has not been seen.

A line that is indented no more than the innermost open definition ends it. Where bodies have
brackets, a closing line at the definition's own indentation is its last one; else the last line of
code is. Blank lines and comments end nothing. What may be a definition is on the stack, too, and
is dropped unless a body follows: prototypes, macros, calls over several lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.structure.functions import closing, function_name
from backstaff.structure.language import CONTAINERS, LONGEST, Ends, Language, Shape
from backstaff.structure.spans import Spans

STRIDE = 1000
"""Lines between two looks at the clock."""
MAX_ABOVE = 100
"""Lines above a definition that may belong to it."""
_TAB = 8
_OPENERS = ("{", "(", "[", "=>", "<", "=")
"""Ends of lines that go on."""
_ARROWS = ("=> (", "=>", "= (")
"""Ends of lines with which a body begins."""
_HEADS = "{)]>:,=?|&.-<"
"""Beginnings of lines that go on with the head of a definition."""
_NO_TYPE = "}#{[:,.+-*/|&?!<(\"'`"
_NO_METHOD = "@}{:,.+-/|&?!<(\"'`"
"""Beginnings of lines that define no function without a keyword."""
_CLOSES_NAME = re.compile(r"}\s*+(\w++)")
_END = re.compile(r"\bend\b[,;)]*+$")


@dataclass(slots=True)
class Line:
    """A line of code: `body` is without blanks around it, `tail` without a comment at its end."""

    number: int
    last: int
    """Where the last token ends that begins on it."""
    indent: int
    body: str
    tail: str


@dataclass(slots=True)
class Block:
    """A definition, or what may be one. Lines count from 1; 0 is not yet."""

    name: str
    kind: str
    line: int
    first: int
    last: int
    indent: int
    text: str
    opened: int = 0
    """The line on which its body begins."""
    unsure: bool = False
    """It defines nothing unless a body follows."""
    at_end: bool = False
    """Its body begins on a line of its own indentation only, as of a call over several lines."""
    inner: int = -1
    """The indentation of its members."""
    flat: bool = False
    """Its members stand at its own indentation, as in a namespace of C++."""
    inside: int = 0
    """The other brackets that are open there."""
    leaf: bool = False
    """Nothing is defined in it."""


def blocks(text: str, language: Language, budget: Budget) -> list[Block]:
    """The definitions of `text` in the order of their lines. Raises what `budget` does."""
    return _Pass(text, language).run(budget)


class _Pass:
    def __init__(self, text: str, language: Language) -> None:
        self.lines = text.split("\n")
        self.language = language
        self.spans = Spans(text, self.lines, language)
        self.stack = [Block("", "", 0, 0, 0, -1, "", opened=1)]  # all of the text
        self.found: list[Block] = []
        self.code = 0
        """The last line of code so far."""

    # One function, as a call a line would cost as much as all else that is done for most lines.
    def run(self, budget: Budget) -> list[Block]:  # noqa: C901, PLR0912
        lines, language, spans, stack = self.lines, self.language, self.spans, self.stack
        may_begin, beginnings, rule = spans.may_begin, spans.beginnings, language.rule
        comment_lines, is_neutral = language.comment_lines, language.neutral and language.is_neutral
        more, has_quotes = language.shape or language.group, bool(language.long_quotes)
        at, check_at, total, continued = 0, 0, len(lines), False
        while at < total:
            if at >= check_at:
                budget.check()
                check_at = at + STRIDE
            line = lines[at]
            at = number = at + 1
            if not (body := line.strip()):
                continue
            if body == language.last_line:
                break
            is_string = False
            if (has_quotes or number - 1 in beginnings) and may_begin(number - 1):
                last, is_string = spans.end(number - 1)
                at = last + 1
            indent = line.find(body[0])
            if indent and line[0] == "\t":
                indent = _indentation(line, body)
            body, top = body[:LONGEST], stack[-1]
            is_inner = indent > top.indent and top.opened
            if top.leaf and is_inner:
                self.code = at  # nothing is defined in there
                continue
            if body.startswith(comment_lines):
                body = body.rpartition("*/")[2].lstrip() if at == number else ""
                if not body or body.startswith(comment_lines):
                    continue
            if continued or (is_neutral and is_neutral(body)):
                # The lines of a macro end with a backslash.
                continued = body[-1] == "\\" and (continued or body[0] == "#")
                continue
            if is_inner and top.inner < 0 and top.opened < number:
                top.inner = indent
            # Most lines are in the midst of a body, and define nothing.
            found = rule(body)
            if found or not is_inner or (more and self._may_define(body, indent, top)):
                one = Line(number, at, indent, body, self._without_comment(body))
                if not self._belongs(one):
                    self._define(one, found)
            self.code = at if is_string or at == number else number
        for block in stack:
            block.last = max(block.last, self.code)
        return [one for one in self.found if one.name and (one.opened or not one.unsure)]

    def _may_define(self, body: str, indent: int, top: Block) -> bool:
        """Whether `body`, within `top`, may define something without a keyword."""
        language = self.language
        is_member = indent == top.inner and top.kind in CONTAINERS
        if is_member or (language.template and body.startswith("template")):
            return True
        if body[-1] == ";" or "(" not in body:
            return False
        if language.shape == Shape.BARE:
            return body[-1] in "({},"
        return language.local or body[-1] == "{" or (language.at_top and top.indent < 0)

    def _without_comment(self, body: str) -> str:
        for mark in self.language.comments:
            if mark in body:
                return body[: body.find(mark)].rstrip() or body
        return body

    def _belongs(self, line: Line) -> bool:
        """End what `line` ends. Whether it only goes on with, or closes, an open definition."""
        stack = self.stack
        goes_on = False
        while line.indent <= (top := stack[-1]).indent and not goes_on:
            if line.indent == top.indent:
                if self._goes_on(top, line):
                    goes_on = True
                    break
                if top.flat and not self._closes_flat(top, line):
                    break
                if self._closes(line):
                    top.last = line.last
                    if not top.name and (found := _CLOSES_NAME.match(line.body)):
                        top.name = found[1]  # of a typedef
                    stack.pop()
                    return True
            top.last = max(top.last, self.code)
            stack.pop()
        top = stack[-1]
        if not top.opened and (goes_on or line.indent > top.indent):
            self._open(top, line, goes_on=goes_on)
        if (
            not goes_on
            and top.inner < 0
            and (self.language.ends is not Ends.BRACKET or 0 < top.opened < line.number)
        ):
            top.inner = line.indent
        return goes_on

    def _closes(self, line: Line) -> bool:
        match self.language.ends:
            case Ends.BRACKET:
                return line.body[0] in Ends.BRACKET.value
            case Ends.WORD:
                after = line.body[3:4]
                return line.body.startswith("end") and not (after.isalnum() or after == "_")
        return False

    def _goes_on(self, top: Block, line: Line) -> bool:
        """Whether `line`, indented like `top`, belongs to it, but does not end it."""
        language, tail = self.language, line.tail
        if language.ends is not Ends.BRACKET:
            return bool(language.is_going_on(line.body))
        if top.flat:
            return False
        closes = line.body[0] in Ends.BRACKET.value
        if not top.opened and (line.body[0] in _HEADS or language.is_going_on(line.body)):
            return not (closes and language.shape is Shape.BARE) or tail.endswith(_OPENERS)
        if closes:
            return tail.endswith(_OPENERS) and len(tail) > 1
        if top.kind in language.flat and top.opened and self.code == top.opened:
            top.flat = True
        return False

    def _closes_flat(self, top: Block, line: Line) -> bool:
        if line.body[0] not in Ends.BRACKET.value:
            return False
        if top.inside:
            top.inside -= 1
            return False
        return line.tail[-1] not in ";,)"

    def _open(self, top: Block, line: Line, *, goes_on: bool) -> None:
        """See whether the body of `top` begins, or all of it ends, on `line`."""
        if self.language.ends is not Ends.BRACKET:
            return
        tail = line.tail
        opening, closed = tail.count("{"), tail.count("}")
        if opening > closed or tail.endswith(_ARROWS):
            top.opened = line.number if goes_on or not top.at_end else 0
        elif opening and opening == closed and tail.endswith(("}", "};")):
            if goes_on or self.language.shape is not Shape.BARE:
                top.opened = top.last = line.number
                self.stack.pop()
        elif tail[-1] == ";" and (")" in tail or "=" in top.text or not top.unsure):
            top.last = line.number
            self.stack.pop()

    def _define(self, line: Line, found: re.Match[str] | None) -> None:
        """Put what `line` defines, if anything, on the stack."""
        language, tail, owner = self.language, line.tail, self.stack[-1]
        if language.template and line.body.startswith("template"):
            after = line.body.partition("<")[2]
            line.body = after[max(0, closing(after, "<>")) :].lstrip()
            found = language.rule(line.body)
        is_flat = owner.flat and line.indent == owner.indent
        is_member = owner.kind in CONTAINERS and (is_flat or line.indent == owner.inner)
        block = self._by_keyword(line, found) if found else None
        if block is None and "(" in line.body and language.shape:
            block = self._by_shape(line, owner, is_member=is_member)
        if (
            block is None
            and is_member
            and not owner.name
            and (found := language.is_group_member(line.body))
        ):
            block = Block(found[1], owner.kind, line.number, 0, line.last, line.indent, tail)
        if (
            block is None
            and language.anonymous
            and tail[-1] == "{"
            and ("new " in tail or owner.kind == "enum")
        ):
            block = Block("", "class", line.number, 0, line.last, line.indent, tail)
        if block is None:
            owner.inside += is_flat and tail[-1] == "{"
            return
        block.first = self._first_line(line)
        block.leaf = language.leaves and block.kind not in CONTAINERS | language.need_body
        self.found.append(block)
        opening, closed = tail.count("{"), tail.count("}")
        is_bracket = language.ends is Ends.BRACKET
        if (
            not is_bracket
            or opening > closed
            or tail.endswith(_ARROWS)
            or (tail[-1] == "(" and (language.here_document or not block.name))
        ):
            block.opened = line.number
        if is_bracket and opening == closed and (tail[-1] == ";" or (opening and tail[-1] in "},")):
            block.opened = line.number
        elif language.ends is not Ends.WORD or not _END.search(tail):
            self.stack.append(block)

    def _by_keyword(self, line: Line, found: re.Match[str]) -> Block | None:
        if not found.lastindex:
            return None
        name, kind = found[found.lastindex], found[found.lastindex - 1] or "function"
        unsure = kind in self.language.need_body
        if unsure and line.tail[-1] == ";" and "}" not in line.tail:
            return None
        name = name if name != "(" else ""
        return Block(
            name.strip(), kind, line.number, 0, line.last, line.indent, line.tail, unsure=unsure
        )

    def _by_shape(self, line: Line, owner: Block, *, is_member: bool) -> Block | None:
        language, body, tail = self.language, line.body, line.tail
        at_end = False
        if language.shape is Shape.BARE:
            if body[0] in _NO_METHOD:
                return None
            if not is_member:
                # Calls look the same, so only those that may be followed by a body are looked at.
                at_end = tail[-1] == "("
                closes = tail[-1] == "{" or tail.endswith(("}", "},"))
                if not at_end and not (
                    closes and ") {" in tail and tail.count("(") == tail.count(")")
                ):
                    return None
            name, typed, unsure = "", False, not is_member
        else:
            at_top = language.at_top and (owner.indent < 0 or owner.flat)
            inside = language.local and owner.indent >= 0 and owner.opened
            if body[0] in _NO_TYPE or not (is_member or ((at_top or inside) and tail[-1] != ";")):
                return None
            if language.at_top and tail[-1] == ";" and "}" not in tail:
                return None
            typed = language.at_top and (
                owner.flat or not is_member or self._first_line(line) < line.number
            )
            unsure = language.at_top or not is_member
        about = owner.name.partition("<")[0].rpartition("::")[2]
        name = function_name(body, language, about, member=is_member, typed=typed)
        if not name:
            return None
        kind = "method" if is_member or language.shape is Shape.BARE else "function"
        return Block(
            name, kind, line.number, 0, line.last, line.indent, tail, unsure=unsure, at_end=at_end
        )

    def _first_line(self, line: Line) -> int:
        """Return the first line above `line` that belongs to it: comment, decorator, attribute."""
        language = self.language
        first = at = line.number
        least = max(0, at - MAX_ABOVE)
        within = False  # the last lines of a decorator, whose first has not been seen
        while at > least + 1 and (body := self.lines[at - 2].strip()):
            at -= 1
            indent = _indentation(self.lines[at - 1], body)
            if indent >= line.indent and body.startswith(language.comment_lines):
                if not within:
                    first = at
            elif indent == line.indent and language.is_above(body):
                first, within = at, False
            elif (indent == line.indent and body[0] in ")]}") or (
                indent > line.indent and (within or body.endswith((")", "]")))
            ):
                within = True
            else:
                break
        return first


def _indentation(line: str, body: str) -> int:
    """The column of `body` in `line`."""
    indent = line.find(body[0])
    if indent and "\t" in line[:indent]:
        return len(line[: min(indent, LONGEST)].expandtabs(_TAB))
    return indent


def nested(found: Sequence[Block]) -> list[tuple[Block, int, int]]:
    """Each of `found` with its depth and the number of the one around it, or -1."""
    result: list[tuple[Block, int, int]] = []
    around: list[int] = []
    for number, block in enumerate(found):
        while around and found[around[-1]].last < block.line:
            around.pop()
        result.append((block, len(around), around[-1] if around else -1))
        around.append(number)
    return result
