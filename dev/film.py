"""`python -m dev.film`: draws docs/backstaff.svg, a terminal's Emacs that plays the scenes below.

tmux is the terminal. A frame is its screen when that has stood still, so that a slow machine draws
the same film. The project is this repository at a fixed commit, and the same Emacs draws the same
bytes. A viewer that does not move pictures shows the first frame.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

PROJECT = Path(__file__).parents[1]
FILM = PROJECT / "docs" / "backstaff.svg"
COMMIT = "b4ac017"
"""The commit of this repository that the film shows. The newest would change the film each day."""
PLACE = Path("/tmp/demo")  # noqa: S108  # the film shows it, so it must not change; made anew
COLUMNS, ROWS = 104, 28
CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, BAR = 8.4, 17, 14, 34
"""The size of a cell, of the font, and of the bar with the caption above the screen, in pixels."""
STILL, PATIENCE = 0.4, 30
"""How many seconds a screen has to stand still, and for how long to wait for it."""
SOCKET = f"backstaff-film-{os.getpid()}"

EMACS = """(progn
  (setq inhibit-startup-screen t inhibit-x-resources t ring-bell-function 'ignore
        backstaff-server-command (list (getenv "BACKSTAFF_PYTHON") "-I" (getenv "FILM_MAIN"))
        make-backup-files nil auto-save-default nil pop-up-windows nil
        enable-local-variables nil
        backstaff-tree-depth 1)
  (setq-default mode-line-format '("  %b   (" mode-name ")"))
  (menu-bar-mode -1)
  (global-eldoc-mode -1)
  (load-theme 'modus-operandi t)
  (setq icomplete-show-matches-on-no-input t icomplete-compute-delay 0
        icomplete-prospects-height 12)
  (icomplete-vertical-mode)
  (require 'backstaff-ui-view)
  (global-set-key (kbd "C-c b") backstaff-map)
  (defun film-model ()
    (interactive)
    (backstaff-view-open 'backstaff-inspector-mode
                         (list :root (backstaff-command-root) :path "." :forms '(text)
                               :tool "workspace/tree"
                               :arguments '(:path "." :entry_kind "all"
                                            :max_depth 5 :max_entries 150))))
  (global-set-key (kbd "C-c a") 'film-model))"""


@dataclass(frozen=True, slots=True)
class Shot:
    """One scene. `text` is typed letter by letter; then `keys` are pressed, in tmux's names.

    The scene ends when the screen matches the regexp `shows`, for example "─ wire/". `caption`
    stands above the screen, and the last frame stays for `seconds`.
    """

    caption: str
    keys: tuple[str, ...]
    shows: str
    seconds: float
    text: str = ""


SHOTS = (
    Shot("C-c b o   the project on a page: what to read, where people work", ("C-c", "b", "o"),
         "read first", 5),
    Shot("C-c b f   a file by parts of its name", ("C-c", "b", "f"), "Find file", 0.8),
    Shot("C-c b f   a file by parts of its name", (), "^tests/", 2.5,
         text="tree test"),
    Shot("RET   visits the best", ("Enter",), r"^\"\"\"|^;;;", 2),
    Shot("C-c b /   the lines that match, in the whole project", ("C-c", "b", "/"),
         "Search for Python regexp", 0.8),
    Shot("C-c b /   the lines that match, in the whole project", (), "Enum$", 0.5,
         text="class .*Enum"),
    Shot("C-c b /   the lines that match, and what was not searched", ("Enter",),
         "Search finished", 4),
    Shot("C-c b t   the tree of the project", ("C-c", "b", "t"), "─ py_backend/", 1.5),
    Shot("TAB   opens a directory, and folds it", ("n", "n", "n", "n", "Tab"), "_remote/", 1),
    Shot("TAB   opens a directory, and folds it", ("n", "Tab"), "─ wire/", 2.5),
    Shot("C-c b m   all commands, and all tools with their arguments", ("C-c", "b", "m"),
         "Doctor|doctor", 3),
    Shot("What a model reads: one line for each directory", ("C-g", "C-c", "a"),
         "^Tree of", 6),
)  # fmt: skip


# ---------------------------------------------------------------------------- the terminal


def tmux(*arguments: str) -> str:
    """What tmux prints."""
    command = ["tmux", "-u", "-f", "/dev/null", "-L", SOCKET, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def start(home: Path) -> None:
    """Start Emacs in a terminal, on the project in HOME."""
    folder = PLACE / "backstaff"
    clone = ["git", "clone", "--quiet", "--no-hardlinks", str(PROJECT), str(folder)]
    subprocess.run(clone, check=True)  # noqa: S603
    checkout = ["git", "-C", str(folder), "checkout", "--quiet", "-B", "main", COMMIT]
    if subprocess.run(checkout, check=False).returncode:  # noqa: S603
        sys.exit(f"film: the repository has no commit {COMMIT}; name another in dev/film.py")
    settings = {
        "HOME": str(home),
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "BACKSTAFF_PYTHON": sys.executable,
        "FILM_MAIN": str(PROJECT / "py_backend" / "backstaff" / "__main__.py"),
    }
    emacs = [os.environ.get("EMACS", "emacs"), "-Q", "-nw", "-L", str(PROJECT / "elisp")]
    tmux(
        "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(folder),
        "env", *(f"{name}={value}" for name, value in settings.items()),
        *emacs, "--eval", EMACS, "README.md",
    )  # fmt: skip
    tmux("set-option", "-g", "status", "off")


def screen(shows: str) -> tuple[str, ...]:
    """The rows, with escape sequences and the cursor, when they show SHOWS and stand still."""
    deadline = time.monotonic() + PATIENCE
    last: tuple[str, ...] = ()
    since = time.monotonic()
    while time.monotonic() < deadline:
        place = tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").strip()
        rows = (place, *tmux("capture-pane", "-p", "-e", "-N").split("\n")[:ROWS])
        if rows != last:
            last, since = rows, time.monotonic()
        elif time.monotonic() - since > STILL and re.search(shows, plain(rows), re.MULTILINE):
            return rows
        time.sleep(0.05)  # tmux has no event that says that Emacs has drawn
    sys.exit(f"film: {shows!r} never appeared, but:\n{plain(last)}")


def plain(rows: Sequence[str]) -> str:
    """ROWS without escape sequences and blanks at their ends."""
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", row).rstrip() for row in rows[1:])


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, what stands above it, and for how long it stays."""

    caption: str
    rows: tuple[str, ...]
    seconds: float


def frames() -> Iterator[Frame]:
    """The frames of all shots."""
    screen("Emacs|README")
    for shot in SHOTS:
        for letter in shot.text:
            tmux("send-keys", "-l", letter)
            yield Frame(shot.caption, screen(""), 0.25)
        if shot.keys:
            tmux("send-keys", *shot.keys)
        yield Frame(shot.caption, screen(shot.shows), shot.seconds)


# ---------------------------------------------------------------------------- the drawing


@dataclass(frozen=True, slots=True)
class Style:
    """How a cell looks. Colours are those of SVG; "" is the terminal's own."""

    colour: str = ""
    ground: str = ""
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    reverse: bool = False


NAMED = ("000000", "a60000", "006800", "6f5500", "0031a9", "721045", "00538b", "e1e1e1")
BRIGHT = ("595959", "d00000", "008900", "808000", "3548cf", "a0132f", "005f5f", "ffffff")
TEXT, GROUND = 38, 48
"""The codes that a colour follows; the next one takes it back."""
SIMPLE = {
    1: {"bold": True}, 3: {"italic": True}, 4: {"underlined": True}, 7: {"reverse": True},
    22: {"bold": False}, 23: {"italic": False}, 24: {"underlined": False}, 27: {"reverse": False},
}  # fmt: skip


def indexed(number: int) -> str:
    """The colour NUMBER of 256."""
    if number < 16:  # noqa: PLR2004  # the named colours, twice eight
        return (NAMED + BRIGHT)[number]
    if number >= 232:  # noqa: PLR2004  # greys
        return f"{8 + 10 * (number - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "".join(f"{levels[n]:02x}" for n in (number // 36, number // 6 % 6, number % 6))


def styled(style: Style, codes: list[int]) -> Style:
    """STYLE after the CODES of an escape sequence."""
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
            style = coloured(style, colour, ground=code == GROUND)
        elif code in (TEXT + 1, GROUND + 1):
            style = coloured(style, "", ground=code == GROUND + 1)
        else:
            style = _named(style, code)
    return style


def coloured(style: Style, colour: str, *, ground: bool) -> Style:
    """STYLE with COLOUR, that of the text or of the GROUND."""
    return replace(style, ground=colour) if ground else replace(style, colour=colour)


def _named(style: Style, code: int) -> Style:
    for first, colours in ((30, NAMED), (90, BRIGHT)):
        for ground in (False, True):
            number = code - first - 10 * ground
            if 0 <= number < len(colours):
                return coloured(style, colours[number], ground=ground)
    return style


def cells(row: str) -> list[tuple[str, Style]]:
    """The characters of ROW, each with its style."""
    found: list[tuple[str, Style]] = []
    style = Style()
    for part in re.split(r"(\x1b\[[0-9;]*m)", row):
        if part.startswith("\x1b"):
            style = styled(style, [int(code or 0) for code in part[2:-1].split(";")])
        else:
            found += [(character, style) for character in part]
    found += [(" ", Style())] * (COLUMNS - len(found))
    return found[:COLUMNS]


def drawn(row: Sequence[tuple[str, Style]]) -> str:
    """ROW as SVG, at the left and the top."""
    runs: list[tuple[int, str, Style]] = []
    for column, (character, style) in enumerate(row):
        if runs and runs[-1][2] == style:
            begin, text, _ = runs[-1]
            runs[-1] = (begin, text + character, style)
        else:
            runs.append((column, character, style))
    parts = [f'<rect width="{COLUMNS * CELL_WIDTH:g}" height="{CELL_HEIGHT}" fill="#fff"/>']
    for begin, text, style in runs:
        colour, ground = style.colour or "000000", style.ground or "ffffff"
        if style.reverse:
            colour, ground = ground, colour
        x, width = f"{begin * CELL_WIDTH:g}", f"{len(text) * CELL_WIDTH:g}"
        if ground != "ffffff":
            parts.append(f'<rect x="{x}" width="{width}" height="{CELL_HEIGHT}" fill="#{ground}"/>')
        if text.strip():
            parts.append(_run(text, begin, style, colour))
    return "".join(parts)


def _run(text: str, begin: int, style: Style, colour: str) -> str:
    begin += len(text) - len(text.lstrip())
    text = text.strip()
    look = f' fill="#{colour}"' if colour != "000000" else ""
    look += ' font-weight="bold"' if style.bold else ""
    look += ' font-style="italic"' if style.italic else ""
    look += ' text-decoration="underline"' if style.underlined else ""
    # The length keeps the columns below each other, whatever font a reader has.
    length = f' textLength="{len(text) * CELL_WIDTH:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{begin * CELL_WIDTH:g}" y="13"{look}{length}>{escape(text)}</text>'


def svg(film: Sequence[Frame]) -> str:
    """The FILM: each frame draws the rows that differ over those of the frames before it."""
    width, height = COLUMNS * CELL_WIDTH, ROWS * CELL_HEIGHT + BAR
    total = sum(frame.seconds for frame in film)
    kinds: dict[str, int] = {}
    layers, before, begin = [], [""] * (ROWS + 1), 0.0
    for frame in film:
        now = [_caption(frame.caption, width), *_rows(frame)]
        changes = []
        for number, (old, new) in enumerate(zip(before, now, strict=True)):
            if new != old:
                place = 0 if number == 0 else BAR + (number - 1) * CELL_HEIGHT
                changes.append(f'<use href="#r{kinds.setdefault(new, len(kinds))}" y="{place}"/>')
        hidden = (
            f' visibility="hidden"><animate attributeName="visibility" values="hidden;visible"'
            f' keyTimes="0;{begin / total:.4f}" dur="{total:g}s" calcMode="discrete"'
            f' repeatCount="indefinite"/>'
        )
        layers.append(f"<g{hidden if begin else '>'}{''.join(changes)}</g>")
        before, begin = now, begin + frame.seconds
    defined = "\n".join(f'<g id="r{number}">{row}</g>' for row, number in kinds.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}"'
        f' width="{width:g}" height="{height}" font-size="{FONT_SIZE}" xml:space="preserve"'
        f' font-family="DejaVu Sans Mono,Menlo,Consolas,monospace">\n'
        f"<defs>\n{defined}\n</defs>\n" + "\n".join(layers) + "\n</svg>\n"
    )


def _caption(text: str, width: float) -> str:
    return (
        f'<rect width="{width:g}" height="{BAR}" fill="#24292f"/><text x="12" y="22" fill="#fff"'
        f' font-weight="bold">{escape(text)}</text>'
    )


def _rows(frame: Frame) -> Iterator[str]:
    x, y, shown = map(int, frame.rows[0].split())
    for number in range(ROWS):
        row = cells(frame.rows[number + 1] if number + 1 < len(frame.rows) else "")
        if shown and number == y and x < COLUMNS:
            character, style = row[x]
            row[x] = (character, replace(style, reverse=not style.reverse))
        yield drawn(row)


def main() -> None:
    """Play the scenes and draw them."""
    try:
        PLACE.mkdir()
    except FileExistsError:
        sys.exit(f"film: {PLACE} is in the way")
    with tempfile.TemporaryDirectory() as home:
        try:
            start(Path(home))
            FILM.write_text(svg(list(frames())), "utf-8")
        finally:
            subprocess.run(["tmux", "-L", SOCKET, "kill-server"], check=False)  # noqa: S603, S607
            shutil.rmtree(PLACE)
    print(f"film: {FILM.stat().st_size} bytes")


if __name__ == "__main__":
    main()
