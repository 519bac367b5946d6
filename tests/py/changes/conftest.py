"""The settings of git of whoever runs the tests count nowhere here."""

import pytest


@pytest.fixture(autouse=True)
def _own_git_settings(own_git_settings: None) -> None:
    """Use the fixture in all tests of this folder."""
