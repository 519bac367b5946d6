"""A server beside a running Emacs: its facts for agents outside it (contract 010).

With `backstaff-listen-mode` an Emacs listens on a socket in a private folder of the user's;
elisp/backstaff-listen.el has the methods. This server is the client there. Each call that reads
files asks all Emacsen of the user at once for their unsaved texts. The tools of Emacs's own are
offered here, too, and Emacs asks the user where a call needs a person's yes.

No call waits for Emacs longer than `PATIENCE_S` in all. If one does not answer, the files on the
disk count, and the text ends with `[as on disk: Emacs did not answer]`. Without Emacs, this is a
plain `Server`.
"""

import logging
import os
import socket
import stat
import struct
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from queue import Empty, SimpleQueue
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
from backstaff.tool import Tool
from backstaff.unsaved import Named, UnsavedText, codings, unsaved
from backstaff.wire import lisp
from backstaff.wire.frame import BadFrame, FrameReader, frame

logger = logging.getLogger(__name__)

PATIENCE_S = 2.0
"""Maximum number of seconds that a call waits for all Emacsen together (contract 010 rule 3)."""
HURRY_S, PAUSE_S = 0.05, 30.0
"""An Emacs that did not answer in time is waited for so long, during the next `PAUSE_S` seconds."""
QUESTION_S = 65.0
"""Maximum number of seconds for a person's answer. Emacs itself gives up after 15, at most 60."""
POLL_S = 0.2
"""Seconds between two looks whether the person has answered, or a tool can go on."""
SILENT = "Emacs did not answer"
PROTOCOL = 1
MAX_EMACSEN, MAX_ITEMS = 8, 20
"""Maximum number of Emacsen that are asked, and of arguments that a question shows."""
DEFAULT_LIMIT = 16384
"""Maximum number of bytes of a text of Emacs's, if the call sets none."""
MAX_REQUEST_BYTES = 1 << 17
"""Maximum number of bytes of a request: a socket takes so many at once."""
READ_BYTES = 1 << 18
FOLDERS = ("/run/user/{uid}/backstaff", "/tmp/backstaff-listen-{uid}")  # noqa: S108  # see `_is_mine`
"""The folders that may hold sockets. A project or the environment can name no other."""

Value = TypeVar("Value")


def sockets() -> list[str]:
    """Return the sockets of this user's Emacsen: first that of an Emacs that this process is in."""
    uid, found = os.getuid(), list[str]()
    for folder in (one.format(uid=uid) for one in FOLDERS):
        if _is_mine(folder, stat.S_ISDIR):
            with suppress(OSError):
                found += [f"{folder}/{name}" for name in sorted(os.listdir(folder))]
    found = [path for path in found if _is_mine(path, stat.S_ISSOCK)]
    nearest = [f"/emacs-{process}" for process in ancestors()]
    found.sort(key=lambda path: [not path.endswith(name) for name in nearest])
    return found[:MAX_EMACSEN]


def ancestors() -> list[str]:
    """Return the ids of the processes that this one comes from. Only Linux tells them all."""
    found = [str(os.getppid())]
    with suppress(OSError, IndexError):
        while found[-1] not in ("0", "1"):
            with open(f"/proc/{found[-1]}/stat", "rb") as file:
                found.append(file.read().rpartition(b")")[2].split()[1].decode())
    return found


def _is_mine(path: str, kind: Callable[[int], bool]) -> bool:
    """Whether `path` is of this `kind`, belongs to this user, and no other may use it."""
    with suppress(OSError):
        status = os.lstat(path)
        private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        return kind(status.st_mode) and status.st_uid == os.getuid() and private
    return False


