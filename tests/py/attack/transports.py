"""The ways to the tools: the server itself, as the EPC connection calls it, and MCP around it.

An attack makes its server by `server_at` of this module. MCP wraps the same server, so five attacks
stand for all: those that use the fixture `transport` run once for each way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from backstaff.errors import ErrorCode
from backstaff.registry import Registry
from backstaff.server import Reply, Server
from backstaff.workers import Workers
from tests.py import servers
from tests.py.mcp.session import Session, text

WHOLE = 1 << 20
"""The bytes of a text where the attack names no limit."""


class Attacked(Protocol):
    """What answers the calls of an attack."""

    def call(
        self, tool_id: str, arguments: object = None, context: Mapping[str, object] | None = None
    ) -> Reply:
        """Return the reply of a tool."""


@dataclass
class OverMcp:
    """The same server, whose replies come out of an MCP connection.

    They are sent with their data, so that an attack sees all that can leave this way. Of the
    context a client of MCP chooses nothing but, when it starts the server, the length of texts.
    """

    server: Server
    workers: Workers = field(default_factory=Workers)

    def call(
        self, tool_id: str, arguments: object = None, context: Mapping[str, object] | None = None
    ) -> Reply:
        """Return the reply of a tool."""
        limits = [v for v in (context or {}).values() if type(v) is int]
        session = Session(
            self.server,
            max_output_bytes=min(limits, default=WHOLE),
            structured=True,
            workers=self.workers,
        )
        asked = {"name": self.server.registry.model_name(tool_id), "arguments": arguments}
        answer = session.ask("tools/call", asked)
        if "error" in answer:
            code, said = ErrorCode.UNKNOWN_TOOL, answer["error"]["message"]
            return Reply(tool="", text=f"Error: {said}", error={"code": code, "message": said})
        result = answer["result"]
        fields, said = result["structuredContent"], text(result)
        assert result["isError"] is not fields.pop("ok")
        # One contract's text is its JSON; the others' comes over EPC only.
        whole = self.server.registry.by_id[tool_id].allow_truncation
        return Reply(text=said, json=None if whole else said, **fields)


WAYS = {"direct": lambda server: server, "mcp": OverMcp}
_chosen = ["direct"]


def choose(way: str) -> None:
    """Let `server_at` make servers that are reached by this `way` from now on."""
    _chosen[0] = way


def server_at(root: Path | str, registry: Registry | None = None) -> Attacked:
    """A server as `servers.server_at` makes it, reached by the way that was chosen."""
    attacked: Attacked = WAYS[_chosen[0]](servers.server_at(root, registry))
    return attacked
