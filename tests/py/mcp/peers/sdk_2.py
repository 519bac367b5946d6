"""A client made with the Python SDK 2.x, run by a Python that has it: lists and calls tools.

`sdk_2.py '{"command": [...], "calls": [["tree", {"path": "."}]], "mode": "auto"}'` prints JSON. The
mode is "legacy" (the handshake), "auto" (discover, or else the handshake), or a version.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(command: list[str], calls: list[tuple[str, dict[str, object]]], mode: str) -> None:
    """List and call the tools."""
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(parameters, mode=mode) as client:
        listed = await client.list_tools()
        results = [await client.call_tool(name, given) for name, given in calls]
        try:
            await client.call_tool("nothing", {})
            unknown = ""
        except MCPError as error:
            unknown = error.message
        answers = {
            "version": client.protocol_version,
            "instructions": client.instructions,
            "tools": [tool.name for tool in listed.tools],
            "texts": [[block.text for block in result.content] for result in results],
            "errors": [result.is_error for result in results],
            "unknown": unknown,
        }
    print(json.dumps(answers))


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
