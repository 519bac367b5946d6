"""Arguments: their forms, the values that are accepted, and the messages about others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.arguments import NIL, Parameter, ParameterType, Symbol, decode, schema
from backstaff.errors import ToolError

PARAMETERS = (
    Parameter(name="path", type=ParameterType.STRING),
    Parameter(name="show_hidden", type=ParameterType.BOOLEAN, absent=False),
    Parameter(name="depth", type=ParameterType.INTEGER, minimum=0, maximum=12),
    Parameter(name="share", type=ParameterType.NUMBER),
    Parameter(name="page", type=ParameterType.NUMBER, minimum=1),
    Parameter(name="tokens", type=ParameterType.NUMBER, maximum=9),
    Parameter(name="exclude", type=ParameterType.ARRAY, absent=()),
    Parameter(name="order", type=ParameterType.STRING, choices=("name", "size")),
)
DOT = Symbol(".")


def key(name: str) -> Symbol:
    return Symbol(f":{name}")


def given_values(raw: object) -> dict[str, object]:
    """Return the decoded `raw`, without the arguments that were not given."""
    values, _ = decode(PARAMETERS, raw)
    absent, _ = decode(PARAMETERS, None)
    return {name: value for name, value in values.items() if value != absent[name]}


def refusal(raw: object, parameters: Sequence[Parameter] = PARAMETERS) -> ToolError:
    with pytest.raises(ToolError) as caught:
        decode(parameters, raw)
    return caught.value


# ---------------------------------------------------------------------------- forms


@pytest.mark.parametrize(
    "raw",
    [
        [key("path"), "a", key("show_hidden"), True],
        [key("path"), "a", key("show-hidden"), True],
        [[Symbol("path"), DOT, "a"], [Symbol("show-hidden"), DOT, True]],
        [[key("path"), DOT, "a"], [key("show_hidden"), DOT, True]],
        [["path", DOT, "a"], ["show_hidden", DOT, True]],
        {"path": "a", "show_hidden": True},
        {"path": "a", "show-hidden": True},
        '{"path": "a", "show_hidden": true}',
        ' {"show_hidden": true, "path": "a", "depth": null} ',
    ],
)
def test_every_form_of_arguments_is_understood(raw: object) -> None:
    assert given_values(raw) == {"path": "a", "show_hidden": True}


@pytest.mark.parametrize("raw", [None, NIL, {}, "{}", []])
def test_no_arguments_are_no_arguments(raw: object) -> None:
    assert given_values(raw) == {}


@pytest.mark.parametrize(
    "raw",
    [
        [key("path"), "first", key("path"), "second"],
        [[Symbol("path"), DOT, "first"], [Symbol("path"), DOT, "second"]],
    ],
)
def test_first_of_a_duplicate_counts_in_lisp(raw: object) -> None:
    assert given_values(raw) == {"path": "first"}


@pytest.mark.parametrize("name", ["show_hidden", "show-hidden"])
def test_both_spellings_of_one_name_are_one_argument(name: str) -> None:
    raw = [key(name), True, key("show_hidden"), False, key("show-hidden"), False]
    assert given_values(raw) == {"show_hidden": True}


def test_pair_of_an_alist_may_be_a_list() -> None:
    raw = [[Symbol("exclude"), "a", "b"], [Symbol("show_hidden")], [Symbol("path"), DOT, NIL]]
    assert given_values(raw) == {"exclude": ("a", "b")}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([key("path")], "keywords and values in turns"),
        ([key("path"), "a", Symbol("depth"), 1], "keywords and values in turns"),
        ([key("path"), "a", "depth", 1], "keywords and values in turns"),
        (["path", "a"], "where a pair should stand"),
        ([[1, DOT, 2]], "where a pair should stand"),
        ([[]], "where a pair should stand"),
        ([[Symbol("path"), DOT, "a"], NIL], "where a pair should stand"),
        (7, "neither a plist, an alist nor a JSON object"),
        (True, "neither a plist, an alist nor a JSON object"),
        (Symbol("x"), "neither a plist, an alist nor a JSON object"),
        ("", "not JSON: Expecting value"),
        ("{", "not JSON: Expecting property name"),
        ('{"path": "a"} x', "not JSON: Extra data"),
        ("[" * 100_000, "not JSON: it is too deep, or"),
        ('{"depth": %s}' % ("9" * 5000), "or a number in it is too long"),
        ("[]", "the JSON is not an object"),
        ("null", "the JSON is not an object"),
    ],
)
def test_unreadable_arguments_are_refused(raw: object, words: str) -> None:
    error = refusal(raw)
    assert error.code == "INVALID_ARGUMENT"
    assert error.message.startswith("The arguments cannot be read: ")
    assert words in error.message


# ---------------------------------------------------------------------------- values


@pytest.mark.parametrize("false", [False, NIL])
def test_nil_is_false_for_a_boolean(false: object) -> None:
    values, _ = decode(PARAMETERS, [key("show_hidden"), false])
    assert values["show_hidden"] is False


def test_nil_is_an_empty_array_for_an_array() -> None:
    parameter = Parameter(name="exclude", type=ParameterType.ARRAY, absent=("x",))
    assert decode((parameter,), [key("exclude"), NIL])[0] == {"exclude": ()}
    assert decode((parameter,), [key("exclude"), None])[0] == {"exclude": ("x",)}


@pytest.mark.parametrize("name", ["path", "depth", "share", "page", "order"])
@pytest.mark.parametrize("nothing", [NIL, None])
def test_nil_and_null_are_absent_otherwise(name: str, nothing: object) -> None:
    assert given_values([key(name), nothing]) == {}


@pytest.mark.parametrize(
    ("name", "value", "understood"),
    [
        ("path", "", ""),
        ("path", "a\nb\udce9", "a\nb\udce9"),
        ("depth", 3, 3),
        ("depth", 3.0, 3),
        ("depth", 0, 0),
        ("depth", -0.0, 0),
        ("share", 2.0, 2),
        ("share", -7, -7),
        ("page", 2.0, 2),
        ("exclude", [], ()),
        ("exclude", ["a", "b"], ("a", "b")),
        ("order", "size", "size"),
    ],
)
def test_value_that_fits_is_taken(name: str, value: object, understood: object) -> None:
    values, unknown = decode(PARAMETERS, {name: value})
    assert values[name] == understood
    assert type(values[name]) is type(understood)
    assert unknown == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("path", 3, "Argument 'path' must be a string, not the number 3"),
        ("path", True, "Argument 'path' must be a string, not true"),
        ("path", False, "Argument 'path' must be a string, not false"),
        ("path", ["a"], "Argument 'path' must be a string, not a list"),
        ("path", {"a": 1}, "Argument 'path' must be a string, not an object"),
        ("path", Symbol("a"), "Argument 'path' must be a string, not a symbol"),
        ("show_hidden", 1, "Argument 'show_hidden' must be true or false, not the number 1"),
        ("show_hidden", "true", "Argument 'show_hidden' must be true or false, not a string"),
        (
            "show_hidden",
            [],
            "Argument 'show_hidden' must be true or false, not a list",
        ),
        ("depth", "3", "Argument 'depth' must be a whole number, not a string"),
        ("depth", True, "Argument 'depth' must be a whole number, not true"),
        ("depth", 1.5, "Argument 'depth' must be a whole number, not the number 1.5"),
        ("depth", 13, "Argument 'depth' must be from 0 to 12, but it is 13"),
        ("depth", -1, "Argument 'depth' must be from 0 to 12, but it is -1"),
        ("depth", 10**400, "Argument 'depth' must be a whole number, not a huge number"),
        ("depth", float("inf"), "Argument 'depth' must be a whole number, not a huge number"),
        ("share", float("-inf"), "Argument 'share' must be a whole number, not a huge number"),
        ("share", float("nan"), "Argument 'share' must be a whole number, not the number nan"),
        ("share", -(10**400), "Argument 'share' must be a whole number, not a huge number"),
        ("share", False, "Argument 'share' must be a whole number, not false"),
        ("page", 1.5, "Argument 'page' must be a whole number, not the number 1.5"),
        ("page", 0, "Argument 'page' must be at least 1, but it is 0"),
        ("tokens", 10, "Argument 'tokens' must be at most 9, but it is 10"),
        ("exclude", "a", "Argument 'exclude' must be a list of strings, not a string"),
        (
            "exclude",
            ["a", 1],
            "Argument 'exclude' must be a list of strings, not a list of other things",
        ),
        (
            "exclude",
            [NIL],
            "Argument 'exclude' must be a list of strings, not a list of other things",
        ),
        ("exclude", True, "Argument 'exclude' must be a list of strings, not true"),
        ("order", "Size", "Argument 'order' must be one of 'name', 'size'"),
        ("order", "", "Argument 'order' must be one of 'name', 'size'"),
    ],
)
def test_misfit_is_named_with_the_accepted_values(name: str, value: object, message: str) -> None:
    error = refusal({name: value})
    assert (error.code, error.message) == ("INVALID_ARGUMENT", message)


# ---------------------------------------------------------------------------- of models


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        *(("depth", "3", 3), ("depth", " 3 ", 3), ("depth", "0", 0), ("share", "-2", -2)),
        *(("page", 0, None), ("page", "0", None), ("page", "", None), ("depth", "", None)),
        *(("show_hidden", "true", True), ("show_hidden", "False", False)),
        *(("show_hidden", "", False), ("path", "", None), ("order", "", None)),
        *(("path", "3", "3"), ("path", "true", "true"), ("path", '["a"]', '["a"]')),
        *(("exclude", '["*.py", "a"]', ("*.py", "a")), ("exclude", "*.py", ("*.py",))),
        *(("exclude", "", ()), ("exclude", "[]", ()), ("exclude", "[ab]*", ("[ab]*",))),
    ],
)
def test_value_in_a_models_form_is_understood(name: str, value: object, meant: object) -> None:
    values, _ = decode(PARAMETERS, {name: value}, of_model=True)
    assert values[name] == meant
    assert type(values[name]) is type(meant)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("depth", "three"), ("depth", "3.5"), ("depth", "99"), ("depth", False), ("page", False)),
        *(("depth", "9" * 30), ("show_hidden", "yes"), ("show_hidden", 1), ("order", "date")),
        *(("exclude", "[1]"), ("exclude", [1]), ("path", 3), ("path", ["a"])),
    ],
)
def test_value_that_no_form_explains_is_refused_from_models_too(name: str, value: object) -> None:
    with pytest.raises(ToolError):
        decode(PARAMETERS, {name: value}, of_model=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("depth", "3"), ("show_hidden", "true"), ("exclude", "*.py"), ("page", 0), ("order", "")],
)
def test_program_has_to_send_the_right_types(name: str, value: object) -> None:
    assert name in str(refusal({name: value}))


def test_json_numbers_without_a_value_are_refused() -> None:
    for text in ("NaN", "Infinity", "1e999"):
        assert "must be a whole number" in refusal(f'{{"share": {text}}}').message


def test_missing_argument_is_named() -> None:
    parameter = Parameter(name="path", type=ParameterType.STRING, required=True)
    for raw in (None, {}, {"path": None}, [key("path"), NIL]):
        assert refusal(raw, (parameter,)).message == "Missing required argument 'path'"


def test_parameter_has_its_own_error_code() -> None:
    parameter = Parameter(
        name="path", type=ParameterType.STRING, required=True, code="BadArgs", choices=("a",)
    )
    assert {refusal(raw, (parameter,)).code for raw in ({}, {"path": 1}, {"path": "b"})} == {
        "BadArgs"
    }


def test_omitted_argument_falls_back_to_setting_then_default_then_absent() -> None:
    @dataclass
    class Settings:
        most: int = 200

    parameters = (
        Parameter(name="a", type=ParameterType.INTEGER, setting="most", default=7),
        Parameter(name="b", type=ParameterType.INTEGER, default=7, absent=8),
        Parameter(name="c", type=ParameterType.INTEGER, absent=8),
        Parameter(name="d", type=ParameterType.INTEGER),
    )
    assert decode(parameters, None, Settings())[0] == {"a": 200, "b": 7, "c": 8, "d": None}


def test_unknown_arguments_are_ignored_and_named() -> None:
    values, unknown = decode(PARAMETERS, {"path": "a", "root": "/", "Depth": 99, "a-b": 1})
    assert values["depth"] is None
    assert "root" not in values
    assert unknown == ["Depth", "a_b", "root"]


def test_name_of_an_unknown_argument_cannot_forge_a_line() -> None:
    _, unknown = decode(PARAMETERS, {"a\n[DIR]  b\x1b\u202e": 1})
    assert unknown == ['"a\\n[DIR]  b\\u001b\\u202e"']


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
names = st.sampled_from([parameter.name for parameter in PARAMETERS])


@given(st.dictionaries(names, json_values))
def test_any_json_is_understood_or_refused_and_alike_in_both_forms(raw: dict[str, object]) -> None:
    def outcome(form: object) -> object:
        try:
            return decode(PARAMETERS, form)
        except ToolError as error:
            return error.message

    assert outcome(raw) == outcome(json.dumps(raw))


# ---------------------------------------------------------------------------- the published form


def test_schema_publishes_the_enforced_limits() -> None:
    parameters = (
        Parameter(name="path", type=ParameterType.STRING, required=True, description="Where"),
        *PARAMETERS[2:3],
        *PARAMETERS[6:],
        Parameter(name="size", type=ParameterType.NUMBER, default=20),
    )
    assert schema(parameters) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where"},
            "depth": {"type": "integer", "minimum": 0, "maximum": 12},
            "exclude": {"type": "array", "items": {"type": "string"}},
            "order": {"type": "string", "enum": ["name", "size"]},
            "size": {"type": "number", "default": 20},
        },
        "required": ["path"],
    }


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"description": "Path."}, "Path."),
        ({"help": "Path."}, "Path."),
        (
            {"description": "Pages", "default": 10, "minimum": 1, "maximum": 100},
            "Pages (default 10; at most 100)",
        ),
        (
            {"description": "Pages (1-indexed).", "default": 1, "minimum": 1},
            "Pages (1-indexed; default 1)",
        ),
        (
            {"description": "Depth (default: 3).", "default": 3, "maximum": 12},
            "Depth (default: 3; at most 12)",
        ),
        (
            {"description": "Depth (default: 3).", "default": 3, "limits": (0, 12)},
            "Depth (default: 3; at most 12)",
        ),
        ({"description": "Depth (default: 3).", "default": 3}, "Depth (default: 3)."),
        ({"description": "Where.", "default": "."}, "Where."),
        ({"description": "Deep.", "default": True}, "Deep (default true)"),
        ({"description": "Deep.", "default": False}, "Deep."),
        (
            {"description": "Skip.", "default": 0, "minimum": 0, "maximum": 9},
            "Skip (at most 9)",
        ),
        ({"description": "Skip.", "minimum": 0, "maximum": 1_000_000}, "Skip."),
        ({"description": "Least.", "minimum": 2}, "Least (at least 2)"),
    ],
)
def test_description_for_models_has_default_and_limits(facts: dict[str, Any], text: str) -> None:
    assert Parameter(name="x", type=ParameterType.NUMBER, **facts).described() == text
