"""One EPC connection: bytes in, calls out, replies back. It waits for nothing itself.

A transport feeds `Connection.receive` with what it reads and gives it a `send` that writes whole
frames. Small questions (`hello`, `ping`, `cancel`, `describe`, `methods`) are answered at once by
the thread that reads; a tool's call goes to the workers and is answered when it is done.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from backstaff import __version__
from backstaff.arguments import Parameter, ParameterType, decode
from backstaff.errors import ErrorCode, ToolError
from backstaff.lisp_values import NIL, Symbol
from backstaff.render.lines import shortened
from backstaff.render.names import MAX_ECHO
from backstaff.server import Call, Reply, Server, failure, unexpected
from backstaff.wire import lisp
from backstaff.wire.frame import MAX_FRAME_BYTES, MAX_REQUEST_BYTES, Frame, FrameReader, frame
from backstaff.wire.lisp import ESCAPED, PLAIN, Dialect, Message, Unreadable
from backstaff.workers import MAX_STUCK, Workers

logger = logging.getLogger(__name__)

PROTOCOL = 1
CAPABILITIES = ("call", "cancel", "describe", "escapes", "ping")

_HELLO = (
    Parameter(name="client", type=ParameterType.STRING),
    Parameter(name="version", type=ParameterType.STRING),
    Parameter(name="protocol", type=ParameterType.INTEGER),
    Parameter(name="escapes", type=ParameterType.BOOLEAN, absent=False),
)


class Misuse(Exception):
    """A call that is no proper EPC: an unknown method, arguments of the wrong shape."""


class Connection:
    """The server's end of one connection."""

    def __init__(self, server: Server, send: Callable[[bytes], None], workers: Workers) -> None:
        """Answer with SEND, which writes one whole frame and may be called by any thread."""
        self._server = server
        self._send = send
        self._workers = workers
        self._frames = FrameReader()
        self._dialect: Dialect = PLAIN
        self._running: set[_RunningCall] = set()
        self._methods: dict[str, tuple[str, str, Callable[[Sequence[object]], object]]] = {
            "hello": ("&optional OPTIONS", "Versions, protocol, root, capabilities.", self._hello),
            "describe": ("", "The definition of every tool.", self._describe),
            "ping": ("", "Answer t at once.", self._ping),
            "cancel": ("UID", "Stop the running call UID; t if there was one.", self._cancel),
        }

    def receive(self, data: bytes) -> None:
        """Take in DATA as it comes and answer what is whole. Raises `BadFrame`: then hang up."""
        for incoming in self._frames.feed(data):
            try:
                self._handle(incoming)
            except Unreadable as error:
                self._answer_unreadable(error)

    def close(self) -> None:
        """The client is gone: stop what still runs for it."""
        for call in list(self._running):
            call.cancelled.set()

    def _handle(self, incoming: Frame) -> None:
        if incoming.excess:
            _, uid = lisp.head(incoming.body)
            limit = f"{incoming.excess} bytes, more than the {MAX_REQUEST_BYTES} allowed"
            raise Unreadable(f"the request has {limit}", uid)
        message = lisp.read(incoming.body)
        match message:
            case Message("call", uid, [Symbol(name=method), arguments]):
                self._call(uid, method, [] if arguments is NIL else arguments)
            case Message("call", uid, [method, _]):
                name = "nil" if method is NIL else str(method)
                self._reply(uid, "epc-error", f"No such tool: {shortened(name, MAX_ECHO)}")
            case Message("methods", uid, []):
                self._give(uid, self._signatures, [])
            case Message("return" | "return-error" | "epc-error"):
                logger.info("answer to a question never asked: %s %s", message.kind, message.uid)
            case _:
                raise Unreadable("the request is not (call UID METHOD ARGUMENTS)", message.uid)

    def _call(self, uid: int, method: str, arguments: object) -> None:
        if not isinstance(arguments, list):
            self._reply(uid, "epc-error", "The arguments of a call must be a list")
        elif method in self._methods:
            self._give(uid, self._methods[method][2], arguments)
        elif arguments and isinstance(arguments[0], Symbol):
            self._reply(uid, "return-error", f"{method} takes its plist as one argument, a list")
        elif len(arguments) > len(("ARGUMENTS", "CONTEXT")):
            self._reply(uid, "return-error", f"{method} takes ARGUMENTS &optional CONTEXT")
        else:
            self._run(uid, method, *[*arguments, None, None][:2])

    def _give(
        self, uid: int, answer: Callable[[Sequence[object]], object], arguments: Sequence[object]
    ) -> None:
        try:
            self._reply(uid, "return", answer(arguments))
        except (Misuse, ToolError) as error:
            self._reply(uid, "return-error", str(error))

    def _run(self, uid: int, method: str, arguments: object, context: object) -> None:
        try:
            call = self._server.prepare(method, arguments, context)
        except ToolError as error:
            if error.code == ErrorCode.UNKNOWN_TOOL:
                self._reply(uid, "epc-error", str(error))
            else:
                self._send_reply(uid, failure(method, error))
            return
        running = _RunningCall(self, uid, call)
        self._running.add(running)
        if not self._workers.submit(running):
            running.turn_away()

    def run(self, running: "_RunningCall") -> None:
        """Run a call and send its reply.

        A reply that no frame can hold, text and data together, is made again with a limit in
        proportion: 20 MB become at most 15.
        """
        call, cancelled = running.call, running.cancelled
        for _ in range(3):
            reply = self._server.run(call, cancelled)
            body = self._encoded(running.uid, reply)
            if len(body) < MAX_FRAME_BYTES or not reply.ok:
                break
            text = len(reply.text.encode(errors="replace"))
            call = call.with_limit(text * MAX_FRAME_BYTES // len(body) * 9 // 10)
        self._finish(running, body)

    def fail(self, running: "_RunningCall", error: ToolError) -> None:
        """Answer a call with ERROR, unless it has been answered."""
        reply = self._server.fail(running.call, error)
        self._finish(running, self._encoded(running.uid, reply))

    def _finish(self, running: "_RunningCall", body: bytes) -> None:
        """Send the BODY of a reply. Of a worker and its watcher, the first one does."""
        try:
            self._running.remove(running)
        except KeyError:
            return
        running.answered = True
        try:
            self._send_body(running.uid, running.call.tool_id, body)
        except OSError as error:
            logger.info("the client went before the answer to %s: %s", running.uid, error)

    def no_room(self) -> ToolError:
        """Explain why a call is not accepted."""
        if self._workers.full_of_stuck:
            message = (
                "This server takes no more calls, as too many hang in a file system that gives no"
                " answer; start a new one (in Emacs the next call does)"
            )
            return ToolError(ErrorCode.SERVER_STUCK, message, server_stuck=True)
        message = "Too many calls are waiting; try again when some are answered"
        if self._workers.without_threads:
            message = (
                "The system lets the server start no thread for the call: this user has as many"
                " processes as the limit allows (ulimit -u); try again when some have ended"
            )
        return ToolError(ErrorCode.BUSY, message)

    def _encoded(self, uid: int, reply: Reply) -> bytes:
        try:
            return self._message(uid, "return", reply.fields())
        except Exception:
            logger.exception("the reply of %s cannot be written", reply.tool)
            return self._message(uid, "return", failure(reply.tool, unexpected()).fields())

    def _send_reply(self, uid: int, reply: Reply) -> None:
        self._send_body(uid, reply.tool, self._encoded(uid, reply))

    def _send_body(self, uid: int, tool: str, body: bytes) -> None:
        """Send BODY; one that no frame can hold becomes an error that names its size."""
        if len(body) >= MAX_FRAME_BYTES:
            logger.warning("reply of %s has %d bytes", tool, len(body))
            message = (
                f"The reply has {len(body)} bytes, more than the {MAX_FRAME_BYTES} that can be"
                " sent; ask for less (a smaller directory, fewer entries, a lower limit)"
            )
            error = ToolError(ErrorCode.REPLY_TOO_LARGE, message, size_bytes=len(body))
            body = self._message(uid, "return", failure(tool, error).fields())
        self._send(frame(body))

    def _reply(self, uid: int, kind: str, value: object) -> None:
        self._send(frame(self._message(uid, kind, value)))

    def _message(self, uid: int, kind: str, value: object) -> bytes:
        return lisp.write([Symbol(kind), uid, value], self._dialect)

    def _answer_unreadable(self, error: Unreadable) -> None:
        logger.warning("unreadable request: %s", error.reason)
        if error.uid is not None:
            self._reply(error.uid, "return-error", f"backstaff: {error.reason}")

    def _hello(self, arguments: Sequence[object]) -> object:
        options, _ = decode(_HELLO, arguments[0] if arguments else None)
        wanted = options["protocol"]
        if wanted not in (None, PROTOCOL):
            raise Misuse(f"This server speaks protocol {PROTOCOL}, not {wanted}; update the older")
        self._dialect = ESCAPED if options["escapes"] else PLAIN
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "python": sys.version.partition(" ")[0],
            "pid": os.getpid(),
            "root": self._server.root.rstrip("/") + "/",
            "capabilities": [Symbol(f":{name}") for name in CAPABILITIES],
            "escapes": options["escapes"],
        }

    def _describe(self, _: Sequence[object]) -> object:
        return self._server.definitions()

    def _ping(self, _: Sequence[object]) -> object:
        return True

    def _cancel(self, arguments: Sequence[object]) -> object:
        match arguments:
            case [int() as uid]:
                meant = [call for call in list(self._running) if call.uid == uid]
                for call in meant:
                    call.cancelled.set()
                return bool(meant)
        raise Misuse("cancel takes the UID of a call")

    def _signatures(self, _: Sequence[object]) -> list[object]:
        """What EPC's own `methods` answers: name, arguments and docstring of everything."""
        registry = self._server.registry
        names = {**{name: name for name in registry.by_id}, **registry.aliases}
        return [
            *([Symbol(name), spec, words] for name, (spec, words, _) in self._methods.items()),
            *(
                [Symbol(name), "ARGUMENTS &optional CONTEXT", registry.by_id[tool].description]
                for name, tool in names.items()
            ),
        ]


