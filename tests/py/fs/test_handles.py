"""The fallback without descriptors of directories, simulated: the same answers, and its bars."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from backstaff.errors import InvalidPath
from backstaff.fs.handles import Descriptors, has_descriptors
from backstaff.fs.handles_windows import PathHandles, is_plain_windows_name
from backstaff.fs.paths import absolute, components, join, normalized
from tests.py.trees import Plant

HERE = Path(__file__)
REPOSITORY = HERE.parents[3]
OPTIONS = ("-q", "--hypothesis-profile=quick")
"""Every step is that of the way with descriptors, so few examples tell whether handles matter."""
WHAT_HOLDS_WITHOUT_DESCRIPTORS = (
    "tests/py/test_golden.py::test_case_is_answered_as_written",
    "tests/py/fs/test_root_against_kernel.py",
    "tests/py/fs/test_root.py::test_path_inside_is_found",
    "tests/py/fs/test_root.py::test_absolute_path_inside_is_found",
    "tests/py/fs/test_root.py::test_path_leaving_the_root_is_refused",
    "tests/py/fs/test_root.py::test_absolute_path_to_a_neighbour_with_the_same_prefix_is_refused",
    "tests/py/fs/test_root.py::test_refusal_does_not_tell_whether_anything_is_outside",
    "tests/py/fs/test_root.py::test_links_in_a_circle_are_refused",
    "tests/py/fs/test_root.py::test_chain_of_links_is_followed_up_to_the_limit",
    "tests/py/fs/test_root.py::test_what_is_no_path_is_refused_first",
    "tests/py/fs/test_root.py::test_special_file_is_found_and_never_opened",
)


@pytest.mark.slow
def test_all_answers_are_the_same_without_descriptors() -> None:
    assert has_descriptors(), "then this system needs no simulation, and no test of the other way"
    done = subprocess.run(  # noqa: S603
        (sys.executable, HERE.parents[1] / "poorer.py", *OPTIONS, *WHAT_HOLDS_WITHOUT_DESCRIPTORS),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout


@pytest.fixture(params=[Descriptors, PathHandles], ids=["descriptors", "names"])
def handles(request: pytest.FixtureRequest) -> Descriptors:
    """Either way of holding directories."""
    made: Descriptors = request.param()
    return made


@pytest.fixture
def names() -> PathHandles:
    """The fallback."""
    return PathHandles()


@pytest.fixture
def root(tree: Plant) -> Path:
    """A folder with a directory and links, beside another that is none of its business."""
    outside = tree({"secret": "x" * 77, "sub/": None}, "outside")
    return tree({"d/same": "x", "d/sub/": None, "f": "four", "l": {"link": str(outside)}})


def refused(numbers: set[int], ask: Callable[[], object]) -> None:
    """ASK has to fail with one of these error NUMBERS."""
    with pytest.raises(OSError, match=r".") as caught:
        ask()
    assert caught.value.errno in numbers, caught.value


def test_both_ways_tell_the_same(handles: Descriptors, root: Path) -> None:
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


def swapped(root: Path) -> Iterator[None]:
    """Put a link to the outside in the place of `d`, and the directory back."""
    (root / "d").rename(root / "moved")
    (root / "d").symlink_to("../outside")
    yield
    (root / "d").unlink()
    (root / "moved").rename(root / "d")
    yield


QUESTIONS: dict[str, Callable[[PathHandles, int], object]] = {
    "enter": lambda names, inner: names.enter("sub", inner),
    "scan": lambda names, inner: names.scan(inner).close(),
    "lstat": lambda names, inner: names.lstat("same", inner),
    "stat": lambda names, inner: names.stat("same", inner),
    "status": lambda names, inner: names.status(inner),
    "readlink": lambda names, inner: names.readlink("same", inner),
    "open": lambda names, inner: names.open_file("same", inner, follow=False),
    "access": lambda names, inner: names.accessible("same", inner, os.R_OK),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_directory_swapped_for_a_link_is_noticed_before(
    names: PathHandles, root: Path, question: str
) -> None:
    inner = names.enter("d", names.root(str(root)))
    swap = swapped(root)
    next(swap)
    refused({errno.ESTALE}, lambda: QUESTIONS[question](names, inner))
    next(swap)
    if question == "open":
        os.close(names.open_file("same", inner, follow=False))
    elif question != "readlink":
        QUESTIONS[question](names, inner)


@pytest.mark.parametrize("question", QUESTIONS)
def test_directory_swapped_for_a_link_is_noticed_after(
    names: PathHandles, root: Path, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is swapped once the look before is over: what the question then finds is thrown away.
    inner = names.enter("d", names.root(str(root)))
    outside = root.parent / "outside" / "same"
    if question == "readlink":
        outside.symlink_to("secret")
    else:
        outside.write_text("")
    real = PathHandles._sure  # noqa: SLF001  # to come between two looks

    def swap_after(names: PathHandles, directory: int) -> str:
        path = real(names, directory)
        if directory == inner:
            next(swapped(root))
        return path

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(PathHandles, "_sure", swap_after)
    refused({errno.ESTALE}, lambda: QUESTIONS[question](names, inner))
    assert len(list(Path("/proc/self/fd").iterdir())) == before, "what was opened stays open"


def test_file_replaced_while_it_is_opened_is_refused(
    names: PathHandles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = names.root(str(root))
    real = os.open

    def replace(path: str, flags: int) -> int:
        (root / "f").unlink()
        (root / "f").symlink_to("../outside/secret")
        return real(path, flags & ~os.O_NOFOLLOW)

    monkeypatch.setattr(os, "open", replace)
    refused({errno.ESTALE}, lambda: names.open_file("f", top, follow=False))


def test_root_reached_through_a_link_is_refused(names: PathHandles, root: Path) -> None:
    (root.parent / "other").symlink_to(root.parent)
    refused({errno.ESTALE}, lambda: names.root(str(root.parent / "other" / "R")))


def test_every_handle_is_let_go(names: PathHandles, root: Path) -> None:
    top = names.root(str(root))
    inner = names.enter("d", top)
    refused({errno.ENOENT}, lambda: names.enter("missing", inner))
    for handle in (inner, top):
        names.close(handle)
    with pytest.raises(KeyError):
        names.status(top)


def test_junctions_are_refused(
    names: PathHandles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = names.root(str(root))
    real = os.lstat

    class Junction:
        """What Windows says of a directory that leads elsewhere."""

        def __init__(self, status: os.stat_result) -> None:
            self.st_mode, self.st_dev, self.st_ino = status.st_mode, status.st_dev, status.st_ino
            self.st_file_attributes = 0x410

    monkeypatch.setattr(os, "lstat", lambda path: Junction(real(path)))
    refused({errno.EACCES}, lambda: names.enter("d", top))


@pytest.mark.parametrize(
    "name",
    ["f:stream", "a\\b", "a/b", "NUL", "con", "Com1.txt", "f.", "f ", "a*", "lpt¹", "aux .x"],
)
def test_name_that_means_something_else_on_windows_is_not_there(root: Path, name: str) -> None:
    assert not is_plain_windows_name(name)
    names = PathHandles(windows=True)
    top = names.root(str(root))
    asks: tuple[Callable[[str, int], object], ...]
    asks = (names.enter, names.lstat, names.stat, names.readlink)
    for ask in asks:
        refused({errno.ENOENT}, partial(ask, name, top))


@pytest.mark.parametrize("name", ["f", "console", "com", "com10", ".git", "a b", "é", "nul_"])
def test_name_that_means_itself_on_windows_is_taken(name: str) -> None:
    assert is_plain_windows_name(name)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("C:\\proj\\a", ["C:", "proj", "a"]),
        ("c:/proj//./a/", ["c:", "proj", "a"]),
        ("a\\..\\b", ["a", "..", "b"]),
        ("C:/", ["C:"]),
    ],
)
def test_windows_path_is_taken_apart(text: str, parts: list[str]) -> None:
    text = normalized(text, windows=True)
    assert components(text) == parts
    assert absolute(text, windows=True) is (parts[0].lower() == "c:")


@pytest.mark.parametrize(
    "text",
    ["\\\\server\\share", "//server/x", "\\\\?\\C:\\x", "\\\\.\\nul", "C:x", "C:", "\\x", "/x"],
)
def test_windows_path_on_no_drive_is_refused(text: str) -> None:
    with pytest.raises(InvalidPath):
        normalized(text, windows=True)


def test_path_is_put_together() -> None:
    assert join(["C:", "x"], windows=True) == "C:/x"
    assert join(["C:"], windows=True) == "C:/"
    assert join(["x", "y"], windows=False) == "/x/y"
    assert join([], windows=False) == "/"
    assert normalized("C:\\x", windows=False) == "C:\\x"
