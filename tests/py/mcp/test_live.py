"""`backstaff mcp` beside a real Emacs in a terminal (contract 010)."""

import base64
import json
import os
import random
import signal
import socket
import stat
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from backstaff.live import PATIENCE_S
from backstaff.manifest import CLIENT_TOOLS, PRESET
from backstaff.registry import discover
from tests.py.mcp.emacs import Emacs, lisp, server_beside
from tests.py.mcp.session import HELLO, McpClient, Message, Serve, text
from tests.py.mcp.test_clients import PEERS, printed, python
from tests.py.mcp.test_definitions import MAX_BYTES
from tests.py.processes import DEADLINE
from tests.py.project.repositories import committed
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

GOALS = "BACKSTAFF_GOALS" in os.environ
"""Whether the contract's goals are measured, which takes some minutes of an idle machine."""
EDITS = 1000 if GOALS else 20
"""Number of random edits, each followed by a read."""
CALLS, BLOCKED_S = (100, 60) if GOALS else (10, 0)
"""Number of calls beside a blocked Emacs, and the seconds over which they are spread."""
LIMIT_S = 2.5 if GOALS else DEADLINE
ADDED_S = 0.02 if GOALS else DEADLINE
"""Maximum number of seconds of a call beside an Emacs that does not answer."""
NOTE = "[as on disk: Emacs did not answer]"
QUESTION = r"may hold secrets\? \(yes or no\)"

Start = Callable[..., Emacs]
Beside = Callable[..., McpClient]


@pytest.fixture
def root(tree: Plant) -> Path:
    """A project with a secret and a program."""
    return committed(tree({"a.py": "def old():\n    pass\n", "b.py": "", ".env": "KEY=1\n"}))


@pytest.fixture
def emacs(tmp_path: Path) -> Iterator[Start]:
    """Starts Emacsen that listen in the same folder."""
    started: list[Emacs] = []

    def start(more: str = "nil") -> Emacs:
        started.append(Emacs(tmp_path / "sockets", tmp_path / f"control-{len(started)}", more))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture
def beside(serve: Serve, root: Path, tmp_path: Path) -> Beside:
    """Starts servers that look for Emacsen in that folder."""

    def start(*arguments: str, patience: float = DEADLINE) -> McpClient:
        command = server_beside(tmp_path / "sockets", patience)
        client = serve("--root", str(root), *arguments, command=command)
        assert "result" in client.ask("initialize", HELLO)
        return client

    return start


def names(client: McpClient) -> list[str]:
    """Return the names of the tools that the server lists."""
    return [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]


def read(client: McpClient, path: str = "a.py") -> str:
    """Return the answer to a read of the file at `path`."""
    return text(client.tool("read_file", {"path": path}))


def timed(client: McpClient, path: str = "a.py") -> tuple[float, str]:
    """Return the seconds that a read took, and the answer."""
    begun = time.monotonic()
    answer = read(client, path)
    return time.monotonic() - begun, answer


# ---------------------------------------------------------------------------- unsaved text


def test_tools_that_read_files_see_text_that_is_not_saved(
    emacs: Start, beside: Beside, root: Path
) -> None:
    emacs().visit(root / "a.py", "def fresh():\n    return 1\n\n")
    client = beside("--tools", "workspace")
    for name, arguments in (
        ("read_file", {"path": "a.py"}),
        ("regexp_search", {"pattern": "def f.*"}),
        ("outline", {"path": "a.py"}),
        ("git_diff", {}),
        ("codebase_search", {"query": "fresh"}),
    ):
        result = client.tool(name, arguments)
        assert "def fresh()" in text(result), name
        assert "as on disk" not in text(result)
        assert result["isError"] is False
    assert "a.py" in text(client.tool("git_status_summary"))
    assert (root / "a.py").read_text() == "def old():\n    pass\n"


def test_instructions_promise_unsaved_text_only_where_an_emacs_answers(
    emacs: Start, serve: Serve, root: Path, tmp_path: Path
) -> None:
    def told(*arguments: str) -> str:
        client = serve("--root", str(root), *arguments, command=server_beside(tmp_path / "sockets"))
        return str(client.ask("initialize", HELLO)["result"]["instructions"])

    assert "with the user's unsaved changes" not in told()
    emacs()
    assert "with the user's unsaved changes" in told()
    assert "with the user's unsaved changes" not in told("--emacs", "never")


