"""A map of a project within a number of bytes: the directories that matter most, one to a line.

A line is a directory's path, then the names in it, then what of it is left out, then the
directories below it that have no line of their own:

    ./ README.md pyproject.toml +9 .py src/(210) docs/(41)
    src/trio/ __init__.py _abc.py +12 .py +1 _core/(46) _tools/(5) +3 dirs (7)

`sub/(41)` holds 41 files, at any depth; a directory that holds nothing but one other is joined with
it; `+9 .py +1` are nine files of a kind and one of another; `+3 dirs (7)` are directories with
seven files. `name@` is a link, `sub/(git)` a repository of its own, `sub/(?)` cannot be read. The
first line is that of the whole map and names all directories in it. Names are words by the one rule
of `render.names`, and a name that looks like a count is quoted, too: so a line gives its paths
back. Directories that hold no file are not there.

What is shown is chosen best-first (value.md 3): the directories with most weight are opened while
there is room, each with a few names; then as many names as fit go to all of them alike; and of
several such maps the one that shows most is taken. Weight is where people work (the git history)
and where most files are. All ties are broken by path: the same project gives the same map.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import accumulate, islice, takewhile
from typing import NamedTuple

from backstaff.fs.budget import Budget
from backstaff.fs.project_files import Closed, ProjectFiles
from backstaff.render.names import literal, word

TRIALS = (
    *((6, 1.0), (6, 0.7), (3, 1.0), (3, 0.7), (3, 0.5)),
    *((1, 1.0), (1, 0.8), (1, 0.6), (1, 0.4)),
    *((0, 1.0), (0, 0.8), (0, 0.6), (0, 0.4)),
)
"""How many names of a directory are to fit when it is opened, and what share of the room goes to
opening directories; the rest goes to more names. Of these maps the best is taken."""
MUCH_ROOM = 1 << 14
"""In so many bytes the first trial does as well as any, and a trial is dear."""
ROOT_SHARE = 0.5
"""What the first line may take for its directories and, at first, for its files."""
LINE_SHARE = 0.25
"""What another line may take for its directories."""
HEAT_SHARE = 0.8
"""How much the edits count in what is opened first; the rest is the number of files."""
MOST_MISSES = 40
"""So many directories in a row that have no room end the search for one that has."""
MOST_KINDS = 2
LEAST_NAMED = 5
MOST_NAMED, MOST_RANKED = 25_000, 100_000
"""Names of a directory that have room in the longest map, if each is one letter and a blank; and
names that are compared, beside those that were edited: to compare a million takes seconds."""

_TELLING = frozenset(("readme", "__init__", "main", "index", "mod"))
_LONGEST_KIND = 12


class File(NamedTuple):
    """A file by its name, what it weighs, and whether it is a link."""

    name: str
    heat: float
    link: bool


@dataclass(slots=True, eq=False)
class Directory:
    """A directory: its files by their names, and what is below it, the heaviest first.

    `hot` is what the files weigh that were edited. `total`, `folders` and `heat` are about all that
    is below it, at any depth; `label` is the word for it in the line of the one above. What is
    `closed`, nobody looks into.
    """

    path: str
    names: Sequence[str]
    links: Sequence[str]
    hot: Mapping[str, float]
    below: list["Directory"] = field(default_factory=list)
    above: "Directory | None" = None
    total: int = 0
    folders: int = 0
    heat: float = 0.0
    own_heat: float = 0.0
    label: str = ""
    closed: str = ""
    _files: list[File] = field(default_factory=list)
    _named: list[tuple[str, str]] = field(default_factory=list)
    _kinds: Counter[str] = field(default_factory=Counter)
    _first: dict[int, "First"] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How many levels below the start."""
        return self.path.count("/") + 1 if self.path else 0

    @property
    def files(self) -> list[File]:
        """The files that can be named, the first to name first; made when asked for."""
        if self.names and not self._files:
            links, heat = frozenset(self.links), self.hot.get
            names = dict.fromkeys((*self.hot, *self.names[:MOST_RANKED]))  # nearly in order already
            first = sorted(names, key=self._rank)[:MOST_NAMED]
            self._files = [File(name, heat(name, 0.0), name in links) for name in first]
        return self._files

    def _rank(self, name: str) -> tuple[float, bool, bool, str]:
        """The place of NAME among those to be named: hot ones, then those that tell of others."""
        telling = name.partition(".")[0].lower() in _TELLING
        return -self.hot.get(name, 0.0), not telling, name.startswith("."), name

    def named(self) -> list[tuple[str, str]]:
        """The names of these files, each with its word."""
        if self.names and not self._named:
            self._named = [(f.name, map_word(f.name) + "@" * f.link) for f in self.files]
            self._kinds = Counter(map(kind_of_name, self.names))
        return self._named

    def first(self, count: int) -> "First":
        """The first COUNT of its files, and what is left out then."""
        if count not in self._first:
            named = sorted(self.named()[:count])
            self._first[count] = First(
                names=tuple(name for name, _ in named),
                words=tuple(shown for _, shown in named),
                links=tuple(sorted(file.name for file in self.files[:count] if file.link)),
                omitted=tuple(
                    _commonest(self._kinds - Counter(kind_of_name(name) for name, _ in named))
                ),
                heat=sum(file.heat for file in self.files[:count]),
            )
        return self._first[count]


