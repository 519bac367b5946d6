"""workspace/tree: the directories, or everything, below a directory as a tree (contract 001).

Counting is the contract's: every returned node counts, the root too, and `limit_reached` is true
as soon as `max_entries` is reached. The data are its TreeOutput. The text is for a model: the
totals, then a line for each directory whose children are shown (its path, then the names in it:
`sub/`, `sub/…` where the depth cut it off, `name@` for a link), and at last what was cut and how
to see it. Each line stands alone, so a cut text loses whole lines only.

Beyond the contract: special files are no nodes; a directory that cannot be read is a node without
children and a warning; when the time is up, what was found so far is the answer, and says so.
`exclude` has no negation (`!x` is the name `!x`), and a pattern such as `/x` or `../x` matches
nothing, as paths are relative to the workspace: both are warned of. `./x` is `x`.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import repeat
from typing import Any

from backstaff.errors import (
    ErrorCode,
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    ToolError,
)
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.fs.root import Place
from backstaff.fs.walk import Arrange, Step, Walk
from backstaff.render.lines import fitted
from backstaff.render.names import labels, quote, show, word, words
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool

MAX_DEPTH, MAX_ENTRIES = 12, 1000
DEFAULT_TEXT_BYTES = 1 << 20
DEFAULT_EXCLUDES = frozenset(
    (".git", "node_modules", "dist", "build", "target", ".vscode", ".DS_Store")
)
SUFFIXES = {Kind.DIRECTORY: "/", Kind.FILE: "", Kind.SYMLINK: "@"}
"""What stands behind a name, by the kinds that are nodes, in their order (3.1)."""

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Arguments:
    """TreeInput (4.1)."""

    path: str
    entry_kind: str
    max_depth: int
    max_entries: int
    include_hidden: bool
    exclude: tuple[str, ...]


@dataclass(slots=True)
class Tree:
    """The tree as it grows: nodes as the contract has them, and the counts of its TreeOutput."""

    root: Node
    counts: dict[Kind, int] = field(
        default_factory=lambda: {Kind.DIRECTORY: 1, Kind.FILE: 0, Kind.SYMLINK: 0}
    )
    scanned: int = 1
    limit_reached: bool = False
    depth_cut: bool = False
    expired: bool = False
    unreadable: list[str] = field(default_factory=list)

    def add(self, node: Node, parent: Node) -> None:
        """Take in NODE as the last child so far of PARENT."""
        if "children" in parent:
            parent["children"].append(node)
        else:
            parent["children"] = [node]
        self.counts[node["kind"]] += 1
        self.scanned += 1

    def cut_at_depth(self, node: Node) -> None:
        """Say that NODE is not looked into as it is as deep as may be."""
        node["truncated"] = self.depth_cut = True

    def output(self) -> dict[str, object]:
        """TreeOutput (4.2)."""
        return {
            "root": self.root,
            "limit_reached": self.limit_reached,
            "scanned_entries": self.scanned,
            "total_dirs": self.counts[Kind.DIRECTORY],
            "total_files": self.counts[Kind.FILE],
            "total_symlinks": self.counts[Kind.SYMLINK],
        }


def run(arguments: Arguments, context: Context) -> Result:
    """Walk in the contract's order: validate, check the root, list, filter, sort, recurse (5)."""
    _validate(arguments)
    excluded = _globs(arguments.exclude)
    try:
        with context.root.resolve(arguments.path) as place:
            _check_root(place)
            tree = _grown(place, arguments, excluded, context)
    except PathError as error:
        raise _refusal(error, arguments.path) from error
    text, whole = _text(tree, arguments, context.text_limit(DEFAULT_TEXT_BYTES))
    return Result(
        text=text,
        data=tree.output(),
        truncated=tree.limit_reached or tree.expired or not whole,
        warnings=(*_warnings(tree), *_idle(arguments.exclude)),
        labels=lambda: labels(show, _names(tree.root)),
    )


def _names(node: Node) -> Iterator[str]:
    """Yield the name and the path of NODE and of all nodes below it."""
    yield node["name"]
    yield node["path"]
    for child in node.get("children", ()):
        yield from _names(child)


def _validate(arguments: Arguments) -> None:
    if not arguments.path:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be empty")


