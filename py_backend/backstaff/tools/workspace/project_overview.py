"""workspace/project_overview: an outline of a project in as many tokens as a model can spare.

First comes a head: the name, the git branch, the number and kinds of files, those to read first, to
build with, and edited lately. Then comes a map (`_best_map`). The last line counts the files that
are not named. Ignored files are left out. The text keeps to `max_tokens`, estimated by
`render.tokens`, and to the caller's limit in bytes.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from backstaff import file_kinds
from backstaff.errors import DeadlineExceeded, ErrorCode, NoGit, PathError, ToolError
from backstaff.fs.root import Place
from backstaff.project.edits import Edits, edits
from backstaff.project.files import Closed, ProjectFiles, project_files
from backstaff.render.lines import all_files, bracketed, fitting, plural, size
from backstaff.render.names import show, word
from backstaff.render.tokens import tokens
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._best_map import FEW, Cost, Row, Survey, best_map, survey
from backstaff.tools.workspace._refusals import refusal

MOST_TOKENS, MOST_BYTES = 20_000, 5  # of max_tokens, and bytes per token in an overview
WALK_SHARE, MIN_SECONDS, HEAD_SHARE = 0.5, 0.5, 0.2  # of the time; for the map; of the room
LANDMARK_DEPTH, LATE_COMMITS = 3, 30  # where the head looks: nested directories, latest commits
KINDS, EDITED, MOST_TESTS, MOST_ENTRIES = 6, 8, 3, 5  # the most that the head names of each


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
    room, budget = arguments.max_tokens, context.budget.at_least(MIN_SECONDS)
    limit = context.text_limit(room * MOST_BYTES)
    hints = f'; dir/(N): N files below, dir/: under {FEW}; +N: N more; more by path="dir"'
    try:
        with context.root.directory(arguments.path) as place:
            if limit >= room * MOST_BYTES and room < MOST_TOKENS:
                hints += " or max_tokens"
            elif call := all_files(place.relative, limit, context.named):
                hints += f"; all files: {call}"
            found = project_files(place, context.budget.share(WALK_SHARE))
            known = edits(place, found.repository, context.budget.share(WALK_SHARE))
            there = survey(found, place.prefix, known.heat, budget)
            data = _facts(place, found, known, there, context)
    except PathError as error:
        raise refusal(error, arguments.path, context) from error
    except DeadlineExceeded as error:
        words = "Counting the files took too long: give a directory as path"
        raise DeadlineExceeded(words) from error
    notes, files, warnings = list(_notes(found, context)), data["files"], tuple[str, ...]()
    # Most directories without git never had a history, which needs no warning.
    if known.unknown and found.repository not in (NoGit.NO_WORK_TREE, NoGit.ELSEWHERE):
        warnings = (f"Nothing is known of edits: {known.unknown}",)

    def end(count: int, more: str) -> str:
        return f"{bracketed(notes)}[{count} of {files} files named{more}]\n"

    def cost(text: str) -> float:
        # A text that costs no more than the room has no more bytes than the limit either.
        return max(tokens(text), size(text) * room / max(limit, 1))

    git = f"git {show(data['branch'])}" if data["branch"] else "git, no branch"
    if data["branch"] is None:
        git = "git unknown" if warnings else "no git"
    where = data["name"] if data["path"] == "." else f"{data['name']}/{data['path']}"
    counted = f"{plural(files, 'file')} in {plural(data['directories'], 'dir')}"
    title, longest_end = f"# {show(where)}  {git}, {counted}\n", end(files, hints)
    frame = title + there.empty_line("") + longest_end
    if room < (least := tokens(frame)):
        words = f"{room} is too small: the least that is of use here is {least}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'max_tokens': {words}")
    head = _head(data, min(room * HEAD_SHARE, room - cost(frame)), cost)
    left, budget = room - cost(title + longest_end + head), context.budget.at_least(MIN_SECONDS)
    texts, rows = zip(*best_map(there, left, cost, budget), strict=True)
    named = sum(len(row["names"]) for row in rows)
    shown = {path for row in rows for path in (row["path"], *row["collapsed"])}
    closed = {place.prefix + one.path for one in found.directories if one.closed}
    is_whole = named == files and not found.expired and closed <= shown
    return Result(
        text="".join((title, head, *texts, end(named, hints * (not is_whole)))),
        data=data | {"named": named, "map": list(rows)},
        truncated=not is_whole,
        warnings=warnings,
    )


def _facts(place: Place, found: ProjectFiles, known: Edits, there: Survey, context: Context) -> Row:
    """Return all data but the map. The branch is None if none is known, "" if HEAD is detached."""
    repository, prefix, totals = found.repository, there.prefix, there.totals
    branch = None if isinstance(repository, str) else repository.branch
    paths = list(context.budget.at_least(MIN_SECONDS).within(found.paths))
    counts = Counter(map(file_kinds.extension, paths))
    kinds = sorted(filter(None, counts), key=lambda kind: (-counts[kind], kind))[:KINDS]
    counts[""] = len(paths) - sum(counts[kind] for kind in kinds)
    tests = [path for path in totals if totals[path] and file_kinds.is_test_directory(path)]
    tests.sort(key=lambda path: (-totals[path], path))
    shallow = sorted(path for path in paths if path.count("/") <= LANDMARK_DEPTH)
    hottest = sorted(shallow, key=lambda path: -known.heat.get(path, 0))
    # Of the files that the latest commits touched equally often, the latest comes first.
    touched = Counter(chain.from_iterable(map(sorted, known.commits[:LATE_COMMITS])))
    files = set(paths).difference(there.along)
    lists = {
        "read_first": file_kinds.read_first(shallow),
        "build": file_kinds.build_files(shallow),
        "start": file_kinds.entry_points(hottest)[:MOST_ENTRIES],
        "edited": [path for path, _ in touched.most_common() if path in files][:EDITED],
    }
    return {
        "name": PurePath(place.root.path).name or "/",
        "path": place.relative,
        "branch": branch,
        "files": totals[""],
        "directories": len(totals) - 1,
        "types": [
            {"kind": kind or None, "files": counts[kind]} for kind in (*kinds, "") if counts[kind]
        ],
        **{key: [prefix + path for path in paths] for key, paths in lists.items()},
        "tests": [{"path": prefix + path, "files": totals[path]} for path in tests[:MOST_TESTS]],
    }


def _head(data: Row, room: float, cost: Cost) -> str:
    """The kinds and the lists of files, as far as each has room."""
    rows = {
        "types": [f"{one['kind'] or 'other'} {one['files']}" for one in data["types"]],
        "read first": [*map(word, data["read_first"])],
        "build": [*map(word, data["build"])],
        "test": [f"{word(one['path'])}/({one['files']})" for one in data["tests"]],
        "start": [*map(word, data["start"])],
        "edited lately": [*map(word, data["edited"])],
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


def _notes(found: ProjectFiles, context: Context) -> Iterator[str]:
    """Say why counts may be too low, and how to read the map."""
    if found.expired:
        yield "the time was up: not everything is counted"
    if found.ignored and not found.paths:
        finds = context.hint(": {} with include_ignored finds it", "workspace/search_files")
        yield f"git ignores all that is in here{finds}"
    if found.not_applied:
        yield f".gitignore is not applied, because {found.not_applied}"
    if found.closed(Closed.REPOSITORY):
        yield "dir/(git) is a repository of its own: give it as path"
    if found.closed(Closed.UNREADABLE):
        yield "dir/(?) cannot be read"


TOOL = Tool(
    "Read this first in an unknown project: its size, what to read, what builds it,"
    " the latest commits, and a map of the directories that matter.",
    arguments=Arguments,
    run=run,
    preset=5,
    categories=("filesystem", "navigation"),
)
