"""Write the expected answers of all golden cases again, from the server's present answers.

A tool without a file of cases gets one, with a first case to edit.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "py_backend"))

from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from backstaff.tool import Tool
from backstaff.wire.lisp import ESCAPED, write
from tests.golden.cases import FOLDER, Case, build, files, with_placeholders
from tests.py.servers import fitting


def main() -> None:
    """Rewrite each file of cases in place, and make the missing ones."""
    os.environ["TZ"] = "UTC0"
    time.tzset()
    registry = discover()
    for id_, tool in registry.by_id.items():
        path = FOLDER / f"{id_.replace('/', '.')}.json"
        if not path.exists():
            path.write_text(json.dumps([first_case(id_, tool)]))
            sys.stderr.write(f"golden: made {path.name}; add cases to it\n")
    server = Server(registry, Settings(), "/")
    for path in files():
        renewed = [renew(case, server) for case in json.loads(path.read_text())]
        path.write_text(json.dumps(renewed, indent=2, ensure_ascii=False) + "\n")


def first_case(id_: str, tool: Tool[Any]) -> Case:
    """Return a case for a new tool: a small tree, and a value for each required argument."""
    tree = {"a.txt": "x", "b/c.txt": "xyz", ".claude/commands/go.md": "go on"}
    return {"name": "a small tree", "tool": id_, "tree": tree, "arguments": fitting(tool)}


def renew(case: Case, server: Server) -> Case:
    """Return the case with the present answers as expectations."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "golden-case")  # nothing else in an answer has this name
        build(case, root)
        context = case.get("context", {}) | {"root": str(root)}
        reply = server.call(case["tool"], case["arguments"], context)
        texts = {key: with_placeholders(text, case, root) for key, text in expected(reply).items()}
        rest = {"warnings": list(reply.warnings)} if reply.warnings else {}
        kept = {key: case[key] for key in ("name", "tool", "tree", "arguments")}
        given = {"context": case["context"]} if "context" in case else {}
        return kept | given | texts | {"error": (reply.error or {}).get("code")} | rest


def expected(reply: Reply) -> dict[str, str]:
    """Return the texts of `reply` that a case holds."""
    data = write(reply.data, ESCAPED).decode()
    asked = {"json": reply.json} if reply.json is not None else {}
    return {"text": reply.text, "data": data, **asked}


if __name__ == "__main__":
    main()
