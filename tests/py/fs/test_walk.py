"""The walk: its order, the directories it never enters or holds open, and its end."""

import errno
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.errors import Cancelled, NotFound, PathError, PermissionRefused
from backstaff.fs.entry import Kind, Named, entries_in, lstat
from backstaff.fs.handles import DEEPEST
from backstaff.fs.walk import Arrange, Step, Walk
from tests.py.processes import unprivileged
from tests.py.trees import Plant

LEVELS, NAME = DEEPEST, "d" * 50


def by_name(directory: int, _path: str) -> list[Named]:
    return sorted(entries_in(directory, Budget()))


@contextmanager
def walk(root: Path, arrange: Arrange = by_name, budget: Budget | None = None) -> Iterator[Walk]:
    """A walk below `root`."""
    start = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with Walk(start, arrange, budget or Budget()) as walk:
            yield walk
    finally:
        os.close(start)


def everything(walk: Walk) -> Iterator[Step]:
    """Every step of `walk`, which enters all it can."""
    for step in walk:
        if step.kind is Kind.DIRECTORY:
            walk.enter(step)
        yield step


def paths(root: Path, arrange: Arrange = by_name) -> list[str]:
    with walk(root, arrange) as running:
        return [step.path for step in everything(running)]


def descriptors() -> set[Path]:
    """The descriptors that this process holds open, except the one that lists them."""
    return {path for path in Path("/proc/self/fd").iterdir() if path.exists()}


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() == before


# ---------------------------------------------------------------------------- order


def test_walk_goes_in_pre_order(tree: Plant) -> None:
    root = tree({"b/c/d": "", "b/a": "", "a": "", "c/": None})
    assert paths(root) == ["a", "b", "b/a", "b/c", "b/c/d", "c"]


def test_walk_keeps_the_order_and_the_choice_of_its_caller(tree: Plant) -> None:
    root = tree({"b/x": "", "b/hidden": "", "a/x": "", "c": ""})

    def backwards(directory: int, path: str) -> Iterable[Named]:
        return (e for e in reversed(by_name(directory, path)) if e[0] != "hidden")

    assert paths(root, backwards) == ["c", "b", "b/x", "a", "a/x"]


def test_steps_tell_name_path_kind_and_depth(tree: Plant) -> None:
    root = tree({"d/f": "12345", "d/l": {"link": "f"}, "p": {"fifo": True}})
    with walk(root) as running:
        told = [(s.name, s.path, s.kind, s.depth) for s in everything(running)]
    assert told == [
        ("d", "d", Kind.DIRECTORY, 1),
        ("f", "d/f", Kind.FILE, 2),
        ("l", "d/l", Kind.SYMLINK, 2),
        ("p", "p", Kind.UNKNOWN, 1),
    ]


def test_step_tells_the_status_of_the_entry_itself(tree: Plant) -> None:
    root = tree({"d/f": "12345", "d/l": {"link": "f"}})
    with walk(root) as running:
        found = {step.path: lstat(step.name, step.directory) for step in everything(running)}
    assert found["d/f"].st_size == 5
    assert found["d/l"] == (root / "d/l").lstat()


def test_directory_is_not_entered_unless_the_caller_says_so(tree: Plant) -> None:
    with walk(tree({"a/x": "", "b/x": ""})) as running:
        found = []
        for step in running:
            found.append(step.path)
            if step.name == "b":
                assert running.enter(step) is None
    assert found == ["a", "b", "b/x"]


def test_directory_is_given_to_arrange_with_its_path(tree: Plant) -> None:
    given = []

    def arrange(directory: int, path: str) -> list[Named]:
        given.append(path)
        return by_name(directory, path)

    paths(tree({"a/b/c/": None, "d/": None}), arrange)
    assert given == ["", "a", "a/b", "a/b/c", "d"]


def test_odd_names_are_walked(tree: Plant) -> None:
    odd = os.fsdecode(b"\xe9t\xe9 \n[*]\\")
    assert paths(tree({f"{odd}/{odd}/{odd}": ""})) == [odd, f"{odd}/{odd}", f"{odd}/{odd}/{odd}"]


trees = st.recursive(
    st.none(),
    lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=9,
).filter(lambda tree: tree is not None)


def grow(directory: int, content: dict[str, object]) -> None:
    for name, below in content.items():
        if isinstance(below, dict):
            os.mkdir(name, dir_fd=directory)
            child = os.open(name, os.O_RDONLY, dir_fd=directory)
            grow(child, below)
            os.close(child)
        else:
            os.close(os.open(name, os.O_CREAT, dir_fd=directory))


