"""The notes of a cut answer work if they are followed literally: then everything is seen."""

from pathlib import Path

import pytest

from tests.py.attack.attackers import TOOLS
from tests.py.attack.follower import Answer, Follower, told_by
from tests.py.project.repositories import alone, git
from tests.py.servers import fitting, server_at
from tests.py.trees import GIT, Plant, plant

pytestmark = pytest.mark.slow

LIMITS = (700, 2000, 24_576)
WIDE = 1010


def project(folder: Path, wide: int = WIDE) -> Path:
    """A project with a folder of `wide` files, one of as many folders, deep ones, and odd names."""
    names = [f"many/file-{number:04}.txt" for number in range(wide)]
    names += [f"folders/folder-{number:04}/inside.py" for number in range(wide)]
    names += [f"deep/{'level/' * depth}at-{depth}.c" for depth in range(16)]
    names += [f"{one}/{other}.md" for one in "abc" for other in ("x y", "日本", "+3", "n\nl", "q'")]
    names += [f"top-{number}.cfg" for number in range(40)]
    names += [f"both/{number:03}/f" for number in range(80)] + [f"both/g{n:03}" for n in range(80)]
    return plant(folder / "R", dict.fromkeys(names, ""))


def files(root: Path, below: str = ".") -> set[str]:
    """Return the files of the project, by their paths from `root`."""
    return {str(p.relative_to(root)) for p in (root / below).rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("notes"))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("workspace/tree", {"path": ".", "entry_kind": "all"}),
        ("workspace/tree", {"path": "deep", "entry_kind": "all", "max_depth": 12}),
        ("workspace/tree", {"path": "both", "entry_kind": "all", "max_depth": 1}),
        ("workspace/tree", {"path": ".", "entry_kind": "all", "max_depth": 0}),
        ("workspace/tree", {"path": "many"}),
        ("workspace/search_files", {"query": "**", "kind": "glob"}),
        ("workspace/search_files", {"query": "e"}),
    ],
    ids=str,
)
def test_all_files_are_seen_in_the_end(
    root: Path, tool: str, given: dict[str, object], limit: int
) -> None:
    wanted = files(root, str(given.get("path", ".")))
    if "pattern" in given:
        wanted = {path for path in wanted if given["pattern"] == "*" or "/file-" in path}
    if given.get("query") == "e":
        wanted = {path for path in wanted if "e" in path.lower()}
    assert not Follower(server_at(root), limit).follow(tool, given, wanted)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("narrow"), 150)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("given", [{}, {"max_tokens": 500}, {"max_tokens": 20_000}], ids=str)
def test_all_files_are_seen_from_an_overview(
    narrow: Path, given: dict[str, object], limit: int
) -> None:
    # No limit of an overview counts files, and a follower asks about each folder.
    follower = Follower(server_at(narrow), limit)
    assert not follower.follow("workspace/project_overview", given, files(narrow))


@pytest.mark.parametrize("limit", [2000, 24_576])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("workspace/tree", {"path": ".", "entry_kind": "all"}),
        ("workspace/tree", {"path": ".", "entry_kind": "all", "max_entries": 1}),
        ("workspace/tree", {"path": ".", "entry_kind": "all", "max_entries": 150, "max_depth": 9}),
        ("workspace/tree", {"path": ".", "entry_kind": "all", "max_entries": 1000}),
        ("workspace/project_overview", {}),
        ("workspace/project_overview", {"max_tokens": 300}),
        ("workspace/search_files", {"query": "**", "kind": "glob", "max_results": 7}),
    ],
    ids=str,
)
def test_one_tool_alone_leads_to_all_files_where_no_folder_holds_too_many(
    tree: Plant, tool: str, given: dict[str, object], limit: int
) -> None:
    names = [
        f"{a}/{b}/{c}/file-{n}.c" for a in "abcde" for b in "fgh" for c in "xyz" for n in "1234"
    ]
    names += [f"{a}/{b}/more-{n}.h" for a in "abc" for b in "fg" for n in range(20)]
    root = tree(dict.fromkeys([*names, "README", "z.txt", "a/only/one/in/here"], ""))
    follower = Follower(server_at(root), limit, loyal=True)
    assert not follower.follow(tool, given, files(root))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("path", [".", "many", "folders", "both", "deep"])
@pytest.mark.parametrize("sort_by", ["name", "size"])
def test_all_that_a_directory_holds_is_seen_in_the_end(
    root: Path, path: str, sort_by: str, limit: int
) -> None:
    follower = Follower(server_at(root), limit)
    follower.follow("agent-q/list_directory", {"path": path, "sort_by": sort_by}, {"all of it"})
    for one in (root / path).iterdir():
        name = str(one.relative_to(root))
        inside = files(root, name) if one.is_dir() else {name}
        assert f"{name}/" in follower.seen or inside <= follower.seen, name


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_all_files_that_match_are_seen_in_the_end(tree: Plant, output: str, limit: int) -> None:
    content = {
        f"{a}/{b}/file-{number:02}.c": f"run\n{'x' * number * 9}RUN{'y' * 400}"
        for a in ("a", "build", "41: x")
        for b in ("n\nl", "日本", "q")
        for number in range(20)
    }
    given = {"pattern": "^x*RUN", "output": output, "max_results": 7}
    root = tree(content)
    assert not Follower(server_at(root), limit).follow(
        "workspace/regexp_search", given, set(content)
    )


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [("SECRET", "kept/b"), ("f(x", "a"), ("built", "out/x"), ("Inner", "inner/c")],
)
def test_reason_why_no_line_matches_leads_to_one_that_does(
    folder: Path, pattern: str, wanted: str
) -> None:
    content = {"a": "f\\(x\nf(x(\n", "kept/b": "a secret", "out/x": "built", "inner/c": "Inner"}
    root = plant(folder / "R", content | {".gitignore": "out\n"})
    with alone(folder / "home"):
        git(root, "init", "-q")
        git(root / "inner", "init", "-q")
        given = {"pattern": pattern, "literal": pattern == "f(x"}
        follower = Follower(server_at(root), 2000)
        assert not follower.follow("workspace/regexp_search", given, {wanted})


