"""The bench: its arithmetic and its table, and every part of it runs. Nothing is timed here."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from math import inf
from pathlib import Path

import pytest

from dev.bench import content, servers
from dev.bench.folders import QUICK, folders
from dev.bench.plot import COMPARISONS, svg
from dev.bench.report import Report
from dev.bench.rows import ROWS, TAIL, Promise, Row
from dev.bench.timing import Measures, in_turns, p50, p95

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[3]
ROW = Row(Promise.CALL, "us : them", "m", "us", "them", 0.5)
UNEVEN = Row(Promise.CALL, "us", "m", "us", "them", 3, TAIL)


def judged(row: Row, us: list[float], them: list[float]) -> tuple[float, float, bool | None]:
    verdict = row.judged({"m": {"us": us, "them": them}})
    assert verdict is not None
    return verdict.ratio, verdict.limit, verdict.reached


def test_ratio_compares_the_medians() -> None:
    assert judged(ROW, [1, 2, 90], [4, 5, 6]) == (0.4, 0.5, True)
    assert judged(ROW, [1, 3, 90], [4, 5, 6]) == (0.6, 0.5, False)


def test_exactly_the_allowed_amount_is_reached() -> None:
    assert judged(ROW, [1], [2]) == (0.5, 0.5, True)


def test_tail_is_measured_by_its_own_median_or_by_the_peers_tail() -> None:
    even, uneven = [1.0] * 100, [1.0] * 90 + [8.0] * 10
    assert judged(UNEVEN, even, uneven) == (1, 8, True)
    assert judged(UNEVEN, uneven, uneven) == (8, 8, True)
    assert judged(UNEVEN, uneven, even) == (8, 3, False)


def test_quantiles_are_those_of_the_times() -> None:
    assert (p50([3, 1, 2]), p95([float(n) for n in range(101)]), p95([7])) == (2, 95, 7)


def test_ways_take_turns_after_one_call_each_that_is_not_counted() -> None:
    called: list[str] = []
    times = in_turns(2, {"a": lambda: called.append("a"), "b": lambda: called.append("b")})
    assert called == list("ab" * 3)
    assert {name: len(seconds) for name, seconds in times.items()} == {"a": 2, "b": 2}


def test_every_promise_of_the_design_has_a_row_and_no_row_stands_twice() -> None:
    assert {row.promise for row in ROWS} == set(Promise)
    assert len({(row.promise, row.what) for row in ROWS}) == len(ROWS)


def test_row_that_was_not_measured_is_shown_with_its_reason() -> None:
    report = Report({}, {"rg": "ripgrep is not installed"})
    lines = "\n".join(report.table())
    assert "not measured: ripgrep is not installed" in lines
    assert "0 of 0 rows reached, 0 missed" in lines
    assert lines.endswith(f"{len(ROWS)} not measured")
    assert json.loads(report.json()) == {"measures": {}, "missing": report.missing}


def everything(ratio: float) -> Measures:
    measures: Measures = {}
    for row in ROWS:
        ways = measures.setdefault(row.measure, {})
        ways.setdefault(row.ours, [ratio])
        ways.setdefault(row.peer, [1.0])
    return measures


def test_row_without_its_peer_shows_our_time() -> None:
    measures = {"content/0/literal": {"ours": [0.045]}}
    lines = list(Report(measures, {"rg": "ripgrep is not installed"}).table())
    row = next(line for line in lines if "3,000, one file of 1,000" in line)
    assert " ".join(row.split()).endswith("45.00 ms - not measured: ripgrep is not installed")


def test_missed_row_is_called_missed_and_named_below_the_table() -> None:
    assert not Report(everything(1e-9), {}).missed()
    report = Report(everything(1e9), {})
    lines = list(report.table())
    missed = sum(line.endswith("MISSED") for line in lines)
    assert missed > len(ROWS) / 2
    assert missed == len(report.missed())
    assert sum(line.startswith("MISSED: ") for line in lines) == missed
    assert "MISSED: list_commands, 10,000 files, second call : 4 KiB of each file: " in "\n".join(
        lines
    )


def test_row_without_a_limit_is_neither_reached_nor_missed() -> None:
    assert judged(Row(Promise.WALK, "us : them", "m", "us", "them"), [9], [1])[2] is None
    lines = "\n".join(Report(everything(1e9), {}).table())
    assert f"{sum(row.target == inf for row in ROWS)} without a limit" in lines


def test_call_that_ends_at_its_limit_is_missed_and_has_no_figure() -> None:
    def endless() -> None:
        raise TimeoutError

    times = in_turns(2, {"ours": endless, "rg": lambda: None})
    assert times["ours"] == [inf, inf]
    report = Report({"content/1/no-literal": times}, {})
    assert [one.row.what for one in report.missed()] == ["125,000, no literal : rg"]
    assert "no end" in "\n".join(report.table())
    assert "Infinity" not in report.json()
    picture = svg({"content/1/no-literal": times})
    assert f"no answer in {content.LIMIT_SECONDS} s" in picture


# `make setup` installs ripgrep on Debian as root; elsewhere the bench goes without it.
@pytest.mark.skipif(not shutil.which("rg"), reason="needs ripgrep")
def test_both_sides_of_a_search_read_all_files_and_find_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one needle, two needles\n")
    (tmp_path / "b").write_text("none\n")
    with servers.ours(tmp_path) as server:
        for pattern, read in (("needle", (2, 1, 2)), ("absent", (2, 0, 0))):
            assert content.ours(server, pattern) == content.read_by_rg(tmp_path, pattern) == read


def test_search_that_stops_before_the_last_file_is_not_measured(tmp_path: Path) -> None:
    for number in range(content.MOST + 1):
        (tmp_path / str(number)).write_text("window\n")
    with servers.ours(tmp_path) as server, pytest.raises(ValueError, match="this is not all"):
        content.ours(server, "window")
    with pytest.raises(ValueError, match="not the same work"):
        content.require_same_work(2, {"ours": lambda: (1, 1, 1), "rg": lambda: (2, 1, 1)})


def test_measured_server_has_no_library_but_those_beside_the_sources(tmp_path: Path) -> None:
    probe = (
        "from importlib.util import find_spec; print(find_spec('hypothesis'), find_spec('yaml'))"
    )
    command = [*servers.PYTHON, "-c", probe]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"None None\n"  # noqa: S603
    with servers.ours(tmp_path) as server:
        server.call("ping")  # only now has the new process certainly become Python
        command = Path(f"/proc/{server.process.pid}/cmdline").read_text().split("\0")
    assert tuple(command[:3]) == servers.PYTHON


def test_picture_has_a_bar_for_each_measured_way() -> None:
    measures: Measures = {}
    for _, measure, labels in COMPARISONS:
        measures.setdefault(measure, {}).update({way: [2.0] for way in labels})
    picture = ET.fromstring(svg(measures))  # noqa: S314  # our own
    bars = sum(len(labels) for *_, labels in COMPARISONS)
    assert len(picture.findall("{*}rect")) == 1 + bars
    assert len(ET.fromstring(svg({})).findall("{*}rect")) == 1  # noqa: S314


def test_every_comparison_of_the_picture_has_its_way_among_the_rows() -> None:
    ways = {(row.measure, way) for row in ROWS for way in (row.ours, row.peer)}
    shown = {(measure, way) for _, measure, labels in COMPARISONS for way in labels}
    assert sorted(shown - ways) == []


def test_folders_hold_the_declared_files_and_are_made_once(tmp_path: Path) -> None:
    made = folders(tmp_path, QUICK)
    assert [len(list(made.flat(n).iterdir())) for n in range(4)] == list(QUICK.flat)
    files = [path for path in made.tree.rglob("*.py") if path.is_file()]
    tops, middles = QUICK.tree
    assert len(files) == 3 * (tops + tops * middles) + tops * middles * 20 * 13
    assert len(list((made.commands / ".claude" / "commands").iterdir())) == QUICK.commands
    (made.flat(0) / "more").touch()
    assert len(list(folders(tmp_path, QUICK).flat(0).iterdir())) == QUICK.flat[0] + 1


def test_folder_left_half_made_is_made_anew(tmp_path: Path) -> None:
    made = folders(tmp_path, QUICK)
    (made.path / "flat-0.made").unlink()
    (made.flat(0) / "more").touch()
    assert len(list(folders(tmp_path, QUICK).flat(0).iterdir())) == QUICK.flat[0]


def test_every_part_runs_and_every_row_that_needs_no_package_is_measured(tmp_path: Path) -> None:
    if not (PROJECT / "elisp").is_dir():
        pytest.fail("the bench needs the whole repository")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "dev.bench", "--quick", "--out", tmp_path],
        cwd=PROJECT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "results.json").read_text())["measures"]["ping"]["ours"]["n"]
    assert (tmp_path / "speed.svg").read_text().startswith("<svg")
    assert "MISSED" in (tmp_path / "README.md").read_text()
    unmeasured = [line for line in done.stdout.splitlines() if "not measured:" in line]
    assert [line for line in unmeasured if ": rg " not in line] == [], done.stdout
    if not shutil.which("rg"):
        pytest.skip("needs ripgrep")
    assert unmeasured == []
