"""Open directories as handles, and questions about single names in them."""

import errno
import os
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from backstaff.fs.handles import HANDLES
from tests.py.epc import MAIN
from tests.py.trees import Plant


@pytest.fixture
def root(tree: Plant) -> Path:
    """A folder with a directory and links, beside another that is none of its business."""
    outside = tree({"secret": "x" * 77, "sub/": None}, "outside")
    return tree({"d/same": "x", "d/sub/": None, "f": "four", "l": {"link": str(outside)}})


def refused(numbers: set[int], ask: Callable[[], object]) -> None:
    """`ask` must fail with one of these error `numbers`."""
    with pytest.raises(OSError, match=r".") as caught:
        ask()
    assert caught.value.errno in numbers, caught.value


def test_names_in_an_open_directory_are_asked_about(root: Path) -> None:
    handles = HANDLES
    top = handles.root(str(root))
    inner = handles.enter("d", top)
    listed = handles.enter_to_list("d", top)
    with handles.scan(listed) as entries:
        assert sorted(entry.name for entry in entries) == ["same", "sub"]
    assert handles.lstat("same", inner).st_size == 1
    assert handles.stat("l", top).st_ino == (root.parent / "outside").stat().st_ino
    assert os.path.samestat(handles.status(inner), (root / "d").stat())
    assert handles.readlink("l", top) == str(root.parent / "outside")
    assert handles.accessible(".", inner, os.R_OK)
    assert handles.accessible("same", inner, os.R_OK)
    descriptor = handles.open_file("f", top, follow=False)
    assert os.read(descriptor, 9) == b"four"
    os.close(descriptor)
    again = handles.duplicate(inner)
    handles.close(inner)
    with handles.scan(handles.reopen_to_list(again)) as entries:
        assert len(list(entries)) == 2
    refused({errno.ENOTDIR, errno.ELOOP}, lambda: handles.enter("l", top))
    refused({errno.ENOTDIR}, lambda: handles.enter("f", top))
    refused({errno.ENOENT}, lambda: handles.enter("missing", top))


def test_system_without_descriptors_of_directories_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(SystemExit, match="has no descriptors of directories; Linux, macOS, BSD"):
        runpy.run_path(str(MAIN))
