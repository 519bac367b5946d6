"""A project with commands, for the tests of the tools for commands."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from backstaff.tools.commands import _commands

REGISTRY = discover()
LIST, SEARCH, GET = (
    f"commands/{name}" for name in ("list_commands", "search_commands", "get_command")
)
FRAME_BYTES = 0xFFFFFF


@dataclass
class Project:
    """A project with a folder of commands, and the tools that look at it."""

    root: Path
    directory: str | tuple[str, ...] = ".claude/commands"
    files: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.commands = self.root / ".claude" / "commands"
        self.commands.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            self.write(name, text)

    def write(self, name: str, text: str | bytes = "") -> Path:
        path = self.commands / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def call(self, tool: str, context: Mapping[str, object] | None = None, **given: Any) -> Reply:  # noqa: ANN401  # a model's
        names = (self.directory,) if isinstance(self.directory, str) else self.directory
        own = {_commands.TABLE: _commands.Settings(names)}
        server = Server(REGISTRY, Settings(own), str(self.root))
        return server.call(tool, given, {"json": True, **(context or {})})

    def listing(self, context: Mapping[str, object] | None = None, **given: Any) -> Reply:  # noqa: ANN401  # a model's
        reply = self.call(LIST, context, **given)
        assert reply.ok, reply.text
        return reply

    def names(self) -> list[str]:
        """The names of all commands."""
        return [row["name"] for row in rows(self.listing(page_size=100))]

    def described(self) -> dict[str, str]:
        """The descriptions of all commands."""
        return {row["name"]: row["description"] for row in rows(self.listing(page_size=100))}

    def found(self, query: str, **given: Any) -> list[str]:  # noqa: ANN401  # a model's
        """The names that a search answers with."""
        reply = self.call(SEARCH, query=query, **given)
        assert reply.ok, reply.text
        return [result["name"] for result in results(reply)]


def rows(reply: Reply) -> list[dict[str, Any]]:
    """The commands in the data of a listing."""
    assert reply.data is not None
    return reply.data["commands"]  # type: ignore[return-value]  # a list


def results(reply: Reply) -> list[dict[str, Any]]:
    """The results in the data of a search."""
    assert reply.data is not None
    return reply.data["results"]  # type: ignore[return-value]  # a list


def output(reply: Reply) -> Any:  # noqa: ANN401  # JSON
    """The output in JSON, read."""
    assert reply.json is not None
    return json.loads(reply.json)
