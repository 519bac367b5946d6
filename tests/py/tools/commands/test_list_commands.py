"""commands/list_commands: the contract's pages, fields and sizes."""

import json
import os
import re
import time
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.fs.entry import RACY_NS
from backstaff.tools.commands import _commands
from tests.py.examples import examples
from tests.py.replies import code
from tests.py.tools.commands.project import LIST, REGISTRY, Project, output, rows


def test_the_published_schema_is_the_contract_s() -> None:
    tool = REGISTRY.by_id[LIST]
    assert tool.definition("commands")["parameters"] == {
        "type": "object",
        "properties": {
            "page": {
                "type": "number",
                "description": "Page number (1-indexed)",
                "default": 1,
                "minimum": 1,
            },
            "page_size": {
                "type": "number",
                "description": "Number of items per page",
                "default": 50,
                "minimum": 1,
                "maximum": 100,
            },
        },
        "required": [],
    }


def test_the_output_has_the_contract_s_keys_and_no_others(project: Project) -> None:
    project.write("a.md", "A.")
    shown = output(project.listing())
    assert list(shown) == ["commands", "pagination"]
    assert list(shown["commands"][0]) == ["name", "description", "size", "last_modified"]
    assert list(shown["pagination"]) == [
        *("page", "page_size", "total", "total_pages", "has_next", "has_prev")
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"page": 0}, "INVALID_PAGE"),
        ({"page": -1}, "INVALID_PAGE"),
        ({"page": 1.5}, "INVALID_PAGE"),
        ({"page": "1"}, "INVALID_PAGE"),
        ({"page": True}, "INVALID_PAGE"),
        ({"page_size": 0}, "INVALID_PAGE_SIZE"),
        ({"page_size": 101}, "INVALID_PAGE_SIZE"),
        ({"page_size": [5]}, "INVALID_PAGE_SIZE"),
        ({"page": 1e300}, None),
        ({"page": 2.0, "page_size": 100.0}, None),
    ],
)
def test_arguments(project: Project, given: dict[str, Any], expected: str | None) -> None:
    assert code(project.call(LIST, **given)) == expected


@examples(1 / 3)
@given(
    names=st.sets(st.text(alphabet="abAB-_é1", min_size=1, max_size=4), max_size=25),
    size=st.integers(1, 12),
)
def test_pages_partition_the_list(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], size: int
) -> None:
    project = Project(tmp_path_factory.mktemp("pages"), files={f"{n}.md": f"{n}." for n in names})
    expected = sorted(names, key=lambda name: (name.casefold(), name))
    shown: list[str] = []
    for page in range(1, ceil(len(names) / size) + 2):
        reply = project.listing(page=page, page_size=size)
        pagination = output(reply)["pagination"]
        shown += [row["name"] for row in rows(reply)]
        assert pagination["total"] == len(names)
        assert pagination["total_pages"] == ceil(len(names) / size)
        assert pagination["has_next"] == (len(shown) < len(names))
        assert pagination["has_prev"] == (page > 1)
        assert ("[next page: " in reply.text) == pagination["has_next"]
    assert shown == expected


def test_the_next_page_is_asked_for_as_the_text_says(project: Project) -> None:
    for name in "abcde":
        project.write(f"{name}.md", f"{name}.")
    reply = project.listing(page_size=2)
    match = re.search(r"^\[next page: (.*)\]$", reply.text, re.MULTILINE)
    assert match
    assert [row["name"] for row in rows(project.listing(**json.loads(match[1])))] == ["c", "d"]


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_763_200_800_999_999_999, "2025-11-15T10:00:00.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**63 - 1, "2262-04-11T23:47:16.854Z"),
        (253_402_300_799_999_999_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000_000_000, "@253402300800"),
        (-62_135_596_800 * 10**9, "0001-01-01T00:00:00.000Z"),
        (-62_135_596_800 * 10**9 - 1, "@-62135596801"),
        (2**62 * 10**9, "@4611686018427387904"),
    ],
)
def test_last_modified_tells_every_time_that_a_file_can_have(nanoseconds: int, shown: str) -> None:
    assert _commands.utc(nanoseconds) == shown


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("---\ndescription: Given\n---\nText.", "Given"),
        ("---\ndescription: |\n  On\n  two lines\n---\nText.", "On two lines"),
        ("---\ndescription:\n---\nText.", "Text."),
        ("---\ndescription: 42\n---\nText.", "42"),
        ("---\ndescription: true\n---\nText.", "Text."),
        ("---\ndescription: '  '\n---\nText.", "Text."),
        ("---\ndescription: [a]\n---\nText.", "Text."),
        ("---\ndescription: 2025-11-15\n---\nText.", "2025-11-15"),
        ("# Title\n\nThe\ntext.\n", "The text."),
        ("# Title\n", "No description available"),
        ("", "No description available"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 197 + "..."),
        ("---\ndescription: " + "x" * 201 + "\n---\n", "x" * 197 + "..."),
    ],
)
def test_descriptions(project: Project, text: str, description: str) -> None:
    project.write("a.md", text)
    assert project.described() == {"a": description}


def test_what_tells_may_lie_beyond_the_first_bytes(project: Project) -> None:
    filler = "# 'filler'\n" * 1000
    project.write("late.md", f"---\n{filler}description: Late\n---\n")
    project.write("late_dependency.md", f"---\n{filler}is_dependency: true\n---\n")
    project.write("late_text.md", f"{'# title' * 1000}\n\nLate text.\n")
    assert project.described() == {"late": "Late", "late_text": "Late text."}


def test_commands_in_sub_folders_are_not_read(project: Project) -> None:
    (project.commands / "git").mkdir()
    for name in ("a.md", "git/commit.md", "git/README.md"):
        project.write(name, "Text.")
    (project.commands / "again").symlink_to("git")
    reply = project.listing()
    assert reply.text == "Commands 1-1 of 1 (page 1 of 1)\na: Text.\n"
    assert reply.warnings == ()


@pytest.mark.parametrize("age_s", [0, 3600])
def test_a_changed_file_is_never_answered_as_it_was(project: Project, age_s: int) -> None:
    when = time.time() - age_s
    for text in ("First.", "Other."):  # of one length
        os.utime(project.write("a.md", text), (when, when))
        (project.commands / "b.md").unlink(missing_ok=True)
        (project.commands / "b.md").symlink_to("a.md")
        assert project.described() == {"a": text, "b": text}
        assert project.described() == {"a": text, "b": text}
    (project.commands / "a.md").unlink()
    assert project.described() == {}


def test_commands_that_did_not_change_are_not_opened_again(
    project: Project, opened: list[str]
) -> None:
    for name in ("a.md", "b.md"):
        project.write(name, "Text.")
    time.sleep(2 * RACY_NS / 10**9)
    assert project.names() == ["a", "b"]
    opened.clear()
    assert project.names() == ["a", "b"]
    assert not {"a.md", "b.md"} & set(opened)
