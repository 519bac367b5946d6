"""Which files belong to a project, against git itself."""

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.fs.root import Root
from backstaff.project.files import Closed, project_files
from tests.py.examples import examples, times
from tests.py.project.repositories import RandomRepository, alone, by_git, git

COUNTS: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as home, alone(Path(home)):
        yield
    print(f"\nagainst git: {dict(COUNTS)}")  # noqa: T201 - how much was compared


def by_us(root: Path, path: str = ".") -> tuple[set[str], int]:
    """Return the paths below `path` that git does not ignore, and how many names it ignores."""
    with Root(str(root)) as opened, opened.resolve(path) as place:
        found = project_files(place, Budget())
    closed = {f"{path}/" for path in found.closed(Closed.REPOSITORY)}
    return closed.union(found.paths), found.ignored


def is_gitlink(root: Path, path: Path) -> bool:
    """Whether a submodule of the index at `root` is at `path` or above it."""
    entries = git(root, "ls-files", "--stage", "-z").split("\0")
    links = {root / one.partition("\t")[2] for one in entries if one.startswith("160000")}
    return bool(links.intersection((path, *path.parents)))


def is_ignored(root: Path, path: str) -> bool:
    """Whether git ignores all that is in `path`."""
    words = ("ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard")
    listed = git(root, *words, "--", f":(top,literal){path}").split("\0")[:-1]
    return any(f"{path}/".startswith(one) for one in listed)


@pytest.mark.slow
@examples(1 / 6)
@given(seed=st.integers(0, 1 << 40), exotic=st.booleans())
def test_what_is_ignored_is_what_git_ignores(seed: int, exotic: bool) -> None:  # noqa: FBT001
    with tempfile.TemporaryDirectory() as name:
        repository = RandomRepository(Path(name).resolve() / "R", seed, exotic)
        repository.make()
        COUNTS["repositories"] += 1
        for root in (repository.root, *repository.folders[:2]):
            inside = (root, *root.parents)[: len(root.relative_to(repository.root).parts)]
            if any(os.path.lexists(one / ".git") for one in inside):
                continue  # another repository
            if is_gitlink(repository.root, root):
                continue
            below = str(root.relative_to(repository.root))
            ours, left_out = by_us(repository.root, below)
            # A git that starts below the top knows no rules above that a sparse checkout left out.
            prefix = "" if below == "." else f"{below}/"
            theirs = {path for path in by_git(repository.root) if path.startswith(prefix)}
            if not theirs and ours:
                assert is_ignored(repository.root, below)  # who starts there wants its files
                continue
            assert ours == {path.removeprefix(prefix) for path in theirs}, root
            COUNTS.update(lists=1, paths=len(ours), ignored=left_out)


CASELESS = (
    *("A", r"\A", "[A]", "[a]", "[A-B]", "[^A]", "[!b-c]*", "[[:upper:]]*", "[^[:upper:]]*"),
    *("BIN", "b[I]n", "b[H-J]n", "b[Z-A]n", "B*", "**/A", "/A", "bIn/", "Bin/[a-b]"),
    *(r"b\in", r"\BIN", "É"),
)


def test_case_is_no_matter_where_it_is_none_for_git() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "R"
        for path in ("a/A", "b/a", "bin/A", "bin/B", "Cin/a", "é", "x"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        git(root, "init", "-q")
        git(root, "config", "core.ignorecase", "true")
        for line in CASELESS:
            (root / ".gitignore").write_text(f"{line}\n")
            assert by_us(root)[0] == by_git(root), line


def test_tracked_file_is_there_though_it_is_ignored(folder: Path) -> None:
    git(folder, "init", "-q")
    (folder / "build/deep").mkdir(parents=True)
    for name in ("kept.o", "left.o", "build/deep/kept", "build/left"):
        (folder / name).touch()
    (folder / ".gitignore").write_text("*.o\nbuild/\n")
    git(folder, "add", "-f", "kept.o", "build/deep/kept")
    assert by_us(folder) == ({".gitignore", "kept.o", "build/deep/kept"}, 2)
    (folder / "build/deep/left").touch()
    assert by_us(folder, "build/deep")[0] == {"kept"}


def test_start_in_an_ignored_directory_hides_nothing(folder: Path) -> None:
    git(folder, "init", "-q")
    for name in ("build/deep/a.o", "build/deep/b", "build/deep/.gitignore"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("b\n")
    (folder / ".gitignore").write_text("build/\n")
    for path in ("build", "build/deep"):
        names = {name.removeprefix(f"{path}/") for name in ("build/deep/a.o", "build/deep/b")}
        assert names < by_us(folder, path)[0]
    assert by_us(folder) == ({".gitignore"}, 1)


def test_rules_of_the_user_and_of_the_repository_count(folder: Path) -> None:
    root, home = folder / "R", folder / "home"
    root.mkdir()
    git(root, "init", "-q")
    for name in ("a", "b", "c"):
        (root / name).touch()
    (root / ".git/info/exclude").write_text("!b\nc\n")
    with alone(home):
        (home / ".config/git").mkdir(parents=True)
        (home / ".config/git/ignore").write_text("a\nb\n")
        assert by_us(root)[0] == by_git(root) == {"b"}


def test_link_at_info_exclude_counts_unless_it_leaves_the_work_tree(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "a").mkdir()
    for name in ("a/x", "a/y"):
        (folder / name).write_text("")
    (folder / "mine").write_text("x\n")
    git(folder, "init", "-q")
    exclude = folder / ".git/info/exclude"
    for target in ("../../mine", str(folder / "mine")):
        exclude.unlink(missing_ok=True)
        exclude.symlink_to(target)
        assert by_us(folder)[0] == by_git(folder) == {"a/y", "mine"}
        assert by_us(folder, "a")[0] == by_git(folder / "a") == {"y"}
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret"
    elsewhere.write_text("x\n")
    exclude.unlink()
    exclude.symlink_to(elsewhere)
    assert by_us(folder)[0] == {"a/x", "a/y", "mine"}


@pytest.mark.slow
def test_repositories_and_index_that_disagree_are_as_for_git(tmp_path: Path) -> None:
    repository = RandomRepository(tmp_path.resolve() / "R", 3, exotic=False)
    repository.make()
    for number in range(times(1 / 5)):
        folder = repository.chance.choice([one for one in repository.folders if one.is_dir()])
        with suppress(subprocess.CalledProcessError):  # git refuses some
            repository.confuse(folder)
        assert by_us(repository.root)[0] == by_git(repository.root), (number, folder)
        COUNTS.update(lists=1)
