"""A map of a project within a number of tokens: the directories that matter most, by their paths.

A line holds the path of a directory, the names of some files in it, directories below it, and the
number of all other files in it and below:

    ./ README.md pyproject.toml docs/ src/(210) tests/ +9
    src/trio/ __init__.py _abc.py _core/ _tools/ +164

`src/(210)` holds 210 files, at any depth, and `docs/` fewer than FEW. The first line names the
directories at the top, even where they have lines of their own. Any other directory is named once:
in a line of its own if files in it are named, else in the line of the nearest one above that has
one. There `a/b/` names `a`, too. `name@` is a link, `sub/(git)` a repository of its own, and
`sub/(?)` cannot be read. Names are words as in `render.names`, and a name that looks like a count
is quoted, too.

The name with the greatest worth for its length comes first. A file is worth its edits in the git
history; without any edits, all are worth the same. A directory is worth the sum of the files right
in it: whoever sees it knows where they are. Names are added in that order while there is room.
Ties are broken by path, so the same project gives the same map.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import inf
from typing import Any

from backstaff.budget import Budget
from backstaff.project.file_kinds import changes_along
from backstaff.project.files import Closed, Directory, ProjectFiles
from backstaff.render.lines import fitting
from backstaff.render.names import literal, word

LABELS_SHARE = 0.5
"""The part of the room that the first line may take for its directories."""
# Of the directories at the top, all are named with .5, .97 with .3 and 300 tokens.
FEW = 100
"""The lowest count of files beside a directory: a lower one is not worth its tokens."""
# With 20, .92 have their directory named.

Cost = Callable[[str], float]
"""The part of the room that a text takes. That of two words is at most the sum of both."""
Row = dict[str, Any]
"""The data of a line; all paths in them start at the root."""

_CLOSED = {Closed.REPOSITORY: "git", Closed.UNREADABLE: "?"}


@dataclass(frozen=True, slots=True)
class Survey:
    """The directories of a project by their paths from the start; that of the start is "".

    `prefix` goes before these paths to start at the root. `heat` has the edits of files, and
    `along` names those that change along with others, as a changelog, and say little themselves.
    `totals` counts the files in each directory that has any, at any depth.
    """

    prefix: str
    directories: Mapping[str, Directory]
    heat: Mapping[str, float]
    along: Collection[str]
    totals: Mapping[str, int]

    def label(self, path: str, line: str) -> str:
        """The word for the directory `path` in the line of the one above: `src/(210)`."""
        closed, total = self.directories[path].closed, self.totals[path]
        number = _CLOSED[closed] if closed else f"{total}" if total >= FEW else ""
        return map_word(path[len(line) :].removeprefix("/")) + "/" + f"({number})" * bool(number)

    def empty_line(self, path: str) -> str:
        """The line of the directory `path` that names nothing: `src/ +210`."""
        whole = (self.prefix + path).rstrip("/")
        return f"{map_word(whole) if whole else '.'}/ +{self.totals[path]}\n"


def survey(project: ProjectFiles, prefix: str, heat: Mapping[str, float], budget: Budget) -> Survey:
    """Count the files of `project`. `heat` has the edits. Raises `DeadlineExceeded`."""
    totals = Counter({"": 0})
    for directory in budget.checked(project.directories):
        if directory.paths or directory.closed:
            for path in (directory.path, *_above(directory.path)):
                totals[path] += len(directory.paths)
    directories = {one.path: one for one in project.directories}
    return Survey(prefix, directories, heat, set(filter(changes_along, heat)), totals)


def best_map(there: Survey, room: float, cost: Cost, budget: Budget) -> list[tuple[str, Row]]:
    """The lines of the best map whose `cost` is at most `room`, each with its data.

    There is at least the first line, that of the start; the others follow in the order of their
    paths. When the time is up, the map shows less.
    """
    left = room - cost(there.empty_line(""))
    top = [path for path in there.totals if path and "/" not in path]
    top.sort(key=lambda path: (-there.totals[path], path))
    prices = [cost(there.label(path, "") + " ") for path in top]
    first = top[: fitting(prices, left * LABELS_SHARE)]
    left -= sum(prices[: len(first)])

    shown: dict[str, list[str]] = {path: [] for path in ("", *first)}
    most = max(int(left), 0)  # a name takes at least about one
    for _, _, path, name in nsmallest(most, budget.within(_items(there, most))):
        if name:
            price = cost(map_word(name) + "@ ")
            price += cost(there.empty_line(path)) if path and not shown.get(path) else 0.0
        elif path in shown:
            continue
        else:
            price = cost(there.label(path, "") + " ")
        if price > left:  # the prices so far were too high
            left = room
            for text, row in _lines(there, shown, first):
                left -= cost(text) + cost(f"+{there.totals['']}") - cost(_rest(row["more_files"]))
        if price > left or budget.expired():
            break
        left -= price
        shown.setdefault(path, []).extend([name] if name else [])
    return list(_lines(there, shown, first))


def _lines(
    there: Survey, shown: Mapping[str, Sequence[str]], first: Sequence[str]
) -> Iterator[tuple[str, Row]]:
    """Yield the lines of a map that names `shown` files by directory, and the `first` on top."""
    opened = {path for path, names in shown.items() if names} | {""}
    # The label of a directory names those above it, too.
    named = {above for path in shown for above in _above(path)} - opened - {*first}
    shown = {path: names for path, names in shown.items() if path not in named}
    labels = {path: list(first) if not path else [] for path in opened}
    more = {path: there.totals[path] - len(names) for path, names in shown.items()}
    for path in shown.keys() - {""}:
        more[next(above for above in _above(path) if above in shown)] -= there.totals[path]
        if path not in opened and path not in first:
            labels[next(above for above in _above(path) if above in opened)].append(path)
    for path in sorted(opened):
        names, inner = sorted(shown[path]), sorted(labels[path])
        links = [name for name in names if name in there.directories[path].links]
        words = [
            there.empty_line(path).rpartition(" ")[0],
            *(map_word(name) + "@" * (name in links) for name in names),
            *(there.label(one, path) for one in inner),
            _rest(more[path]),
        ]
        row = {
            "path": (there.prefix + path).rstrip("/") or ".",
            "names": names,
            "links": links,
            "collapsed": [there.prefix + one for one in inner],
            "more_files": more[path],
        }
        yield " ".join(filter(None, words)) + "\n", row


def _rest(more: int) -> str:
    """The word for the number of files that a line leaves out."""
    return f"+{more}" if more else ""


def _items(there: Survey, most: int) -> Iterator[tuple[float, int, str, str]]:
    """Yield the items of the map: each directory that has files, and `most` names in each.

    Before the path and the name, which is "" for the directory itself, stand the negative worth per
    character and the rank. So no name comes before its directory or one of a lower rank.
    """
    for path, directory in there.directories.items():
        worth = [there.heat.get(one, 0.0) if there.heat else 1.0 for one in directory.paths]
        urgency = -sum(worth) / (len(path.rpartition("/")[2]) + 1) if path else -inf
        if path and (worth or directory.closed):
            yield urgency, 0, path, ""
        names = zip(worth, directory.names(), directory.paths, strict=True)
        own = [(0.0 if path in there.along else value, name) for value, name, path in names]
        ranked = sorted(own, key=lambda one: (-one[0], one[1][0] == "."))
        for rank, (value, name) in enumerate(ranked[:most], 1):
            urgency = max(urgency, -value / (len(name) + 1))
            yield urgency, rank, path, name


def _above(path: str) -> Iterator[str]:
    """Yield the directories above `path`, the nearest first: `a/b`, `a` and "" for `a/b/c`."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def map_word(name: str) -> str:
    """Return `name` as a word that does not look like a count."""
    return literal(name) if name[0] == "+" and name[1:].isdigit() else word(name)
