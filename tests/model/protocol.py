"""The claim protocol, abstract: what every command decides from what it has read. Pure, and it imports no product code.

It is written from `claims.md` (*What counts when a transaction was torn*, *Who arbitrates*, the commands) and stands
beside the product as a second opinion, so nothing here may be taken from there or the other way round.

Four refs are enough: two tasks' claim refs, one lock and one slot. A blob is a value with an id; a token is the id of
the first blob of its claim, and later blobs of the same claim (renewals) carry the same token. A log entry is the pair
(token, how it ended), held as one bit. `Rules` has a switch for every rule, so that a search can drop one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

# Refs are numbered in the order of their names, which is the order in which a push sends existing refs:
# refs/swarm/slots/, refs/swarm/task-claims/, refs/swarm/task-locks/.
S: Final = 0
T1: Final = 1
T2: Final = 2
L: Final = 3
LOG: Final = -1
REF_NAMES: Final = ("S", "T1", "T2", "L")
TASKS: Final = (T1, T2)
KEYS: Final = (S, L)

RELEASED, DONE, STOLEN, EXPIRED, REOPENED = range(5)
OUTCOMES: Final = ("released", "done", "stolen", "expired", "reopened")

# Ids are dealt per process and task, so that two orders of the same events give the same ids.
PER_TASK: Final = 16
PER_PROCESS: Final = 32


class Blob(NamedTuple):
    """What a claim, lock or slot ref points at."""

    id: int
    token: int
    task: int
    keys: tuple[int, ...]
    #: Log entries that a claim which took over another one's ref owes, should they be missing (rule 5).
    replaced: tuple[int, ...]
    #: True for a completion record: the blob closed as done.
    closed: bool


class Edit(NamedTuple):
    """One ref from an expected blob to another; None is absent. With `ref == LOG`, `bit` is the entry created."""

    ref: int
    old: Blob | None
    new: Blob | None
    bit: int = 0


class Command(NamedTuple):
    """A verb and the task or key it is about."""

    verb: str
    target: int
    #: Whether base lists other keys for the task when the command reads it.
    changed: bool = False


class Tell(NamedTuple):
    """The end of a command: what its agent is told. `kind` says which claim it makes about the world."""

    code: str
    kind: int
    blob: Blob | None = None


#: A refusal; "it holds"; "it is released (or done)"; "cleared away" (reap, reopen), which claims nothing.
REFUSED, HOLDS, ENDED, CLEARED = range(4)


class Message(NamedTuple):
    """A transaction on its way to the arbiter, and what its sender will be told if it lands whole."""

    edits: tuple[Edit, ...]
    success: Tell
    #: The claim it is about; -1 where it is about no claim of the sender's.
    token: int
    resent: bool = False
    #: Whether a yes arrived, so that what is read back is read after it landed.
    answered: bool = False


Refs = tuple[Blob | None, Blob | None, Blob | None, Blob | None]


class View(NamedTuple):
    """What a command has read so far: the log's bits and the refs. Not one instant: a fetch is no snapshot."""

    log: int
    refs: Refs


class Reread(NamedTuple):
    """Asks for some of what has been read to be read once more."""

    parts: tuple[int, ...]


#: Rule 1, before debris is taken.
REREAD_CLAIMS: Final = Reread(TASKS)
#: Rule 3, before one's own claim is taken for only part of an attempt.
REREAD_KEYS: Final = Reread(KEYS)
#: Rule 3 as amended, after a push without an answer was found to have landed.
REREAD_LOG: Final = Reread((LOG,))
Decision = Tell | Message | Reread


