"""Fixtures that several end-to-end tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.forked import ForkServer


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether nothing is to be left out: `--full`."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="session")
def forked() -> Iterator[ForkServer]:
    """`swarm`, loaded once for all tests."""
    with ForkServer() as server:
        yield server
