"""One walk over the lines of code of a text finds its definitions. A stack holds the open ones.

In a language with brackets, the head of a definition is read up to its body, and the body ends with
the partner of its bracket. In other languages, indentation ends it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.structure.code import GOES_ON, Code
from backstaff.structure.language import CONTAINERS, LONGEST, Language, matcher
from backstaff.structure.shapes import bare_name, typed_name

STRIDE = 1000
"""Number of lines between two looks at the clock."""
MAX_HEAD = 100
"""Maximum number of lines of the head of a definition."""
_TAB = 8
_HEADS, _NO_TYPE, _NO_METHOD = "\0{)]>:,=?|&.-<", "}#{[:,.+-*/|&?!\"'`", "@}{:,.+-/|&?!<(\"'`"
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


class Walk:
    """A walk over `text`."""

    def __init__(self, text: str, language: Language) -> None:
        self.lines, self.language = text.split("\n"), language
        self.code = Code(text, language)
        self.stack = [Block("", "", 0, 0, "", end=len(self.code.text))]  # all of the text
        self.found: list[Block] = []
        self.beyond = 0
        """Lines above this one belong to a head, and define nothing."""

    def run(self, budget: Budget) -> list[Block]:
        """Return the definitions in the order of their lines. Raises as `budget` does."""
        (self._by_braces if self.language.end == "{" else self._by_indentation)(budget)
        return [one for one in self.found if one.name]

    def _by_braces(self, budget: Budget) -> None:
        code, language, stack = self.code, self.language, self.stack
        bodies, starts, likely = code.bodies, code.starts, self._likely()
        has_shapes, at, looked_at, next_likely = language.bare or language.typed, 0, 0, 0
        while at < len(bodies):
            if at >= looked_at:
                budget.check()
                looked_at = at + STRIDE
            while starts[at] > stack[-1].end:
                stack.pop()
            while likely[next_likely] < at:
                next_likely += 1
            top, body = stack[-1], bodies[at]
            is_likely = likely[next_likely] == at
            has_members = top.is_container and (top.kind or not language.bare)
            if not is_likely and not (
                has_members and (has_shapes or (language.group and not top.name))
            ):
                # Most lines stand in the midst of a function, and define nothing.
                at = likely[next_likely]
                at = at if starts[at] <= top.end else code.line_at(top.end) + 1
                continue
            if body and (
                is_likely
                or language.group
                or (
                    ("(" in body or body[-1] in "{<")
                    and not (language.of_c and body[-1] == ";" and "{" not in body)
                )
            ):
                self._take(at, body, self._indent(at), is_likely=is_likely)
            at = max(at + 1, self.beyond)

    def _by_indentation(self, budget: Budget) -> None:
        bodies, stack, last, likely = self.code.bodies, self.stack, 0, {*self._likely()}
        for at, body in enumerate(bodies):
            if not at % STRIDE:
                budget.check()
            if body:
                above, last = last, at
                indent = self._indent(at)
                is_over = indent <= stack[-1].indent and self._goes_on(body, indent, above, at)
                if at in likely and not is_over:
                    self._take(at, body, indent, is_likely=True)
        for block in stack:
            block.last = block.last or last + 1

    def _indent(self, at: int) -> int:
        """Return the number of blanks before the `at`-th line of code."""
        line, body = self.code.lines[at], self.code.bodies[at]
        first = line.find(body[0])
        return len(line[:first][:LONGEST].expandtabs(_TAB)) if line[0] == "\t" else first

    def comments(self) -> list[tuple[int, int]]:
        """Return the first and the last line of each run of comments and docstrings."""
        result = list[tuple[int, int]]()
        # A string on a line of its own is a docstring, where no brackets are.
        marks = "\"'\0" if not self.language.end else ""
        for at in [at for at, body in enumerate(self.code.bodies) if body[:1] in marks]:
            goes_on = bool(result) and result[-1][1] == at
            is_within = self.code.lines[at][:1] in GOES_ON
            if goes_on if is_within else self.lines[at].strip():
                result.append((result.pop()[0] if goes_on else at + 1, at + 1))
        return result

    def _likely(self) -> Sequence[int]:
        """Return the lines in which one of the `words` stands; all if there are none.

        The last one is behind the text.
        """
        total, finders = len(self.code.lines), self.language.finders
        places = [found.start() for finder in finders for found in finder(self.code.text)]
        lines = sorted({*map(self.code.line_at, places), total})
        return lines if finders else range(total + 1)

    def _goes_on(self, body: str, indent: int, above: int, at: int) -> bool:
        """Close the definitions that end above the `at`-th line by its indentation, or with it.

        Return True if the line only goes on with a definition, or ends one. The code before it is
        on the line `above`.
        """
        language, stack = self.language, self.stack
        is_string = body[0] == "\0" or (
            body[0] in "\"'<" and self.code.lines[at : at + 2][-1].startswith("\0")
        )
        while not is_string and indent <= (top := stack[-1]).indent:
            if indent == top.indent:
                if matcher(language.end)(body):
                    top.last = at + 1
                    stack.pop()
                    return True
                if matcher(language.goes_on)(body) or (language.braced and not language.rule(body)):
                    return True
            top.last = above + 1
            stack.pop()
        return is_string

    # A definition begins in one of four ways, and ends in one of two.
    def _take(self, at: int, body: str, indent: int, *, is_likely: bool) -> None:  # noqa: C901, PLR0912
        """Put the definition that `body`, the `at`-th line, begins, if any, on the stack."""
        language, code, owner = self.language, self.code, self.stack[-1]
        place = code.starts[at] + code.lines[at].find(body[0])
        body = body[:LONGEST]
        if language.bare and body[-1] == "=" and at + 1 < len(code.bodies):
            body = f"{body} {code.bodies[at + 1]}"  # a function may begin there
        start = begun.end() if language.before and (begun := language.before(body)) else 0
        found = language.rule(body, start) if is_likely else None
        is_member = owner.is_container and not (language.bare and owner.kind in _PARTS)
        needs_body, block = False, None
        begin = place + start
        if found:
            group = found.lastindex or 0
            kind, name = found.group(group - 1, group)
            needs_body = (language.bare and not kind) or (
                language.of_c and kind.startswith(("struct", "union", "enum", "class"))
            )
            is_nameless = name == "("  # of Go: `type (`
            block = self._block(at, "" if is_nameless else name.strip(), kind or "function")
            begin = place + found.end() - is_nameless
        elif (language.bare and _METHOD.match(body, start)) or language.typed:
            block = self._by_shape(at, body[start:], owner, is_member=is_member)
            needs_body = language.of_c or not is_member
        if not block and owner.kind == "type" and not owner.name:
            if found := matcher(language.group)(body):
                block = self._block(at, found[1], owner.kind)
        if not block and language.anonymous and body[-1] == "{":
            is_body = "new " in body and body[:-1].rstrip()[-1:] == ")"
            if is_body or owner.kind == "enum":
                block, begin = self._block(at, "", "class"), place + len(body) - 1
        if not block:
            return
        if language.end == "{":
            has_body = self._extend(block, at, indent, begin)
            is_called = language.bare and code.text.startswith("(", block.end + 1)
            if (needs_body and not has_body) or is_called:
                return
            if language.of_c and not block.name and (found := _TYPEDEF.match(code.text, block.end)):
                block.name = found[1]
            if language.of_c:  # else a function may be a parameter
                self.beyond = max(self.beyond, code.line_at(block.opened))
            block.last = code.line_at(block.end) + 1
        else:
            block.indent = indent
            if language.braced and 0 < body.count("{") == body.count("}"):
                block.last = at + 1
        block.first = self._first_line(at, indent, owner)
        self.found.append(block)
        if not block.last or language.end == "{":
            self.stack.append(block)

    def _block(self, at: int, name: str, kind: str) -> Block:
        """Return the definition that begins on the `at`-th line."""
        code, own = self.code.lines[at], self.lines[at]
        if len(code) == len(own):
            own = own[: len(code.rstrip())]
            if '"' in name:
                place = code.find(name)
                name = own[place : place + len(name)]
        is_container = kind in CONTAINERS or kind in _PARTS
        return Block(name, kind, at + 1, 0, own.strip(), is_container=is_container)

    def _by_shape(self, at: int, body: str, owner: Block, *, is_member: bool) -> Block | None:
        """Return the function that has no keyword, or None."""
        language = self.language
        if language.bare:
            is_other = not body or body[0] in _NO_METHOD or not (is_member or body[-1] in "({},")
            name = "" if is_other else bare_name(body, is_member=is_member)
            return self._block(at, name, "method") if name else None
        about = owner.name.partition("<")[0].rpartition("::")[2]
        if is_member and owner.kind == "record" and body == f"{about} {{":
            return self._block(at, about, "method")  # a constructor of Java without parameters
        is_top = owner.kind in _PARTS
        is_local = language.local and not owner.is_container
        is_known = (is_member and (language.of_c or not is_top)) or is_local
        if not is_known or "(" not in body or body[0] in _NO_TYPE or (is_top and body[-1] == ";"):
            return None
        is_c = language.of_c
        name = typed_name(body, about, has_type=is_c and is_top, of_c=is_c)
        kind = "method" if is_member and not is_top else "function"
        return self._block(at, name, kind) if name else None

    # One branch a sign.
    def _extend(self, block: Block, line: int, indent: int, place: int) -> bool:  # noqa: C901, PLR0912
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
                is_over = not (left and (depth or self._is_head(indent, at)))
                if not left and at - line <= MAX_HEAD:  # it has jumped over no braces
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
        bodies = self.code.bodies
        while at < len(bodies) and not bodies[at]:
            at += 1
        if at == len(bodies):
            return False
        goes_on = bodies[at][0] in _HEADS or self._indent(at) > indent
        return goes_on or bool(matcher(self.language.goes_on)(bodies[at]))

    def _first_line(self, line: int, indent: int, owner: Block) -> int:
        """Return the first line above `line` that belongs to it: comment, decorator, attribute.

        No line of another definition does.
        """
        code, first = self.code, line + 1
        before = self.found[-1].last if self.found else 0
        lowest = max(owner.line, before if before <= line else 0)
        within = False  # the last lines of a decorator, whose first has not been seen
        for at in range(line - 1, lowest - 1, -1):
            body = code.bodies[at]
            shown = code.lines[at] if body else self.lines[at]
            if code.lines[at][:1] in GOES_ON:
                continue
            if not (own := shown.lstrip()):
                break
            deep = len(shown[: len(shown) - len(own)][:LONGEST].expandtabs(_TAB))
            if not body and deep >= indent:
                first = first if within else at + 1
            elif deep == indent and body and self.language.is_attribute(body[:LONGEST]):
                first, within = at + 1, False
            # A decorator ends with its arguments, but `}` alone ends another definition.
            elif (deep == indent and body[:1] in "})]" and body.strip("};")) or (
                deep > indent and (within or body.endswith((")", "]")))
            ):
                within = True
            else:
                break
        return first
