"""Ranking: which of the paths that match some words are the best, and how they match.

A word that a path holds whole scores by the best of these classes that applies:

    WHOLE_NAME   `tree` in `src/tree.py`    the name, with or without its extension
    NAME_PREFIX  `tree` in `treenode.py`
    WORD_START   `tree` in `my_tree.py`     after a character that is no letter or digit
    IN_NAME      `tree` in `subtree.py`
    IN_PATH      `tree` in `subtrees/leaf.py`

At the start of a word of a directory's name, as in `my_trees/leaf.py`, the class is WORD_START.

Other paths have gaps. A query of one word may be their initials. Else each of its words has a cost
(`Ranking._with_gaps`).

The kind comes first (`MatchKind`): a path with gaps in a word stands after all without. Then the
sum of the classes or of the costs decides, recent edits, the length of the path, and its position.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from heapq import nsmallest

from backstaff.budget import Budget
from backstaff.file_kinds import is_aside

WHOLE_NAME, NAME_PREFIX, WORD_START, IN_NAME, IN_PATH = range(5)

# The costs of a run at the start of a word, of one further on in it, and of a directory's name; a
# word of the file's name costs one. MRR of abbreviated words of six projects .817; .805 with 1 1 1,
# .814 with 2 2 2, .785 with 2 2 0, .808 with 2 2 1.
BEGINS, WITHIN, NOT_IN_NAME = 3, 2, 2
SCATTER, NOWHERE = 1 << 20, 1 << 40  # of a run that begins inside another word; of no run
# Matches a word that asks for such files.
_NAMES_ASIDE = re.compile("(?i)test|spec|fixture|example|sample|doc|demo|vendor|bench|script")
_NO_LETTER = re.compile(r"[\W_]+")
AT_ONCE = 16  # paths between two looks at the clock: one of 4,000 characters can take .05 s


class MatchKind(IntEnum):
    """How a file was found, the surest first.

    NAME      the word stands in the name
    PATH      each word stands in the path
    INITIALS  in pieces that begin all words of the name, as `sfi` in search_files.py
    SPELLING  `prnitf`: no path holds the word, and a part of the name printf.c is one edit away
    PIECES    in runs, each at the start of a word or further on in the word of the run before, as
              `hdrs` in headers.go and `revproxy` in reverseproxy/
    FOLDER    `app/tree.py` for lib/tree.py, the name in another folder
    LETTERS   they stand anywhere, in their order
    """

    NAME, PATH, INITIALS, SPELLING, PIECES, FOLDER, LETTERS, GLOB = range(8)


_BEGINNING = r"(?<![^\W_])[^\W_]|(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])"
_STARTS = re.compile(rf"{_BEGINNING}|[\W_]").finditer

Key = tuple[MatchKind, int, float, int, int]  # kind, badness, edits, length, position


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks `paths` for `words`; `originals` had capitals, and some had recent edits: `heat`."""

    words: Sequence[str]
    paths: Sequence[str]
    originals: Sequence[str]
    heat: Mapping[str, float]

    def best(
        self, positions: Sequence[int], count: int, budget: Budget
    ) -> list[tuple[MatchKind, int]]:
        """Return the `count` best of the matching `positions`. Raises `DeadlineExceeded`."""
        paths, words, whole = self.paths, self.words, positions
        is_one, joined = len(words) == 1, "".join(words)
        for word in words:
            whole = [at for at in budget.checked(whole) if word in paths[at]]
        if is_one and len(whole) > count:
            # A letter or two stand in most paths, in many names, and begin some.
            for is_in in str.__contains__, str.startswith:
                named = [at for at in whole if is_in(name_of(paths[at]), joined)]
                whole = named if len(named) >= count else whole
        classify = [_classifier(word) for word in words]
        lowers_aside = not (is_one or any(map(_NAMES_ASIDE.search, words)))
        keys: list[Key] = []
        for at in budget.checked(whole):
            badness = sum(each(paths[at]) for each in classify)
            if not is_one and joined in (letters := letters_of(paths[at])):
                badness = min(badness, WHOLE_NAME if joined == letters else NAME_PREFIX)
            badness += lowers_aside and is_aside(self.originals[at])
            is_name = is_one and joined in name_of(paths[at])
            keys.append(self._key(MatchKind.NAME if is_name else MatchKind.PATH, badness, at))
        left = sorted(set(positions).difference(whole)) if len(keys) < count else []
        # The paths of a step go before those of the next, which takes more time.
        for step in (self._initials, self._with_gaps)[not is_one :]:
            if len(keys) < count:
                found = {at: key for at in budget.checked(left, AT_ONCE) if (key := step(at))}
                keys += found.values()
                left = [at for at in left if at not in found]
        return [(kind, at) for kind, *_, at in nsmallest(count, keys)]

    def _key(self, kind: MatchKind, badness: int, at: int) -> Key:
        heat = self.heat.get(self.originals[at], 0.0)
        return kind, badness, -heat, len(self.paths[at]), at

    def _initials(self, at: int) -> Key | None:
        """The key of a path whose only word is initials, as `rfwi` of `read_from_wire.py`."""
        path, word = self.paths[at], self.words[0]
        if not subsequence(word).match(name_of(path)):
            return None
        begins, most = _words_of_name(path, self._starts(at))
        place, left = begins[0] - 1 if most else 0, set(begins[:most])
        for character in word:
            if path.startswith(character, place + 1):  # prefer a character directly behind
                place += 1
            else:
                later = (one for one in begins if one > place and path[one] == character)
                place = next(later, len(path))
            left.discard(place)
        is_read = most and not left and place < len(path)
        return self._key(MatchKind.INITIALS, 0, at) if is_read else None

    def _with_gaps(self, at: int) -> Key:
        """The key of a path with gaps: `hdrs` in `headers.go` costs `BEGINS` and twice `WITHIN`."""
        path, starts = self.paths[at], self._starts(at)
        ways = (path.rfind("/") + 1, 0), (0, NOT_IN_NAME)
        costs = [
            min(more + _runs(word, path, starts, begin) for begin, more in ways)
            for word in self.words
        ]
        pairs = zip(self.words, costs, strict=True)
        scattered = any(cost >= SCATTER and word not in path for word, cost in pairs)
        kind = MatchKind.LETTERS if scattered else MatchKind.PIECES
        return self._key(kind, sum(costs) + _words_of_name(path, starts)[1], at)

    def _starts(self, at: int) -> list[int]:
        """Where words begin in a path. The original shows it, but some letters fold to two."""
        path, original = self.paths[at], self.originals[at]
        return [one.start() for one in _STARTS(original if len(original) == len(path) else path)]