def test_a_text_of_a_megabyte_comes_in_pieces(emacs: Start, beside: Beside, root: Path) -> None:
    one = emacs()
    one.visit(root / "a.py", "")
    line = lisp("x = '" + "é" * 40 + "'\n")
    form = f'(dotimes (_ 11500) (insert {line})) (insert "last_line\\n")'
    one.eval(f'(with-current-buffer "a.py" {form})')
    client = beside()
    for comment in ("", "# another digest"):
        one.eval(f'(with-current-buffer "a.py" (goto-char 1) (insert "{comment}"))')
        answer = text(client.tool("read_file", {"path": "a.py", "start_line": 11501}))
        assert "11501\tlast_line" in answer
        assert "as on disk" not in answer


def test_text_that_is_too_long_is_left_out_and_named(
    emacs: Start, beside: Beside, root: Path
) -> None:
    one = emacs()
    one.visit(root / "a.py", "")
    one.eval('(with-current-buffer "a.py" (insert (make-string 4200000 ?x)))')
    answer = read(beside())
    assert "def old()" in answer
    assert answer.endswith("[as on disk: the unsaved text is too long for 'a.py']\n"), answer[-200:]


def test_text_outside_the_root_and_of_other_projects_is_not_given(
    emacs: Start, beside: Beside, root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.py"
    other.write_text("other = 1\n")
    (root / "link.py").symlink_to(other)
    one = emacs()
    one.visit(other, "secret_of_another_project = 1\n")
    one.visit(root / "a.py", "fresh = 1\n")
    client = beside()
    answer = text(client.tool("regexp_search", {"pattern": "fresh|another_project"}))
    assert "fresh" in answer
    assert "secret_of" not in answer


def test_random_edits_are_read_as_the_buffer_has_them(
    emacs: Start, beside: Beside, root: Path
) -> None:
    one, client, chance = emacs(), beside(), random.Random(58)  # noqa: S311  # no secret
    one.visit(root / "a.py", "")
    words = ("def f():\n", "    é = '漢字'\n", "x", "\n", "\U0001f600 ", "# a\tb\n")
    forms = (
        "(goto-char (1+ (random (buffer-size)))) (insert %s)",
        # At the end of the buffer there is no line, and `kill-line` signals that.
        "(goto-char (1+ (random (buffer-size)))) (ignore-errors (kill-line)) (insert %s)",
        "(delete-region (point-min) (+ (point-min) (/ (buffer-size) 3))) (insert %s)",
        "(save-restriction (narrow-to-region 1 (min (point-max) 5)) (insert %s))",
        "(upcase-region (point-min) (point-max)) (insert %s)",
        "(goto-char (point-max)) (insert %s)",
        "(insert %s) (let ((inhibit-message t)) (save-buffer))",
        "(insert %s) (revert-buffer t t)",
    )
    different = []
    for number in range(EDITS):
        form = chance.choice(forms) % lisp(chance.choice(words))
        shown = one.eval(
            f'(with-current-buffer "a.py" {form} (when (> (count-lines 1 (point-max)) 150)'
            " (delete-region (point-min) (/ (point-max) 2)))"
            " (mapconcat (lambda (line) (base64-encode-string"
            " (encode-coding-string line 'utf-8) t))"
            ' (split-string (buffer-string) "\\n") ","))'
        )
        _, *lines = read(client).splitlines()
        seen = [line.partition("\t")[2] for line in lines if line[:1].isdigit()]
        if [_base64(line) for line in seen] != shown.strip('"').split(","):
            different.append((number, form, shown, lines))
    assert different == []


def _base64(line: str) -> str:
    return base64.b64encode(line.encode()).decode()


def test_clients_by_others_see_unsaved_text_and_tools_of_emacs(
    emacs: Start, root: Path, tmp_path: Path
) -> None:
    program = python(2)
    emacs().visit(root / "a.py", "def fresh():\n    return 1\n\n")
    calls = [["read_file", {"path": "a.py"}], ["emacs_context", {}], ["outline", {"path": "a.py"}]]
    toolsets = ("--tools", "workspace,emacs")
    command = [*server_beside(tmp_path / "sockets"), "mcp", "--root", str(root), *toolsets]
    asked = json.dumps({"command": command, "calls": calls, "mode": "auto"})
    answers = json.loads(printed(program, str(PEERS / "sdk_2.py"), asked))
    assert answers["errors"] == [False] * len(calls)
    assert "emacs_context" in answers["tools"]
    for (shown,), expected in zip(
        answers["texts"], ("def fresh()", "Not saved yet: a.py", "1-2 def fresh()"), strict=True
    ):
        assert expected in shown


@pytest.mark.alone
def test_an_idle_emacs_adds_little_to_a_call(emacs: Start, beside: Beside, root: Path) -> None:
    emacs().visit(root / "a.py", "fresh = 1\n")
    alone, client = beside("--emacs", "never"), beside()
    times: dict[McpClient, list[float]] = {alone: [], client: []}
    for _ in range(40):
        for one, measured in times.items():
            seconds, text = timed(one)
            assert ("fresh" in text) == (one is client)
            measured.append(seconds)
    medians = [statistics.median(measured) for measured in times.values()]
    assert medians[1] - medians[0] < ADDED_S, medians


# ---------------------------------------------------------------------------- Emacs's own tools


def test_tools_of_emacs_are_offered_and_answer(emacs: Start, beside: Beside, root: Path) -> None:
    without = beside()
    own = [discover().model_name(tool_id) for tool_id in CLIENT_TOOLS]
    assert not set(own) & set(names(without))
    asked = beside("--tools", "workspace,emacs")
    assert not set(own) & set(names(asked))
    emacs().visit(root / "a.py", "def fresh():\n    return 1\n\n")
    assert set(own) < set(names(asked))
    assert names(beside("--tools", "tree,emacs_context")) == ["tree", "emacs_context"]
    # They are not in the default set, so it is as short with an Emacs as without.
    assert names(without) == [*map(discover().model_name, PRESET)]
    listed = json.dumps(without.ask("tools/list"), separators=(",", ":"))
    assert len(listed) <= MAX_BYTES
    assert names(beside("--tools", "emacs")) == own
    client = asked
    assert "Not saved yet: a.py" in text(client.tool("emacs_context"))
    buffer = client.tool("emacs_read_buffer", {"buffer": "a.py", "max_lines": "2", "lines": 7})
    assert "visits a file: read the file with read_file, " in text(buffer)
    assert "[Unknown argument ignored: lines; there are: buffer, start_line" in text(buffer)
    assert "no checker runs in: a.py" in text(client.tool("emacs_diagnostics"))
    wrong = client.tool("emacs_read_buffer", {"buffer": "a.py", "start_line": 0.5})
    assert "Argument 'start_line' must be a whole number" in text(wrong)
    outside = client.tool("emacs_read_buffer", {"buffer": "../../etc/passwd"})
    assert "There is no buffer" in text(outside)


def test_tool_of_emacs_that_has_too_much_to_look_at_is_cut_and_says_so(
    emacs: Start, beside: Beside, root: Path
) -> None:
    one = emacs()
    one.visit(root / "a.py")
    problem = '(flymake-make-diagnostic (current-buffer) 1 2 :error "wrong")'
    one.eval(
        '(with-current-buffer "a.py" (require (quote flymake)) (setq-local flymake-mode t)'
        f" (let ((all (make-list 500000 {problem})))"
        " (defalias 'flymake-diagnostics `(lambda (&rest _) ',all)))"
        " (defalias 'flymake-disabled-backends #'ignore)"
        " (dolist (name '(flymake-running-backends flymake-reporting-backends))"
        " (defalias name (lambda () '(checker)))))"
    )
    result = beside("--tools", "emacs").tool("emacs_diagnostics")
    assert "No problems" not in text(result)
    assert text(result).endswith(
        "[cut: Emacs did not look at all that it has, because that takes too long]\n"
    )


def test_tool_of_emacs_without_an_emacs_says_so(emacs: Start, beside: Beside) -> None:
    one = emacs()
    client = beside("--tools", "emacs")
    one.signal(signal.SIGKILL)
    client.tool("emacs_context")  # the server may not have seen the end yet
    result = client.tool("emacs_context")
    assert result["isError"]
    assert "No Emacs listens (backstaff-listen-mode)" in text(result)


def test_policy_forbids_tools_of_emacs_too(emacs: Start, beside: Beside, tmp_path: Path) -> None:
    emacs()
    config = tmp_path / "config.toml"
    config.write_text('[policy]\ndeny = ["emacs/read_buffer"]\n')
    config.chmod(0o600)
    client = beside("--config", str(config), "--tools", "emacs")
    assert "emacs_context" in names(client)
    assert "emacs_read_buffer" not in names(client)
    refused = client.tool("emacs_read_buffer", {"buffer": "a.py"})
    assert "policy of this server denies" in text(refused)


# ---------------------------------------------------------------------------- questions


class Asked(Thread):
    """A call whose answer needs a person's."""

    def __init__(self, client: McpClient, name: str, **arguments: object) -> None:
        super().__init__()
        self._client, self._call, self.result = client, (name, arguments), Message()
        self.start()

    def run(self) -> None:
        """Call the tool."""
        self.result = self._client.tool(*self._call)

    def text(self) -> str:
        """Return the text of the answer."""
        self.join()
        return text(self.result)


AT_ONCE = "(setq backstaff-approval--reading-seconds 0)"
"""Without it, a yes in the first half second of a question would not count."""


def test_secret_is_read_after_a_yes_in_emacs_and_only_then(
    emacs: Start, beside: Beside, root: Path
) -> None:
    one = emacs(AT_ONCE)
    one.visit(root / ".env", "UNSAVED=2\n")
    client = beside("--tools", "workspace,emacs")
    assert "UNSAVED=2" not in text(client.tool("regexp_search", {"pattern": "UNSAVED="}))
    for answer, shown in (
        ("yes", "1\tUNSAVED=2\n2\tKEY=1\n"),
        ("no", "Error: The user did not approve of the call of read_file"),
    ):
        asked = Asked(client, "read_file", path=".env")
        one.shows(r'asks: let workspace/read_file read "\.env" in .*' + QUESTION)
        # Other calls go on meanwhile.
        one.press(f"{answer}\r")
        assert shown in asked.text()
    one.log(root, "one\ntwo\n")
    asked = Asked(client, "emacs_read_buffer", buffer="*log*")
    one.shows(r"let emacs/read_buffer run with .*\(yes or no\)")
    one.press("yes\r")
    assert "1\tone\n2\ttwo\n" in asked.text()


def test_question_that_nobody_answers_refuses_and_goes_away(emacs: Start, beside: Beside) -> None:
    one = emacs("(setq backstaff-call-timeout 3)")
    client, other = beside(), beside()
    asked = Asked(client, "read_file", path=".env")
    one.shows(QUESTION)
    assert "def old()" in read(other)
    assert "The user did not answer in time whether read_file may run" in asked.text()
    assert one.eval("(minibuffer-depth)") == "0"


@pytest.mark.alone
def test_nobody_is_asked_in_a_blocked_emacs(emacs: Start, beside: Beside) -> None:
    one = emacs()
    client = beside(patience=PATIENCE_S)
    go_on = one.block()
    begun = time.monotonic()
    result = client.tool("read_file", {"path": ".env"})
    assert time.monotonic() - begun < LIMIT_S + PATIENCE_S
    go_on()
    assert result["isError"]
    assert "may hold secrets" in text(result)
    assert text(result).endswith(NOTE + "\n")


def test_tool_that_the_policy_asks_about_is_listed_and_asked_about(
    emacs: Start, beside: Beside, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[policy]\nprompt = ["workspace/tree", "emacs/context"]\n')
    config.chmod(0o600)
    client = beside("--config", str(config), "--tools", "workspace,emacs")
    assert "tree" not in names(client)
    assert "needs the approval of a person" in text(client.tool("tree"))
    one = emacs(AT_ONCE)
    assert "tree" in names(client)
    asked = Asked(client, "tree", path=".) (t")
    one.shows(r"""let workspace/tree run with "\{'path': '\.\) \(t'\}" in .*\(yes or no\)""")
    one.press("yes\r")
    assert "NOT_FOUND" in asked.text() or "Error" in asked.text()
    asked = Asked(client, "emacs_context")
    one.shows(r"let emacs/context run with .*\(yes or no\)")
    one.press("yes\r")
    assert "Visible files: none" in asked.text()


# ---------------------------------------------------------------------------- no answer


@pytest.mark.alone
def test_calls_beside_a_blocked_emacs_are_answered_from_the_disk(
    emacs: Start, beside: Beside, root: Path
) -> None:
    one = emacs()
    one.visit(root / "a.py", "fresh = 1\n")
    client = beside(patience=PATIENCE_S)
    assert "fresh" in read(client)
    go_on, begun = one.block(), time.monotonic()
    answers = []
    for number in range(CALLS):
        answers.append(timed(client))
        # A run with the goals of the contract spreads the calls over 60 s. In others, this is 0.
        left = begun + BLOCKED_S * (number + 1) / CALLS - time.monotonic()
        time.sleep(max(0, left))
    fresh_server = timed(beside(patience=PATIENCE_S))
    go_on()
    times = sorted(seconds for seconds, _ in answers)
    assert times[-1] < LIMIT_S
    assert {answer.endswith(f"{NOTE}\n") for _, answer in answers} == {True}
    waited = [seconds for seconds in times if seconds >= PATIENCE_S]
    assert len(waited) <= (3 if GOALS else 1), "Emacs is waited for again only after 30 s"
    assert fresh_server[0] < LIMIT_S
    one.eval("t")  # it has come back
    assert "fresh" in read(client)


@pytest.mark.alone
def test_calls_at_once_beside_a_blocked_emacs_wait_together(emacs: Start, beside: Beside) -> None:
    one = emacs()
    client = beside(patience=PATIENCE_S)
    go_on = one.block()
    given = {"name": "read_file", "arguments": {"path": "a.py"}}
    begun = time.monotonic()
    message = {"jsonrpc": "2.0", "method": "tools/call", "params": given}
    client.say(*({**message, "id": uid} for uid in range(8)))
    answers = [client.heard() for _ in range(8)]
    assert time.monotonic() - begun < LIMIT_S
    assert all(text(answer["result"]).endswith(f"{NOTE}\n") for answer in answers)
    go_on()


@pytest.mark.alone
def test_stopped_killed_and_new_emacs(emacs: Start, beside: Beside, root: Path) -> None:
    one = emacs()
    one.visit(root / "a.py", "first = 1\n")
    client = beside(patience=PATIENCE_S)
    assert "first = 1" in read(client)
    one.signal(signal.SIGSTOP)
    seconds, answer = timed(client)
    assert (seconds < LIMIT_S, answer.endswith(f"{NOTE}\n")) == (True, True)
    one.signal(signal.SIGKILL)
    # Its socket is still there, and costs nothing.
    assert "def old()" in read(client)
    assert not read(client).endswith(f"{NOTE}\n")
    two = emacs()
    two.visit(root / "a.py", "second = 2\n")
    assert "second = 2" in read(client)
    assert two.eval('(length (directory-files (backstaff-listen--folder) nil "emacs"))') == "1"


def test_emacs_killed_while_it_is_asked(emacs: Start, beside: Beside) -> None:
    one = emacs()
    client = beside()
    one.block()
    asked = Asked(client, "read_file", path="a.py")
    one.signal(signal.SIGKILL)
    assert "def old()" in asked.text()


@pytest.mark.alone
def test_two_emacsen(emacs: Start, beside: Beside, root: Path) -> None:
    one, two = emacs(), emacs()
    one.visit(root / "a.py", "first = 1\n")
    two.visit(root / "b.py", "second = 2\n")
    two.visit(root / ".git" / "HEAD")
    client = beside("--tools", "workspace,emacs", patience=PATIENCE_S)
    found = text(client.tool("regexp_search", {"pattern": "first =|second ="}))
    assert "first = 1" in found
    assert "second = 2" in found
    # The other one visits more files of the project.
    assert "Not saved yet: b.py" in text(client.tool("emacs_context"))
    go_on = one.block()
    seconds, answer = timed(client, "b.py")
    assert "second = 2" in answer
    assert (seconds < LIMIT_S, answer.endswith(f"{NOTE}\n")) == (True, True)
    go_on()
    one.signal(signal.SIGKILL)
    assert "second = 2" in read(client, "b.py")


def test_doctor_names_the_servers(emacs: Start, beside: Beside, root: Path) -> None:
    one = emacs("(require 'backstaff-ui-doctor)")
    client = beside()
    read(client)
    servers = one.eval("(backstaff-listen-servers)")
    assert f':root "{root}/" :pid {client.process.pid}' in servers
    client.close()
    report = (
        '(with-current-buffer (backstaff-doctor) (re-search-forward "Agents  .*") (match-string 0))'
    )
    assert "none outside Emacs is connected" in one.eval(report)
    one.eval("(backstaff-listen-mode -1)")
    assert "(backstaff-listen-mode 1) in" in one.eval(report)


# ---------------------------------------------------------------------------- hostile clients


def framed(body: str) -> bytes:
    """Return `body` as a frame, made without the code under test."""
    data = body.encode()
    return f"{len(data):06x}".encode() + data


def said_to(sockets: Path, *bodies: bytes) -> str:
    """Return the answers of Emacs to `bodies`, as far as it comes before Emacs hangs up.

    The last of them must end the connection, or be answered.
    """
    (path,) = sockets.iterdir()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(DEADLINE)
        client.connect(str(path))
        client.sendall(b"".join(bodies))
        heard = b""
        while heard.count(b"(return") < len(bodies) and (data := client.recv(1 << 16)):
            heard += data
        return heard.decode()


HELLO_HERE = '(call 1 hello ("{root}" 1 nil nil))'


@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        ("(call 2 eval ((setq hacked t)))", "There is no such method"),
        ("(call 2 set (hacked t))", "There is no such method"),
        ('(call 2 (lambda nil (setq hacked t)) ("x"))', "There is no such method"),
        ("(call 2 run ((lambda nil (setq hacked t)) nil 1000 nil nil))", "There is no such tool"),
        ('(call 2 run ("emacs/eval" nil 1000 nil nil))', "There is no such tool"),
        ('(call 2 ask ("emacs/context\\n(yes or no)" nil ""))', "There is no such tool"),
        ("(call 2 unsaved)", None),
        ("(call 2 unsaved #.(setq hacked t))", None),
        ('(call 2 unsaved (#[0 "x" [] 1]))', None),
        ("(call 2 unsaved #s(hash-table))", None),
        ("(call 2 unsaved " + "(" * 200 + ")" * 200 + ")", None),
        ("(eval (setq hacked t))", None),
        ('(call 2 hello ("/" 1 nil nil))', "is no root"),
        ('(call 2 hello ("{home}" 1 nil nil))', "is no root"),
        ('(call 2 hello ("/ssh:evil.example:/" 1 nil nil))', "true name of a directory here"),
        ('(call 2 hello ("/sudo::/etc" 1 nil nil))', "true name of a directory here"),
        ('(call 2 hello ("{root}/../other" 1 nil nil))', "true name of a directory here"),
        ('(call 2 hello ("~/" 1 nil nil))', "true name of a directory here"),
    ],
)
def test_hostile_request_is_refused_and_evaluates_nothing(
    hardened: tuple[Emacs, Path, Path], request_: str, refusal: str | None
) -> None:
    one, sockets, root = hardened
    fill = {"{root}": str(root), "{home}": one.eval('(expand-file-name "~")').strip('"')}
    bodies = [HELLO_HERE, request_]
    for name, value in fill.items():
        bodies = [body.replace(name, value) for body in bodies]
    heard = said_to(sockets, *map(framed, bodies))
    if refusal is None:
        assert "return-error 2" in heard or "return 2" not in heard
    else:
        assert "(return-error 2" in heard
        assert refusal in heard
    assert one.eval("(list (boundp 'hacked) (featurep 'tramp))") == "(nil nil)"


