"""One call, from raw arguments to a reply: the one place where errors become replies. No I/O."""

import errno
import logging
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from backstaff.arguments import ParameterType, argument, decode, parameters_of, unknown_names
from backstaff.budget import DEFAULT_DEADLINE_MS, Budget
from backstaff.client_tools import client_tools
from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.root import Root, components
from backstaff.fs.secrets import OPEN, SECRETS, Guard, for_root
from backstaff.registry import Registry
from backstaff.render.lines import clipped, shortened, size
from backstaff.render.names import MAX_ECHO, quote
from backstaff.settings import Settings, Verdict
from backstaff.tool import Context, Tool
from backstaff.unsaved import Named, UnsavedText, UnsavedTexts, codings, unsaved

logger = logging.getLogger(__name__)

MAX_MESSAGE, MAX_WARNING = 2000, 1000  # bytes
MAX_WARNINGS = 100  # in a reply
UNKNOWN_ARGUMENT = "Unknown argument ignored: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one call; a failure of the tool is one, too."""

    tool: str
    text: str  # for a model, and never empty
    data: Mapping[str, object] | None = None  # None if the context asked for text only
    json: str | None = None  # None unless the context asked for it
    error: Mapping[str, object] | None = None  # code, message and details of a failure
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    elapsed_ms: int = 0

    @property
    def ok(self) -> bool:
        """Whether the tool did its work."""
        return self.error is None

    def fields(self) -> dict[str, object]:
        """Return the reply as it is sent: without `json` and `error` if it has none."""
        values = {name: getattr(self, name) for name in self.__slots__}
        sent = {key: one for key, one in values.items() if one is not None or key == "data"}
        return {"ok": self.ok} | sent


