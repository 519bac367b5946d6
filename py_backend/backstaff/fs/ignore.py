"""Git's ignore rules in a directory: which of its names are not to be seen.

`Rules` are the lines of one file. An `Ignore` is what holds in one directory: its own rules, those
of the directories above, the repository's and the user's; the nearest file that says anything about
a name decides, and in it the last line that does. A directory that is ignored is never entered, so
nothing below it can be taken back.

Most names match nothing, so `Ignore.of` first asks of all names of a directory at once which of
them could be ignored at all (`_Sieve`), and goes through the lines for these only.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from backstaff.fs.budget import Budget
from backstaff.fs.entry import Grouped
from backstaff.fs.ignore_line import Line, rule

FILE = ".gitignore"
MAX_BYTES = 1 << 20
"""What is read of a file with rules; lines that are not whole by then do not count."""
MAX_LINES = 10_000
"""Lines of a file that count. Half a million would take 350 MB, and no real file has so many."""
MAX_LINE_BYTES = 4096
"""A path ends there, and so does the work of a line of a million `?`."""

_NONE: frozenset[str] = frozenset()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Rules:
    """The lines of one file, which are about what is below the directory that the file is for."""

    def __init__(self, content: bytes, *, ignore_case: bool = False) -> None:
        """Read CONTENT. Whatever is no rule is passed over, as git does."""
        lines = content[:MAX_BYTES].removeprefix(_BYTE_ORDER_MARK).split(b"\n")
        if len(content) > MAX_BYTES:
            lines.pop()
        self.whole = len(content) <= MAX_BYTES and len(lines) <= MAX_LINES + 1
        lines = [line for line in lines[:MAX_LINES] if len(line) <= MAX_LINE_BYTES]
        self.lines = [Line(text, ignore_case=ignore_case) for text in map(rule, lines) if text]
        hiding = [line for line in self.lines if not line.negative]
        self._somewhere = [line for line in hiding if not line.anywhere]
        self._anywhere = [line for line in hiding if line.anywhere]
        self._sieve = _Sieve(self._anywhere)
        self._named: dict[bytes, list[Line]] = {}
        for line in self._somewhere:
            if line.parent is not None:
                self._named.setdefault(line.parent, []).append(line)
        self._wild = [line for line in self._somewhere if line.parent is None]
        # Lines that take something back are about places, too.
        places = [line.parent for line in self.lines if not line.anywhere]
        self._places = sorted({place for place in places if place is not None})
        self._everywhere = None in places

    def is_alike_below(self, parent: bytes) -> bool:
        """Whether the lines say the same in PARENT and in every directory below it."""
        if self._everywhere:
            return False
        first = bisect_left(self._places, parent)
        return not any(place.startswith(parent) for place in self._places[first : first + 1])

    def sieve(self, parent: bytes) -> "_Sieve":
        """What can be ignored in PARENT, which is written "" or `a/b/`."""
        named = self._named.get(parent, [])
        wild = [line for line in self._wild if line.reaches(parent)]
        return _Sieve(self._anywhere + named + wild) if named or wild else self._sieve

    def verdict(self, parent: bytes, name: bytes, *, directory: bool) -> bool | None:
        """Whether NAME in PARENT is ignored (True), or not (False), or not spoken of (None)."""
        for line in reversed(self.lines):
            if (directory or not line.directories) and line.matches(parent, name):
                return not line.negative
        return None


@lru_cache(maxsize=8)
def rules_of(content: bytes, *, ignore_case: bool = False) -> Rules:
    """Return the `Rules` in CONTENT. A tree can hold the same file many times."""
    return Rules(content, ignore_case=ignore_case)


class Ignore:
    """The rules that hold in one directory, the nearest first.

    A layer is the rules of one file and where this directory lies from the one that the file is
    for: "" or `a/b/`. Below a directory where they all say the same, the first will do for each.
    """

    __slots__ = ("_constant", "_sieves", "layers")

    def __init__(self, layers: tuple[tuple[Rules, bytes], ...] = ()) -> None:
        """What these LAYERS say."""
        self.layers = layers
        self._constant = all(rules.is_alike_below(parent) for rules, parent in layers)
        self._sieves = [rules.sieve(parent) for rules, parent in layers]

    def under(self, rules: Rules) -> "Ignore":
        """The same with RULES for this very directory, which go before all others."""
        return Ignore(((rules, b""), *self.layers)) if rules.lines else self

    def below(self, name: str) -> "Ignore":
        """What the same rules are in the directory NAME."""
        if self._constant:
            return self
        added = os.fsencode(name) + b"/"
        return Ignore(tuple([(rules, parent + added) for rules, parent in self.layers]))

    def ignores(self, name: str, *, directory: bool) -> bool:
        """Whether NAME in this directory is ignored."""
        encoded = os.fsencode(name)
        for rules, parent in self.layers:
            verdict = rules.verdict(parent, encoded, directory=directory)
            if verdict is not None:
                return verdict
        return False

    def of(self, found: Grouped, budget: Budget) -> set[str]:
        """The names FOUND in here that are ignored; fewer if the time is up. Raises `Cancelled`."""
        ignored: set[str] = set()
        _, directories, _ = found
        for names in found:
            directory = names is directories
            for name in self._doubtful(names, budget) if names else ():
                if budget.expired():
                    return ignored
                if self.ignores(name, directory=directory):
                    ignored.add(name)
        return ignored

    def _doubtful(self, names: Sequence[str], budget: Budget) -> set[str]:
        """Those of NAMES that some line could ignore."""
        return {name for sieve in self._sieves for name in sieve.of(names, budget)}


class _Sieve:
    """Tells which names some lines could match, by what the lines say of the name alone."""

    def __init__(self, lines: Iterable[Line]) -> None:
        exact = set[str]()
        self._others: list[Line] = []
        endings = []
        for line in lines:
            if line.exactly is not None:
                exact.add(os.fsdecode(line.exactly))
            elif line.ending is not None and line.ending.isascii():
                endings.append(line.ending.decode())
            else:
                self._others.append(line)
        self._exact = frozenset(exact)
        self._endings = tuple(endings)
        self._slashed = [f"{ending}/" for ending in endings]

    def of(self, names: Sequence[str], budget: Budget) -> frozenset[str]:
        """Those of NAMES that could match; fewer if the time is up. Raises `Cancelled`."""
        found = _NONE
        if not self._exact.isdisjoint(names):
            found = self._exact.intersection(names)
        if self._slashed:
            joined = "/".join(names) + "/"
            if any(map(joined.__contains__, self._slashed)):
                found = found.union(name for name in names if name.endswith(self._endings))
        if self._others:
            found = found.union(self._matching(names, budget))
        return found

    def _matching(self, names: Sequence[str], budget: Budget) -> Iterator[str]:
        for name in names:
            if budget.expired():
                return
            encoded = os.fsencode(name)
            if any(line.name(encoded) for line in self._others):
                yield name
