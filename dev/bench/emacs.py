"""The parts that run in Emacs, byte-compiled as an installed package is.

As a program it only compiles, and prints the folder.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from dev.bench.folders import Folders
from dev.bench.servers import MAIN, REPOSITORY
from dev.bench.timing import Measures

BENCH = Path(__file__).parent
PARTS = ("wire", "flight", "listing", "tree", "reading")
BARE = "-q --no-site-file --batch -f package-initialize"


class Failed(Exception):
    """An Emacs that did not do its part."""


def compiled(cache: Path) -> Path:
    """A folder of the package and the bench as compiled Lisp, made anew."""
    folder = cache / "elc"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = [*(REPOSITORY / "elisp").glob("*.el"), *(BENCH / "emacs").glob("*.el")]
    copies = [str(shutil.copy(source, folder)) for source in (*sources, _batch())]
    _emacs(folder, ["-f", "batch-byte-compile", *copies], {"BENCH_EMACS_DIRECTORY": "."})
    return folder


def measure(part: str, elc: Path, folders: Folders, *, turns: str) -> Measures:
    """What the PART called so measures, TURNS "full" or "quick"."""
    out = elc / f"{part}.json"
    library = f"bench-{part}"
    settings = {
        "BACKSTAFF_PYTHON": sys.executable,
        "BENCH_EMACS_DIRECTORY": f"{BENCH / 'emacs'}/",
        "BENCH_FOLDERS": str(folders.path),
        "BENCH_MAIN": str(MAIN),
        "BENCH_OUT": str(out),
        "BENCH_REPOSITORY": f"{REPOSITORY}/",
        "BENCH_TURNS": turns,
    }
    with _one_processor() if part == "wire" else nullcontext():
        _emacs(elc, ["-l", library, "-f", f"{library}-batch"], settings)
    measures: Measures = json.loads(out.read_text())
    return measures


@contextmanager
def _one_processor() -> Iterator[None]:
    """Let whatever is started run on one processor, where the system can do that.

    A message of a few bytes costs some microseconds, and to wake another processor for it ten times
    as much: on which ones the system happens to put the two ends would decide who is the quicker.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _batch() -> Path:
    return REPOSITORY / "dev" / "batch.el"


def _emacs(elc: Path, arguments: list[str], settings: dict[str, str]) -> None:
    program = os.environ.get("EMACS", "emacs")
    command = [program, *shlex.split(BARE), "-L", str(elc), *arguments]
    done = subprocess.run(  # noqa: S603  # EMACS is whom `make` was told to use
        command, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"{shlex.join(arguments[-2:])}: {done.stderr[-2000:]}")


if __name__ == "__main__":
    print(compiled(REPOSITORY / ".cache" / "bench"))