@pytest.fixture(scope="module")
def hardened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Emacs, Path, Path]]:
    """An Emacs for hostile requests, the folder of its socket, and a root."""
    folder = tmp_path_factory.mktemp("hardened")
    root = folder.resolve() / "root"
    root.mkdir()
    (root / ".env").write_text("KEY=1\n")
    one = Emacs(folder / "sockets", folder / "control")
    one.visit(root / ".env", "UNSAVED=2\n")
    one.log(root, "UNSAVED=3\n")
    yield one, folder / "sockets", root
    one.end()


def test_client_that_did_not_ask_the_user_gets_no_secret(
    hardened: tuple[Emacs, Path, Path],
) -> None:
    _, sockets, root = hardened
    hello = HELLO_HERE.replace("{root}", str(root))
    # The exception is not the client's to make, and saying so is no yes of the user's.
    lifted = f'(call 1 hello ("{root}" 1 nil ("!.env")))'
    arguments = '(:buffer "*log*" :max-lines 9)'
    for greeting in (hello, lifted):
        asked = '(call 2 unsaved (nil ".env"))'
        run = f'(call 3 run ("emacs/read_buffer" {arguments} 1000 "" nil))'
        heard = said_to(sockets, framed(greeting), framed(asked), framed(run))
        assert "UNSAVED" not in heard
        assert "VU5TQVZ" not in heard, "Base64"
        assert "APPROVAL_REQUIRED" in heard


