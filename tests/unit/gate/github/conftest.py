"""The gate's workflow, as `init` writes it."""

from __future__ import annotations

import pytest

WORKFLOW = f"""\
on:
  pull_request_target:
jobs:
  gate:
    name: provenance-gate (main)
    steps:
      - uses: acme/swarm/gate@{"1" * 40}
"""


@pytest.fixture(scope="session")
def workflow() -> bytes:
    return WORKFLOW.encode()
