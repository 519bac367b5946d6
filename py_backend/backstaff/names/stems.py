"""Stems: `validating`, `validates` and `validation` are forms of one word."""

SHORTEST = 3
"""Minimum number of characters that remain of a word."""

_ENDINGS = (
    *(
        "ments",
        "ment",  # codespell:ignore ment
        "ings",
        "ing",
        "ions",
        "ion",
        "ers",
        "er",
        "ors",
        "or",
    ),
    *("ies", "es", "ed", "s"),
)
_VOWELS = tuple("aeiou")


def stem(word: str) -> str:
    """Return `word`, in small letters, without its English ending: `running` becomes `run`."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= SHORTEST + len(ending):
            word = word.removesuffix(ending)
            break
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        word = word[:-1]  # `parties` has lost it, too
    if len(word) > SHORTEST and (word[-1] == "e" or word[-1] == word[-2] != "s"):
        word = word[:-1]
    return word
