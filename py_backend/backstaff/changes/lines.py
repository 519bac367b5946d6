"""The lines that two texts differ in: the shortest script where that is quickly found.

Equal lines at the beginning and the end are set aside. Between them, the script is the shortest
(Myers' greedy algorithm) if it has at most `MAX_EDITS` edits. Otherwise the lines that both texts
have exactly once cut the texts into parts. Each part is compared by itself, or counts as replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from backstaff.budget import Budget

MAX_EDITS, MAX_EDITS_OF_A_PART = 400, 100
"""Maximum number of edits of a script: the time grows with their square."""
MAX_SHIFT = 100
"""Maximum number of lines by which a block is moved to a better place."""

Block = tuple[int, int, int, int]
"""The start and end of lines of the old text, and those of the lines in their place."""

Texts = tuple[Sequence[bytes], Sequence[bytes]]


def blocks(old: Sequence[bytes], new: Sequence[bytes], budget: Budget) -> list[Block]:
    """The blocks in which `old` and `new` differ, in order. Raises `DeadlineExceeded`."""
    found: list[Block] = []
    for block in _parts(old, new, (0, len(old), 0, len(new)), budget):
        if found and found[-1][1] == block[0] and found[-1][3] == block[2]:
            block = (found[-1][0], block[1], found[-1][2], block[3])  # noqa: PLW2901
            found.pop()
        found.append(block)
    return _slid(old, new, found)


def _parts(
    old: Sequence[bytes], new: Sequence[bytes], whole: Block, budget: Budget
) -> Iterator[Block]:
    ahead = [(whole, MAX_EDITS)]
    while ahead:
        budget.check()
        (start, end, new_start, new_end), most = ahead.pop()
        same = _common(old[start:end], new[new_start:new_end])
        start, new_start = start + same, new_start + same
        same = _common(old[start:end][::-1], new[new_start:new_end][::-1])
        end, new_end = end - same, new_end - same
        if start == end or new_start == new_end:
            if (start, new_start) != (end, new_end):
                yield start, end, new_start, new_end
            continue
        part = (start, end, new_start, new_end)
        script = _shortest(old[start:end], new[new_start:new_end], most)
        if script is not None:
            for one, two, three, four in script:
                yield start + one, start + two, new_start + three, new_start + four
            continue
        anchors = _anchors(old, new, part) if most == MAX_EDITS else []
        if not anchors:
            yield part
            continue
        inner, at, new_at = [], start, new_start
        for one, other in [*anchors, (end, new_end)]:
            inner.append(((at, one, new_at, other), MAX_EDITS_OF_A_PART))
            at, new_at = one + 1, other + 1
        ahead += reversed(inner)


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """The number of equal lines at the beginning of both."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shortest(old: Sequence[bytes], new: Sequence[bytes], most: int) -> list[Block] | None:
    """The shortest script; None if it has more than `most` edits.

    `furthest[k]` is the number of old lines that are done on the diagonal `k`, where `k` more old
    lines are done than new ones.
    """
    numbers: dict[bytes, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    length, other = len(a), len(b)
    furthest = {1: 0}
    history = []
    for edits in range(min(most, length + other) + 1):
        history.append(furthest)
        now: dict[int, int] = {}
        for k in range(-edits, edits + 1, 2):
            if -k > other or k > length:
                continue
            insert, delete = furthest.get(k + 1, -1), furthest.get(k - 1, -2) + 1
            x = max(insert, delete)
            y = x - k
            if x < 0 or y < 0 or x > length or y > other:
                continue
            while x < length and y < other and a[x] == b[y]:
                x += 1
                y += 1
            now[k] = x
            if x == length and y == other:
                return _blocks_of(history, length, other)
        furthest = now
    return None


def _blocks_of(history: Sequence[dict[int, int]], x: int, y: int) -> list[Block]:
    """The script that leads to X and Y, from the `history` of furthest points."""
    found: list[Block] = []
    for edits in range(len(history) - 1, 0, -1):
        furthest, k = history[edits], x - y
        insert, delete = furthest.get(k + 1, -1), furthest.get(k - 1, -2) + 1
        is_delete = delete > insert
        x_before = delete - 1 if is_delete else insert
        y_before = x_before - (k - 1 if is_delete else k + 1)
        end, new_end = (x_before + 1, y_before) if is_delete else (x_before, y_before + 1)
        if found and found[-1][0] == end and found[-1][2] == new_end:
            _, end, _, new_end = found.pop()
        found.append((x_before, end, y_before, new_end))
        x, y = x_before, y_before
    return found[::-1]


def _anchors(old: Sequence[bytes], new: Sequence[bytes], part: Block) -> list[tuple[int, int]]:
    """Pairs of equal lines that each text has once, the most that are in the same order in both."""
    start, end, new_start, new_end = part
    once = {line for line, count in Counter(old[start:end]).items() if count == 1}
    counts = Counter(new[new_start:new_end])
    where = {line: at for at, line in enumerate(old[start:end], start) if line in once}
    pairs = [
        (where[line], at)
        for at, line in enumerate(new[new_start:new_end], new_start)
        if counts[line] == 1 and line in where
    ]
    # The longest ascending part of the old places, by patience.
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (place, _) in enumerate(pairs):
        pile = bisect_left(tops, place)
        tops[pile : pile + 1] = [place]
        piles[pile : pile + 1] = [number]
        before.append(piles[pile - 1] if pile else -1)
    chain, at = [], piles[-1] if piles else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _slid(old: Sequence[bytes], new: Sequence[bytes], found: Sequence[Block]) -> list[Block]:
    """`found`, with each block that only adds or only removes lines moved to its best place.

    The texts stay the same. A block that begins behind a blank line, or with little indentation, is
    easier to read.
    """
    slid: list[Block] = []
    for number, (start, end, new_start, new_end) in enumerate(found):
        text, first, last = (old, start, end) if start < end else (new, new_start, new_end)
        if start < end and new_start < new_end:
            slid.append((start, end, new_start, new_end))
            continue
        before = slid[-1] if slid else (0, 0, 0, 0)
        after = found[number + 1] if number + 1 < len(found) else (len(old),) * 2 + (len(new),) * 2
        # One line between two blocks keeps them apart.
        up = min(start - before[1], new_start - before[3]) - bool(slid)
        down = min(after[0] - end, after[2] - new_end) - (number + 1 < len(found))
        low = high = 0
        while -low < min(up, MAX_SHIFT) and text[first + low - 1] == text[last + low - 1]:
            low -= 1
        while high < min(down, MAX_SHIFT) and text[first + high] == text[last + high]:
            high += 1
        shifts = range(high, low - 1, -1)
        shift = min(shifts, key=lambda by: _roughness(text, first + by, last + by))
        slid.append((start + shift, end + shift, new_start + shift, new_end + shift))
    return slid


def _roughness(text: Sequence[bytes], first: int, last: int) -> tuple[int, int]:
    """A measure of how hard lines `first` to `last` of `text` are to read by themselves."""
    ends = [at for at in (first, last) if at < len(text)]
    blank = sum(bool(text[at - 1].strip()) for at in (first, last) if at)
    return blank, sum(len(text[at]) - len(text[at].lstrip()) for at in ends)