def failure(tool: str, error: ToolError) -> Reply:
    """Return the reply for `error`."""
    message = shortened(error.message, MAX_MESSAGE)
    fields = {"code": error.code, "message": message, **error.details}
    return Reply(tool=tool, text=f"Error: {message}", error=fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call with its decoded context; the tool's arguments are still as they came.

    The keys of the context are the fields that `argument` declares. With `approved` somebody has
    agreed to a call that the policy asks about, and to reading the file `secret` (None: any) that
    may hold secrets. With `text_only` or `for_model` a model reads the answer, in its tool names.
    """

    tool_id: str
    arguments: object
    warnings: tuple[str, ...]
    arrived: float  # by the monotonic clock; the deadline counts from then, before a worker is free
    client_tool: Tool[Any] | None  # the tool if it is the client's own
    root: str | None = argument()
    max_output_bytes: int | None = argument(integer=True, minimum=0)
    available_capacity_bytes: int | None = argument(integer=True, minimum=0)
    deadline_ms: int = argument(integer=True, minimum=1, absent=DEFAULT_DEADLINE_MS)
    approved: bool = argument(absent=False)
    secret: str | None = argument()
    person: bool = argument(absent=False)  # typed the call: the policy is for agents
    json: bool = argument(absent=False)
    text_only: bool = argument(absent=False)
    for_model: bool = argument(absent=False)
    unsaved: tuple[Named, ...] = argument(type=ParameterType.ARRAY, form=unsaved, absent=())
    offer: tuple[str, ...] = argument(absent=())  # ids or model's names the reader has (empty: all)
    codings: Mapping[str, str] = argument(type=ParameterType.ARRAY, form=codings, absent={})
    texts: Mapping[str, UnsavedText]

    @property
    def limit(self) -> int | None:
        """Maximum number of bytes of the text; None if the caller sets no limit."""
        bounds = (self.max_output_bytes, self.available_capacity_bytes)
        return min((bound for bound in bounds if bound is not None), default=None)

    @property
    def is_of_model(self) -> bool:
        """Whether a model made the call, and not a program or a person."""
        return self.for_model or self.text_only


class Server:
    """Answers calls for the tools of a registry, below one root unless a call names another."""

    def __init__(self, registry: Registry, settings: Settings, root: str) -> None:
        self.knows_persons = True  # unless clients cannot be trusted to say who typed a call
        self.registry, self.settings, self.root = registry, settings, root  # an absolute path
        self.texts = UnsavedTexts()
        # Stand-ins for tools, by id, whose definition a worker has to ask for.
        self.elsewhere: Mapping[str, Tool[Any]] = {}

    def call(
        self,
        name: str,
        arguments: object = None,
        context: object = None,
        cancelled: threading.Event | None = None,
    ) -> Reply:
        """Prepare a call and run it. Never raises."""
        try:
            return self.run(self.prepare(name, arguments, context), cancelled)
        except ToolError as error:
            return failure(shortened(name, MAX_ECHO), error)

    def prepare(
        self,
        name: str,
        arguments: object = None,
        context: object = None,
        tool: Tool[Any] | None = None,
    ) -> Call:
        """Decode a call of `name`, an id, a bare name, or of the client's own `tool`."""
        arrived, tool = time.monotonic(), tool or self.elsewhere.get(name)
        tool_id = name if tool else self.registry.id_of(name)
        decoded, unknown = decode(parameters_of(Call), context, noun="context key")
        if decoded["person"] and not self.knows_persons:
            message = "Context key 'person' counts over a pipe only, for Emacs"
            raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
        # On the thread that reads, because the next call may already name these texts.
        reads = decoded["unsaved"] and (tool or self.registry.by_id[tool_id]).reads_content
        return Call(
            tool_id=tool_id,
            arguments=arguments,
            warnings=tuple(f"Unknown context key ignored: {name}" for name in unknown),
            arrived=arrived,
            client_tool=tool,
            texts=self.texts.received(decoded["unsaved"]) if reads else {},
            **decoded,
        )

    def client_tools(self) -> Mapping[str, Tool[Any]]:
        """Return the tools of clients that models may call, by id."""
        return {}

    def is_live(self) -> bool:
        """Whether an Emacs answers: then unsaved text counts, and a person can say yes."""
        return False

    def approved(self, call: Call, reply: Reply, _: threading.Event) -> Call | Reply:  # noqa: ARG002
        """Return `reply`, because nobody can be asked here; `backstaff.live` asks in Emacs."""
        return reply

    def fitting(self, reply: Reply, call: Call) -> Reply:
        """Return `reply` with its text cut to the limit of `call`, unless its tool forbids that."""
        limit = call.limit
        if limit is None or (reply.ok and not self._tool(call).allow_truncation):
            return reply
        text = clipped(reply.text, limit)
        return reply if text is reply.text else replace(reply, text=text, truncated=True)

    def _name(self, call: Call, tool_id: str) -> str:
        """Return the tool's name for the reader of the answer to `call`, or "" if it has none."""
        name = self.registry.model_name(tool_id)
        is_offered = not call.offer or not {tool_id, name}.isdisjoint(call.offer)
        is_denied = not call.person and self.settings.policy.verdict(tool_id) is Verdict.DENY
        # No answer may name a tool that its reader does not have.
        if tool_id != call.tool_id and (is_denied or not is_offered):
            return ""
        return name if call.is_of_model else tool_id

    def _tool(self, call: Call) -> Tool[Any]:
        return call.client_tool or self.registry.by_id[call.tool_id]

    def run(self, call: Call, cancelled: threading.Event | None = None) -> Reply:
        """Run `call` until its deadline, or until `cancelled` is set. Never raises."""
        try:
            reply = self._answer(call, cancelled or threading.Event())
        except ToolError as error:
            reply = failure(call.tool_id, error)
            if error.code not in (ErrorCode.POLICY_DENIED, ErrorCode.APPROVAL_REQUIRED):
                # An unknown argument may be the reason.
                with suppress(ToolError):  # the arguments cannot be read at all
                    unknown = unknown_names(self._tool(call).parameters, call.arguments)
                    note = _note(call, self._tool(call), unknown).rstrip("\n")
                    reply = replace(reply, text=reply.text + note)
        except Exception as error:  # noqa: BLE001  # `unexpected` logs it
            reply = failure(call.tool_id, unexpected(error, f"the tool {call.tool_id} failed"))
        elapsed = round((time.monotonic() - call.arrived) * 1000)
        return replace(self.fitting(reply, call), elapsed_ms=elapsed)

    def _answer(self, call: Call, cancelled: threading.Event) -> Reply:
        named = partial(self._name, call)
        verdict = Verdict.ALLOW if call.person else self.settings.policy.verdict(call.tool_id)
        if verdict is Verdict.DENY:
            message = f"The policy of this server denies the tool {named(call.tool_id)}"
            raise ToolError(ErrorCode.POLICY_DENIED, message)
        if verdict is Verdict.PROMPT and not call.approved:
            message = f"The tool {named(call.tool_id)} needs the approval of a person first"
            raise ToolError(ErrorCode.APPROVAL_REQUIRED, message)
        tool = self._tool(call)
        with Root(os.fspath(call.root or self.root)) as root:
            settings, unused = self._judged_settings(call, tool, root)
            given, of_model = call.arguments, call.is_of_model
            try:
                values, unknown = decode(tool.parameters, given, settings, of_model=of_model)
            except ToolError as error:
                # The contract may have its own code for arguments that do not fit.
                code = tool.invalid if error.code == ErrorCode.INVALID_ARGUMENT else error.code
                raise ToolError(code, error.message, **error.details) from error
            note = _note(call, tool, unknown)
            most, capacity = call.max_output_bytes, call.available_capacity_bytes
            context = Context(
                root=root,
                budget=Budget(call.arrived + call.deadline_ms / 1000, cancelled),
                max_output_bytes=None if most is None else most - size(note),
                available_capacity_bytes=None if capacity is None else capacity - size(note),
                text_only=call.text_only,
                named=named,
                unsaved=call.texts if tool.reads_content else {},
                codings=call.codings if tool.reads_content else {},
                settings=settings,
            )
            context.budget.expired()  # raises if the call was cancelled while it waited
            result = tool.run(tool.arguments(**values), context)
        text = result.text
        if note and call.limit is not None:  # not every tool keeps to its limit, see `fitting`
            text = clipped(text, call.limit - size(note))
        ignored = (UNKNOWN_ARGUMENT + name for name in unknown)
        warnings = [*call.warnings, *ignored, *unused, *result.warnings]
        if (more := len(warnings) - MAX_WARNINGS) > 0:
            warnings[MAX_WARNINGS:] = [f"{more} more warnings"]
        return Reply(
            tool=call.tool_id,
            text=text.removesuffix("\n") + note if note else text,
            data=None if context.text_only else result.data,
            json=result.json() if call.json else None,
            truncated=result.truncated or text is not result.text,
            warnings=tuple(shortened(warning, MAX_WARNING) for warning in warnings),
        )

    def definitions(self, client: object = None) -> list[dict[str, object]]:
        """Answer `describe` with the policy's verdicts, also on the tools of the `client`'s own."""
        verdict = self.settings.policy.verdict
        definitions = self.registry.definitions(client_tools(client))
        return [one | {"policy": verdict(str(one["id"]))} for one in definitions]

    def prepare_check(
        self, definition: object, arguments: object = None, context: object = None
    ) -> Call:
        """Decode a call of the client's own tool of that `definition`. Raises `ToolError`.

        The reply has the checked arguments, and as text the note that the client's has to end with.
        """
        tool_id, tool = client_tools([definition]).popitem()
        return self.prepare(tool_id, arguments, context, tool)

    def _judged_settings(self, call: Call, tool: Tool[Any], root: Root) -> tuple[object, list[str]]:
        """Set the guard of `root`. Return the settings of `tool`, and a warning if not the file's.

        A settings file inside the root may be the project's, and then it can only forbid.
        """
        source, globs = self.settings.source, self.settings.policy.secrets
        suspect = bool(source) and root.within(components(source)) is not None
        if suspect:
            globs = (*SECRETS, *(glob for glob in globs if not glob.startswith("!")))
        globs = for_root(tuple(globs), tuple(root.components))
        root.guard = OPEN if call.person else Guard(globs, call.approved, call.secret)
        built_in = tool.settings()
        chosen = self.settings.tables.get(tool.table or call.tool_id, built_in)
        if chosen == built_in or not suspect:
            return chosen, []
        problem = "lies inside the root: it may be the project's, so only its policy holds"
        return built_in, [f"The settings file {quote(source)} {problem}"]


def _note(call: Call, tool: Tool[Any], unknown: Sequence[str]) -> str:
    """Return a last line such as `[Unknown argument ignored: lines; there are: path, max_lines]`.

    A model has to learn that: a search of everything looks like one of a folder. The line is "" if
    it would take more than a quarter of the text.
    """
    if not (unknown and call.is_of_model and tool.allow_truncation):
        return ""
    ignored = shortened(UNKNOWN_ARGUMENT + ", ".join(unknown), MAX_ECHO)
    known = ", ".join(one.name for one in tool.parameters if not one.hidden) or "none"
    note = f"\n[{ignored}; there are: {known}]\n"
    return note if call.limit is None or size(note) * 4 <= call.limit else ""


_SCARCE = (
    "The server has as many files open as the system allows, or too little memory for the call; try"
    " again when other calls have ended, ask for less, or raise the limit (ulimit)"
)
# A library in C finds no room at its import, or Python has no memory for an exception.
_NO_ROOM = re.compile("failed to map segment|without setting an exception")


def unexpected(error: BaseException, what: str) -> ToolError:
    """Log that `what` failed by `error`, a bug or want of resources; return the client's error."""
    cause: BaseException | None = error
    while cause:
        in_text = isinstance(cause, ImportError | SystemError) and _NO_ROOM.search(str(cause))
        scarce = getattr(cause, "errno", None) in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
        if scarce or in_text or isinstance(cause, MemoryError):
            logger.warning("%s for want of resources: %s", what, cause)
            return ToolError(ErrorCode.IO_ERROR, _SCARCE)
        cause = cause.__cause__ or cause.__context__
    logger.error(what, exc_info=error)
    message = "The tool failed unexpectedly; the server's log tells how. Other calls still work"
    return ToolError(ErrorCode.INTERNAL, message)
