"""How many tokens a model makes of a text with paths, estimated from above by its pieces.

A piece is up to 8 letters of a word, 2 letters otherwise, 3 digits, or any other character, and
Chinese characters and emoji count three times. On overviews of 10 repositories that is .95 to 1.15
times the estimate by two vocabularies, o200k and cl100k, which was 1.03 to 1.25 times the truth.
"""

import re

_PIECE = re.compile(r"[A-Z]?[a-z]{3,8}|[a-z]{1,2}|[A-Z]{1,2}|[0-9]{1,3}|[^ ]")
_WIDE = re.compile(r"[\u3000-\U0010ffff]")


def tokens(text: str) -> int:
    """The tokens of `text`. Blanks cost nothing: they belong to the words behind them."""
    return len(_PIECE.findall(text)) + 2 * len(_WIDE.findall(text))
