"""A server beside a running Emacs: its facts for agents outside it (contract 010).

With `backstaff-listen-mode` an Emacs listens on a socket in a private folder of the user's;
elisp/backstaff-listen.el has the methods. This server is the client there. Each call that reads
files asks all Emacsen of the user at once for their unsaved texts, for `PATIENCE_S` in all. If one
does not answer, the files on the disk count, and the text ends with `[as on disk: Emacs did not
answer]`. Emacs also does the work of its own tools, and asks the user where a call needs a yes.
"""

import logging
import os
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from backstaff.arguments import ParameterType, Symbol, argument, decode, parameters_of
from backstaff.client_tools import client_tools
from backstaff.errors import ErrorCode, ToolError
from backstaff.manifest import CLIENT_TOOLS, READS_CONTENT
from backstaff.registry import Registry
from backstaff.render.lines import shortened, size, some_of
from backstaff.render.names import MAX_ECHO, quote
from backstaff.server import Call, Reply, Server, failure, unexpected
from backstaff.settings import Settings
from backstaff.tool import MODEL_TEXT_BYTES, Tool
from backstaff.unsaved import Named, UnsavedText, codings, unsaved
from backstaff.wire import lisp
from backstaff.wire.frame import BadFrame, FrameReader, frame

logger = logging.getLogger(__name__)

PATIENCE_S = 2.0  # that a call waits for all Emacsen together (contract 010 rule 3)
# An Emacs that did not answer in time is waited for so long, during the next `PAUSE_S` seconds.
HURRY_S, PAUSE_S = 0.05, 30.0
QUESTION_S = 65.0  # for a person's answer; Emacs itself gives up after 15, at most 60
POLL_S = 0.2  # between two looks whether the person has answered, or a tool can go on
MAX_EMACSEN = 8  # that are asked
MAX_REQUEST_BYTES = 1 << 17  # because a socket takes 128 KiB at once
READ_BYTES = 1 << 18
# No project and no environment can name another folder of sockets; see `_is_mine`.
FOLDERS = ("/run/user/{uid}/backstaff", "/tmp/backstaff-listen-{uid}")  # noqa: S108
SILENT = "Emacs did not answer"
LATER = Symbol(":later")  # ask again, as a person or a language server needs time

_REFUSALS = {
    Symbol(":refused"): "The user did not approve of the call of {}",
    Symbol(":late"): "The user did not answer in time whether {} may run, so it was refused;"
    " ask the user to watch Emacs for the question, then call again",
}
Value = TypeVar("Value")


def sockets() -> list[str]:
    """Return the sockets of this user's Emacsen: first that of an Emacs that this process is in."""
    found = list[str]()
    for folder in (name.format(uid=os.getuid()) for name in FOLDERS):
        if _is_mine(folder, stat.S_ISDIR):
            with suppress(OSError):
                found += [f"{folder}/{name}" for name in sorted(os.listdir(folder))]
    around = [str(os.getppid())]
    with suppress(OSError, IndexError):  # only Linux tells all processes that this one is in
        while around[-1] not in ("0", "1"):
            with open(f"/proc/{around[-1]}/stat", "rb") as file:
                around.append(file.read().rpartition(b")")[2].split()[1].decode())
    found.sort(key=lambda path: [not path.endswith(f"/emacs-{process}") for process in around])
    return [path for path in found if _is_mine(path, stat.S_ISSOCK)][:MAX_EMACSEN]


def _is_mine(path: str, kind: Callable[[int], bool]) -> bool:
    """Whether `path` is of this `kind`, belongs to this user, and no other may use it."""
    with suppress(OSError):
        status = os.lstat(path)
        private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        return kind(status.st_mode) and status.st_uid == os.getuid() and private
    return False


class NoAnswer(Exception):
    """An Emacs did not answer in time, or it refused: the text says why."""


