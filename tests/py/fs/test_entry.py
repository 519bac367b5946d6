"""The entries of an open directory: names, kinds, statuses and link targets."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.errors import (
    Cancelled,
    NotFound,
    PathError,
    PermissionRefused,
    path_error,
)
from backstaff.fs.entry import (
    Kind,
    entries_in,
    facts,
    kind_of,
    kinds_of,
    link_target,
    lstat,
    names_in,
)
from tests.py.trees import Plant


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor of `path`."""
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_entries_come_with_the_kind_that_the_directory_tells(tree: Plant) -> None:
    root = tree({"d/": None, "f": "", "l": {"link": "d"}, "fifo": {"fifo": True}})
    with opened(root) as directory:
        found = dict(entries_in(directory, Budget()))
        assert sorted(names_in(directory, Budget())) == sorted(found)
    assert found == {
        "d": Kind.DIRECTORY,
        "f": Kind.FILE,
        "l": Kind.SYMLINK,
        "fifo": Kind.UNKNOWN,
    }


def test_directory_can_be_read_twice(tree: Plant) -> None:
    with opened(tree({"f": ""})) as directory:
        assert [*names_in(directory, Budget())] == [*names_in(directory, Budget())] != []


def test_reading_names_stops_when_the_time_is_up(tree: Plant) -> None:
    with opened(tree({"f": ""})) as directory:
        assert list(names_in(directory, Budget(deadline=0))) == []


def test_clock_is_looked_at_between_many_names(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"f{n}": "" for n in range(2 * Budget.STRIDE)})
    looks = iter([False, True])
    monkeypatch.setattr(Budget, "expired", lambda _: next(looks))
    with opened(root) as directory:
        assert len(list(names_in(directory, Budget()))) == Budget.STRIDE


def test_reading_names_stops_when_the_call_is_cancelled(tree: Plant) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with opened(tree({})) as directory:
        assert list(names_in(directory, Budget())) == []
    with opened(tree({"f": ""}, "S")) as directory, pytest.raises(Cancelled):
        list(names_in(directory, Budget(cancelled=cancelled)))


def test_what_cannot_be_read_is_refused(tree: Plant) -> None:
    with opened(tree({"f": ""}) / "f") as file, pytest.raises(PathError) as caught:
        list(names_in(file, Budget()))
    assert type(caught.value) is PathError


def test_status_is_that_of_the_name_and_not_of_a_target(tree: Plant) -> None:
    root = tree({"f": "12345", "l": {"link": "f"}})
    with opened(root) as directory:
        assert kind_of(lstat("l", directory)) is Kind.SYMLINK
        assert kind_of(lstat("f", directory)) is Kind.FILE


def test_facts_are_those_of_the_status(tree: Plant) -> None:
    root = tree({"f": "12345", "l": {"link": "f"}, "d/": None})
    os.utime(root / "f", ns=(0, -1))
    names = ["f", "l", "d", "nothing"]
    with opened(root) as directory:
        told = list(facts(names, directory, Budget()))
        statuses = [lstat(name, directory) for name in names[:-1]]
    assert told == [*((s.st_mode, s.st_size, s.st_mtime_ns) for s in statuses), None]
    assert kinds_of(told) == [*map(kind_of, statuses), Kind.UNKNOWN]


def test_target_of_a_link_is_its_text(tree: Plant) -> None:
    odd = os.fsdecode(b"clich\xe9 \n")
    root = tree({"f": "", "l": {"link": "no/where"}, "odd": {"link": odd}})
    with opened(root) as directory:
        assert link_target("l", directory) == "no/where"
        assert link_target("odd", directory) == odd
        assert link_target("f", directory) is None
        assert link_target("nothing", directory) is None


def test_kind_of_a_device_is_named() -> None:
    assert kind_of(Path(os.devnull).lstat()) is Kind.CHARACTER_DEVICE


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOENT, NotFound),
        (errno.EACCES, PermissionRefused),
        (errno.EPERM, PermissionRefused),
        (errno.EIO, PathError),
        (errno.ELOOP, PathError),
    ],
)
def test_errors_of_the_system_have_a_kind(number: int, kind: type[PathError]) -> None:
    told = path_error(OSError(number, os.strerror(number)))
    assert type(told) is kind
    assert told.message


def test_error_without_words_gets_some() -> None:
    assert path_error(OSError()).message == "input/output error"
