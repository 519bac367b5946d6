"""Ranking: which of the paths that match some words are the best.

Each word of a query scores a path by the best of these classes that applies:

    WHOLE_NAME    `tree` in `src/tree.py`      the name, with or without its extension
    NAME_PREFIX   `tree` in `treenode.py`
    WORD_START    `tree` in `my_tree.py`       after a character that is no letter or digit
    IN_NAME       `tree` in `subtree.py`
    IN_PATH       `tree` in `trees/leaf.py`
    GAPS_IN_NAME  `tree` in `top_refs_eel.py`  its characters in order, others between them
    GAPS_IN_PATH  `tree` in `to/refs/eel.py`

The sum over the words decides; then the number of gaps, the length of the path, and its position.
"""

import re
from collections.abc import Callable, Sequence
from heapq import nsmallest

from backstaff.fs.budget import Budget

WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME, IN_PATH, GAPS_IN_NAME, GAPS_IN_PATH = range(7)

Score = tuple[int, int]
"""The class of a match and its gaps. Less is better."""


def best(words: Sequence[str], paths: Sequence[str], count: int, budget: Budget) -> list[int]:
    """Return the COUNT best of PATHS, which all match, by position. Raises `DeadlineExceeded`."""
    matching: Sequence[int] = range(len(paths))
    scorers = [_scorer(word) for word in words]

    def key(position: int) -> tuple[int, int, int, int]:
        path = paths[position]
        name = path[path.rfind("/") + 1 :]
        if len(scorers) == 1:
            return *scorers[0](path, name), len(path), position
        scores = [score(path, name) for score in scorers]
        return sum(c for c, _ in scores), sum(g for _, g in scores), len(path), position

    if len(words) == 1:
        # Gaps in a path rank last, and are slow to score. Often there are enough other matches.
        word, in_order = words[0], subsequence(words[0]).match
        others = [
            position
            for position in budget.checked(matching)
            if word in (path := paths[position]) or in_order(path, path.rfind("/") + 1)
        ]
        if len(others) >= count:
            matching = others
    return [position for *_, position in nsmallest(count, map(key, budget.checked(matching)))]


def _scorer(word: str) -> Callable[[str, str], Score]:
    """Make a function that scores how well WORD matches a path and its name."""
    match_with_gaps = subsequence(word, grouped=True).match
    at_word_start = re.compile(rf"[\W_]{re.escape(word)}").search

    def gaps(match: re.Match[str] | None) -> int:
        # Each group holds the characters of one gap, possibly none.
        return len(match.groups()) - match.groups().count("") if match else 0

    def score(path: str, name: str) -> Score:
        if word in path:
            at = name.find(word)
            if at < 0:
                return IN_PATH, 0
            if at == 0:
                is_whole = word in (name, name.rpartition(".")[0])
                return (WHOLE_NAME if is_whole else NAME_PREFIX), 0
            return (WORD_START if at_word_start(name) else IN_NAME), 0
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
