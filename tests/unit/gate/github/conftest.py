"""The gate's workflow, as `init` writes it."""

from __future__ import annotations

import pytest

from gate.github.init import WORKFLOWS, files


@pytest.fixture(scope="session")
def workflow() -> bytes:
    written = files(["main"], f"acme/swarm@{'1' * 40}", labels=False)
    return written[f"{WORKFLOWS}/provenance-gate.yml"].encode()
