"""The policy over all tools: its verdicts, their effect in the server, and its settings file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.arguments import Symbol
from backstaff.errors import SettingsError
from backstaff.registry import Registry, discover
from backstaff.server import Server
from backstaff.settings import Policy, Settings, Verdict, load
from backstaff.tool import Context, Result
from tests.py.replies import code
from tests.py.servers import Nothing, registry_of, saying
from tests.py.trees import Plant

REGISTRY = discover()
TABLES = REGISTRY.settings_tables()
LISTING = "agent-q/list_directory"
AGENT_Q = f'[tools."{LISTING}"]\nheader = "relative"\n'


def server(root: Path | str, policy: Policy, registry: Registry = REGISTRY) -> Server:
    return Server(registry, Settings(policy=policy), str(root))


# ---------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        (Policy(), Verdict.ALLOW),
        (Policy(allow=("a/b",)), Verdict.ALLOW),
        (Policy(allow=("a/*",)), Verdict.ALLOW),
        (Policy(allow=("*",)), Verdict.ALLOW),
        (Policy(allow=("x/y",)), Verdict.DENY),
        (Policy(allow=("b",)), Verdict.DENY),
        (Policy(allow=("A/B",)), Verdict.DENY),
        (Policy(deny=("a/b",)), Verdict.DENY),
        (Policy(deny=("x/*",)), Verdict.ALLOW),
        (Policy(deny=("a/[!c]",)), Verdict.DENY),
        (Policy(deny=("?/b",)), Verdict.DENY),
        (Policy(prompt=("*/b",)), Verdict.PROMPT),
        (Policy(prompt=("x/*",)), Verdict.ALLOW),
        (Policy(allow=("a/b",), prompt=("a/b",)), Verdict.PROMPT),
        (Policy(allow=("a/b",), deny=("a/b",)), Verdict.DENY),
        (Policy(prompt=("a/b",), deny=("a/b",)), Verdict.DENY),
        (Policy(allow=("x/y",), prompt=("a/b",)), Verdict.PROMPT),
        (Policy(allow=("a/b",), prompt=("a/b",), deny=("a/b",)), Verdict.DENY),
    ],
)
def test_verdict_on_a_tool(policy: Policy, verdict: Verdict) -> None:
    assert policy.verdict("a/b") is verdict


ids = st.sampled_from(("a/x", "a/y", "b/x", "b/y"))
lists = st.frozensets(ids, max_size=3)


@given(lists, lists, lists, ids)
def test_deny_goes_before_prompt_and_prompt_before_allow(
    allow: frozenset[str], deny: frozenset[str], prompt: frozenset[str], tool: str
) -> None:
    verdict = Policy(tuple(allow), tuple(deny), tuple(prompt)).verdict(tool)
    assert (verdict is Verdict.DENY) == (
        tool in deny or (tool not in prompt and bool(allow) and tool not in allow)
    )
    assert (verdict is Verdict.PROMPT) == (tool in prompt - deny)


# ---------------------------------------------------------------------------- the server


def test_denied_tool_is_not_run_even_if_it_is_approved() -> None:
    ran = []

    def run(arguments: Nothing, context: Context) -> Result:
        ran.append(arguments)
        return saying("ran")(arguments, context)

    denying = server("/", Policy(deny=("test/*",)), registry_of(probe=run))
    for context in ({}, {"approved": True}):
        reply = denying.call("test/probe", {}, context)
        assert code(reply) == "POLICY_DENIED"
        assert "test/probe" in reply.text
        assert reply.data is None
    assert ran == []


def test_prompted_tool_runs_only_once_it_is_approved() -> None:
    prompting = server("/", Policy(prompt=("test/*",)), registry_of(probe=saying("ran")))
    for context in ({}, None, {"approved": False}, {"approved": None}):
        assert code(prompting.call("test/probe", {}, context)) == "APPROVAL_REQUIRED"
    assert prompting.call("test/probe", {}, {"approved": True}).text == "ran"
    assert code(prompting.call("test/probe", {}, {})) == "APPROVAL_REQUIRED"


@pytest.mark.parametrize("approved", ["yes", 1, "true", [], Symbol("yes")])
def test_approval_is_a_boolean_and_nothing_like_it(approved: object) -> None:
    prompting = server("/", Policy(prompt=("*",)), registry_of(probe=saying("ran")))
    assert code(prompting.call("test/probe", {}, {"approved": approved})) == "INVALID_ARGUMENT"


def test_approval_is_not_needed_for_allowed_tools() -> None:
    allowing = server("/", Policy(allow=("test/probe",)), registry_of(probe=saying("ran")))
    assert allowing.call("test/probe").text == "ran"


@pytest.mark.parametrize("name", [LISTING, "list_directory"])
def test_denied_tool_is_denied_under_each_of_its_names(tree: Plant, name: str) -> None:
    denying = server(tree({}), Policy(deny=(LISTING,)))
    assert code(denying.call(name, {"path": "."})) == "POLICY_DENIED"
    assert denying.call("forge/list_directory", {"path": "."}).ok


@pytest.mark.parametrize("name", ["workspace/tree", "tree"])
def test_prompted_tool_is_prompted_under_each_of_its_names(tree: Plant, name: str) -> None:
    prompting = server(tree({}), Policy(prompt=("workspace/tree",)))
    assert code(prompting.call(name, {"path": "."})) == "APPROVAL_REQUIRED"
    assert prompting.call(name, {"path": "."}, {"approved": True}).ok


@pytest.mark.parametrize("policy", [Policy(allow=("forge/*",)), Policy(deny=("agent-q/*",))])
def test_bare_name_does_not_slip_to_another_tool_of_that_name(tree: Plant, policy: Policy) -> None:
    reply = server(tree({}), policy).call("list_directory", {"path": "."})
    assert (code(reply), reply.tool) == ("POLICY_DENIED", LISTING)


@pytest.mark.parametrize("name", ["AGENT-Q/list_directory", f" {LISTING}", f"/{LISTING}", "*", ""])
def test_other_spellings_of_a_denied_tool_are_no_tools(tree: Plant, name: str) -> None:
    denying = server(tree({}), Policy(deny=(LISTING,)))
    assert code(denying.call(name, {"path": "."})) == "UNKNOWN_TOOL"


def test_every_tool_of_the_registry_obeys(tree: Plant) -> None:
    root = tree({})
    denying, prompting = server(root, Policy(deny=("*",))), server(root, Policy(prompt=("*",)))
    for name in (*REGISTRY.by_id, *REGISTRY.aliases):
        assert code(denying.call(name, {"path": "."}, {"approved": True})) == "POLICY_DENIED"
        assert code(prompting.call(name, {"path": "."})) == "APPROVAL_REQUIRED"


def test_denied_call_tells_nothing_of_its_arguments_or_root(tree: Plant) -> None:
    denying = server(tree({}), Policy(deny=("*",)))
    for arguments in ({"path": "missing"}, {"path": 7}, "not JSON", {}):
        for context in ({}, {"root": "/does/not/exist"}):
            assert code(denying.call(LISTING, arguments, context)) == "POLICY_DENIED"


def test_description_of_a_tool_carries_the_verdict_of_the_policy() -> None:
    mixed = Policy(deny=("forge/*",), prompt=("workspace/*",))
    told = {d["id"]: d["policy"] for d in server("/", mixed).definitions()}
    assert set(told) == set(REGISTRY.by_id)
    assert told["forge/list_directory"] is Verdict.DENY
    assert told["workspace/tree"] is Verdict.PROMPT
    assert told[LISTING] is Verdict.ALLOW


# ---------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "extra",
    [
        {"approved": True},
        {":approved": True},
        {"root": "/"},
        {"json": True},
        {"max_output_bytes": 1},
        {"available_capacity_bytes": 1},
        {"deadline_ms": 1},
        {"policy": "allow"},
        {"context": {"approved": True, "root": "/"}},
    ],
)
def test_arguments_of_a_model_cannot_speak_for_the_trusted_side(
    tree: Plant, extra: Mapping[str, object]
) -> None:
    root = tree({"inside": ""})
    plain = server(root, Policy()).call("workspace/tree", {"path": ".", "entry_kind": "all"})
    reply = server(root, Policy()).call(
        "workspace/tree", {"path": ".", "entry_kind": "all", **extra}
    )
    (name,) = extra
    assert reply.warnings == (f"Unknown argument ignored: {name.removeprefix(':')}",)
    assert (reply.text, reply.data, reply.json) == (plain.text, plain.data, None)
    prompting = server(root, Policy(prompt=("*",)))
    assert code(prompting.call("workspace/tree", {"path": ".", **extra})) == "APPROVAL_REQUIRED"


def test_plist_of_a_model_cannot_approve(tree: Plant) -> None:
    prompting = server(tree({}), Policy(prompt=("*",)))
    arguments = [Symbol(":path"), ".", Symbol(":approved"), True, Symbol(":root"), "/"]
    assert code(prompting.call("workspace/tree", arguments)) == "APPROVAL_REQUIRED"


# ---------------------------------------------------------------------------- the file


def policy_of(folder: Path, text: str) -> Policy:
    file = folder / "config.toml"
    file.write_text(text)
    return load(file, TABLES).policy


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        policy_of(folder, text)
    return str(caught.value).removeprefix(str(folder / "config.toml"))


def test_file_sets_the_policy(tmp_path: Path) -> None:
    text = '[policy]\nallow = ["a/*", "b"]\ndeny = []\nprompt = [\n  "c/é",\n]\n'
    assert policy_of(tmp_path, text) == Policy(allow=("a/*", "b"), prompt=("c/é",))


@pytest.mark.parametrize("text", ["", "[policy]\n", "[policy]\nallow = []\n", "[tools]\n"])
def test_file_without_a_policy_allows_everything(tmp_path: Path, text: str) -> None:
    assert policy_of(tmp_path, text) == Policy()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[policy]\ndeny = [1]\n", ":2: policy.deny must be a list of strings"),
        ('[policy]\ndeny = ["a", true]\n', ":2: policy.deny must be a list of strings"),
        ('[policy]\nprompt = [["a"]]\n', ":2: policy.prompt must be a list of strings"),
        ("[policy]\nprompt = true\n", ":2: policy.prompt must be a list of strings"),
        ("[policy]\nprompt = {}\n", ":2: policy.prompt must be a list of strings"),
        (
            '[policy]\nallow = []\nforbid = ["a"]\n',
            ":3: policy.forbid is not known; known here: allow, deny, prompt",
        ),
        ("\npolicy = 3\n", ":2: policy must be a table"),
        ("[[policy]]\nallow = []\n", ":1: policy must be a table"),
        ("[polizei]\n", ":1: polizei is not known; known here: policy, tools"),
        ("policy.deny = []\npolicy.dny = []\n", ":2: policy.dny is not known"),
    ],
)
def test_bad_policy_is_refused_with_line_and_key(tmp_path: Path, text: str, told: str) -> None:
    assert refusal(tmp_path, text).startswith(told)


def test_server_started_with_a_file_keeps_to_its_policy(tree: Plant, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[policy]\nprompt = ["workspace/*"]\n')
    started = Server(REGISTRY, load(file, TABLES), str(tree({})))
    assert code(started.call("tree", {"path": "."})) == "APPROVAL_REQUIRED"


@dataclass(frozen=True)
class Lists:
    names: tuple[str, ...] = ("a",)


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("", Lists()),
        ("names = []", Lists(names=())),
        ('names = ["x", ""]', Lists(names=("x", ""))),
        ('names = "x"', Lists(names=("x",))),
    ],
)
def test_setting_can_be_a_list_of_strings(tmp_path: Path, text: str, lists: Lists) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[tools.test]\n{text}\n")
    assert load(file, {"test": Lists}).tables["test"] == lists


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("names = [1]", "tools.test.names must be a list of strings"),
        ('names = ["x", 1]', "tools.test.names must be a list of strings"),
    ],
)
def test_list_of_other_things_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[tools.test]\n{text}\n")
    with pytest.raises(SettingsError) as caught:
        load(file, {"test": Lists})
    assert str(caught.value).startswith(f"{file}:2: {words}, not ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# deny = 1\n[policy]\n# deny = 1\ndeny = 1\n", 4),
        ("[policy] # deny = 1\ndeny = 1\n", 2),
        ("[policy]\nallow = []\n\n\n'deny' = 1\n", 5),
        ("[tools.list_directory]\nmax_depth = 1\n[tools.'workspace/tree']\nmax_depth = 1\n", 4),
        ('[tools."agent-q/list_directory"]\n[tools.list_directory]\nheader = 1\n', 3),
        ('[tools.list_directory]\n[tools."agent-q/list_directory"]\nmax_entries = 1\n', 3),
        (f"{AGENT_Q}[tools.list_directory]\nheader = 1\n", 4),
        ("[tools]\nlist_directory = { max_depth = true }\n", 2),
    ],
)
def test_refusal_names_the_line_of_the_key_itself(tmp_path: Path, text: str, line: int) -> None:
    assert refusal(tmp_path, text).startswith(f":{line}: ")


@pytest.mark.parametrize("key", ["allow", "deny", "prompt"])
def test_glob_that_fits_no_tool_is_refused_with_file_line_and_key(tmp_path: Path, key: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[policy]\n{key} = ["{LISTING}", "list_directory"]\n')
    with pytest.raises(SettingsError) as refusal:
        load(config, TABLES, REGISTRY.by_id)
    assert str(refusal.value).startswith(
        f"{config}:2: policy.{key} has 'list_directory', which fits no tool; there are: "
    )
