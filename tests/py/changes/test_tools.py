"""The texts and data of the tools: pages, unsaved text, and answers that are cut."""

import base64
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from backstaff.budget import Budget
from backstaff.changes import work_tree
from backstaff.changes.work_tree import opened, status_of
from backstaff.errors import Cancelled
from backstaff.fs.root import Root
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from tests.py.changes.random_states import git, told_of

pytestmark = pytest.mark.slow


@pytest.fixture
def root(folder: Path) -> Path:
    """A repository with a commit of forty files, each of which was changed since."""
    root = folder / "R"
    (root / "d").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for number in range(40):
        (root / f"d/f{number:02}").write_text("one\n" * 20)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the first")
    for number in range(40):
        (root / f"d/f{number:02}").write_text("one\n" * 20 + f"two {number}\n")
    return root


def call(
    root: Path, name: str, arguments: dict[str, Any] | None = None, **context: object
) -> Reply:
    """The reply of the tool `name` of the workspace."""
    server = Server(discover(), Settings(), str(root))
    return server.call(f"workspace/{name}", arguments or {}, context)


def unsaved(texts: dict[str, str]) -> list[object]:
    """Return `texts` of buffers as Emacs sends them."""
    return [
        [path, hashlib.sha256(text).hexdigest(), "utf-8-unix", base64.b64encode(text).decode()]
        for path, text in ((path, text.encode()) for path, text in texts.items())
    ]


def data(reply: Reply) -> dict[str, Any]:
    """The data of `reply`, which has to be no failure."""
    assert reply.ok, reply.text
    return dict(reply.data or {})


def test_pages_of_a_diff_have_each_file_once(root: Path) -> None:
    paths: list[str] = []
    offset: int | None = 0
    while offset is not None:
        reply = call(root, "git_diff", {"offset": offset}, max_output_bytes=2000)
        assert len(reply.text.encode()) <= 2000
        found = data(reply)
        paths += [one["path"] for one in found["files"]]
        assert all(one["patch"] for one in found["files"])
        offset = found["next_offset"]
    assert paths == [f"d/f{number:02}" for number in range(40)]


def test_patch_without_room_tells_how_to_ask_for_it(root: Path) -> None:
    (root / "d/f00").write_text("".join(f"{number}\n" for number in range(900)))
    reply = call(root, "git_diff", {}, max_output_bytes=2000)
    assert "[d/f00 +900 -20: its patch of" in reply.text
    assert "path='d/f00'" in reply.text
    assert "+two 1\n" in reply.text, "the next file has room"


def test_status_that_is_cut_says_so_and_raw_is_whole(root: Path) -> None:
    reply = call(root, "git_status_summary", {}, max_output_bytes=300)
    assert reply.truncated
    assert "more lines: workspace/git_diff" in reply.text
    assert data(reply)["raw"] == told_of(root)


