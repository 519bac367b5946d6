"""forge/list_directory against a plain model of contract 002, and its definition.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from backstaff.registry import discover
from tests.py.examples import examples
from tests.py.tools.forge.calls import ID, error_of, listed, output, with_config
from tests.py.tools.forge.model import cases, model, written
from tests.py.tools.random_trees import OUTSIDE, Below, planted
from tests.py.trees import Plant

FEWER = examples(1 / 4)


@given(cases())
def test_any_tree_comes_out_as_the_contract_says(case: tuple[Below, dict[str, Any]]) -> None:
    """FR-LD-LST-01, -02, -05 to -07, FR-LD-OUT-01 to -02b, NFR-LD-REL-01, -02, NFR-LD-PORT-01."""
    below, arguments = case
    with planted(below) as root:
        reply = listed(root, {"json": True}, **arguments)
        expected = model(root, below, arguments)
        assert output(reply) == expected
        assert reply.text == reply.json == written(expected)
        assert reply.truncated == expected["truncated"]
        assert reply.warnings == ()
        assert listed(root, **arguments).text == reply.text


@FEWER
@given(cases())
def test_nothing_of_the_outside_ever_appears(case: tuple[Below, dict[str, Any]]) -> None:
    """FR-LD-VAL-09, NFR-LD-SEC-03, T-LD-08."""
    below, arguments = case
    with planted(below) as root:
        text = listed(root, **arguments | {"include_hidden": True, "recursive": True}).text
        assert OUTSIDE not in text
        assert str(root.parent) not in text


# ---------------------------------------------------------------------------- definition

SCHEMA = """{
  "type": "object",
  "properties": {
    "path": { "type": "string" },
    "recursive": { "type": "boolean", "default": false },
    "max_depth": { "type": "integer", "minimum": 1 },
    "max_entries": { "type": "integer", "minimum": 1 },
    "include_hidden": { "type": "boolean", "default": false },
    "include_files": { "type": "boolean", "default": true },
    "include_dirs": { "type": "boolean", "default": true },
    "include_symlinks": { "type": "boolean", "default": true },
    "include_other": { "type": "boolean", "default": false }
  },
  "required": ["path"]
}"""


def test_definition_is_the_contracts() -> None:
    """FR-LD-DEF-01 to -04, FR-LD-OUT-04, and the normative schema of 3.2."""
    definition = {d["id"]: d for d in discover().definitions()}[ID]
    assert definition["name"] == "list_directory"
    assert definition["description"] == "List directory entries"
    assert definition["side_effecting"] is False
    assert definition["requires_approval"] is False
    assert definition["risk"] == "low"
    assert definition["allow_truncation"] is False
    assert definition["schema_json"] == written(json.loads(SCHEMA))
    assert definition["parameters"] == json.loads(SCHEMA)


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ('deny = ["forge/*"]', "POLICY_DENIED"),
        ('allow = ["agent-q/*"]', "POLICY_DENIED"),
        ('prompt = ["forge/list_directory"]', "APPROVAL_REQUIRED"),
    ],
)
def test_policy_of_the_user_is_respected(
    tree: Plant, tmp_path: Path, policy: str, code: str
) -> None:
    """FR-LD-DEF-05."""
    server = with_config(tmp_path, f"[policy]\n{policy}\n")
    assert error_of(listed(tree({"a": ""}), None, server))[0] == code
