"""One connection: the answers, their senders and order, and the answers to misuse."""

import json
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from backstaff import __version__, tools, workers
from backstaff import server as server_module
from backstaff.fs.root import Root
from backstaff.registry import Registry
from backstaff.server import Server
from backstaff.streams import MAX_REQUEST_BYTES
from backstaff.tool import Context, Result
from backstaff.wire import connection
from backstaff.wire.connection import CAPABILITIES, PROTOCOL, Connection
from backstaff.wire.frame import MAX_FRAME_BYTES, BadFrame
from backstaff.wire.lisp import MAX_LISP_BYTES
from backstaff.workers import MAX_COMPUTING, MAX_WAITING, Workers
from tests.py.epc import Answer, frame, parsed
from tests.py.processes import DEADLINE
from tests.py.servers import Nothing, Run, registry_of, saying, server_at
from tests.py.trees import Plant
from tests.py.wire.jobs import Doing


class Line:
    """A connection, and the frames that it sent."""

    def __init__(self, server: Server) -> None:
        self.sent: SimpleQueue[bytes] = SimpleQueue()
        self.connection = Connection(server, self.sent.put, Workers())

    def send(self, *bodies: str | bytes) -> None:
        for body in bodies:
            self.connection.receive(frame(body if isinstance(body, bytes) else body.encode()))

    def body(self) -> bytes:
        """Return the body of the next frame."""
        whole = self.sent.get(timeout=DEADLINE)
        assert int(whole[:6], 16) == len(whole) - 6
        assert whole.endswith(b"\n")
        return whole[6:]

    def answer(self) -> Answer:
        return parsed(self.body())

    def ask(self, body: str | bytes) -> Answer:
        self.send(body)
        return self.answer()

    def value(self, body: str) -> Any:  # noqa: ANN401
        """Return the value of the answer to `body`."""
        kind, _, value = self.ask(body)
        assert kind == "return", value
        return value

    def silent(self) -> bool:
        """Return True if the connection has sent nothing more."""
        return self.sent.empty()


