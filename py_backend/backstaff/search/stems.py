"""Stems: `validating`, `validates` and `validated` are forms of one word."""


def stem(word: str) -> str:
    """WORD, in small letters, without the ending of an English form."""
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        return word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_ENDINGS = (
    ("ations", 3), ("ation", 3), ("ings", 3), ("ing", 3), ("ies", 2), ("ments", 3), ("ment", 3),
    ("ers", 3), ("er", 3), ("ors", 3), ("or", 3), ("ed", 3), ("es", 3), ("s", 3), ("y", 3), ("ion", 3),
)
