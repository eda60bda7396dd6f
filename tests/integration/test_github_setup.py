"""Setup and doctor through the door, on the fake: each request and answer is held to GitHub's description."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from claims.errors import Undecided
from gate.github.api import Api
from gate.github.doctor import checks
from gate.github.finding import Diagnosis, diagnose
from gate.github.init import files
from gate.github.reading import Reading
from gate.github.setup import Setup, set_up
from tests.support.github.fake import Fake
from tests.support.github.state import REPOSITORY

NAME = "provenance-gate (main)"
CONFIG = b"gate:\n  operators: [op, boss]\n"


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A private repository with the board and the workflow merged, and nothing set up."""
    with Fake() as running:
        written = files(("main",), f"octo-org/swarm@{'a' * 40}", labels=False)
        running.state.files = {("main", path): data.encode() for path, data in written.items()}
        running.state.files["main", ".agents/swarm.yaml"] = CONFIG
        yield running


def api_of(fake: Fake) -> Api:
    return Api(REPOSITORY, "ghs_x", fake.url, lambda _: None)


def ran(fake: Fake, *, apply: bool = True, queue: bool = False) -> Setup:
    return set_up(api_of(fake), (), queue=queue, apply=apply)


def diagnosis(fake: Fake) -> Diagnosis:
    return diagnose(checks(Reading(api_of(fake)), ["main"], agent=True))


@pytest.mark.parametrize("queue", [False, True])
def test_from_nothing_to_enforced_and_again_without_a_change(fake: Fake, queue: bool) -> None:
    assert "check-required" in [one.code for one in diagnosis(fake).findings]
    shown = ran(fake, apply=False, queue=queue)
    assert shown.changes and not shown.enforced and fake.calls("POST", "PATCH", "PUT") == []
    done = ran(fake, queue=queue)
    assert done.applied and done.enforced
    assert len(fake.calls("POST", "PATCH", "PUT")) == len(done.changes) == len(shown.changes)
    assert ran(fake, queue=queue).changes == ()
    assert diagnosis(fake) == Diagnosis()


def test_doctor_asks_little(fake: Fake) -> None:
    ran(fake)
    before = len(fake.requests)
    diagnosis(fake)
    assert len(set(fake.calls()[before:])) == len(fake.requests) - before <= 20


def test_a_ruleset_that_excludes_the_branch_is_not_in_force(fake: Fake) -> None:
    ran(fake)
    (ruleset,) = fake.state.rulesets.values()
    ruleset["conditions"]["ref_name"]["exclude"] = ["refs/heads/ma*"]
    assert "check-required" in [one.code for one in diagnosis(fake).findings]


def test_an_outage_in_the_middle_is_told_and_made_up_for(fake: Fake) -> None:
    fake.fail("POST", "/rulesets", 502, after=True)
    with pytest.raises(Undecided, match="was not made"):
        ran(fake)
    assert ran(fake).changes == () and len(fake.state.rulesets) == 1


def test_what_cannot_be_looked_at_is_unknown(fake: Fake) -> None:
    ran(fake)
    fake.state.lacks["GET /repos/{owner}/{repo}/actions/permissions"] = "administration=read"
    seen = diagnosis(fake)
    assert seen.findings == () and seen.verdict == "undecided"
    assert any("administration=read" in (one.fix or "") for one in seen.unknown)
