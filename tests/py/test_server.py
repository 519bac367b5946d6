"""One call, from raw arguments to a reply; every error becomes one."""

import errno
import logging
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from backstaff.arguments import NIL, Symbol
from backstaff.errors import ErrorCode, ToolError
from backstaff.server import Server
from backstaff.settings import Policy, Settings
from backstaff.tool import Context, NoSettings, Result
from tests.py.replies import code
from tests.py.servers import Nothing, registry_of, saying, server_at
from tests.py.trees import Plant


def test_reply_carries_text_and_data(tree: Plant) -> None:
    root = tree({"f": "12345"})
    reply = server_at(root).call("agent-q/get_file_info", {"path": "f"})
    assert reply.ok
    assert reply.tool == "agent-q/get_file_info"
    assert reply.data
    assert reply.data["size"] == 5
    assert list(reply.fields()) == [
        *("ok", "tool", "text", "data", "truncated", "warnings", "elapsed_ms")
    ]
    assert reply.elapsed_ms >= 0


def test_bare_name_is_answered_under_the_id(folder: Path) -> None:
    assert server_at(folder).call("list_directory", {"path": "."}).tool == "agent-q/list_directory"


def test_unknown_tool_is_reported_with_the_known_ones(folder: Path) -> None:
    reply = server_at(folder).call("agent-q/nothing")
    assert code(reply) == "UNKNOWN_TOOL"
    assert "agent-q/list_directory" in reply.text


def test_arguments_that_do_not_fit_are_named(folder: Path) -> None:
    reply = server_at(folder).call("agent-q/list_directory", {"path": 3})
    assert code(reply) == "INVALID_ARGUMENT"
    assert reply.text == "Error: Argument 'path' must be a string, not the number 3"


def test_unknown_argument_is_a_warning(folder: Path) -> None:
    reply = server_at(folder).call("agent-q/list_directory", {"path": ".", "recursive": True})
    assert reply.warnings == ("Unknown argument ignored: recursive",)


@pytest.mark.parametrize("key", ["text_only", "for_model"])
def test_unknown_argument_ends_the_text_for_a_model(folder: Path, key: str) -> None:
    (folder / "f").write_text("word\n" * 5000)
    server, arguments = server_at(folder), {"path": "f", "lines": 2}
    there_are = "path, start_line, max_lines, symbol, around, match, ranges, encoding"
    note = f"\n[Unknown argument ignored: lines; there are: {there_are}]\n"
    assert note not in server.call("workspace/read_file", arguments).text
    whole = server.call("workspace/read_file", {"path": "f"}, {key: True, "max_output_bytes": 1000})
    reply = server.call("workspace/read_file", arguments, {key: True, "max_output_bytes": 1000})
    assert len(reply.text.encode()) <= 1000
    # The tool itself has made room, so its own last line still says how to continue.
    last = whole.text.splitlines()[-1]
    assert last.startswith("[")
    assert reply.text.removesuffix(note).splitlines()[-1][:12] == last[:12]
    assert reply.text.endswith(note)
    # There is no room for a note: the answer is more important.
    short = server.call("workspace/read_file", arguments, {key: True, "max_output_bytes": 100})
    assert "Unknown" not in short.text
    assert short.truncated


def test_arguments_of_a_model_cannot_change_root_or_limits(tree: Plant, folder: Path) -> None:
    root = tree({"f": ""})
    for name, value in (("root", str(folder)), ("max_output_bytes", 0), ("deadline_ms", 1)):
        reply = server_at(root).call("agent-q/list_directory", {"path": ".", name: value})
        assert reply.ok
        assert "[FILE] f" in reply.text
        assert reply.warnings == (f"Unknown argument ignored: {name}",)


def test_keys_of_a_context_are_called_so(folder: Path) -> None:
    arguments, context = {"path": ".", "x": 1}, {"argument_x": 1}
    reply = server_at(folder).call("agent-q/list_directory", arguments, context)
    assert reply.warnings == (
        "Unknown context key ignored: argument_x",
        "Unknown argument ignored: x",
    )
    reply = server_at(folder).call("agent-q/list_directory", arguments, {"deadline_ms": 0})
    assert reply.text == "Error: Context key 'deadline_ms' must be at least 1, but it is 0"