class Emacs:
    """The connection with one Emacs. Threads take turns, because Emacs does one thing at a time."""

    def __init__(self, path: str) -> None:
        """Connect with the socket at `path`. Raises OSError: BlockingIOError if Emacs is busy."""
        self.tools: Mapping[str, Tool[Any]] = {}
        self.visits = 0  # how many buffers visit files below the root
        self._uid, self._frames, self._turn = 0, FrameReader(), threading.Lock()
        self._hurry_until = 0.0  # nobody waits long for a late answer before then
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.connection.settimeout(0)  # the queue of a busy Emacs may be full
            self.connection.connect(path)
            if hasattr(socket, "SO_PEERCRED"):  # on Linux; elsewhere the folder alone protects
                raw = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                if struct.unpack("3i", raw)[1] != os.getuid():  # process, user, group
                    raise PermissionError("another user listens")
        except OSError:
            self.connection.close()
            raise

    def ask(self, until: float, method: str, *arguments: object) -> object:
        """Return Emacs's answer to a call of `method`, if it comes by `until`. Raises NoAnswer."""
        now = time.monotonic()
        hurry = min(until, now + HURRY_S)
        soon = hurry if now < self._hurry_until else until
        if not self._turn.acquire(timeout=max(0, soon - now)):
            raise NoAnswer(SILENT)
        try:
            if time.monotonic() < self._hurry_until:
                # While an answer is late, Emacs reads nothing, so it is sent nothing more.
                self._answer(hurry)
                self._hurry_until = 0.0
            call = [Symbol("call"), self._uid + 1, Symbol(method), list(arguments)]
            data = frame(lisp.write(call, lisp.ESCAPED))
            if len(data) > MAX_REQUEST_BYTES:
                raise NoAnswer("The call's arguments are too long for Emacs")
            self._uid += 1
            self.connection.sendall(data)
            message = self._answer(until)
        except TimeoutError as error:
            if time.monotonic() >= self._hurry_until:
                self._hurry_until = time.monotonic() + PAUSE_S
            raise NoAnswer(SILENT) from error
        except (OSError, BadFrame, lisp.Unreadable) as error:
            logger.info("the connection with Emacs ends: %s", error)
            self.connection.close()
            self._hurry_until = 0.0
            raise NoAnswer(SILENT) from error
        finally:
            self._turn.release()
        match message:
            case lisp.Message("return", _, [value]):
                return value
        logger.info("Emacs refused %s: %s", method, message.rest)
        raise NoAnswer(f"Emacs refused to answer: {shortened(str(message.rest[0]), MAX_ECHO)}")

    def _answer(self, until: float) -> lisp.Message:
        """Return the answer to the last request, and drop earlier ones. Raises OSError."""
        readable = select.poll()
        readable.register(self.connection, select.POLLIN)
        while readable.poll(max(0, until - time.monotonic()) * 1000):
            data = self.connection.recv(READ_BYTES)
            if not data:
                raise ConnectionError("Emacs hung up")
            for body in self._frames.feed(data):
                message = lisp.read(body)
                if message.uid == self._uid:
                    return message
        raise TimeoutError


@dataclass(frozen=True, slots=True)
class _Hello:
    visits: int = argument(integer=True)
    tools: Mapping[str, Tool[Any]] = argument(type=ParameterType.ARRAY, form=client_tools)


@dataclass(frozen=True, slots=True)
class _Unsaved:
    items: tuple[Named, ...] = argument(type=ParameterType.ARRAY, form=unsaved, absent=())
    codings: Mapping[str, str] = argument(type=ParameterType.ARRAY, form=codings, absent={})
    left_out: tuple[str, ...] = argument(absent=())
    pieces: tuple[Any, ...] = argument(type=ParameterType.ARRAY, form=tuple, absent=())
    more: bool = argument(absent=False)  # Emacs had no time to look at all texts


@dataclass(frozen=True, slots=True)
class _Done:
    text: str = argument(absent="")
    code: str = argument(absent="")  # if the tool failed
    secret: str = argument(absent="")


def _decoded(form: type[Value], answer: object) -> Value:
    """Return Emacs's `answer` in its `form`. Raises NoAnswer if it has another one."""
    try:
        fields, _ = decode(parameters_of(form), answer, noun="field")  # type: ignore[arg-type]  # classes are hashable
        return form(**fields)
    except ToolError as error:
        logger.warning("Emacs's answer is no %s: %s", form.__name__, error)
        raise NoAnswer(f"Emacs's answer cannot be read: {error}") from error