def _globs(patterns: tuple[str, ...]) -> Globs | None:
    try:
        return compile_globs(patterns) if patterns else None
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'exclude': {error}") from error


def _idle(patterns: Sequence[str]) -> Iterator[str]:
    """A warning for each kind of pattern that cannot do what its author wants."""
    negated = [one for one in patterns if one.startswith("!")]
    if negated:
        problem = "brings nothing back: it only matches names that begin with '!'"
        yield f"exclude {_example(negated)} {problem}"
    unlike_paths = [one for one in patterns if {"", ".", ".."} & set(_segments(one))]
    if unlike_paths:
        problem = "matches nothing: paths are relative to the workspace, as in 'src/a.c'"
        yield f"exclude {_example(unlike_paths)} {problem}"


def _segments(pattern: str) -> list[str]:
    return pattern.removeprefix("./").rstrip("/").split("/")


def _example(patterns: Sequence[str]) -> str:
    more = f" (one of {len(patterns)} such patterns)" if len(patterns) > 1 else ""
    return quote(patterns[0]) + more


def _check_root(place: Place) -> None:
    if place.through_link or place.kind is not Kind.DIRECTORY:
        raise NotADirectory("it is not a directory", last=True)


def _refusal(error: PathError, path: str) -> ToolError:
    """ERROR with the contract's code (4.3); DESIGN adds SANDBOX_VIOLATION."""
    match error:
        case OutsideRoot():
            code, words = ErrorCode.SANDBOX_VIOLATION, "is outside the workspace"
        case NotADirectory(last=True) | NotFound(dangling=True):
            code, words = ErrorCode.NOT_DIRECTORY, "is not a directory"
        case NotFound() | NotADirectory():
            code, words = ErrorCode.NOT_FOUND, "does not exist"
        case InvalidPath():
            code, words = ErrorCode.INVALID_ARGUMENT, f"cannot be used: {error.message}"
        case _:
            code, words = ErrorCode.INTERNAL, f"cannot be read: {error.message}"
    return ToolError(code, f"Path {quote(path)} {words}")


def _grown(place: Place, arguments: Arguments, excluded: Globs | None, context: Context) -> Tree:
    base = "" if place.relative == "." else f"{place.relative}/"
    tree = Tree(_node(place.name, place.relative, 0, Kind.DIRECTORY))
    tree.limit_reached = arguments.max_entries == 1
    if tree.limit_reached or arguments.max_depth == 0:
        if not tree.limit_reached:
            tree.cut_at_depth(tree.root)
        return tree
    parents = [tree.root]  # by depth: the node that the walk is in, and those above it
    arrange = _arranger(arguments, excluded, base, tree, context.budget)
    with Walk(place.listing(), arrange, context.budget) as walk:
        for step in walk:
            name, path, kind, depth, _ = step
            node = _node(name, base + path, depth, kind)
            tree.add(node, parents[depth - 1])
            if tree.scanned >= arguments.max_entries:
                tree.limit_reached = True
                break
            if kind is Kind.DIRECTORY and _opened(walk, step, node, arguments, tree):
                parents[depth:] = [node]
        tree.expired = walk.expired
    return tree


def _node(name: str, path: str, depth: int, kind: Kind) -> Node:
    return {"name": name, "path": path, "depth": depth, "kind": kind}


def _opened(walk: Walk, step: Step, node: Node, arguments: Arguments, tree: Tree) -> bool:
    """Whether the walk goes into STEP's directory next; if not, NODE or TREE tell why."""
    if step.depth == arguments.max_depth:
        tree.cut_at_depth(node)
        return False
    if walk.enter(step) is None:
        return True
    tree.unreadable.append(node["path"])
    return False


def _arranger(
    arguments: Arguments, excluded: Globs | None, base: str, tree: Tree, budget: Budget
) -> Arrange:
    """What filters (7) and orders (3.1) the entries of a directory; no more than can be returned.

    The order in which filters are tried does not change what they leave, so the cheap go first.
    """
    kinds = tuple(SUFFIXES) if arguments.entry_kind == "all" else (Kind.DIRECTORY,)

    def arrange(directory: int, path: str) -> list[Named]:
        entries = entries_in(directory, budget)
        budget.check()  # if not all was read, nothing of it is shown
        if not arguments.include_hidden:
            entries = [entry for entry in entries if entry[0][0] != "."]
        gone: AbstractSet[str] = DEFAULT_EXCLUDES
        if excluded:
            prefix = f"{base}{path}/" if path else base
            gone = gone | excluded.among(prefix, [name for name, _ in entries], budget)
        found: list[Named] = []
        for kind in kinds:
            names = [name for name, its in entries if its is kind and name not in gone]
            first = _first(names, arguments.max_entries - tree.scanned - len(found))
            found += zip(first, repeat(kind))
        return found

    return arrange


