"""Skills, commands and prompts of every convention: which are found, and the facts of each."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backstaff.errors import SettingsError
from backstaff.settings import load
from backstaff.tools.commands._conventions import DEPTH, Folder, Kind, folders
from backstaff.tools.commands._directories import MORE_KEYS
from tests.py.project.test_files import settle
from tests.py.replies import code
from tests.py.tools.commands.corpus import (
    HOME,
    PROJECT,
    SKILLS,
    SKILLS_LEFT_OUT,
    head,
    plant,
    skill,
)
from tests.py.tools.commands.project import GET, REGISTRY, SEARCH, Project, output, results, rows

Row = dict[str, Any]


@pytest.fixture
def everything(project: Project, home: Path) -> Project:
    """The corpus: a project, and the user's home."""
    project.sources = "all"
    plant(project.root, PROJECT)
    plant(home, HOME)
    return project


def all_rows(project: Project) -> list[Row]:
    """The rows of all pages."""
    first = project.listing(page_size=100)
    assert first.data is not None
    pages = first.data["pagination"]["total_pages"]  # type: ignore[index]  # an object
    later = [rows(project.listing(page_size=100, page=page)) for page in range(2, pages + 1)]
    return rows(first) + [row for page in later for row in page]


def by_name(project: Project) -> dict[str, Row]:
    """The rows that count, by name."""
    return {row["name"]: row for row in all_rows(project) if not row["shadowed_by"]}


# ------------------------------------------------------- which: each client's documented rule


def files_below(top: Path, wanted: Callable[[str], bool], depth: int) -> set[str]:
    """The files at most `depth` folders below `top`, by their paths from it."""
    found = {
        Path(place, name).relative_to(top)
        for place, _, names in os.walk(top)
        for name in filter(wanted, names)
    }
    return {str(path) for path in found if len(path.parts) <= depth + 1}


def markdown(name: str) -> bool:
    """The commands by the contract's rules, which hold for every Markdown command here."""
    return name.endswith(".md") and not name.startswith(".") and name != "README.md"


RULES: dict[str, tuple[Callable[[str], bool], int, Callable[[str], str]]] = {
    # folder: which files, how many folders below, and the client's own name for one
    ".claude/commands": (markdown, 9, lambda path: path[:-3].replace("/", ":")),
    ".gemini/commands": (
        lambda name: name.endswith(".toml"),
        9,
        lambda path: path[:-5].replace("/", ":"),
    ),
    ".opencode/command": (markdown, 9, lambda path: path[:-3]),
    ".opencode/commands": (markdown, 9, lambda path: path[:-3]),
    ".eca/commands": (markdown, 9, lambda path: path[:-3].rpartition("/")[2].lower()),
    ".config/opencode/command": (markdown, 9, lambda path: path[:-3]),
    ".config/eca/commands": (markdown, 9, lambda path: path[:-3].rpartition("/")[2].lower()),
    ".github/prompts": (
        lambda name: name.endswith(".prompt.md"),
        0,
        lambda path: {"file": "named"}.get(path[:-10], path[:-10]),
    ),
}


@pytest.mark.parametrize("folder", RULES)
@pytest.mark.parametrize("scope", ["project", "user"])
def test_commands_and_prompts_are_those_that_the_client_finds(
    everything: Project, home: Path, folder: str, scope: str
) -> None:
    wanted, depth, named = RULES[folder]
    top = (home if scope == "user" else everything.root) / folder
    found = [row for row in all_rows(everything) if row["path"].startswith(f"{top}/")]
    theirs = files_below(top, wanted, depth)
    assert {os.path.relpath(row["path"], top) for row in found} == theirs
    names = {row["name"] for row in found}
    by_client = {named(path) for path in theirs}
    if "opencode" in folder:  # which calls `a:b` `a/b`
        names = {name.replace(":", "/") for name in names}
    assert names == by_client


