"""The files of a project are those that are there now, whatever changed and whoever asks."""

import errno
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import Cancelled, NoGit, PermissionRefused
from backstaff.fs.entry import COARSE_NS, RACY_NS, is_young, stamp_of
from backstaff.fs.entry import up_to as is_up_to
from backstaff.fs.handles import Descriptors
from backstaff.fs.root import Root
from backstaff.project import files as project_files
from backstaff.project.files import Closed, ProjectFiles
from tests.py.examples import examples, times
from tests.py.processes import unprivileged
from tests.py.project.repositories import RandomRepository, alone, git
from tests.py.trees import Plant, plant, settle


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as home, alone(Path(home)):
        yield


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    project_files.KEPT.clear()


def found_in(
    root: Path, path: str = ".", budget: Budget | None = None, **how: bool
) -> ProjectFiles:
    with Root(str(root)) as opened, opened.resolve(path) as place:
        return project_files.project_files(place, budget or Budget(), **how)


def files(found: ProjectFiles) -> list[str]:
    return list(found.paths)


def whole(found: ProjectFiles) -> tuple[object, ...]:
    """Everything that was found, for comparing."""
    return list(found.paths), list(found.directories), found.ignored, found.not_applied


def fresh(root: Path) -> tuple[object, ...]:
    project_files.KEPT.clear()
    return whole(found_in(root))


