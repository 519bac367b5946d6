"""Repositories at the edges: odd settings, parts that are gone, and too much of something."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from backstaff.changes import status
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from tests.py.changes.random_states import git, told_of

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


def test_split_index_is_refused_with_the_way_out(root: Path) -> None:
    git(root, "update-index", "--split-index")
    for name in ("git_status_summary", "git_diff"):
        assert "`git update-index --no-split-index` ends that" in call(root, name).text


@pytest.mark.parametrize(
    "value", ["", " = ", " = 0", " = 00", " = 0x0k", " = no", " = OFF", " = 2", " = yes", " = on"]
)
def test_settings_are_on_and_off_as_git_reads_them(root: Path, value: str) -> None:
    config = root / ".git/config"
    config.write_text(config.read_text().replace("filemode = true", f"filemode{value}"))
    (root / "a").chmod(0o755)
    assert raw(root) == told_of(root)


def test_submodule_before_its_first_commit_differs_in_its_files_alone(root: Path) -> None:
    inner = root.parent / "inner"
    shutil.copytree(root, inner)
    git(root, "submodule", "add", "-q", str(inner), "mod")
    git(root, "commit", "-qm", "a submodule")
    shutil.rmtree(root / "mod")
    (root / "mod").mkdir()
    git(root / "mod", "init", "-q", "-b", "main")
    assert raw(root) == told_of(root) == "## main\n"
    (root / "mod/new").write_text("")
    assert raw(root) == told_of(root) == "## main\n M mod\n"


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
    assert raw(root) == told_of(root) == "## main\n M s\n"
    monkeypatch.setattr(status, "MAX_NESTED", 2)
    assert raw(root) == "## main\n"
    assert undecided(root) == ["s"]
