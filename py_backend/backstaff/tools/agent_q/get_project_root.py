"""agent-q/get_project_root: the directory at which every tool's view ends, and how it is known.

The root is what the client says, and nothing above it is looked at. The detection method is
therefore read off the root itself, in Agent-Q's order and words: it is a git repository's (`.git`
there: a directory, or the file of a linked work tree), or a Lisp system's (a `*.asd` file there),
or it is what the client configured.
"""

from dataclasses import dataclass
from enum import StrEnum

from backstaff.errors import PathError
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, entries_in, kind_of, lstat_or_none
from backstaff.fs.root import Place
from backstaff.render.names import show
from backstaff.tool import Context, Result, ResultKind, Tool
from backstaff.tools.agent_q._refusals import refusal

_GIT_KINDS = (Kind.DIRECTORY, Kind.FILE, Kind.SYMLINK)


class Method(StrEnum):
    """How the root is known."""

    GIT = "git"
    ASDF = "asdf"
    CONFIGURED = "configured"


@dataclass(frozen=True, slots=True)
class Arguments:
    """None: a model does not choose the root."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The method, its words, and the name of the entry of the root that tells of it."""

    method: Method
    words: str
    marker: str | None = None


def run(_: Arguments, context: Context) -> Result:
    """Name the root; one that has gone is refused before this."""
    try:
        with context.root.resolve(".") as place:
            detection = _detect(place, context.budget)
            path = place.path_as_directory
    except PathError as error:
        raise refusal(error, ".", "Directory") from error
    return Result(
        text=f"Project root: {show(path)}\n\nDetection method: {detection.words}",
        data={"path": path, "method": detection.method, "marker": detection.marker},
    )


def _detect(place: Place, budget: Budget) -> Detection:
    git = lstat_or_none(".git", place.directory)
    if git and (kind := kind_of(git)) in _GIT_KINDS:
        return Detection(Method.GIT, f"Git repository root (.git {kind})", ".git")
    if system := _system(place, budget):
        return Detection(Method.ASDF, "ASDF system directory", system)
    return Detection(Method.CONFIGURED, "Explicitly configured")


def _system(place: Place, budget: Budget) -> str | None:
    """The first file of a Lisp system; None, too, where the root cannot be read."""
    try:
        entries = entries_in(place.listing(), budget)
    except PathError:
        return None
    return min((n for n, kind in entries if kind is Kind.FILE and n.endswith(".asd")), default=None)


TOOL = Tool(
    name="get_project_root",
    description=(
        "Get the project root, the directory that no file operation leaves, and how it was"
        " determined."
    ),
    parameters=(),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "configuration"),
)
