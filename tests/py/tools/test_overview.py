"""workspace/project_overview: all it shows exists, all it hides is counted, and it fits."""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.fs.handles import DEEPEST
from backstaff.render.tokens import tokens as estimated
from backstaff.server import Reply
from backstaff.tools.workspace._best_map import FEW
from backstaff.tools.workspace.project_overview import TOOL
from tests.py.examples import examples
from tests.py.processes import unprivileged
from tests.py.project.repositories import alone, commit_each, git
from tests.py.replies import code
from tests.py.servers import server_at
from tests.py.tools.random_trees import OUTSIDE, Below, planted, trees
from tests.py.trees import Plant

FEWER = examples(1 / 4)
HEAD = ("# ", "types: ", "read first: ", "build: ", "edited lately: ")


def overview(root: Path, context: object = None, **arguments: object) -> Reply:
    return server_at(root).call("workspace/project_overview", arguments, context)


def commit(root: Path, *paths: str) -> None:
    """Change `paths` below `root` and commit them together."""
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.read_text() + "x" if file.exists() else "x")
        git(root, "add", "-f", path)
    git(root, "commit", "-qm", "change")


@pytest.fixture
def repository(folder: Path) -> Iterator[Path]:
    """An empty repository, on the branch main."""
    root = folder / "R"
    root.mkdir()
    with alone(folder / "home"):
        git(root, "init", "-q", "-b", "main")
        yield root


# ---------------------------------------------------------------------------- a reader of the text


@dataclass
class Line:
    """The content of a line of the map."""

    path: str
    files: dict[str, bool]
    folders: dict[str, int | str | None]
    omitted: int = 0


@dataclass
class Word:
    """A word: the name if it was quoted, else None, and the text behind it or alone."""

    name: str | None
    rest: str

    def fits(self, pattern: str) -> re.Match[str] | None:
        return None if self.name is not None else re.fullmatch(pattern, self.rest)


def words(line: str) -> Iterator[Word]:
    """The words of `line`."""
    position = 0
    while position < len(line):
        name, end = None, position
        if line[position] == '"':
            name, end = json.JSONDecoder().raw_decode(line, position)
        rest, _, _ = line[end:].partition(" ")
        yield Word(name, rest)
        position = end + len(rest) + 1


def read(line: str) -> Line:
    """The content of `line` of a map, by its grammar alone."""
    first, *rest = words(line)
    assert first.rest.endswith("/"), line
    found = Line(first.rest[:-1] if first.name is None else first.name, {}, {})
    while rest:
        here = rest.pop(0)
        if number := here.fits(r"\+(\d+)"):
            found.omitted = int(number[1])
            assert not rest, line
        elif folder := re.fullmatch(r"(.*)/(?:\((\d+|git|\?)\))?", here.rest):
            name = folder[1] if here.name is None else here.name
            told = folder[2]
            found.folders[name] = int(told) if told and told.isdigit() else told
        else:
            assert not found.folders, line
            link = here.rest.endswith("@")
            found.files[here.rest.removesuffix("@") if here.name is None else here.name] = link
    return found


def lines(reply: Reply) -> list[Line]:
    """The map in the text."""
    assert reply.ok, reply.text
    shown = [line for line in reply.text.splitlines() if not line.startswith((*HEAD, "["))]
    return [read(line) for line in shown]


def below(path: str, name: str) -> str:
    return name if path == "." else f"{path}/{name}"


def named(reply: Reply) -> set[str]:
    """The files that the map names."""
    return {below(line.path, name) for line in lines(reply) for name in line.files}


def folders(reply: Reply) -> set[str]:
    """The directories that the map names."""
    collapsed = {below(line.path, name) for line in lines(reply) for name in line.folders}
    return collapsed | {line.path for line in lines(reply)}


def above(path: str) -> Iterator[str]:
    """The directories that `path` is in, from the nearest one to "."."""
    while path != ".":
        path = path.rpartition("/")[0] or "."
        yield path


