"""The work tree around the path that a tool of git's was given, or the refusal."""

from collections.abc import Iterator
from contextlib import contextmanager

from backstaff import errors
from backstaff.changes.work_tree import WorkTree, opened
from backstaff.errors import ErrorCode, NoGit, ToolError, Unanswered
from backstaff.render.names import prose, quote
from backstaff.tool import Context
from backstaff.tools.workspace._refusals import nearest, nearest_names, refusal

MAX_NAME = 500  # characters of the name of a commit


@contextmanager
def work_tree_at(path: str, context: Context) -> Iterator[tuple[WorkTree, str]]:
    """Open the work tree around `path`; yield it, and `path` from its base: "" for all of it.

    `path` may be gone. A `PathError`, also of the caller's, and a git that does not answer are a
    `ToolError`.
    """
    if not path.strip():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be blank")
    try:
        try:
            with context.root.resolve(path) as found:
                relative = directory = found.relative
        except errors.NotFound as error:
            relative = directory = error.relative  # its links are resolved, too
            if not relative:
                raise
        while True:
            try:
                place = context.root.directory(directory)
                break
            except (errors.NotFound, errors.NotADirectory):
                directory = directory.rpartition("/")[0]
        with place, answering(path), opened(place, context.budget) as work_tree:
            below = "" if relative == "." else relative
            yield work_tree, f"{below}/".removeprefix(work_tree.base.prefix).rstrip("/")
    except (errors.NotFound, errors.NotADirectory) as error:
        near = nearest(path, context)
        message = f"Path {quote(path)} does not exist{nearest_names(near)}"
        raise ToolError(ErrorCode.NOT_FOUND, message, nearest=near) from error
    except errors.PathError as error:
        raise refusal(error, path, context) from error


@contextmanager
def answering(path: str) -> Iterator[None]:
    """Turn a late answer about the repository of `path`, or none, into a `ToolError`."""
    try:
        yield
    except (errors.DeadlineExceeded, Unanswered) as error:
        why = error.why if isinstance(error, Unanswered) else NoGit.SLOW
        if why in (NoGit.SLOW, NoGit.TOO_MUCH):
            remedy = "give a path, or ask for less (git waits for a fifo named .gitattributes, too)"
            raise errors.DeadlineExceeded(f"When the time was up, {why}: {remedy}") from error
        if not isinstance(why, NoGit):
            message = f"The repository of {quote(path)} cannot be read: {prose(why)}"
            raise ToolError(ErrorCode.INTERNAL, message) from error
        message = f"Path {quote(path)} has no git repository: {why}"
        raise ToolError("NOT_GIT_REPOSITORY", message) from error


def commit_named(name: str, argument: str, work_tree: WorkTree) -> str:
    """The hash of the commit `name`; "" for HEAD before the first commit. Raises `ToolError`."""
    if name == "HEAD":
        return work_tree.repository.latest_commit()
    problem = "names no commit"
    if ".." in name:
        ends = "its ends as base and target" if argument != "ref" else "its later end"
        problem = f"names a range: give {ends}"
    elif ":/" in name or "^{/" in name:
        problem = "looks for a message, which takes any amount of memory: give a commit or branch"
    elif name and not name.startswith("-") and len(name) <= MAX_NAME and name.isprintable():
        words = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        found = work_tree.repository.ask(*words, fine=(0, 1, 128))
        if found:
            return found.decode().strip()
    raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{argument}' {problem}: {quote(name)}")
