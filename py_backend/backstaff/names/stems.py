"""Stems: `validating`, `validates` and `validation` are forms of one word."""

import re

SHORTEST = 3
"""Minimum number of characters that remain of a word."""
_ENDING = re.compile(rf"(?<={'.' * SHORTEST})(ments?|ings?|ions?|[eo]rs?|ies|es|ed|s)$")


def stem(word: str) -> str:
    """Return `word`, in small letters, without its English ending: `running` becomes `run`."""
    word = _ENDING.sub("", word)
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        word = word[:-1]  # `parties` has lost it, too
    if len(word) > SHORTEST and (word[-1] == "e" or word[-1] == word[-2] != "s"):
        word = word[:-1]
    return word
