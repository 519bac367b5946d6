"""workspace/git_status_summary: the branch, and the changes since the last commit.

`raw` is the output of `git -c core.quotePath=false status --porcelain=v1 --branch`, byte for byte.
No program that the repository names is run for it (contract 008). If the top of the work tree lies
above the workspace, `raw` has the paths of the workspace alone, as git prints them.

The text names the paths from the workspace on, with git's letters. Beyond the contract, it names
the files whose text in Emacs differs from the disk.
"""

from dataclasses import dataclass

from backstaff.changes.work_tree import WorkTree, opened, status_of
from backstaff.errors import ErrorCode, NotADirectory, NotFound, PathError, ToolError
from backstaff.project.git import has_lines
from backstaff.render.lines import cut, plural
from backstaff.render.names import quote, show
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._repository import answering

DEFAULT_TEXT_BYTES = 1 << 16


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
        with (
            context.root.directory(cwd) as start,
            answering(arguments.cwd),
            opened(start, context.budget) as work_tree,
        ):
            return _result(work_tree, context)
    except (NotFound, NotADirectory) as error:
        message = f"Path {quote(arguments.cwd)} is not a directory: {error.message}"
        raise ToolError(ErrorCode.NOT_DIRECTORY, message) from error
    except PathError as error:
        raise refusal(error, arguments.cwd, context) from error


def _result(work_tree: WorkTree, context: Context) -> Result:
    prefix, repository, status = work_tree.base.prefix, work_tree.repository, status_of(work_tree)
    unsaved = sorted(path for path in context.unsaved if path.startswith(prefix))
    undecided = [prefix + path for path in status.undecided]
    # No name of a branch has two dots or a blank.
    told = status.raw.partition("\n")[0].removeprefix("## ").removeprefix("No commits yet on ")
    branch, _, followed = told.partition("...")
    upstream, _, track = followed.partition(" ")
    is_detached = branch.endswith(" (no branch)")

    groups: dict[str, list[str]] = {"conflicts": [], "staged": [], "changed": [], "untracked": []}
    for letters, name, source in status.rows:
        path = show(prefix + name or "./")
        if letters == "??":
            groups["untracked"].append(path)
        elif "U" in letters or letters in ("AA", "DD"):
            groups["conflicts"].append(f"{letters} {path}")
        else:
            for group, letter in zip(("staged", "changed"), letters, strict=True):
                before = f"{show(prefix + source)} -> " if letter in "RC" else ""
                groups[group] += [f"{letter} {before}{path}"] * (letter != " ")
    groups["changed in Emacs, not saved"] = list(map(show, unsaved))
    of_undecided = "undecided, as a filter would have to run, or they cannot be read"
    groups[of_undecided] = list(map(show, undecided))
    lines = list[str]()
    for group, rows in groups.items():
        lines += [f"{group}: {len(rows)}\n", *(f"  {row}\n" for row in rows)] * bool(rows)

    head = "On no branch (detached HEAD)" if is_detached else f"On {show(branch)}"
    if upstream:
        head += f", upstream {show(upstream)} {track or 'is the same'}"
    head += ", no commit yet" * status.raw.startswith("## No commits yet on ")
    head += "\n" if lines else ", nothing changed\n"
    attributes = f"{repository.common.path}/info/attributes"
    own = "[.git/info/attributes does not count here]\n" * has_lines(attributes)
    is_tracked = unsaved or any(row.letters != "??" for row in status.rows)

    def end(count: int) -> str:
        if left := len(lines) - count:
            lists = context.hint(': {} with output="files" and a path', "workspace/git_diff")
            return f"[{plural(left, 'more line')}{lists}]\n"
        diff = context.hint("[{} has the lines of tracked files]\n", "workspace/git_diff")
        return own + diff * bool(is_tracked)

    text, count = cut(head, lines, end, context.text_limit(DEFAULT_TEXT_BYTES))
    return Result(
        text=text,
        data={
            "repository_root": repository.top.path,
            "branch": None if is_detached else branch,
            "raw": status.raw,
            "unsaved": unsaved,
            "undecided": undecided,
        },
        truncated=count < len(lines),
    )


TOOL = Tool(
    "Returns current git branch and raw porcelain status output for a workspace directory.",
    arguments=Arguments,
    run=run,
    categories=("git",),
    reads_content=True,
    preset=7,
)
