"""The facts about a language by which its definitions are found, and the expressions made of them.

An expression sees at most `LONGEST` characters of a line, or walks the text once, so the time is
linear in the text. Only single characters are repeated possessively, because Python before 3.11.5
loses matches where groups are.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby

LONGEST = 400  # characters of a line that are looked at, at most
CONTAINERS = frozenset(  # kinds of definitions that have members
    "class interface struct enum trait impl module mod namespace object protocol extension record"
    " union @interface type actor companion defmodule defimpl defprotocol".split()
)
Match = Callable[..., re.Match[str] | None]
Find = Callable[..., Iterator[re.Match[str]]]
MODIFIERS = (  # patterns for words before the keyword of a definition, in any language
    r"abstract accessor actual annotation async auto(?=\s++trait) borrowing"
    r" case(?=\s++(?:class|object)) class(?=\s++(?:func|var|subscript)\b) companion(?!\s++object)"
    r" const(?!\s++(?:class|[\w$]++\s*+=)) constexpr consuming convenience data declare default"
    r" distributed dynamic(?=\s++(?:func|init)) expect explicit export"
    r" extern(?:\s*+\"[^\"]*+\")? external file fileprivate final friend fun(?=\s++interface) get"
    r" implicit indirect infix inline inner internal lateinit lazy local mutating native"
    r" new(?=\s++[\w<>,\[\].?]++\s++\w) non-sealed nonisolated open operator(?=\s++fun) override"
    r" package partial postfix prefix private(?:\(set\))? protected pub(?:\([^)]*+\))? public"
    r" readonly ref required sealed set static strictfp suspend synchronized tailrec unsafe"
    r" value virtual"
).split()
_MODIFIERS = "|".join(  # by first letters, because `re` tries one alternative after the other
    f"{letter}(?:{'|'.join(word[1:] for word in words)})"
    for letter, words in groupby(MODIFIERS, lambda word: word[0])
)
BLOCK = (r"/\*", "*/", "")  # the comment of most languages: an item of `long`
ESCAPED = r"\\."
_WITHIN = r"\\.|\$(?!\()|"  # escapes in a string on one line, in which no `$(` of the shell stands


@dataclass(frozen=True, kw_only=True, eq=False)
class Language:
    """The look of a definition, its end, and the tokens that hide brackets and words.

    Each of `rules` is a pattern with two groups, the kind and the name. Before each of them may
    stand `attributes`, a pattern, and `MODIFIERS`.
    """

    files: str  # their extensions or whole names
    modes: str = ""  # interpreters and modes of Emacs that name the language in a first line
    rules: tuple[str, ...]
    attributes: str = "(?!)"  # a decorator or the like: on its own line or before a definition
    words: str = ""
    """Patterns, of which one matches in each line with a keyword; `~` stands for a blank. A line
    within a function in which none does defines nothing. With "" any line may do."""
    ends: str = ""  # signs at the end of lines that may define something, too
    end: str = "{"
    """A pattern for the beginning of a line that ends a definition. With "" indentation alone ends
    it, and with "{" the partner of the brace of its body does."""
    bare: bool = False  # functions have no keyword, but modifiers at most: `async name(...) {`
    shape: str = ""
    """A pattern for a function that has no keyword; its last group is named `shape`. It is the name
    where it is `bare`, else what has a type and a name before a parenthesis."""
    local: bool = False  # typed functions stand in functions, too
    of_c: bool = False  # they stand outside of classes, and have a body; macros stand for types
    anonymous: bool = False  # `new Type() {` and constants of an enum have members
    comments: tuple[str, ...] = ("//",)  # beginnings of comments that end with the line
    long: tuple[tuple[str, str, str], ...] = (BLOCK,)
    r"""Comments and strings that may go on over lines. Each begins with a pattern, and ends with a
    text, in which \1 is the group of the pattern: `(r"\[(=*+)\[", r"]\1]", "")`. An end within the
    third, a pattern for escapes, does not count."""
    quotes: str = "\"'"  # marks around strings, which end with the line unless `long` has them, too
    here_document: str = ""  # with the groups `word`, the line that ends it, and `indented`
    opaque: str = ""  # a token in which quotes and other marks mean nothing: a regular expression
    above: str = "(?!)"  # the beginning of further lines that belong to the definition below
    no_body: str = ""  # a kind and what stands before a brace of it that begins a type or a value
    goes_on: str = ""  # lines that continue a definition at their own indentation

    @cached_property
    def rule(self) -> Match:
        """Matches a definition behind its attributes and modifiers; the last two groups count."""
        not_after = "[=:;,?!(]" if self.bare else "[=;,?!]"
        calls = r"(?![\w$]++(?:\.[\w$.]*+[(,;]|\(\"))" * self.bare
        before = rf"{calls}(?:(?:{_MODIFIERS})\s++(?!{not_after})|(?:{self.attributes})\s*+)*"
        return matcher(f"{before}(?:{'|'.join(filter(None, (*self.rules, self.shape)))})")

    @cached_property
    def finders(self) -> list[Find]:
        """Find `words`."""
        return [finder(word.replace("~", " ")) for word in self.words.split()]

    def closer(self, found: re.Match[str]) -> re.Pattern[str]:
        """Return a pattern for the end, with a group, of the token `found` begins; or escapes."""
        _, end, escape = self.long[int((found.lastgroup or "")[1:])]
        end = re.escape(end.replace(r"\1", found[(found.lastindex or 1) - 1] or ""))
        return re.compile(f"{escape}|{end}()" if escape else f"{end}()", re.DOTALL)

    @cached_property
    def tokens(self) -> Find:
        """Finds the tokens that hide brackets and words.

        The name of its last group begins with `c` for a comment, with `h` for the mark of a
        here-document, and with `l` for that of a token that may go on over lines, whose number
        follows. One without a group is a string or the like on one line. Each alternative begins
        with a character, because `re` finds these many times faster.
        """
        begins = [begin for begin, _, _ in self.long]
        parts = [
            self.opaque,
            *(f"{begin}(?P<l{at}>)" for at, begin in enumerate(begins) if len(begin) > 1),
            *(rf"{q}[^{q}\\\n]*+(?:\\.[^{q}\\\n]*+)*{q}?" for q in self.quotes if q not in begins),
            *(
                rf"{q}(?:{_WITHIN if escape else ''}[^{q}\\\n$]{{1,99}}+){{0,99}}{q}|{q}(?P<l{at}>)"
                for at, (q, _, escape) in enumerate(self.long)
                if len(q) == 1
            ),
            *(
                rf"{c}[^\n]*+(?:\n[ \t]*+{c}[^\n]*+)*(?P<c{at}>)"
                for at, c in enumerate(self.comments)
            ),
            "<<(?P<h>)" * bool(self.here_document),
        ]
        return re.compile("|".join(filter(None, parts))).finditer


@cache
def matcher(pattern: str) -> Match:
    """Return the function that matches `pattern` at the beginning; "" matches nothing."""
    return re.compile(pattern or r"(?!)").match


@cache
def finder(pattern: str) -> Find:
    """Return the function that finds `pattern`, in which `$` is the end of a line."""
    return re.compile(pattern, re.MULTILINE).finditer
