"""The server's end beside an Emacs that a test plays: unsafe sockets, bad and late answers."""

import base64
import hashlib
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import pytest

from backstaff import live
from backstaff.live import LiveServer
from backstaff.registry import discover
from backstaff.settings import Settings
from tests.py.epc import frame
from tests.py.processes import DEADLINE, NOBODY, as_root
from tests.py.trees import Plant

SILENT = "\n[as on disk: Emacs did not answer]\n"
HELLO = "(:visits 1 :tools nil)"
NOTHING = "(:items nil :codings nil :left-out nil :pieces nil)"


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private folder for sockets, the only one that a server looks in."""
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(live, "FOLDERS", (str(folder),))
    return folder


class FakeEmacs:
    """Answers each method with a Lisp value, or None: then it keeps the request.

    A value that is bytes is sent as it is.
    """

    def __init__(self, path: Path, answers: Mapping[str, str | bytes | None]) -> None:
        """Listen at `path`."""
        self.answers = dict(answers)
        self.kept: SimpleQueue[Callable[[str], None]] = SimpleQueue()
        self.asked: list[str] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            self._talk(connection, stream)

    def _talk(self, connection: socket.socket, stream: BinaryIO) -> None:
        while header := stream.read(6):
            body = stream.read(int(header, 16)).decode()
            _, uid, method, _ = body.split(maxsplit=3)
            self.asked.append(body)
            answer = self.answers.get(method)

            def send(value: str, uid: str = uid) -> None:
                connection.sendall(frame(f"(return {uid} {value})\n".encode()))

            if answer is None:
                self.kept.put(send)
            elif isinstance(answer, bytes):
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_RDWR)
            else:
                send(answer)

    def end(self) -> None:
        """Listen no longer."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()


@pytest.fixture
def fake(sockets: Path) -> Iterator[Callable[..., FakeEmacs]]:
    """Starts Emacsen that a test plays."""
    started: list[FakeEmacs] = []

    def start(name: str = "emacs-1", **answers: str | bytes | None) -> FakeEmacs:
        given = {"hello": HELLO, "unsaved": NOTHING, **answers}
        started.append(FakeEmacs(sockets / name, given))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture
def server(tree: Plant) -> Iterator[LiveServer]:
    """A server at a root with one file."""
    made = LiveServer(discover(), Settings(), str(tree({"a.py": "old = 1\n"})))
    yield made
    for emacs in made._emacsen.values():  # noqa: SLF001  # else the end of the process closes them
        emacs.connection.close()


def read(server: LiveServer) -> str:
    """Return the answer to a model's read of the file."""
    return server.call("workspace/read_file", {"path": "a.py"}, {"text_only": True}).text


