"""The missing needs for which tests were skipped, in all runs of one `make test`.

Each run writes a file in .cache/skipped. Its lines are a need of a test, a tab, and the test:
`ripgrep<TAB>tests/py/bench/test_bench.py::test_name`. The runs of ERT write the same. `make test`
empties the folder before its first run, and the last run counts the lines of all.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / ".cache" / "skipped"


def summary(reporter: pytest.TerminalReporter, folder: Path = FOLDER) -> str:
    """Write the file of this run, and return the line that counts the missing needs of all runs."""
    skipped = {
        (need(report), report.nodeid.replace("\n", " "))
        for report in reporter.stats.get("skipped", ())
    }
    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(("pytest", *re.findall("[a-z]+", reporter.config.option.markexpr)))
    own = folder / f"{name}.tsv"
    own.write_text("".join(f"{what}\t{test}\n" for what, test in sorted(skipped)))
    lines = {line for path in folder.glob("*.tsv") for line in path.read_text().splitlines()}
    counts = Counter(line.partition("\t")[0] for line in lines)
    told = ", ".join(f"{what} ({count})" for what, count in sorted(counts.items()))
    return f"skipped for want of: {told or 'nothing'}"


def need(report: pytest.TestReport) -> str:
    """Return the need of the test; the reason must have the form `needs ripgrep`."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return re.sub(r"^(Skipped: )?(needs ((an?|the) )?)?", "", reason)
