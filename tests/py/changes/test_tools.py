"""The texts and data of the tools: pages, unsaved text, and answers that are cut."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from tests.py.changes.random_states import git, status_of

pytestmark = pytest.mark.slow


@pytest.fixture
def root(folder: Path) -> Path:
    """A repository with a commit of forty files, each of which was changed since."""
    root = folder / "R"
    (root / "d").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for number in range(40):
        (root / f"d/f{number:02}").write_text("one\n" * 20)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the first")
    for number in range(40):
        (root / f"d/f{number:02}").write_text("one\n" * 20 + f"two {number}\n")
    return root


def call(
    root: Path, name: str, arguments: dict[str, Any] | None = None, **context: object
) -> Reply:
    """The reply of the tool `name` of the workspace."""
    server = Server(discover(), Settings(), str(root))
    return server.call(f"workspace/{name}", arguments or {}, context)


def unsaved(texts: dict[str, str]) -> list[object]:
    """TEXTS of buffers as Emacs sends them."""
    return [
        [path, hashlib.sha256(text).hexdigest(), "utf-8-unix", base64.b64encode(text).decode()]
        for path, text in ((path, text.encode()) for path, text in texts.items())
    ]


def data(reply: Reply) -> dict[str, Any]:
    """The data of `reply`, which has to be no failure."""
    assert reply.ok, reply.text
    return dict(reply.data or {})


def test_pages_of_a_diff_have_each_file_once(root: Path) -> None:
    paths: list[str] = []
    offset: int | None = 0
    while offset is not None:
        reply = call(root, "git_diff", {"offset": offset}, max_output_bytes=2000)
        assert len(reply.text.encode()) <= 2000
        found = data(reply)
        paths += [one["path"] for one in found["files"]]
        assert all(one["patch"] for one in found["files"])
        offset = found["next_offset"]
    assert paths == [f"d/f{number:02}" for number in range(40)]


def test_patch_without_room_tells_how_to_ask_for_it(root: Path) -> None:
    (root / "d/f00").write_text("".join(f"{number}\n" for number in range(900)))
    reply = call(root, "git_diff", {}, max_output_bytes=2000)
    assert "[d/f00 +900 -20: its patch of" in reply.text
    assert "path='d/f00'" in reply.text
    assert "+two 1\n" in reply.text, "the next file has room"


def test_status_that_is_cut_says_so_and_raw_is_whole(root: Path) -> None:
    reply = call(root, "git_status_summary", {}, max_output_bytes=300)
    assert reply.truncated
    assert "more lines: workspace/git_diff" in reply.text
    assert data(reply)["raw"] == status_of(root)


def test_text_of_a_buffer_stands_for_its_file(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    texts = unsaved({"d/f03": "one\n" * 20 + "in Emacs\n", "new.txt": "new\n"})
    status = data(call(root, "git_status_summary", unsaved=texts))
    assert status["unsaved"] == ["d/f03", "new.txt"]
    assert status["raw"] == "## main\n"
    found = data(call(root, "git_diff", unsaved=texts))
    assert [(one["path"], one["source"]) for one in found["files"]] == [("d/f03", "buffer")]
    assert "\n-two 3\n+in Emacs\n" in found["files"][0]["patch"]


def test_log_has_pages_counts_and_a_text_to_look_for(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    reply = call(root, "git_log", {"max_commits": 1})
    assert reply.text.endswith("a: the second (40 files +40 -0)\n[more: offset=1]\n")
    assert "the first" in call(root, "git_log", {"offset": 1}).text
    assert [one["subject"] for one in data(call(root, "git_log", {"grep": "sec"}))["commits"]] == [
        "the second"
    ]
    lines = data(call(root, "git_log", {"path": "d/f07", "lines": "20-21"}))["lines"]
    told = [(one["start_line"], one["end_line"], one["subject"]) for one in lines]
    assert told == [(20, 20, "the first"), (21, 21, "the second")]


def test_root_below_the_top_tells_its_own_files_as_git_does(root: Path) -> None:
    (root / "top.txt").write_text("above")
    found = data(call(root / "d", "git_status_summary"))
    assert found["repository_root"] == str(root)
    assert found["raw"] == status_of(root, "--", "d")
    assert data(call(root / "d", "git_diff", {"output": "files"}))["files"][0]["path"] == "f00"


def test_where_no_git_answers_the_reason_is_told(folder: Path) -> None:
    (folder / "plain").mkdir()
    for name in ("git_status_summary", "git_diff", "git_log"):
        reply = call(folder / "plain", name)
        assert reply.error is not None
        assert reply.error["code"] == "NOT_GIT_REPOSITORY"
