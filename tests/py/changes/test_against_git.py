"""Status and diff of random states of repositories, beside git's own.

BACKSTAFF_STATES="0 10000" tries the states of these seeds; by default there are a few.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.changes import status
from backstaff.changes.comparison import INDEX, compared
from backstaff.changes.patch import Patch
from backstaff.changes.porcelain import branch_line, quoted, raw
from backstaff.changes.work_tree import WorkTree, opened
from backstaff.fs.root import Root
from backstaff.project.files import project_files
from backstaff.project.git import Repository
from tests.py.changes.random_states import State, fork_and_wait, git, status_of

pytestmark = pytest.mark.slow

SEEDS = range(*map(int, os.environ.get("BACKSTAFF_STATES", "0 60").split()))
MINIMAL = (2, 50)
"""The first version of git whose `--minimal` gives the shortest script."""

Head = tuple[bytes, int, int]
"""The head of a file's patch, and how many lines it adds and removes."""


@pytest.mark.parametrize("seed", SEEDS)
def test_state_is_what_git_says(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 3:  # for two of three, a second process helps, and for one of them it is faster
        monkeypatch.setattr(status, "HELPED_FROM", -1)
        if seed % 3 == 1:
            monkeypatch.setattr(os, "fork", fork_and_wait)
    root = State(folder / "R", seed).root
    told = status_of(root)
    listed = git(root, "ls-files", "-z", "--stage", fine=True).split(b"\0")
    # Git itself can refuse a state, or write an index in which a file stands several times.
    if not told or len(listed) > len(set(listed)) or (listed == [b""] and "\nA" in told):
        return
    # Git reads an index that is split and sparse wrongly: it calls the file `z/z/z` of it `z/`.
    if any(line.endswith(b"/") for line in listed):
        return
    # Of a split index, `Repository.tracked` knows no file that a sparse checkout left out.
    is_split = any((root / ".git").glob("sharedindex.*"))
    left_out = re.findall("(?m)^S (.*\\.gitignore)$", os.fsdecode(git(root, "ls-files", "-t")))
    if is_split and not all((root / path).exists() for path in left_out):
        return
    with Root(str(root)) as opened_root, opened_root.directory(".") as place:
        project = project_files(place, Budget())
        assert isinstance(project.repository, Repository)
        with opened(place, project.repository, Budget()) as work_tree:
            found = status.status_of(work_tree, project)
            ours = raw(branch_line(work_tree), found, work_tree.inside)
            assert ours == told
            for base, target, words in _comparisons(root):
                _compare(work_tree, base, target, words)
    # Thousands of states would fill the disk. Only root can empty a folder that nobody may enter.
    shutil.rmtree(root, ignore_errors=True)


def _comparisons(root: Path) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield base and target of each comparison, with git's words for it."""
    yield INDEX, None, []
    told = git(root, "rev-list", "HEAD", fine=True).decode().split()
    if told:
        head, first = told[0], told[-1]
        yield head, None, ["HEAD"]
        yield head, INDEX, ["--cached", "HEAD"]
        if first != head:
            # To compare two commits, git reads no index, and so no attributes there.
            listed = os.fsdecode(git(root, "ls-files", "-z")).split("\0")
            if not any(p.endswith(".gitattributes") and not (root / p).exists() for p in listed):
                yield first, head, [first, head]
            yield first, None, [first]
            yield INDEX, first, ["-R", "--src-prefix=b/", "--dst-prefix=a/", "--cached", first]


def _compare(work_tree: WorkTree, base: str, target: str | None, words: list[str]) -> None:
    root = Path(work_tree.base.path)
    if target is None and base != INDEX:
        entries = (entry for _, entry in work_tree.index.entries())
        if any(entry.intended and (entry.skipped or entry.valid) for entry in entries):
            return  # git shows an empty new file where there is nothing
    quiet = ("-c", "core.quotePath=false", "-c", "diff.renames=true")
    form = ("--minimal", "--no-color", "--no-ext-diff", "--no-textconv")
    try:
        theirs = git(root, *quiet, "diff", *form, *words)
    except subprocess.CalledProcessError:  # such as for a .gitmodules of another form
        return
    if b"\ndiff --cc" in b"\n" + theirs or b"* Unmerged" in theirs:
        return  # git shows a conflict in another form
    found = compared(work_tree, base, target, "", {})
    patches = found.patches(0, 3, Budget())
    mine = b"".join(patch.text for _, _, patch in patches if isinstance(patch, Patch))
    if b"index 0000000..\n" in mine:
        return  # git starts in no submodule that was moved, and yet knows its commit
    ours, gits = _heads(mine), _heads(theirs)
    if work_tree.repository.version(Budget()) < MINIMAL and len(ours) == len(gits):
        gits = [_shorter(one, other) for one, other in zip(ours, gits, strict=True)]
    assert ours == gits, words
    if mine and b"Binary files" not in mine and b"Subproject" not in mine:
        _apply(work_tree, base, mine, {path: one.new for path, one in found.files.items()})


def _shorter(ours: Head, gits: Head) -> Head:
    """`ours`, if it is the same change with as many lines less added as removed, else `gits`.

    Before 2.50, `git diff --minimal` gives up lines that stand often in the file. Whether our
    shorter patch leads to the same file is seen when it is applied.
    """
    less = gits[1] - ours[1]
    return ours if ours[0] == gits[0] and less == gits[2] - ours[2] > 0 else gits


def _heads(patch: bytes) -> list[Head]:
    """The head of each file in `patch`."""
    heads = []
    for part in re.split(rb"(?m)^(?=diff --git )", patch)[1:]:
        head, _, body = re.sub(
            rb"(?m)^index (\w{7})\w*\.\.(\w{7})\w*", rb"index \1..\2", part
        ).partition(b"\n@@ ")
        lines = body.split(b"\n")
        added, removed = (sum(line[:1] == sign for line in lines) for sign in (b"+", b"-"))
        heads.append((head.rstrip(b"\n"), added, removed))
    return heads


def _apply(work_tree: WorkTree, base: str, patch: bytes, sides: dict[str, object]) -> None:
    """Apply `patch` to `base` in a separate index; git must accept it and arrive at `sides`."""
    root = Path(work_tree.base.path)
    entries = [(work_tree.index.get(path), side) for path, side in sides.items()]
    names_alone = any(entry and entry.intended and side is None for entry, side in entries)
    if base == INDEX and (work_tree.index.conflicts or names_alone):
        return  # no tree has these files
    if b".gitmodules" in patch:  # git takes no link of this name
        return
    index = root.parent / "index"
    if (root / ".git/index").exists():
        shutil.copyfile(root / ".git/index", index)  # `write-tree` would write the other one
    environment = os.environ | {"GIT_INDEX_FILE": str(index)}

    def ask(*words: str, given: bytes = b"", fine: bool = False) -> bytes:
        done = subprocess.run(  # noqa: S603
            ["git", *words],  # noqa: S607
            cwd=root,
            env=environment,
            input=given,
            capture_output=True,
            check=False,
        )
        assert fine or not done.returncode, (done.stderr, patch)
        return done.stdout

    tree = os.fsdecode(ask("write-tree", fine=True)).strip() if base == INDEX else base
    if not tree:  # git ends with a fault of its own
        return
    index.unlink(missing_ok=True)
    ask("read-tree", tree)
    ask("apply", "--check", "--cached", "-", given=patch)
    ask("apply", "--cached", "--whitespace=nowarn", "-", given=patch)
    listed = os.fsdecode(ask("-c", "core.quotePath=false", "ls-files", "--stage"))
    oids = {line.partition("\t")[2]: line.split(" ")[1] for line in listed.splitlines()}
    for path, side in sides.items():
        assert oids.get(quoted(path)) == (side.oid.hex() if side else None)  # type: ignore[attr-defined]
