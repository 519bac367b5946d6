"""Fixtures of the whole suite."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backstaff.contents import regexp
from backstaff.names import suggestions
from backstaff.tools.workspace import _near
from tests.py import examples, skips
from tests.py.attack import figures
from tests.py.epc import ISOLATED, Client, Start
from tests.py.processes import DEADLINE
from tests.py.project.repositories import alone
from tests.py.trees import Content, Plant, plant

examples.register()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End idle processes, and pass the figures of a worker process to the one that prints them."""
    idle = regexp._IDLE  # noqa: SLF001  # a server never ends them: they end with it
    while idle:
        idle.pop().end()
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["figures"] = dict(figures.FIGURES)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401  # of pytest-xdist
    """Add the figures of a worker process. A crashed one has none."""
    figures.FIGURES.update(getattr(node, "workeroutput", {}).get("figures", {}))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Print the figures of attacks, if any, and before the last line the needs of skipped tests."""
    if figures.FIGURES:
        terminalreporter.section("attacks")
        for line in figures.lines():
            terminalreporter.line(line)
    yield
    terminalreporter.line(skips.summary(terminalreporter))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the test's own that any user can reach, by its real path."""
    with tempfile.TemporaryDirectory(prefix="backstaff-") as name:
        path = Path(name).resolve()
        path.chmod(0o755)
        yield path


@pytest.fixture
def own_git_settings(folder: Path) -> Iterator[None]:
    """Leaves out the settings of git of whoever runs the tests."""
    with alone(folder / "home"):
        yield


@pytest.fixture
def tree(folder: Path) -> Plant:
    """Makes trees in the test's folder."""

    def make(content: Content, name: str = "R") -> Path:
        return plant(folder / name, content)

    return make


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts server processes, which end with the test."""
    clients: list[Client] = []

    def start(*arguments: str, command: tuple[str, ...] = ISOLATED, **options: Any) -> Client:  # noqa: ANN401
        clients.append(Client((*command, *arguments), **options))
        return clients[-1]

    yield start
    for client in clients:
        client.end()


@pytest.fixture
def client(folder: Path, start: Start) -> Client:
    """A client of a server over stdio whose root is the test's folder."""
    return start("serve", "--stdio", "--root", str(folder))


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC0")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    """No answer is cut short because the machine was paused: short limits of time are long here.

    A test of such a limit sets it itself. The fixture `monkeypatch` is not used here, because it
    would then undo a test's patches only after the test's folder is removed.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in _near, suggestions:
            patch.setattr(module, "SECONDS", float(DEADLINE))
        yield


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    """Modes of new files do not depend on the user who runs the suite."""
    before = os.umask(0o022)
    yield
    os.umask(before)
