"""workspace/project_overview: an outline of a project in as many tokens as a model can spare.

First comes a head: the name, the git branch, the number of files and their kinds, the files to read
first, the build files, the files edited lately. Then comes a map (`_best_map`). The last line says
how many files are not named and how to see them. Ignored files are neither named nor counted.

`max_tokens` is enforced by an estimate that is safe for names of any script (`render.tokens`), and
the caller's limit in bytes besides. Weight comes from the git history where there is one, else from
the number of files. The same project gives the same text.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.fs.file import read
from backstaff.fs.root import Place
from backstaff.project import file_kinds
from backstaff.project.edits import edits
from backstaff.project.files import Closed, ProjectFiles, project_files
from backstaff.project.running_git import NoGit
from backstaff.render.lines import all_files, bracketed, fitting, plural, size
from backstaff.render.names import labels, show, word
from backstaff.render.tokens import tokens
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._best_map import FEW, Cost, Row, Survey, best_map, map_word, survey
from backstaff.tools.workspace._refusals import refusal

MOST_TOKENS = 20_000
MOST_BYTES = 5
"""Upper estimate of bytes per token: a byte limit below max_tokens times 5 is the binding one."""
WALK_SHARE = 0.5
"""The part of the time for counting files; the rest is for the map."""
MIN_SECONDS = 0.5
"""Seconds that the map has even if the time is up."""
HEAD_SHARE = 0.2
"""The part of the whole that the head may take, beside its first line."""
# Of the files that the next commits touch, .46 are named with .2, .43 with .5 (dev.bench.overview).
LANDMARK_DEPTH = 3
"""Maximum depth at which documents, build files and starts of programs are looked for."""
LATE_COMMITS = 30
KINDS, EDITED, MOST_TESTS, MOST_ENTRIES = 6, 8, 3, 5
"""Maximum numbers: kinds of files, files edited lately, directories of tests, entry points."""
MAX_BUILD_FILE = 1 << 18
TEST_COMMANDS = (
    *(("makefile", rb"^test *:", "make test"), ("makefile", rb"^check *:", "make check")),
    *(("justfile", rb"^test\b", "just test"), ("package.json", rb'"test" *:', "npm test")),
    *(("pyproject.toml", rb"pytest", "pytest"), ("setup.cfg", rb"pytest", "pytest")),
    *(("tox.ini", rb"", "tox"), ("noxfile.py", rb"", "nox"), ("mix.exs", rb"", "mix test")),
    *(("cargo.toml", rb"", "cargo test"), ("go.mod", rb"", "go test ./...")),
    *(("eask", rb"", "eask test"), ("eldev", rb"", "eldev test")),
    *(("gradlew", rb"", "./gradlew test"), ("pom.xml", rb"", "mvn test")),
    *(("rakefile", rb"", "rake test"), ("deno.json", rb"", "deno test")),
    *(("dune-project", rb"", "dune test"), ("stack.yaml", rb"", "stack test")),
    *(("build.zig", rb"", "zig build test"), ("package.swift", rb"", "swift test")),
)
"""A build file at the top, an expression that it must match, and then the command of tests."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A directory, and how long its overview may be."""

    path: str = argument("Directory (default: all).", default=".")
    max_tokens: int = argument(
        "Most tokens of the answer (default: 1000).",
        integer=True,
        default=1000,
        maximum=MOST_TOKENS,
    )


