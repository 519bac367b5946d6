"""Fixtures of the whole suite."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.py.attack import figures
from tests.py.epc import ISOLATED, Client, Start
from tests.py.trees import Content, Plant, plant

# Repeatable by default, as a suite that guards changes must be; `--hypothesis-profile=thorough`
# searches further.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=150)
settings.register_profile("thorough", deadline=None, max_examples=5_000)
settings.load_profile("suite")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was attacked, where anything was."""
    if figures.FIGURES:
        terminalreporter.section("attacks")
        for line in figures.lines():
            terminalreporter.line(line)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the test's own that any user can reach, by its real path."""
    with tempfile.TemporaryDirectory(prefix="backstaff-") as name:
        path = Path(name).resolve()
        path.chmod(0o755)
        yield path


@pytest.fixture
def tree(folder: Path) -> Plant:
    """Makes trees in the test's folder."""

    def make(content: Content, name: str = "R") -> Path:
        return plant(folder / name, content)

    return make


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts server processes, which are gone when the test is over."""
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
def _umask() -> Iterator[None]:
    """Modes of new files do not depend on who runs the suite."""
    before = os.umask(0o022)
    yield
    os.umask(before)
