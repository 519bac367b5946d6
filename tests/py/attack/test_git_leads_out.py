"""A `.git` that came with a project shows nothing of another repository of the user's."""

import os
import shutil
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.fs import handles
from backstaff.fs.root import Root
from backstaff.project import git as asking
from backstaff.project.git import find_repository
from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from tests.py.changes.random_states import git

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_git_settings")]

MARK = "MARK-4711"
CALLS: list[tuple[str, dict[str, object]]] = [
    ("git_status_summary", {}),
    ("git_diff", {}),
    ("git_diff", {"base": "index"}),
    ("git_diff", {"base": "HEAD~1", "target": "HEAD"}),
    ("git_diff", {"base": "nosuch"}),
    ("git_log", {}),
    ("git_log", {"path": "a.txt", "lines": "1-1"}),
    ("project_overview", {}),
    ("search_files", {"query": "a"}),
]


@pytest.fixture
def secret(folder: Path) -> Path:
    """The git directory of a repository outside of the project, with a mark in all that it has."""
    root = folder / "secret"
    root.mkdir()
    git(root, "init", "-q", "-b", f"{MARK}-branch")
    for text in (f"{MARK} one\n", f"{MARK} two\n"):
        (root / "a.txt").write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"{MARK} subject")
    return root / ".git"


@pytest.fixture
def root(folder: Path) -> Path:
    """A project with a repository of its own."""
    root = folder / "R"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for text in ("own one\n", "own two\n"):
        (root / "a.txt").write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "own")
    return root


def answers(root: Path) -> str:
    """The texts and data of all answers about `root`."""
    server = Server(discover(), Settings(), str(root))
    replies = [server.call(f"workspace/{tool}", given, {}) for tool, given in CALLS]
    return "\n".join(f"{one.text}\n{one.data}" for one in replies)


def link(path: Path, target: Path) -> Path:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(target)
    return path


def bare(root: Path, *entries: tuple[str, str]) -> Path:
    """Replace the repository by these files alone."""
    shutil.rmtree(root / ".git")
    (root / ".git").mkdir()
    for name, content in entries:
        (root / ".git" / name).write_text(content)
    return root


def pointed(root: Path, target: Path) -> Path:
    """Replace the repository by a file that names the git directory `target`."""
    shutil.rmtree(root / ".git")
    (root / ".git").write_text(f"gitdir: {target}\n")
    return root


def packed(root: Path, secret: Path) -> None:
    git(secret.parent, "pack-refs", "--all")
    link(root / ".git/packed-refs", secret / "packed-refs")


def moved(root: Path, secret: Path) -> None:
    """`.git` is a file that names a git directory inside, whose common part is elsewhere."""
    shutil.rmtree(root / ".git")
    (root / "inner").mkdir()
    (root / ".git").write_text("gitdir: inner\n")
    (root / "inner/HEAD").write_text(f"ref: refs/heads/{MARK}-branch\n")
    (root / "inner/commondir").write_text(f"{secret}\n")


def single(root: Path, secret: Path) -> None:
    """Each single object of the other repository is there, as a link."""
    for path in secret.glob("objects/??/*"):
        there = root / ".git" / path.relative_to(secret)
        there.parent.mkdir(exist_ok=True)
        there.symlink_to(path)


def remote(root: Path, secret: Path) -> None:
    """The branch follows one of a remote, which is a file elsewhere."""
    (secret / "o").write_text(f"URL: x\nPull: refs/heads/main:refs/remotes/{MARK}\n")
    (root / ".git/remotes").mkdir()
    link(root / ".git/remotes/o", secret / "o")
    git(root, "config", "branch.main.remote", "o")
    git(root, "config", "branch.main.merge", "refs/heads/main")


