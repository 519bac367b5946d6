"""One walk over the lines of code of a text finds its definitions. A stack holds the open ones.

In a language with brackets, the head of a definition is read up to its body, and the body ends with
the partner of its bracket. In other languages, indentation ends it.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.structure.code import Code
from backstaff.structure.language import CONTAINERS, LONGEST, Language, matcher
from backstaff.structure.languages import PARENTHESES

STRIDE = 1000  # lines between two looks at the clock
MAX_HEAD = 100  # lines of the head of a definition, at most
LONGEST_NAME = 50  # characters before a brace that are looked at
_HEADS = '\0"{)]>:,=?|&.-<'  # beginnings of lines that go on with a head
_PLAIN, _EQUALS = r"[^][(){};\n=]*+", r"=(?:(?<=[=!<>]=)|(?<![=!<>]=)(?==))(?!>)"
_NO_SIGNS = rf"{_PLAIN}(?:(?:\([^][(){{}}\n]*+\)|{_EQUALS}){_PLAIN})*"
"""A part of a head without signs; `(a, b)`, `==` and `<=` are none."""
_SIGN = r"[][){};\n]|\((?![^][(){}\n]*+\))|=>|=(?<![=!<>]=)(?!=)"
_FIRST, _NEXT = (matcher(f"{_NO_SIGNS}(?:{begin}{_SIGN})") for begin in (r"\n\s*+\{|", ""))
"""The first sign in a head, which may be a brace below, and the next one."""
_VALUES = frozenset("type typealias fun def concept".split())  # may be a value behind `=`
_PARTS = frozenset(("", "namespace"))  # kinds that have functions as the text has them
_HOLDERS = (CONTAINERS | _PARTS, CONTAINERS - _PARTS)
"""Kinds of definitions with functions that no keyword begins; the second where those are `bare`."""
_TYPES = ("struct", "union", "enum", "class")
_TYPEDEF = re.compile(r"}[^;\n\w]*+(\w++)")
_NO_NAMES = frozenset(  # words that begin a statement, or that stand before a parenthesis
    "if else for foreach while switch case catch return do try finally with throw new await yield"
    " typeof delete sizeof super this elif elsif unless until match select defer go using lock"
    " fixed synchronized assert static_assert defined goto default: print echo require include"
    " async import function".split()
)
# The most frequent beginnings of lines in functions that define nothing.
_STATEMENTS = ("if ", "for ", "return ", "await ", "import ", "case ", "try ")
_TYPE = re.compile(r"[A-Za-z_][\w:<>,.&*\[\]? ]*+(?<=[\w>\]&*])\Z")  # alone above a name
_OPERATOR = re.compile(r"operator(?<!\woperator)(?!\w)(.*+)")
_FOREIGN = re.compile(  # signs and words that no function has before its name
    r"[\"'`;/+|!%{\\=\-: ](?:(?<![-: ])|(?<=-)>|(?<=:) "
    r"|(?<= )(?:return|throw|else|new|case|goto|when)\b)"
)
_AFTER_MACRO = re.compile(  # behind a macro, `A_B(int) name(`, or a tuple, `(int, int) name(`
    r"\s*+[*&]*+(?!(?:noexcept|throw|requires|const|override|final|try|if|for|while|switch)\b|__)"
    r"(?:\w[\w:]*+[\s*&]++)*[\w~][\w:~]*+\s*+\("
)
# The name of a function whose result is a pointer to a function: `int (*name(int x))(int)`.
_POINTER = re.compile(r"\s*+\*++\s*+(\w++)\s*+\(")
_ARGUMENTS = re.compile(r"<(?:[^<>]++|<(?:[^<>]++|<[^<>]*+>)*>)*>")
_CLOSED = re.compile(PARENTHESES)


@dataclass(slots=True, eq=False)
class Block:
    """A definition. Lines count from 1; 0 means not yet."""

    name: str
    kind: str
    line: int
    last: int
    text: str
    owner: str = ""  # the type that its own line names, in Go and in Rust
    first: int = 0
    indent: int = -1  # without brackets, the lines within it are indented more
    opened: int = -1  # with brackets, the place in the code where its body begins, if it has one,
    end: int = -1  # and the place where it ends


class Walk:
    """A walk over a text."""

    def __init__(self, text: str, language: Language) -> None:
        self.lines, self.language = text.split("\n"), language
        self.code = Code(text, language)
        self.text_end = len(self.code.text.rstrip())
        self.stack = [Block("", "", 0, len(self.lines), "")]  # all of the text
        self.is_attribute = matcher(f"{language.above}|{language.attributes}")
        self.no_body, self.goes_on = matcher(language.no_body), matcher(language.goes_on)
        self.holders = _HOLDERS[language.bare]
        self.found = list[Block]()
        self.beyond = 0  # lines above this one belong to a head, and define nothing

    def run(self, budget: Budget) -> list[Block]:
        """Return the definitions in the order of their lines. Raises as `budget` does."""
        (self._by_braces if self.language.end == "{" else self._by_indentation)(budget)
        return [one for one in self.found if one.name]

    def comments(self) -> list[tuple[int, int]]:
        """Return the first and the last line of each run of comments and docstrings."""
        result, end = list[tuple[int, int]](), -1
        lines, bodies = self.code.lines, enumerate(self.code.bodies)
        marks = "\"'\0" if not self.language.end else ""  # no brackets: a string is a docstring
        for at in [at for at, one in bodies if (marks and one[0] in marks if one else lines[at])]:
            mark = lines[at][0]
            if (at == end and mark in "\0\f") or (mark != "\0" and self.lines[at].strip()):
                first = result.pop()[0] if at == end else at + 1
                result.append((first, end := at + 1))
        return result

    def _likely(self) -> Sequence[int]:
        """Return the lines that may begin a definition, all without `words`; one is behind them."""
        code, language, starts = self.code, self.language, self.code.starts
        if not language.words:
            return range(len(starts))
        found = (one for each in language.finders for one in each(code.text))
        lines = {bisect_right(starts, one.start()) - 1 for one in found}
        if ends := language.ends:
            lines |= {
                at
                for at, body in enumerate(code.bodies)
                if body and body[-1] in ends and body[0] not in ")}.{"
                if not body.startswith(_STATEMENTS)
                if "(" in body or not body.endswith((",", "= {"))
            }
        return [*sorted(lines), len(starts) - 1]

    def _by_braces(self, budget: Budget) -> None:  # noqa: C901  # a call for each line takes long
        language, stack, bodies = self.language, self.stack, self.code.bodies
        likely, rule, count = iter(self._likely()), language.rule, len(bodies)
        at, looked_at, upcoming, last = -1, 0, -1, -1
        while (at := at + 1) < count:
            if not (body := bodies[at]):
                continue
            if at >= looked_at:
                budget.check()
                looked_at = at + STRIDE
            if at >= last:
                while at >= stack[-1].last:
                    stack.pop()
                top, last = stack[-1], stack[-1].last
                is_holder = language.shape and top.kind in self.holders
            while upcoming < at:
                upcoming = next(likely)
            if at != upcoming:
                if is_holder:
                    may_be_one = "(" in body or body[-1] == "{" != body
                    if not may_be_one or (language.of_c and body[-1] == ";" and "{" not in body):
                        continue
                elif top.name or not top.line:
                    # Most lines stand in the midst of a function, and define nothing.
                    at = min(upcoming, last) - 1
                    continue
            body = body[:LONGEST]
            if language.bare and body[-1] == "=" and at + 1 < count:
                body = f"{body} {bodies[at + 1]}"  # a function may begin there
            if (found := rule(body)) or language.anonymous:
                self._take(at, body, found)
                at, last = max(at, self.beyond - 1), -1

    def _by_indentation(self, budget: Budget) -> None:
        code, stack, last, likely = self.code, self.stack, 0, {*self._likely()}
        is_end, goes_on = matcher(self.language.end), matcher(self.language.goes_on)
        for at, body in enumerate(code.bodies):
            if not at % STRIDE:
                budget.check()
            if not body:
                continue
            above, last, indent, is_over = last, at, self._indent(at), False
            while not is_over and indent <= (top := stack[-1]).indent:
                if body[0] == "\0" or (
                    body[0] in "\"'<" and code.lines[at : at + 2][-1][:1] == "\0"
                ):
                    break  # a string that goes on over lines may stand anywhere
                ends = indent == top.indent and bool(is_end(body))
                is_over = ends or (indent == top.indent and bool(goes_on(body)))
                if ends or not is_over:
                    stack.pop().last = (at if ends else above) + 1
            if at in likely and not is_over and (found := self.language.rule(body[:LONGEST])):
                self._take(at, body, found)
        for block in stack:
            block.last = block.last or last + 1

    def _indent(self, at: int) -> int:
        """Return the number of blanks before the `at`-th line of code."""
        line = self.code.lines[at]
        first = line.find(self.code.bodies[at][0])
        return len(line[: min(first, LONGEST)].expandtabs()) if line[0] == "\t" else first

    # A definition begins in one of four ways, and ends in one of two.
    def _take(self, at: int, body: str, found: re.Match[str] | None) -> None:  # noqa: C901
        """Put what `body`, line `at`, defines on the stack, if any; a rule has `found` it."""
        language, code, owner = self.language, self.code, self.stack[-1]
        kind, name, about, is_known, needs_body, begin = "", "", "", False, False, 0
        if found and found.lastgroup == "shape":
            kind, name = self._shaped(at, body, begin := found.start("shape"), found["shape"])
            is_known = bool(name)
            needs_body = language.of_c or owner.kind not in self.holders
        elif found:
            kind, name = found.group((group := found.lastindex or 0) - 1, group)
            is_known, begin = name != "(" or not owner.kind, found.start(group)
            about = ("owner" in found.re.groupindex and found["owner"]) or ""
            needs_body = kind.startswith(_TYPES) if language.of_c else language.bare and not kind
            if found.lastgroup == "group":
                kind, is_known = "type", owner.kind == "type" and not owner.name
        if not is_known and language.anonymous and body[-1] == "{":
            is_known = owner.kind == "enum" or ("new " in body and body[:-1].rstrip()[-1:] == ")")
            kind, name, begin = "class", "", len(body) - 1
        if not is_known:
            return
        indent, line, own = self._indent(at), code.lines[at], self.lines[at]
        if len(line) == len(own):
            own = own[: len(line.rstrip())]
            if '"' in name:
                name = own[(start := line.find(name)) : start + len(name)]
        name = "" if name == "(" else name.strip()
        block = Block(name, kind or "function", at + 1, 0, own.strip(), about, indent=indent)
        if language.end == "{":
            place = code.starts[at] + line.find(body[0]) + begin
            if not self._extend(block, at, indent, place) and needs_body:
                return
            if language.of_c or kind in CONTAINERS:  # else a parameter may be one
                self.beyond = max(self.beyond, bisect_right(code.starts, block.opened) - 1)
            if language.of_c and not block.name and (named := _TYPEDEF.match(code.text, block.end)):
                block.name = named[1]
            block.last = bisect_right(code.starts, block.end)
        block.first = self._first_line(at, indent, owner)
        self.found.append(block)
        self.stack.append(block)

    def _shaped(self, at: int, body: str, begin: int, name: str) -> tuple[str, str]:
        """Return the kind and the name of the function without a keyword; none if it is none."""
        language, owner = self.language, self.stack[-1]
        is_member, is_top, of_c = owner.kind in self.holders, owner.kind in _PARTS, language.of_c
        if language.bare:
            is_one = is_member or (name not in _NO_NAMES and body[-1] in "({},")
            return "method", name if is_one else ""
        is_known = (is_member and (of_c or not is_top)) or (language.local and not is_member)
        if not is_known or (is_top and body[-1] == ";"):
            return "", ""
        text = body[begin:]
        if owner.kind == "record" and text == f"{owner.name.partition('<')[0]} {{":
            return "method", text[:-2]  # a constructor of Java without parameters
        above = "int" if of_c and is_top else self.code.bodies[at - 1] if is_member else ""
        name = _typed_name(text, owner.name, above, of_c=of_c)
        return "function" if is_top or not is_member else "method", name

    # One branch a sign.
    def _extend(self, block: Block, line: int, indent: int, place: int) -> bool:  # noqa: C901, PLR0912
        """Find the end of `block`, whose head goes on at `place`; return True if it has a body."""
        code, text, bodies, no_body = self.code, self.code.text, self.code.bodies, self.no_body
        start, left, depth, is_value, is_over, sign_at = place, MAX_HEAD, 0, False, False, _FIRST
        while not is_over and (found := sign_at(text, place)):
            sign = text[(place := found.end() - 1)]
            if sign == "{":
                before = text[max(start, place - LONGEST_NAME) : place].rstrip()
                is_body = not (depth or is_value)
                if is_body and (before[-1:] == ")" or not no_body(f"{block.kind} {before}")):
                    block.opened, block.end = place, code.closing.get(place, len(text))
                    return True
                place = code.closing.get(place, len(text))
            elif sign == "\n":
                left -= 1
                is_over = not left or place >= self.text_end
                if not left and code.starts[line + MAX_HEAD] > place:
                    self.beyond = line + MAX_HEAD  # it has jumped over no braces
                if not (is_over or depth):
                    at = bisect_right(code.starts, place)
                    while not bodies[at]:
                        at += 1
                    if bodies[at][0] not in _HEADS and self._indent(at) <= indent:
                        more = self.goes_on(bodies[at])
                        is_over = not more or block.kind in more[0]  # it is another constructor
            elif sign in "([":
                if place == start and not block.name:  # of Go: `type (`
                    block.opened, block.end = place, text.find("\n)", place) + 1 or len(text)
                    return True
                depth += 1
            elif sign in ")]":
                depth -= 1
                is_over = depth < 0  # it belongs to a bracket around the head
            elif sign == "}" or (sign == ";" and not depth):
                is_over = True
            elif not depth:  # `=` or `=>`; else it is in a type
                is_value = sign == ">" or block.kind in _VALUES
                block.opened = place if is_value else -1
            place, sign_at = place + 1, _NEXT
        block.end = place - 2 if is_over else len(text) - 1
        while block.end > start and text[block.end] in " \n\t\0":
            block.end -= 1
        return block.opened >= 0

    def _first_line(self, line: int, indent: int, owner: Block) -> int:
        """Return the first line of comments and decorators above `line` that are no other's."""
        code, first = self.code, line + 1
        before = self.found[-1].last if self.found else 0
        lowest = max(owner.line, before if before <= line else 0)
        within = False  # the last lines of a decorator, whose first has not been seen
        for at in range(line - 1, lowest - 1, -1):
            if not (body := code.bodies[at]):  # a comment, or the end
                if code.lines[at][:1] != "\f" and not self.lines[at].strip():
                    break
                first = first if within else at + 1
            elif body[0] == "\0":
                continue
            elif (deep := self._indent(at)) == indent and self.is_attribute(body[:LONGEST]):
                first, within = at + 1, False
            # A decorator ends with its arguments, but `}` alone ends another definition.
            elif (deep == indent and body[0] in "})]" and body.strip("};")) or (
                deep > indent and (within or body[-1] in ")]")
            ):
                within = True
            else:
                break
        return first


