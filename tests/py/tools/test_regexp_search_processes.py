"""workspace/regexp_search: the processes that read and match, killed at the deadline (search 5)."""

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from backstaff.budget import Budget
from backstaff.contents import regexp, regexp_worker, scan
from backstaff.contents.regexp import Matchers
from backstaff.tools.workspace import regexp_search
from tests.py.epc import Start
from tests.py.processes import DEADLINE
from tests.py.project.repositories import git
from tests.py.tools.searches import SERVER, TOOL, data_of, found, search, unsaved
from tests.py.trees import Plant

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_git_settings")]

HOPELESS = "c" + "a" * 50 + "b"


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The processes that wait for the next call: none at first."""
    waiting: list[Any] = []
    monkeypatch.setattr(regexp, "_IDLE", waiting)
    yield waiting
    for worker in waiting:
        worker.end()


@pytest.mark.usefixtures("idle")
def test_files_are_in_order_whichever_process_searches_them(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"{number:03}": "word\n" * (number % 3) for number in range(400)})
    monkeypatch.setattr(scan, "MANY_FILES", 10)
    for processes in (1, 3):
        monkeypatch.setattr(regexp, "PROCESSES", processes)
        items = data_of(search(root, "wo", output="count", max_results=500))["items"]
        wanted = [{"path": f"{n:03}", "count": n % 3} for n in range(400) if n % 3]
        assert items == wanted, processes
    first = found(root, "wo", max_results=4, offset=150)
    assert first == [
        (f"{n:03}", line, 1, "wo") for n in (151, 152, 154) for line in (1, 2)[: n % 3]
    ]


def test_file_that_is_no_text_is_counted_once(tree: Plant) -> None:
    root = tree({"a": "x", "b": "x", "c": {"hex": "00"}, "d": "x"})
    # The process ends its work after two files with matches, and goes on as they are skipped.
    reply = search(root, "x", max_results=1, offset=3)
    assert data_of(reply)["skipped"]["binary"] == 1
    assert data_of(reply)["scanned_files"] == 3


def test_large_texts_in_both_directions_block_no_one(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "FILES", 2)  # one job is sent while another one is answered
    large = "word\n" + "x" * 900_000
    root = tree({f"a{number}": large for number in range(20)})
    reply = unsaved(root, "wo", {f"b{number}": large for number in range(4)})
    paths = [item["path"] for item in data_of(reply)["items"]]
    assert paths == sorted([f"a{number}" for number in range(20)] + [f"b{n}" for n in range(4)])


def test_process_that_waits_holds_no_directory(tree: Plant, idle: list[Any]) -> None:
    root = tree({"d/a": "word"})
    assert found(root, "wo")
    held = Path(f"/proc/{idle[0].process.pid}/fd")
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    assert str(root) not in {str(one.readlink()) for one in held.iterdir()}


LOOPS = (
    *("(a+)+", "(a*)*", "(a|aa)+", "(a|a?)+", "(a+a+)+", "(?:a+b?)+", "([a-z]+)*", r"(\w+\s?)+"),
    *(
        "(a{1,9})+",
        "(?:a|ab?)+",
        r"(?:\w|\w\w)+",
        "(a+?)+",
        "(?:(?:a+)+)+",
        "(?P<x>a+)+",
        "(?i:A+)+",
    ),
    *("([^!]+)+", "([^!c]+)+", "(a(?=a*)a*)+", r"(a?\w+)+", "(?:a?a?)+"),
)
"""Each tries all ways to divide a row of letters."""
CATASTROPHIC = [f"{loop}{end}" for loop in LOOPS for end in ("$", "c", "(?=c)", r"\Z", "[^a]{2}")]
MILLISECONDS = 60


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that the calls of a test take."""
    taken: list[Any] = []
    take = regexp._Worker.take  # noqa: SLF001

    def take_and_note() -> object:
        taken.append(take())
        return taken[-1]

    monkeypatch.setattr(regexp._Worker, "take", take_and_note)  # noqa: SLF001
    return taken


@pytest.mark.usefixtures("idle")
def test_all_processors_search_though_the_first_file_matches(
    tree: Plant, workers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"{number:02}": "word" if number == 0 else "text" for number in range(40)})
    monkeypatch.setattr(scan, "MANY_FILES", 10)
    monkeypatch.setattr(regexp, "PROCESSES", 3)
    monkeypatch.setattr(regexp, "_LIVING", set())  # none of other tests
    assert search(root, "wo", output="count").ok
    assert len(workers) == 3


