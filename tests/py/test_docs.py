"""The Python in the documents runs, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backstaff import tools
from backstaff.errors import ErrorCode
from tests.py.servers import server_at
from tests.py.trees import Plant

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROGRAMS = Path(sys.executable).parent


def blocks(document: str) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", (DOCS / document).read_text(), re.MULTILINE | re.DOTALL
    )


def test_an_epc_client_in_python_lists_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (code,) = blocks("epc.md")
    environment = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    head = f"Directory: {tmp_path.resolve()}/\nTotal: 1 file, 0 directories\n\n[FILE] a.txt "
    assert run.stdout.startswith(head)


RULE = re.compile(r"(?:N?FR|CFG|T)-LD(?:-[A-Z]+)?-\d+[a-z]?|INV-\d+|tree \d(?:\.\d)?")


def test_every_rule_that_is_cited_stands_in_the_contracts() -> None:
    said = (DOCS / "contracts.md").read_text()
    for rows in re.finditer(r"^\| ([A-Z-]+)(\d+)([^|]*)\|", said, re.MULTILINE):
        prefix, first, others = rows.groups()
        last = [int(number) for number in re.findall(r"to -(\d+)", others)]
        said += "".join(f" {prefix}{n:02d}" for n in range(int(first), max(last, default=0) + 1))
        said += "".join(f" {prefix}{end}" for end in re.findall(r", -(\w+)", others))
    sources = [*(ROOT / "py_backend").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    cited = {rule for path in sources for rule in RULE.findall(path.read_text())}
    assert "FR-LD-LST-05" in cited
    assert sorted(rule for rule in cited if rule not in said) == []


def test_tool_in_the_guide_answers(
    tmp_path: Path, tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = blocks("add-a-tool.md")
    toolset = tmp_path / "guide"
    toolset.mkdir()
    (toolset / "__init__.py").touch()
    (toolset / "disk_usage.py").write_text(code)
    monkeypatch.setattr(tools, "__path__", [*tools.__path__, str(tmp_path)])
    root = tree({"a": {"bytes": 2048}, "b/c": "x", "closed/d": "x"})
    server = server_at(root)
    reply = server.call("guide/disk_usage")
    assert reply.text == "2.0 KB in 3 files\n2.0 KB a\n0.0 KB closed/d\n0.0 KB b/c\n"
    assert server.call("guide/disk_usage", {"path": "b"}).text == "0.0 KB in 1 file\n0.0 KB b/c\n"
    refused = server.call("guide/disk_usage", {"path": ".."}).error
    assert refused
    assert refused["code"] == ErrorCode.SANDBOX_VIOLATION
