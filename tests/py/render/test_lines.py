"""Texts that are cut to a limit of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.render.lines import (
    LEAST,
    clipped,
    cut,
    fitting,
    left_out,
    plural,
    shortened,
    size,
)

line = st.text(st.sampled_from("a é日\U0001f600"), max_size=20).map("{}\n".format)
lines = st.lists(line, max_size=12)
limits = st.integers(0, 400)


@given(lines, limits)
def test_cut_text_has_as_many_lines_as_fit(rows: list[str], limit: int) -> None:
    def end(shown: int) -> str:
        return f"{len(rows) - shown} more\n" if shown < len(rows) else ""

    text, shown = cut("head\n", rows, end, limit)
    assert text == "head\n" + "".join(rows[:shown]) + end(shown)
    assert len(text.encode()) <= limit or shown == 0
    for more in range(shown + 1, len(rows) + 1):
        longer = "head\n" + "".join(rows[:more]) + end(more)
        assert len(longer.encode()) > limit


@given(lines, limits)
def test_cut_text_counts_the_lines_left_out(rows: list[str], limit: int) -> None:
    def end(shown: int) -> str:
        return "[note]\n" + left_out(len(rows) - shown, limit)

    text, shown = cut("head\n", rows, end, limit)
    assert text == "".join(("head\n", *rows[:shown], end(shown)))
    assert size(text) <= limit or shown == 0


@given(st.text(st.sampled_from("a é日\n"), max_size=300), limits)
def test_clipped_text_keeps_within_its_limit(text: str, limit: int) -> None:
    shown = clipped(text, limit)
    limit = max(limit, LEAST)
    assert size(shown) <= limit
    if size(text) <= limit:
        assert shown == text
    elif shown.endswith(f"[cut to {limit} bytes]\n"):
        assert text.startswith(shown.removesuffix(f"[cut to {limit} bytes]\n"))
    else:
        assert shown.endswith("…")
        assert text.startswith(shown[:-1])
        assert "\n" not in shown


def test_first_line_that_leaves_no_room_for_the_note_is_cut_itself() -> None:
    assert clipped("a" * 50 + "\nb" * 20, 64) == "a" * 50 + "…"
    assert clipped("a" * 62 + "\nb" * 20, 64) == "a" * 61 + "…"


@given(st.text(max_size=50), st.integers(3, 100))
def test_shortened_text_is_a_beginning(text: str, most: int) -> None:
    shown = shortened(text, most)
    assert size(shown) <= most
    if shown != text:
        assert text.encode(errors="replace").startswith(shown[:-1].encode(errors="replace"))
        assert shown.endswith("…")


@pytest.mark.parametrize(("room", "count"), [(-1, 0), (2, 0), (3, 1), (8, 2), (12, 3), (99, 3)])
def test_first_sizes_that_fit_are_counted(room: int, count: int) -> None:
    assert fitting([3, 4, 5], room) == count


def test_noun_follows_its_number() -> None:
    assert [plural(count, "file") for count in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert plural(1, "directory", "directories") == "1 directory"
    assert plural(7, "directory", "directories") == "7 directories"


def test_line_about_rows_left_out() -> None:
    assert left_out(0, 99) == ""
    assert left_out(1, 99) == "[1 more line left out for a limit of 99 bytes]\n"
    assert left_out(2, 99, "ask") == "[2 more lines left out for a limit of 99 bytes: ask]\n"
