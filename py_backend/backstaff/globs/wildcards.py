"""Wildcard patterns as regular expressions that match in linear time.

A pattern is read as tokens, of which this module makes one expression. For example, `src/**/*.c` is
the tokens `s` `r` `c` `/` SPAN STAR `.` `c`.

Nothing in the expression backtracks. The text between two stars has a fixed length, so its leftmost
place is as good as any; it becomes an atomic group, which is never tried again. The same holds for
whole names between two spans.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Token(NamedTuple):
    """A part of a pattern: its regular expression, and its character if no other one fits."""

    regex: str
    character: str = ""


STAR = Token("[^/]*")
ANY = Token("[^/]")
SPAN = Token("(?:[^/]*/)*?")  # any number of whole names, as `**/` stands for
REST = Token("(?s:.*)")  # the rest of the path, as `**` at the end stands for
SPANS = (SPAN, REST)


def literal(character: str) -> Token:
    """A token that only `character` fits."""
    return Token(re.escape(character), character)


SLASH = literal("/")


def regex(tokens: Sequence[Token]) -> str:
    """The expression for whole paths that the `tokens` stand for."""
    # Blocks begin at spans. A block is a list of chunks, which stand between its stars.
    blocks: list[list[str]] = [[""]]
    for token in tokens:
        if token in SPANS:
            blocks.append([token.regex])
        elif token is STAR:
            blocks[-1].append("")
        else:
            blocks[-1][-1] += token.regex
    *inner, (first, *chunks) = blocks
    stars = "(?>[^/]*?{})".format
    inner = [block for block in inner if block != [""]]
    closed = "".join(f"(?>{start}{''.join(map(stars, others))})" for start, *others in inner)
    # The last chunk has to end the path, so its leftmost place would not do.
    last = f"[^/]*{chunks.pop()}" if chunks else ""
    return closed + first + "".join(map(stars, chunks)) + last
