"""The tools for commands: no file can spoil an answer."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from backstaff.frontmatter import MAX_BYTES
from tests.py.replies import code
from tests.py.tools.commands.project import GET, SEARCH, Project, output, rows

NONE = "No description available"
GOOD = "---\ndescription: Good\n---\n"
BOMB = "a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\ndescription: Bomb\n"
MERGE = "a: &a {x: 1}\nb: &b {<<: [*a, *a, *a]}\nc: {<<: [*b, *b, *b]}\ndescription: Bomb\n"


def link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def written(text: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(text)


def sparse(path: Path) -> None:
    with path.open("wb") as out:
        out.write(b"---\ndescription: Huge\n---\n")
        out.truncate(8 << 30)


HOSTILE: dict[str, tuple[Callable[[Path], object], str | None, str]] = {
    # how it is made; its description, None where it is skipped; words of the warning
    "fifo": (os.mkfifo, None, "is a fifo"),
    "shadow": (link("/etc/shadow"), None, "outside the project"),
    "zero": (link("/dev/zero"), None, "outside the project"),
    "loop": (link("x.md"), None, "too many levels"),
    "dangling": (link("nothing"), None, "does not exist"),
    "climbing": (link("../../../secret.md"), None, "outside the project"),
    "link to a directory": (link("../../folder"), None, "is a directory"),
    "link to a fifo": (link("../../fifo"), None, "is a fifo"),
    "directory": (Path.mkdir, None, "is a directory"),
    "eight gigabytes": (sparse, "Huge", ""),
    "alias bomb": (written(f"---\n{BOMB}---\n".encode()), NONE, "refused"),
    "merge bomb": (written(f"---\n{MERGE}---\n".encode()), NONE, "refused"),
    "unterminated": (written(b"---\ndescription: Open\n"), "description: Open", "not closed"),
    "endless": (written(b"---\ndescription: Long\n" + b"a: b\n" * 50_000), NONE, "64 KiB"),
    "latin-1": (
        written("---\ndescription: Größe\n---\n".encode("latin-1")),
        "Gr\ufffd\ufffde",
        "UTF-8",
    ),
    "utf-16": (written("---\ndescription: x\n---\n".encode("utf-16")), NONE, "UTF-16"),
    "bom": (written(b"\xef\xbb\xbf---\ndescription: Marked\n---\n"), "Marked", ""),
    "crlf": (written(b"---\r\ndescription: Two\r\n---\r\n"), "Two", ""),
    "nul": (written(b"---\ndescription: a\0b\n---\n"), NONE, "does not allow"),
    "escape": (written(b"---\ndescription: a\x1b[31mb\n---\n"), NONE, "does not allow"),
    "nested": (written(b"---\na: " + b"[" * 60_000 + b"\n---\nText."), "Text.", "front matter"),
}


@pytest.mark.check(45)
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_file_spoils_the_listing(tmp_path: Path, project: Project, kind: str) -> None:
    make, description, warning = HOSTILE[kind]
    (tmp_path / "secret.md").write_text("---\ndescription: Secret\n---\n")
    (project.root / "folder").mkdir()
    os.mkfifo(project.root / "fifo")
    project.write("a.md", GOOD)
    project.write("z.md", GOOD)
    make(project.commands / "x.md")
    reply = project.listing()
    odd = {} if description is None else {"x": description}
    assert {row["name"]: row["description"] for row in rows(reply)} == {
        "a": "Good",
        **odd,
        "z": "Good",
    }
    assert ["x.md" in said and warning in said for said in reply.warnings] == [True] * bool(warning)
    assert re.search(r"[\x00-\x09\x0b-\x1f]", reply.text) is None
    assert "root:" not in reply.text
    refused = "IO_ERROR" if kind == "loop" else "COMMAND_NOT_FOUND"
    assert code(project.call(GET, command_name="x")) == (None if odd else refused)


@pytest.mark.check(21)
def test_what_is_no_file_is_not_opened(project: Project, opened: list[str]) -> None:
    os.mkfifo(project.commands / "fifo.md")
    (project.commands / "zero.md").symlink_to("/dev/zero")
    (project.commands / "folder.md").mkdir()
    assert project.names() == []
    assert opened == []


def test_no_more_than_64_kib_of_a_file_are_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    system_read = os.read

    def read_and_count(descriptor: int, most: int) -> bytes:
        got = system_read(descriptor, most)
        read.append(len(got))
        return got

    sparse(project.commands / "x.md")
    (project.commands / "y.md").write_bytes(b"---\n" + b"a: 'b'\n" * 10**6)
    monkeypatch.setattr(os, "read", read_and_count)
    assert project.names() == ["x", "y"]
    assert sum(read) <= 2 * MAX_BYTES


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file"), "does not exist"),
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "Input/output error"), "input/output error"),
        (OSError(24, "Too many open files"), "too many open files"),
    ],
)
def test_a_file_that_vanishes_or_cannot_be_read_is_a_warning(
    project: Project, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    system_open = os.open

    def open_or_fail(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "b.md":
            raise error
        return system_open(path, flags, dir_fd=dir_fd)

    for name in "abc":
        project.write(f"{name}.md", "Text.")
    monkeypatch.setattr(os, "open", open_or_fail)
    reply = project.listing()
    assert [row["name"] for row in rows(reply)] == ["a", "c"]
    assert reply.warnings == (f"'.claude/commands/b.md' is skipped: {_it(words)}",)


def _it(words: str) -> str:
    return f"it {words}" if words.startswith("does") else words


BROKEN = {
    # the front matter; words of the warning
    "is_dependency: true\ndescription: a: b": "mapping values",
    "is_dependency: true\na: &x 1": "an anchor",
    "is_dependency: true\n- a": "front matter",
    "is_dependency: true\n\x07bell: x": "character",
    "is_dependency: true\ndescription: Gr\udcf6\udcdfe": "not UTF-8",
}


def test_answer_warns_of_the_commands_in_it_alone(project: Project) -> None:
    project.write("a.md", "---\n[\n---\n")
    project.write("b.md", "Text.")
    assert len(project.listing(page_size=1).warnings) == 1
    assert project.listing(page=2, page_size=1).warnings == ()
    assert project.call(SEARCH, query="text").warnings == ()


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("end", ["\n---\nBroken.\n", "\n"])
def test_broken_front_matter_never_hides_a_command_and_always_warns(
    project: Project, text: str, end: str
) -> None:
    project.write("broken.md", os.fsencode(f"---\n{text}{end}"))
    warning = BROKEN[text] if "Broken" in end else "not closed by a line ---"
    replies = (
        project.listing(),
        project.call(SEARCH, query="broken"),
        project.call(GET, command_name="broken"),
    )
    for reply in replies:
        (said,) = reply.warnings
        assert warning in said
        assert "broken.md" in said
        assert warning in reply.text
    listing, search, _ = replies
    assert [row["name"] for row in rows(listing)] == ["broken"]
    assert [result["name"] for result in output(search)["results"]] == ["broken"]


ODD_NAMES = (
    b"\xe9t\xe9",
    "été".encode(),
    b"new\nline",
    b"escape \x1b[31m",
    "bidi \u202e".encode(),
    "tag \U000e0041".encode(),
    b" blanks ",
    b"[DIR]",
    b'quo"te',
    "日本".encode(),
    b"-rf",
    b"back\\slash",
    b"a: b",
)


def test_names_hold_any_byte(project: Project) -> None:
    for name in ODD_NAMES:
        (project.commands / os.fsdecode(name + b".md")).write_text("Text.")
    reply = project.listing()
    names = [os.fsencode(row["name"]) for row in rows(reply)]
    assert sorted(names) == sorted(ODD_NAMES)
    assert len(reply.text.splitlines()) == len(ODD_NAMES) + 1
    assert re.search(r"[\x00-\x09\x0b-\x1f\u202e\U000e0041]", reply.text) is None
    assert {command["name"] for command in output(reply)["commands"]} >= {"\ufffdt\ufffd", "été"}
    for name in ODD_NAMES:
        assert code(project.call(GET, command_name=os.fsdecode(name))) is None
