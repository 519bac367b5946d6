"""A sandbox for the tests of forge/list_directory."""

from pathlib import Path

import pytest

from tests.py.tools.random_trees import OUTSIDE
from tests.py.trees import Plant


@pytest.fixture
def project(tree: Plant) -> Path:
    """A sandbox with links of every kind, and a neighbour that nobody may see."""
    tree({OUTSIDE: ""}, "outside")
    return tree(
        {
            "d/f": "",
            "d/e/g": "",
            "f": "12345",
            "in": {"link": "d"},
            "out": {"link": "../outside"},
            "up": {"link": ".."},
            "loop": {"link": "."},
            "dangling": {"link": "nothing"},
        }
    )
