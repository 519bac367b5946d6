"""The work tree around the path that a tool of git's was given, or the refusal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from backstaff.changes.objects import Unanswered, commit_of
from backstaff.changes.work_tree import WorkTree, opened
from backstaff.errors import DeadlineExceeded, ErrorCode, NotADirectory, NotFound, ToolError
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.project.git import Repository, find_repository
from backstaff.project.running_git import NoGit
from backstaff.render.lines import some_of
from backstaff.render.names import quote, word
from backstaff.tool import Context

NOT_GIT_REPOSITORY = "NOT_GIT_REPOSITORY"
MAX_NAME = 500
"""Characters of the name of a commit."""
_NEAR = 3


@dataclass(frozen=True, slots=True)
class Start:
    """The directory in which git is asked, and the path that was given, from the base."""

    place: Place
    repository: Repository


@contextmanager
def work_tree_at(path: str, context: Context) -> Iterator[tuple[WorkTree, str]]:
    """Open the work tree around `path`; yield it, and `path` from its base: "" for all of it.

    `path` may be gone. Raises `PathError`, and `ToolError` where git does not answer.
    """
    relative = path_from_root(path, context)
    directory = relative
    while True:
        try:
            place = context.root.directory(directory)
            break
        except (NotFound, NotADirectory):
            directory = directory.rpartition("/")[0]
    with place, answering(path):
        repository = find_repository(place.listing(), context.root.path, context.budget)
        if isinstance(repository, NoGit):
            raise no_repository(path, repository)
        with opened(place, repository, context.budget) as work_tree:
            below = "" if relative == "." else relative
            yield work_tree, f"{below}/".removeprefix(work_tree.base.prefix).rstrip("/")


def path_from_root(path: str, context: Context) -> str:
    """PATH from the root, with all links resolved, also where nothing is there any more."""
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
def answering(path: str) -> Iterator[None]:
    """Turn git's silence about the repository of `path`, or ours in time, into a `ToolError`."""
    try:
        yield
    except DeadlineExceeded as error:
        raise no_repository(path, NoGit.SLOW) from error
    except Unanswered as error:
        if error.why in (NoGit.ELSEWHERE, NoGit.SLOW, NoGit.TOO_MUCH):
            raise no_repository(path, error.why) from error
        message = f"The repository of {quote(path)} cannot be read: {error.why}"
        raise ToolError(ErrorCode.INTERNAL, message) from error


def no_repository(path: str, why: NoGit) -> ToolError:
    """The error for a `path` whose repository is not known. It may only be slow, or too large."""
    remedy = "give a path, or ask for less"
    if why is NoGit.SLOW:
        return DeadlineExceeded(f"When the time was up, there was no answer: {remedy}")
    if why is NoGit.TOO_MUCH:
        return DeadlineExceeded(f"{why.capitalize()}: {remedy}")
    return ToolError(NOT_GIT_REPOSITORY, f"Path {quote(path)} has no git repository: {why}")


def commit_named(name: str, argument: str, work_tree: WorkTree, context: Context) -> str:
    """The hash of the commit `name`, the value of `argument`.

    "" for HEAD before the first commit.
    """
    if name == "HEAD":
        return work_tree.repository.head
    problem = "names no commit"
    if ".." in name:
        problem = "names a range: give its ends as base and target"
    elif name and not name.startswith("-") and len(name) <= MAX_NAME and name.isprintable():
        if found := commit_of(work_tree.repository, name, context.budget):
            return found
        near = _near(name, work_tree, context)
        problem += f"; there are {near}" if near else ""
    raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{argument}' {problem}: {quote(name)}")


def _near(name: str, work_tree: WorkTree, context: Context) -> str:
    """Some branches and tags with a name like `name`."""
    import difflib

    words = ("for-each-ref", "--count=1000", "--format=%(refname:short)")
    told = work_tree.repository.ask(context.budget, *words)
    if isinstance(told, NoGit):
        return ""
    names = difflib.get_close_matches(name, told.decode("utf-8", "replace").split("\n"), _NEAR)
    return some_of(map(word, names), len(names), between=", ")