def _words_of_name(path: str, starts: Sequence[int]) -> tuple[list[int], int]:
    """Return where words of the name begin, and how many of them are not the extension's."""
    name = path.rfind("/") + 1
    begins = [start for start in starts[bisect_left(starts, name) :] if path[start].isalnum()]
    dot = path.rfind(".", name + 1)
    return begins, bisect_left(begins, dot) if dot > 0 else len(begins)


def _classifier(word: str) -> Callable[[str], int]:
    """Make a function that returns the class of a path that holds `word` whole."""
    at_word_start = re.compile(rf"(?:^|[\W_]){re.escape(word)}").search

    def classify(path: str) -> int:
        begin = path.rfind("/") + 1
        at = path.find(word, begin)
        if at == begin:
            return WHOLE_NAME if is_whole_name(word, path) else NAME_PREFIX
        if at_word_start(path, begin if at > begin else 0):
            return WORD_START
        return IN_NAME if at > begin else IN_PATH

    return classify


def _runs(word: str, path: str, starts: Sequence[int], begin: int) -> int:
    """The cost of `word` in `path` from `begin` on; `NOWHERE` if it is not there."""
    reached = [(begin - 2, 0)]  # where the characters so far may end, and the cost of that
    for character in word:
        found, passed, word_start = list[tuple[int, int]](), 0, -1
        cheapest = inside = NOWHERE
        at = path.find(character, max(begin, reached[0][0] + 1)) if reached else -1
        while at >= 0:
            start = starts[bisect_right(starts, at) - 1]
            if start > word_start:
                word_start, inside = start, NOWHERE
            while passed < len(reached) and reached[passed][0] < at:
                place, cost = reached[passed]
                cheapest = min(cheapest, cost)
                inside = min(inside, cost) if place >= start else inside
                passed += 1
            place, cost = reached[passed - 1]
            adjacent = cost if place == at - 1 else NOWHERE
            begins = cheapest + (BEGINS if start == at else SCATTER)
            found.append((at, min(adjacent, begins, inside + WITHIN)))
            at = path.find(character, at + 1)
        reached = found
    return min((cost for _, cost in reached), default=NOWHERE)


def name_of(path: str) -> str:
    """Return the name at the end of `path`."""
    return path[path.rfind("/") + 1 :]


def letters_of(path: str) -> str:
    """Return the letters and digits of a file's name without extensions, in small letters."""
    name = name_of(path).lower()
    return _NO_LETTER.sub("", name.partition(".")[0] or name)


def is_whole_name(word: str, path: str) -> bool:
    """Return whether `word` is the name at the end of `path`, with or without its extension."""
    name = name_of(path)
    return word in (name, name.rpartition(".")[0])


@lru_cache
def subsequence(word: str) -> re.Pattern[str]:
    """Compile a regex, of linear time, for the characters of `word` in order: `[^a]*+a[^b]*+b`."""
    return re.compile("".join(f"[^{one}]*+{one}" for one in map(re.escape, word)))
