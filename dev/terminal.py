"""A hidden terminal: tmux runs a program and takes keys, and its screen becomes an SVG."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self
from xml.sax.saxutils import escape

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN = 8.4, 17, 14, 10
"""The size of a cell and of the font, and the margin around the screen, in pixels."""
STILL, PATIENCE = 0.4, 30
"""Seconds that a screen must not change, and maximum number of seconds to wait for it."""


# ---------------------------------------------------------------------------- the terminal


@dataclass(frozen=True, slots=True)
class Screen:
    """The rows with their escape sequences, and the column and row of a visible cursor."""

    rows: tuple[str, ...]
    columns: int
    cursor: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The rows without escape sequences and without blanks at their ends."""
        return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", row).rstrip() for row in self.rows)


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal of `columns` x `rows`. It closes at the end of its `with` block."""

    columns: int
    rows: int
    socket: str = field(default_factory=lambda: f"backstaff-picture-{os.getpid()}")

    def run(self, command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> None:
        """Start `command` in `folder`, with `variables` added to the environment."""
        settings = (f"{name}={value}" for name, value in variables.items())
        size = ("-x", str(self.columns), "-y", str(self.rows))
        self._tmux("new-session", "-d", *size, "-c", str(folder), "env", *settings, *command)
        self._tmux("set-option", "-g", "status", "off")

    def press(self, *keys: str) -> None:
        """Press `keys`, by tmux's names."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type `text`."""
        self._tmux("send-keys", "-l", text)

    def screen(self, shows: str) -> Screen:
        """Return the screen once it stands still and its text matches the regexp `shows`."""
        deadline = time.monotonic() + PATIENCE
        last, since = Screen((), self.columns), time.monotonic()
        while time.monotonic() < deadline:
            new = self._look()
            if new != last:
                last, since = new, time.monotonic()
            elif time.monotonic() - since > STILL and re.search(shows, new.text, re.MULTILINE):
                return new
            time.sleep(0.05)  # tmux has no event for a screen that was drawn
        sys.exit(f"terminal: {shows!r} never appeared, but:\n{last.text}")

    def __enter__(self) -> Self:
        """Do nothing: `run` starts the terminal."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the program in the terminal."""
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], check=False)  # noqa: S603, S607

    def _look(self) -> Screen:
        x, y, shown = self._tmux(
            "display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}"
        ).split()
        rows = self._tmux("capture-pane", "-p", "-e", "-N").split("\n")[: self.rows]
        return Screen(tuple(rows), self.columns, (int(x), int(y)) if shown == "1" else None)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-L", self.socket, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


# ---------------------------------------------------------------------------- the drawing


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a cell. A colour is six hexadecimal digits; "" is the terminal's default."""

    colour: str = ""
    ground: str = ""
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    reverse: bool = False


NAMED = ("000000", "a60000", "006800", "6f5500", "0031a9", "721045", "00538b", "e1e1e1")
BRIGHT = ("595959", "d00000", "008900", "808000", "3548cf", "a0132f", "005f5f", "ffffff")
TEXT, GROUND = 38, 48
"""The codes that come before a colour. The next code resets it."""
SIMPLE = {
    1: {"bold": True}, 3: {"italic": True}, 4: {"underlined": True}, 7: {"reverse": True},
    22: {"bold": False}, 23: {"italic": False}, 24: {"underlined": False}, 27: {"reverse": False},
}  # fmt: skip


def indexed(number: int) -> str:
    """Return the colour `number` of 256."""
    if number < 16:  # noqa: PLR2004  # the named colours, twice eight
        return (NAMED + BRIGHT)[number]
    if number >= 232:  # noqa: PLR2004  # greys
        return f"{8 + 10 * (number - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "".join(f"{levels[n]:02x}" for n in (number // 36, number // 6 % 6, number % 6))