def check(reply: Reply, root: Path, files: set[str]) -> None:
    """Whether the map is true of `root`, where there are these `files`."""
    shown, opened = folders(reply), {line.path for line in lines(reply)}
    totals = Counter(folder for file in files for folder in above(file))
    left_out: Counter[str] = Counter()  # files by the nearest directory that is shown
    for file in files - named(reply):
        left_out[next(folder for folder in above(file) if folder in shown)] += 1
    assert isinstance(reply.data, dict)
    for line, row in zip(lines(reply), reply.data["map"], strict=True):
        assert (root / line.path).is_dir()
        for name, link in line.files.items():
            assert (root / line.path / name).is_symlink() == link, name
        for name, number in line.folders.items():
            path = below(line.path, name)
            assert (root / path).is_dir()
            if number is None:
                assert totals[path] < FEW, path
            elif isinstance(number, int):
                assert number == totals[path], path
        assert line.omitted == left_out[line.path], line.path
        assert (row["path"], row["more_files"]) == (line.path, line.omitted)
        assert row["collapsed"] == [below(line.path, name) for name in line.folders]
    # Each directory stands once, but those that the first line names.
    words = [below(line.path, name) for line in lines(reply)[1:] for name in line.folders]
    assert len(words) == len({*words, *opened}) - len(opened)
    assert named(reply) <= files
    title, last = reply.text.splitlines()[0], reply.text.splitlines()[-1]
    assert f", {len(files)} file" in title
    assert last.startswith(f"[{len(named(reply))} of {len(files)} files named")
    assert ("; dir/(N): " in last) == (named(reply) != files)
    assert reply.truncated == (named(reply) != files)


# ---------------------------------------------------------------------------- properties


def files_in(below: Below, above: str = "") -> Iterator[str]:
    """The paths that count: no fifo, and nothing of git's."""
    for name, what in below.items():
        if name == ".git" or what is None:
            continue
        if isinstance(what, Mapping):
            yield from files_in(what, f"{above}{name}/")
        else:
            yield f"{above}{name}"


odd = st.sampled_from(
    ["+9", "+page.x", "a(3)", "types:", ".x y", "f.p y", "+3 dirs", "f.ext", ".h"]
)
branches = st.lists(st.tuples(st.sampled_from(["", "types:", "+1", "a b", "d"]), odd), max_size=9)


@given(content=trees, more=branches, tokens=st.integers(0, 400))
def test_map_is_true_and_within_its_budget(
    content: Below, more: list[tuple[str, str]], tokens: int
) -> None:
    with planted(content) as root:
        files = set(files_in(content))
        for folder, name in more:
            path = root / folder / "odd" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            files.add(str(path.relative_to(root)))
        reply = overview(root, max_tokens=tokens)
        if not reply.ok:
            assert code(reply) == "INVALID_ARGUMENT"
            least = int(reply.text.rpartition(" ")[2])
            assert least > tokens
            reply = overview(root, max_tokens=least)
            tokens = least
        assert estimated(reply.text) <= tokens
        assert OUTSIDE not in reply.text
        check(reply, root, files)
        assert overview(root, max_tokens=tokens).text == reply.text


@FEWER
@given(content=trees, tokens=st.integers(60, 400), data=st.data())
def test_map_of_a_directory_has_the_paths_of_the_project(
    content: Below, tokens: int, data: st.DataObject
) -> None:
    with planted({"top": {"inner": content}}) as root:
        path = data.draw(st.sampled_from(["top", "top/inner", "top/inner/"]))
        reply = overview(root, path=path, max_tokens=tokens)
        if reply.ok:
            files = {f"top/inner/{file}" for file in files_in(content)}
            check(reply, root, files)
            start = path.rstrip("/")
            assert lines(reply)[0].path == start
            assert all(line.path.startswith(start) for line in lines(reply))


