"""A map of a project within a number of bytes: the directories that matter most, one to a line.

A line holds the path of a directory, the names of some files in it, the number of its other files
by their kind, and the directories below it that have no line of their own:

    ./ README.md pyproject.toml +9 .py src/(210) docs/(41)
    src/trio/ __init__.py _abc.py +12 .py +1 _core/(46) _tools/(5) +3 dirs (7)

`sub/(41)` holds 41 files, at any depth. A directory that holds only one other directory is joined
with it. `+9 .py +1` are nine files of a kind and one of another. `+3 dirs (7)` are three
directories with seven files. `name@` is a link, `sub/(git)` a repository of its own, and `sub/(?)`
cannot be read. The first line is that of the start and names its directories even where they have
lines of their own. Names are words as in `render.names`, and a name that looks like a count is
quoted, too, so a reader gets the paths back from a line. Directories without files are left out.

The map is made in two steps. While there is room, the weightiest directories get a line with one
name each. Then all lines get more names, in turns. Weight is where people work (the git history)
and where most files are. This is tried with several shares of the room for the first step, and the
map that shows most is taken. Ties are broken by path, so the same project gives the same map.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from backstaff.fs.budget import Budget
from backstaff.fs.project_files import Closed, ProjectFiles
from backstaff.render.lines import size
from backstaff.render.names import literal, word

SHARES = (1.0, 0.8, 0.6, 0.4)
"""The shares of the room that are tried for giving directories a line. The rest is for names."""
MUCH_ROOM = 1 << 14
"""In so many bytes the first share does as well as any, and each trial takes long."""
ROOT_NAMES = 4
"""Files that the first line names before other directories get a line."""
ROOT_SHARE = 0.5
"""The part of the room that the first line may take for its directories."""
LINE_SHARE = 0.25
"""The part of the room that another line may take for its directories."""
HEAT_SHARE = 0.8
"""How much the edits count in a directory's weight; the rest is the number of files."""
MOST_FAILURES = 40
"""After so many directories whose line has no room, no other is tried."""
MOST_KINDS = 2
MIN_DIRECTORIES = 5
"""Directories that the first line of the smallest map names."""
MOST_NAMED = 25_000
"""Names that have room in the longest map, if each is one letter and a blank."""
MOST_RANKED = 100_000
"""Names of a directory that are compared besides edited ones: a million would take seconds."""

_TELLING = frozenset(("readme", "__init__", "main", "index", "mod"))
_LONGEST_KIND = 12
_CLOSED = {Closed.REPOSITORY: "git", Closed.UNREADABLE: "?"}


class File(NamedTuple):
    """A file with its word in a line, the weight of its edits, and whether it is a link."""

    name: str
    word: str
    heat: float
    link: bool


@dataclass(eq=False)
class Directory:
    """A directory: its files by their names, and the directories `below`, the heaviest first.

    `hot` is the weight of each edited file. `total`, `folders` and `heat` sum up the files,
    directories and edits at any depth. `label` is the directory's word in the line of the one
    `above`. `closed` is "git" or "?" for a directory that was not entered.
    """

    path: str
    names: Sequence[str]
    links: Sequence[str]
    hot: Mapping[str, float]
    closed: str = ""
    below: list["Directory"] = field(default_factory=list)
    above: "Directory | None" = None
    total: int = 0
    folders: int = 0
    heat: float = 0.0
    own_heat: float = 0.0
    label: str = ""

    @cached_property
    def files(self) -> Sequence[File]:
        """The files that can be named, in the order in which they get room.

        The most edited come first, then names such as README that describe the others.
        """

        def rank(name: str) -> tuple[float, bool, bool, str]:
            telling = name.partition(".")[0].lower() in _TELLING
            return -self.hot.get(name, 0.0), not telling, name.startswith("."), name

        links = frozenset(self.links)
        names = dict.fromkeys((*self.hot, *self.names[:MOST_RANKED]))  # nearly in order already
        return [
            File(
                name, map_word(name) + "@" * (name in links), self.hot.get(name, 0.0), name in links
            )
            for name in sorted(names, key=rank)[:MOST_NAMED]
        ]

    @cached_property
    def _kinds(self) -> Counter[str]:
        return Counter(map(kind_of_name, self.names))

    def omitted(self, named: Sequence[File]) -> list[tuple[int, str]]:
        """Count the files that are not NAMED: by the commonest kinds, then all others as ""."""
        kinds = self._kinds - Counter(kind_of_name(file.name) for file in named)
        of_a_kind = sorted((-number, kind) for kind, number in kinds.items() if kind)
        counts = [(-number, kind) for number, kind in of_a_kind[:MOST_KINDS]]
        rest = kinds.total() - sum(number for number, _ in counts)
        return [*counts, (rest, "")] if rest else counts


