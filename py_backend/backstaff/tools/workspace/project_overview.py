"""workspace/project_overview: an outline of a project in as many tokens as a model can spare.

First comes a head: the name, the git branch, the number of files and their kinds, the files to read
first, the build files, the files edited lately. Then comes a map (`_best_map`): the directories
that matter most, a line each, the others by their names and the number of files in them. The last
line says how many files are not named and how to see them. Ignored files are neither named nor
counted.

`max_tokens` is enforced by an estimate that is safe for names of any script (`render.tokens`), and
the caller's limit in bytes besides. Weight comes from the git history where there is one, else from
the number of files. The same project gives the same text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import PurePath

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.fs.root import Place
from backstaff.project.edits import Edits, edits
from backstaff.project.files import ProjectFiles, project_files
from backstaff.project.packed import Closed
from backstaff.project.running_git import NoGit
from backstaff.render.lines import all_files, bracketed, fitting, plural, size
from backstaff.render.names import labels, show, word
from backstaff.render.tokens import tokens
from backstaff.result import Note, NoteKind
from backstaff.tool import ESSENTIAL, Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace import _landmarks as landmarks
from backstaff.tools.workspace._best_map import (
    FEW,
    Cost,
    Directory,
    Line,
    best_map,
    build_tree,
    commonest,
    kind_of_name,
    map_word,
    minimum_cost,
)
from backstaff.tools.workspace._refusals import refusal

MOST_TOKENS = 20_000
LATE_COMMITS = 30
WALK_SHARE = 0.5
"""The part of the time for counting files; the rest is for the map."""
MIN_SECONDS = 0.5
"""Seconds that the map has even if the time is up."""
MOST_BYTES = 5
"""Upper estimate of bytes per token: a byte limit below max_tokens times 5 is the binding one."""
EDITED, MOST_TESTS, MOST_ENTRIES = 8, 3, 5
"""Maximum number of files edited lately, directories of tests and starts of programs."""
LANDMARK_DEPTH = 3
"""Maximum depth at which documents, build files and starts of programs are looked for."""
HEAD_SHARE = 0.2
"""The part of the whole that the head may take, beside its first line."""
# Of the files that the next commits touch, .62 are named with .2, .58 with .5 (dev.bench.overview).
KINDS, RARE = 6, 0.02
"""Maximum number of kinds in the head, and the smallest part of all files that a kind there has."""


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
    """The contents of an overview. All paths are relative to the root.

    `prefix` is the path of the start with a slash, or "". `branch` is None without git or if git
    cannot name it, and "" if HEAD is detached. `tests` are directories with the number of files
    in them, and a program starts in one of `entries`. `complete` is false if the time was up.
    `more` says how to see more. `call` lists all files; it is None if a higher limit can show them.
    """

    name: str
    prefix: str
    branch: str | None
    start: Directory
    types: Counter[str]
    read_first: Sequence[str]
    build: Sequence[str]
    test_commands: Sequence[str]
    tests: Sequence[tuple[str, int]]
    entries: Sequence[str]
    edited: Sequence[str]
    notes: Sequence[Note]
    warnings: tuple[str, ...]
    complete: bool
    more: str
    call: str | None

    def minimum(self, cost: Cost) -> float:
        """The cost of the shortest overview that is of use."""
        frame = cost(_title(self)) + cost(_tail(self, None))
        return frame + minimum_cost(self.start, cost, self.prefix)


def run(arguments: Arguments, context: Context) -> Result:
    """Count the files of the directory, and show as much as the limit has room for."""
    room = arguments.max_tokens
    limit = context.text_limit(room * MOST_BYTES)
    raisable = limit >= room * MOST_BYTES and room < MOST_TOKENS
    try:
        with context.root.directory(arguments.path) as place:
            facts = _facts(place, context, None if raisable else limit)
    except PathError as error:
        raise refusal(error, arguments.path, context) from error
    except DeadlineExceeded as error:
        words = "Counting the files took too long: give a directory as path"
        raise DeadlineExceeded(words) from error
    if room < (least := facts.minimum(tokens)):
        words = f"{room} is too small: the least that is of use here is {ceil(least)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'max_tokens': {words}")
    if limit < (least := facts.minimum(size)):
        problem = f"The overview has at least {ceil(least)} bytes, more than the {limit} allowed"
        raise ToolError(ErrorCode.REPLY_TOO_LARGE, problem)

    def cost(text: str) -> float:
        # A text that costs no more than the room has no more bytes than the limit either.
        return max(tokens(text), size(text) * room / limit)

    head = _head(facts, room, cost)
    left = room - cost(head) - cost(_tail(facts, None))
    found = best_map(facts.start, left, cost, facts.prefix, context.budget.at_least(MIN_SECONDS))
    hides = _named(found) < facts.start.total or any(line.folded[0] for line in found)
    return Result(
        text="".join((head, *(line.text for line in found), _tail(facts, found))),
        data=_data(facts, found),
        truncated=hides or not facts.complete,
        warnings=facts.warnings,
        labels=lambda: labels(map_word, _names(facts, found)),
    )


# ---------------------------------------------------------------------------- facts


def _facts(place: Place, context: Context, highest: int | None) -> Facts:
    """Count the files in `place`. `highest` is the limit in bytes if max_tokens cannot raise it."""
    found = project_files(place, context.budget.share(WALK_SHARE))
    git_budget = context.budget.share(WALK_SHARE)
    branch, known, warnings = _history(place, found, git_budget)
    budget = context.budget.at_least(MIN_SECONDS)
    start = build_tree(found, known.heat, budget, landmarks.changes_along)
    prefix = place.prefix
    real = [here for here in budget.checked(start.walk()) if not landmarks.is_data(here.path)]
    kinds = Counter(kind_of_name(name) for here in real for name in here.names)
    types: Counter[str] = Counter()
    for kind, number in kinds.items():
        types[landmarks.language(kind)] += number
    types["test data"] = start.total - types.total()
    tests = [here for here in real if here.total and landmarks.is_tests(here.path)]
    tests.sort(key=lambda here: (-here.total, here.path))
    shallow = [path for path in budget.within(found.paths) if path.count("/") <= LANDMARK_DEPTH]
    build = landmarks.build_files(shallow)
    # Of the files that the latest commits touched equally often, the latest comes first.
    touched = Counter(chain.from_iterable(map(sorted, known.commits[:LATE_COMMITS])))
    there = {f"{here.path}/{name}".removeprefix("/") for here in start.walk() for name in here.hot}
    return Facts(
        name=PurePath(context.root.path).name or "/",
        prefix=prefix,
        branch=branch,
        start=start,
        types=+types,
        read_first=[prefix + path for path in landmarks.read_first(shallow)],
        build=[prefix + path for path in build],
        test_commands=list(landmarks.test_commands(place, build)),
        tests=[(prefix + here.path, here.total) for here in tests[:MOST_TESTS]],
        entries=[prefix + path for path in landmarks.entries(shallow, known.heat)[:MOST_ENTRIES]],
        edited=[prefix + path for path, _ in touched.most_common() if path in there][:EDITED],
        notes=list(_notes(found, context)),
        warnings=tuple(warnings),
        complete=not found.expired,
        more='more by path="dir"' + (" or max_tokens" if highest is None else ""),
        call=None if highest is None else all_files(place.relative, "**", highest, context.named),
    )


def _history(
    place: Place, found: ProjectFiles, budget: Budget
) -> tuple[str | None, Edits, list[str]]:
    """Return the branch, people's edits, and a warning if a failure hides either."""
    repository = found.repository
    known = edits(place, repository, budget)
    warning = f"Nothing is known of edits: {known.unknown}"
    if isinstance(repository, NoGit):
        return None, known, [warning] if repository.hides else []
    named = repository.branch(budget)
    branch = None if isinstance(named, NoGit) else named
    # A repository without a commit has no history, and git calls that a failure.
    return branch, known, [] if known.unknown in (None, NoGit.BROKEN) else [warning]


