"""forge/list_directory where the file system fails, or the time is up.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

import errno
import json
import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backstaff import budget, server
from tests.py.processes import unprivileged
from tests.py.tools.forge.calls import (
    ENTRY_KEYS,
    ID,
    SERVER,
    Output,
    entries_of,
    error_of,
    listed,
    output,
)
from tests.py.trees import Plant


@pytest.mark.check(18)
def test_directory_that_may_be_read_but_not_searched_lists_unknown_entries(tree: Plant) -> None:
    """T-LD-10, FR-LD-LST-04, FR-LD-ERR-04."""
    root = tree({"d/f": "12345", "d/e/x": "", "d/l": {"link": "f"}, "d/p": {"fifo": True}})
    (root / "d").chmod(0o444)
    directory, *entries = output(unprivileged(lambda: listed(root, recursive=True)))["entries"]
    assert directory["type"] == "dir"
    assert [e["path"] for e in entries] == ["d/e", "d/f", "d/l", "d/p"]
    assert all(e == unknown(e["path"], "permission_denied", "permission denied") for e in entries)


def unknown(path: str, code: str, message: str) -> Output:
    """An entry without metadata."""
    values = (path.rpartition("/")[2], path, path.count("/") + 1, "unknown", None, None, False)
    return dict(zip(ENTRY_KEYS, (*values, code, message), strict=True))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Makes the status of a name unavailable."""

    def fail(name: str, number: int) -> None:
        real = os.stat

        def stat(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401
            if path == name:
                raise OSError(number, os.strerror(number))
            return real(path, **options)

        monkeypatch.setattr(os, "stat", stat)

    return fail


@pytest.mark.check(17)
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOENT, "metadata_unavailable"),
        (errno.EACCES, "permission_denied"),
        (errno.EPERM, "permission_denied"),
        (errno.EIO, "io_error"),
        (errno.ESTALE, "unknown"),
    ],
)
@pytest.mark.parametrize("kind", ["x", "x/"])
def test_entry_without_metadata_is_unknown_and_the_rest_goes_on(
    tree: Plant, failing: Callable[[str, int], None], kind: str, number: int, code: str
) -> None:
    """T-LD-10, FR-LD-LST-04, FR-LD-ERR-04, and the error codes of 3.5."""
    root = tree({"a": "", kind: None if kind.endswith("/") else "", "z/y": ""})
    failing("x", number)
    entries = entries_of(listed(root, recursive=True))
    assert list(entries) == ["a", "x", "z", "z/y"]
    assert entries["x"]["error"]
    assert entries["x"] == unknown("x", code, entries["x"]["error"])
    assert all(e["error_code"] is e["error"] is None for p, e in entries.items() if p != "x")


def test_unknown_entries_are_listed_whatever_is_wanted_and_count(
    tree: Plant, failing: Callable[[str, int], None]
) -> None:
    """FR-LD-LST-04, -06."""
    root = tree({"a": "", "x": "", "y": ""})
    failing("x", errno.EIO)
    reply = output(listed(root, include_dirs=False, max_entries=2))
    assert [e["path"] for e in reply["entries"]] == ["a", "x"]
    assert reply["truncated"] is True


@pytest.mark.parametrize("kind", ["x", "x/"])
@pytest.mark.parametrize("flag", ["include_files", "include_dirs"])
def test_entry_without_metadata_is_listed_whatever_its_directory_calls_it(
    tree: Plant, failing: Callable[[str, int], None], kind: str, flag: str
) -> None:
    """FR-LD-LST-04: no `include_*` drops it, though d_type says that it is a file or directory."""
    root = tree({"a": "", "b/": None, kind: None if kind.endswith("/") else ""})
    failing("x", errno.EIO)
    entries = entries_of(listed(root, **{flag: False}))
    assert entries["x"]["type"] == "unknown"
    assert len(entries) == 2


@pytest.mark.parametrize("flag", ["include_files", "include_dirs", "include_symlinks"])
def test_directory_that_may_not_be_searched_lists_all_names_whatever_is_wanted(
    tree: Plant, flag: str
) -> None:
    """T-LD-10, FR-LD-LST-04."""
    root = tree({"d/f": "12345", "d/e/x": "", "d/l": {"link": "f"}, "d/p": {"fifo": True}})
    (root / "d").chmod(0o444)
    entries = unprivileged(lambda: entries_of(listed(root, path="d", **{flag: False})))
    assert list(entries) == ["e", "f", "l", "p"]
    assert {entry["type"] for entry in entries.values()} == {"unknown"}


@pytest.mark.check(19)
@pytest.mark.parametrize("mode", [0, 0o311])
@pytest.mark.parametrize("include_dirs", [True, False])
def test_directory_that_cannot_be_read_is_one_unknown_entry_and_the_rest_goes_on(
    tree: Plant, mode: int, *, include_dirs: bool
) -> None:
    """T-LD-12, FR-LD-LST-08."""
    root = tree({"a/b/x": "", "a/c": "", "z": ""})
    (root / "a/b").chmod(mode)
    text = unprivileged(lambda: listed(root, recursive=True, include_dirs=include_dirs).text)
    entries = {e["path"]: e for e in json.loads(text)["entries"]}
    assert list(entries) == ["a", "a/b", "a/c", "z"][not include_dirs :]
    assert entries["a/b"] == unknown("a/b", "read_dir_failed", "directory cannot be read")


def test_unreadable_directory_that_is_not_entered_is_a_directory(tree: Plant) -> None:
    """FR-LD-LST-08: only a directory that has to be read can be unreadable."""
    root = tree({"a/b/": None})
    (root / "a/b").chmod(0)
    assert unprivileged(lambda: entries_of(listed(root, path="a")))["b"]["type"] == "dir"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EMFILE, errno.EIO, errno.ELOOP])
def test_directory_that_is_gone_or_fails_when_it_is_opened_is_one_unknown_entry(
    tree: Plant, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-LD-12, FR-LD-LST-08."""
    root = tree({"a/": None, "x/y": "", "z": ""})
    real = os.open

    def opening(path: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        if path == "x":
            raise OSError(number, os.strerror(number))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", opening)
    entries = entries_of(listed(root, recursive=True))
    assert list(entries) == ["a", "x", "z"]
    assert entries["x"] == unknown("x", "read_dir_failed", "directory cannot be read")


def test_time_that_is_up_fails_as_the_output_has_no_word_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FR-LD-ERR-03, FR-LD-OUT-02b: never a listing that looks whole."""
    whole = listed(project, recursive=True)
    failures = 0
    for moment in range(1, 60):
        ticks = count()
        clock = SimpleNamespace(monotonic=lambda ticks=ticks: next(ticks) / 1000)
        monkeypatch.setattr(budget, "time", clock)
        monkeypatch.setattr(server, "time", clock)
        reply = listed(project, {"deadline_ms": moment}, recursive=True)
        if reply.text != whole.text:
            code, message = error_of(reply)
            assert code == "ExecutionFailed"
            assert str(message).startswith("the time was up before the listing was complete")
            failures += 1
    assert reply.text == whole.text
    assert failures > 1


def test_cancelled_call_is_an_error(project: Path) -> None:
    """FR-LD-ERR-01 to -03 have no word for it, so it is the server's own."""
    cancelled = threading.Event()
    cancelled.set()
    reply = SERVER.call(ID, {"path": "."}, {"root": str(project)}, cancelled)
    assert error_of(reply)[0] == "CANCELLED"