class Rules(NamedTuple):
    """Every rule on. Turn one off to see what it is for."""

    #: Rule 1: a key is taken while a held claim lists it.
    listed: bool = True
    #: Rule 1: a key is taken while its ref's own blob is unexpired.
    unexpired: bool = True
    #: Rule 1: before taking debris, read the claim refs again.
    reread: bool = True
    #: Rule 2: an end in the log has ended the claim.
    ended: bool = True
    #: Rule 2 as amended: `reopened` is such an end.
    reopened_ends: bool = True
    #: Rule 3: what was not told outright is a success only if the whole set reads back.
    whole: bool = True
    #: Rule 3: an attempt is over only where a part shows in a fetch that began after its claim ref was seen.
    refetch: bool = True
    #: Rule 3 as amended: the whole set is the same blob on every ref, not just the same token.
    same: bool = True
    #: Rule 3 as amended: what is found held is confirmed by moving it, once a push of that token was not answered.
    confirm: bool = True
    #: Rule 3 as amended: a renewal that an end may have crossed (the lease had run out before the answer, or once a
    #: push of that token was not answered) is not told outright.
    crossed: bool = True
    #: Rule 3 as amended: where nothing was answered, the log is read once more after the whole set was found.
    log_last: bool = True
    #: Rule 4: `release --done` moves the claim ref before it deletes locks.
    done_order: bool = True
    #: Rule 5: `replaced` is carried, and its entry written if missing.
    replaced: bool = True
    #: Rule 5 as amended: whatever takes over a claim ref carries on what the old blob owed.
    carried: bool = True
    #: Rule 6: only refs that carry the claim's own token are touched.
    own_only: bool = True


class Context(NamedTuple):
    """All that a decision may depend on."""

    rules: Rules
    command: Command
    #: The keys that the task needs, as base has it now.
    needed: tuple[int, ...]
    #: Tells whether the command's user has the token here.
    mine: Callable[[int], bool]
    #: Where the next blob id of this process and task comes from.
    fresh_id: int
    view: View
    #: Bits of the blob ids whose lease has run out.
    expired: int
    #: Bits of the tokens of which a push was once not answered.
    unanswered: int
    #: What has been read once more.
    reread: tuple[Reread, ...]
    #: The last push of this command, where its outcome is unknown or it was sent again.
    attempt: Message | None


def bit_of(token: int, outcome: int) -> int:
    """The number of the log entry that says how the claim of `token` ended."""
    return token * len(OUTCOMES) + outcome


def has(log: int, token: int, outcome: int) -> bool:
    return bool(log >> bit_of(token, outcome) & 1)


def ended(rules: Rules, log: int, token: int) -> bool:
    """Rule 2: whether the log shows an end of this claim. `done` is none: its claim ref becomes a completion record."""
    if not rules.ended:
        return False
    bits = log >> bit_of(token, 0)
    return bool(bits & (0b01101 if not rules.reopened_ends else 0b11101))


def whole(refs: Refs, blob: Blob) -> bool:
    """Whether every lock and slot that the claim lists carries its token, be it from an earlier renewal."""
    for key in blob.keys:
        there = refs[key]
        if there is None or there.token != blob.token:
            return False
    return True


def same(refs: Refs, blob: Blob) -> bool:
    """Whether every lock and slot that the claim lists carries this very blob."""
    for key in blob.keys:
        there = refs[key]
        if there is None or there.id != blob.id:
            return False
    return True


def decide(c: Context) -> Decision:
    """What the command does next, its view being complete."""
    if c.attempt is not None and c.attempt.success.kind == HOLDS:
        settled = _settle(c, c.attempt)
        if settled is not None:
            return settled
    return _COMMANDS[c.command.verb](c)


def hopeless(c: Context) -> bool:
    """Whether log and claim refs alone refuse the command, whatever locks there are and whichever lease runs out."""
    if c.command.verb != "reap":
        decision = _COMMANDS[c.command.verb](c)
        return isinstance(decision, Tell) and decision.kind == REFUSED and decision.code != "claim-live"
    current = _current(c)
    return c.command.target in TASKS and (current is None or (current.closed and not _ended(c, current)))


# One command each