def _decided(
    emacs: Emacs, until: float, cancelled: threading.Event, method: str, *arguments: object
) -> object:
    """Ask `emacs` until it answers something else than `LATER`, or `until` comes near."""
    while True:
        answer = emacs.ask(min(until, time.monotonic() + PATIENCE_S), method, *arguments)
        if answer != LATER or time.monotonic() + POLL_S > until or cancelled.wait(POLL_S):
            return answer


class LiveServer(Server):
    """A server whose tools see the unsaved texts of the user's Emacsen."""

    def __init__(self, registry: Registry, settings: Settings, root: str) -> None:
        super().__init__(registry, settings, root)
        self.elsewhere = client_tools([{"id": one, "description": one} for one in CLIENT_TOOLS])
        self._emacsen = dict[str, Emacs]()
        self._lock = threading.Lock()  # held while the Emacsen or the kept texts change

    def is_live(self) -> bool:
        """Whether an Emacs answers."""
        return bool(self._each(self._greet, time.monotonic() + PATIENCE_S)[0])

    def client_tools(self) -> Mapping[str, Tool[Any]]:
        """Return the tools of Emacs's by id, as its answers had them."""
        return {key: tool for emacs in self._emacsen.values() for key, tool in emacs.tools.items()}

    def run(self, call: Call, cancelled: threading.Event | None = None) -> Reply:
        """Run `call` as `Server.run` does, with the facts of Emacs. Never raises."""
        until, note = time.monotonic() + PATIENCE_S, ""
        try:
            if call.client_tool is not None:
                return self._run_in_emacs(call, cancelled or threading.Event(), until)
            if call.tool_id in READS_CONTENT:
                call, note = self._with_texts(call, until)
        except NoAnswer as error:
            return failure(call.tool_id, ToolError(ErrorCode.BUSY, f"{error}; try again"))
        except Exception as error:  # noqa: BLE001  # `unexpected` logs it
            return failure(call.tool_id, unexpected(error, "Emacs cannot be asked"))
        if not note:
            return super().run(call, cancelled)
        note = f"as on disk: {note}"
        last = f"\n[{note}]\n"
        if call.max_output_bytes is not None:
            call = replace(call, max_output_bytes=max(0, call.max_output_bytes - size(last)))
        reply = super().run(call, cancelled)
        text = reply.text.removesuffix("\n") + last
        return replace(reply, text=text, warnings=(*reply.warnings, note))

    def _each(self, work: Callable[..., Value], *given: object) -> tuple[list[Value], list[str]]:
        """Do `work` for all Emacsen at once. Return the values, and what is wrong with others."""
        problems, found = list[str](), dict[str, Emacs]()
        with self._lock:
            for path in sockets():
                try:
                    old = self._emacsen.get(path)
                    found[path] = old if old and old.connection.fileno() >= 0 else Emacs(path)
                except BlockingIOError:  # it is busy: others wait to be let in
                    problems.append(SILENT)
                except OSError as error:  # it was killed
                    logger.info("%s: %s", path, error)
            self._emacsen = found
        values = list[Value]()
        with ThreadPoolExecutor(MAX_EMACSEN) as threads:
            for answer in [threads.submit(work, emacs, *given) for emacs in found.values()]:
                try:
                    values.append(answer.result())
                except NoAnswer as error:
                    problems.append(str(error))
        return values, problems

    def _greet(self, emacs: Emacs, until: float) -> Emacs:
        """Say hello to `emacs`, and note its tools and how many files it visits."""
        name = self.registry.model_name
        names = [[one, name(one)] for one in (*self.registry.by_id, *CLIENT_TOOLS)]
        facts = (os.path.realpath(self.root), os.getpid(), names, self.settings.policy.secrets)
        hello = _decoded(_Hello, emacs.ask(until, "hello", *facts))
        emacs.tools, emacs.visits = hello.tools, hello.visits
        return emacs

    def _with_texts(self, call: Call, until: float) -> tuple[Call, str]:
        """Return `call` with the texts of all Emacsen, and a note on missing ones."""
        answers, problems = self._each(self._texts, call.secret or "", until)
        texts, named, left_out = dict[str, UnsavedText](), dict[str, str](), list[str]()
        for found, answer in reversed(answers):  # of two with one file the first has the text
            texts |= found
            named |= answer.codings
            left_out += answer.left_out
        if left_out:
            shown = some_of(map(quote, left_out), len(left_out), between=", ")
            problems.append(f"the unsaved text is too long for {shown}")
        return replace(call, texts=texts, codings=named), "; ".join(dict.fromkeys(problems))

    def _texts(
        self, emacs: Emacs, secret: str, until: float
    ) -> tuple[Mapping[str, UnsavedText], _Unsaved]:
        """Return the unsaved texts of `emacs`, whose bytes come in pieces. Raises NoAnswer."""
        if not emacs.tools:
            self._greet(emacs, until)
        missing = list[list[object]]()
        while True:
            answer = _decoded(_Unsaved, emacs.ask(until, "unsaved", missing, secret))
            wanted, missing = missing, []
            with self._lock:
                try:
                    for piece in answer.pieces:
                        self.texts.keep_text(*piece)
                    for item in answer.items:
                        if (bytes_here := self.texts.have(item.digest)) is not True:
                            missing.append([item.digest, bytes_here])
                    if not missing and not answer.more:
                        return self.texts.received(answer.items), answer
                except (ToolError, TypeError) as error:
                    raise NoAnswer("Emacs sent a piece of no text that it named") from error
            if missing == wanted and not answer.more:
                raise NoAnswer("Emacs sent nothing of a text that it named")

    def _best(self, until: float) -> list[Emacs]:
        """Return the Emacsen, first the one with most buffers below the root. Raises NoAnswer."""
        emacsen, problems = self._each(self._greet, until)
        if not emacsen:
            raise NoAnswer([*problems, "No Emacs listens (backstaff-listen-mode)"][0])
        return sorted(emacsen, key=lambda emacs: -emacs.visits)

    def _checked(self, call: Call, emacs: Emacs, cancelled: threading.Event) -> Reply:
        """Return the reply that has the checked arguments of `call`, a tool of Emacs's."""
        tool = emacs.tools.get(call.tool_id, call.client_tool)
        return super().run(replace(call, client_tool=tool, text_only=False), cancelled)

    def _run_in_emacs(self, call: Call, cancelled: threading.Event, until: float) -> Reply:
        emacs = self._best(until)[0]
        if not (checked := self._checked(call, emacs, cancelled)).ok:
            return checked
        limit = (call.limit or MODEL_TEXT_BYTES) - size(checked.text)
        secret = (call.secret or "") if call.approved else None
        asked = call.tool_id, checked.data, limit, secret, call.offer
        answer = _decided(emacs, until, cancelled, "run", *asked)
        if answer == LATER:
            raise NoAnswer("Emacs had no time for the tool")
        done = _decoded(_Done, answer)
        text = (done.text.removesuffix("\n") + checked.text) if checked.text else done.text
        error = {"code": done.code, "secret": done.secret} if done.code else None
        return Reply(tool=call.tool_id, text=text, error=error)

    def approved(self, call: Call, reply: Reply, cancelled: threading.Event) -> Call | Reply:
        """Return `call` with the user's yes if `reply` wants one and Emacs gets it, or a reply."""
        error = reply.error or {}
        secret = str(error.get("secret") or "")
        known = call.approved and (call.secret or "") == secret
        if error.get("code") != ErrorCode.APPROVAL_REQUIRED or known:
            return reply
        answer, until = None, time.monotonic() + QUESTION_S
        try:
            for emacs in self._best(time.monotonic() + PATIENCE_S):
                # As a string, a model's words cannot pass for Lisp.
                shown: object = shortened(repr(call.arguments), MAX_ECHO)
                if call.client_tool is not None:
                    shown = self._checked(replace(call, approved=True), emacs, cancelled).data
                answer = _decided(emacs, until, cancelled, "ask", call.tool_id, shown, secret)
                if answer != Symbol(":unasked"):
                    break
        except NoAnswer as reason:
            logger.info("nobody was asked: %s", reason)
            return reply
        if answer is True:
            # The person's time is not the call's.
            return replace(call, approved=True, secret=secret, arrived=time.monotonic())
        if not isinstance(answer, Symbol) or answer not in _REFUSALS:
            return reply
        problem = _REFUSALS[answer].format(self.registry.model_name(call.tool_id))
        return failure(call.tool_id, ToolError("APPROVAL_REFUSED", problem))