HEAD = ("HEAD", f"ref: refs/heads/{MARK}-branch\n")
WAYS: dict[str, Callable[[Path, Path], object]] = {
    "commondir, absolute": lambda r, s: bare(r, HEAD, ("commondir", f"{s}\n")),
    "commondir, relative": lambda r, _: bare(r, HEAD, ("commondir", "../../secret/.git\n")),
    "a git directory inside with a commondir": moved,
    "`.git` as a link": lambda r, s: link(r / ".git", s),
    "`.git` as a file": pointed,
    "objects and refs as links": lambda r, s: (
        bare(r, HEAD),
        *(link(r / ".git" / name, s / name) for name in ("objects", "refs")),
    ),
    "refs alone": lambda r, s: link(r / ".git/refs", s / "refs"),
    "a directory of refs": lambda r, s: link(r / ".git/refs/heads", s / "refs/heads"),
    "one reference": lambda r, s: link(r / ".git/refs/heads/main", s / f"refs/heads/{MARK}-branch"),
    "packed-refs": packed,
    "HEAD": lambda r, s: link(r / ".git/HEAD", s / "HEAD"),
    "index": lambda r, s: link(r / ".git/index", s / "index"),
    "a directory of objects": lambda r, s: (
        link(r / ".git/objects/ff", next(s.glob("objects/??"))),
    ),
    "single objects": single,
    "packs": lambda r, s: link(r / ".git/objects/pack", s / "objects/pack"),
    "alternates": lambda r, s: (r / ".git/objects/info/alternates").write_text(f"{s}/objects\n"),
    "alternates, quoted": lambda r, s: (r / ".git/objects/info/alternates").write_text(
        f'"{s}/objects"\n'
    ),
    "alternates after many others": lambda r, s: (r / ".git/objects/info/alternates").write_text(
        "../objects\n" * 500 + f"{s}/objects\n"
    ),
    "alternates of alternates": lambda r, s: (
        git(r, "init", "-q", "--bare", "in.git"),
        (r / "in.git/objects/info/alternates").write_text(f"{s}/objects\n"),
        (r / ".git/objects/info/alternates").write_text("../../in.git/objects\n"),
    ),
    "alternates of a directory behind a link": lambda r, s: (
        git(r, "init", "-q", "--bare", "in.git"),
        (r / "in.git/objects/info/alternates").write_text(f"{s}/objects\n"),
        link(r / "there", Path("in.git/objects")),
        (r / ".git/objects/info/alternates").write_text("../../there\n"),
    ),
    "packs of alternates": lambda r, s: (
        git(r, "init", "-q", "--bare", "alt.git"),
        link(r / "alt.git/objects/pack", s / "objects/pack"),
        (r / ".git/objects/info/alternates").write_text("../../alt.git/objects\n"),
    ),
    "alternates with a carriage return": lambda r, s: (
        link(r / "x\ry", s / "objects"),
        (r / ".git/objects/info/alternates").write_bytes(b"../../x\ry\n"),
    ),
    "core.worktree above": lambda r, s: (
        bare(r, HEAD, ("commondir", f"{s}\n")),
        git(s.parent, "config", "core.worktree", str(r.parent)),
    ),
    "core.worktree of its own": lambda r, s: (
        git(r, "config", "core.worktree", str(r.parent)),
        git(r, "config", "core.excludesFile", str(s / "HEAD")),
    ),
    "the log of HEAD": lambda r, s: link(r / ".git/logs", s / "logs"),
    "a linked work tree that names another one": lambda r, s: (
        git(s.parent, "worktree", "add", "-q", "--detach", str(r.parent / "other")),
        pointed(r, s / "worktrees/other"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_no_part_of_a_git_directory_leads_out(root: Path, secret: Path, way: str) -> None:
    head = git(secret.parent, "rev-parse", "HEAD").decode().strip()
    assert MARK not in answers(root)
    WAYS[way](root, secret)
    found = answers(root)
    assert MARK not in found
    assert head not in found
    assert "lies outside the project" in found or "not in a git work tree" in found, found


UNSEEN: dict[str, Callable[[Path, Path], object]] = {
    "a reference that names a link": lambda r, s: (
        link(r / ".git/X", s / f"refs/heads/{MARK}-branch"),
        (r / ".git/refs/heads/main").write_text("ref: X\n"),
    ),
    "settings that are included": lambda r, s: (
        (s / "other").write_text(f'[branch "main"]\nremote = .\nmerge = refs/heads/{MARK}\n'),
        git(r, "config", "include.path", str(s / "other")),
    ),
    "a remote as a file": remote,
}  # fmt: skip


@pytest.mark.parametrize("way", UNSEEN)
def test_answers_show_nothing_of_a_file_elsewhere(root: Path, secret: Path, way: str) -> None:
    """These need not be refused: people have links and settings in places without an answer."""
    head = git(secret.parent, "rev-parse", "HEAD").decode().strip()
    UNSEEN[way](root, secret)
    found = answers(root)
    assert MARK not in found
    assert head not in found


@pytest.mark.parametrize("ignored", ["none", "dirty", "untracked"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_submodule_that_leads_out_is_undecided(
    root: Path, secret: Path, kind: str, ignored: str
) -> None:
    head = git(secret.parent, "rev-parse", "HEAD").decode().strip()
    own = git(root, "rev-parse", "HEAD").decode().strip()
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{own},mod")
    (root / "mod").mkdir()
    rules = f'[submodule "mod"]\n\tpath = mod\n\tignore = {ignored}\n'
    (root / ".gitmodules").write_text(rules)
    if kind == "link":
        (root / "mod/.git").symlink_to(secret)
    else:
        (root / "mod/.git").write_text(f"gitdir: {secret}\n")
    found = answers(root)
    assert MARK not in found
    assert head not in found
    assert "mod: not shown" in found


def test_work_trees_submodules_and_a_root_with_both_are_the_users_own(
    root: Path, folder: Path
) -> None:
    git(root, "worktree", "add", "-q", str(folder / "linked"))
    assert "own" in answers(folder / "linked")
    outer = folder / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(root), "module")
    assert "-own one" in answers(outer / "module")
    apart = folder / "apart"
    apart.mkdir()
    git(apart, "init", "-q", "--separate-git-dir", str(folder / "apart.git"))
    assert "`git config core.worktree` there can name it" in answers(apart)
    git(apart, "config", "core.worktree", str(apart))
    assert "On " in answers(apart)


def test_objects_that_name_others_very_often_are_judged_at_once(root: Path) -> None:
    names = ("objects", "a", "b", "c", "d", "e")
    for name, other in pairwise(names):
        for folder in (name, other):
            (root / ".git" / folder / "info").mkdir(parents=True, exist_ok=True)
        (root / f".git/{name}/info/alternates").write_text(f"../{other}\n" * 500)
    with Root(str(root)) as project, project.directory(".") as place:
        assert find_repository(place, Budget()).latest_commit()


@pytest.mark.parametrize(
    ("parts", "by_descriptor"),
    [
        (["d", ".git/objects"], True),
        (["d", ".git/objects"], False),
        ([".git"], True),
        ([".git/HEAD", ".git/refs"], True),
        ([".git/config"], True),
        ([".git/index"], True),
    ],
)
def test_swap_during_a_call_shows_nothing_from_outside(
    root: Path,
    secret: Path,
    monkeypatch: pytest.MonkeyPatch,
    parts: list[str],
    *,
    by_descriptor: bool,
) -> None:
    """Git's directories and files and those of the project are swapped for links in calls."""
    monkeypatch.setattr(handles, "BY_DESCRIPTOR", by_descriptor)
    (root / "d").mkdir()
    (root / "d/f").write_text("own\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "own")
    (root / "d/f").write_text("own, changed\n")
    (secret.parent / "f").write_text(f"{MARK}\n")
    (secret.parent / "d").mkdir()
    (secret.parent / "d" / f"{MARK}-file").write_text(f"{MARK}\n")
    git(secret.parent, "add", "-A")
    git(secret.parent, "config", "branch.main.remote", ".")
    git(secret.parent, "config", "branch.main.merge", f"refs/heads/{MARK}-up")
    head = git(secret.parent, "rev-parse", "HEAD").decode().strip()
    stop = threading.Event()

    def swap() -> None:
        pairs = [(root / part, secret.parent / part) for part in parts]
        while not stop.is_set():
            for path, target in pairs:
                path.rename(root / "aside")
                path.symlink_to(target)
                path.unlink()
                (root / "aside").rename(path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        server = Server(discover(), Settings(), str(root))
        for _ in range(40):
            for tool, given in (*CALLS[:3], ("project_overview", {})):
                reply = server.call(f"workspace/{tool}", given, {})
                assert MARK not in f"{reply.text}{reply.data}"
                assert head[:7] not in f"{reply.text}{reply.data}"
    finally:
        stop.set()
        swapping.join()


def test_objects_that_are_swapped_after_they_were_judged_are_not_opened(
    root: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = asking._leads_out  # noqa: SLF001

    def judge_and_swap(*given: object) -> bool:
        leads_out = judge(*given)  # type: ignore[arg-type]
        (root / ".git/objects").rename(root / "aside")
        (root / ".git/objects").symlink_to(secret / "objects")
        return leads_out

    monkeypatch.setattr(asking, "_leads_out", judge_and_swap)
    with Root(str(root)) as project, project.directory(".") as place:
        found = find_repository(place, Budget())
        assert os.path.samestat(os.fstat(found.objects.descriptor), (root / "aside").stat())
