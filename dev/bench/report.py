"""The measures as a table, as JSON and as a picture. No verdict is left out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from dev.bench.rows import ROWS, Row, Verdict
from dev.bench.timing import Measures, p50, p95

MILLISECONDS = 1e3


@dataclass(frozen=True, slots=True)
class Report:
    """The `measures`. `missing` names the peers that were not measured, each with the reason."""

    measures: Measures
    missing: Mapping[str, str]

    def verdicts(self) -> Sequence[tuple[Row, Verdict | None]]:
        """A verdict for each row; None for a row that was not measured."""
        return [(row, row.judged(self.measures)) for row in ROWS]

    def missed(self) -> Sequence[Verdict]:
        """The verdicts of the rows that miss their promise."""
        return [verdict for _, verdict in self.verdicts() if verdict and verdict.reached is False]

    def table(self) -> Iterator[str]:
        """Yield the lines of the table, and below it the rows that miss their promise."""
        yield f"{'':58} {'ours':>10} {'peer':>10} {'ratio':>8} {'at most':>8}"
        for promise, rows in groupby(self.verdicts(), key=lambda pair: pair[0].promise):
            yield promise
            yield from (f"  {row.what:56} {self._figures(row, verdict)}" for row, verdict in rows)
        found = [verdict.reached for _, verdict in self.verdicts() if verdict]
        missed = self.missed()
        yield (
            f"{found.count(True)} of {len(found) - found.count(None)} rows reached"
            f", {len(missed)} missed, {found.count(None)} without a limit"
            f", {len(ROWS) - len(found)} not measured"
        )
        for verdict in missed:
            row, ratio, limit = verdict.row, _short(verdict.ratio), _short(verdict.limit)
            yield f"MISSED: {row.promise}, {row.what}: {ratio}, at most {limit}"

    def _figures(self, row: Row, verdict: Verdict | None) -> str:
        if verdict is None:
            times = self.measures.get(row.measure, {}).get(row.ours)
            reasons = [self.missing[way] for way in (row.ours, row.peer) if way in self.missing]
            why = f"not measured: {', '.join(reasons) or 'its part failed'}"
            return f"{_figure(p50(times)):>10} {'-':>10} {why}" if times else why
        ours, peer = (_figure(figure) for figure in (verdict.ours, verdict.peer))
        word = {True: "reached", False: "MISSED", None: ""}[verdict.reached]
        ratio, limit = map(_short, (verdict.ratio, verdict.limit))
        return f"{ours:>10} {peer:>10} {ratio:>8} {limit:>8} {word}".rstrip()

    def json(self) -> str:
        """Return the number, p50 and p95 of each measure, in seconds, for programs."""
        measures = {
            measure: {way: _summary(times) for way, times in ways.items()}
            for measure, ways in self.measures.items()
        }
        return json.dumps({"measures": measures, "missing": dict(self.missing)}, indent=1)


def _summary(times: list[float]) -> dict[str, float | None]:
    return {"n": len(times), "p50": _finite(p50(times)), "p95": _finite(p95(times))}


def _finite(number: float) -> float | None:
    """Return `number`, or None for a value that JSON lacks: no limit, or a time without an end."""
    return number if isfinite(number) else None


def _short(number: float) -> str:
    if not isfinite(number):
        return "-"
    return f"{number:.2f}" if number >= 0.01 else f"{number:.2g}"  # noqa: PLR2004  # 2 digits


def _figure(figure: float) -> str:
    if not isfinite(figure):
        return "no end"
    return f"{figure * MILLISECONDS:.2f} ms"