def test_other_connection_does_not_get_what_the_user_allowed_one(
    emacs: Start, beside: Beside, root: Path, tmp_path: Path
) -> None:
    one = emacs(AT_ONCE)
    one.visit(root / ".env", "UNSAVED=2\n")
    asked = Asked(beside(), "read_file", path=".env")
    one.shows(QUESTION)
    one.press("yes\r")
    assert "UNSAVED" in asked.text()
    hello = framed(HELLO_HERE.replace("{root}", str(root)))
    assert "VU5TQVZ" not in said_to(
        tmp_path / "sockets", hello, framed('(call 2 unsaved (nil ".env"))')
    )


@pytest.mark.alone
def test_clients_that_flood_stall_or_read_nothing_do_not_hold_emacs_up(
    emacs: Start, beside: Beside, root: Path, tmp_path: Path
) -> None:
    one = emacs()
    one.visit(root / "a.py", "fresh = 1\n")
    one.eval('(with-current-buffer "a.py" (insert (make-string 600000 ?x)))')
    (path,) = (tmp_path / "sockets").iterdir()
    hello = framed(HELLO_HERE.replace("{root}", str(root)))
    clients = []
    for data in (
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"ffffff(call " + b"a" * 300_000,
        hello + framed("(call 2 unsaved (nil nil))") * 60,  # and nobody reads
        *[b""] * 40,
    ):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(path))
        with suppress(BrokenPipeError):
            client.sendall(data)
        clients.append(client)
    begun = time.monotonic()
    assert one.eval("(length (backstaff-listen--connections))") <= "32"
    assert time.monotonic() - begun < LIMIT_S
    assert "fresh = 1" in read(beside())
    for client in clients:
        client.close()


def test_emacs_listens_in_no_folder_that_others_may_enter(emacs: Start, tmp_path: Path) -> None:
    (tmp_path / "sockets").mkdir()
    (tmp_path / "sockets").chmod(0o755)
    one = emacs()
    warning = one.eval('(with-current-buffer "*Warnings*" (buffer-string))')
    assert "Agents outside of Emacs cannot reach it" in warning
    assert "is not a safe directory because it is accessible by others (755)" in warning
    assert one.eval("backstaff-listen-mode") == "nil"
    assert list((tmp_path / "sockets").iterdir()) == []


def test_socket_is_the_users_alone_and_goes_with_emacs(emacs: Start, tmp_path: Path) -> None:
    one = emacs()
    sockets = tmp_path / "sockets"
    (path,) = sockets.iterdir()
    assert [stat.S_IMODE(found.stat().st_mode) for found in (sockets, path)] == [0o700, 0o600]
    one.eval("(backstaff-listen-mode -1)")
    assert list(sockets.iterdir()) == []
