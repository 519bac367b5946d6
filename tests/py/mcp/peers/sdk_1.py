"""A client made with the Python SDK 1.x, run by a Python that has it: lists and calls tools.

`sdk_1.py '{"command": [...], "calls": [["tree", {"path": "."}]], "mode": ""}'` prints JSON.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import McpError


async def main(command: list[str], calls: list[tuple[str, dict[str, object]]], mode: str) -> None:
    """List and call the tools; `mode` is for other clients."""
    del mode
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        opened = await session.initialize()
        await session.send_ping()
        listed = await session.list_tools()
        results = [await session.call_tool(name, given) for name, given in calls]
        try:
            await session.call_tool("nothing", {})
            unknown = ""
        except McpError as error:
            unknown = error.error.message
        answers = {
            "version": opened.protocolVersion,
            "instructions": opened.instructions,
            "tools": [tool.name for tool in listed.tools],
            "texts": [[block.text for block in result.content] for result in results],
            "errors": [result.isError for result in results],
            "unknown": unknown,
        }
    print(json.dumps(answers))


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
