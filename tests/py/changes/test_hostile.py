"""Repositories that try to run something, to write, to hang, or to take all memory."""

import hashlib
import os
import shutil
import subprocess
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from backstaff.budget import Budget
from backstaff.changes.index import BadIndex, parse
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from tests.py.changes.random_states import git

pytestmark = pytest.mark.slow

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("workspace/git_status_summary", {}),
    ("workspace/git_diff", {}),
    ("workspace/git_diff", {"base": "HEAD~1", "target": "HEAD"}),
    ("workspace/git_diff", {"base": "index"}),
    ("workspace/git_log", {}),
    ("workspace/git_log", {"path": "a.txt", "lines": "1-1"}),
]


@pytest.fixture
def root(folder: Path) -> Path:
    """A repository with two commits and a change."""
    root = folder / "R"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for text in ("one\n", "two\n"):
        (root / "a.txt").write_text(text)
        (root / "b.bin").write_text(f"b {text}")
        git(root, "add", "-A")
        git(root, "commit", "-qm", text)
    (root / "a.txt").write_text("six\n")
    (root / "b.bin").write_text("b six\n")
    return root


def call(root: Path, tool: str, arguments: dict[str, Any], **context: object) -> Reply:
    """The reply of `tool` at `root`."""
    return Server(discover(), Settings(), str(root)).call(tool, arguments, context)


def trap(root: Path, ran: Path) -> None:
    """Give each way to run a program a program that makes the file `ran`."""
    program = f"sh -c 'touch {ran}; cat'"
    for key in (
        *("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv"),
        *("diff.x.command", "diff.external", "core.fsmonitor", "core.pager", "pager.log"),
        *("core.sshCommand", "credential.helper", "gpg.program", "core.editor", "alias.status"),
    ):
        git(root, "config", key, program)
    git(root, "config", "log.showSignature", "true")
    hooks = root / ".git/hooks"
    for name in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)


@pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes"])
def test_nothing_of_the_repository_runs(root: Path, folder: Path, where: str) -> None:
    ran = folder / "RAN"
    trap(root, ran)
    (root / where).parent.mkdir(exist_ok=True)
    (root / where).write_text("* filter=x diff=x\n")
    for tool, arguments in CALLS:
        reply = call(root, tool, arguments)
        assert reply.ok, reply.text
        assert not ran.exists(), (tool, arguments)


def test_file_that_a_filter_would_decide_is_undecided(root: Path) -> None:
    trap(root, root.parent / "RAN")
    (root / ".gitattributes").write_text("*.bin filter=x\n")
    data = call(root, *CALLS[0]).data
    assert data is not None
    assert data["undecided"] == ["b.bin"]
    assert " M a.txt\n" in str(data["raw"])
    text = call(root, *CALLS[1]).text
    assert "b.bin: not shown, a filter" in text
    assert "+six" in text


@pytest.mark.parametrize("split", [False, True])
def test_nothing_is_written(root: Path, split: bool) -> None:  # noqa: FBT001  # a case
    if split:
        git(root, "update-index", "--split-index")

    def times() -> dict[str, tuple[int, int]]:
        paths = (Path(at, name) for at, _, names in os.walk(root) for name in names)
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in (*paths, root / ".git")}

    before = times()
    for tool, arguments in CALLS:
        assert call(root, tool, arguments).ok
    assert times() == before


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_only_git_runs_and_no_file_is_opened_to_be_written(root: Path, folder: Path) -> None:
    import sys

    trap(root, folder / "RAN")
    (root / ".gitattributes").write_text("* filter=x diff=x\n")
    for number, (tool, arguments) in enumerate(CALLS):
        log = folder / f"trace{number}"
        words = ["strace", "-f", "-o", str(log), "-e", "trace=execve,openat,open,utimensat,unlink"]
        words += [sys.executable, "-B", "-m", "backstaff", "call", tool]
        words += [str(arguments).replace("'", '"'), "--root", str(root)]
        subprocess.run(words, check=True, capture_output=True)  # noqa: S603
        lines = log.read_text(errors="replace").splitlines()
        ran = [line for line in lines if "execve(" in line and " = 0" in line]
        programs = {line.split('execve("')[1].split('"')[0] for line in ran}
        assert programs <= {sys.executable, *_GIT}, programs
        written = [
            line
            for line in lines
            if ("O_WRONLY" in line or "O_RDWR" in line or "utimensat" in line or "unlink" in line)
            and "/dev/null" not in line
            and " = -1" not in line
        ]
        assert not written, (tool, written)


