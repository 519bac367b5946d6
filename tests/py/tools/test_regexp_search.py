"""workspace/regexp_search: matches, order, files and dialect (`search N` of the contract)."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.contents.dialects import BadRegexp, translated
from backstaff.contents.regexp import Matchers
from backstaff.contents.regexp_worker import Job
from backstaff.contents.scan import Hits, Scan
from backstaff.errors import DeadlineExceeded
from backstaff.fs.contents import Contents
from backstaff.fs.handles import Descriptors
from backstaff.fs.secrets import OPEN
from backstaff.project.files import KEPT
from backstaff.render.lines import counted
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from backstaff.tools.workspace import regexp_search
from tests.py.examples import examples
from tests.py.processes import unprivileged
from tests.py.project.repositories import git
from tests.py.tools.searches import SERVER, TOOL, data_of, found, last_line, search, unsaved
from tests.py.trees import Plant, settle

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_git_settings")]

# ---------------------------------------------------------------------------- search 1: matches


@pytest.mark.parametrize("flags", ["", "g", "m", "s", "u", "gmsu"])
def test_flags_but_i_change_nothing_within_a_line(tree: Plant, flags: str) -> None:  # search 1
    root = tree({"t": "aXa\nXa\n"})
    wanted = [("t", 1, 1, "a"), ("t", 1, 3, "a"), ("t", 2, 2, "a")]
    assert found(root, "a", flags=flags) == wanted
    assert found(root, "a.X", flags=flags) == []


def test_flag_i_ignores_case_also_beyond_ascii(tree: Plant) -> None:  # search 1
    root = tree({"t": "straSSE\nÄpfel\n\u017ftrong\n", "u": "SAFE"})
    assert found(root, "äPFEL", flags="i") == [("t", 2, 1, "Äpfel")]
    assert found(root, "strong", flags="i") == [("t", 3, 1, "\u017ftrong")]
    assert found(root, "(?i)safe") == [("u", 1, 1, "SAFE")]


def test_match_never_crosses_the_end_of_a_line(tree: Plant) -> None:  # search 1
    root = tree({"t": "a\nb\r\nc\rd\x0be"})
    assert [item[1:3] for item in found(root, r"[^x]\Z")] == [(1, 1), (2, 1), (3, 5)]
    assert found(root, r"a\s+b") == []
    assert "within one line" in search(root, r"a\nb").text


def test_empty_file_has_no_line_and_a_last_newline_begins_none(tree: Plant) -> None:  # search 1
    root = tree({"empty": "", "one": "a\n", "two": "a\n\n"})
    assert found(root, "^$") == [("two", 2, 1, "")]


@given(
    st.text("ab\r\n\x0b\u2028é😀", max_size=30), st.sampled_from(["a*", "b", "^a", "a$", ".", ""])
)
def test_matches_are_those_of_each_line_alone(text: str, pattern: str) -> None:  # search 1
    wanted = []
    lines = re.split("\r\n|\n" if "\n" in text else "\r", text)
    lines = lines[:-1] if not lines[-1] else lines
    for number, one in enumerate(lines, 1):
        wanted += [(number, *match.span()) for match in re.finditer(pattern or "a|", one)]
    assert places_of(pattern or "a|", text) == wanted


def places_of(pattern: str, text: str, *, ignore_case: bool = False) -> list[tuple[int, ...]]:
    """Line, start and end of each match in `text`."""
    job = Job(((pattern, ignore_case),), output="content", window=(0, 10_000))
    directory = os.open("/", os.O_RDONLY)
    contents = Contents(directory, OPEN, "", {"a": text.encode()})
    try:
        with Matchers(Budget()) as matchers:
            found = list(Scan(["a"], job, contents).hits(matchers))
    finally:
        os.close(directory)
    return [match[:3] for one in found for match in one.matches]


WORDS = (
    r"a b ab . [ab] \w (?:ab|ba) a? b+ (a|b) A é ^ $ \b \B \s \S \W [^a] [\s\S] [^\W_] (?=b) (?!b)"
    r" (?<=a) (a)\1? (?>a+) a++ b{2,3} a{0,2000}? \A \Z (?i:ab) (?s:.) k"
)
PARTS = st.sampled_from([*WORDS.split(), "\u017f"])


@examples(1)
@given(
    parts=st.lists(PARTS, min_size=1, max_size=4),
    text=st.text("abcAks _\n\x1cé\u017f", max_size=40),
    ignore=st.booleans(),
)
def test_no_shortcut_leaves_a_match_out(
    parts: list[str],
    text: str,
    ignore: bool,  # noqa: FBT001
) -> None:
    pattern = "".join(parts)
    flags = re.IGNORECASE if ignore else re.NOFLAG
    try:
        compiled = re.compile(pattern, flags)
    except re.error:
        reject()  # such as "a?b{2,3}{2,3}"
    lines = text.removesuffix("\n").split("\n") if text else []
    wanted = [(n, *m.span()) for n, one in enumerate(lines, 1) for m in compiled.finditer(one)]
    assert places_of(pattern, text, ignore_case=ignore) == wanted


# ---------------------------------------------------------------------------- search 2: order


def test_order_is_by_utf_16_units_of_the_path_then_line_then_column(
    tree: Plant,
) -> None:  # search 2
    names = ["b", "a/z", "a-b/c", "a.c", "\ue000", "\U0001f600", "Z"]
    root = tree(dict.fromkeys(names, "x x\nx\n"))
    items = found(root, "x")
    paths = list(dict.fromkeys(item[0] for item in items))
    assert paths == sorted(names, key=lambda name: name.encode("utf-16-be"))
    assert [item[1:3] for item in items[:3]] == [(1, 1), (1, 3), (2, 1)]


@pytest.mark.parametrize("total", [4, 5, 6])
def test_truncated_only_where_one_more_match_is_known(tree: Plant, total: int) -> None:  # search 2
    root = tree({"a": "x\n" * (total - 1), "b": "x"})
    reply = search(root, "x", max_results=5)
    assert reply.truncated is data_of(reply)["truncated"] is (total > 5)
    assert ("[more: offset=5]\n" in reply.text) is (total > 5)
    assert len(data_of(reply)["items"]) == min(total, 5)


@pytest.mark.parametrize("output", ["content", "files", "count"])
@pytest.mark.parametrize("limit", [None, 400])
def test_pages_hold_each_match_once(
    tree: Plant, output: str, limit: int | None
) -> None:  # search 2
    few = {f"{n:02}": "x " * (n % 4) + "\n" + "x" * (n % 3) for n in range(30)}
    root = tree(few | {"many": "x " * 30})  # more than a page has room for
    whole = data_of(search(root, "x", max_results=500, output=output))["items"]
    offset, pages, context = (
        0,
        [],
        {"root": str(root)} | ({"max_output_bytes": limit} if limit else {}),
    )
    while offset is not None:
        given = {"pattern": "x", "max_results": 7, "output": output, "offset": offset}
        data = data_of(SERVER.call(TOOL, given, context))
        pages += data["items"]
        offset = data["next_offset"]
    assert pages == whole


@pytest.mark.parametrize(
    ("output", "total", "what"),
    [
        ("content", 3, "matches"),
        ("files", 2, "files with matches"),
        ("count", 2, "files with matches"),
    ],
)
def test_offset_after_the_last_match_is_told_with_the_total(
    tree: Plant, output: str, total: int, what: str
) -> None:
    root = tree({"a": "x x", "b": "x", "c": ""})
    for offset in (total, 40):
        head = search(root, "x", output=output, offset=offset).text.splitlines()[0]
        assert head.startswith(f"No more {what} than {total} for")
    for_nothing = search(root, "X", output=output, offset=1).text
    assert not for_nothing.startswith(("Files 2", "No more"))
    assert "2 files match without regard to case: flags=i" in for_nothing


# ---------------------------------------------------------------------------- search 3, 4


def test_names_of_the_contract_are_excluded_also_against_include(tree: Plant) -> None:  # search 3
    names = ["node_modules", "dist", "build", "target", ".vscode"]
    root = tree({f"src/{name}/x": "hit" for name in names} | {"dist2/x": "hit", ".git/x": "hit"})
    reply = search(root, "hit", include=["**"], include_ignored=True)
    assert [item["path"] for item in data_of(reply)["items"]] == ["dist2/x"]
    assert data_of(reply)["skipped"]["excluded"] == 5
    folders = "src/.vscode/ src/build/ src/dist/ src/node_modules/ src/target/"
    told = f"5 in {folders}; give a directory as root_path"
    assert last_line(reply) == f"[not searched: {told}]"


def test_directory_with_an_excluded_name_is_searched_as_root_path(tree: Plant) -> None:  # search 3
    root = tree({"a b/build/deep/x": "hit", "y": "hit", "a b/dist": "hit", "target/empty/": None})
    git(root, "init", "-q")
    git(root, "add", ".")
    reply = search(root, "hit")
    assert last_line(reply) == (
        '[not searched: 1 in "a b/build"/, 1 named "a b/dist"; give a directory as root_path]'
    )
    assert data_of(reply)["skipped"]["excluded"] == 2
    assert found(root, "hit", root_path="a b/build") == [("a b/build/deep/x", 1, 1, "hit")]
    below = search(root, "hit", root_path="a b")
    assert ' 1 in "a b/build"/, ' in last_line(below)


def reason(reply: Reply) -> str:
    """The first line of the text about the reasons why nothing matches."""
    assert reply.ok, reply.text
    return reply.text.splitlines()[1]


def test_include_of_an_excluded_name_is_told_the_true_reason(tree: Plant) -> None:  # search 3
    root = tree({"src/build/x.js": "hit", "src/build/y.css": "hit", "src/z.py": "hit"})
    for root_path in (".", "src"):
        reply = search(root, "hit", include=["**/*.js"], root_path=root_path)
        assert "1 in src/build/; give a directory as root_path" in last_line(reply)
    assert [one[0] for one in found(root, "hit", include=["**/*.js"], root_path="src/build")] == [
        "src/build/x.js"
    ]
    both = search(root, "hit", include=["src/**"], exclude=["src/z.*"])
    assert "2 in src/build/; give a directory as root_path" in last_line(both)


def test_include_that_fits_only_below_the_root_path_is_applied_there(tree: Plant) -> None:
    root = tree({"a.py": "hit", "src/a.py": "hit", "src/lib/b.py": "hit", "src/c.c": "hit"})
    reply = search(root, "hit", root_path="src", include=["*.py", "lib/*"])
    assert [item["path"] for item in data_of(reply)["items"]] == ["src/a.py", "src/lib/b.py"]
    note = "no file matches 'include' from the workspace on, so here it counts from src/"
    assert data_of(reply)["notes"][0] == {"kind": "pattern", "text": note, "remedy": ""}
    assert f"[{note}]\n" in reply.text
    fits = search(root, "hit", root_path="src", include=["src/*.py", "lib/*"])
    assert [item["path"] for item in data_of(fits)["items"]] == ["src/a.py"]
    assert "here it counts from" not in fits.text


@pytest.mark.parametrize(
    ("include", "offered", "files"),
    [
        ("src/", "src/**", 3),
        ("src", "src/**", 3),
        ("src/*.py", "src/**/*.py", 2),
        ("a.py", "**/a.py", 1),
        ("/nowhere/*.py", "", 0),
    ],
)
@pytest.mark.parametrize("root_path", [".", "src"])
def test_include_that_matches_nothing_is_told_with_a_glob_that_does(
    tree: Plant, include: str, offered: str, files: int, root_path: str
) -> None:
    root = tree({"src/lib/a.py": "hit", "src/lib/b.py": "hit", "src/x": "", "src/build/c.py": ""})
    told = reason(search(root, "hit", include=[include], root_path=root_path))
    if not offered:
        assert told == f"[no file matches include '{include}']"
        return
    assert told.endswith(f": '{offered}' matches {counted(files, 'file')}]"), told
    assert found(root, "hit", include=[offered], root_path=root_path)


@pytest.mark.parametrize(
    "glob", ["app/[id]/page.tsx", "app/[id]/**", "**/[[...slug]].tsx", "app/[id]/[tab]/x", "[ab].*"]
)
def test_glob_that_spells_a_real_name_finds_it(tree: Plant, glob: str) -> None:
    names = ["app/[id]/page.tsx", "app/[id]/[[...slug]].tsx", "app/[id]/[tab]/x", "[ab].c"]
    root = tree(dict.fromkeys([*names, "other/page.tsx", "x"], "hit"))
    paths = {one[0] for one in found(root, "hit", include=[glob])}
    wanted = {
        "app/[id]/page.tsx": {"app/[id]/page.tsx"},
        "app/[id]/**": {*names[:3]},
        "**/[[...slug]].tsx": {"app/[id]/[[...slug]].tsx"},
        "app/[id]/[tab]/x": {"app/[id]/[tab]/x"},
        "[ab].*": set(),  # with a star, it is a class
    }
    assert paths == wanted[glob]


def test_include_that_would_match_more_files_deeper_is_told_where_nothing_matches(
    tree: Plant,
) -> None:
    root = tree({"a.el": "", "src/b.el": "hit", "src/lib/c.el": "", "src/build/d.el": "hit"})
    told = "'**/*.el' matches 3 files"
    assert reason(search(root, "hit", include=["**/c.el", "*.el"])) == f"[{told}]"
    told = "'src/**/*.el' matches 2 files"
    assert reason(search(root, "none", include=["src/*.el"], root_path="src")) == f"[{told}]"
    for text in (
        search(root, "hit", include=["**/c.el"]).text,
        search(root, "hit", include=["src/*.el"]).text,  # something matches
        search(root, "none", include=["*.el"], exclude=["src/**"]).text,
    ):
        assert "/*.el' matches" not in text


def test_include_that_becomes_too_long_a_glob_needs_no_reason(tree: Plant) -> None:
    root = tree({"src/a.py": "hit"})
    reply = search(root, "hit", root_path="src", include=["a" * 1023])
    assert reason(reply).startswith("[no file matches include 'aaa")


def test_files_that_are_new_since_the_last_search_are_searched(tree: Plant) -> None:
    root = tree({"b/b": "hit"})
    for name in ("a", "b/a", "\U0001f600", "\ue000"):
        (root / name).write_text("hit")
        paths = [item["path"] for item in data_of(search(root, "hit"))["items"]]
        there = [str(one.relative_to(root)) for one in root.rglob("*") if one.is_file()]
        assert paths == sorted(there, key=lambda path: path.encode("utf-16-be"))
        assert paths == [item["path"] for item in data_of(search(root, "HIT", flags="i"))["items"]]


def test_files_that_the_caller_leaves_out_are_not_told(tree: Plant) -> None:
    root = tree({"a.py": "hit", "b.c": "hit", "c.py": "\0hit"})
    both = search(root, "hit", include=["*.py"], exclude=["c.*"])
    assert last_line(both) == "[not searched: files outside include or in exclude]"
    assert data_of(both)["skipped"]["excluded"] == 2
    assert (
        last_line(search(root, "hit", include=["a.*"])) == "[not searched: files outside include]"
    )
    assert last_line(search(root, "hit", include=["*.py"])) == "[not searched: 1 binary]"
    assert last_line(search(root, "hit", exclude=["c.*"], include=["*"])).startswith("[not")
    assert last_line(search(root, "hit")) == "[not searched: 1 binary]"


@pytest.mark.parametrize("path", ["src/a.py", "a.py", "build/x.js", "kept.log", r"src\a.py"])
def test_file_as_root_path_is_searched_wherever_it_is(tree: Plant, path: str) -> None:
    names = ["src/a.py", "src/b.py", "a.py", "build/x.js", "kept.log"]
    root = tree(dict.fromkeys(names, "Hit\n") | {".gitignore": "*.log\n"})
    reply = search(root, "Hit", root_path=path)
    path = path.replace("\\", "/")
    assert [item["path"] for item in data_of(reply)["items"]] == [path]
    assert data_of(reply)["root_path"] == path
    assert reply.text.startswith(f"1 match in 1 file for /Hit/ (1 file searched in {path})\n")
    assert last_line(reply) == "[not searched: nothing]"
    assert "1 file matches without regard" in search(root, "hit", root_path=path).text


def test_file_as_root_path_is_refused_as_a_link_or_with_a_slash(tree: Plant) -> None:
    root = tree({"a": "hit", "link": {"link": "a"}, "fifo": {"fifo": True}})
    for path in ("link", "a/", "fifo"):
        assert search(root, "hit", root_path=path).error["code"] == "NOT_DIRECTORY", path  # type: ignore[index]


def test_unsaved_text_of_a_file_as_root_path_is_searched(tree: Plant) -> None:
    reply = unsaved(tree({"d/a": "old"}), "new", {"d/a": "new", "d/b": "new"}, root_path="d/a")
    assert [item["path"] for item in data_of(reply)["items"]] == ["d/a"]
    assert data_of(reply)["unsaved"] == ["d/a"]


def test_files_after_the_last_match_of_a_page_are_told(tree: Plant) -> None:
    root = tree({"a": "hit\nhit\n", "b.bin": "\0hit", "c.bin": "\0hit", "d": "hit"})
    early = search(root, "hit", max_results=1)
    assert last_line(early) == "[not searched: later files]"
    assert early.text.startswith("Matches 1-1 for /hit/ (the first 1 file searched)\n")
    assert last_line(search(root, "hit", max_results=3)) == "[not searched: 2 binary]"


def test_page_counts_what_is_left_out_up_to_its_last_file(tree: Plant) -> None:
    root = tree(
        {
            "a/hit": "hit\n",
            "b/hit": "hit\nhit\n",
            "c/hit": "hit\n",
            "a/x.log": "",
            "c/x.log": "",
            "a/build/x": "hit",
            "c/build/x": "hit",
            "a/test_x.py": "",
            "c/test_x.py": "",
            "a/out": "",
            "c/out": "",
            ".gitignore": "*.log",
        }
    )
    git(root, "init", "-q")
    git(root / "c", "init", "-q", "x")
    (root / "c/x/y").touch()
    asked = {"include": ["**/hit", "**/*.py", "**/build/**"], "exclude_tests": True}
    early = search(root, "hit", max_results=1, **asked)
    skipped, wanted = data_of(early)["skipped"], {"ignored": 1, "excluded": 3, "repositories": 0}
    assert {key: skipped[key] for key in wanted} == wanted
    assert last_line(early) == (
        "[not searched: 1 ignored by git, 1 file of tests, later files, 1 in a/build/; give"
        " a directory as root_path]"
    )
    whole, wanted = data_of(search(root, "hit", **asked))["skipped"], {"ignored": 2, "excluded": 5}
    assert {key: whole[key] for key in wanted} == wanted


@pytest.mark.parametrize("name", ["a/new", "b/new", "a-/new", "0", "a/d/new", "b/.gitignore"])
def test_page_of_files_that_are_kept_misses_none_and_has_no_ghost(tree: Plant, name: str) -> None:
    texts = {f"{folder}/hit{number}": "hit\n" for folder in "abcd" for number in range(20)}
    root = tree({**texts, "a/d/hit": "hit\n", "a-b/hit": "hit\n"})
    git(root, "init", "-q")
    settle(root)
    first = found(root, "hit", max_results=30)
    assert found(root, "hit", max_results=30) == first
    new = root / name
    new.parent.mkdir(exist_ok=True)
    new.write_text("hit*\n")
    changed = found(root, "hit", max_results=30)
    assert changed == anew(root, max_results=30)
    settle(root)
    assert found(root, "hit", max_results=30) == changed
    new.unlink()
    (root / "d/hit0").unlink()
    (root / "b/hit1").unlink()
    assert found(root, "hit", max_results=30) == anew(root, max_results=30)
    assert found(root, "hit", max_results=500) == anew(root, max_results=500)


def anew(root: Path, **asked: object) -> list[tuple[object, ...]]:
    """Search without the files that are kept."""
    KEPT.clear()
    return found(root, "hit", **asked)


def test_early_page_asks_for_the_stamps_of_few_directories(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"{a}/{b}/x": "hit\n" for a in "abcdefgh" for b in range(20)})
    settle(root)
    assert len(found(root, "hit", max_results=160)) == 160
    asked, lstats = list[str](), Descriptors.lstats

    def noted(self: Descriptors, names: Iterable[str], directory: int) -> list[os.stat_result]:
        asked.extend(names)
        return lstats(self, names, directory)

    monkeypatch.setattr(Descriptors, "lstats", noted)
    assert len(found(root, "hit", max_results=3)) == 3
    assert 0 < len(asked) < 60
    assert found(root, "nothing") == []
    assert len(asked) > 160


def ten_places(tree: Plant) -> Path:
    """The needle in each place where searches lose things."""
    root = tree(
        {
            "plain.txt": "needle\n",
            ".hidden": "needle\n",
            ".config/inside.txt": "needle\n",
            "secret.txt": "needle\n",
            "private/inside.txt": "needle\n",
            "debug.log": "needle\n",
            "program.bin": "\0needle\n",
            "large.txt": "needle\n" + "x\n" * (1 << 19),
            ".gitignore": "secret.txt\n/private/\n*.log\n",
        }
    )
    git(root, "init", "-q")
    (root / "wide.txt").write_bytes("needle\n".encode("utf-16"))
    git(root, "add", ".")
    (root / "untracked.txt").write_text("needle\n")
    return root


def test_each_of_ten_places_is_found_or_told(tree: Plant) -> None:  # search 3, 4
    root = ten_places(tree)
    reply = search(root, "needle")
    places = [item["path"] for item in data_of(reply)["items"]]
    assert places == [".config/inside.txt", ".hidden", "plain.txt", "untracked.txt"]
    assert last_line(reply) == "[not searched: 3 ignored by git, 2 binary, 1 over 1 MiB]"
    assert data_of(reply)["warnings"] == ["skipped_binary_files=2", "skipped_size_limit_files=1"]
    again = [
        item["path"] for item in data_of(search(root, "needle", include_ignored=True))["items"]
    ]
    assert {*again} == {*places, "secret.txt", "private/inside.txt", "debug.log"}


def test_setting_gives_the_contract_without_git(tree: Plant) -> None:  # search 3
    root = ten_places(tree)
    settings = Settings(tables={"regexp_search": regexp_search.Settings(respect_gitignore=False)})
    server = Server(SERVER.registry, settings, str(root))
    items = data_of(server.call(TOOL, {"pattern": "needle"}))["items"]
    assert {"secret.txt", "private/inside.txt", "debug.log"} <= {item["path"] for item in items}


def test_links_special_and_unreadable_files_are_told_and_never_waited_for(
    tree: Plant,
) -> None:  # search 4
    root = tree({"a": "hit", "closed": "hit", "shut/x": "hit"})
    (root / "latin").write_bytes(b"hit \xe9")
    (root / "link").symlink_to("a")
    (root / ".#a").symlink_to("me@host.1:1")  # Emacs's lock
    (root / "out").symlink_to("/etc/passwd")
    (root / "closed").chmod(0)
    (root / "shut").chmod(0)

    def told() -> tuple[list[str], str]:
        reply = search(root, "hit|root")
        return [item["path"] for item in data_of(reply)["items"]], last_line(reply)

    paths, last = unprivileged(told)
    (root / "shut").chmod(0o755)
    assert paths == ["a"]
    assert last == "[not searched: 2 unreadable, 1 not in UTF-8, 2 linked]"


def test_repositories_within_are_named(tree: Plant) -> None:  # search 3
    root = tree({"a": "hit", "inner/b": "hit"})
    git(root, "init", "-q")
    git(root / "inner", "init", "-q")
    assert "1 repository within: inner/; give a directory as root_path" in last_line(
        search(root, "hit")
    )


def test_root_that_is_a_link_is_no_directory(tree: Plant) -> None:  # search 4
    root = tree({"a/b": "hit"})
    (root / "link").symlink_to("a")
    assert search(root, "hit", root_path="link").error == {
        "code": "NOT_DIRECTORY",
        "message": "Path 'link' is not a directory: give the directory that it is in",
    }
    assert found(root, "hit", root_path="./a\\") == [("a/b", 1, 1, "hit")]


# ---------------------------------------------------------------------------- search 5


@pytest.mark.parametrize("pattern", ["x" * 1001, "é" * 501, " \n"])
def test_pattern_that_is_blank_or_too_long_is_refused(
    tree: Plant, pattern: str
) -> None:  # search 5
    reply = search(tree({"a": ""}), pattern)
    assert (reply.error or {})["code"] == "INVALID_ARGUMENT", reply.text


@pytest.mark.parametrize(
    "pattern", ["(" * 900, "(a", "a{2,1}", "[z-a]", "*", r"(?P<a>x)(?P<a>y)", r"\u{110000}"]
)
def test_pattern_that_is_none_is_refused_with_the_engines_words(
    tree: Plant, pattern: str
) -> None:  # search 5
    reply = search(tree({"a": "x"}), pattern)
    assert (reply.error or {})["code"] == "INVALID_REGEX", reply.text
    assert "literal=true" in reply.text


# ---------------------------------------------------------------------------- search 6: the dialect


@pytest.mark.parametrize(
    ("pattern", "python"),
    [
        (r"(?<year>\d+)-\k<year>", r"(?P<year>\d+)-(?P=year)"),
        (r"\u{1F600}\/", r"\U0001F600\/"),
        (r"(?<=a)(?<!b)\\k<x>[(?<a>\]]", r"(?<=a)(?<!b)\\k<x>[(?<a>\]]"),
    ],
)
def test_what_javascript_alone_has_is_translated(pattern: str, python: str) -> None:  # search 6
    assert translated(pattern) == python
    re.compile(python)


@pytest.mark.parametrize("pattern", [r"\p{Lu}x", r"a\P{Greek}", r"\u{FFFFFF}"])
def test_what_cannot_be_translated_says_so(pattern: str) -> None:  # search 6
    with pytest.raises(BadRegexp):
        translated(pattern)


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("(?s)foo.*return", {}),
        ("foo.*return", {"flags": "s"}),
        ("foo.*return", {"flags": "ms"}),
        (r"foo\([\s\S]*?\):", {}),
        (r"@property\s+def", {}),
        (r"foo\(a,\s*b\)", {}),
        ("foo[^x]*b", {}),
    ],
)
def test_pattern_that_matches_only_over_lines_is_told_so(
    tree: Plant, pattern: str, arguments: dict[str, object]
) -> None:  # search 1
    root = tree({"a.py": "@property\ndef foo(a,\n    b):\n    return bar\n", "b.py": "foo\n"})
    told = "[1 file matches over several lines, but a match is within one line: look for a part"
    assert told in search(root, pattern, **arguments).text
    assert "within one line" not in search(root, r"nothing\s+here", **arguments).text


@pytest.mark.parametrize("pattern", [r"main\(\)", r"\(foo\)", r"NAME\([^)]*\)"])
def test_call_that_is_nowhere_gets_no_hint_of_another_dialect(tree: Plant, pattern: str) -> None:
    reply = search(tree({"a": "main NAME foo\n"}), pattern)
    assert reply.text.splitlines()[1:] == ["[not searched: nothing]"]


def test_hints_say_so_if_not_all_files_could_be_read(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits, scans = Scan.hits, list[Scan]()

    def cut_short(self: Scan, matchers: Matchers) -> Iterator[Hits]:
        scans.append(self)
        is_hint = len(scans) > 1
        self.files = self.files[:8] if is_hint else self.files
        yield from hits(self, matchers)
        if is_hint:
            raise DeadlineExceeded

    monkeypatch.setattr(Scan, "hits", cut_short)
    text = search(tree({f"f{number}": "Foo" for number in range(20)}), "foo").text
    assert "[at least 8 files match without regard to case: flags=i]" in text


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"progress 10%\rprogress 20%\rdone\ndef b():\n    return 1\n", 2),
        (b"x\r\r\ndef b():\r\r\n    return 1\r\r\n", 2),
        (b"x\n\rdef b():\n\r    return 1\n", 2),
        (b"x\ry\rdef b():\r    return 1\r", 3),
        (b"x\r\ny\rz\r\ndef b():\r\n    return 1\r\n", 3),
    ],
)
def test_lines_have_the_same_numbers_in_a_search_a_read_and_an_outline(
    tree: Plant, data: bytes, line: int
) -> None:  # search 1
    root = tree({})
    (root / "a.py").write_bytes(data)
    assert [item[1] for item in found(root, r"def b\(")] == [line]

    def call(tool: str, **given: object) -> Any:  # noqa: ANN401
        reply = SERVER.call(f"workspace/{tool}", {"path": "a.py"} | given, {"root": str(root)})
        assert reply.ok, reply.text
        return reply

    assert "def b():" in call("read_file", start_line=line, max_lines=1).text
    if data[:3] != b"x\n\r":  # the carriage return stands before the definition
        assert call("outline").data["files"][0]["definitions"][0]["line"] == line
        assert f"{line}" in call("read_file", symbol="b").text


@pytest.mark.parametrize("output", ["content", "files"])
def test_pages_of_definitions_by_worth_have_one_order(tree: Plant, output: str) -> None:
    files = {f"d/{n:02}.py": f"def name_{n}():\n    name_{n}()\n" * 3 for n in range(30)}
    root, offset, wants = tree(files), 0, output == "content"
    for _ in range(4):
        page: dict[str, Any] = {"output": output, "definitions": wants, "offset": offset}
        reply = unsaved(root, "name_", {}, text_only=True, max_results=5, **page)
        assert "files have changed" not in reply.text
        assert ("of 30 with matches" in reply.text) is (output == "files"), reply.text
        offset = int(reply.text.rpartition("[more: offset=")[2].partition("]")[0])
