"""Free text: its invisible characters are seen."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.render.names import prose, visible
from tests.py.examples import examples


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \"text\", 'quoted' \\ or not", "plain \"text\", 'quoted' \\ or not"),
        ("two\n  lines\r\n\tand more ", "two lines and more"),
        ("日本語\u3000の説明", "日本語 の説明"),
        ("red \x1b[31m", "red \\u001b[31m"),
        ("bidi \u202e and \u2066", "bidi \\u202e and \\u2066"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("tag \U000e0041", "tag \\udb40\\udc41"),
        ("byte \udce9", "byte \\udce9"),
        (
            "⚠\ufe0f warns, 👩\u200d💻 codes, ❤\ufe0f\u200d🔥",
            "⚠\ufe0f warns, 👩\u200d💻 codes, ❤\ufe0f\u200d🔥",
        ),
        ("a\ufe0f b\u200dc ⚠\ufe0f\ufe0f", "a\\ufe0f b\\u200dc ⚠\ufe0f\\ufe0f"),
    ],
)
def test_prose(text: str, shown: str) -> None:
    assert prose(text) == shown


def test_text_of_several_lines_keeps_them() -> None:
    assert visible("a\n\tb\u3000c\r\x07") == "a\n\tb\u3000c\\u000d\\u0007"


@examples(3)
@given(st.text())
def test_prose_is_one_line_without_controls(text: str) -> None:
    shown = prose(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    assert len(shown.splitlines()) <= 1
    if not re.search(r'[\\"]', text):
        assert json.loads(f'"{shown}"') == " ".join(text.split())