def _notes(found: ProjectFiles, context: Context) -> Iterator[Note]:
    """Say why counts may be too low, and how to read the map."""
    if found.expired:
        yield Note(NoteKind.TIME, "the time was up: not everything is counted")
    if found.ignored and not found.paths:
        finds = f"{context.named('workspace/search_files')} with include_ignored finds it"
        yield Note(NoteKind.IGNORED, "git ignores all that is in here", finds)
    if found.tracked_unknown:
        yield Note(NoteKind.TRACKED, "files that are tracked though ignored are missing")
    if found.closed(Closed.REPOSITORY):
        text = "dir/(git) is a repository of its own"
        yield Note(NoteKind.REPOSITORY, text, "give it as path")
    if found.closed(Closed.UNREADABLE):
        yield Note(NoteKind.UNREADABLE, "dir/(?) cannot be read")


# ---------------------------------------------------------------------------- text


def _head(facts: Facts, limit: int, cost: Cost) -> str:
    """The title, and as many of the kinds and lists of files as have room."""
    room = min(limit * HEAD_SHARE, limit - facts.minimum(cost))
    lists = {
        "read first": list(map(word, facts.read_first)),
        "build": list(map(word, facts.build)),
        "test": [*facts.test_commands, *(f"{word(path)}/({n})" for path, n in facts.tests)],
        "start": list(map(word, facts.entries)),
        "edited lately": list(map(word, facts.edited)),
    }
    rows = [(label, words) for label, words in lists.items() if words]
    types = _types_line(facts.types, room / (len(rows) + 1), cost)
    lines = [_title(facts), types]
    room -= cost(types)
    for number, (label, words) in enumerate(rows):
        # Of five rows a third goes to the first, then two fifths of the rest: they matter more.
        share = room * 2 / (len(rows) - number + 1) - cost(f"{label}:\n")
        shown = fitting((cost(f"{one} ") for one in words), share)
        line = f"{label}: {' '.join(words[:shown])}\n" if shown else ""
        lines.append(line)
        room -= cost(line)
    return "".join(lines)


