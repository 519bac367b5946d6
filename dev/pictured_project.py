"""The project that the pictures show: `courier`, which looks like a client library for HTTP.

It is made up. Only the files that a picture shows have a text; the others are empty. The commits
have fixed authors and times, so git always answers the same.
"""

import os
import subprocess
from pathlib import Path

TEXTS = {
    "README.md": "# courier\n\nHTTP for Python, with retries that you can reason about.\n",
    "src/courier/retry.py": '''\
"""Decides which requests may be sent again."""

from courier.models import Request

REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


def may_repeat(request: Request) -> bool:
    """Return True if `request` does no harm when it arrives twice."""
    return request.method in REPEATABLE or "Idempotency-Key" in request.headers
''',
    "src/courier/session.py": '''\
"""A session: the settings that requests share."""

from courier.adapters import Adapter
from courier.errors import Timeout
from courier.models import Request, Response
from courier.retry import may_repeat


class Session:
    """Connections, cookies and timeouts."""

    def __init__(self, attempts: int = 3) -> None:
        """Make a session that sends a request up to `attempts` times."""
        self.attempts = attempts
        self.adapter = Adapter()

    def send(self, request: Request) -> Response:
        """Send `request`, and send it again if no answer comes in time."""
        for attempt in range(self.attempts):
            try:
                return self.adapter.send(request)
            except Timeout:
                if attempt == self.attempts - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")
''',
    "src/courier/adapters.py": '''\
"""Sends requests over the network."""

from courier.errors import StaleConnection
from courier.models import Request, Response
from courier.pool import Pool


class Adapter:
    """Sends requests over the connections of a pool."""

    def __init__(self) -> None:
        self.pool = Pool()

    def send(self, request: Request) -> Response:
        """Send `request` on an open connection if there is one."""
        try:
            return self.pool.exchange(request)
        except StaleConnection:
            # The peer has closed the connection: use a new one.
            return self.send(request)
''',
}

FOLDERS = {
    ".": ".gitignore CHANGELOG.md CONTRIBUTING.md LICENSE Makefile pyproject.toml tox.ini",
    ".github/workflows": "publish.yml tests.yml",
    "benchmarks": "compare.py many_hosts.py upload.py",
    "docs": "conf.py cookies.md index.md migrating.md proxies.md quickstart.md retries.md"
    " streaming.md timeouts.md",
    "docs/_static": "logo.svg style.css",
    "examples": "download.py login.py parallel.py upload.py",
    "src/courier": "__init__.py api.py auth.py cache.py cookies.py errors.py headers.py hooks.py"
    " models.py pool.py proxies.py py.typed redirects.py status.py streams.py timeouts.py tls.py"
    " urls.py version.py",
    "src/courier/http2": "__init__.py connection.py flow_control.py frames.py hpack.py streams.py",
    "tests": "__init__.py conftest.py test_adapters.py test_api.py test_auth.py test_cache.py"
    " test_cookies.py test_headers.py test_hooks.py test_pool.py test_proxies.py test_redirects.py"
    " test_retry.py test_session.py test_streams.py test_timeouts.py test_tls.py test_urls.py",
    "tests/data": "chain.txt cookies.txt large_headers.txt redirects.json utf8_path.txt",
    "tests/http2": "test_flow_control.py test_frames.py test_hpack.py",
}

EDITS = (
    "src/courier/redirects.py tests/test_redirects.py",
    "src/courier/cookies.py tests/test_cookies.py",
    "src/courier/http2/flow_control.py tests/http2/test_flow_control.py",
    "src/courier/session.py src/courier/adapters.py",
    "src/courier/timeouts.py src/courier/session.py docs/timeouts.md",
    "src/courier/adapters.py src/courier/pool.py tests/test_pool.py",
    "src/courier/retry.py src/courier/session.py docs/retries.md",
)
"""The files that each commit after the first changes."""


def plant(folder: Path) -> None:
    """Make the project in `folder`, which does not exist yet."""
    names = [f"{place}/{name}" for place, names in FOLDERS.items() for name in names.split()]
    for name in (*names, *TEXTS):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXTS.get(name, ""), "utf-8")
    _git(folder, 0, "init", "--quiet", "--initial-branch=main")
    _git(folder, 0, "add", ".")
    _git(folder, 0, "commit", "--quiet", "--message=First version")
    for day, changed in enumerate(EDITS, 1):
        for name in changed.split():
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write("\n")
        _git(folder, day, "commit", "--quiet", "--all", f"--message=Change {changed}")
    # Remove the lines that the commits added.
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    _git(folder, len(EDITS) + 1, "commit", "--quiet", "--all", "--message=Tidy")


def _git(folder: Path, day: int, *arguments: str) -> None:
    when = f"2026-03-{1 + day:02}T12:00:00+00:00"
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        settings |= {
            f"GIT_{who}_NAME": "A",
            f"GIT_{who}_EMAIL": "a@example.org",
            f"GIT_{who}_DATE": when,
        }
    command = ["git", "-C", str(folder), *arguments]
    subprocess.run(command, check=True, env=os.environ | settings)  # noqa: S603
