"""workspace/tree: the directories, or everything, below a directory as a tree (contract 001).

Counting is the contract's: every returned node counts, the root too, and `limit_reached` is true
as soon as `max_entries` is reached. The data are its TreeOutput. The text is for a model: the
totals, then a line for each directory whose children are shown, then notes on missing names:

    Tree of src/ with 3 directories, 1 file, 1 symlink, itself included
    src/ core/… docs/… main.py latest@
    [dir/… is not opened: give it as path, or raise max_depth (at most 12)]

`docs/…` is a directory that was not opened, and `latest@` is a link. `+6` at the end of a line
means that six more names of that directory are not shown; `…` there, that their number is unknown.

Beyond the contract: special files are no nodes. A directory that cannot be read is a node without
children, and a warning. When the time is up, the nodes found so far are the answer, with a warning.
A person's view can choose other names to leave out (`LeftOut`). The data, but not the JSON, say
which names were `left_out`, how many are `missing` in a directory that was opened, and, with
`count_closed`, how many a `closed` one has.
`exclude` has no negation (`!x` is the name `!x`), and a pattern such as `/x` or `../x` matches
nothing, as paths are relative to the workspace: a warning says so. `./x` is `x`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nsmallest
from itertools import repeat
from typing import Any, NamedTuple

from backstaff.errors import ErrorCode, NotADirectory, PathError, ToolError
from backstaff.fs.entry import GROUPS, Kind, Named, groups_in
from backstaff.fs.root import Place
from backstaff.fs.walk import Walk
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.project.files import project_files
from backstaff.render.lines import (
    all_files,
    bracketed,
    fit,
    omitted,
    paths_in_a_note,
    plural,
    size,
    some_of,
)
from backstaff.render.names import labels, literal, quote, show, word, words
from backstaff.render.refusals import TREE
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._texts import EXCLUDED

MAX_DEPTH, MAX_ENTRIES = 12, 1000
MAX_LEFT_OUT = 100
"""Maximum number of names that the data list as left out: git may ignore thousands."""
DEFAULT_EXCLUDES = EXCLUDED | {".DS_Store"}
SUFFIXES = {Kind.DIRECTORY: "/", Kind.FILE: "", Kind.SYMLINK: "@"}
"""The kinds that are nodes, in their order (3.1), each with the character after its names."""

Node = dict[str, Any]
Rule = Callable[[str, Sequence[str]], AbstractSet[str]]
"""Finds the names to leave out among those in a directory, whose path from the start is given."""


class LeftOut(StrEnum):
    """The names that a tree leaves out without being asked: those of its contract, by default."""

    CONTRACT = "contract"
    IGNORED = "ignored"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Arguments:
    """TreeInput (4.1), and behind it the wishes of a person's view, which models do not see."""

    path: str = argument("Directory path in workspace.")
    entry_kind: str = argument(
        "Node types to include (default: directory).",
        choices=("directory", "all"),
        default="directory",
    )
    max_depth: int = argument(
        "Maximum traversal depth (default: 3).", limits=(0, MAX_DEPTH), default=3
    )
    max_entries: int = argument(
        "Maximum node count (default: 100).", limits=(1, MAX_ENTRIES), default=100
    )
    include_hidden: bool = argument("Include dot-prefixed entries (default: false).", default=False)
    exclude: tuple[str, ...] = argument("Glob patterns to exclude paths.", absent=())
    left_out: str = argument(
        "Names to leave out without a glob.",
        choices=tuple(LeftOut),
        absent=LeftOut.CONTRACT.value,
        hidden=True,
        view=True,
    )
    count_closed: bool = argument(
        "Count the entries of closed directories.", absent=False, hidden=True, view=True
    )