def test_context_names_another_root(tree: Plant) -> None:
    tree({"here": ""})
    other = tree({"there": ""}, "other")
    server = server_at(other.parent / "R")
    reply = server.call("agent-q/list_directory", {"path": "."}, [Symbol(":root"), str(other)])
    assert "there" in reply.text
    assert "here" in server.call("agent-q/list_directory", {"path": "."}).text


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"root": "relative"}, "INVALID_ARGUMENT"),
        ({"root": "~"}, "INVALID_ARGUMENT"),
        ({"root": "/ssh:h:/"}, "NOT_FOUND"),
        ({"root": "/nonexistent/\n"}, "NOT_FOUND"),
        ({"root": "/dev/null"}, "NOT_DIRECTORY"),
        ({"root": "/a\0b"}, "INVALID_ARGUMENT"),
        ({"root": 3}, "INVALID_ARGUMENT"),
        ({"deadline_ms": 0}, "INVALID_ARGUMENT"),
        ({"deadline_ms": -1}, "INVALID_ARGUMENT"),
        ({"deadline_ms": 10**400}, "INVALID_ARGUMENT"),
        ({"max_output_bytes": -1}, "INVALID_ARGUMENT"),
        ({"max_output_bytes": 1.5}, "INVALID_ARGUMENT"),
        ({"available_capacity_bytes": -1}, "INVALID_ARGUMENT"),
        ({"available_capacity_bytes": "9"}, "INVALID_ARGUMENT"),
        ([Symbol(":root")], "INVALID_ARGUMENT"),
        (7, "INVALID_ARGUMENT"),
    ],
)
def test_bad_context_is_an_answer(folder: Path, context: object, expected: str) -> None:
    reply = server_at(folder).call("agent-q/list_directory", {"path": "."}, context)
    assert code(reply) == expected
    assert reply.text.isprintable()


@pytest.mark.parametrize(
    "context", [None, NIL, {}, "{}", {"root": None}, {"deadline_ms": 1e300}, {"unknown": 1}]
)
def test_context_may_say_nothing(folder: Path, context: object) -> None:
    assert server_at(folder).call("agent-q/list_directory", {"path": "."}, context).ok


def test_missing_root_is_reported_and_found_again(tree: Plant) -> None:
    root = tree({"f": ""})
    server = server_at(root)
    root.rename(root.parent / "moved")
    reply = server.call("agent-q/list_directory", {"path": "."})
    assert code(reply) == "NOT_FOUND"
    assert reply.text == f"Error: the project root '{root}' does not exist"
    tree({"new": ""})
    assert "new" in server.call("agent-q/list_directory", {"path": "."}).text


def test_json_is_there_when_asked_for(folder: Path) -> None:
    server = server_at(folder)
    asked = server.call("agent-q/list_directory", {"path": "."}, {"json": True})
    assert asked.json
    assert asked.json.startswith('{"path":"')
    assert list(asked.fields())[4] == "json"
    assert server.call("agent-q/list_directory", {"path": "."}).json is None


def test_output_of_a_contract_is_its_json(folder: Path) -> None:
    def run(_: Nothing, __: Context) -> Result:
        return Result(text="x", data={"a": 1}, output={"b": 2})

    server = server_at(folder, registry_of(probe=run))
    assert server.call("test/probe", None, {"json": True}).json == '{"b":2}'


def test_failure_of_a_tool_is_a_value(folder: Path) -> None:
    def run(_: Nothing, __: Context) -> Result:
        raise ToolError(ErrorCode.IO_ERROR, "The disk is gone", path="/x", at_byte=7)

    reply = server_at(folder, registry_of(probe=run)).call("test/probe")
    assert code(reply) == "IO_ERROR"
    assert reply.error == {
        "code": "IO_ERROR",
        "message": "The disk is gone",
        "path": "/x",
        "at_byte": 7,
    }


