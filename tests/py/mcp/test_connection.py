"""One MCP connection: the answers to each request in both eras, and to misuse."""

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff import __version__
from backstaff.errors import ErrorCode, ToolError
from backstaff.mcp.connection import HANDSHAKE_VERSIONS, STATELESS_VERSION
from backstaff.registry import Registry
from backstaff.server import Server
from backstaff.settings import Policy, Settings
from backstaff.streams import MAX_REQUEST_BYTES
from backstaff.tool import MODEL_TEXT_BYTES, Context, Result
from backstaff.tools.workspace.regexp_search import MAX_TIMEOUT_MS
from tests.py.mcp.session import HELLO, META, STATELESS, Session, notification, request, text
from tests.py.processes import DEADLINE
from tests.py.servers import Nothing, Run, registry_of, saying, server_at
from tests.py.trees import Plant

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, VERSION = (
    *(-32700, -32600, -32601, -32602),
    -32022,
)


def session_of(**runs: Run) -> Session:
    """A session with tools `test/NAME`."""
    return Session(server_at("/", registry_of(**runs)))


# ---------------------------------------------------------------------------- opening


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_initialize_agrees_on_the_version_of_the_client(session: Session, version: str) -> None:
    result = session.result("initialize", HELLO | {"protocolVersion": version})
    assert result["protocolVersion"] == version
    assert result["serverInfo"] == {"name": "backstaff", "version": __version__}
    assert result["capabilities"] == {"tools": {}}


@pytest.mark.parametrize("version", ["1999-01-01", STATELESS_VERSION, "", None, 7, []])
def test_initialize_with_another_version_offers_the_newest(
    session: Session, version: object
) -> None:
    result = session.result("initialize", HELLO | {"protocolVersion": version})
    assert result["protocolVersion"] == "2025-11-25"


def test_instructions_begin_with_the_reasons_to_prefer_the_tools_to_a_shell(
    session: Session, folder: Path
) -> None:
    told = session.result("initialize", HELLO)["instructions"]
    for reason in ("shell", "what it skipped", "whole definitions", "secret"):
        assert reason in told[:300]
    for limit in (str(folder), "24576 bytes", "below root_path", "not saved"):
        assert limit in told[300:]


def test_discover_tells_versions_and_how_long_to_keep_them(session: Session) -> None:
    result = session.result("server/discover", STATELESS)
    assert result["supportedVersions"] == [STATELESS_VERSION]
    assert result["resultType"] == "complete"
    assert result["capabilities"] == {"tools": {}}
    assert result["cacheScope"] == "private"
    assert result["ttlMs"] > 0
    assert result["_meta"][f"{META}serverInfo"]["name"] == "backstaff"


def test_both_eras_are_answered_on_one_connection(session: Session) -> None:
    first = session.result("tools/list", STATELESS)
    assert first["resultType"] == "complete"
    session.result("initialize", HELLO)
    second = session.result("tools/list")
    assert second == {"tools": first["tools"]}
    # A client that has discovered the server may still send the handshake.
    assert session.result("initialize", HELLO | STATELESS)["protocolVersion"] == "2025-11-25"


def test_answer_to_an_unknown_version_names_the_known_ones(session: Session) -> None:
    meta = STATELESS["_meta"] | {f"{META}protocolVersion": "2031-01-01"}
    error = session.ask("tools/list", {"_meta": meta})["error"]
    assert error["code"] == VERSION
    assert error["data"] == {"supported": [STATELESS_VERSION], "requested": "2031-01-01"}


def test_discover_without_a_version_is_refused(session: Session) -> None:
    assert session.error("server/discover", {"_meta": {}})[0] == VERSION


def test_ping_is_answered_before_anything_else(session: Session) -> None:
    assert session.result("ping") == {}


# ---------------------------------------------------------------------------- misuse


@pytest.mark.parametrize(
    "method", ["resources/list", "prompts/list", "logging/setLevel", "tools/nothing", "", "\ud800"]
)
@pytest.mark.parametrize("params", [None, STATELESS], ids=["handshake", "stateless"])
def test_unknown_method_is_an_error_also_before_the_handshake(
    session: Session, method: str, params: object
) -> None:
    code, message = session.error(method, params)
    assert code == NO_METHOD
    assert "tools/call" in message
    assert session.result("tools/list")["tools"]


