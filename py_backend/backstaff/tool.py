"""The shape of a contract: what a tool is, what it is called with, what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from backstaff.arguments import Parameter, ParameterType, schema
from backstaff.errors import ErrorCode
from backstaff.fs.budget import Budget
from backstaff.fs.root import Root
from backstaff.render.canonical import to_json
from backstaff.result import Keyword, Verbatim

__all__ = [
    "NO_SETTINGS",
    "Context",
    "Keyword",
    "NoSettings",
    "Parameter",
    "ParameterType",
    "Result",
    "ResultKind",
    "Risk",
    "Safety",
    "Tool",
]

Arguments = TypeVar("Arguments")


class Safety(StrEnum):
    """Agent-Q's safety levels that occur here."""

    SAFE = "safe"


class Risk(StrEnum):
    """The risk levels of the SRD that occur here."""

    LOW = "low"


class ResultKind(StrEnum):
    """What a result is like, so that a client can choose a view for it."""

    LISTING = "listing"
    FILE_INFO = "file-info"
    TREE = "tree"
    JSON = "json"
    COMMANDS = "commands"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The settings of a tool that has none."""


NO_SETTINGS = NoSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the trusted side says about a call; a model's arguments never reach in here.

    `max_output_bytes` bounds the text (None: the tool's own default); `available_capacity_bytes`
    is what is left in the model's window. `settings` is an instance of the tool's settings class.
    With `text_only`, nobody reads the data, and a tool can leave out what is costly to make.
    """

    root: Root
    budget: Budget = field(default_factory=Budget)
    max_output_bytes: int | None = None
    available_capacity_bytes: int | None = None
    text_only: bool = False
    settings: Any = NO_SETTINGS

    def text_limit(self, default: int) -> int:
        """The bytes that the text may take: the caller's wish or DEFAULT, within the window."""
        limit = default if self.max_output_bytes is None else self.max_output_bytes
        capacity = self.available_capacity_bytes
        return limit if capacity is None else min(limit, capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    r"""What a tool found out.

    `text` is for a model and never empty; `data` is the same for programs: mappings with
    snake_case keys, lists, `Rows`, scalars, StrEnum members for closed sets. `output` is the
    contract's JSON output where it differs from `data`. `labels` makes pairs of a string in `data`
    and its form in text, for the odd names: `("a\nb", '"a\\nb"')`.
    """

    text: str
    data: Mapping[str, object]
    output: Mapping[str, object] | None = None
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    labels: Callable[[], Sequence[tuple[str, str]]] = tuple

    def json(self) -> str:
        """The contract's output as canonical JSON."""
        return to_json(self.data if self.output is None else self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[Arguments]):
    """A tool: its definition, word for word as its contract has it, and its work.

    `arguments` is the frozen dataclass that the values of `parameters` fill, by name; `run` gets
    it. `settings` is the frozen dataclass of the tool's configuration table `[tools.TABLE]`.
    `allow_truncation` False forbids adapters to cut the text. `invalid` is the contract's error
    code for arguments that do not fit.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    arguments: Callable[..., Arguments]
    run: Callable[[Arguments, Context], Result]
    result_kind: ResultKind
    categories: tuple[str, ...] = ()
    safety: Safety = Safety.SAFE
    risk: Risk = Risk.LOW
    side_effecting: bool = False
    requires_approval: bool = False
    allow_truncation: bool = True
    invalid: str = ErrorCode.INVALID_ARGUMENT
    settings: Callable[..., Any] = NoSettings
    table: str = ""

    def definition(self, toolset: str) -> dict[str, object]:
        """What `describe` says of this tool, with snake_case keys."""
        parameters = schema(self.parameters)
        return {
            "id": f"{toolset}/{self.name}",
            "name": self.name,
            "toolset": toolset,
            "description": self.description,
            "parameters": _schema_names_kept(parameters),
            "schema_json": to_json(parameters),
            "required": parameters["required"],
            "arguments": [_argument(parameter) for parameter in self.parameters],
            "safety_level": self.safety,
            "categories": [Keyword(word) for word in self.categories],
            "side_effecting": self.side_effecting,
            "requires_approval": self.requires_approval,
            "risk": self.risk,
            "result_kind": self.result_kind,
            "allow_truncation": self.allow_truncation,
        }


def _schema_names_kept(parameters: dict[str, Any]) -> dict[str, object]:
    properties = {name: Verbatim(schema) for name, schema in parameters["properties"].items()}
    return parameters | {"properties": Verbatim(properties)}


def _argument(parameter: Parameter) -> dict[str, object]:
    """A parameter as adapters want it: by position, with its type as a word."""
    published = parameter.schema()
    items = {"items": Keyword("string")} if "items" in published else {}
    required = {"required": True} if parameter.required else {}
    return {"name": parameter.name} | published | {"type": parameter.type} | items | required