@dataclass(slots=True)
class Tree:
    """The tree as it grows.

    `base` is the prefix of the paths below the root. `rule` finds the names to leave out unasked,
    `globs` those of the argument `exclude`. `nodes` are those of the contract in pre-order, and
    `branch` has the last of them and those above it, by depth.
    `unopened` are the paths of directories that are nodes, but without children. `eligible` counts
    the children that a directory could have, by its path: of each opened one, of which some are
    missing if the walk stopped early, and where `count_closed` asks for it, of an unopened one.
    `unasked` says that the root has files or links that `entry_kind` keeps out.
    `left_out` has the kind of each path that a rule such as `DEFAULT_EXCLUDES` keeps out.
    """

    arguments: Arguments
    context: Context
    base: str
    nodes: list[Node]
    rule: Rule
    globs: Globs | None
    branch: list[Node]
    limit_reached: bool = False
    depth_cut: bool = False
    expired: bool = False
    eligible: dict[str, int] = field(default_factory=dict)
    unopened: list[str] = field(default_factory=list)
    unasked: bool = False
    left_out: dict[str, Kind] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def grow(self, place: Place) -> None:
        """Walk below `place` as far as the arguments allow, and make the nodes."""
        asked, nodes = self.arguments, self.nodes
        opened = nodes[:]  # by depth: the directory that was opened last, and those above it
        with Walk(place.listing(), self.arrange, self.context.budget) as walk:
            for step in walk:
                name, path, kind, depth, _ = step
                node: Node = {"name": name, "path": self.base + path, "depth": depth, "kind": kind}
                opened[depth - 1].setdefault("children", []).append(node)
                nodes.append(node)
                self.limit_reached = len(nodes) == asked.max_entries
                if kind is Kind.DIRECTORY:
                    if depth < asked.max_depth and not self.limit_reached:
                        if walk.enter(step) is None:
                            opened[depth:] = [node]
                        else:
                            self.unreadable.append(node["path"])
                        continue
                    if not self.limit_reached:
                        node["truncated"] = self.depth_cut = True
                    self.unopened.append(node["path"])
                    if asked.count_closed:
                        walk.look_into(step)
                if self.limit_reached:
                    break
            self.expired = walk.expired
        if self.expired and opened[-1]["path"] not in self.eligible:
            self.unopened.append(opened[-1]["path"])
        self.branch = [*opened[: nodes[-1]["depth"]], nodes[-1]]

    def arrange(self, directory: int, path: str) -> list[Named]:
        """Filter (7) and order (3.1) the entries of a directory, as many as there is room for.

        The cheap filters go first, because their order does not change the result.
        """
        asked, budget = self.arguments, self.context.budget
        kinds = tuple(SUFFIXES) if asked.entry_kind == "all" else (Kind.DIRECTORY,)
        groups = dict(zip(GROUPS, groups_in(directory, budget), strict=True))
        budget.check()  # nothing is shown of a directory that was not read to its end
        if not path:
            others = (name for kind in SUFFIXES if kind not in kinds for name in groups[kind])
            self.unasked = any(asked.include_hidden or name[0] != "." for name in others)
        prefix = f"{self.base}{path}/" if path else self.base
        found: list[Named] = []
        room = asked.max_entries - len(self.nodes)
        eligible = 0
        for kind in kinds:
            names = groups[kind]
            if not asked.include_hidden:
                names = [name for name in names if name[0] != "."]
            if ruled_out := self.rule(path, names):
                self.left_out |= {prefix + name: kind for name in ruled_out}
                names = [name for name in names if name not in ruled_out]
            if self.globs and (hidden := self.globs.among(prefix, names, budget)):
                names = [name for name in names if name not in hidden]
            order = None if "".join(names).isascii() else _utf_16  # for ASCII they are the same
            found += zip(nsmallest(room - len(found), names, key=order), repeat(kind))
            eligible += len(names)
        self.eligible[prefix.rstrip("/") or self.nodes[0]["path"]] = eligible
        return found

    def missing(self, node: Node) -> int:
        """Count the children of a directory that are missing because the walk stopped."""
        return self.eligible.get(node["path"], 0) - len(node.get("children", ()))


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def run(arguments: Arguments, context: Context) -> Result:
    """Grow the tree, and write it."""
    tree = _grown(arguments, context)
    counts, lines = Counter(node["kind"] for node in tree.nodes), list(_lines(tree))
    text, is_whole = _text(tree, counts, lines)
    warnings = [
        f"Directory {quote(path)} cannot be read: its children are missing"
        for path in tree.unreadable
    ]
    if tree.expired:
        warnings.append("The time was up before the tree was complete")
    output = {  # TreeOutput (4.2)
        "root": tree.nodes[0],
        "limit_reached": tree.limit_reached,
        "scanned_entries": len(tree.nodes),
        "total_dirs": counts[Kind.DIRECTORY],
        "total_files": counts[Kind.FILE],
        "total_symlinks": counts[Kind.SYMLINK],
    }
    stopped = tree.branch if tree.limit_reached or tree.expired else ()
    missing = ((node["path"], tree.missing(node)) for node in stopped)
    closed = ((path, tree.eligible.get(path)) for path in tree.unopened)
    more = {
        "left_out": nsmallest(MAX_LEFT_OUT, {path.split("/")[-1] for path in tree.left_out}),
        "missing": [{"path": path, "count": count} for path, count in missing if count],
        # Without those that could not be read.
        "closed": [{"path": path, "count": n} for path, n in closed if n is not None],
        "notes": [note.data() for note in _notes(tree, lines, None)],
    }
    return Result(
        text=text,
        data=output | more,
        output=output,
        truncated=tree.limit_reached or tree.expired or not is_whole,
        warnings=tuple(warnings),
        labels=lambda: labels(show, (node[key] for node in tree.nodes for key in ("name", "path"))),
    )