@pytest.mark.parametrize(
    ("line", "code", "uid"),
    [
        (b"garbage", PARSE_ERROR, None),
        (b"\xff\xfe\xff", PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b'{"id": 1' + b"1" * 5000 + b"}", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"7", INVALID_REQUEST, None),
        (b"[]", INVALID_REQUEST, None),
        (b"null", INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 5}', INVALID_REQUEST, 5),
        (b'{"jsonrpc": "2.0", "id": "a", "method": 1}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": [1]}', INVALID_PARAMS, 5),
        (b"x" * (MAX_REQUEST_BYTES + 1), INVALID_REQUEST, None),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_line_that_is_no_request_is_an_error_and_the_next_one_works(
    session: Session, line: bytes, code: int, uid: object
) -> None:
    session.connection.receive(line + b"\n")
    answer = session.heard()
    assert answer["error"]["code"] == code
    assert answer.get("id") == uid
    assert session.result("ping") == {}
    assert session.silent()


@pytest.mark.parametrize(
    "message",
    [
        notification("notifications/initialized"),
        notification("notifications/cancelled", requestId=99),
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        notification("notifications/nothing"),
        notification("tools/list"),
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "no"}},
    ],
    ids=str,
)
def test_message_that_asks_for_nothing_gets_no_answer(session: Session, message: object) -> None:
    session.say(message)
    assert session.result("ping") == {}
    assert session.silent()


def test_lines_may_come_in_pieces_or_together(session: Session) -> None:
    whole = b"".join(json.dumps(request("ping", uid=n)).encode() + b"\r\n" for n in range(20))
    for at in range(0, len(whole), 7):
        session.connection.receive(whole[at : at + 7])
    session.connection.receive(b"\n \n" + whole)
    assert [session.heard()["id"] for _ in range(40)] == [*range(20), *range(20)]


def test_id_comes_back_as_it_was(session: Session) -> None:
    for uid in ("", "\ud800", "\u2028", 0, -1, 10**30):
        session.say(request("ping", uid=uid))
        assert session.heard()["id"] == uid


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers() | st.text() | JSON,
        "method": st.sampled_from(
            ["initialize", "tools/list", "tools/call", "server/discover", "ping", "x"]
        )
        | JSON,
        "params": JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["probe", "x"]) | JSON,
                "arguments": JSON,
                "cursor": JSON,
                "requestId": JSON,
                "_meta": JSON
                | st.fixed_dictionaries(
                    {},
                    optional={
                        f"{META}protocolVersion": st.just(STATELESS_VERSION) | JSON,
                        f"{META}clientCapabilities": st.just({}) | JSON,
                    },
                ),
            },
        ),
    },
)


@given(messages=st.lists(MESSAGES | JSON, max_size=5))
def test_each_request_gets_one_answer_with_any_content(messages: list[object]) -> None:
    session = session_of(probe=saying("fine"))
    session.say(*messages, request("ping", uid="last"))
    requests = [
        m["id"]
        for m in messages
        if isinstance(m, dict) and isinstance(m.get("method"), str) and "id" in m
    ]
    named = [u for u in requests if isinstance(u, int | str) and not isinstance(u, bool)]
    heard: list[object] = []
    while "last" not in heard or any(heard.count(u) < named.count(u) for u in named):
        heard.append(session.heard().get("id"))
    assert all(heard.count(u) >= named.count(u) for u in named)


@pytest.mark.parametrize("batch", [[], [request("ping")], [request("ping"), request("ping")]])
def test_list_of_messages_is_refused_with_the_remedy(session: Session, batch: list[object]) -> None:
    session.say(batch)
    answer = session.heard()
    assert "id" not in answer
    assert answer["error"]["code"] == INVALID_REQUEST
    assert "A line is one message" in answer["error"]["message"]
    assert session.silent()


# ---------------------------------------------------------------------------- tools


def test_list_has_one_page_in_the_order_of_the_offer(folder: Path) -> None:
    ids = ["workspace/tree", "workspace/read_file", "commands/get_command"]
    session = Session(server_at(folder), ids)
    first = session.result("tools/list", {"cursor": None})
    assert [tool["name"] for tool in first["tools"]] == ["tree", "read_file", "get_command"]
    assert session.result("tools/list") == first
    code, message = session.error("tools/list", {"cursor": "2"})
    assert code == INVALID_PARAMS
    assert "cursor" in message


def test_every_tool_says_that_it_only_reads(session: Session) -> None:
    for tool in session.result("tools/list")["tools"]:
        assert tool["annotations"] == {"readOnlyHint": True}
        assert set(tool) - {"_meta"} == {"name", "description", "inputSchema", "annotations"}


