"""Agent Skills: a directory in the settings may hold `NAME/SKILL.md`."""

import os
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.fs.root import Root
from backstaff.tool import Context
from backstaff.tools.commands import list_commands
from backstaff.tools.commands._commands import Settings
from tests.py.replies import code
from tests.py.tools.commands.project import GET, Project, output, rows

SKILLS = ".agents/skills"


def skill(directory: Path, name: str, *lines: str, text: str = "\nRead the table.\n") -> Path:
    """Write the skill `name` with these `lines` of front matter, and return its file."""
    file = directory / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(("---", *lines, "---", text)))
    return file


@pytest.fixture
def skills(project: Project) -> Path:
    """The directory of skills, which the settings name after that of commands."""
    project.directory = (".claude/commands", SKILLS)
    directory = project.root / SKILLS
    directory.mkdir(parents=True)
    return directory


def test_a_skill_is_listed_got_and_searched_as_a_command(project: Project, skills: Path) -> None:
    file = skill(skills, "tides", "name: tides", "description: Reads tide tables")
    project.write("moor.md", "Tie up.")
    reply = project.listing()
    assert [row["name"] for row in rows(reply)] == ["moor", "tides"]
    assert "tides: Reads tide tables\n" in reply.text
    # The contract has no other keys.
    keys = {"name", "description", "size", "last_modified"}
    assert {frozenset(it) for it in output(reply)["commands"]} == {frozenset(keys)}
    for name in ("tides", "tides.md"):
        got = project.call(GET, command_name=name)
        assert output(got)["content"] == file.read_text()
        assert output(got)["metadata"]["path"] == str(file)
    assert project.found("tide") == ["tides"]
    assert project.found("table") == ["tides"]  # a word of its text


def test_a_directory_of_skills_alone_is_enough(project: Project, skills: Path) -> None:
    skill(skills, "tides", "description: Reads tide tables")
    project.directory = SKILLS
    assert project.described() == {"tides": "Reads tide tables"}


@pytest.mark.parametrize(
    "file", ["SKILL.md", ".hidden/SKILL.md", "a/b/SKILL.md", "a/skill.md", "a/README.md", "a/b.md"]
)
def test_other_files_below_are_no_skills(project: Project, skills: Path, file: str) -> None:
    path = skills / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Text.")
    expected = ["SKILL"] if file == "SKILL.md" else []  # right there, it is a command
    reply = project.listing()
    assert [row["name"] for row in rows(reply)] == expected
    assert reply.warnings == ()
    for name in (".hidden", "a", "b"):
        assert code(project.call(GET, command_name=name)) == "COMMAND_NOT_FOUND"


def test_of_one_name_the_first_directory_counts_and_in_one_the_command(
    project: Project, skills: Path, home: Path
) -> None:
    own = home / "skills"
    project.directory = (".claude/commands", SKILLS, "~/skills")
    for name, text in (("a", "The command."), ("b", "")):
        skill(skills, name, "description: The project's")
        skill(own, name, "description: The user's")
        if text:
            (skills / f"{name}.md").write_text(text)
    skill(own, "c", "description: The user's")
    assert project.described() == {"a": "The command.", "b": "The project's", "c": "The user's"}
    for name, words in project.described().items():
        assert words in output(project.call(GET, command_name=name))["content"]


def test_links_in_the_project_stay_within_it(
    project: Project, skills: Path, tmp_path: Path
) -> None:
    skill(project.root / "shared", "in", "description: Inside")
    skill(tmp_path / "other", "out", "description: Outside")
    file = skill(skills, "file", "description: To be replaced")
    file.unlink()
    file.symlink_to(tmp_path / "other/out/SKILL.md")
    (skills / "in").symlink_to("../../shared/in")
    (skills / "out").symlink_to(tmp_path / "other/out")
    (skills / "loop").symlink_to("loop")
    (skills / "gone").symlink_to("nowhere")
    (skills / "text").symlink_to("../../shared/in/SKILL.md")
    reply = project.listing()
    assert [row["name"] for row in rows(reply)] == ["in"]
    path = output(project.call(GET, command_name="in"))["metadata"]["path"]
    assert path == str(project.root / "shared/in/SKILL.md")
    assert sorted(warning.partition(" is skipped")[0] for warning in reply.warnings) == [
        f"'{SKILLS}/file/SKILL.md'",
        f"'{SKILLS}/loop/SKILL.md'",
        f"'{SKILLS}/out/SKILL.md'",
    ]
    assert output(project.call(GET, command_name="in"))["metadata"]["description"] == "Inside"
    for name in ("out", "file"):
        reply = project.call(GET, command_name=name)
        assert code(reply) == "COMMAND_NOT_FOUND"
        assert "outside the project" in reply.text


def test_links_in_the_user_s_own_directory_lead_anywhere(
    project: Project, home: Path, tmp_path: Path
) -> None:
    skill(tmp_path / "elsewhere", "a", "description: Elsewhere")
    (home / "skills").mkdir()
    (home / "skills/a").symlink_to(tmp_path / "elsewhere/a")
    project.directory = "~/skills"
    assert project.described() == {"a": "Elsewhere"}
    assert output(project.call(GET, command_name="a"))["metadata"]["description"] == "Elsewhere"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_cannot_be_read_is_a_warning(project: Project, skills: Path, make: object) -> None:
    (skills / "a").mkdir()
    make(skills / "a/SKILL.md")  # type: ignore[operator]  # makes the entry
    reply = project.listing()
    assert rows(reply) == []
    assert reply.warnings[0].startswith(f"'{SKILLS}/a/SKILL.md' is skipped: it is a ")
    assert "cannot be read: it is a " in project.call(GET, command_name="a").text


def test_when_the_time_is_up_some_are_missing(project: Project, skills: Path) -> None:
    skill(skills, "a", "description: D")
    with Root(str(project.root)) as root:
        context = Context(root=root, budget=Budget(deadline=0), settings=Settings((SKILLS,)))
        answer = list_commands.run(list_commands.Arguments(1, 50), context)
    assert answer.truncated
    assert "some are missing" in answer.text
    assert project.described() == {"a": "D"}
