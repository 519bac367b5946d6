"""Canonical JSON."""

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.fs.entry import Kind
from backstaff.render.canonical import to_json
from backstaff.result import Keyword, Rows, Verbatim

scalars = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(values)
def test_json_gives_the_value_back(value: object) -> None:
    assert json.loads(to_json(value)) == value


def test_keys_keep_their_order_and_nothing_is_blank() -> None:
    assert to_json({"b": 1, "a": [1, None, True]}) == '{"b":1,"a":[1,null,true]}'


def test_only_necessary_characters_are_escaped() -> None:
    assert to_json('"\\\b\f\n\r\t\x01\x1f/é日😀\x7f') == (
        '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f/é日😀\x7f"'
    )


def test_what_cannot_be_utf8_is_replaced() -> None:
    assert to_json(["clich\udce9", "\ud800"]) == '["clich\ufffd","\ufffd"]'


def test_words_are_strings_and_tables_are_objects() -> None:
    rows = Rows({"name": ["a", "b"], "kind": [Kind.FILE, Keyword("directory")]})
    assert to_json({"rows": rows, "more": Verbatim(x=(1, 2))}) == (
        '{"rows":[{"name":"a","kind":"file"},{"name":"b","kind":"directory"}],"more":{"x":[1,2]}}'
    )
    assert to_json(Rows({"name": []})) == "[]"
    assert to_json(MappingProxyType({"a": 1})) == '{"a":1}'


def test_what_has_no_json_form_is_a_bug() -> None:
    with pytest.raises(TypeError, match="set"):
        to_json({1, 2})
