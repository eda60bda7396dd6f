"""The rules: one module each, pure, and ignorant of each other. A rule's id is its module's name with hyphens.

A module has a docstring in three parts (what it forbids, `Why:`, `Fix:`), which `swarm-gate rules ID` prints, and
`judge(evidence)`, which returns a Ruling.
"""

from __future__ import annotations

from types import ModuleType

from gate.rules import (
    authority_unchanged,
    base_queued,
    board_valid,
    claim_binds,
    claim_current,
    claim_recorded,
    claim_signed,
    dependencies_done,
    entries_ordinary,
    exempt_paths,
    one_task,
    paths_inside,
    paths_safe,
    plan_current,
    proposals_valid,
    protected_paths,
    reserved_paths,
    state_agrees,
    task_identity,
    task_unchanged,
)

#: Every rule, in the order in which they are reported.
RULES: tuple[ModuleType, ...] = (
    one_task,
    base_queued,
    task_identity,
    task_unchanged,
    authority_unchanged,
    state_agrees,
    dependencies_done,
    plan_current,
    claim_recorded,
    claim_current,
    claim_binds,
    claim_signed,
    paths_inside,
    protected_paths,
    reserved_paths,
    entries_ordinary,
    paths_safe,
    proposals_valid,
    board_valid,
    exempt_paths,
)


def id_of(rule: ModuleType) -> str:
    """The rule's id: its module's name with hyphens."""
    return rule.__name__.rpartition(".")[2].replace("_", "-")
