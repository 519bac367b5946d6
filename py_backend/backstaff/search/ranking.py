"""Ranking: which of the paths that match some words are the best, and how they match.

Each word of a query scores a path by the best of these classes that applies:

    WHOLE_NAME        `tree` in `src/tree.py`      the name, with or without its extension
    NAME_PREFIX       `tree` in `treenode.py`
    WORD_START        `tree` in `my_tree.py`       after a character that is no letter or digit
    IN_NAME           `tree` in `subtree.py`
    IN_PATH           `tree` in `trees/leaf.py`
    INITIALS_IN_NAME  `tree` in `testReeds.py`     in pieces, each from the start of a word
    INITIALS_IN_PATH  `tree` in `tests/reed.py`
    GAPS_IN_NAME      `tree` in `top_refs_eel.py`  its characters in order, others between them
    GAPS_IN_PATH      `tree` in `to/refs/eel.py`

The step comes first (`How`): a path where one word has gaps stands after all where none has. Then
the sum of the classes decides, the number of gaps, the edits of late, the length of the path, and
its position.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from heapq import nsmallest
from operator import itemgetter

from backstaff.fs.budget import Budget

WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME, IN_PATH = range(5)
INITIALS_IN_NAME, INITIALS_IN_PATH, GAPS_IN_NAME, GAPS_IN_PATH = range(5, 9)

MOST_INITIALS = 32
"""Characters of a word that is looked for in pieces: a longer one costs their square."""

Score = tuple[int, int]
"""The class of a match and its gaps. Less is better."""


class How(StrEnum):
    """How a file was found, from the surest step to the wildest guess."""

    GLOB = "glob"
    NAME = "name"
    PATH = "path"
    INITIALS = "initials"
    SPELLING = "spelling"
    PIECES = "pieces"
    LETTERS = "letters"
    CASE = "case"
    FOLDER = "folder"
    WORDS = "words"
    NEAREST = "nearest"


Found = tuple[How, int]
"""How a path was found, and its position."""

STEPS = (How.NAME, How.PATH, How.INITIALS, How.PIECES, How.LETTERS)
_STEP_OF_CLASS = (0, 0, 0, 0, 1, 2, 3, 4, 4)


def best(
    words: Sequence[str],
    paths: Sequence[str],
    originals: Sequence[str],
    matching: Sequence[int],
    heat: Mapping[str, float],
    count: int,
    budget: Budget,
) -> list[tuple[How, int]]:
    """Return how, and which of the MATCHING positions in PATHS are the COUNT best.

    The ORIGINALS are the PATHS before their case was folded; HEAT tells how much some of them were
    edited of late. Raises `DeadlineExceeded`.
    """
    initials = [_initials(word, smart=paths is not originals) for word in words]
    scorers = [_scorer(word, pieces) for word, pieces in zip(words, initials, strict=True)]

    def key(position: int) -> tuple[int, int, int, float, int, int]:
        path, original = paths[position], originals[position]
        name = path[path.rfind("/") + 1 :]
        edits = -heat.get(original, 0.0)
        if len(scorers) == 1:
            kind, gaps = scorers[0](path, name, original)
            return _STEP_OF_CLASS[kind], kind, gaps, edits, len(path), position
        scores = [score(path, name, original) for score in scorers]
        step = max(_STEP_OF_CLASS[kind] for kind, _ in scores)
        kinds, gaps = (sum(map(itemgetter(n), scores)) for n in (0, 1))
        return step, kinds, gaps, edits, len(path), position

    if len(words) == 1:
        matching = _enough(words[0], paths, originals, matching, initials[0], count, budget)
    found = nsmallest(count, map(key, budget.checked(matching)))
    return [(STEPS[step], position) for step, *_, position in found]


def _enough(
    word: str,
    paths: Sequence[str],
    originals: Sequence[str],
    matching: Sequence[int],
    pieces: re.Pattern[str] | None,
    count: int,
    budget: Budget,
) -> Sequence[int]:
    """The positions of MATCHING among which the COUNT best are: a later step is slow to score."""
    whole = [position for position in budget.checked(matching) if word in paths[position]]
    if len(whole) >= count or len(whole) == len(matching):
        return whole
    if pieces is None:
        return matching
    in_pieces, there = pieces.search, set(whole)
    early = [
        position
        for position in budget.checked(matching)
        if position in there or in_pieces(originals[position])
    ]
    if len(early) >= count:
        return early
    there, in_order = set(early), subsequence(word).match
    early = [
        position
        for position in budget.checked(matching)
        if position in there or in_order(path := paths[position], path.rfind("/") + 1)
    ]
    return early if len(early) >= count else matching


def _scorer(
    word: str, pieces: re.Pattern[str] | None
) -> Callable[[str, str, str], Score]:
    """Make a function that scores how well WORD matches a path, its name and the original path."""
    match_with_gaps = subsequence(word, grouped=True).match
    at_word_start = re.compile(rf"[\W_]{re.escape(word)}").search

    def gaps(match: re.Match[str] | None) -> int:
        # Each group holds the characters of one gap, possibly none.
        return len(match.groups()) - match.groups().count("") if match else 0

    def score(path: str, name: str, original: str) -> Score:
        if word in path:
            at = name.find(word)
            if at < 0:
                return IN_PATH, 0
            if at == 0:
                is_whole = word in (name, name.rpartition(".")[0])
                return (WHOLE_NAME if is_whole else NAME_PREFIX), 0
            return (WORD_START if at_word_start(name) else IN_NAME), 0
        if pieces is not None:
            if match := pieces.search(original, original.rfind("/") + 1):
                return INITIALS_IN_NAME, gaps(match)
            if match := pieces.search(original):
                return INITIALS_IN_PATH, gaps(match)
        if match := match_with_gaps(name):
            return GAPS_IN_NAME, gaps(match)
        return GAPS_IN_PATH, gaps(match_with_gaps(path))

    return score


def subsequence(word: str, *, grouped: bool = False) -> re.Pattern[str]:
    """Compile a regex for the characters of WORD in order; GROUPED, each gap is a group.

    `ab` becomes `[^a]*+a[^b]*+b`. Possessive repeats never backtrack, so a match takes linear time.
    """
    first, *others = map(re.escape, word)
    gap = "([^{0}]*+){0}" if grouped else "[^{0}]*+{0}"
    return re.compile(f"[^{first}]*+{first}" + "".join(map(gap.format, others)))


def _initials(word: str, *, smart: bool) -> re.Pattern[str] | None:
    """Compile a regex for WORD in pieces, each from the start of a word; each gap is a group.

    `fs` becomes, in short, `\\bf(?>s|(.*?)\\bs)`, where a capital in CamelCase is a start, too. The
    next character counts before a later start, and nothing is tried again. SMART, case is no matter.
    """
    if len(word) > MOST_INITIALS:
        return None

    def either(character: str) -> str:
        capital = character.upper() if smart else character
        return f"[{character}{capital}]" if capital != character and len(capital) == 1 else re.escape(character)

    def start(character: str) -> str:
        if character.isdigit():
            return rf"(?<!\d){character}"
        if not character.isalpha():
            return re.escape(character)
        capital = character.upper() if smart else character
        camel = rf"|(?<=[a-z0-9]){capital}|{capital}(?=[a-z])" if "A" <= capital <= "Z" else ""
        return rf"(?:(?<![^\W_]){either(character)}{camel})"

    first, *others = word
    rest = (f"(?>{either(one)}|(.*?){start(one)})" for one in others)
    return re.compile(start(first) + "".join(rest), re.DOTALL)
