"""Fixtures for the tests of the tools for commands."""

import os
from pathlib import Path

import pytest

from tests.py.tools.commands.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path / "R")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the command files that are opened."""
    names: list[str] = []
    system_open = os.open

    def open_and_note(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path.endswith(".md") and not flags & os.O_PATH:  # which opens nothing
            names.append(path)
        return system_open(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_and_note)
    return names


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, with a folder of commands."""
    home = tmp_path / "home"
    (home / ".claude" / "commands").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home