@dataclass(slots=True, eq=False)
class _RunningCall:
    """A job for the workers: a call that is answered once, by its worker or by the watcher."""

    connection: Connection
    uid: int
    call: Call
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: bool = False

    def run(self) -> None:
        """Do the work and answer."""
        self.connection.run(self)

    def allowed(self) -> float:
        """Return the seconds it may take: 0 once cancelled, unlimited while the reply is sent.

        A client that reads slowly holds a worker up, but that is no stuck file system.
        """
        if self.answered:
            return inf
        return 0 if self.cancelled.is_set() else self.call.seconds

    def abandon(self, stuck: int, *, works: bool) -> None:
        """Answer for a worker that does not return; STUCK counts these, unless it WORKS."""
        code = ErrorCode.CANCELLED if self.cancelled.is_set() else ErrorCode.DEADLINE_EXCEEDED
        self.cancelled.set()  # should the worker ever return, it stops
        message = (
            "The call took too long and was abandoned; ask for less, such as a smaller directory,"
            " or allow it more time"
            if works
            else "The file system gave no answer in the time allowed, and the call was abandoned;"
            " something may be wrong with a disk or a mounted share below that path"
        )
        full = {"server_stuck": True} if stuck >= MAX_STUCK else {}
        self.connection.fail(self, ToolError(code, message, stuck_workers=stuck, **full))

    def turn_away(self) -> None:
        """Answer that there is no room."""
        self.connection.fail(self, self.connection.no_room())
