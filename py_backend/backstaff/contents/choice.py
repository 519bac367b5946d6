"""Which files of a project a search of their contents looks at."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import DeadlineExceeded
from backstaff.globs.globs import Globs
from backstaff.project.files import ProjectFiles
from backstaff.render.lines import some_of
from backstaff.render.names import word

MAX_NAMED = 3
"""Maximum number of paths in a sentence."""
MAX_KEPT = 250_000
"""Maximum number of files in all choices that are kept; 125,000 take 13 MB."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that keep files out: `excluded` names in their paths, and globs.

    The globs match a path with `prefix` before it, and those of `include` one with
    `include_prefix`. Both are the prefix of the searched directory, or "".
    """

    excluded: frozenset[str]
    prefix: str
    include: Globs | None
    exclude: Globs | None
    include_prefix: str = ""

    def included(self, paths: Sequence[str], budget: Budget) -> Sequence[str]:
        """Return those of `paths` that `include` matches; all if there is none."""
        if not self.include:
            return paths
        from_root = [self.include_prefix + one for one in paths] if self.include_prefix else paths
        return [paths[at] for at in self.include.files(from_root, budget)]


@dataclass(frozen=True, slots=True)
class Choice:
    """The files to search, in their order, and how many others are left out.

    `by_include` counts files that no glob of `include` matches. `by_name` counts others that a name
    keeps out, by the path that ends with it: that of a directory, such as `src/build/`, or of the
    file itself. `by_exclude` counts files that a glob of `exclude` matches.
    """

    files: Sequence[str]
    by_name: Counter[str]
    by_exclude: int
    by_include: int


def choose(project: ProjectFiles, rules: Rules, budget: Budget, new: Sequence[str] = ()) -> Choice:
    """Return the files of `project` that the `rules` leave, by path in UTF-16 units.

    The `new` files are in Emacs and not yet on the disk. Raises `DeadlineExceeded`, as well if the
    time for finding files was up.
    """
    if project.expired:
        raise DeadlineExceeded
    key = id(project.paths), rules, tuple(new)  # to hash 125,000 paths takes 2 ms
    _, choice = _KEPT.get(key) or (None, None)
    if choice is None:
        choice = _chosen(project, rules, budget, new)
        if not budget.expired():  # else the files may not be in order
            _KEPT.put(key, (project.paths, choice))
    return choice


def _chosen(project: ProjectFiles, rules: Rules, budget: Budget, new: Sequence[str]) -> Choice:
    """Return the files that no excluded name, no glob of `exclude` and no missing one keeps out."""
    files, named, by_exclude = list[str](), dict[str, list[str]](), 0
    for path in budget.checked((*project.paths, *new)):
        kept_out = above_excluded(path, rules.excluded)
        (named.setdefault(kept_out, []) if kept_out else files).append(path)
    if rules.exclude:
        excluded = set[str]()  # directories
        for path in budget.checked([one.path for one in project.directories if one.path]):
            if path.rpartition("/")[0] in excluded or rules.exclude.match(rules.prefix + path):
                excluded.add(path)
        from_root = [rules.prefix + one for one in files]
        matching = set(rules.exclude.files(from_root, budget))
        left = [
            one
            for at, one in enumerate(files)
            if at not in matching and one.rpartition("/")[0] not in excluded
        ]
        files, by_exclude = left, len(files) - len(left)
    by_name = +Counter({name: len(rules.included(paths, budget)) for name, paths in named.items()})
    chosen = rules.included(files, budget)
    by_include = len(files) - len(chosen) + sum(map(len, named.values())) - by_name.total()
    # Code points and UTF-16 units have one order, unless a character takes two units.
    two_units = any(max(one) > "\uffff" for one in chosen if not one.isascii())
    chosen = budget.ordered(chosen, _utf_16 if two_units else str)
    return Choice(chosen, by_name, by_exclude, by_include)


_KEPT: LRUCache[tuple[int, Rules, tuple[str, ...]], tuple[Sequence[str], Choice]] = LRUCache(
    MAX_KEPT, lambda kept: len(kept[1].files)
)
"""The choices made last, each with the paths it was made from, so that no others get their `id`.

A search in the same files costs 40 ms less in 125,000.
"""


def above_excluded(path: str, excluded: frozenset[str]) -> str:
    """Return the beginning of `path` up to its first `excluded` name, or "".

    For example `src/build/` of `src/build/x/a.c`.
    """
    names = path.split("/")
    if excluded.isdisjoint(names):
        return ""
    at = next(at for at, name in enumerate(names) if name in excluded)
    return "/".join(names[: at + 1]) + "/" * (at + 1 < len(names))


def told_by_name(by_name: Counter[str], prefix: str, remedy: str) -> Iterator[str]:
    """Yield which paths are left out `by_name`, as in `Choice`: `3 in build/ src/dist/`.

    `prefix` stands before each path, and the `remedy` behind those of directories. Of several with
    one name it is that name: `**/build/`.
    """
    names = {path: path.split("/")[-2] for path in by_name if path.endswith("/")}
    if names:
        count, several = sum(by_name[path] for path in names), Counter(names.values())
        shown = {path if several[name] == 1 else f"**/{name}/" for path, name in names.items()}
        yield f"{count:,} in {first_of(sorted(shown), prefix)}{remedy}"
    if files := sorted(path for path in by_name if path not in names):
        yield f"{len(files):,} named {first_of(files, prefix)}"


def first_of(paths: Sequence[str], prefix: str) -> str:
    """Return the first `MAX_NAMED` of `paths` with `prefix`; a directory ends with a slash."""
    words = (word(prefix + path.removesuffix("/")) + "/" * path.endswith("/") for path in paths)
    return some_of(words, len(paths), most=MAX_NAMED) or f"{len(paths)} with long names"


def _utf_16(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")
