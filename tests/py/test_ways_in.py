"""The two ways in that need no network and no second Emacs; `dev/ways-in` has the others."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("way", ["package-install-file", "load-path"])
def test_fresh_installation_answers_without_a_step_by_hand(way: str) -> None:
    command = [sys.executable, "-m", "dev.ways_in", way]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
