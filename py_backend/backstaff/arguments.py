"""Arguments: what a tool says it takes, and the one place where a caller's values are judged.

The wire hands over *raw* values: str, int, float, bool, None (absent), list, `Symbol`, dict (from
JSON) and `NIL`, Lisp's nil, which is false, empty or absent by the type of the parameter it is for.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from sys import float_info

from backstaff.errors import ErrorCode, ToolError
from backstaff.lisp_values import NIL, Nil, Symbol

MAX_NAMED, MAX_NAME = 5, 200
"""Arguments that do not exist, and characters of each, in a message."""
MAX_ITEMS = 1000
"""Items of a list: some tools compare each of them with each name that they read."""


class ParameterType(StrEnum):
    """The JSON Schema types that tools use."""

    STRING = "string"
    BOOLEAN = "boolean"
    NUMBER = "number"
    INTEGER = "integer"
    ARRAY = "array"


_EXPECTED = {
    ParameterType.STRING: "a string",
    ParameterType.BOOLEAN: "true or false",
    ParameterType.NUMBER: "a number",
    ParameterType.INTEGER: "a whole number",
    ParameterType.ARRAY: "a list of strings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a tool.

    `default`, `minimum`, `maximum` and `choices` are part of the published schema and enforced.
    `setting` names the field of the tool's settings that fills in for an omitted argument, and
    goes before `default`. `absent` is the value of an omitted argument of which the schema
    publishes no default. `limits` are enforced like minimum and maximum, but not published, as
    the contract tells them elsewhere. `whole` asks a `number` to be integral. `code` is the error
    code for a
    value that does not fit, where the contract has one for it; else the tool's own is used.
    An array's items are strings.
    """

    name: str
    type: ParameterType
    description: str = ""
    required: bool = False
    default: object = None
    minimum: int | None = None
    maximum: int | None = None
    limits: tuple[int, int] | None = None
    choices: tuple[str, ...] = ()
    setting: str = ""
    absent: object = None
    whole: bool = False
    code: str = ""

    def schema(self) -> dict[str, object]:
        """The JSON Schema of this parameter, keys in the order the contracts write them."""
        optional = {
            "items": {"type": "string"} if self.type is ParameterType.ARRAY else None,
            "enum": [str(choice) for choice in self.choices] or None,
            "default": self.default,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "description": self.description or None,
        }
        return {"type": self.type.value} | {k: v for k, v in optional.items() if v is not None}