def test_skills_are_those_of_the_specification(everything: Project) -> None:
    top = everything.root / ".agents/skills"
    found = {
        os.path.relpath(Path(row["path"]).parent, top)
        for row in all_rows(everything)
        if row["folder"] == ".agents/skills"
    }
    folders_with_a_skill = {
        str(Path(path).parent) for path in SKILLS if path.lower().endswith("skill.md")
    }
    assert found == folders_with_a_skill - SKILLS_LEFT_OUT
    assert len(folders_with_a_skill) + len(RULES) > 50


def test_the_reference_reads_the_same_skills_and_finds_the_same_faults(
    everything: Project,
) -> None:
    skills_ref = pytest.importorskip("skills_ref", reason="needs skills-ref")
    read, faulty = 0, 0
    for row in all_rows(everything):
        if row["kind"] != Kind.SKILL:
            continue
        place = Path(row["path"]).parent
        # Claude Code and Copilot have fields that the specification does not name.
        faults = [it for it in skills_ref.validate(place) if not it.startswith("Unexpected field")]
        try:
            theirs = skills_ref.read_properties(place)
        except Exception:  # noqa: BLE001  # the library that it reads YAML with raises its own
            # The reference refuses lists in brackets, which Claude Code's documentation has.
            assert row["problems"] or place.name in ("hint-list", "tool-list"), place.name
            continue
        read += 1
        faulty += bool(faults)
        assert row["name"] == theirs.name, place.name
        description = " ".join(theirs.description.split())
        cut = description if len(description) <= 1024 else description[:1021] + "..."
        assert row["description"] == cut, place.name
        assert bool(row["problems"]) == bool(faults) or place.name == "lower", place.name
    assert read > 30
    assert faulty == 7


def test_a_skill_reached_by_two_ways_is_listed_once(everything: Project, home: Path) -> None:
    before = [row["path"] for row in all_rows(everything)]
    (everything.root / ".claude/skills/plain").symlink_to("../../.agents/skills/plain")
    (everything.root / ".opencode/skills/group").symlink_to("../../.agents/skills/group")
    (everything.root / ".gemini/skills/loop").symlink_to("..")
    (home / ".claude/skills/own").symlink_to("../../.agents/skills/own")
    assert [row["path"] for row in all_rows(everything)] == before


def test_links_to_skills_are_followed(project: Project, home: Path, tmp_path: Path) -> None:
    project.sources = ("skill",)
    plant(project.root, {"shared/one/SKILL.md": skill("one"), "shared/x/SKILL.md": skill("x")})
    plant(tmp_path, {"mine/two/SKILL.md": skill("two")})
    plant(project.root, {".claude/skills/.keep": ""})
    plant(home, {".claude/skills/.keep": ""})
    (project.root / ".claude/skills/one").symlink_to("../../shared/one")
    (project.root / ".agents").mkdir()
    (project.root / ".agents/skills").symlink_to("../shared")
    (home / ".claude/skills/two").symlink_to(tmp_path / "mine/two")
    found = by_name(project)
    assert {name: row["folder"] for name, row in found.items()} == {
        "one": ".agents/skills",
        "x": ".agents/skills",
        "two": "~/.claude/skills",
    }
    assert output(project.call(GET, command_name="two"))["content"] == skill("two")
    assert output(project.call(GET, command_name="one"))["content"] == skill("one")


# ------------------------------------------------------- facts of each