class Broken(dict[str, object]):
    """Tools of which `test/broken` cannot be imported."""

    def __getitem__(self, tool_id: str) -> object:
        if tool_id == "test/broken":
            raise ToolError(ErrorCode.INTERNAL, "The tool test/broken cannot be used: a typo")
        return super().__getitem__(tool_id)


def test_broken_tool_is_left_out_of_the_list_and_reported_when_called() -> None:
    tools = registry_of(fine=saying("fine"), broken=saying("never")).by_id
    session = Session(server_at("/", Registry(Broken(tools))))  # type: ignore[arg-type]
    assert [tool["name"] for tool in session.result("tools/list")["tools"]] == ["fine"]
    assert text(session.call("broken")) == "Error: The tool test/broken cannot be used: a typo"


def test_answer_is_one_text_and_nothing_else(tree: Plant) -> None:
    session = Session(server_at(tree({"a": "", "d/b": ""})))
    result = session.call("tree", {"path": ".", "entry_kind": "all"})
    assert result.keys() == {"content", "isError"}
    assert result["isError"] is False
    assert "d/b" in text(result) or "d/ b" in text(result)
    stateless = session.result(
        "tools/call", {"name": "tree", "arguments": {"path": "."}, **STATELESS}
    )
    assert stateless.keys() == {"content", "isError", "resultType", "_meta"}


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("tree", {"path": ".."}, "SANDBOX"),
        ("tree", {}, "Missing required argument 'path'"),
        ("tree", {"path": 7}, "must be a string"),
        ("read_file", {"path": "nothing"}, "nothing"),
        ("regexp_search", {"pattern": "("}, "("),
    ],
)
def test_failure_of_a_tool_is_a_text_for_the_model(
    session: Session, name: str, given: dict[str, object], said: str
) -> None:
    result = session.call(name, given)
    assert result["isError"] is True
    assert text(result).startswith("Error: ")
    assert said.lower().rstrip("_") in text(result).lower() or said == "SANDBOX"


def test_unknown_tool_is_an_error_that_names_the_known_ones(folder: Path) -> None:
    session = Session(server_at(folder), ["workspace/tree"])
    # A tool that is not offered is unknown.
    for name in ("nothing", "list_directory", "agent-q/list_directory", "", None, 7, ["tree"]):
        code, message = session.error("tools/call", {"name": name})
        assert code == INVALID_PARAMS
        assert "(there are tree)" in message


def test_tool_that_is_offered_may_be_called_by_its_id(tree: Plant) -> None:
    session = Session(server_at(tree({"a": "x"})), ["workspace/read_file"])
    assert "1\tx" in text(session.call("workspace/read_file", {"path": "a"}))
    assert [one["name"] for one in session.result("tools/list")["tools"]] == ["read_file"]


def test_answers_name_tools_as_the_model_knows_them(tree: Plant) -> None:
    files = {f"many/{number:0100}": "" for number in range(300)}
    root = tree({"workspace/tree": "workspace/tree\n" * 300, "d/f": ""} | files)
    session = Session(server_at(root))
    said = {
        "is a directory: search_files {": ("read_file", {"path": "d"}),
        "; all files: search_files {": ("list_directory", {"path": "many"}),
    }
    for words, (name, arguments) in said.items():
        assert words in text(session.call(name, arguments))
    # The contents and names of files are unchanged.
    shown = text(session.call("read_file", {"path": "workspace/tree", "max_lines": 2}))
    assert "1\tworkspace/tree\n" in shown


@pytest.mark.parametrize("arguments", [[], "{}", 7, False])
def test_arguments_that_are_no_object_are_refused(session: Session, arguments: object) -> None:
    code, message = session.error("tools/call", {"name": "tree", "arguments": arguments})
    assert (code, message) == (INVALID_PARAMS, "The arguments of tree must be an object")


def test_arguments_may_be_left_out(session: Session) -> None:
    for params in ({"name": "project_overview"}, {"name": "project_overview", "arguments": None}):
        assert session.result("tools/call", params)["isError"] is False


def test_unknown_argument_is_named_at_the_end_of_the_text(session: Session) -> None:
    result = session.call("tree", {"path": ".", "limit": 3, "x\ny": 1})
    assert result["isError"] is False
    there_are = "path, entry_kind, max_depth, max_entries, include_hidden, exclude"
    note = f'[Unknown argument ignored: limit, "x\\ny"; there are: {there_are}]\n'
    assert text(result).endswith(note)
    assert "Unknown" not in text(session.call("tree", {"path": "."}))


