"""Calls of forge/list_directory, and their answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backstaff.registry import discover
from backstaff.render.names import lossy
from backstaff.server import Reply, Server
from backstaff.settings import load
from tests.py.servers import server_at

ID = "forge/list_directory"
SERVER = server_at("/")

BUILT_IN = {
    "max_entries": 200,
    "max_depth": 4,
    "include_hidden": False,
    "include_files": True,
    "include_dirs": True,
    "include_symlinks": True,
    "include_other": False,
}
ENTRY_KEYS = [
    *("name", "path", "depth", "type", "size_bytes", "modified_epoch_ms", "is_hidden"),
    *("error_code", "error"),
]
KEYS = ["path", "entries", "returned", "max_entries", "truncated", "truncated_reason"]

Asked = Mapping[str, Any]
Output = dict[str, Any]


def listed(
    root: Path, context: Asked | None = None, server: Server = SERVER, /, **arguments: object
) -> Reply:
    """The reply to a call below `root`, for the root itself unless a path is given."""
    asked = {"root": str(root), **(context or {})}
    return server.call(ID, {"path": "."} | arguments, asked)


def output(reply: Reply) -> Any:  # noqa: ANN401
    """The object that the text is, keys in their order."""
    assert reply.ok, reply.text
    return json.loads(reply.text)


def paths(reply: Reply) -> list[str]:
    return [entry["path"] for entry in output(reply)["entries"]]


def error_of(reply: Reply) -> tuple[object, object]:
    """The code and the message of a failure."""
    assert reply.error, reply.text
    assert reply.text == f"Error: {reply.error['message']}"
    assert reply.text.isprintable()
    return reply.error["code"], reply.error["message"]


def with_config(folder: Path, toml: str) -> Server:
    """A server whose configuration file says `toml`."""
    file = folder / "config.toml"
    file.write_text(toml)
    registry = discover()
    return Server(registry, load(file, registry.settings_tables()), "/")


def entries_of(reply: Reply) -> dict[str, Output]:
    return {entry["path"]: entry for entry in output(reply)["entries"]}


def plain(data: Mapping[str, Any]) -> Output:
    """The reply's data as the contract's object: with names after lossy conversion."""
    entries = [
        entry | {key: lossy(entry[key]) for key in ("name", "path")}
        for entry in data["entries"].objects()
    ]
    return {**data, "path": lossy(data["path"]), "entries": entries}
