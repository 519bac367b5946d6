"""workspace/git_log: commits, newest first, and who wrote which line of a file.

    a1b2c3d 2026-11-02 Ada: Read the index (3 files +12 -3)

With `lines`, the answer says which commit wrote them: `12-15 a1b2c3d 2026-11-02 Ada: Read ...`.
"""

import re
from dataclasses import asdict, dataclass

from backstaff.changes.history import Commit, blame, commits
from backstaff.changes.work_tree import WorkTree
from backstaff.errors import ErrorCode, NoGit, ToolError, Unanswered
from backstaff.render.lines import cut, plural, shortened
from backstaff.render.names import prose, quote, show
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._repository import commit_named, work_tree_at

DEFAULT_TEXT_BYTES = 1 << 18
MAX_COMMITS, MAX_OFFSET, MAX_LINES = 200, 1_000_000_000, 10_000
MAX_SUBJECT, MAX_AUTHOR, MAX_GREP = 200, 60, 1000
_OR_EARLIER = "[each is this commit, or an earlier commit, which this shallow clone has not]\n"
_UNCOUNTED = "[git could not count the lines: it has not all files here, or it takes too long]\n"
_LINES = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument("Only commits that touch this file or directory.", default=".")
    ref: str = argument("The commit, branch or tag to start at.", default="HEAD")
    max_commits: int = argument(
        "The most commits to list.", default=20, minimum=1, maximum=MAX_COMMITS
    )
    offset: int = argument(
        "Commits to skip: only where an answer asked for it.", default=0, limits=(0, MAX_OFFSET)
    )
    grep: str | None = argument("Only commits with this text in their messages.")
    lines: str | None = argument('Who wrote these lines of the file `path`, such as "12-40".')


def run(asked: Arguments, context: Context) -> Result:
    """Ask git for commits or for the writers of lines."""
    grep = asked.grep or ""
    if len(grep) > MAX_GREP or not grep.isprintable():
        problem = f"must be a printable text of at most {MAX_GREP} characters"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'grep' {problem}")
    span = None if asked.lines is None else _span(asked.lines)
    with work_tree_at(asked.path, context) as (tree, below):
        ref, is_shallow = commit_named(asked.ref, "ref", tree), tree.repository.is_shallow
        if span:
            return _writers(asked, tree, (ref, below), span, context)
        most = asked.max_commits + 1  # one more tells whether there is more
        listed, counted = list[Commit](), True
        if ref:
            listed, counted = commits(
                tree.repository, ref, below, grep=grep, most=most, skip=asked.offset
            )
        if not listed and below:
            with context.root.resolve(asked.path):
                pass  # else it is neither here nor in the history
    about = "" if asked.path in (".", "") else f" of {show(asked.path)}"
    head = "" if listed else f"No {'more ' * bool(asked.offset)}commits{about}\n"
    rows = [_row(one) for one in listed[: asked.max_commits]]
    if is_shallow and len(listed) <= asked.max_commits:
        rows.append("[earlier commits are not here: this is a shallow clone]\n")

    def end(shown: int) -> str:
        more = f"[more: offset={asked.offset + shown}]\n" * (shown < len(listed))
        return _UNCOUNTED * (not counted) + more

    text, shown = cut(head, rows, end, context.text_limit(DEFAULT_TEXT_BYTES))
    more = shown < len(listed)
    data = {
        "commits": [asdict(one) for one in listed[:shown]],
        "truncated": more,
        "next_offset": asked.offset + shown if more else None,
    }
    return Result(text=text, data=data, truncated=more)


def _span(lines: str) -> tuple[int, int]:
    """The first and the last of `lines`, such as "12-40". Raises `ToolError`."""
    numbers = _LINES.fullmatch(lines)
    first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (0, 0)
    if not 1 <= first <= last < first + MAX_LINES:
        form = f'must be such as "12-40", of at most {MAX_LINES} lines'
        message = f"Argument 'lines' {form}, not {quote(lines)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    return first, last


def _writers(
    asked: Arguments, tree: WorkTree, at: tuple[str, str], span: tuple[int, int], context: Context
) -> Result:
    """Who wrote the lines of the `span`, of the path and as of the commit that are asked for."""
    (ref, below), (first, last) = at, span
    if not ref:
        raise ToolError(ErrorCode.NOT_FOUND, f"{quote(asked.ref)} has no commit yet")
    try:
        whole = (tree.repository.inside + below).rstrip("/")
        found = blame(tree.repository, ref, whole, first, last)
    except Unanswered as error:
        if isinstance(error.why, NoGit):
            raise
        problem = f"has no such lines in {quote(asked.ref)}: {prose(error.why)}"
        raise ToolError(ErrorCode.NOT_FOUND, f"Path {quote(asked.path)} {problem}") from error
    rows = [f"{one}{f'-{two}' if two > one else ''} {_row(commit)}" for one, two, commit in found]
    head = f"{show(asked.path)}: who wrote lines {first}-{last}, as of {show(asked.ref)}\n"
    earlier = _OR_EARLIER * tree.repository.is_shallow

    def end(shown: int) -> str:
        return earlier + (f"[more: lines={found[shown][0]}-{last}]\n" if shown < len(found) else "")

    text, shown = cut(head, rows, end, context.text_limit(DEFAULT_TEXT_BYTES))
    data = [
        {"start_line": one, "end_line": two}
        | {name: getattr(commit, name) for name in ("oid", "date", "author", "subject")}
        for one, two, commit in found[:shown]
    ]
    more = shown < len(found)
    return Result(text=text, data={"lines": data, "truncated": more}, truncated=more)


def _row(commit: Commit) -> str:
    author = shortened(prose(commit.author), MAX_AUTHOR)
    subject = shortened(prose(commit.subject), MAX_SUBJECT)
    counts = ""
    if commit.files is not None:
        counts = f" ({plural(commit.files, 'file')} +{commit.added} -{commit.removed})"
    return f"{commit.oid[:7]} {commit.date} {author}: {subject}{counts}\n"


TOOL = Tool(
    "Lists commits, newest first, of a path or of all, and who changed which line.",
    arguments=Arguments,
    run=run,
    categories=("git",),
)