def test_bug_in_a_tool_is_logged_and_not_shown(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def run(_: Nothing, __: Context) -> Result:
        raise ZeroDivisionError("a secret")

    server = server_at(folder, registry_of(probe=run, fine=saying("fine")))
    with caplog.at_level(logging.ERROR):
        reply = server.call("test/probe")
    assert code(reply) == "INTERNAL"
    assert "secret" not in repr(reply)
    assert "Traceback" not in repr(reply)
    assert "ZeroDivisionError: a secret" in caplog.text
    assert server.call("test/fine").ok


def test_context_reaches_the_tool(folder: Path) -> None:
    seen: list[Context] = []

    def run(_: Nothing, context: Context) -> Result:
        seen.append(context)
        return Result(text="x", data={}, truncated=True, warnings=("careful",))

    server = server_at(folder, registry_of(probe=run))
    cancelled = threading.Event()
    context = {"max_output_bytes": 5, "available_capacity_bytes": 6, "deadline_ms": 60_000}
    reply = server.call("test/probe", {"x": 1}, context, cancelled)
    assert reply.truncated
    assert reply.warnings == ("Unknown argument ignored: x", "careful")
    assert (seen[0].max_output_bytes, seen[0].available_capacity_bytes) == (5, 6)
    assert seen[0].root.path == str(folder)
    assert seen[0].budget.cancelled is cancelled
    assert not seen[0].budget.expired()


def with_policy(folder: Path, policy: Policy) -> Server:
    registry = registry_of(probe=saying("done"))
    return Server(registry, Settings({"test/probe": NoSettings()}, policy), str(folder))


def test_denied_tool_is_not_called(folder: Path) -> None:
    server = with_policy(folder, Policy(deny=("test/*",)))
    for name in ("test/probe", "probe"):
        assert code(server.call(name, None, {"approved": True})) == "POLICY_DENIED"
    assert str(server.definitions()[0]["policy"]) == "deny"


@pytest.mark.parametrize(
    ("context", "denied", "told"),
    [
        ({}, (), "test/other"),
        ({"for_model": True}, (), "other"),
        ({"for_model": True, "offer": ["probe", "other"]}, (), "other"),
        ({"for_model": True, "offer": ["test/other"]}, (), "other"),
        ({"for_model": True, "offer": ["probe"]}, (), ""),
        ({"offer": ["test/probe"]}, (), ""),
        ({"for_model": True}, ("test/other",), ""),
        ({"person": True}, ("test/other",), "test/other"),
    ],
    ids=str,
)
def test_text_names_only_tools_that_its_reader_has(
    folder: Path, context: dict[str, object], denied: tuple[str, ...], told: str
) -> None:
    def run(_: Nothing, context: Context) -> Result:
        hint = context.hint("; {} shows more", "test/other")
        return Result(text=context.named("test/probe") + hint, data={})

    registry = registry_of(probe=run, other=saying("more"))
    server = Server(registry, Settings(policy=Policy(deny=denied)), str(folder))
    text = server.call("test/probe", {}, context).text
    assert text == ("probe" if "for_model" in context else "test/probe") + (
        f"; {told} shows more" if told else ""
    )


def test_tool_that_needs_approval_is_called_with_it(folder: Path) -> None:
    server = with_policy(folder, Policy(prompt=("test/probe",)))
    assert code(server.call("test/probe")) == "APPROVAL_REQUIRED"
    assert code(server.call("test/probe", {"approved": True})) == "APPROVAL_REQUIRED"
    assert server.call("test/probe", None, {"approved": True}).text == "done"
    assert str(server.definitions()[0]["policy"]) == "prompt"


def test_cancelled_call_says_so(tree: Plant) -> None:
    cancelled = threading.Event()
    cancelled.set()
    root = tree({"f": ""})
    reply = server_at(root).call("agent-q/list_directory", {"path": "."}, None, cancelled)
    assert code(reply) == "CANCELLED"


def test_deadline_and_elapsed_time_count_from_the_arrival_of_a_call(folder: Path) -> None:
    left: list[float] = []

    def run(_: Nothing, context: Context) -> Result:
        left.append(context.budget.left())
        return Result(text="fine", data={})

    server = server_at(folder, registry_of(fine=run))
    call = server.prepare("test/fine", None, {"deadline_ms": 9000})
    reply = server.run(replace(call, arrived=call.arrived - 2))
    assert reply.elapsed_ms >= 2000
    assert 0 < left[0] <= 7


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "x"),
        ImportError("libx.so: failed to map segment from shared object"),
        SystemError("f returned NULL without setting an exception"),
        OSError(errno.EMFILE, "x"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_lack_of_resources_is_reported_and_is_no_bug(
    folder: Path, error: Exception, *, wrapped: bool
) -> None:
    def run(_: Nothing, __: Context) -> Result:
        if wrapped:
            raise ImportError("cannot import") from error
        raise error

    reply = server_at(folder, registry_of(poor=run)).call("test/poor")
    assert code(reply) == "IO_ERROR"
    assert "as many files open as the system allows, or too little memory" in reply.text