def _claim(c: Context) -> Decision:
    current = _current(c)
    if current is None:
        return _fresh(c, None)
    if _ended(c, current):
        return _fresh(c, current)
    if current.closed:
        return Tell("finished-elsewhere", REFUSED)
    if not c.mine(current.token):
        return Tell("claim-held", REFUSED)
    if _expired(c, current):
        return Tell("claim-expired", REFUSED)
    return _again(c, current)


def _again(c: Context, current: Blob) -> Decision:
    """A live claim of one's own: held already, or only part of an attempt, which is then over (rule 3)."""
    if c.rules.whole and not whole(c.view.refs, current):
        if c.rules.refetch and REREAD_KEYS not in c.reread:
            return REREAD_KEYS
        return _fresh(c, current)
    unanswered = c.rules.confirm and c.unanswered >> current.token & 1
    if unanswered or not _reads_back(c, current):
        return _move(c, current)
    return Tell("already", HOLDS, current)


def _steal(c: Context) -> Decision:
    current = _current(c)
    if current is None:
        return Tell("claim-not-found", REFUSED)
    if _ended(c, current):
        return _fresh(c, current)
    if current.closed:
        return Tell("finished-elsewhere", REFUSED)
    if _expired(c, current):
        return _fresh(c, current, steals=True)
    return _again(c, current) if c.mine(current.token) else Tell("claim-live", REFUSED)


def _renew(c: Context) -> Decision:
    current = _current(c)
    if current is None or current.closed or not c.mine(current.token) or _ended(c, current):
        return Tell("claim-lost", REFUSED)
    return _move(c, current)


def _release(c: Context) -> Decision:
    return _end(c, RELEASED)


def _done(c: Context) -> Decision:
    return _end(c, DONE)


def _reap(c: Context) -> Decision:
    """Of a task, its claim; of a key, the debris on its ref."""
    if c.command.target in KEYS:
        return _reap_key(c, c.command.target)
    current = _current(c)
    if current is None:
        return Tell("nothing", REFUSED)
    cleared = Tell("reaped", CLEARED)
    if _ended(c, current):
        return Message(_ending(c, current, _owed(c, current)), cleared, -1)
    if current.closed or not _expired(c, current):
        return Tell("nothing", REFUSED)
    logs = (*_owed(c, current), bit_of(current.token, EXPIRED))
    return Message(_ending(c, current, logs), cleared, -1)


def _reap_key(c: Context, key: int) -> Decision:
    there = c.view.refs[key]
    if there is None or _listed(c, key, None):
        return Tell("nothing", REFUSED)
    if not (_expired(c, there) or ended(c.rules, c.view.log, there.token)):
        return Tell("nothing", REFUSED)
    if c.rules.reread and REREAD_CLAIMS not in c.reread:
        return REREAD_CLAIMS
    return Message((Edit(key, there, None),), Tell("reaped", CLEARED), -1)


def _reopen(c: Context) -> Decision:
    current = _current(c)
    if current is None or not current.closed:
        return Tell("nothing-to-reopen", REFUSED)
    logs = [*_owed(c, current), *_missing(c, (bit_of(current.token, DONE),))]
    logs.append(bit_of(current.token, REOPENED))
    return Message(_ending(c, current, logs), Tell("reopened", CLEARED), -1)


# What commands share


def _current(c: Context) -> Blob | None:
    return c.view.refs[c.command.target]


def _ended(c: Context, blob: Blob) -> bool:
    return ended(c.rules, c.view.log, blob.token)


def _expired(c: Context, blob: Blob) -> bool:
    return bool(c.expired >> blob.id & 1)


def _reads_back(c: Context, claim: Blob) -> bool:
    """Rule 3: whether the whole set is there, so that it was a success though nobody said so."""
    if not c.rules.whole:
        return True
    return same(c.view.refs, claim) if c.rules.same else whole(c.view.refs, claim)


def _missing(c: Context, bits: Iterable[int]) -> list[int]:
    return [bit for bit in bits if not c.view.log >> bit & 1]


