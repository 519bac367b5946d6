"""An MCP server made with the Python SDK 2.x: a peer that lists our tools and calls none.

`python mcp_sdk.py TOOLS.json` needs a Python that has the SDK. The file holds our list of tools.
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
