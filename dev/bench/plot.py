"""The picture of the benchmarks: times of tasks, with the programs that people use today.

It shows programs that a stranger knows; `rows` has the promises. A comparison that we lose is shown
like the others.
"""

from math import isfinite
from xml.sax.saxutils import escape

from dev.bench.content import LIMIT_SECONDS
from dev.bench.timing import Measures, p50

WIDTH, TOP, BAR, GAP = 860, 64, 18, 14
LABELS, LONGEST = 300, 420
"""The x of the bars, and the length of the longest bar of a comparison, in pixels."""
OURS, THEIRS, TEXT, QUIET = "#4c8f5c", "#b9c0c8", "#24292f", "#6b7480"
NOTE = "Medians of one run of make bench, calls in turns; each task has a scale of its own"
RIPGREP = {"ours": "backstaff", "rg": "ripgrep"}
EMACS = "directory-files-and-attributes"
COMPARISONS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("Search 125,000 files for a word that none has", "content/1/no-match", RIPGREP),
    ("The same in 3,000 files", "content/0/no-match", RIPGREP),
    ("Search 125,000 files for a pattern without a fixed word", "content/1/no-literal", RIPGREP),
    ("The same in 3,000 files", "content/0/no-literal", RIPGREP),
    (
        "A listing of 10,000 files for an agent, as text",
        "listing/1",
        {"agent": "backstaff", "native-text": EMACS},
    ),
    ("The same as data", "listing/1", {"ours": "backstaff", "native": EMACS}),
    (
        "A call that does nothing, Emacs to Python and back",
        "ping",
        {"ours": "backstaff", "jsonrpc": "jsonrpc.el", "epc": "epc.el"},
    ),
)
"""A task, its measure, and the label of each way in it. Ours is first."""


def svg(measures: Measures) -> str:
    """Return the picture of the comparisons in which every way was measured."""
    top, parts = TOP, []
    for task, measure, labels in COMPARISONS:
        ways = measures.get(measure, {})
        if not labels.keys() <= ways.keys():
            continue
        seconds = {way: p50(ways[way]) for way in labels}
        drawn = {way: s if isfinite(s) else LIMIT_SECONDS for way, s in seconds.items()}
        parts.append(_text(16, top + BAR - 4, task, TEXT, font_weight="bold"))
        top += BAR + 6
        for number, (way, label) in enumerate(labels.items()):
            length = max(2, drawn[way] / max(drawn.values()) * LONGEST)
            colour = THEIRS if number else OURS
            parts += (
                _text(LABELS - 10, top + BAR - 5, label, TEXT, text_anchor="end"),
                (
                    f'<rect x="{LABELS}" y="{top}" width="{length:.0f}" height="{BAR}" rx="2"'
                    f' fill="{colour}"/>'
                ),
                _text(LABELS + length + 6, top + BAR - 5, _duration(seconds[way]), QUIET),
            )
            top += BAR + 4
        top += GAP
    head = (
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}"'
            f' height="{top}" font-family="sans-serif" font-size="13">'
        ),
        f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>',
        _text(16, 26, "How long it takes: shorter is better", TEXT, font_weight="bold"),
        _text(16, 46, NOTE, QUIET),
    )
    return "\n".join((*head, *parts, "</svg>", ""))


def _duration(seconds: float) -> str:
    """Return `seconds` in two digits: `0.15 ms`, `89 ms`, `5.5 s`."""
    if not isfinite(seconds):
        return f"no answer in {LIMIT_SECONDS} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.2g} ms" if seconds < 0.01 else f"{seconds * 1e3:.0f} ms"  # noqa: PLR2004  # two digits


def _text(x: float, y: float, text: str, colour: str, **more: str) -> str:
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}"{attributes}>{escape(text)}</text>'
