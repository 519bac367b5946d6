"""Asking git: its answers, and that a repository cannot make it do anything else."""

import hashlib
import os
import select
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backstaff import programs
from backstaff.budget import Budget
from backstaff.errors import Cancelled, NoGit, Unanswered
from backstaff.fs import handles
from backstaff.fs.root import Place, Root
from backstaff.project import files as listing
from backstaff.project import git as asking
from backstaff.project import running_git
from backstaff.project.edits import edits
from backstaff.project.files import project_files
from backstaff.project.git import Repository, find_repository
from backstaff.project.running_git import hardened
from tests.py.processes import DEADLINE, as_root
from tests.py.project.repositories import git
from tests.py.trees import settle

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_git_settings")]


@pytest.fixture
def root(folder: Path) -> Path:
    """A repository with three commits."""
    root = folder / "R"
    (root / "d").mkdir(parents=True)
    git(root, "init", "-q", "-b", "trunk")
    for name in ("a", "d/b", "new\nline", "0" * 40):
        (root / name).write_text(name)
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    git(root, "commit", "-qm", "empty", "--allow-empty")
    (root / "d/b").write_text("more")
    git(root, "commit", "-qam", "three")
    return root


@contextmanager
def opened(path: Path, root: Path | None = None) -> Iterator[Place]:
    """The directory `path` of the project `root`."""
    with Root(str(root or path)) as project, project.directory(str(path)) as place:
        yield place


@contextmanager
def asked(path: Path, root: Path | None = None) -> Iterator[Repository]:
    """The repository at `path`."""
    with opened(path, root) as place:
        yield find_repository(place, Budget())


def tracked(repository: Repository) -> list[str]:
    """All files that are tracked, in git's order."""
    return repository.entries("ls-files", "-z", *repository.below())


def log(repository: Repository, commit: str) -> bytes:
    """The files that each commit up to `commit` touched, as git lists them."""
    return repository.ask("log", "--name-only", "--format=", commit, *repository.below())


def edited(path: Path) -> list[list[str]]:
    """The files that each commit touched below `path`, the latest first."""
    with opened(path) as place:
        return [*map(list, edits(place, find_repository(place, Budget()), Budget()).commits)]


def branch(repository: Repository) -> str:
    """The name of the branch, "" for none."""
    words = ("symbolic-ref", "--quiet", "--short", "HEAD")
    return repository.ask(*words, fine=(0, 1)).decode().strip()