def test_data_have_new_keys_and_the_contract_s_output_none(everything: Project) -> None:
    reply = everything.listing(page_size=100)
    contract = {"name", "description", "size", "last_modified", "modified_epoch", "path", "folder"}
    assert {frozenset(row) for row in rows(reply)} == {frozenset(contract | {*MORE_KEYS})}
    keys = {frozenset(it) for it in output(reply)["commands"]}
    assert keys == {frozenset({"name", "description", "size", "last_modified", "folder"})}
    everything.sources = ()
    assert {frozenset(row) for row in rows(everything.listing())} == {frozenset(contract)}


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("plain", {"kind": "skill", "source": "agents", "scope": "project", "problems": ()}),
        ("by-hand", {"user_invocable": True, "model_invocable": False}),
        ("by-model", {"user_invocable": False, "model_invocable": True}),
        ("by-model-2", {"user_invocable": False, "model_invocable": True}),
        ("hinted", {"argument_hint": "[harbour] [date]"}),
        ("hint-list", {"argument_hint": "[harbour]"}),
        ("two-hints", {"argument_hint": "[harbour] [date]"}),
        ("git:commit", {"kind": "command", "namespace": "git", "model_invocable": True}),
        ("git:hub:pr", {"namespace": "git:hub", "model_invocable": False}),
        ("git:fix", {"source": "gemini", "description": "Fix the last commit."}),
        ("review", {"argument_hint": "<pull request>", "source": "claude"}),
        ("sub:types", {"source": "opencode", "model_invocable": False}),
        ("named", {"kind": "prompt", "source": "github", "argument_hint": "topic"}),
        ("mine:too", {"scope": "user", "source": "gemini", "namespace": "mine"}),
        ("global", {"scope": "user", "source": "opencode"}),
        ("colon", {"description": "Use when: someone asks", "model_invocable": True}),
        ("colon-lines", {"description": "Use when: someone asks for tides"}),
        ("undescribed", {"description": "Read the table.", "model_invocable": False}),
    ],
)
def test_facts(everything: Project, name: str, facts: Row) -> None:
    row = by_name(everything)[name]
    assert {key: row[key] for key in facts} == facts


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("colon", "line 3: mapping values are not allowed in this context; it was read line by"),
        ("twice", "it gives a key twice"),
        ("anchor", "it uses an anchor"),
        ("unclosed", "not closed"),
        ("list-head", "not a mapping"),
        ("nameless", "it has no name"),
        ("extra", "it has no name"),
        ("undescribed", "so no model is offered it"),
        ("empty", "it has no description"),
        ("another-name", "'another-name' is not that of its folder"),
        ("Upper", "lower-case letters"),
        ("long-description", "longer than 1024"),
        ("lower", "the file is named skill.md"),
        ("broken", "it is no TOML"),
        ("promptless", "must be strings"),
    ],
)
def test_a_broken_one_is_listed_with_its_reason(
    everything: Project, name: str, problem: str
) -> None:
    assert problem in "; ".join(by_name(everything)[name]["problems"])
    reply = everything.call(GET, command_name=name)
    assert reply.ok
    assert problem in reply.text


def test_the_project_s_go_before_the_user_s_and_skills_before_commands(
    everything: Project, home: Path
) -> None:
    several = [
        (row["name"], row["folder"], row["shadowed_by"])
        for row in all_rows(everything)
        if row["name"] in ("plain", "deploy")
    ]
    root = everything.root
    assert several == [
        ("deploy", ".claude/skills", None),
        ("deploy", ".claude/commands", f"{root}/.claude/skills/deploy/SKILL.md"),
        ("plain", ".agents/skills", None),
        ("plain", ".gemini/skills", f"{root}/.agents/skills/plain/SKILL.md"),
        ("plain", "~/.claude/skills", f"{root}/.agents/skills/plain/SKILL.md"),
    ]
    text = everything.listing(page_size=100).text
    assert "\ndeploy (.claude/commands/deploy.md, shadowed): Shadowed by the skill.\n" in text
    assert "\nplain (~/.claude/skills/plain/SKILL.md, shadowed): " in text
    mine = str(home / ".claude/skills/plain/SKILL.md")
    assert "Shadowed by the project's" in everything.call(GET, command_name=mine).text


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("deep", ["alpha/beta", "alpha/gamma/beta"])
def test_of_one_name_in_one_folder_the_nearest_counts_in_every_call(
    project: Project, deep: str
) -> None:
    project.sources = "all"
    files = [".claude/skills/beta/SKILL.md", f".claude/skills/{deep}/SKILL.md"]
    plant(project.root, {file: skill("beta", description=file) for file in files})
    settle(project.root)
    near, far = (str(project.root / file) for file in files)
    for _ in range(3):  # the first call reads the files, and the later ones know them
        pages = [rows(project.listing(page_size=1, page=page))[0] for page in (1, 2)]
        assert [page["path"] for page in pages] == [near, far]
        assert [page["shadowed_by"] for page in pages] == [None, near]
        assert files[0] in project.call(GET, command_name="beta").text


