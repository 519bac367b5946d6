"""Ranking: which of the paths that match some words are the best, and how they match.

Each word of a query scores a path by the best of these classes that applies:

    WHOLE_NAME        `tree` in `src/tree.py`      the name, with or without its extension
    NAME_PREFIX       `tree` in `treenode.py`
    WORD_START        `tree` in `my_tree.py`       after a character that is no letter or digit
    IN_NAME           `tree` in `subtree.py`
    IN_PATH           `tree` in `trees/leaf.py`
    INITIALS_IN_NAME  `tree` in `testReeds.py`     in pieces that begin words: te-st, Ree-ds
    INITIALS_IN_PATH  `tree` in `tests/reed.py`
    GAPS_IN_NAME      `tree` in `top_refs_eel.py`  its characters in order, others between them
    GAPS_IN_PATH      `tree` in `to/refs/eel.py`

The step comes first (`How`): a path where one word has gaps stands after all where none has. Then
the sum of the classes decides, the number of gaps, the edits of late, the length of the path, and
its position.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest

from backstaff.fs.budget import Budget

WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME, IN_PATH = range(5)
INITIALS_IN_NAME, INITIALS_IN_PATH, GAPS_IN_NAME, GAPS_IN_PATH = range(5, 9)

MOST_INITIALS = 32
"""The longest word that is looked for in pieces. The time grows with the square of its length."""
SHORT = 5
"""The longest word that may be nothing but initials."""


class How(StrEnum):
    """How a file was found. `search.guesses` has the steps that are not here."""

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


STEPS = {
    How.NAME: (WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME),
    How.PATH: (IN_PATH,),
    How.INITIALS: (INITIALS_IN_NAME,),
    How.PIECES: (INITIALS_IN_PATH,),
    How.LETTERS: (GAPS_IN_NAME, GAPS_IN_PATH),
}
"""The classes of each step, in order. The step of a path is that of its worst word."""
CLOSE = (How.NAME, How.PATH)
"""So surely found that nothing needs to be guessed."""

_HOW = list(STEPS)
_STEP = [step for step, classes in enumerate(STEPS.values()) for _ in classes]

Found = tuple[How, int]
"""How a path was found, and its position."""
Pieces = Callable[[str, int], re.Match[str] | None]
"""From a path before its case was folded, and where to begin: a word in pieces."""
Scorer = Callable[[str, str, str], tuple[int, int]]
"""From a path, its name and the path before its case was folded: the class and the gaps."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks PATHS for WORDS. ORIGINALS are the paths before their case was folded, if it was.

    HEAT says how much some of the originals were edited of late.
    """

    words: Sequence[str]
    paths: Sequence[str]
    originals: Sequence[str]
    heat: Mapping[str, float]

    def best(self, matching: Sequence[int], count: int, budget: Budget) -> list[Found]:
        """Return the COUNT best of the MATCHING positions. Raises `DeadlineExceeded`."""
        paths, originals, heat = self.paths, self.originals, self.heat
        pieces = [_in_pieces(word, ignore_case=paths is not originals) for word in self.words]
        scorers = [_scorer(*each) for each in zip(self.words, pieces, strict=True)]

        def key(position: int) -> tuple[int, int, int, float, int, int]:
            path, original = paths[position], originals[position]
            name = path[path.rfind("/") + 1 :]
            heat_here = -heat.get(original, 0.0) if heat else 0.0
            if len(scorers) == 1:
                kind, gaps = scorers[0](path, name, original)
                return _STEP[kind], kind, gaps, heat_here, len(path), position
            kinds, all_gaps = zip(*[score(path, name, original) for score in scorers], strict=True)
            step = _STEP[max(kinds)]
            return step, sum(kinds), sum(all_gaps), heat_here, len(path), position

        if len(self.words) == 1:
            matching = self._in_early_steps(matching, pieces[0], count, budget)
        ranked = nsmallest(count, map(key, budget.checked(matching)))
        return [(_HOW[step], position) for step, *_, position in ranked]

    def _in_early_steps(
        self, matching: Sequence[int], pieces: Pieces, count: int, budget: Budget
    ) -> Sequence[int]:
        """The positions of MATCHING in the steps that make COUNT; later ones are slow to score."""
        paths, originals, (word,) = self.paths, self.originals, self.words
        in_order = subsequence(word).match
        whole: list[int] = []
        in_name: list[int] = []
        others: list[int] = []
        for position in budget.checked(matching):
            path = paths[position]
            if word in path:
                whole.append(position)
            elif in_order(path, path.rfind("/") + 1):
                in_name.append(position)
            else:
                others.append(position)
        if len(whole) >= count:
            # A letter or two stand in most paths, and in many names.
            named = [at for at in whole if paths[at].find(word, paths[at].rfind("/") + 1) >= 0]
            return named if len(named) >= count else whole
        early = [
            position
            for position in budget.checked(in_name)
            if pieces(path := originals[position], path.rfind("/") + 1)
        ]
        if len(whole) + len(early) >= count:
            return [*whole, *early]
        late = [position for position in budget.checked(others) if pieces(originals[position], 0)]
        found = [*whole, *in_name, *late]
        return found if len(found) >= count else matching


def _scorer(word: str, pieces: Pieces) -> Scorer:
    """Make a function that scores how well WORD matches. PIECES are those of `_in_pieces`."""
    match_with_gaps = subsequence(word, grouped=True).match
    at_word_start = re.compile(rf"[\W_]{re.escape(word)}").search

    def whole(name: str) -> int:
        at = name.find(word)
        if at < 0:
            return IN_PATH
        if at == 0:
            return WHOLE_NAME if word in (name, name.rpartition(".")[0]) else NAME_PREFIX
        return WORD_START if at_word_start(name) else IN_NAME

    def score(path: str, name: str, original: str) -> tuple[int, int]:
        if word in path:
            return whole(name), 0
        at = original.rfind("/") + 1
        if pieces(original, at):
            return INITIALS_IN_NAME, 0
        if found := pieces(original, 0):
            # A directory and the beginning of the name, glued together, is what people type.
            starts = {end for _, end in found.regs[1:]}
            return INITIALS_IN_PATH, 2 * _jumps(found) - (at in starts)
        found, kind = match_with_gaps(name), GAPS_IN_NAME
        if found is None:
            found, kind = match_with_gaps(path), GAPS_IN_PATH
        # Each group holds the characters of one gap, possibly none.
        return kind, len(found.groups()) - found.groups().count("") if found else 0

    return score


def subsequence(word: str, *, grouped: bool = False) -> re.Pattern[str]:
    """Compile a regex for the characters of WORD in order; GROUPED, each gap is a group.

    `ab` becomes `[^a]*+a[^b]*+b`. Possessive repeats never backtrack, so a match takes linear time.
    """
    first, *others = map(re.escape, word)
    gap = "([^{0}]*+){0}" if grouped else "[^{0}]*+{0}"
    return re.compile(f"[^{first}]*+{first}" + "".join(map(gap.format, others)))


def _in_pieces(word: str, *, ignore_case: bool) -> Pieces:
    r"""Make a function that finds WORD in pieces that begin words; each gap is a group.

    `fs` becomes `\bf(?>s|(.*?)\bs)`, where `\b` stands for the start of a word, as in CamelCase or
    snake_case. If the next character follows at once, that is taken, and nothing is tried again.
    Pieces of fewer than three characters on average are no accident only in a short word.
    """

    def either(character: str) -> str:
        capital = character.upper() if ignore_case else character
        both = capital != character and len(capital) == 1
        return f"[{character}{capital}]" if both else re.escape(character)

    def start(character: str) -> str:
        if not character.isalnum():
            return re.escape(character)
        # The character stands first, so that `re` finds the places to look at quickly.
        capital = character.upper()
        camel = rf"|(?<=[a-z0-9]{capital})|(?<={capital})(?=[a-z])" if "A" <= capital <= "Z" else ""
        return rf"{either(character)}(?:(?<![^\W_].){camel})"

    if len(word) > MOST_INITIALS:
        return lambda _path, _at: None
    parts = [f"(?>{either(one)}|(.*?){start(one)})" for one in word[1:]]
    search = re.compile(start(word[0]) + "".join(parts), re.DOTALL).search
    most = len(word) if len(word) <= SHORT else len(word) // 3

    def find(path: str, at: int) -> re.Match[str] | None:
        found = search(path, at)
        return found if found and _jumps(found) <= most else None

    return find


def _jumps(found: re.Match[str]) -> int:
    return len(found.groups()) - found.groups().count(None)
