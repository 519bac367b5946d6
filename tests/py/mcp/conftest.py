"""Sessions and servers that speak MCP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.py.epc import ISOLATED
from tests.py.mcp.session import McpClient, Serve, Session
from tests.py.servers import server_at


@pytest.fixture
def session(folder: Path) -> Session:
    """A session with all real tools, in the test's folder."""
    return Session(server_at(folder))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts server processes, which end with the test."""
    clients: list[McpClient] = []

    def start(
        *arguments: str,
        command: tuple[str, ...] = ISOLATED,
        **options: Any,  # noqa: ANN401
    ) -> McpClient:
        clients.append(McpClient((*command, "mcp", *arguments), **options))
        return clients[-1]

    yield start
    for client in clients:
        client.end()
