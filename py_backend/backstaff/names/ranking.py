"""Ranking: which of the paths that match some words are the best, and how they match.

Each word of a query scores a path by the best of these classes that applies:

    WHOLE_NAME        `tree` in `src/tree.py`      the name, with or without its extension
    NAME_PREFIX       `tree` in `treenode.py`
    WORD_START        `tree` in `my_tree.py`       after a character that is no letter or digit
    IN_NAME           `tree` in `subtree.py`
    IN_PATH           `tree` in `trees/leaf.py`
    INITIALS          `tree` in `testReeds.py`     in pieces that begin all words: te-st, Ree-ds
    GLUED             `srctree` in `src/tree.py`   the beginnings of a directory and of the name
    INITIALS_IN_NAME  `tree` in `myTestReeds.py`   in pieces that begin some words
    INITIALS_IN_PATH  `tree` in `tests/reed.py`
    GAPS_IN_NAME      `tree` in `top_refs_eel.py`  its characters in order, others between them
    GAPS_IN_PATH      `tree` in `to/refs/eel.py`

The step comes first (`How`): a path where one word has gaps stands after all where none has. Then
the sum of the classes decides, the number of gaps, the edits of late, the length of the path, and
its position. What counts as a gap depends on the class: in initials a word of the name that no
piece begins, so `hcl` means `ha-config-labels` before `history-chart-line-map`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from heapq import nsmallest

from backstaff.budget import Budget

WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME, IN_PATH = range(5)
INITIALS, GLUED, INITIALS_IN_NAME, INITIALS_IN_PATH, GAPS_IN_NAME, GAPS_IN_PATH = range(5, 11)

MOST_INITIALS = 32
"""The longest word that is looked for in pieces. The time grows with the square of its length."""
SHORT = 5
"""The longest word that may be nothing but initials."""
SHORTEST_PIECE = 2
"""The characters that each part of a glued word has at least."""


class How(StrEnum):
    """How a file was found. `names.guesses` has the steps that are not here."""

    GLOB = "glob"
    NAME = "name"
    PATH = "path"
    INITIALS = "initials"
    SPELLING = "spelling"
    PIECES = "pieces"
    LETTERS = "letters"
    SAME = "same"
    CASE = "case"
    FOLDER = "folder"
    WORDS = "words"


STEPS = {
    How.NAME: (WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME),
    How.PATH: (IN_PATH,),
    How.INITIALS: (INITIALS, GLUED),
    How.PIECES: (INITIALS_IN_NAME, INITIALS_IN_PATH),
    How.LETTERS: (GAPS_IN_NAME, GAPS_IN_PATH),
}
"""The classes of each step, in order. The step of a path is that of its worst word."""
CLOSE = (How.NAME, How.PATH)
"""So surely found that nothing needs to be guessed."""

_HOW = list(STEPS)
_WORDS = re.compile(r"[A-Z]+(?![a-z])[^\W_A-Z]*|[A-Z]?[^\W_A-Z]+").findall
_WORD_STARTS = re.compile(r"(?<![^\W_])[^\W_]|(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])").findall
_STEP = [step for step, classes in enumerate(STEPS.values()) for _ in classes]

Found = tuple[How, int]
"""How a path was found, and its position."""
Pieces = Callable[[str, int], re.Match[str] | None]
"""From a path before its case was folded, and where to begin: a word in pieces."""
Glued = Callable[[str, str], int | None]
"""From a path and the path before its case was folded: how far apart the two parts of a word are.

