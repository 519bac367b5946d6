"""workspace/tree: the directories, or everything, below a directory as a tree (contract 001).

Counting is the contract's: every returned node counts, the root too, and `limit_reached` is true
as soon as `max_entries` is reached. The data are its TreeOutput. The text is for a model: the
totals, then a line for each directory whose children are shown (its path, then the names in it:
`sub/`, `sub/…` where that was not opened, `name@` for a link, and `…` where names may be missing),
and at last what was cut and how to see it.

Beyond the contract: special files are no nodes; a directory that cannot be read is a node without
children and a warning; when the time is up, what was found so far is the answer, and says so.
`exclude` has no negation (`!x` is the name `!x`), and a pattern such as `/x` or `../x` matches
nothing, as paths are relative to the workspace: both are warned of. `./x` is `x`.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import accumulate, repeat
from typing import Any, NamedTuple

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
from backstaff.render.lines import all_files, bracketed, directories_in_a_note, size
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
    """The tree as it grows: nodes as the contract has them, and the counts of its TreeOutput.

    Where the walk stopped early, `last` holds the paths of the last node and of all nodes above it:
    children of these directories may be missing. `unopened` says that the last node is a directory.
    """

    root: Node
    counts: dict[Kind, int] = field(
        default_factory=lambda: {Kind.DIRECTORY: 1, Kind.FILE: 0, Kind.SYMLINK: 0}
    )
    scanned: int = 1
    limit_reached: bool = False
    depth_cut: bool = False
    expired: bool = False
    last: frozenset[str] = frozenset()
    unopened: bool = False
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
    base = place.prefix
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
                tree.last = frozenset(one["path"] for one in (*parents[:depth], node))
                tree.unopened = kind is Kind.DIRECTORY
                break
            if kind is Kind.DIRECTORY and _opened(walk, step, node, arguments, tree):
                parents[depth:] = [node]
        tree.expired = walk.expired
        if tree.expired:
            tree.last = frozenset(one["path"] for one in parents)
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


class _Line(NamedTuple):
    """A directory whose children are shown: its path, a word for each; some may be missing."""

    path: str
    words: Sequence[str]
    short: bool

    def text(self) -> str:
        """The line."""
        return " ".join([f"{word(self.path)}/", *self.words, *(["…"] if self.short else [])]) + "\n"

    def within(self, room: int) -> "_Line":
        """The line with as many words as have room in ROOM bytes."""
        if size(self.text()) <= room:
            return self
        bare = self._replace(words=(), short=True)
        sizes = accumulate((size(one) + 1 for one in self.words), initial=size(bare.text()))
        fitting = sum(1 for taken in sizes if taken <= room) - 1
        return bare._replace(words=self.words[: max(fitting, 0)])


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a TREE in at most LIMIT bytes: its LINES, and how many more have no room."""

    tree: Tree
    arguments: Arguments
    limit: int
    lines: Sequence[_Line]
    left_out: int = 0
    is_cut: bool = False

    def written(self) -> str:
        """The head, the lines and the notes."""
        return "".join((_head(self.tree), *map(_Line.text, self.lines), bracketed(self._notes())))

    def cut(self) -> "_Text":
        """The text with as many of its lines, and of the names in the last one, as have room."""
        # The notes are longest where only a part of the first line has room.
        first = [line.within(0) for line in self.lines[:1]]
        longest = replace(self, lines=first, left_out=len(self.lines), is_cut=True)
        room = self.limit - size(longest.written()) + sum(size(line.text()) for line in first)
        shown: list[_Line] = []
        for line in self.lines:
            shown.append(line.within(room))
            room -= size(shown[-1].text())
            if shown[-1] is not line:
                break
        shown = [line for line in shown if line.words]
        return replace(self, lines=shown, left_out=len(self.lines) - len(shown), is_cut=True)

    def _notes(self) -> Iterator[str]:
        """What was cut, and how to see it."""
        tree, entries, depth = self.tree, self.arguments.max_entries, self.arguments.max_depth
        if tree.limit_reached:
            more = f"; raise it (at most {MAX_ENTRIES})" if entries < MAX_ENTRIES else ""
            yield f"stopped at max_entries {entries}: there may be more{more}"
        if tree.expired:
            yield "stopped as the time was up: exclude more, or give a directory as path"
        if self.left_out:
            noun = "line" if self.left_out == 1 else "lines"
            words = f"{self.left_out} more {noun} left out for a limit of {self.limit} bytes"
            yield f"{words}: give a directory as path"
        yield from self._where_names_are_missing()
        if tree.depth_cut or tree.unopened:
            more = f", or raise max_depth (at most {MAX_DEPTH})" if tree.depth_cut else ""
            yield f"dir/… is not opened: give it as path{more if depth < MAX_DEPTH else ''}"
        if tree.unreadable:
            yield f"cannot be read: {directories_in_a_note(tree.unreadable)}"
        yield from _idle(self.arguments.exclude)

    def _where_names_are_missing(self) -> Iterator[str]:
        """How to see all that is in the directories of which only the first names are shown."""
        root, most = self.tree.root["path"], {"max_depth": 1, "max_entries": MAX_ENTRIES}
        short = [line for line in self.lines if line.short]
        asked = self.arguments.max_depth <= 1
        if any(line.path != root for line in short) or (short and not asked):
            how = ", ".join(f"{name}={value}" for name, value in most.items())
            yield f"a line that ends with … may miss names: give its directory as path with {how}"
            return
        # Nothing shows more of the root's line but the other tool.
        for line in short if self.is_cut or self.arguments.max_entries == MAX_ENTRIES else ():
            closed = not line.words or line.words[-1].endswith(("/", "/…"))
            call = all_files(root, "**" if closed else "*", self.limit)
            yield f"all files: {call}" if call else "a line that ends with … misses names"


def _text(tree: Tree, arguments: Arguments, limit: int) -> tuple[str, bool]:
    """The text in LIMIT bytes, where head and notes have room in them; whether it is whole."""
    text = _Text(tree, arguments, limit, list(_lines(tree.root, tree.last)))
    whole = text.written()
    return (whole, True) if size(whole) <= limit else (text.cut().written(), False)


def _head(tree: Tree) -> str:
    nouns = (
        (Kind.DIRECTORY, "directory", "directories"),
        (Kind.FILE, "file", "files"),
        (Kind.SYMLINK, "symlink", "symlinks"),
    )
    counts = [(tree.counts[kind], one, many) for kind, one, many in nouns]
    said = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
    return f"Tree of {show(tree.root['path'] + '/')} with {said}, itself included\n"


def _lines(node: Node, last: AbstractSet[str]) -> Iterator[_Line]:
    """A line for NODE and each directory below it of which children are shown.

    Of those with a path among the LAST, children may be missing.
    """
    if "children" in node:
        children = node["children"]
        labels = words([child["name"] for child in children])
        marked = [_marked(*both, last) for both in zip(labels, children, strict=True)]
        yield _Line(node["path"], marked, node["path"] in last)
        for child in children:
            if "children" in child:
                yield from _lines(child, last)


def _marked(label: str, node: Node, last: AbstractSet[str]) -> str:
    if node["kind"] is not Kind.DIRECTORY:
        return label + SUFFIXES[node["kind"]]
    closed = "truncated" in node or (node["path"] in last and "children" not in node)
    return f"{label}/…" if closed else f"{label}/"


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
