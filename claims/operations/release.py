"""`swarm release`: end one's claim, or turn it into a completion record with `--done`."""

from __future__ import annotations

from claims import tokens
from claims.arbiter import Arbiter, Reading
from claims.errors import Conflict
from claims.ledger import Entry, Ledger, carrying
from claims.names import TaskId, branch_ref, claim_ref
from claims.operations.attempt import Done, Step, carry_out
from claims.operations.holding import end_of_own, hashes_here, not_own, own_entry
from claims.operations.replacing import blob_of, log_edits
from claims.operations.result import ClaimResult, remaining, state_of
from claims.record import Claim, Closed, close
from claims.session import Session
from claims.transaction import Edit, ordered
from claims.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Released:
    claim: Claim
    ledger: Ledger
    already: bool = False


class Unpublished(Exception):
    """The claim was made without the remote that arbitrates; the shared git directory has to end it."""


def release(session: Session, arbiter: Arbiter, task: TaskId, reason: str | None, *, done: bool) -> ClaimResult:
    """Archive the claim and delete its refs, or with `done` move its ref to the closed record.

    Works after expiry, after the plan moved, and from any branch. Said again it finishes what a crash left. Raises
    the four answers of `not_own`, and Unpublished.
    """
    closing = _Closing(session, arbiter, task, reason, done)
    # What ends in an error leaves the token as it is: something of it, or of an earlier command, may not be answered.
    released = carry_out(arbiter, [task], closing.decide, session.clock)
    closing.forget(released.claim)
    now = replace(released.ledger, now=session.clock())
    claim = released.claim
    return ClaimResult(claim, claim_ref(task), state_of(claim, now), remaining(claim, now), released.already)


class _Closing:
    """One release through all its tries, with one closed record, so that no try logs the same end twice."""

    def __init__(self, session: Session, arbiter: Arbiter, task: TaskId, reason: str | None, done: bool) -> None:
        self._session = session
        self._arbiter = arbiter
        self._task = task
        self._reason = reason
        self._outcome = "done" if done else "released"
        self._closed: Closed | None = None

    def decide(self, reading: Reading) -> Done[_Released] | Step[_Released]:
        ledger = reading.ledger
        hashes = hashes_here(self._session, self._task)
        entry = ledger.held_on(self._task)
        if entry is None or entry.claim is None or entry.claim.token_hash not in hashes:
            return self._clear_what_is_left(ledger, hashes)
        own_entry(self._session, ledger, self._task, self._arbiter.remote)
        if self._arbiter.remote is not None:
            if not entry.published:
                raise Unpublished
            self._session.needs_arbiter()
        elif entry.claim.local is False:
            self._session.needs_arbiter()
        return self._close(ledger, entry)

    def forget(self, claim: Claim) -> None:
        """The claim is over, so its token proves nothing any more."""
        for token in self._session.tokens_for(self._task):
            if token.hash == claim.token_hash:
                tokens.discard(token)

    def _close(self, ledger: Ledger, entry: Entry) -> Step[_Released]:
        held = entry.claim
        assert held is not None
        owed = ledger.owed(held)
        record = close(held, self._closing(ledger, held), carrying(owed))
        logged = next((old.claim for old in ledger.log_of(held) if old.claim and self._is_this(old.claim)), None)
        record = logged or record
        edits = log_edits(self._arbiter, ledger, [*owed, *([] if logged else [record])])
        blob = blob_of(self._arbiter, record) if self._outcome == "done" else None
        edits.append(Edit(claim_ref(self._task), entry.id, blob))
        edits += [Edit(at.ref, at.id, None) for _, at in ledger.keys_carrying(held)]
        for token in self._session.tokens_for(self._task):
            if token.hash == held.token_hash:
                tokens.unsettle(token)
        return Step(ordered(edits, claim_first=True), _Released(record, ledger))

    def _closing(self, ledger: Ledger, held: Claim) -> Closed:
        earliest = ledger.next_instant(self._task)
        if self._closed is None or self._closed.at < held.claimed_at:
            tip = self._session.objects.info([branch_ref(held.branch)])[0]
            commit = tip.id if tip is not None else None
            self._closed = Closed(earliest, held.agent, self._outcome, self._reason, commit)
        return self._closed

    def _is_this(self, claim: Claim) -> bool:
        """A `done` that was logged before the kill: it is reused, not said twice."""
        return claim.closed is not None and claim.closed.outcome == self._outcome == "done"

    def _clear_what_is_left(self, ledger: Ledger, hashes: set[str]) -> Done[_Released] | Step[_Released]:
        """No held claim of ours. Where the log or the claim ref shows that we ended it, delete what is left of it."""
        at = ledger.claims.get(self._task)
        mine_at = at if at is not None and at.claim is not None and at.claim.token_hash in hashes else None
        record = end_of_own(ledger, self._task, hashes)
        if record is None and mine_at is not None and mine_at.claim is not None and mine_at.claim.closed is not None:
            record = mine_at.claim
        if record is None or record.closed is None:
            raise not_own(self._session, ledger, self._task, self._arbiter.remote)
        if mine_at is not None and mine_at.claim is not None and self._outcome == "released":
            completed = mine_at.claim.closed is not None and not ledger.has_ended(mine_at.claim)
            if completed:
                raise Conflict(
                    "claim-lost",
                    f"{self._task} is finished: its claim is a completion record now",
                    f"swarm reopen {self._task} --reason TEXT",
                )
        edits = self._leftovers(ledger, record, mine_at)
        if edits and self._arbiter.remote is not None:
            self._session.needs_arbiter()
        if record.closed.outcome != self._outcome:
            if edits:
                self._arbiter.apply(ordered(edits, claim_first=True))
            raise not_own(self._session, ledger, self._task, self._arbiter.remote)
        value = _Released(record, ledger, already=record.closed != self._closed)
        return Step(ordered(edits, claim_first=True), value) if edits else Done(value)

    def _leftovers(self, ledger: Ledger, record: Claim, mine_at: Entry | None) -> list[Edit]:
        edits = [Edit(entry.ref, entry.id, None) for _, entry in ledger.keys_carrying(record)]
        if mine_at is None or mine_at.claim is None:
            return edits
        if ledger.has_ended(mine_at.claim):
            edits.append(Edit(mine_at.ref, mine_at.id, None))
            return [*log_edits(self._arbiter, ledger, ledger.owed(mine_at.claim)), *edits]
        # A completion record: it stays, and what the log lacks of it is written.
        return [*log_edits(self._arbiter, ledger, [*ledger.owed(mine_at.claim), mine_at.claim]), *edits]