def run(arguments: Arguments, context: Context) -> Result:
    """Count the files of the directory, and show as much as the limit has room for."""
    room = arguments.max_tokens
    limit = context.text_limit(room * MOST_BYTES)
    hints = f'; dir/(N): N files below, dir/: under {FEW}; +N: N more; more by path="dir"'
    try:
        with context.root.directory(arguments.path) as place:
            if limit >= room * MOST_BYTES and room < MOST_TOKENS:
                hints += " or max_tokens"
            elif call := all_files(place.relative, "**", limit, context.named):
                hints += f"; all files: {call}"
            found = project_files(place, context.budget.share(WALK_SHARE))
            data, there, warnings = _facts(place, found, context)
    except PathError as error:
        raise refusal(error, arguments.path, context) from error
    except DeadlineExceeded as error:
        words = "Counting the files took too long: give a directory as path"
        raise DeadlineExceeded(words) from error
    notes, files = list(_notes(found, context)), data["files"]

    def end(count: int, more: str) -> str:
        return f"{bracketed(notes)}[{count} of {files} files named{more}]\n"

    title, longest_end = _title(data, warnings), end(files, hints)
    frame = title + there.empty_line("") + longest_end
    if room < (least := tokens(frame)):
        words = f"{room} is too small: the least that is of use here is {least}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'max_tokens': {words}")
    if limit < (least := size(frame)):
        problem = f"The overview has at least {least} bytes, more than the {limit} allowed"
        raise ToolError(ErrorCode.REPLY_TOO_LARGE, problem)

    def cost(text: str) -> float:
        # A text that costs no more than the room has no more bytes than the limit either.
        return max(tokens(text), size(text) * room / limit)

    left = room - cost(title) - cost(longest_end)
    head = _head(data, min(room * HEAD_SHARE, room - cost(frame)), cost)
    budget = context.budget.at_least(MIN_SECONDS)
    texts, rows = zip(*best_map(there, left - cost(head), cost, budget), strict=True)
    named = sum(len(row["names"]) for row in rows)
    shown = {path for row in rows for path in (row["path"], *row["collapsed"])}
    closed = {place.prefix + one.path for one in found.directories if one.closed}
    is_whole = named == files and not found.expired and closed <= shown
    data |= {"named": named, "notes": [note.data() for note in notes], "map": list(rows)}
    return Result(
        text="".join((title, head, *texts, end(named, hints * (not is_whole)))),
        data=data,
        truncated=not is_whole,
        warnings=warnings,
        labels=lambda: labels(map_word, _names(data)),
    )


def _facts(
    place: Place, found: ProjectFiles, context: Context
) -> tuple[Row, Survey, tuple[str, ...]]:
    """Return all data but the map, the files, and a warning if git fails to say something.

    The branch is None without git or if git cannot name it, and "" if HEAD is detached.
    """
    repository, git_budget = found.repository, context.budget.share(WALK_SHARE)
    known = edits(place, repository, git_budget)
    branch = None if isinstance(repository, NoGit) else repository.branch(git_budget)
    is_hidden = known.unknown is not None
    if isinstance(repository, NoGit):
        is_hidden = repository.hides
    budget = context.budget.at_least(MIN_SECONDS)
    there, prefix = survey(found, place.prefix, known.heat, budget), place.prefix
    paths, totals = list(budget.within(found.paths)), there.totals
    types = Counter(map(file_kinds.language, paths))
    kinds = sorted((kind for kind in types if kind), key=lambda kind: (-types[kind], kind))[:KINDS]
    others = len(paths) - sum(types[kind] for kind in kinds)
    tests = [path for path in totals if totals[path] and file_kinds.is_test_directory(path)]
    tests.sort(key=lambda path: (-totals[path], path))
    shallow = sorted(path for path in paths if path.count("/") <= LANDMARK_DEPTH)
    hottest = sorted(shallow, key=lambda path: -known.heat.get(path, 0))
    build = file_kinds.build_files(shallow)
    # Of the files that the latest commits touched equally often, the latest comes first.
    touched = Counter(chain.from_iterable(map(sorted, known.commits[:LATE_COMMITS])))
    files = set(paths).difference(there.along)
    edited = [path for path, _ in touched.most_common() if path in files]

    def from_root(paths: Sequence[str]) -> list[str]:
        return [prefix + path for path in paths]

    data = {
        "name": PurePath(context.root.path).name or "/",
        "path": place.relative,
        "branch": None if isinstance(branch, NoGit) else branch,
        "files": totals[""],
        "directories": len(totals) - 1,
        "types": [{"kind": kind, "files": types[kind]} for kind in kinds]
        + [{"kind": None, "files": others}] * bool(others),
        "read_first": from_root(file_kinds.read_first(shallow)),
        "build": from_root(build),
        "test_commands": list(_test_commands(place, build)),
        "tests": [{"path": prefix + path, "files": totals[path]} for path in tests[:MOST_TESTS]],
        "start": from_root(file_kinds.entry_points(hottest)[:MOST_ENTRIES]),
        "edited": from_root(edited[:EDITED]),
    }
    return data, there, (f"Nothing is known of edits: {known.unknown}",) if is_hidden else ()


