"""Reading one file: regular files only, without waiting, no more than asked."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff.errors import NotAFile, NotFound, PathError, PermissionRefused
from backstaff.fs.file import read, read_listed
from backstaff.fs.handles import Descriptors


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    """The test's directory, open."""
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened."""
    names: list[str] = []
    system_open = os.open

    def open_and_note(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        names.append(path)
        return system_open(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_and_note)
    return names


def test_a_file_is_read(tmp_path: Path, directory: int) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    for most, head, whole in (
        (4, b"0123", False),
        (10, b"0123456789", True),
        (99, b"0123456789", True),
    ):
        content = read("f", directory, most)
        assert (content.head, content.whole, content.status.st_size) == (head, whole, 10)


def test_first_bytes_of_the_content(tmp_path: Path, directory: int) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    content = read("f", directory, 10)
    assert content.first(4)[::2] == (b"0123", False)
    assert content.first(10) == content


def test_file_of_many_gigabytes_costs_only_the_bytes_read(tmp_path: Path, directory: int) -> None:
    with (tmp_path / "f").open("wb") as out:
        out.truncate(8 << 30)
    assert read("f", directory, 100).head == bytes(100)


def test_pieces_are_put_together(
    tmp_path: Path, directory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    system_read = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, most: system_read(descriptor, min(most, 3)))
    assert read("f", directory, 99).head == b"0123456789"


def make_special(path: Path, kind: str) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "symlink":
            (path.parent / "target").write_text("x")
            path.symlink_to("target")


@pytest.mark.parametrize("kind", ["fifo", "directory", "symlink", "device"])
def test_anything_else_is_refused_unopened(
    tmp_path: Path, directory: int, opened: list[str], kind: str
) -> None:
    make_special(tmp_path / "s", kind)
    told = "symlink" if kind == "device" else kind
    with pytest.raises(NotAFile, match=f"it is a {told}") as caught:
        read("s", directory, 10)
    assert caught.value.kind == told
    assert opened == []


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
def test_followed_links_must_lead_to_a_file(
    tmp_path: Path, directory: int, opened: list[str], kind: str
) -> None:
    make_special(tmp_path / "s", kind)
    (tmp_path / "l").symlink_to("s")
    with pytest.raises(NotAFile):
        read("l", directory, 10, follow=True)
    assert opened == []


def test_a_followed_link_is_read_wherever_it_leads(tmp_path: Path, directory: int) -> None:
    make_special(tmp_path / "s", "symlink")
    assert read("s", directory, 10, follow=True).head == b"x"


@pytest.mark.parametrize("kind", ["fifo", "device", "symlink"])
def test_what_took_a_file_s_place_meanwhile_is_refused_at_once(
    tmp_path: Path, directory: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text("x")
    make_special(tmp_path / "s", kind)

    def swapped_after(_: Descriptors, name: str, directory: int) -> os.stat_result:
        status = os.lstat(name, dir_fd=directory)
        os.replace(tmp_path / "s", tmp_path / "f")  # noqa: PTH105  # a link itself, not its target
        return status

    monkeypatch.setattr(Descriptors, "lstat", swapped_after)
    with pytest.raises(NotAFile if kind == "fifo" else PathError):
        read("f", directory, 10)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.EACCES, PermissionRefused),
        (errno.ENOENT, NotFound),
        (errno.EMFILE, PathError),
        (errno.EIO, PathError),
        (errno.EWOULDBLOCK, PathError),
    ],
)
@pytest.mark.parametrize("call", ["stat", "open", "fstat", "read"])
def test_refusal_of_the_system_is_reported(  # noqa: PLR0913, PLR0917  # a fault is all of this
    tmp_path: Path,
    directory: int,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    number: int,
    error: type[Exception],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "f").write_text("x")
    free = os.dup(directory)
    os.close(free)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(error):
            read("f", directory, 10)
    again = os.dup(directory)
    os.close(again)
    assert again == free, "nothing stays open"


@pytest.mark.parametrize("size", [0, 1, 4096, 200_000])
def test_listed_file_is_read_whole_or_reported_as_too_large(
    tmp_path: Path, directory: int, size: int
) -> None:
    content = os.urandom(size)
    (tmp_path / "f").write_bytes(content)
    assert read_listed("f", directory, size) == content
    if size:
        assert read_listed("f", directory, size - 1) is None


def test_what_took_the_name_of_a_listed_file_is_not_read(tmp_path: Path, directory: int) -> None:
    os.mkfifo(tmp_path / "fifo")
    writer = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(writer, b"x")
        with pytest.raises(NotAFile):
            read_listed("fifo", directory, 100)
        assert os.read(writer, 9) == b"x", "it was read"
    finally:
        os.close(writer)
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name, error in (("d", NotAFile), ("link", OSError)):
        with pytest.raises(error):
            read_listed(name, directory, 100)
