"""Finds the tools: each `tools/<toolset>/<name>.py` is one, and its place is its id.

A file whose name starts with an underscore is what a toolset's tools share. A tool is imported when
it is first asked for, as a start that imported them all would take a third longer. So one that is
not proper is told of when it is called, when the tools are described, and at a start with a
configuration file; the others go on.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from backstaff import tools
from backstaff.errors import ErrorCode, ToolError
from backstaff.tool import Tool

logger = logging.getLogger(__name__)

REMEDY = "if the server's files were replaced while it ran, restart it"
AGENT_Q = "agent-q"
"""The toolset that keeps a bare name where several have it: the first contracts are its."""


class Registry:
    """Every tool, by id and by the bare names that are unambiguous."""

    def __init__(self, tools_by_id: Mapping[str, Tool[Any]]) -> None:
        """Keep the tools by id; the last part of each id is the tool's name."""
        self.by_id = tools_by_id
        self.aliases = _aliases(tools_by_id)

    def id_of(self, name: str) -> str | None:
        """The id of the tool NAME, an id or a bare name; None if there is none."""
        tool_id = self.aliases.get(name, name)
        return tool_id if tool_id in self.by_id else None

    def definitions(self) -> list[dict[str, object]]:
        """What `describe` answers. Raises `ToolError` if a tool cannot be used."""
        return [tool.definition(_toolset(tool_id)) for tool_id, tool in self.by_id.items()]

    def settings_tables(self) -> dict[str, Any]:
        """The settings class of each tool's table. Raises `ToolError` as `definitions` does."""
        return {table(tool_id, tool): tool.settings for tool_id, tool in self.by_id.items()}


class Package(Mapping[str, Tool[Any]]):
    """The tools of the package, by id and in the order of the ids; each is imported when needed.

    To ask for one that cannot be used raises `ToolError`. Any thread may ask: Python imports a
    module once, and whoever comes meanwhile waits.
    """

    def __init__(self) -> None:
        """Look at which files there are, and at none of them."""
        self._modules = dict(sorted(_modules()))

    def __getitem__(self, tool_id: str) -> Tool[Any]:
        """The tool of that id. Raises KeyError if there is none."""
        module = self._modules[tool_id]
        try:
            return _proper(module, getattr(import_module(module), "TOOL", None))
        except Exception as error:
            logger.exception("the tool %s cannot be used", tool_id)
            reason = f"{type(error).__name__}: {error}"
            message = f"The tool {tool_id} cannot be used: {reason}; {REMEDY}"
            raise ToolError(ErrorCode.INTERNAL, message) from error

    def __contains__(self, tool_id: object) -> bool:
        """Whether there is such a tool, be it fit for use or not."""
        return tool_id in self._modules

    def __iter__(self) -> Iterator[str]:
        """Yield the ids."""
        return iter(self._modules)

    def __len__(self) -> int:
        """How many tools there are."""
        return len(self._modules)


def discover() -> Registry:
    """The registry of all tools in the package."""
    return Registry(Package())


def table(tool_id: str, tool: Tool[Any]) -> str:
    """The name of the tool's table in the configuration file: the contract's, else its id."""
    return tool.table or tool_id


def _modules() -> Iterator[tuple[str, str]]:
    """Each tool's id and the name of its module."""
    for toolset in iter_modules(tools.__path__):
        for module in iter_modules([os.path.join(path, toolset.name) for path in tools.__path__]):
            if not module.name.startswith("_"):
                tool_id = f"{toolset.name.replace('_', '-')}/{module.name}"
                yield tool_id, f"{tools.__name__}.{toolset.name}.{module.name}"


def _proper(module: str, tool: object) -> Tool[Any]:
    name = module.rpartition(".")[2]
    if not isinstance(tool, Tool):
        raise TypeError(f"{module} must define TOOL, a backstaff.tool.Tool")
    if tool.name != name:
        raise TypeError(f"{module}: TOOL.name is {tool.name!r}, but the file says {name!r}")
    if not tool.description:
        raise TypeError(f"{module}: TOOL has no description")
    return tool


def _toolset(tool_id: str) -> str:
    return tool_id.partition("/")[0]


def _aliases(tool_ids: Iterable[str]) -> dict[str, str]:
    owners: dict[str, list[str]] = {}
    for tool_id in tool_ids:
        owners.setdefault(tool_id.rpartition("/")[2], []).append(tool_id)
    for ids in owners.values():
        ids.sort(key=lambda tool_id: _toolset(tool_id) != AGENT_Q)
    return {
        name: ids[0] for name, ids in owners.items() if len(ids) == 1 or _toolset(ids[0]) == AGENT_Q
    }
