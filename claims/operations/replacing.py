"""Writing a new claim, for claim and steal: admission, and the edits that put it in place of what is there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from claims import record, tokens
from claims.admission import (
    Applicant,
    Candidate,
    Situation,
    choose_slots,
    claims_to_set_aside,
    deletion_command,
    needed_keys,
    refusals,
)
from claims.arbiter import Arbiter, Reading
from claims.board.board import Board
from claims.errors import SwarmError, Undecided, first_of
from claims.git_tree import board_at
from claims.ledger import Key, Ledger, carrying
from claims.names import ObjectId, RefName, SlotKey, TaskId, branch_ref, claim_ref, log_ref
from claims.operations import overlap
from claims.operations.candidate import kinds_of_held, read_candidate
from claims.operations.worktree import task_elsewhere
from claims.record import Claim
from claims.session import Session
from claims.tokens import Token
from claims.transaction import Edit, Transaction, ordered
from claims.values import dataclass, replace

#: How to end a claim with another reason, by the outcome that it is to have.
_SAY_LESS = {
    "released": "swarm release {task}   # with a shorter reason",
    "done": "swarm release {task} --done   # with a shorter reason",
    "expired": "swarm reap   # with a shorter reason",
    "reopened": "swarm reopen {task} --reason TEXT   # a shorter one",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What `claim` and `steal` were asked for; `minutes` None: as the configuration says."""

    task: TaskId
    minutes: int | None = None
    repository: int | None = None


class Writer:
    """Prepares one new claim after another, a fresh token each, until one is in place.

    The tokens of attempts that were told no are deleted by `settle` and `give_up`; one whose outcome is not known
    stays in its file.
    """

    def __init__(self, session: Session, arbiter: Arbiter, request: Request) -> None:
        self._session = session
        self._arbiter = arbiter
        self._request = request
        self._drawn: list[Token] = []
        self.applicant = Applicant(
            session.required_agent(), session.required_branch(), session.base, request.repository
        )

    def mine(self) -> dict[str, Token]:
        """The tokens of this worktree for the task, by hash, and the one that was given."""
        here = tokens.held_here(self._session.repository.private_dir, self._request.task)
        given = [self._session.token] if self._session.token else []
        return {token.hash: token for token in (*given, *here)}

    def admit(self, reading: Reading, replaced: Claim | None) -> Admitted:
        """Decide on a reading. Raises the refusals, all in one."""
        session, request = self._session, self._request
        board = board_at(session, reading.base)
        candidate = read_candidate(board, request.task, lambda task: task_elsewhere(session, task))
        admitted = self._decide(board, candidate, reading, replaced)
        if admitted.debris:
            # One reading is no snapshot: the claim that lists this lock may have been written after its refs were read.
            again = self._arbiter.read_claims_again(reading)
            admitted = self._decide(board, candidate, _keeping(reading, again, request.task), replaced)
        return admitted

    def _decide(self, board: Board, candidate: Candidate, reading: Reading, replaced: Claim | None) -> Admitted:
        ledger = reading.ledger
        aside = claims_to_set_aside(ledger, candidate.id, self.mine())
        if replaced is not None:
            aside = (*aside, replaced)
        kinds = kinds_of_held(board, ledger, candidate.config)
        situation = Situation(ledger, aside, kinds, self._arbiter.remote)
        reasons = refusals(candidate, self.applicant, situation)
        if not reasons:
            reasons = overlap.refusals(self._session, board, candidate, situation)
        if reasons:
            raise first_of(reasons)
        assert candidate.task is not None
        slots, _ = choose_slots(candidate, candidate.task, self.applicant.agent, situation)
        keys = needed_keys(candidate.task.locks, slots)
        return Admitted(board, candidate, situation, reading.base, tuple(sorted(slots)), tuple(keys))

    def compose(self, admitted: Admitted, published: Claim | None = None) -> Attempt:
        """Draw a token, build the claim and write its blob. `published` is a local claim that goes to the remote."""
        session, request, ledger = self._session, self._request, admitted.situation.ledger
        task = admitted.candidate.task
        assert task is not None
        token = self.mine().get(published.token_hash or "") if published is not None else None
        if token is None:
            token = tokens.draw(session.repository.private_dir, request.task)
            self._drawn.append(token)
        minutes = request.minutes or admitted.candidate.config.lease_minutes
        claimed_at = ledger.next_instant(request.task)
        tip = session.objects.info([branch_ref(self.applicant.branch)])[0]
        at = ledger.claims.get(request.task)
        claim = Claim(
            task=request.task,
            agent=self.applicant.agent,
            branch=self.applicant.branch,
            base_commit=admitted.base,
            claimed_at=claimed_at,
            expires_at=claimed_at + timedelta(minutes=minutes),
            locks=tuple(sorted(set(task.locks))),
            plan_revision=admitted.candidate.plan_revision,
            task_digest=task.digest,
            branch_commit=tip.id if tip is not None else None,
            repository=request.repository,
            token_hash=token.hash,
            slots=admitted.slots,
            local=self._arbiter.remote is None,
            replaced=carrying(ledger.owed(at.claim)) if at is not None and at.claim is not None else None,
        )
        if published is not None:
            # The work began under the local claim: that is what the gate shall see.
            claim = replace(claim, branch_commit=published.branch_commit)
        return Attempt(claim, token)

    def settle(self, claim: Claim) -> None:
        """The claim is in place: keep its token under its lasting name and delete those of earlier attempts."""
        for token in self.mine().values():
            if token.hash == claim.token_hash:
                tokens.settle(token)
        for token in self._drawn:
            if token.hash != claim.token_hash:
                tokens.discard(token)

    def give_up(self, error: SwarmError) -> None:
        """Nothing came of it: delete the tokens that were drawn, unless something of them is there or may land."""
        if not error.unanswered:
            for token in self._drawn:
                tokens.discard(token)


