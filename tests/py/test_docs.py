"""The Python in the documents runs as it is, and links and names in them exist."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from backstaff import tools
from backstaff.errors import ErrorCode
from dev import reference
from tests.py.processes import DEADLINE
from tests.py.servers import server_at
from tests.py.trees import Plant

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROGRAMS = Path(sys.executable).parent


def blocks(document: str) -> list[str]:
    """Return the Python blocks in `document`, which is Markdown or Org."""
    text = (DOCS / document).read_text()
    fences = r"^(?:```|#\+begin_src )python\n(.*?)^(?:```|#\+end_src)$"
    return re.findall(fences, text, re.MULTILINE | re.DOTALL)


def test_an_epc_client_in_python_lists_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (code,) = blocks("backstaff.org")
    environment = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
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


@pytest.mark.parametrize(
    ("path", "block"),
    [(reference.README, reference.table), (reference.MANUAL, reference.chapter)],
    ids=["readme", "manual"],
)
def test_documents_describe_the_tools_as_they_are(path: Path, block: Callable[[], str]) -> None:
    text = path.read_text("utf-8")
    assert reference.filled(text, block()) == text, f"{path.name} is out of date: make manual"


def test_emacs_knows_the_globs_of_secrets_before_a_server_runs() -> None:
    text = reference.LISP_SERVER.read_text("utf-8")
    assert reference.filled(text, reference.secrets(), name="secrets") == text, "make manual"


def test_manifest_has_the_facts_of_the_tools() -> None:
    written = reference.MANIFEST.read_text("utf-8")
    assert written == reference.manifest(), "the manifest is out of date: make manual"


def test_readme_has_at_most_120_lines_of_120_characters() -> None:
    lines = reference.README.read_text("utf-8").splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 120] == []


LINK = re.compile(r"\]\(([^)#]+)(?:#[-\w]*)?\)|\[\[file:([^]]+)\]\[")


@pytest.mark.parametrize(
    "path", [*ROOT.glob("*.md"), *DOCS.glob("*.md"), reference.MANUAL], ids=str
)
def test_every_file_that_a_document_links_to_is_there(path: Path) -> None:
    links = ["".join(match) for match in LINK.findall(path.read_text("utf-8"))]
    files = [link for link in links if "://" not in link]
    assert [file for file in files if not (path.parent / file).exists()] == []


def test_no_document_or_picture_names_the_folder_in_which_it_was_made() -> None:
    made = [*DOCS.rglob("*.svg"), *DOCS.rglob("*.txt"), *DOCS.rglob("*.md"), reference.MANUAL]
    # An Emacs that draws a picture may print a message with a path of its machine.
    strange = re.compile(rf"{re.escape(str(ROOT))}\b|Source file|newer than byte-compiled")
    assert [path.name for path in made if strange.search(path.read_text("utf-8"))] == []


def test_every_option_that_the_page_about_mcp_names_is_there() -> None:
    named = set(re.findall(r"(?<=`)--[-a-z]+", (DOCS / "mcp.md").read_text("utf-8")))
    help_of = [sys.executable, "-m", "backstaff", "mcp", "--help"]
    said = subprocess.run(help_of, capture_output=True, text=True, check=True).stdout  # noqa: S603
    there = set(re.findall(r"--[-a-z]+", said)) - {"--help"}
    assert named == there


def test_every_place_that_the_manual_links_to_is_there() -> None:
    text = reference.MANUAL.read_text("utf-8")
    places = set(re.findall(r"^:CUSTOM_ID: (.+)$", text, re.MULTILINE))
    linked = set(re.findall(r"\[\[#([^]]+)\]", text))
    linked |= set(re.findall(r"backstaff\.org#([-\w]+)", reference.README.read_text("utf-8")))
    assert linked - places == set()


def test_every_make_target_that_a_workflow_or_document_names_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][-a-z0-9]*):", makefile, re.MULTILINE))
    named: set[str] = set()
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            for step in job["steps"]:
                call = re.match(r"(?:sudo )?make ((?:[-a-z0-9]+\b ?)+)", step.get("run", ""))
                named |= set(call[1].split() if call else ())
    assert "test-py" in named
    for path in (*ROOT.glob("*.md"), *DOCS.glob("*.md"), reference.MANUAL):
        code = re.findall(r"[`~]make ([-a-z0-9]+)[^`~\n]*[`~]", path.read_text("utf-8"))
        named |= set(code)
    assert named - targets == set()
