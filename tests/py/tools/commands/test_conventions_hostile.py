"""Conventions besides the contract: no file or folder can spoil a listing, and limits are named."""

import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.fs.file import Content
from backstaff.fs.root import Root
from backstaff.tool import Context
from backstaff.tools.commands import _catalog, _directories, list_commands
from backstaff.tools.commands._command import HEAD_BYTES
from backstaff.tools.commands._toml import MAX_NAMES, document_of
from tests.py.examples import examples
from tests.py.replies import code
from tests.py.tools.commands.corpus import head, plant, skill
from tests.py.tools.commands.project import GET, SEARCH, Project, rows
from tests.py.tools.commands.test_broken_files import BOMB, MERGE

SECONDS = 5
"""Seconds that no file may take. On an idle machine each takes at most a twentieth."""


@pytest.fixture
def project(project: Project, home: Path) -> Project:
    """A project whose listing holds everything, with one good skill."""
    del home
    project.sources = "all"
    plant(project.root, {".agents/skills/good/SKILL.md": skill("good")})
    return project


def problems(project: Project) -> dict[str, str]:
    """The problems of each command but the good one."""
    found = {row["name"]: "; ".join(row["problems"]) for row in rows(project.listing())}
    assert found.pop("good") == ""
    return found


TOML: dict[str, tuple[str, str]] = {
    # its content, and the message
    "lists in lists": ("a = " + "[" * 30_000, "nests too deep"),
    "closed lists": (f"a = {'[' * 30_000}{']' * 30_000}", "nests too deep"),
    "tables in tables": ("a = " + "{a = " * 10_000, "nests too deep"),
    "a dotted key": (".".join(["a"] * 30_000) + " = 1", f"more than {MAX_NAMES} names"),
    "a spaced dotted key": (" . ".join(["a"] * 10_000) + " = 1", f"more than {MAX_NAMES} names"),
    "a quoted dotted key": (".".join(['""'] * 15_000) + " = 1", f"more than {MAX_NAMES} names"),
    "a dotted header": (f"[{'.'.join(['a'] * 30_000)}]", f"more than {MAX_NAMES} names"),
    "a dotted key in a table": (f"a = {{{'.'.join('b' * 9_999)} = 1}}", "names, and is not read"),
    "many dotted keys": (
        "".join(f"k{number}.{'.'.join('a' * 30)} = 1\n" for number in range(900)),
        "must be strings",
    ),
    "a number of many digits": ("a = " + "1" * 60_000, "it is no TOML"),
    "many tables": ("[[a.b.c]]\n" * 6_000, "must be strings"),
    "many keys": ("".join(f"k{number} = 1\n" for number in range(6_000)), "must be strings"),
    "too large": ("#" + "x" * HEAD_BYTES + '\nprompt = "a"', "larger than 64 KiB"),
    "a number for a prompt": ("prompt = 1", "must be strings"),
    "a list for a description": ('prompt = ""\ndescription = []', "must be strings"),
    "nothing": ("", "must be strings"),
}


@pytest.mark.parametrize("kind", TOML)
def test_no_toml_spoils_the_listing(project: Project, kind: str) -> None:
    text, problem = TOML[kind]
    plant(project.root, {".gemini/commands/x.toml": text})
    start = time.process_time()
    assert problem in problems(project)["x"]
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'prompt = "\xff"', "not UTF-8"),
        (b'\xef\xbb\xbfprompt = "a"', ""),
        (b'prompt = "a\x1b[31m"', "it is no TOML"),
        (b'prompt = "\\ud800"', "it is no TOML"),
    ],
)
def test_bytes_of_toml(project: Project, data: bytes, problem: str) -> None:
    path = project.root / ".gemini/commands/x.toml"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    found = problems(project)["x"]
    assert problem in found
    assert bool(problem) == bool(found)