0 if they stand in the name and in the directory that holds it, 1 if in one further up.
"""
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

    def best(self, count: int, budget: Budget) -> list[Found]:
        """Return the COUNT best. Raises `DeadlineExceeded`."""
        paths, originals, heat = self.paths, self.originals, self.heat
        ignore_case = paths is not originals
        pieces = [_in_pieces(word, ignore_case=ignore_case) for word in self.words]
        glued = [_glued(word, ignore_case=ignore_case) for word in self.words]
        scorers = [_scorer(*each) for each in zip(self.words, pieces, glued, strict=True)]

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
            early = self._in_early_steps(pieces[0], glued[0], count, budget)
        else:
            early = range(len(paths))
        ranked = nsmallest(count, map(key, budget.checked(early)))
        return [(_HOW[step], position) for step, *_, position in ranked]

    def _in_early_steps(
        self, pieces: Pieces, glued: Glued | None, count: int, budget: Budget
    ) -> Collection[int]:
        """The positions of the paths in the steps that make COUNT; later ones are slow to score."""
        paths, originals, (word,) = self.paths, self.originals, self.words
        whole = [at for at, path in enumerate(budget.checked(paths)) if word in path]
        if len(whole) >= count:
            # A letter or two stand in most paths, and in many names.
            named = [at for at in whole if paths[at].find(word, paths[at].rfind("/") + 1) >= 0]
            return named if len(named) >= count else whole
        in_order, known = subsequence(word).match, set(whole)
        in_name = [
            at
            for at, path in enumerate(paths)
            if at not in known and in_order(path, path.rfind("/") + 1)
        ]
        initials = {
            position: found
            for position in budget.checked(in_name)
            if (found := pieces(path := originals[position], path.rfind("/") + 1))
        }
        early = {*whole, *(at for at, found in initials.items() if not _passed_over(found))}
        if len(early) >= count:
            return early
        early.update(initials)
        known.update(in_name)
        others = [at for at in range(len(paths)) if at not in known]
        if glued:
            tried = budget.checked([*in_name, *others])
            early.update(at for at in tried if glued(paths[at], originals[at]) is not None)
        if len(early) >= count:
            return early
        early.update(in_name)
        early.update(at for at in budget.checked(others) if pieces(originals[at], 0))
        return early if len(early) >= count else range(len(paths))


def _scorer(word: str, pieces: Pieces, glued: Glued | None) -> Scorer:
    """Make a function that scores how well WORD matches.

    PIECES and GLUED are those of `_in_pieces` and `_glued`.
    """
    match_with_gaps = subsequence(word, grouped=True).match
    at_word_start = re.compile(rf"[\W_]{re.escape(word)}").search

    def whole(name: str) -> int:
        at = name.find(word)
        if at < 0:
            return IN_PATH
        if at == 0:
            return WHOLE_NAME if is_whole_name(word, name) else NAME_PREFIX
        return WORD_START if at_word_start(name) else IN_NAME

    def score(path: str, name: str, original: str) -> tuple[int, int]:
        if word in path:
            return whole(name), 0
        if scored := _in_words(path, original, pieces, glued):
            return scored
        found, kind = match_with_gaps(name), GAPS_IN_NAME
        if found is None:
            found, kind = match_with_gaps(path), GAPS_IN_PATH
        # Each group holds the characters of one gap, possibly none.
        return kind, len(found.groups()) - found.groups().count("") if found else 0

    return score


def _in_words(
    path: str, original: str, pieces: Pieces, glued: Glued | None
) -> tuple[int, int] | None:
    """The class and the gaps of a word whose pieces begin words; None if they do not."""
    at = original.rfind("/") + 1
    in_name = pieces(original, at)
    passed_over = _passed_over(in_name) if in_name else 0
    if in_name and not passed_over:
        return INITIALS, 0
    if glued and (apart := glued(path, original)) is not None:
        return GLUED, apart
    if in_name:
        return INITIALS_IN_NAME, passed_over
    if found := pieces(original, 0):
        # A directory and the beginning of the name, glued together, is what people type.
        starts = {end for _, end in found.regs[1:]}
        return INITIALS_IN_PATH, 2 * _jumps(found) - (at in starts)
    return None


def is_whole_name(word: str, path: str) -> bool:
    """Whether WORD is the name at the end of PATH, with or without its extension."""
    name = path[path.rfind("/") + 1 :]
    return word in (name, name.rpartition(".")[0])


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
    if len(word) > MOST_INITIALS:
        return lambda _path, _at: None
    either, start = (partial(one, ignore_case=ignore_case) for one in (_either, _start))
    parts = [f"(?>{either(one)}|(.*?){start(one)})" for one in word[1:]]
    search = re.compile(start(word[0]) + "".join(parts), re.DOTALL).search
    most = len(word) if len(word) <= SHORT else len(word) // 3

    def find(path: str, at: int) -> re.Match[str] | None:
        found = search(path, at)
        return found if found and _jumps(found) <= most else None

    return find


def _glued(word: str, *, ignore_case: bool) -> Glued | None:
    """Make a function that finds WORD cut in two: a directory's word begins with the first part.

    The name begins with the other: `srctree` is `src/tree.py`, and `utilog` is `utils/log.py`,
    wherever it has to be cut. A short word is not cut, as it rather is initials.
    """
    if not SHORT < len(word) <= MOST_INITIALS:
        return None
    cuts = range(SHORTEST_PIECE, len(word) - SHORTEST_PIECE + 1)
    begins = re.compile("|".join(re.escape(word[cut:]) for cut in cuts)).match
    # At the start of a word, as many characters as follow there: `s(?:r(?:c...)?)?`.
    rest = "".join(f"(?:{_either(one, ignore_case=ignore_case)}" for one in word[1:])
    starts = re.compile(_start(word[0], ignore_case=ignore_case) + rest + ")?" * (len(word) - 1))

    def find(path: str, original: str) -> int | None:
        if not begins(path, path.rfind("/") + 1):
            return None
        name, at = path[path.rfind("/") + 1 :], original.rfind("/")
        parent, most = original.rfind("/", 0, max(at, 0)) + 1, 0
        fitting = [cut for cut in cuts if name.startswith(word[cut:])]
        for found in starts.finditer(original, 0, max(at, 0)):
            if found.end() - found.start() >= fitting[0]:
                most = max(most, 2 if found.start() >= parent else 1)
        return 2 - most if most else None

    return find


def _either(character: str, *, ignore_case: bool) -> str:
    """Make a regex for CHARACTER, and for its capital if IGNORE_CASE."""
    capital = character.upper() if ignore_case else character
    both = capital != character and len(capital) == 1
    return f"[{character}{capital}]" if both else re.escape(character)


def _start(character: str, *, ignore_case: bool) -> str:
    """Make a regex for CHARACTER at the start of a word, as in CamelCase or snake_case."""
    if not character.isalnum():
        return re.escape(character)
    # The character stands first, so that `re` finds the places to look at quickly.
    capital = character.upper()
    camel = rf"|(?<=[a-z0-9]{capital})|(?<={capital})(?=[a-z])" if "A" <= capital <= "Z" else ""
    return rf"{_either(character, ignore_case=ignore_case)}(?:(?<![^\W_].){camel})"


def _passed_over(found: re.Match[str]) -> int:
    """How many words of the name no piece that was FOUND begins."""
    path = found.string
    at = path.rfind("/") + 1
    dot = path.rfind(".", at + 1)
    words = len(_WORDS(path, at, dot if dot > 0 else len(path)))
    if words <= _jumps(found) + 1:
        return 0
    # Pieces may hold more than one start: `hadb` reads `haD` of `haDialogBox` in one.
    gaps = [gap for gap in found.regs[1:] if gap[0] >= 0]
    begins = [found.start(), *[end for _, end in gaps]]
    ends = [*[start for start, _ in gaps], found.end()]
    pieces = zip(begins, ends, strict=True)
    return max(0, words - sum(len(_WORD_STARTS(path, *piece)) for piece in pieces))


def _jumps(found: re.Match[str]) -> int:
    return len(found.groups()) - found.groups().count(None)
