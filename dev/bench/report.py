"""What was measured, as a table, as JSON and as a picture; no verdict is left out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dev.bench.rows import ROWS, Row, Verdict
from dev.bench.timing import Measures, p50, p95

MEMORY = "memory"
MILLISECONDS = 1e3
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Report:
    """The MEASURES, and why some are MISSING."""

    measures: Measures
    missing: Mapping[str, str]

    def verdicts(self) -> Sequence[tuple[Row, Verdict | None]]:
        """A verdict for each row, None for one that was not measured."""
        return [(row, row.judged(self.measures)) for row in ROWS]

    def reached(self) -> bool:
        """Whether every row that was measured is."""
        return all(verdict.reached for _, verdict in self.verdicts() if verdict)

    def table(self) -> Iterator[str]:
        """The lines of the table."""
        yield f"{'':58} {'ours':>10} {'peer':>10} {'ratio':>8} {'quiet':>8} {'at most':>8}"
        for promise, rows in groupby(self.verdicts(), key=lambda pair: pair[0].promise):
            yield promise
            yield from (f"  {row.what:56} {self._figures(row, verdict)}" for row, verdict in rows)
        counted = [verdict for _, verdict in self.verdicts() if verdict]
        skipped = len(ROWS) - len(counted)
        yield (
            f"{sum(verdict.reached for verdict in counted)} of {len(counted)} rows reached"
            + (f", {skipped} not measured" if skipped else "")
        )

    def _figures(self, row: Row, verdict: Verdict | None) -> str:
        if verdict is None:
            return f"not measured: {self.missing.get(row.peer, 'its part failed')}"
        ours, peer = (_figure(row, figure) for figure in (verdict.ours, verdict.peer))
        word = "reached" if verdict.reached else "MISSED"
        ratio, quiet, limit = map(_short, (verdict.ratio, verdict.quiet, verdict.limit))
        return f"{ours:>10} {peer:>10} {ratio:>8} {quiet:>8} {limit:>8} {word}"

    def json(self) -> str:
        """All of it for programs: rows, and each measure's p50 and p95 in seconds or bytes."""
        return json.dumps(
            {
                "rows": [self._row(row, verdict) for row, verdict in self.verdicts()],
                "measures": {
                    measure: {
                        way: {"n": len(times), "p50": p50(times), "p95": p95(times)}
                        for way, times in ways.items()
                    }
                    for measure, ways in self.measures.items()
                },
                "missing": dict(self.missing),
            },
            indent=1,
        )

    def _row(self, row: Row, verdict: Verdict | None) -> dict[str, object]:
        told = {"promise": row.promise, "what": row.what, "target": row.target}
        if verdict is None:
            return told | {"ratio": None, "reached": None}
        return told | {
            "ratio": verdict.ratio,
            "quiet": verdict.quiet,
            "limit": verdict.limit,
            "reached": verdict.reached,
        }


def _short(number: float) -> str:
    return f"{number:.2f}" if number >= 0.01 else f"{number:.2g}"  # noqa: PLR2004  # 2 digits


def _figure(row: Row, figure: float) -> str:
    if row.measure == MEMORY:
        return f"{figure / MEBIBYTE:.1f} MiB"
    return f"{figure * MILLISECONDS:.2f} ms"
