"""Tools that a client has itself: it sends their definitions, and the server judges their calls.

Emacs has the toolset `emacs`, whose work only Emacs can do. The part that all tools share
stays here, in one home: how a definition is told to agents, which arguments fit, and the policy's
verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, make_dataclass
from typing import Any

from backstaff.arguments import (
    MAX_ITEMS,
    NIL,
    ParameterType,
    Symbol,
    argument,
    decode,
    parameters_of,
)
from backstaff.errors import ErrorCode, ToolError
from backstaff.result import Keyword
from backstaff.tool import Context, Result, ResultKind, Tool

_TYPES: Mapping[str, type] = {"string": str, "boolean": bool, "integer": int}


def client_tools(raw: object) -> dict[str, Tool[Any]]:
    """Return the tools of the definitions `raw`, a list of plists, by id. Raises `ToolError`.

    For example `(:id "emacs/read_buffer" :description "…" :arguments ((:name "buffer" :type :string
    :description "…" :required t)))`. An argument may also have `:default`, `:minimum`, `:maximum`
    and `:enum`. One without a default that is not required may be missing from a call.
    """
    return dict(_tool(item) for item in _list(raw, "definitions"))


def _tool(raw: object) -> tuple[str, Tool[Any]]:
    values, _ = decode(parameters_of(_Definition), raw)
    told = _Definition(**values)
    fields = [_field(item) for item in _list(told.arguments, "arguments")]
    tool = Tool(
        description=told.description,
        arguments=make_dataclass("Arguments", fields, frozen=True, slots=True),
        run=_echo,
        result_kind=ResultKind.TEXT,
        categories=tuple(told.categories),
    )
    return told.id, tool


def _field(raw: object) -> tuple[str, Any, Any]:
    """Return name, type and `argument` of the parameter `raw`, for `make_dataclass`."""
    values, _ = decode(parameters_of(_Parameter), raw)
    one = _Parameter(**values)
    kind = _TYPES.get(one.type)
    if kind is None or not one.name.isidentifier():
        known = ", ".join(_TYPES)
        raise _refusal(f"the argument {one.name!r} needs a name and one of the types {known}")
    facts = {"default": one.default, "minimum": one.minimum, "maximum": one.maximum}
    given: dict[str, Any] = {name: value for name, value in facts.items() if value is not None}
    optional = not one.required and "default" not in given
    return (
        one.name,
        kind | None if optional else kind,
        argument(one.description, integer=kind is int, choices=one.enum, **given),
    )


def _echo(arguments: Any, _: Context) -> Result:  # noqa: ANN401  # of the tool's own class
    """Answer with the checked arguments: the client does the tool's work with them."""
    return Result(text="", data=asdict(arguments))


def _list(raw: object, name: str) -> Sequence[object]:
    if raw is None or raw is NIL:
        return []
    if not isinstance(raw, list | tuple) or len(raw) > MAX_ITEMS:
        raise _refusal(f"their {name} are no list of at most {MAX_ITEMS}")
    return raw


def _words(raw: object) -> tuple[Keyword, ...]:
    """Return the keywords in `raw`, such as `(:emacs :search)`, or one keyword."""
    words: Sequence[object] = raw if isinstance(raw, list) else [raw]
    names = [word.name.removeprefix(":") for word in words if isinstance(word, Symbol)]
    if len(names) < len(words):
        raise _refusal("a keyword was expected")
    return tuple(map(Keyword, names))


def _any(raw: object) -> object:
    return raw


def _refusal(problem: str) -> ToolError:
    message = f"The client's definitions of tools cannot be read: {problem}"
    return ToolError(ErrorCode.INVALID_ARGUMENT, message)


@dataclass(frozen=True, slots=True)
class _Definition:
    id: str = argument()
    description: str = argument()
    arguments: Sequence[object] = argument(type=ParameterType.ARRAY, form=_any, absent=())
    categories: tuple[str, ...] = argument(type=ParameterType.ARRAY, form=_words, absent=())


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str = argument()
    type: str = argument(form=lambda raw: "".join(_words(raw)), type=ParameterType.STRING)
    description: str = argument()
    required: bool = argument(absent=False)
    default: object = argument(type=ParameterType.STRING, form=_any, absent=None)
    minimum: int | None = argument(integer=True)
    maximum: int | None = argument(integer=True)
    enum: tuple[str, ...] = argument(absent=())
