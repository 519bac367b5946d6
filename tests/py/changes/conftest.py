"""The settings of git of whoever runs the tests count nowhere here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.py.project.repositories import alone


@pytest.fixture(autouse=True)
def _alone(folder: Path) -> Iterator[None]:
    with alone(folder / "home"):
        yield
