"""`make bench`: measures, prints a table, and writes it with the raw results and a picture.

They are README.md, results.json and speed.svg in docs/benchmarks.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from backstaff.start import collect_garbage
from dev.bench import changes, content, emacs, search, servers, walks
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
    (options.out / "speed.svg").write_text(svg(report.measures))
    page = "\n".join(
        (_circumstances(time.monotonic() - start), "```text", *report.table(), "```", "")
    )
    (options.out / "README.md").write_text(page)
    print(page)
    return 0 if report.missing.keys() <= {"rg"} else 1


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


HEAD = """# One run of make bench

`make bench` writes this page, [the raw results](results.json) and [a picture](speed.svg). A ratio
is our median by the peer's; both take turns. A row that misses its limit stays.

- Date: {date}, {seconds:.0f} s, load of the last 15 minutes {load:.1f}
- Machine: {processors} processors ({model}), {memory} GiB
- System: {system}
- Commit: {commit}
- Programs: {programs}
"""


def _circumstances(seconds: float) -> str:
    """Return the head of the page: the machine, the versions and the date."""
    models = re.findall(r"(?m)^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text())
    programs = ("emacs --version", "git --version", "rg --version")
    return HEAD.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        seconds=seconds,
        load=os.getloadavg()[2],
        processors=os.cpu_count(),
        model=models[0] if models else platform.machine(),
        memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30,
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        commit=_first_line("git log -1 --format=%h -- . :!docs/benchmarks"),
        programs=", ".join(map(_first_line, programs)),
    )


def _first_line(command: str) -> str:
    if shutil.which(command.split(maxsplit=1)[0]) is None:
        return f"no {command.split(maxsplit=1)[0]}"
    told = subprocess.run(  # noqa: S603  # the commands are our own
        command.split(), cwd=servers.REPOSITORY, capture_output=True, text=True, check=False
    )
    return told.stdout.partition("\n")[0]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny folders, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"), metavar="DIR")
    return parser.parse_args()


def measured(*, quick: bool) -> Report:
    """Return the report of a run; `quick` only shows that everything runs."""
    made = folders(CACHE, QUICK if quick else FULL)
    collect_garbage()  # this process must collect garbage as a server does
    missing = {} if shutil.which("rg") else {"rg": "ripgrep is not installed"}
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
        ("servers", lambda: servers.measure(made, 1 if quick else 5)),
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
