"""Which files of a project a search of their contents looks at."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.errors import DeadlineExceeded
from backstaff.fs.budget import Budget
from backstaff.fs.globs import Globs
from backstaff.fs.project_files import ProjectFiles


@dataclass(frozen=True, slots=True)
class Rules:
    """What keeps files out: names in their paths that are `excluded`, and globs.

    `prefix` stands before a path for the globs: that of the searched directory.
    """

    excluded: frozenset[str]
    prefix: str
    include: Globs | None
    exclude: Globs | None


@dataclass(frozen=True, slots=True)
class Choice:
    """The files to search, in their order, and how many others are left out.

    `by_name` counts files by the excluded name that keeps them out; `by_globs`, those that
    globs of `exclude` name or those of `include` do not.
    """

    files: Sequence[str]
    by_name: Counter[str]
    by_globs: int


def choose(project: ProjectFiles, rules: Rules, budget: Budget, new: Sequence[str] = ()) -> Choice:
    """The files of PROJECT that the RULES leave, by path in UTF-16 units.

    NEW ones are in Emacs and not yet on the disk. Raises `DeadlineExceeded`, also where the time
    for finding files was up.
    """
    if project.expired:
        raise DeadlineExceeded
    prefix, files = rules.prefix, list[str]()
    by_name: Counter[str] = Counter()
    excluded: set[str] = set()  # directories
    by_globs = 0
    for directory in budget.checked(project.directories):
        path, paths = directory.path, directory.paths()
        parents = path.split("/")
        if kept_out := next((name for name in parents if name in rules.excluded), None):
            by_name[kept_out] += len(paths)
            continue
        above = path.rpartition("/")[0]
        if rules.exclude and path and (above in excluded or rules.exclude.match(prefix + path)):
            excluded.add(path)
            by_globs += len(paths)
            continue
        inside = f"{path}/" if path else ""
        if not {inside + name for name in rules.excluded}.isdisjoint(paths):
            by_name.update(rules.excluded.intersection(directory.names()))
            paths = [one for one in paths if one.rpartition("/")[2] not in rules.excluded]
        files += paths
    files += [one for one in new if rules.excluded.isdisjoint(one.split("/"))]
    for globs, keep in ((rules.exclude, False), (rules.include, True)):
        if globs:
            # Where the search starts at the root, no path need be copied.
            matching = set(
                globs.files([prefix + one for one in files] if prefix else files, budget)
            )
            left = [one for at, one in enumerate(files) if (at in matching) is keep]
            by_globs += len(files) - len(left)
            files = left
    # Code points and UTF-16 units have one order but for characters that take two units.
    two_units = any(max(path) > "\uffff" for path in files if not path.isascii())
    order = _utf_16 if two_units else str
    return Choice(budget.ordered(files, order), by_name, by_globs)


def _utf_16(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")