@dataclass(frozen=True, slots=True)
class First:
    """Names in their order, with their words; which are links; counts of all others by kind."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    links: tuple[str, ...]
    omitted: tuple[tuple[int, str], ...]
    heat: float


def _commonest(kinds: Counter[str]) -> Iterator[tuple[int, str]]:
    """The commonest KINDS with their numbers, then the number of all others, of no kind."""
    rest = kinds.total()
    of_a_kind = sorted((-number, kind) for kind, number in kinds.items() if kind)
    for number, kind in of_a_kind[:MOST_KINDS]:
        rest += number
        yield -number, kind
    if rest:
        yield rest, ""


def kind_of_name(name: str) -> str:
    """The extension of NAME with its dot, if it has one that can stand in a line."""
    stem, dot, extension = name.rpartition(".")
    return dot + extension if stem and _is_kind(extension) else ""


@lru_cache(maxsize=1024)
def _is_kind(extension: str) -> bool:
    short = 0 < len(extension) <= _LONGEST_KIND
    return short and extension.isascii() and extension.replace("_", "x").isalnum()


# ---------------------------------------------------------------------------- the tree


def planted(project: ProjectFiles, heat: Mapping[str, float], budget: Budget) -> Directory:
    """The tree of a PROJECT, without directories that hold no file.

    HEAT is what each file weighs, by its path from the start, 0 if it is not in there. Raises
    `DeadlineExceeded`.
    """
    found: dict[str, Directory] = {}
    hot: dict[str, dict[str, float]] = {}
    for path, weight in heat.items():
        above, _, name = path.rpartition("/")
        hot.setdefault(above, {})[name] = weight
    for directory in budget.checked(project.directories):
        path, names = directory.path, project.names(directory)
        weights = hot.get(path, {})
        there = {name: weights[name] for name in weights.keys() & set(names)} if weights else {}
        closed = _CLOSED[directory.closed] if directory.closed else ""
        found[path] = Directory(path, names, directory.links, there, closed=closed)
        if path:
            found[path.rpartition("/")[0]].below.append(found[path])
    for here in budget.checked(reversed(found.values())):
        _sum_up(here)
    return found[""]


_CLOSED = {Closed.REPOSITORY: "git", Closed.UNREADABLE: "?"}
"""How the map shows why a directory was not entered."""


def _sum_up(here: Directory) -> None:
    """Count what is in HERE, whose directories have been counted; join and order these."""
    there = [one for one in here.below if one.total or one.closed or one.below]
    here.folders = sum(1 + below.folders for below in there)
    here.below = [_joined(below) for below in there]
    here.below.sort(key=lambda below: (-below.heat, -below.total, below.path))
    here.total = len(here.names) + sum(below.total for below in here.below)
    here.own_heat = sum(here.hot.values())
    here.heat = here.own_heat + sum(below.heat for below in here.below)
    for below in here.below:
        below.above = here
        inner = below.path[len(here.path) :].removeprefix("/")
        below.label = f"{map_word(inner)}/({below.closed or below.total})"


def _joined(here: Directory) -> Directory:
    """What stands for HERE on a map: where it holds one directory and nothing else, that one."""
    alone = len(here.below) == 1 and not here.names and not here.closed
    return here.below[0] if alone else here


# ---------------------------------------------------------------------------- the map


@dataclass(frozen=True, slots=True)
class Line:
    """A directory as the map shows it.

    `omitted` are counts of files that are not named, by kind; `collapsed` are paths with the number
    of files below, or None and why nobody looks there; `folded` says how many more directories
    there are and how many files they hold. `heat` is what the named files weigh, `places` what the
    files in each directory that is named do.
    """

    path: str
    files: tuple[str, ...]
    links: tuple[str, ...]
    omitted: tuple[tuple[int, str], ...]
    collapsed: tuple[tuple[str, int | None, str], ...]
    folded: tuple[int, int]
    heat: float
    places: Mapping[str, float]
    text: str
    size: int


@dataclass(frozen=True, slots=True)
class Map:
    """Lines in the order of their paths, the whole map's own first."""

    lines: tuple[Line, ...]

    @property
    def files(self) -> int:
        """How many files are named."""
        return sum(len(line.files) for line in self.lines)

    @property
    def worth(self) -> tuple[float, int]:
        """What the map shows: edits, those in a directory twice those in a file; then names."""
        places = {path: heat for line in self.lines for path, heat in line.places.items()}
        heat = sum(line.heat for line in self.lines) + 2 * sum(places.values())
        return heat, self.files + len(places)


