"""Who arbitrates: the remote where the session has one, else the shared git directory."""

from __future__ import annotations

from claims.arbiter import Arbiter
from claims.session import Session


def choose_arbiter(session: Session) -> Arbiter:
    """The arbiter of a session; only the one that is needed is loaded."""
    if session.remote is None:
        from claims.arbiter.local import LocalArbiter

        return LocalArbiter(session)
    from claims.arbiter.remote import RemoteArbiter

    return RemoteArbiter(session, session.remote)


def arbiter_of_unpublished(session: Session) -> Arbiter:
    """Who decides on claims that were made without the remote that arbitrates now: the shared git directory still."""
    from claims.arbiter.local import LocalArbiter
    from claims.names import RefName

    return LocalArbiter(session, RefName(f"refs/remotes/{session.remote}/{session.base}") if session.remote else None)
