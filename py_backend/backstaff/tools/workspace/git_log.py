"""workspace/git_log: commits, newest first, and who wrote which line of a file.

    a1b2c3d 2026-11-02 Ada: Read the index (3 files +12 -3)

The lines that a commit adds and removes are counted here, from git's objects, as nothing that the
repository names is run (contract 008). With `lines`, the answer says which commit wrote them:

    12-15 a1b2c3d 2026-11-02 Ada: Read the index
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from backstaff.changes.history import Commit, Written, blame, commits
from backstaff.changes.objects import Unanswered
from backstaff.changes.work_tree import WorkTree
from backstaff.errors import ErrorCode, NotADirectory, NotFound, PathError, ToolError
from backstaff.project.running_git import NoGit
from backstaff.render.lines import cut, plural, shortened
from backstaff.render.names import prose, quote, show
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import nearest, nearest_names, refusal
from backstaff.tools.workspace._repository import commit_named, work_tree_at

DEFAULT_TEXT_BYTES = 1 << 18
MAX_COMMITS, MAX_OFFSET, MAX_LINES = 200, 1_000_000_000, 10_000
MAX_SUBJECT, MAX_AUTHOR, MAX_GREP = 200, 60, 1000
_SHORT = 7
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
    if not asked.path.strip():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be blank")
    grep = asked.grep or ""
    if "\0" in grep or len(grep) > MAX_GREP or not _is_encodable(grep):
        problem = f"must be a text of at most {MAX_GREP} characters"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'grep' {problem}")
    span = None if asked.lines is None else _span(asked.lines)
    try:
        with work_tree_at(asked.path, context) as (work_tree, below):
            ref = commit_named(asked.ref, "ref", work_tree, context)
            path = (work_tree.inside + below).rstrip("/")
            if span is not None:
                return _writers(asked, work_tree, ref, path, span, context)
            most = asked.max_commits + 1  # one more tells whether there are more
            found = (
                commits(
                    work_tree.repository,
                    ref,
                    path,
                    grep=grep,
                    most=most,
                    skip=asked.offset,
                    budget=context.budget,
                )
                if ref
                else []
            )
            if not found and below:
                with context.root.resolve(asked.path):
                    pass  # else it is neither here nor in the history
            return _list(asked, found, context)
    except (NotFound, NotADirectory) as error:
        near = nearest(asked.path, context)
        message = f"Path {quote(asked.path)} does not exist{nearest_names(near)}"
        raise ToolError(ErrorCode.NOT_FOUND, message, nearest=near) from error
    except PathError as error:
        raise refusal(error, asked.path, context) from error


def _is_encodable(text: str) -> bool:
    try:
        return bool(text.encode("utf-8", "surrogateescape")) or not text
    except UnicodeEncodeError:
        return False


def _span(lines: str) -> tuple[int, int]:
    found = _LINES.fullmatch(lines)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last < first + MAX_LINES:
        problem = f'must be such as "12-40", of at most {MAX_LINES} lines, not {quote(lines)}'
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'lines' {problem}")
    return first, last


def _writers(  # noqa: PLR0913, PLR0917  # the answer is made from all of it
    asked: Arguments,
    work_tree: WorkTree,
    ref: str,
    path: str,
    span: tuple[int, int],
    context: Context,
) -> Result:
    first, last = span
    try:
        found = blame(work_tree.repository, ref, path, first, last, context.budget) if ref else []
    except Unanswered as error:
        if error.why is not NoGit.BROKEN:
            raise
        problem = f"has no lines {first}-{last} in {quote(asked.ref)}, or is no file there"
        raise ToolError(ErrorCode.NOT_FOUND, f"Path {quote(asked.path)} {problem}") from error
    rows = [f"{_of(one)} {_row(one.commit)}\n" for one in found]
    head = f"{show(asked.path)}: who wrote lines {first}-{last}, as of {show(asked.ref)}\n"
    limit = context.text_limit(DEFAULT_TEXT_BYTES)

    def end(shown: int) -> str:
        return f"[more: lines={found[shown].first}-{last}]\n" if shown < len(found) else ""

    text, shown = cut(head, rows, end, limit)
    data = [
        {"start_line": one.first, "end_line": one.last, **asdict(one.commit)}
        for one in found[:shown]
    ]
    for one in data:
        for key in ("files", "added", "removed"):
            del one[key]
    more = shown < len(found)
    return Result(text=text, data={"lines": data, "truncated": more}, truncated=more)


def _of(one: Written) -> str:
    return str(one.first) if one.first == one.last else f"{one.first}-{one.last}"


def _row(commit: Commit) -> str:
    author, subject = (
        shortened(prose(text), most)
        for text, most in ((commit.author, MAX_AUTHOR), (commit.subject, MAX_SUBJECT))
    )
    return f"{commit.oid[:_SHORT]} {commit.date} {author}: {subject}"


def _list(asked: Arguments, found: Sequence[Commit], context: Context) -> Result:
    shown_most = found[: asked.max_commits]
    rows = [f"{_row(one)}{_counts(one)}\n" for one in shown_most]
    limit = context.text_limit(DEFAULT_TEXT_BYTES)
    about = [] if asked.path in (".", "") else [f"of {show(asked.path)}"]
    about += [f"with {quote(asked.grep)}"] if asked.grep else []
    head = "" if rows else " ".join([f"No {'more ' * bool(asked.offset)}commits", *about]) + "\n"

    uncounted = sum(one.files is not None and one.added is None for one in shown_most)
    late = f"[the time was up before the lines of {plural(uncounted, 'commit')} were counted]\n"
    late *= uncounted > 0 and context.budget.expired()

    def end(shown: int) -> str:
        more = shown < len(found)
        return late + (f"[more: offset={asked.offset + shown}]\n" if more else "")

    text, shown = cut(head, rows, end, limit)
    more = shown < len(found)
    return Result(
        text=text,
        data={
            "commits": [asdict(one) for one in shown_most[:shown]],
            "truncated": more,
            "next_offset": asked.offset + shown if more else None,
        },
        truncated=more,
    )


def _counts(commit: Commit) -> str:
    if commit.files is None:
        return " (merge)"
    lines = "" if commit.added is None else f" +{commit.added} -{commit.removed}"
    return f" ({plural(commit.files, 'file')}{lines})"


TOOL = Tool(
    description="Lists commits, newest first, of a path or of all, and who changed which line.",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("git",),
)
