"""Facts that stand in more than one file of the project agree."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2]
IMPORTED_AS = {"pyyaml": "yaml"}


def test_emacs_looks_for_the_libraries_that_the_server_depends_on() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [re.split(r"[^a-z]", requirement)[0] for requirement in project["dependencies"]]
    source = (PROJECT / "elisp/backstaff-python.el").read_text()
    match = re.search(r"backstaff-python-libraries '\(([^)]*)\)", source)
    assert match is not None
    assert match[1].replace('"', "").split() == sorted(IMPORTED_AS.get(n, n) for n in wanted)
