"""The pictures of README and manual: a terminal's screen as SVG."""

import re
import xml.etree.ElementTree as ET

import pytest

from dev.pictures import COLUMNS, DOCS, PICTURES
from dev.terminal import CELL_WIDTH, Style, cells, drawn

SVG = "{http://www.w3.org/2000/svg}"


def test_escape_sequences_become_styles() -> None:
    row = cells("a\x1b[1;31mb\x1b[0;48;5;231mc\x1b[38;2;1;2;255;7md\x1b[39;49;27me", 7)
    assert [character for character, _ in row] == list("abcde  ")
    assert [style for _, style in row[:5]] == [
        Style(),
        Style(colour="a60000", bold=True),
        Style(ground="ffffff"),
        Style(colour="0102ff", ground="ffffff", reverse=True),
        Style(),
    ]


def test_row_keeps_its_columns_and_its_names() -> None:
    row = ET.fromstring(f"<g>{drawn(cells('  <a> &', 7), '000000', 'ffffff')}</g>")  # noqa: S314  # our own
    (text,) = row.findall("text")
    assert text.text == "<a> &"
    assert float(text.attrib["x"]) / float(text.attrib["textLength"]) == 2 / 5


def shown(picture: str) -> str:
    """Return the text of the screen that `picture` shows."""
    rows = []
    for group in ET.fromstring(picture).iter(f"{SVG}g"):  # noqa: S314  # our own
        row = ""
        for text in group.findall(f"{SVG}text"):
            row = row.ljust(round(float(text.attrib["x"]) / CELL_WIDTH)) + (text.text or "")
        rows.append(row)
    return "\n".join(rows)


@pytest.mark.parametrize("name", PICTURES)
def test_committed_pictures_show_the_text_that_their_script_waits_for(name: str) -> None:
    # This does not show that today's Emacs would draw the same.
    picture = PICTURES[name]
    texts = {shown((DOCS / f"{name}-{kind}.svg").read_text("utf-8")) for kind in picture.kinds}
    out_of_date = f"docs/{name}-*.svg are out of date: python -m dev.pictures {name}"
    assert len(texts) == 1, out_of_date
    (text,) = texts
    rows = text.split("\n")
    assert len(rows) == picture.rows, out_of_date
    assert max(len(row) for row in rows) <= COLUMNS, out_of_date
    assert re.search(picture.shows, text, re.MULTILINE), f"{out_of_date}\n{text}"