def _first(names: list[str], most: int) -> list[str]:
    """The first MOST of NAMES, by UTF-16 code units."""
    return nsmallest(most, names, key=None if "".join(names).isascii() else _utf_16)


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _warnings(tree: Tree) -> Iterator[str]:
    for path in tree.unreadable:
        yield f"Directory {quote(path)} cannot be read: its children are missing"
    if tree.expired:
        yield "The time was up before the tree was complete"


def _text(tree: Tree, arguments: Arguments, limit: int) -> tuple[str, bool]:
    """The text in at most LIMIT bytes, or its first and last lines; whether it is whole."""
    notes = "".join(f"[{note}]\n" for note in _notes(tree, arguments))
    return fitted(_head(tree), list(_lines(tree.root)), notes, limit)


def _head(tree: Tree) -> str:
    nouns = (
        (Kind.DIRECTORY, "directory", "directories"),
        (Kind.FILE, "file", "files"),
        (Kind.SYMLINK, "symlink", "symlinks"),
    )
    counts = [(tree.counts[kind], one, many) for kind, one, many in nouns]
    said = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
    return f"Tree of {show(tree.root['path'] + '/')} with {said}, itself included\n"


def _lines(node: Node) -> Iterator[str]:
    """A line for NODE and each directory below it of which children are shown."""
    if "children" in node:
        children = node["children"]
        labels = words([child["name"] for child in children])
        names = " ".join(map(_marked, labels, children))
        yield f"{word(node['path'])}/ {names}\n"
        for child in children:
            if "children" in child:
                yield from _lines(child)


def _marked(label: str, node: Node) -> str:
    return label + SUFFIXES[node["kind"]] + ("…" if "truncated" in node else "")


def _notes(tree: Tree, arguments: Arguments) -> Iterator[str]:
    """What was cut, and how to see it."""
    if tree.limit_reached:
        yield (
            f"stopped at max_entries {arguments.max_entries}: there may be more;"
            f" raise it (at most {MAX_ENTRIES}), exclude more, or give a directory as path"
        )
    if tree.expired:
        yield "stopped as the time was up: exclude more, or give a directory as path"
    if tree.depth_cut:
        yield (
            f"/… is not opened, being at max_depth {arguments.max_depth}:"
            f" raise it (at most {MAX_DEPTH}), or give that directory as path"
        )
    if tree.unreadable:
        yield "cannot be read: " + " ".join(map(word, tree.unreadable))
    yield from _idle(arguments.exclude)


TOOL = Tool(
    name="tree",
    description="Returns a workspace tree: directories only or directories with files.",
    parameters=(
        Parameter(
            name="path",
            type=ParameterType.STRING,
            required=True,
            description="Directory path in workspace.",
        ),
        Parameter(
            name="entry_kind",
            type=ParameterType.STRING,
            choices=("directory", "all"),
            default="directory",
            description="Node types to include (default: directory).",
        ),
        Parameter(
            name="max_depth",
            type=ParameterType.NUMBER,
            whole=True,
            limits=(0, MAX_DEPTH),
            default=3,
            description="Maximum traversal depth (default: 3).",
        ),
        Parameter(
            name="max_entries",
            type=ParameterType.NUMBER,
            whole=True,
            limits=(1, MAX_ENTRIES),
            default=100,
            description="Maximum node count (default: 100).",
        ),
        Parameter(
            name="include_hidden",
            type=ParameterType.BOOLEAN,
            default=False,
            description="Include dot-prefixed entries (default: false).",
        ),
        Parameter(
            name="exclude",
            type=ParameterType.ARRAY,
            absent=(),
            description="Glob patterns to exclude paths.",
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TREE,
    categories=("filesystem", "navigation"),
)
