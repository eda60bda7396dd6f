"""Admission: every reason against a claim, each with the same scene, one thing changed, in which it is admitted."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest

from claims.admission import (
    Only,
    choose_slots,
    claims_to_set_aside,
    deletion_command,
    finished_elsewhere,
    held_message,
    needed_keys,
    readiness,
)
from claims.board.task import Kind, State
from claims.errors import Undecided
from claims.ledger import Entry
from claims.names import (
    AgentName,
    LockKey,
    ObjectId,
    RefName,
    SlotKey,
    agent_slot,
    claim_ref,
    lock_ref,
    slot_ref,
    wip_slot,
)
from claims.record import Claim
from tests.unit.scene import WANTED, Scene
from tests.unit.values import Refs, claim, ended, minutes, task

ANN = claim(2, "ann")
ON_IT = claim(1, "ann")
EXPIRED = claim(1, "ann", left=-5)
LOCKED = claim(2, "ann", locks=["k"])
#: A lock on the task itself, as a torn transaction leaves it, and that of a claim which is to be stolen.
OWN_LOCK = claim(1, "bob", locks=["k"])
OLD_LOCK = claim(1, "ann", left=-5, locks=["k"])
FINISHED = ended(claim(1, "ann"), "done")
SLOT = wip_slot("implementation", 1)
IN_SLOT = claim(2, "ann", slots=(SLOT,))
HER_SLOT = agent_slot(AgentName("zoe"))
AS_ZOE = claim(2, "zoe", slots=(HER_SLOT,))
WITH_LOCK = Scene().with_task(locks=["k"])
ONE_EACH = Scene().configured(one_claim_per_agent=True)
CAPPED = Scene().capped("implementation", 1)
INTEGRATING = Scene().planned(tasks=[2], integration=1).where(_2="done")

Change = Callable[[Scene], Scene]

# The scene, the code, how it is changed so that it is refused, how (else) it is changed so that it is not.
REASONS: dict[str, tuple[Scene, str, Change, Change]] = {
    # 1. The branch.
    "the branch is the base": (Scene(), "on-base-branch", lambda s: s.on("main"), lambda s: s.on("main2")),
    "the branch holds another claim": (
        Scene(),
        "branch-busy",
        lambda s: s.on("ann/2").while_held(ANN),
        lambda s: s.on("ann/3").while_held(ANN),
    ),
    "the branch holds another claim, expired": (
        Scene(),
        "branch-busy",
        lambda s: s.on("ann/2").while_held(replace(ANN, expires_at=minutes(-1))),
        lambda s: s.on("ann/2").while_held(replace(ANN, expires_at=minutes(-1))).setting_aside(ANN),
    ),
    "the branch holds another claim, of this clone": (
        Scene(),
        "branch-busy",
        lambda s: s.on("ann/2").while_unpublished(ANN),
        lambda s: s.on("ann/3").while_unpublished(ANN),
    ),
    "a branch of a fork holds another claim": (
        Scene().while_held(replace(ANN, repository=5)),
        "branch-busy",
        lambda s: s.on("ann/2", 5),
        lambda s: s.on("ann/2", 6),
    ),
    "the branch holds another claim, not closed": (
        Scene().on("ann/2"),
        "branch-busy",
        lambda s: s.while_held(ANN),
        lambda s: s.while_held(ended(ANN, "done")),
    ),
    # 2. Queued, and valid.
    "it is in the backlog": (Scene(), "task-not-queued", lambda s: s.found_in(State.BACKLOG), lambda s: s),
    "it is done": (Scene(), "task-not-queued", lambda s: s.found_in(State.DONE), lambda s: s),
    "it is blocked": (Scene(), "task-not-queued", lambda s: s.found_in(State.BLOCKED), lambda s: s),
    "it is failed": (Scene(), "task-not-queued", lambda s: s.found_in(State.FAILED), lambda s: s),
    "it is cancelled": (Scene(), "task-not-queued", lambda s: s.found_in(State.CANCELLED), lambda s: s),
    "it is nowhere": (Scene(), "task-not-queued", lambda s: s.found_in(None), lambda s: s),
    "its file does not read": (
        Scene(),
        "malformed-task",
        lambda s: s.with_fault(Undecided("malformed-task", "x:3: no"), task=None),
        lambda s: s,
    ),
    "it stands in two folders": (
        Scene(),
        "malformed-task",
        lambda s: s.with_fault(Undecided("malformed-task", "two")),
        lambda s: s,
    ),
    # 3. Ripe.
    "a dependency is queued": (
        Scene().with_task(depends_on=[task(2)]),
        "dependency-open",
        lambda s: s.where(_2="queued"),
        lambda s: s.where(_2="done"),
    ),
    "a dependency is nowhere": (
        Scene().with_task(depends_on=[task(2)]),
        "dependency-open",
        lambda s: s.where(_2=None),
        lambda s: s.where(_2="done"),
    ),
    "a dependency is cancelled": (
        Scene().with_task(depends_on=[task(2)]),
        "dependency-open",
        lambda s: s.where(_2="cancelled"),
        lambda s: s.where(_2="done"),
    ),
    "its review is overdue": (
        Scene().with_task(review_by="2026-08-14"),
        "review-overdue",
        lambda s: s.at(datetime(2026, 8, 15, tzinfo=timezone.utc)),
        lambda s: s.at(datetime(2026, 8, 14, 23, 59, 59, 999_000, timezone.utc)),
    ),
    "it is reserved for another": (
        Scene().with_task(reserved_for="ann"),
        "reserved",
        lambda s: s.asked_by("Ann"),
        lambda s: s.asked_by("ann"),
    ),
    # 4. Planned.
    "the plan is a draft": (Scene(), "plan-not-approved", lambda s: s.planned(plan="draft"), lambda s: s.planned()),
    "a plan without a manifest": (
        Scene().planned(),
        "plan-mismatch",
        lambda s: replace(s, manifest=None),
        lambda s: replace(s, plan=None, manifest=None),
    ),
    "a manifest without a plan": (
        Scene().planned(),
        "plan-mismatch",
        lambda s: replace(s, plan=None),
        lambda s: replace(s, plan=None, manifest=None),
    ),
    "the manifest is of an older plan": (
        Scene(),
        "plan-mismatch",
        lambda s: s.planned(manifest_revision=6),
        lambda s: s.planned(revision=6, manifest_revision=6),
    ),
    "the manifest is of a newer plan": (
        Scene(),
        "plan-mismatch",
        lambda s: s.planned(manifest_revision=8),
        lambda s: s.planned(),
    ),
    "the plan does not read": (
        Scene().planned(),
        "malformed-plan",
        lambda s: s.with_fault(Undecided("malformed-plan", "x"), plan=None),
        lambda s: s,
    ),
    "the manifest does not read": (
        Scene().planned(),
        "malformed-manifest",
        lambda s: s.with_fault(Undecided("malformed-manifest", "x"), manifest=None),
        lambda s: s,
    ),
    "no milestone lists it": (Scene(), "not-in-milestone", lambda s: s.planned(tasks=[2]), lambda s: s.planned()),
    "its milestone is planned": (
        Scene(),
        "milestone-not-active",
        lambda s: s.planned("planned"),
        lambda s: s.planned(),
    ),
    "its milestone is done": (Scene(), "milestone-not-active", lambda s: s.planned("done"), lambda s: s.planned()),
    "its milestone integrates, and it is not what integrates": (
        Scene(),
        "milestone-not-active",
        lambda s: s.planned("integrating", integration=2),
        lambda s: s.planned("integrating", tasks=[], integration=1),
    ),
    "its milestone is planned, and it integrates it": (
        INTEGRATING,
        "milestone-not-active",
        lambda s: s.planned("planned", tasks=[2], integration=1),
        lambda s: s.planned("active", tasks=[2], integration=1),
    ),
    "it integrates, and another task is not done": (
        INTEGRATING,
        "dependency-open",
        lambda s: s.where(_2="failed"),
        lambda s: s,
    ),
    # 5. Finished.
    "it is finished on another branch": (
        Scene(),
        "finished-elsewhere",
        lambda s: s.while_held(FINISHED),
        lambda s: s.while_held(FINISHED).logged(FINISHED, ended(ON_IT, "reopened", -4)).setting_aside(FINISHED),
    ),
    "it is finished on this branch": (
        Scene().on("ann/1").asked_by("ann"),
        "finished-elsewhere",
        lambda s: s.while_held(FINISHED),
        lambda s: s,
    ),
    # 6. Taken.
    "it is held": (Scene(), "claim-held", lambda s: s.while_held(ON_IT), lambda s: s.while_held(ANN)),
    "it is held, expired": (
        Scene(),
        "claim-held",
        lambda s: s.while_held(EXPIRED),
        lambda s: s.while_held(EXPIRED).setting_aside(EXPIRED),
    ),
    "it is held in this clone": (
        Scene(),
        "claim-held",
        lambda s: s.while_unpublished(ON_IT),
        lambda s: s.while_unpublished(ON_IT).setting_aside(ON_IT),
    ),
    "it is held by the same name without its token": (
        Scene().asked_by("ann"),
        "claim-held",
        lambda s: s.while_held(ON_IT),
        lambda s: s.while_held(ON_IT).setting_aside(ON_IT),
    ),
    "it was held, and has ended": (
        Scene().while_held(ON_IT).setting_aside(ON_IT),
        "claim-held",
        lambda s: replace(s, aside=()),
        lambda s: s.logged(ended(ON_IT)),
    ),
    "its claim ref does not read": (
        Scene(),
        "malformed-claim",
        lambda s: s.with_broken(claim_ref(WANTED)),
        lambda s: s.with_broken(claim_ref(task(2))),
    ),
    "a lock is held": (
        WITH_LOCK,
        "lock-held",
        lambda s: s.while_held(LOCKED),
        lambda s: s.while_held(replace(LOCKED, locks=(LockKey("l"),))),
    ),
    "a lock is held by an expired claim": (
        WITH_LOCK,
        "lock-held",
        lambda s: s.while_held(replace(LOCKED, expires_at=minutes(-1))),
        lambda s: s.while_held(replace(LOCKED, expires_at=minutes(-1), locks=())),
    ),
    "a lock is listed by a claim whose ref is torn away": (
        WITH_LOCK.while_held(LOCKED),
        "lock-held",
        lambda s: s.without_refs(lock_ref(LockKey("k"))),
        lambda s: s.without_refs(lock_ref(LockKey("k")), claim_ref(task(2))),
    ),
    "a lock is there whose claim is torn away, unexpired": (
        WITH_LOCK.without_refs(claim_ref(task(2))),
        "lock-held",
        lambda s: s.while_held(LOCKED),
        lambda s: s.while_held(replace(LOCKED, expires_at=minutes(0))),
    ),
    "a lock is there of a torn claim on the same task, unexpired": (
        WITH_LOCK,
        "lock-held",
        lambda s: replace(s, carried=(OWN_LOCK,)),
        lambda s: replace(s, carried=(replace(OWN_LOCK, expires_at=minutes(0)),)),
    ),
    "a lock is there of a torn claim of another's on the same task": (
        replace(WITH_LOCK, carried=(OWN_LOCK,)),
        "lock-held",
        lambda s: s,
        lambda s: s.setting_aside(OWN_LOCK),
    ),
    "a lock is there of a torn steal of the claim that is to be stolen": (
        WITH_LOCK.while_held(OLD_LOCK).setting_aside(OLD_LOCK),
        "lock-held",
        lambda s: replace(s, carried=(OWN_LOCK,)),
        lambda s: replace(s, carried=(OLD_LOCK,)),
    ),
    "a lock does not read": (
        WITH_LOCK,
        "malformed-claim",
        lambda s: s.with_broken(lock_ref(LockKey("k"))),
        lambda s: s.with_broken(lock_ref(LockKey("l"))),
    ),
    "a lock is held in this clone": (
        WITH_LOCK,
        "lock-held",
        lambda s: s.while_unpublished(LOCKED),
        lambda s: s.while_unpublished(ANN),
    ),
    # Caps.
    "as many are held as may be": (
        CAPPED,
        "wip-limit",
        lambda s: s.while_held(IN_SLOT),
        lambda s: s.while_held(IN_SLOT).capped("implementation", 2),
    ),
    "as many are held as may be, without slots": (
        replace(CAPPED, kinds={task(2): Kind.IMPLEMENTATION}),
        "wip-limit",
        lambda s: s.while_held(ANN),
        lambda s: replace(s.while_held(ANN), kinds={task(2): Kind.PLANNING}),
    ),
    "as many are held as may be, of a task that is gone from base": (
        CAPPED,
        "wip-limit",
        lambda s: s.while_held(ANN),
        lambda s: s,
    ),
    "as many are held as may be, expired": (
        CAPPED,
        "wip-limit",
        lambda s: s.while_held(replace(IN_SLOT, expires_at=minutes(-1))),
        lambda s: s.while_held(replace(IN_SLOT, expires_at=minutes(-1))).setting_aside(IN_SLOT),
    ),
    "none may be held": (
        Scene(),
        "wip-limit",
        lambda s: s.capped("implementation", 0),
        lambda s: s.capped("planning", 0),
    ),
    "the only slot is torn from its claim, unexpired": (
        CAPPED.without_refs(claim_ref(task(2))),
        "wip-limit",
        lambda s: s.while_held(IN_SLOT),
        lambda s: s.while_held(replace(IN_SLOT, expires_at=minutes(0))),
    ),
    "the only slot does not read": (
        CAPPED,
        "malformed-claim",
        lambda s: s.with_broken(slot_ref(SLOT)),
        lambda s: s.with_broken(slot_ref(wip_slot("implementation", 2))),
    ),
    "the cap is on another kind": (
        CAPPED.while_held(IN_SLOT),
        "wip-limit",
        lambda s: s,
        lambda s: s.with_task(kind="integration"),
    ),
    "the agent holds another": (
        ONE_EACH,
        "agent-busy",
        lambda s: s.while_held(AS_ZOE),
        lambda s: s.while_held(replace(AS_ZOE, agent=AgentName("zoe2"), slots=())),
    ),
    "the agent holds another, without a slot": (
        ONE_EACH.while_held(claim(2, "zoe")),
        "agent-busy",
        lambda s: s,
        lambda s: s.configured(one_claim_per_agent=False),
    ),
    "the agent holds another, expired": (
        ONE_EACH,
        "agent-busy",
        lambda s: s.while_held(replace(AS_ZOE, expires_at=minutes(-1))),
        lambda s: s.while_held(replace(AS_ZOE, expires_at=minutes(-1))).setting_aside(AS_ZOE),
    ),
    "the agent's slot is torn from its claim": (
        ONE_EACH.without_refs(claim_ref(task(2))),
        "agent-busy",
        lambda s: s.while_held(AS_ZOE),
        lambda s: s.while_held(replace(AS_ZOE, expires_at=minutes(0))),
    ),
    "the agent's slot is torn from its claim on the same task": (
        ONE_EACH,
        "agent-busy",
        lambda s: replace(s, carried=(replace(AS_ZOE, task=WANTED),)),
        lambda s: replace(s, carried=(replace(AS_ZOE, task=WANTED, expires_at=minutes(0)),)),
    ),
    "the agent's slot does not read": (
        ONE_EACH,
        "malformed-claim",
        lambda s: s.with_broken(slot_ref(HER_SLOT)),
        lambda s: s.with_broken(slot_ref(agent_slot(AgentName("ann")))),
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_refused(case: str) -> None:
    scene, code, refused, _ = REASONS[case]
    assert refused(scene).codes() == [code]


@pytest.mark.parametrize("case", REASONS)
def test_the_twin_is_admitted(case: str) -> None:
    scene, _, _, admitted = REASONS[case]
    assert admitted(scene).codes() == []


@pytest.mark.parametrize("case", REASONS)
@pytest.mark.parametrize("remote", ["origin", None])
def test_every_reason_names_the_thing_on_one_line_and_hints_at_a_command(case: str, remote: str | None) -> None:
    scene, code, refused, _ = REASONS[case]
    (reason,) = replace(refused(scene), remote=remote).reasons()
    assert "\n" not in reason.message
    if code.startswith("malformed-") and code != "malformed-claim":
        return
    assert reason.hint is not None
    for way in reason.hint.split(", or: "):
        assert shlex.split(way, comments=True)[0] in ("git", "swarm", "swarm-gate", "export"), reason.hint


def test_all_reasons_are_told_in_order() -> None:
    everything = (
        Scene()
        .on("main")
        .with_task(depends_on=[task(3), task(4)], review_by="2026-01-01", reserved_for="ann", locks=["k", "l"])
        .where(_3="queued", _4=None)
        .planned("planned", tasks=[2], plan="draft", manifest_revision=6)
        .while_held(ON_IT, LOCKED, claim(5, "bob", locks=["l"]), replace(AS_ZOE, task=task(6)))
        .capped("implementation", 1)
        .configured(one_claim_per_agent=True)
    )
    assert everything.codes() == [
        "on-base-branch",
        "dependency-open",
        "dependency-open",
        "review-overdue",
        "reserved",
        "plan-not-approved",
        "plan-mismatch",
        "not-in-milestone",
        "claim-held",
        "lock-held",
        "lock-held",
        "wip-limit",
        "agent-busy",
    ]


@pytest.mark.parametrize(
    ("first", "scene"),
    [
        ("finished-elsewhere", WITH_LOCK.while_held(FINISHED, LOCKED)),
        ("malformed-claim", WITH_LOCK.with_broken(claim_ref(WANTED)).while_held(LOCKED)),
        ("claim-held", WITH_LOCK.while_held(ON_IT, LOCKED)),
    ],
)
def test_what_stands_in_the_tasks_own_place_does_not_hide_its_locks(first: str, scene: Scene) -> None:
    assert scene.codes() == [first, "lock-held"]


def test_what_is_not_queued_is_not_judged_by_a_file_that_was_not_read() -> None:
    assert Scene().planned("planned").capped("implementation", 0).found_in(State.DONE).codes() == ["task-not-queued"]


def test_only_what_integrates_waits_for_the_others_of_its_milestone() -> None:
    assert Scene().planned(tasks=[1, 2], integration=3).where(_2="queued", _3="queued").codes() == []


def test_a_dependency_that_is_of_the_milestone_too_is_told_once() -> None:
    scene = Scene().with_task(depends_on=[task(2)]).planned(tasks=[2, 3], integration=1)
    assert scene.where(_2="queued", _3="done").codes() == ["dependency-open"]
    assert scene.where(_2="done", _3="queued").codes() == ["dependency-open"]


def test_which_of_plan_and_manifest_is_missing() -> None:
    planned = Scene().planned()
    assert "has no .agents/plan.md" in reason_of(replace(planned, plan=None))[0]
    assert "has no .agents/manifest.yaml" in reason_of(replace(planned, manifest=None))[0]


def test_a_task_that_is_held_twice_is_told_once_as_the_remote_has_it() -> None:
    scene = Scene().while_held(ON_IT).while_unpublished(claim(1, "bob"))
    assert scene.codes() == ["claim-held"]
    assert "held by ann" in reason_of(scene)[0]


def test_held_under_ones_own_name_is_not_told_as_busy_too() -> None:
    assert ONE_EACH.while_held(claim(1, "zoe")).codes() == ["claim-held"]


def test_a_full_cap_is_told_although_a_slot_does_not_read() -> None:
    scene = CAPPED.with_broken(slot_ref(SLOT)).while_held(claim(2, "ann"))
    assert scene.codes() == ["wip-limit"]


def test_the_revision_of_the_plan_is_what_a_claim_records() -> None:
    assert Scene().planned(revision=9, manifest_revision=9).candidate().plan_revision == 9
    assert Scene().candidate().plan_revision == 0


def test_an_own_lock_is_not_told_beside_the_claim_that_has_it() -> None:
    assert WITH_LOCK.while_held(claim(1, "ann", locks=["k"])).codes() == ["claim-held"]


def test_a_lock_of_a_torn_steal_is_told_beside_the_claim() -> None:
    assert replace(WITH_LOCK.while_held(ON_IT), carried=(OWN_LOCK,)).codes() == ["claim-held", "lock-held"]


def test_locks_that_a_completion_record_left_are_not_told_beside_it() -> None:
    done = WITH_LOCK.while_held(ended(OWN_LOCK, "done"))
    assert replace(done, carried=(OWN_LOCK,)).codes() == ["finished-elsewhere"]


def test_an_own_slot_is_no_reason() -> None:
    own = claim(1, "zoe", slots=(HER_SLOT,))
    assert ONE_EACH.while_held(own).codes() == ["claim-held"]
    assert ONE_EACH.while_held(own).setting_aside(own).codes() == []


# What the reasons say.


def reason_of(scene: Scene) -> tuple[str, str | None]:
    (reason,) = scene.reasons()
    return reason.message, reason.hint


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.BACKLOG, "untriaged, in the backlog"),
        (State.DONE, "is done on base"),
        (State.BLOCKED, "is blocked on base"),
    ],
)
def test_where_it_is_instead(state: State, words: str) -> None:
    assert words in reason_of(Scene().found_in(state))[0]


def test_it_is_only_in_the_working_tree() -> None:
    message, hint = reason_of(Scene().found_in(None, only=Only("in your working tree", "git add")))
    assert ("only in your working tree: base" in message, hint) == (True, "git add")
    assert f"there is no task {WANTED} on base" in reason_of(Scene().found_in(None))[0]


def test_held_says_by_whom_on_which_branch_and_until_when() -> None:
    message, hint = reason_of(Scene().while_held(ON_IT))
    assert message == f"{WANTED} is held by ann on ann/1, until 2026-08-14T09:50:00.000Z"
    assert hint == "swarm tasks --ready"


def test_expired_says_that_steal_takes_it() -> None:
    scene = Scene().asked_by("far").while_held(EXPIRED)
    message, hint = reason_of(scene)
    assert "expired at 2026-08-14T09:25:00.000Z" in message
    assert hint == f"swarm steal {WANTED} --agent far"
    (unnamed,) = readiness(scene.candidate(), None, scene.situation())
    assert unnamed.hint == f"swarm steal {WANTED} --agent NAME"


def test_held_under_ones_own_name_says_how_to_name_the_session() -> None:
    message, hint = reason_of(Scene().asked_by("ann").while_held(ON_IT))
    assert "its token is not here" in message
    assert hint is not None and "swarm.agent NAME" in hint
    assert hint == reason_of(Scene().asked_by("ann").configured(one_claim_per_agent=True).while_held(ANN))[1]


def test_held_in_this_clone_says_so() -> None:
    assert "made without a remote, in this clone" in reason_of(Scene().while_unpublished(ON_IT))[0]


@pytest.mark.parametrize(("left", "hint"), [(20, "swarm tasks --ready"), (-1, "swarm reap")])
def test_a_lock_says_which_key_and_by_which_claim(left: float, hint: str) -> None:
    (reason,) = WITH_LOCK.while_held(claim(2, "ann", left=left, locks=["k"])).reasons()
    when = {20: "until 2026-08-14T09:50:00.000Z", -1: "expired at 2026-08-14T09:29:00.000Z"}[int(left)]
    assert reason.message == f"lock k is held by ann for {task(2)}, {when}"
    assert (reason.hint, reason.details["lock"], reason.details["expired"]) == (hint, "k", left < 0)


def test_a_lock_that_was_left_by_a_killed_process_hints_at_reap() -> None:
    assert reason_of(replace(WITH_LOCK, carried=(LOCKED,)))[1] == "swarm reap"


def test_of_a_lock_on_the_task_itself_it_is_known_that_it_is_not_over() -> None:
    assert reason_of(replace(WITH_LOCK, carried=(OWN_LOCK,)))[1] == "swarm tasks --ready"


@pytest.mark.parametrize(("left", "hint"), [(20, "swarm status"), (-1, "swarm reap")])
def test_a_full_cap_says_how_many_and_who(left: float, hint: str) -> None:
    message, said = reason_of(CAPPED.while_held(replace(IN_SLOT, expires_at=minutes(left))))
    assert (message, said) == (f"1 of at most 1 implementation tasks are claimed: {task(2)} (ann)", hint)


def test_an_expired_claim_of_the_agent_hints_at_reap() -> None:
    assert reason_of(ONE_EACH.while_held(replace(AS_ZOE, expires_at=minutes(-1))))[1] == "swarm reap"


@pytest.mark.parametrize("remote", ["origin", None])
def test_what_does_not_read_comes_with_the_command_that_deletes_it_as_it_is(remote: str | None) -> None:
    scene = replace(Scene().with_broken(claim_ref(WANTED)), remote=remote)
    ledger = scene.situation().ledger
    message, hint = reason_of(scene)
    assert "not a JSON object" in message
    assert hint == deletion_command([ledger.claims[WANTED]], remote)


# Deletion commands are pasted by operators; whoever may push chooses the names of refs.

EVIL = RefName("refs/swarm/task-claims/$(touch${IFS}x);y")
ODD = Entry(EVIL, ObjectId("1" * 40), None, "x")
FINE = Entry(claim_ref(WANTED), ObjectId("2" * 40), None, "x")


def test_deletion_in_a_remote_is_one_atomic_push_with_leases() -> None:
    assert shlex.split(deletion_command([FINE, ODD], "origin")) == [
        *("git", "push", "--atomic"),
        *(f"--force-with-lease={FINE.ref}:{FINE.id}", f"--force-with-lease={EVIL}:{ODD.id}"),
        *("origin", f":{FINE.ref}", f":{EVIL}"),
    ]


def test_deletion_here_names_the_old_value() -> None:
    first, second = deletion_command([FINE, ODD], None).split(" && ")
    assert shlex.split(first) == ["git", "update-ref", "-d", FINE.ref, FINE.id]
    assert shlex.split(second) == ["git", "update-ref", "-d", EVIL, ODD.id]


# Slots.


def slots(scene: Scene) -> tuple[SlotKey, ...]:
    assert scene.task is not None
    found, reasons = choose_slots(scene.candidate(), scene.task, AgentName(scene.agent), scene.situation())
    assert not reasons
    return found


def in_slot(number: int, slot: int) -> Claim:
    return claim(number, f"a{number}", slots=(wip_slot("implementation", slot),))


def test_no_slots_without_caps() -> None:
    assert slots(Scene()) == ()


def test_the_lowest_free_slot() -> None:
    scene = Scene().capped("implementation", 4)
    assert slots(scene) == (wip_slot("implementation", 1),)
    assert slots(scene.while_held(in_slot(2, 1))) == (wip_slot("implementation", 2),)
    assert slots(scene.while_held(in_slot(2, 1), in_slot(3, 3))) == (wip_slot("implementation", 2),)
    assert slots(scene.while_held(in_slot(2, 2))) == (wip_slot("implementation", 1),)


def test_a_slot_that_is_in_doubt_is_passed_over() -> None:
    scene = Scene().capped("implementation", 2).while_held(in_slot(2, 1)).without_refs(claim_ref(task(2)))
    assert slots(scene) == (wip_slot("implementation", 2),)
    assert slots(Scene().capped("implementation", 2).with_broken(slot_ref(SLOT))) == (wip_slot("implementation", 2),)


def test_a_slot_of_ones_own_is_kept() -> None:
    own = claim(1, "zoe", slots=(SLOT,))
    assert slots(CAPPED.while_held(own).setting_aside(own)) == (SLOT,)


def test_claims_without_slots_count_although_slots_are_free() -> None:
    scene = Scene().capped("implementation", 2).while_held(in_slot(2, 1), claim(3, "bob"))
    assert scene.codes() == ["wip-limit"]


def test_a_claim_with_a_slot_counts_as_what_the_slot_says() -> None:
    """Whatever base says of its task by now."""
    planning = replace(IN_SLOT, slots=(wip_slot("planning", 1),))
    scene = replace(CAPPED, kinds={task(2): Kind.IMPLEMENTATION})
    assert scene.while_held(planning).codes() == []
    assert scene.while_held(replace(planning, slots=())).codes() == ["wip-limit"]
    assert replace(scene, kinds={task(2): Kind.PLANNING}).while_held(IN_SLOT).codes() == ["wip-limit"]


def test_the_slots_are_sorted() -> None:
    assert slots(CAPPED.configured(one_claim_per_agent=True)) == (HER_SLOT, SLOT)
    assert list(slots(CAPPED.configured(one_claim_per_agent=True))) == sorted([HER_SLOT, SLOT])


def test_needed_keys_are_locks_and_slots_with_their_refs() -> None:
    keys = needed_keys([LockKey("k")], [SLOT])
    assert [(key.name, key.ref) for key in keys] == [("k", lock_ref(LockKey("k"))), (SLOT, slot_ref(SLOT))]


# For nobody in particular: `swarm tasks`.


def test_ready_for_anybody_leaves_out_what_depends_on_who_asks() -> None:
    scene = CAPPED.configured(one_claim_per_agent=True).while_held(AS_ZOE).on("main")
    assert [one.code for one in readiness(scene.candidate(), None, scene.situation())] == ["wip-limit"]
    kept = Scene().with_task(reserved_for="ann")
    assert [one.code for one in readiness(kept.candidate(), None, kept.situation())] == ["reserved"]
    assert readiness(kept.candidate(), AgentName("ann"), kept.situation()) == []


def test_under_ones_own_name_a_claim_may_be_ones_own_until_tokens_were_tried() -> None:
    scene = Scene().asked_by("ann").while_held(ON_IT)
    (shown,) = readiness(scene.candidate(), AgentName("ann"), scene.situation())
    assert shown.hint == "swarm tasks --ready"
    assert "token" not in shown.message


# What a new claim may overwrite.


MINE = claim(1, "zoe", locks=["k"])
THEIRS = claim(1, "bob", locks=["l"])


def names(refs: Refs, *own: Claim) -> set[str]:
    hashes = [one.token_hash for one in own if one.token_hash is not None]
    return {one.agent for one in claims_to_set_aside(refs.ledger(), WANTED, hashes)}


def test_set_aside_are_ones_own_by_token() -> None:
    assert names(Refs().held(MINE), MINE) == {"zoe"}
    assert names(Refs().held(MINE)) == set()
    assert names(Refs().held(replace(MINE, token_hash="f" * 64)), MINE) == set()
    assert names(Refs().held(replace(MINE, token_hash=None)), MINE) == set()


def test_set_aside_is_what_lies_about_of_ones_own() -> None:
    assert names(Refs().held(THEIRS).keys_of(MINE), MINE) == {"zoe"}
    assert names(Refs().unpublished(MINE), MINE) == {"zoe"}


def test_set_aside_are_those_that_have_ended() -> None:
    assert names(Refs().held(THEIRS).log(ended(THEIRS))) == {"bob"}
    assert names(Refs().keys_of(THEIRS).log(ended(THEIRS, "stolen"))) == {"bob"}
    assert names(Refs().held(THEIRS).log(ended(THEIRS, "done"))) == set()
    assert names(Refs().held(THEIRS).log(ended(MINE))) == set()


def test_set_aside_is_never_anothers_task() -> None:
    """A token proves a claim on its own task only."""
    other = replace(MINE, task=task(2))
    assert names(Refs().held(other), MINE) == set()


def test_finished_elsewhere_says_where() -> None:
    ledger = Refs().claim_ref(FINISHED).ledger()
    reason = finished_elsewhere(ledger, WANTED, State.QUEUED)
    assert reason is not None
    assert (reason.message, reason.hint) == (
        f"{WANTED} was finished by ann on ann/1, not merged yet",
        "swarm tasks --ready",
    )
    merged = finished_elsewhere(ledger, WANTED, State.DONE)
    assert merged is not None
    assert (merged.message, merged.hint) == (
        f"{WANTED} was finished by ann on ann/1, and base has merged it; reap clears the record",
        "swarm reap",
    )
    assert finished_elsewhere(Refs().held(ON_IT).ledger(), WANTED, State.QUEUED) is None


def test_held_says_expired_from_the_very_moment() -> None:
    ledger = Refs().held(claim(1, "ann", left=0)).ledger()
    assert held_message(ledger.claims[WANTED], ledger).details["expired"] is True
    before = replace(ledger, now=ledger.now - timedelta(milliseconds=1))
    assert held_message(before.claims[WANTED], before).details["expired"] is False


def test_the_day_of_review_is_still_in_time() -> None:
    assert date(2026, 8, 14) == minutes(0).date()
    assert Scene().with_task(review_by="2026-08-14").codes() == []
    assert Scene().with_task(review_by="2026-08-13").codes() == ["review-overdue"]
