"""Arguments: the parameters of tools, and the one place that checks a caller's values.

A raw value is a str, int, float, bool, None (absent), list, `Symbol`, dict (from JSON) or `NIL`,
Lisp's nil, which means false, empty or absent: the parameter's type decides.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from sys import float_info
from types import NoneType
from typing import Any, get_args

from backstaff.errors import ErrorCode, ToolError
from backstaff.result import Verbatim

MAX_NAME = 200  # characters of an unknown argument's name
MAX_ITEMS = 1000  # in a list: some tools compare each item with each name they read


class Nil(Enum):
    """Lisp's nil. It means false, an empty list or "not given": the parameter's type decides."""

    NIL = "nil"


NIL = Nil.NIL


@dataclass(frozen=True, slots=True)
class Symbol:
    """A Lisp symbol or keyword by its name. A keyword keeps its colon: `Symbol(":root")`."""

    name: str


class ParameterType(StrEnum):
    """The JSON Schema types that tools use. A number, too, must be whole."""

    STRING = "string"
    BOOLEAN = "boolean"
    NUMBER = "number"
    INTEGER = "integer"
    ARRAY = "array"


_OF_PYTHON: Mapping[object, dict[str, Any]] = {
    str: {"type": ParameterType.STRING},
    bool: {"type": ParameterType.BOOLEAN},
    int: {"type": ParameterType.NUMBER},
    tuple[str, ...]: {"type": ParameterType.ARRAY},
}
_DIGITS = re.compile(r"-?\d{1,15}")
_OF_NIL: Mapping[ParameterType, object] = {ParameterType.BOOLEAN: False, ParameterType.ARRAY: []}
_EXPECTED = {"string": "a string", "boolean": "true or false", "array": "a list of strings"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a tool. Its schema has neither `absent`, a default, too, nor `limits`."""

    name: str
    type: ParameterType
    description: str = ""
    help: str = ""  # the description where the contract has none
    required: bool = False
    default: object = None
    minimum: int | None = None
    maximum: int | None = None
    limits: tuple[int, int] | None = None  # (lowest, highest), in prose in some contracts
    choices: tuple[str, ...] = ()
    setting: str = ""  # the field of the settings for an omitted argument, before any default
    absent: object = None
    code: str = ""  # the contract's, for a value that does not fit (default: the tool's)
    hidden: bool = False  # from models, as each word costs tokens in every turn
    items: Any = None  # the dataclass of an array's objects; without it they are strings
    form: Callable[[object], object] | None = None  # reads a value of another type in a context

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of this parameter, keys in the order of the contracts."""
        items: dict[str, object] = {"type": "string"}
        if self.items:
            parameters = {one.name: {"type": one.type.value} for one in parameters_of(self.items)}
            items = {"type": "object", "properties": Verbatim(parameters)}
        optional = {
            "items": items if self.type is ParameterType.ARRAY else None,
            "enum": [str(choice) for choice in self.choices] or None,
            "default": self.default,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "description": self.description or None,
        }
        return {"type": self.type.value} | {k: v for k, v in optional.items() if v is not None}

    def bounds(self) -> tuple[int | None, int | None]:
        """Return the lowest and the highest number that fits; None is no limit."""
        return self.limits or (self.minimum, self.maximum)

    def described(self) -> str:
        """Return the description with default and limits: some agents' libraries keep no others."""
        text, (low, high) = self.description or self.help, self.bounds()
        # Everybody expects "off", 0 and the root, and no model tries -1 or a million.
        expected = "default" in text or self.default in (None, False, "", ".")  # 0 is False
        low, high = low if 1 < (low or 0) < 10**6 else None, high if (high or 0) < 10**6 else None
        given = "" if expected else f"default {json.dumps(self.default)}"
        if not (facts := "; ".join(filter(None, [given, range_text(low, high)]))):
            return text
        # One bracket is read more easily than two.
        return f"{text.removesuffix('.')} ({facts})".replace(") (", "; ")


def range_text(low: int | None, high: int | None) -> str:
    """Return "from 1 to 9", "at least 1", "at most 9", or nothing."""
    if low is None:
        return "" if high is None else f"at most {high}"
    return f"at least {low}" if high is None else f"from {low} to {high}"


def argument(description: str = "", *, integer: bool = False, **facts: object) -> Any:  # noqa: ANN401  # of the field's type
    """Declare a field of a tool's arguments, and its parameter: `facts` are fields of `Parameter`.

    For example `depth: int = argument("How deep to go.", default=3, minimum=0)`. The parameter's
    name and type are the field's; it is required if it has no default and cannot be None. An int is
    a JSON "number", or with `integer` an "integer", as the contracts have it.
    """
    of_integer = {"type": ParameterType.INTEGER} if integer else {}
    return field(metadata={"description": description, **of_integer, **facts})