def test_text_of_a_buffer_stands_for_its_file(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    texts = unsaved({"d/f03": "one\n" * 20 + "in Emacs\n", "new.txt": "new\n"})
    told = data(call(root, "git_status_summary", unsaved=texts))
    assert told["unsaved"] == ["d/f03", "new.txt"]
    assert told["raw"] == "## main\n"
    found = data(call(root, "git_diff", unsaved=texts))
    assert [(one["path"], one["source"]) for one in found["files"]] == [("d/f03", "buffer")]
    assert "\n-two 3\n+in Emacs\n" in found["files"][0]["patch"]


def test_log_has_pages_counts_and_a_text_to_look_for(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    reply = call(root, "git_log", {"max_commits": 1})
    assert reply.text.endswith("a: the second (40 files +40 -0)\n[more: offset=1]\n")
    assert "the first" in call(root, "git_log", {"offset": 1}).text
    assert [one["subject"] for one in data(call(root, "git_log", {"grep": "sec"}))["commits"]] == [
        "the second"
    ]
    lines = data(call(root, "git_log", {"path": "d/f07", "lines": "20-21"}))["lines"]
    told = [(one["start_line"], one["end_line"], one["subject"]) for one in lines]
    assert told == [(20, 20, "the first"), (21, 21, "the second")]


def test_root_below_the_top_tells_its_own_files_as_git_does(root: Path) -> None:
    (root / "top.txt").write_text("above")
    found = data(call(root / "d", "git_status_summary"))
    assert found["repository_root"] == str(root)
    assert found["raw"] == told_of(root, "--", "d")
    assert data(call(root / "d", "git_diff", {"output": "files"}))["files"][0]["path"] == "f00"


@pytest.mark.parametrize(
    ("ignored", "status", "paths"),
    [
        ("", " M mod\n", ["mod"]),
        ("none", " M mod\n", ["mod"]),
        ("untracked", " M mod\n", ["mod"]),
        ("dirty", "", []),
        ("all", "", []),
    ],
)
@pytest.mark.parametrize("file", [".gitmodules", ".git/config"])
def test_submodule_counts_as_far_as_the_user_wants(
    root: Path, ignored: str, status: str, paths: list[str], file: str
) -> None:
    module = root / "mod"
    git(root, "init", "-q", "mod")
    (module / "f").write_text("one\n")
    git(module, "add", "f")
    git(module, "commit", "-qm", "one")
    (root / ".gitmodules").write_text('[submodule "mod"]\n\tpath = mod\n\turl = ./mod\n')
    if ignored:
        git(root, "config", "--file", file, "submodule.mod.ignore", ignored)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "with a module")
    (module / "f").write_text("two\n")
    assert data(call(root, "git_status_summary"))["raw"] == f"## main\n{status}" == told_of(root)
    found = data(call(root, "git_diff"))["files"]
    assert [one["path"] for one in found] == paths
    assert all("-dirty" in one["patch"] for one in found)
    shutil.rmtree(module)
    module.write_text("no module\n")
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


@pytest.mark.parametrize("shown", ["", "no", "all"])
@pytest.mark.parametrize("own", ["", "mine\n"])
@pytest.mark.parametrize("users", ["", "# only this\n", "theirs\n!mine\n"])
def test_untracked_files_are_those_of_git_with_any_files_of_rules(
    root: Path, users: str, own: str, shown: str
) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text(own)
    (root / ".git/rules").write_text(users)
    git(root, "config", "core.excludesFile", str(root / ".git/rules"))
    for name in ("mine", "theirs", "other"):
        (root / "new" / name).mkdir(parents=True)
        (root / "new" / name / "f").write_text("")
    if shown:
        git(root, "config", "status.showUntrackedFiles", shown)
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


@pytest.mark.parametrize("name", ["main", "a=b", "with/slash", "é", "Main.x"])
def test_line_of_the_branch_is_that_of_git(root: Path, name: str) -> None:
    def compare(part: str) -> None:
        raw = data(call(root, "git_status_summary"))["raw"]
        assert raw == told_of(root)
        assert part in raw.partition("\n")[0]

    git(root, "checkout", "-q", "-B", name)
    compare(name)
    git(root, "config", "remote.o.fetch", "+refs/heads/*:refs/remotes/o/*")
    git(root, "config", "--add", "remote.o.fetch", "+refs/pull/*:refs/remotes/o/pull/*")
    git(root, "config", f"branch.{name}.remote", "o")
    git(root, "config", f"branch.{name}.merge", f"refs/heads/{name}")
    compare(f"{name}...o/{name} [gone]")
    git(root, "update-ref", f"refs/remotes/o/{name}", "HEAD")
    compare(f"{name}...o/{name}")
    git(root, "commit", "-qm", "ours", "--allow-empty")
    compare("[ahead 1]")
    git(root, "update-ref", f"refs/remotes/o/{name}", "HEAD")
    git(root, "reset", "-q", "--soft", "HEAD~1")
    compare("[behind 1]")
    git(root, "commit", "-qm", "other", "--allow-empty")
    compare("[ahead 1, behind 1]")
    git(root, "config", f"branch.{name}.remote", ".")
    git(root, "config", f"branch.{name}.merge", "refs/heads/main")
    compare("...main")
    git(root, "checkout", "-q", "--detach")
    compare("## HEAD (no branch)")
    git(root, "checkout", "-q", "--orphan", "unborn")
    git(root, "config", "branch.unborn.remote", "o")
    git(root, "config", "branch.unborn.merge", f"refs/heads/{name}")
    compare(f"No commits yet on unborn...o/{name} [gone]")


def test_branch_may_be_any_reference_and_commits_may_be_replaced(root: Path) -> None:
    git(root, "symbolic-ref", "HEAD", "refs/foo/bar")
    raw = data(call(root, "git_status_summary"))["raw"]
    assert raw == told_of(root)
    assert raw.startswith("## No commits yet on refs/foo/bar\n")
    git(root, "symbolic-ref", "HEAD", "refs/heads/main")
    for number in range(3):
        git(root, "commit", "-qm", f"more {number}", "--allow-empty")
    git(root, "replace", "--graft", "HEAD~1")
    theirs = git(root, "log", "--format=%H").decode().split()
    assert [one["oid"] for one in data(call(root, "git_log"))["commits"]] == theirs
    assert len(theirs) == 2


def test_submodule_whose_git_directory_is_gone_is_undecided(root: Path) -> None:
    (root / "mod").mkdir()
    (root / "mod/.git").write_text("gitdir: ../.git/modules/mod\n")
    oid = git(root, "rev-parse", "HEAD").decode().strip()
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{oid},mod")
    assert data(call(root, "git_status_summary"))["undecided"] == ["mod"]


def test_settings_of_submodules_come_from_the_last_commit_if_they_are_nowhere_else(
    root: Path,
) -> None:
    git(root, "init", "-q", "mod")
    git(root / "mod", "commit", "-qm", "one", "--allow-empty")
    rules = '[submodule "mod"]\n\tpath = mod\n\turl = ./mod\n\tignore = untracked\n'
    (root / ".gitmodules").write_text(rules)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "with a module")
    (root / "mod/new").write_text("new\n")
    assert " M mod" not in data(call(root, "git_status_summary"))["raw"]
    git(root, "mv", ".gitmodules", "away")
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_call_that_is_taken_back_looks_into_no_further_submodule(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},mod{number}")
    budget, seen = Budget(), list[str]()

    def look(_: object, path: str, oid: str, __: str) -> str:
        seen.append(path)
        budget.cancelled.set()
        return oid

    monkeypatch.setattr(work_tree, "_submodule", look)
    with (
        Root(str(root)) as project,
        project.directory(".") as place,
        opened(place, budget) as tree,
        pytest.raises(Cancelled),
    ):
        status_of(tree)
    assert seen == ["mod0"]