def anew(root: Path) -> tuple[object, ...]:
    """Walk without the files that are kept, and keep those all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(project_files, "KEPT", LRUCache(0, lambda _: 1))
        return whole(found_in(root))


def test_files_and_directories_stand_in_the_order_of_the_walk(tree: Plant) -> None:
    root = tree(
        {
            "b": "",
            "a/x": "",
            "a/y": {"link": "x"},
            "a/fifo": {"fifo": True},
            "B/": None,
            ".gitignore": "b\n",
        }
    )
    git(root, "init", "-q")
    found = found_in(root)
    assert files(found) == [".gitignore", "a/x", "a/y"]
    assert [one.path for one in found.directories] == ["", "B", "a"]
    assert [[*one.paths] for one in found.directories] == [[".gitignore"], [], ["a/x", "a/y"]]
    assert [list(one.links) for one in found.directories] == [[], [], ["y"]]
    assert found.ignored == 1


def test_without_a_change_nothing_is_read_again(tree: Plant) -> None:
    root = tree({"a/b/c": "", "a/d": "", ".gitignore": "*.o\n"})
    settle(root)
    first = found_in(root).paths
    assert found_in(root).paths is first


def test_what_changed_just_before_it_was_read_has_no_stamp(tree: Plant) -> None:
    status = tree({"a": ""}).stat()
    newest = max(status.st_mtime_ns, status.st_ctime_ns)
    assert all(is_young(stamp_of(status), newest + age) for age in (-1, 0, RACY_NS))
    assert not is_young(stamp_of(status), newest + RACY_NS + 1)


@pytest.mark.parametrize("coarse", [(5_000_000_000, 5_000_000_001), (5_000_000_001, 5_000_000_000)])
def test_whole_seconds_of_a_file_system_need_two_seconds_to_settle(coarse: tuple[int, int]) -> None:
    stamp = (*coarse, 1, 1, 1)
    assert is_young(stamp, max(coarse) + COARSE_NS)
    assert not is_young(stamp, max(coarse) + COARSE_NS + 1)
    assert not is_young((5_000_000_001, 5_000_000_001, 1, 1, 1), 5_000_000_002 + RACY_NS)


def test_new_file_deep_below_is_found(tree: Plant) -> None:
    root = tree({"a/b/c": "", "d/e/f": "", "d/.gitignore": "*.o\n"})
    settle(root)
    assert files(found_in(root)) == ["a/b/c", "d/.gitignore", "d/e/f"]
    (root / "a/b/new").touch()
    assert files(found_in(root)) == ["a/b/c", "a/b/new", "d/.gitignore", "d/e/f"]


@pytest.mark.parametrize("name", [".gitignore", "a/.gitignore"])
def test_rules_that_change_in_place_count(tree: Plant, name: str) -> None:
    root = tree({name: "x\n", "a/x": "", "a/y": ""})
    git(root, "init", "-q")
    settle(root)
    assert files(found_in(root)) == sorted([name, "a/y"])
    (root / name).write_text("y\n")
    assert files(found_in(root)) == sorted([name, "a/x"])


def test_rules_of_the_repository_and_the_user_that_change_count(tree: Plant) -> None:
    root = tree({"a/x": "", "a/y": "", "a/z": ""})
    git(root, "init", "-q")
    (root / ".git/info/exclude").write_text("x\n")
    settle(root)
    assert files(found_in(root)) == ["a/y", "a/z"]
    (root / ".git/info/exclude").write_text("y\n")
    assert files(found_in(root)) == ["a/x", "a/z"]
    (root / ".git/more").write_text("z\n")
    git(root, "config", "core.excludesFile", ".git/more")
    assert files(found_in(root)) == ["a/x"]


@pytest.mark.parametrize("how", ["at once", "lazily"])
def test_what_is_kept_stays_when_git_add_hides_no_other_names(tree: Plant, how: str) -> None:
    lazily = how == "lazily"
    root = tree({"a/x.o": "", "a/y": "", "b": "", ".gitignore": "*.o\n", "c/.git/HEAD": ""})
    git(root, "init", "-q")
    settle(root)
    first = found_in(root, lazily=lazily).paths
    git(root, "add", "a", "b")
    settle(root)
    for _ in range(2):
        assert found_in(root, lazily=lazily).paths is first
    git(root, "add", "-f", "a/x.o")
    assert files(found_in(root, lazily=lazily)) == [".gitignore", "b", "a/x.o", "a/y"]


def test_file_that_becomes_tracked_or_is_no_longer_counts(tree: Plant) -> None:
    root = tree({"a/x.o": "", "a/y": "", ".gitignore": "*.o\n"})
    git(root, "init", "-q")
    settle(root)
    assert files(found_in(root)) == [".gitignore", "a/y"]
    git(root, "add", "-f", "a/x.o")
    assert files(found_in(root)) == [".gitignore", "a/x.o", "a/y"]
    git(root, "rm", "-q", "--cached", "a/x.o")
    assert files(found_in(root)) == [".gitignore", "a/y"]


def test_file_that_is_tracked_though_ignored_stays_when_others_become_tracked(tree: Plant) -> None:
    forced = ["a/x.o", "b/c/d", "b/c/e"]
    others = {".gitignore": "*.o\n/b/\n", "z": "", "b/f": "", "b-": "", "b.o": ""}
    root = tree(others | dict.fromkeys(forced, ""))
    git(root, "init", "-q")
    git(root, "add", "-f", *forced)
    (root / "b/c/e").unlink()
    settle(root)
    there = [".gitignore", "b-", "z", "a/x.o", "b/c/d"]
    assert files(found_in(root)) == there
    git(root, "add", "z")
    assert files(found_in(root)) == there
    assert files(found_in(root)) == there
    git(root, "rm", "-q", "--cached", "b/c/d")
    assert files(found_in(root)) == [".gitignore", "b-", "z", "a/x.o"]


CHANGES = {
    "a repository within is none any more": (
        "touch b/x; git init -q b",
        "rm -r b/.git",
    ),
    "all that is ignored is tracked, and a rule comes": (
        "git add -f a/x.o",
        "echo '*.p' >>.gitignore",
    ),
    "a tracked file comes back": (
        "git add -f a/x.o; rm a/x.o",
        "touch a/x.o",
    ),
    "rules go with their directory, which comes back without": (
        "mkdir d; echo '!x' >d/.gitignore; touch d/x; git add d/x",
        "rm -r d",
        "mkdir d; touch d/x",
    ),
    "there is no git any more": (
        "git add -f a/x.o",
        "rm -r .git",
    ),
    "a directory with a tracked file becomes an ignored file": (
        "mkdir x; touch x/y; git add -f x/y",
        "rm -r x; touch x",
    ),
    "another file is tracked in an ignored directory, and gone": (
        "mkdir x; touch x/y x/z; git add -f x/y",
        "git add -f x/z; git rm -q --cached x/y; rm x/z",
    ),
    "what is tracked in an ignored repository changes": (
        "mkdir x; touch x/y; git add -f x/y",
        "git init -q x; mv x/y x/z; touch b/y",
        "git rm -q --cached x/y",
    ),
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_nothing_is_stale_when(tree: Plant, changes: tuple[str, ...]) -> None:
    root = tree({".gitignore": "*.o\n/x\n", "a/x.o": "", "a/y": "", "b/z": ""})
    for change in ("git init -q", *changes):
        subprocess.run(["sh", "-ec", change], cwd=root, check=True)  # noqa: S603, S607
        settle(root)
        assert whole(found_in(root)) == anew(root), change


def test_hidden_directory_that_could_not_be_read_stays_hidden(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({".gitignore": "b/\n", "b/kept": "", "b/other": "", "y": ""})
    git(root, "init", "-q")
    git(root, "add", "-f", "b/kept")
    settle(root)

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(Descriptors, "enter_to_list", fail)
        assert found_in(root).closed(Closed.UNREADABLE) == ["b"]
    assert files(found_in(root)) == [".gitignore", "y", "b/kept"]


def test_copies_that_emacs_saves_by_itself_are_no_files_of_a_project(tree: Plant) -> None:
    root = tree({"#a.py#": "", "#": "", "#one": "", "d/#b.py#": "", "d/ x": ""})
    assert files(found_in(root)) == ["#", "#one", "d/ x"]
    git(root, "init", "-q")
    git(root, "add", "d/#b.py#")
    assert files(found_in(root)) == ["#", "#one", "d/ x"]


def test_locks_of_emacs_are_no_files_of_a_project(tree: Plant) -> None:
    root = tree({"a.py": "", "d/b.py": "", "d/.#file": ""})
    for lock in (".#a.py", "d/.#b.py"):
        (root / lock).symlink_to("me@host.1:2")
    (root / "d/link").symlink_to("b.py")
    assert files(found_in(root)) == ["a.py", "d/.#file", "d/b.py", "d/link"]


def test_directory_that_opens_but_cannot_be_read_is_told_and_tried_again(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/x": "", "b/c/y": "", "z": ""})
    settle(root)
    scan = Descriptors.scan

    def fail(directory: int) -> "os._ScandirIterator[str]":
        if os.path.samestat(os.fstat(directory), (root / "b").stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return scan(directory)

    with monkeypatch.context() as patch:
        patch.setattr(Descriptors, "scan", staticmethod(fail))
        found = found_in(root)
        assert found.closed(Closed.UNREADABLE) == ["b"]
        assert files(found) == ["z", "a/x"]
    assert files(found_in(root)) == ["z", "a/x", "b/c/y"]


def test_directory_that_becomes_a_repository_is_entered_no_longer(tree: Plant) -> None:
    root = tree({"a/x": "", "y": ""})
    git(root, "init", "-q")
    (root / "a/.git").mkdir()
    settle(root)
    assert files(found_in(root)) == ["y", "a/x"]
    git(root / "a", "init", "-q")
    found = found_in(root)
    assert files(found) == ["y"]
    assert found.closed(Closed.REPOSITORY) == ["a"]
    assert files(found_in(root, "a")) == ["x"]


def test_repository_within_that_is_broken_or_mended_in_place_is_noticed(tree: Plant) -> None:
    root = tree({"a/x": "", "a/.c": "", "y": ""})
    git(root, "init", "-q")
    git(root / "a", "init", "-q")
    head = root / "a/.git/HEAD"
    for text, expected in (("no\n", ["y", "a/.c", "a/x"]), ("ref: refs/heads/main\n", ["y"])) * 2:
        head.write_text(text)
        with Root(str(root)) as project, project.directory(".") as place:
            kept = project_files.project_files(place, Budget(), lazily=True)
            if kept.unconfirmed:
                with pytest.raises(project_files.Changed):
                    kept.confirm("a/.c")
        settle(root)
        assert files(found_in(root)) == expected
    assert kept.unconfirmed


def test_without_a_work_tree_no_rule_counts_and_the_reason_is_told(tree: Plant) -> None:
    root = tree({".gitignore": "x\n", "a/x": "", "a/y": "", "a/.git": {"fifo": True}, "x": ""})
    found = found_in(root)
    assert found.repository is found.not_applied is NoGit.NO_WORK_TREE
    assert files(found) == [".gitignore", "x", "a/x", "a/y"]
    assert not found_in(root, "a").not_applied, "there is no .gitignore"


def test_everything_is_there_on_request_but_for_dot_git(tree: Plant) -> None:
    root = tree({".gitignore": "x\n", "a/x": "", "b/c": ""})
    git(root, "init", "-q")
    git(root / "b", "init", "-q")
    assert files(found_in(root, include_ignored=True)) == [".gitignore", "a/x", "b/c"]


def test_rules_above_the_start_count(tree: Plant) -> None:
    root = tree({".gitignore": "/a/b/x\n", "a/b/x": "", "a/b/y": "", "a/x": ""})
    git(root, "init", "-q")
    assert files(found_in(root, "a/b")) == ["y"]
    assert files(found_in(root / "a/b")) == ["y"]
    settle(root)
    assert files(found_in(root, "a/b")) == ["y"]
    (root / ".gitignore").write_text("/a/b/y\n")
    assert files(found_in(root, "a/b")) == ["x"]


@pytest.mark.parametrize("name", [".gitignore", "a/.gitignore"])
def test_git_that_waits_for_a_fifo_of_rules_is_not_waited_for_long(
    tree: Plant, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_files, "LIST_SECONDS", 0.3)
    root = tree({name: {"fifo": True}, "a/x": "", "b/.gitignore": "y\n", "b/y": ""})
    git(root, "init", "-q")
    settle(root)
    found = found_in(root)
    assert files(found) == ["a/x", "b/.gitignore", "b/y"]
    assert found.not_applied is NoGit.SLOW
    (root / name).unlink()
    assert files(found_in(root)) == ["a/x", "b/.gitignore"]


@pytest.mark.slow
def test_what_a_mutation_leaves_is_what_is_there(folder: Path) -> None:
    chance = random.Random(7)  # noqa: S311
    repository = RandomRepository(folder / "R", 7, exotic=False)
    repository.make()
    for number in range(times(1 / 2)):
        with suppress(subprocess.CalledProcessError):  # git refuses some, such as an empty one
            mutate(repository, chance, number)
        if number % 3 == 0:
            settle(repository.root)
        assert whole(found_in(repository.root)) == anew(repository.root), number


def mutate(repository: RandomRepository, chance: random.Random, number: int) -> None:
    """Change something below the root, by `chance`."""
    root = repository.root
    places = [path for path in (root, *root.rglob("*")) if path.is_dir() and not path.is_symlink()]
    place = chance.choice([path for path in places if ".git" not in path.parts])
    inside = [path for path in place.iterdir() if path.name != ".git"]
    match chance.randrange(13):
        case 0 | 1:
            (place / f"new{number}").touch()
        case 2:
            (place / f"dir{number}").mkdir()
        case 3 if inside:
            victim = chance.choice(inside)
            shutil.rmtree(
                victim
            ) if victim.is_dir() and not victim.is_symlink() else victim.unlink()
        case 4 if inside:
            chance.choice(inside).rename(root / f"moved{number}")
        case 5 if not (place / ".gitignore").is_symlink():
            (place / ".gitignore").write_bytes(repository.rules())
        case 6 if place != root:
            dot_git = place / ".git"
            shutil.rmtree(dot_git) if dot_git.is_dir() else git(place, "init", "-q")
        case 7:
            git(root, "rm", "-rq", "--cached", "--ignore-unmatch", str(place.relative_to(root)))
        case 8 | 9:  # git's option adds the rest, where a random file cannot be read
            git(root, "add", "-f", "-A", "--ignore-errors", str(place))
        case 10 | 11 if place != root:
            repository.confuse(place)
        case _:
            os.utime(place, (1, 1))


@pytest.mark.slow
def test_what_is_confirmed_up_to_a_path_is_there_up_to_it(folder: Path) -> None:
    chance = random.Random(8)  # noqa: S311
    repository = RandomRepository(folder / "R", 9, exotic=False)
    repository.make()
    plant(repository.root, {"~/a/x": "", "~/b/x": ""})
    later = 0
    for number in range(times(1 / 4)):
        settle(repository.root)
        project_files.KEPT.clear()
        found_in(repository.root)
        if number % 2:
            (repository.root / f"~/b/{number}").touch()
        else:
            with suppress(subprocess.CalledProcessError):
                mutate(repository, chance, number)
        with Root(str(repository.root)) as root, root.resolve(".") as place:
            kept = project_files.project_files(place, Budget(), lazily=True)
            project_files.KEPT.clear()
            now = project_files.project_files(place, Budget())
            for last in kept.paths[::4]:
                with suppress(project_files.Changed):
                    kept.confirm(last)
                    assert up_to(now, last) == up_to(kept, last), (number, last)
                    later += whole(now) != whole(kept)
    assert later, "some changes are after the path"


def up_to(found: ProjectFiles, last: str) -> tuple[object, ...]:
    """Return what is found up to the path `last`."""
    is_early = is_up_to(last)
    early = [one for one in found.directories if not one.path or is_early(f"{one.path}/")]
    return list(filter(is_early, found.paths)), [
        (one.path, one.closed, one.ignored) for one in early
    ]


@pytest.mark.slow
@examples(1 / 15)
@given(seed=st.integers(0, 1 << 40))
def test_second_walk_finds_what_the_first_did(seed: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "R"
        RandomRepository(root, seed, exotic=True).make()
        project_files.KEPT.clear()
        assert whole(found_in(root)) == whole(found_in(root)) == fresh(root)


def test_rules_count_for_all_in_their_directory_even_for_names_before_theirs(tree: Plant) -> None:
    root = tree({".github/x.yml": "", ".gitignore": "*.o\n", "z": ""})
    git(root, "init", "-q")
    settle(root)
    found_in(root)
    (root / ".gitignore").write_text(".github\n")
    with Root(str(root)) as opened, opened.resolve(".") as place:
        kept = project_files.project_files(place, Budget(), lazily=True)
        with pytest.raises(project_files.Changed):
            kept.confirm(".github/x.yml")


def test_calls_at_once_share_what_is_kept(tree: Plant) -> None:
    root = tree({f"d{number}/f{other}": "" for number in range(30) for other in range(5)})
    stop, wrong = threading.Event(), list[object]()

    def ask() -> None:
        while not stop.is_set():
            found = found_in(root)
            names = [name for name in files(found) if "/f" in name]
            if len(names) != 150:
                wrong.append(files(found))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(100):
        extra = root / f"d{number % 30}" / "extra"
        extra.touch()
        extra.unlink()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_kept_is_bounded(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_files.KEPT, "most", 12)
    one = tree({f"f{number}": "" for number in range(8)}, "one")
    two = tree({f"f{number}": "" for number in range(8)}, "two")
    settle(one)
    settle(two)
    first = found_in(one).paths
    assert found_in(one).paths is first
    found_in(two)
    assert found_in(one).paths is not first


def test_what_is_kept_is_bounded_by_directories_too(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_files.KEPT, "most", 8)
    root = tree({f"d{number}": None for number in range(8)})
    settle(root)
    first = found_in(root).directories
    assert found_in(root).directories is not first


def test_directory_that_cannot_be_read_is_told(tree: Plant) -> None:
    root = tree({"a/x": "", "b": ""})
    (root / "a").chmod(0)
    found = unprivileged(lambda: found_in(root))
    assert found.closed(Closed.UNREADABLE) == ["a"]
    assert files(found) == ["b"]
    (root / "a").chmod(0o755)
    root.chmod(0o311)

    def refused() -> bool:
        with pytest.raises(PermissionRefused):
            found_in(root)
        return True

    assert unprivileged(refused)


def test_time_that_is_up_is_told_and_nothing_is_kept(tree: Plant) -> None:
    root = tree({"a/x": "", "b/y": ""})
    settle(root)
    assert found_in(root, budget=Budget(time.monotonic() - 1)).expired
    assert files(found_in(root)) == ["a/x", "b/y"]


def test_call_that_is_taken_back_ends(tree: Plant) -> None:
    root = tree({"a/x": ""})
    budget = Budget()
    budget.cancelled.set()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(Cancelled):
        found_in(root, budget=budget)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_link_is_never_entered(tree: Plant) -> None:
    root = tree({"a/x": "", "loop": {"link": "."}, "out": {"link": "/etc"}})
    assert files(found_in(root)) == ["loop", "out", "a/x"]
