"""Repositories at the edges: odd settings, parts that are gone, and too much of something."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from backstaff.changes import work_tree
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
    assert "the first" in call(root, "git_log").text, "git reads no index for it"


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
    monkeypatch.setattr(work_tree, "MAX_NESTED", 2)
    assert raw(root) == "## main\n"
    assert undecided(root) == ["s"]


# ------------------------------------------------------------ the reasons why git does not answer


def cloned(root: Path, *options: str) -> Path:
    """A clone of `root` after two more commits."""
    for text in ("two\n", "two\nthree\n"):
        (root / "a").write_text(text)
        git(root, "commit", "-qam", text.strip())
    git(root, "config", "uploadpack.allowFilter", "true")
    clone = root.parent / "clone"
    git(root, "clone", "-q", *options, f"file://{root}", str(clone))
    return clone


def test_object_that_a_partial_clone_left_out_is_the_reason(root: Path) -> None:
    clone = cloned(root, "--filter=blob:none")
    assert raw(clone) == told_of(clone)
    for reply in (
        call(clone, "git_log", path="a", lines="1-2"),
        call(clone, "git_diff", base="HEAD~2"),
    ):
        assert "partial clone leaves some out" in reply.text
        assert "no lines" not in reply.text
    assert "three" in call(clone, "git_log").text


def test_history_that_is_cut_is_told(root: Path) -> None:
    clone = cloned(root, "--depth=1")
    text = call(clone, "git_log", path="a", lines="1-2").text
    assert text.count("or an earlier commit, which this shallow clone has not") == 1
    assert "earlier commits are not here: this is a shallow clone" in call(clone, "git_log").text
    assert "shallow clone" in call(clone, "git_log", grep="first").text
    assert raw(clone) == told_of(clone)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (
            "[core]\nrepositoryformatversion = 1\n[extensions]\nnoSuchThing = x\n",
            "a newer git reads it",
        ),
        ("[core\n", "mend the configuration"),
        ("[core]\nfilemode = perhaps\n", "mend the configuration"),
    ],
)
def test_reason_is_in_the_words_of_git(root: Path, broken: str, words: str) -> None:
    (root / ".git/config").write_text(broken)
    for name in ("git_status_summary", "git_diff", "git_log"):
        reply = call(root, name)
        assert reply.error is not None, reply.text
        assert reply.error["code"] == "INTERNAL"
        assert "git says: " in reply.text
        assert words in reply.text
        assert "no git repository" not in reply.text


def test_references_may_stand_in_a_table(root: Path) -> None:
    shutil.rmtree(root / ".git")
    try:
        git(root, "init", "-q", "-b", "main", "--ref-format=reftable")
    except subprocess.CalledProcessError:
        pytest.skip("needs a git that knows reftable (2.45)")
    git(root, "add", "-A")
    assert raw(root) == told_of(root) == "## No commits yet on main\nA  a\n"
    git(root, "commit", "-qm", "the first")
    assert raw(root) == told_of(root) == "## main\n"
    (root / "a").write_text("two\n")
    assert raw(root) == told_of(root) == "## main\n M a\n"
    assert "\n-one\n+two\n" in call(root, "git_diff").text
    assert "the first" in call(root, "git_log").text


def test_before_the_first_commit_nobody_wrote_a_line(root: Path) -> None:
    git(root, "checkout", "-q", "--orphan", "new")
    assert "'HEAD' has no commit yet" in call(root, "git_log", path="a", lines="1-2").text
    assert call(root, "git_diff").ok


def test_attributes_of_the_repository_that_do_not_count_are_told(root: Path) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("* text\n")
    assert "[.git/info/attributes does not count here]" in call(root, "git_status_summary").text


# ---------------------------------------------------------------------------------- many files


@pytest.mark.parametrize("settings", [(), ("status.renames", "copies"), ("diff.renameLimit", "5")])
def test_files_that_are_moved_at_once_are_renamed_as_for_git(
    root: Path, settings: tuple[str, ...]
) -> None:
    (root / "many").mkdir()
    for number in range(200):
        (root / f"many/{number}").write_text("".join(f"{number} {n}\n" for n in range(20)))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    git(root, "mv", "many", "moved")
    for path in (root / "moved").iterdir():
        path.write_text(path.read_text() + "edited\n")
    git(root, "add", "-A")
    if settings:
        git(root, "config", *settings)
    told = told_of(root)
    assert raw(root) == told
    assert told.count("\nR") == 200, "git finds them by their names"


def test_link_that_is_checked_out_as_a_file_is_unchanged(root: Path) -> None:
    (root / "link").symlink_to("a")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "link")
    git(root, "config", "core.symlinks", "false")
    (root / "link").unlink()
    git(root, "checkout", "link")
    assert raw(root) == told_of(root) == "## main\n"
    (root / "link").write_text("b")
    assert raw(root) == told_of(root) == "## main\n M link\n"
    assert "+b" in call(root, "git_diff").text
