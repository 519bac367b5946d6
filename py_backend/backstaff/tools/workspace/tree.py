"""workspace/tree: the directories, or everything, below a directory as a tree (contract 001).

The data are the contract's TreeOutput. The text is for a model: the totals, then a line for each
directory whose children are shown, then notes on missing names:

    Tree of src/ with 3 directories, 1 file, 1 symlink, itself included
    src/ core/… docs/… main.py latest@
    [dir/… is not opened: give it as path, or raise max_depth (at most 12)]

`docs/…` is a directory that was not opened, and `latest@` is a link. `+6` at the end of a line
means that six more names of that directory are not shown; `…` there, that their number is unknown.

Beyond the contract: special files are no nodes. A directory that cannot be read is a node without
children, and a warning. When the time is up, the nodes found so far are the answer, with a warning.
The data, but not the JSON, say which names were `left_out`, and how many are `missing` in a
directory that was opened.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import repeat
from typing import Any

from backstaff.contents.choice import EXCLUDED
from backstaff.errors import ErrorCode, NotADirectory, PathError, ToolError
from backstaff.fs.entry import GROUPS, Kind, Named, groups_in, in_order
from backstaff.fs.root import Place
from backstaff.fs.walk import Walk
from backstaff.globs.globs import Globs
from backstaff.render.lines import all_files, bracketed, fit, omitted, paths_in_a_note, plural, size
from backstaff.render.names import quote, show, word
from backstaff.render.refusals import TREE
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._searched import rules_of

MAX_DEPTH, MAX_ENTRIES = 12, 1000  # levels and nodes (4.1)
DEFAULT_EXCLUDES = EXCLUDED | {".DS_Store"}
SUFFIXES = {Kind.DIRECTORY: "/", Kind.FILE: "", Kind.SYMLINK: "@"}  # the nodes, in order (3.1)
Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Arguments:
    """TreeInput (4.1)."""

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


@dataclass(slots=True)
class Tree:
    """The tree as it grows: its `nodes` in pre-order."""

    arguments: Arguments
    context: Context
    base: str  # the prefix of the paths below the root
    nodes: list[Node]
    globs: Globs | None
    expired: bool = False
    missing: dict[str, int] = field(default_factory=dict)  # of opened directories: unseen children
    left_out: list[str] = field(default_factory=list)  # by `DEFAULT_EXCLUDES`
    unreadable: list[str] = field(default_factory=list)

    @property
    def limit_reached(self) -> bool:
        """Whether there are `max_entries` nodes; the root counts, too (3.1)."""
        return len(self.nodes) >= self.arguments.max_entries

    def is_closed(self, node: Node) -> bool:
        """Return True if `node` is a directory that was not opened."""
        return node["kind"] is Kind.DIRECTORY and node["path"] not in self.missing

    def grow(self, place: Place) -> None:
        """Walk below `place` as far as the arguments allow, and make the nodes."""
        opened = self.nodes[:]  # by depth: the directory that was opened last, and those above it
        if self.limit_reached:
            return
        if not self.arguments.max_depth:
            opened[0]["truncated"] = True
            return
        with Walk(place.listing(), self.arrange, self.context.budget) as walk:
            for step in walk:
                name, path, kind, depth, _ = step
                node: Node = {"name": name, "path": self.base + path, "depth": depth, "kind": kind}
                above = opened[depth - 1]
                above.setdefault("children", []).append(node)
                self.missing[above["path"]] -= 1
                self.nodes.append(node)
                if self.limit_reached:
                    break
                if kind is not Kind.DIRECTORY:
                    continue
                if depth == self.arguments.max_depth:
                    node["truncated"] = True
                elif walk.enter(step) is None:
                    opened[depth:] = [node]
                else:
                    self.unreadable.append(node["path"])
                    self.missing[node["path"]] = 0
            self.expired = walk.expired

    def arrange(self, directory: int, path: str) -> list[Named]:
        """Filter (7) and order (3.1) the entries of a directory, as many as there is room for."""
        asked, budget = self.arguments, self.context.budget
        groups = dict(zip(GROUPS, groups_in(directory, budget), strict=True))
        budget.check()  # nothing is shown of a directory that was not read to its end
        prefix = f"{self.base}{path}/" if path else self.base
        found, room, eligible = list[Named](), asked.max_entries - len(self.nodes), 0
        for kind in SUFFIXES if asked.entry_kind == "all" else (Kind.DIRECTORY,):
            names = groups[kind]
            if not asked.include_hidden:
                names = [name for name in names if name[0] != "."]
            if ruled_out := DEFAULT_EXCLUDES.intersection(names):
                self.left_out += [prefix + name for name in ruled_out]
                names = [name for name in names if name not in ruled_out]
            if self.globs and (hidden := self.globs.among(prefix, names, budget)):
                names = [name for name in names if name not in hidden]
            order = None if "".join(names).isascii() else in_order  # for ASCII they are the same
            found += zip(nsmallest(room - len(found), names, key=order), repeat(kind))
            eligible += len(names)
        self.missing[prefix.rstrip("/") or "."] = eligible
        return found


def run(arguments: Arguments, context: Context) -> Result:
    """Validate, check the root, list, filter, sort, recurse, in this order (5)."""
    if not arguments.path:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be empty")
    globs = rules_of(exclude=arguments.exclude).exclude
    try:
        with context.root.resolve(arguments.path) as place:
            if place.through_link or place.kind is not Kind.DIRECTORY:
                raise NotADirectory("it is not a directory", last=True)
            root: Node = {"name": place.name, "path": place.relative, "depth": 0}
            root["kind"] = Kind.DIRECTORY
            tree = Tree(arguments, context, place.prefix, [root], globs)
            tree.grow(place)
    except PathError as error:
        raise refusal(error, arguments.path, context, TREE) from error
    counts = Counter(node["kind"] for node in tree.nodes)
    text, is_whole = _text(tree, counts)
    warnings = [
        f"Directory {quote(path)} cannot be read: its children are missing"
        for path in tree.unreadable
    ]
    if tree.expired:
        warnings.append("The time was up before the tree was complete")
    output = {  # TreeOutput (4.2)
        "root": root,
        "limit_reached": tree.limit_reached,
        "scanned_entries": len(tree.nodes),
        "total_dirs": counts[Kind.DIRECTORY],
        "total_files": counts[Kind.FILE],
        "total_symlinks": counts[Kind.SYMLINK],
    }
    missing = [{"path": path, "count": count} for path, count in tree.missing.items() if count]
    left_out = sorted({path.split("/")[-1] for path in tree.left_out})
    return Result(
        text=text,
        data=output | {"left_out": left_out, "missing": missing},
        output=output,
        truncated=tree.limit_reached or tree.expired or not is_whole,
        warnings=tuple(warnings),
    )


def _text(tree: Tree, counts: Counter[Kind]) -> tuple[str, bool]:
    """Return the text within the limit, whose last line may be cut, and whether it is whole."""
    plurals = {Kind.DIRECTORY: "directories", Kind.FILE: "files", Kind.SYMLINK: "symlinks"}
    numbers = [plural(counts[kind], kind, plurals[kind]) for kind in SUFFIXES if counts[kind]]
    root = show(f"{tree.nodes[0]['path']}/")
    head = f"Tree of {root} with {', '.join(numbers)}, itself included\n"
    rows = list[str]()  # a row for each child, with the line's ends
    for node in tree.nodes:
        children = node.get("children", ())
        line = f"{word(node['path'])}/"
        for child in children:
            mark = SUFFIXES[child["kind"]] + "…" * tree.is_closed(child)
            rows.append(f"{line} {word(child['name'])}{mark}")
            line = ""
        if children:
            missing = tree.missing[node["path"]]
            end = (" …" if tree.expired else f" +{missing}") if missing else ""
            rows[-1] += f"{end}\n"
    limit = tree.context.text_limit()

    def text(count: int) -> str:
        shown = "".join(rows[:count])
        end = " …\n" if shown and shown[-1] != "\n" else ""
        cut = sum("\n" in row for row in rows[count:]) - bool(end)
        lines = omitted(plural(cut, "more line"), limit, "give a directory as path")
        notes = _notes(tree, is_line_cut=bool(end))
        return head + shown + end + bracketed([*[lines] * bool(cut), *notes])

    whole, count = fit(text, len(rows), map(size, rows), limit)
    return whole, count == len(rows)


def _notes(tree: Tree, *, is_line_cut: bool) -> Iterator[str]:
    """Say why names are missing, and how to see them."""
    asked, limit = tree.arguments, tree.context.text_limit()
    if tree.limit_reached:
        raised = f"; raise it (at most {MAX_ENTRIES})" * (asked.max_entries < MAX_ENTRIES)
        yield f"stopped at max_entries {asked.max_entries}: there may be more{raised}"
    if tree.expired:
        yield "stopped as the time was up: exclude more, or give a directory as path"
    is_short = any(tree.missing[one["path"]] for one in tree.nodes if "children" in one)
    if asked.max_depth > 1 and (is_short or is_line_cut):
        call = f"give its directory as path with max_depth=1, max_entries={MAX_ENTRIES}"
        yield f"a line that ends with +N or … misses names: {call}"
    elif (is_line_cut or (is_short and asked.max_entries == MAX_ENTRIES)) and (
        call_for_all := all_files(tree.nodes[0]["path"], limit, tree.context.named)
    ):  # this tool shows no more of the root's line, but workspace/search_files does
        yield f"all files: {call_for_all}"
    is_cut = any("truncated" in node for node in tree.nodes)
    if is_cut or any(map(tree.is_closed, tree.nodes[1:])):
        raised = f", or raise max_depth (at most {MAX_DEPTH})"
        raised *= is_cut and asked.max_depth < MAX_DEPTH
        yield f"dir/… is not opened: give it as path{raised}"
    if len(tree.nodes) == 1 and asked.entry_kind != "all":
        yield 'only directories are shown: entry_kind="all" shows the files, too'
    if tree.left_out:
        shown = paths_in_a_note(sorted(tree.left_out))
        yield f"left out by rule: {shown}; give one as path to see it"
    if tree.unreadable:
        yield f"cannot be read: {paths_in_a_note(tree.unreadable)}"


TOOL = Tool(
    "Returns a workspace tree: directories only or directories with files.",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TREE,
    categories=("filesystem", "navigation"),
)
