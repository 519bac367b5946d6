"""The names of functions that no keyword begins, by the shape of their line.

`text` is a line behind its attributes and modifiers. Each function returns "" for another line.
"""

import re

from backstaff.structure.languages import PARENTHESES

NO_NAMES = frozenset(
    "if else for foreach while switch case catch return do try finally with throw new await yield"
    " typeof delete sizeof super this elif elsif unless until match select defer go using lock"
    " fixed synchronized assert static_assert defined goto default: print echo require include"
    " async import function".split()
)
"""Words that begin a statement, or that stand before a parenthesis."""
_OPERATOR = re.compile(r"\boperator(?!\w)(.*+)")
_FOREIGN = re.compile(r"[\"'`;/+|!%{\\]|->|\b(?:return|throw|else|new|case|goto)\b")
"""Signs and words that no function has before its name."""
_AFTER_MACRO = re.compile(
    r"\s*+[*&]*+(?!(?:noexcept|throw|requires|const|override|final|try|if|for|while|switch)\b|__)"
    r"(?:\w[\w:]*+[\s*&]++)*[\w~][\w:~]*+\s*+\("
)
"""A function behind a macro, `AP_DECLARE(int) name(`, or behind a tuple, `(int, int) name(`."""
_POINTER = re.compile(r"\s*+\*++\s*+(\w++)\s*+\(")
"""The name of a function whose result is a pointer to a function: `int (*name(int x))(int)`."""
_ARGUMENTS = re.compile(r"<(?:[^<>]|<(?:[^<>]|<[^<>]*+>)*>)*>")
"""The arguments of a template or a generic type."""
_CLOSED = re.compile(PARENTHESES)
_TEST_MACRO = re.compile(r"[A-Z][A-Z0-9_]*+\Z")


# A line can fail in many ways to be a function.
def typed_name(  # noqa: PLR0911
    text: str, owner: str, *, has_type: bool, of_c: bool
) -> str:
    """Return the name of the function with a type before it: `List<T> name(int x) {`.

    `owner` is the name of the type around it, and of its constructors. With `has_type` the line
    needs no type before the name, because the line above has it. Macros are those `of_c`.
    """
    head, _, rest = text.partition("(")
    if found := _OPERATOR.search(head):
        call = "()" * rest.startswith(")(")  # of `operator()(int x)`
        return "" if "=" in head[: found.start()] else f"operator{found[1].rstrip()}{call}"
    if "<" in head:  # a tuple may be an argument of a type
        text = _ARGUMENTS.sub("", text)
        head, _, rest = text.partition("(")
    is_type = not head.strip() or (of_c and len(head.split()) == 1 and head.strip() != owner)
    arguments = _CLOSED.match(text, len(head))
    if is_type and arguments and _AFTER_MACRO.match(text, arguments.end()):
        return typed_name(text[arguments.end() :], owner, has_type=True, of_c=False)
    if of_c and head.strip() and (found := _POINTER.match(rest)):
        return "" if found[1] in NO_NAMES else found[1]
    words = head.split()
    is_argument = not of_c and ": " in head  # of C#: `name: value(`
    if not words or words[0] in NO_NAMES or "=" in head or is_argument or _FOREIGN.search(head):
        return ""
    name = words[-1].rpartition(".")[2].lstrip("*&")
    last = name.rpartition("::")[2].lstrip("~")
    if not last.isidentifier():
        return ""
    if of_c and len(words) == 1 and last != owner and _TEST_MACRO.match(words[0]):
        return f"{name}{arguments[0]}" if arguments else ""  # a macro: TEST(suite, name)
    is_typed = has_type or len(words) > 1 or words[-1][0] in "*&" or "::" in name
    return name if is_typed or last == owner else ""
