"""Finds the tools: `tools/<toolset>/<name>.py` defines the tool with the id `<toolset>/<name>`.

The tools of a toolset share modules whose names start with an underscore. A tool is imported when
it is first used, because importing all of them would make a start a third longer. So a broken tool
is reported when it is called, by `describe`, and at a start with a configuration file.
"""

import logging
import os
import re
from collections import ChainMap, UserDict
from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from backstaff import tools
from backstaff.arguments import schema
from backstaff.errors import ErrorCode, ToolError
from backstaff.render.lines import shortened
from backstaff.render.names import MAX_ECHO
from backstaff.tool import ALWAYS_LOADED, Tool

logger = logging.getLogger(__name__)
AGENT_Q = "agent-q/"  # its tools keep their bare names if another toolset has the same


class Registry:
    """All tools, by id, by unambiguous bare name such as `tree`, and by name for models."""

    def __init__(self, tools_by_id: Mapping[str, Tool[Any]]) -> None:
        self.by_id = tools_by_id
        names = [tool_id.rpartition("/")[2] for tool_id in tools_by_id]
        self.aliases = {
            name: tool_id
            for name, tool_id in zip(names, tools_by_id, strict=True)
            if names.count(name) == 1 or tool_id.startswith(AGENT_Q)
        }
        self._ids = {self.model_name(tool_id): tool_id for tool_id in tools_by_id} | self.aliases

    def id_of(self, name: str) -> str:
        """Return the id of the tool `name`, an id or a bare or model's name. Raises `ToolError`."""
        tool_id = self._ids.get(name, name)
        if tool_id in self.by_id:
            return tool_id
        message = f"No such tool: {shortened(name, MAX_ECHO)} (there are {', '.join(self.by_id)})"
        raise ToolError(ErrorCode.UNKNOWN_TOOL, message)

    def model_name(self, tool_id: str) -> str:
        """Return the tool's name for models: the bare name if that is this tool, else its id's."""
        name = tool_id.rpartition("/")[2]
        return name if self.aliases.get(name) == tool_id else re.sub(r"[^a-zA-Z0-9]", "_", tool_id)

    def definitions(self, client: Mapping[str, Tool[Any]] | None = None) -> list[dict[str, object]]:
        """Answer `describe`, with the `client`'s tools last; `model` has the texts for models."""
        tools, found = {**self.by_id, **(client or {})}, []
        for tool_id, tool in tools.items():
            model = {
                "name": self.model_name(tool_id),
                "description": self._named(tool.description, tools),
                "arguments": [self._named(one.described(), tools) for one in tool.parameters],
            }
            found.append(tool.definition(tool_id) | {"model": model})
        return found

    def for_models(self, tool_id: str, client: Mapping[str, Tool[Any]]) -> dict[str, object]:
        """The definition of a tool, ours or the `client`'s, that models see.

        `is_always_loaded` is a wish to clients that show a model definitions only on demand.
        Raises KeyError if there is no such tool, and `ToolError` if it cannot be used.
        """
        # A chain imports no other tool.
        tools = ChainMap(dict(client), self.by_id)  # type: ignore[arg-type]  # only read
        tool, properties = tools[tool_id], {}
        for parameter in tool.parameters:
            low, high = parameter.bounds()
            if parameter.hidden or (low is not None and low == high):
                continue  # accepted, but worth no tokens
            facts = parameter.schema().items()
            shown = {key: fact for key, fact in facts if key in ("type", "items", "enum")}
            if parameter.items:
                shown["items"] = {"type": "object"}  # the description names its keys
            shown["description"] = self._named(parameter.described(), tools)
            properties[parameter.name] = shown
        required = {"required": names} if (names := schema(tool.parameters)["required"]) else {}
        return {
            "name": self.model_name(tool_id),
            "is_always_loaded": 0 < tool.preset <= ALWAYS_LOADED,
            "description": self._named(tool.description, tools),
            "schema": {"type": "object", "properties": properties} | required,
        }

    def _named(self, text: str, tools: Mapping[str, Tool[Any]]) -> str:
        """Return `text` with the id of each of `tools` replaced by the name that models know."""
        name = self.model_name
        return re.sub(r"[a-z-]+/\w+", lambda one: name(one[0]) if one[0] in tools else one[0], text)

    def settings_tables(self) -> dict[str, Any]:
        """Return the settings class of each table in the configuration file. Raises `ToolError`."""
        return {tool.table or tool_id: tool.settings for tool_id, tool in self.by_id.items()}


class Package(UserDict[str, Any]):
    """The tools of the package by id; to use one imports it, and may raise `ToolError`."""

    def __init__(self) -> None:
        modules = {}
        for toolset in iter_modules(tools.__path__):
            paths = [os.path.join(path, toolset.name) for path in tools.__path__]
            for module in iter_modules(paths):
                if not module.name.startswith("_"):
                    tool_id = f"{toolset.name.replace('_', '-')}/{module.name}"
                    modules[tool_id] = f"{tools.__name__}.{toolset.name}.{module.name}"
        super().__init__(sorted(modules.items()))

    def __getitem__(self, tool_id: str) -> Tool[Any]:
        module = self.data[tool_id]
        try:
            return import_module(module).TOOL  # type: ignore[no-any-return]  # each has one
        except Exception as error:
            logger.exception("the tool %s cannot be used", tool_id)
            reason = f"{type(error).__name__}: {error}"
            remedy = "if the server's files were replaced while it ran, restart it"
            message = f"The tool {tool_id} cannot be used: {reason}; {remedy}"
            raise ToolError(ErrorCode.INTERNAL, message) from error


def discover() -> Registry:
    """Return the registry of all tools in the package."""
    return Registry(Package())