def styled(style: Style, codes: list[int]) -> Style:
    """Return `style` after the `codes` of an escape sequence."""
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = Style()
        elif code in SIMPLE:
            style = replace(style, **SIMPLE[code])  # type: ignore[arg-type]  # names of its fields
        elif code in (TEXT, GROUND):
            kind, colour = codes.pop(0), ""
            if kind == 5:  # noqa: PLR2004  # as terminals have it: 5 is an index, 2 are levels
                colour = indexed(codes.pop(0))
            else:
                colour = "".join(f"{codes.pop(0):02x}" for _ in range(3))
            style = _coloured(style, colour, ground=code == GROUND)
        elif code in (TEXT + 1, GROUND + 1):
            style = _coloured(style, "", ground=code == GROUND + 1)
        else:
            style = _named(style, code)
    return style


def _coloured(style: Style, colour: str, *, ground: bool) -> Style:
    return replace(style, ground=colour) if ground else replace(style, colour=colour)


def _named(style: Style, code: int) -> Style:
    for first, colours in ((30, NAMED), (90, BRIGHT)):
        for ground in (False, True):
            number = code - first - 10 * ground
            if 0 <= number < len(colours):
                return _coloured(style, colours[number], ground=ground)
    return style


def cells(row: str, columns: int) -> list[tuple[str, Style]]:
    """Return the characters of `row` with their styles, filled with blanks to `columns`."""
    found: list[tuple[str, Style]] = []
    style = Style()
    for part in re.split(r"(\x1b\[[0-9;]*m)", row):
        if part.startswith("\x1b"):
            style = styled(style, [int(code or 0) for code in part[2:-1].split(";")])
        else:
            found += [(character, style) for character in part]
    found += [(" ", Style())] * (columns - len(found))
    return found[:columns]


def drawn(row: Sequence[tuple[str, Style]], text: str, ground: str) -> str:
    """Return `row` as SVG at the origin. The terminal's colours are `text` on `ground`."""
    runs: list[tuple[int, str, Style]] = []
    for column, (character, style) in enumerate(row):
        if runs and runs[-1][2] == style:
            begin, before, _ = runs[-1]
            runs[-1] = (begin, before + character, style)
        else:
            runs.append((column, character, style))
    parts = []
    for begin, run, style in runs:
        front, back = style.colour or text, style.ground or ground
        if style.reverse:
            front, back = back, front
        x, width = f"{begin * CELL_WIDTH:g}", f"{len(run) * CELL_WIDTH:g}"
        if back != ground:
            parts.append(f'<rect x="{x}" width="{width}" height="{CELL_HEIGHT}" fill="#{back}"/>')
        if run.strip():
            parts.append(_run(run, begin, style, "" if front == text else front))
    return "".join(parts)


def _run(text: str, begin: int, style: Style, colour: str) -> str:
    begin += len(text) - len(text.lstrip())
    text = text.strip()
    look = f' fill="#{colour}"' if colour else ""
    look += ' font-weight="bold"' if style.bold else ""
    look += ' font-style="italic"' if style.italic else ""
    look += ' text-decoration="underline"' if style.underlined else ""
    # The length keeps columns aligned in any font.
    length = f' textLength="{len(text) * CELL_WIDTH:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{begin * CELL_WIDTH:g}" y="13"{look}{length}>{escape(text)}</text>'


def svg(screen: Screen, text: str, ground: str) -> str:
    """Return `screen` as a picture. The terminal's colours are `text` on `ground`."""
    width = screen.columns * CELL_WIDTH + 2 * MARGIN
    height = len(screen.rows) * CELL_HEIGHT + 2 * MARGIN
    lines = []
    for number, row in enumerate(screen.rows):
        line = cells(row, screen.columns)
        if screen.cursor and screen.cursor[1] == number and screen.cursor[0] < screen.columns:
            character, style = line[screen.cursor[0]]
            line[screen.cursor[0]] = (character, replace(style, reverse=not style.reverse))
        place = f"translate({MARGIN} {MARGIN + number * CELL_HEIGHT})"
        lines.append(f'<g transform="{place}">{drawn(line, text, ground)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}"'
        f' width="{width:g}" height="{height}" font-size="{FONT_SIZE}" fill="#{text}"'
        f' xml:space="preserve" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace">\n'
        f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1}" rx="6"'
        f' fill="#{ground}" stroke="#808080"/>\n' + "\n".join(lines) + "\n</svg>\n"
    )
