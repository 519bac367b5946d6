"""A real Emacs in a terminal of its own, for servers that look for one."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.py.epc import SOURCE
from tests.py.processes import DEADLINE

LISP = SOURCE.parent / "elisp"
BATCH = SOURCE.parent / "dev" / "batch.el"
COLUMNS = 250
"""No question is wrapped in so wide a terminal."""
START = """(progn (require 'backstaff-listen) (require 'server)
  (defalias 'backstaff-listen--folder (lambda () {folder}))
  (setq server-socket-dir {control} server-name "control"
        auto-save-default nil make-backup-files nil create-lockfiles nil)
  (server-start)
  (backstaff-listen-mode 1)
  {more}
  (send-string-to-terminal "LISTENS"))"""

SERVER = """
import sys
sys.path.insert(0, {source!r})
from backstaff import live
from backstaff.command_line import main
live.FOLDERS, live.PATIENCE_S = ({folder!r},), {patience}
sys.exit(main(sys.argv[1:]))
"""


def lisp(value: str | Path) -> str:
    """Return `value` as a string of Lisp."""
    return json.dumps(str(value), ensure_ascii=False)


def server_beside(sockets: Path, patience: float = DEADLINE) -> tuple[str, ...]:
    """Return the command of a server that looks for Emacsen in the folder `sockets`.

    It waits for an Emacs for `patience` seconds. By default that is as long as tests wait for an
    event, because an Emacs may be slow on a busy machine.
    """
    program = SERVER.format(source=str(SOURCE), folder=str(sockets), patience=patience)
    return (sys.executable, "-c", program)


class Emacs:
    """An Emacs that listens in the folder `sockets`. Its terminal has keys and a screen."""

    def __init__(self, sockets: Path, control: Path, more: str = "nil") -> None:
        """Start it, and let it evaluate `more`. Skips the test if there is none."""
        if not shutil.which("emacs") or not shutil.which("emacsclient"):
            pytest.skip("needs Emacs")
        control.mkdir(mode=0o700, exist_ok=True)
        self._control = control / "control"
        form = START.format(folder=lisp(sockets), control=lisp(control), more=more)
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "vt100"  # Emacs waits two seconds for the answers of an xterm
            program = os.environ.get("EMACS", "emacs")
            settings = ("-nw", "-Q", "-l", str(BATCH), "-L", str(LISP))
            os.execvp(program, (program, *settings, "--eval", form))  # noqa: S606  # no shell
        size = struct.pack("HHHH", 30, COLUMNS, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)
        self._shown, self._changed = b"", threading.Condition()
        threading.Thread(target=self._draw, daemon=True).start()
        self.shows("LISTENS")

    def _draw(self) -> None:
        try:
            while data := os.read(self._terminal, 1 << 16):
                with self._changed:
                    self._shown += data
                    self._changed.notify_all()
        except OSError:  # it has ended
            pass

    def shows(self, regexp: str) -> None:
        """Wait until the terminal has shown `regexp` since the last keys."""
        with self._changed:
            until = time.monotonic() + DEADLINE
            while not re.search(regexp.encode(), self._shown):
                if not self._changed.wait(until - time.monotonic()):
                    pytest.fail(f"Emacs never showed {regexp!r}, but {self._shown[-2000:]!r}")

    def press(self, keys: str) -> None:
        """Type `keys`."""
        with self._changed:
            self._shown = b""
        os.write(self._terminal, keys.encode())

    def eval(self, form: str) -> str:
        """Return the value of `form` as Lisp prints it."""
        command = ("emacsclient", "-s", str(self._control), "--eval", form)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True)  # noqa: S603
        return done.stdout.strip()

    def visit(self, path: Path, text: str | None = None) -> None:
        """Visit the file `path`, and insert `text` at its beginning without saving it."""
        insert = "" if text is None else f"(goto-char 1) (insert {lisp(text)})"
        self.eval(f"(with-current-buffer (find-file-noselect {lisp(path)}) {insert} t)")

    def log(self, folder: Path, text: str) -> None:
        """Let the buffer *log*, which visits no file, belong to `folder` and hold `text`."""
        place = f"(setq default-directory {lisp(folder)})"
        self.eval(
            f'(with-current-buffer (get-buffer-create "*log*") {place} (insert {lisp(text)}))'
        )

    def block(self) -> Callable[[], None]:
        """Let Emacs wait for a program, so that it runs no filter and no timer.

        Return a function that ends the wait. `sleep-for` runs both, and would prove nothing.
        """
        pipe = self._control.parent / f"pipe-{time.monotonic_ns()}"
        os.mkfifo(pipe)
        self.eval(f'(run-at-time 0 nil #\'call-process "cat" nil nil nil {lisp(pipe)})')
        writer = os.open(pipe, os.O_WRONLY)  # returns when cat has opened it, too
        return lambda: os.close(writer)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, and wait for the end of an Emacs that it kills."""
        os.kill(self.pid, number)
        if number is signal.SIGKILL:
            os.waitpid(self.pid, 0)
            self.pid = 0

    def end(self) -> None:
        """Kill it."""
        if self.pid:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
        os.close(self._terminal)
