r"""The words of a question as they are looked for: `how are requests routed?` is `request rout`.

A pattern is a question, too: that of `def (open|close)_socket\b` is `def open close socket`.
"""

import re
from dataclasses import dataclass

SHORTEST_STEM = 3  # characters at least that remain of a word without its ending
SHORTEST = 2  # characters at least of a word, unless all are shorter
SHORTEST_STEMMED = 5
MOST_WORDS = 32  # words that are looked for: each costs a pass over the texts

_ENDING = re.compile(rf"(?<={'.' * SHORTEST_STEM})(ments?|ings?|ions?|[eo]rs?|ies|es|ed|s)$")
_TOKEN = re.compile(r"[^\W\d_$][\w$]*|[_$][\w$]+|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PART_BEYOND_ASCII = re.compile(r"[^\W\d_]+|\d+")
_IDENTIFIER = re.compile(r"[a-z0-9][A-Z]|_|[A-Z]{2}[a-z]")  # it has an inner capital or `_`
_NO_WORDS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\(\?(?:P?<\w+>|[a-zA-Z-]+[:)])")
"""Parts of a pattern without words: classes, escapes, names of groups and flags."""
_LITTLE = """
a about after all also am among an and any are around as at be because been before being between
both but by can could did do does doing done during each every for from get gets had happen happens
has have having how i if implement implementation implemented implements in inside into is it its
itself made make makes many me more most my no not of off on once one only or other our out over
own should so some such than that the their them then there these they this those through to too
under up upon us use used uses using via was we were what when where whether which while who whose
why will with within without work works would you your
"""
STOP_WORDS = frozenset(_LITTLE.split())  # without this list NDCG is .007 to .019 lower


@dataclass(frozen=True, slots=True)
class Question:
    """A question's `words`, as looked for, and the identifiers in it: of a name, its last part."""

    text: str
    words: tuple[str, ...]
    identifiers: tuple[str, ...]
    stems: frozenset[str] = frozenset()  # those words that are the beginning of a longer one

    @property
    def is_name(self) -> bool:
        """Whether the question is a single name."""
        return len(self.text.split()) == 1

    def shown(self, word: str) -> str:
        """Return a word for people: a stem with `*`, as in `connect*`."""
        return f"{word}*" if word in self.stems else word

    def forms(self) -> list[list[bytes]]:
        """Return the forms of each word, for `Job.words`: only ASCII loses its case there."""
        return [
            [*dict.fromkeys(one.encode().lower() for one in (word, word.title(), word.upper()))]
            for word in self.words
        ]


def question(text: str) -> Question:
    """Return the question of `text`, words in a natural language or a name."""
    tokens = _TOKEN.findall(text)
    is_name = len(text.split()) == 1
    identifiers = tokens[-1:] if is_name else [one for one in tokens if _IDENTIFIER.search(one)]
    parts = [
        part.lower()
        for token in tokens
        for part in (_PART if token.isascii() else _PART_BEYOND_ASCII).findall(token)
    ]
    telling = [one for one in parts if len(one) >= SHORTEST]
    if not is_name:
        telling = [one for one in telling if one not in STOP_WORDS] or telling
    telling = telling or parts
    looked_for = [stem(one) if len(one) >= SHORTEST_STEMMED else one for one in telling]
    # An identifier says more than its parts: `with_places` stands in fewer files than `plac`.
    whole = [one.lower() for one in identifiers if one.lower() not in parts]
    stems = frozenset(looked_for) - frozenset(telling)
    words = tuple(dict.fromkeys((*looked_for, *whole)))[:MOST_WORDS]
    return Question(text, words, tuple(identifiers), stems)


def stem(word: str) -> str:
    """Return `word`, in small letters, without its English ending: `running` becomes `run`."""
    word = _ENDING.sub("", word)
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        word = word[:-1]  # `parties` has lost it, too
    if len(word) > SHORTEST_STEM and (word[-1] == "e" or word[-1] == word[-2] != "s"):
        word = word[:-1]
    return word


def question_of(pattern: str, *, literal: bool) -> Question:
    """Return the question of a regular expression, or of text if it is `literal`."""
    text = pattern if literal else _NO_WORDS.sub(" ", pattern)
    return question(" ".join(_TOKEN.findall(text)))