class Gate:
    """A tool that waits until it is released; it notes its start and the reason for its end."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.opened = threading.Event()

    def run(self, _: Nothing, context: Context) -> Result:
        context.budget.expired()
        self.started.release()
        while not self.opened.wait(0.001):
            context.budget.expired()
        return Result(text="through", data={})

    def entered(self, count: int = 1) -> None:
        """Wait until `count` calls have started."""
        for _ in range(count):
            assert self.started.acquire(timeout=DEADLINE)


MakeLine = Callable[..., Line]


@pytest.fixture
def line_to(folder: Path) -> MakeLine:
    """Makes a connection to tools `test/NAME`."""

    def make(**runs: Run) -> Line:
        return Line(server_at(folder, registry_of(**runs)))

    return make


@pytest.fixture
def line(folder: Path) -> Line:
    """A connection to the real tools."""
    return Line(server_at(folder))


# ---------------------------------------------------------------------------- methods


def test_hello_tells_versions_root_and_capabilities(line: Line, folder: Path) -> None:
    value = line.value('(call 1 hello ((:client "emacs" :version "9" :protocol 1)))')
    assert value[":protocol"] == PROTOCOL == 1
    assert value[":version"] == __version__
    assert value[":root"] == f"{folder}/"
    assert {"cancel", "describe", "escapes"} <= set(CAPABILITIES)
    assert value[":escapes"] == []
    assert value[":pid"] > 0
    assert value[":python"].count(".") == 2


def test_sets_of_words_are_lists_of_keywords(line: Line) -> None:
    line.send("(call 1 hello ())")
    told = " ".join(f":{name}" for name in CAPABILITIES)
    assert f":capabilities ({told})".encode() in line.body()
    line.send("(call 2 describe ())")
    assert b":categories (:filesystem :navigation)" in line.body()


@pytest.mark.parametrize(
    "arguments", ["()", "nil", "(nil)", "((:unknown 1))", '(((client . "x")))']
)
def test_hello_needs_no_arguments(line: Line, arguments: str) -> None:
    assert line.value(f"(call 1 hello {arguments})")[":protocol"] == 1


def test_hello_of_another_protocol_is_refused(line: Line) -> None:
    kind, uid, text = line.ask("(call 1 hello ((:protocol 2)))")
    assert (kind, uid) == ("return-error", 1)
    assert "protocol 1, not 2" in text
    assert line.value("(call 2 ping ())") is True


@pytest.mark.parametrize("options", ['(:protocol "1")', "(:escapes 3)", "(:protocol)", "7"])
def test_hello_that_does_not_fit_is_refused(line: Line, options: str) -> None:
    kind, _, text = line.ask(f"(call 1 hello ({options}))")
    assert kind == "return-error"
    assert "\n" not in text


def test_escapes_begin_with_the_reply_to_hello(tree: Plant) -> None:
    root = tree({"日#本": ""}, "é")
    line = Line(server_at(root))
    line.send('(call 1 agent-q/list_directory ((:path ".")))')
    assert "日#本".encode() in line.body()
    line.send("(call 2 hello ((:escapes t)))")
    greeting = line.body()
    assert greeting.isascii()
    assert rb"/\u00e9/" in greeting
    assert b":escapes t" in greeting
    line.send('(call 3 agent-q/list_directory ((:path ".")))')
    listing = line.body()
    assert rb"\u65e5\u0023\u672c" in listing
    assert b"#" not in listing
    line.send("(call 4 no#method ())")
    assert b"#" not in line.body()


@pytest.mark.check(35)
def test_undecodable_name_goes_both_ways(tree: Plant) -> None:
    root = tree({})
    for name in (b"clich\xe9", rb"clich\351"):
        (root / name.decode(errors="surrogateescape")).write_bytes(name)
    line = Line(server_at(root))
    line.send("(call 1 hello ((:escapes t)))")
    line.body()
    line.send(rb'(call 2 agent-q/get_file_info ((:path "clich\351")))')
    assert b'/R/clich\xe9" :type :file :size 6 ' in line.body()
    line.send(rb'(call 3 agent-q/get_file_info ((:path "clich\\351")))')
    assert rb'/R/clich\\351" :type :file :size 9 ' in line.body()


def test_describe_tells_every_tool(line: Line) -> None:
    tools = {tool[":id"]: tool for tool in line.value("(call 1 describe ())")}
    listing = tools["agent-q/list_directory"]
    assert listing[":name"] == "list_directory"
    assert listing[":safety-level"] == ":safe"
    assert listing[":required"] == ["path"]
    assert listing[":parameters"][":properties"][":show_hidden"][":type"] == "boolean"
    assert listing[":schema-json"].startswith('{"type":"object","properties":{"path":')
    assert listing[":arguments"][0] == {
        ":name": "path",
        ":type": ":string",
        ":description": "Directory path (relative to project root)",
        ":required": True,
    }
    assert listing[":result-kind"] == ":listing"
    assert listing[":allow-truncation"] is True
    assert listing[":requires-approval"] == []


def test_methods_are_listed_with_arguments_and_docstring(line: Line) -> None:
    methods = {name: rest for name, *rest in line.value("(methods 1)")}
    assert {"hello", "ping", "cancel", "describe"} <= set(methods)
    for name in ("agent-q/list_directory", "list_directory"):
        arguments, words = methods[name]
        assert arguments == "ARGUMENTS &optional CONTEXT"
        assert words.startswith("List files and subdirectories")


def test_every_listed_method_can_be_called(line: Line) -> None:
    for number, (name, *_) in enumerate(line.value("(methods 1)"), 2):
        kind, uid, _ = line.ask(f"(call {number} {name} ())")
        assert uid == number
        needs_arguments = name in ("cancel", "check", "keep_text")
        assert kind == ("return-error" if needs_arguments else "return"), name


# ---------------------------------------------------------------------------- calls


def test_call_is_answered_with_the_envelope(line: Line) -> None:
    value = line.value('(call 5 agent-q/list_directory ((:path ".") (:json t)))')
    assert list(value) == [
        *(":ok", ":tool", ":text", ":data", ":json", ":truncated", ":warnings", ":elapsed-ms")
    ]
    assert value[":ok"] is True
    assert value[":tool"] == "agent-q/list_directory"
    assert value[":text"].startswith("Directory: /")
    assert value[":data"][":total"] == 0


@pytest.mark.parametrize(
    "arguments",
    ['((:path "."))', '((:path ".") nil)', '(((path . ".")))', '("{\\"path\\": \\".\\"}" nil)'],
)
def test_arguments_come_in_every_form(line: Line, arguments: str) -> None:
    assert line.value(f"(call 1 list_directory {arguments})")[":ok"] is True


def test_failure_of_a_tool_is_returned(line: Line) -> None:
    value = line.value('(call 1 list_directory ((:path "../x")))')
    assert value[":ok"] == []
    assert value[":error"][":code"] == "SANDBOX_VIOLATION"
    assert value[":text"] == "Error: Path '../x' is outside project root"
    assert value[":data"] == []


@pytest.mark.parametrize("arguments", ["()", "nil", "(nil)", "(nil nil)", "(7)", "((:path))"])
def test_arguments_that_do_not_fit_are_a_failure_and_no_epc_error(
    line: Line, arguments: str
) -> None:
    value = line.value(f"(call 1 list_directory {arguments})")
    assert value[":error"][":code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("(call 9 nothing ())", "epc-error", "No such tool: nothing"),
        ("(call 9 __init__ ())", "epc-error", "No such tool: __init__"),
        ("(call 9 nan ())", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 1_000 ())", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ('(call 9 "ping" ())', "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 nil ())", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 (ping) ())", "return-error", "not (call UID METHOD ARGUMENTS)"),
        (b"(call 9 n\xff ())", "epc-error", "No such tool: n\ufffd"),
        ("(call 9 list_directory 7)", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ('(call 9 list_directory "x")', "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 list_directory t)", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 list_directory (nil nil nil))", "return-error", "takes ARGUMENTS &optional"),
        ("(call 9 ping (1))", "return-error", "ping takes no argument"),
        ("(call 9 hello (nil nil))", "return-error", "hello takes &optional OPTIONS"),
        ("(call 9 list_directory)", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 list_directory () ())", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9)", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(methods 9 x)", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(eval 9 x ())", "return-error", "not (call UID METHOD ARGUMENTS)"),
        ("(call 9 ping (", "return-error", "no readable Lisp"),
        ('(call 9 ping ("x)', "return-error", "no readable Lisp"),
        ("(call 9 ping ()) (call 10 ping ())", "return-error", "not of the form"),
        ("(call 9 ping " + "(" * 100_000, "return-error", "too deep"),
        ("(call 9 ping " + "'" * 100_000 + "x)", "return-error", "too deep"),
        ("(call 9 ping (" + "(" * 700 + ")" * 700 + "))", "return-error", "too deep"),
        ("(call 9 ping " + "x" * MAX_REQUEST_BYTES + ")", "return-error", "8388622 bytes"),
        ("(call 9 ping " + "x" * MAX_LISP_BYTES + ")", "return-error", "1048590 bytes"),
    ],
)
def test_misuse_is_answered_by_uid_and_the_next_call_works(
    line: Line, body: str | bytes, kind: str, words: str
) -> None:
    answered = line.ask(body)
    assert answered[:2] == (kind, 9)
    assert words in answered[2]
    assert line.value("(call 10 ping ())") is True


@pytest.mark.parametrize(
    "body",
    ["", "nil", "7", "(call nil ping ())", "(call (1) ping ())", "((((", "(call -1 ping ())"],
)
def test_request_of_nobody_is_logged_and_the_next_call_works(
    line: Line, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        line.send(body)
    assert line.silent()
    assert "unreadable request" in caplog.text
    assert line.value("(call 10 ping ())") is True


@pytest.mark.parametrize(
    "body", ["(return 3 t)", '(return-error 3 "x")', '(epc-error 3 "x")', "(return 3)"]
)
def test_answers_of_the_client_are_ignored(line: Line, body: str) -> None:
    line.send(body)
    assert line.silent()
    assert line.value("(call 10 ping ())") is True


def test_bad_frame_is_left_to_the_transport(line: Line) -> None:
    with pytest.raises(BadFrame):
        line.connection.receive(frame(b"(call 1 ping ())") + b"zzzzzz")
    assert line.answer() == ("return", 1, True)


# ---------------------------------------------------------------------------- at the same time


def test_small_questions_are_answered_while_tools_run(line_to: MakeLine) -> None:
    gate = Gate()
    line = line_to(slow=gate.run)
    line.send(*(f"(call {uid} test/slow ())" for uid in range(1, MAX_COMPUTING + 1)))
    gate.entered(MAX_COMPUTING)
    for method in ("ping", "hello", "describe"):
        kind, uid, _ = line.ask(f"(call 90 {method} ())")
        assert (kind, uid) == ("return", 90)
    assert line.ask("(methods 91)")[:2] == ("return", 91)
    assert line.silent()
    gate.opened.set()
    assert {line.answer()[1] for _ in range(MAX_COMPUTING)} == set(range(1, MAX_COMPUTING + 1))


def test_quick_call_overtakes_a_slow_one(line_to: MakeLine) -> None:
    gate = Gate()
    line = line_to(slow=gate.run, quick=saying("quick"))
    line.send("(call 1 test/slow ())")
    gate.entered()
    assert line.value("(call 2 test/quick ())")[":text"] == "quick"
    gate.opened.set()
    assert line.answer()[1] == 1


@pytest.mark.alone
@pytest.mark.parametrize("count", [8, 30])
def test_searches_that_take_long_hold_up_no_other_call(tree: Plant, count: int) -> None:
    line = Line(server_at(tree({"slow.txt": "a" * 60 + "!", "b.txt": "word"})))
    slow = json.dumps(json.dumps({"pattern": "(a|aa)+!(?=x)", "timeout_ms": 30_000}))
    uids = range(1, count + 1)
    line.send(
        *(f"(call {uid} workspace/regexp_search ({slow} (:deadline-ms 30000)))" for uid in uids)
    )
    assert line.value('(call 90 get_file_info ((:path "b.txt")))')[":ok"]
    quick = json.dumps(json.dumps({"pattern": "wor", "include": ["b.txt"]}))
    assert "1: word" in line.value(f"(call 91 workspace/regexp_search ({quick}))")[":text"]
    line.send(*(f"(call {100 + uid} cancel ({uid}))" for uid in uids))
    answers = [line.answer() for _ in range(2 * count)]
    codes = {value[":error"][":code"] for _, uid, value in answers if uid <= count}
    assert codes == {"CANCELLED"}


def test_cancelled_call_is_answered_as_such(line_to: MakeLine) -> None:
    gate = Gate()
    line = line_to(slow=gate.run)
    line.send("(call 1 test/slow ())")
    gate.entered()
    line.send("(call 2 cancel (1))")
    answers = {uid: value for _, uid, value in (line.answer(), line.answer())}
    assert answers[2] is True
    assert answers[1][":ok"] == []
    assert answers[1][":error"][":code"] == "CANCELLED"
    assert line.value("(call 3 cancel (1))") == []


def test_call_that_waits_can_be_cancelled(line_to: MakeLine) -> None:
    gate = Gate()
    line = line_to(slow=gate.run)
    line.send(*(f"(call {uid} test/slow ())" for uid in range(1, MAX_COMPUTING + 2)))
    gate.entered(MAX_COMPUTING)
    assert line.value(f"(call 90 cancel ({MAX_COMPUTING + 1}))") is True
    gate.opened.set()
    answers = {uid: value for _, uid, value in (line.answer() for _ in range(MAX_COMPUTING + 1))}
    assert answers.pop(MAX_COMPUTING + 1)[":error"][":code"] == "CANCELLED"
    assert [value[":text"] for value in answers.values()] == ["through"] * MAX_COMPUTING


@pytest.mark.parametrize("arguments", ["()", "(1 2)"])
def test_cancel_takes_one_uid(line: Line, arguments: str) -> None:
    assert line.ask(f"(call 1 cancel {arguments})") == ("return-error", 1, "cancel takes UID")


@pytest.mark.parametrize("arguments", ["(nil)", '("1")', "((1))"])
def test_what_is_no_uid_cancels_nothing(line: Line, arguments: str) -> None:
    assert line.ask(f"(call 1 cancel {arguments})") == ("return", 1, [])


def test_check_of_a_root_that_hangs_holds_up_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = threading.Event()

    def hangs(root: str) -> Root:
        assert opened.wait(DEADLINE)
        return Root(root)

    monkeypatch.setattr(server_module, "Root", hangs)
    line = Line(server_at(folder))
    line.send('(call 1 check ((:id "emacs/x" :description "d") nil))')
    assert line.value("(call 2 ping ())") is True
    opened.set()
    kind, uid, value = line.answer()
    assert (kind, uid, value[":ok"]) == ("return", 1, True)


def test_too_many_calls_are_refused_and_all_others_answered(
    line_to: MakeLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A check while a slow machine sends would let calls begin that only wait.
    monkeypatch.setattr(workers, "CHECK_S", DEADLINE)
    gate = Gate()
    line = line_to(slow=gate.run)
    room = MAX_COMPUTING + MAX_WAITING
    line.send(*(f"(call {uid} test/slow ())" for uid in range(1, room + 3)))
    for uid in (room + 1, room + 2):
        kind, answered, value = line.answer()
        assert (kind, answered) == ("return", uid)
        assert value[":error"][":code"] == "BUSY"
    assert line.silent()
    gate.opened.set()
    texts = {uid: value[":text"] for _, uid, value in (line.answer() for _ in range(room))}
    assert texts == dict.fromkeys(range(1, room + 1), "through")
    assert line.value("(call 999 test/slow ())")[":text"] == "through"


def test_many_calls_are_each_answered_once(tree: Plant) -> None:
    line = Line(server_at(tree({f"f{number}": "" for number in range(50)})))
    uids = range(1, 201)
    line.send(*(f'(call {uid} list_directory ((:path ".")))' for uid in uids))
    answers = [line.answer() for _ in uids]
    assert {uid for _, uid, _ in answers} == set(uids)
    assert all(value[":data"][":total"] == 50 for _, _, value in answers)
    assert line.silent()


# ---------------------------------------------------------------------------- failures


def test_bug_in_a_tool_is_logged_and_not_sent(
    line_to: MakeLine, caplog: pytest.LogCaptureFixture
) -> None:
    def run(_: Nothing, __: Context) -> Result:
        raise ZeroDivisionError("a secret")

    line = line_to(broken=run, fine=saying("fine"))
    with caplog.at_level(logging.ERROR):
        value = line.value("(call 1 test/broken ())")
    assert value[":error"][":code"] == "INTERNAL"
    assert "secret" not in str(value)
    assert "Traceback" in caplog.text
    assert "a secret" in caplog.text
    assert line.value("(call 2 test/fine ())")[":ok"] is True


def test_bug_in_an_answer_of_the_reading_thread_does_not_end_the_connection(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def definitions(_: Server) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Server, "definitions", definitions)
    line = Line(server_at(folder))
    with caplog.at_level(logging.ERROR):
        kind, uid, text = line.ask("(call 1 describe ())")
    assert (kind, uid) == ("return-error", 1)
    assert "failed unexpectedly" in text
    assert "secret" not in text
    assert "a secret" in caplog.text
    assert line.value("(call 2 ping ())") is True


def test_reply_that_cannot_be_written_is_a_bug_that_is_answered(
    line_to: MakeLine, caplog: pytest.LogCaptureFixture
) -> None:
    line = line_to(odd=lambda _, __: Result(text="x", data={"set": {1}}))
    with caplog.at_level(logging.ERROR):
        value = line.value("(call 1 test/odd ())")
    assert value[":error"][":code"] == "INTERNAL"
    assert "set has no Lisp form" in caplog.text


@pytest.mark.check(33)
@pytest.mark.parametrize("hello", ["()", "((:escapes t))"])
def test_reply_too_large_for_a_frame_is_an_error_that_names_its_size(
    line_to: MakeLine, hello: str
) -> None:
    # No lower limit for the text makes these data smaller.
    huge = Result(text="huge", data={"name": "x" * MAX_FRAME_BYTES})
    line = line_to(huge=lambda _, __: huge, fine=saying("fine"))
    line.value(f"(call 1 hello {hello})")
    value = line.value("(call 2 test/huge ())")
    error = value[":error"]
    assert value[":ok"] == []
    assert error[":code"] == "REPLY_TOO_LARGE"
    assert MAX_FRAME_BYTES < error[":size-bytes"] < MAX_FRAME_BYTES + 1000
    assert str(error[":size-bytes"]) in value[":text"]
    assert line.value("(call 3 test/fine ())")[":ok"] is True


def test_largest_reply_is_sent_whole(line_to: MakeLine) -> None:
    probe = line_to(empty=saying(""))
    probe.send("(call 1 test/empty ())")
    around = len(probe.body())
    text = "x" * (MAX_FRAME_BYTES - around - 3)  # for the digits of its duration
    line = line_to(large=saying(text))
    assert line.value("(call 1 test/large ())")[":text"] == text


@pytest.mark.parametrize("odd", ["#", "\x01", '"', "\\", "\n", "é", "\U0001f600", "\udcff"])
@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ('agent-q/list_directory ((:path "."', ":entries"),
        ('forge/list_directory ((:path "."', ":entries"),
        ('workspace/search_files ((:query "*" :kind "glob" :max_results 1000', ":files"),
    ],
)
def test_reply_is_cut_to_fit_a_frame(
    folder: Path, monkeypatch: pytest.MonkeyPatch, odd: str, call: str, shown: str
) -> None:
    monkeypatch.setattr(connection, "MAX_FRAME_BYTES", 12_000)
    for number in range(300):
        name = f"{number:03}{odd * (16 // len(os.fsencode(odd)))}"
        (folder / name).symlink_to(odd * (20 // len(os.fsencode(odd))))
    for escapes in ("nil", "t"):
        line = Line(server_at(folder))
        line.ask(f"(call 1 hello ((:escapes {escapes})))")
        line.send(f"(call 2 {call}) (:max-output-bytes 10000000 :json t)))")
        body = line.body()
        assert len(body) < 12_000
        reply = parsed(body.replace(b"\xff", b"?"))[2]
        assert (reply[":ok"], reply[":truncated"]) == (True, True), reply[":text"]
        assert 3 < len(reply[":data"][shown]) < 300, "neither all nor next to nothing"


def test_client_that_went_is_logged_and_workers_go_on(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = threading.Event()
    workers = Workers()

    def send(_: bytes) -> None:
        asked.set()
        raise BrokenPipeError("gone")

    registry = registry_of(fine=saying("fine"))
    gone = Connection(server_at(folder, registry), send, workers)
    with caplog.at_level(logging.INFO):
        for uid in range(1, 2 * MAX_COMPUTING):
            gone.receive(frame(f"(call {uid} test/fine ())".encode()))
        assert asked.wait(DEADLINE)
        sent: SimpleQueue[bytes] = SimpleQueue()
        Connection(server_at(folder, registry), sent.put, workers).receive(
            frame(b"(call 99 test/fine ())")
        )
        assert parsed(sent.get(timeout=DEADLINE)[6:])[1] == 99
    assert "the client went before the answer to" in caplog.text
    assert "bug" not in caplog.text


def test_worker_survives_a_bug_in_a_job(caplog: pytest.LogCaptureFixture) -> None:
    workers = Workers()
    done = threading.Semaphore(0)

    def broken() -> None:
        done.release()
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        for _ in range(3 * MAX_COMPUTING):
            workers.submit(Doing(broken))
        for _ in range(3 * MAX_COMPUTING):
            assert done.acquire(timeout=DEADLINE)
    assert "bug while answering a call" in caplog.text


def test_empty_registry_still_answers(folder: Path) -> None:
    line = Line(server_at(folder, Registry({})))
    assert line.value("(call 1 describe ())") == []
    assert line.ask("(call 2 list_directory ())")[0] == "epc-error"


def test_unusable_tool_is_reported_and_the_server_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolset = tmp_path / "unfinished"
    toolset.mkdir()
    (toolset / "__init__.py").touch()
    (toolset / "walk.py").write_text("TOOLS = 3")
    monkeypatch.setattr(tools, "__path__", [*tools.__path__, str(tmp_path)])
    line = Line(server_at(tmp_path))
    told = "The tool unfinished/walk cannot be used: AttributeError: module 'backstaff.tools.unfini"
    reply = line.value('(call 1 unfinished/walk ((:path ".")))')
    assert reply[":error"][":code"] == "INTERNAL"
    assert told in reply[":text"]
    for asked in ("(call 2 describe nil)", "(methods 2)"):
        kind, uid, words = line.ask(asked)
        assert (kind, uid) == ("return-error", 2)
        assert words.startswith(told)
    assert line.value('(call 3 get_file_info ((:path ".")))')[":ok"] is True
