"""Finds the tools: each `tools/<toolset>/<name>.py` is one, and its place is its id.

A file whose name starts with an underscore is what a toolset's tools share. Anything else that is
not a proper tool stops the start, so that a mistake is seen by its author and not by a model.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from backstaff import tools
from backstaff.tool import Tool

AGENT_Q = "agent-q"
"""The toolset that keeps a bare name where several have it: the first contracts are its."""


class Registry:
    """Every tool, by id and by the bare names that are unambiguous."""

    def __init__(self, tools_by_id: Mapping[str, Tool[Any]]) -> None:
        """Keep the tools by id, in the order of their ids."""
        self.by_id = dict(sorted(tools_by_id.items()))
        self.aliases = _aliases(self.by_id)

    def find(self, name: str) -> tuple[str, Tool[Any]] | None:
        """The id and tool of NAME, an id or a bare name; None if there is none."""
        tool_id = self.aliases.get(name, name)
        tool = self.by_id.get(tool_id)
        return None if tool is None else (tool_id, tool)

    def definitions(self) -> list[dict[str, object]]:
        """What `describe` answers."""
        return [tool.definition(_toolset(tool_id)) for tool_id, tool in self.by_id.items()]

    def settings_tables(self) -> dict[str, Any]:
        """The settings class of each tool's table."""
        return {table(tool_id, tool): tool.settings for tool_id, tool in self.by_id.items()}


def discover() -> Registry:
    """The registry of all tools in the package. Raises TypeError on one that is not proper."""
    return Registry(dict(_found()))


def table(tool_id: str, tool: Tool[Any]) -> str:
    """The name of the tool's table in the configuration file: the contract's, else its id."""
    return tool.table or tool_id


def _found() -> Iterator[tuple[str, Tool[Any]]]:
    for toolset in iter_modules(tools.__path__):
        package = import_module(f"{tools.__name__}.{toolset.name}")
        for module in iter_modules(package.__path__):
            if not module.name.startswith("_"):
                found = import_module(f"{package.__name__}.{module.name}")
                tool = _proper(found.__name__, module.name, getattr(found, "TOOL", None))
                yield f"{toolset.name.replace('_', '-')}/{tool.name}", tool


def _proper(module: str, name: str, tool: object) -> Tool[Any]:
    if not isinstance(tool, Tool):
        raise TypeError(f"{module} must define TOOL, a backstaff.tool.Tool")
    if tool.name != name:
        raise TypeError(f"{module}: TOOL.name is {tool.name!r}, but the file says {name!r}")
    if not tool.description:
        raise TypeError(f"{module}: TOOL has no description")
    return tool


def _toolset(tool_id: str) -> str:
    return tool_id.partition("/")[0]


def _aliases(by_id: Mapping[str, Tool[Any]]) -> dict[str, str]:
    owners: dict[str, list[str]] = {}
    for tool_id, tool in by_id.items():
        owners.setdefault(tool.name, []).append(tool_id)
    for ids in owners.values():
        ids.sort(key=lambda tool_id: _toolset(tool_id) != AGENT_Q)
    return {
        name: ids[0] for name, ids in owners.items() if len(ids) == 1 or _toolset(ids[0]) == AGENT_Q
    }
