"""Servers in this process: with the real tools, or with tools that a test defines."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstaff.arguments import ParameterType
from backstaff.registry import Registry, discover
from backstaff.server import Server
from backstaff.settings import Settings
from backstaff.tool import Context, Result, ResultKind, Tool


@dataclass(frozen=True)
class Nothing:
    """The arguments of a tool that takes none."""


Run = Callable[[Nothing, Context], Result]


def server_at(root: Path | str, registry: Registry | None = None) -> Server:
    """Return a server with the tools in `registry` (default: the real ones), default settings."""
    return Server(registry or discover(), Settings(), str(root))


def tool(run: Run, name: str = "probe") -> Tool[Nothing]:
    """Return a tool that does `run`, without parameters."""
    return Tool(
        description=f"A tool called {name}.",
        arguments=Nothing,
        run=run,
        result_kind=ResultKind.TEXT,
    )


def registry_of(**runs: Run) -> Registry:
    """A registry of tools `test/NAME`."""
    return Registry({f"test/{name}": tool(run, name) for name, run in runs.items()})


def saying(text: str) -> Run:
    """Return a run that returns `text`."""
    return lambda _, __: Result(text=text, data={})


FITTING = {"path": ".", "pattern": "*", "query": "go", "command_name": "go", "flags": "i"}
"""Values for some required arguments, in a tree with a command named go."""
A_FILE = ".claude/commands/go.md"
"""The path for tools that read files: the command in that tree."""
BY_TYPE: dict[ParameterType, object] = {
    ParameterType.STRING: "go",
    ParameterType.BOOLEAN: True,
    ParameterType.ARRAY: ["go"],
}


def fitting(tool: Tool[Any]) -> dict[str, object]:
    """Return arguments with which `tool` answers."""
    known = FITTING | ({"path": A_FILE} if tool.reads_content else {})
    # The pattern of most tools is a glob.
    known |= {"pattern": ".*"} if "regular expression" in tool.description else {}
    return {
        p.name: known.get(p.name, BY_TYPE.get(p.type, 1))
        for p in tool.parameters
        if p.required or p.name == "path"
    }