def test_new_commit_of_a_submodule_alone_in_its_directory_is_a_change(root: Path) -> None:
    module = root / "libs/mod"
    git(root, "init", "-q", "libs/mod")
    git(module, "commit", "-qm", "one", "--allow-empty")
    os.utime(module, (1, 1))  # a file as young as the index is looked at more closely
    git(root, "add", "libs")
    git(root, "commit", "-qm", "with a module")
    git(module, "commit", "-qm", "two", "--allow-empty")
    assert " M libs/mod\n" in data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_submodule_that_was_only_moved_is_renamed(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    git(root, "init", "-q", "inner")
    git(root / "inner", "commit", "-qm", "one", "--allow-empty")
    git(root, "submodule", "add", "-q", str(root / "inner"), "mod")
    git(root, "commit", "-qm", "with a module")
    git(root, "mv", "mod", "moved")
    for target in (None, "index"):
        found = data(call(root, "git_diff", {"target": target} if target else {}))["files"]
        assert [(one["old_path"], one["path"]) for one in found][-1] == ("mod", "moved")
        assert git(root, "diff", "HEAD").decode().endswith(found[-1]["patch"])


def test_file_in_conflict_is_told_beside_the_patches_of_others(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    for branch, words in (("other", ("-b",)), ("main", ())):
        git(root, "checkout", "-q", *words, branch)
        (root / "d/f05").write_text(f"{branch}\n")
        git(root, "commit", "-qam", branch)
    git(root, "merge", "-q", "other", fine=True)
    for name in ("f04", "f06"):
        (root / "d" / name).write_text("staged\n")
        git(root, "add", f"d/{name}")
    for asked in ({"target": "index"}, {}):
        files = data(call(root, "git_diff", asked))["files"]
        patches = {one["path"]: one["patch"] for one in files}
        assert list(patches) == ["d/f04", "d/f05", "d/f06"]
        assert "* Unmerged path" in git(root, "diff", "--cached").decode()
        assert all(patches[path].endswith("+staged\n") for path in ("d/f04", "d/f06"))


def test_repository_with_sha256_is_told_as_git_does(root: Path) -> None:
    shutil.rmtree(root / ".git")
    git(root, "init", "-q", "-b", "main", "--object-format=sha256")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the first")
    (root / "d/f00").write_text("new\n")
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root) == "## main\n M d/f00\n"
    patch = data(call(root, "git_diff"))["files"][0]["patch"]
    assert patch.encode() == git(root, "diff", "--minimal")
    assert "the first (40 files +840 -0)" in call(root, "git_log").text


def test_definition_around_a_change_stands_behind_its_range(root: Path) -> None:
    lines = [f"        pass  # {number}" for number in range(31)]
    lines[:2] = "class A:", "    def one(self):"
    lines[11], lines[21] = "    def two(self):", "top = 1"
    lines[22:] = [f"# {line}" for line in lines[22:]]

    def patches() -> list[str]:
        (root / "a.py").write_text("\n".join(lines))
        (root / "a.unknown").write_text("\n".join(lines))
        asked = {"context_lines": 1, "path": "."}
        return [str(one["patch"]) for one in data(call(root, "git_diff", asked))["files"]]

    patches()
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    lines[6] = lines[16] = lines[28] = "        new()"
    del lines[8]
    known, unknown = patches()
    name = re.compile(r"@@ \S+ \S+ @@(?: (.*))?\n")
    assert name.findall(known) == ["A.one", "A.two", ""]
    assert name.findall(unknown) == ["class A:", "class A:", "top = 1"]
    (root / "a.py").unlink()
    told_gone = data(call(root, "git_diff", {"path": "a.py"}))["files"][0]["patch"]
    assert re.search(r"@@ -1,31 \+0,0 @@\n", told_gone)


@pytest.mark.parametrize("command", ["git", "index"])
def test_directory_in_the_place_of_attributes_is_an_empty_file(root: Path, command: str) -> None:
    (root / ".gitattributes").write_text("* text=auto\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    (root / ".gitattributes").unlink()
    if command == "git":
        (root / ".gitattributes").mkdir()
    (root / "d/f00").write_bytes((root / "d/f00").read_bytes().replace(b"\n", b"\r\n"))
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_directory_in_the_place_of_ignore_rules_is_an_empty_file(root: Path) -> None:
    (root / ".gitignore").write_text("*.txt\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "rules")
    git(root, "update-index", "--skip-worktree", ".gitignore")
    (root / "a.txt").write_text("")
    (root / ".gitignore").unlink()
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)
    (root / ".gitignore").mkdir()
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_renamed_file_that_attributes_call_binary_keeps_its_line_ends(root: Path) -> None:
    git(root, "mv", "d/f01", "d/new.bin")
    path = root / "d/new.bin"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for attribute in ("", "*.bin binary\n"):
        (root / ".gitattributes").write_text(attribute)
        git(root, "add", "-A")
        assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_files_below_a_directory_that_became_a_link_are_gone(root: Path) -> None:
    (root / "d").rename(root / "moved")
    (root / "d").symlink_to("moved")
    told = told_of(root)
    assert data(call(root, "git_status_summary"))["raw"] == told
    assert told.count("\n D d/") == 40
    git(root, "config", "status.showUntrackedFiles", "no")
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_file_that_counts_as_unchanged_is_so_even_if_it_is_gone(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "d/f00", "d/f01")
    (root / "d/f01").unlink()
    (root / "d/f02").unlink()
    assert data(call(root, "git_status_summary"))["raw"] == told_of(root)


def test_attributes_of_the_work_tree_count_between_commits(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    (root / ".gitattributes").write_text("d/f00 -diff\n")
    patches = [
        one["patch"]
        for one in data(call(root, "git_diff", {"base": "HEAD~1", "target": "HEAD"}))["files"]
    ]
    assert "".join(patches).encode() == git(root, "diff", "HEAD~1", "HEAD")
    assert "Binary files a/d/f00 and b/d/f00 differ" in patches[0]


def test_status_below_a_directory_of_a_sparse_index_is_that_of_all(root: Path) -> None:
    for name in ("other", "third"):
        (root / name).mkdir()
        (root / name / "f").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "d")
    assert data(call(root, "git_status_summary", {"cwd": "d"}))["raw"] == told_of(root)


def test_without_a_git_the_reason_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstaff.programs._PLACES", ())
    monkeypatch.setenv("PATH", str(root))
    for name in ("git_status_summary", "git_diff", "git_log"):
        reply = call(root, name)
        assert reply.error is not None
        assert reply.error["code"] == "NOT_GIT_REPOSITORY"
        assert reply.text.endswith("git is not installed"), reply.text


def test_where_no_git_answers_the_reason_is_told(folder: Path) -> None:
    (folder / "plain").mkdir()
    for name in ("git_status_summary", "git_diff", "git_log"):
        reply = call(folder / "plain", name)
        assert reply.error is not None
        assert reply.error["code"] == "NOT_GIT_REPOSITORY"


def test_diff_without_changes_names_the_tool_that_lists_untracked_files(root: Path) -> None:
    git(root, "commit", "-qam", "the second")
    (root / "new.txt").write_text("new")
    for path in ".", "new.txt":
        text = call(root, "git_diff", {"path": path}).text
        assert text.endswith(", workspace/git_status_summary lists them\n"), text
    assert "untracked" not in call(root, "git_diff", {"target": "HEAD"}).text