def schema(parameters: Sequence[Parameter]) -> dict[str, object]:
    """The JSON Schema of an object of these PARAMETERS."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
    }


def decode(
    parameters: Sequence[Parameter], raw: object, settings: object = None
) -> tuple[dict[str, object], list[str]]:
    """Judge the RAW arguments: the values by parameter name, and warnings.

    RAW is a keyword plist, an alist, a JSON object (parsed, or as one string), or nothing. Unknown
    names are left out and become a warning. Raises `ToolError`, with the parameter's own code or
    INVALID_ARGUMENT, naming the argument, what came and what fits.
    """
    given = dict(_pairs(raw))
    names = {parameter.name for parameter in parameters}
    unknown = [_shown_name(name) for name in sorted(given.keys() - names)]
    _check_presence(parameters, given, unknown)
    values = {parameter.name: _value(parameter, given, settings) for parameter in parameters}
    return values, [f"Unknown argument ignored: {name}" for name in unknown]


def _check_presence(
    parameters: Sequence[Parameter], given: Mapping[str, object], unknown: Sequence[str]
) -> None:
    """Refuse if something required is missing; what is UNKNOWN may be how it was misspelt."""
    for parameter in parameters:
        if parameter.required and _nil_by_type(parameter, given.get(parameter.name)) is None:
            more = len(unknown) - MAX_NAMED
            others = f" and {more} more" if more > 0 else ""
            named = ", ".join(unknown[:MAX_NAMED])
            seen = f"; there is no argument {named}{others}" if unknown else ""
            raise _refusal(parameter, f"Missing required argument '{parameter.name}'{seen}")


def _shown_name(name: str) -> str:
    """NAME on one line, whatever a model made of it."""
    name = name if len(name) <= MAX_NAME else name[:MAX_NAME] + "..."
    return name if name.isidentifier() else json.dumps(name)


def _value(parameter: Parameter, given: Mapping[str, object], settings: object) -> object:
    value = _nil_by_type(parameter, given.get(parameter.name))
    if value is not None:
        return _checked(parameter, value)
    if parameter.setting:
        return getattr(settings, parameter.setting)
    return parameter.absent if parameter.default is None else parameter.default


def _nil_by_type(parameter: Parameter, value: object) -> object:
    if value is not NIL:
        return value
    match parameter.type:
        case ParameterType.BOOLEAN:
            return False
        case ParameterType.ARRAY:
            return []
        case _:
            return None


def _checked(parameter: Parameter, value: object) -> object:
    match parameter.type, value:
        case ParameterType.BOOLEAN, bool():
            return value
        case ParameterType.STRING, str():
            return _chosen(parameter, value)
        case ((ParameterType.NUMBER | ParameterType.INTEGER), (int() | float())) if not isinstance(
            value, bool
        ):
            return _in_range(parameter, _number(parameter, value))
        case ParameterType.ARRAY, list() if all(isinstance(item, str) for item in value):
            if len(value) > MAX_ITEMS:
                message = f"has {len(value)} items, more than the {MAX_ITEMS} allowed"
                raise _refusal(parameter, f"Argument '{parameter.name}' {message}")
            return tuple(value)
        case _:
            raise _misfit(parameter, value)


def _chosen(parameter: Parameter, value: str) -> str:
    if parameter.choices and value not in parameter.choices:
        fitting = ", ".join(f"'{choice}'" for choice in parameter.choices)
        raise _refusal(parameter, f"Argument '{parameter.name}' must be one of {fitting}")
    return value


def _number(parameter: Parameter, value: float) -> float:
    whole = parameter.whole or parameter.type is ParameterType.INTEGER
    # Neither NaN nor an infinity passes, nor an integer that no float can hold.
    if not abs(value) <= float_info.max or (whole and value != int(value)):
        raise _misfit(parameter, value)
    return int(value) if value == int(value) else value


def _in_range(parameter: Parameter, value: float) -> float:
    low, high = parameter.limits or (parameter.minimum, parameter.maximum)
    if (low is None or value >= low) and (high is None or value <= high):
        return value
    match low, high:
        case _, None:
            limits = f"at least {low}"
        case None, _:
            limits = f"at most {high}"
        case _:
            limits = f"from {low} to {high}"
    message = f"Argument '{parameter.name}' must be {limits}, but it is {value}"
    raise _refusal(parameter, message)


def _misfit(parameter: Parameter, value: object) -> ToolError:
    expected = "a whole number" if parameter.whole else _EXPECTED[parameter.type]
    mixed = parameter.type is ParameterType.ARRAY and isinstance(value, list)
    found = "a list of other things" if mixed else _shown(value)
    message = f"Argument '{parameter.name}' must be {expected}, not {found}"
    return _refusal(parameter, message)


def _shown(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a huge number" if abs(value) >= 10**15 else f"the number {value}"
        case str():
            return "a string"
        case Symbol():
            return "a symbol"
        case list():
            return "a list"
        case _:
            return "an object"


def _refusal(parameter: Parameter, message: str) -> ToolError:
    return ToolError(parameter.code or ErrorCode.INVALID_ARGUMENT, message)


def _pairs(raw: object) -> Iterator[tuple[str, object]]:
    """The (name, value) pairs of RAW; of a name given twice Lisp's first counts, as in Lisp."""
    match raw:
        case None | Nil.NIL:
            return iter(())
        case dict():
            return iter([(_name(key), value) for key, value in raw.items()])
        case str():
            return _pairs(json_object(raw))
        case [Symbol(name=name), *_] if name.startswith(":"):
            return reversed(list(_plist_pairs(raw)))
        case list():
            return reversed([_alist_pair(item) for item in raw])
        case _:
            raise _unreadable("they are neither a plist, an alist nor a JSON object")


def json_object(text: str) -> dict[str, object]:
    """The JSON object that TEXT is. Raises `ToolError`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"the string is not JSON: {_reason(error)}") from error
    if not isinstance(value, dict):
        raise _unreadable("the JSON is not an object")
    return value


def _reason(error: ValueError | RecursionError) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} at character {error.pos + 1}"
        case RecursionError():
            return "it is too deep"
        case _:
            return "a number in it is too long"


def _plist_pairs(raw: Sequence[object]) -> Iterator[tuple[str, object]]:
    if len(raw) % 2:
        raise _unreadable("the plist has a keyword without a value")
    for key, value in zip(raw[::2], raw[1::2], strict=True):
        if not (isinstance(key, Symbol) and key.name.startswith(":")):
            raise _unreadable("the plist has something else where a keyword should stand")
        yield _name(key.name), value


def _alist_pair(item: object) -> tuple[str, object]:
    match item:
        case [(Symbol() | str()) as key, Symbol(name="."), value]:
            return _name(key), value
        case [(Symbol() | str()) as key]:
            return _name(key), NIL
        case [(Symbol() | str()) as key, *values]:
            return _name(key), values
        case _:
            raise _unreadable("the alist has something else where a pair should stand")


def _name(key: object) -> str:
    text = key.name if isinstance(key, Symbol) else str(key)
    return text.removeprefix(":").replace("-", "_")


def _unreadable(reason: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"The arguments cannot be read: {reason}")
