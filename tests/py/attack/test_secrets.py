"""No tool shows a model the contents of a file with secrets, by any name and over any transport."""

import base64
import hashlib
from pathlib import Path

import pytest

from tests.py.attack.attackers import SECRET, TOOLS, leak, takes_path
from tests.py.attack.figures import tally
from tests.py.attack.transports import server_at
from tests.py.servers import fitting
from tests.py.trees import plant

pytestmark = pytest.mark.usefixtures("transport")

SECRETS = (".env", "d/.ENV.local", ".ssh/id_rsa", "d/key.PEM", ".netrc~", "d/#.env#", ".git/config")
"""Path of the secret."""
LINKS = {
    "notes.txt": ".env",
    "d/deep": "../.ssh/id_rsa",
    "hop": "notes.txt",
    ".npmrc": "d/plain",
    ".claude/commands/go.md": "../../.env",
    ".claude/commands/in.md": "../../hop",
}
"""Links to it; the name of one is itself that of a secret."""


@pytest.fixture
def root(folder: Path) -> Path:
    """A project with secrets."""
    held = dict.fromkeys((*SECRETS, "d/plain"), f"# {SECRET}\n\n{SECRET}\n")
    commands = {".claude/commands/key.md/x": "", ".claude/commands/a.key.md": "plain"}
    return plant(folder / "R", held | commands | {k: {"link": v} for k, v in LINKS.items()})


@pytest.mark.parametrize("tool_id", TOOLS)
def test_no_tool_shows_the_content_of_a_secret_file(root: Path, tool_id: str) -> None:
    (root / "d/plain").write_text("plain")
    (root / "to-npmrc").symlink_to(".npmrc")
    tool, server = TOOLS[tool_id], server_at(root)
    data = f"unsaved {SECRET}".encode()
    texts = [
        [name, hashlib.sha256(data).hexdigest(), None, base64.b64encode(data).decode()]
        for name in (*SECRETS, "new/.env")
    ]
    place = takes_path(tool)
    paths = (*SECRETS, *LINKS, "new/.env", f"{root}/.env", "d/../.env", ".", "d", ".ssh", ".claude")
    names = ("go", "in", "go.md") if "command_name" in fitting(tool) else ("",)
    for path in paths if place else ("",):
        for name in names:
            given = fitting(tool) | ({place: path} if place else {})
            given |= {"command_name": name} if name else {}
            for more in ({}, {"include_ignored": True, "context_lines": 3}):
                for unsaved in ([], texts):
                    context = {"json": True, "unsaved": unsaved}
                    reply = server.call(tool_id, given | more, context)
                    tally(attacks_tried=1)
                    assert not leak(reply), (path, name, reply.text)
