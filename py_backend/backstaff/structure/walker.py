"""One walk over the lines of a text finds its definitions. A stack holds the open ones.

`TABLE` has the effect of a line, by its relation to the innermost open definition and by how far
that one is. Blank lines and comments have none. A line that only may define something, such as a
prototype or a macro, is on the stack as well, and is dropped unless a body follows.
"""

import re
from dataclasses import dataclass
from enum import IntEnum, auto

from backstaff.budget import Budget
from backstaff.structure.language import CONTAINERS, LONGEST, Ends, Language, Where, matcher
from backstaff.structure.shapes import bare_name, typed_name
from backstaff.structure.spans import Spans

STRIDE = 1000
"""Number of lines between two looks at the clock."""
MAX_ABOVE = 100
"""Maximum number of lines above a definition that may belong to it."""
_TAB, _CLOSERS = 8, "})]"
_OPENERS = ("{", "(", "[", "=>", "<", "=", "&", "|", ":", " is")
"""Ends of lines that go on."""
_HEADS, _NO_TYPE, _NO_METHOD = "{)]>:,=?|&.-<", "}#{[:,.+-*/|&?!\"'`", "@}{:,.+-/|&?!<(\"'`"
"""Beginnings of lines that go on with a head; and that define no function without a keyword, typed
or bare."""
_ARROW = re.compile(
    r"[)}\]>]++\s*+(?:(?:(?::|&(?!&)|\|(?!\|))(?:[^=]|= ?\{})*+)?=>"
    r"|=\s*+(?:async\s*+)?(?:function\b|(?:[(<].*|[\w$]++\s*+)=>))"
    r"|\)(?::[^=]*)? ?\{$"
)
"""The end of parameters or of a type over lines, after which a function begins."""
_BODY = re.compile(r"\)(?::[^=]*)? ?\{")


class Is(IntEnum):
    """The relation of a line to the innermost open definition."""

    INNER = auto()  # it is indented more
    ON = auto()  # as deep, it goes on with head or body: `{`, `) {`, `} else {`, `rescue`
    CLOSING = auto()  # as deep, it has the bracket or the word that ends the definition
    NEXT = auto()  # as deep, it is anything else
    OUTER = auto()  # it is indented less


class Now(IntEnum):
    """How far an open definition is."""

    HEAD = auto()  # its body has not begun
    BODY = auto()
    FLAT = auto()  # the members in its body are indented as it is, as in a namespace of C++


class Do(IntEnum):
    """The effect of a line."""

    LOOK = auto()  # see whether the body begins on it, or all of the definition ends
    DEFINE = auto()  # see whether it begins a definition
    END = auto()  # the definition ends with it
    LEAVE = auto()  # the definition ended with the last line of code above: look at the next one


# fmt: off
_EFFECTS = {
    #           INNER                ON           CLOSING    NEXT          OUTER
    Now.HEAD: ((Do.LOOK, Do.DEFINE), (Do.LOOK,), (Do.END,), (Do.LEAVE,), (Do.LEAVE,)),
    Now.BODY: ((Do.DEFINE,),         (),         (Do.END,), (Do.LEAVE,), (Do.LEAVE,)),
    Now.FLAT: ((Do.DEFINE,),         (),         (Do.END,), (Do.DEFINE,), (Do.LEAVE,)),
}
# fmt: on
TABLE = {(now, it): does for now, row in _EFFECTS.items() for it, does in zip(Is, row, strict=True)}
"""The effects of a line: those of its relation to the innermost definition, and of that one."""


@dataclass(slots=True)
class Block:
    """A definition, or a line that may be one. Lines count from 1; 0 means not yet.

    Its body begins on the line `opened`, ends with the bracket `closer` where that is a brace, and
    has members at the indentation `inner`. An `unsure` one defines nothing unless it has a body. In
    a `flat` one other brackets may be open; `inside` counts them. A `loose` one does not indent its
    body.
    """

    name: str
    kind: str
    line: int
    last: int
    indent: int
    text: str
    first: int = 0
    opened: int = 0
    closer: str = ""
    unsure: bool = False
    inner: int = -1
    flat: bool = False
    inside: int = 0
    loose: bool = False

    @property
    def now(self) -> Now:
        """How far it is."""
        return Now.FLAT if self.flat else Now.BODY if self.opened else Now.HEAD


