"""One walk over the lines of code of a text finds its definitions. A stack holds the open ones.

In a language with brackets, the head of a definition is read up to its body, and the body ends with
the partner of its bracket. In other languages, indentation ends it.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from backstaff.budget import Budget
from backstaff.structure.code import Code
from backstaff.structure.language import CONTAINERS, LONGEST, Language, matcher
from backstaff.structure.shapes import bare_name, typed_name

STRIDE = 1000
"""Number of lines between two looks at the clock."""
MAX_ABOVE, MAX_HEAD = 100, 100
"""Maximum number of lines above a definition that may belong to it, and of lines of its head."""
_TAB = 8
_HEADS, _NO_TYPE, _NO_METHOD = "{)]>:,=?|&.-<", "}#{[:,.+-*/|&?!\"'`", "@}{:,.+-/|&?!<(\"'`"
"""Beginnings of lines that go on with a head; and that define no function without a keyword, typed
or bare."""
_SIGNS = re.compile(r"[][(){};,\n=](?:(?<!=)|>|(?<![=!<>]=)(?!=))")
"""Signs in a head, or at its end: `=` and `=>`, but not `==` or `<=`.

It begins with a set of characters, because `re` finds these many times faster.
"""
_VALUES = frozenset("type typealias fun def concept".split())
"""Kinds of definitions that may be a value behind `=`."""
_PARTS = frozenset(("", "namespace", "extern"))
"""Kinds that have functions as the text has them."""
_BEFORE_TYPE = re.compile(r".*(?:[:|&<,?(=]|\b(?:is|extends|keyof|readonly))\s*\Z", re.DOTALL)
"""Signs and words before the brace of a type in TypeScript."""
_TYPEDEF = re.compile(r"}[^;\n\w]*+(\w++)")
_METHOD = re.compile(r"[*#]*+(?:[\w$]++|\[[^\]]*+\])\s*+\??\s*+[(<]")


@dataclass(slots=True, eq=False)
class Block:
    """A definition. Lines count from 1; 0 means not yet.

    In a language with brackets its body, if it has one, begins at the place `opened` of the code,
    and it ends at the place `end`. In others the lines within it are indented more than `indent`. A
    container has members.
    """

    name: str
    kind: str
    line: int
    last: int
    text: str
    first: int = 0
    indent: int = -1
    opened: int = -1
    end: int = -1
    is_container: bool = True


@dataclass(slots=True)
class Line:
    """A line of code, the `at`-th: `body` has no blanks around it, and begins at `place`.

    `start` is the place in `body` behind attributes and modifiers, and `found` the match of a rule
    there.
    """

    at: int
    number: int
    indent: int
    place: int
    body: str
    start: int
    found: re.Match[str] | None


class Walk:
    """A walk over `text`."""

    def __init__(self, text: str, language: Language) -> None:
        self.lines, self.language = text.split("\n"), language
        self.code = Code(text, language)
        self.stack = [Block("", "", 0, 0, "", end=len(self.code.text))]  # all of the text
        self.found: list[Block] = []
        self.beyond = 0
        """Lines above this one belong to a head, and define nothing."""

    # One step a comment; a line leaves at the first that says that it defines nothing.
    def run(self, budget: Budget) -> list[Block]:  # noqa: C901, PLR0912
        """Return the definitions in the order of their lines. Raises as `budget` does."""
        code, language, stack = self.code, self.language, self.stack
        lines, bodies, starts, numbers = code.lines, code.bodies, code.starts, code.numbers
        likely = self._likely()
        has_brackets, has_shapes = language.end == "{", language.bare or language.typed
        last = looked_at = next_likely = 0  # `last` is the line of code above
        at, total = -1, len(lines)
        while (at := at + 1) < total:
            if at >= looked_at:
                budget.check()
                looked_at = at + STRIDE
            if not (body := bodies[at]) or at < self.beyond:
                continue
            while starts[at] > stack[-1].end >= 0:
                stack.pop()
            while likely[next_likely] < at:
                next_likely += 1
            top, is_likely = stack[-1], likely[next_likely] == at
            has_members = top.is_container and (top.kind or not language.bare)
            is_sparse = not (has_members and (has_shapes or (language.group and not top.name)))
            if has_brackets and is_sparse and not is_likely:
                # Most lines stand in the midst of a function, and define nothing.
                at = likely[next_likely] - 1
                if at + 1 == total or starts[at + 1] > top.end:
                    at = code.line_at(top.end)
                continue
            is_shape = not has_brackets or is_likely or "(" in body or body[-1] in "{<"
            is_declaration = language.of_c and body[-1] == ";" and "{" not in body
            if not (is_shape or language.group) or (is_declaration and not is_likely):
                continue
            line = lines[at]
            first = indent = line.find(body[0])
            if first and (line[0] == "\t" or "\0" in line[:first]):
                before = line[:first].rpartition("\0")[2][:LONGEST]
                indent = len(before.expandtabs(_TAB))
            if not has_brackets:
                above, last = last, at
                is_string = "\0" in line and body[0] in "\"'<"  # at the margin, it ends nothing
                is_out = indent <= top.indent and not is_string
                if (is_out and self._goes_on(body, indent, above, at)) or not is_likely:
                    continue
            body = body[:LONGEST]
            if language.bare and body[-1] == "=" and at + 1 < total:
                body = f"{body} {bodies[at + 1]}"  # a function may begin there
            start = begun.end() if language.before and (begun := language.before(body)) else 0
            found = language.rule(body, start) if is_likely else None
            if found or not language.bare or _METHOD.match(body, start):
                number = numbers[at] + line.count("\0", 0, first)
                self._take(Line(at, number, indent, starts[at] + first, body, start, found))
        for block in stack:
            block.last = block.last or numbers[last + 1] - 1
        return [one for one in self.found if one.name]

    def comments(self) -> list[tuple[int, int]]:
        """Return the first and the last line of each run of comments and docstrings."""
        result, numbers = list[tuple[int, int]](), self.code.numbers
        # A string on a line of its own is a docstring, where no brackets are.
        marks = "\"'" if not self.language.end else "\0"
        for at in [at for at, body in enumerate(self.code.bodies) if body[:1] in marks]:
            first, last = numbers[at], numbers[at + 1] - 1
            if self.lines[first - 1].strip():
                if result and result[-1][1] == first - 1:
                    first = result.pop()[0]
                result.append((first, last))
        return result

    def _likely(self) -> Sequence[int]:
        """Return the lines in which one of the `words` stands; all if there are none.

        The last one is behind the text.
        """
        total, finders = len(self.code.lines), self.language.finders
        places = [found.start() for finder in finders for found in finder(self.code.text)]
        numbers = {*map(partial(bisect_right, self.code.starts), places), total + 1}
        return [number - 1 for number in sorted(numbers)] if finders else range(total + 1)

    def _goes_on(self, body: str, indent: int, above: int, at: int) -> bool:
        """Close the definitions that end above the `at`-th line by its indentation, or with it.

        Return True if the line only goes on with a definition, or ends one. The code before it is
        on the line `above`.
        """
        language, stack, numbers = self.language, self.stack, self.code.numbers
        while indent <= (top := stack[-1]).indent:
            if indent == top.indent:
                if matcher(language.end)(body):
                    top.last = numbers[at + 1] - 1
                    stack.pop()
                    return True
                if matcher(language.goes_on)(body) or (language.braced and not language.rule(body)):
                    return True
            top.last = numbers[above + 1] - 1
            stack.pop()
        return False

    # A definition begins in one of four ways, and ends in one of two.
    def _take(self, line: Line) -> None:  # noqa: C901, PLR0912
        """Put the definition that `line` begins, if any, on the stack."""
        language, code, body, owner = self.language, self.code, line.body, self.stack[-1]
        is_member = owner.is_container and not (language.bare and owner.kind in _PARTS)
        place, needs_body, block = line.place + line.start, False, None
        if line.found:
            at = line.found.lastindex or 0
            kind, name = line.found.group(at - 1, at)
            needs_body = (language.bare and not kind) or (
                language.of_c and kind.startswith(("struct", "union", "enum", "class"))
            )
            is_nameless = name == "("  # of Go: `type (`
            block = self._block(line, "" if is_nameless else name.strip(), kind or "function")
            place = line.place + line.found.end() - is_nameless
        elif language.bare or language.typed:
            block = self._by_shape(line, owner, is_member=is_member)
            needs_body = language.of_c or not is_member
        is_group = not block and owner.kind == "type" and not owner.name
        if is_group and (found := matcher(language.group)(body)):
            block = self._block(line, found[1], owner.kind)
        if not block and language.anonymous and body[-1] == "{":
            is_body = "new " in body and body[:-1].rstrip()[-1:] == ")"
            if is_body or owner.kind == "enum":
                block, place = self._block(line, "", "class"), line.place + len(body) - 1
        if not block:
            return
        if language.end == "{":
            has_body = self._extend(block, line, place)
            is_called = language.bare and code.text.startswith("(", block.end + 1)
            if (needs_body and not has_body) or is_called:
                return
            if language.of_c and not block.name and (found := _TYPEDEF.match(code.text, block.end)):
                block.name = found[1]
            if language.of_c:  # else a function may be a parameter
                self.beyond = max(self.beyond, code.line_at(block.opened))
            end = code.line_at(block.end)
            block.last = code.numbers[end] + code.text.count("\0", code.starts[end], block.end)
        else:
            block.indent = line.indent
            if language.braced and 0 < body.count("{") == body.count("}"):
                block.last = line.number
        block.first = self._first_line(line, owner)
        self.found.append(block)
        if not block.last or language.end == "{":
            self.stack.append(block)

    def _block(self, line: Line, name: str, kind: str) -> Block:
        """Return the definition that begins on `line`."""
        code, own = self.code.lines[line.at], self.lines[line.number - 1]
        if "\0" not in code:
            own = own[: len(code.rstrip())]
            if '"' in name:
                at = code.find(name)
                name = own[at : at + len(name)]
        is_container = kind in CONTAINERS or kind in _PARTS
        return Block(name, kind, line.number, 0, own.strip(), is_container=is_container)

    def _by_shape(self, line: Line, owner: Block, *, is_member: bool) -> Block | None:
        """Return the function that has no keyword, or None."""
        language, body = self.language, line.body[line.start :]
        if language.bare:
            is_other = not body or body[0] in _NO_METHOD or not (is_member or body[-1] in "({},")
            name = "" if is_other else bare_name(body, is_member=is_member)
            return self._block(line, name, "method") if name else None
        about = owner.name.partition("<")[0].rpartition("::")[2]
        if is_member and owner.kind == "record" and body == f"{about} {{":
            return self._block(line, about, "method")  # a constructor of Java without parameters
        is_top = owner.kind in _PARTS
        is_local = language.local and not owner.is_container
        is_known = (is_member and (language.of_c or not is_top)) or is_local
        if not is_known or "(" not in body or body[0] in _NO_TYPE or (is_top and body[-1] == ";"):
            return None
        is_c = language.of_c
        name = typed_name(body, about, has_type=is_c and is_top, of_c=is_c)
        kind = "method" if is_member and not is_top else "function"
        return self._block(line, name, kind) if name else None

    # One branch a sign.
    def _extend(self, block: Block, line: Line, place: int) -> bool:  # noqa: C901, PLR0912
        """Find the body and the end of `block`, whose head goes on at `place`.

        Return True if it has a body.
        """
        code, text, language = self.code, self.code.text, self.language
        start, left, depth = place, MAX_HEAD, 0
        is_value, is_over = False, False
        while not is_over and (found := _SIGNS.search(text, place)):
            sign, place = found[0], found.start()
            if sign in "([":
                if place == start and not block.name:
                    block.opened = start  # of Go: `type (`
                depth += 1
            elif sign in ")]":
                depth -= 1
                # It belongs to a bracket around the head, or it closes the body.
                is_over = depth < 0 or (depth == 0 and block.opened == start)
            elif sign == "}" or (sign == ";" and not depth):
                is_over = True
            elif sign == "{":
                if not (depth or is_value or self._is_type(block, start, place)):
                    block.opened, block.end = place, code.closing.get(place, len(text))
                    return True
                place = code.closing.get(place, len(text))
            elif sign == "\n":
                at = code.line_at(place) + 1
                left -= block.opened != start
                is_over = not (left and (depth or self._is_head(line.indent, at)))
                if not left and at - line.at <= MAX_HEAD:  # it has jumped over no braces
                    self.beyond = at
            elif (
                depth or sign in ",;" or (sign == "=>" and language.bare and block.kind == "method")
            ):
                pass  # it is in a type
            elif sign == "=>" or (sign == "=" and block.kind in _VALUES):
                is_value, block.opened = True, place
            else:
                is_value, block.opened = False, -1
            place += 1
        block.end = place - 2 if is_over else len(text) - 1
        while block.end > start and text[block.end] in " \n\t\0":
            block.end -= 1
        return block.opened >= 0

    def _is_type(self, block: Block, start: int, place: int) -> bool:
        """Return True if the brace at `place` begins no body, but a type or a value."""
        before = self.code.text[max(start, place - 20) : place].rstrip()
        if self.language.bare:
            return block.kind == "type" or bool(_BEFORE_TYPE.match(before))
        return block.kind == "func" and before.endswith(("interface", "struct"))

    def _is_head(self, indent: int, at: int) -> bool:
        """Return True if the next line of code from the `at`-th on goes on with a head."""
        lines, bodies = self.code.lines, self.code.bodies
        while at < len(lines) and not (body := bodies[at]):
            at += 1
        if at == len(lines):
            return False
        deep = len(lines[at][: lines[at].find(body[0])][:LONGEST].expandtabs(_TAB))
        return deep > indent or body[0] in _HEADS or bool(matcher(self.language.goes_on)(body))

    def _first_line(self, line: Line, owner: Block) -> int:
        """Return the first line above `line` that belongs to it: comment, decorator, attribute.

        No line of another definition does.
        """
        language, code, first = self.language, self.code, line.number
        before = self.found[-1].last if self.found else 0
        lowest = max(owner.line, before if before < line.number else 0)
        within = False  # the last lines of a decorator, whose first has not been seen
        for at in range(line.at - 1, max(-1, line.at - MAX_ABOVE), -1):
            number = code.numbers[at]
            if number <= lowest:
                break
            body = code.bodies[at]
            shown = code.lines[at] if body else self.lines[number - 1]
            if not shown.strip():
                break
            indent = len(shown[: len(shown) - len(shown.lstrip())][:LONGEST].expandtabs(_TAB))
            if not body and indent >= line.indent:
                first = first if within else number
            elif indent == line.indent and body and language.is_attribute(body[:LONGEST]):
                first, within = number, False
            # A decorator ends with its arguments, but `}` alone ends another definition.
            elif (indent == line.indent and body[:1] in "})]" and body.strip("};")) or (
                indent > line.indent and (within or body.endswith((")", "]")))
            ):
                within = True
            else:
                break
        return first