def drawn(start: Directory, room: int, prefix: str, budget: Budget) -> Map:
    """The best map of START in ROOM bytes; where that is too little, its first line alone.

    PREFIX is the path of START with a slash at its end, or "". When the time is up, fewer maps are
    compared.
    """
    trials = TRIALS if room < MUCH_ROOM else TRIALS[:1]
    bare = _bare(start, prefix)
    maps: list[Map] = []
    for trial in trials:
        maps.append(_drawn(_Plan(start, prefix, room, bare), *trial))
        if budget.expired():
            break
    return max(maps, key=lambda one: one.worth)


def least(start: Directory, prefix: str) -> int:
    """The bytes of a map that is of use: its first line names a few of the directories."""
    return _bare(start, prefix) + sum(_bytes(one.label) + 1 for one in start.below[:LEAST_NAMED])


def _bare(start: Directory, prefix: str) -> int:
    """What the first line takes if it names nothing."""
    counts = "".join(f" +{number} {kind}" for number, kind in start.first(0).omitted)
    return _bytes(f"{_head(prefix)}{counts} +{len(start.below)} dirs ({start.total})\n")


def _head(path: str) -> str:
    """What the line of the directory PATH begins with."""
    path = path.rstrip("/")
    return f"{map_word(path)}/" if path else "./"


@dataclass(slots=True)
class _Plan:
    """Which directories have a line, and how many files each names.

    `bare` is what the first line takes if it names nothing, `size` what all lines take; `opened_in`
    are the directories with a line by the one that they are in.
    """

    start: Directory
    prefix: str
    room: int
    bare: int
    lines: dict[str, Line | None] = field(default_factory=dict)
    opened: dict[str, Directory] = field(default_factory=dict)
    opened_in: dict[str, dict[str, Directory]] = field(default_factory=dict)
    caps: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def put(self, here: Directory, cap: int) -> None:
        """Give HERE a line with CAP names of files, in the place of the one that it has."""
        self.opened[here.path], self.caps[here.path] = here, cap
        if here.above:
            self.opened_in.setdefault(here.above.path, {})[here.path] = here
        self.write(here)

    def write(self, here: Directory) -> None:
        """Write the line of HERE anew."""
        before, after = self.lines.get(here.path), self.line(here, self.caps[here.path])
        self.lines[here.path] = after
        self.size += (after.size if after else 0) - (before.size if before else 0)

    def take(self, here: Directory) -> None:
        """Take the line of HERE back."""
        line = self.lines.pop(here.path)
        self.size -= line.size if line else 0
        del self.opened[here.path], self.caps[here.path]
        if here.above:
            del self.opened_in[here.above.path][here.path]

    def line(self, here: Directory, cap: int) -> Line | None:
        """The line of HERE; none where everything in it has a line of its own."""
        first, opened = here.first(cap), self.opened_in.get(here.path, {})
        shown = self.fitting(here, opened if here.path else {})
        counted = opened | {below.path: below for below in shown}
        more = len(here.below) - len(counted)
        files = here.total - len(here.names) - sum(below.total for below in counted.values())
        words = [
            *first.words,
            *(f"+{number} {kind}".rstrip() for number, kind in first.omitted),
            *(below.label for below in shown),
            *([f"+{more} dirs ({files})"] if more else []),
        ]
        if not words and here.path:
            return None
        text = " ".join((_head(self.prefix + here.path), *words)) + "\n"
        return Line(
            path=here.path,
            files=first.names,
            links=first.links,
            omitted=first.omitted,
            collapsed=tuple(
                (one.path, None if one.closed else one.total, one.closed) for one in shown
            ),
            folded=(more, files),
            heat=first.heat,
            places={one.path: one.own_heat for one in (here, *shown)},
            text=text,
            size=_bytes(text),
        )

    def fitting(self, here: Directory, opened: Mapping[str, Directory]) -> list[Directory]:
        """As many of what is below HERE and not OPENED as have room, the heaviest, by path."""
        room = int(self.room * (LINE_SHARE if here.path else ROOT_SHARE))
        if not here.path:  # this line must fit in any case
            room = min(room, self.room - self.bare)
        fitting = []
        for below in here.below:
            if below.path not in opened:
                room -= _bytes(below.label) + 1
                if room < 0:
                    break
                fitting.append(below)
        return sorted(fitting, key=lambda below: below.path)


