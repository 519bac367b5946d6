"""The log: written if there is room, otherwise dropped and counted; it never fails a call."""

import logging
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from backstaff.log import PIECE, NonBlockingHandler, start
from tests.py.processes import in_child


@pytest.fixture
def ends() -> Iterator[tuple[int, IO[str]]]:
    """Both ends of a pipe."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        yield reading, stream
    os.close(reading)


def record(text: str) -> logging.LogRecord:
    """A line of the log."""
    return logging.LogRecord("here", logging.WARNING, __file__, 1, text, None, None)


def fill(descriptor: int) -> int:
    """Write to the pipe until it is full; return the number of bytes."""
    os.set_blocking(descriptor, False)
    written = 0
    try:
        while True:
            written += os.write(descriptor, b"x" * 4096)
    except BlockingIOError:
        return written
    finally:
        os.set_blocking(descriptor, True)


def test_lines_are_written_as_they_come(ends: tuple[int, IO[str]]) -> None:
    reading, stream = ends
    handler = NonBlockingHandler(stream)
    for text in ("one", "two\nlines", "é" * 3 * PIECE):
        handler.emit(record(text))
    assert os.read(reading, 1 << 16).decode() == "one\ntwo\nlines\n" + "é" * 3 * PIECE + "\n"


def test_line_without_room_is_dropped_and_counted(ends: tuple[int, IO[str]]) -> None:
    reading, stream = ends
    handler = NonBlockingHandler(stream)
    filled = fill(stream.fileno())
    for _ in range(3):
        handler.emit(record("lost"))
    assert os.read(reading, 1 << 20) == b"x" * filled
    handler.emit(record("found"))
    assert os.read(reading, 1 << 16) == b"(3 lines of the log were lost)\nfound\n"
    handler.emit(record("found"))
    assert os.read(reading, 1 << 16) == b"found\n"


def test_stream_that_has_no_descriptor_is_written_to(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        handler = NonBlockingHandler(stream)
        handler.emit(record("text"))
        assert (tmp_path / "log").read_text() == "text\n"
    handler.emit(record("closed"))


def test_record_that_cannot_be_formatted_is_no_failure(
    ends: tuple[int, IO[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    reading, stream = ends
    handler = NonBlockingHandler(stream)
    broken = record("%d %d")
    broken.args = ("one",)
    handler.emit(broken)
    handler.emit(record("next"))
    assert os.read(reading, 1 << 16) == b"next\n"


def log(file: Path, line: str) -> str:
    """Log `line` to `file` like a process that has just started; return the system's error."""
    logging.getLogger().handlers.clear()
    try:
        start(str(file), "warning")
    except OSError as error:
        return str(error)
    logging.getLogger().warning(line)
    return ""


def test_log_is_the_users_alone_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "log"
    for line in ("one", "two"):
        assert in_child(partial(log, file, line)) == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [line[-3:] for line in file.read_text().splitlines()] == ["one", "two"]


def test_log_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "log").symlink_to("victim")
    said = in_child(partial(log, tmp_path / "log", "line"))
    assert "Too many levels of symbolic links" in said
    assert str(tmp_path / "log") in said
    assert (tmp_path / "victim").read_text() == "mine"


def test_log_that_is_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    assert "No such device or address" in in_child(partial(log, tmp_path / "log", "line"))