def _title(facts: Facts) -> str:
    match facts.branch:
        case None:
            git = "git unknown" if facts.warnings else "no git"
        case "":
            git = "git, no branch"
        case branch:
            git = f"git {show(branch)}"
    where = show(f"{facts.name}/{facts.prefix}".rstrip("/") if facts.prefix else facts.name)
    counted = f"{plural(facts.start.total, 'file')} in {plural(facts.start.folders, 'dir')}"
    return f"# {where}  {git}, {counted}\n"


def _types_line(types: Counter[str], room: float, cost: Cost) -> str:
    """The counts of as many kinds as have `room`: `types: Python 9, Markdown 3, other 2`."""
    common = sum(number >= RARE * types.total() for kind, number in types.items() if kind)
    for most in range(min(common, KINDS), 0, -1):
        found = commonest(types, most)
        line = "types: " + ", ".join(f"{kind or 'other'} {n}" for kind, n in found) + "\n"
        if found and found[0][0] and cost(line) <= room:
            return line
    return ""


def _tail(facts: Facts, found: Sequence[Line] | None) -> str:
    """The last lines, about the files that `found` does not name; with None, the longest ones."""
    total = facts.start.total
    named = total if found is None else _named(found)
    notes = bracketed(facts.notes)
    if found is not None and named == total and facts.complete:
        all_of_them = "the file is" if total == 1 else f"all {total} files are"
        return f"{notes}[{all_of_them} named]\n" if total else f"{notes}[no file is here]\n"
    hides = found is None or found[0].omitted or found[0].folded[0]
    more = f"{facts.more}; all files: {facts.call}" if facts.call and hides else facts.more
    legend = f"dir/(N): N files below, dir/: under {FEW}; +N: N more"
    return f"{notes}[{named} of {total} files named; {legend}; {more}]\n"


# ---------------------------------------------------------------------------- data


def _data(facts: Facts, found: Sequence[Line]) -> dict[str, object]:
    """The same contents for programs; `map` has a row for each line."""
    types = commonest(facts.types, KINDS)
    return {
        "name": facts.name,
        "path": facts.prefix.rstrip("/") or ".",
        "branch": facts.branch,
        "files": facts.start.total,
        "directories": facts.start.folders,
        "types": [{"kind": kind or None, "files": count} for kind, count in types],
        "read_first": facts.read_first,
        "build": facts.build,
        "test_commands": [command.strip("`") for command in facts.test_commands],
        "tests": [{"path": path, "files": count} for path, count in facts.tests],
        "start": facts.entries,
        "edited": facts.edited,
        "named": _named(found),
        "notes": [note.data() for note in facts.notes],
        "map": [
            {
                "path": (facts.prefix + line.directory.path).rstrip("/") or ".",
                "names": tuple(line.names),
                "links": tuple(name for name in line.names if name in line.directory.links),
                "omitted": [{"kind": kind or None, "files": count} for kind, count in line.omitted],
                "collapsed": [
                    {
                        "path": facts.prefix + one.path,
                        "files": None if one.closed else one.total,
                        "closed": one.closed or None,
                    }
                    for one in line.collapsed
                ],
                "more_directories": line.folded[0],
                "more_files": line.folded[1],
            }
            for line in found
        ],
    }


def _named(found: Sequence[Line]) -> int:
    return sum(len(line.names) for line in found)


def _names(facts: Facts, found: Sequence[Line]) -> Iterator[str]:
    """Yield every name and path in the data."""
    yield from (facts.name, facts.branch or "", *facts.read_first, *facts.build, *facts.edited)
    yield from (*facts.entries, *(path for path, _ in facts.tests))
    for line in found:
        yield (facts.prefix + line.directory.path).rstrip("/")
        yield from line.names
        yield from (facts.prefix + one.path for one in line.collapsed)


TOOL = Tool(
    description=(
        "Call this first in an unknown project, before any listing: its size, what to read first,"
        " what builds and tests it, what was committed lately, and a map of the directories that"
        " matter most; `dir/(N)` is a path to call it with again. Leaves out what git"
        " ignores."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=1,
    categories=(ESSENTIAL, "filesystem", "navigation"),
)