@pytest.mark.parametrize("loop", LOOPS)
def test_patterns_that_take_for_ever_end_with_their_process(
    tree: Plant, workers: list[Any], loop: str
) -> None:  # search 5
    root = tree({"a": "nothing", "b": f"c {'a' * 40}!"})
    for pattern in CATASTROPHIC:
        if not pattern.startswith(loop):
            continue
        reply = search(root, pattern, timeout_ms=MILLISECONDS)
        assert (reply.error or {})["code"] == "TIMEOUT", (pattern, reply.text)
        assert reply.data is None
        if workers[-1].asked:
            workers[-1].process.wait(DEADLINE)  # it does not go on
    assert found(root, "nothing"), "the next call has no process"


def says(told: str, root: Path, pattern: str, **arguments: object) -> None:
    """Check that the error says `told`, at the latest with a long timeout.

    On a busy machine the search may not have come to the slow file after the short one.
    """
    for timeout_ms in (800, 8000, regexp_search.MAX_TIMEOUT_MS):
        text = search(root, pattern, timeout_ms=timeout_ms, **arguments).text
        if told in text:
            return
    assert told in text


def test_error_of_the_deadline_names_the_file_that_takes_long(
    tree: Plant,
) -> None:  # search 5
    root = tree({"d/a": "aac\naac", "d/b": HOPELESS, "d/c": "aac"})
    told = "file 2 of 3, d/b; give a root_path, include or exclude"
    says(told, root, "(a|aa)+(?=c)", root_path="d")
    told = "file 1 of 1, d/b; give a"
    says(told, root, "(a+)+(?=c)", include=["d/b"])


def test_error_of_the_deadline_names_timeout_ms_only_where_it_would_help(tree: Plant) -> None:
    root = tree({"b": HOPELESS})

    def error(timeout_ms: int, deadline_ms: int) -> str:
        context = {"root": str(root), "deadline_ms": deadline_ms}
        asked = {"pattern": "(a+)+(?=c)", "timeout_ms": timeout_ms}
        reply = SERVER.call(TOOL, asked, context)
        assert (reply.error or {})["code"] == "TIMEOUT"
        return reply.text

    assert error(300, 10_000).endswith(", a simpler pattern, or a higher timeout_ms")
    # The caller's deadline ends it, so a higher timeout_ms would change nothing.
    assert error(20_000, 400).endswith(" fewer files, a simpler pattern")


def test_file_that_takes_for_ever_behind_a_page_does_not_keep_the_page_back(tree: Plant) -> None:
    root = tree({"a": "aac\n" * 150, "b": HOPELESS})
    page = search(root, "aac|(a|aa)+(?=c)", max_results=100, timeout_ms=20_000)
    assert len(data_of(page)["items"]) == 100
    assert data_of(page)["next_offset"] == 100


def test_cancelled_search_ends_its_process(
    tree: Plant, workers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"b": HOPELESS})
    cancelled, ask = threading.Event(), regexp._Worker.ask  # noqa: SLF001

    def ask_and_cancel(self: object, asked: regexp.Asked, seconds: float) -> None:
        ask(self, asked, seconds)  # type: ignore[arg-type]
        if asked.job.paths:
            cancelled.set()

    monkeypatch.setattr(regexp._Worker, "ask", ask_and_cancel)  # noqa: SLF001
    call = SERVER.prepare(
        TOOL, {"pattern": "(a+)+(?=c)", "timeout_ms": 30_000}, {"root": str(root)}
    )
    assert (SERVER.run(call, cancelled).error or {})["code"] == "CANCELLED"
    workers[-1].process.wait(DEADLINE)  # it does not go on


