"""Repositories at the edges: odd settings, parts that are gone, and too much of something."""

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from backstaff.budget import Budget
from backstaff.changes import objects, status
from backstaff.changes.index import parse
from backstaff.changes.renames import with_renames
from backstaff.changes.work_tree import opened
from backstaff.errors import Cancelled, DeadlineExceeded
from backstaff.fs import file
from backstaff.fs.file import Content
from backstaff.fs.handles import DEEPEST
from backstaff.fs.root import Root
from backstaff.project.git import Repository, find_repository
from backstaff.project.ignore import MAX_BYTES, MAX_LINES
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from tests.py.changes.random_states import ME, fork_and_wait, git, status_of
from tests.py.changes.test_hostile import index_of

pytestmark = pytest.mark.slow


@pytest.fixture
def root(folder: Path) -> Path:
    """A repository with one commit of one file."""
    root = folder / "R"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the first")
    return root


def call(root: Path, name: str, **arguments: object) -> Reply:
    """The reply of the tool `name` of the workspace."""
    return Server(discover(), Settings(), str(root)).call(f"workspace/{name}", arguments, {})


def raw(root: Path) -> object:
    """The status as git would print it."""
    reply = call(root, "git_status_summary")
    assert reply.ok, reply.text
    return (reply.data or {})["raw"]


def undecided(root: Path) -> list[str]:
    """The files of which the status cannot tell."""
    data: dict[str, Any] = dict(call(root, "git_status_summary").data or {})
    return list(data["undecided"])


def test_index_whose_shared_one_is_gone_is_no_empty_index(root: Path) -> None:
    git(root, "update-index", "--split-index")
    for path in (root / ".git").glob("sharedindex.*"):
        path.unlink()
    for name in ("git_status_summary", "git_diff"):
        assert "cannot be read" in call(root, name).text


@pytest.mark.parametrize(
    "value", ["", " = ", " = 0", " = 00", " = 0x0k", " = no", " = OFF", " = 2", " = yes", " = on"]
)
def test_settings_are_on_and_off_as_git_reads_them(root: Path, value: str) -> None:
    config = root / ".git/config"
    config.write_text(config.read_text().replace("filemode = true", f"filemode{value}"))
    (root / "a").chmod(0o755)
    assert raw(root) == status_of(root)


def test_submodule_before_its_first_commit_differs_in_its_files_alone(root: Path) -> None:
    inner = root.parent / "inner"
    shutil.copytree(root, inner)
    git(root, "submodule", "add", "-q", str(inner), "mod")
    git(root, "commit", "-qm", "a submodule")
    shutil.rmtree(root / "mod")
    (root / "mod").mkdir()
    git(root / "mod", "init", "-q", "-b", "main")
    assert raw(root) == status_of(root) == "## main\n"
    (root / "mod/new").write_text("")
    assert raw(root) == status_of(root) == "## main\n M mod\n"


def test_submodule_with_an_undecided_file_is_undecided(root: Path) -> None:
    (root / ".gitattributes").write_text("a filter=x\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    inner = root.parent / "inner"
    shutil.copytree(root, inner)
    git(root, "submodule", "add", "-q", str(inner), "mod")
    git(root, "commit", "-qm", "a submodule")
    git(root / "mod", "config", "filter.x.clean", "cat")
    (root / "mod/a").write_text("two\n")
    assert raw(root) == "## main\n"
    assert undecided(root) == ["mod"]


def test_submodules_within_each_other_are_looked_into_as_far_as_there_is_room(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "s/s/s").mkdir(parents=True)
    for path in ("s/s/s", "s/s", "s", "."):
        inner = root / path
        git(inner, "init", "-q", "-b", "main")
        if (inner / "s").exists():
            git(inner, "add", "s")
        git(inner, "commit", "--allow-empty", "-qm", "one")
    (root / "s/s/s/new").write_text("")
    assert raw(root) == status_of(root) == "## main\n M s\n"
    monkeypatch.setattr(status, "MAX_NESTED", 2)
    assert raw(root) == "## main\n"
    assert undecided(root) == ["s"]


def test_files_that_are_large_together_are_shown_in_smaller_groups(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backstaff.project import running_git

    for module in (running_git, objects):
        monkeypatch.setattr(module, "MAX_OUTPUT", 100_000)
    for number in range(30):
        (root / f"f{number:02}").write_text(f"{number}\n" * 3000)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "large ones")
    for number in range(30):
        with (root / f"f{number:02}").open("a") as file:
            file.write("more\n")
    text = call(root, "git_diff", output="stat").text
    assert text.count("+1 -0\n") == 30, text


@pytest.mark.parametrize("line", ["#\n" * (MAX_LINES + 1), "#" * MAX_BYTES + "\n"])
def test_file_below_attributes_that_are_too_large_is_undecided(root: Path, line: str) -> None:
    (root / "d").mkdir()
    (root / "d/.gitattributes").write_text(f"{line}b text\n")
    (root / "d/b").write_text("one\r\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    os.utime(root / "d/b", (1, 1))
    assert undecided(root)[-1] == "d/b"


def test_new_files_are_read_while_there_is_time(root: Path) -> None:
    for name in ("new", "other"):
        (root / name).write_text("one\n")
        git(root, "add", "-N", name)
    (root / "a").unlink()
    with Root(str(root)) as opened_root, opened_root.directory(".") as place:
        repository = find_repository(place.listing(), str(root), Budget())
        assert isinstance(repository, Repository)
        with opened(place, repository, Budget()) as tree:
            changed, _ = status.differences(tree)
            assert sum(not one.old for one in changed.values()) == 2
            tree.budget = Budget(0)
            with pytest.raises(DeadlineExceeded):
                with_renames(tree, changed)


def test_files_are_compared_while_there_is_time(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    is_cancelled = threading.Event()

    def read(name: str, directory: int, most: int) -> Content:
        compared.append(name)
        is_cancelled.set()
        return file.read(name, directory, most)

    for name in "bcd":
        (root / name).write_text("one\n")
    git(root, "add", "-A")
    for name in "abcd":
        os.utime(root / name, (1, 1))
    monkeypatch.setattr(status, "read", read)
    with Root(str(root)) as opened_root, opened_root.directory(".") as place:
        repository = find_repository(place.listing(), str(root), Budget())
        assert isinstance(repository, Repository)
        budget = Budget(cancelled=is_cancelled)
        with opened(place, repository, budget) as tree, pytest.raises(Cancelled):
            status.differences(tree)
    assert compared == ["a"]


def test_entry_is_found_quickly_among_many_in_a_directory() -> None:
    names = [b"%06d" % number for number in range(100_000)]
    index = parse(index_of(names), 20, 0, "", lambda _: b"", Budget())
    budget = Budget().at_most(5)
    for number in budget.checked(range(0, 100_000, 10)):
        assert index.get(f"{number:06}")
        assert not index.has(f"{number:06}x")


def test_file_that_is_too_deep_is_undecided_though_a_second_process_could_look(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "HELPED_FROM", -1)
    monkeypatch.setattr(os, "fork", fork_and_wait)
    deep = ["d/" * (DEEPEST - 1) + "f", "d/" * DEEPEST + "f"]
    for path in deep:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("one\n")
        os.utime(root / path, (1, 1))
    git(root, *ME, "add", "-A")
    git(root, *ME, "commit", "-qm", "deep")
    assert undecided(root) == deep[1:]
