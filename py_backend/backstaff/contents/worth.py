"""The order of worth: which files answer a question best, and where in them.

A file's worth is the sum over the question's words of a weight, which is high for a rare word,
times how much of the word the file has for its size (BM25). The words of its name count once more.
Then the best `CUT_FILES` files are cut into definitions, and each gains from its best one.

Behind each constant stands the loss of NDCG@10 without its rule: on 14 projects for which the rules
were made, on the same with their tests and documents, on 10 others, and on 6 more.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import accumulate
from math import log, sqrt
from typing import NamedTuple

from backstaff.contents.scan import Hits
from backstaff.contents.words import Question
from backstaff.file_kinds import is_aside
from backstaff.names.ranking import letters_of
from backstaff.structure.outline import Definition, Outline

CUT_FILES = 30  # files that are cut into definitions; with 60 or all of them NDCG is the same
SATURATION = 1.2  # how slowly more of a word in a file add less; .8 to 2 are within .016
LENGTH_SHARE = 0.25  # the part of a file's length that counts against it: -.001, .014, .009, 0
COVER = 3.0  # of a file whose name has no letters but the words: .008, .022, .054, .041
ASIDE = 0.4  # the share of tests and examples: .007, .077, .016, .016
DOCUMENT = 0.3  # the share of documents and data: .005, .034, .007, .001
DEFINITION_SHARE = 0.5  # of its best definition's score for a file: .010, .018, .007, -.005
USUAL_LINES = 30
IN_NAME = 1.0  # the gain of a word in a definition's name: .010, .010, .014, -.001
IN_HEAD = 0.5  # the gain of a word in its first lines: .005, .010, .010, -.001
HEAD_LINES = 4
PLACES = 3  # places of a file
SAME_NAME = 10.0  # the gain of the definition that a name means: .019, .014, .009, .031
IN_QUESTION = 4.0  # the gain if a question of more words holds the name

_DOCUMENT = re.compile(  # of paths of documents and data
    r"\.(?:mdx?|markdown|rst|txt|org|adoc|html|json|ya?ml|toml|lock|cfg|ini|xml|csv|svg|css|po|snap"
    r"|map|info|texi)\Z",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A definition that answers a question, and the line in it that holds most of the words."""

    definition: Definition
    best_line: int
    best_text: str


class Worthy(NamedTuple):
    """A file that answers a question: its score, and its best `places`, the best first."""

    hits: Hits
    score: float
    places: Sequence[Place] = ()


def weights(question: Question, found: Sequence[Hits], searched: int) -> dict[str, float]:
    """Return the weight of each word, the root of that in BM25: 0, .014, .046, .008."""
    having = [sum(1 for one in found if one.words[at]) for at in range(len(question.words))]
    total = max(searched, len(found))
    return {
        word: sqrt(log(1 + (total - count + 0.5) / (count + 0.5)))
        for word, count in zip(question.words, having, strict=True)
    }


def by_words(question: Question, hits: Sequence[Hits], weight: Mapping[str, float]) -> list[Worthy]:
    """Return the files with their worth, in their order, without their definitions."""
    usual = sum(one.size_bytes for one in hits) / max(1, len(hits)) or 1.0
    worthy = list[Worthy]()
    for one in hits:
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * one.size_bytes / usual
        score = _of_name(one.path, question, weight)
        for word, count in zip(question.words, one.words, strict=True):
            score += weight[word] * count * (SATURATION + 1) / (count + SATURATION * length)
        worthy.append(Worthy(one, score * share(one.path)))
    return worthy


def has_word(path: str, question: Question) -> bool:
    """Return True if the name of the file `path` has a word of the question."""
    name = letters_of(path)
    return any(word in name for word in question.words)


def share(path: str) -> float:
    """Return the part of its score that a file keeps: tests, examples and documents stand lower."""
    return (ASIDE if is_aside(path) else 1.0) * (DOCUMENT if _DOCUMENT.search(path) else 1.0)


def _of_name(path: str, question: Question, weight: Mapping[str, float]) -> float:
    """Return the worth of the words in the name of a file; each letter counts once."""
    name = letters_of(path)
    score, covered, rest = 0.0, 0, name
    for word in sorted(question.words, key=len, reverse=True):
        if word in rest:
            rest = rest.replace(word, " ", 1)
            score, covered = score + weight[word], covered + len(word)
    return score + (COVER * covered / len(name) if covered else 0.0)


