"""The mirror: this clone's copy of the remote's live refs. Which local refs have to move is decided here, purely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from claims.ledger import Entry, Ledger
from claims.names import LIVE, ObjectId, RefName
from claims.record import Claim
from claims.transaction import Edit


def edits(
    before: Mapping[RefName, ObjectId], wanted: Mapping[RefName, ObjectId], keep: Iterable[RefName]
) -> list[Edit]:
    """From the local refs as they were before the fetch to what the remote has; `keep` stays as it is."""
    kept = set(keep)
    moved = sorted({*before, *wanted} - kept)
    return [Edit(ref, before.get(ref), wanted.get(ref)) for ref in moved if before.get(ref) != wanted.get(ref)]


def unpublished(local: Mapping[RefName, Entry], remote: Ledger) -> dict[RefName, Entry]:
    """Of the local live refs, those of claims that were made without a remote and never got to it.

    A claim whose token the remote's claim or log shows has been published since: what is left of it here is stale.
    """
    return {
        ref: entry
        for ref, entry in local.items()
        if ref.startswith(LIVE) and entry.claim is not None and entry.claim.local and not _known(entry.claim, remote)
    }


def _known(claim: Claim, remote: Ledger) -> bool:
    here = remote.claims.get(claim.task)
    entries = (*remote.logs.get(claim.task, ()), *([here] if here is not None else []))
    hashes = {entry.claim.token_hash for entry in entries if entry.claim is not None}
    return claim.token_hash in hashes
