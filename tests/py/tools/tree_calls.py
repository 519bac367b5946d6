"""Calls of workspace/tree, parts of their replies, and trees to call it on."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from backstaff.server import Reply
from tests.py.examples import examples
from tests.py.servers import server_at
from tests.py.tools.random_trees import Below, starts, trees

SERVER = server_at("/")

FEWER = examples(1 / 4)

Node = dict[str, Any]
Asked = Mapping[str, Any]

BEYOND = ("left_out", "missing")


def tree_of(root: Path, context: Asked | None = None, /, **arguments: object) -> Reply:
    """The reply to a call below `root`, with the JSON form, for the root unless a path is given."""
    asked = {"root": str(root), "json": True, **(context or {})}
    return SERVER.call("workspace/tree", {"path": "."} | arguments, asked)


def data_of(reply: Reply) -> Any:  # noqa: ANN401
    """The contract's part of the data."""
    assert reply.ok, reply.text
    assert reply.data is not None
    return {key: value for key, value in reply.data.items() if key not in BEYOND}


def nodes(node: Node) -> Iterator[Node]:
    """Yield `node` and everything below it, in pre-order."""
    yield node
    for child in node.get("children", []):
        yield from nodes(child)


def paths(reply: Reply) -> list[str]:
    return [node["path"] for node in nodes(data_of(reply)["root"])]


GLOBS = (
    "a",
    "**/a",
    "**/*.log",
    "**/B/**",
    "a/*",
    "[ab]",
    "?",
    "**/{é,b}",
    "*\n*",
    "**/\\*",
    "x y",
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Below, dict[str, Any]]:
    """A tree and arguments that fit it."""
    below = draw(trees)
    start = draw(st.just(()) | st.sampled_from(sorted(starts(below))))
    form = draw(st.sampled_from(("{}", "{}/", "./{}", ".//{}/.")))
    optional = {
        "max_depth": st.integers(0, 4),
        "max_entries": st.integers(1, 25),
        "include_hidden": st.booleans(),
        "exclude": st.lists(st.sampled_from(GLOBS), max_size=2),
    }
    chosen = draw(st.fixed_dictionaries({}, optional=optional))
    entry_kind = draw(st.sampled_from(("all", "all", "directory", None)))
    chosen |= {"entry_kind": entry_kind} if entry_kind else {}
    return below, {"path": form.format("/".join(start) or "."), **chosen}
