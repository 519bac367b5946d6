"""The parts of the bench that run in Emacs, byte-compiled as in an installed package.

As a program it only compiles and prints the folder.
"""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from dev.bench.folders import Folders
from dev.bench.servers import MAIN, PYTHON, REPOSITORY
from dev.bench.timing import Measures

BENCH = Path(__file__).parent
PARTS = ("wire", "listing")
BARE = "-q --no-site-file -f package-initialize"


class Failed(Exception):
    """An Emacs failed to measure its part."""


def compiled(cache: Path) -> Path:
    """A new folder with the package and the bench as compiled Lisp."""
    folder = cache / "elc"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = [*(REPOSITORY / "elisp").glob("*.el"), *(BENCH / "emacs").glob("*.el")]
    sources.append(REPOSITORY / "dev" / "batch.el")
    copies = [str(shutil.copy(source, folder)) for source in sources]
    _emacs(folder, ["-f", "batch-byte-compile", *copies], {"BENCH_EMACS_DIRECTORY": "."})
    return folder


def measure(part: str, elc: Path, folders: Folders, *, turns: str) -> Measures:
    """Return the measures of `part`; `turns` is "full" or "quick"."""
    out = elc / f"{part}.json"
    library = f"bench-{part}"
    settings = {
        "BACKSTAFF_PYTHON": PYTHON[0],
        "BENCH_EMACS_DIRECTORY": f"{BENCH / 'emacs'}/",
        "BENCH_FOLDERS": str(folders.path),
        "BENCH_MAIN": str(MAIN),
        "BENCH_OUT": str(out),
        "BENCH_REPOSITORY": f"{REPOSITORY}/",
        "BENCH_TURNS": turns,
    }
    arguments = ["-l", library, "-f", f"{library}-batch"]
    with _one_processor() if part == "wire" else nullcontext():
        _emacs(elc, arguments, settings)
    measures: Measures = json.loads(out.read_text())
    return measures


@contextmanager
def _one_processor() -> Iterator[None]:
    """Run the processes started in this block on one processor, if the system can do that.

    A message of a few bytes takes some microseconds. To wake another processor for it takes ten
    times as long, so the choice of processors by the system would decide which way is faster.
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


def _emacs(elc: Path, arguments: list[str], settings: dict[str, str]) -> None:
    done = subprocess.run(  # noqa: S603  # EMACS is chosen by the user
        _command(elc, ["--batch", *arguments]),
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed(f"{shlex.join(arguments[-2:])}: {done.stderr[-2000:]}")


def _command(elc: Path, arguments: list[str]) -> list[str]:
    program = os.environ.get("EMACS", "emacs")
    return [program, *shlex.split(BARE), "-L", str(elc), *arguments]


if __name__ == "__main__":
    print(compiled(REPOSITORY / ".cache" / "bench"))