def _typed_name(text: str, owner: str, above: str, *, of_c: bool) -> str:
    """Return the name of the function with a type before it: `List<T> name(int x) {`; or "".

    `text` is a line behind its attributes and modifiers, and the line `above` may have the type.
    `owner` is the name of the type around it, and of its constructors. Macros are those `of_c`.
    """
    head, _, rest = text.partition("(")
    if "operator" in head and (found := _OPERATOR.search(head)):
        call = "()" * rest.startswith(")(")  # of `operator()(int x)`
        return "" if "=" in head[: found.start()] else f"operator{found[1].rstrip()}{call}"
    if "<" in head:  # a tuple may be an argument of a type
        text = _ARGUMENTS.sub("", text)
        head, _, rest = text.partition("(")
    words, arguments = head.split(), None
    if len(words) < 2:  # noqa: PLR2004
        owner = owner.partition("<")[0].rpartition("::")[2]
        if len(words) <= of_c and words != [owner]:
            arguments = _CLOSED.match(text, len(head))
        if arguments and _AFTER_MACRO.match(text, arguments.end()):
            return _typed_name(text[arguments.end() :], owner, "int", of_c=False)
    if of_c and words and rest[:1] in "* \t" and (found := _POINTER.match(rest)):
        return "" if found[1] in _NO_NAMES else found[1]
    if not words or words[0] in _NO_NAMES or _FOREIGN.search(head):
        return ""
    name = words[-1].rpartition(".")[2].lstrip("*&")
    last = name.rpartition("::")[2].lstrip("~")
    is_typed = len(words) > 1 or last == owner or words[0][0] in "*&" or "::" in name
    if of_c and not is_typed and words[0].isidentifier() and words[0].isupper():
        return f"{name}{arguments[0]}" if arguments else ""  # a macro: TEST(suite, name)
    is_typed = is_typed or (above[-1:] not in ";{}:," and bool(_TYPE.match(above)))
    return name if is_typed and last.isidentifier() else ""