def with_places(
    worthy: Worthy, question: Question, weight: Mapping[str, float], text: str, made: Outline | None
) -> Worthy:
    """Return the file of this `text` and outline with its places, and the gain from the best."""
    words = _Words(text, {word: weight[word] for word in question.words if weight[word]})
    meant = {id(one) for one in made.named(question.text)} if made and question.is_name else set()
    best, exact, scored = 0.0, 0.0, list[tuple[float, Definition]]()
    for one in (*(made.definitions if made else ()), *_constants(text, question)):
        score = words.score(one)
        is_same = id(one) in meant or (question.is_name and one.name in question.identifiers)
        gain = SAME_NAME if is_same else IN_QUESTION * (one.name in question.identifiers)
        best, exact = max(best, score), max(exact, gain)
        if score or gain:
            scored.append((-score - 100 * gain, one))
    score = DEFINITION_SHARE * best + exact
    nearest = nsmallest(PLACES, scored, key=lambda pair: (pair[0], pair[1].line))
    places = [Place(one, *words.best_line(one)) for _, one in nearest]
    return Worthy(worthy.hits, worthy.score + share(worthy.hits.path) * score, places)


def _constants(text: str, question: Question) -> Iterator[Definition]:
    """Yield the constants that the question names, which no outline has: `MAX_SIZE = 3`.

    Those with a small letter stand at the start of their line, because others may be variables.
    """
    for name in map(re.escape, filter(text.__contains__, question.identifiers)):
        indent = "[ \t]*" if name.isupper() else ""
        words = r"(?:[\w.:<>\[\]*&]+[ \t]+){0,5}"
        found = re.search(
            rf"^{indent}(?:#[ \t]*define[ \t]+{name}\b|\(def\w+[ \t]+{name}[ \t]"
            rf"|{words}{name}[ \t]*(?::[^=\n]*)?=(?![=>])).*",
            text,
            re.MULTILINE,
        )
        if found:
            line = text.count("\n", 0, found.start()) + 1
            own = found[0].strip()
            yield Definition(name, "constant", line, line, line, 0, -1, name, own, is_test=False)


class _Words:
    """The places of words in a text, by line."""

    def __init__(self, text: str, weight: Mapping[str, float]) -> None:
        """Find each word that has a `weight` in `text`."""
        self._weight, self._shown, folded = weight, text.split("\n"), text.lower()
        ends = [*accumulate(len(line) + 1 for line in folded.split("\n"))]
        self._lines: dict[str, list[int]] = {}  # on which each word stands, once for each time
        for word in weight:
            lines, at = list[int](), folded.find(word)
            while at >= 0:
                lines.append(bisect_right(ends, at) + 1)
                at = folded.find(word, at + len(word))
            if lines:
                self._lines[word] = lines

    def score(self, one: Definition) -> float:
        """Return how well the lines of a definition answer."""
        length = 0.5 + 0.5 * (one.last_line - one.first_line + 1) / USUAL_LINES
        name, score = one.name.lower(), 0.0
        for word, lines in self._lines.items():
            first = bisect_left(lines, one.first_line)
            count = bisect_left(lines, one.last_line + 1) - first
            if count:
                weight, frequency = self._weight[word], count / length
                score += weight * 2 * frequency / (frequency + 1)
                if word in name:
                    score += IN_NAME * weight
                elif lines[first] <= one.line + HEAD_LINES:
                    score += IN_HEAD * weight
        return score

    def best_line(self, one: Definition) -> tuple[int, str]:
        """Return the line, the first beside `one.line`, whose words weigh most, and its text."""
        weights: dict[int, float] = {one.line: 0.0}
        for word, lines in self._lines.items():
            first = bisect_left(lines, one.first_line)
            for line in {*lines[first : bisect_left(lines, one.last_line + 1)]}:
                weights[line] = weights.get(line, 0.0) + self._weight[word]
        best = min(weights, key=lambda line: (-weights[line], line == one.line, line))
        return best, self._shown[best - 1]
