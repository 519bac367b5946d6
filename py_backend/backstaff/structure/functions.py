"""The names of functions that no keyword begins, by the shape of their line."""

import re

from backstaff.structure.language import Language

_NO_NAMES = frozenset(
    "if else for foreach while switch case catch return do try finally with throw new await yield"
    " typeof delete sizeof super this elif elsif unless until match select defer go using lock"
    " fixed synchronized assert static_assert defined goto default: print echo require include"
    " async import function".split()
)
"""Words that begin a statement, or that stand before a parenthesis."""
_WITH_PARENTHESES = re.compile(
    r"(?:@[\w.]+|__attribute__|__declspec|alignas|explicit|\[\[\w+)\s*+"
    r"\((?:[^()]|\((?:[^()]|\([^()]*+\))*\))*\)+\]*\s*+"
)
"""An attribute with arguments, before a function."""
_BARE_NAME = re.compile(r"[*#]*+((?:[\w$]++|\[[^\]]*+\]))\s*+\??\s*+")
_OPERATOR = re.compile(r"\boperator(?!\w)(.*+)")
_FOREIGN = re.compile(r"[\"'`;/+|!%\\]|->|\b(?:return|throw|else|new|case|goto)\b")
"""Signs and words that no function has before its name."""


def closing(text: str, pair: str) -> int:
    """Return the place behind the bracket that closes the `pair`, such as "()"; -1 if none does.

    `text` begins behind the opening one.
    """
    level = 1
    for place, character in enumerate(text):
        level += (character == pair[0]) - (character == pair[1])
        if not level:
            return place + 1
    return -1


def function_name(  # a line can fail to be a function in many ways
    text: str, language: Language, owner: str, *, member: bool, typed: bool
) -> str:
    """Return the name of the function that `text`, a line with a parenthesis, defines; or "".

    `owner` is the name of the type around it, and of its constructors. With `typed` the line needs
    no type before the name, because the line above has it.
    """
    if language.bare:
        return _bare_name(text, language, member=member)
    text = _WITH_PARENTHESES.sub("", text, count=3)
    head, _, rest = text.removeprefix('extern "C" ').partition("(")
    if found := _OPERATOR.search(head):
        call = "()" * rest.startswith(")(")  # of `operator()(int x)`
        return "" if "=" in head[: found.start()] else f"operator{found[1].rstrip()}{call}"
    head = head.rstrip()
    if head.endswith(">") and (place := closing(head[-2::-1], "><")) > 0:  # `name<T>(`
        head = head[: len(head) - 1 - place].rstrip()
    words = head.split()
    if not words or words[0] in _NO_NAMES or "=" in head or _FOREIGN.search(head):
        return ""
    name = words[-1].rpartition(".")[2].lstrip("*&")
    plain = name.rpartition("::")[2].lstrip("~")
    if not plain.isidentifier():
        return ""
    if len(words) == 1 and name.isupper() and language.at_top and (end := closing(rest, "()")) > 0:
        return f"{name}({rest[:end]}"  # a macro: TEST(suite, name)
    has_type = not language.modifier_words.issuperset(words[:-1]) or words[-1][0] in "*&"
    return name if has_type or typed or plain == owner or "::" in name else ""


def _bare_name(text: str, language: Language, *, member: bool) -> str:
    """Return the name of a method without a type: `async load(path) {`."""
    words = text.partition("(")[0].split()
    while len(words) > 1 and words[0] in language.modifier_words:
        text = text[len(words.pop(0)) :].lstrip()
    found = _BARE_NAME.match(text)
    if not found or (found[1] in _NO_NAMES and not member) or found[1][0].isdigit():
        return ""
    rest = text[found.end() :]
    if member and rest == "<":
        return found[1]
    if rest[:1] == "<" and (place := closing(rest[1:], "<>")) > 0:
        rest = rest[1 + place :].lstrip()
    if rest[:1] != "(":
        return ""
    end = closing(rest[1:], "()")
    if end < 0:
        return "" if "=>" in rest else found[1]
    return found[1] if rest[1 + end :].lstrip()[:1] in ("", "{", ":", ";") else ""
