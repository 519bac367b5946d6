"""An MCP server made of the Python SDK 2.x: a peer that lists the tools of ours, and calls none.

`python mcp_sdk.py TOOLS.json`, by a Python that has the SDK; the file holds what ours lists.
"""

import asyncio
import sys
from pathlib import Path

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOLS = types.ListToolsResult.model_validate_json(Path(sys.argv[1]).read_text("utf-8"))


async def list_tools(_: object, __: object) -> types.ListToolsResult:
    """Return the tools of the file."""
    return TOOLS


async def main() -> None:
    """Serve until stdin ends."""
    server = Server("peer", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
