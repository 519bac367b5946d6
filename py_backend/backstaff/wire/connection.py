"""One EPC connection without any I/O: bytes come in, replies go out, and nothing here waits.

A transport passes the bytes that it reads to `Connection.receive`, and provides a `send` that
writes whole frames. The reading thread answers `hello`, `ping`, `cancel`, `describe`, `keep_text`
and `methods` at once, many in one write, as a client reads these fastest. Workers run the calls of
tools, and `check`, because it opens the root, and a file system can hang.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from backstaff import __version__
from backstaff.arguments import Nil, Parameter, ParameterType, Symbol, decode
from backstaff.errors import ErrorCode, ToolError
from backstaff.manifest import READS_CONTENT
from backstaff.render.lines import size
from backstaff.server import Call, Reply, Server, failure, unexpected
from backstaff.streams import MAX_REQUEST_BYTES, READ_BYTES
from backstaff.wire import lisp
from backstaff.wire.frame import MAX_FRAME_BYTES, FrameReader, frame
from backstaff.wire.lisp import ESCAPED, PLAIN, Message, Unreadable
from backstaff.workers import RunningCall, Workers

logger = logging.getLogger(__name__)

PROTOCOL = 1
CAPABILITIES = ("call", "cancel", "check", "describe", "escapes", "ping", "unsaved")

_HELLO = (
    Parameter(name="protocol", type=ParameterType.INTEGER),
    Parameter(name="escapes", type=ParameterType.BOOLEAN, absent=False),
)


class Connection:
    """The server's end of one connection."""

    def __init__(self, server: Server, send: Callable[[bytes], None], workers: Workers) -> None:
        """Answer with `send`, which writes whole frames and may be called by any thread."""
        self._workers, self._server, self._send = workers, server, send
        self._frames, self._dialect = FrameReader(), PLAIN
        self._answers = bytearray()  # of the reading thread to one piece, to be sent at once
        self._methods: dict[str, tuple[str, str, Callable[..., Any]]] = {
            "hello": ("&optional OPTIONS", "Versions, protocol, root, capabilities.", self._hello),
            "describe": (
                "&optional TOOLS",
                "The definition of every tool, also of TOOLS, which the client has itself.",
                server.definitions,
            ),
            "check": (
                "TOOL ARGUMENTS &optional CONTEXT",
                "Whether the client may run TOOL, its own, and the values of its arguments.",
                server.prepare_check,
            ),
            "ping": ("", "Answer t at once.", lambda: True),
            "cancel": ("UID", "Stop the running call UID; t if there was one.", workers.cancel),
            "keep_text": (
                "SHA256 SIZE OFFSET BASE64",
                "Keep a piece of a text for calls; how many bytes of it are here.",
                server.texts.keep_text,
            ),
        }

    def receive(self, data: bytes) -> None:
        """Answer the requests that `data` completes. Raises `BadFrame`: then hang up."""
        try:
            for body in self._frames.feed(data):
                try:
                    self._handle(body)
                except Unreadable as error:
                    logger.warning("unreadable request: %s", error)
                    if (uid := lisp.uid_of(body)) is not None:
                        self._reply(uid, "return-error", f"backstaff: {error}")
        finally:
            self._send_answers()

    def _handle(self, body: bytes) -> None:
        if len(body) > MAX_REQUEST_BYTES:
            limit = f"{len(body)} bytes, more than the {MAX_REQUEST_BYTES} allowed"
            raise Unreadable(f"the request has {limit}")
        match message := lisp.read(body):
            case Message("call", uid, [Symbol(name=method), list() | Nil.NIL as arguments]):
                self._call(uid, method, arguments if isinstance(arguments, list) else [])
            case Message("methods", uid, []):
                self._answer(uid, self._signatures)
            case Message("return" | "return-error" | "epc-error"):
                logger.info("answer to a question never asked: %s %s", message.kind, message.uid)
            case _:
                raise Unreadable("the request is not (call UID METHOD ARGUMENTS)")

    def _call(self, uid: int, method: str, arguments: Sequence[Any]) -> None:
        if method in self._methods:
            spec, _, answer = self._methods[method]
            required, _, optional = (words.split() for words in spec.partition("&optional"))
            if not len(required) <= len(arguments) <= len(required + optional):
                self._reply(uid, "return-error", f"{method} takes {spec or 'no argument'}")
            elif method == "check":
                self._start(uid, method, partial(answer, *arguments))
            else:
                self._answer(uid, answer, *arguments)
        elif len(arguments) > len(("ARGUMENTS", "CONTEXT")):
            self._reply(uid, "return-error", f"{method} takes ARGUMENTS &optional CONTEXT")
        else:
            self._start(uid, method, partial(self._server.prepare, method, *arguments))

    def _start(self, uid: int, name: str, prepare: Callable[[], Call]) -> None:
        """Let a worker run the call that `prepare` returns, of the tool or method `name`."""
        try:
            call = prepare()
        except ToolError as error:
            if error.code == ErrorCode.UNKNOWN_TOOL:
                self._reply(uid, "epc-error", str(error))
            else:
                self._reply(uid, "return", failure(name, error).fields())
            return
        run = RunningCall(
            uid=uid, call=call, server=self._server, encode=self._encoded, send=self._send
        )
        self._workers.submit(run)

    def _answer(self, uid: int, answer: Callable[..., object], *arguments: object) -> None:
        try:
            self._reply(uid, "return", answer(*arguments))
        except ToolError as error:
            self._reply(uid, "return-error", str(error))
        except Exception as error:  # noqa: BLE001  # `unexpected` logs it
            problem = unexpected(error, "a request cannot be answered")
            self._reply(uid, "return-error", problem.message)

    def _encoded(self, running: RunningCall, reply: Reply) -> bytes:
        """Return the frame of `reply`; one that is too long is made again, shorter, or fails."""
        body = self._written(running, reply)
        if len(body) >= MAX_FRAME_BYTES and reply.ok:
            limit = size(reply.text) * MAX_FRAME_BYTES // len(body) * 9 // 10
            call = replace(running.call, max_output_bytes=limit)
            body = self._written(running, self._server.run(call, running.cancelled))
        if len(body) >= MAX_FRAME_BYTES:
            logger.warning("reply of %s has %d bytes", reply.tool, len(body))
            sizes = f"{len(body)} bytes, more than the {MAX_FRAME_BYTES} that can be sent"
            remedy = "ask for less (a smaller directory, fewer entries, a lower limit)"
            message = f"The reply has {sizes}; {remedy}"
            too_large = ToolError(ErrorCode.REPLY_TOO_LARGE, message, size_bytes=len(body))
            body = self._written(running, failure(reply.tool, too_large))
        return frame(body)

    def _written(self, running: RunningCall, reply: Reply) -> bytes:
        try:
            return self._message(running.uid, "return", reply.fields())
        except Exception as error:  # noqa: BLE001  # `unexpected` logs it
            problem = unexpected(error, f"the reply of {reply.tool} cannot be written")
            return self._message(running.uid, "return", failure(reply.tool, problem).fields())

    def _reply(self, uid: int, kind: str, value: object) -> None:
        self._answers += frame(self._message(uid, kind, value))
        if len(self._answers) > READ_BYTES:
            self._send_answers()

    def _send_answers(self) -> None:
        if self._answers:
            answers, self._answers = bytes(self._answers), bytearray()
            self._send(answers)

    def _message(self, uid: int | str, kind: str, value: object) -> bytes:
        return lisp.write([Symbol(kind), uid, value], self._dialect)

    def _hello(self, raw: object = None) -> object:
        options, _ = decode(_HELLO, raw)
        if (wanted := options["protocol"]) not in (None, PROTOCOL):
            message = f"backstaff {__version__} speaks protocol {PROTOCOL}, not {wanted}"
            raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
        self._dialect = ESCAPED if options["escapes"] else PLAIN
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "python": sys.version.partition(" ")[0],
            "pid": os.getpid(),
            "root": self._server.root.rstrip("/") + "/",
            "capabilities": [Symbol(f":{name}") for name in CAPABILITIES],
            "reads_content": [one for one in READS_CONTENT if one in self._server.registry.by_id],
            "secrets": self._server.settings.policy.secrets,
            "escapes": options["escapes"],
        }

    def _signatures(self) -> list[object]:
        """Answer EPC's `methods`: the name, arguments and docstring of each method and tool."""
        tools, form = self._server.registry.by_id, "ARGUMENTS &optional CONTEXT"
        names = {name: name for name in tools} | self._server.registry.aliases
        return [
            *([Symbol(name), spec, words] for name, (spec, words, _) in self._methods.items()),
            *([Symbol(name), form, tools[tool].description] for name, tool in names.items()),
        ]