def kind_of_name(name: str) -> str:
    """The extension of NAME with its dot, or "" if it has none that can stand in a line."""
    stem, dot, extension = name.rpartition(".")
    return dot + extension if stem and _is_kind(extension) else ""


@lru_cache(maxsize=1024)
def _is_kind(extension: str) -> bool:
    short = 0 < len(extension) <= _LONGEST_KIND
    return short and extension.isascii() and extension.replace("_", "x").isalnum()


def map_word(name: str) -> str:
    """NAME as a word that does not look like a count."""
    return literal(name) if name[0] == "+" and name[1:].isdigit() else word(name)


# ---------------------------------------------------------------------------- the tree


def build_tree(project: ProjectFiles, heat: Mapping[str, float], budget: Budget) -> Directory:
    """Make the tree of PROJECT, without directories that hold no file.

    HEAT is the weight of each edited file, by its path from the start. Raises `DeadlineExceeded`.
    """
    found: dict[str, Directory] = {}
    hot: dict[str, dict[str, float]] = defaultdict(dict)
    for path, weight in heat.items():
        above, _, name = path.rpartition("/")
        hot[above][name] = weight
    for directory in budget.checked(project.directories):
        path, names = directory.path, project.names(directory)
        weights = hot.get(path, {})
        there = {name: weights[name] for name in weights.keys() & set(names)} if weights else {}
        closed = _CLOSED[directory.closed] if directory.closed else ""
        found[path] = Directory(path, names, directory.links, there, closed)
        if path:
            found[path.rpartition("/")[0]].below.append(found[path])
    # Parents stand before their directories, so in reverse each finds its directories summed up.
    for here in budget.checked(reversed(found.values())):
        there_below = [one for one in here.below if one.total or one.closed or one.below]
        here.folders = sum(1 + one.folders for one in there_below)
        here.below = [_joined(one) for one in there_below]
        here.below.sort(key=lambda one: (-one.heat, -one.total, one.path))
        here.total = len(here.names) + sum(one.total for one in here.below)
        here.own_heat = sum(here.hot.values())
        here.heat = here.own_heat + sum(one.heat for one in here.below)
        for one in here.below:
            one.above = here
            inner = one.path[len(here.path) :].removeprefix("/")
            one.label = f"{map_word(inner)}/({one.closed or one.total})"
    return found[""]


def _joined(here: Directory) -> Directory:
    """The directory that stands for HERE on a map: the only one in it, if it holds no file."""
    alone = len(here.below) == 1 and not here.names and not here.closed
    return here.below[0] if alone else here


# ---------------------------------------------------------------------------- the map


@dataclass(frozen=True, slots=True)
class Line:
    """A directory as the map shows it: its named `files`, and the directories `collapsed` in it.

    `omitted` counts the other files by kind. `folded` is the number of other directories and the
    number of files in them. `text` is empty where everything in the directory has its own line.
    """

    directory: Directory
    files: Sequence[File]
    omitted: Sequence[tuple[int, str]]
    collapsed: Sequence[Directory]
    folded: tuple[int, int]
    text: str
    size: int


@dataclass(frozen=True, slots=True)
class Map:
    """Lines in the order of their paths, so that of the start is the first."""

    lines: Sequence[Line]

    @property
    def files(self) -> int:
        """The number of named files."""
        return sum(len(line.files) for line in self.lines)

    @property
    def worth(self) -> tuple[float, int]:
        """The edits that the map shows, with those in a directory counted twice; then its names."""
        heat = sum(file.heat for line in self.lines for file in line.files)
        places = {
            one.path: one.own_heat
            for line in self.lines
            for one in (line.directory, *line.collapsed)
        }
        return heat + 2 * sum(places.values()), self.files + len(places)


def best_map(start: Directory, room: int, prefix: str, budget: Budget) -> Map:
    """The best map of START in ROOM bytes. If they are too few, it is the first line alone.

    PREFIX is the path of START with a slash at its end, or "". When the time is up, fewer maps are
    compared.
    """
    bare = _bare_size(start, prefix)
    maps: list[Map] = []
    for share in SHARES if room < MUCH_ROOM else SHARES[:1]:
        draft = _Draft(start, prefix, room, bare)
        draft.open_directories(int(room * share))
        draft.add_names()
        maps.append(Map([line for _, line in sorted(draft.lines.items()) if line.text]))
        if budget.expired():
            break
    return max(maps, key=lambda one: one.worth)


def minimum_size(start: Directory, prefix: str) -> int:
    """The bytes of the smallest map that is of use: its first line names a few directories."""
    labels = sum(size(one.label) + 1 for one in start.below[:MIN_DIRECTORIES])
    return _bare_size(start, prefix) + labels


def _bare_size(start: Directory, prefix: str) -> int:
    """The bytes of a first line that names nothing."""
    counts = "".join(f" +{number} {kind}" for number, kind in start.omitted(()))
    return size(f"{_beginning(prefix)}{counts} +{len(start.below)} dirs ({start.total})\n")


