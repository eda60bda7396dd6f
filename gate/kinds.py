"""Kinds of pull request, and the rules that judge each. Decided from the paths and the author, in this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from claims.board.config import Exemption
from gate.evidence import Evidence
from gate.judged import (
    AGENTS,
    exemption_of,
    is_new_proposal,
    is_operator,
    is_task_file,
    judged_paths,
)
from gate.paths import Judged

DONE = b".agents/tasks/done/"


class Kind(str, Enum):
    PROPOSALS = "proposals"
    PLANNING = "planning"
    EXEMPT = "exempt"
    HOTFIX = "hotfix"
    IMPLEMENTATION = "implementation"


#: The ids of the rules that apply to each kind; the others are `n/a`.
RULES_OF: Mapping[Kind, Sequence[str]] = {
    Kind.PROPOSALS: ("proposals-valid", "paths-safe"),
    Kind.PLANNING: ("board-valid", "paths-safe"),
    Kind.EXEMPT: ("exempt-paths", "protected-paths", "reserved-paths", "entries-ordinary", "paths-safe"),
    Kind.HOTFIX: ("reserved-paths", "entries-ordinary", "paths-safe"),
    Kind.IMPLEMENTATION: (
        "one-task",
        "base-queued",
        "task-identity",
        "task-unchanged",
        "authority-unchanged",
        "state-agrees",
        "dependencies-done",
        "plan-current",
        "claim-recorded",
        "claim-current",
        "claim-binds",
        "claim-signed",
        "paths-inside",
        "protected-paths",
        "reserved-paths",
        "entries-ordinary",
        "proposals-valid",
        "paths-safe",
    ),
}


def kind_of(evidence: Evidence) -> Kind:
    """What a pull request is, by what it would change and who wrote it.

    An author is trusted only where GitHub did not say that the commits are somebody else's: anyone who may push can
    add one to another's branch.
    """
    judged = judged_paths(evidence)
    if all(is_new_proposal(one) for one in judged):
        return Kind.PROPOSALS
    trusted = evidence.facts.verified is not False
    if trusted and is_operator(evidence) and _is_planning(judged):
        return Kind.PLANNING
    if trusted and not any(is_task_file(one.path) for one in judged):
        exemption, hotfix = exemption_of(evidence), evidence.board.config.gate.hotfix and is_operator(evidence)
        # Who may land a hotfix may do so beyond an exemption too; of anybody else, `exempt-paths` says what is beyond.
        if exemption is not None and not (hotfix and _is_beyond(exemption, judged)):
            return Kind.EXEMPT
        if hotfix:
            return Kind.HOTFIX
    return Kind.IMPLEMENTATION


def _is_beyond(exemption: Exemption, judged: Sequence[Judged]) -> bool:
    return not all(any(pattern.covers(one.path) for pattern in exemption.paths) for one in judged)


def _is_planning(judged: Sequence[Judged]) -> bool:
    """Only paths under `.agents/`, and no file appears in `done/`."""
    return all(one.path.startswith(AGENTS) for one in judged) and not any(
        one.path.startswith(DONE) and one.change.before is None and one.change.after is not None for one in judged
    )