def _test_commands(place: Place, build: Sequence[str]) -> Iterator[str]:
    """Yield the commands of tests that the `build` files have: `make test`, `pytest`."""
    for path in build:
        for name, expression, command in TEST_COMMANDS:
            if path.lower() != name:
                continue
            try:
                content = read(path, place.listing(), MAX_BUILD_FILE).head if expression else b""
            except PathError:
                continue
            if re.search(expression, content, re.MULTILINE):
                yield command


def _names(data: Row) -> Iterator[str]:
    """Yield every name and path in `data`."""
    yield from (data["name"], data["branch"] or "", *(one["path"] for one in data["tests"]))
    for key in ("read_first", "build", "start", "edited"):
        yield from data[key]
    for row in data["map"]:
        yield from (row["path"], *row["names"], *row["collapsed"])


def _title(data: Row, warnings: Sequence[str]) -> str:
    git = f"git {show(data['branch'])}" if data["branch"] else "git, no branch"
    if data["branch"] is None:
        git = "git unknown" if warnings else "no git"
    where = data["name"] if data["path"] == "." else f"{data['name']}/{data['path']}"
    counted = f"{plural(data['files'], 'file')} in {plural(data['directories'], 'dir')}"
    return f"# {show(where)}  {git}, {counted}\n"


def _head(data: Row, room: float, cost: Cost) -> str:
    """The kinds and the lists of files, as far as each has room."""
    rows: dict[str, list[str]] = {
        "types": [f"{one['kind'] or 'other'} {one['files']}" for one in data["types"]],
        "read first": list(map(word, data["read_first"])),
        "build": list(map(word, data["build"])),
        "test": [
            *(f"`{command}`" for command in data["test_commands"]),
            *(f"{word(one['path'])}/({one['files']})" for one in data["tests"]),
        ],
        "start": list(map(word, data["start"])),
        "edited lately": list(map(word, data["edited"])),
    }
    rows, head = {label: words for label, words in rows.items() if words}, ""
    for number, (label, words) in enumerate(rows.items()):
        # Of five rows a third goes to the first, then two fifths of the rest: they matter more.
        share = room * 2 / (len(rows) - number + 1) - cost(f"{label}:\n")
        between = ", " if label == "types" else " "
        shown = between.join(words[: fitting((cost(one + between) for one in words), share)])
        line = f"{label}: {shown}\n" if shown else ""
        head, room = head + line, room - cost(line)
    return head


def _notes(found: ProjectFiles, context: Context) -> Iterator[Note]:
    """Say why counts may be too low, and how to read the map."""
    if found.expired:
        yield Note(NoteKind.TIME, "the time was up: not everything is counted")
    if found.ignored and not found.paths:
        finds = context.hint("{} with include_ignored finds it", "workspace/search_files")
        yield Note(NoteKind.IGNORED, "git ignores all that is in here", finds)
    if found.not_applied:
        yield Note(NoteKind.RULE, f".gitignore is not applied, because {found.not_applied}")
    if found.closed(Closed.REPOSITORY):
        text = "dir/(git) is a repository of its own"
        yield Note(NoteKind.REPOSITORY, text, "give it as path")
    if found.closed(Closed.UNREADABLE):
        yield Note(NoteKind.UNREADABLE, "dir/(?) cannot be read")


TOOL = Tool(
    description=(
        "Read this first in an unknown project: its size, what to read, what builds and tests it,"
        " the latest commits, and a map of the directories that matter."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=5,
    categories=("filesystem", "navigation"),
)
