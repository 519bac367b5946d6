"""Patches: those of buffers lead to their text, and those of git show lines of the file itself."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.changes.patch import made, read, shows_only
from backstaff.changes.work_tree import Change, Side
from backstaff.errors import DeadlineExceeded
from tests.py.changes.random_states import git
from tests.py.changes.test_tools import call, data, unsaved

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("autocrlf", ["false", "true"])
def test_patch_of_a_buffer_leads_to_its_text(folder: Path, autocrlf: str) -> None:
    root, chance = folder / "R", random.Random(11)  # noqa: S311
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "core.autocrlf", autocrlf)
    end = "\r\n" if autocrlf == "true" else "\n"
    for number in range(30):
        lines = [
            f"{chance.choice('ab{}')}{chance.randrange(4)}" for _ in range(chance.randrange(40))
        ]
        old = end.join(lines) + chance.choice(["", end])
        (root / "f.py").write_bytes(old.encode())
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", str(number))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(lines) + 1)
            lines[at : at + chance.randrange(3)] = [
                f"new {chance.randrange(9)}"
            ] * chance.randrange(3)
        new = end.join(lines) + chance.choice(["", end])
        files = data(call(root, "git_diff", unsaved=unsaved({"f.py": new})))["files"]
        if new.replace("\r\n", "\n") == old.replace("\r\n", "\n"):
            assert not files
            continue
        words = ["git", "apply", "--cached", "-"]
        patch = files[0]["patch"].encode()
        subprocess.run(words, cwd=root, input=patch, check=True, capture_output=True)  # noqa: S603
        assert git(root, "show", ":f.py") == new.replace("\r\n", "\n").encode()
        git(root, "reset", "-q")


@pytest.mark.parametrize(
    ("content", "is_shown"),
    [
        (b"a\nnew\nc\n", True),
        (b"a\r\nnew\r\nc\r\n", True),
        (b"a\nnew\nc", True),
        (b"a\nold\nc\n", False),
        (b"x\na\nnew\nc\n", False),
        (b"", False),
    ],
)
def test_patch_of_git_is_shown_only_if_the_file_has_its_lines(
    content: bytes, *, is_shown: bool
) -> None:
    patch = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-old\n+new\n c\n"
    assert shows_only(patch, content) == is_shown


def test_file_of_another_type_has_the_lines_of_both_its_patches() -> None:
    gone = (
        b"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n"
    )
    link = b"diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"
    patch = read(gone + b"-a\n-b\n" + link)
    assert (patch.added, patch.removed) == (1, 2)


def test_value_of_an_ident_may_differ() -> None:
    patch = b"diff --git a/f b/f\n@@ -0,0 +1 @@\n+// $Id$\n"
    assert shows_only(patch, b"// $Id: 4b825dc $\n")


def test_comparison_of_commits_and_the_index_reads_no_file(folder: Path) -> None:
    root = folder / "R"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "core.trustctime", "false")
    for text in ("one", "two", "six"):  # git takes the last for the one before: same size and time
        (root / "a").write_text(f"{text}\n")
        time_s = 10**9 + (text == "one")
        os.utime(root / "a", (time_s, time_s))
        if text != "six":
            git(root, "add", "a")
        if text == "one":
            git(root, "commit", "-qm", text)
    assert b"+six" in git(root, "diff", "--cached"), "git itself reads the file"
    for asked, line in (
        ({"target": "index"}, "+two"),
        ({"base": "index", "target": "HEAD"}, "-two"),
    ):
        text = call(root, "git_diff", asked).text
        assert f"\n{line}\n" in text, text
        assert "six" not in text


def test_comparison_of_a_buffer_ends_with_the_time() -> None:
    # Each second line is another one, so each match is as short as can be.
    old = b"".join(b"%d\n" % number for number in range(60_000))
    new = b"".join(b"%d\n" % (number * (-1) ** number) for number in range(60_000))
    sides = Side(0o100644, "1" * 40), Side(0o100644, "2" * 40)
    change = Change("M", *sides, origin="buffer", texts=(old, new))
    begun = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        made(change, "", "f", 3, Budget().at_most(0.5))
    assert time.monotonic() - begun < 10
