"""Someone changes the tree while it is looked at: nothing from outside may ever show.

Another process exchanges names as fast as it can. Each test also sees to it that the race was one:
that the tool met both states.
"""

import ctypes
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backstaff.result import Rows
from backstaff.server import Reply
from tests.py.processes import DEADLINE, fork
from tests.py.replies import code
from tests.py.servers import server_at
from tests.py.trees import Plant

pytestmark = pytest.mark.alone

LOOKS = 4_000
INSIDE_SIZE, OUTSIDE_SIZE = 10, 77
RENAME_EXCHANGE = 2
AT_FDCWD = -100

_renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)  # Linux has it


def exchange(one: Path, other: Path) -> None:
    """Give `one` the name of `other` and the reverse, at once where the system can."""
    names = os.fsencode(one), os.fsencode(other)
    if _renameat2 and not _renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE):
        return
    spare = one.with_name(one.name + "-spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)


@contextmanager
def meanwhile(step: Callable[[], None], most: float = DEADLINE) -> Iterator[None]:
    """Another process does `step`, for `most` seconds if nobody ends it."""
    child = fork()
    if not child:
        signal.setitimer(signal.ITIMER_REAL, most)
        try:
            while True:
                step()
        finally:
            os._exit(1)
    ended = 0
    try:
        yield
        ended, status = os.waitpid(child, os.WNOHANG)
        assert not ended, f"the other process failed, wait status {status:#x}"
    finally:
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@pytest.fixture
def project(tree: Plant) -> Path:
    """A root with a directory `d` and a link `l` to another outside, alike except in sizes."""
    outside = tree({"same": "x" * OUTSIDE_SIZE, "secret": ""}, "outside")
    root = tree({"d/same": "x" * INSIDE_SIZE, "d/sub/": None, "l": {"link": str(outside)}})
    (outside / "d").mkdir()
    (outside / "d" / "same").write_text("x" * OUTSIDE_SIZE)
    return root


def looks(root: Path, tool: str, path: str) -> Iterator[Reply]:
    """The replies to many calls."""
    server = server_at(root)
    for _ in range(LOOKS):
        yield server.call(tool, {"path": path, "show_hidden": True})


def test_listing_never_shows_the_target_of_a_link_swapped_in(project: Path) -> None:
    seen: Counter[str | None] = Counter()
    with meanwhile(lambda: exchange(project / "d", project / "l")):
        for reply in looks(project, "agent-q/list_directory", "d"):
            seen[code(reply)] += 1
            assert "secret" not in reply.text
            if reply.ok:
                assert set(_names(reply)) <= {"same", "sub"}, reply.text
                assert OUTSIDE_SIZE not in _sizes(reply), reply.text
    assert seen[None], seen
    assert seen["SANDBOX_VIOLATION"], seen
    assert set(seen) <= {None, "SANDBOX_VIOLATION", "IO_ERROR", "NOT_FOUND"}, seen


def test_info_is_never_that_of_a_file_outside(project: Path) -> None:
    seen: Counter[str | None] = Counter()
    with meanwhile(lambda: exchange(project / "d", project / "l")):
        for reply in looks(project, "agent-q/get_file_info", "d/same"):
            seen[code(reply)] += 1
            assert not reply.data or reply.data["size"] == INSIDE_SIZE, reply.text
    assert seen[None], seen
    assert seen["SANDBOX_VIOLATION"], seen


def test_upward_step_never_follows_a_directory_moved_outside(project: Path) -> None:
    # Who opens ".." arrives in the directory outside to which `sub` has been moved meanwhile.
    outside = project.parent / "outside" / "d" / "sub"
    here = project / "d" / "sub"

    def move() -> None:
        here.rename(outside)
        outside.rename(here)

    seen: Counter[str | None] = Counter()
    with meanwhile(move):
        for reply in looks(project, "agent-q/get_file_info", "d/sub/../same"):
            seen[code(reply)] += 1
            assert not reply.data or reply.data["size"] == INSIDE_SIZE, reply.text
    assert seen[None], seen
    assert seen["NOT_FOUND"], seen


def test_entry_swapped_for_a_link_shows_its_own_status(project: Path) -> None:
    target = project.parent / "outside" / "same"
    (project / "d" / "link").symlink_to(target)
    sizes: Counter[object] = Counter()
    with meanwhile(lambda: exchange(project / "d" / "same", project / "d" / "link")):
        for reply in looks(project, "agent-q/list_directory", "d"):
            sizes.update(_sizes(reply))
    assert OUTSIDE_SIZE not in sizes
    assert sizes[INSIDE_SIZE], sizes
    assert sizes[len(str(target))], sizes


@pytest.mark.check(23)
def test_names_that_stay_are_listed_once_while_others_come_and_go(project: Path) -> None:
    stable = {f"stable-{number}" for number in range(50)}
    for name in stable:
        (project / "d" / name).write_text("")

    def churn() -> None:
        for number in range(100):
            (project / "d" / f"passing-{number}").write_text("")
        for number in range(100):
            (project / "d" / f"passing-{number}").unlink()

    passing: set[int] = set()
    with meanwhile(churn):
        for reply, _ in zip(
            looks(project, "agent-q/list_directory", "d"), range(500), strict=False
        ):
            assert reply.ok, reply.text
            names = Counter(_names(reply))
            assert all(names[name] == 1 for name in stable), names
            assert names.total() == len(names), names
            passing.add(len(names))
    assert len(passing) > 1, "nothing came or went"


def _rows(reply: Reply) -> Rows:
    rows = (reply.data or {"entries": Rows({"name": [], "size": []})})["entries"]
    assert isinstance(rows, Rows)
    return rows


def _names(reply: Reply) -> list[str]:
    return [str(name) for name in _rows(reply).columns["name"]]


def _sizes(reply: Reply) -> list[object]:
    return list(_rows(reply).columns["size"])
