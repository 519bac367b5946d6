"""workspace/project_overview: an outline of a project in as many tokens as a model can spare.

First comes a head: the name, the git branch, the number of files and their kinds, the files to read
first, the build files, the files edited lately. Then comes a map (`_best_map`): the directories
that matter most, a line each, the others by their names and the number of files in them. The last
line says how many files are not named and how to see them. Ignored files are neither named nor
counted.

`max_tokens` is enforced in bytes, 2.5 to a token: the vocabularies that were measured make fewer
tokens of lines with paths. Weight comes from the git history where there is one, else from the
number of files. The same project gives the same text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, takewhile
from pathlib import PurePath

from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.git import NoGit
from backstaff.fs.project_files import Closed, ProjectFiles, project_files
from backstaff.fs.root import Place
from backstaff.render.lines import all_files, size
from backstaff.render.names import labels, show, word
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._best_map import (
    Directory,
    Line,
    Map,
    best_map,
    build_tree,
    kind_of_name,
    map_word,
    minimum_size,
)
from backstaff.tools.workspace._refusals import refusal

MOST_TOKENS = 20_000
COMMITS = 1000
"""The number of the latest commits that give files their weight."""
LATE_COMMITS = 30
WALK_SHARE = 0.5
"""The part of the time for counting files; the rest is for the map."""
MIN_SECONDS = 0.5
"""The time that the map has in any case."""
BULK = 100
"""A commit of more files, such as an import, is no sign of where people work."""
EDITED = 8
"""The most files named as edited lately."""
HEAD_SHARE = 0.3
"""The part of the whole that the head may take, beside its first line."""
KINDS = 6

READ_FIRST = frozenset(
    (
        *("readme", "agents", "claude", "contributing", "architecture"),
        *("design", "hacking", "development", "overview"),
    )
)
PROSE = ("", "md", "rst", "txt", "org", "adoc")
BUILD = frozenset(
    (
        *("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py"),
        *("package.json", "deno.json", "cargo.toml", "go.mod", "go.work"),
        *("makefile", "gnumakefile", "justfile", "cmakelists.txt", "meson.build", "configure.ac"),
        *("build.gradle", "build.gradle.kts", "settings.gradle", "pom.xml", "build.sbt"),
        *("module.bazel", "workspace.bazel", "build.zig", "gemfile", "rakefile", "composer.json"),
        *("mix.exs", "rebar.config", "dune-project", "stack.yaml", "project.clj"),
        *("eask", "cask", "eldev", "package.swift", "pubspec.yaml", "dockerfile", "flake.nix"),
    )
)
BUILD_KINDS = (".asd", ".cabal", ".sln", ".csproj", ".gemspec", ".rockspec", ".nimble")


MORE_BY_PATH = 'more by path="dir"'
REPOSITORY = "dir/(git) is a repository of its own"
IGNORED = "git ignores all that is in here"
REMEDIES = {
    REPOSITORY: ": give it as path",
    IGNORED: ": workspace/search_files with include_ignored finds it",
}
"""The ends of notes in the text. A client that draws the data has its own words for them."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A directory, and how long its overview may be."""

    path: str = argument(
        "Directory to show, relative to the workspace (default: all of it).", default="."
    )
    max_tokens: int = argument(
        "The most that the answer may cost (default: 1000).",
        integer=True,
        default=1000,
        maximum=MOST_TOKENS,
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """The contents of an overview. Paths are relative to the root, like all that are shown.

    `prefix` is the path of the start with a slash, or "". `branch` is None without git or if git
    cannot name it, and "" where HEAD is detached. `complete` is false where the time was up. `more`
    is the advice on seeing more; `call` lists all files, for those that no answer has room for.
    """

    name: str
    prefix: str
    branch: str | None
    start: Directory
    types: Sequence[tuple[str, int]]
    read_first: Sequence[str]
    build: Sequence[str]
    edited: Sequence[str]
    notes: Sequence[str]
    warnings: tuple[str, ...]
    complete: bool
    more: str = f"{MORE_BY_PATH} or max_tokens"
    call: str | None = None

    @property
    def path(self) -> str:
        """The path of the start."""
        return self.prefix.rstrip("/") or "."

    @property
    def minimum(self) -> int:
        """The bytes of the shortest overview that is of use."""
        frame = size(_title(self)) + size(_tail(self, None))
        return frame + minimum_size(self.start, self.prefix)


def run(arguments: Arguments, context: Context) -> Result:
    """Count the files of the directory, and show as much as the limit has room for."""
    try:
        with context.root.directory(arguments.path) as place:
            facts = _facts(place, context)
    except PathError as error:
        raise refusal(error, arguments.path) from error
    except DeadlineExceeded as error:
        words = "When the files were counted, the time was up: give a directory as path"
        raise DeadlineExceeded(words) from error
    allowed = arguments.max_tokens * 5 // 2
    limit = min(allowed, context.text_limit(allowed))
    if limit < allowed or arguments.max_tokens == MOST_TOKENS:
        facts = replace(facts, more=MORE_BY_PATH, call=all_files(facts.path, "**", limit))
    if allowed < facts.minimum:
        words = f"{arguments.max_tokens} is too small: the least that is of use here is"
        problem = f"Argument 'max_tokens': {words} {-(-facts.minimum * 2 // 5)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem)
    if limit < facts.minimum:
        problem = f"The overview has at least {facts.minimum} bytes, more than the {limit} allowed"
        raise ToolError(ErrorCode.REPLY_TOO_LARGE, problem)
    head = _head(facts, limit)
    room = limit - size(head) - size(_tail(facts, None))
    found = best_map(facts.start, room, facts.prefix, context.budget)
    lines = "".join(line.text for line in found.lines)
    hides = found.files < facts.start.total or any(line.folded[0] for line in found.lines)
    return Result(
        text=head + lines + _tail(facts, found),
        data=_data(facts, found),
        truncated=hides or not facts.complete,
        warnings=facts.warnings,
        labels=lambda: labels(map_word, _names(facts, found)),
    )


# ---------------------------------------------------------------------------- facts


def _facts(place: Place, context: Context) -> Facts:
    found = project_files(place, context.budget.share(WALK_SHARE))
    branch, commits, warnings = _history(found, context.budget.share(WALK_SHARE))
    budget = context.budget.at_least(MIN_SECONDS)
    start = build_tree(found, Counter(chain.from_iterable(commits)), budget)
    prefix = place.prefix
    build = [
        f"{directory.path}/{name}".removeprefix("/")
        for directory in found.directories
        if "/" not in directory.path
        for name in budget.within(found.names(directory))
        if name.lower() in BUILD or name.lower().endswith(BUILD_KINDS)
    ]
    return Facts(
        name=PurePath(context.root.path).name or "/",
        prefix=prefix,
        branch=branch,
        start=start,
        types=_types(start, budget),
        read_first=[prefix + name for name in budget.within(start.names) if _is_read_first(name)],
        build=[prefix + path for path in build],
        edited=[prefix + path for path in _edited(commits, start)],
        notes=list(_notes(found)),
        warnings=tuple(warnings),
        complete=not found.expired,
    )


def _history(found: ProjectFiles, budget: Budget) -> tuple[str | None, list[list[str]], list[str]]:
    """The branch, the files of the latest commits, and a warning if a failure hides either."""
    repository = found.repository
    branch: str | None = None
    commits: list[list[str]] | NoGit
    if isinstance(repository, NoGit):
        commits = repository
        expected = repository in (NoGit.ABSENT, NoGit.NO_WORK_TREE)
    else:
        named, commits = repository.branch(budget), repository.commits(COMMITS, budget)
        branch = None if isinstance(named, NoGit) else named
        # A repository without a commit has no history, and git calls that a failure.
        expected = commits is NoGit.BROKEN
    if isinstance(commits, NoGit):
        return branch, [], [] if expected else [f"Nothing is known of edits: {commits}"]
    return branch, commits, []


def _types(start: Directory, budget: Budget) -> list[tuple[str, int]]:
    """The number of files of each kind, the commonest first. The kind of `LICENSE` is ""."""
    names = budget.checked(name for here in _all(start) for name in here.names)
    counts = Counter(map(kind_of_name, names))
    return sorted(counts.items(), key=lambda pair: (not pair[0], -pair[1], pair[0]))


def _is_read_first(name: str) -> bool:
    stem, _, extension = name.lower().partition(".")
    return stem in READ_FIRST and extension in PROSE


def _edited(commits: list[list[str]], start: Directory) -> list[str]:
    """The remaining files that the latest commits touched most often; of equals, the latest."""
    late = (sorted(files) for files in commits[:LATE_COMMITS] if len(files) <= BULK)
    touched = Counter(chain.from_iterable(late))
    there = {f"{here.path}/{name}".removeprefix("/") for here in _all(start) for name in here.hot}
    return [path for path, _ in touched.most_common() if path in there][:EDITED]


def _all(start: Directory) -> Iterator[Directory]:
    """Yield START and each directory below it that holds files."""
    waiting = [start]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += here.below


def _notes(found: ProjectFiles) -> Iterator[str]:
    """Say why counts may be too low, and how to read the map."""
    if found.expired:
        yield "the time was up: not everything is counted"
    if found.ignored and not found.paths:
        yield IGNORED
    if found.tracked_unknown:
        yield "files that are tracked though ignored are missing"
    if found.closed(Closed.REPOSITORY):
        yield REPOSITORY
    if found.closed(Closed.UNREADABLE):
        yield "dir/(?) cannot be read"


# ---------------------------------------------------------------------------- text


def _head(facts: Facts, limit: int) -> str:
    """The title, and as many of the kinds and lists of files as have room."""
    room = min(int(limit * HEAD_SHARE), limit - facts.minimum)
    lists = {"read first": facts.read_first, "build": facts.build, "edited lately": facts.edited}
    rows = [(label, paths) for label, paths in lists.items() if paths]
    types = _types_line(facts.types, room // (len(rows) + 1))
    lines = [_title(facts), types]
    room -= size(types)
    for number, (label, paths) in enumerate(rows):
        line = _row(label, paths, room // (len(rows) - number))
        lines.append(line)
        room -= size(line)
    return "".join(lines)


def _title(facts: Facts) -> str:
    match facts.branch:
        case None:
            git = "git unknown" if facts.warnings else "no git"
        case "":
            git = "git, no branch"
        case branch:
            git = f"git {show(branch)}"
    files, folders = facts.start.total, facts.start.folders
    where = show(f"{facts.name}/{facts.prefix}".rstrip("/") if facts.prefix else facts.name)
    counted = f"{files} {'file' if files == 1 else 'files'}"
    return f"# {where}  {git}, {counted} in {folders} {'dir' if folders == 1 else 'dirs'}\n"


def _types_line(types: Sequence[tuple[str, int]], room: int) -> str:
    """The counts of as many kinds as have ROOM: `types: 9 .py, 3 .md, 2 other`."""
    for most in range(KINDS, 0, -1):
        words = [f"{count} {kind or 'other'}" for kind, count in _commonest(types, most)]
        line = "types: " + ", ".join(words) + "\n"
        if any(kind for kind, _ in types) and size(line) <= room:
            return line
    return ""


def _commonest(types: Sequence[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """The first MOST of the TYPES, and all others together as the kind ""."""
    named = [(kind, count) for kind, count in types[:most] if kind]
    rest = sum(count for _, count in types[len(named) :])
    return [*named, ("", rest)] if rest else named


def _row(label: str, paths: Sequence[str], room: int) -> str:
    """A line of as many PATHS as have ROOM; empty if the first has none."""
    words = [word(path) for path in paths]
    sizes = accumulate((size(one) + 1 for one in words), initial=size(label) + 2)
    fitting = sum(1 for _ in takewhile(lambda taken: taken <= room, sizes)) - 1
    return f"{label}: {' '.join(words[:fitting])}\n" if fitting > 0 else ""


def _tail(facts: Facts, found: Map | None) -> str:
    """The last lines, on the files that FOUND does not name. With None, they are the longest."""
    total = facts.start.total
    named = total if found is None else found.files
    notes = "".join(f"[{note}{REMEDIES.get(note, '')}]\n" for note in facts.notes)
    if found is not None and named == total and facts.complete:
        all_of_them = "the file is" if total == 1 else f"all {total} files are"
        return f"{notes}[{all_of_them} named]\n" if total else f"{notes}[no file is here]\n"
    hides = found is None or found.lines[0].omitted or found.lines[0].folded[0]
    more = f"{facts.more}; all files: {facts.call}" if facts.call and hides else facts.more
    legend = "dir/(N): N files below; +N: N more here"
    return f"{notes}[{named} of {total} files named; {legend}; {more}]\n"


# ---------------------------------------------------------------------------- data


def _data(facts: Facts, found: Map) -> dict[str, object]:
    """The same contents for programs; `map` has a row for each line."""
    types = _commonest(facts.types, KINDS)
    return {
        "name": facts.name,
        "path": facts.path,
        "branch": facts.branch,
        "files": facts.start.total,
        "directories": facts.start.folders,
        "types": [{"kind": kind or None, "files": count} for kind, count in types],
        "read_first": facts.read_first,
        "build": facts.build,
        "edited": facts.edited,
        "named": found.files,
        "notes": facts.notes,
        "map": [_line_data(line, facts.prefix) for line in found.lines],
    }


def _names(facts: Facts, found: Map) -> Iterator[str]:
    """Yield every name and path in the data."""
    yield from (facts.name, facts.branch or "", *facts.read_first, *facts.build, *facts.edited)
    for line in found.lines:
        yield (facts.prefix + line.directory.path).rstrip("/")
        yield from (file.name for file in line.files)
        yield from (facts.prefix + one.path for one in line.collapsed)


def _line_data(line: Line, prefix: str) -> dict[str, object]:
    return {
        "path": (prefix + line.directory.path).rstrip("/") or ".",
        "names": tuple(file.name for file in line.files),
        "links": tuple(file.name for file in line.files if file.link),
        "omitted": [{"kind": kind or None, "files": count} for count, kind in line.omitted],
        "collapsed": [
            {
                "path": prefix + one.path,
                "files": None if one.closed else one.total,
                "closed": one.closed or None,
            }
            for one in line.collapsed
        ],
        "more_directories": line.folded[0],
        "more_files": line.folded[1],
    }


TOOL = Tool(
    description=(
        "Shows what a project is: its size, what to read first, what builds it, what was edited"
        " lately, and a map of the directories that matter most. Keeps to max_tokens, leaves out"
        " what git ignores, and says what is hidden. Call this first in an unknown project."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation"),
)
