"""workspace/git_status_summary: the branch, and what differs from the last commit.

`raw` is what `git -c core.quotePath=false status --porcelain=v1 --branch` prints, byte for byte. No
git looks at the work tree for it, and nothing that the repository names is run (contract 008). If
the top of the work tree lies above the workspace, `raw` has the paths of the workspace alone, as
git prints them.

The text names the paths from the workspace on, with git's letters. Beyond the contract, it names
the files of which the text in Emacs is not what is on the disk.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backstaff.changes.conversion import oid_of
from backstaff.changes.objects import Change
from backstaff.changes.porcelain import Branch, branch_of, raw
from backstaff.changes.status import Status, status_of
from backstaff.changes.work_tree import WorkTree, opened
from backstaff.errors import (
    ErrorCode,
    NotADirectory,
    NotFound,
    PathError,
    ToolError,
)
from backstaff.fs.entry import Kind
from backstaff.fs.file import read
from backstaff.project.files import ProjectFiles, project_files
from backstaff.project.running_git import NoGit
from backstaff.render.lines import cut, plural
from backstaff.render.names import labels, quote, show
from backstaff.tool import ESSENTIAL, Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._repository import answering, no_repository

DEFAULT_TEXT_BYTES = 1 << 16
MAX_UNSAVED_BYTES = 4 << 20
"""Bytes of a file that is compared with an unsaved text: no such text is longer."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    cwd: str = argument(
        "Workspace path to inspect (default: workspace root). Accepts / or \\ as separator;"
        " escape backslash in JSON (e.g. src\\tools).",
        default=".",
    )


def run(arguments: Arguments, context: Context) -> Result:
    """Compare the work tree around the directory with its last commit."""
    cwd = arguments.cwd.replace("\\", "/")
    if not cwd.strip():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'cwd' must not be blank")
    try:
        with context.root.directory(cwd) as start, answering(cwd):
            project = project_files(start, context.budget)
            if isinstance(project.repository, NoGit):
                raise no_repository(arguments.cwd, project.repository)
            with opened(start, project.repository, context.budget) as work_tree:
                base = work_tree.base
                if base.relative != start.relative:
                    project = project_files(base, context.budget)
                branch = branch_of(work_tree, context.budget)
                status = status_of(work_tree, project)
                unsaved = _unsaved(work_tree, project, context)
                top = base.path
                if work_tree.inside:
                    top = base.path.removesuffix("/" + work_tree.inside.rstrip("/")) or "/"
                found = Found(branch, status, base.prefix, top, unsaved)
                return _result(found, work_tree.inside, context)
    except (NotFound, NotADirectory) as error:
        message = f"Path {quote(arguments.cwd)} is not a directory: {error.message}"
        raise ToolError(ErrorCode.NOT_DIRECTORY, message) from error
    except PathError as error:
        raise refusal(error, arguments.cwd, context) from error


def _unsaved(work_tree: WorkTree, project: ProjectFiles, context: Context) -> list[str]:
    """The files below the base whose text in Emacs differs from the disk's, from the root on."""
    prefix = work_tree.base.prefix
    mine = sorted(path for path in context.unsaved if path.startswith(prefix))
    return [path for path in mine if _differs(path, work_tree, project, context)]


def _differs(path: str, work_tree: WorkTree, project: ProjectFiles, context: Context) -> bool:
    """Whether the file `path`, which git does not ignore, has another text in Emacs."""
    relative = path.removeprefix(work_tree.base.prefix)
    try:
        with context.root.resolve(path) as place:
            if work_tree.index.get(relative) is None and relative not in set(project.paths):
                return False  # it is ignored
            text = context.unsaved[path].data
            if place.kind is not Kind.FILE:
                return True
            on_disk = read(place.name, place.directory, MAX_UNSAVED_BYTES)
            same = on_disk.whole and oid_of(on_disk.head, 20) == oid_of(text, 20)
            return not same
    except PathError:
        return True  # it is not there yet


@dataclass(frozen=True, slots=True)
class Found:
    """All that is told.

    `prefix` stands before the paths of `status`; those of `unsaved` have it.
    """

    branch: Branch
    status: Status
    prefix: str
    top: str
    unsaved: Sequence[str]

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the groups of the text: the name of each, and its lines."""
        status = self.status
        yield "conflicts", [f"{two} {self._shown(path)}" for path, two in status.conflicts.items()]
        yield "staged", self._lines(status.staged)
        yield "changed", self._lines(status.changed)
        yield "untracked", [self._shown(path) for path in status.untracked]
        yield "changed in Emacs, not saved", [show(path) for path in self.unsaved]
        yield "undecided, as a filter would have to run", list(map(self._shown, status.undecided))

    def _lines(self, changes: Mapping[str, Change]) -> list[str]:
        return [
            f"{one.letter} {self._shown(one.source) + ' -> ' if one.source else ''}"
            f"{self._shown(path)}"
            for path, one in changes.items()
        ]

    def _shown(self, path: str) -> str:
        return show(self.prefix + path)


def _result(found: Found, inside: str, context: Context) -> Result:
    limit = context.text_limit(DEFAULT_TEXT_BYTES)
    branch = found.branch
    head = f"On {show(branch.name)}" if branch.name is not None else "On no branch (detached HEAD)"
    if branch.upstream:
        head += f", upstream {show(branch.upstream)} {branch.track or 'is the same'}"
    head += "" if branch.begun else ", no commit yet"
    lines = []
    for name, rows in found.groups():
        if rows:
            lines += [f"{name}: {len(rows)}\n", *(f"  {row}\n" for row in rows)]
    status = found.status
    here = bool(status.staged or status.changed or status.conflicts or found.unsaved)
    diff = context.named("workspace/git_diff")
    end = f"[{diff} shows the lines]\n" if here else ""

    def last(shown: int) -> str:
        left = len(lines) - shown
        if not left:
            return end
        return f'[{plural(left, "more line")}: {diff} with output="files" and a path]\n'

    head += "\n" if lines else ", nothing changed\n"
    text, shown = cut(head, lines, last, limit)
    paths = [*status.staged, *status.changed, *status.conflicts, *status.untracked, *found.unsaved]
    return Result(
        text=text,
        data={
            "repository_root": found.top,
            "branch": branch.name,
            "raw": raw(branch, status, inside),
            "unsaved": list(found.unsaved),
            "undecided": [found.prefix + path for path in status.undecided],
        },
        truncated=shown < len(lines),
        labels=lambda: labels(show, paths),
    )


TOOL = Tool(
    description=(
        "Returns current git branch and raw porcelain status output for a workspace directory."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=(ESSENTIAL, "git"),
    reads_content=True,
    preset=7,
)
