"""Git's ignore rules in a directory: which of its names are ignored.

`Rules` are the lines of one file. An `Ignore` holds the rules for one directory: its own file's,
those of the directories above, the repository's and the user's. The nearest file that has a line
about a name decides, and in it the last such line. An ignored directory is never entered, so no
line takes back a name below it.

Most names match no line. So `Ignore.of` first asks for all names of a directory at once which of
them could be ignored (`_Sieve`), and asks the rules about these alone.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from backstaff.budget import Budget
from backstaff.fs.entry import GROUPS, Grouped, Kind

if TYPE_CHECKING:  # pathspec takes 40 ms to load, and most starts never see a rule
    from backstaff.project.ignore_pattern import IgnorePattern

FILE = ".gitignore"
MAX_BYTES = 1 << 20
"""Maximum number of bytes of a file of rules; a line that is cut there does not count."""
MAX_LINES = 10_000
"""Maximum number of lines of a file. Half a million would take 350 MB; no real file has them."""
MAX_LINE_BYTES = 4096
"""Maximum length of a line: no path is longer, so a longer line matches nothing."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Rules:
    """The lines of one file, about paths below the directory of the file."""

    def __init__(self, content: bytes, *, ignore_case: bool = False) -> None:
        """Read `content`. Lines that are no rules are passed over, as git does."""
        from pathspec import PathSpec

        from backstaff.project.ignore_pattern import IgnorePattern, rule

        lines = content[:MAX_BYTES].removeprefix(_BYTE_ORDER_MARK).split(b"\n")
        if len(content) > MAX_BYTES:
            lines.pop()
        self.whole = len(content) <= MAX_BYTES and len(lines) <= MAX_LINES + 1
        lines = [line for line in lines[:MAX_LINES] if len(line) <= MAX_LINE_BYTES]
        self.lines = [
            IgnorePattern(text, ignore_case=ignore_case) for text in map(rule, lines) if text
        ]
        self._spec = PathSpec(self.lines, backend="simple")
        ignoring = [line for line in self.lines if line.include]
        self._anywhere = [line for line in ignoring if line.any_directory]
        self._sieve = _Sieve(self._anywhere)
        self._named: dict[str, list[IgnorePattern]] = {}
        self._wild: list[IgnorePattern] = []
        for line in ignoring:
            if line.any_directory:
                continue
            if line.parent is None:
                self._wild.append(line)
            else:
                self._named.setdefault(line.parent, []).append(line)
        # Lines that take something back are about places, too.
        places = [line.parent for line in self.lines if not line.any_directory]
        self._places = sorted({place for place in places if place is not None})
        self._everywhere = None in places

    def is_alike_below(self, parent: str) -> bool:
        """Whether the lines say the same in `parent` and in every directory below it."""
        if self._everywhere:
            return False
        first = bisect_left(self._places, parent)
        return not any(place.startswith(parent) for place in self._places[first : first + 1])

    def sieve(self, parent: str) -> "_Sieve":
        """The sieve for names in `parent`, which is "" or `a/b/`."""
        named = self._named.get(parent, [])
        wild = [line for line in self._wild if line.reaches(parent)]
        return _Sieve(self._anywhere + named + wild) if named or wild else self._sieve

    def verdict(self, path: str) -> bool | None:
        """Whether `path` is ignored; None if no line is about it. A directory ends with a slash."""
        return self._spec.check_file(path).include


@lru_cache(maxsize=8)
def rules_of(content: bytes, *, ignore_case: bool = False) -> Rules:
    """The `Rules` in `content`. A tree can hold the same file many times."""
    return Rules(content, ignore_case=ignore_case)


class Ignore:
    """The rules that hold in one directory, the nearest first.

    A layer is the rules of one file, and the path to this directory from the file's: "" or `a/b/`.
    Below a directory where all layers say the same, this object serves for all.
    """

    __slots__ = ("_constant", "_sieves", "layers")

    def __init__(self, layers: tuple[tuple[Rules, str], ...] = ()) -> None:
        """Hold these `layers`."""
        self.layers = layers
        self._constant = all(rules.is_alike_below(parent) for rules, parent in layers)
        self._sieves = [rules.sieve(parent) for rules, parent in layers]

    def under(self, rules: Rules) -> "Ignore":
        """Return these rules with `rules` of this directory, which precede all others."""
        return Ignore(((rules, ""), *self.layers)) if rules.lines else self

    def below(self, name: str) -> "Ignore":
        """The same rules as they hold in the directory `name`."""
        if self._constant:
            return self
        from backstaff.project.ignore_pattern import as_bytes

        added = as_bytes(name) + "/"
        return Ignore(tuple([(rules, parent + added) for rules, parent in self.layers]))

    def ignores(self, name: str, *, directory: bool) -> bool:
        """Whether `name` in this directory is ignored."""
        from backstaff.project.ignore_pattern import as_bytes

        path = as_bytes(name) + "/" * directory
        verdicts = (rules.verdict(parent + path) for rules, parent in self.layers)
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def of(self, found: Grouped, budget: Budget) -> set[str]:
        """The ignored names among those `found` here; fewer if the time is up.

        Raises `Cancelled`.
        """
        ignored: set[str] = set()
        for kind, names in zip(GROUPS, found, strict=True):
            doubtful = {name for sieve in self._sieves for name in sieve.of(names, budget)}
            for name in doubtful:
                if budget.expired():
                    return ignored
                if self.ignores(name, directory=kind is Kind.DIRECTORY):
                    ignored.add(name)
        return ignored


class _Sieve:
    """Finds the names that some lines could match, by the names alone."""

    def __init__(self, lines: Iterable["IgnorePattern"]) -> None:
        exact: set[str] = set()
        endings: list[str] = []
        self._others: list[IgnorePattern] = []
        for line in lines:
            if line.exactly is not None:
                exact.add(os.fsdecode(line.exactly.encode("latin-1")))
            elif line.ending is not None and line.ending.isascii():
                endings.append(line.ending)
            else:
                self._others.append(line)
        self._exact = frozenset(exact)
        self._endings = tuple(endings)
        self._slashed = [f"{ending}/" for ending in endings]

    def of(self, names: Sequence[str], budget: Budget) -> set[str]:
        """The `names` that could match; fewer if the time is up. Raises `Cancelled`."""
        found = set() if self._exact.isdisjoint(names) else set(self._exact.intersection(names))
        if self._slashed and names:
            joined = "/".join(names) + "/"
            if any(map(joined.__contains__, self._slashed)):
                found.update(name for name in names if name.endswith(self._endings))
        if self._others:
            found.update(self._matching(names, budget))
        return found

    def _matching(self, names: Sequence[str], budget: Budget) -> Iterator[str]:
        from backstaff.project.ignore_pattern import as_bytes

        for name in names:
            if budget.expired():
                return
            text = as_bytes(name)
            if any(line.may_match(text) for line in self._others):
                yield name
