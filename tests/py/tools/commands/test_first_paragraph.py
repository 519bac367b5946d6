"""The first paragraph of a Markdown text, which describes a command without a description."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.tools.commands._commands import first_paragraph
from tests.py.examples import examples


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n\n",
        "# Heading\n",
        "###### Heading\n\n",
        "Heading\n===\n",
        "***\n",
        "- - -\n",
        "- item\n\n",
        "- item\n  goes on\n* item\n+ item\n\n",
        "- item\nlazily\n\n",
        "- item\n\n  goes on\n\n",
        "12) item\n    deeper\n\n",
        "> quote\n\n",
        "> quote\nlazily\n\n",
        "```lisp\n(code)\n\n# no heading\n```\n",
        "~~~\n```\n~~~\n",
        "    code\n\n    code\n\n",
        "\tcode\n\n",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n",
        "<div>\ntext\n</div>\n\n",
        "<!-- a\n\ncomment -->\n",
        "<!-- a comment -->\n",
        "[label]: /target 'title'\n\n",
        "[a]: b\n[c]: d\n\n",
    ],
)
def test_what_is_no_paragraph_is_passed_over(before: str) -> None:
    text = f"{before}The *first*\n  paragraph.\n\nThe second."
    assert first_paragraph(text) == "The *first*\nparagraph."


def test_paragraph_can_begin_with_some_blanks() -> None:
    assert first_paragraph("\n\n  Text\n") == first_paragraph("# h\n   Text") == "Text"


@pytest.mark.parametrize("after", ["\n", "# h", "***", "- x", "> x", "```", "<!-- -->", "| a |"])
def test_what_ends_a_paragraph(after: str) -> None:
    assert first_paragraph(f"Text\n{after}\nmore") == "Text"


@pytest.mark.parametrize("after", ["#x", "-x", "a - b", "`` ` ``"])
def test_what_does_not_end_a_paragraph(after: str) -> None:
    assert first_paragraph(f"Text\n{after}\n\nmore") == f"Text\n{after}"


@pytest.mark.parametrize("text", ["", "# Title", "- a\n- b\n", "```\nnever closed\n", "[a]: b\n"])
def test_nothing_is_found_where_there_is_no_paragraph(text: str) -> None:
    assert first_paragraph(text) == ""


@examples(2)
@given(st.text(alphabet="a #-*+>|<!`~=[]:1.)\t\n\r\u3000"))
def test_a_paragraph_is_made_of_lines_of_the_text(text: str) -> None:
    lines = {line.strip() for line in text.split("\n")}
    found = first_paragraph(text)
    assert not found or set(found.split("\n")) <= lines - {""}
