"""The moving picture of the README: a terminal's screen as SVG."""

import re
import xml.etree.ElementTree as ET

from dev.film import COLUMNS, FILM, ROWS, SHOTS, Frame, Style, cells, drawn, svg

BLANK = ("0 0 0", *[""] * ROWS)


def test_escape_sequences_become_styles() -> None:
    row = cells("a\x1b[1;31mb\x1b[0;48;5;231mc\x1b[38;2;1;2;255;7md\x1b[39;49;27me")
    assert [character for character, _ in row[:5]] == list("abcde")
    assert [style for _, style in row[:5]] == [
        Style(),
        Style(colour="a60000", bold=True),
        Style(ground="ffffff"),
        Style(colour="0102ff", ground="ffffff", reverse=True),
        Style(),
    ]
    assert len(row) == COLUMNS


def test_row_keeps_its_columns_and_its_names() -> None:
    row = ET.fromstring(f"<g>{drawn(cells('  <a> &'))}</g>")  # noqa: S314  # our own
    (text,) = row.findall("text")
    assert text.text == "<a> &"
    assert float(text.attrib["x"]) / float(text.attrib["textLength"]) == 2 / 5


def test_frame_draws_only_the_rows_that_differ() -> None:
    second = ("0 0 0", "new", *BLANK[2:])
    film = [Frame("caption", BLANK, 1), Frame("caption", second, 3)]
    picture = ET.fromstring(svg(film))  # noqa: S314  # our own
    layers = picture.findall("{*}g")
    assert [len(layer.findall("{*}use")) for layer in layers] == [1 + ROWS, 1]
    assert layers[0].get("visibility") is None
    (moves,) = layers[1].findall("{*}animate")
    assert (moves.get("keyTimes"), moves.get("dur")) == ("0;0.2500", "4s")


def test_committed_film_plays_the_shots_and_is_small() -> None:
    text = FILM.read_text("utf-8")
    ET.fromstring(text)  # noqa: S314  # our own
    captions = re.findall(r'font-weight="bold">([^<]*)</text></g>', text)
    said = dict.fromkeys(shot.caption for shot in SHOTS)
    assert list(said) == [caption for caption in captions if caption in said], (
        "docs/backstaff.svg is out of date: python -m dev.film"
    )
    assert len(text) < 150_000
