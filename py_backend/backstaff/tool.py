"""The shape of a contract: a tool, the context of its calls, its result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from backstaff.arguments import Parameter, ParameterType, argument, parameters_of, schema
from backstaff.budget import Budget
from backstaff.errors import ErrorCode
from backstaff.fs.root import Root
from backstaff.render.canonical import to_json
from backstaff.result import Keyword
from backstaff.unsaved import UnsavedText

__all__ = ["Context", "Keyword", "NoSettings", "Result", "ResultKind", "Tool", "argument"]

Arguments = TypeVar("Arguments")

DEFAULT_TEXT_BYTES = 1 << 20  # of a text if neither the caller nor the tool sets another
# Of a model's answer. Descriptions say "24576 bytes", where a client may put its own limit.
MODEL_TEXT_BYTES = 24_576
# The category of the few tools that an agent gets by default: each costs tokens in every turn.
# Contract 007 has workspace/outline among them; in four trials no agent called it.
ESSENTIAL = "essential"
# The first tools of the preset: clients must not defer them, as few agents call a mere name.
ALWAYS_LOADED = 3


class ResultKind(StrEnum):
    """Kinds of results, so that a client can choose a view."""

    LISTING = "listing"
    FILE_INFO = "file-info"
    TREE = "tree"
    JSON = "json"
    COMMANDS = "commands"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The settings of a tool that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The trusted side's part of a call; a model's arguments never get in here."""

    root: Root
    budget: Budget = field(default_factory=Budget)
    max_output_bytes: int | None = None  # of the text; None is the tool's own default
    available_capacity_bytes: int | None = None  # the free room of the model's window
    text_only: bool = False  # nobody reads the data
    named: Callable[[str], str] = str  # a tool's id as its reader's name, "" if it has no such tool
    # For tools with `reads_content`, by `Place.relative`: the texts of modified Emacs buffers, and
    # the codings of saved ones that are not UTF-8.
    unsaved: Mapping[str, UnsavedText] = field(default_factory=dict)
    codings: Mapping[str, str] = field(default_factory=dict)
    settings: Any = NoSettings()

    def hint(self, words: str, tool_id: str) -> str:
        """Return `words` with the name of a tool in place of `{}`; "" for a reader without it."""
        name = self.named(tool_id)
        return words.replace("{}", name) if name else ""

    def text_limit(self, default: int = DEFAULT_TEXT_BYTES) -> int:
        """Return the bytes of text allowed: the caller's limit or `default`, within the window."""
        limit = default if self.max_output_bytes is None else self.max_output_bytes
        capacity = self.available_capacity_bytes
        return limit if capacity is None else min(limit, capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The findings of a tool.

    `data` is for programs: snake_case mappings, lists, `Rows`, scalars, StrEnums of closed sets.
    """

    text: str  # for a model, and never empty
    data: Mapping[str, object]
    output: Mapping[str, object] | None = None  # the contract's JSON where it differs from `data`
    truncated: bool = False
    warnings: tuple[str, ...] = ()

    def json(self) -> str:
        """Return the contract's output as canonical JSON."""
        return to_json(self.data if self.output is None else self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[Arguments]):
    """A tool: its definition, word for word from its contract, and its work.

    `run` gets an instance of the frozen dataclass `arguments`, whose fields declare the parameters
    (`argument`), or a dict if they are `declared` here.
    """

    description: str = field(kw_only=False)
    arguments: type[Arguments]
    run: Callable[[Arguments, Context], Result]
    result_kind: ResultKind = ResultKind.TEXT
    categories: tuple[str, ...] = ()
    reads_content: bool = False
    preset: int = 0  # the place, from 1 on, among the `ESSENTIAL` tools; 0 is none
    allow_truncation: bool = True
    invalid: str = ErrorCode.INVALID_ARGUMENT  # the contract's code for arguments that do not fit
    settings: Callable[..., Any] = NoSettings  # the frozen dataclass of the table `[tools.TABLE]`
    table: str = ""
    declared: tuple[Parameter, ...] | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which they are declared."""
        own = self.declared
        return parameters_of(self.arguments) if own is None else own  # type: ignore[arg-type]  # classes are hashable

    def definition(self, tool_id: str) -> dict[str, object]:
        """Return the part of `describe` about this tool, with snake_case keys."""
        toolset, _, name = tool_id.partition("/")
        parameters = schema(self.parameters)
        # Adapters that call by position want a list, with each type as a keyword, and with limits
        # and a description where the contract's schema has none.
        arguments = []
        for one in self.parameters:
            facts: dict[str, object] = {"required": one.required, "hidden": one.hidden}
            if one.type is ParameterType.ARRAY:
                facts["items"] = Keyword("object" if one.items else "string")
            facts = {"type": one.type} | {key: fact for key, fact in facts.items() if fact}
            facts["description"] = one.description or one.help
            limits = zip(("minimum", "maximum"), one.bounds(), strict=True)
            facts |= {key: limit for key, limit in limits if limit is not None}
            arguments.append({"name": one.name} | one.schema() | facts)
        return {
            "id": tool_id,
            "name": name,
            "toolset": toolset,
            "description": self.description,
            "parameters": parameters,
            "schema_json": to_json(parameters),
            "required": parameters["required"],
            "arguments": arguments,
            "categories": [*map(Keyword, (ESSENTIAL,) * bool(self.preset) + self.categories)],
            # The same for every tool, as this server only reads.
            "safety_level": Keyword("safe"),
            "side_effecting": False,
            "requires_approval": False,
            "risk": Keyword("low"),
            "result_kind": self.result_kind,
            "reads_content": self.reads_content,
            "allow_truncation": self.allow_truncation,
        }
