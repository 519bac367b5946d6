"""One MCP connection without any I/O: bytes come in, messages go out, and nothing here waits.

A message is a line of JSON, such as `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`. The
reading thread answers all requests at once except `tools/call`: workers run the calls of tools.

The protocol has two eras. Up to 2025-11-25 a client opens with `initialize`, which agrees on a
version. Since 2026-07-28 there is no handshake: each request names its version in `params._meta`.
Some clients mix the two, so each request is answered in its own era, and none depends on another.
A list of messages on one line, which only 2025-03-26 allows, is refused.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from backstaff import __version__
from backstaff.errors import ErrorCode, ToolError
from backstaff.render.lines import shortened
from backstaff.render.names import MAX_ECHO, lossy, quote
from backstaff.server import Reply, Server
from backstaff.settings import Verdict
from backstaff.streams import MAX_REQUEST_BYTES
from backstaff.tool import MODEL_TEXT_BYTES
from backstaff.workers import RunningCall, Workers

logger = logging.getLogger(__name__)

# `initialize` can agree on these versions, and this server sends the same in all four.
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSION = "2026-07-28"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, UNSUPPORTED_VERSION = -32602, -32022

Send = Callable[[bytes], None]
_META = "io.modelcontextprotocol/"
_SERVER = {"name": "backstaff", "version": __version__}
# Clients may keep a server's description, because command line and settings fix it.
_CACHE = {"ttlMs": 3_600_000, "cacheScope": "private"}
_METHODS = ("initialize", "ping", "tools/call", "tools/list")
_STATELESS_METHODS = ("server/discover", "tools/call", "tools/list")
_ALWAYS_LOADED = {"_meta": {"anthropic/alwaysLoad": True}}
_ON_DISK = "as they are on disk: changes that an editor has not saved yet are not seen"
_IN_EMACS = "with the user's unsaved changes, unless the answer ends with 'as on disk'"
_INSTRUCTIONS = (
    # Some clients give a model no more than the first 300 to 500 characters.
    "Prefer these tools to grep, cat, find and git in a shell: a search says what it skipped and"
    " names the definition around each match, a read gives whole definitions by name, several in"
    " one call, and no secret is read by accident. To find code in few calls, search for several"
    " names at once (a|b), then read all places that matter in one call of read_file: its ranges"
    " are parts of any files, by symbol or by lines. Globs are about the path below root_path:"
    " '**/*.py'. An answer has at most {limit} bytes. These tools only read, and only below {root};"
    " paths are relative to it. They read files {how}."
)


class Refused(Exception):
    """A request that is answered with an error of JSON-RPC: its code, its message, more facts."""

    def __init__(self, code: int, message: str, **data: object) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Connection:
    """The server's end of one connection."""

    def __init__(
        self, server: Server, tools: Sequence[str], problem: str, send: Send, workers: Workers
    ) -> None:
        """Offer `tools`, ids in the order of `tools/list`, and answer by `send`, a line at once.

        A `problem` is the answer to each call if the server started in no project.
        """
        self._workers, self._server, self._send, self._problem = workers, server, send, problem
        self._line = b""
        # A tool that the policy holds back is not listed, but the answer to a call says why.
        self._names = {server.registry.model_name(tool_id): tool_id for tool_id in tools}
        # Some text that a model reads, such as a skill, may call a tool by its id.
        self._ids = self._names | {tool_id: tool_id for tool_id in tools}
        self._heard = self._listed(is_live=False)  # the names that the client knows

    def receive(self, data: bytes) -> None:
        """Answer the requests in the lines that `data` completes."""
        *lines, rest = (self._line + data).split(b"\n")
        # One byte more than allowed shows that a line is too long; the others are dropped. The
        # error has no id, so its client times out.
        self._line = rest[: MAX_REQUEST_BYTES + 1]
        for line in filter(bytes.strip, lines):
            self._read(line)

    def _read(self, line: bytes) -> None:
        uid = None
        try:
            fields = _parsed(line)
            given = fields.get("id")
            uid = given if isinstance(given, int | str) and not isinstance(given, bool) else None
            self._handle(uid, fields)
        except Refused as error:
            logger.info("refused: %s", error)
            body = {"code": error.code, "message": str(error)}
            self._send(_line(uid, error=body | ({"data": error.data} if error.data else {})))

    def _handle(self, uid: int | str | None, fields: Mapping[str, object]) -> None:
        method, params = fields.get("method"), fields.get("params")
        if not isinstance(method, str):
            if "result" not in fields and "error" not in fields:
                raise Refused(INVALID_REQUEST, "A line is one message, a JSON object with a method")
            logger.info("answer to a question never asked: %r", uid)
        elif "id" not in fields:  # a notification; only one method matters here
            if method == "notifications/cancelled" and isinstance(params, dict):
                # Nothing more may be sent about that call.
                self._workers.cancel(params.get("requestId"), silently=True)
        elif uid is None:
            raise Refused(INVALID_REQUEST, "An id is a string or a whole number")
        elif not isinstance(params, dict | None):
            raise Refused(INVALID_PARAMS, "The params of a request are an object")
        else:
            self._answer(uid, method, params or {})

    def _answer(self, uid: int | str, method: str, params: Mapping[str, object]) -> None:
        meta = params.get("_meta")
        version = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
        # Clients that have discovered this server may send `initialize` all the same.
        stateless = method == "server/discover" or (version is not None and method != "initialize")
        if stateless and version != STATELESS_VERSION:
            message = f"Unsupported version; initialize can agree on {HANDSHAKE_VERSIONS[-1]}"
            supported = {"supported": [STATELESS_VERSION], "requested": version}
            raise Refused(UNSUPPORTED_VERSION, message, **supported)
        known = _STATELESS_METHODS if stateless else _METHODS
        if method not in known:
            named = shortened(quote(method), MAX_ECHO)
            message = f"No such method: {named} (there are {', '.join(known)})"
            raise Refused(METHOD_NOT_FOUND, message)
        if method == "tools/call":
            self._call(uid, params, stateless=stateless)
            return
        result: dict[str, object] = {}  # of a ping
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                agreed = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
                result = {"protocolVersion": agreed, "serverInfo": _SERVER, **self._described()}
            case "server/discover":
                result = {"supportedVersions": [STATELESS_VERSION], **self._described()}
            case "tools/list":
                result = self._list(params)
        self._send(_line(uid, result=_whole(result | _CACHE) if stateless else result))

    def _described(self) -> dict[str, object]:
        """Return the part of a description of this server that is the same in both eras."""
        instructions = self._problem or _INSTRUCTIONS.format(
            root=quote(self._server.root),
            limit=MODEL_TEXT_BYTES,
            how=_IN_EMACS if self._server.is_live() else _ON_DISK,
        )
        return {"capabilities": {"tools": {}}, "instructions": instructions}

    def _list(self, params: Mapping[str, object]) -> dict[str, object]:
        if params.get("cursor") is not None:
            raise Refused(INVALID_PARAMS, "There is one page of tools; leave out the cursor")
        tools, of_emacs = dict[str, object](), self._server.client_tools
        for name in self._listed(is_live=self._server.is_live()):
            # Left out: a broken tool, of which the log and a call say why, or one no Emacs has.
            with suppress(KeyError, ToolError):
                definition = self._server.registry.for_models(self._names[name], of_emacs())
                tools[name] = {
                    "name": name,
                    "description": definition["description"],
                    "inputSchema": definition["schema"],
                    "annotations": {"readOnlyHint": True},  # only if false do other hints count
                    **(_ALWAYS_LOADED if definition["is_always_loaded"] else {}),
                }
        self._heard = list(tools)
        return {"tools": list(tools.values())}

    def _listed(self, *, is_live: bool) -> list[str]:
        """Return the names of the tools that a client may call, with a yes if Emacs can ask."""
        allowed = {Verdict.ALLOW, Verdict.PROMPT} if is_live else {Verdict.ALLOW}
        verdict, ours = self._server.settings.policy.verdict, self._server.registry.by_id
        ids = self._names.items()
        return [name for name, one in ids if verdict(one) in allowed and (is_live or one in ours)]

    def _call(self, uid: int | str, params: Mapping[str, object], *, stateless: bool) -> None:
        name, arguments = params.get("name"), params.get("arguments")
        tool_id = self._ids.get(name) if isinstance(name, str) else None
        if tool_id is None:
            wanted, known = shortened(str(name), MAX_ECHO), ", ".join(self._listed(is_live=False))
            raise Refused(INVALID_PARAMS, f"No such tool: {wanted} (there are {known})")
        if not isinstance(arguments, dict | None):
            raise Refused(INVALID_PARAMS, f"The arguments of {name} must be an object")
        limits = {"max_output_bytes": MODEL_TEXT_BYTES, "text_only": True, "for_model": True}
        call = self._server.prepare(tool_id, arguments, limits | {"offer": self._heard})
        encode = partial(_encoded, stateless=stateless)
        run = RunningCall(uid=uid, call=call, server=self._server, encode=encode, send=self._send)
        if self._problem:
            run.fail(ToolError(ErrorCode.INVALID_ARGUMENT, self._problem))
        else:
            self._workers.submit(run)


