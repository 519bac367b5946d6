"""The ways to the tools: the server itself, as the EPC connection calls it, and MCP around it.

An attack makes its server with `server_at` of this module. MCP wraps the same server, so five
attacks are enough for it: those that use the fixture `transport` run once for each way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from unittest.mock import patch

from backstaff.errors import ErrorCode
from backstaff.registry import Registry
from backstaff.server import Reply, Server
from backstaff.workers import Workers
from tests.py import servers
from tests.py.mcp.session import Session, text

WHOLE = 1 << 20
"""Default limit of an attack's texts, in bytes."""


class Attacked(Protocol):
    """A server that answers the calls of an attack."""

    def call(
        self, tool_id: str, arguments: object = None, context: Mapping[str, object] | None = None
    ) -> Reply:
        """Return the reply of a tool."""


@dataclass
class OverMcp:
    """The same server, whose replies come out of an MCP connection.

    A client of MCP gets texts alone, and chooses no value of the context; their limit is patched.
    """

    server: Server
    workers: Workers = field(default_factory=Workers)

    def call(
        self, tool_id: str, arguments: object = None, context: Mapping[str, object] | None = None
    ) -> Reply:
        """Return the reply of a tool."""
        limits = [v for v in (context or {}).values() if type(v) is int]
        session = Session(self.server, workers=self.workers)
        asked = {"name": self.server.registry.model_name(tool_id), "arguments": arguments}
        with patch("backstaff.mcp.connection.MODEL_TEXT_BYTES", min(limits, default=WHOLE)):
            answer = session.ask("tools/call", asked)
        if "error" in answer:
            code, said = ErrorCode.UNKNOWN_TOOL, answer["error"]["message"]
            return Reply(tool="", text=f"Error: {said}", error={"code": code, "message": said})
        result = answer["result"]
        said = text(result)
        error: dict[str, object] | None = None
        if result["isError"]:  # the code of the same call without MCP, which sends the text alone
            direct = self.server.call(tool_id, arguments, context).error or {"code": "ok"}
            error = {"code": direct["code"], "message": said.removeprefix("Error: ")}
        # One contract's text is its JSON; the others' JSON comes over EPC only.
        json = None if self.server.registry.by_id[tool_id].allow_truncation else said
        # The text alone says whether something was cut.
        return Reply(tool=tool_id, text=said, json=json, error=error, truncated=True)


WAYS = {"direct": lambda server: server, "mcp": OverMcp}
_chosen = ["direct"]


def choose(way: str) -> None:
    """Make `server_at` return servers that are reached by this `way`."""
    _chosen[0] = way


def server_at(root: Path | str, registry: Registry | None = None) -> Attacked:
    """Return a server like that of `servers.server_at`, reached by the chosen way."""
    attacked: Attacked = WAYS[_chosen[0]](servers.server_at(root, registry))
    return attacked