@cache
def parameters_of(arguments: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters that fields of the dataclass `arguments` declare by `argument`."""
    return tuple(parameter_of(one) for one in fields(arguments) if one.metadata)


def parameter_of(one: "Field[Any]") -> Parameter:
    """Return the parameter for the field `one`: its type, and the facts in its metadata."""
    choices, facts = get_args(one.type), one.metadata
    optional = NoneType in choices
    of = choices[0] if choices else one.type
    base = _OF_PYTHON.get(of if optional else one.type, {})
    if is_dataclass(of) and "form" not in facts:  # tuple[Class, ...]
        base = {"type": ParameterType.ARRAY, "items": of}
    required = not optional and facts.keys().isdisjoint(("default", "absent", "setting"))
    return Parameter(**{"name": one.name, "required": required, **base, **facts})


def schema(parameters: Sequence[Parameter]) -> dict[str, object]:
    """The JSON Schema of an object of these `parameters`."""
    return {
        "type": "object",
        "properties": Verbatim({one.name: one.schema() for one in parameters}),
        "required": [parameter.name for parameter in parameters if parameter.required],
    }


def unknown_names(parameters: Sequence[Parameter], raw: object) -> list[str]:
    """Return the names in the `raw` arguments that no parameter has. Raises `ToolError`."""
    names = sorted(_given(raw).keys() - {parameter.name for parameter in parameters})
    shown = (name if len(name) <= MAX_NAME else name[:MAX_NAME] + "..." for name in names)
    return [name if name.isidentifier() else json.dumps(name) for name in shown]


def decode(
    parameters: Sequence[Parameter],
    raw: object,
    settings: object = None,
    noun: str = "argument",
    *,
    of_model: bool = False,
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the `raw` arguments by parameter name, and the unknown names, to show.

    `raw` is a keyword plist, an alist, a JSON object (parsed, or as a string), or nothing. Raises
    `ToolError` that names the argument, its value and the values that fit. `noun` is the word for
    an argument in that message. In a call `of_model`, values may have forms that `_meant` reads.
    """
    given = _given(raw)
    values: dict[str, object] = {}
    for one in parameters:
        value = given.get(one.name)
        value = _OF_NIL.get(one.type) if value is NIL else value
        values[one.name] = _meant(one, value) if of_model else value
        if one.required and values[one.name] is None:
            raise _refusal(one, f"Missing required {noun} '{one.name}'")
    for one in parameters:
        if values[one.name] is not None:
            subject = f"{noun.capitalize()} '{one.name}'"
            values[one.name] = checked(one, values[one.name], subject, of_model=of_model)
        elif one.setting:
            values[one.name] = getattr(settings, one.setting)
        else:
            values[one.name] = one.absent if one.default is None else one.default
    return values, unknown_names(parameters, given)


def _meant(parameter: Parameter, value: object) -> object:
    """Return the value that a model meant by `value`, or `value` itself; None if it is absent.

    Some models, and some clients, send each value as a string: "3", "true", '["*.py"]'. Some fill
    in all optional arguments: "" or a 0 where the least number is 1 stand for absent ones then.
    One string or object stands for a list of it. A string for a string stays as it is.
    """
    is_optional = not parameter.required
    if parameter.form or (value == "" and is_optional):
        return value if parameter.form else None
    text = value.strip() if isinstance(value, str) else ""
    match parameter.type:
        case ParameterType.NUMBER | ParameterType.INTEGER:
            number = int(text) if _DIGITS.fullmatch(text) else value
            is_zero = number == 0 and number is not False
            return None if is_zero and is_optional and (parameter.bounds()[0] or 0) > 0 else number
        case ParameterType.BOOLEAN:
            return {"true": True, "false": False}.get(text.lower(), value)
        case ParameterType.ARRAY if isinstance(value, str | dict):
            if text.startswith("["):
                with suppress(ValueError, RecursionError):
                    return json.loads(text)
            return [value]
    return value


def checked(parameter: Parameter, value: object, subject: str, *, of_model: bool = False) -> object:
    """Return `value` as `parameter` has it. Raises `ToolError`, a sentence about `subject`."""
    if parameter.form:
        return parameter.form(value)
    strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
    match parameter.type, value:
        case ParameterType.BOOLEAN, bool():
            return value
        case ParameterType.STRING, str():
            if parameter.choices and value not in parameter.choices:
                fitting = ", ".join(f"'{choice}'" for choice in parameter.choices)
                raise _refusal(parameter, f"{subject} must be one of {fitting}")
            return value
        # Neither NaN nor an infinity is a number here, nor an integer that no float can hold.
        case ((ParameterType.NUMBER | ParameterType.INTEGER), int() | float()) if (
            not isinstance(value, bool) and abs(value) <= float_info.max and value == int(value)
        ):
            number, (low, high) = int(value), parameter.bounds()
            if (low is None or number >= low) and (high is None or number <= high):
                return number
            limits = range_text(low, high)
            raise _refusal(parameter, f"{subject} must be {limits}, but it is {number}")
        case ParameterType.ARRAY, list() if parameter.items or strings:
            if len(value) > MAX_ITEMS:
                problem = f"has {len(value)} items, more than the {MAX_ITEMS} allowed"
                raise _refusal(parameter, f"{subject} {problem}")
            return tuple(_items(parameter, value, of_model=of_model) if parameter.items else value)
    raise _refusal(parameter, f"{subject} must be {_mismatch(parameter, value)}")


def _mismatch(parameter: Parameter, value: object) -> str:
    """Return, for example, `a whole number, not a string`."""
    expected = _EXPECTED.get(parameter.type, "a whole number")
    expected = "a list of objects" if parameter.items else expected
    match value:
        case bool():
            found = str(value).lower()
        case int() | float():
            found = "a huge number" if abs(value) >= 10**15 else f"the number {value}"
        case list():
            found = "a list" + " of other things" * (parameter.type is ParameterType.ARRAY)
        case _:
            found = {str: "a string", Symbol: "a symbol"}.get(type(value), "an object")
    return f"{expected}, not {found}"


def _items(parameter: Parameter, values: Sequence[object], *, of_model: bool) -> Iterator[Any]:
    """Yield an instance of the parameter's `items` for each of `values`, objects in any form."""
    known = parameters_of(parameter.items)
    for number, value in enumerate(values, 1):
        try:
            arguments, unknown = decode(known, value, of_model=of_model)
            problem = f"there is no {unknown[0]}" if unknown else ""
        except ToolError as error:
            problem = error.message
        if problem:
            form = f"it is an object with some of {', '.join(one.name for one in known)}"
            raise _refusal(parameter, f"Item {number} of '{parameter.name}': {problem}; {form}")
        yield parameter.items(**arguments)


def _refusal(parameter: Parameter, message: str) -> ToolError:
    return ToolError(parameter.code or ErrorCode.INVALID_ARGUMENT, message)


def _given(raw: object) -> dict[str, object]:
    """Return the values in `raw` by snake_case name; of two with one name the first, as in Lisp."""
    match raw:
        case None | Nil.NIL:
            pairs: Iterable[tuple[object, object]] = ()
        case str():
            pairs = json_object(raw).items()
        case dict():
            pairs = raw.items()
        case [Symbol(name=name), *_] if name.startswith(":"):
            keywords = (isinstance(key, Symbol) and key.name.startswith(":") for key in raw[::2])
            if len(raw) % 2 or not all(keywords):
                raise _unreadable("a plist has keywords and values in turns")
            pairs = zip(raw[::2], raw[1::2], strict=True)
        case list():
            pairs = map(_alist_pair, raw)
        case _:
            raise _unreadable("they are neither a plist, an alist nor a JSON object")
    given = dict[str, object]()
    for key, value in pairs:
        name = key.name if isinstance(key, Symbol) else str(key)
        given.setdefault(name.removeprefix(":").replace("-", "_"), value)
    return given


def _alist_pair(item: object) -> tuple[Symbol | str, object]:
    match item:
        case [(Symbol() | str()) as key, Symbol(name="."), value]:
            return key, value
        case [(Symbol() | str()) as key, *values]:
            return key, values or NIL
    raise _unreadable("the alist has something else where a pair should stand")


def json_object(text: str) -> dict[str, object]:
    """Parse `text` as a JSON object. Raises `ToolError`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "it is too deep, or a number in it is too long"
        if isinstance(error, json.JSONDecodeError):
            problem = f"{error.msg} at character {error.pos + 1}"
        raise _unreadable(f"the string is not JSON: {problem}") from error
    if not isinstance(value, dict):
        raise _unreadable("the JSON is not an object")
    return value


def _unreadable(reason: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"The arguments cannot be read: {reason}")