def test_text_keeps_within_its_bytes_with_the_note(folder: Path) -> None:
    (folder / "f").write_text(("word" * 20 + "\n") * 500)
    session = Session(server_at(folder))
    for more in ({}, {"limit": 1}, {"x" * 5000: 1}):
        said = text(session.call("read_file", {"path": "f", "max_lines": 500, **more}))
        assert 20_000 < len(said.encode()) <= MODEL_TEXT_BYTES
        assert ("[Unknown argument ignored: " in said) == bool(more)


def test_policy_hides_a_tool_and_refuses_its_call(folder: Path) -> None:
    policy = Policy(deny=("workspace/tree",), prompt=("agent-q/*",))
    server = Server(server_at(folder).registry, Settings(policy=policy), str(folder))
    session = Session(server)
    names = {tool["name"] for tool in session.result("tools/list")["tools"]}
    assert "read_file" in names
    assert names.isdisjoint({"tree", "list_directory"})
    denied = session.call("tree", {"path": "."})
    assert text(denied) == "Error: The policy of this server denies the tool tree"
    asks = session.call("list_directory", {"path": ".", "approved": True})
    assert text(asks).startswith("Error: The tool list_directory needs the approval")
    assert denied["isError"] is asks["isError"] is True
    _, message = session.error("tools/call", {"name": "nothing"})
    assert "tree" not in message


def test_text_that_is_no_unicode_becomes_so() -> None:
    session = session_of(odd=saying("a\udcff\ud800\u2028z"))
    session.say(request("tools/call", {"name": "odd"}))
    line = session.sent.get(timeout=DEADLINE)
    assert rb"a\ufffd\ufffd\u2028z" in line


def test_bug_in_a_tool_is_reported_without_details(caplog: pytest.LogCaptureFixture) -> None:
    def bug(_: Nothing, __: Context) -> Result:
        raise ZeroDivisionError("secret")

    result = Session(server_at("/", registry_of(bug=bug))).call("bug")
    assert result["isError"] is True
    assert text(result).startswith("Error: The tool failed unexpectedly")
    assert "ZeroDivisionError" in caplog.text


# ---------------------------------------------------------------------------- while calls run


class Gate:
    """A tool that waits until it is released, or until its call is cancelled."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.opened = threading.Event()
        self.ended = threading.Semaphore(0)

    def run(self, _: Nothing, context: Context) -> Result:
        self.started.release()
        try:
            while not self.opened.wait(0.001):
                context.budget.check()
        finally:
            self.ended.release()
        return Result(text="through", data={})


def test_cancelled_call_stops_and_is_answered_no_more() -> None:
    gate = Gate()
    session = session_of(gate=gate.run)
    session.say(request("tools/call", {"name": "gate"}, uid="g"))
    assert gate.started.acquire(timeout=DEADLINE)
    session.say(notification("notifications/cancelled", requestId="other"))
    assert not gate.ended.acquire(blocking=False)
    session.say(notification("notifications/cancelled", requestId="g", reason="enough"))
    assert gate.ended.acquire(timeout=DEADLINE), "the call goes on"
    # Its worker takes the next call only after this one has ended.
    gate.opened.set()
    for uid in range(20):
        session.say(request("tools/call", {"name": "gate"}, uid=uid))
        assert session.heard()["id"] == uid
    assert session.silent()


def test_requests_are_answered_while_calls_run() -> None:
    gate = Gate()
    session = session_of(gate=gate.run)
    for uid in range(30):
        session.say(request("tools/call", {"name": "gate"}, uid=f"g{uid}"))
    assert session.result("ping") == {}
    assert session.result("tools/list")["tools"]
    gate.opened.set()
    assert {session.heard()["id"] for _ in range(30)} == {f"g{uid}" for uid in range(30)}


@pytest.mark.alone  # under load, starting a process for each search takes seconds
def test_searches_that_take_long_hold_up_no_other_call(tree: Plant) -> None:
    root = tree({"slow.txt": "a" * 60 + "!", "b.txt": "word"})
    session = Session(server_at(root), ["workspace/regexp_search", "workspace/read_file"])
    slow = {"pattern": "(a|aa)+!(?=x)", "timeout_ms": MAX_TIMEOUT_MS}
    for uid in range(100, 116):
        session.say(request("tools/call", {"name": "regexp_search", "arguments": slow}, uid=uid))
    for name, arguments in (
        ("read_file", {"path": "b.txt"}),
        ("regexp_search", {"pattern": "wor", "include": ["b.txt"]}),
    ):
        assert "word" in text(session.call(name, arguments))
    for uid in range(100, 116):
        session.say(notification("notifications/cancelled", requestId=uid))