def _drawn(plan: _Plan, names: int, share: float) -> Map:
    plan.put(plan.start, _first_cap(plan, names))
    _open(plan, names, int(plan.room * share))
    _fill(plan)
    return Map(tuple(line for _, line in sorted(plan.lines.items()) if line))


def _first_cap(plan: _Plan, names: int) -> int:
    """How many files the first line names to begin with."""
    room = int(plan.room * ROOT_SHARE)
    sizes = accumulate(_bytes(word) + 1 for _, word in plan.start.named())
    return sum(1 for _ in takewhile(lambda size: size <= room, islice(sizes, names)))


def _open(plan: _Plan, names: int, room: int) -> None:
    """Give a line to one directory after the other, the heaviest first, while there is ROOM."""
    waiting = [_waiting(below, plan.start) for below in plan.start.below]
    heapify(waiting)
    misses = 0
    while waiting and misses < MOST_MISSES:
        *_, here = heappop(waiting)
        if here.closed or not (names or here.below):
            continue
        plan.put(here, min(names, len(here.names)))
        _shorten_above(plan, here)
        if plan.size > room:
            plan.take(here)
            _shorten_above(plan, here)
            misses += 1
            continue
        for below in here.below:
            heappush(waiting, _waiting(below, plan.start))


def _waiting(here: Directory, start: Directory) -> tuple[float, str, Directory]:
    """HERE with what it weighs: its share of all edits and of all files, less the deeper it is."""
    heat = here.heat / start.heat if start.heat else 0.0
    files = here.total / start.total if start.total else 0.0
    return -(HEAT_SHARE * heat + (1 - HEAT_SHARE) * files) / here.depth, here.path, here


def _shorten_above(plan: _Plan, here: Directory) -> None:
    """Write the line anew that names HERE only while that has no line of its own.

    The first line names it in any case; that it counts one less is left for later.
    """
    if here.above and here.above.path:
        plan.write(here.above)


def _close(plan: _Plan, closed: list[Directory]) -> None:
    """Take the lines of those CLOSED back; the ones above count their files again."""
    above = {here.above.path: here.above for here in closed if here.above}
    for here in closed:
        if here.above:
            plan.take(here)
    for here in above.values():
        if here.path in plan.opened:
            plan.write(here)


def _fill(plan: _Plan) -> None:
    """Name as many files in every line as fit: first alike, then what is left to the heaviest."""
    opened = sorted(plan.opened.values(), key=lambda here: (-here.heat, here.path))
    most = min(max(len(here.names) for here in opened), plan.room)

    def level(cap: int) -> bool:
        for here in opened:
            plan.put(here, min(cap, len(here.names)))
        return plan.size <= plan.room

    level(_highest(level, 0, most))
    _close(plan, [here for here in opened if not (plan.caps[here.path] or here.below)])
    for here in [here for here in opened if here.path in plan.opened]:

        def grow(cap: int, here: Directory = here) -> bool:
            plan.put(here, cap)
            return plan.size <= plan.room

        grow(_highest(grow, plan.caps[here.path], min(len(here.names), plan.room)))
    # A count can be longer than the only name that it stands for, so that less may take more.
    while plan.size > plan.room and len(plan.opened) > 1:
        _close(plan, [plan.opened[next(reversed(plan.opened))]])


def _highest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The highest number from LOW to HIGH that FITS; LOW does in any case."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def map_word(name: str) -> str:
    """NAME as a word that is no count."""
    return literal(name) if name[0] == "+" and name[1:].isdigit() else word(name)


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
