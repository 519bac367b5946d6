"""Which files of a project a search of their contents looks at."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import DeadlineExceeded
from backstaff.file_kinds import is_test_file
from backstaff.fs.entry import in_order, up_to
from backstaff.globs.globs import Globs
from backstaff.project.files import ProjectFiles
from backstaff.render.lines import paths_in_a_note

EXCLUDED = frozenset((".git", "node_modules", "dist", "build", "target", ".vscode"))
"""Names of directories and files that no search looks into, as its contract has it (search 3)."""
MAX_KEPT = 250_000  # files in all choices that are kept; 125,000 take 13 MB


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that keep files out: `excluded` names in their paths, globs, and being a test."""

    excluded: frozenset[str]
    prefix: str  # is put before a path when `exclude` is compared with it, such as `src/`
    include_prefix: str  # is put before a path when `include` is compared with it
    include: Globs | None
    exclude: Globs | None
    exclude_tests: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The files to search, in the order of the search, and the files that each rule keeps out."""

    files: Sequence[str]
    by_name: Counter[str]  # how many a name keeps out, by the path up to it, as `src/build/`
    by_exclude: Sequence[str]
    by_include: Sequence[str]
    tests: Sequence[str]

    def until(self, last: str) -> "Choice":
        """Return the same with nothing left out after the path `last`."""
        is_early = up_to(last)
        by_name = Counter({path: self.by_name[path] for path in filter(is_early, self.by_name)})
        others = self.by_exclude, self.by_include, self.tests
        return Choice(self.files, by_name, *(list(filter(is_early, paths)) for paths in others))


def choose(project: ProjectFiles, rules: Rules, budget: Budget, new: Sequence[str] = ()) -> Choice:
    """Return the files that the `rules` leave of `project` and `new` ones, by path in UTF-16 units.

    Raises `DeadlineExceeded`, also if the time for finding files was up.
    """
    if project.expired:
        raise DeadlineExceeded
    key = id(project.paths), rules, tuple(new)  # to hash 125,000 paths takes 2 ms
    if kept := _KEPT.get(key):
        return kept[1]
    choice = _chosen(project, rules, budget, new)
    if not budget.expired():  # else the files may not be in order
        _KEPT.put(key, (project.paths, choice))
    return choice


def _chosen(project: ProjectFiles, rules: Rules, budget: Budget, new: Sequence[str]) -> Choice:
    files, named = list[str](), dict[str, list[str]]()
    for path in budget.checked((*project.paths, *new)):
        kept_out = above_excluded(path, rules.excluded)
        (named.setdefault(kept_out, []) if kept_out else files).append(path)
    by_exclude, by_include, tests = list[str](), list[str](), list[str]()
    if rules.exclude:
        excluded = set[str]()  # directories
        for path in budget.checked([one.path for one in project.directories if one.path]):
            if path.rpartition("/")[0] in excluded or rules.exclude.match(rules.prefix + path):
                excluded.add(path)
        out = _matching(rules.exclude, rules.prefix, files, budget)
        out.update(one for one in files if one.rpartition("/")[0] in excluded)
        by_exclude = [one for one in files if one in out]
        files = [one for one in files if one not in out]
    if rules.include:
        every = [*files, *chain.from_iterable(named.values())]
        included = _matching(rules.include, rules.include_prefix, every, budget)
        by_include = [one for one in every if one not in included]
        files = [one for one in files if one in included]
        named = {name: [one for one in paths if one in included] for name, paths in named.items()}
    by_name = +Counter({name: len(paths) for name, paths in named.items()})
    if rules.exclude_tests:
        files, tests = [*filterfalse(is_test_file, files)], [*filter(is_test_file, files)]
    # Code points and UTF-16 units have one order, unless a character takes two units.
    two_units = any(max(one) > "\uffff" for one in files if not one.isascii())
    ordered = budget.ordered(files, in_order if two_units else str)
    return Choice(ordered, by_name, by_exclude, by_include, tests)


def _matching(globs: Globs, prefix: str, paths: Sequence[str], budget: Budget) -> set[str]:
    return {paths[at] for at in globs.files([prefix + one for one in paths], budget)}


_KEPT: LRUCache[tuple[int, Rules, tuple[str, ...]], tuple[Sequence[str], Choice]] = LRUCache(
    MAX_KEPT, lambda kept: len(kept[1].files)
)
"""Choices, which save 40 ms in 125,000 files, and their paths, so that no others get their `id`."""


def above_excluded(path: str, excluded: frozenset[str]) -> str:
    """Return the start of `path` with its first `excluded` name, as `src/build/`, or ""."""
    names = path.split("/")
    if excluded.isdisjoint(names):
        return ""
    at = next(at for at, name in enumerate(names) if name in excluded)
    return "/".join(names[: at + 1]) + "/" * (at + 1 < len(names))


def told_by_name(by_name: Counter[str], prefix: str) -> Iterator[str]:
    """Yield which paths, after `prefix`, are left out `by_name`: `3 in build/ src/dist/`."""
    for end, verb in ("/", "in"), ("", "named"):
        paths = sorted(path for path in by_name if path.endswith("/") == bool(end))
        shown = paths_in_a_note([prefix + path.removesuffix("/") for path in paths], end)
        if paths:
            yield f"{sum(map(by_name.__getitem__, paths)):,} {verb} {shown}"
