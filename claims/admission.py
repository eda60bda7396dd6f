"""Admission: may this agent claim this task for this branch now? Pure; says every reason why not.

What it is given was read from the base branch and from the arbiter just now. The order of the reasons is that of
`docs/protocol.md`, *Admission*; the first decides the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from claims.board.config import Config
from claims.board.plan import Manifest, Milestone, MilestoneStatus, Plan, PlanStatus
from claims.board.task import Kind, State, Task, task_path
from claims.clock import format_instant
from claims.errors import NAME_A_SESSION, Conflict, Refused, SwarmError, Undecided
from claims.ledger import Entry, Key, Ledger
from claims.names import (
    AgentName,
    Branch,
    LockKey,
    SlotKey,
    TaskId,
    agent_slot,
    claim_ref,
    lock_ref,
    slot_ref,
    wip_slot,
)
from claims.record import Claim
from claims.values import dataclass

#: Two sessions of one person are two agents.
_NAME_THIS_SESSION = f"{NAME_A_SESSION}   # another session, another name"


@dataclass(frozen=True, slots=True)
class Only:
    """Where a task lies that base, as it counts, does not have (`on this clone's main`), and what brings it there."""

    where: str
    hint: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What base says about a task and about the conditions of claiming it.

    `task` is None where it is not queued or does not read; `faults` are the files that do not read. `dependencies`
    has the state of every task that must be done first, None for one that is nowhere.
    """

    id: TaskId
    state: State | None
    task: Task | None
    dependencies: Mapping[TaskId, State | None]
    plan: Plan | None
    manifest: Manifest | None
    config: Config
    faults: tuple[SwarmError, ...] = ()
    only: Only | None = None

    @property
    def plan_revision(self) -> int:
        """0 without a plan."""
        return self.plan.revision if self.plan is not None else 0