def test_process_that_was_killed_while_it_waited_is_replaced(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = regexp._Worker.start()  # noqa: SLF001
    dead.process.kill()
    dead.process.wait()
    monkeypatch.setattr(regexp._Worker, "take", lambda: dead)  # noqa: SLF001  # not noticed yet
    assert found(tree({"b": "word"}), "wo") == [("b", 1, 1, "wo")]


def test_error_for_a_process_that_was_killed_in_a_search_does_not_blame_the_pattern(
    tree: Plant, workers: list[Any]
) -> None:
    root = tree({"b": HOPELESS})
    threading.Timer(0.2, lambda: workers[-1].process.kill()).start()  # noqa: PLW0108  # later
    reply = search(root, "(a+)+(?=c)", timeout_ms=20_000)
    assert (reply.error or {})["code"] == "IO_ERROR"
    assert "The process that matches has ended with status -9" in reply.text
    assert "'pattern'" not in reply.text


@pytest.mark.usefixtures("idle")
def test_error_for_a_process_that_cannot_start_tells_the_reason(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    root = tree({"b": "word"})
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refuse)
        reply = search(root, "wo")
    assert (reply.error or {})["code"] == "IO_ERROR"
    assert "cannot be started (Resource temporarily unavailable)" in reply.text
    assert found(root, "wo")


@pytest.mark.parametrize("kilobytes", [500_000, 800_000, 1_000_000])
def test_search_works_under_a_small_hard_limit_of_memory(tree: Plant, kilobytes: int) -> None:
    import resource

    root = tree({"b": "word"})
    limit = kilobytes << 10
    command = (sys.executable, "-m", "backstaff", "call", TOOL, '{"pattern": "wo"}')
    done = subprocess.run(  # noqa: S603
        (*command, "--root", str(root)),
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"b\n1: word\n" in done.stdout


@pytest.mark.parametrize("path", [".git/index", ".git/config", "sub/.git/HEAD"])
def test_fifo_in_the_place_of_a_file_of_git_stops_no_search(tree: Plant, path: str) -> None:
    root = tree({"b": "word", "sub/c": "word"})
    git(root, "init", "-q")
    git(root / "sub", "init", "-q")
    (root / path).unlink(missing_ok=True)
    os.mkfifo(root / path)
    reply = SERVER.call(TOOL, {"pattern": "wo"}, {"root": str(root)})
    assert "\nb\n1: word\n" in reply.text


def test_process_whose_server_is_gone_ends() -> None:
    program = f"""
import sys, time
sys.path.insert(0, {str(Path(regexp.__file__).parents[2])!r})
from backstaff.contents import regexp
regexp.LAST_SECONDS = 0.1
import os
job = regexp.Job((("(a+)+$", False),), "a", texts={{"a": b"{HOPELESS}"}}, most=1)
worker = regexp._Worker.take()
worker.ask(regexp.Asked(job, os.open("/", os.O_RDONLY)), 0.3)
print(worker.process.pid, flush=True)
os._exit(0)
"""
    pid = subprocess.run((sys.executable, "-c", program), check=True, capture_output=True).stdout  # noqa: S603
    deadline = time.monotonic() + DEADLINE
    while _runs(int(pid)):
        assert time.monotonic() < deadline, "the process runs on"


def test_two_processes_stay_for_the_next_calls(
    monkeypatch: pytest.MonkeyPatch, idle: list[Any]
) -> None:
    monkeypatch.setattr(regexp, "PROCESSES", 2)

    def used(count: int) -> set[int]:
        with ExitStack() as stack:
            taken = [stack.enter_context(Matchers(Budget())) for _ in range(count)]
            return {worker.process.pid for one in taken for worker in one.workers}

    assert used(3) > {worker.process.pid for worker in idle}
    assert len(idle) == 2
    waiting = {worker.process.pid for worker in idle}
    assert used(2) == waiting


@pytest.mark.parametrize(
    ("pattern", "likely"),
    [
        (r"[a-z]+[-_]\d\d+", ["ab-12", "é_34"]),
        (r"(?:[a-z]+)[0-9]", ["a1 b", "ab-12", "é_34", "éb", "\u212a"]),
        (r"\s\w", ["a1 b", "ab-12", "é_34", "éb", "\u212a", "ab c"]),
        (r"\w\d", ["a1 b", "ab-12", "é_34", "éb", "\u212a"]),
        (r"[a-z]_\d", ["é_34"]),
        ("[é]b", ["éb"]),
        ("ab+c", ["ab-12", "ab c"]),
        ("a(?:b-|b )", ["ab-12", "ab c"]),
        ("(?i)K", ["a1 b", "ab-12", "é_34", "éb", "\u212a", "ab c"]),
        (r"(?i)AB\b", ["ab-12", "ab c"]),
    ],
)
def test_only_lines_that_hold_what_a_pattern_requires_are_searched(
    pattern: str, likely: list[str]
) -> None:
    lines = [one.encode() for one in ("a1 b", "ab-12", "é_34", "éb", "\u212a", "ab c")]
    searching = regexp_worker.Search(pattern, ignore_case=False)
    found = searching.likely(b"\n".join(lines), regexp_worker.ends_of(lines))
    assert [lines[number].decode() for number in found] == likely


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_server_answers_others_while_patterns_take_for_ever(tree: Plant, start: Start) -> None:
    root = tree({"b": HOPELESS})
    client = start("serve", "--stdio", "--root", str(root))
    hopeless = f'({TOOL} ((:pattern "(a+)+(?=c)" :timeout_ms 1000)))'
    for uid in (1, 2):
        name, arguments = hopeless[1:-1].split(" ", 1)
        client.send(f"(call {uid} {name} {arguments})".encode())
    client.send(b"(call 3 ping ())", b'(call 4 workspace/tree ((:path ".")))')
    answers = [client.receive() for _ in range(4)]
    order = [str(answer[1]) for answer in answers]
    assert set(order[:2]) == {"3", "4"}, answers
    assert set(order[2:]) == {"1", "2"}, answers