def _line(uid: int | str | None, **body: object) -> bytes:
    """Return a whole message. Without `uid` it answers a message without one."""
    message = {"jsonrpc": "2.0", **({} if uid is None else {"id": uid}), **body}
    # In ASCII: some clients take other characters, such as U+2028, for the end of a line.
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _encoded(running: RunningCall, reply: Reply, *, stateless: bool) -> bytes:
    content = [{"type": "text", "text": lossy(reply.text)}]
    result: dict[str, object] = {"content": content, "isError": not reply.ok}
    return _line(running.uid, result=_whole(result) if stateless else result)


def _parsed(line: bytes) -> Mapping[str, object]:
    """Return the message in `line`, empty if it is no object. Raises `Refused`."""
    if len(line) > MAX_REQUEST_BYTES:
        raise Refused(INVALID_REQUEST, f"The line has more than {MAX_REQUEST_BYTES} bytes")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = shortened(str(error), MAX_ECHO)
        raise Refused(PARSE_ERROR, f"The line is not JSON: {problem}") from error
    return message if isinstance(message, dict) else {}


def _whole(result: Mapping[str, object]) -> dict[str, object]:
    """Return `result` with the fields that `STATELESS_VERSION` wants in each."""
    return {"resultType": "complete", **result, "_meta": {f"{_META}serverInfo": _SERVER}}
