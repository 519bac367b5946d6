"""One call, from raw arguments to a reply: the one place where errors become replies. No I/O."""

import gc
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backstaff.arguments import Parameter, ParameterType, decode
from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.budget import DEFAULT_DEADLINE_MS, Budget
from backstaff.fs.root import Root
from backstaff.registry import Registry, table
from backstaff.render.lines import clipped, shortened
from backstaff.render.names import MAX_ECHO, quote
from backstaff.settings import Settings, Verdict
from backstaff.tool import Context, Result, Tool

logger = logging.getLogger(__name__)

CONTEXT_PARAMETERS = (
    Parameter(name="root", type=ParameterType.STRING),
    Parameter(name="max_output_bytes", type=ParameterType.INTEGER, minimum=0),
    Parameter(name="available_capacity_bytes", type=ParameterType.INTEGER, minimum=0),
    Parameter(
        name="deadline_ms", type=ParameterType.INTEGER, minimum=1, absent=DEFAULT_DEADLINE_MS
    ),
    Parameter(name="approved", type=ParameterType.BOOLEAN, absent=False),
    Parameter(name="json", type=ParameterType.BOOLEAN, absent=False),
)


MAX_MESSAGE = 2000
MAX_WARNINGS, MAX_WARNING = 100, 1000
"""Bytes of an error's message; warnings, and bytes of each."""
NEW_OBJECTS = 50_000
"""How many objects come before Python looks for garbage: a large answer is many, and none of it."""


def settle() -> None:
    """End a start, in which nothing was collected: what is there now stays, garbage may come."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 10, 10)
    gc.enable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one call: a tool's failure is a value too.

    `text` is fit for a model and never empty; `error` is None when all went well, else the
    mapping of code, message and details; `json` is there when it was asked for.
    """

    tool: str
    text: str
    data: Mapping[str, object] | None = None
    error: Mapping[str, object] | None = None
    json: str | None = None
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    elapsed_ms: int = 0

    @property
    def ok(self) -> bool:
        """Whether the tool did its work."""
        return self.error is None

    def fields(self) -> dict[str, object]:
        """The envelope, keys in the order they are written."""
        outcome = {"error": self.error} if self.error is not None else {}
        asked = {"json": self.json} if self.json is not None else {}
        return {
            "ok": self.ok,
            "tool": self.tool,
            "text": self.text,
            "data": self.data,
            **asked,
            **outcome,
            "truncated": self.truncated,
            "warnings": list(self.warnings),
            "elapsed_ms": self.elapsed_ms,
        }


def failure(tool: str, error: ToolError) -> Reply:
    """The reply that tells of ERROR."""
    message = shortened(error.message, MAX_MESSAGE)
    facts = {"code": error.code, "message": message, **error.details}
    return Reply(tool=tool, text=f"Error: {message}", error=facts)


