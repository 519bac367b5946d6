"""A host of the test's own: `python host.py COMMAND ...` runs COMMAND with one within its reach.

The host is an sshd on loopback, with a key made on the spot, behind a proxy that delays, stops or
cuts the connections. The environment of COMMAND has:

- first on PATH an `ssh` that knows the host under the names `host` and `other`;
- BACKSTAFF_TEST_CONTROL, the port of the proxy's control: a line `delay SECONDS` (each way),
  `stop`, `go` or `cut` (all connections) is answered with `done`;
- BACKSTAFF_TEST_HOST, a folder of the host's: `home` is the user's home there, `noise` is sourced
  by each login, and `shell`, if it is there, is the login shell.

HOME is a new folder as well. Where there can be no host, the two variables are missing, and
BACKSTAFF_TEST_HOST_NEEDS names the missing part.
"""

import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

LOOPBACK = "127.0.0.1"
CHUNK_BYTES = 1 << 16
START_SECONDS = 60

LOGIN = """\
#!/bin/sh
PATH={folder}/bin:$PATH HOME={folder}/home
export PATH HOME
cd
[ ! -e {folder}/noise ] || . {folder}/noise
shell=/bin/sh
[ ! -e {folder}/shell ] || shell={folder}/shell
[ -z "$SSH_ORIGINAL_COMMAND" ] || exec "$shell" -c "$SSH_ORIGINAL_COMMAND"
exec "$shell"
"""
SERVER = """\
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
PrintMotd no
MaxStartups 50
ForceCommand {folder}/login
"""
CLIENT = """\
Host host other
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    BatchMode yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


class Proxy:
    """Carries TCP connections to a port, later than they come, or not at all."""

    def __init__(self, target: int) -> None:
        """Carry to port `target`; `port` is where to connect to, `control` where commands go."""
        self.delay = 0.0
        self._target = target
        self._going = threading.Event()
        self._going.set()
        self._sockets: set[socket.socket] = set()
        self.port = self._listen(self._carry)
        self.control = self._listen(self._obey)

    def _listen(self, serve: Callable[[socket.socket], None]) -> int:
        listener = socket.create_server((LOOPBACK, 0))

        def accept() -> None:
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        port: int = listener.getsockname()[1]
        return port

    def _carry(self, client: socket.socket) -> None:
        self._pause(2 * self.delay)  # as long as TCP's own greeting
        server = socket.create_connection((LOOPBACK, self._target))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets |= {client, server}
        self._pipe(client, server)
        self._pipe(server, client)

    def _pipe(self, source: socket.socket, sink: socket.socket) -> None:
        queue: SimpleQueue[tuple[float, bytes]] = SimpleQueue()

        def read() -> None:
            data = b"."
            while data:
                try:
                    data = source.recv(CHUNK_BYTES)
                except OSError:
                    data = b""
                queue.put((time.monotonic() + self.delay, data))

        def write() -> None:
            while True:
                due, data = queue.get()
                self._pause(due - time.monotonic())
                self._going.wait()
                if not data or not _sent(sink, data):
                    break
            _shut(sink)

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()

    @staticmethod
    def _pause(seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)

    def _obey(self, client: socket.socket) -> None:
        with client, client.makefile("rw") as lines:
            for line in lines:
                match line.split():
                    case ["delay", seconds]:
                        self.delay = float(seconds)
                    case ["stop"]:
                        self._going.clear()
                    case ["go"]:
                        self._going.set()
                    case ["cut"]:
                        self._cut()
                lines.write("done\n")
                lines.flush()

    def _cut(self) -> None:
        for end in self._sockets:
            _shut(end)
        self._sockets.clear()


def _sent(sink: socket.socket, data: bytes) -> bool:
    try:
        sink.sendall(data)
    except OSError:
        return False
    return True


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _write(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text)
    path.chmod(mode)


@contextmanager
def _host(sshd: str, folder: Path) -> Iterator[dict[str, str]]:
    """Run the host of `folder`; yield the environment of COMMAND."""
    for key in ("host_key", "user_key"):
        path = str(folder / key)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    (folder / "home").mkdir()
    (folder / "bin").mkdir()
    port = _free_port()
    proxy = Proxy(port)
    user = pwd.getpwuid(os.getuid()).pw_name
    facts = {"folder": folder, "address": LOOPBACK, "user": user}
    _write(folder / "login", LOGIN.format(**facts), 0o700)
    _write(folder / "sshd_config", SERVER.format(port=port, **facts))
    _write(folder / "ssh_config", CLIENT.format(port=proxy.port, **facts))
    real = shutil.which("ssh")
    _write(folder / "bin/ssh", f'#!/bin/sh\nexec {real} -F {folder}/ssh_config "$@"\n', 0o700)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd insists
    log = (folder / "sshd.log").open("w")
    server = subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log, stdin=subprocess.DEVNULL
    )
    try:
        _wait_for(port, server, folder / "sshd.log")
        yield {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "BACKSTAFF_TEST_CONTROL": str(proxy.control),
            "BACKSTAFF_TEST_HOST": str(folder),
        }
    finally:
        server.terminate()
        server.wait()
        log.close()


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection((LOOPBACK, port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    sys.exit(f"host: sshd does not start:\n{log.read_text()}")


def _lacking(sshd: str | None) -> str:
    """Return the first thing that a host needs and this machine lacks, or nothing."""
    if sshd is None or shutil.which("ssh") is None:
        return "an sshd"
    if os.getuid() == 0:
        return ""
    # TRAMP logs in on a terminal. An sshd gives it to the group tty, which only root may do, and
    # ends if it cannot. Most systems give each terminal to that group at once; some containers
    # do not.
    master, terminal = os.openpty()
    group = os.fstat(terminal).st_gid
    os.close(master)
    os.close(terminal)
    if group in {one.gr_gid for one in grp.getgrall() if one.gr_name == "tty"}:
        return ""
    return "terminals of the group tty (the mount option gid=5 of /dev/pts)"


def _run(command: list[str], extra: dict[str, str], home: Path) -> int:
    environment = {**os.environ, **extra, "HOME": str(home)}
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK"):
        environment.pop(name, None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # COMMAND's to answer
    return subprocess.run(command, env=environment, check=False).returncode


def main(command: list[str]) -> int:
    """Run `command`; return its exit status."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    # A short name, as sockets of ssh lie below it.
    with tempfile.TemporaryDirectory(prefix="bs-") as name:
        folder = Path(name).resolve()
        home = folder / "local"
        home.mkdir()
        if lacking := _lacking(sshd):
            return _run(command, {"BACKSTAFF_TEST_HOST_NEEDS": lacking}, home)
        with _host(str(sshd), folder) as extra:
            return _run(command, extra, home)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
