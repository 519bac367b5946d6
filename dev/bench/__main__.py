"""`make bench`: measures, prints a table, writes bench/results.json and docs/speed.svg."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from backstaff.server import enable_garbage_collection
from dev.bench import changes, content, emacs, mcp, search, servers, walks
from dev.bench.folders import FULL, QUICK, folders
from dev.bench.plot import svg
from dev.bench.report import Report
from dev.bench.timing import Measures

CACHE = servers.REPOSITORY / ".cache" / "bench"


def main() -> int:
    """Measure. The exit status says only whether everything could be measured."""
    options = _options()
    if not sys.flags.no_site:
        return _in_default_installation()
    start = time.monotonic()
    report = measured(quick=options.quick)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(report.json() + "\n")
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    options.plot.write_text(svg(report.measures))
    print("\n".join(report.table()))
    load, processors = os.getloadavg()[1], os.cpu_count()
    print(
        f"{time.monotonic() - start:.0f} s; {options.out}/results.json, {options.plot};"
        f" load of the last 5 minutes {load:.1f} on {processors} processors"
    )
    return 0 if report.missing.keys() <= {"mcp", "sdk", "rg"} else 1


def _in_default_installation() -> int:
    """Measure in a Python with only the libraries of a default installation.

    An environment may have a YAML parser in C.
    """
    paths = [str(servers.REPOSITORY), str(servers.SOURCES), str(servers.LIBRARIES)]
    program = (
        f"import runpy, sys; sys.path[:0] = {paths};"
        " runpy.run_module('dev.bench', run_name='__main__', alter_sys=True)"
    )
    command = [*servers.PYTHON, "-c", program, *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode  # noqa: S603  # our own


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny folders, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("bench"), metavar="DIR")
    parser.add_argument("--plot", type=Path, default=Path("docs/speed.svg"), metavar="FILE")
    return parser.parse_args()


def measured(*, quick: bool) -> Report:
    """Return the report of a run; `quick` only shows that everything runs."""
    made = folders(CACHE, QUICK if quick else FULL)
    npm = "left out of a quick run" if quick else servers.mcp_command(CACHE)
    enable_garbage_collection()  # this process must collect garbage as a server does
    peers = {"mcp": npm, "sdk": mcp.sdk_command(CACHE)}
    missing = {way: why for way, why in peers.items() if isinstance(why, str)}
    if not shutil.which("rg"):
        missing["rg"] = "ripgrep is not installed"
    measures: Measures = {}
    elc = emacs.compiled(CACHE)
    turns = "quick" if quick else "full"
    parts: list[tuple[str, Callable[[], Measures]]] = [
        *(
            (part, lambda part=part: emacs.measure(part, elc, made, turns=turns))
            for part in emacs.PARTS
        ),
        ("walks", lambda: walks.measure(made, 1 if quick else 5)),
        ("search", lambda: search.measure(500 if quick else 125_000, 1 if quick else 5)),
        ("content", lambda: content.measure(*((1, (100, 200)) if quick else (5,)))),
        ("changes", lambda: changes.measure(500 if quick else 125_000, 1 if quick else 9)),
        ("servers", lambda: servers.measure(made, 1 if quick else 5, npm)),
        ("mcp", lambda: mcp.measure(made, 1 if quick else 9, npm)),
    ]
    for part, told in _run(parts):
        if isinstance(told, Exception):
            missing[part] = str(told)
        else:
            measures |= told
    return Report(measures, missing)


def _run(
    parts: list[tuple[str, Callable[[], Measures]]],
) -> Iterator[tuple[str, Measures | Exception]]:
    for name, part in parts:
        start = time.monotonic()
        try:
            yield name, part()
        except Exception as error:  # noqa: BLE001  # the other parts are worth having
            print(f"bench: {name} failed: {error}", file=sys.stderr)
            yield name, error
        print(f"bench: {name}, {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
