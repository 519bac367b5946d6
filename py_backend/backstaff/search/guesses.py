"""Guesses: which files a query may mean that matches none, or only scattered letters.

Each step is tried while few files are known; `search.query` puts the guesses in their places.

    SPELLING  `prnitf`           one edit away from the name `printf.c`
    CASE      `DirEntry`         matches `dir_entry.rs` without regard to case
    FOLDER    `app/tree.py`      the name `lib/tree.py` in another directory
    WORDS     `parsing of tests` some of the words, or of the parts of a CamelCase one, in any form
    NEAREST   `pasrer_tests`     the names that share most pairs of letters
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from math import log

from backstaff.fs.budget import Budget
from backstaff.search.stems import stem
from backstaff.search.suggestions import most_similar

MOST = 20
"""The most guesses of one step."""
SHORTEST = 5
"""The shortest word whose spelling is doubted: a shorter one is one edit from too many others."""
LONGEST = 64
NAME_FACTOR = 2.0
"""How much more a word counts in a name than in the path before it."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_A-Za-z]+")

Order = Callable[[int], tuple[object, ...]]
"""What decides among guesses that are equally good."""


def misspelt(word: str, paths: Sequence[str], order: Order, budget: Budget) -> list[int]:
    """The positions in PATHS whose name holds WORD but for one edit.

    An edit is a letter that is missing, is new or is another one, or two that are swapped. The
    names that are all of the word come first, then those that it begins.
    """
    if not SHORTEST <= len(word) <= LONGEST or "/" in word:
        return []
    # One edit leaves the letters before it or those behind it as they are.
    middle = (len(word) - 1) // 2
    first, last = word[:middle], word[middle + 1 :]
    edits = "|".join(_edits(word))
    one_edit = re.compile(rf"(?P<whole>^(?:{edits})(?=$|\.[^.]*$))|(?P<start>^(?:{edits}))|{edits}")

    def scored() -> Iterator[tuple[int, tuple[object, ...], int]]:
        for position, path in enumerate(budget.checked(paths)):
            if (first in path or last in path) and (found := one_edit.search(_name(path))):
                rank = 0 if found["whole"] is not None else 1 if found["start"] is not None else 2
                yield rank, order(position), position

    return [position for *_, position in nsmallest(MOST, scored())]


def _edits(word: str) -> Iterator[str]:
    """Yield regexes that together match WORD after one edit."""
    for at, letter in enumerate(word):
        before, behind = re.escape(word[:at]), re.escape(word[at + 1 :])
        yield f"{before}[^/]?{behind}"  # another one, or none
        yield f"{before}[^/]{re.escape(letter)}{behind}"
        if behind:
            yield before + re.escape(word[at + 1] + letter + word[at + 2 :])


def elsewhere(text: str, paths: Sequence[str], order: Order, budget: Budget) -> list[int]:
    """The positions in PATHS with the last name in TEXT, below as many of its directories as can be."""
    *folders, name = text.rstrip("/").split("/")
    if not folders or not name:
        return []
    wanted, end = set(folders), f"/{name}"

    def scored() -> Iterator[tuple[int, tuple[object, ...], int]]:
        for position, path in enumerate(budget.checked(paths)):
            if name in path and (f"/{path}".endswith(end) or f"/{path}".rpartition(".")[0].endswith(end)):
                yield -len(wanted.intersection(path.split("/"))), order(position), position

    return [position for *_, position in nsmallest(MOST, scored())]


def some_words(text: str, paths: Sequence[str], order: Order, budget: Budget) -> list[int]:
    """The positions in PATHS that hold stems of words in TEXT, the rarest and most of them first."""
    stems = dict.fromkeys(stem(part.lower()) for part in _PARTS.findall(text))
    scores: dict[int, float] = {}
    for one in (one for one in stems if len(one) > 2):
        held = [n for n, path in enumerate(budget.checked(paths)) if one in path]
        rarity = log(1 + len(paths) / (len(held) or 1))
        for position in held:
            in_name = one in _name(paths[position])
            scores[position] = scores.get(position, 0.0) + rarity * (NAME_FACTOR if in_name else 1.0)
    scored = ((-round(score, 9), order(position), position) for position, score in scores.items())
    return [position for *_, position in nsmallest(MOST, budget.checked(scored))]


def nearest(text: str, paths: Sequence[str], order: Order, budget: Budget) -> list[int]:
    """The positions in PATHS of the names that are most similar to the last one in TEXT."""
    return most_similar(text, paths, budget)


def _name(path: str) -> str:
    return path[path.rfind("/") + 1 :]
