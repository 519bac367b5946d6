"""Status and diff of random states of repositories, beside git's own.

BACKSTAFF_STATES="0 10000" tries the states of these seeds; by default there are a few.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.changes.comparison import INDEX, compared
from backstaff.changes.work_tree import UNDECIDED, Change, WorkTree, opened, quoted, status_of
from backstaff.fs import handles
from backstaff.fs.root import Root
from tests.py.changes.random_states import State, git, told_of

pytestmark = pytest.mark.slow

COUNTS: Counter[str] = Counter()
"""The numbers of states that were compared or left out, and of submodules that are undecided."""
SEEDS = range(*map(int, os.environ.get("BACKSTAFF_STATES", "0 60").split()))


@pytest.fixture(scope="module", autouse=True)
def _counts() -> Iterator[None]:
    yield
    print(f"\nstates: {dict(COUNTS)}")  # noqa: T201 - how much was compared


@pytest.mark.parametrize("seed", SEEDS)
def test_state_is_what_git_says(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 4 == 3:  # as on systems where no path leads to an open directory
        monkeypatch.setattr(handles, "BY_DESCRIPTOR", False)
    root = State(folder / "R", seed).root
    told = told_of(root)
    listed = git(root, "ls-files", "-z", "--stage", fine=True).split(b"\0")
    # Git itself can refuse a state, or write an index in which a file stands several times.
    COUNTS["left out"] += 1
    if not told or len(listed) > len(set(listed)) or (listed == [b""] and "\nA" in told):
        return
    # Git reads an index that is split and sparse wrongly: it calls the file `z/z/z` of it `z/`.
    if any(line.endswith(b"/") for line in listed):
        return
    if (root / ".git/info/attributes").exists():
        return  # these do not count here, as a note says
    with Root(str(root)) as opened_root, opened_root.directory(".") as place:
        if any((root / ".git").glob("sharedindex.*")):
            return  # a split index is refused, as a test says
        with opened(place, Budget()) as work_tree:
            status = status_of(work_tree)
            ours = status.raw
            # A submodule that was moved by hand names its old place, so git itself fails in it.
            moved = tuple(f" {quoted(path, blanks=True)}\n" for path in status.undecided)
            assert ours == "".join(
                line for line in told.splitlines(keepends=True) if not line.endswith(moved)
            )
            COUNTS.update({"equal": 1, "left out": -1, "undecided": len(status.undecided)})
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
            yield first, head, [first, head]
            yield first, None, [first]
            yield INDEX, first, ["-R", "--src-prefix=b/", "--dst-prefix=a/", "--cached", first]


def _compare(work_tree: WorkTree, base: str, target: str | None, words: list[str]) -> None:
    root = Path(work_tree.base.path)
    quiet = ("-c", "core.quotePath=false")
    form = ("--no-color", "--no-ext-diff", "--no-textconv")
    try:
        theirs = git(root, *quiet, "diff", *form, *words)
    except subprocess.CalledProcessError:  # such as for a .gitmodules of another form
        return
    if b"\ndiff --cc" in b"\n" + theirs or b"* Unmerged" in theirs:
        return  # git shows a conflict in another form
    if b"+Subproject commit 0000000" in theirs:
        return  # git writes no commit of a new submodule that has a later commit than the index
    found = compared(work_tree, base, target, "", {})
    if any(one is UNDECIDED for one in found.files.values()):
        COUNTS["undecided diffs"] += 1
        return
    COUNTS["diffs"] += 1
    patches = found.patches(0)
    mine = b"".join(patch.text for _, _, patch in patches)
    if target is not None and _plain(mine) != _plain(theirs):
        # Git reads a file in place of its object if the time is the same, and attributes of files.
        nowhere = root.with_name("nowhere")
        nowhere.mkdir(exist_ok=True)
        there = (f"--git-dir={root}/.git", f"--work-tree={nowhere}")
        theirs = git(nowhere, *there, *quiet, "diff", *form, *words)
        COUNTS["without files"] += 1
    assert _plain(mine) == _plain(theirs), words
    if mine and b"Binary files" not in mine and b"Subproject" not in mine:
        _apply(work_tree, base, (mine, theirs), found.files, is_disk=target is None)


def _plain(patch: bytes) -> bytes:
    """`patch` without the text behind the ranges, and with short hashes of submodules."""
    patch = re.sub(rb"(?m)^(@@ [^@]* @@).*$", rb"\1", patch)
    return re.sub(rb"(?m)^index (\w{7})\w*\.\.(\w{7})\w*", rb"index \1..\2", patch)


def _apply(
    work_tree: WorkTree,
    base: str,
    patches: tuple[bytes, bytes],
    files: dict[str, Change],
    *,
    is_disk: bool,
) -> None:
    """Apply our patch to `base` in a separate index; git must accept it and arrive at `files`.

    Git can refuse its own patch, and a tree that it has made. These are counted.
    """
    patch, theirs = patches
    root = Path(work_tree.base.path)
    named = b"flags: 2000" in git(root, "ls-files", "--debug")  # by `git add --intent-to-add`
    if base == INDEX and (named or git(root, "ls-files", "--unmerged")):
        return  # no tree has a conflict, or a file that is only named
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
            check=not fine,
        )
        return done.stdout

    tree = os.fsdecode(ask("write-tree", fine=True)).strip() if base == INDEX else base
    if not tree:  # git ends with a fault of its own
        return
    index.unlink(missing_ok=True)
    check = ("apply", "--check", "--cached", "-")
    try:
        ask("read-tree", tree)
    except subprocess.CalledProcessError:
        COUNTS["trees that git refuses"] += 1
        return
    try:
        ask(*check, given=patch)
    except subprocess.CalledProcessError:
        with pytest.raises(subprocess.CalledProcessError):
            ask(*check, given=theirs)
        COUNTS["patches of its own that git refuses"] += 1
        return
    ask("apply", "--cached", "--whitespace=nowarn", "-", given=patch)
    listed = os.fsdecode(ask("-c", "core.quotePath=false", "ls-files", "--stage"))
    oids = {line.partition("\t")[2]: line.split(" ")[1] for line in listed.splitlines()}
    for path, one in files.items():
        assert (quoted(path) in oids) == bool(one.new.mode)
        # Git lists the hash of the index for a file that changed within the second of the index.
        if one.new.mode and not is_disk:
            assert one.new.oid == oids[quoted(path)]
