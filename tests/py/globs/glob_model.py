r"""The glob language of `backstaff.globs.globs`, slow and plain, for tests to compare with.

Braces come first, as in a shell: `{a,b}` stands for each alternative; braces without a comma are
literal. If the brackets are balanced, a bracket outside a class is literal. A class in a name
without a star also matches its own text. Then come tokens,
segments and names, by trying all possibilities. Sequences (`{1..3}`) and `${` are left to examples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

Fits = Callable[[str], bool]
"""Return True if one character matches a token."""


@dataclass(frozen=True)
class Class:
    """A class such as `[a-z]`, and its `text`."""

    text: str
    fits: Fits


Token = str | Fits | Class
STAR, SLASH = "*", "/"


def matches(pattern: str, path: str) -> bool:
    """Return True if `pattern` matches `path`, as `p` or `p/`. Raises ValueError if it is bad."""
    names = path.split("/")
    segments = [segments_of(plain) for plain in alternatives(pattern.removeprefix("./"))]
    return any(fits(one, way) for one in segments for way in (names, [*names, ""]))


def alternatives(text: str) -> list[str]:
    """Return every pattern that `text` stands for."""
    if not balanced(text, "{}"):
        raise ValueError("unbalanced braces")
    start = next((i for i in unescaped(text) if text[i] == "{"), None)
    if start is None:
        return [text]
    end, commas = closing(text, start)
    cuts = [start, *commas, end]
    inner = [text[a + 1 : b] for a, b in pairwise(cuts)]
    middle = [plain for part in inner for plain in alternatives(part)]
    if not commas:
        middle = ["{" + plain + "}" for plain in middle]
    return [text[:start] + one + rest for one in middle for rest in alternatives(text[end + 1 :])]


def balanced(text: str, pair: str) -> bool:
    """Return True if each bracket of the `pair` has its partner."""
    depth = 0
    for i in unescaped(text):
        depth += {pair[0]: 1, pair[1]: -1}.get(text[i], 0)
        if depth < 0:
            return False
    return depth == 0


def closing(text: str, start: int) -> tuple[int, list[int]]:
    """Return the end of the brace at `start`, and the places of its own commas."""
    depth, commas = 0, []
    for i in unescaped(text):
        if i >= start:
            depth += {"{": 1, "}": -1}.get(text[i], 0)
            if text[i] == "," and depth == 1:
                commas.append(i)
            if not depth:
                return i, commas
    raise AssertionError(text)


def unescaped(text: str) -> Iterator[int]:
    """Yield the places of the characters without a backslash before them."""
    i = 0
    while i < len(text):
        if text[i] == "\\":
            i += 2
        else:
            yield i
            i += 1


def segments_of(pattern: str) -> list[list[Token]]:
    """Return the tokens of `pattern` between its slashes."""
    segments: list[list[Token]] = [[]]
    rest = pattern
    literal = "[]" if balanced(pattern, "[]") else ""
    while rest:
        token, rest = first_token(rest, literal)
        if token == SLASH:
            segments.append([])
        else:
            segments[-1].append(token)
    return segments


def first_token(text: str, literal: str) -> tuple[Token, str]:
    """Return the first token of `text` and the rest; a `literal` character may be a token."""
    match text[0]:
        case "\\":
            if len(text) == 1:
                raise ValueError("ends with a backslash")
            return (SLASH if text[1] == "/" else text[1].__eq__), text[2:]
        case "[" if found := first_class(text[1:]):
            return found
        case "[" | "]" if text[0] not in literal:
            raise ValueError("unbalanced brackets")
        case "?":
            return (lambda _: True), text[1:]
        case "*" | "/":
            return text[0], text[1:]
        case _:
            return text[0].__eq__, text[1:]


def first_class(text: str) -> tuple[Class, str] | None:
    """Return the class that `text` starts with, after its bracket, and the rest; None if none."""
    negated = text[:1] in ("!", "^")
    rest = text[1:] if negated else text
    members: list[tuple[str, bool]] = []
    while not (rest[:1] == "]" and members):
        if rest[:1] in ("", "/") or rest[:2] in ("\\", "\\/"):
            return None
        escaped = rest[0] == "\\"
        members.append((rest[1] if escaped else rest[0], escaped))
        rest = rest[2:] if escaped else rest[1:]
    if "[:" in text[: len(text) - len(rest)]:
        raise ValueError("a named class")
    ranges = list(ranges_of(members))
    own = f"[{text[: len(text) - len(rest)]}]"
    return Class(own, lambda c: any(a <= c <= b for a, b in ranges) != negated), rest[1:]


def ranges_of(members: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    """Yield the first and last characters of the ranges in a class with these `members`."""
    while members:
        first = members[0][0]
        if members[1:2] == [("-", False)] and members[2:]:
            last, members = members[2][0], members[3:]
            if last < first:
                raise ValueError("a range that runs backwards")
        else:
            last, members = first, members[1:]
        yield first, last


def fits(segments: list[list[Token]], names: list[str]) -> bool:
    """Return True if the `names` match; the last is empty if the path ends with a slash."""
    if not segments:
        return not names
    first, *rest = segments
    if first == [STAR, STAR]:
        if not rest:
            return bool(names)
        return any(fits(rest, names[count:]) for count in range(len(names) + 1))
    return bool(names) and fits_name(first, names[0]) and fits(rest, names[1:])


def fits_name(tokens: list[Token], name: str) -> bool:
    """Return True if one `name` matches. Stars alone need a name."""
    if tokens and all(token == STAR for token in tokens):
        return bool(name)
    return fits_rest(tokens, name, has_star=STAR in tokens)


def fits_rest(tokens: list[Token], name: str, *, has_star: bool) -> bool:
    """Return True if the rest of a name matches the rest of its tokens."""
    if not tokens:
        return not name
    first, *rest = tokens
    lengths = range(len(name) + 1)  # of the parts that the first token may match
    if isinstance(first, Class):
        own = len(first.text) if not has_star and name.startswith(first.text) else 0
        lengths = range(1, 1 + (name != "" and first.fits(name[0])))
        if own and fits_rest(rest, name[own:], has_star=has_star):
            return True
    elif callable(first):
        lengths = range(1, 1 + (name != "" and first(name[0])))
    return any(fits_rest(rest, name[length:], has_star=has_star) for length in lengths)
