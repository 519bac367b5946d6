"""The bench "find the file": its questions, and the ranks of every engine that is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from dev.bench import find
from dev.bench.history import clone_before, commits, files
from tests.py.project.repositories import alone, git

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def clone(folder: Path) -> Path:
    """A work tree of four commits, of which the latest two touch files that existed before."""
    with alone(folder / "home"):
        clone = folder / "clone"
        history = (
            ("Begin", ("src/dir_entry.rs", "src/walk_tree.rs", "lib/parse_node.py", "README.md")),
            ("Read more", ("lib/read_tokens.py",)),
            ("Sort entries of a directory", ("src/dir_entry.rs",)),
            ("Parse nodes quickly", ("lib/parse_node.py", "new.py")),
        )
        clone.mkdir()
        git(clone, "init", "-q")
        for subject, paths in history:
            for path in paths:
                file = clone / path
                file.parent.mkdir(exist_ok=True)
                with file.open("a") as stream:
                    stream.write(
                        "pub struct DirEntry {}\n" if path.endswith(".rs") else "class X: 1\n"
                    )
            git(clone, "add", "-A")
            git(clone, "commit", "-q", "-m", subject)
        return clone


def test_queries_mean_files_that_the_latest_commits_touch(clone: Path, folder: Path) -> None:
    before = clone_before(clone, 2, folder / "before")
    asked = list(find.questions(before, commits(clone, "HEAD~2..HEAD"), sorted(files(before))))
    # A file that was added later cannot be found in the earlier project.
    meant = {"src/dir_entry.rs", "lib/parse_node.py"}
    assert {path for one in asked for path in one.meant} == meant
    by_kind = {one.kind: one.query for one in asked if "src/dir_entry.rs" in one.meant}
    assert by_kind["name"] == "dir_entry.rs"
    assert by_kind["stem"] == "dir_entry"
    assert by_kind["folder/name"] == "src/dir_entry.rs"
    assert by_kind["wrong folder/name"] == "lib/dir_entry.rs"
    assert by_kind["glued"] == "srcdir_e"
    assert by_kind["initials"] == "dien"
    assert by_kind["symbol akin to the name"] == "DirEntry"
    assert by_kind["one subject word"] in "sort entries directory"
    assert by_kind["misspelt"] != "dir_entry"
    assert (
        list(find.questions(before, commits(clone, "HEAD~2..HEAD"), sorted(files(before)))) == asked
    )


@pytest.mark.parametrize("engine", find.ENGINES)
def test_every_engine_finds_files_by_their_names(clone: Path, folder: Path, engine: str) -> None:
    there, answers = find.ENGINES[engine]
    if not there():
        pytest.skip(f"needs {engine}")
    before = clone_before(clone, 2, folder / "before")
    paths = sorted(files(before))
    named = [find.Question("name", Path(path).name, frozenset((path,))) for path in paths]
    nonsense = find.Question("name", "qqqqqqqq", frozenset())
    found = list(answers(before, paths, [*named, nonsense]))
    assert [answer[0] for answer in found[:-1]] == paths
    assert not found[-1]


def test_bench_prints_a_table_with_every_engine_that_is_there(clone: Path, folder: Path) -> None:
    saved = folder / "ranks.json"
    command = [
        *(sys.executable, "-m", "dev.bench.find", str(clone), "--commits", "2", "--save"),
        str(saved),
    ]
    told = subprocess.run(  # noqa: S603 - our own words
        command, cwd=PROJECT, capture_output=True, text=True, check=True
    )
    head, *rows = told.stdout.splitlines()
    engines = [name for name, (there, _) in find.ENGINES.items() if there()]
    assert head.split()[-len(engines) :] == engines
    by_kind = {row[:34].strip().partition(" (")[0]: row[34:].split() for row in rows}
    assert by_kind["name"] == ["1.000"] * len(engines)
    assert by_kind["glued"][0] == by_kind["symbol akin to the name"][0] == "1.000"
    assert "all" in by_kind
    assert saved.stat().st_size > 0


def test_table_has_the_mean_of_each_kind() -> None:
    assert find.table({"name": {"ours": [1.0, 0.5], "theirs": [0.0, 0.5]}})[1].split() == [
        *("name", "(2)", "0.750", "0.250")
    ]
