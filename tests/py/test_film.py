"""The moving picture of the README: a terminal's screen as SVG."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from dev.film import CELL_WIDTH, COLUMNS, FILM, ROWS, SHOTS, Frame, Style, cells, drawn, svg

SVG = "{http://www.w3.org/2000/svg}"
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


def screens(film: str) -> Iterator[tuple[str, str]]:
    """Caption and screen of each frame that the FILM draws."""
    picture = ET.fromstring(film)  # noqa: S314  # our own
    rows = {
        f"#{row.attrib['id']}": row.findall("{*}text")
        for row in picture.iter(f"{SVG}g")
        if row.get("id")
    }
    shown: dict[int, str] = {}
    for layer in picture.findall("{*}g"):
        for use in layer.findall("{*}use"):
            row = ""
            for text in rows[use.attrib["href"]]:
                row = row.ljust(round(float(text.attrib["x"]) / CELL_WIDTH)) + (text.text or "")
            shown[int(use.attrib["y"])] = row
        yield shown[0].strip(), "\n".join(shown[y] for y in sorted(shown) if y)


def test_scenes_of_the_committed_film_show_what_their_shots_wait_for() -> None:
    # Not that today's Emacs would draw it: that shows when it is drawn anew.
    text = FILM.read_text("utf-8")
    out_of_date = "docs/backstaff.svg is out of date: python -m dev.film"
    # Each letter that is typed has a frame, and so has the end of a scene.
    wanted = [(shot, shows) for shot in SHOTS for shows in (*[""] * len(shot.text), shot.shows)]
    drawn_ones = list(screens(text))
    assert len(drawn_ones) == len(wanted), out_of_date
    for (caption, screen), (shot, shows) in zip(drawn_ones, wanted, strict=True):
        assert caption == shot.caption, out_of_date
        assert re.search(shows, screen, re.MULTILINE), (
            f"{out_of_date}\n{shows!r} is not in\n{screen}"
        )
    assert len(text) < 150_000
