"""Questions about the paths to judge and the author, which several rules ask."""

from __future__ import annotations

from claims.board.authority import Authority
from claims.board.config import Account, Config, Exemption
from gate.evidence import Evidence, Facts
from gate.paths import Judged

AGENTS = b".agents/"
TASKS = b".agents/tasks/"
BACKLOG = b".agents/backlog/"
PROPOSALS = b".agents/proposals/"


def judged_paths(evidence: Evidence) -> tuple[Judged, ...]:
    """Every path to judge, in the order of their bytes."""
    return evidence.judged


def is_task_file(path: bytes) -> bool:
    """A file in a folder of tasks; the `.gitkeep` that keeps the folder is none."""
    return path.startswith((TASKS, BACKLOG)) and not path.endswith(b"/.gitkeep")


def is_new_proposal(judged: Judged) -> bool:
    """A file that base lacks, directly in the folder of proposals."""
    path, change = judged.path, judged.change
    inside = path.startswith(PROPOSALS) and b"/" not in path[len(PROPOSALS) :]
    return inside and change.before is None and change.after is not None


def is_the_move(evidence: Evidence, path: bytes) -> bool:
    """One of the two ends of the move of the task that the pull request is about."""
    subject = evidence.subject
    return subject is not None and path in (subject.queued_path, subject.done_path)


def granting(evidence: Evidence) -> Authority | None:
    """The authority under which paths are judged: the task's on base, or the author's exemption."""
    if evidence.subject is not None and evidence.subject.base is not None:
        return evidence.subject.base.authority
    return None


def exemption_of(evidence: Evidence) -> Exemption | None:
    """The author's entry in `gate.exempt`."""
    return exemption_of_author(evidence.facts, evidence.board.config)


def exemption_of_author(facts: Facts, config: Config) -> Exemption | None:
    """The same, before the evidence is complete."""
    if facts.author is None:
        return None
    entries = config.gate.exempt
    return next((entry for entry in entries if entry.account.is_author(facts.author, facts.author_id)), None)


def is_operator(evidence: Evidence) -> bool:
    """Whether the author is one of `gate.operators`; with none configured nobody is."""
    return author_is_operator(evidence.facts, evidence.board.config)


def author_is_operator(facts: Facts, config: Config) -> bool:
    """The same, before the evidence is complete."""
    operators: tuple[Account, ...] = config.gate.operators
    return facts.author is not None and any(one.is_author(facts.author, facts.author_id) for one in operators)