@examples(2)
@given(
    st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(
                ["prompt", "description", "a", '"b"', ".", " ", "=", "[", "]", "{", "\n"]
            )
        ).map("".join),
        st.dictionaries(st.sampled_from(["prompt", "description"]), st.text()).map(
            lambda fields: "".join(f"{key} = '''{text}'''\n" for key, text in fields.items())
        ),
    )
)
def test_any_toml_is_read_as_tomllib_reads_it_or_refused(text: str) -> None:
    data = text.encode(errors="replace")
    document = document_of(Content(data, Path("/").stat(), whole=True))
    try:
        values = tomllib.loads(data.decode())
        prompt, description = values["prompt"], values.get("description", "")
    except (ValueError, KeyError, RecursionError):
        assert document.warning
        return
    fits = isinstance(prompt, str) and isinstance(description, str)
    assert bool(document.warning) != fits
    if fits:
        assert document.rest.decode() == prompt
        assert document.fields == {"description": description}


HEADS: dict[str, tuple[str, str]] = {
    "aliases": (BOMB, "refused"),
    "merge keys": (MERGE, "refused"),
    "lists in lists": ("a: " + "[" * 60_000, "nests deeper"),
    "too much": ("metadata:\n" + "".join(f"  k{n}: '{n}'\n" for n in range(4_000)), "too much"),
    "indented lines": ("description: a: b\n" + "  x\n" * 16_000, "longer than 1024"),
    "many keys": ("description: a: b\n" * 3_500, "read line by line"),
    "many colons": ("name: " + "a: " * 20_000, "read line by line"),
}


@pytest.mark.parametrize("kind", HEADS)
def test_no_front_matter_spoils_the_listing(project: Project, kind: str) -> None:
    text, problem = HEADS[kind]
    plant(project.root, {".agents/skills/x/SKILL.md": f"---\n{text}\n---\nText."})
    start = time.process_time()
    rows_with_problems = problems(project)
    assert len(rows_with_problems) == 1
    assert problem in next(iter(rows_with_problems.values()))
    assert time.process_time() - start < SECONDS


def link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (os.mkfifo, "it is a fifo"),
        (link("/etc/shadow"), "outside the project"),
        (link("/dev/zero"), "outside the project"),
        (link("../../../../secret.md"), "outside the project"),
        (link("SKILL.md"), "too many levels"),
        (link("nothing"), "does not exist"),
        (Path.mkdir, "it is a directory"),
    ],
)
def test_a_skill_that_cannot_be_read_is_listed_with_its_reason_and_shadows_nothing(
    project: Project, make: Callable[[Path], object], problem: str
) -> None:
    (project.root.parent / "secret.md").write_text(skill("secret"))
    folder = project.root / ".agents/skills/x"
    folder.mkdir()
    make(folder / "SKILL.md")
    plant(project.root, {".claude/skills/x/SKILL.md": skill("x")})
    first, second = (row for row in rows(project.listing()) if row["name"] == "x")
    assert (first["folder"], first["problems"], first["shadowed_by"]) == (
        ".claude/skills",
        (),
        None,
    )
    assert problem in second["problems"][0]
    assert (second["user_invocable"], second["model_invocable"]) == (False, False)
    assert project.call(GET, command_name="x").ok
    assert not project.call(GET, command_name=str(folder / "SKILL.md")).ok


def test_links_out_of_the_project_are_reported_and_not_followed(
    project: Project, tmp_path: Path
) -> None:
    plant(tmp_path, {"outside/secret/SKILL.md": skill("secret"), "outside/secret.md": "Secret."})
    (project.root / ".agents/skills/all").symlink_to(tmp_path / "outside")
    (project.root / ".claude/skills").symlink_to("../../outside")
    (project.root / ".claude/commands/sub").symlink_to(tmp_path / "outside")
    (project.root / ".claude/commands/secret.md").symlink_to(tmp_path / "outside/secret.md")
    reply = project.listing()
    told = [row["name"] for row in rows(reply) if not row["problems"]]
    assert told == ["good"]
    assert "Secret" not in reply.text
    assert sum("outside the project" in warning for warning in reply.warnings) == 4
    assert project.found("secret") == ["secret"]  # the file, by its name alone
    for name in ("secret", "sub:secret", "SKILL", str(tmp_path / "outside/secret.md")):
        assert code(project.call(GET, command_name=name)) == "COMMAND_NOT_FOUND"


