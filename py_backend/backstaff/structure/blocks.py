"""One pass over the lines of a text finds its definitions. A stack holds the open ones.

A line that is indented no more than the innermost open definition ends it. Where bodies have
brackets, the last line is the closing one at the definition's own indentation; elsewhere it is the
last line of code. Blank lines and comments end nothing. A line that only may define something,
such as a prototype or a macro, is on the stack as well, and is dropped unless a body follows.
"""

import re
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.structure.functions import function_name
from backstaff.structure.language import CONTAINERS, LONGEST, Language, matcher
from backstaff.structure.spans import Spans

STRIDE = 1000
"""Number of lines between two looks at the clock."""
MAX_ABOVE = 100
"""Maximum number of lines above a definition that may belong to it."""
_TAB = 8
_CLOSERS = "})]"
_OPENERS = ("{", "(", "[", "=>", "<", "=", "&", "|", ":", " is")
"""Ends of lines that go on."""
_HEADS = "{)]>:,=?|&.-<"
"""Beginnings of lines that go on with the head of a definition."""
_NO_TYPE = "}#{[:,.+-*/|&?!<(\"'`"
_NO_METHOD = "@}{:,.+-/|&?!<(\"'`"
"""Beginnings of lines that define no function without a keyword."""
_ARROW = re.compile(
    r"[)}\]>]++\s*+(?:(?:(?::|&(?!&)|\|(?!\|))(?:[^=]|= ?\{})*+)?=>"
    r"|=\s*+(?:async\s*+)?(?:function\b|(?:[(<].*|[\w$]++\s*+)=>))"
    r"|\)(?::[^=]*)? ?\{$"
)
"""The end of parameters or of a type over lines, after which a function begins."""
_BODY = re.compile(r"\)(?::[^=]*)? ?\{")


@dataclass(slots=True)
class Block:
    """A definition, or a line that may be one. Lines count from 1; 0 means not yet."""

    name: str
    kind: str
    line: int
    last: int
    indent: int
    text: str
    first: int = 0
    opened: int = 0
    """The line on which its body begins."""
    unsure: bool = False
    """It defines nothing unless a body follows."""
    inner: int = -1
    """The indentation of its members."""
    flat: bool = False
    """Its members stand at its own indentation, as in a namespace of C++."""
    inside: int = 0
    """The number of other brackets that are open there."""


@dataclass(slots=True)
class Line:
    """A line of code: `body` has no blanks around it, and `tail` no comment at its end either."""

    number: int
    last: int
    """The line on which the last token ends that begins here."""
    indent: int
    body: str
    tail: str

    def block(self, name: str, kind: str, *, unsure: bool = False) -> Block:
        """Return the definition that begins on this line."""
        return Block(name, kind, self.number, self.last, self.indent, self.tail, unsure=unsure)


def blocks(text: str, language: Language, budget: Budget) -> list[Block]:
    """Return the definitions of `text` in the order of their lines. Raises as `budget` does."""
    return _Pass(text, language).run(budget)