def _connected(path: str) -> socket.socket:
    """Return a connection with the socket `path`, of a process of this user. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(0)  # the queue of a busy Emacs may be full
        connection.connect(path)
        connection.settimeout(None)
        if hasattr(socket, "SO_PEERCRED"):
            form = "3i"  # process, user, group
            raw = connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form)
            )
            if struct.unpack(form, raw)[1] != os.getuid():
                raise PermissionError("another user listens")
    except OSError:
        connection.close()
        raise
    return connection


class NoAnswer(Exception):
    """An Emacs did not answer in time, or it refused: the text says why."""


@dataclass(slots=True, eq=False)
class Emacs:
    """The connection with one Emacs. Any thread may ask; one of its own reads the answers.

    `tools` and `visits`, how many buffers visit files below the root, come with the first answer.
    `digests` are those of the texts that it named last. Before `hurry_until`, in seconds of the
    monotonic clock, nobody waits long for an answer that is late.
    """

    connection: socket.socket
    tools: Mapping[str, Tool[Any]] | None = None
    visits: int = 0
    digests: tuple[str, ...] = ()
    is_open: bool = True
    hurry_until: float = 0.0
    _awake: threading.Event = field(default_factory=threading.Event)
    """Set when an answer comes, and unset when one is late."""
    _uids: Iterator[int] = field(default_factory=lambda: count(1))
    _waiting: dict[int, SimpleQueue[lisp.Message | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="emacs", daemon=True).start()

    def ask(self, until: float, method: str, *arguments: object) -> object:
        """Return Emacs's answer to a call of `method`, if it comes by `until`. Raises NoAnswer."""
        now = time.monotonic()
        # While an answer is late, Emacs reads nothing, so it is sent nothing more.
        if now < self.hurry_until and not self._awake.wait(min(HURRY_S, max(0, until - now))):
            raise NoAnswer(SILENT)
        uid, answers = next(self._uids), SimpleQueue[lisp.Message | None]()
        data = frame(
            lisp.write([Symbol("call"), uid, Symbol(method), list(arguments)], lisp.ESCAPED)
        )
        if len(data) > MAX_REQUEST_BYTES:
            raise NoAnswer("The call's arguments are too long for Emacs")
        try:
            with self._lock:
                self._waiting[uid] = answers
                if self.connection.send(data, socket.MSG_DONTWAIT) < len(data):
                    # Nobody knows where the next frame begins. The reader closes the connection.
                    self.connection.shutdown(socket.SHUT_RDWR)
            message = answers.get(timeout=max(0, until - time.monotonic()))
        except OSError as error:
            raise NoAnswer(SILENT) from error
        except Empty:
            with self._lock:
                if answers.empty():
                    self._awake.clear()
                    self.hurry_until = time.monotonic() + PAUSE_S
                    raise NoAnswer(SILENT) from None
                message = answers.get()
        match message:
            case lisp.Message("return", _, [value]):
                return value
            case None:
                raise NoAnswer(SILENT)
        logger.info("Emacs refused %s: %s", method, message.rest)
        raise NoAnswer(f"Emacs refused to answer: {shortened(str(message.rest[0]), MAX_ECHO)}")

    def _read(self) -> None:
        frames = FrameReader()
        try:
            while data := self.connection.recv(READ_BYTES):
                for body in frames.feed(data):
                    message = lisp.read(body)
                    with self._lock:
                        self.hurry_until = 0.0
                        self._awake.set()
                        if answers := self._waiting.pop(message.uid, None):
                            answers.put(message)
        except (OSError, BadFrame, lisp.Unreadable) as error:
            logger.info("the connection with Emacs ends: %s", error)
        with self._lock:
            self.is_open = False
            for answers in self._waiting.values():
                answers.put(None)
            self.connection.close()


# ---------------------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class _Hello:
    protocol: int = argument(integer=True)
    visits: int = argument(integer=True)
    tools: Mapping[str, Tool[Any]] = argument(type=ParameterType.ARRAY, form=client_tools)


@dataclass(frozen=True, slots=True)
class _Unsaved:
    items: tuple[Named, ...] = argument(type=ParameterType.ARRAY, form=unsaved, absent=())
    codings: Mapping[str, str] = argument(type=ParameterType.ARRAY, form=codings, absent={})
    left_out: tuple[str, ...] = argument(absent=())
    pieces: tuple[Any, ...] = argument(type=ParameterType.ARRAY, form=tuple, absent=())


@dataclass(frozen=True, slots=True)
class _Done:
    """The end of a tool's work: a `code` if it failed. Without a text it wants to go on later."""

    text: str = argument(absent="")
    code: str = argument(absent="")
    secret: str = argument(absent="")


