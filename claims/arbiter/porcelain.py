"""What `git push --porcelain` says, and what it means for a transaction. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from claims.arbiter import Outcome, Verdict
from claims.git import Completed, printable
from claims.names import RefName
from claims.transaction import Edit, Transaction

#: The reasons in brackets with which git refuses for the values of refs or for a busy lock: another try may work.
#: receive-pack of every git version has its own words; what is not listed is taken for a rule of the server.
_CONTENTION = (
    "stale info",
    "atomic transaction failed",
    "atomic push failed",
    "atomic push failure",
    "transaction failed to start",
    "failed to start transaction",
    "failed to update ref",
    "failed to delete",
    "failed to lock",
    "failed to write",
    "cannot lock ref",
    "incorrect old value provided",
    "reference already exists",
    "reference does not exist",
    "already exists",
    "bad ref",
    "fetch first",
    "non-fast-forward",
    "remote ref updated since checkout",
)
#: Words of a server that would not take the push at all; nothing was sent to be written.
_NOT_ALLOWED = re.compile(
    r"returned error: 40[13]|permission denied|permission to .* denied|access denied|service not enabled"
    r"|not authorized|authentication failed|could not read username|read-only|write access .* not granted",
    re.IGNORECASE,
)
_NOT_ATOMIC = "does not support --atomic push"
_REASON = re.compile(r"\(([^()]*(?:\([^()]*\))?[^()]*)\)\s*$")


def expected_flags(edit: Edit) -> str:
    """The flags of a ref line that mean that this edit was written: created, moved, deleted.

    A move of a commit to one that descends from it, as the archive's, has a blank for a flag.
    """
    if edit.new is None:
        return "-"
    return "*" if edit.old is None else "+ "


def is_not_atomic(push: Completed) -> bool:
    return push.code != 0 and _NOT_ATOMIC in push.err


def judge_push(push: Completed, transaction: Transaction) -> Outcome:
    """APPLIED only where every ref line has the flag that its edit must have.

    `=` is the trap: a ref that holds that very object already is "up to date", exit 0, while other refs were written.
    """
    flags = _flags(push.out)
    if push.code == 0 and all(edit.ref in flags and _is_written(edit, flags) for edit in transaction.edits):
        return Outcome(Verdict.APPLIED)
    words = "; ".join(filter(None, [_reasons(flags), push.words])) or f"git push ended with {push.code}"
    refused = [summary for flag, summary in flags.values() if flag == "!"]
    nothing_written = all(flag in "!=" for flag, _ in flags.values())
    if push.code == 1 and refused and nothing_written and not any("[remote failure]" in told for told in refused):
        contended = all(_reason(summary).startswith(_CONTENTION) for summary in refused)
        return Outcome(Verdict.REFUSED if contended else Verdict.REJECTED, words)
    if push.code not in (0, 1) and not flags and _NOT_ALLOWED.search(_without_what_hooks_say(push.err)):
        return Outcome(Verdict.REJECTED, words)
    return Outcome(Verdict.UNKNOWN, words)


def _is_written(edit: Edit, flags: Mapping[RefName, tuple[str, str]]) -> bool:
    return flags[edit.ref][0] in expected_flags(edit)


def _without_what_hooks_say(err: str) -> str:
    """A server says no before the push is sent. What it passes on of its hooks' words comes after, when it may be done.

    GitHub's and GitLab's refusals over HTTP come with a status line of git's own; over ssh nothing precedes them.
    """
    return "\n".join(line for line in err.splitlines() if not line.startswith("remote: "))


def _flags(out: bytes) -> dict[RefName, tuple[str, str]]:
    """Ref to flag and summary, of the lines `<flag> TAB <from>:<to> TAB <summary>`."""
    found: dict[RefName, tuple[str, str]] = {}
    for line in out.decode("utf-8", "replace").split("\n"):
        parts = line.split("\t")
        if len(parts) == 3 and len(parts[0]) == 1:
            found[RefName(parts[1].rpartition(":")[2])] = (parts[0], parts[2])
    return found


def _reason(summary: str) -> str:
    match = _REASON.search(summary)
    return match.group(1) if match else summary


def _reasons(flags: Mapping[RefName, tuple[str, str]]) -> str:
    refused = sorted({_reason(summary) for flag, summary in flags.values() if flag == "!"})
    return printable("; ".join(refused))