def pre_order(content: dict[str, object], prefix: str = "") -> Iterator[str]:
    for name, below in sorted(content.items()):
        yield prefix + name
        if isinstance(below, dict):
            yield from pre_order(below, f"{prefix}{name}/")


@given(trees)
def test_any_tree_is_walked_in_pre_order(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, object]
) -> None:
    root = tmp_path_factory.mktemp("R")
    start = os.open(root, os.O_RDONLY)
    grow(start, content)
    os.close(start)
    assert paths(root) == list(pre_order(content))


# ---------------------------------------------------------------------------- links


def test_link_is_a_leaf(tree: Plant) -> None:
    tree({"secret": ""}, "outside")
    root = tree({"d/f": "", "in": {"link": "d"}, "l": {"link": "../outside"}, "up": {"link": ".."}})
    with walk(root) as running:
        refused = {s.path: running.enter(s) for s in running if s.kind is Kind.SYMLINK}
    assert set(refused) == {"in", "l", "up"}
    assert all(isinstance(error, PathError) for error in refused.values())
    assert paths(root) == ["d", "d/f", "in", "l", "up"]


def swap(root: Path, name: str, kind: str) -> None:
    """Put something else in the place of the directory `name`."""
    (root / name).rename(root / f"{name}-was-here")
    match kind:
        case "link":
            (root / name).symlink_to("../outside")
        case "absolute link":
            (root / name).symlink_to(root.parent / "outside")
        case "file":
            (root / name).write_text("")
        case "fifo":
            os.mkfifo(root / name)


SWAPS = ["link", "absolute link", "file", "fifo", "nothing"]


@pytest.mark.parametrize("kind", SWAPS)
def test_directory_swapped_after_it_was_listed_is_reported_and_not_entered(
    tree: Plant, kind: str
) -> None:
    tree({"secret": ""}, "outside")
    root = tree({"a": "", "d/f": "", "z": ""})

    def arrange(directory: int, path: str) -> list[Named]:
        entries = by_name(directory, path)
        swap(root, "d", kind)
        return entries

    assert_only_d_is_refused(root, arrange)