def _decoded(form: type[Value], answer: object) -> Value:
    """Return Emacs's `answer` in its `form`. Raises NoAnswer if it has another one."""
    try:
        fields, _ = decode(parameters_of(form), answer, noun="field")  # type: ignore[arg-type]  # classes are hashable
        return form(**fields)
    except ToolError as error:
        logger.warning("Emacs's answer is no %s: %s", form.__name__, error)
        raise NoAnswer(f"Emacs's answer cannot be read: {error}") from error


# ---------------------------------------------------------------------------- the server


class LiveServer(Server):
    """A server whose tools see the unsaved texts of the user's Emacsen."""

    def __init__(self, registry: Registry, settings: Settings, root: str) -> None:
        """Serve as `Server` does. No Emacs is looked for before one is needed."""
        super().__init__(registry, settings, root)
        self._emacsen: dict[str, Emacs] = {}
        self._finding, self._keeping = threading.Lock(), threading.Lock()

    def prepare(
        self,
        name: str,
        arguments: object = None,
        context: object = None,
        tool: Tool[Any] | None = None,
    ) -> Call:
        """Decode a call as `Server.prepare` does, also one of a tool of Emacs's."""
        if name in CLIENT_TOOLS and tool is None:
            # Emacs has the definition, and a worker can wait for it.
            tool = client_tools([{"id": name, "description": name}])[name]
        return super().prepare(name, arguments, context, tool)

    def is_live(self) -> bool:
        """Whether an Emacs answers."""
        return bool(self._greeted(time.monotonic() + PATIENCE_S)[0])

    def for_models(self, tool_id: str, limit: int) -> dict[str, object]:
        """Return a definition as `Server.for_models` does, also that of a tool of Emacs's."""
        tools = ChainMap({}, *(dict(emacs.tools or {}) for emacs in self._emacsen.values()))
        if tool_id in CLIENT_TOOLS and tool_id not in tools:
            raise ToolError(ErrorCode.UNKNOWN_TOOL, f"No Emacs offers {tool_id} now")
        return self.registry.for_models(tool_id, limit, tools)

    def run(self, call: Call, cancelled: threading.Event | None = None) -> Reply:
        """Run `call` as `Server.run` does, with the facts of Emacs. Never raises."""
        until, note = time.monotonic() + PATIENCE_S, ""
        try:
            if call.client_tool is not None:
                return self._run_in_emacs(call, cancelled, until)
            if call.tool_id in READS_CONTENT:
                call, note = self._with_texts(call, until)
        except NoAnswer as error:
            return failure(call.tool_id, ToolError(ErrorCode.BUSY, f"{error}; try again"))
        except Exception as error:
            logger.exception("Emacs cannot be asked")
            if call.client_tool is not None:
                return failure(call.tool_id, unexpected(error))
            note = SILENT
        if not note:
            return super().run(call, cancelled)
        note = f"as on disk: {note}"
        last = f"\n[{note}]\n"
        if call.max_output_bytes is not None:
            call = replace(call, max_output_bytes=max(0, call.max_output_bytes - size(last)))
        reply = super().run(call, cancelled)
        text = reply.text.removesuffix("\n") + last
        return replace(reply, text=text, warnings=(*reply.warnings, note))

    # ------------------------------------------------------------------------ Emacsen

    def _found(self) -> tuple[list[Emacs], list[str]]:
        """Return the Emacsen that listen, and what is wrong with others. Nothing waits here."""
        problems = []
        with self._finding:
            known, found = self._emacsen, dict[str, Emacs]()
            for path in sockets():
                try:
                    is_known = path in known and known[path].is_open
                    found[path] = known[path] if is_known else Emacs(_connected(path))
                except BlockingIOError:  # it is busy: others wait to be let in
                    problems.append(SILENT)
                except OSError as error:  # it was killed
                    logger.info("%s: %s", path, error)
            self._emacsen = found
        return list(found.values()), problems

    def _greeted(self, until: float) -> tuple[list[Emacs], list[str]]:
        """Return the Emacsen that say hello by `until`, and the problems of the others.

        If there is one, its first hello is enough. Of several, the numbers of buffers change.
        """
        found, problems = self._found()
        asked = found if len(found) > 1 else [one for one in found if one.tools is None]
        answers = self._each(asked, lambda emacs: self._greet(emacs, until))
        silent = [emacs for emacs, (_, told) in zip(asked, answers, strict=True) if told]
        return [one for one in found if one not in silent], problems + [told for _, told in answers]

    def _greet(self, emacs: Emacs, until: float) -> str:
        """Say hello to `emacs`, and note its tools and how many files it visits."""
        ids = (*self.registry.by_id, *CLIENT_TOOLS)
        names = [[tool_id, self.registry.model_name(tool_id)] for tool_id in ids]
        globs = list(self.settings.policy.secrets)
        root = os.path.realpath(self.root)
        hello = _decoded(_Hello, emacs.ask(until, "hello", root, os.getpid(), names, globs))
        if hello.protocol != PROTOCOL:
            raise NoAnswer(f"Emacs speaks protocol {hello.protocol}, not {PROTOCOL}")
        emacs.tools, emacs.visits = hello.tools, hello.visits
        return ""

    def _each(
        self, emacsen: list[Emacs], work: Callable[[Emacs], Value]
    ) -> list[tuple[Value | None, str]]:
        """Do `work` for all at once. Return each value, or None and why there is no answer."""

        def tried(emacs: Emacs) -> tuple[Value | None, str]:
            try:
                return work(emacs), ""
            except NoAnswer as error:
                return None, str(error)

        if len(emacsen) <= 1:
            return [tried(emacs) for emacs in emacsen]
        from concurrent.futures import ThreadPoolExecutor  # here, as one Emacs is the rule

        with ThreadPoolExecutor(len(emacsen)) as threads:
            return list(threads.map(tried, emacsen))

    # ------------------------------------------------------------------------ unsaved texts

    def _with_texts(self, call: Call, until: float) -> tuple[Call, str]:
        """Return `call` with the unsaved texts of all Emacsen, and a note on missing ones.

        Of two Emacsen with one file the first has the text.
        """
        emacsen, problems = self._found()
        answers = self._each(emacsen, lambda emacs: self._texts(emacs, call.secret or "", until))
        problems += [problem for _, problem in answers]
        texts, named, left_out = dict[str, UnsavedText](), dict[str, str](), list[str]()
        for found in filter(None, (answer for answer, _ in answers)):
            texts = {**found[0], **texts}
            named = {**found[1].codings, **named}
            left_out += found[1].left_out
        if left_out:
            shown = some_of(map(quote, left_out), len(left_out), between=", ")
            problems.append(f"the unsaved text is too long for {shown}")
        note = "; ".join(dict.fromkeys(filter(None, problems)))
        return replace(call, texts=texts, codings=named), note

    def _texts(
        self, emacs: Emacs, secret: str, until: float
    ) -> tuple[Mapping[str, UnsavedText], _Unsaved]:
        """Return the unsaved texts of `emacs`, whose bytes come in pieces. Raises NoAnswer."""
        if emacs.tools is None:
            self._greet(emacs, until)
        known, left_out = emacs.digests, None
        while True:
            with self._keeping:
                have = [[digest, self.texts.have(digest)] for digest in known]
            answer = _decoded(_Unsaved, emacs.ask(until, "unsaved", have, secret))
            digests, missing = tuple(item.digest for item in answer.items), ""
            with self._keeping:
                try:
                    for piece in answer.pieces:
                        self.texts.keep_text(*piece)
                except (ToolError, TypeError) as error:
                    raise NoAnswer("Emacs sent a piece of no text that it named") from error
                try:
                    texts = self.texts.received(answer.items)
                except ToolError as error:
                    missing = str(error)
            emacs.digests = digests
            # Texts that Emacs had no time for come with the next answer.
            if not missing and answer.left_out in ((), left_out):
                return texts, answer
            if missing and not answer.pieces and digests == known:
                raise NoAnswer(missing)
            known, left_out = digests, answer.left_out

    # ------------------------------------------------------------------------ tools of Emacs's

    def _best(self, until: float) -> list[Emacs]:
        """Return the Emacsen, first the one with most buffers below the root. Raises NoAnswer."""
        emacsen, problems = self._greeted(until)
        if not emacsen:
            raise NoAnswer(problems[0] if problems else "No Emacs listens (backstaff-listen-mode)")
        return sorted(emacsen, key=lambda emacs: -emacs.visits)

    def _checked(self, call: Call, emacs: Emacs, cancelled: threading.Event | None) -> Reply:
        """Return the reply that has the checked arguments of `call`, a tool of Emacs's."""
        tool = (emacs.tools or {}).get(call.tool_id)
        if tool is None:
            raise NoAnswer(f"This Emacs has no tool {call.tool_id}")
        return super().run(replace(call, client_tool=tool, text_only=False), cancelled)

    def _run_in_emacs(self, call: Call, cancelled: threading.Event | None, until: float) -> Reply:
        emacs = self._best(until)[0]
        checked = self._checked(call, emacs, cancelled)
        if not checked.ok:
            return checked
        limit = (call.limit or DEFAULT_LIMIT) - size(checked.text)
        secret = (call.secret or "") if call.approved else None
        while True:
            left = until - time.monotonic()
            asked = (call.tool_id, checked.data, limit, left * 0.8, secret, call.offer)
            done = _decoded(_Done, emacs.ask(until, "run", *asked))
            if done.text:
                break
            if time.monotonic() + POLL_S > until:
                raise NoAnswer("Emacs had no time for the tool")
            (cancelled or threading.Event()).wait(POLL_S)
        text = (done.text.removesuffix("\n") + checked.text) if checked.text else done.text
        error = {"code": done.code, "secret": done.secret} if done.code else None
        return Reply(tool=call.tool_id, text=text, error=error)

    # ------------------------------------------------------------------------ questions

    def approved(self, call: Call, reply: Reply, cancelled: threading.Event) -> Call | Reply:
        """Ask the user in Emacs whether `call` may run, if `reply` says that it needs a yes.

        Return the call to run with that yes, or the reply to send.
        """
        error = reply.error or {}
        secret = str(error.get("secret") or "")
        known = call.approved and (call.secret or "") == secret
        if error.get("code") != ErrorCode.APPROVAL_REQUIRED or known:
            return reply
        try:
            answer = self._said(call, secret, cancelled)
        except NoAnswer as reason:
            logger.info("nobody was asked: %s", reason)
            return reply
        named = self.registry.model_name(call.tool_id)
        match answer:
            case True:
                now = time.monotonic()  # the person's time is not the call's
                return replace(call, approved=True, secret=secret, arrived=now)
            case ":refused":
                problem = f"The user did not approve of the call of {named}"
            case ":late":
                problem = (
                    f"The user did not answer in time whether {named} may run, so it was refused;"
                    " ask the user to watch Emacs for the question, then call again"
                )
            case _:
                return reply
        return failure(call.tool_id, ToolError("APPROVAL_REFUSED", problem))

    def _said(self, call: Call, secret: str, cancelled: threading.Event) -> object:
        """Return the user's answer: True, or a keyword as a string. Raises NoAnswer."""
        answer: object = ":unasked"
        until = time.monotonic() + QUESTION_S
        for emacs in self._best(time.monotonic() + PATIENCE_S):
            arguments: object = call.arguments
            if call.client_tool is not None:
                arguments = self._checked(replace(call, approved=True), emacs, cancelled).data
            elif isinstance(arguments, dict):
                # Its names are a model's, and as keywords they could pass for other Lisp.
                arguments = [
                    [shortened(name, MAX_ECHO), shortened(str(value), MAX_ECHO)]
                    for name, value in list(arguments.items())[:MAX_ITEMS]
                ]
            while not cancelled.is_set() and time.monotonic() < until:
                asked = (call.tool_id, arguments, secret)
                raw = emacs.ask(time.monotonic() + PATIENCE_S, "ask", *asked)
                answer = raw.name if isinstance(raw, Symbol) else raw
                if answer != ":asking":
                    break
                cancelled.wait(POLL_S)
            if answer != ":unasked":
                break
        return answer
