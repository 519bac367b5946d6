"""workspace/git_status_summary: the branch, and the changes since the last commit.

`raw` is the output of `git -c core.quotePath=false status --porcelain=v1 --branch`, byte for byte.
No program that the repository names is run for it (contract 008). If the top of the work tree lies
above the workspace, `raw` has the paths of the workspace alone, as git prints them.

The text names the paths from the workspace on, with git's letters. Beyond the contract, it names
the files whose text in Emacs differs from the disk, and leaves out Emacs's own files, such as
the lock `.#a.py` and the copy `#a.py#`.
"""

import os
from dataclasses import dataclass
from stat import S_ISLNK

from backstaff.changes.porcelain import branch_line, raw
from backstaff.changes.status import Status, status_of
from backstaff.changes.work_tree import Changes, WorkTree, opened
from backstaff.errors import ErrorCode, NotADirectory, NotFound, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.fs.file import read
from backstaff.project.git import find_repository
from backstaff.project.running_git import NoGit
from backstaff.render.lines import cut, plural
from backstaff.render.names import labels, quote, show
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._repository import answering, no_repository

DEFAULT_TEXT_BYTES = 1 << 16
MAX_UNSAVED_BYTES = 4 << 20
"""Maximum number of bytes of a file that is compared: no unsaved text is longer."""


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
        with context.root.directory(cwd) as start, answering(cwd, context):
            repository = find_repository(start, context.budget)
            if isinstance(repository, NoGit):
                raise no_repository(arguments.cwd, repository)
            with opened(start, repository, context.budget) as work_tree:
                return _result(work_tree, status_of(work_tree), context)
    except (NotFound, NotADirectory) as error:
        message = f"Path {quote(arguments.cwd)} is not a directory: {error.message}"
        raise ToolError(ErrorCode.NOT_DIRECTORY, message) from error
    except PathError as error:
        raise refusal(error, arguments.cwd, context) from error


def _unsaved(work_tree: WorkTree, context: Context) -> list[str]:
    """The files below the base whose text in Emacs is not the disk's, with paths from the root."""
    prefix, found = work_tree.base.prefix, list[str]()
    mine = sorted(path for path in context.unsaved if path.startswith(prefix))
    start = f":(top,literal){work_tree.inside}"
    words = ("ls-files", "-z", "--cached", "--others", *work_tree.repository.excludes, "--")
    paths = [start + path.removeprefix(prefix) for path in mine]
    listed = os.fsdecode(work_tree.ask(*words, *paths)).split("\0") if mine else []
    for path in mine:
        try:
            with context.root.resolve(path) as place:
                if work_tree.inside + path.removeprefix(prefix) not in listed:
                    continue  # git ignores it
                if place.kind is Kind.FILE:
                    on_disk = read(place.name, place.directory, MAX_UNSAVED_BYTES)
                    if on_disk.whole and on_disk.head == context.unsaved[path].data:
                        continue
        except PathError:
            pass  # it is not there yet
        found.append(path)
    return found


def _is_of_emacs(path: str, work_tree: WorkTree) -> bool:
    """Whether `path` is a file of Emacs's own: the link `.#a.py`, or the copy `#a.py#`."""
    name = path.rpartition("/")[2]
    if name.startswith(".#"):
        status = work_tree.on_disk(path)
        return status is not None and S_ISLNK(status.st_mode)
    return len(name) > 1 and name[0] == name[-1] == "#"


def _result(work_tree: WorkTree, status: Status, context: Context) -> Result:
    unsaved = _unsaved(work_tree, context)
    prefix, inside = work_tree.base.prefix, work_tree.inside
    line = branch_line(work_tree)
    # No name of a branch has two dots or a blank.
    told = line.removeprefix("## ").removeprefix("No commits yet on ").removesuffix("\n")
    branch, _, followed = told.partition("...")
    upstream, _, track = followed.partition(" ")
    is_detached = branch.endswith(" (no branch)")

    def shown(path: str) -> str:
        return show(prefix + path)

    def letters(changes: Changes) -> list[str]:
        return [
            f"{one.letter} {shown(one.source) + ' -> ' if one.source else ''}{shown(path)}"
            for path, one in changes.items()
        ]

    groups = {
        "conflicts": [f"{two} {shown(path)}" for path, two in status.conflicts.items()],
        "staged": letters(status.staged),
        "changed": letters(status.changed),
        "untracked": [shown(p) for p in status.untracked if not _is_of_emacs(p, work_tree)],
        "changed in Emacs, not saved": [show(path) for path in unsaved],
        "undecided, as a filter would have to run, or they cannot be read": [
            shown(path) for path in status.undecided
        ],
    }
    lines = []
    for name, rows in groups.items():
        if rows:
            lines += [f"{name}: {len(rows)}\n", *(f"  {row}\n" for row in rows)]
    head = "On no branch (detached HEAD)" if is_detached else f"On {show(branch)}"
    if upstream:
        head += f", upstream {show(upstream)} {track or 'is the same'}"
    head += "" if work_tree.repository.head else ", no commit yet"
    head += "\n" if lines else ", nothing changed\n"
    is_shown = bool(status.staged or status.changed or status.conflicts or unsaved)

    own = "[.git/info/attributes does not count here]\n"
    own *= work_tree.repository.has_own_attributes

    def end(count: int) -> str:
        if left := len(lines) - count:
            lists = context.hint(': {} with output="files" and a path', "workspace/git_diff")
            return f"[{plural(left, 'more line')}{lists}]\n"
        return own + context.hint("[{} shows the lines]\n", "workspace/git_diff") * is_shown

    text, count = cut(head, lines, end, context.text_limit(DEFAULT_TEXT_BYTES))
    top = work_tree.base.path
    if inside:
        top = top.removesuffix("/" + inside.rstrip("/")) or "/"
    paths = [*status.staged, *status.changed, *status.conflicts, *status.untracked, *unsaved]
    return Result(
        text=text,
        data={
            "repository_root": top,
            "branch": None if is_detached else branch,
            "raw": raw(line, status, inside),
            "unsaved": unsaved,
            "undecided": [prefix + path for path in status.undecided],
        },
        truncated=count < len(lines),
        labels=lambda: labels(show, paths),
    )


TOOL = Tool(
    description=(
        "Returns current git branch and raw porcelain status output for a workspace directory."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("git",),
    reads_content=True,
    preset=7,
)
