"""The log: written where there is room, dropped and counted where there is none, and no failure."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from backstaff.log import PIECE, Unwaiting


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
    """Write to the pipe until nothing more finds room; return how much did."""
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
    handler = Unwaiting(stream)
    for text in ("one", "two\nlines", "é" * 3 * PIECE):
        handler.emit(record(text))
    assert os.read(reading, 1 << 16).decode() == "one\ntwo\nlines\n" + "é" * 3 * PIECE + "\n"


def test_line_without_room_is_dropped_and_counted(ends: tuple[int, IO[str]]) -> None:
    reading, stream = ends
    handler = Unwaiting(stream)
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
        handler = Unwaiting(stream)
        handler.emit(record("text"))
        assert (tmp_path / "log").read_text() == "text\n"
    handler.emit(record("closed"))


def test_record_that_cannot_be_formatted_is_no_failure(
    ends: tuple[int, IO[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    reading, stream = ends
    handler = Unwaiting(stream)
    broken = record("%d %d")
    broken.args = ("one",)
    handler.emit(broken)
    handler.emit(record("next"))
    assert os.read(reading, 1 << 16) == b"next\n"
