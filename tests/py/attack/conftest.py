"""Fixtures of the attacks."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.py.attack import transports


@pytest.fixture(params=transports.WAYS)
def transport(request: pytest.FixtureRequest) -> Iterator[str]:
    """The way to the servers of this test, each in turn."""
    transports.choose(request.param)
    yield request.param
    transports.choose("direct")


@pytest.fixture(autouse=True)
def _repository(request: pytest.FixtureRequest) -> None:
    """For a tool that asks git, make the test's folder, which holds the root, a repository."""
    parameters = getattr(getattr(request.node, "callspec", None), "params", {})
    if "/git_" in str(parameters.get("tool_id")) and "folder" in request.fixturenames:
        folder = request.getfixturevalue("folder")
        subprocess.run(["git", "init", "-q", folder], check=True)  # noqa: S603, S607