def test_a_shadowed_one_can_be_got_by_the_path_that_its_row_shows(everything: Project) -> None:
    found = everything.call(SEARCH, query="deploy plain", max_results=100)
    texts = everything.listing(page_size=100).text, found.text
    shadowed = [row for row in all_rows(everything) if row["shadowed_by"]]
    for text in texts:
        shown = re.findall(r"^.*?\((\S+), shadowed\): ", text, re.MULTILINE)
        assert len(shown) >= 3
        for path in shown:
            reply = everything.call(GET, command_name=path)
            metadata = output(reply)["metadata"]
            assert metadata["path"] in [row["path"] for row in shadowed]
            assert metadata["path"].endswith(path.removeprefix("~"))
    # Compared, and never opened: no other way to write the path counts.
    for path in ("./.claude/commands/deploy.md", ".claude/skills/../commands/deploy.md"):
        assert (everything.call(GET, command_name=path).error or {})["code"] == "COMMAND_NOT_FOUND"


def test_row_is_marked_with_the_problem_of_the_command(project: Project, home: Path) -> None:
    del home
    files = {".claude/skills/a/SKILL.md": head("name: b\ndescription: Do it.")}
    plant(project.root, files | {".claude/commands/c.md": "---\ntags: [\n---\nText."})
    assert "problem" not in project.listing().text.split("[1 warning")[0]
    project.sources = "all"
    for reply in (project.listing(), project.call(SEARCH, query="b do")):
        problem = "the name 'b' is not that of its folder"
        assert f"b (.claude/skills): Do it. [problem: {problem}]" in reply.text
    (row,) = [row for row in all_rows(project) if row["name"] == "c"]
    assert (
        f"c (.claude/commands): Text. [problem: {row['problems'][0]}]\n" in project.listing().text
    )


def test_a_dependency_is_hidden_and_can_be_got(project: Project, home: Path) -> None:
    del home
    project.sources = "all"
    plant(project.root, {".claude/commands/a/b.md": head("is_dependency: true")})
    assert by_name(project) == {}
    assert output(project.call(GET, command_name="a:b"))["name"] == "a:b"


# ------------------------------------------------------- the other tools


def test_every_one_can_be_got_by_its_name_or_by_its_path(everything: Project) -> None:
    for row in all_rows(everything):
        own = Path(row["path"]).read_bytes().decode()
        assert output(everything.call(GET, command_name=row["path"]))["content"] == own
        if not row["shadowed_by"]:
            reply = everything.call(GET, command_name=row["name"])
            assert output(reply)["content"] == own
            assert reply.data is not None
            assert reply.data["metadata"]["kind"] == row["kind"]  # type: ignore[index]  # an object


@pytest.mark.parametrize("name", ["plain.md", "git:commit.md"])
def test_the_suffix_may_follow(everything: Project, name: str) -> None:
    assert output(everything.call(GET, command_name=name))["name"] == name.removesuffix(".md")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", "INVALID_COMMAND_NAME"),
        ("git:kommit", "COMMAND_NOT_FOUND"),
        ("commit", "COMMAND_NOT_FOUND"),
        ("../../etc/passwd", "COMMAND_NOT_FOUND"),
        ("/etc/passwd", "COMMAND_NOT_FOUND"),
        ("a\0b", "COMMAND_NOT_FOUND"),
    ],
)
def test_names_of_none(everything: Project, name: str, error: str) -> None:
    assert code(everything.call(GET, command_name=name)) == error


