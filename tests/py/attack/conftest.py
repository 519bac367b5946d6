"""Fixtures of the attacks."""

from collections.abc import Iterator

import pytest

from tests.py.attack import transports


@pytest.fixture(params=transports.WAYS)
def transport(request: pytest.FixtureRequest) -> Iterator[str]:
    """The way to the servers of this test, one after the other."""
    transports.choose(request.param)
    yield request.param
    transports.choose("direct")
