"""Which of some paths with the words of a query in them are the best: how well each is found."""

import re
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest

from backstaff.matching.words import gapped

INSIDE, ABOVE, GAPS = 2, 4, 5
"""How badly a word is found: within the file's name, in a directory only, or with gaps in it."""


def best(words: Sequence[str], texts: Sequence[str], most: int) -> list[int]:
    """Where the MOST best of TEXTS stand, which all have the WORDS; the best first.

    What can surely not be among them is not ranked.
    """
    rank = _ranker(words)
    found: list[tuple[int, ...]] = []
    for among, least in _stages(words, texts):
        if len(among) >= most or least is None:
            found = nsmallest(most, ((*rank(texts[at]), at) for at in among))
            if least is None or found[-1][0] < least:
                break
    return [at for *_, at in found]


def _stages(
    words: Sequence[str], texts: Sequence[str]
) -> Iterator[tuple[Sequence[int], int | None]]:
    """More and more of TEXTS, each with the least way that all the others have (`_way`)."""
    whole: Sequence[int] = range(len(texts))
    for one in words:
        whole = [at for at in whole if one in texts[at]]
    named = whole
    for one in words:
        named = [at for at in named if texts[at].find(one, texts[at].rfind("/") + 1) >= 0]
    if len(words) == 1:
        only, *_ = words
        first = [at for at in named if texts[at].startswith(only, texts[at].rfind("/") + 1)]
        yield first, INSIDE
    yield named, ABOVE
    yield whole, GAPS
    if len(words) == 1:
        near_by = gapped(only)
        near = [at for at, text in enumerate(texts) if near_by(text, text.rfind("/") + 1)]
        yield sorted({*whole, *near}), GAPS + 1
    yield range(len(texts)), None


Rank = tuple[int, int, int]


def _ranker(words: Sequence[str]) -> Callable[[str], Rank]:
    """Tells how bad a match a path is: how its words were found, their gaps, and its length."""
    searches = [(one, gapped(one, grouped=True), _at_a_start(one)) for one in words]

    def rank(path: str) -> Rank:
        start = path.rfind("/") + 1
        way = gaps = 0
        for one, search, starts in searches:
            if one in path:
                way += _way(one, path[start:], starts)
                continue
            found = search(path, start)
            way += GAPS + (found is None)
            found = found or search(path)
            gaps += sum(map(bool, found.groups())) if found else len(one)
        return way, gaps, len(path)

    return rank


def _way(one: str, name: str, starts: Callable[[str], object]) -> int:
    """How well the word ONE, which is in the path, is found in its NAME; 0 is best.

    STARTS tells whether it is anywhere the start of a word.
    """
    at = name.find(one)
    if at < 0:
        return ABOVE
    if at == 0:
        return 0 if len(one) == len(name) or name[: name.rfind(".")] == one else 1
    return INSIDE if starts(name) else INSIDE + 1


def _at_a_start(one: str) -> "Callable[[str], re.Match[str] | None]":
    """Finds ONE after what is neither letter nor digit."""
    return re.compile(rf"[\W_]{re.escape(one)}").search