@dataclass(frozen=True, slots=True)
class Admitted:
    """An admission: what it was decided on, and the slots and keys that the claim is to have."""

    board: Board
    candidate: Candidate
    situation: Situation
    base: ObjectId
    slots: tuple[SlotKey, ...]
    keys: tuple[Key, ...]

    @property
    def debris(self) -> list[RefName]:
        """The refs in the way that belong to nobody: neither free, nor set aside, nor anybody's."""
        out = {claim.identity for claim in self.situation.aside}
        entries = [self.situation.ledger.entry_at(key.ref) for key in self.keys]
        return [
            entry.ref
            for entry in entries
            if entry is not None and not (entry.claim is not None and entry.claim.identity in out)
        ]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A claim to be written and its token."""

    claim: Claim
    token: Token


def blob_of(arbiter: Arbiter, claim: Claim) -> ObjectId:
    """Write a claim's blob. Raises Undecided `limits-exceeded` for one that could not be read back in a thief's."""
    data, own = record.encode(claim), len(record.encode(replace(claim, replaced=None)))
    if claim.closed is None and own > record.MAX_NEW_BYTES:
        message = f"the claim on {claim.task} would have {own} bytes; {record.MAX_NEW_BYTES} are written"
        raise Undecided("limits-exceeded", message, f"swarm show {claim.task}   # it needs fewer or shorter lock keys")
    if len(data) > record.MAX_BYTES:
        message = f"the claim on {claim.task} would carry {len(data)} bytes with what it replaces"
        raise Undecided("limits-exceeded", f"{message}; {record.MAX_BYTES} are written", "swarm reap")
    return arbiter.write(data)


def edits_for(
    arbiter: Arbiter,
    admitted: Admitted,
    claim: Claim,
    blob: ObjectId,
    old: Iterable[Claim],
    ended: Iterable[Claim] = (),
) -> Transaction:
    """The transaction that puts `claim` in place.

    `old` are the claims whose place it takes: refs that carry them and are not needed any more are deleted. `ended`
    are closed records to be logged with it; what the claim in place still owes the log is logged first.
    """
    ledger = admitted.situation.ledger
    needed = {key.ref for key in admitted.keys}
    edits = log_edits(arbiter, ledger, [*_owed_at(ledger, claim.task), *ended])
    edits += [Edit(key.ref, ledger.id_at(key.ref), blob) for key in admitted.keys]
    leftovers = {entry.ref: entry for one in old for _, entry in ledger.keys_carrying(one) if entry.ref not in needed}
    edits += [Edit(entry.ref, entry.id, None) for entry in leftovers.values()]
    at = ledger.claims.get(claim.task)
    edits.append(Edit(claim_ref(claim.task), at.id if at is not None else None, blob))
    return ordered(edits)


def log_edits(arbiter: Arbiter, ledger: Ledger, closed: Iterable[Claim]) -> list[Edit]:
    """Create the log entries of closed records, those left out that the log has already. Raises `too_large`."""
    there = {entry.ref for entries in ledger.logs.values() for entry in entries}
    edits: list[Edit] = []
    for claim in closed:
        assert claim.closed is not None
        ref = log_ref(claim.task, claim.closed.at)
        if ref not in there:
            there.add(ref)
            refuse_too_large(arbiter, ledger, claim)
            edits.append(Edit(ref, None, arbiter.write(record.encode(claim))))
    return edits


def refuse_too_large(arbiter: Arbiter, ledger: Ledger, closed: Claim) -> None:
    """Raise `too_large` where that is so."""
    fault = too_large(arbiter, ledger, closed)
    if fault is not None:
        raise fault


def too_large(arbiter: Arbiter, ledger: Ledger, closed: Claim) -> SwarmError | None:
    """`limits-exceeded`: the record of how a claim ended, which other tools wrote, could not be read again.

    Without a record no claim ends, so it stays; the hint is a shorter reason where that helps, else how an operator
    deletes the claim as it is.
    """
    size = len(record.encode(closed))
    if size <= record.MAX_BYTES:
        return None
    assert closed.closed is not None
    at = ledger.claims.get(closed.task)
    entries = [*([at] if at is not None else []), *(entry for _, entry in ledger.keys_carrying(closed))]
    hint = deletion_command(entries, arbiter.remote) if entries else None
    brief = replace(closed, closed=replace(closed.closed, reason=None))
    if closed.closed.reason is not None and len(record.encode(brief)) <= record.MAX_BYTES:
        hint = _SAY_LESS[closed.closed.outcome].format(task=closed.task)
    return Undecided(
        "limits-exceeded",
        f"the record that the claim on {closed.task} was {closed.closed.outcome} would have {size} bytes; "
        f"{record.MAX_BYTES} are read",
        hint,
        {"task": closed.task, "bytes": size, "limit": record.MAX_BYTES},
    )


def _owed_at(ledger: Ledger, task: TaskId) -> tuple[Claim, ...]:
    at = ledger.claims.get(task)
    return ledger.owed(at.claim) if at is not None and at.claim is not None else ()


def _keeping(first: Reading, again: Reading, task: TaskId) -> Reading:
    """`again`, but with the claim on `task` as it was first read.

    What was decided of it rests on that, so that is the value to expect: a lease that was renewed since is not ours.
    """
    claims = {other: entry for other, entry in again.ledger.claims.items() if other != task}
    if task in first.ledger.claims:
        claims[task] = first.ledger.claims[task]
    return replace(again, ledger=replace(again.ledger, claims=claims))
