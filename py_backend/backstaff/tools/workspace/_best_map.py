"""A map of a project within a number of tokens: the directories that matter most, one to a line.

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

The more urgent a directory or a file is, the earlier it gets room. Its weight is its share of all
edits (the git history) and of all files; a file is as urgent as it is heavy, and a directory less
so the deeper it is. The map shows as many as have room, in that order: a line for each directory,
a name in it for each file. Ties are broken by path, so the same project gives the same map.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from math import inf, sqrt

from backstaff.fs.budget import Budget
from backstaff.fs.project_files import Closed, ProjectFiles
from backstaff.render.lines import fitting
from backstaff.render.names import literal, word

HEAT_SHARE = 0.8
"""How much the edits count in a weight; the rest is the number of files."""
DIRECTORY_SHARE = 0.25
"""How urgent a directory at the top is, beside a file of its weight."""
LABELS_SHARE = 0.25
"""The part of the room that a line may take for its directories."""
SKIPPED = 10
"""So many directories or files that have no room are left out for less urgent ones that have."""
SPARE = 0.01
"""The part of the room that may stay empty."""
LEAST_COST = 0.8
"""What a name takes at least."""
MOST_KINDS = 2
MIN_DIRECTORIES = 5
"""Directories that the first line of the smallest map names."""

Cost = Callable[[str], float]
"""The part of the room that a text takes."""

_KIND = re.compile(r"(?<=.)\.\w{1,12}\Z", re.ASCII | re.DOTALL)
_CLOSED = {Closed.REPOSITORY: "git", Closed.UNREADABLE: "?"}


@dataclass(eq=False)
class Directory:
    """A directory: its files by their names, and the directories `below`, the heaviest first.

    `hot` is the weight of each edited file. `total`, `folders` and `heat` sum up the files,
    directories and edits at any depth. `label` is the directory's word in the line of the one
    above. `closed` is "git" or "?" for a directory that was not entered.
    """

    path: str
    names: Sequence[str]
    links: Collection[str]
    hot: Mapping[str, float]
    closed: str = ""
    below: list["Directory"] = field(default_factory=list)
    total: int = 0
    folders: int = 0
    heat: float = 0.0
    label: str = ""

    def walk(self) -> Iterator["Directory"]:
        """Yield this directory and each below it that holds files, those above others first."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += here.below

    def ranked(self) -> list[str]:
        """The names in the order in which they get room: the most edited first, `.x` last."""
        edited = sorted(self.hot, key=lambda name: (-self.hot[name], name))
        others = [name for name in self.names if name not in self.hot]  # they are in order
        return [*edited, *sorted(others, key=lambda name: name[0] == ".")]

    @cached_property
    def kinds(self) -> Counter[str]:
        """The number of files of each kind. The kind of `LICENSE` is ""."""
        return Counter(map(kind_of_name, self.names))


def commonest(kinds: Counter[str], most: int) -> list[tuple[str, int]]:
    """The MOST commonest of KINDS with their numbers, then all other files as the kind ""."""
    ordered = sorted((-number, kind) for kind, number in kinds.items() if kind)
    named = [(kind, -number) for number, kind in ordered[:most]]
    rest = kinds.total() - sum(number for _, number in named)
    return [*named, ("", rest)] if rest else named


def kind_of_name(name: str) -> str:
    """The extension of NAME with its dot, or "" if it has none that can stand in a line."""
    found = _KIND.search(name)
    return found[0] if found else ""


def map_word(name: str) -> str:
    """NAME as a word that does not look like a count."""
    return literal(name) if name[0] == "+" and name[1:].isdigit() else word(name)


# ---------------------------------------------------------------------------- the tree


def build_tree(project: ProjectFiles, heat: Mapping[str, float], budget: Budget) -> Directory:
    """Make the tree of PROJECT, without directories that hold no file.

    HEAT is the weight of each edited file, by its path from the start. Raises `DeadlineExceeded`.
    """
    found: dict[str, Directory] = {}
    for directory in budget.checked(project.directories):
        path, names = directory.path, project.names(directory)
        paths = project.paths[directory.first : directory.end]
        hot = {n: heat[file] for file, n in zip(paths, names, strict=True) if file in heat}
        closed = _CLOSED[directory.closed] if directory.closed else ""
        found[path] = Directory(path, names, frozenset(directory.links), hot, closed)
        if path:
            found[path.rpartition("/")[0]].below.append(found[path])
    # Parents stand before their directories, so in reverse each finds its directories summed up.
    for here in budget.checked(reversed(found.values())):
        there_below = [one for one in here.below if one.total or one.closed or one.below]
        here.folders = sum(1 + one.folders for one in there_below)
        # A directory that holds only one other directory is joined with it.
        here.below = [
            one.below[0] if len(one.below) == 1 and not one.names else one for one in there_below
        ]
        here.below.sort(key=lambda one: (-one.heat, -one.total, one.path))
        here.total = len(here.names) + sum(one.total for one in here.below)
        here.heat = sum(here.hot.values()) + sum(one.heat for one in here.below)
        for one in here.below:
            inner = one.path[len(here.path) :].removeprefix("/")
            one.label = f"{map_word(inner)}/({one.closed or one.total})"
    return found[""]


# ---------------------------------------------------------------------------- the map


