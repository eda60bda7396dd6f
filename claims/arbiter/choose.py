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