def _beginning(path: str) -> str:
    """The first word in the line of the directory PATH."""
    path = path.rstrip("/")
    return f"{map_word(path)}/" if path else "./"


@dataclass(slots=True)
class _Draft:
    """A map as it grows: a line for each opened directory, by its path; `size` of all of them."""

    start: Directory
    prefix: str
    room: int
    bare: int
    lines: dict[str, Line] = field(default_factory=dict)
    opened_in: dict[str, list[Directory]] = field(default_factory=lambda: defaultdict(list))
    size: int = 0

    def open_directories(self, room: int) -> None:
        """Give directories a line with one name each, the weightiest first, while there is ROOM."""
        start = self.start
        self.write(start, 0)
        for names in range(1, min(ROOT_NAMES, len(start.files)) + 1):
            self.write(start, names, self.room * ROOT_SHARE)

        def weighed(here: Directory) -> tuple[float, str, Directory]:
            """HERE with its weight: its share of all edits and files, less the deeper it is."""
            heat = here.heat / start.heat if start.heat else 0.0
            files = here.total / start.total if start.total else 0.0
            depth = here.path.count("/") + 1
            return -(HEAT_SHARE * heat + (1 - HEAT_SHARE) * files) / depth, here.path, here

        waiting = [weighed(below) for below in start.below]
        heapify(waiting)
        failures = 0
        while waiting and failures < MOST_FAILURES:
            *_, here = heappop(waiting)
            if here.closed:
                continue
            self.open(here)
            if self.size > room:
                self.close(here)
                failures += 1
            else:
                for below in here.below:
                    heappush(waiting, weighed(below))
        self.write(start, len(self.lines[""].files))  # it now counts fewer directories

    def add_names(self) -> None:
        """Let each line name more files in turn, the heaviest first, as long as they fit."""
        growing = sorted(
            (line.directory for line in self.lines.values()),
            key=lambda here: (-here.heat, here.path),
        )
        names = 0
        while growing:
            names += max(1, names // 10)  # not one by one, as all of a line is written anew
            candidates, growing = growing, []
            for here in candidates:
                named = len(self.lines[here.path].files)
                if named < len(here.files) and (
                    named >= names or self.write(here, names, self.room)
                ):
                    growing.append(here)

    def open(self, here: Directory) -> None:
        """Give HERE a line with one name. The line above no longer names HERE."""
        self.write(here, 1)
        if here.above:
            self.opened_in[here.above.path].append(here)
            self._rewrite_above(here)

    def close(self, here: Directory) -> None:
        """Undo the latest `open`, which was for HERE."""
        self.size -= self.lines.pop(here.path).size
        if here.above:
            self.opened_in[here.above.path].pop()
            self._rewrite_above(here)

    def _rewrite_above(self, here: Directory) -> None:
        # The first line names its directories in any case, and is long.
        if here.above and here.above.path:
            self.write(here.above, len(self.lines[here.above.path].files))

    def write(self, here: Directory, names: int, room: float = inf) -> bool:
        """Write the line of HERE with so many NAMES, unless all lines then take more than ROOM."""
        line, before = self.line(here, names), self.lines.get(here.path)
        size_then = self.size + line.size - (before.size if before else 0)
        if size_then > room:
            return False
        self.lines[here.path], self.size = line, size_then
        return True

    def line(self, here: Directory, names: int) -> Line:
        """Make the line of HERE with so many NAMES of files."""
        files = sorted(here.files[:names])
        omitted = here.omitted(files)
        collapsed = self._collapsed(here)
        named = {one.path: one.total for one in (*self.opened_in[here.path], *collapsed)}
        more = len(here.below) - len(named)
        files_in_more = here.total - len(here.names) - sum(named.values())
        words = [
            *(file.word for file in files),
            *(f"+{number} {kind}".rstrip() for number, kind in omitted),
            *(below.label for below in collapsed),
            *([f"+{more} dirs ({files_in_more})"] if more else []),
        ]
        shown = words or not here.path
        text = " ".join((_beginning(self.prefix + here.path), *words)) + "\n" if shown else ""
        return Line(here, files, omitted, collapsed, (more, files_in_more), text, size(text))

    def _collapsed(self, here: Directory) -> list[Directory]:
        """The directories in HERE that its line has room to name: the heaviest, by path."""
        room, opened = int(self.room * LINE_SHARE), set(self.opened_in[here.path])
        if not here.path:  # this line must fit in any case; it names the opened ones, too
            room, opened = min(int(self.room * ROOT_SHARE), self.room - self.bare), set()
        named = []
        for below in here.below:
            if below not in opened:
                room -= size(below.label) + 1
                if room < 0:
                    break
                named.append(below)
        return sorted(named, key=lambda below: below.path)
