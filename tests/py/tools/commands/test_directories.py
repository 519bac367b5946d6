"""The directories of commands: which count, and where links in them may lead."""

import os
from pathlib import Path

import pytest

from backstaff.settings import load
from tests.py.replies import code
from tests.py.tools.commands.project import GET, LIST, REGISTRY, SEARCH, Project, output, rows

BOTH = (".claude/commands", "~/.claude/commands")


def test_an_earlier_folder_shadows_a_later_one(project: Project, home: Path) -> None:
    project.directory = BOTH
    project.write("both.md", "The project's.")
    (home / ".claude/commands/both.md").write_text("The user's.")
    (home / ".claude/commands/own.md").write_text("The user's own.")
    reply = project.listing()
    told = [(row["name"], row["description"]) for row in rows(reply)]
    assert told == [("both", "The project's."), ("own", "The user's own.")]
    assert output(project.call(GET, command_name="both"))["content"] == "The project's."
    assert output(project.call(GET, command_name="own"))["content"] == "The user's own."
    assert project.found("own") == ["own"]


def test_a_dependency_shadows_too(project: Project, home: Path) -> None:
    project.directory = BOTH
    project.write("x.md", "---\nis_dependency: true\n---\n")
    (home / ".claude/commands/x.md").write_text("The user's.")
    assert project.names() == []


def test_what_is_skipped_shadows_nothing(project: Project, home: Path) -> None:
    project.directory = BOTH
    os.mkfifo(project.commands / "x.md")
    (home / ".claude/commands/x.md").write_text("The user's.")
    assert project.described() == {"x": "The user's."}
    assert output(project.call(GET, command_name="x"))["content"] == "The user's."


@pytest.mark.usefixtures("home")
def test_folders_that_do_not_exist_are_skipped(project: Project) -> None:
    project.write("a.md", "Text.")
    project.directory = ("missing", ".claude/commands", "~/missing", "/missing")
    reply = project.listing()
    assert (len(rows(reply)), reply.warnings) == (1, ())


def test_other_folders_that_cannot_be_used_are_a_warning(project: Project) -> None:
    (project.root / "file").write_text("")
    project.directory = ("file", ".claude/commands", "../elsewhere")
    outside = "is outside the project: if that is meant, write it as an absolute path"
    assert project.listing().warnings == (
        "Commands directory 'file' is not a directory",
        f"Commands directory '../elsewhere' {outside}",
    )


@pytest.mark.parametrize(
    ("directory", "words"),
    [
        ("missing", "'missing' does not exist"),
        ("file/below", "'file/below' does not exist"),
        ("file", "'file' is not a directory"),
        ("..", "'..' is outside the project: if that is meant, write it as an absolute path"),
        ("out", "'out' is outside the project"),
        ("/missing", "'/missing' does not exist"),
        ("~/missing", "'~/missing' does not exist"),
        ("~nobody-has-this-name/x", "'~nobody-has-this-name/x' does not exist"),
        (("a", "b"), "'a' does not exist, 'b' does not exist"),
        ((), "No directory is set"),
        ("a\0b", "cannot be read: the path holds a NUL character"),
    ],
)
@pytest.mark.parametrize("tool", [LIST, SEARCH, GET])
def test_without_any_folder_the_setting_is_named(
    project: Project, tmp_path: Path, tool: str, directory: str | tuple[str, ...], words: str
) -> None:
    (project.root / "file").write_text("")
    (project.root / "out").symlink_to(tmp_path)
    project.directory = directory
    given: dict[str, dict[str, str]] = {
        LIST: {},
        SEARCH: {"query": "x"},
        GET: {"command_name": "x"},
    }
    reply = project.call(tool, None, **given[tool])
    assert code(reply) == "DIRECTORY_NOT_FOUND"
    assert words in reply.text
    assert "'directory' in [tools.list_commands]" in reply.text


def test_links_in_the_user_s_own_folder_lead_anywhere(
    project: Project, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.md").write_text("Elsewhere.")
    own = home / ".claude/commands"
    (own / "link.md").symlink_to(tmp_path / "elsewhere.md")
    (own / "zero.md").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "fifo")
    (own / "fifo.md").symlink_to(tmp_path / "fifo")
    project.directory = "~/.claude/commands"
    reply = project.listing()
    assert [row["description"] for row in rows(reply)] == ["Elsewhere."]
    assert len(reply.warnings) == 2
    assert output(project.call(GET, command_name="link"))["content"] == "Elsewhere."


def test_an_absolute_folder_in_the_project_is_the_project_s(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("Secret.")
    (project.commands / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "alias").symlink_to(project.commands)
    for directory in (str(project.commands), str(tmp_path / "alias")):
        project.directory = directory
        reply = project.listing()
        assert rows(reply) == []
        assert "outside the project" in reply.warnings[0]


def test_links_within_the_project_count(project: Project) -> None:
    (project.root / "shared.md").write_text("Shared.")
    (project.commands / "a.md").symlink_to("../../shared.md")
    (project.commands / "b.md").symlink_to(project.root / "shared.md")
    assert project.described() == {"a": "Shared.", "b": "Shared."}
    assert output(project.call(GET, command_name="a"))["content"] == "Shared."


@pytest.mark.parametrize(
    ("toml", "directories"),
    [
        ("", (".claude/commands",)),
        ('[tools.list_commands]\ndirectory = "docs"', ("docs",)),
        ('[tools.list_commands]\ndirectory = ["docs", "~/c"]', ("docs", "~/c")),
    ],
)
def test_all_tools_share_one_table_of_settings(
    tmp_path: Path, toml: str, directories: tuple[str, ...]
) -> None:
    (tmp_path / "config.toml").write_text(toml)
    tables = load(tmp_path / "config.toml", REGISTRY.settings_tables()).tables
    assert tables["list_commands"].directory == directories
    assert {REGISTRY.by_id[tool].table for tool in (LIST, SEARCH, GET)} == {"list_commands"}
