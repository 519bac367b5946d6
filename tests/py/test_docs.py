"""The Python in the documents runs, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = Path(sys.executable).parent


def blocks(document: str) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", (DOCS / document).read_text(), re.MULTILINE | re.DOTALL
    )


def test_an_epc_client_in_python_lists_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (code,) = blocks("epc.md")
    environment = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    head = f"Directory: {tmp_path.resolve()}/\nTotal: 1 file, 0 directories\n\n[FILE] a.txt "
    assert run.stdout.startswith(head)
