"""Small expressions of which those of the languages are made, each with its examples.

A test matches each example, and repeats pieces of text to see that the time stays linear: where a
group is repeated, no two of its alternatives begin alike, or the first that matches is kept (`?>`).
"""

from collections.abc import Mapping

EXAMPLES: list[tuple[str, Mapping[str, str]]] = []
"""Patterns, and texts that they match, each with the name that a rule finds in it."""


def piece(pattern: str, *examples: str) -> str:
    """Return `pattern`, which matches each of `examples` as a whole."""
    EXAMPLES.append((rf"(?:{pattern})\Z", dict.fromkeys(examples, "")))
    return pattern


def rule(pattern: str, examples: Mapping[str, str]) -> str:
    """Return `pattern`, whose last group is the name in the line: `{"def f(x):": "f"}`."""
    EXAMPLES.append((pattern, examples))
    return pattern


STRING = piece(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", '"a \\" b"', "'(\"'", '""')


def between(begin: str, end: str, levels: int = 3) -> str:
    """Return a pattern for `begin` to `end` with so many `levels` of such pairs and strings."""
    others = rf"[^\{begin}\{end}\"']|(?>{STRING}|[\"'])"
    inner = rf"\{begin}(?:{others})*\{end}"
    for _ in range(levels - 1):
        inner = rf"\{begin}(?:{others}|{inner})*\{end}"
    return inner


PARENTHESES = piece(between("(", ")"), "()", "(a, (b))", '(")", (c(d)))', "('a)')")
BRACKETS = piece(between("[", "]"), "[]", "[Fact]", "[A(x[0]), B]", '["]"]')
# Not those of `->`, `=>`, `<=`, `>=`, `<<`.
ANGLES = piece(
    r"<(?:[^<>;{}]|(?<=[-=])>|<(?:[^<>;{}]|(?<=[-=])>|<(?:[^<>;{}]|<[^<>;{}]*>)*>)*>)*>",
    *("<T>", "<A<B>, C<D<E>>>", "<F: Fn() -> A>", "<>"),
)
AT_SIGN = piece(
    rf"@(?!interface\b)(?:[\w.:]++(?:\s?{PARENTHESES})?|{BRACKETS})", "@a.B", "@A(b = {1})"
)
HASH = piece(rf"#!?{BRACKETS}", "#[test]", "#![allow(a)]", "#[derive(A, B)]", '#[doc = "]"]')
TEMPLATE = piece(
    rf"template\s*{ANGLES}(?:\s*requires\s*(?:{PARENTHESES}|[\w:]++(?:{ANGLES})?"
    rf"(?:\s*(?:&&|\|\|)\s*[\w:]++(?:{ANGLES})?)*(?=\s*$)))?",
    *("template <class T>", "template<>", "template< typename... A, B<C> = 1 >"),
    "template <T> requires A<T> && b",
)
ATTRIBUTE_C = piece(
    r"\[\[[^\]]*(?:\][^\]]+)*\]\]|(?:__attribute__|__declspec|alignas|_Alignas|explicit)\s*"
    + PARENTHESES,
    *("[[nodiscard]]", '[[deprecated("x[0]")]]', "__attribute__((a(1)))", "alignas(8)"),
)