def test_a_near_name_is_suggested(everything: Project) -> None:
    assert "did you mean 'git:commit'" in everything.call(GET, command_name="git:kommit").text


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("commit", "git:commit"),
        ("git hub pr", "git:hub:pr"),
        ("forecast", "forecast"),
        ("push", "git:fix"),
        ("mine too", "mine:too"),
    ],
)
def test_all_can_be_searched(everything: Project, query: str, first: str) -> None:
    found = results(everything.call(SEARCH, query=query))
    assert found[0]["name"] == first
    assert set(MORE_KEYS) <= set(found[0])


# ------------------------------------------------------- the setting


def test_some_kinds_only(everything: Project) -> None:
    everything.sources = ("prompt",)
    kinds = {(row["kind"], row["namespace"]) for row in all_rows(everything)}
    # The contract's own commands are always there, but without sub-folders.
    assert kinds == {("command", ""), ("prompt", "")}
    everything.sources = "skill"
    assert {row["kind"] for row in all_rows(everything)} == {"command", "skill"}


def test_the_folders_of_the_setting_go_first_among_their_own(project: Project, home: Path) -> None:
    project.sources, project.directory = "all", ("docs", "~/.claude/commands", ".claude/commands")
    for folder in ("docs/a", ".claude/commands/a", ".claude/skills/a:b"):
        plant(project.root, {f"{folder}/{'SKILL' if 'skills' in folder else 'b'}.md": "Text.\n"})
    plant(home, {".claude/commands/a/b.md": "Mine.\n"})
    told = [(row["folder"], row["source"], bool(row["shadowed_by"])) for row in all_rows(project)]
    assert told == [
        (".claude/skills", "claude", False),
        ("docs", "settings", True),
        (".claude/commands", "claude", True),
        ("~/.claude/commands", "claude", True),
    ]


def test_xdg_config_home_counts(
    project: Project, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.sources = "all"
    plant(home / "config", {"opencode/skills/a/SKILL.md": skill("a")})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert by_name(project)["a"]["scope"] == "user"
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")  # which the specification says to ignore
    assert by_name(project) == {}


def test_without_any_folder_the_answer_says_so(project: Project, home: Path) -> None:
    project.sources = "all"
    project.commands.rmdir()
    (home / ".claude/commands").rmdir()
    reply = project.call(GET, command_name="x")
    assert code(reply) == "DIRECTORY_NOT_FOUND"
    assert "Neither the project nor the user has a folder of commands or skills" in reply.text


def test_the_contract_s_folders_stay_alone_without_the_setting() -> None:
    assert folders(["a", "~/b"], ()) == [Folder("a"), Folder("~/b")]
    assert all(one.depth in (0, DEPTH) for one in folders(["a"], tuple(Kind)))


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ('"all"', ("skill", "command", "prompt")),
        ('["skill", "prompt"]', ("skill", "prompt")),
        ('"command"', ("command",)),
        ("[]", ()),
    ],
)
def test_the_setting_is_read(tmp_path: Path, given: str, kinds: tuple[str, ...]) -> None:
    (tmp_path / "config.toml").write_text(f"[tools.list_commands]\nsources = {given}\n")
    tables = load(tmp_path / "config.toml", REGISTRY.settings_tables()).tables
    assert tables["list_commands"].kinds == kinds


@pytest.mark.parametrize("given", ['"none"', '["skill", "agents"]', "true", "[1]"])
def test_a_source_that_is_none_is_refused(tmp_path: Path, given: str) -> None:
    (tmp_path / "config.toml").write_text(f"[tools.list_commands]\nsources = {given}\n")
    words = "must be (one of 'all', 'skill', 'command', 'prompt'|a string or a list of strings)"
    with pytest.raises(SettingsError, match=words):
        load(tmp_path / "config.toml", REGISTRY.settings_tables())
