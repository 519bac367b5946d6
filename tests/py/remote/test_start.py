"""The start on another host: the kept files, trust and refusals."""

import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from backstaff.registry import discover
from backstaff.wire.frame import frame
from backstaff_remote.bundle import collect
from tests.py.epc import parsed
from tests.py.processes import NOBODY, as_root, unprivileged
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

NONCE = "n0123"
MONTH = 30 * 86400
MIN_PAYLOAD = 10_000


@cache
def bundle() -> tuple[str, bytes]:
    return collect()


def program() -> str:
    return bundle()[0]


def payload() -> bytes:
    return bundle()[1]


@dataclass
class Start:
    """One start below `home`; `upload` is sent when the host asks."""

    home: Path | None
    upload: bytes = field(default_factory=payload)
    before: str = ""
    settings: bytes = b""
    root: str = "/"
    asks: str = 'agent-q/list_directory ((:path ".") (:root "{root}"))'
    environment: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    answer: bytes = b""
    errors: str = ""
    status: int = -1

    def run(self) -> "Start":
        process = subprocess.Popen(  # noqa: S603  # our own program
            [
                *(sys.executable, "-I", "-S", "-X", "utf8", "-c", self.before + program()),
                *(
                    NONCE,
                    sha256(payload()).hexdigest(),
                    str(len(payload())),
                    str(len(self.settings)),
                ),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=({"HOME": str(self.home)} if self.home else {}) | self.environment,
            cwd=self.root,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        while line := process.stdout.readline().decode():
            self.words.append(line.rstrip("\n"))
            if self._said("NEED"):
                process.stdin.write(self.upload)
                if len(self.upload) < MIN_PAYLOAD:
                    process.stdin.close()
                else:
                    process.stdin.flush()
            elif self._said("READY"):
                call = f"(call 1 {self.asks.format(root=self.root)})"
                process.stdin.write(self.settings + frame(call.encode()))
                process.stdin.flush()
                self.answer = process.stdout.read(int(process.stdout.read(6) or b"0", 16))
                process.stdin.close()
        self.errors = process.stderr.read().decode() if process.stderr else ""
        self.status = process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
        return self

    def _said(self, word: str) -> bool:
        return self.words[-1].startswith(f"BS-{word}:{NONCE[::-1]}:")

    @property
    def how(self) -> str:
        """Return the source of the payload: sent, cached or uncached."""
        assert self.answer.startswith(b"(return 1 (:ok t"), (self.words, self.answer, self.errors)
        return self.words[-1].rpartition(":")[2].split()[0]


def cache_of(home: Path) -> Path:
    return home / ".cache/backstaff"


def listed(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def kept(home: Path) -> Path:
    return cache_of(home) / sha256(payload()).hexdigest()


def test_payload_is_asked_for_once(folder: Path) -> None:
    assert [Start(folder).run().how for _ in range(3)] == ["sent", "cached", "cached"]
    assert kept(folder).read_bytes() == payload()
    assert oct(kept(folder).stat().st_mode & 0o777) == "0o600"
    assert oct(cache_of(folder).stat().st_mode & 0o777) == "0o700"
    assert listed(cache_of(folder)) == [kept(folder).name]


def test_tools_are_those_of_this_host(folder: Path) -> None:
    start = Start(folder, asks="describe nil").run()
    _, _, definitions = parsed(start.answer)
    assert [definition[":id"] for definition in definitions] == list(discover().by_id)


def test_process_that_matches_starts_from_memory(folder: Path, tree: Plant) -> None:
    root = tree({"a": "say hello\n"})
    asks = 'workspace/regexp_search ((:pattern "l+o") (:root "{root}"))'
    start = Start(folder, asks=asks, root=str(root)).run()
    _, _, reply = parsed(start.answer)
    assert "a\n1: say hello\n" in reply[":text"], (reply, start.errors)


def test_cache_home_is_used_where_it_is_absolute(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    Start(folder, environment={"XDG_CACHE_HOME": str(folder / "elsewhere")}).run()
    assert (folder / "elsewhere/backstaff" / kept(folder).name).exists()
    assert Start(folder, environment={"XDG_CACHE_HOME": "elsewhere"}).run().how == "sent"
    assert kept(folder).exists()


def tampered(path: Path) -> None:
    path.write_bytes(payload()[:-1] + b"\0")


def truncated(path: Path) -> None:
    path.write_bytes(payload()[:1000])


def longer(path: Path) -> None:
    path.write_bytes(payload() + b"\0")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.rename(path.parents[2] / "moved")
    path.symlink_to(path.parents[2] / "moved")


@pytest.mark.parametrize("spoil", [tampered, truncated, longer, fifo, link])
def test_file_that_is_not_ours_is_asked_for_anew_and_healed(
    folder: Path, spoil: Callable[[Path], None]
) -> None:
    Start(folder).run()
    spoil(kept(folder))
    assert [Start(folder).run().how for _ in range(2)] == ["sent", "cached"]
    assert kept(folder).read_bytes() == payload()
    assert not kept(folder).is_symlink()


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701, 0o500])
def test_directory_that_others_may_enter_is_not_used(folder: Path, mode: int) -> None:
    Start(folder).run()
    kept(folder).unlink()
    cache_of(folder).chmod(mode)
    assert [Start(folder).run().how for _ in range(2)] == ["uncached", "uncached"]
    assert not listed(cache_of(folder))


def test_directory_that_is_a_link_is_not_used(folder: Path) -> None:
    Start(folder).run()
    cache_of(folder).rename(folder / "moved")
    cache_of(folder).symlink_to(folder / "moved")
    assert Start(folder).run().how == "uncached"


def test_file_in_place_of_the_directory_is_left_alone(folder: Path) -> None:
    (folder / ".cache").mkdir()
    cache_of(folder).write_text("mine")
    assert Start(folder).run().how == "uncached"
    assert cache_of(folder).read_text() == "mine"


@pytest.mark.parametrize("home", [None, Path("relative"), Path("/nowhere/at/all")])
def test_no_home_is_no_obstacle(home: Path | None) -> None:
    assert Start(home).run().how == "uncached"


def test_home_that_cannot_be_written_is_no_obstacle(folder: Path) -> None:
    bundle()
    folder.chmod(0o555)
    assert unprivileged(lambda: Start(folder).run().how) == "uncached"
    assert not listed(folder)
    folder.chmod(0o755)


@as_root
def test_root_makes_nothing_in_the_home_of_another(folder: Path) -> None:
    os.chown(folder, NOBODY, NOBODY)
    assert Start(folder).run().how == "uncached"
    assert not listed(folder)


@as_root
def test_cache_of_another_user_is_not_used(folder: Path) -> None:
    Start(folder).run()
    os.chown(cache_of(folder), NOBODY, NOBODY)
    assert Start(folder).run().how == "uncached"


def test_wrong_upload_is_refused_and_not_kept(folder: Path) -> None:
    start = Start(folder, upload=payload()[:-1] + b"\0").run()
    assert start.status == 76
    assert start.words[-1].endswith(":the upload is not what was announced")
    assert not listed(cache_of(folder))


def test_short_upload_is_refused_and_not_kept(folder: Path) -> None:
    start = Start(folder, upload=payload()[:5000]).run()
    assert start.status == 75
    assert start.words[-1].endswith(":the upload ended early")
    assert not listed(cache_of(folder))


def test_python_that_is_too_old_says_so(folder: Path) -> None:
    start = Start(folder, before="import sys;sys.version_info=(3,8,1);").run()
    assert start.status == 77
    wanted = f"BS-FAIL:{NONCE[::-1]}:it is Python 3.8"
    assert start.words == [wanted]


def test_files_of_the_current_directory_are_never_imported(tree: Plant, folder: Path) -> None:
    trap = "open('imported', 'w').close()\n"
    names = ("json", "zlib", "hashlib", "tty", "sexpdata", "backstaff", "sitecustomize")
    project = tree({f"{name}.py": trap for name in names})
    home = folder / "home"
    home.mkdir()
    for _ in range(2):
        start = Start(home, root=str(project), environment={"PYTHONPATH": str(project)}).run()
        assert b"sexpdata.py" in start.answer
    assert not (project / "imported").exists()


def test_first_starts_at_once_leave_one_whole_file(folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        starts = list(pool.map(lambda _: Start(folder).run(), range(4)))
    assert {start.how for start in starts} <= {"sent", "cached"}
    assert kept(folder).read_bytes() == payload()
    assert listed(cache_of(folder)) == [kept(folder).name]


def test_program_unused_for_a_month_is_deleted(folder: Path) -> None:
    Start(folder).run()
    for name, age in (("old", MONTH + 60), ("young", MONTH - 3600)):
        path = cache_of(folder) / name
        path.write_text(name)
        os.utime(path, (time.time() - age,) * 2)
    kept(folder).unlink()
    Start(folder).run()
    assert sorted(listed(cache_of(folder))) == sorted([kept(folder).name, "young"])


def test_settings_follow_the_ready_line(folder: Path) -> None:
    start = Start(folder, settings=b'[policy]\ndeny = ["agent-q/*"]\n').run()
    assert b'"POLICY_DENIED"' in start.answer


def test_policy_may_name_the_tools_of_emacs(folder: Path) -> None:
    start = Start(folder, settings=b'[policy]\ndeny = ["emacs/*"]\n').run()
    assert b":ok t" in start.answer, start.errors


def test_threads_are_switched_as_often_as_on_this_host(folder: Path) -> None:
    """A ping behind a busy thread would take Python's 5 ms each time."""
    told = (
        "import os, sys; errors = os.dup(2)\n"  # the server drops its own
        "sys.setswitchinterval = lambda seconds: os.write(errors, repr(seconds).encode())\n"
    )
    assert "0.0005" in Start(folder, before=told).run().errors


def test_mistake_in_the_settings_is_named(folder: Path) -> None:
    start = Start(folder, settings=b"[policy]\ndeny = 7\n").run()
    assert start.status == 2
    assert "backstaff: the settings sent by Emacs:2: policy.deny must be" in start.errors


def test_program_fits_on_every_command_line() -> None:
    assert len(program()) < 2000
    assert program().isascii()
    assert not set(program()) & set('"\\$`\n')


def test_bundle_depends_on_the_sources_alone() -> None:
    assert collect() == bundle()


def test_bundle_tells_nothing_of_where_it_was_made() -> None:
    place = str(Path(__file__).parents[3] / "py_backend").encode()
    assert place not in zlib.decompress(payload())


def test_bundle_has_no_library_that_only_tcp_needs() -> None:
    text = zlib.decompress(payload())
    assert b"backstaff/wire/stdio.py" in text
    assert b"epc/handler.py" not in text