def no_git(path: Path, root: Path | None = None) -> str:
    """The reason why there is none at `path`."""
    with opened(path, root) as place, pytest.raises(Unanswered) as raised:
        find_repository(place, Budget())
    return raised.value.why


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A program that is taken for git."""
    program = folder / "bin/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(programs, "_PLACES", (str(program.parent),))
    return program


def test_branch_files_and_commits_are_told(root: Path) -> None:
    everything = {"a", "d/b", "new\nline", "0" * 40}
    with asked(root) as repository:
        assert repository.inside == ""
        assert branch(repository) == "trunk"
        assert tracked(repository) == sorted(everything)
    first, second = edited(root)
    assert (first, set(second)) == (["d/b"], everything)


def test_answers_are_relative_to_the_directory(root: Path) -> None:
    with asked(root / "d") as repository:
        assert repository.inside == "d/"
        assert tracked(repository) == ["d/b"]
    assert edited(root / "d") == [["b"], ["b"]]


def test_newlines_in_the_path_of_a_repository_are_part_of_it(root: Path, folder: Path) -> None:
    moved = folder / "new\n\nline"
    moved.mkdir()
    root = root.rename(moved / "R")
    (root / "in\nside").mkdir()
    for path, depth in ((root, 0), (root / "d", 1), (root / "in\nside", 1)):
        with asked(path) as repository:
            assert repository.inside.count("/") == depth
            assert Path(repository.git.path) == root / ".git"
            assert Path(repository.top.path) == root


def test_detached_head_has_no_branch(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    with asked(root) as repository:
        assert branch(repository) == ""


def test_repository_without_a_commit_has_a_branch_and_no_commits(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "trunk")
    with asked(folder) as repository:
        assert branch(repository) == "trunk"
        assert repository.latest_commit() == ""
    assert edited(folder) == []


def test_what_is_no_work_tree_is_told(folder: Path, root: Path) -> None:
    assert no_git(folder) is NoGit.NO_WORK_TREE
    assert no_git(root / ".git") is NoGit.NO_WORK_TREE


@pytest.mark.parametrize(
    ("there", "started"),
    [("R/f", False), ("R/.git", True), (".git", True), ("HEAD", False), ("R/in/.git", False)],
)
def test_git_is_started_only_where_there_can_be_a_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch, there: str, *, started: bool
) -> None:
    stand_in(folder, monkeypatch, f"touch {folder}/started; exit 128")
    (folder / "R/in").mkdir(parents=True)
    (folder / there).touch()
    no_git(folder / "R")
    assert (folder / "started").exists() == started


def test_broken_repository_is_told(root: Path) -> None:
    (root / ".git/config").write_text("[core\n")
    why = no_git(root)
    assert not isinstance(why, NoGit)
    assert "bad config line 1 in file" in why
    assert why.endswith("(mend the configuration)")


@as_root
def test_repository_of_another_user_is_refused_in_the_words_of_git(root: Path) -> None:
    os.chown(root, 1, 1)
    why = no_git(root)
    assert not isinstance(why, NoGit)
    assert "dubious ownership" in why
    assert f"safe.directory {root}" in why


def test_git_that_is_not_there_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_PLACES", ())
    monkeypatch.setenv("PATH", ".:relative:")
    assert no_git(root) is NoGit.ABSENT


def test_git_that_is_installed_later_is_found(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = programs._PLACES  # noqa: SLF001
    monkeypatch.setattr(programs, "_PLACES", ())
    monkeypatch.setenv("PATH", "")
    assert no_git(root) is NoGit.ABSENT
    monkeypatch.setattr(programs, "_PLACES", places)
    with asked(root) as repository:
        assert repository.inside == ""


def test_git_is_not_taken_from_within_the_project(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(root, monkeypatch, f"touch {root}/ran")
    monkeypatch.setattr(programs, "_PLACES", ())
    monkeypatch.setenv("PATH", str(program.parent))
    assert no_git(root) is NoGit.ABSENT
    assert not (root / "ran").exists()


def test_repository_cannot_make_git_run_anything(root: Path) -> None:
    trap = root / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 >>{root}/ran\n")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("* diff=x filter=x\n")
    for key in ("core.fsmonitor", "core.pager", "core.editor", "gpg.program", "diff.external"):
        git(root, "config", key, str(trap))
    for key in ("diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.process"):
        git(root, "config", key, str(trap))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "alias.ls-files", f"!{trap}")
    git(root, "config", "core.hooksPath", str(root / "hooks"))
    (root / "hooks").mkdir()
    (root / "hooks/post-index-change").symlink_to(trap)
    (root / "d/b").write_text("changed")
    (root / "ran").unlink(missing_ok=True)
    with asked(root) as repository:
        assert branch(repository) == "trunk"
        assert "d/b" in tracked(repository)
        assert log(repository, repository.latest_commit())
    assert not (root / "ran").exists(), (root / "ran").read_text()


@pytest.mark.parametrize("path", ["fixture", "."])
@pytest.mark.parametrize("old", [True, False], ids=["old git", "this git"])
def test_missing_object_of_a_partial_clone_is_not_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, *, old: bool
) -> None:
    if old:  # one that does not know this variable, which is the same to it
        monkeypatch.delitem(running_git._ENVIRONMENT, "GIT_NO_LAZY_FETCH")  # noqa: SLF001
    ran, root = folder / "ran", folder / "R"
    root.mkdir()
    (root / "d").mkdir()
    (root / "d/f").touch()
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    commit, tree = git(root, "rev-parse", "HEAD", "HEAD^{tree}").split()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with (root / ".git/config").open("a") as config:
        config.write(
            "[core]\n\trepositoryformatversion = 1\n\tworktree = .\n"
            "[extensions]\n\tpartialClone = origin\n"
            f'[remote "origin"]\n\turl = ext::/usr/bin/touch {ran}\n\tpromisor = true\n'
            '[protocol "ext"]\n\tallow = always\n'
        )
    if path == "fixture":  # a clone of an ordinary repository can bring this
        (root / ".git").rename(root / "fixture")
    with opened(root / path, root) as place, pytest.raises(Unanswered):
        log(find_repository(place, Budget()), commit)
    assert not ran.exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_repository_that_a_project_only_points_to_tells_nothing(
    root: Path, folder: Path, kind: str
) -> None:
    project = folder / "project"
    project.mkdir()
    if kind == "link":
        (project / ".git").symlink_to(root / ".git")
    else:
        (project / ".git").write_text(f"gitdir: {root}/.git\n")
    assert no_git(project) is NoGit.ELSEWHERE
    with asked(project, folder) as repository:  # a root that has both
        assert log(repository, repository.latest_commit())


def test_linked_work_trees_and_submodules_tell_their_own(root: Path, folder: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "other", str(folder / "linked"))
    with asked(folder / "linked") as repository:
        assert branch(repository) == "other"
    outer = folder / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(root), "module")
    with asked(outer / "module") as repository:
        assert log(repository, repository.latest_commit())


def test_rules_of_a_project_do_not_come_from_files_outside_of_it(root: Path, folder: Path) -> None:
    (folder / "secret").write_text("pin\n")
    git(root, "config", "core.excludesFile", str(folder / "secret"))
    with asked(root) as repository:
        assert f"--exclude-from={folder}/secret" not in repository.excludes
    (root / "mine").write_text("x\n")
    git(root, "config", "core.excludesFile", str(root / "mine"))
    with asked(root) as repository:
        assert f"--exclude-from={root}/mine" in repository.excludes
    settle(root)
    with asked(root):  # from now on, the place of the file is known
        (root / "mine").unlink()
        (root / "mine").symlink_to(folder / "secret")
    with asked(root) as repository:
        assert not [word for word in repository.excludes if word.endswith(("mine", "secret"))]
    (folder / "home/.gitconfig").write_text(f"[core]\nexcludesFile = {folder}/secret\n")
    git(root, "config", "--unset", "core.excludesFile")
    with asked(root) as repository:
        assert f"--exclude-from={folder}/secret" in repository.excludes


# GNU coreutils, which each Linux has, brings timeout(1); macOS has none.
@pytest.mark.skipif(not Path("/usr/bin/timeout").exists(), reason="needs timeout")
def test_git_that_hangs_ends_without_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "MAX_SECONDS", 0)  # timeout(1) waits a second more
    program = stand_in(folder, monkeypatch, "echo $$ >pid; exec cat fifo")
    os.mkfifo(folder / "fifo")
    git = programs.RunningProgram(*hardened(str(program), ("ls-files",), {}), str(folder), Budget())
    assert git.process.stdout is not None
    out = git.process.stdout.fileno()
    assert select.select([out], [], [], DEADLINE)[0], "git lives on"
    assert os.read(out, 1) == b""
    git.end()


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_server_that_runs_from_memory_makes_a_clean_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, object_format: str
) -> None:
    monkeypatch.setattr(asking, "_CLEAN", str(folder / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    root = folder / "R"
    root.mkdir()
    git(root, "init", "-q", f"--object-format={object_format}")
    (root / "a").touch()
    git(root, "add", "a")
    asking.clean_directory.cache_clear()
    try:
        for _ in range(2):
            with asked(root) as repository:
                assert tracked(repository) == ["a"]
    finally:
        asking.clean_directory.cache_clear()
    assert sorted(path.name for path in root.iterdir()) == [".git", "a"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("backstaff-*")} == {0o700}


def test_nothing_is_written(root: Path) -> None:
    os.utime(root / "a", (1, 1))  # so that git would like to refresh its index
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    with asked(root) as repository:
        tracked(repository)
        log(repository, repository.latest_commit())
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("R/.git/config", "[core]\n\tfilemode = false\n"),
        ("R/.git/more", "[core]\n\tfilemode = false\n"),
        ("R/.git/config.worktree", "[core]\n\tfilemode = false\n"),
        ("R/.git/commondir", "../../other/.git\n"),
        ("home/.gitconfig", "[status]\n\trenames = copies\n"),
        ("home/.config/git/config", "[status]\n\trenames = copies\n"),
        ("R/.git", "gitdir: ../other/.git\n"),
    ],
)
def test_facts_of_a_repository_are_kept_until_a_file_that_they_come_from_changes(
    root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, content: str
) -> None:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    (folder / "home/.config/git").mkdir(parents=True)
    git(root, "config", "include.path", "more")
    git(root, "config", "extensions.worktreeConfig", "true")
    git(folder, "init", "-q", "other")
    git(folder / "other", "config", "core.worktree", str(root))
    settle(folder)

    def facts() -> tuple[object, ...] | str:
        try:
            with asked(root, folder) as repository:
                return repository.git.path, repository.common.path, dict(repository.values)
        except Unanswered as error:
            return error.why

    before = facts()
    with monkeypatch.context() as patch:
        patch.setattr(asking, "hardened", None)
        assert facts() == before, "no git was started"
    if path == "R/.git":
        (root / ".git").rename(folder / "away")
    with (folder / path).open("a") as file:
        file.write(content)
    changed = facts()
    asking._FACTS.clear()  # noqa: SLF001
    assert changed == facts() != before


def test_git_directory_that_is_switched_or_broken_in_place_is_noticed(
    root: Path, folder: Path
) -> None:
    """The outer repository is asked about a directory until its own becomes one, and again then."""
    git(root / "d", "init", "-q", "-b", "inner")
    refs = root / "d/.git/refs"
    settle(root)
    for name in ("inner", "trunk", "inner"):
        with asked(root / "d", root) as repository:
            assert branch(repository) == name
        refs.rename(refs.with_name("away")) if name == "inner" else refs.with_name("away").rename(
            refs
        )
    one, two = folder / "one", folder / "two"
    shutil.copytree(root / ".git", one)
    shutil.copytree(root / ".git", two)
    git(root, "--git-dir", str(two), "config", "core.worktree", str(root))
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to(one)
    assert no_git(root) == NoGit.ELSEWHERE


@pytest.mark.parametrize("version", ["2", "4"])
def test_submodule_is_known_by_the_place_of_its_mode_in_the_index(root: Path, version: str) -> None:
    index = root / ".git/index"
    git(root, "update-index", "--index-version", version)
    data = bytearray(index.read_bytes())
    data[32:36] = b"\0\0\xe0\0"  # the inode of the first file looks like the mode of a submodule
    index.write_bytes(data)
    with asked(root) as repository:
        assert repository.has_gitlinks == (version == "4"), "version 4 has no fixed places"
    git(root, "read-tree", "HEAD")
    git(root, "update-index", "--index-version", version)
    with asked(root) as repository:
        assert not repository.has_gitlinks
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},z/sub")
    for mode in (0o160000, 0o160644):  # to git, its permissions do not count
        data = bytearray(index.read_bytes())
        at = data.rfind(b"\0\0\xe0\0")
        data[at : at + 4] = mode.to_bytes(4, "big")
        index.write_bytes(data[:-20] + hashlib.sha1(data[:-20]).digest())  # noqa: S324  # git's own
        with asked(root) as repository:
            assert repository.has_gitlinks


def test_environment_of_the_caller_does_not_count(
    root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(folder / "nowhere"))
    monkeypatch.setenv("GIT_TRACE", str(folder / "trace"))
    with asked(root) as repository:
        assert branch(repository) == "trunk"
    assert not (folder / "trace").exists()


def test_git_writes_and_asks_nothing_by_its_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two gits run at once, and one is killed when the other has failed: it must not cut the file.
    whole = f"env >{folder}/env.$$; /bin/mv {folder}/env.$$ {folder}/env; exit 1"
    stand_in(folder, monkeypatch, whole)
    root = folder / "R"
    (root / ".git").mkdir(parents=True)
    assert not isinstance(no_git(root), NoGit)
    lines = (folder / "env").read_text().splitlines()
    for line in ("GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1"):
        assert line in lines
    assert f"HOME={folder}/home" in lines


def test_work_tree_elsewhere_is_none(root: Path, folder: Path) -> None:
    (folder / "other").mkdir()
    git(root, "config", "core.worktree", str(folder / "other"))
    assert no_git(root) is NoGit.NO_WORK_TREE


def test_git_that_hangs_is_ended_with_what_it_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    # Both hold the pipe, so it ends when the last of them does.
    stand_in(folder, monkeypatch, f"exec 3>{pipe}; sleep 600 & echo started >&3; sleep 600")
    monkeypatch.setattr(programs, "MAX_SECONDS", 2)
    root = folder / "R"
    (root / ".git").mkdir(parents=True)
    assert no_git(root) is NoGit.SLOW
    assert set(os.read(reading, 100).split()) == {b"started"}
    assert select.select([reading], [], [], DEADLINE)[0]
    assert os.read(reading, 100) == b""
    os.close(reading)


def test_git_that_babbles_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(folder, monkeypatch, "exec yes")
    monkeypatch.setattr(programs, "MAX_OUTPUT", 1 << 20)
    root = folder / "R"
    (root / ".git").mkdir(parents=True)
    assert no_git(root) is NoGit.TOO_MUCH


def test_call_that_is_taken_back_ends_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(folder, monkeypatch, "exec sleep 600")
    (folder / ".git").mkdir()
    budget = Budget()
    timer = threading.Timer(0.1, budget.cancelled.set)
    timer.start()
    with opened(folder) as place, pytest.raises(Cancelled):
        find_repository(place, budget)
    timer.join()


def test_no_descriptor_is_left_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - it is only counted
    with asked(root) as repository:
        tracked(repository)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_git_has_no_more_memory_than_its_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_KIBIBYTES", 30_000)
    with asked(root) as repository:
        words = (
            "log",
            "--extended-regexp",
            "--grep=((a{1,99}){1,99}){1,99}",
            repository.latest_commit(),
        )
        with pytest.raises(Unanswered, match=NoGit.TOO_MUCH):
            repository.ask(*words)


def test_directories_that_are_moved_meanwhile_are_noticed_where_git_has_their_paths(
    root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "BY_DESCRIPTOR", False)
    with asked(root) as repository:
        assert tracked(repository)
        for name in (".git/objects", ".git", "."):
            (root / name).rename(folder / "moved")
            (root / name).symlink_to(folder / "moved")
            with pytest.raises(Unanswered, match="moved meanwhile"):
                repository.ask("ls-files", sees="files")
            (root / name).unlink()
            (folder / "moved").rename(root / name)


# ---------------------------------------------------------------------- files that are not touched


def times(root: Path) -> dict[Path, int]:
    """The time of modification of `root` and of all that is below."""
    return {path: path.lstat().st_mtime_ns for path in (root, *root.rglob("*"))}


def test_split_index_is_not_read_because_git_would_set_its_time(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n")
    (root / "d/other.log").write_text("")
    git(root, "update-index", "--split-index")
    for path in times(root):
        os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)
    before = times(root)
    with opened(root) as place:
        found = project_files(place, Budget())
        assert "d/other.log" in found.paths
        assert "its index is split" in found.not_applied
    with asked(root) as repository:
        assert repository.is_split
        assert log(repository, repository.latest_commit())
        assert branch(repository) == "trunk"
    assert times(root) == before


def test_index_that_is_too_large_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_OUTPUT", 100)
    with asked(root) as repository, pytest.raises(Unanswered, match="too large"):
        tracked(repository)


def test_large_extension_of_a_split_index_is_known(root: Path) -> None:
    git(root, "update-index", "--split-index")
    index = root / ".git/index"
    before, link, after = index.read_bytes().rpartition(b"link")
    index.write_bytes(before + link + b"\1" + after[1:])  # of more than 16 MiB
    with asked(root) as repository:
        assert repository.is_split


# ---------------------------------------------------------------------------- files without an end


@pytest.mark.parametrize("name", ["HEAD", "config", "index", "packed-refs", "commondir"])
def test_fifo_in_a_git_directory_is_not_waited_for_long(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "FIRST_SECONDS", 0.3)
    monkeypatch.setattr(listing, "LIST_SECONDS", 0.3)
    path = root / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    begun = time.monotonic()
    for place in (root, root / "d"):
        with opened(place, root) as start:
            assert project_files(start, Budget()).paths
    assert time.monotonic() - begun < DEADLINE


def test_fifo_in_a_linked_work_tree_is_not_waited_for(root: Path) -> None:
    git(root, "worktree", "add", "-q", "../other")
    index = root / ".git/worktrees/other/index"
    index.unlink()
    os.mkfifo(index)
    (root.parent / "other/.gitignore").touch()
    with opened(root.parent / "other") as start:
        not_applied = project_files(start, Budget()).not_applied
    assert not_applied == "its index is no file, too large, or cannot be read"


def test_a_git_directory_elsewhere_that_names_its_work_tree_by_a_fifo_is_foreign(
    root: Path,
) -> None:
    (root / ".git").rename(root / "d/elsewhere")
    (root / "inner").mkdir()
    (root / "inner/.git").write_text("gitdir: ../d/elsewhere\n")
    os.mkfifo(root / "d/elsewhere/gitdir")
    looking = threading.Thread(target=_ends_as_foreign, args=(root / "inner",), daemon=True)
    looking.start()
    looking.join(20)
    assert not looking.is_alive(), "it waits for a writer"


@pytest.mark.parametrize(
    ("named", "foreign"),
    [(b"../../../inner/.git\n", False), (b"../../inner/.git\n", True), (b"a\0b\n", True)],
)
def test_a_git_directory_elsewhere_may_name_its_work_tree_by_a_relative_path(
    root: Path, named: bytes, *, foreign: bool
) -> None:
    git(root, "worktree", "add", "-q", "inner")
    (root / ".git/worktrees/inner/gitdir").write_bytes(named)
    if foreign:
        assert no_git(root / "inner") is NoGit.ELSEWHERE
    else:
        with asked(root / "inner") as repository:
            assert repository.latest_commit()


def _ends_as_foreign(path: Path) -> None:
    assert no_git(path) is NoGit.ELSEWHERE