def _owed(c: Context, blob: Blob) -> list[int]:
    """Rule 5: the log entries that whoever moves or ends this claim has to write."""
    return _missing(c, blob.replaced) if c.rules.replaced else []


def _logs(bits: Iterable[int]) -> list[Edit]:
    return [Edit(LOG, None, None, bit) for bit in bits]


def _listed(c: Context, key: int, aside: int | None) -> bool:
    """Rule 1: whether a held claim lists the key, the claim of token `aside` and ended ones apart."""
    if not c.rules.listed:
        return False
    for task in TASKS:
        blob = c.view.refs[task]
        if blob is None or blob.closed or key not in blob.keys or blob.token == aside:
            continue
        if not _ended(c, blob):
            return True
    return False


def _touches(c: Context, there: Blob | None, claim: Blob) -> bool:
    """Rule 6: whether a claim's end or move may touch what is on a key's ref."""
    return there is not None and (not c.rules.own_only or there.token == claim.token)


def _fresh(c: Context, current: Blob | None, steals: bool = False) -> Decision:
    """A new claim with a new token. `current`, which is on the claim ref, gives way together with what it has left."""
    aside = None if current is None else current.token
    edits: list[Edit] = []
    for key in c.needed:
        there = c.view.refs[key]
        if not (current is not None and key in current.keys and not c.rules.own_only):
            refused = _taken(c, key, aside)
            if refused is not None:
                return refused
        edits.append(Edit(key, there, None))
    owed = [] if current is None else _owed(c, current)
    ending = [bit_of(current.token, STOLEN)] if current is not None and steals else []
    carried = tuple(owed) if c.rules.carried else ()
    replaced = (*carried, *ending) if c.rules.replaced else ()
    blob = Blob(c.fresh_id, c.fresh_id, c.command.target, c.needed, replaced, False)
    moves = [edit._replace(new=blob) for edit in edits]
    moves.append(Edit(c.command.target, current, blob))
    dropped = [] if current is None else _dropped(c, current)
    return Message((*_logs([*owed, *ending]), *moves, *dropped), Tell("claimed", HOLDS, blob), blob.token)


def _taken(c: Context, key: int, aside: int | None) -> Tell | Reread | None:
    """Rule 1: why a fresh claim may not have the key; None where it may."""
    if _listed(c, key, aside):
        return Tell("lock-held", REFUSED)
    there = c.view.refs[key]
    if there is None or there.token == aside:
        return None
    if there.task == c.command.target and (c.mine(there.token) or _ended(c, there)):
        return None
    if c.rules.unexpired and not _expired(c, there):
        return Tell("lock-held", REFUSED)
    return None if REREAD_CLAIMS in c.reread or not c.rules.reread else REREAD_CLAIMS


def _dropped(c: Context, current: Blob) -> list[Edit]:
    """Deletes of the keys that a claim held and its successor does not need."""
    keys = [key for key in current.keys if key not in c.needed]
    return [Edit(key, c.view.refs[key], None) for key in keys if _touches(c, c.view.refs[key], current)]


def _move(c: Context, current: Blob) -> Decision:
    """A renewal: the whole set to a fresh blob of the same claim; what is missing of it is created (rule 6)."""
    blob = current._replace(id=c.fresh_id)
    edits = []
    for key in current.keys:
        there = c.view.refs[key]
        if there is not None and not _touches(c, there, current):
            return Tell("lock-held", REFUSED)
        edits.append(Edit(key, there, blob))
    edits.append(Edit(c.command.target, current, blob))
    told = Tell("renewed", HOLDS, blob)
    return Message((*_logs(_owed(c, current)), *edits), told, current.token)


def _ending(c: Context, current: Blob, logs: Iterable[int], closed: Blob | None = None) -> tuple[Edit, ...]:
    """Rule 4: log entries, then the claim ref, then the deletes of the keys that carry the claim's token."""
    claim = Edit(c.command.target, current, closed)
    deletes = _own_keys(c, current)
    if closed is not None and not c.rules.done_order:
        return (*_logs(logs), *deletes, claim)
    return (*_logs(logs), claim, *deletes)


