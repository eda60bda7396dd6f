"""Carrying out a transaction, against an arbiter that answers as it is told: no success without its word."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from claims import record
from claims.arbiter import Outcome, Reading, Verdict
from claims.errors import Conflict, Refused, SwarmError, Undecided
from claims.ledger import keys_of
from claims.names import ObjectId, TaskId, claim_ref, log_ref
from claims.notice import Notice
from claims.operations.attempt import Decide, Done, Step, carry_out
from claims.record import Claim
from claims.transaction import Edit, Transaction, ordered
from tests.unit.values import BASE, NOW, Refs, blob, claim, ended, minutes, task

APPLIED, REFUSED = Outcome(Verdict.APPLIED), Outcome(Verdict.REFUSED, "a lock was busy")
REJECTED, UNKNOWN = Outcome(Verdict.REJECTED, "hook declined"), Outcome(Verdict.UNKNOWN, "connection lost")
UNREACHABLE = Undecided("remote-unreachable", "origin: no route")

MINE = claim(agent="ann", locks=["k", "l"])
OTHER = claim(agent="bob", locks=["k", "l"])
NOTHING, ALL = Refs(), Refs().held(MINE)


@dataclass
class Scripted:
    """An arbiter that reads `readings` and answers `answers`, one after the other; an error among them is raised."""

    readings: list[Refs | SwarmError]
    answers: list[Outcome | SwarmError]
    remote: str | None = "origin"
    sent: list[Transaction] = field(default_factory=list)
    logs: list[Sequence[TaskId]] = field(default_factory=list)

    def read(self, logs: Sequence[TaskId] = ()) -> Reading:
        self.logs.append(logs)
        now = self.readings.pop(0)
        if isinstance(now, SwarmError):
            raise now
        return Reading(BASE, now.log(of=task()).ledger())

    def apply(self, transaction: Transaction) -> Outcome:
        self.sent.append(transaction)
        answer = self.answers.pop(0)
        if isinstance(answer, SwarmError):
            raise answer
        return answer

    def read_claims_again(self, reading: Reading) -> Reading:
        raise NotImplementedError

    def write(self, data: bytes) -> ObjectId:
        raise NotImplementedError

    def finish(self) -> list[Notice]:
        raise NotImplementedError


@dataclass
class Run:
    """What came of it: the value or the error, the decisions asked for, the pauses made, and the arbiter."""

    arbiter: Scripted
    value: str | None
    error: SwarmError | None
    decided: int
    pauses: list[float]


def acquire(one: Claim, value: str = "won", sound_until: datetime | None = None) -> Step[str]:
    """Create the whole of a claim."""
    new = blob(record.encode(one))
    edits = [Edit(ref, None, new) for ref in [claim_ref(one.task), *(key.ref for key in keys_of(one))]]
    return Step(ordered(edits), value, (one, new), sound_until)


def release(one: Claim, value: str = "ended") -> Step[str]:
    """Log the end of a claim and delete its refs."""
    old, end = blob(record.encode(one)), ended(one)
    assert end.closed is not None
    edits = [Edit(log_ref(one.task, end.closed.at), None, blob(record.encode(end)))]
    edits += [Edit(ref, old, None) for ref in [claim_ref(one.task), *(key.ref for key in keys_of(one))]]
    return Step(ordered(edits, claim_first=True), value)


def run(
    readings: list[Refs | SwarmError],
    answers: list[Outcome | SwarmError],
    *decisions: Done[str] | Step[str] | SwarmError,
    clock: Callable[[], datetime] = lambda: NOW,
    remote: str | None = "origin",
) -> Run:
    """Carry out; the n-th decision is the n-th of `decisions`, and the last of them from then on."""
    arbiter, pauses, asked = Scripted(list(readings), list(answers), remote), list[float](), list[Reading]()

    def decide(reading: Reading) -> Done[str] | Step[str]:
        decision = decisions[min(len(asked), len(decisions) - 1)]
        asked.append(reading)
        if isinstance(decision, SwarmError):
            raise decision
        return decision

    deciding: Decide[str] = decide
    try:
        value, error = carry_out(arbiter, [task()], deciding, clock, pauses.append), None
    except SwarmError as raised:
        value, error = None, raised
    assert not arbiter.answers, "not every answer was asked for"
    assert not arbiter.readings, "not every reading was made"
    assert all(logs == [task()] for logs in arbiter.logs)
    return Run(arbiter, value, error, len(asked), pauses)


def test_told_yes_at_once() -> None:
    done = run([NOTHING], [APPLIED], acquire(MINE))
    assert (done.value, done.decided, done.pauses) == ("won", 1, [])
    assert done.arbiter.sent == [acquire(MINE).transaction]


def test_nothing_to_do() -> None:
    done = run([ALL], [], Done("already"))
    assert (done.value, done.arbiter.sent) == ("already", [])


def test_a_reading_that_fails_is_the_answer() -> None:
    assert run([UNREACHABLE], [], Done("never")).error is UNREACHABLE


def test_a_refusal_to_decide_is_the_answer() -> None:
    no = Refused("reserved", "kept")
    done = run([NOTHING], [], no)
    assert (done.error, done.arbiter.sent) == (no, [])


def test_refused_then_decided_anew() -> None:
    second = acquire(replace(MINE, token_hash="f" * 64), "second")
    done = run([NOTHING, NOTHING], [REFUSED, APPLIED], acquire(MINE), second)
    assert (done.value, done.decided) == ("second", 2)
    assert done.arbiter.sent == [acquire(MINE).transaction, second.transaction]
    assert len(done.pauses) == 1


def test_refused_because_somebody_was_faster() -> None:
    lost = Conflict("claim-held", "bob has it")
    done = run([NOTHING, Refs().held(OTHER)], [REFUSED], acquire(MINE), lost)
    assert done.error is lost


def test_refused_again_and_again_is_busy() -> None:
    done = run([NOTHING] * 8, [REFUSED] * 8, acquire(MINE))
    assert done.error is not None
    assert (done.error.code, done.error.hint) == ("busy", "run the command again")
    assert done.error.message == "origin refused 8 times: a lock was busy"
    bounds = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2]
    assert len(done.pauses) == len(bounds)
    assert all(0 <= pause <= most for pause, most in zip(done.pauses, bounds, strict=True))


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (
            "cannot lock ref 'refs/swarm/x': Unable to create '/r/.git/refs/swarm/x.lock': File exists. / Another git",
            "/r/.git/refs/swarm/x.lock",
        ),
        ("Unable to create '/my work/.git/packed-refs.lock': File exists.", "/my work/.git/packed-refs.lock"),
        ("Unable to create '/it's/.git/packed-refs.lock': File exists.", "/it's/.git/packed-refs.lock"),
        (
            "failed to update ref; remote: error: cannot lock ref 'a': Unable to create './refs/a.lock': File exists.",
            "./refs/a.lock",
        ),
    ],
)
def test_busy_names_the_lock_file_and_the_command_that_removes_it(words: str, file: str) -> None:
    done = run([NOTHING] * 8, [Outcome(Verdict.REFUSED, words)] * 8, acquire(MINE), remote=None)
    assert done.error is not None and done.error.hint is not None
    assert (done.error.code, done.error.details) == ("busy", {"file": file})
    assert done.error.message == f"this repository refused 8 times; git found a lock file in the way: {file}"
    assert shlex.split(done.error.hint, comments=True) == ["rm", file]


def test_rejected_is_the_servers_word() -> None:
    done = run([NOTHING], [REJECTED], acquire(MINE))
    assert done.error is not None
    assert (done.error.code, "hook declined" in done.error.message) == ("remote-rejected", True)


def test_unknown_but_the_whole_of_it_is_there() -> None:
    done = run([NOTHING, ALL], [UNKNOWN], acquire(MINE))
    assert (done.value, done.decided, len(done.arbiter.sent)) == ("won", 1, 1)


def without_claim() -> Refs:
    return Refs().keys_of(MINE)


def without_lock() -> Refs:
    return Refs().claim_ref(MINE).keys_of(MINE, ["k"])


def with_anothers_lock() -> Refs:
    return without_lock().keys_of(replace(MINE, token_hash="e" * 64), ["l"])


def older_blob() -> Refs:
    """Carries the same claim, but not the very blob that was sent."""
    return Refs().held(replace(MINE, expires_at=minutes(5)))


def with_one_older_lock() -> Refs:
    return without_lock().keys_of(replace(MINE, expires_at=minutes(5)), ["l"])


def over_already() -> Refs:
    return Refs().held(MINE).log(ended(MINE, "stolen"))


PARTS = [without_claim, without_lock, with_anothers_lock, older_blob, with_one_older_lock, over_already]


@pytest.mark.parametrize("part", PARTS)
def test_unknown_and_only_a_part_of_it_is_there(part: Callable[[], Refs]) -> None:
    """Not a success, and not sent again: the attempt is over, and a new decision is made on what is there."""
    done = run([NOTHING, part()], [UNKNOWN], acquire(MINE), Conflict("claim-held", "decided anew"))
    assert done.error is not None
    assert (done.error.message, done.decided, len(done.arbiter.sent)) == ("decided anew", 2, 1)


@pytest.mark.parametrize("part", PARTS)
def test_unknown_and_only_a_part_of_it_then_a_fresh_attempt(part: Callable[[], Refs]) -> None:
    fresh = acquire(replace(MINE, token_hash="f" * 64), "fresh")
    done = run([NOTHING, part()], [UNKNOWN, APPLIED], acquire(MINE), fresh)
    assert (done.value, done.arbiter.sent[-1]) == ("fresh", fresh.transaction)


def test_unknown_and_nothing_of_it_is_sent_again_as_it_was() -> None:
    done = run([NOTHING, NOTHING, ALL], [UNKNOWN, APPLIED], acquire(MINE))
    assert (done.value, done.decided) == ("won", 1)
    assert done.arbiter.sent == [acquire(MINE).transaction] * 2
    assert done.pauses == []


def test_a_yes_to_what_was_sent_twice_counts_only_where_it_reads_back() -> None:
    """The yes may be for the first one, which has landed, been released and been forgotten meanwhile."""
    done = run(
        [NOTHING, NOTHING, Refs().log(ended(MINE))], [UNKNOWN, APPLIED], acquire(MINE), Refused("reserved", "no")
    )
    assert (done.value, done.decided) == (None, 2)
    assert done.error is not None and done.error.message == "no"


def test_a_yes_to_what_was_sent_twice_with_nothing_there_at_all() -> None:
    done = run([NOTHING] * 3, [UNKNOWN, APPLIED], acquire(MINE))
    assert done.error is not None
    assert (done.value, done.error.code, done.decided) == (None, "remote-unreachable", 1)


def test_unknown_twice_says_what_may_still_land_and_until_when() -> None:
    done = run([NOTHING] * 3, [UNKNOWN, UNKNOWN], acquire(MINE))
    assert done.error is not None
    assert (done.error.code, len(done.arbiter.sent)) == ("remote-unreachable", 2)
    assert "connection lost" in done.error.message
    assert "2026-08-14T09:50:00.000Z" in done.error.message
    assert done.error.details == {"task": MINE.task, "agent": "ann", "expiresAt": "2026-08-14T09:50:00.000Z"}
    assert done.error.hint == f"swarm claim {MINE.task} --agent ann"


def test_unknown_twice_and_then_it_is_there() -> None:
    assert run([NOTHING, NOTHING, ALL], [UNKNOWN, UNKNOWN], acquire(MINE)).value == "won"


def test_unknown_and_the_reading_fails_too() -> None:
    done = run([NOTHING, UNREACHABLE], [UNKNOWN], acquire(MINE))
    assert done.error is not None
    assert (done.error.code, done.error.details["task"]) == ("remote-unreachable", MINE.task)
    assert "origin: no route" in done.error.message


@pytest.mark.parametrize("answer", [REJECTED, Undecided("remote-not-atomic", "no more"), Undecided("git-failed", "no")])
def test_unknown_and_what_is_sent_again_is_not_taken(answer: Outcome | SwarmError) -> None:
    """The first one may still land: it is not the answer to it."""
    done = run([NOTHING, NOTHING], [UNKNOWN, answer], acquire(MINE))
    assert done.error is not None
    assert (done.error.code, done.error.details["task"]) == ("remote-unreachable", MINE.task)


def test_an_arbiter_that_fails_before_anything_was_sent_is_the_answer() -> None:
    broken = Undecided("remote-not-atomic", "several pushes")
    assert run([NOTHING], [broken], acquire(MINE)).error is broken


def test_unknown_and_what_is_sent_again_is_refused() -> None:
    """The first one has landed meanwhile. That is found out by deciding anew."""
    done = run([NOTHING, NOTHING, ALL], [UNKNOWN, REFUSED], acquire(MINE), Done("already"))
    assert (done.value, done.decided) == ("already", 2)


def test_unknown_for_ever_ends() -> None:
    """Each time something else has moved, so each time it is another attempt."""
    steps = [acquire(replace(MINE, token_hash=f"{number:064x}")) for number in range(10)]
    moving: list[Refs | SwarmError] = [NOTHING, *[Refs().held(OTHER)] * 8]
    done = run(moving, [UNKNOWN] * 9, *steps)
    assert done.error is not None and done.error.code == "remote-unreachable"


LOST = Conflict("claim-held", "bob has it")


@pytest.mark.parametrize(
    ("readings", "answers", "decisions", "unanswered"),
    [
        ([UNREACHABLE], [], [acquire(MINE)], False),
        ([NOTHING], [], [LOST], False),
        ([NOTHING, NOTHING], [REFUSED], [acquire(MINE), LOST], False),
        ([NOTHING] * 8, [REFUSED] * 8, [acquire(MINE)], False),
        ([NOTHING], [REJECTED], [acquire(MINE)], False),
        ([NOTHING, UNREACHABLE], [UNKNOWN], [acquire(MINE)], True),
        ([NOTHING, Refs().held(OTHER)], [UNKNOWN], [acquire(MINE), LOST], True),
        ([NOTHING, NOTHING, Refs().held(OTHER)], [UNKNOWN, REFUSED], [acquire(MINE), LOST], True),
        ([NOTHING, NOTHING], [UNKNOWN, REJECTED], [acquire(MINE)], True),
        ([NOTHING] * 3, [UNKNOWN, UNKNOWN], [acquire(MINE)], True),
    ],
)
def test_an_error_tells_whether_something_of_it_may_still_land(
    readings: list[Refs | SwarmError],
    answers: list[Outcome | SwarmError],
    decisions: list[Step[str] | SwarmError],
    unanswered: bool,
) -> None:
    """For the token: what may land needs one, whatever the answer was in the end."""
    done = run(readings, answers, *decisions)
    assert done.error is not None
    assert done.error.unanswered is unanswered


# What ends a claim is found out by deciding again: the log tells.


def test_an_end_that_is_told_yes() -> None:
    assert run([ALL], [APPLIED], release(MINE)).value == "ended"


def test_an_end_of_unknown_outcome_is_decided_again() -> None:
    done = run([ALL, Refs().log(ended(MINE))], [UNKNOWN], release(MINE), Done("ended before"))
    assert (done.value, done.decided) == ("ended before", 2)


def test_an_end_of_unknown_outcome_is_sent_again_while_nothing_of_it_shows() -> None:
    readings: list[Refs | SwarmError] = [ALL, Refs().held(MINE), Refs().log(ended(MINE))]
    done = run(readings, [UNKNOWN, APPLIED], release(MINE), Done("ended before"))
    assert (done.value, done.decided) == ("ended before", 2)
    assert done.arbiter.sent == [release(MINE).transaction] * 2


def test_an_end_that_stays_unknown_says_that_the_command_may_be_run_again() -> None:
    done = run([ALL, ALL, ALL], [UNKNOWN, UNKNOWN], release(MINE))
    assert done.error is not None
    assert (done.error.code, done.error.details) == ("remote-unreachable", {})
    assert "may still be" in done.error.message


# A renewal that was answered after its old lease had run out.

OLD = claim(agent="ann", locks=["k", "l"], left=1)


def renewal(sound_until: datetime | None) -> Step[str]:
    old, new = blob(record.encode(OLD)), blob(record.encode(MINE))
    edits = [Edit(ref, old, new) for ref in [claim_ref(OLD.task), *(key.ref for key in keys_of(OLD))]]
    return Step(ordered(edits), "renewed", (MINE, new), sound_until)


def test_a_renewal_that_is_answered_in_time_is_told_outright() -> None:
    done = run([Refs().held(OLD)], [APPLIED], renewal(minutes(1)), clock=lambda: minutes(0.999))
    assert done.value == "renewed"


def test_a_renewal_that_is_answered_late_is_read_back() -> None:
    done = run([Refs().held(OLD), Refs().held(MINE)], [APPLIED], renewal(minutes(1)), clock=lambda: minutes(1))
    assert done.value == "renewed"


def test_a_renewal_that_is_answered_late_and_whose_end_was_logged_is_none() -> None:
    logged = Refs().held(MINE).log(ended(OLD, "expired"))
    lost = Conflict("claim-lost", "over")
    done = run([Refs().held(OLD), logged], [APPLIED], renewal(minutes(1)), lost, clock=lambda: minutes(1))
    assert (done.value, done.error) == (None, lost)