@dataclass(frozen=True, slots=True)
class Applicant:
    """Who asks, for which branch; `repository` is the head repository's numeric GitHub id where it is known."""

    agent: AgentName
    branch: Branch
    base: Branch
    repository: int | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything else that counts: the ledger, the claims that are set aside, and the kinds of the held ones.

    `aside` are claims that the transaction would replace: one's own attempts that were never told a success, those
    that have ended, the one that is being stolen. `kinds` tells the kind of held claims that have no slot for it.
    `remote` is the arbiter's name in hints.
    """

    ledger: Ledger
    aside: tuple[Claim, ...]
    kinds: Mapping[TaskId, Kind]
    remote: str | None

    def others(self) -> list[Entry]:
        """The held claims that are not set aside, in order of task id."""
        out = {claim.identity for claim in self.aside}
        held = [entry for entry in self.ledger.held() if entry.claim is not None and entry.claim.identity not in out]
        return sorted(held, key=lambda entry: entry.ref)


def readiness(
    candidate: Candidate,
    applicant: AgentName | None,
    situation: Situation,
    *,
    tokens_tried: bool = False,
    branch: Branch | None = None,
) -> list[SwarmError]:
    """Why the task cannot be claimed by `applicant` (None: by anybody), whatever the branch: points 2 to 6.

    `tokens_tried`: the applicant's own claims are set aside, so that a claim under the same name is another session's.
    `branch` is the caller's: what was finished there is theirs.
    """
    reasons = [*candidate.faults, *_not_queued(candidate)]
    task = candidate.task
    if task is not None:
        reasons += [*_not_ripe(candidate, task, applicant, situation), *_not_planned(candidate, task)]
    reasons += _finished_or_broken(candidate, situation, branch)
    reasons += _held(candidate, applicant, situation, tokens_tried)
    if task is not None:
        _, missing = choose_slots(candidate, task, applicant, situation)
        reasons += missing
    return reasons


def refusals(candidate: Candidate, applicant: Applicant, situation: Situation) -> list[SwarmError]:
    """Every reason why this claim is not admitted, in order; none where it is."""
    return [
        *_branch(candidate, applicant, situation),
        *readiness(candidate, applicant.agent, situation, tokens_tried=True, branch=applicant.branch),
    ]


def choose_slots(
    candidate: Candidate, task: Task, agent: AgentName | None, situation: Situation
) -> tuple[tuple[SlotKey, ...], list[SwarmError]]:
    """The slots that the claim needs under the configured caps, and why one cannot be had.

    Without an agent only what holds for anybody: the caps on kinds.
    """
    slots: list[SlotKey] = []
    reasons: list[SwarmError] = []
    cap = candidate.config.wip.get(task.kind)
    if cap is not None:
        slot, reason = _wip_slot(task.kind, cap, situation)
        slots += [slot] if slot else []
        reasons += [reason] if reason else []
    if candidate.config.one_claim_per_agent and agent is not None:
        slots.append(agent_slot(agent))
        reasons += _agent_busy(candidate.id, agent, situation)
    return tuple(sorted(slots)), reasons


def held_message(
    entry: Entry, ledger: Ledger, caller: AgentName | None = None, *, tokens_tried: bool = False
) -> SwarmError:
    """`claim-held`: by whom, which branch, until when, and that steal takes it where the lease has run out.

    Held under the name of the `caller`, none of whose tokens fits it: another session goes by that name.
    """
    claim = entry.claim
    assert claim is not None
    until = format_instant(claim.expires_at)
    expired = claim.expired(ledger.now)
    where = "" if entry.published else " (made without a remote, in this clone)"
    when = f"expired at {until}" if expired else f"until {until}"
    same_name = tokens_tried and claim.agent == caller
    who = f"{claim.agent} (your name, but its token is not here)" if same_name else claim.agent
    hint = _NAME_THIS_SESSION if same_name else "swarm tasks --ready"
    return Conflict(
        "claim-held",
        f"{claim.task} is held by {who} on {claim.branch}, {when}{where}",
        f"swarm steal {claim.task} --agent {caller or 'NAME'}" if expired else hint,
        {"task": claim.task, "agent": claim.agent, "branch": claim.branch, "expiresAt": until, "expired": expired},
    )


def finished_elsewhere(
    ledger: Ledger, task: TaskId, state: State | None, branch: Branch | None = None, remote: str | None = None
) -> SwarmError | None:
    """`finished-elsewhere`: a completion record keeps others off until base has merged the work.

    `state` is the task's on base; done there, the record is left over. `branch` is the caller's: what was finished
    there is theirs to hand in, to `remote`.
    """
    finished = ledger.finished_on(task)
    if finished is None or finished.claim is None:
        return None
    claim = finished.claim
    from shlex import quote

    merged, own = state is State.DONE, finished_by(claim, branch)
    where = f"on this branch, {claim.branch}" if own else f"on {claim.branch}"
    since = "and base has merged it; reap clears the record" if merged else "not merged yet"
    hint = "swarm reap" if merged else "swarm tasks --ready"
    if own and not merged:
        since += ": push it and open the pull request; swarm reopen takes it back"
        hint = f"git push {quote(remote)} {quote(claim.branch)}" if remote is not None else hint
    return Refused(
        "finished-elsewhere",
        f"{task} was finished by {claim.agent} {where}, {since}",
        hint,
        # Whoever did as a hint to reopen says would undo another's work.
        {
            "task": task,
            "agent": claim.agent,
            "branch": claim.branch,
            "operator": f"swarm reopen {task} --reason TEXT",
        },
    )


def finished_by(claim: Claim, branch: Branch | None) -> bool:
    """Whether a completion record is that of `branch`, of this repository."""
    return claim.branch == branch and claim.repository is None


def malformed_message(entry: Entry, what: str, remote: str | None) -> SwarmError:
    """`malformed-claim`: a ref that blocks because it does not read, and the command that deletes it as it is."""
    return Undecided(
        "malformed-claim",
        f"{what}: {entry.ref} does not read as a claim: {entry.fault}",
        deletion_command([entry], remote),
        {"ref": entry.ref, "id": entry.id, "fault": entry.fault},
    )


def deletion_command(entries: Iterable[Entry], remote: str | None) -> str:
    """The git command with which an operator deletes refs at the values that were read, and no others."""
    from shlex import quote  # whoever may push chooses the names of refs, and people paste commands

    found = [(quote(entry.ref), entry.id) for entry in entries]
    if remote is None:
        return " && ".join(f"git update-ref -d {ref} {old}" for ref, old in found)
    leases = " ".join(f"--force-with-lease={ref}:{old}" for ref, old in found)
    return f"git push --atomic {leases} {quote(remote)} {' '.join(f':{ref}' for ref, _ in found)}"


def _branch(candidate: Candidate, applicant: Applicant, situation: Situation) -> list[SwarmError]:
    if applicant.branch == applicant.base:
        return [
            Refused(
                "on-base-branch",
                f"{applicant.branch} is the base branch: work on one of its own",
                f"git switch -c agent/{candidate.id}",
            )
        ]
    for entry in situation.others():
        claim = entry.claim
        assert claim is not None
        mine = (claim.branch, claim.repository) == (applicant.branch, applicant.repository)
        if mine and claim.task != candidate.id:
            return [
                Conflict(
                    "branch-busy",
                    f"{applicant.branch} holds {claim.task} already, by {claim.agent}: a branch moves one task",
                    f"git switch -c agent/{candidate.id}",
                    {"task": claim.task, "agent": claim.agent, "branch": claim.branch},
                )
            ]
    return []


def _not_queued(candidate: Candidate) -> list[SwarmError]:
    state, task = candidate.state, candidate.id
    if state is State.QUEUED:
        return []
    details = {"task": task, "state": state.value if state else None}
    if state is State.BACKLOG:
        queued = task_path(task, State.QUEUED)
        message = f"{task} is untriaged, in the backlog: the operator queues tasks"
        hint: str | None = f"git mv {task_path(task, State.BACKLOG)} {queued}   # the operator, with status: queued"
    elif state is not None:
        message, hint = f"{task} is {state.value} on base, not queued", "swarm tasks --ready"
    elif candidate.only is not None:
        message = f"{task} is only {candidate.only.where}: base does not have it, and only base counts"
        hint = candidate.only.hint
    else:
        message, hint = f"there is no task {task} on base", "swarm tasks --ready"
    return [Refused("task-not-queued", message, hint, details)]


def _not_ripe(candidate: Candidate, task: Task, applicant: AgentName | None, situation: Situation) -> list[SwarmError]:
    reasons: list[SwarmError] = []
    reasons += _open_dependencies(candidate, task.id, task.depends_on, "depends on")
    if task.review_by is not None and situation.ledger.now.date() > task.review_by:
        reasons.append(
            Refused(
                "review-overdue",
                f"{task.id} was to be reviewed by {task.review_by}: the operator looks first",
                f"swarm show {task.id}",
                {"task": task.id, "reviewBy": str(task.review_by)},
            )
        )
    if task.reserved_for is not None and applicant != task.reserved_for:
        reasons.append(
            Refused(
                "reserved",
                f"{task.id} is reserved for {task.reserved_for}",
                "swarm tasks --ready",
                {"task": task.id, "reservedFor": task.reserved_for},
            )
        )
    return reasons


def _open_dependencies(candidate: Candidate, task: TaskId, needed: Iterable[TaskId], how: str) -> list[SwarmError]:
    reasons: list[SwarmError] = []
    for other in needed:
        state = candidate.dependencies.get(other)
        if state is not State.DONE:
            is_now = f"is {state.value}" if state else "is nowhere on base"
            reasons.append(
                Refused(
                    "dependency-open",
                    f"{task} {how} {other}, which {is_now}, not done",
                    f"swarm show {other}",
                    {"task": task, "dependency": other, "state": state.value if state else None},
                )
            )
    return reasons


def _not_planned(candidate: Candidate, task: Task) -> list[SwarmError]:
    plan, manifest = candidate.plan, candidate.manifest
    if any(fault.code in ("malformed-plan", "malformed-manifest") for fault in candidate.faults):
        return []
    if plan is None and manifest is None:
        return []
    if plan is None or manifest is None:
        missing = "plan.md" if plan is None else "manifest.yaml"
        return [
            Refused(
                "plan-mismatch",
                f"base has no .agents/{missing} beside the other: it needs both or neither",
                "swarm init",
            )
        ]
    reasons: list[SwarmError] = []
    if plan.status is not PlanStatus.APPROVED:
        reasons.append(
            Refused(
                "plan-not-approved",
                f"plan revision {plan.revision} is a {plan.status.value}",
                "swarm status   # the operator approves .agents/plan.md",
                {"planRevision": plan.revision},
            )
        )
    if manifest.plan_revision != plan.revision:
        reasons.append(
            Refused(
                "plan-mismatch",
                f"the manifest is for plan revision {manifest.plan_revision}, the plan is at {plan.revision}",
                "swarm status   # the operator brings .agents/manifest.yaml in line with .agents/plan.md",
                {"planRevision": plan.revision, "manifestRevision": manifest.plan_revision},
            )
        )
    return reasons + _not_released(candidate, task, manifest.milestone_of(task.id))


def _not_released(candidate: Candidate, task: Task, milestone: Milestone | None) -> list[SwarmError]:
    if milestone is None:
        return [Refused("not-in-milestone", f"no milestone of the manifest lists {task.id}", "swarm tasks --ready")]
    integrates = milestone.integration == task.id
    fine = {MilestoneStatus.ACTIVE, *([MilestoneStatus.INTEGRATING] if integrates else [])}
    reasons: list[SwarmError] = []
    if milestone.status not in fine:
        reasons.append(
            Refused(
                "milestone-not-active",
                f"milestone {milestone.id} of {task.id} is {milestone.status.value}",
                "swarm tasks --ready",
                {"milestone": milestone.id, "status": milestone.status.value},
            )
        )
    if integrates:
        rest = [other for other in milestone.tasks if other != task.id and other not in task.depends_on]
        reasons += _open_dependencies(candidate, task.id, rest, "integrates")
    return reasons


def _finished_or_broken(candidate: Candidate, situation: Situation, branch: Branch | None) -> list[SwarmError]:
    ledger, task = situation.ledger, candidate.id
    at = ledger.claims.get(task) or ledger.below(claim_ref(task))
    finished = finished_elsewhere(ledger, task, candidate.state, branch, situation.remote)
    reasons = [finished] if finished is not None else []
    if at is not None and at.claim is None:
        reasons.append(malformed_message(at, task, situation.remote))
    return reasons


def _held(
    candidate: Candidate, applicant: AgentName | None, situation: Situation, tokens_tried: bool
) -> list[SwarmError]:
    ledger, task = situation.ledger, candidate.id
    on_it = [entry for entry in situation.others() if entry.claim is not None and entry.claim.task == task]
    reasons = [held_message(entry, ledger, applicant, tokens_tried=tokens_tried) for entry in on_it[:1]]
    if candidate.task is not None:
        reasons += [
            lock_held(key, entry, situation)
            for key in (Key(lock, lock_ref(lock)) for lock in candidate.task.locks)
            if (entry := ledger.taker(key, situation.aside)) is not None and not _is_told(entry, task, situation)
        ]
    return reasons


def _is_told(taker: Entry, task: TaskId, situation: Situation) -> bool:
    """Whether who takes a lock or slot is the claim on the task itself, which is a reason of its own.

    Of a claim on the same task that was torn nothing but its lock may be there: that is told as any other's.
    """
    on_it = [situation.ledger.claims.get(task), *situation.others()]
    told = {entry.claim.identity for entry in on_it if entry is not None and entry.claim is not None}
    return taker.claim is not None and taker.claim.task == task and taker.claim.identity in told


def lock_held(key: Key, entry: Entry, situation: Situation) -> SwarmError:
    """`lock-held`: which key, by which claim; or why its ref cannot be read."""
    claim = entry.claim
    if claim is None:
        return malformed_message(entry, f"lock {key.name}", situation.remote)
    until = format_instant(claim.expires_at)
    expired = claim.expired(situation.ledger.now)
    # A lock whose claim is not on record any more was left by a killed process; reap reads whether that is over.
    known = situation.ledger.held_on(claim.task) is not None or claim.task in situation.ledger.logs
    when = f"expired at {until}" if expired else f"until {until}"
    return Conflict(
        "lock-held",
        f"lock {key.name} is held by {claim.agent} for {claim.task}, {when}",
        "swarm reap" if expired or not known else "swarm tasks --ready",
        {"lock": key.name, "task": claim.task, "agent": claim.agent, "expiresAt": until, "expired": expired},
    )


def _wip_slot(kind: Kind, cap: int, situation: Situation) -> tuple[SlotKey | None, SwarmError | None]:
    """The lowest free slot of a kind, while fewer claims of it are held than the cap, with slots or without."""
    holders = [entry.claim for entry in situation.others() if entry.claim and _counts_as(entry.claim, kind, situation)]
    keys = [wip_slot(kind.value, number) for number in range(1, cap + 1)]
    takers = {key: situation.ledger.taker(Key(key, slot_ref(key)), situation.aside) for key in keys}
    free = next((key for key in keys if takers[key] is None), None)
    if free is not None and len(holders) < cap:
        return free, None
    unread = next(((key, at) for key, at in takers.items() if at is not None and at.claim is None), None)
    if unread is not None and len(holders) < cap:
        return None, malformed_message(unread[1], f"slot {unread[0]}", situation.remote)
    expired = any(claim.expired(situation.ledger.now) for claim in holders)
    names = ", ".join(f"{claim.task} ({claim.agent})" for claim in holders[:10])
    return None, Conflict(
        "wip-limit",
        f"{len(holders)} of at most {cap} {kind.value} tasks are claimed{': ' + names if names else ''}",
        "swarm reap" if expired or len(holders) < cap else "swarm status",
        {"kind": kind.value, "cap": cap, "held": [claim.task for claim in holders]},
    )


def _counts_as(claim: Claim, kind: Kind, situation: Situation) -> bool:
    slots = [slot for slot in claim.slots if slot.startswith("wip:")]
    if slots:
        return any(slot.startswith(f"wip:{kind.value}:") for slot in slots)
    return situation.kinds.get(claim.task, Kind.IMPLEMENTATION) is kind


def _agent_busy(task: TaskId, agent: AgentName, situation: Situation) -> list[SwarmError]:
    key = agent_slot(agent)
    taker = situation.ledger.taker(Key(key, slot_ref(key)), situation.aside)
    holds = [entry for entry in situation.others() if entry.claim is not None and entry.claim.agent == agent]
    elsewhere = [entry for entry in holds if entry.claim is not None and entry.claim.task != task]
    busy = elsewhere[0] if elsewhere else taker
    if busy is None or _is_told(busy, task, situation):
        return []
    if busy.claim is None:
        return [malformed_message(busy, f"slot {key}", situation.remote)]
    claim = busy.claim
    expired = claim.expired(situation.ledger.now)
    return [
        Conflict(
            "agent-busy",
            f"{agent} holds {claim.task} on {claim.branch} already, and may hold one",
            "swarm reap" if expired else _NAME_THIS_SESSION,
            {"agent": agent, "task": claim.task, "branch": claim.branch, "expired": expired},
        )
    ]


def needed_keys(locks: Iterable[LockKey], slots: Iterable[SlotKey]) -> list[Key]:
    """The locks and slots of a claim to be made, with their refs."""
    return [*(Key(lock, lock_ref(lock)) for lock in locks), *(Key(slot, slot_ref(slot)) for slot in slots)]


def claims_to_set_aside(ledger: Ledger, task: TaskId, hashes: Iterable[str]) -> tuple[Claim, ...]:
    """The claims on `task` whose refs a new claim may overwrite: those that have ended, and one's own (by token)."""
    mine = set(hashes)
    entries = [
        ledger.claims.get(task),
        ledger.local.get(claim_ref(task)),
        *ledger.keys.values(),
        *ledger.local.values(),
    ]
    claims = [entry.claim for entry in entries if entry is not None and entry.claim is not None]
    return tuple(
        claim for claim in claims if claim.task == task and (claim.token_hash in mine or ledger.has_ended(claim))
    )