@pytest.mark.parametrize(
    ("include", "root_path", "wanted"),
    [
        ("**/*.js", ".", "src/build/a.js"),
        ("**/*.js", "src", "src/build/a.js"),
        ("lib/*", "src", "src/lib/c.c"),
        ("*.c", ".", "src/lib/c.c"),
    ],
)
def test_reason_why_include_leaves_no_file_leads_to_one(
    folder: Path, include: str, root_path: str, wanted: str
) -> None:
    root = plant(folder / "R", {"src/build/a.js": "hit", "src/lib/c.c": "hit"})
    with alone(folder / "home"):
        git(root, "init", "-q")
        given: dict[str, object] = {"pattern": "hit", "include": [include], "root_path": root_path}
        follower = Follower(server_at(root), 2000)
        assert not follower.follow("workspace/regexp_search", given, {wanted})


# ---------------------------------------------------------------------------- commands


@pytest.mark.parametrize("limit", [300, 700, 24_576])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("commands/list_commands", {}),
        ("commands/list_commands", {"page_size": 100}),
        ("commands/list_commands", {"page_size": 7}),
        ("commands/search_commands", {"query": "command"}),
        ("commands/search_commands", {"query": "command", "max_results": 100}),
        ("commands/search_commands", {"query": "nothing like it"}),
    ],
    ids=str,
)
def test_all_commands_are_seen_in_the_end(
    tree: Plant, tool: str, given: dict[str, object], limit: int
) -> None:
    content = {
        f".claude/commands/command-{number:03}.md": f"Does {'much ' * (number % 17)}"
        for number in range(130)
    }
    wanted = {f"command-{number:03}" for number in range(130)}
    assert not Follower(server_at(tree(content)), limit).follow(tool, given, wanted)


# ---------------------------------------------------------------------------- why nothing is found


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"query": "Parser", "kind": "substring"}, "src/deep/parser.c"),
        ({"query": "*.c", "kind": "glob"}, "src/deep/parser.c"),
        ({"query": "*.[ch]"}, "src/deep/parser.c"),
        ({"query": "**/*.[c]"}, "src/deep/parser.c"),
        ({"query": "out.o"}, "built/out.o"),
    ],
    ids=str,
)
def test_reason_for_no_match_leads_to_a_match(
    tree: Plant, given: dict[str, object], wanted: str
) -> None:
    content = {"src/deep/parser.c": "int main", "built/out.o": "", ".gitignore": "built\n", "a": ""}
    follower = Follower(server_at(tree({**content, **GIT})), 24_576)
    assert not follower.follow("workspace/search_files", given, {wanted})


def test_repositories_and_ignored_files_are_found_by_their_notes(folder: Path) -> None:
    content = {"src/a.c": "", "inner/b.c": "", "built/x/y.o": "", ".gitignore": "built\n"}
    root = plant(folder / "R", content)
    with alone(folder / "home"):
        git(root, "init", "-q")
        git(root / "inner", "init", "-q")
        server = server_at(root)
        assert not Follower(server, 2000).follow(
            "workspace/project_overview", {}, {"src/a.c", "inner/b.c"}
        )
        assert not Follower(server, 2000).follow(
            "workspace/project_overview", {"path": "built"}, {"built/x/y.o"}
        )
        assert not Follower(server, 2000).follow(
            "workspace/search_files", {"query": "y.o"}, {"built/x/y.o"}
        )


NEVER_CUT = {"agent-q/get_file_info"}
NO_MORE_TO_SEE = {"commands/get_command", "forge/list_directory"}
"""Tools whose contracts have no argument for another part, or no place for a note."""
# tests/py/tools/test_read_file.py follows these to the last line.
READ_ELSEWHERE = {"workspace/read_file"}
READ_ELSEWHERE |= {one for one in TOOLS if "/git_" in one}  # in tests/py/changes/test_tools.py
READ_ELSEWHERE |= {"workspace/outline"}  # in tests/py/tools/test_outline.py


@pytest.mark.parametrize("tool_id", [one for one in TOOLS if one not in READ_ELSEWHERE])
def test_answer_that_is_cut_tells_of_calls_that_show_more(tree: Plant, tool_id: str) -> None:
    # Whoever adds a tool that cuts its answers must teach the follower the meaning of its notes.
    content = {f".claude/commands/go-{number:02}.md": "go " * 900 for number in range(50)}
    content |= {f"folder-{number:02}/go{number}": "go" for number in range(90)}
    server = server_at(tree(content | {".claude/commands/go.md": "go on\n" * 900}))
    given, small = fitting(TOOLS[tool_id]), {"max_output_bytes": 700}
    reply = server.call(tool_id, given, small)
    assert reply.truncated is (tool_id not in NEVER_CUT), reply.text
    calls = [] if tool_id in NEVER_CUT else [*told_by(Answer.of((tool_id, given), reply))]
    assert bool(calls) is (tool_id not in NEVER_CUT | NO_MORE_TO_SEE), reply.text
    others = [server.call(*call, small) for call in calls]
    assert all(other.ok for other in others)
    assert not calls or any(other.text != reply.text for other in others)
