"""One line, at the end of the last run, says for which missing needs tests were skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
# Tests for a run of their own. They always skip, because that run's summary is tested here.
TESTS = """
import pytest

def test_one(): pytest.skip("needs ripgrep")

@pytest.mark.skipif(True, reason="needs an sshd")
@pytest.mark.parametrize("number", [1, 2])
def test_two(number): pass

@pytest.mark.alone
def test_three(): pytest.skip("needs ripgrep")

def test_four(): pass
"""
CONFTEST = """
import pathlib
import pytest
from tests.py import skips

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    yield
    terminalreporter.line(skips.summary(terminalreporter, pathlib.Path("skipped")))
"""


def last_lines(folder: Path, *options: str) -> list[str]:
    """Return the last two lines that are not empty of pytest's output about `TESTS`."""
    (folder / "test_some.py").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = alone\naddopts = -ra\n")
    done = subprocess.run(  # noqa: S603
        (sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *options),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if line][-2:]


def test_skips_of_all_runs_are_counted_before_the_closing_line(tmp_path: Path) -> None:
    last, _ = last_lines(tmp_path, "-m", "alone")
    assert last == "skipped for want of: ripgrep (1)"
    (tmp_path / "skipped/ert.tsv").write_text("npm\tbackstaff-some-test\n")
    # The same tests again, in any number of processes, are the same skips.
    last, closing = last_lines(tmp_path, "-n", "1")
    assert last == "skipped for want of: npm (1), ripgrep (2), sshd (2)"
    assert "1 passed" in closing
