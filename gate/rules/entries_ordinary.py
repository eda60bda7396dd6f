"""An added or changed entry is an ordinary file, or a link or submodule that the authority names in full.

Why: a link leads readers and tools out of the authority, a submodule brings in a repository that nobody judged, and
other modes mean nothing that an honest change would want.

Fix: make it an ordinary file. A link is named in full in the authority and leads inside it, by names that mean the same
on every system, neither through another link nor by `folder/..`; a submodule is named in full and stands on base
already.
"""

from __future__ import annotations

import posixpath

from gate.evidence import Evidence
from gate.fixes import move_afresh, put_back
from gate.judged import granting, is_the_move, judged_paths
from gate.names import objection
from gate.paths import Judged
from gate.tree import EXECUTABLE, FILE, LINK, SUBMODULE, shown
from gate.verdict import Finding, Ruling

RULE = "entries-ordinary"


def judge(evidence: Evidence) -> Ruling:
    findings: list[Finding] = []
    for judged in judged_paths(evidence):
        after = judged.change.after
        if after is None or after.mode in (FILE, EXECUTABLE):
            continue
        message = _objection(evidence, judged, after.mode)
        if message is not None:
            findings.append(Finding(RULE, message + judged.where, shown(judged.path), fix=_fix(evidence, judged)))
    return Ruling(tuple(findings))


def _fix(evidence: Evidence, judged: Judged) -> str:
    subject = evidence.subject
    if subject is not None and is_the_move(evidence, judged.path):
        return move_afresh(evidence, subject)
    return put_back(evidence, judged)


def _objection(evidence: Evidence, judged: Judged, mode: int) -> str | None:
    authority = granting(evidence)
    named = authority is not None and authority.names_exactly(judged.path)
    if mode == SUBMODULE:
        if not named:
            return "a submodule that the authority does not name in full"
        before = judged.change.before
        return None if before is not None and before.mode == SUBMODULE else "a submodule where base has none"
    if mode != LINK:
        return f"an entry of mode {mode:06o}"
    if authority is None or not named:
        return "a symbolic link that the authority does not name in full"
    protected = evidence.board.config.gate.protected
    target = resolved(judged.path, evidence.link_targets.get((judged.path, judged.change.after), b"/"))
    if target is None or not authority.grants(target, protected):
        return "a symbolic link that leads out of the authority"
    odd = objection(target, protected)  # on another system it may lead elsewhere
    if odd is not None:
        return f"a symbolic link to {shown(target)}: {odd}"
    return "a symbolic link that leads through another" if target in evidence.links_passed else None


def resolved(link: bytes, target: bytes) -> bytes | None:
    """The path from the repository's root that a link leads to; None where that is outside or cannot be told."""
    if target.startswith(b"/") or not target or b"\0" in target:
        return None
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    if b".." in parts[next((at for at, part in enumerate(parts) if part != b".."), len(parts)) :]:
        return None  # `folder/..` is elsewhere where the folder is a link
    path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target))
    return None if path == b".." or path.startswith((b"../", b"/")) else path
