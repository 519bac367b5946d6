"""The picture for the README: a bar for each row, how much of what is allowed was taken."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from dev.bench.report import Report
from dev.bench.rows import Row, Verdict

WIDTH, TOP, LINE, BAR = 940, 62, 22, 12
LABELS = 520
UNIT = 240
"""Pixels that stand for all that is allowed."""
LONGEST = 1.6
"""What is longer is cut, and its figure tells."""
REACHED, MISSED, TEXT, QUIET = "#4c8f5c", "#c4673a", "#24292f", "#6b7480"


def svg(report: Report) -> str:
    """The picture of all rows that were measured."""
    judged = [(row, verdict) for row, verdict in report.verdicts() if verdict]
    height = TOP + LINE * len(judged) + 14
    return "\n".join((_head(height), *_bars(judged), _limit(height), "</svg>", ""))


def _head(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        + _text(16, 26, "What a call takes, by what its peer takes", TEXT)
        + "\n"
        + _text(16, 46, "bar: our time by the peer's, as a part of what is allowed", QUIET)
    )


def _bars(judged: list[tuple[Row, Verdict]]) -> Iterator[str]:
    for number, (row, verdict) in enumerate(judged):
        base = TOP + LINE * number + BAR
        taken = min(verdict.ratio / verdict.limit, LONGEST)
        colour = REACHED if verdict.reached else MISSED
        yield _text(LABELS - 10, base, _label(row), TEXT, anchor="end")
        yield (
            f'<rect x="{LABELS}" y="{base - BAR + 2}" width="{max(2, taken * UNIT):.0f}"'
            f' height="{BAR}" rx="2" fill="{colour}"/>'
        )
        figure = f"{verdict.ratio:.2g} of {verdict.limit:.2g}"
        yield _text(LABELS + max(2, taken * UNIT) + 6, base, figure, QUIET)


def _label(row: Row) -> str:
    promise = row.promise.split(",", maxsplit=1)[0]
    return f"{promise}: {row.what.replace(' : ', ' / ')}"


def _limit(height: int) -> str:
    place = LABELS + UNIT
    return (
        f'<line x1="{place}" y1="{TOP - 8}" x2="{place}" y2="{height - 8}" stroke="{TEXT}"'
        f' stroke-dasharray="3 3"/>\n' + _text(place, TOP - 12, "allowed", TEXT, anchor="middle")
    )


def _text(x: float, y: float, text: str, colour: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'
