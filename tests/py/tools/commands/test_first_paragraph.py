"""The first paragraph of a Markdown text, against CommonMark's rules and another implementation."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from backstaff.tools.commands._paragraph import MAX_DEPTH, MAX_LINES, first_paragraph
from tests.py.examples import examples

MARKDOWN = MarkdownIt("commonmark").enable("table")


def first(text: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(first_paragraph(text).split())


def expected(text: str) -> str:
    """The same by markdown-it-py."""
    tokens = MARKDOWN.parse(text)
    found = (
        " ".join(tokens[number + 1].content.split())
        for number, token in enumerate(tokens)
        if token.type == "paragraph_open" and token.level == 0
    )
    return next(filter(None, found), "")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n\n",
        "# Heading\n",
        "Heading\n===\n",
        "Heading\nof two lines\n---\n",
        "***\n",
        "- - -\n",
        "- item\n\n  goes on\n\n",
        "- item\nlazily\n\n",
        "-\n\n",
        "12) item\n    deeper\n\n",
        "> quote\n\n",
        "> quote\nlazily\n\n",
        "> - both\n>\n>   go on\n\n",
        "```lisp\n(code)\n\n# no heading\n```\n",
        "~~~\n```\n~~~\n",
        "    code\n\n    code\n\n",
        "\tcode\n",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n",
        "a | b\n-|-\n1 | 2\n\n",
        "<div>\ntext\n</div>\n\n",
        "<!-- a\n\ncomment -->\n",
        "<?php\n\n?>\n",
        "<!DOCTYPE html>\n",
        "<![CDATA[\n\n]]>\n",
        "<pre>\n\n</pre>\n",
        "<x-y a='b' c>\ntext\n\n",
        "[label]: /target 'title'\n\n",
        "[label]:\n  <target>\n  'title'\n\n",
        "[a]: b\n[c]: d\n",
    ],
)
def test_what_is_no_paragraph_is_passed_over(before: str) -> None:
    assert first(f"{before}The *first*\n  paragraph.\n\nThe second.") == "The *first* paragraph."
    assert expected(f"{before}The *first*\n  paragraph.") == "The *first* paragraph."


@pytest.mark.parametrize(
    "after",
    ["\n", "# h", "***", "- x", "1. x", "> x", "```", "<div>", "<!-- -->", "| a |\n|---|"],
)
def test_what_ends_a_paragraph(after: str) -> None:
    assert first(f"Text\n{after}\nmore") == "Text"


@pytest.mark.parametrize(
    "after", ["#x", "-x", "-", "2. x", "    code", "<b>", "[a]: b", "``` `", "|---|"]
)
def test_what_does_not_end_a_paragraph(after: str) -> None:
    if after != "-":
        assert first(f"Text\n{after}\n\nmore") == f"Text {' '.join(after.split())}"
    assert first(f"Text\n{after}\n\nmore") == expected(f"Text\n{after}\n\nmore")


def test_nothing_is_found_where_there_is_no_paragraph() -> None:
    for text in ("", "# Title", "- a\n- b\n", "```\nnever closed\n", "[a]: b\n"):
        assert first_paragraph(text) == ""


def test_only_so_many_lines_are_looked_at() -> None:
    assert first("\n" * (MAX_LINES - 1) + "Text") == "Text"
    assert first_paragraph("\n" * MAX_LINES + "Text") == ""


def test_containers_beyond_the_bound_are_text() -> None:
    assert first(">" * 10_000 + "\n\nText") == "Text"
    assert first("> " * MAX_DEPTH + "quote\n\nText") == "Text"


MARKERS = st.sampled_from(("", "", "", " ", "   ", "> ", ">", "- ", "1. ", "  ", "\t"))
TEXTS = st.sampled_from(
    (
        *("word", "two words", "", "", "# h", "#no", "---", "===", "- item", "* * *", "-", "-   x"),
        *("1. one", "2. two", "10) ten", "> q", "```", "~~~", "    code", "      deep", "\ttab"),
        *("<div>", "</div>", "<!-- c", "-->", "<b>x</b>", "<span>", "<?php", "?>", "  text"),
    )
)
# Definitions and tables stand alone: within other blocks, the implementations differ among
# themselves.
BLOCKS = st.sampled_from(
    (
        "[x]: /u\n",
        "[x]: /u 'title\nmore'\n",
        "\n| a | b |\n|---|---|\n| 1 | 2 |",
        "word\n| a |\n|---|",
        "| a | b |\n|---|\nx",
    )
)
DOCUMENTS = st.lists(st.one_of(st.builds("{}{}".format, MARKERS, TEXTS), BLOCKS), max_size=9)


@examples(5)
@given(DOCUMENTS)
@example(["- ", "      ", "   text"])
@example(["1. - a", "", "     b", "", "  c"])
def test_paragraph_is_that_of_markdown_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert first(text) == expected(text)


@examples(2)
@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    first_paragraph(text)
