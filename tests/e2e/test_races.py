"""Of any number of agents that claim one task, or tasks that share a lock or a slot, exactly as many win as may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.racing import KINDS, TASK, Agents, agents, board, clones, meanwhile, moving_main, winner, worktrees
from tests.support.board import task_id
from tests.support.forked import ForkServer
from tests.support.http_origin import HttpOrigin
from tests.support.invariants_of_refs import live
from tests.support.repo import clone, init, origin
from tests.support.swarm import Command, race, swarm

CLAIM = ["claim", TASK]


def test_16_worktrees(tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]) -> None:
    _one_task(agents("worktrees", tmp_path, forked, 16, board()), rounds(100))


def test_16_worktrees_while_refs_are_packed(tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]) -> None:
    racing = agents("worktrees", tmp_path, forked, 16, board())
    with meanwhile(racing.arbiter, "pack-refs", "--all"):
        _one_task(racing, rounds(100))


def test_16_clones_through_http(tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]) -> None:
    with HttpOrigin(tmp_path / "served") as server:
        source = server.create(files=board())
        racing = Agents(source, clones(source, server.url(), tmp_path, 16), forked)
        _one_task(racing, rounds(25))
        assert all(request.status == 200 for request in server.requests)


def test_16_clones_while_the_origin_packs_refs(
    tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]
) -> None:
    racing = agents("clones", tmp_path, forked, 16, board())
    with meanwhile(racing.arbiter, "pack-refs", "--all"):
        _one_task(racing, rounds(20))


@pytest.mark.parametrize("warm", [True, False])
def test_the_installed_command(tmp_path: Path, rounds: Callable[[int], int], warm: bool) -> None:
    """The same with the console script: from where each has loaded Python, and from where each is started."""
    repo = init(tmp_path / "repo", board())
    places = worktrees(repo, 16)
    commands = [Command(place, [*CLAIM, "--agent", f"a{number}", "--json"]) for number, place in enumerate(places)]
    for _ in range(rounds(10)):
        won = winner(race(commands, warm=warm), ["claim-held"])
        swarm(places[won], "release", TASK, ok=True)
        assert live(repo) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_crossed_locks(kind: str, tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]) -> None:
    racing = agents(kind, tmp_path, forked, 8, board(2, [["db", "api"], ["api", "db"]]))
    for _ in range(rounds(40)):
        won = winner(
            racing.race([["claim", task_id(1 + number % 2)] for number in range(8)]), ["claim-held", "lock-held"]
        )
        racing.check_tokens({won: task_id(1 + won % 2)})
        assert len(racing.check().keys) == 2
        racing.release_all()


@pytest.mark.parametrize("kind", KINDS)
def test_16_with_the_same_name(kind: str, tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]) -> None:
    racing = agents(kind, tmp_path, forked, 16, board())
    for _ in range(rounds(20)):
        results = racing.race([[*CLAIM, "--agent", "same"]] * 16)
        won = winner(results, ["claim-held"])
        racing.check_tokens({won: TASK})
        racing.check()
        # Nobody but the one whose worktree has the token may act on it.
        other = (won + 1) % 16
        assert racing.run(other, "renew", TASK, "--agent", "same", ok=False).error_code == "not-holder"
        racing.run(won, "renew", TASK, "--agent", "same")
        racing.run(won, "release", TASK, "--agent", "same")
        assert live(racing.arbiter) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_16_tasks_for_one_agent_that_may_hold_one(
    kind: str, tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]
) -> None:
    racing = agents(kind, tmp_path, forked, 16, board(16, [[]], one_claim_per_agent=True))
    for _ in range(rounds(10)):
        results = racing.race([["claim", task_id(1 + number), "--agent", "same"] for number in range(16)])
        won = winner(results, ["agent-busy"])
        racing.check_tokens({won: task_id(1 + won)})
        racing.check()
        racing.run(won, "release", task_id(1 + won), "--agent", "same")
        assert live(racing.arbiter) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_16_steal_one_expired_claim(
    kind: str, tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]
) -> None:
    racing = agents(kind, tmp_path, forked, 17, board())
    for _ in range(rounds(20)):
        victim = _expired_claim(racing, 16)
        results = racing.race([["steal", TASK]] * 16)
        won = winner(results, ["claim-live"])
        refs = racing.check()
        assert refs.claims[TASK].members["agent"] == f"a{won}"
        assert [entry.outcome for entry in refs.log_of(victim)] == ["stolen"]
        # The one that was robbed keeps a token that is of no use.
        assert racing.run(16, "release", TASK, ok=False).error_code == "claim-lost"
        _forget_tokens(racing, 16)
        racing.check_tokens({won: TASK})
        racing.release_all()


@pytest.mark.parametrize("kind", KINDS)
def test_8_claims_against_a_cap_of_3(
    kind: str, tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]
) -> None:
    racing = agents(kind, tmp_path, forked, 8, board(8, [[]], wip={"implementation": 3}))
    for _ in range(rounds(40)):
        results = racing.race([["claim", task_id(1 + number)] for number in range(8)])
        won = [number for number, result in enumerate(results) if result.code == 0]
        assert len(won) == 3, "\n".join(map(str, results))
        lost = [(result.code, result.error_code) for result in results if result.code]
        assert lost == [(2, "wip-limit")] * 5
        racing.check_tokens({number: task_id(1 + number) for number in won})
        refs = racing.check()
        taken = sorted(slot for claim in refs.held() for slot in claim.members["slots"])
        assert taken == [f"wip:implementation:{number}" for number in (1, 2, 3)]
        racing.release_all()


def test_16_worktrees_of_one_clone_claim_16_tasks_while_main_moves(
    tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]
) -> None:
    source = origin(tmp_path / "origin.git", board(16, [[]]))
    here = clone(source, tmp_path / "here")
    racing = Agents(source, worktrees(here, 16), forked)
    with moving_main(source):
        for _ in range(rounds(20)):
            results = racing.race([["claim", task_id(1 + number)] for number in range(16)])
            assert [result.code for result in results] == [0] * 16, "\n".join(map(str, results))
            assert [result.json["warnings"] for result in results] == [[]] * 16
            racing.check_tokens({number: task_id(1 + number) for number in range(16)})
            racing.check()
            released = racing.race([["release", task_id(1 + number)] for number in range(16)])
            assert [result.code for result in released] == [0] * 16, "\n".join(map(str, released))
            assert live(source) == {}
    racing.run(0, "status")
    racing.check_mirrors()


@pytest.mark.parametrize("kind", KINDS)
def test_everything_at_once_on_an_expired_claim(
    kind: str, tmp_path: Path, forked: ForkServer, rounds: Callable[[int], int]
) -> None:
    """The holder renews while others steal, reap and claim: who was told a success has it, or the log says why not."""
    racing = agents(kind, tmp_path, forked, 10, board())
    for _ in range(rounds(50)):
        whose = _expired_claim(racing, 0)
        results = racing.race([["renew", TASK], *[["steal", TASK]] * 3, *[["reap"]] * 3, *[CLAIM] * 3])
        assert {result.code for result in results} <= {0, 1, 2}, "\n".join(map(str, results))
        refs = racing.check()
        renewed, stolen = results[0].code == 0, any(result.code == 0 for result in results[1:4])
        assert not (renewed and stolen)
        ends = [entry.outcome for entry in refs.log_of(whose)]
        assert ends == ([] if renewed else ["stolen"] if stolen else ["expired"])
        assert len(refs.held()) == 1 or not any(
            result.code == 0 for result in (results[0], *results[1:4], *results[7:])
        )
        for number in racing.tokens():
            racing.run(number, "release", TASK, ok=None)
            _forget_tokens(racing, number)
        assert live(racing.arbiter) == {}


def _one_task(racing: Agents, rounds: int) -> None:
    for _ in range(rounds):
        won = winner(racing.race([CLAIM] * len(racing.places)), ["claim-held"])
        racing.check_tokens({won: TASK})
        refs = racing.check()
        assert refs.claims[TASK].members["agent"] == f"a{won}"
        assert len(refs.keys) == 2
        racing.check_mirrors()
        racing.release_all()
    for number in range(len(racing.places)):
        racing.run(number, "status")
    racing.check_mirrors()
    assert [entry.outcome for entry in racing.check().log[TASK]] == ["released"] * rounds


def _expired_claim(racing: Agents, number: int) -> tuple[str, str, str, str]:
    """Let an agent claim and end its lease; which claim it is."""
    claimed = racing.run(number, *CLAIM).json
    racing.run(number, "renew", TASK, "--minutes", "0")
    return claimed["task"], claimed["agent"], claimed["branch"], claimed["claimedAt"]


def _forget_tokens(racing: Agents, number: int) -> None:
    place = racing.places[number]
    for path in (place.path / place.git_path("swarm")).glob("*"):
        path.unlink()