@FEWER
@given(
    shape=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=12),
    tokens=st.integers(50, 3000),
)
def test_more_tokens_never_pass_the_budget_either(
    shape: list[tuple[int, int]], tokens: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("R")
    files = set()
    for parent, number in shape:
        for file in range(number):
            path = f"d{parent}/e{parent * 7 % 5}/f{number}/{file}.{'abc'[file % 3]}"
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
            files.add(path)
    reply = overview(root, max_tokens=tokens)
    if reply.ok:
        assert estimated(reply.text) <= tokens
        check(reply, root, files)


# ---------------------------------------------------------------------------- the head


def test_head_describes_the_project(tree: Plant) -> None:
    root = tree(
        {
            "README.md": "",
            "AGENTS.md": "",
            "pyproject.toml": "",
            "web/package.json": "",
            "web/src/a.ts": "",
            "src/a.py": "",
            "src/b.py": "",
            "LICENSE": "",
        },
        "proj",
    )
    assert overview(root).text == (
        "# proj  no git, 8 files in 3 dirs\n"
        "types: .md 2, .py 2, .json 1, .toml 1, .ts 1, other 1\n"
        "read first: AGENTS.md README.md\n"
        "build: pyproject.toml web/package.json\n"
        "./ AGENTS.md LICENSE README.md pyproject.toml src/ web/\n"
        "src/ a.py b.py\n"
        "web/ package.json\n"
        "web/src/ a.ts\n"
        "[8 of 8 files named]\n"
    )


def test_data_have_the_content_of_the_text(tree: Plant) -> None:
    root = tree({"README.md": "", "src/deep/a.py": "", "src/deep/b.py": ""}, "proj")
    reply = overview(root)
    assert reply.data == {
        "name": "proj",
        "path": ".",
        "branch": None,
        "files": 3,
        "directories": 2,
        "types": [{"kind": ".py", "files": 2}, {"kind": ".md", "files": 1}],
        "read_first": ["README.md"],
        "build": [],
        "tests": [],
        "start": [],
        "edited": [],
        "named": 3,
        "map": [
            {
                "path": ".",
                "names": ["README.md"],
                "links": [],
                "collapsed": ["src"],
                "more_files": 0,
            },
            {
                "path": "src/deep",
                "names": ["a.py", "b.py"],
                "links": [],
                "collapsed": [],
                "more_files": 0,
            },
        ],
    }


def test_kinds_of_files_in_data_add_up(tree: Plant) -> None:
    root = tree({"LICENSE": ""} | {f"{end}{n}.{end}": "" for end in "pqstuvwx" for n in "12"})
    data = overview(root).data
    assert isinstance(data, dict)
    assert data["types"] == [{"kind": f".{end}", "files": 2} for end in "pqstuv"] + [
        {"kind": None, "files": 5}
    ]


def test_kinds_are_extensions_in_either_case(tree: Plant) -> None:
    root = tree({"a.ts": "", "b.TS": "", "notes.1": "", "x.odd": "", "d/.hidden": ""})
    assert "\ntypes: .ts 2, .odd 1, other 2\n" in overview(root).text


def test_common_kind_is_named_however_long_its_extension_is(tree: Plant) -> None:
    files = {f"{n}.go": "" for n in range(6)} | {f"{n}.caddyfiletest": "" for n in range(4)}
    assert "\ntypes: .go 6, .caddyfiletest 4, other 1\n" in overview(tree(files | {"one": ""})).text


def test_empty_project_is_reported(tree: Plant) -> None:
    text = "# p  no git, 0 files in 0 dirs\n./\n[0 of 0 files named]\n"
    assert overview(tree({}, "p")).text == text


def test_directory_that_git_ignores_does_not_look_empty(repository: Path) -> None:
    (repository / "build/deep").mkdir(parents=True)
    (repository / "build/deep/out.c").touch()
    (repository / ".gitignore").write_text("/build\n*.o\n")
    (repository / "objects").mkdir()
    (repository / "objects/a.o").touch()
    note = (
        "[git ignores all that is in here: workspace/search_files with include_ignored finds it]\n"
    )
    assert note in overview(repository, path="objects").text
    assert note not in overview(repository).text
    assert "out.c" in overview(repository, path="build").text, "who asks for it wants to see it"


def test_root_of_the_file_system_has_a_name(tree: Plant) -> None:
    tree({})
    context = {"root": "/", "deadline_ms": 1}
    reply = server_at("/").call("workspace/project_overview", {}, context)
    assert reply.text.startswith("# /  ")
    assert "[the time was up: not everything is counted]\n" in reply.text
    assert "files named; dir/(N)" in reply.text
    assert reply.truncated


# ---------------------------------------------------------------------------- git


def test_branch_and_latest_edits_are_shown(repository: Path) -> None:
    commit(repository, "a.py", "gone.py")
    git(repository, "checkout", "-q", "-b", "feature/x")
    git(repository, "rm", "-q", "gone.py")
    commit(repository, "src/b.py")
    commit(repository, "src/b.py")
    text = overview(repository).text
    assert text.startswith("# R  git feature/x, 2 files in 1 dir\n")
    assert "edited lately: src/b.py a.py\n" in text


def test_recent_edits_are_those_of_thirty_commits(repository: Path) -> None:
    names = [["30.py"], ["29.py"], *[["other.py"]] * 28, ["0.py"]]
    commit_each(repository, [["30.py", "29.py", "0.py"], *names])
    (told,) = re.findall("edited lately: (.*)", overview(repository).text)
    assert told.split() == ["other.py", "0.py", "29.py"]


def test_edits_of_a_hundred_files_at_once_count(repository: Path) -> None:
    names = [f"{number:03}.py" for number in range(101)]
    commit_each(repository, [names, names[:100], ["100.py"]])
    assert "edited lately: 100.py 000.py " in overview(repository, max_tokens=400).text
    commit_each(repository, [names, names, ["100.py"]])
    assert "edited lately: 100.py\n" in overview(repository, max_tokens=400).text


def test_three_directories_of_tests_are_shown_and_no_program_below_three(tree: Plant) -> None:
    files = [f"{part}/tests/{n}.py" for n, part in enumerate("abcd")]
    text = overview(tree(dict.fromkeys([*files, "a/b/c/main.py", "a/b/c/d/main.py"], ""))).text
    assert "test: a/tests/(1) b/tests/(1) c/tests/(1)\n" in text
    assert "start: a/b/c/main.py\n" in text


def test_only_commit_is_no_recent_edit(repository: Path) -> None:
    commit(repository, "a.py", "b.py", "part/c.py")
    assert "edited lately" not in overview(repository).text
    commit(repository, "b.py")
    assert "edited lately: b.py a.py part/c.py\n" in overview(repository).text
    assert "edited lately" not in overview(repository, path="part").text


def test_import_of_everything_is_no_recent_edit(repository: Path) -> None:
    commit(repository, *(f"file{number}.py" for number in range(101)))
    assert "edited lately" not in overview(repository).text
    commit(repository, "file7.py")
    assert "edited lately: file7.py\n" in overview(repository).text


def test_detached_head_and_no_commit_are_no_errors(repository: Path) -> None:
    (repository / "new.py").touch()
    assert overview(repository).text.startswith("# R  git main, 1 file in 0 dirs\n")
    assert overview(repository).warnings == ()
    commit(repository, "a.py")
    git(repository, "checkout", "-q", "--detach")
    assert overview(repository).text.startswith("# R  git, no branch, 2 files in 0 dirs\n")


def test_hot_directory_goes_before_large_ones(repository: Path) -> None:
    parts = [f"large{n}/part{m}/{file}.py" for n in range(6) for m in range(9) for file in "abc"]
    commit(repository, *parts)
    for _ in range(6):
        commit(repository, "hot/inner/deep/h.py", "hot/inner/h.py")
    reply = overview(repository, max_tokens=120)
    assert {"hot/inner", "hot/inner/deep"} <= folders(reply), reply.text
    assert not any(path.startswith("large") and "/" in path for path in folders(reply)), reply.text
    assert overview(repository, max_tokens=120).text == reply.text


def test_ignored_files_are_neither_named_nor_counted(repository: Path) -> None:
    commit(repository, "keep.log", "a.py")
    (repository / ".gitignore").write_text("*.log\nbuild/\n")
    (repository / "build").mkdir()
    (repository / "build/x.o").touch()
    (repository / "other.log").touch()
    reply = overview(repository)
    assert named(reply) == {".gitignore", "a.py", "keep.log"}
    assert reply.text.startswith("# R  git main, 3 files in 0 dirs\n")


def test_repository_within_is_one_of_its_own(repository: Path) -> None:
    commit(repository, "a.py")
    inner = repository / "vendor" / "lib"
    inner.mkdir(parents=True)
    git(inner, "init", "-q", "-b", "inner")
    commit(inner, "b.py")
    reply = overview(repository)
    assert "vendor/lib/(git)" in reply.text
    assert "[dir/(git) is a repository of its own: give it as path]\n" in reply.text
    own = overview(repository, path="vendor/lib").text
    assert own.startswith("# R/vendor/lib  git inner, 1 file in 0 dirs\n")
    assert "\nvendor/lib/ b.py\n" in own


def test_root_below_the_top_of_a_work_tree_has_its_own_paths(repository: Path) -> None:
    commit(repository, "above.py", "part/cold.py")
    commit(repository, "part/src/a.py")
    commit(repository, "part/src/a.py")
    reply = overview(repository / "part")
    assert reply.text.startswith("# part  git main, 2 files in 1 dir\n")
    assert "edited lately: src/a.py cold.py\n" in reply.text
    assert named(reply) == {"cold.py", "src/a.py"}
    below_it = overview(repository, path="part/src")
    assert "edited lately: part/src/a.py\n" in below_it.text
    assert "above" not in reply.text + below_it.text


def test_configuration_of_a_hostile_repository_runs_nothing(repository: Path) -> None:
    commit(repository, "a.py")
    made = repository / "pwned"
    program = repository / "program"
    program.write_text(f"#!/bin/sh\n: >{made}\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "log.showSignature",
        "gpg.program",
        "diff.external",
    ):
        git(repository, "config", key, "true" if key == "log.showSignature" else str(program))
    (repository / ".gitattributes").write_text("* diff=x filter=x\n")
    git(repository, "config", "diff.x.textconv", str(program))
    git(repository, "config", "filter.x.clean", str(program))
    assert overview(repository).text.startswith("# R  git main, ")
    assert not made.exists()


def test_repository_that_is_none_is_a_directory(tree: Plant) -> None:
    root = tree({".git/HEAD": "nonsense", ".git/config": "[", "a.py": ""})
    assert named(overview(root)) == {"a.py"}


def test_name_of_a_branch_cannot_forge_a_line(repository: Path) -> None:
    commit(repository, "a.py")
    head = repository / ".git/HEAD"
    head.write_text("ref: refs/heads/x\u202e\n")
    assert overview(repository).text.splitlines()[0].isprintable()


def test_missing_git_is_reported(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstaff.programs._PLACES", ())
    monkeypatch.setenv("PATH", str(repository))
    reply = overview(repository)
    assert "  git unknown, " in reply.text.partition("\n")[0]
    assert list(reply.warnings) == ["Nothing is known of edits: git is not installed"]


# ---------------------------------------------------------------------------- limits


def test_too_few_tokens_are_refused_with_the_number_that_is_enough(tree: Plant) -> None:
    root = tree({f"directory-{number}/file-{number}.py": "" for number in range(30)})
    refused = overview(root, max_tokens=10)
    assert code(refused) == "INVALID_ARGUMENT"
    told = re.fullmatch(
        r"Error: Argument 'max_tokens': 10 is too small: the least that is of use here is (\d+)",
        refused.text,
    )
    assert told, refused.text
    least = int(told[1])
    assert overview(root, max_tokens=least).ok
    assert not overview(root, max_tokens=least - 1).ok
    assert [code(overview(root, max_tokens=n)) for n in (0, -5)] == ["INVALID_ARGUMENT"] * 2


def test_limit_of_the_caller_counts_too(tree: Plant) -> None:
    root = tree({f"d{number}/f{number}.py": "" for number in range(300)})
    for context in ({"max_output_bytes": 700}, {"available_capacity_bytes": 700}):
        reply = overview(root, context, max_tokens=4000)
        assert reply.ok
        assert len(reply.text.encode()) <= 700
    assert estimated(overview(root, {"max_output_bytes": 90_000}, max_tokens=400).text) <= 400
    for limit in (0, 100):
        shortest = overview(root, {"max_output_bytes": limit}, max_tokens=4000).text
        assert shortest.endswith(f"[cut to {max(limit, 64)} bytes]\n")


@pytest.mark.parametrize(
    "name",
    [
        "{0:x}{0:o}ab.png",
        "\u6587\u4ef6{}.txt",
        "2026-03-{:04}.log.gz",
        "\U0001f600{}.md",
        "_-+={}.@~",
    ],
)
def test_budget_holds_for_names_that_are_no_words(tree: Plant, name: str) -> None:
    root = tree({f"d{n % 7}/{name.format(7919 * n)}": "" for n in range(300)})
    for tokens in (150, 500):
        assert estimated(overview(root, max_tokens=tokens).text) <= tokens


def test_head_tells_where_tests_are_and_where_programs_start(tree: Plant) -> None:
    root = tree(
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "Makefile": "all:\n\ntest: all\n\tpytest\n",
            "package.json": '{"scripts": {"build": "x"}}',
            "src/app/__main__.py": "",
            "src/app/util.py": "",
            "tests/unit/test_util.py": "",
            "tests/main.py": "",
            "docs/contributing.rst": "",
            "docs/Makefile": "test:\n",
        }
    )
    text = overview(root).text
    assert "\nread first: docs/contributing.rst\n" in text
    assert "\nbuild: Makefile package.json pyproject.toml\n" in text
    assert "\ntest: tests/(2)\n" in text
    assert "\nstart: src/app/__main__.py\n" in text
    data = overview(root).data
    assert isinstance(data, dict)
    assert data["tests"] == [{"path": "tests", "files": 2}]


def test_main_programs_and_documents_at_the_top_come_first(tree: Plant) -> None:
    root = tree(
        {
            "bin/tool": "",
            "cmd/tool/main.go": "",
            "scripts/main.go": "",
            "cmd/docs/contributing.md": "",
            "cmd/docs/design.md": "",
            "docs/design.md": "",
            "README.md": "",
            "gradlew": "",
            "examples/tests/a.go": "",
        }
    )
    text = overview(root).text
    assert "\nread first: README.md docs/design.md cmd/docs/contributing.md\n" in text
    assert "\nstart: cmd/tool/main.go bin/tool\n" in text


def test_index_of_the_top_src_is_the_start_of_a_program(tree: Plant) -> None:
    root = tree(
        {"package.json": "{}", "src/index.ts": "", "index.ts": "", "packages/a/index.ts": ""}
    )
    assert "\nstart: index.ts src/index.ts\n" in overview(root).text


def test_edited_lately_leaves_out_files_that_change_along(repository: Path) -> None:
    for name in ("CHANGES.md", "uv.lock", ".github/workflows/x.yml", "package.json", "src/a.py"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "all")
    commit(repository, "src/a.py")
    assert "edited lately: src/a.py\n" in overview(repository).text


def test_many_directories_are_counted_where_they_have_no_room(tree: Plant) -> None:
    root = tree({f"directory-{number:03}/f.py": "" for number in range(200)})
    reply = overview(root, max_tokens=300)
    check(reply, root, {f"directory-{number:03}/f.py" for number in range(200)})
    assert isinstance(reply.data, dict)
    first = reply.data["map"][0]
    assert first["more_files"] == 200 - len(folders(reply) - {"."})
    assert len(first["collapsed"]) > 5


def test_head_takes_a_fifth_of_the_tokens(tree: Plant) -> None:
    files = [f"part-{number}/{name}" for number in range(60) for name in ("setup.py", "tests/t.py")]
    root = tree(dict.fromkeys([*files, *(f"{n}.md" for n in ("README", "DESIGN", "HACKING"))], ""))
    title, *rest = overview(root, max_tokens=1000).text.splitlines(keepends=True)
    head = [line for line in rest if re.match("[a-z ]+: ", line)]
    assert title.startswith("# ")
    assert 100 < sum(map(estimated, head)) <= 200


def test_directory_of_many_files_is_shown_in_part(tree: Plant) -> None:
    root = tree({f"d/{number:05}.py": "" for number in range(3000)} | {"README.md": ""})
    reply = overview(root, max_tokens=400)
    assert sum(line.omitted for line in lines(reply)) == 3001 - len(named(reply))
    assert len(named(reply)) > 50


def test_tree_as_deep_as_can_be_is_shown(tree: Plant) -> None:
    root = tree({"d/" * (DEEPEST - 1) + "f.py": ""})
    reply = overview(root, max_tokens=4000)
    assert named(reply) or any(path.startswith("d/d/") for path in folders(reply))


def test_directory_too_deep_for_a_walk_is_reported_and_can_be_given_as_path(tree: Plant) -> None:
    root = tree({"d/" * (DEEPEST + 20) + "f.py": ""})
    for _ in range(2):  # the second time from the cache
        reply = overview(root, max_tokens=4000)
        assert "\n./ d/ " + "d/" * DEEPEST + "(?)\n" in reply.text
        assert "[dir/(?) cannot be read]\n" in reply.text
    deeper = overview(root, path="d/" * DEEPEST, max_tokens=4000)
    assert deeper.text.startswith(f"# {root.name}/d/d/")
    assert len(folders(deeper)) > 1


def test_cancelled_call_says_so(tree: Plant) -> None:
    cancelled = threading.Event()
    cancelled.set()
    server = server_at(tree({"f": ""}))
    assert code(server.call("workspace/project_overview", {}, None, cancelled)) == "CANCELLED"


# ---------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("path", "expected", "words_"),
    [
        ("..", "SANDBOX_VIOLATION", "is outside the workspace"),
        ("/etc", "SANDBOX_VIOLATION", "is outside the workspace"),
        ("out", "SANDBOX_VIOLATION", "is outside the workspace"),
        ("gone", "NOT_FOUND", "does not exist"),
        ("f/gone", "NOT_DIRECTORY", "does not exist"),
        ("f", "NOT_DIRECTORY", "is not a directory: give the directory that it is in"),
        ("a\0", "INVALID_ARGUMENT", "cannot be used: the path holds a NUL character"),
    ],
)
def test_path_that_cannot_be_shown_is_refused(
    tree: Plant, path: str, expected: str, words_: str
) -> None:
    root = tree({"f": "", "out": {"link": "/etc"}})
    reply = overview(root, path=path)
    assert code(reply) == expected
    assert reply.text.endswith(words_)
    assert reply.text.isprintable()


def test_link_within_the_project_leads_to_its_target(tree: Plant) -> None:
    root = tree({"d/f.py": "", "l": {"link": "d"}})
    reply = overview(root, path="l")
    assert lines(reply)[0].path == "d"
    assert "l@" in overview(root).text


def test_directory_that_cannot_be_read_is_reported(tree: Plant) -> None:
    root = tree({"closed/f": "", "open/g": ""})
    (root / "closed").chmod(0o000)
    reply = unprivileged(lambda: overview(root))
    refused = unprivileged(lambda: overview(root, path="closed"))
    (root / "closed").chmod(0o755)
    assert " closed/(?) " in reply.text
    assert "[dir/(?) cannot be read]\n" in reply.text
    assert code(refused) == "PERMISSION_DENIED"


def test_schema_has_the_defaults() -> None:
    published = {parameter.name: parameter.schema() for parameter in TOOL.parameters}
    assert published["path"]["default"] == "."
    assert published["max_tokens"]["default"] == 1000
    assert published["max_tokens"]["type"] == "integer"
