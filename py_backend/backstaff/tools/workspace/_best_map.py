"""A map of a project within a number of tokens: the directories that matter most, by their paths.

A line holds the path of a directory, the names of some files in it, directories below it, and the
number of all other files in it and below:

    ./ README.md pyproject.toml docs/ src/(210) tests/ +9
    src/trio/ __init__.py _abc.py _core/ _tools/ +164

`src/(210)` holds 210 files, at any depth, and `docs/` fewer than FEW. The first line names the
directories at the top, even where they have lines of their own. Any other directory is named once:
in a line of its own if files in it are named, else in the line of the nearest one above that has
one. There `a/b/` names `a`, too. `name@` is a link, `sub/(git)` a repository of its own, and
`sub/(?)` cannot be read. Names are words as in `render.names`; one like a count is quoted, too.

The name with the greatest worth for its length comes first, while there is room. A file is worth
its edits in the git history, or without any edits the same as all others. A directory is worth the
sum of the files right in it: whoever sees it knows where they are. Ties are broken by path.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from backstaff.budget import Budget
from backstaff.file_kinds import changes_along
from backstaff.project.files import Closed, Directory, ProjectFiles
from backstaff.render.lines import fitting
from backstaff.render.names import word

LABELS_SHARE = 0.5  # of the room, for the directories in the first line
FEW = 100  # files: a lower count beside a directory is not worth its tokens

Cost = Callable[[str], float]  # the room that a text takes; two words take at most the sum
Row = dict[str, Any]  # the data of a line; all paths in them start at the root
_CLOSED = {Closed.REPOSITORY: "git", Closed.UNREADABLE: "?"}


@dataclass(frozen=True, slots=True)
class Survey:
    """The directories of a project by their paths from the start; that of the start is ""."""

    prefix: str  # from the root to the start
    directories: Mapping[str, Directory]
    heat: Mapping[str, float]  # the edits of files
    along: Collection[str]  # files that change along with others, as a changelog
    totals: Mapping[str, int]  # the numbers of files at any depth

    def label(self, path: str, line: str) -> str:
        """The word for the directory `path` in the line of the one above: `src/(210)`."""
        closed, total = self.directories[path].closed, self.totals[path]
        number = _CLOSED[closed] if closed else f"{total}" if total >= FEW else ""
        return word(path[len(line) :].removeprefix("/")) + "/" + f"({number})" * bool(number)

    def file(self, path: str, name: str) -> str:
        """The word for the file `name` in the directory `path`: `a.py`, or `link@`."""
        return word(name) + "@" * (name in self.directories[path].links)

    def empty_line(self, path: str) -> str:
        """The line of the directory `path` that names nothing: `src/ +210`."""
        whole = (self.prefix + path).rstrip("/")
        return f"{word(whole) if whole else '.'}/ +{self.totals[path]}\n"


def survey(project: ProjectFiles, prefix: str, heat: Mapping[str, float], budget: Budget) -> Survey:
    """Count the files of `project`. `heat` has the edits. Raises `DeadlineExceeded`."""
    directories, totals = {one.path: one for one in project.directories}, Counter({"": 0})
    for one in budget.checked(project.directories):
        for path in _upwards(one.path) if one.paths or one.closed else ():
            totals[path] += len(one.paths)
    return Survey(prefix, directories, heat, set(filter(changes_along, heat)), totals)


def best_map(there: Survey, room: float, cost: Cost, budget: Budget) -> list[tuple[str, Row]]:
    """The lines by path of the best map whose `cost` is at most `room`, each with its data.

    No price is below the cost of its name, so the map fits. When the time is up, it shows less.
    """
    left = room - cost(there.empty_line(""))
    top = [path for path in there.totals if path and "/" not in path]
    top.sort(key=lambda path: (-there.totals[path], path))
    prices = [cost(there.label(path, "") + " ") for path in top]
    first = top[: fitting(prices, left * LABELS_SHARE)]
    left -= sum(prices[: len(first)])

    opened: dict[str, list[str]] = {"": []}  # the names in each line
    labels = dict[str, float]()  # the price of each directory in the line of one above
    named, most = {"", *first}, max(int(left), 0)  # a name costs at least about one
    for _, _, path, name in nsmallest(most, budget.within(_items(there))):
        if path in named and not name:
            continue
        price = cost((there.file(path, name) if name else there.label(path, "")) + " ")
        if path not in opened:
            # A new line or label also names the directories above, whose labels go.
            price += cost(there.empty_line(path)) if name else 0.0
            price -= sum(labels.get(one, 0.0) for one in _upwards(path))
        if price > left:
            break
        left -= price
        for one in _upwards(path) if path not in opened else ():
            named.add(one)
            labels.pop(one, None)
        if name:
            opened.setdefault(path, []).append(name)
        else:
            labels[path] = price

    more = {path: there.totals[path] for path in {*opened, *first, *labels}}
    below = {path: list[str]() for path in opened} | {"": [*first]}
    for path in more.keys() - {""}:
        _, *above = _upwards(path)
        more[next(one for one in above if one in more)] -= there.totals[path]
        if path in labels:
            below[next(one for one in above if one in opened)].append(path)
    return [_line(there, path, opened[path], below[path], more[path]) for path in sorted(opened)]


def _line(
    there: Survey, path: str, names: Sequence[str], below: Sequence[str], more: int
) -> tuple[str, Row]:
    """The line of the directory `path` with `names` in it; `more` counts these and the rest."""
    row: Row = {
        "path": (there.prefix + path).rstrip("/") or ".",
        "names": sorted(names),
        "links": [name for name in sorted(names) if name in there.directories[path].links],
        "collapsed": [there.prefix + one for one in sorted(below)],
        "more_files": more - len(names),
    }
    words = [there.empty_line(path).rpartition(" ")[0]]
    words += [there.file(path, name) for name in row["names"]]
    words += [there.label(one, path) for one in sorted(below)]
    words += [f"+{row['more_files']}"] if row["more_files"] else []
    return " ".join(words) + "\n", row


def _items(there: Survey) -> Iterator[tuple[float, bool, str, str]]:
    """Yield the negative worth per character of each directory, with the name "", and its files."""
    for path, directory in there.directories.items():
        worth = [there.heat.get(one, 0.0) if there.heat else 1.0 for one in directory.paths]
        first = -sum(worth) / (len(path.rpartition("/")[2]) + 1)
        if path and (worth or directory.closed):
            yield first, False, path, ""
        for one, value in zip(directory.paths, worth, strict=True):
            name = one.rpartition("/")[2]
            worthless = one in there.along or name[0] == "."
            each = 0.0 if worthless else max(first, -value / (len(name) + 1))
            yield each, True, path, name


def _upwards(path: str) -> Iterator[str]:
    """Yield `path` and the directories above it: `a/b`, `a` and "" for `a/b`."""
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path