_GIT = ("/usr/bin/git", "/usr/bin/timeout", "/bin/timeout", "/usr/lib/git-core/git")


@pytest.mark.parametrize(
    "name", ["HEAD", "config", "index", "packed-refs", "info/attributes", "info/exclude"]
)
def test_fifo_in_the_git_directory_ends_the_call_in_time(root: Path, name: str) -> None:
    path = root / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for tool, arguments in CALLS[:2]:
        reply = call(root, tool, arguments, deadline_ms=9000)
        assert reply.elapsed_ms < 9500
        assert reply.text


@pytest.mark.parametrize("name", [".gitattributes", ".mailmap", ".gitignore", "a.txt"])
def test_fifo_in_the_work_tree_is_not_waited_for(root: Path, name: str) -> None:
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    for tool, arguments in CALLS:
        reply = call(root, tool, arguments)
        assert reply.ok, reply.text
        assert reply.elapsed_ms < 4000, tool


def test_object_that_lies_about_its_size_is_not_shown(root: Path) -> None:
    oid = git(root, "rev-parse", "HEAD:a.txt").decode().strip()
    path = root / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"blob 4294967296\0two\n"))
    reply = call(root, *CALLS[1])
    assert reply.ok, reply.text
    assert "a.txt: not shown" in reply.text
    assert "-b two" in reply.text, "the other file is shown"


def test_index_that_is_broken_is_told(root: Path) -> None:
    index = root / ".git/index"
    data = index.read_bytes()
    for broken in (
        data[:-1],
        data[:40],
        b"",
        b"DIRC" + b"\xff" * 60,
        data.replace(b"a.txt", b"../tx"),
    ):
        body = broken[:-20]
        index.write_bytes(body + hashlib.sha1(body).digest())  # noqa: S324
        for tool, arguments in CALLS[:2]:
            reply = call(root, tool, arguments)
            assert not reply.ok or "../tx" not in reply.text
            assert "unexpected" not in reply.text


@pytest.mark.parametrize("seed", range(200))
def test_index_with_any_bytes_is_read_or_refused(root: Path, seed: int) -> None:
    import random

    chance = random.Random(seed)  # noqa: S311
    data = bytearray((root / ".git/index").read_bytes()[:-20])
    for _ in range(chance.randrange(1, 5)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    whole = bytes(data) + hashlib.sha1(data).digest()  # noqa: S324
    with suppress(BadIndex):
        list(parse(whole, 20, 0, "", lambda _: b"", Budget()).entries())


def test_secret_file_is_named_without_its_content(root: Path) -> None:
    (root / ".env").write_text("PASSWORD=x\n")
    git(root, "add", "-f", ".env")
    reply = call(root, "workspace/git_diff", {})
    assert ".env: not shown, it may hold secrets" in reply.text
    assert "PASSWORD" not in reply.text
    alone_ = call(root, "workspace/git_diff", {"path": ".env"})
    assert alone_.error is not None
    assert alone_.error["code"] == "APPROVAL_REQUIRED"
    allowed = call(root, "workspace/git_diff", {"path": ".env"}, approved=True)
    assert "PASSWORD" in allowed.text


def test_no_name_of_a_commit_is_an_option(root: Path) -> None:
    for name in ("--output=x", "-O/etc/passwd", "HEAD\0x", "x" * 1000, "a..b", "", "\ud800"):
        reply = call(root, "workspace/git_diff", {"base": name})
        assert reply.error is not None, name
        assert reply.error["code"] == "INVALID_ARGUMENT", (name, reply.text)
    assert not (root / "x").exists()