def test_folder_that_cannot_be_read_is_reported(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(project.root, {".agents/skills/x/SKILL.md": skill("x")})
    system_open = os.open

    def open_or_fail(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "x":
            raise PermissionError(13, "Permission denied")
        return system_open(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_or_fail)
    reply = project.listing()
    assert [row["name"] for row in rows(reply)] == ["good"]
    assert reply.warnings == ("'.agents/skills/x' is skipped: permission denied",)


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".agents/skills", ".claude/commands", ".gemini/commands"])
def test_folders_without_a_command_end_the_walk_with_a_warning(
    project: Project, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    for number in range(2_100):
        (project.root / folder / f"{number:04}/below").mkdir(parents=True)
    read: list[int] = []
    look = _catalog._FolderWalk.look  # noqa: SLF001  # it reads a folder

    def look_and_count(walk: _catalog._FolderWalk, here: _directories.CommandDirectory) -> object:
        read.append(1)
        return look(walk, here)

    monkeypatch.setattr(_catalog._FolderWalk, "look", look_and_count)  # noqa: SLF001  # as above
    reply = project.listing()
    assert "good" in [row["name"] for row in rows(reply)] or folder == ".agents/skills"
    assert any("More than 2000 folders hold no command" in said for said in reply.warnings)
    assert "some were not read" in reply.text
    assert len(read) < 2_050


@pytest.mark.slow
def test_folders_with_a_command_do_not(project: Project) -> None:
    for number in range(2_100):
        plant(project.root, {f".agents/skills/s{number}/SKILL.md": skill(f"s{number}")})
    reply = project.listing()
    assert reply.data is not None
    assert reply.data["pagination"]["total"] == 2_101  # type: ignore[index]  # an object
    assert reply.warnings == ()


def test_when_the_time_is_up_the_answer_is_partial_and_the_next_one_whole(
    project: Project,
) -> None:
    own = _directories.Settings(sources="all")
    with Root(str(project.root)) as root:
        late = Context(root=root, budget=Budget(deadline=0), settings=own)
        answer = list_commands.run(list_commands.Arguments(1, 50), late)
    assert answer.truncated
    assert "the time was up" in answer.text
    assert problems(project) == {}


@pytest.mark.usefixtures("settled")
def test_the_second_time_nothing_is_opened_and_every_change_is_seen(
    project: Project, opened: list[str]
) -> None:
    plant(
        project.root,
        {
            ".agents/skills/x/SKILL.md": skill("x"),
            ".claude/commands/a/b.md": "Old.\n",
            "shared/SKILL.md": skill("linked"),
        },
    )
    (project.root / ".agents/skills/linked").symlink_to("../../shared")

    def found() -> list[tuple[str, str]]:
        return [(row["name"], row["description"][:5]) for row in rows(project.listing())]

    first = found()
    assert [name for name, _ in first] == ["a:b", "good", "linked", "x"]
    opened.clear()
    assert found() == first
    assert opened == []
    plant(project.root, {".claude/commands/a/b.md": "Newer.\n", ".agents/skills/y/SKILL.md": ""})
    (project.root / ".agents/skills/x/SKILL.md").rename(project.root / ".agents/skills/x/SKILL.txt")
    opened.clear()
    assert [name for name, _ in found()] == ["a:b", "good", "linked", "y"]
    assert found()[0] == ("a:b", "Newer")
    assert sorted(opened) == ["SKILL.md", "b.md"]
    (project.root / ".agents/skills/linked").unlink()
    assert [name for name, _ in found()] == ["a:b", "good", "y"]


def test_searches_read_contents_in_every_folder(project: Project) -> None:
    plant(project.root, {".claude/commands/a/b.md": "First.\n\nAbout barnacles.\n"})
    plant(project.root, {".gemini/commands/c.toml": 'prompt = "First.\\n\\nAbout barnacles."\n'})
    found = project.call(SEARCH, query="barnacles")
    assert found.data is not None
    assert [it["name"] for it in found.data["results"]] == ["a:b", "c"]  # type: ignore[attr-defined]  # a list


def test_names_and_problems_cannot_forge_a_row_or_drive_a_terminal(project: Project) -> None:
    odd = head(
        'name: "x\\n\\u001b[31m"', 'description: "Turns\\u202e round"', 'argument-hint: "\\ufeff"'
    )
    plant(
        project.root, {".agents/skills/a\nb/SKILL.md": odd, ".claude/commands/c\nd/e.md": "Text."}
    )
    plant(project.root, {".gemini/commands/f.toml": '"\\u202e" = 1\n"\\u202e" = 2\n'})
    reply = project.listing()
    names = [row["name"] for row in rows(reply)]
    assert names == ["c\nd:e", "f", "good", "x \x1b[31m"]
    assert len(reply.text.splitlines()) == 1 + len(names) + 1, reply.text
    assert not any(character in reply.text for character in "\x1b\u202e\ufeff")
    shown = dict(reply.labels)
    for row in rows(reply):
        texts = [*row.values(), *row["problems"]]
        odd_texts = {text for text in texts if isinstance(text, str) and not text.isprintable()}
        assert odd_texts <= set(shown), row["name"]
    for name in names:
        found = project.call(GET, command_name=name)
        assert found.ok
        assert not any(character in found.text for character in "\x1b\u202e\ufeff")


def test_a_folder_named_like_a_home_is_the_project_s(project: Project, home: Path) -> None:
    # `~` would be the user's home, where links may lead anywhere.
    plant(home, {"skills/secret/SKILL.md": skill("secret"), "linked/SKILL.md": skill("linked")})
    plant(project.root, {"~/skills/inside/SKILL.md": skill("inside")})
    (project.root / "~/skills/sub").symlink_to("../more")
    plant(project.root, {"~/more/deep/SKILL.md": skill("deep")})
    (project.root / "~/more/out").symlink_to(home / "linked")
    (project.root / ".claude/skills").symlink_to("../~/skills")
    reply = project.listing()
    assert [row["name"] for row in rows(reply)] == ["deep", "good", "inside"]
    assert {row["scope"] for row in rows(reply)} == {"project"}
    assert code(project.call(GET, command_name="secret")) == "COMMAND_NOT_FOUND"
    assert project.call(GET, command_name="deep").ok


@pytest.mark.usefixtures("settled")
def test_paths_and_scopes_are_those_of_this_call(project: Project, home: Path) -> None:
    plant(project.root, {"shared/group/a/SKILL.md": skill("a"), "shared/b/SKILL.md": skill("b")})
    for name in ("group", "b"):
        (project.root / f".agents/skills/{name}").symlink_to(f"../../shared/{name}")
    plant(home, {".agents/skills/mine/SKILL.md": skill("mine")})

    def told() -> dict[str, tuple[str, str]]:
        found = {row["name"]: (row["path"], row["scope"]) for row in rows(project.listing())}
        found.pop("good", None)
        return found

    first = told()
    assert first["a"] == (f"{project.root}/shared/group/a/SKILL.md", "project")
    (project.root / "shared").rename(project.root / "moved")
    for name in ("group", "b"):
        (project.root / f".agents/skills/{name}").unlink()
        (project.root / f".agents/skills/{name}").symlink_to(f"../../moved/{name}")
    second = {
        name: (path.replace("/shared/", "/moved/"), scope) for name, (path, scope) in first.items()
    }
    assert told() == second
    assert second["mine"][1] == "user"
    # If the home is the project, its folders are the project's.
    project.root = home
    assert told()["mine"][1] == "project"
