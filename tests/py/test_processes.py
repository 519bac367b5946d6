"""Children of tests have no more rights than the tests say."""

import os
import subprocess
from pathlib import Path

from tests.py.processes import unprivileged


def test_modes_of_files_bind_who_has_no_privileges_and_its_children(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0)

    def refused() -> tuple[bool, bool, bool]:
        ours = os.access(closed, os.R_OK)
        child = subprocess.run(["ls", closed], capture_output=True, check=False)  # noqa: S603, S607
        return ours, child.returncode == 0, os.access(__file__, os.R_OK)

    assert unprivileged(refused) == (False, False, True)
