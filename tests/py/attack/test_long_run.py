"""Four clients call at random while a tree changes: nothing grows, and no answer is wrong."""

import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from backstaff.contents.regexp import PROCESSES
from backstaff.render.canonical import to_json
from backstaff.workers import MAX_COMPUTING
from tests.py.attack.attackers import BUG, MARKS, SWAPS, TOOLS, random_arguments, with_a_secret
from tests.py.attack.figures import seconds, tally
from tests.py.epc import Client, Start
from tests.py.fs.test_races import exchange, meanwhile
from tests.py.processes import DEADLINE

pytestmark = pytest.mark.alone

CLIENTS = 4
STABLE = {f"stable-{number}" for number in range(40)}
PASSING = {f"passing-{number}" for number in range(40)}
PATHS = ("quiet", "quiet/sub", "quiet/sub/x", "quiet/../quiet")
LEAST_CALLS = 30
"""Minimum number of calls of a client in each of the two parts of the run."""
GROWTH = 24 << 20
"""Maximum growth in bytes between a server's first calls and its last; caches fill once."""


def plant(folder: Path) -> Path:
    """A project with a part that never changes, one that does, and a secret beside it."""
    root = with_a_secret(folder)
    for name in ("busy", "busy/deep", "quiet", "quiet/sub"):
        (root / name).mkdir()
    for name in STABLE:
        for place in ("busy", "busy/deep", "quiet", "quiet/sub"):
            (root / place / name).write_text("x")
    (root / "quiet/sub/x").write_text("12345")
    return root


def churn(root: Path) -> None:
    """Let names come and go, move, and be swapped for links to the secret; all come back."""
    busy = root / "busy"
    for name in PASSING:
        (busy / name).write_text("x")
        (busy / "deep" / name).mkdir(exist_ok=True)
    for name in PASSING:
        (busy / name).rename(busy / "deep" / name / "moved")
    for _ in range(2):  # there and back
        SWAPS["a directory and a link"](root)
    SWAPS["a file and a link"](root)
    (busy / "to-secret").symlink_to(root.parent / "outside")
    exchange(busy / "deep" / "passing-1", busy / "to-secret")
    for name in PASSING | {"to-secret"}:
        for path in (busy / name, busy / "deep" / name):
            if path.is_symlink():
                path.unlink()
            elif path.is_dir():
                shutil.rmtree(path)


def steady(value: Mapping[str, Any]) -> str:
    """Return a reply without the parts that differ each time: durations and access times."""
    return re.sub(r"':(elapsed-ms|accessed[a-z-]*)': [^,}]*|Accessed: [-0-9 :]*", "", repr(value))


class Talker:
    """A client with a server of its own, and the model that its answers are compared with."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.random = Random(name)  # noqa: S311  # repeatable
        self.known: dict[str, Any] = {}
        self.calls = 0
        self.failure: BaseException | None = None

    def run(self, until: float) -> None:
        """Call until the time is up, and at least `LEAST_CALLS` times, however slow the machine is.

        A failure is kept for the waiting thread.
        """
        least = self.calls + LEAST_CALLS
        try:
            while time.monotonic() < until or self.calls < least:
                self.call_some()
        except BaseException as failure:  # noqa: BLE001  # raised again by the test
            self.failure = failure

    def call_some(self) -> None:
        """Make some calls at the same time. Each must be answered once, and correctly."""
        asked = {self.calls + number: self.question() for number in range(MAX_COMPUTING + 2)}
        self.calls += len(asked)
        self.client.send(
            *(
                f"(call {uid} {tool_id} ({to_json(to_json(given))}))".encode()
                for uid, (tool_id, given) in asked.items()
            )
        )
        answers = [self.client.receive() for _ in asked]
        lost = set(asked) ^ {uid for _, uid, _ in answers}
        tally(lost_answers=len(lost))
        assert not lost, lost
        for _, uid, value in answers:
            self.judge(*asked[uid], value)

    def question(self) -> tuple[str, Mapping[str, object]]:
        """Return a tool and arguments for it: for the quiet part, or for everything."""
        tool_id = self.random.choice(list(TOOLS))
        paths = PATHS if self.random.random() < 0.5 else ("busy", "busy/deep", ".", "d", "l", "..")
        return tool_id, random_arguments(TOOLS[tool_id], self.random, paths)

    def judge(self, tool_id: str, given: Mapping[str, object], value: Mapping[str, Any]) -> None:
        """Compare an answer with the model."""
        said = repr({**value, ":elapsed-ms": 0}).encode()
        leaked = [mark for mark in MARKS if mark in said]
        tally(escapes=len(leaked))
        assert not leaked, (tool_id, given, leaked)
        assert BUG not in value[":text"], (tool_id, given)
        path = str(given.get("path", ""))
        if path.startswith("quiet"):
            key = to_json({"tool": tool_id} | dict(given))
            assert self.known.setdefault(key, steady(value)) == steady(value), (tool_id, given)
        elif path == "busy" and tool_id == "agent-q/list_directory":
            names = Counter(entry[":name"] for entry in value[":data"][":entries"])
            assert all(names[name] == 1 for name in STABLE), names
            assert set(names) <= STABLE | PASSING | {"deep", "to-secret"}, names
            assert names.total() == len(names), names


def vitals(client: Client) -> tuple[int, int, int]:
    """Return the memory, descriptors and threads of the server."""
    folder = Path(f"/proc/{client.process.pid}")
    if not folder.exists():
        pytest.skip("needs /proc")
    memory = int((folder / "statm").read_text().split()[1]) * 4096
    return memory, len(list((folder / "fd").iterdir())), len(list((folder / "task").iterdir()))


def together(talkers: list[Talker], duration: float) -> None:
    """Let all clients call at the same time for `seconds`."""
    until = time.monotonic() + duration
    threads = [threading.Thread(target=talker.run, args=(until,)) for talker in talkers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for talker in talkers:
        if talker.failure:
            raise talker.failure


@pytest.fixture
def talkers(folder: Path, start: Start) -> Iterator[list[Talker]]:
    """Four clients of one project that changes."""
    root = plant(folder)
    options = ("serve", "--stdio", "--root", str(root))
    made = [Talker(start(*options), str(number)) for number in range(CLIENTS)]
    with meanwhile(lambda: churn(root), most=2 * seconds(DEADLINE, 1)):
        yield made
    for talker in made:
        assert talker.client.close() == 0, talker.client.log()
        assert "Traceback" not in talker.client.log(), talker.client.log()


def test_nothing_grows_and_no_answer_is_wrong_or_lost(talkers: list[Talker]) -> None:
    duration = seconds(4, 0.5)
    together(talkers, duration / 4)
    before = [vitals(talker.client) for talker in talkers]
    together(talkers, duration * 3 / 4)
    tally(calls_of_the_long_run=sum(talker.calls for talker in talkers))
    tally(seconds_of_long_run=duration)
    for talker, (memory, descriptors, threads) in zip(talkers, before, strict=True):
        now = vitals(talker.client)
        assert now[0] - memory < GROWTH, f"{now[0] - memory} bytes more after {talker.calls} calls"
        assert now[1] <= descriptors + 3 * MAX_COMPUTING, "descriptors stay open"
        # One for each call at once, three beside them, and one for each process that was killed.
        assert now[2] <= max(threads, MAX_COMPUTING + 2 + 3 + PROCESSES), "threads stay"
