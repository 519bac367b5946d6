"""workspace/project_overview: what a project is, in as many tokens as a model can spare.

First a head: the name, the git branch, how many files there are and of what kinds, what to read
first, what builds it, what was edited lately. Then a map (`_map`): the directories that matter
most, a line each, the others by their names and the number of files in them. A last line says how
much is not named and how to see it. What git ignores is neither named nor counted.

`max_tokens` is enforced in bytes, 2.5 to a token: the vocabularies that were measured make fewer
tokens of such lines (value.md 1a.1). Weight comes from the git history where there is one, else
from the number of files. The same project gives the same text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, takewhile
from pathlib import PurePath

from backstaff.errors import (
    DeadlineExceeded,
    ErrorCode,
    PathError,
    ToolError,
)
from backstaff.fs.budget import Budget
from backstaff.fs.git import NoGit
from backstaff.fs.project_files import Closed, ProjectFiles, project_files
from backstaff.fs.root import Place
from backstaff.render.lines import all_files
from backstaff.render.names import labels, show, word
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
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
"""So many of the latest commits tell where people work."""
LATE_COMMITS = 30
WALK_SHARE = 0.5
"""The part of the time in which files are counted; the map is drawn in the rest."""
LEAST_SECONDS = 0.5
"""What the map may take in any case."""
BULK = 100
"""A commit of more files, such as an import, says nothing of what is worked on."""
EDITED = 8
"""How many of the files that the latest commits touched are named."""
HEAD_SHARE = 0.3
"""What the head may take of the whole, beside its first line."""
KINDS = 6

READ_FIRST = frozenset(
    [
        "readme",
        "agents",
        "claude",
        "contributing",
        "architecture",
        "design",
        "hacking",
        "development",
        "overview",
    ]
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
"""What follows on a note in the text alone: whoever draws the data has other words for it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A directory, and how long its overview may be."""

    path: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the project. Paths are relative to the root, like all that is shown.

    `prefix` is the path of the start with a slash, or ""; `branch` is None without git or if that
    does not tell, "" where HEAD is detached. What is not `complete` was counted only in part.
    `more` tells how to see more; `call` lists all files, for what else has no room in any answer.
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


def run(arguments: Arguments, context: Context) -> Result:
    """Survey the directory and tell of it within the limit."""
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
    _insist(facts, arguments.max_tokens, limit)
    head = _head(facts, limit)
    room = limit - _bytes(head) - _bytes(_tail(facts, None))
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


def _insist(facts: Facts, tokens: int, limit: int) -> None:
    """Raise unless what is of use fits in LIMIT bytes."""
    needed = sum(map(_bytes, (_title(facts), _tail(facts, None)))) + minimum_size(
        facts.start, facts.prefix
    )
    if tokens * 5 // 2 < needed:
        words = f"{tokens} is too small: the least that is of use here is {-(-needed * 2 // 5)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'max_tokens': {words}")
    if limit < needed:
        words = f"the overview has at least {needed} bytes, more than the {limit} allowed"
        raise ToolError(ErrorCode.REPLY_TOO_LARGE, words.capitalize())


# ---------------------------------------------------------------------------- facts


def _facts(place: Place, context: Context) -> Facts:
    found = project_files(place, context.budget.share(WALK_SHARE))
    branch, commits, warnings = _history(found, context.budget.share(WALK_SHARE))
    budget = context.budget.at_least(LEAST_SECONDS)
    start = build_tree(found, Counter(chain.from_iterable(commits)), budget)
    prefix = place.prefix
    return Facts(
        name=PurePath(context.root.path).name or "/",
        prefix=prefix,
        branch=branch,
        start=start,
        types=_types(start, budget),
        read_first=[prefix + name for name in budget.within(start.names) if _is_read_first(name)],
        build=[
            prefix + path + name
            for path, names in (
                (f"{directory.path}/" if directory.path else "", found.names(directory))
                for directory in found.directories
                if "/" not in directory.path
            )
            for name in budget.within(names)
            if _is_build_file(name)
        ],
        edited=[prefix + path for path in _edited(commits, start)],
        notes=list(_notes(found)),
        warnings=tuple(warnings),
        complete=not found.expired,
    )


def _history(found: ProjectFiles, budget: Budget) -> tuple[str | None, list[list[str]], list[str]]:
    """The branch, the files of the latest commits, and why either is missing if it should not."""
    repository = found.repository
    if isinstance(repository, NoGit):
        expected = repository in (NoGit.ABSENT, NoGit.NO_WORK_TREE)
        return None, [], [] if expected else [f"Nothing is known of edits: {repository}"]
    branch, commits = repository.branch(budget), repository.commits(COMMITS, budget)
    if isinstance(commits, NoGit):
        # A repository without a commit has no history, and git calls that a failure.
        told = [] if commits is NoGit.BROKEN else [f"Nothing is known of edits: {commits}"]
        return None if isinstance(branch, NoGit) else branch, [], told
    return None if isinstance(branch, NoGit) else branch, commits, []


def _types(start: Directory, budget: Budget) -> list[tuple[str, int]]:
    """How many files there are of each kind, the commonest first; "" stands for no kind."""
    names = budget.checked(name for here in _all(start) for name in here.names)
    counts = Counter(map(kind_of_name, names))
    return sorted(counts.items(), key=lambda pair: (not pair[0], -pair[1], pair[0]))


def _is_read_first(name: str) -> bool:
    stem, _, extension = name.lower().partition(".")
    return stem in READ_FIRST and extension in PROSE


def _is_build_file(name: str) -> bool:
    small = name.lower()
    return small in BUILD or small.endswith(BUILD_KINDS)


def _edited(commits: list[list[str]], start: Directory) -> list[str]:
    """The files still there that the latest commits touched most often, or else last."""
    late = (sorted(files) for files in commits[:LATE_COMMITS] if len(files) <= BULK)
    touched = Counter(chain.from_iterable(late))
    there = touched.keys() & set(_hot(start))
    return [path for path, _ in touched.most_common() if path in there][:EDITED]


def _hot(start: Directory) -> Iterator[str]:
    for here in _all(start):
        prefix = f"{here.path}/" if here.path else ""
        yield from (prefix + name for name in here.hot)


def _all(start: Directory) -> Iterator[Directory]:
    """Yield START and each directory below it that holds files."""
    waiting = [start]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += here.below


def _notes(found: ProjectFiles) -> Iterator[str]:
    """What a reader should know of the counts."""
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
    """The first lines: the title, and what else has room."""
    needed = (
        _bytes(_title(facts)) + _bytes(_tail(facts, None)) + minimum_size(facts.start, facts.prefix)
    )
    room = min(int(limit * HEAD_SHARE), limit - needed)
    lines = [_title(facts)]
    rows = [
        ("read first", facts.read_first),
        ("build", facts.build),
        ("edited lately", facts.edited),
    ]
    rows = [(label, paths) for label, paths in rows if paths]
    types = _types_line(facts.types, room // (len(rows) + 1))
    lines.append(types)
    room -= _bytes(types)
    for number, (label, paths) in enumerate(rows):
        line = _row(label, paths, room // (len(rows) - number))
        lines.append(line)
        room -= _bytes(line)
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
    """The kinds of files with their numbers, as many as have ROOM; all others together."""
    for shown in range(_named(types), 0, -1):
        words = [f"{count} {kind or 'other'}" for kind, count in _told(types, shown)]
        line = "types: " + ", ".join(words) + "\n"
        if _bytes(line) <= room:
            return line
    return ""


def _named(types: Sequence[tuple[str, int]]) -> int:
    """How many of the TYPES are named at most."""
    return min(KINDS, sum(1 for kind, _ in types if kind))


def _told(types: Sequence[tuple[str, int]], shown: int) -> list[tuple[str, int]]:
    """The first of the TYPES, as many as are SHOWN, and all others together as no kind."""
    rest = sum(count for _, count in types[shown:])
    return [*types[:shown], *([("", rest)] if rest else [])]


def _row(label: str, paths: Sequence[str], room: int) -> str:
    """A line of PATHS, as many as have ROOM; none at all if the first has none."""
    words = [word(path) for path in paths]
    sizes = accumulate((_bytes(one) + 1 for one in words), initial=_bytes(label) + 2)
    fitting = sum(1 for _ in takewhile(lambda size: size <= room, sizes)) - 1
    return f"{label}: {' '.join(words[:fitting])}\n" if fitting > 0 else ""


def _tail(facts: Facts, found: Map | None) -> str:
    """The last lines, which say what FOUND does not show; at their longest if that is None."""
    total = facts.start.total
    named = total if found is None else found.files
    notes = "".join(f"[{note}{REMEDIES.get(note, '')}]\n" for note in facts.notes)
    if found is not None and named == total and facts.complete:
        all_of_them = "the file is" if total == 1 else f"all {total} files are"
        return f"{notes}[{all_of_them} named]\n" if total else f"{notes}[no file is here]\n"
    hides = found is None or found.lines[0].omitted or found.lines[0].folded[0]
    more = f"{facts.more}; all files: {facts.call}" if facts.call and hides else facts.more
    told = f"{named} of {total} files named; dir/(N): N files below; +N: N more here; {more}"
    return f"{notes}[{told}]\n"


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


# ---------------------------------------------------------------------------- data


def _data(facts: Facts, found: Map) -> dict[str, object]:
    """The same for programs; `map` has a row for each line."""
    types = _told(facts.types, _named(facts.types))
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
        yield from ((facts.prefix + line.directory.path).rstrip("/"),)
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
    name="project_overview",
    description=(
        "Shows what a project is: its size, what to read first, what builds it, what was edited"
        " lately, and a map of the directories that matter most. Keeps to max_tokens, leaves out"
        " what git ignores, and says what is hidden. Call this first in an unknown project."
    ),
    parameters=(
        Parameter(
            name="path",
            type=ParameterType.STRING,
            default=".",
            description="Directory to show, relative to the workspace (default: all of it).",
        ),
        Parameter(
            name="max_tokens",
            type=ParameterType.INTEGER,
            default=1000,
            maximum=MOST_TOKENS,
            description="The most that the answer may cost (default: 1000).",
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation"),
)
