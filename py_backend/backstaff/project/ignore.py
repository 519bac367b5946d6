"""Git's ignore rules in a directory: which of its names are ignored.

`Rules` are the lines of one file. An `Ignore` holds the rules for one directory: its own file's,
those of the directories above, the repository's and the user's. The nearest file that has a line
about a name decides, and in it the last such line. An ignored directory is never entered, so no
line takes back a name below it.

Most names match no line. So `Ignore.of` first asks for all names of a directory at once which of
them could be ignored (`_Sieve`), and asks the rules about these alone.
"""

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from backstaff.budget import Budget
from backstaff.fs.entry import GROUPS, Grouped, Kind
from backstaff.globs.wildcards import STAR, regex
from backstaff.project.ignore_pattern import IgnorePattern, as_bytes, in_small_letters, rule

FILE = ".gitignore"
MAX_BYTES = 1 << 20
"""Maximum number of bytes of a file of rules; a line that is cut there does not count."""
MAX_LINES = 10_000
"""Maximum number of lines of a file. Half a million would take 350 MB; no real file has them."""
MAX_LINE_BYTES = 4096
"""Maximum length of a line: no path is longer, so a longer line matches nothing."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Rules:
    """The lines of one file, the last one first, about paths below the directory of the file."""

    def __init__(self, content: bytes, *, ignore_case: bool = False) -> None:
        """Read `content`. Lines that are no rules are passed over, as git does."""
        lines = content[:MAX_BYTES].removeprefix(_BYTE_ORDER_MARK).split(b"\n")
        if len(content) > MAX_BYTES:
            lines.pop()
        self.whole = len(content) <= MAX_BYTES and len(lines) <= MAX_LINES + 1
        texts = [rule(line) for line in lines[:MAX_LINES] if len(line) <= MAX_LINE_BYTES]
        self.lines = [IgnorePattern(text, ignore_case=ignore_case) for text in texts if text][::-1]
        self.placed = [line for line in self.lines if not line.any_directory]
        self.sieve = _Sieve(line for line in self.lines if line.any_directory)


@lru_cache(maxsize=8)
def rules_of(content: bytes, *, ignore_case: bool = False) -> Rules:
    """The `Rules` in `content`. A tree can hold the same file many times."""
    return Rules(content, ignore_case=ignore_case)


Layer = tuple[Rules, str, list[IgnorePattern]]
"""The rules of one file, the path from its directory to another one, such as "" or `a/b/`, and the
placed lines that can match there or below."""


class Ignore:
    """The rules that hold in one directory, those of the nearest file first.

    Below a directory where no line is about places, this object serves for all.
    """

    __slots__ = ("_sieves", "layers")

    def __init__(self, layers: tuple[Layer, ...] = ()) -> None:
        """Hold these `layers`."""
        self.layers = layers
        placed = [line for _, parent, lines in layers for line in lines if line.reaches(parent)]
        self._sieves = [rules.sieve for rules, _, _ in layers]
        if placed:
            self._sieves.append(_Sieve(placed))

    def under(self, rules: Rules) -> "Ignore":
        """Return these rules with `rules` of this directory, which precede all others."""
        return Ignore(((rules, "", rules.placed), *self.layers)) if rules.lines else self

    def below(self, name: str) -> "Ignore":
        """The same rules as they hold in the directory `name`."""
        if not any(placed for _, _, placed in self.layers):
            return self
        layers: list[Layer] = []
        for rules, above, lines in self.layers:
            parent = f"{above}{as_bytes(name)}/"
            placed = [
                line
                for line in lines
                if line.directory.startswith(parent)
                or (parent.startswith(line.directory) and parent.count("/") <= line.depth)
            ]
            layers.append((rules, parent, placed))
        return Ignore(tuple(layers))

    def ignores(self, name: str, *, directory: bool) -> bool:
        """Whether `name` in this directory is ignored."""
        path = as_bytes(name) + "/" * directory
        for rules, parent, _ in self.layers:
            for line in rules.lines:
                if line.match_file(parent + path):
                    return line.include
        return False

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
    """Finds the names that some lines could ignore, by the names alone."""

    def __init__(self, lines: Iterable[IgnorePattern]) -> None:
        exact: set[str] = set()
        endings: list[str] = []
        others: list[str] = []
        self._fold = False
        for line in lines:
            if not line.include:
                continue
            name = line.name
            starred = name[:1] == [STAR]
            text = "".join(token.character for token in name)
            plain = len(text) == len(name) - starred and not line.ignore_case
            if plain and not starred:
                exact.add(os.fsdecode(text.encode("latin-1")))
            elif plain and text.isascii():
                endings.append(text)
            else:
                others.append(f"(?:{regex(name)})")
                self._fold = line.ignore_case
        self._exact = frozenset(exact)
        self._endings = tuple(endings)
        self._slashed = [f"{ending}/" for ending in endings]
        self._others = re.compile("|".join(others), re.DOTALL) if others else None

    def of(self, names: Sequence[str], budget: Budget) -> set[str]:
        """The `names` that could match; fewer if the time is up. Raises `Cancelled`."""
        found = set() if self._exact.isdisjoint(names) else set(self._exact.intersection(names))
        if self._slashed and names:
            joined = "/".join(names) + "/"
            if any(map(joined.__contains__, self._slashed)):
                found.update(name for name in names if name.endswith(self._endings))
        if self._others:
            matches = self._others.fullmatch
            for name in names:
                if budget.expired():
                    break
                text = as_bytes(name)
                if matches(in_small_letters(text) if self._fold else text):
                    found.add(name)
        return found
