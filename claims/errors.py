"""What goes wrong, as values: every code of `swarm`, its exit status, and four exceptions to raise them with.

The exception classes follow the exit status: `Refused` (1: the rules say no), `Conflict` (2: somebody else was
faster), `Undecided` (3: could not tell, which is never "fine"), `Usage` (64). A code belongs to exactly one of them;
`SwarmError` checks that when it is raised, so a code can never leave with a wrong status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

EXIT_OK = 0
EXIT_REFUSED = 1
EXIT_CONFLICT = 2
EXIT_UNDECIDED = 3
EXIT_USAGE = 64
EXIT_INTERRUPTED = 130

#: Every code and the exit status it leaves with. Other programs rely on both.
CODES: Mapping[str, int] = {
    "detached-head": EXIT_REFUSED,
    "on-base-branch": EXIT_REFUSED,
    "task-not-queued": EXIT_REFUSED,
    "dependency-open": EXIT_REFUSED,
    "review-overdue": EXIT_REFUSED,
    "reserved": EXIT_REFUSED,
    "plan-not-approved": EXIT_REFUSED,
    "plan-mismatch": EXIT_REFUSED,
    "plan-moved": EXIT_REFUSED,
    "milestone-not-active": EXIT_REFUSED,
    "not-in-milestone": EXIT_REFUSED,
    "finished-elsewhere": EXIT_REFUSED,
    "task-changed": EXIT_REFUSED,
    "task-unknown": EXIT_REFUSED,
    "unknown-dependency": EXIT_REFUSED,
    "dependency-cycle": EXIT_REFUSED,
    "nothing-to-reopen": EXIT_REFUSED,
    "claim-not-found": EXIT_REFUSED,
    "claim-expired": EXIT_REFUSED,
    "agent-required": EXIT_REFUSED,
    "claim-held": EXIT_CONFLICT,
    "lock-held": EXIT_CONFLICT,
    "claim-lost": EXIT_CONFLICT,
    "claim-live": EXIT_CONFLICT,
    "stale-token": EXIT_CONFLICT,
    "not-holder": EXIT_CONFLICT,
    "wip-limit": EXIT_CONFLICT,
    "agent-busy": EXIT_CONFLICT,
    "branch-busy": EXIT_CONFLICT,
    "overlap": EXIT_CONFLICT,
    "busy": EXIT_CONFLICT,
    "moved": EXIT_CONFLICT,
    "not-a-repository": EXIT_UNDECIDED,
    "git-missing": EXIT_UNDECIDED,
    "git-too-old": EXIT_UNDECIDED,
    "git-failed": EXIT_UNDECIDED,
    "base-not-found": EXIT_UNDECIDED,
    "remote-unreachable": EXIT_UNDECIDED,
    "remote-rejected": EXIT_UNDECIDED,
    "remote-not-atomic": EXIT_UNDECIDED,
    "malformed-task": EXIT_UNDECIDED,
    "malformed-plan": EXIT_UNDECIDED,
    "malformed-manifest": EXIT_UNDECIDED,
    "malformed-config": EXIT_UNDECIDED,
    "malformed-claim": EXIT_UNDECIDED,
    "limits-exceeded": EXIT_UNDECIDED,
    "evidence-incomplete": EXIT_UNDECIDED,
    "github-unavailable": EXIT_UNDECIDED,
    "timed-out": EXIT_UNDECIDED,
    "runner-unavailable": EXIT_UNDECIDED,
    "output-failed": EXIT_UNDECIDED,
    "unexpected": EXIT_UNDECIDED,
    "usage": EXIT_USAGE,
    "ambiguous-id": EXIT_USAGE,
}


#: How a session gets a name of its own. In a linked worktree git needs the extension for it.
NAME_A_SESSION = "git config extensions.worktreeConfig true && git config --worktree swarm.agent NAME"


class SwarmError(Exception):
    """An answer that is not a success: a stable code, one line for people, a command to run next, and facts.

    `message` is one line that names the thing (task, ref, file and line, remote). `hint` is a command, or None where
    nothing can be done. `details` holds JSON-ready facts.
    """

    exit: ClassVar[int]
    #: Whether something that was sent before this has not been answered: it may be there in part, or land yet.
    unanswered: bool = False

    def __init__(
        self, code: str, message: str, hint: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        assert CODES[code] == self.exit, f"{code} does not belong to {type(self).__name__}"
        self.code = code
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = dict(details or {})


class Refused(SwarmError):
    """The rules say no. Trying again changes nothing until something else does."""

    exit = EXIT_REFUSED


class Conflict(SwarmError):
    """Somebody else holds it or was faster, or the board is busy."""

    exit = EXIT_CONFLICT


class Undecided(SwarmError):
    """git, the remote, a file or the configuration is broken: it could not be decided."""

    exit = EXIT_UNDECIDED


class Usage(SwarmError):
    """The command was not written as the help says."""

    exit = EXIT_USAGE


_CLASS_OF = {cls.exit: cls for cls in (Refused, Conflict, Undecided, Usage)}


def error(code: str, message: str, hint: str | None = None, details: Mapping[str, Any] | None = None) -> SwarmError:
    """Build the exception to which `code` belongs, for callers that hold the code as data."""
    return _CLASS_OF[CODES[code]](code, message, hint, details)


def first_of(reasons: Sequence[SwarmError]) -> SwarmError:
    """Fold several reasons into one error: the first decides code, message and hint, all are in `details.reasons`."""
    first = reasons[0]
    if len(reasons) == 1:
        return first
    listed = [{"code": reason.code, "message": reason.message, "hint": reason.hint} for reason in reasons]
    return error(first.code, first.message, first.hint, {**first.details, "reasons": listed})