@dataclass(slots=True)
class Line:
    """A line of code: `body` has no blanks around it, and `tail` no comment at its end either.

    The last token that begins on it ends on the line `last`. `start` is the place in `body` behind
    attributes and modifiers, and `found` the match of a rule there.
    """

    number: int
    last: int
    indent: int
    body: str
    tail: str
    start: int
    found: re.Match[str] | None

    def block(self, name: str, kind: str, *, unsure: bool = False) -> Block:
        """Return the definition that begins on this line."""
        return Block(name, kind, self.number, self.last, self.indent, self.tail, unsure=unsure)


class Walk:
    """A walk over `text`."""

    def __init__(self, text: str, language: Language) -> None:
        self.lines = text.split("\n")
        self.language = language
        self.spans = Spans(text, self.lines, language)
        self.stack = [Block("", "", 0, 0, -1, "", opened=1)]  # all of the text
        self.found: list[Block] = []
        self.code = 0
        """The last line of code so far."""
        self.comments: list[tuple[int, int]] = []
        """The first and the last line of each run of comments and of texts such as docstrings."""

    # One function, because a call for each line would cost as much as the rest for most lines.
    def run(self, budget: Budget) -> list[Block]:  # noqa: C901, PLR0912, PLR0915
        """Return the definitions in the order of their lines. Raises as `budget` does."""
        lines, language, stack, spans = self.lines, self.language, self.stack, self.spans
        marks, comment, words = language.comment_marks, language.comment, language.line_words
        has_words, likely = bool(words), spans.having(words)
        is_local = language.bare or Where.LOCAL in language.typed
        plain_comments = language.plain_comments
        before, rule, ends = language.before, language.rule, language.ends
        beginnings, quotes = spans.beginnings, [one.hint for one in language.long_quotes]
        has_two = len(quotes) > 1
        texts = tuple(one.hint for one in language.long if one.hint == one.end)
        text_marks = {one[0] for one in texts}
        strings = (*(one.hint for one in language.all_long), "<<")
        strings = strings if ends is not Ends.INDENT else ()
        has_shapes = language.bare or language.typed or language.group
        at, total, in_macro = 0, len(lines), False
        for number, line in enumerate(lines, 1):
            if number % STRIDE == 1:
                budget.check()
            if number <= at or not (body := line.strip()):
                continue
            at = number
            if in_macro:  # its lines end with a backslash
                in_macro = body[-1] == "\\"
                continue
            # Few lines are looked at token by token.
            if number - 1 in beginnings or (
                quotes and (line.count(quotes[0]) | (has_two and line.count(quotes[1]))) & 1
            ):
                at = spans.end(number - 1) + 1
            indent = line.find(body[0])
            if indent and line[0] == "\t":
                indent = len(line[:indent][:LONGEST].expandtabs(_TAB))
            if body[0] in marks:
                if at == number and body.startswith(plain_comments):
                    self._comment(number, at)
                    continue
                if comment(body + " "):
                    body = body.rpartition("*/")[2].lstrip() if at == number else ""
                    if not body or comment(body + " "):
                        self._comment(number, at)
                        continue
            elif body[0] in text_marks and body.startswith(texts):
                self._comment(number, at)
            top = stack[-1]
            is_inner = indent > top.indent and top.opened
            # Most lines stand in the midst of a function, and define nothing.
            if is_inner and top.indent >= 0 and top.kind not in CONTAINERS:
                if has_words and number - 1 not in likely:
                    self.code = at
                    continue
                if is_local and not ("(" in line or "{" in line or "=" in line or "type " in line):
                    self.code = at
                    continue
            if at > number and body.startswith(strings):
                self.code = at  # a string at the margin ends nothing
                continue
            if body[-1] == "=" and language.bare and at < total and "type " not in body:
                body = f"{body} {lines[at].strip()}"  # a function may begin there
            body = tail = body[:LONGEST]
            for mark, pattern in language.line_comments:
                if mark in body and (cut := pattern.search(body)) and cut.start():
                    tail = body[: cut.start()].rstrip() or body
            start = begun.end() if before and (begun := before(body)) else 0
            found = rule(tail, start)
            if found and not found.lastindex:  # a neutral line
                in_macro = body[0] == "#" and body[-1] == "\\"
                continue
            if is_inner and top.inner < 0 and top.opened < number:
                top.inner = indent
            is_likely = has_shapes and self._may_define(body, indent, top)
            if found or not is_inner or is_likely:
                self._take(Line(number, at, indent, body, tail, start, found))
            self.code = at
        for block in stack:
            block.last = max(block.last, self.code)
        return [one for one in self.found if one.name and (one.opened or not one.unsure)]

    def _comment(self, first: int, last: int) -> None:
        if self.comments and self.comments[-1][1] >= first - 1:
            first = self.comments.pop()[0]
        self.comments.append((first, last))

    def _may_define(self, body: str, indent: int, top: Block) -> bool:
        """Return True if `body`, within `top`, may define something without a keyword."""
        language = self.language
        is_member = indent == top.inner and top.kind in CONTAINERS
        is_local = Where.LOCAL in language.typed
        if is_member or "(" not in body or (body[-1] == ";" and not (is_local and ") =>" in body)):
            return is_member
        if language.bare:
            return body[-1] in "({},"
        is_top = Where.TOP in language.typed and top.indent < 0
        return is_local or body[-1] == "{" or is_top

    def _take(self, line: Line) -> None:
        """Let `line` have the effects in `TABLE`."""
        stack = self.stack
        while True:
            top = stack[-1]
            relation = self._relation(line, top)
            steps = TABLE[top.now, relation]
            if Do.LEAVE not in steps:
                break
            top.last = max(top.last, self.code)
            stack.pop()
        if Do.END in steps:
            top.last = line.last
            if not top.name and (found := matcher(r"}\s*+(\w++)")(line.body)):
                top.name = found[1]  # of a typedef
            stack.pop()
        if Do.LOOK in steps:
            self._look(top, line, is_on=relation is Is.ON)
        if relation is Is.INNER and top.inner < 0 and 0 < top.opened < line.number:
            top.inner = line.indent
        if Do.DEFINE in steps and (top is stack[-1] or Do.LOOK not in steps):
            self._define(line, stack[-1])

    # One return a case, in the order in which they are known.
    def _relation(self, line: Line, top: Block) -> Is:  # noqa: PLR0911
        """Return the relation of `line` to `top`; find out whether that is a flat one."""
        language, body, tail = self.language, line.body, line.tail
        if line.indent != top.indent:
            return Is.INNER if line.indent > top.indent else Is.OUTER
        goes_on = bool(matcher(language.goes_on)(body))
        if language.ends is not Ends.BRACKET:
            is_end = language.ends is Ends.WORD and re.match(r"end(?!\w)", body)
            return Is.ON if goes_on else Is.CLOSING if is_end else Is.NEXT
        closes = body[0] in _CLOSERS
        if top.flat:
            ends = closes and not top.inside and tail[-1] not in ";,)"
            top.inside -= closes and top.inside > 0
            return Is.CLOSING if ends else Is.NEXT
        if closes and top.kind == "type":
            return Is.CLOSING if tail[-1] == ";" else Is.ON  # `? A : B` may follow
        has_body = top.opened and (body[0] != "{" or self.code > top.opened)
        if not has_body and (body[0] in _HEADS or goes_on):
            is_over = closes and language.bare and not tail.endswith(_OPENERS)
            return Is.CLOSING if is_over else Is.ON
        if closes:
            goes_on = (len(tail) > 1 and tail.endswith(_OPENERS)) or (
                # A bracket of an argument is not that of a body with braces.
                bool(top.closer) and body[0] != top.closer
            )
            return Is.ON if goes_on else Is.CLOSING
        is_open = top.closer and self.code == top.opened and top.kind not in CONTAINERS
        if is_open and not language.bare:
            top.loose = True
        if top.loose or (language.braced and top.opened and not line.found):
            return Is.ON
        top.flat = top.kind in language.flat and self.code == top.opened > 0
        return Is.NEXT

    def _look(self, top: Block, line: Line, *, is_on: bool) -> None:
        """See whether the body of `top` begins, or all of it ends, on `line`."""
        tail, language = line.tail, self.language
        if is_on and top.unsure and line.indent == top.indent and _ARROW.match(line.body):
            top.unsure = False
        is_parameter = line.indent > top.indent and top.text[-1] in "(<"
        if language.bare and (
            is_parameter or (top.unsure and (top.kind == "function" or line.number > top.line))
        ):
            return  # or a type
        opening, closed = tail.count("{"), tail.count("}")
        ends = ("}", ";", ",") if top.line == line.number else ("}", "};")
        if opening > closed or tail.endswith(("{", "=> (", "=>")):
            top.opened = line.number
            top.closer = "}" if tail[-1] == "{" else ""
        elif is_parameter and tail.count(")") <= tail.count("("):
            return  # `{}` may be the value of a parameter
        elif opening and opening == closed and tail.endswith(ends):
            if is_on or not language.bare:
                top.opened = top.last = line.number
                if top.kind != "type" or tail[-1] == ";":
                    self.stack.pop()
        elif tail[-1] == ";":
            # In old C, the types of parameters stand behind them: `int f(a) int a; {`.
            is_old = language.of_c and top.unsure and top.text[-1] == ")" and line.number > top.line
            if not (is_old and matcher(language.goes_on)(line.body)):
                top.last = line.number
                self.stack.pop()

    def _define(self, line: Line, owner: Block) -> None:
        """Put the definition that `line` begins, if any, on the stack."""
        language, tail = self.language, line.tail
        is_flat = owner.flat and line.indent == owner.indent
        is_member = owner.kind in CONTAINERS and (is_flat or line.indent == owner.inner)
        block = self._by_rule(line, line.found) if line.found else None
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
        block.first = self._first_line(line, owner)
        self.found.append(block)
        self.stack.append(block)
        if language.ends is not Ends.BRACKET or (
            tail[-1] == "(" and (language.here_document or not block.name)
        ):
            block.opened = line.number
        else:
            self._look(block, line, is_on=True)

    def _by_rule(self, line: Line, found: re.Match[str]) -> Block | None:
        language, tail = self.language, line.tail
        at = found.lastindex or 0
        kind, name = found.group(at - 1, at)
        # `struct s *` may be a type.
        unsure = language.of_c and kind.startswith(("struct", "union", "enum", "class"))
        if language.bare and not kind and tail[-1] != ",":
            # Parameters or a type may follow.
            unsure = not any(sign in tail for sign in ("=>", " function", "= <"))
        return line.block("" if name == "(" else name.strip(), kind or "function", unsure=unsure)

    # A line can fail in many ways to be a function.
    def _by_shape(  # noqa: PLR0911
        self, line: Line, owner: Block, *, is_member: bool
    ) -> Block | None:
        """Return the function that has no keyword, or None."""
        language, body, tail = self.language, line.body[line.start :], line.tail
        about = owner.name.partition("<")[0].rpartition("::")[2]
        if is_member and owner.kind == "record" and body == f"{about} {{":
            return line.block(about, "method")  # a constructor of Java without parameters
        if not body or ("(" not in body and not (language.bare and tail[-1] == "<")):
            return None
        if language.bare:
            # Calls look the same, so outside classes only a line with a body is looked at.
            has_body = _BODY.search(tail) and tail.count("(") == tail.count(")")
            if body[0] in _NO_METHOD or not (is_member or has_body or tail[-1] == "("):
                return None
            name = bare_name(body, is_member=is_member)
            return line.block(name, "method", unsure=not is_member) if name else None
        is_top = Where.TOP in language.typed and (owner.indent < 0 or owner.flat)
        is_local = Where.LOCAL in language.typed and owner.indent >= 0 and bool(owner.opened)
        has_value = is_local and ") =>" in tail  # `int f(int x) => x + 1;`
        is_other = (is_top or is_local) and (tail[-1] != ";" or has_value)
        if body[0] in _NO_TYPE or not (is_member or is_other):
            return None
        if language.of_c and tail[-1] == ";" and "}" not in tail:
            return None
        has_type = language.of_c and (
            owner.flat or not is_member or self._first_line(line, owner) < line.number
        )
        name = typed_name(body, about, has_type=has_type, of_c=language.of_c)
        kind = "method" if is_member else "function"
        unsure = language.of_c or not (is_member or has_value)
        return line.block(name, kind, unsure=unsure) if name else None

    def _first_line(self, line: Line, owner: Block) -> int:
        """Return the first line above `line` that belongs to it: comment, decorator, attribute.

        No line of another definition does.
        """
        language, first = self.language, line.number
        lowest = max(owner.line, line.number - MAX_ABOVE, self.found[-1].last if self.found else 0)
        within = False  # the last lines of a decorator, whose first has not been seen
        for at in range(line.number - 1, lowest, -1):
            above = self.lines[at - 1]
            if not (body := above.strip()):
                break
            indent = len(above[: above.find(body[0])][:LONGEST].expandtabs(_TAB))
            if indent >= line.indent and language.comment(body + " "):
                first = first if within else at
            elif indent == line.indent and language.is_attribute(body[:LONGEST]):
                first, within = at, False
            # A decorator ends with its arguments, but `}` alone ends another definition.
            elif (indent == line.indent and body[0] in _CLOSERS and body.strip("};")) or (
                indent > line.indent and (within or body.endswith((")", "]")))
            ):
                within = True
            else:
                break
        return first