@dataclass(frozen=True, slots=True)
class Line:
    """A directory as the map shows it: some of its `names`, and the directories `collapsed` in it.

    `omitted` counts the other files by kind. `folded` is the number of other directories and the
    number of files in them. `text` is empty where everything in the directory has its own line.
    """

    directory: Directory
    names: Sequence[str]
    omitted: Sequence[tuple[str, int]]
    collapsed: Sequence[Directory]
    folded: tuple[int, int]
    text: str


def best_map(start: Directory, room: float, cost: Cost, prefix: str, budget: Budget) -> list[Line]:
    """The best map of START whose COST is at most ROOM; at least its first line.

    The lines are in the order of their paths, so that of START is the first. PREFIX is the path of
    START with a slash at its end, or "". When the time is up, the map shows less.
    """
    labels_room = room * LABELS_SHARE
    first_room = min(labels_room, room - _bare_cost(start, cost, prefix))  # it must fit in any case

    def lines(count: int) -> list[Line]:
        shown: dict[Directory, list[str]] = {start: []}
        for *_, here, name in items[:count]:
            shown.setdefault(here, []).extend([name] if name else [])
        return [
            _line(here, names, shown, first_room if here is start else labels_room, cost, prefix)
            for here, names in shown.items()
        ]

    def taken(count: int) -> float:
        return sum(cost(line.text) for line in lines(count))

    most_items = max(int(room / LEAST_COST), 0)
    items = nsmallest(most_items, budget.within(_items(start, most_items)))
    fitting_items = 0
    for _ in range(SKIPPED + 1):
        free = room - taken(fitting_items)
        if free < room * SPARE or budget.expired():
            break
        most = min(len(items), fitting_items + int(free / LEAST_COST) + 1)
        fitting_items += bisect_right(range(fitting_items + 1, most + 1), room, key=taken)
        if fitting_items == len(items):
            break
        _, rank, path, *_ = items.pop(fitting_items)
        if path and not rank:  # nothing in a directory without a line is shown
            items = [one for one in items if not f"{one[2]}/".startswith(f"{path}/")]
    found = [line for line in lines(fitting_items) if line.text]
    return sorted(found, key=lambda line: line.directory.path)


def _items(start: Directory, most: int) -> Iterator[tuple[float, int, str, Directory, str]]:
    """Yield a tuple for each directory below START with its first name, and for MOST other names.

    It has the negative urgency, the rank in the directory and its path, for the order; then the
    directory and the name, "" if it has none. No name comes before the first of its directory, nor
    a directory before the one above.
    """

    def weight(heat: float, files: int) -> float:
        edits = heat / start.heat if start.heat else 0.0
        return HEAT_SHARE * edits + (1 - HEAT_SHARE) * files / (start.total or 1)

    for here in start.walk():
        if here.closed:
            continue
        depth = sqrt(here.path.count("/") + 1)
        urgency = DIRECTORY_SHARE * weight(here.heat, here.total) / depth if here.path else inf
        for rank, name in enumerate(here.ranked()[:most] or [""]):
            wanted = weight(here.hot.get(name, 0.0), 1) if rank or not here.path else inf
            yield -min(urgency, wanted), rank, here.path, here, name


def _line(  # noqa: PLR0913, PLR0917 - what a line is made of
    here: Directory,
    names: Sequence[str],
    opened: Collection[Directory],
    room: float,
    cost: Cost,
    prefix: str,
) -> Line:
    """The line of HERE with these NAMES, and with as many directories not OPENED as have ROOM.

    The first line names opened ones, too.
    """
    names = sorted(names)
    others = [one for one in here.below if not here.path or one not in opened]
    count = fitting((cost(one.label) for one in others), room)
    collapsed = sorted(others[:count], key=lambda one: one.path)
    rest = [one.total for one in others[count:] if one not in opened]
    omitted = commonest(here.kinds - Counter(map(kind_of_name, names)), MOST_KINDS)
    words = [
        *(map_word(name) + "@" * (name in here.links) for name in names),
        *(f"+{number} {kind}".rstrip() for kind, number in omitted),
        *(one.label for one in collapsed),
        *([f"+{len(rest)} dirs ({sum(rest)})"] if rest else []),
    ]
    shown = words or not here.path
    text = " ".join((_beginning(prefix + here.path), *words)) + "\n" if shown else ""
    return Line(here, names, omitted, collapsed, (len(rest), sum(rest)), text)


def minimum_cost(start: Directory, cost: Cost, prefix: str) -> float:
    """The cost of the smallest map that is of use: its first line names a few directories."""
    labels = sum(cost(one.label) for one in start.below[:MIN_DIRECTORIES])
    return _bare_cost(start, cost, prefix) + labels


def _bare_cost(start: Directory, cost: Cost, prefix: str) -> float:
    """The cost of a first line that names nothing."""
    omitted = commonest(start.kinds, MOST_KINDS)
    counts = "".join(f" +{number} {kind}" for kind, number in omitted)
    return cost(f"{_beginning(prefix)}{counts} +{len(start.below)} dirs ({start.total})\n")


def _beginning(path: str) -> str:
    """The first word in the line of the directory PATH."""
    path = path.rstrip("/")
    return f"{map_word(path)}/" if path else "./"