class Server:
    """Answers calls for the tools of a registry, below one root unless a call names another."""

    def __init__(self, registry: Registry, settings: Settings, root: str) -> None:
        """Serve the REGISTRY's tools with SETTINGS; ROOT is an absolute path."""
        self.registry = registry
        self.settings = settings
        self.root = root

    def call(
        self,
        name: str,
        arguments: object = None,
        context: object = None,
        cancelled: threading.Event | None = None,
    ) -> Reply:
        """Call the tool NAME (an id or an unambiguous bare name). Never raises."""
        start, limit = time.monotonic(), None
        try:
            asked, unknown = decode(CONTEXT_PARAMETERS, context)
            limit = _text_limit(asked)
            reply = self._answer(name, arguments, asked, cancelled or threading.Event())
            reply = replace(reply, warnings=_bounded((*map(_of_context, unknown), *reply.warnings)))
        except ToolError as error:
            reply = failure(shortened(name, MAX_ECHO), error)
        except Exception:
            logger.exception("bug in the tool %s", name)
            reply = failure(name, unexpected())
        elapsed = round((time.monotonic() - start) * 1000)
        return replace(self._fitting(reply, limit), elapsed_ms=elapsed)

    def given_up(self, name: str, error: ToolError, context: object) -> Reply:
        """The reply for a call with CONTEXT that does not end, or is never begun."""
        try:
            limit = _text_limit(decode(CONTEXT_PARAMETERS, context)[0])
        except ToolError:
            limit = None
        return self._fitting(failure(name, error), limit)

    def _fitting(self, reply: Reply, limit: int | None) -> Reply:
        """REPLY with a text of LIMIT bytes at most, unless its tool forbids to cut it.

        A tool keeps to the limit by itself. This is for the smallest ones, in which its heads and
        notes have no room, and for tools whose answers are short.
        """
        if limit is None or (reply.ok and not self.registry.by_id[reply.tool].allow_truncation):
            return reply
        text = clipped(reply.text, limit)
        return reply if text is reply.text else replace(reply, text=text, truncated=True)

    def _answer(
        self,
        name: str,
        arguments: object,
        asked: Mapping[str, Any],
        cancelled: threading.Event,
    ) -> Reply:
        tool_id = self.registry.id_of(name)
        if tool_id is None:
            known = ", ".join(self.registry.by_id)
            message = f"There is no tool {quote(name)}; known: {known}"
            raise ToolError(ErrorCode.UNKNOWN_TOOL, message)
        try:
            self._admit(tool_id, approved=bool(asked["approved"]))
            result, warnings = self._run(tool_id, arguments, asked, cancelled)
        except ToolError as error:
            return failure(tool_id, error)
        return Reply(
            tool=tool_id,
            text=result.text,
            data=result.data,
            json=result.json() if asked["json"] else None,
            truncated=result.truncated,
            warnings=(*warnings, *result.warnings),
        )

    def patience(self, context: object) -> float:
        """The seconds that a call with CONTEXT may take."""
        try:
            asked: Mapping[str, Any] = decode(CONTEXT_PARAMETERS, context)[0]
        except ToolError:
            return 0  # it is refused at once
        return float(asked["deadline_ms"] / 1000)

    def definitions(self) -> list[dict[str, object]]:
        """What `describe` answers: each tool's definition, and what the policy says of it.

        Raises `ToolError` if a tool cannot be used: its author is to see that here.
        """
        return [
            definition | {"policy": self.settings.policy.verdict(str(definition["id"]))}
            for definition in self.registry.definitions()
        ]

    def _admit(self, tool_id: str, *, approved: bool) -> None:
        """Raise unless the policy lets the call through (SRD FR-LD-DEF-05)."""
        match self.settings.policy.verdict(tool_id):
            case Verdict.DENY:
                message = f"The policy of this server denies the tool {tool_id}"
                raise ToolError(ErrorCode.POLICY_DENIED, message)
            case Verdict.PROMPT if not approved:
                message = f"The tool {tool_id} needs the approval of a person first"
                raise ToolError(ErrorCode.APPROVAL_REQUIRED, message)

    def _run(
        self,
        tool_id: str,
        arguments: object,
        asked: Mapping[str, Any],
        cancelled: threading.Event,
    ) -> tuple[Result, list[str]]:
        tool = self.registry.by_id[tool_id]
        settings = self.settings.of(table(tool_id, tool), tool.settings)
        try:
            values, warnings = decode(tool.parameters, arguments, settings)
        except ToolError as error:
            raise _in_the_words_of(tool, error) from error
        with Root(os.fspath(asked["root"] or self.root)) as root:
            context = Context(
                root=root,
                budget=Budget.lasting(asked["deadline_ms"], cancelled),
                max_output_bytes=asked["max_output_bytes"],
                available_capacity_bytes=asked["available_capacity_bytes"],
                json=bool(asked["json"]),
                settings=settings,
            )
            context.budget.expired()  # the call may have been taken back while it waited
            return tool.run(tool.arguments(**values), context), warnings


def _in_the_words_of(tool: Tool[Any], error: ToolError) -> ToolError:
    code = tool.invalid if error.code == ErrorCode.INVALID_ARGUMENT else error.code
    return ToolError(code, error.message, **error.details)


def _of_context(warning: str) -> str:
    return warning.replace("argument", "context key")


def _bounded(warnings: Sequence[str]) -> tuple[str, ...]:
    """The first of WARNINGS, and how many more there are."""
    first = tuple(shortened(warning, MAX_WARNING) for warning in warnings[:MAX_WARNINGS])
    more = len(warnings) - len(first)
    return (*first, f"{more} more warnings") if more else first


def _text_limit(asked: Mapping[str, Any]) -> int | None:
    """The bytes that the text may have, by what the context ASKED for."""
    limits = [asked[name] for name in ("max_output_bytes", "available_capacity_bytes")]
    return min((limit for limit in limits if limit is not None), default=None)


def unexpected() -> ToolError:
    """What a client is told of a bug."""
    message = "The tool failed unexpectedly; the server's log tells how. Other calls still work"
    return ToolError(ErrorCode.INTERNAL, message)
