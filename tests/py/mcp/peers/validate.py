"""Validates messages of a server with the models that SDK 2.x makes of each schema.

Its stdin is a JSON list of `[version, method, message]`: the version in use, the method that
`message` answers ("" for a notification), and `message`. It prints a line for each invalid one.

The models ignore unknown fields. If BACKSTAFF_MCP_SCHEMAS names the folder `schema` of the
protocol's own repository, the published schema files are used as well.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.methods import parse_server_notification, validate_server_result

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
}
"""The schema's name of the answer to each method."""


def check_by_models(version: str, method: str, message: dict[str, Any]) -> None:
    """Raise an error if `message` is invalid."""
    # The models demand an id in each error, which the schemas do not.
    named = message if "method" in message else {"id": 0, **message}
    jsonrpc_message_adapter.validate_python(named)
    if "method" in message:
        parse_server_notification(message["method"], version, message["params"])
    elif "result" in message:
        validate_server_result(method, version, message["result"])


def check_by_schema(folder: str, version: str, method: str, message: dict[str, Any]) -> None:
    """Raise an error if `message` is invalid."""
    schema = json.loads((Path(folder) / version / "schema.json").read_text("utf-8"))

    def check(name: str, value: object) -> None:
        wanted = {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
        Draft202012Validator(wanted).validate(value)

    check("JSONRPCMessage", message)
    if "method" in message:
        check("ProgressNotification", message)
    elif "result" in message:
        check(RESULTS[method], message["result"])
    elif message["error"]["code"] == -32022:
        check("UnsupportedProtocolVersionError", message)


def main() -> None:
    """Validate all messages."""
    folder = os.environ.get("BACKSTAFF_MCP_SCHEMAS")
    for version, method, message in json.load(sys.stdin):
        try:
            check_by_models(version, method, message)
            if folder:
                check_by_schema(folder, version, method, message)
        except Exception as error:  # noqa: BLE001  # whatever it is, the message is wrong
            said = " ".join(str(error).split())
            print(f"{version} {method} {json.dumps(message)[:300]}: {said[:500]}")


if __name__ == "__main__":
    main()