@pytest.mark.parametrize("kind", SWAPS)
def test_directory_swapped_just_before_it_is_opened_is_reported_and_not_entered(
    tree: Plant, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree({"secret": ""}, "outside")
    root = tree({"a": "", "d/f": "", "z": ""})
    real = os.open

    def swapping(path: str, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        if path == "d":
            swap(root, "d", kind)
        return real(path, flags, *mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    assert_only_d_is_refused(root, by_name)


def assert_only_d_is_refused(root: Path, arrange: Arrange) -> None:
    found: dict[str, PathError | None] = {}
    read = []

    def noting(directory: int, path: str) -> Iterable[Named]:
        read.append(path)
        return arrange(directory, path)

    with walk(root, noting) as running:
        for step in running:
            entered = step.kind is Kind.DIRECTORY
            found[step.path] = running.enter(step) if entered else None
    assert list(found) == ["a", "d", "z"]
    assert isinstance(found["d"], PathError)
    assert read == [""]


def test_directory_moved_away_while_it_is_walked_is_walked_to_its_end(tree: Plant) -> None:
    tree({"secret": ""}, "outside")
    root = tree({"d/a": "", "d/b/c": "", "z": ""})
    found = []
    with walk(root) as running:
        for step in everything(running):
            found.append(step.path)
            if step.path == "d/a":
                swap(root, "d", "link")
    assert found == ["d", "d/a", "d/b", "d/b/c", "z"]


# ---------------------------------------------------------------------------- faults


def refusals(root: Path) -> list[tuple[str, str]]:
    """The directories that could not be entered, with the reasons, and the other entries."""
    told = []
    with walk(root) as running:
        for step in running:
            error = running.enter(step) if step.kind is Kind.DIRECTORY else None
            told.append((step.path, type(error).__name__ if error else ""))
    return told


@pytest.mark.parametrize("mode", [0, 0o311])
def test_unreadable_directory_is_reported_and_the_rest_goes_on(tree: Plant, mode: int) -> None:
    root = tree({"a/x": "", "b/x": "", "c": ""})
    (root / "a").chmod(mode)
    assert unprivileged(lambda: refusals(root)) == [
        ("a", PermissionRefused.__name__),
        ("b", ""),
        ("b/x", ""),
        ("c", ""),
    ]


def test_unreadable_start_is_refused(tree: Plant) -> None:
    def arrange(_directory: int, _path: str) -> list[Named]:
        raise PermissionRefused("permission denied")

    with pytest.raises(PermissionRefused), walk(tree({}), arrange):
        pytest.fail("the walk began")


def test_vanished_directory_is_reported_and_the_rest_goes_on(tree: Plant) -> None:
    root = tree({"a/x": "", "b/x": ""})
    with walk(root) as running:
        steps = iter(running)
        first = next(steps)
        (root / "a/x").unlink()
        (root / "a").rmdir()
        assert isinstance(running.enter(first), NotFound)
        assert [step.path for step in steps] == ["b"]


def test_directory_that_vanishes_once_it_is_open_is_empty(tree: Plant) -> None:
    root = tree({"a/": None, "b": ""})

    def arrange(directory: int, path: str) -> list[Named]:
        if path:
            (root / path).rmdir()
        return by_name(directory, path)

    assert paths(root, arrange) == ["a", "b"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_fault_of_the_system_is_reported_and_the_rest_goes_on(
    tree: Plant, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/x": "", "b": ""})
    with walk(root) as running:
        steps = iter(running)
        first = next(steps)

        def failing(*_: object, **__: object) -> int:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", failing)
            error = running.enter(first)
        assert isinstance(error, PathError)
        assert os.strerror(number).lower() in str(error)
        assert [step.path for step in steps] == ["b"]


def test_directory_that_fails_while_it_is_read_is_reported(tree: Plant) -> None:
    def arrange(directory: int, path: str) -> list[Named]:
        if path == "a":
            raise PathError("input/output error")
        return by_name(directory, path)

    with walk(tree({"a/x": "", "b": ""}), arrange) as running:
        told = [(s.path, s.kind is Kind.DIRECTORY and running.enter(s)) for s in running]
    assert [path for path, _ in told] == ["a", "b"]
    assert isinstance(told[0][1], PathError)


# ---------------------------------------------------------------------------- descriptors


def chain(depth: int) -> str:
    return "d/" * depth + "f"


@pytest.mark.parametrize("depth", [0, 1, 12, 60])
def test_no_more_directories_are_open_than_the_walk_is_deep(tree: Plant, depth: int) -> None:
    root = tree({chain(depth): ""})
    before = len(descriptors())
    deepest = 0

    def arrange(directory: int, path: str) -> list[Named]:
        nonlocal deepest
        entries = by_name(directory, path)
        deepest = max(deepest, len(descriptors()) - before)
        return entries

    assert len(paths(root, arrange)) == depth + 1
    assert depth <= deepest <= depth + 3


def test_what_is_too_deep_is_unreadable_and_a_walk_from_there_reads_it(tree: Plant) -> None:
    root = tree({chain(DEEPEST + 5): "", "z": ""})
    before, deepest, refused = len(descriptors()), 0, list[tuple[int, str]]()
    with walk(root) as running:
        for step in running:
            error = running.enter(step) if step.kind is Kind.DIRECTORY else None
            deepest = max(deepest, len(descriptors()) - before)
            if error:
                refused.append((step.depth, error.message))
    assert deepest <= DEEPEST + 3
    assert refused == [(DEEPEST, "it is too deep")]
    assert step.path == "z"
    assert len(paths(root / ("d/" * DEEPEST))) == 6


def test_wide_tree_does_not_hold_its_directories_open(tree: Plant) -> None:
    root = tree({f"d{n}/f": "" for n in range(100)})
    before = len(descriptors())
    with walk(root) as running:
        assert max(len(descriptors()) for _ in everything(running)) <= before + 4


def break_off(walk: Walk) -> None:
    for step in everything(walk):
        if step.name == "f":
            return


def raise_in_between(walk: Walk) -> None:
    for step in everything(walk):
        if step.name == "f":
            raise ZeroDivisionError


def never_start(_walk: Walk) -> None:
    pass


def keep_the_iterator(walk: Walk) -> None:
    steps = iter(walk)
    walk.enter(next(steps))


@pytest.mark.parametrize("use", [break_off, raise_in_between, never_start, keep_the_iterator])
def test_nothing_stays_open_however_the_walk_ends(tree: Plant, use: Callable[[Walk], None]) -> None:
    root = tree({chain(5): "", "z": ""})
    before = descriptors()
    with suppress(ZeroDivisionError), walk(root) as running:
        use(running)
    assert descriptors() == before


@pytest.mark.parametrize("error", [PermissionRefused("no"), Cancelled(), ZeroDivisionError()])
@pytest.mark.parametrize("where", ["", "d/d"])
def test_nothing_stays_open_when_arrange_raises(tree: Plant, error: Exception, where: str) -> None:
    def arrange(directory: int, path: str) -> list[Named]:
        if path == where:
            raise error
        return by_name(directory, path)

    root = tree({chain(4): ""})
    before = descriptors()
    with suppress(type(error)):
        paths(root, arrange)
    assert descriptors() == before


def test_the_start_stays_the_callers(tree: Plant) -> None:
    start = os.open(tree({"f": ""}), os.O_RDONLY)
    with Walk(start, by_name, Budget()) as running:
        assert len(list(running)) == 1
    assert entries_in(start, Budget()) == [("f", Kind.FILE)]
    os.close(start)


# ---------------------------------------------------------------------------- depth


@pytest.fixture
def deep(tree: Plant) -> Path:
    """A chain of directories whose path is longer than any that the system takes."""
    root = tree({"deep/": None})
    here = os.open(root / "deep", os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir(NAME, dir_fd=here)
        below = os.open(NAME, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    return root / "deep"


@pytest.mark.check(15)
def test_walk_goes_deeper_than_any_path_is_long(deep: Path) -> None:
    with walk(deep) as running:
        steps = list(everything(running))
    assert [step.depth for step in steps] == list(range(1, LEVELS + 1))
    assert steps[-1].path == "/".join([NAME] * LEVELS)
    assert len(steps[-1].path) > os.pathconf("/", "PC_PATH_MAX")


# ---------------------------------------------------------------------------- budget


@dataclass(frozen=True)
class Waning(Budget):
    """A budget that is spent after so many `looks` at it."""

    looks: Iterator[int] = field(default_factory=lambda: iter(range(0)))

    def expired(self) -> bool:
        return next(self.looks, None) is None


def found_in_time(root: Path, looks: int) -> tuple[list[str], bool]:
    """The entries found until the budget is spent, and whether the walk says that it is."""
    budget = Waning(looks=iter(range(looks)))

    def arrange(directory: int, _path: str) -> list[Named]:
        return sorted(entries_in(directory, budget))

    with walk(root, arrange, budget) as running:
        return [step.path for step in everything(running)], running.expired


def test_walk_ends_with_the_time_and_says_so(tree: Plant) -> None:
    root = tree({"a/b/c": "", "a/d": "", "e": "", "f/g": ""})
    whole = paths(root)
    answers = [found_in_time(root, looks) for looks in range(40)]
    for found, expired in answers:
        rest = iter(whole)
        assert all(path in rest for path in found), found  # in the same order
        assert expired or found == whole
    assert [expired for _, expired in answers] == sorted((e for _, e in answers), reverse=True)
    assert answers[0] == ([], True)
    assert answers[-1] == (whole, False)
    assert any(found and expired for found, expired in answers)


def test_walk_that_had_time_enough_is_not_expired(tree: Plant) -> None:
    with walk(tree({"a/b": ""})) as running:
        assert len(list(everything(running))) == 2
    assert not running.expired


def test_time_that_is_up_at_the_start_gives_nothing(tree: Plant) -> None:
    spent = Budget(deadline=0)
    with walk(tree({"a": ""}), lambda d, _: entries_in(d, spent), spent) as running:
        assert list(running) == []
    assert running.expired


def test_cancelled_walk_raises_between_two_steps(tree: Plant) -> None:
    cancelled = threading.Event()
    root = tree({"a": "", "b": ""})
    with walk(root, budget=Budget(cancelled=cancelled)) as running:
        steps = iter(running)
        assert next(steps).path == "a"
        cancelled.set()
        with pytest.raises(Cancelled):
            next(steps)


def test_cancelled_walk_raises_while_a_directory_is_read(tree: Plant) -> None:
    cancelled = threading.Event()
    budget = Budget(cancelled=cancelled)
    with walk(tree({"a/b": ""}), lambda d, _: entries_in(d, budget), budget) as running:
        first = next(iter(running))
        cancelled.set()
        with pytest.raises(Cancelled):
            running.enter(first)
