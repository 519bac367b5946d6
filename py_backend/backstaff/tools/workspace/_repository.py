"""The work tree around the path that a tool of git's was given, or the refusal."""

from collections.abc import Iterator
from contextlib import contextmanager

from backstaff.changes.work_tree import WorkTree, opened
from backstaff.errors import (
    DeadlineExceeded,
    ErrorCode,
    NotADirectory,
    NotFound,
    PathError,
    ToolError,
)
from backstaff.fs.entry import Kind, Named, groups_in
from backstaff.fs.walk import Walk
from backstaff.project.git import find_repository
from backstaff.project.running_git import GitFailed, NoGit, Unanswered, answered
from backstaff.render.lines import some_of
from backstaff.render.names import prose, quote, word
from backstaff.tool import Context
from backstaff.tools.workspace._refusals import nearest, nearest_names, refusal

NOT_GIT_REPOSITORY = "NOT_GIT_REPOSITORY"
MAX_NAME = 500
"""Maximum number of characters of the name of a commit."""
LOOK_SECONDS = 0.5
"""Maximum number of seconds of a look for a fifo that git waits for."""
_NEAR = 3


@contextmanager
def work_tree_at(path: str, context: Context) -> Iterator[tuple[WorkTree, str]]:
    """Open the work tree around `path`; yield it, and `path` from its base: "" for all of it.

    `path` may be gone. A `PathError`, also of the caller's, and a git that does not answer are a
    `ToolError`.
    """
    if not path.strip():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be blank")
    try:
        relative = directory = _from_root(path, context)
        while True:
            try:
                place = context.root.directory(directory)
                break
            except (NotFound, NotADirectory):
                directory = directory.rpartition("/")[0]
        with place, answering(path, context):
            repository = find_repository(place, context.budget)
            if isinstance(repository, NoGit):
                raise no_repository(path, repository)
            with opened(place, repository, context.budget) as work_tree:
                below = "" if relative == "." else relative
                yield work_tree, f"{below}/".removeprefix(work_tree.base.prefix).rstrip("/")
    except (NotFound, NotADirectory) as error:
        near = nearest(path, context)
        message = f"Path {quote(path)} does not exist{nearest_names(near)}"
        raise ToolError(ErrorCode.NOT_FOUND, message, nearest=near) from error
    except PathError as error:
        raise refusal(error, path, context) from error


def _from_root(path: str, context: Context) -> str:
    """`path` from the root, with all links resolved, even if nothing is there any more."""
    try:
        with context.root.resolve(path) as place:
            if place.kind is not Kind.DIRECTORY and path.endswith("/"):
                raise NotADirectory("it is not a directory", last=True)
            return place.relative
    except NotFound as error:
        if not error.relative:
            raise
        return error.relative


@contextmanager
def answering(path: str, context: Context) -> Iterator[None]:
    """Turn a late answer about the repository of `path`, or none, into a `ToolError`."""
    try:
        yield
    except DeadlineExceeded as error:
        raise no_repository(path, NoGit.SLOW) from error
    except Unanswered as error:
        if error.why is NoGit.SLOW and (name := _endless(context)):
            message = f"Git waits for {quote(name)}, which is no file: remove it"
            raise DeadlineExceeded(message) from error
        raise no_repository(path, error.why) from error


def _endless(context: Context) -> str | None:
    """A fifo or the like that has the name of a file of git's, if one is found at once."""
    found = list[str]()

    def arrange(directory: int, path: str) -> list[Named]:
        _, directories, _, special = groups_in(directory, budget)
        found.extend(f"{path}/{name}".lstrip("/") for name in special if name.startswith(".git"))
        return [] if found else [(name, Kind.DIRECTORY) for name in directories]

    budget = context.budget.at_least(LOOK_SECONDS).at_most(LOOK_SECONDS)
    with context.root.directory(".") as place, Walk(place.listing(), arrange, budget) as walk:
        for _ in walk.enter_all():
            pass
    return found[0] if found else None


def no_repository(path: str, why: NoGit) -> ToolError:
    """The error for a `path` whose repository is not known. It may only be slow, or too large."""
    remedy = "give a path, or ask for less"
    if why is NoGit.SLOW:
        return DeadlineExceeded(f"When the time was up, there was no answer: {remedy}")
    if why is NoGit.TOO_MUCH:
        return DeadlineExceeded(f"{why[:1].upper()}{why[1:]}: {remedy}")
    if isinstance(why, GitFailed):
        message = f"The repository of {quote(path)} cannot be read: {prose(why)}"
        return ToolError(ErrorCode.INTERNAL, message)
    return ToolError(NOT_GIT_REPOSITORY, f"Path {quote(path)} has no git repository: {why}")


def commit_named(name: str, argument: str, work_tree: WorkTree, context: Context) -> str:
    """The hash of the commit `name`, the value of `argument`; "" for HEAD before the first commit.

    Raises `ToolError` with some names like it, if it names no commit.
    """
    if name == "HEAD":
        return work_tree.repository.head
    problem = "names no commit"
    if ".." in name:
        problem = "names a range: give its ends as base and target"
    elif ":/" in name or "^{/" in name:
        problem = "looks for a message, which takes any amount of memory: give a commit or branch"
    elif name and not name.startswith("-") and len(name) <= MAX_NAME and name.isprintable():
        repository = work_tree.repository
        words = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        asked = repository.ask_references(context.budget, *words, fine=(0, 1, 128))
        if found := answered(asked).strip():
            return found.decode()
        import difflib

        names = ("for-each-ref", "--count=1000", "--format=%(refname:short)")
        told = repository.ask_references(context.budget, *names)
        known = [] if isinstance(told, NoGit) else told.decode("utf-8", "replace").split("\n")
        near = difflib.get_close_matches(name, known, _NEAR)
        there = some_of(map(word, near), len(near), between=", ")
        problem += f"; there are {there}" if there else ""
    raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{argument}' {problem}: {quote(name)}")
