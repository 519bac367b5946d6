"""A map of a project within a number of tokens: the directories that matter most, by their paths.

A line holds the path of a directory, the names of some files in it, the number of other files of a
kind if they are many, directories below it, and the number of all other files in it and below:

    ./ README.md pyproject.toml docs/ src/(210) tests/(92) +9
    src/trio/ __init__.py _abc.py +62 .py _core/(54) _tests/tools/ _tools/ +7

`_core/(54)` holds 54 files, at any depth, and `_tools/` fewer than FEW. The first line is that of
the start and names the directories at the top, even where they have lines of their own. Any other
directory is named once: in a line of its own if files in it or LINE directories below it are named,
else in the line of the nearest one above that has one. `name@` is a link, `sub/(git)` a repository
of its own, and `sub/(?)` cannot be read. Names are words as in `render.names`, and a name that
looks like a count is quoted, too, so a reader gets the paths back from a line. Directories without
files are left out.

The name with the greatest worth for its length comes first. A file is worth its edits in the git
history; without any edits, all are worth the same. A directory is worth the sum of the files right
in it: whoever sees it knows where they are. The map shows as many directories and names of
files as have room, in that order. Ties are broken by path, so the same project gives the same map.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from itertools import chain
from math import inf

from backstaff.budget import Budget
from backstaff.project.files import Closed, ProjectFiles
from backstaff.render.lines import fitting
from backstaff.render.names import literal, word

LINE = 3
"""Minimum number of directories shown in one for it to have a line, with its path once."""
# Of the files that the next commits touch, .62 are named with 3, .57 with 1 (dev.bench.overview).
LABELS_SHARE = 0.5
"""The part of the room that the first line may take for its directories."""
# Of the directories at the top, all are named with .5, .95 with .1 (dev.bench.overview).
FEW = 50
"""The lowest count of files beside a directory or a kind: a lower one is not worth its tokens."""
MOST_KINDS = 2
"""Maximum number of kinds of files that a line counts."""

Cost = Callable[[str], float]
"""The part of the room that a text takes."""

_KIND = re.compile(r"(?<=.)\.[a-zA-Z]\w{0,15}\Z", re.ASCII | re.DOTALL)
_CLOSED = {Closed.REPOSITORY: "git", Closed.UNREADABLE: "?"}


@dataclass(eq=False)
class Directory:
    """A directory: its files by their names, and the directories `below`, the heaviest first.

    `hot` is the weight of each edited file, except those that change along with others; `own` sums
    up all of them. `total`, `folders` and `heat` sum up the files, directories and edits at any
    depth. `closed` is "git" or "?" for a directory that was not entered. A directory that holds
    only one other directory is joined with it: it is left out.
    """

    path: str
    names: Sequence[str]
    links: Collection[str]
    hot: Mapping[str, float]
    own: float = 0.0
    closed: str = ""
    below: list["Directory"] = field(default_factory=list)
    total: int = 0
    folders: int = 0
    heat: float = 0.0
    level: int = 0
    above: "Directory | None" = None

    def walk(self) -> Iterator["Directory"]:
        """Yield this directory and each below it that holds files, parents first."""
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
    """The `most` commonest of `kinds` with their numbers, then all other files as the kind ""."""
    ordered = sorted((-number, kind) for kind, number in kinds.items() if kind)
    named = [(kind, -number) for number, kind in ordered[:most]]
    rest = kinds.total() - sum(number for _, number in named)
    return [*named, ("", rest)] if rest else named


def kind_of_name(name: str) -> str:
    """The extension of `name` with its dot, or "" if it has none that can stand in a line."""
    found = _KIND.search(name)
    return found[0] if found else ""


def map_word(name: str) -> str:
    """Return `name` as a word that does not look like a count."""
    return literal(name) if name[0] == "+" and name[1:].isdigit() else word(name)


# ---------------------------------------------------------------------------- the tree


def build_tree(
    project: ProjectFiles,
    heat: Mapping[str, float],
    budget: Budget,
    along: Callable[[str], bool] = lambda _: False,
) -> Directory:
    """Make the tree of `project`, without directories that hold no file.

    `heat` is the weight of each edited file, by its path from the start. `along` is true for those
    that change along with others, such as a changelog. Raises `DeadlineExceeded`.
    """
    found: dict[str, Directory] = {}
    for directory in budget.checked(project.directories):
        path, names, paths = directory.path, directory.names(), directory.paths
        hot = {n: heat[file] for file, n in zip(paths, names, strict=True) if file in heat}
        own = sum(hot.values()) if hot else 0.0
        hot = {n: hot[n] for n in hot if not along(f"{path}/{n}".removeprefix("/"))}
        closed = _CLOSED[directory.closed] if directory.closed else ""
        found[path] = Directory(path, names, frozenset(directory.links), hot, own, closed)
        if path:
            found[path].level = path.count("/") + 1
            found[path.rpartition("/")[0]].below.append(found[path])
    # Parents stand before their directories, so in reverse the sums of these are ready.
    for here in budget.checked(reversed(found.values())):
        there_below = [one for one in here.below if one.total or one.closed or one.below]
        here.folders = sum(1 + one.folders for one in there_below)
        here.below = [
            one.below[0] if len(one.below) == 1 and not one.names else one for one in there_below
        ]
        here.below.sort(key=lambda one: (-one.heat, -one.total, one.path))
        here.total = len(here.names) + sum(one.total for one in here.below)
        here.heat = here.own + sum(one.heat for one in here.below)
        for one in here.below:
            one.above = here
    return found[""]


# ---------------------------------------------------------------------------- the map


@dataclass(frozen=True, slots=True)
class Line:
    """A directory as the map shows it: some of its `names`, and directories `collapsed` below it.

    `omitted` counts its other files by kind. `folded` is the number of directories below it that
    the map does not show, and the number of files in them.
    """

    directory: Directory
    names: Sequence[str]
    omitted: Sequence[tuple[str, int]]
    collapsed: Sequence[Directory]
    folded: tuple[int, int]
    text: str


def best_map(start: Directory, room: float, cost: Cost, prefix: str, budget: Budget) -> list[Line]:
    """The best map of `start` whose `cost` is at most `room`; at least its first line.

    The lines are in the order of their paths, so that of `start` is the first. `prefix` is the path
    of `start` with a slash at its end, or "". When the time is up, the map shows less.
    """
    # The first line must fit.
    first_room = min(room * LABELS_SHARE, room - minimum_cost(start, cost, prefix))
    labels = (cost(_label(one, start)) for one in start.below)
    first = start.below[: fitting(labels, first_room)]

    def lines(count: int) -> list[Line]:
        shown: dict[Directory, list[str]] = {start: []}
        for *_, here, name in items[:count]:
            shown.setdefault(here, []).extend([name] if name else [])
        return _lines(start, shown, first, prefix)

    def taken(count: int) -> float:
        return inf if budget.expired() else sum(cost(line.text) for line in lines(count))

    most = max(int(room), 0)  # a name takes at least about one
    items = nsmallest(most, budget.within(_directories(start)))
    # No name comes before its directory, so only those of these directories can have room.
    names = chain.from_iterable(_names(start, item, most) for item in items)
    items = nsmallest(most, chain(items, budget.within(names)))
    return lines(bisect_right(range(1, len(items) + 1), room, key=taken))


Item = tuple[float, int, str, Directory, str]
"""A directory and the name of a file in it, or "" for the directory itself.