def _own_keys(c: Context, claim: Blob) -> list[Edit]:
    refs = c.view.refs
    return [Edit(key, refs[key], None) for key in claim.keys if _touches(c, refs[key], claim)]


def _end(c: Context, outcome: int) -> Decision:
    """`release` (RELEASED) or `release --done` (DONE)."""
    current = _current(c)
    if current is None or not c.mine(current.token):
        return _end_leftovers(c, outcome)
    told = Tell("released", ENDED, current)
    if _ended(c, current):
        if outcome != RELEASED or not has(c.view.log, current.token, RELEASED):
            told = Tell("claim-lost", REFUSED)
        return Message(_ending(c, current, _owed(c, current)), told, current.token)
    if current.closed:
        return _end_record(c, current) if outcome == DONE else Tell("claim-lost", REFUSED)
    logs = (*_owed(c, current), *_missing(c, (bit_of(current.token, outcome),)))
    closed = current._replace(id=c.fresh_id, closed=True) if outcome == DONE else None
    return Message(_ending(c, current, logs, closed), told, current.token)


def _end_record(c: Context, current: Blob) -> Decision:
    """Completes a torn `release --done` whose claim ref has already moved."""
    logs = [*_owed(c, current), *_missing(c, (bit_of(current.token, DONE),))]
    edits = (*_logs(logs), *_own_keys(c, current))
    told = Tell("released", ENDED, current)
    return Message(edits, told, current.token) if edits else told


def _end_leftovers(c: Context, outcome: int) -> Decision:
    """The claim ref is not one's own (any more): the log says whether that is because it was released."""
    current = _current(c)
    log = c.view.log
    for bit in () if current is None else current.replaced:
        log |= 1 << bit
    newest = _newest_of_mine(c, log)
    if newest is None or not has(log, newest, outcome):
        return Tell("claim-lost", REFUSED)
    claim = Blob(newest, newest, c.command.target, KEYS, (), False)
    edits = tuple(
        Edit(key, there, None) for key in KEYS if (there := c.view.refs[key]) is not None and there.token == newest
    )
    told = Tell("released", ENDED, claim)
    return Message(edits, told, newest) if edits else told


def _newest_of_mine(c: Context, log: int) -> int | None:
    """The newest of the user's claims of this task that the log knows. An older one's end says nothing of it."""
    first = c.fresh_id - c.fresh_id % PER_TASK
    for token in range(first + PER_TASK - 1, first - 1, -1):
        if log >> bit_of(token, 0) & 0b11111 and c.mine(token):
            return token
    return None


def _settle(c: Context, attempt: Message) -> Decision | None:
    """Rule 3: a claim, steal or renewal whose outcome is unknown. None where the attempt is over."""
    blob = attempt.success.blob
    assert blob is not None
    refs = c.view.refs
    current = refs[blob.task]
    if current is not None and current.id == blob.id and not current.closed and not _ended(c, current):
        if not _reads_back(c, current):
            return None
        if c.rules.log_last and not attempt.answered and REREAD_LOG not in c.reread:
            return REREAD_LOG
        return attempt.success
    if attempt.answered:
        return None
    shows = any(there is not None and there.id == blob.id for there in refs)
    expected = all(refs[edit.ref] == edit.old for edit in attempt.edits if edit.ref != LOG)
    if shows or not expected or ended(c.rules, c.view.log, blob.token):
        return None
    return attempt._replace(resent=True)


_COMMANDS: Final[dict[str, Callable[[Context], Decision]]] = {
    "claim": _claim,
    "steal": _steal,
    "renew": _renew,
    #: `renew --minutes 0`: ends the lease at once.
    "lapse": _renew,
    "release": _release,
    "done": _done,
    "reap": _reap,
    "reopen": _reopen,
}
