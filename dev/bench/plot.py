"""The picture for the README: times of tasks, and of the programs that people use for them today.

It shows programs that a stranger knows; `rows` has the promises. A comparison that we lose is shown
like the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from xml.sax.saxutils import escape

from dev.bench.content import LIMIT_SECONDS
from dev.bench.timing import Measures, p50

WIDTH, TOP, BAR, GAP = 860, 64, 18, 14
LABELS, LONGEST = 300, 420
"""The x of the bars, and the length of the longest bar of a comparison, in pixels."""
OURS, THEIRS, TEXT, QUIET = "#4c8f5c", "#b9c0c8", "#24292f", "#6b7480"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A task and its ways: the label of each, and its name in `measure`. Ours is first."""

    task: str
    measure: str
    ways: tuple[tuple[str, str], ...]


COMPARISONS = (
    Comparison(
        "Search all of 125,000 files for a word that none has",
        "content/1/no-match",
        (("backstaff", "ours"), ("ripgrep", "rg")),
    ),
    Comparison(
        "The same in 3,000 files",
        "content/0/no-match",
        (("backstaff", "ours"), ("ripgrep", "rg")),
    ),
    Comparison(
        "Search all of 125,000 files for a pattern without a fixed word",
        "content/1/no-literal",
        (("backstaff", "ours"), ("ripgrep", "rg")),
    ),
    Comparison(
        "The same in 3,000 files",
        "content/0/no-literal",
        (("backstaff", "ours"), ("ripgrep", "rg")),
    ),
    Comparison(
        "A listing of 10,000 files for an agent",
        "listing/1",
        (("backstaff", "agent"), ("directory-files-and-attributes", "native-text")),
    ),
    Comparison(
        "The same as data, for a program",
        "listing/1",
        (("backstaff", "ours"), ("directory-files-and-attributes", "native")),
    ),
    Comparison(
        "A call that does nothing, Emacs to Python and back",
        "ping",
        (("backstaff", "ours"), ("jsonrpc.el", "jsonrpc"), ("epc.el", "epc")),
    ),
)


def svg(measures: Measures) -> str:
    """Return the picture of the comparisons in which every way was measured."""
    shown = [one for one in COMPARISONS if _seconds(one, measures)]
    bars = sum(len(one.ways) for one in shown)
    height = TOP + (BAR + 6) * len(shown) + (BAR + 4) * bars + GAP * len(shown)
    return "\n".join((_head(height), *_bars(shown, measures), "</svg>", ""))


def _seconds(comparison: Comparison, measures: Measures) -> list[float]:
    """Return the median of each way; empty if one was not measured."""
    ways = measures.get(comparison.measure, {})
    names = [name for _, name in comparison.ways]
    return [p50(ways[name]) for name in names] if all(name in ways for name in names) else []


def _head(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}" font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        + _text(16, 26, "How long it takes: shorter is better", TEXT, font_weight="bold")
        + "\n"
        + _text(
            16,
            46,
            "Medians of one run of make bench, calls in turns, in the default installation;"
            " each task has a scale of its own",
            QUIET,
        )
    )


def _bars(shown: list[Comparison], measures: Measures) -> Iterator[str]:
    top = TOP
    for comparison in shown:
        seconds = _seconds(comparison, measures)
        drawn = [taken if isfinite(taken) else LIMIT_SECONDS for taken in seconds]
        yield _text(16, top + BAR - 4, comparison.task, TEXT, font_weight="bold")
        top += BAR + 6
        for number, ((label, _), taken) in enumerate(zip(comparison.ways, seconds, strict=True)):
            length = max(2, drawn[number] / max(drawn) * LONGEST)
            yield _text(LABELS - 10, top + BAR - 5, label, TEXT, text_anchor="end")
            yield (
                f'<rect x="{LABELS}" y="{top}" width="{length:.0f}" height="{BAR}" rx="2"'
                f' fill="{THEIRS if number else OURS}"/>'
            )
            yield _text(LABELS + length + 6, top + BAR - 5, _duration(taken), QUIET)
            top += BAR + 4
        top += GAP


def _duration(seconds: float) -> str:
    """Return `seconds` in two digits: `0.15 ms`, `89 ms`, `5.5 s`."""
    if not isfinite(seconds):
        return f"no answer in {LIMIT_SECONDS} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    milliseconds = seconds * 1e3
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2g} ms"  # noqa: PLR2004  # two digits


def _text(x: float, y: float, text: str, colour: str, **more: str) -> str:
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}"{attributes}>{escape(text)}</text>'
