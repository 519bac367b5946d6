"""Tools that a client has itself: it sends their definitions, and the server judges their calls.

Emacs has the toolset `emacs`, whose work only Emacs can do. The server describes these tools to
agents, checks their arguments, and applies the policy, as for its own.
"""

from dataclasses import asdict, dataclass
from typing import Any

from backstaff.arguments import NIL, Parameter, ParameterType, Symbol, argument, checked
from backstaff.result import Keyword
from backstaff.tool import Result, Tool


def client_tools(raw: object) -> dict[str, Tool[Any]]:
    """Return the tools of the definitions `raw`, a list of plists, by id. Raises `ToolError`.

    For example `(:id "emacs/a" :description "…" :arguments ((:name "b" :type :string …)))`.
    """
    given = [] if raw is None or raw is NIL else raw
    parameter = Parameter(name="definitions", type=ParameterType.ARRAY, items=_Definition)
    definitions: Any = checked(parameter, given, "The definitions of a client's tools")
    return {
        one.id: Tool(
            description=one.description,
            arguments=dict,
            declared=tuple(map(_parameter, one.arguments)),
            # The client does the work, with the checked arguments.
            run=lambda checked, _: Result(text="", data=checked),
            categories=one.categories,
        )
        for one in definitions
    }


def _keywords(raw: object) -> tuple[Keyword, ...]:
    """Return the keywords in `raw`, such as `(:emacs :search)`, or one keyword."""
    words = raw if isinstance(raw, list) else [raw]
    return tuple(Keyword(word.name[1:]) for word in words if isinstance(word, Symbol))


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


def _parameter(one: _Argument) -> Parameter:
    facts: dict[str, Any] = asdict(one)
    facts |= {"type": ParameterType(one.type), "choices": facts.pop("enum")}
    return Parameter(**facts | {"required": one.required and one.default is None})
