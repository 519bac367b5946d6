"""Calls of workspace/regexp_search, and parts of their replies."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from backstaff.server import Reply
from tests.py.servers import server_at

TOOL = "workspace/regexp_search"
SERVER = server_at("/")


def search(root: Path, pattern: str, /, **arguments: object) -> Reply:
    context = {"root": str(root), "json": True}
    return SERVER.call(TOOL, {"pattern": pattern} | arguments, context)


def data_of(reply: Reply) -> Any:  # noqa: ANN401
    assert reply.ok, reply.text
    return reply.data


def found(root: Path, pattern: str, /, **arguments: object) -> list[tuple[object, ...]]:
    items = data_of(search(root, pattern, **arguments))["items"]
    return [(item["path"], item["line"], item["column"], item["match"]) for item in items]


def last_line(reply: Reply) -> str:
    assert reply.ok, reply.text
    return reply.text.splitlines()[-1]


def unsaved(
    root: Path,
    pattern: str,
    texts: dict[str, str],
    coding: str = "utf-8-unix",
    *,
    text_only: bool = False,
    **arguments: object,
) -> Reply:
    items = as_unsaved(texts, coding)
    given = {"pattern": pattern} | arguments
    context = {"root": str(root), "unsaved": items, "text_only": text_only}
    return SERVER.call(TOOL, given, context)


def as_unsaved(texts: dict[str, str], coding: str = "utf-8-unix") -> list[list[str]]:
    """Return the texts of modified buffers, by path, as a context has them."""
    items = []
    for name, text in texts.items():
        data = text.encode("latin-1" if "8859" in coding else "utf-8")
        items.append(
            [name, hashlib.sha256(data).hexdigest(), coding, base64.b64encode(data).decode()]
        )
    return items
