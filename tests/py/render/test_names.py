"""The one rule for names in text."""

import json
import os
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.render.names import (
    is_plain,
    literal,
    lossy,
    quote,
    show,
    show_all,
)

pieces = st.text(max_size=3).map(str.encode) | st.binary(max_size=2)
file_names = st.lists(pieces, max_size=6).map(b"".join).map(os.fsdecode)
"""Names that a file system may hold, undecodable bytes included."""

DEFAULT_IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\ufe00\ufe0f\uffa0"


def is_visible(character: str) -> bool:
    """Whether `character` has a form of its own, by the tables of this Python."""
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}:
        return character == " "
    code = ord(character)
    return not (
        character in DEFAULT_IGNORABLE
        or 0xFDD0 <= code <= 0xFDEF
        or code & 0xFFFE == 0xFFFE
        or 0xE0000 <= code <= 0xE0FFF
    )


@pytest.mark.check(24)
def test_no_invisible_character_stands_bare() -> None:
    invisible = (chr(code) for code in range(sys.maxunicode + 1) if not is_visible(chr(code)))
    assert [f"U+{ord(bare):04X}" for bare in invisible if is_plain(f"a{bare}b")] == []


@pytest.mark.check(24)
@pytest.mark.parametrize(
    "name",
    [
        "a\nb",
        "a\rb",
        "a\tb",
        "\x1b[2J",
        "\x1b]52;c;eA==\x07",
        "a\x85b",
        "a\x9bb",
        "a\x7f",
        "\u202etxt.exe",
        "\u2066a",
        "a\u200bb",
        "a\u200d",
        "a\u2028b",
        "a\u2029b",
        "a\xa0b",
        "a\u3000b",
        "a\xadb",
        "\ufeffa",
        "a\ufe0f",
        "\U000e0041",
        "\U0001d173",
        "\U0001fffe",
        "\udce9",
        "[DIR]  foo",
        "[FILE] foo",
        "(4.2 KB)",
        "x   (4.2 KB)",
        "<b>",
        "'a'",
        'a"b',
        "a\\b",
        " lead",
        "trail ",
        "two  blanks",
        "-rf",
        "\u0301a",
        "\u20dda",
        "\u0903a",
        "",
    ],
)
def test_odd_name_is_quoted(name: str) -> None:
    assert show(name) == literal(name)
    assert show(name).startswith('"')


@pytest.mark.check(26)
@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "a b",
        "it's",
        "~root",
        "$HOME",
        "%s",
        "#a#",
        "a[1]",
        "x(1)",
        "a-b",
        "]",
        ".git",
        "C:",
        "日本語",
        "한국어",
        "cliché",
        "cliche\u0301",
        "Ω",
        "😀",
        "नमस्ते",
        "\ue000",
        "a&b;c|d`e`",
    ],
)
def test_plain_visible_name_stands_bare(name: str) -> None:
    assert show(name) == name


def test_every_visible_ascii_name_but_the_dangerous_stands_bare() -> None:
    quoted = {chr(code) for code in range(33, 127) if not is_plain(chr(code))}
    assert quoted == set("[(<\"'-\\")


@given(file_names)
def test_shown_name_is_one_line_of_visible_characters(name: str) -> None:
    assert all(map(is_visible, show(name)))
    assert "\n" not in show(name)


@given(file_names)
def test_shown_name_gives_the_name_back(name: str) -> None:
    shown = show(name)
    assert (json.loads(shown) if shown.startswith('"') else shown) == name


@given(st.lists(file_names | st.sampled_from(["plain", "a.py", "two\nplain", "bad\n", ""])))
def test_many_names_are_shown_as_each_is(names: list[str]) -> None:
    assert list(show_all(names)) == [show(name) for name in names]


@pytest.mark.check(25)
@given(file_names)
def test_shown_name_cannot_forge_a_row(name: str) -> None:
    shown = show(name)
    assert not shown.startswith(("[", "(", "-", " ", "<", "'"))
    assert shown.startswith('"') or ("  " not in shown and not shown.endswith(" "))


@given(file_names)
def test_literal_is_json_on_one_visible_line(name: str) -> None:
    assert json.loads(literal(name)) == name
    assert all(map(is_visible, literal(name)))


def test_astral_character_is_escaped_as_json_does() -> None:
    assert literal("\U000e0041") == '"\\udb40\\udc41"'
    assert literal("\x07") == '"\\u0007"'


@given(file_names)
def test_quoted_argument_is_one_visible_line(text: str) -> None:
    assert all(map(is_visible, quote(text)))


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("src/a.lisp", "'src/a.lisp'"),
        ("", "''"),
        ("a b ", "'a b '"),
        ('say "x"', "'say \"x\"'"),
        ("it's", '"it\'s"'),
        ("a\n[DIR]  b", '"a\\n[DIR]  b"'),
        ("clich\udce9", '"clich\\udce9"'),
    ],
)
def test_argument_is_echoed_as_given_where_that_is_safe(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("plain", "plain"),
        ("日本", "日本"),
        ("clich\udce9", "clich\ufffd"),
        ("\udce9\udcff", "\ufffd\ufffd"),
        ("\ud800", "\ufffd"),
        ("\udbff.", "\ufffd."),
        ("é\udce9é", "é\ufffdé"),
    ],
)
def test_lossy_text_is_valid_unicode(text: str, valid: str) -> None:
    assert lossy(text) == valid


@given(st.text(st.characters()))
def test_lossy_text_can_be_encoded(text: str) -> None:
    lossy(text).encode()  # does not raise