class _Pass:
    def __init__(self, text: str, language: Language) -> None:
        self.lines = text.split("\n")
        self.language = language
        self.spans = Spans(text, self.lines, language)
        self.stack = [Block("", "", 0, 0, -1, "", opened=1)]  # all of the text
        self.found: list[Block] = []
        self.code = 0
        """The last line of code so far."""

    # One function, because a call for each line would cost as much as the rest for most lines.
    def run(self, budget: Budget) -> list[Block]:  # noqa: C901, PLR0912
        lines, language, spans, stack = self.lines, self.language, self.spans, self.stack
        comment_lines, comments, rule = language.comment_lines, language.comments, language.rule
        marks_first = {mark[0] for mark in comment_lines}
        beginnings, quotes = spans.beginnings, [*language.long_quotes]  # at most two
        strings = (*language.all_long, "<<") if language.ends != "indent" else ()
        more = language.bare or language.typed or language.group
        at, total, continued = 0, len(lines), False
        for number, line in enumerate(lines, 1):
            if number % STRIDE == 1:
                budget.check()
            if number <= at or not (body := line.strip()):
                continue
            at = number
            # Few lines are looked at token by token.
            is_odd = quotes and (line.count(quotes[0]) | line.count(quotes[-1])) & 1
            if is_odd or number - 1 in beginnings:
                at = spans.end(number - 1) + 1
            indent = line.find(body[0])
            if indent and line[0] == "\t":
                indent = len(line[:indent][:LONGEST].expandtabs(_TAB))
            if body[-1] == "=" and language.bare and at < total and "type " not in body:
                body = f"{body} {lines[at].strip()}"  # a function may begin there
            body, top = body[:LONGEST], stack[-1]
            if body[0] in marks_first and f"{body} ".startswith(comment_lines):
                body = body.rpartition("*/")[2].lstrip() if at == number else ""
                if not body or f"{body} ".startswith(comment_lines):
                    continue
            if at > number and body.startswith(strings):
                self.code = at  # a string at the margin ends nothing
                continue
            found = rule(body)
            if continued or (found and not found.lastindex):  # a neutral line
                # The lines of a macro end with a backslash.
                continued = body[-1] == "\\" and (continued or body[0] == "#")
                continue
            is_inner = indent > top.indent and top.opened
            if is_inner and top.inner < 0 and top.opened < number:
                top.inner = indent
            # Most lines are in the midst of a body, and define nothing.
            is_likely = more and ("(" in body or top.kind in CONTAINERS)
            if found or not is_inner or (is_likely and self._may_define(body, indent, top)):
                marks = [mark for mark in comments if mark in body]
                tail = body[: body.find(marks[0])].rstrip() or body if marks else body
                one = Line(number, at, indent, body, tail)
                if not self._belongs(one):
                    self._define(one, found)
            self.code = at
        for block in stack:
            block.last = max(block.last, self.code)
        return [one for one in self.found if one.name and (one.opened or not one.unsure)]

    def _may_define(self, body: str, indent: int, top: Block) -> bool:
        """Return True if `body`, within `top`, may define something without a keyword."""
        language = self.language
        is_member = indent == top.inner and top.kind in CONTAINERS
        if is_member or body[-1] == ";" or "(" not in body:
            return is_member
        if language.bare:
            return body[-1] in "({},"
        return language.local or body[-1] == "{" or (language.at_top and top.indent < 0)

    def _belongs(self, line: Line) -> bool:
        """End the definitions that `line` ends. Return True if it only closes or continues one."""
        stack, body, ends = self.stack, line.body, self.language.ends
        closes = body[0] in _CLOSERS if ends == "bracket" else False
        if ends == "word":
            closes = body.startswith("end") and not (body[3:4].isalnum() or body[3:4] == "_")
        goes_on = False
        while line.indent <= (top := stack[-1]).indent:
            if line.indent == top.indent:
                top.unsure = top.unsure and not _ARROW.match(body)
                if goes_on := self._goes_on(top, line):
                    break
                if top.flat and (not closes or top.inside or line.tail[-1] in ";,)"):
                    top.inside -= closes and top.inside > 0
                    break
                if closes:
                    top.last = line.last
                    if not top.name and (found := matcher(r"}\s*+(\w++)")(body)):
                        top.name = found[1]  # of a typedef
                    stack.pop()
                    return True
            top.last = max(top.last, self.code)
            stack.pop()
        if not top.opened:
            self._open(top, line, goes_on=goes_on)
        if not goes_on and top.inner < 0 and (ends != "bracket" or 0 < top.opened < line.number):
            top.inner = line.indent
        return goes_on

    def _goes_on(self, top: Block, line: Line) -> bool:
        """Return True if `line`, indented like `top`, belongs to it, but does not end it."""
        language, tail = self.language, line.tail
        goes_on = bool(matcher(language.goes_on)(line.body))
        if language.ends != "bracket" or top.flat:
            return goes_on and not top.flat
        closes = line.body[0] in _CLOSERS
        if closes and top.kind == "type":
            return tail[-1] != ";"  # `? A : B` may follow
        is_open = top.opened and (line.body[0] != "{" or self.code > top.opened)
        if not is_open and (line.body[0] in _HEADS or goes_on):
            return not (closes and language.bare) or tail.endswith(_OPENERS)
        if closes:
            return tail.endswith(_OPENERS) and len(tail) > 1
        if language.braced and top.opened and not language.rule(line.body):
            return True
        if top.kind in language.flat and self.code == top.opened:
            top.flat = True
        return False

    def _open(self, top: Block, line: Line, *, goes_on: bool) -> None:
        """See whether the body of `top` begins, or all of it ends, on `line`."""
        tail, bare = line.tail, self.language.bare
        is_within = line.indent > top.indent and top.text[-1] in "(<"
        if bare and (
            is_within or (top.unsure and (top.kind == "function" or line.number > top.line))
        ):
            return  # a parameter, a type
        opening, closed = tail.count("{"), tail.count("}")
        ends = ("}", ";", ",") if top.line == line.number else ("}", "};")
        if opening > closed or tail.endswith(("{", "=> (", "=>")):
            top.opened = line.number
        elif opening and opening == closed and tail.endswith(ends):
            if goes_on or not bare:
                top.opened = top.last = line.number
                if top.kind != "type" or tail[-1] == ";":
                    self.stack.pop()
        elif tail[-1] == ";":
            top.last = line.number
            self.stack.pop()

    def _define(self, line: Line, found: re.Match[str] | None) -> None:
        """Put the definition that `line` begins, if any, on the stack."""
        language, tail, owner = self.language, line.tail, self.stack[-1]
        is_flat = owner.flat and line.indent == owner.indent
        is_member = owner.kind in CONTAINERS and (is_flat or line.indent == owner.inner)
        block = found and self._by_rule(line, found)
        if block is None and (language.bare or language.typed):
            block = self._by_shape(line, owner, is_member=is_member)
        if block is None and is_member and not owner.name:
            found = matcher(language.group)(line.body)
            block = line.block(found[1], owner.kind) if found else None
        is_body = tail[-1] == "{" and ("new " in tail or owner.kind == "enum")
        if block is None and language.anonymous and is_body:
            block = line.block("", "class")
        if block is None:
            owner.inside += is_flat and tail[-1] == "{"
            return
        block.first = self._first_line(line)
        self.found.append(block)
        self.stack.append(block)
        if language.ends != "bracket" or (
            tail[-1] == "(" and (language.here_document or not block.name)
        ):
            block.opened = line.number
        else:
            self._open(block, line, goes_on=True)

    def _by_rule(self, line: Line, found: re.Match[str]) -> Block | None:
        language, tail = self.language, line.tail
        at = found.lastindex or 0
        kind, name = found.group(at - 1, at)
        # `struct s *` may be a type.
        unsure = language.at_top and kind in ("struct", "union", "enum", "class")
        if language.bare and not kind and tail[-1] != ",":
            # Parameters or a type may follow.
            unsure = not any(sign in tail for sign in ("=>", " function", "= <"))
        return line.block("" if name == "(" else name.strip(), kind or "function", unsure=unsure)

    def _by_shape(self, line: Line, owner: Block, *, is_member: bool) -> Block | None:
        language, body, tail = self.language, line.body, line.tail
        typed, unsure = False, not is_member
        if "(" not in body and not (language.bare and tail[-1] == "<"):
            return None
        if language.bare:
            # Calls look the same, so outside classes only a line with a body is looked at.
            has_body = _BODY.search(tail) and tail.count("(") == tail.count(")")
            if body[0] in _NO_METHOD or not (is_member or has_body or tail[-1] == "("):
                return None
        else:
            at_top = language.at_top and (owner.indent < 0 or owner.flat)
            inside = language.local and owner.indent >= 0 and owner.opened
            if body[0] in _NO_TYPE or not (is_member or ((at_top or inside) and tail[-1] != ";")):
                return None
            if language.at_top and tail[-1] == ";" and "}" not in tail:
                return None
            unsure = language.at_top or not is_member
            typed = language.at_top and (
                owner.flat or not is_member or self._first_line(line) < line.number
            )
        about = owner.name.partition("<")[0].rpartition("::")[2]
        name = function_name(body, language, about, member=is_member, typed=typed)
        kind = "method" if is_member or language.bare else "function"
        return line.block(name, kind, unsure=unsure) if name else None

    def _first_line(self, line: Line) -> int:
        """Return the first line above `line` that belongs to it: comment, decorator, attribute."""
        language = self.language
        first = line.number
        within = False  # the last lines of a decorator, whose first has not been seen
        for at in range(line.number - 1, max(0, line.number - MAX_ABOVE), -1):
            above = self.lines[at - 1]
            if not (body := above.strip()):
                break
            indent = len(above[: above.find(body[0])][:LONGEST].expandtabs(_TAB))
            if indent >= line.indent and f"{body} ".startswith(language.comment_lines):
                first = first if within else at
            elif indent == line.indent and matcher(language.above)(body):
                first, within = at, False
            elif (indent == line.indent and body[0] in _CLOSERS and body[-1] != ";") or (
                indent > line.indent and (within or body.endswith((")", "]")))
            ):
                within = True
            else:
                break
        return first
