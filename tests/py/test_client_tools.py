"""Tools of a client are described, judged and checked like the server's own."""

from pathlib import Path
from typing import Any

import pytest

from backstaff.arguments import NIL, Symbol
from backstaff.errors import ErrorCode, ToolError
from backstaff.manifest import CLIENT_TOOLS
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Policy, Settings, load
from tests.py.servers import server_at


def plist(**fields: object) -> list[object]:
    """Return `fields` as the wire reads a plist: {"id": "a"} is (:id "a")."""
    return [item for key, value in fields.items() for item in (Symbol(f":{key}"), value)]


BUFFER = plist(name="buffer", type=Symbol(":string"), description="A name.", required=True)
LINES = plist(
    name="max_lines",
    type=Symbol(":integer"),
    description="How many.",
    default=100,
    minimum=1,
    maximum=500,
)
END = plist(name="from_end", type=Symbol(":boolean"), description="The last.", default=False)
WHAT = plist(
    name="what", type=Symbol(":string"), description="Of it.", default="a", enum=["a", "b"]
)
PATH = plist(name="path", type=Symbol(":string"), description="A path.")
TOOL = plist(
    id="emacs/read_buffer",
    description="Shows a buffer; see emacs/read_buffer and workspace/tree.",
    arguments=[BUFFER, LINES, END, WHAT, PATH],
    categories=[Symbol(":emacs")],
)


def check(
    server: Server, definition: object, arguments: object = None, context: object = None
) -> Reply:
    """Check a call of the client's tool of `definition`, as a connection does."""
    return server.run(server.prepare_check(definition, arguments, context))


def test_a_clients_tool_is_described_as_the_others_are(tmp_path: Path) -> None:
    server = server_at(tmp_path)
    *others, described = server.definitions([TOOL])
    assert others == server.definitions()
    assert others == server.definitions(NIL)
    assert described.keys() == others[0].keys()
    told: Any = described
    assert told["toolset"] == "emacs"
    assert told["required"] == ["buffer"]
    assert told["parameters"]["properties"]["max_lines"] == {
        "type": "integer",
        "default": 100,
        "minimum": 1,
        "maximum": 500,
        "description": "How many.",
    }
    assert [one["name"] for one in told["arguments"]] == [
        "buffer",
        "max_lines",
        "from_end",
        "what",
        "path",
    ]
    assert told["model"] == {
        # A server's tool may have, or get, the bare name.
        "name": "emacs_read_buffer",
        "description": "Shows a buffer; see emacs_read_buffer and tree.",
        "arguments": [
            "A name.",
            "How many (default 100; at most 500)",
            "The last.",
            'Of it (default "a")',
            "A path.",
        ],
    }


def test_a_check_answers_with_the_values_of_all_arguments(tmp_path: Path) -> None:
    server = server_at(tmp_path)
    reply = check(server, TOOL, '{"buffer": "x", "max_lines": 7.0, "colour": 1}')
    assert reply.ok
    assert reply.data == {
        "buffer": "x",
        "max_lines": 7,
        "from_end": False,
        "what": "a",
        "path": None,
    }
    assert reply.warnings == ("Unknown argument ignored: colour",)
    refused = check(server, TOOL, plist(buffer="x", max_lines=0))
    assert refused.error == {
        "code": ErrorCode.INVALID_ARGUMENT,
        "message": "Argument 'max_lines' must be from 1 to 500, but it is 0",
    }


@pytest.mark.parametrize("name", ["class", "__init__", "__slots__", "self"])
def test_an_argument_may_have_any_name_in_lisp(tmp_path: Path, name: str) -> None:
    argument = plist(name=name, type=Symbol(":string"), description="A word.")
    tool = plist(id="emacs/a", description="x", arguments=[argument])
    assert check(server_at(tmp_path), tool, {name: "y"}).data == {name: "y"}


@pytest.mark.parametrize(
    ("policy", "approved", "code"),
    [
        (Policy(deny=("emacs/*",)), True, ErrorCode.POLICY_DENIED),
        (Policy(allow=("workspace/*",)), True, ErrorCode.POLICY_DENIED),
        (Policy(prompt=("emacs/read_buffer",)), False, ErrorCode.APPROVAL_REQUIRED),
        (Policy(prompt=("emacs/read_buffer",)), True, None),
        (Policy(), False, None),
    ],
)
def test_a_check_obeys_the_policy(
    tmp_path: Path, policy: Policy, code: ErrorCode | None, *, approved: bool
) -> None:
    server = Server(discover(), Settings(policy=policy), str(tmp_path))
    reply = check(server, TOOL, plist(buffer="x"), plist(approved=approved))
    assert (reply.error["code"] if reply.error else None) == code


def test_a_policy_may_name_the_tools_of_emacs(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[policy]\ndeny = {list(CLIENT_TOOLS)}\n")
    registry = discover()
    known = [*registry.by_id, *CLIENT_TOOLS]
    assert load(file, registry.settings_tables(), known).policy.deny == CLIENT_TOOLS


@pytest.mark.parametrize(
    "definition",
    [
        "emacs/context",
        NIL,
        plist(id="emacs/context"),
        plist(id=5, description="x"),
        plist(id="emacs/a", description="x", arguments="none"),
        plist(id="emacs/a", description="x", arguments=["none"]),
        plist(id="emacs/a", description="x", arguments=[plist(name="a", type="string")]),
    ],
)
def test_a_definition_that_cannot_be_read_is_refused(tmp_path: Path, definition: object) -> None:
    server = server_at(tmp_path)
    for ask in (
        lambda: server.prepare_check(definition),
        lambda: server.definitions([definition]),
    ):
        with pytest.raises(ToolError) as refused:
            ask()
        assert refused.value.code == ErrorCode.INVALID_ARGUMENT