For the order, the negative urgency, the rank of the name and the path of the directory come first.
Urgency is worth per character.
"""


def _directories(start: Directory) -> Iterator[Item]:
    """Yield an item for `start` and each directory below it that has files."""
    yield -inf, 0, "", start, ""
    for here in start.walk():
        base = here.above
        if not base or not (here.names or here.closed or base is start):
            continue
        while base.above and not _has_line(base, start):
            base = base.above
        files = here.total if base is start else len(here.names)
        worth = here.own if start.heat else files or 1
        yield -worth / (len(_inner(here, base)) + 1), 0, here.path, here, ""


def _names(start: Directory, item: Item, most: int) -> Iterator[Item]:
    """Yield an item for each of `most` names in the directory of `item`, the most edited first."""
    urgency, *_, here, _ = item
    beginning = 0 if _has_line(here, start) else len(here.path) + 1
    for rank, name in enumerate(here.ranked()[:most], 1):
        worth = here.hot.get(name, 0.0) if start.heat else 1.0
        urgency = max(urgency, -worth / (len(name) + 1 + beginning))
        beginning = 0
        yield urgency, rank, here.path, here, name


def _has_line(here: Directory, start: Directory) -> bool:
    """Whether `here` is likely to have a line: at the top, or with many edited directories."""
    if here.above in (None, start):
        return True
    return len(here.below) >= LINE and (here.below[LINE - 1].heat > 0 or not start.heat)


def _lines(
    start: Directory,
    shown: Mapping[Directory, Sequence[str]],
    first: Sequence[Directory],
    prefix: str,
) -> list[Line]:
    """The lines of the directories `shown`, with the names in each; that of `start` has `first`."""
    # The directories shown and all above them, each with the labels that wait for a line there.
    waiting: dict[Directory, list[Directory]] = {start: []}
    for one in (*first, *shown):
        here: Directory | None = one
        while here and here not in waiting:
            waiting[here] = []
            here = here.above
    # The folders and files below each that the map shows or counts.
    folders, files = Counter[Directory](), Counter[Directory]()
    lines: list[Line] = []
    for here in sorted(waiting, key=lambda one: -one.level):
        labels, names, above = waiting[here], shown.get(here), here.above
        least = 1 if above in (None, start) else LINE - (names is not None)
        if has_line := not above or bool(names) or len(labels) >= least:
            folded = here.folders - folders[here], here.total - len(here.names) - files[here]
            inner = labels if above else {*labels, *first}
            lines.append(_line(here, sorted(names or ()), inner, folded, prefix))
        if not above:
            continue
        is_named = has_line or names is not None or here in first
        folders[above] += here.level - above.level
        if is_named:
            folders[above] += here.folders
            files[above] += here.total
        else:
            folders[above] += folders[here] - bool(here.names)
            files[above] += files[here]
        if not has_line:
            waiting[above] += [*labels, here] if is_named else labels
    return sorted(lines, key=lambda line: line.directory.path)


def _line(
    here: Directory,
    names: Sequence[str],
    labels: Collection[Directory],
    folded: tuple[int, int],
    prefix: str,
) -> Line:
    """The line of `here` with these `names` and with the `labels` of directories below it."""
    collapsed = sorted(labels, key=lambda one: one.path)
    omitted = commonest(here.kinds - Counter(map(kind_of_name, names)), MOST_KINDS)
    many = [(kind, number) for kind, number in omitted if kind and number >= FEW]
    more = sum(n for _, n in omitted) - sum(n for _, n in many) + folded[1]
    words = [
        _beginning(prefix + here.path),
        *(map_word(name) + "@" * (name in here.links) for name in names),
        *(f"+{number} {kind}" for kind, number in many),
        *(_label(one, here) for one in collapsed),
        *([f"+{more}"] if more else []),
    ]
    return Line(here, names, omitted, collapsed, folded, " ".join(words) + "\n")


def _inner(here: Directory, base: Directory) -> str:
    """The path of `here` from `base`, which is above it."""
    return here.path[len(base.path) :].removeprefix("/")


def _label(here: Directory, base: Directory) -> str:
    """The word for `here` in the line of `base`: `src/(210)`."""
    number = here.closed or (f"{here.total}" if here.total >= FEW else "")
    return map_word(_inner(here, base)) + "/" + f"({number})" * bool(number)


def minimum_cost(start: Directory, cost: Cost, prefix: str) -> float:
    """The cost of the smallest map: a first line that names nothing."""
    omitted = commonest(start.kinds, MOST_KINDS)
    counts = "".join(f" +{number} {kind}" for kind, number in omitted)
    return cost(f"{_beginning(prefix)}{counts} +{start.total}\n")


def _beginning(path: str) -> str:
    """The first word in the line of the directory `path`."""
    path = path.rstrip("/")
    return f"{map_word(path)}/" if path else "./"
