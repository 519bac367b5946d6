"""Every golden case, called in this process."""

import os
import socket
import sys
from pathlib import Path

import pytest

from backstaff.registry import discover
from backstaff.server import Reply
from backstaff.wire.lisp import ESCAPED, write
from tests.golden.cases import Case, build, cases, filled
from tests.py.processes import in_child
from tests.py.servers import server_at

CASES = cases()
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = (
    *("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate"),
    *("os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr", "shutil.", "tempfile."),
    *("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.", "ctypes."),
)


MATCHER = [sys.executable, "-I", "-S", "-B"]
"""The command of the process that matches regular expressions."""


def answer(case: Case, root: Path) -> Reply:
    """Return the server's answer to `case`, whose tree is built at `root`."""
    context = case.get("context", {}) | {"root": str(root)}
    return server_at("/").call(case["tool"], case["arguments"], context)


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("case", CASES, ids=[f"{case['tool']}: {case['name']}" for case in CASES])
def test_case_is_answered_as_written(case: Case, folder: Path) -> None:
    root = folder / "root"
    build(case, root)
    reply = answer(case, root)
    assert (reply.error or {}).get("code") == case["error"], reply.text
    assert reply.text == filled(case["text"], root)
    assert write(reply.data, ESCAPED).decode() == filled(case["data"], root)
    assert list(reply.warnings) == case.get("warnings", [])
    assert reply.json == (filled(case["json"], root) if "json" in case else None)


def test_every_tool_has_golden_cases() -> None:
    assert {case["tool"] for case in CASES} == set(discover().by_id)


def test_no_two_cases_of_a_tool_have_one_name() -> None:
    names = [(case["tool"], case["name"]) for case in CASES]
    assert len(set(names)) == len(names)


def is_known(words: list[object]) -> bool:
    """Whether a process with these words is git within its limits, or the one that matches."""
    return words[:4] == MATCHER or any(str(word).endswith("/git") for word in words[:9])


@pytest.mark.slow
def test_no_call_writes_starts_any_process_but_git_and_the_matcher_or_opens_a_socket(
    folder: Path,
) -> None:
    roots = [folder / str(number) for number in range(len(CASES))]
    for case, root in zip(CASES, roots, strict=True):
        build(case, root)

    def changes() -> list[str]:
        seen: list[str] = []

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            if event == "subprocess.Popen" and is_known(list(arguments[1])):  # type: ignore[call-overload]
                return
            if event in {"socket.__new__", "socket.sendmsg"} and arguments[1] in {
                socket.AF_UNIX,
                None,
            }:
                return  # a pair, to the matcher: to connect or bind is another event
            if event.startswith(CHANGES):
                seen.append(f"{event}{arguments}")
            elif event == "open" and isinstance(arguments[0], int):
                return  # a pipe, which is open already
            elif event == "open" and int(str(arguments[2])) & WRITING:
                seen.append(f"open{arguments}")

        sys.addaudithook(watch)
        for case, root in zip(CASES, roots, strict=True):
            answer(case, root)
        watched = len(seen)
        os.close(os.open(folder / "made", os.O_CREAT | os.O_WRONLY))
        assert len(seen) == watched + 1, "the watch sees nothing"
        return seen[:watched]

    assert in_child(changes) == []
