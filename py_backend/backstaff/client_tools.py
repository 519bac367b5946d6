"""Tools that a client has itself: it sends their definitions, and the server judges their calls.

Emacs has the toolset `emacs`, whose work only Emacs can do. The server does for these tools the
same as for its own: it describes them to agents, checks their arguments, and applies the policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, make_dataclass
from typing import Any

from backstaff.arguments import NIL, Parameter, ParameterType, Symbol, argument, checked
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
    if raw is None or raw is NIL:
        return {}
    definitions: Any = checked(_DEFINITIONS, raw, "The definitions of a client's tools")
    return {
        one.id: Tool(
            description=one.description,
            arguments=make_dataclass(
                "Arguments", map(_field, one.arguments), frozen=True, slots=True
            ),
            run=_echo,
            result_kind=ResultKind.TEXT,
            categories=one.categories,
        )
        for one in definitions
    }


def _echo(arguments: Any, _: Context) -> Result:  # noqa: ANN401  # of the tool's own class
    """Answer with the checked arguments: the client does the tool's work with them."""
    return Result(text="", data=asdict(arguments))


def _keywords(raw: object) -> tuple[Keyword, ...]:
    """Return the keywords in `raw`, such as `(:emacs :search)`, or one keyword."""
    words: Sequence[object] = raw if isinstance(raw, list) else [raw]
    names = [word.name.removeprefix(":") for word in words if isinstance(word, Symbol)]
    if len(names) < len(words):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "a keyword was expected")
    return tuple(map(Keyword, names))


@dataclass(frozen=True, slots=True)
class _Argument:
    name: str = argument()
    type: str = argument(form=lambda raw: "".join(_keywords(raw)), type=ParameterType.STRING)
    description: str = argument()
    required: bool = argument(absent=False)
    default: object = argument(type=ParameterType.STRING, form=lambda raw: raw, absent=None)
    minimum: int | None = argument(integer=True)
    maximum: int | None = argument(integer=True)
    enum: tuple[str, ...] = argument(absent=())


@dataclass(frozen=True, slots=True)
class _Definition:
    id: str = argument()
    description: str = argument()
    arguments: tuple[_Argument, ...] = argument(absent=())
    categories: tuple[str, ...] = argument(type=ParameterType.ARRAY, form=_keywords, absent=())


_DEFINITIONS = Parameter(name="definitions", type=ParameterType.ARRAY, items=_Definition)


def _field(one: _Argument) -> tuple[str, Any, Any]:
    """Return the name, the type and the `argument` of a parameter, for `make_dataclass`."""
    kind = _TYPES.get(one.type)
    if kind is None or not one.name.isidentifier():
        needs = f"a name and one of the types {', '.join(_TYPES)}"
        message = f"The argument {one.name!r} of a client's tool needs {needs}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    facts = {"default": one.default, "minimum": one.minimum, "maximum": one.maximum}
    given: dict[str, Any] = {name: value for name, value in facts.items() if value is not None}
    optional = not one.required and "default" not in given
    declared = argument(one.description, integer=kind is int, choices=one.enum, **given)
    return one.name, kind | None if optional else kind, declared