def item(content: str, name: str = "a.py") -> tuple[str, str]:
    """Return the item and the piece that give the unsaved text `content`, in Lisp."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    data = base64.b64encode(content.encode()).decode()
    return f'("{name}" "{digest}" "utf-8-unix")', f'("{digest}" {len(content)} 0 "{data}")'


# ---------------------------------------------------------------------------- sockets


def test_socket_in_the_private_folder_is_used(
    sockets: Path, fake: Callable[..., FakeEmacs], server: LiveServer
) -> None:
    assert read(server).endswith("old = 1\n2\t\n")
    one, piece = item("fresh = 2\n")
    fake(unsaved=f"(:items ({one}) :pieces ({piece}))")
    assert "fresh = 2" in read(server)
    assert live.sockets() == [str(sockets / "emacs-1")]


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o770])
def test_folder_that_others_may_enter_is_not_used(
    sockets: Path, fake: Callable[..., FakeEmacs], server: LiveServer, mode: int
) -> None:
    emacs = fake()
    sockets.chmod(mode)
    assert "old = 1" in read(server)
    assert (live.sockets(), emacs.asked) == ([], [])


def test_link_for_a_folder_is_not_followed(
    sockets: Path, fake: Callable[..., FakeEmacs], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake()
    (sockets.parent / "link").symlink_to(sockets)
    monkeypatch.setattr(live, "FOLDERS", (str(sockets.parent / "link"),))
    assert live.sockets() == []


@as_root
def test_folder_and_socket_of_another_user_are_not_used(
    sockets: Path, fake: Callable[..., FakeEmacs]
) -> None:
    fake()
    for path in (sockets / "emacs-1", sockets):
        os.chown(path, NOBODY, NOBODY)
        assert live.sockets() == []
        os.chown(path, 0, 0)
    assert len(live.sockets()) == 1


def test_anything_but_a_private_socket_is_passed_over(
    sockets: Path, fake: Callable[..., FakeEmacs]
) -> None:
    fake()
    fake("emacs-2")
    (sockets / "emacs-2").chmod(0o666)
    (sockets / "emacs-3").write_text("")
    os.mkfifo(sockets / "emacs-4", 0o600)
    (sockets / "emacs-5").symlink_to(sockets / "emacs-1")
    assert live.sockets() == [str(sockets / "emacs-1")]


def test_emacs_that_this_process_is_in_comes_first(
    sockets: Path, fake: Callable[..., FakeEmacs], server: LiveServer
) -> None:
    around = f"emacs-{os.getppid()}"
    for name, content in (("emacs-0", "other = 1\n"), (around, "around = 1\n")):
        one, piece = item(content)
        fake(name, unsaved=f"(:items ({one}) :pieces ({piece}))")
    assert live.sockets() == [str(sockets / around), str(sockets / "emacs-0")]
    assert "around = 1" in read(server)


def test_neither_environment_nor_project_names_a_socket(
    fake: Callable[..., FakeEmacs], server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake()
    elsewhere = Path(server.root) / "sockets"
    elsewhere.mkdir(mode=0o700)
    spy = FakeEmacs(elsewhere / "emacs-9", {})
    for name in ("BACKSTAFF_EMACS", "XDG_RUNTIME_DIR", "TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(elsewhere))
    read(server)
    spy.end()
    assert spy.asked == []


def test_socket_whose_emacs_was_killed_costs_nothing(sockets: Path, server: LiveServer) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(sockets / "emacs-1"))
    (sockets / "emacs-1").chmod(0o600)
    assert stat.S_ISSOCK((sockets / "emacs-1").stat().st_mode)
    assert read(server).endswith("old = 1\n2\t\n")


# ---------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("method", "answer", "note"),
    [
        ("hello", "(:visits 1 :tools 7)", "Emacs's answer cannot be read: "),
        ("hello", "nil", "Emacs's answer cannot be read: Missing required field 'visits'"),
        ("unsaved", "7", "Emacs's answer cannot be read: "),
        ("unsaved", '(:items (("../a.py" "x" nil)))', "it must be a path below the root"),
        ("unsaved", "(:items (7))", "Emacs's answer cannot be read: "),
        ("unsaved", f"(:items ({item('x')[0]}) :pieces (7))", "Emacs sent a piece of no text"),
        ("unsaved", f"(:items ({item('x')[0]}) :pieces (7 8))", "Emacs sent a piece of no text"),
        ("unsaved", f"(:items ({item('x')[0]}))", "Emacs sent nothing of a text"),
        ("unsaved", f"(:items ({item('x')[0]}) :left-out 7)", "Emacs's answer cannot be read: "),
        ("unsaved", b"garbage", "Emacs did not answer"),
        ("unsaved", frame(b"(return 2 #(1))"), "Emacs did not answer"),
        ("unsaved", frame(b"(return"), "Emacs did not answer"),
        ("unsaved", b"ffffff", "Emacs did not answer"),
        ("hello", b"", "Emacs did not answer"),
    ],
)
def test_answer_that_cannot_be_used_is_said_and_the_disk_counts(
    fake: Callable[..., FakeEmacs], server: LiveServer, method: str, answer: str | bytes, note: str
) -> None:
    fake(**{method: answer})
    text = read(server)
    assert "1\told = 1\n" in text
    last = text.splitlines()[-1]
    assert last.startswith("[as on disk: ")
    assert note in last


def test_piece_of_another_text_is_not_taken(
    fake: Callable[..., FakeEmacs], server: LiveServer
) -> None:
    one, _ = item("fresh = 2\n")
    _, other = item("forged = 3\n")
    digest = one.split()[1]
    forged = f"({digest} 11 {other.split(maxsplit=2)[2].partition(' ')[2]}"
    fake(unsaved=f"(:items ({one}) :pieces ({forged}))")
    text = read(server)
    assert "forged" not in text
    assert "Emacs sent a piece of no text" in text


def test_late_answer_ends_the_hurry(
    fake: Callable[..., FakeEmacs], server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    emacs = fake()
    assert not read(server).endswith(SILENT)
    monkeypatch.setattr(live, "PATIENCE_S", 0.2)
    emacs.answers["unsaved"] = None
    for _ in range(3):
        assert read(server).endswith(SILENT)
    # Only the first of them was sent.
    send = emacs.kept.get(timeout=DEADLINE)
    assert emacs.kept.empty()
    emacs.answers["unsaved"] = NOTHING
    monkeypatch.setattr(live, "PATIENCE_S", DEADLINE)
    monkeypatch.setattr(live, "HURRY_S", DEADLINE)
    send(NOTHING)
    assert read(server).endswith("2\t\n")


def test_emacs_that_does_not_greet_holds_no_other_up(
    fake: Callable[..., FakeEmacs], server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, piece = item("fresh = 2\n")
    tools = '(:visits {} :tools ((:id "emacs/context" :description "{}")))'
    fake("emacs-1", hello=None)
    fake(
        "emacs-2",
        hello=tools.format(2, "x"),
        unsaved=f"(:items ({one}) :pieces ({piece}))",
        run='(:text "the second\n")',
    )
    monkeypatch.setattr(live, "PATIENCE_S", 0.5)
    text = read(server)
    assert "fresh = 2" in text
    assert text.endswith(SILENT)
    assert server.is_live()
    assert server.client_tools()["emacs/context"].description == "x"
    third = fake("emacs-3", hello=tools.format(1, "x"), run='(:text "the third\n")')
    assert server.call("emacs/context", {}, {"text_only": True}).text == "the second\n"
    assert not any(" run " in body for body in third.asked)


def test_emacs_that_never_answers_one_request_is_asked_again_after_the_pause(
    fake: Callable[..., FakeEmacs], server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    emacs = fake(unsaved=None)
    monkeypatch.setattr(live, "PATIENCE_S", 0.2)
    monkeypatch.setattr(live, "PAUSE_S", 0.0)
    assert read(server).endswith(SILENT)
    emacs.answers["unsaved"] = NOTHING
    monkeypatch.setattr(live, "PATIENCE_S", DEADLINE)
    assert read(server).endswith("2\t\n")


def test_note_has_room_in_the_limit(fake: Callable[..., FakeEmacs], server: LiveServer) -> None:
    fake(unsaved=b"")
    (Path(server.root) / "a.py").write_text("x = 1\n" * 500)
    context = {"text_only": True, "max_output_bytes": 1024}
    reply = server.call("workspace/read_file", {"path": "a.py"}, context)
    assert len(reply.text.encode()) <= 1024
    assert reply.text.endswith(SILENT)
    assert reply.warnings[-1] == SILENT.strip("[]\n")


def test_names_of_a_models_arguments_cannot_pass_for_lisp(
    fake: Callable[..., FakeEmacs], server: LiveServer
) -> None:
    (Path(server.root) / ".env").write_text("KEY=1\n")
    emacs = fake(ask=":refused")
    given = {"path": ".env", 'x ") (call 9 eval (': '") nil "', "long": "x" * 9_000_000}
    call = server.prepare("workspace/read_file", given, {"text_only": True})
    cancelled = threading.Event()
    refused = server.approved(call, server.run(call), cancelled)
    assert "The user did not approve of the call of read_file" in refused.text  # type: ignore[union-attr]
    (question,) = [body for body in emacs.asked if " ask " in body]
    assert "call 9 eval" in question
    assert question.count('"') - question.count('\\"') == 6, "id, arguments and secret are strings"
    assert len(question) < 2000