def _grown(arguments: Arguments, context: Context) -> Tree:
    """Walk in the contract's order: validate, check the root, list, filter, sort, recurse (5)."""
    if not arguments.path:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be empty")
    try:
        globs = compile_globs(arguments.exclude) if arguments.exclude else None
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'exclude': {error}") from error
    try:
        with context.root.resolve(arguments.path) as place:
            if place.through_link or place.kind is not Kind.DIRECTORY:
                raise NotADirectory("it is not a directory", last=True)
            root: Node = {"name": place.name, "path": place.relative, "depth": 0}
            root["kind"] = Kind.DIRECTORY
            rule = _rule(place, arguments.left_out, context)
            tree = Tree(arguments, context, place.prefix, [root], rule, globs, [root])
            if arguments.max_entries == 1:
                tree.limit_reached = True
            elif arguments.max_depth == 0:
                root["truncated"] = tree.depth_cut = True
            else:
                tree.grow(place)
    except PathError as error:
        raise refusal(error, arguments.path, context, TREE) from error
    return tree


def _rule(place: Place, left_out: str, context: Context) -> Rule:
    """Make the function that finds the names to leave out without being asked."""
    if left_out == LeftOut.NOTHING:
        return lambda *_: frozenset()
    if left_out == LeftOut.CONTRACT:
        return lambda _, names: DEFAULT_EXCLUDES.intersection(names)
    project = project_files(place, context.budget)
    known = {*project.paths, *(directory.path for directory in project.directories)}
    return lambda path, names: {name for name in names if f"{path}/{name}".lstrip("/") not in known}


# ---------------------------------------------------------------------------- text


class _Line(NamedTuple):
    """The line of a directory: its path, a word for each child, the number `missing` or None."""

    path: str
    words: Sequence[str]
    missing: int | None

    def end(self) -> list[str]:
        """The mark for missing children: `+6`, or `…`."""
        return [] if self.missing == 0 else [f"+{self.missing}" if self.missing else "…"]

    def text(self) -> str:
        """The line."""
        return " ".join([f"{word(self.path)}/", *self.words, *self.end()]) + "\n"


def _lines(tree: Tree) -> Iterator[_Line]:
    """Yield a line for each directory in `tree` that has children there."""
    unopened = set(tree.unopened)
    for node in tree.nodes:
        if not (children := node.get("children")):
            continue
        marked = []
        for child, label in zip(children, words([one["name"] for one in children]), strict=True):
            # A name such as +6 looks like a count.
            shown = literal(label) if label[0] == "+" and label[1:].isdigit() else label
            marked.append(shown + SUFFIXES[child["kind"]] + "…" * (child["path"] in unopened))
        missing = tree.missing(node)
        yield _Line(node["path"], marked, None if missing and tree.expired else missing)


