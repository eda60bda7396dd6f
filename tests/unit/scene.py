"""One asking for one task, said step by step; what is not said is in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from claims.admission import Applicant, Candidate, Only, Situation, refusals
from claims.board.config import Config
from claims.board.plan import Manifest, Milestone, MilestoneStatus, Plan, PlanStatus
from claims.board.task import Kind, State, Task, parse_task, task_path
from claims.errors import SwarmError
from claims.names import AgentName, Branch, RefName, TaskId
from claims.record import Claim
from tests.support.board import task_file
from tests.unit.values import NOW, Refs, task

#: The task that is asked for.
WANTED = task(1)


def a_task(**said: Any) -> Task:
    """The queued task, as `task_file` writes it."""
    return parse_task(task_file(WANTED, **said).encode(), task_path(WANTED, State.QUEUED))


@dataclass(frozen=True)
class Scene:
    """Who asks for `WANTED`, and how things stand. Each method gives a scene with one thing changed."""

    task: Task | None = field(default_factory=a_task)
    state: State | None = State.QUEUED
    dependencies: Mapping[TaskId, State | None] = field(default_factory=dict)
    plan: Plan | None = None
    manifest: Manifest | None = None
    config: Config = field(default_factory=Config)
    faults: tuple[SwarmError, ...] = ()
    only: Only | None = None
    agent: str = "zoe"
    branch: str = "zoe/topic"
    repository: int | None = None
    held: tuple[Claim, ...] = ()
    unpublished: tuple[Claim, ...] = ()
    torn: tuple[RefName, ...] = ()
    #: Claims of which the locks and slots alone are there.
    carried: tuple[Claim, ...] = ()
    broken: tuple[RefName, ...] = ()
    log: tuple[Claim, ...] = ()
    aside: tuple[Claim, ...] = ()
    kinds: Mapping[TaskId, Kind] = field(default_factory=dict)
    remote: str | None = "origin"
    now: datetime = NOW

    def asked_by(self, agent: str) -> Scene:
        return replace(self, agent=agent)

    def on(self, branch: str, repository: int | None = None) -> Scene:
        return replace(self, branch=branch, repository=repository)

    def at(self, now: datetime) -> Scene:
        return replace(self, now=now)

    def with_task(self, **said: Any) -> Scene:
        return replace(self, task=a_task(**said))

    def found_in(self, state: State | None, **said: Any) -> Scene:
        """Not queued: where it is instead."""
        return replace(self, task=None, state=state, **said)

    def with_fault(self, fault: SwarmError, **said: Any) -> Scene:
        """A file that does not read; `task=None` where it is the task's."""
        return replace(self, faults=(*self.faults, fault), **said)

    def where(self, **states: str | None) -> Scene:
        """`_2="done"`: task 2 is in that state; None: it is nowhere."""
        found = {task(int(name[1:])): State(state) if state else None for name, state in states.items()}
        return replace(self, dependencies={**self.dependencies, **found})

    def planned(
        self,
        status: str = "active",
        *,
        tasks: Iterable[int] = (1,),
        integration: int | None = None,
        revision: int = 7,
        manifest_revision: int = 7,
        plan: str = "approved",
    ) -> Scene:
        """A plan, and a manifest with one milestone."""
        milestone = Milestone(
            "m1", "M", MilestoneStatus(status), tuple(map(task, tasks)), task(integration) if integration else None, 1
        )
        return replace(
            self,
            plan=Plan(revision, PlanStatus(plan), None, None, ""),
            manifest=Manifest(manifest_revision, (milestone,)),
        )

    def configured(self, **said: Any) -> Scene:
        return replace(self, config=replace(self.config, **said))

    def capped(self, kind: str, cap: int) -> Scene:
        return self.configured(wip={**self.config.wip, Kind(kind): cap})

    def while_held(self, *claims: Claim) -> Scene:
        return replace(self, held=(*self.held, *claims))

    def while_unpublished(self, *claims: Claim) -> Scene:
        return replace(self, unpublished=(*self.unpublished, *claims))

    def without_refs(self, *refs: RefName) -> Scene:
        """Torn away of what is held."""
        return replace(self, torn=(*self.torn, *refs))

    def with_broken(self, *refs: RefName) -> Scene:
        return replace(self, broken=(*self.broken, *refs))

    def logged(self, *records: Claim) -> Scene:
        return replace(self, log=(*self.log, *records))

    def setting_aside(self, *claims: Claim) -> Scene:
        return replace(self, aside=(*self.aside, *claims))

    def candidate(self) -> Candidate:
        return Candidate(
            WANTED,
            self.state,
            self.task,
            self.dependencies,
            self.plan,
            self.manifest,
            self.config,
            self.faults,
            self.only,
        )

    def applicant(self) -> Applicant:
        return Applicant(AgentName(self.agent), Branch(self.branch), Branch("main"), self.repository)

    def situation(self) -> Situation:
        refs = Refs().log(*self.log, of=WANTED).unpublished(*self.unpublished)
        for one in self.held:
            if one.closed is None:
                refs.held(one)
            else:
                refs.claim_ref(one)
        refs.without(*self.torn)
        for one in self.carried:
            refs.keys_of(one)
        for ref in self.broken:
            refs.broken(ref)
        return Situation(refs.ledger(self.now), self.aside, self.kinds, self.remote)

    def reasons(self) -> list[SwarmError]:
        return refusals(self.candidate(), self.applicant(), self.situation())

    def codes(self) -> Sequence[str]:
        return [reason.code for reason in self.reasons()]