def _text(tree: Tree, counts: Counter[Kind], lines: Sequence[_Line]) -> tuple[str, bool]:
    """Return the head, the `lines` and the notes within the limit, and whether they are whole.

    A cut text has as many of the lines, and of the names in the last one, as have room.
    """
    nouns = {Kind.DIRECTORY: "directories"}
    numbers = [plural(counts[kind], kind, nouns.get(kind, "")) for kind in SUFFIXES if counts[kind]]
    root = show(f"{tree.nodes[0]['path']}/")
    head = f"Tree of {root} with {', '.join(numbers)}, itself included\n"
    most = sum(len(line.words) for line in lines)

    def text(count: int) -> str:
        shown, left = list[_Line](), count
        for path, names, missing in lines:
            if left <= 0:
                break
            # Of the last line, the first names have room, and the others are missing, too.
            hidden = max(0, len(names) - left)
            more = None if missing is None else missing + hidden
            shown.append(_Line(path, names[:left], more))
            left -= len(names)
        notes = _notes(tree, shown, len(lines) - len(shown) if count < most else None)
        return "".join((head, *map(_Line.text, shown), bracketed(notes)))

    def sizes() -> Iterator[int]:
        for line in lines:
            later = [size(one) + 1 for one in line.words[1:]]
            yield size(line.text()) - sum(later)  # the first name with all that is not a name
            yield from later

    whole, count = fit(text, most, sizes(), tree.context.text_limit())
    return whole, count == most


def _notes(tree: Tree, shown: Sequence[_Line], left_out: int | None) -> Iterator[Note]:
    """Say why names are missing, and how to see them.

    `left_out` is the number of lines that are not `shown`, or None if the text is whole.
    """
    asked = tree.arguments
    if tree.limit_reached:
        raisable = asked.max_entries < MAX_ENTRIES
        text = f"stopped at max_entries {asked.max_entries}: there may be more"
        yield Note(NoteKind.LIMIT, text, f"raise it (at most {MAX_ENTRIES})" if raisable else "")
    if tree.expired:
        remedy = "exclude more, or give a directory as path"
        yield Note(NoteKind.TIME, "stopped as the time was up", remedy)
    if left_out:
        text = omitted(plural(left_out, "more line"), tree.context.text_limit())
        yield Note(NoteKind.LIMIT, text, "give a directory as path")
    yield from _about_short_lines(tree, shown, is_cut=left_out is not None)
    if tree.depth_cut or tree.unopened:
        raisable = tree.depth_cut and asked.max_depth < MAX_DEPTH
        more = f", or raise max_depth (at most {MAX_DEPTH})" if raisable else ""
        yield Note(NoteKind.DEPTH, "dir/… is not opened", f"give it as path{more}")
    if tree.unasked and len(tree.nodes) == 1:
        remedy = 'entry_kind="all" shows the files, too'
        yield Note(NoteKind.RULE, "only directories are shown", remedy)
    if tree.left_out:
        paths = (word(path) + SUFFIXES[kind] for path, kind in sorted(tree.left_out.items()))
        shown_paths = some_of(paths, len(tree.left_out)) or f"{len(tree.left_out)} with long names"
        yield Note(NoteKind.RULE, f"left out by rule: {shown_paths}", "give one as path to see it")
    if tree.unreadable:
        text = f"cannot be read: {paths_in_a_note(tree.unreadable)}"
        yield Note(NoteKind.UNREADABLE, text)


def _about_short_lines(tree: Tree, shown: Sequence[_Line], *, is_cut: bool) -> Iterator[Note]:
    """Say how to see the names that lines miss; `is_cut` if the text has not all of them."""
    root, asked = tree.nodes[0]["path"], tree.arguments
    short = [line for line in shown if line.missing != 0]
    if any(line.path != root for line in short) or (short and asked.max_depth > 1):
        call = f"give its directory as path with max_depth=1, max_entries={MAX_ENTRIES}"
        text = f"a line that ends with {short[0].end()[0]} misses names"
        yield Note(NoteKind.LIMIT, text, call)
    elif short and (is_cut or asked.max_entries == MAX_ENTRIES):
        # This tool shows no more of the root's line, but workspace/search_files does.
        last = short[0].words[-1] if short[0].words else "/"
        query = "**" if last.endswith(("/", "/…")) else "*"
        call_for_all = all_files(root, query, tree.context.text_limit(), tree.context.named)
        if call_for_all:
            yield Note(NoteKind.LIMIT, "all files", call_for_all)


TOOL = Tool(
    description="Returns a workspace tree: directories only or directories with files.",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TREE,
    categories=("filesystem", "navigation"),
)
