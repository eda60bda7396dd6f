"""Claim refs that anyone who may push could have written: each one blocks its own task and locks, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scene import (
    CLAIM,
    LOCK,
    T1,
    T2,
    T3,
    Scene,
    alone,
    canonical,
    claim_members,
    edited,
    instant,
    lock_ref,
    slot_ref,
    stage,
)
from tests.support.board import task_id
from tests.support.repo import Repo

Members = dict[str, Any]
#: Turns the members of a valid claim into the bytes of a blob.
Write = Callable[[Members], bytes]

#: The task of a claim that the blobs below are variations of.
OTHER = task_id(0xFF)
CLOSED = {"at": "2026-08-14T09:30:00.000Z", "by": "b1", "outcome": "done", "reason": None, "commit": None}


def using(**changes: Any) -> Write:
    """The claim with other members; None removes one."""
    return lambda members: canonical({key: it for key, it in {**members, **changes}.items() if it is not None})


def having(member: str) -> Write:
    """The claim with one more member, as it is written here."""
    return lambda members: b"{" + member.encode("utf-8", "surrogatepass") + b"," + canonical(members)[1:]


def within(wrap: Callable[[bytes], bytes]) -> Write:
    return lambda members: wrap(canonical(members))


def hours_ahead(hours: float) -> str:
    return instant(datetime.now(timezone.utc) + timedelta(hours=hours))


@dataclass(frozen=True, slots=True)
class Hostile:
    """A blob that is no claim, and what is said of it."""

    name: str
    write: Write
    fault: str


REQUIRED = ("task", "agent", "branch", "baseCommit", "claimedAt", "expiresAt", "locks", "planRevision")

HOSTILE = [
    Hostile("a member twice", having('"task":"T-20260814-00000001"'), "a member stands twice"),
    Hostile("an unknown member twice", having('"x":1,"x":1'), "a member stands twice"),
    Hostile("a member twice, further in", having('"x":[{"y":1,"y":2}]'), "a member stands twice"),
    Hostile("NaN", having('"x":NaN'), "NaN is not JSON"),
    Hostile("infinity", having('"x":-Infinity'), "-Infinity is not JSON"),
    Hostile("a number beyond all", having('"x":1e999'), "1e999 is out of range"),
    Hostile("a number of 5,000 digits", having(f'"x":{"9" * 5000}'), "limit"),
    Hostile("a byte-order mark", within(lambda data: b"\xef\xbb\xbf" + data), "BOM"),
    Hostile("UTF-16", within(lambda data: data.decode().encode("utf-16")), "not UTF-8"),
    Hostile("UTF-16 without its mark", within(lambda data: data.decode().encode("utf-16-le")), ""),
    Hostile("UTF-32", within(lambda data: data.decode().encode("utf-32")), "not UTF-8"),
    Hostile("Latin-1", within(lambda data: data.replace(b'"b1"', b'"b\xe4"')), "not UTF-8"),
    Hostile("half a character", having('"x":"\\ud800"'), "not UTF-8"),
    Hostile("half a character as bytes", having('"x":"\ud800"'), "not UTF-8"),
    Hostile("something after the object", within(lambda data: data + b"x"), "Extra data"),
    Hostile("another object after it", within(lambda data: data + data), "Extra data"),
    Hostile("NUL after it", within(lambda data: data + b"\0"), "Extra data"),
    Hostile("8,000 brackets", lambda members: b"[" * 8000, "nested too deeply"),
    Hostile("8,000 braces in a member", having(f'"x":{"[" * 8000}{"]" * 8000}'), "nested too deeply"),
    Hostile("3 MB", within(lambda data: data + b" " * 3_000_000), "16384 are read"),
    Hostile("a byte over 16 KiB", within(lambda data: data.ljust(16 * 1024 + 1)), "16384 are read"),
    Hostile("nothing", lambda members: b"", ""),
    Hostile("null", lambda members: b"null\n", "not a JSON object"),
    Hostile("a list", within(lambda data: b"[" + data + b"]"), "not a JSON object"),
    Hostile("single quotes", within(lambda data: data.replace(b'"', b"'")), ""),
    *(Hostile(f"without {name}", using(**{name: None}), f"{name} is missing") for name in REQUIRED),
    *(Hostile(f"{name} is null", having(f'"{name}":null'), "twice") for name in REQUIRED[:1]),
    Hostile("a boolean for an integer", using(planRevision=True), "planRevision: not an integer"),
    Hostile("a float for an integer", using(planRevision=1.0), "planRevision: not an integer"),
    Hostile("text for an integer", using(planRevision="1"), "planRevision: not an integer"),
    Hostile("a plan before the first", using(planRevision=-1), "planRevision: not an integer"),
    Hostile("an integer of 64 bits", using(planRevision=2**63), "planRevision: not an integer"),
    Hostile("a boolean for a repository", using(repository=True), "repository: not an integer"),
    Hostile("no repository", using(repository=0), "repository: not an integer"),
    Hostile("a week date", using(claimedAt="2026-W33-5T09:30:00.000Z"), "claimedAt: not an instant"),
    Hostile("a day of the year", using(claimedAt="2026-226T09:30:00.000Z"), "claimedAt: not an instant"),
    Hostile("a date alone", using(claimedAt="2026-08-14"), "claimedAt: not an instant"),
    Hostile("an offset", using(claimedAt="2026-08-14T09:30:00.000+00:00"), "claimedAt: not an instant"),
    Hostile("a small z", using(claimedAt="2026-08-14T09:30:00.000z"), "claimedAt: not an instant"),
    Hostile("a blank for the T", using(claimedAt="2026-08-14 09:30:00.000Z"), "claimedAt: not an instant"),
    Hostile("whole seconds", using(claimedAt="2026-08-14T09:30:00Z"), "claimedAt: not an instant"),
    Hostile("microseconds", using(claimedAt="2026-08-14T09:30:00.000000Z"), "claimedAt: not an instant"),
    Hostile("a line end after the time", using(claimedAt="2026-08-14T09:30:00.000Z\n"), "claimedAt: not an instant"),
    Hostile("other digits", using(claimedAt="२०२६-08-14T09:30:00.000Z"), "claimedAt: not an instant"),
    Hostile("the 30th of February", using(claimedAt="2026-02-30T09:30:00.000Z"), "claimedAt: "),
    Hostile("24 o'clock", using(claimedAt="2026-08-14T24:00:00.000Z"), "claimedAt: "),
    Hostile("a leap second", using(claimedAt="2026-12-31T23:59:60.000Z"), "claimedAt: "),
    Hostile("a number for a time", using(claimedAt=1786699800), "claimedAt: not a string"),
    Hostile("over before it began", using(expiresAt="2000-01-01T00:00:00.000Z"), "expiresAt is before claimedAt"),
    Hostile("a lease of two days", using(expiresAt=hours_ahead(48)), "more than a day ahead"),
    Hostile("a lease for good", using(expiresAt="9999-12-31T23:59:59.999Z"), "more than a day ahead"),
    Hostile("another's task", using(task=T1), f"it is a claim on {T1}"),
    Hostile("no task's id", using(task="T-1"), "task: "),
    Hostile("a name with a dash first", using(agent="-b1"), "agent: "),
    Hostile("a name of 101 characters", using(agent="b" * 101), "agent: "),
    Hostile("a name that is not ASCII", using(agent="bé"), "agent: "),
    Hostile("a name with a line end", using(agent="b1\n"), "agent: "),
    Hostile("no name", using(agent=""), "agent: "),
    Hostile("a branch that git refuses", using(branch="a..b"), "branch: "),
    Hostile("a branch with a dash first", using(branch="-b"), "branch: "),
    Hostile("a branch with an escape", using(branch="b\x1b[2J"), "branch: "),
    Hostile("a branch with a line end", using(branch="b\n"), "branch: "),
    Hostile("HEAD", using(branch="HEAD"), "branch: "),
    Hostile("a short commit", using(baseCommit="abcdef0"), "baseCommit: "),
    Hostile("a commit in capitals", using(baseCommit="A" * 40), "baseCommit: "),
    Hostile("locks out of order", using(locks=["b", "a"]), "locks: not sorted"),
    Hostile("a lock twice", using(locks=["a", "a"]), "locks: not sorted, or with repeats"),
    Hostile("a lock that is a number", using(locks=[1]), "locks: "),
    Hostile("locks in a string", using(locks="a"), "locks: not a list"),
    Hostile("a lock of 121 characters", using(locks=["a" * 121]), "locks: "),
    Hostile("an empty lock", using(locks=[""]), "locks: "),
    Hostile("a slot of no kind", using(slots=["implementation:1"]), "slots: "),
    Hostile("local, but not", using(local=False), "local: not true"),
    Hostile("half a hash", using(tokenHash="0" * 32), "tokenHash: "),
    Hostile("another hash", using(taskDigest="md5:" + "0" * 32), "taskDigest: "),
    Hostile("closed, but how", using(closed={}), "closed: "),
    Hostile("closed as nothing known", using(closed={**CLOSED, "outcome": "won"}), "closed: outcome: "),
    Hostile("closed at no time", using(closed={**CLOSED, "at": "then"}), "closed: at: "),
    Hostile("closed for too long a reason", using(closed={**CLOSED, "reason": "x" * 1001}), "closed: reason: "),
    Hostile("in place of nothing", using(replaced={}), "replaced: "),
    Hostile("in place of a claim that is not closed", lambda it: using(replaced=it)(it), "replaced: "),
    Hostile(
        "in place of another task's", lambda it: using(replaced={**it, "task": T1, "closed": CLOSED})(it), "replaced: "
    ),
]

#: What is a claim, however odd it looks.
SOUND: list[tuple[str, Write, str]] = [
    ("eight members", using(), "active"),
    ("blanks between them", lambda members: json.dumps(members, indent=2).encode(), "active"),
    ("members nobody knows", using(x={"y": [1, 2.5, None, "ü"]}), "active"),
    ("16 KiB to the byte", within(lambda data: data.ljust(16 * 1024)), "active"),
    ("a name of 100 characters", using(agent="b" * 100), "active"),
    ("a branch that is not ASCII", using(branch="zweig/für-ä"), "active"),
    ("a lease of a day", using(expiresAt=hours_ahead(24)), "active"),
    ("made in an hour", using(claimedAt=hours_ahead(1), expiresAt=hours_ahead(2)), "active"),
    ("over", using(claimedAt="2026-08-14T09:30:00.000Z", expiresAt="2026-08-14T09:30:00.000Z"), "expired"),
    ("closed", using(closed=CLOSED), "finished"),
]


def not_a_blob(kind: str) -> Callable[[Repo], str]:
    def make(where: Repo) -> str:
        if kind == "tag":
            blob = where.blob(canonical(claim_members(where, task_id(0x400))))
            return where.git("mktag", input=f"object {blob}\ntype blob\ntag t\ntagger a <a@b.invalid> 0 +0000\n\nm\n")
        found = where.oid("main^{tree}" if kind == "tree" else "main")
        assert found is not None
        return found

    return make


OBJECTS = {task_id(0x400 + number): kind for number, kind in enumerate(("tag", "commit", "tree"))}
#: Every row has a task of its own in one repository.
HOSTILE_AT = {task_id(0x100 + number): row for number, row in enumerate(HOSTILE)}
SOUND_AT = {task_id(0x300 + number): row for number, row in enumerate(SOUND)}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """An origin with all of them at once."""
    scene = stage(tmp_path_factory.mktemp("crowded"))
    where = scene.arbiter
    rows: list[tuple[str, Write]] = [(task, row.write) for task, row in HOSTILE_AT.items()]
    rows += [(task, write) for task, (_, write, _) in SOUND_AT.items()]
    updates = [(CLAIM + task, where.blob(write(claim_members(where, task)))) for task, write in rows]
    updates += [(CLAIM + task, not_a_blob(kind)(where)) for task, kind in OBJECTS.items()]
    updates.append((CLAIM + "nonsense", where.blob(canonical(claim_members(where, T1)))))
    where.git("update-ref", "--stdin", input="".join(f"create {ref} {blob}\n" for ref, blob in updates))
    yield scene


@pytest.fixture(scope="module")
def listed(crowded: Scene) -> dict[str, dict[str, Any]]:
    """What `status` says of each ref."""
    status = crowded.claims("status")
    return {entry["ref"]: entry for entry in [*status["claims"], *status["finished"]]}


@pytest.mark.parametrize("task", HOSTILE_AT, ids=[row.name for row in HOSTILE])
def test_what_is_no_claim_is_listed_as_malformed(task: str, listed: dict[str, dict[str, Any]]) -> None:
    entry = listed[CLAIM + task]
    assert list(entry) == ["state", "ref", "id", "fault", "hint"], entry
    assert entry["state"] == "malformed"
    assert HOSTILE_AT[task].fault in entry["fault"]
    assert entry["fault"] and entry["fault"].isprintable()


@pytest.mark.parametrize("task", SOUND_AT, ids=[name for name, _, _ in SOUND])
def test_what_looks_odd_is_a_claim(task: str, listed: dict[str, dict[str, Any]]) -> None:
    assert listed[CLAIM + task]["state"] == SOUND_AT[task][2]


@pytest.mark.parametrize("task", OBJECTS, ids=OBJECTS.values())
def test_a_claim_is_a_blob(task: str, listed: dict[str, dict[str, Any]]) -> None:
    assert listed[CLAIM + task]["fault"] == f"it is a {OBJECTS[task]}, not a blob"


def test_a_name_that_is_no_tasks(listed: dict[str, dict[str, Any]]) -> None:
    assert listed[CLAIM + "nonsense"]["state"] == "malformed"


def test_other_tasks_are_claimed_and_released_as_ever(crowded: Scene) -> None:
    """Among all of them: claim, renew, check, finish, reopen, and reap, which leaves what it cannot read."""
    before = crowded.arbiter.refs()
    for line in (f"claim {T1}", "renew", "check", "release --done", f"reopen {T1} --reason why"):
        assert crowded.claims(line)["task"] == T1
    after = crowded.arbiter.refs()
    assert {ref: value for ref, value in after.items() if "claim-log" not in ref} == before
    skipped = {CLAIM + task for task, (_, _, state) in SOUND_AT.items() if state != "active"}
    reaped = crowded.claims("reap --dry-run")
    assert {entry["ref"] for entry in [*reaped["reaped"], *reaped["deleted"]]} == skipped


def test_people_see_them_without_harm(crowded: Scene) -> None:
    said = crowded.run("status", ok=True)
    assert said.out.count("MALFORMED") == len(HOSTILE) + len(OBJECTS) + 1
    assert said.out.replace("\n", "").isprintable()


@pytest.mark.parametrize("line", [f"claim {T1}", f"steal {T1}", f"renew {T1}", f"release {T1}", f"check {T1}"])
def test_its_own_task_is_blocked(line: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    blob = scene.forge_blob(T1, "{}")
    error = scene.refused(line)
    assert (error["code"], error["details"]["id"], error["details"]["ref"]) == ("malformed-claim", blob, CLAIM + T1)
    scene.shell(error["hint"])
    assert scene.arbiter.refs() == {}
    scene.run(f"claim {T1}", ok=True)


@pytest.mark.parametrize(
    ("ref", "task"), [(lock_ref(LOCK), T1), (slot_ref("wip:implementation:1"), T2), (slot_ref("agent:a1"), T2)]
)
def test_a_lock_or_slot_that_does_not_read_blocks_who_needs_it(ref: str, task: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.put(config={"wip": {"implementation": 1}, "one_claim_per_agent": True} if "slots" in ref else None)
    blob = scene.arbiter.blob("{}")
    scene.arbiter.git("update-ref", ref, blob)
    error = scene.refused(f"claim {task}")
    assert error["details"]["ref"] == ref, error
    scene.shell(error["hint"])
    assert scene.arbiter.refs() == {}
    scene.run(f"claim {task}", ok=True)


@pytest.mark.parametrize("remote", [True, False])
def test_status_gives_the_command_that_deletes_what_does_not_read(remote: bool, tmp_path: Path) -> None:
    """For each ref, at the value that was read: a claim, a lock, a slot and a name that is none."""
    scene = stage(tmp_path) if remote else alone(tmp_path)
    scene.forge_blob(T1, "{}", [LOCK], ["agent:a1"])
    scene.arbiter.git("update-ref", f"{CLAIM}no'task", scene.arbiter.blob("{}"))
    scene.forge(T2)
    malformed = [entry for entry in scene.claims("status")["claims"] if entry["state"] == "malformed"]
    assert sorted(entry["ref"] for entry in malformed) == sorted(set(scene.arbiter.refs()) - {CLAIM + T2})
    said = scene.run("status", ok=True).out
    for entry in malformed:
        assert f"  {entry['ref']}  MALFORMED: {entry['fault']}\n    hint: {entry['hint']}\n" in said
    assert f"\n       hint: {malformed[0]['hint']}\n" in scene.run(f"show {T1}", ok=True).out
    scene.arbiter.git("update-ref", CLAIM + T1, scene.arbiter.blob("[]"))
    for entry in malformed[1:]:
        scene.shell(entry["hint"])
    with pytest.raises(AssertionError):
        scene.shell(malformed[0]["hint"])
    assert set(scene.arbiter.refs()) == {CLAIM + T1, CLAIM + T2}


def test_a_lock_that_does_not_read_leaves_others_alone(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.arbiter.git("update-ref", lock_ref(LOCK), scene.arbiter.blob("{}"))
    scene.run(f"claim {T2}", ok=True)


@pytest.mark.parametrize("ref", [f"{CLAIM}{T1}/x", f"{lock_ref(LOCK)}/x"])
def test_a_ref_where_a_folder_would_be(ref: str, tmp_path: Path) -> None:
    """git can create neither beside the other; the error says which is in the way, and how to delete it."""
    scene = stage(tmp_path)
    blob = scene.forge_blob(T3, canonical(claim_members(scene.arbiter, T3)))
    scene.vacate(T3)
    scene.arbiter.git("update-ref", ref, blob)
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["details"]["ref"]) == ("malformed-claim", ref)
    scene.run(f"claim {T2}", ok=True)
    scene.run("release", ok=True)
    scene.shell(error["hint"])
    scene.run(f"claim {T1}", ok=True)


def test_a_ref_where_the_folder_of_all_claims_would_be(tmp_path: Path) -> None:
    """No fetch shows it; what git says of it is passed on."""
    scene = stage(tmp_path)
    scene.arbiter.git("update-ref", CLAIM.rstrip("/"), scene.arbiter.blob("{}"))
    error = scene.refused(f"claim {T1}")
    assert (error["code"], f"'{CLAIM.rstrip('/')}' exists" in error["message"]) == ("busy", True)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("20260814T093000.000Z", b"{}"),
        ("20260814T093000.000Z", b"\xff" * 20_000),
        ("yesterday", b"{}"),
        ("20260814T093000.000Z/x", b"{}"),
        ("99991231T235959.999Z", None),
    ],
)
def test_a_log_entry_that_does_not_read_stops_nobody(name: str, data: bytes | None, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    closed = {**CLOSED, "at": "9999-12-31T23:59:59.999Z", "outcome": "released"}
    data = data if data is not None else using(closed=closed)(claim_members(scene.arbiter, T1))
    scene.arbiter.git("update-ref", f"refs/swarm/claim-log/{T1}/{name}", scene.arbiter.blob(data))
    for line in (f"claim {T1}", "renew", "check", "release"):
        assert scene.claims(line)["task"] == T1


def test_a_claim_for_hostile_readers_of_messages(tmp_path: Path) -> None:
    """What others wrote is quoted without what would move a terminal or start a line of its own."""
    scene = stage(tmp_path)
    closed = {**CLOSED, "outcome": "released", "reason": "\x1b[2J\nerror[busy]: not at all\u2028\u202e"}
    members = claim_members(scene.arbiter, T1, closed=closed)
    ref = f"refs/swarm/claim-log/{T1}/20260814T093000.000Z"
    scene.arbiter.git("update-ref", ref, scene.arbiter.blob(canonical(members)))
    said = scene.run(f"claim {T1}", ok=True)
    assert "last-release" in said.err
    assert (said.out + said.err).replace("\n", "").isprintable()
    assert said.error_code is None


def test_a_claim_far_ahead_of_the_clock_is_reported_and_ends(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge(T1, ago=-60, minutes=120)
    warnings = scene.claims("status")["warnings"]
    assert [(it["code"], it["details"]["task"]) for it in warnings] == [("clock-skew", T1)]
    assert scene.refused(f"claim {T1}")["code"] == "claim-held"
    scene.forge(T1, ago=-4, minutes=5)
    assert scene.claims("status")["warnings"] == []


def test_a_configuration_that_changes_is_no_use_to_a_forger(tmp_path: Path) -> None:
    """Base is the only authority: what the working tree says is not read."""
    scene = stage(tmp_path)
    scene.here.commit(edited(T1, "status: queued", "status: queued\nreserved_for: c1"))
    scene.run(f"claim {T1}", ok=True)


def test_a_lock_of_a_torn_claim_on_the_same_task_keeps_others_off_until_its_lease_is_over(tmp_path: Path) -> None:
    """Only the lock of somebody's claim is there: it may yet become a claim, so it is taken, and told as such."""
    scene = stage(tmp_path)
    blob = scene.forge(T1, minutes=10, locks=[LOCK])
    scene.arbiter.git("update-ref", "-d", CLAIM + T1)
    before = scene.arbiter.refs()
    for line in (f"claim {T1}", f"claim {T3}"):
        error = scene.refused(line)
        assert (error["code"], error["details"]["task"], error["details"]["agent"]) == ("lock-held", T1, "b1")
    assert scene.arbiter.refs() == before == {lock_ref(LOCK): blob}
    scene.run(f"claim {T1}", ahead=11, ok=True)


def of_size(members: Members, size: int) -> bytes:
    """The claim with an unknown member that fills it up to so many bytes."""
    return canonical({**members, "x": "x" * (size - len(canonical({**members, "x": ""})))})


@dataclass(frozen=True, slots=True)
class Ending:
    """A command that ends a claim, and what the claim has to be like for it."""

    line: str
    outcome: str
    #: Bytes that its record has more than the claim at the least.
    more: int
    members: Members


SECRET = "of another tool"
WITH_TOKEN = {"agent": "a1", "branch": "work", "tokenHash": hashlib.sha256(SECRET.encode()).hexdigest()}
DONE = {**CLOSED, "by": "b1"}
ENDINGS = [
    Ending(f"steal {T1}", "stolen", 200, {}),
    Ending(f"release {T1}", "released", 200, WITH_TOKEN),
    Ending(f"release {T1} --done", "done", 200, WITH_TOKEN),
    Ending(f"reopen {T1} --reason why", "reopened", 8, {"closed": DONE}),
]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.line)
def test_no_verb_ends_a_claim_whose_record_could_not_be_read(ending: Ending, tmp_path: Path) -> None:
    """Valid, but with how it ended it would be over the limit: it stays until an operator deletes it."""
    scene = stage(tmp_path)
    scene.env["SWARM_TOKEN"] = SECRET
    expired = claim_members(scene.arbiter, T1, minutes=-1, locks=[LOCK], **ending.members)
    scene.forge_blob(T1, of_size(expired, 16 * 1024), [LOCK])
    before = scene.arbiter.refs()
    error = scene.refused(ending.line)
    assert (error["code"], error["exit"], error["details"]["limit"]) == ("limits-exceeded", 3, 16 * 1024)
    assert error["message"].startswith(f"the record that the claim on {T1} was {ending.outcome} would have ")
    assert scene.arbiter.refs() == before
    scene.shell(error["hint"])
    assert scene.arbiter.refs() == {}
    scene.forge_blob(T1, of_size(expired, (9 if ending.outcome == "stolen" else 16) * 1024 - ending.more), [LOCK])
    scene.run(ending.line, ok=True)
    assert [entry["closed"]["outcome"] for entry in scene.claims("log")["entries"]][:1] == [ending.outcome]


def test_reap_passes_over_a_claim_whose_record_could_not_be_read(tmp_path: Path) -> None:
    """It says so, and clears away the others."""
    scene = stage(tmp_path)
    blob = scene.forge_blob(T1, of_size(claim_members(scene.arbiter, T1, minutes=-1), 16 * 1024))
    scene.forge(T2, minutes=-1)
    for line in ("reap --dry-run", "reap"):
        told = scene.claims(line)
        assert [entry["task"] for entry in told["reaped"]] == [T2]
        assert [(entry["task"], entry["reason"]) for entry in told["skipped"]] == [
            (T1, told["warnings"][0]["message"].partition("; hint: ")[0])
        ]
        assert told["warnings"][0]["code"] == "limits-exceeded"
    assert scene.arbiter.oid(CLAIM + T1) == blob
    said = scene.run("reap", ok=True)
    assert f"skipped, the record that the claim on {T1} was expired would have " in said.out
    scene.shell(told["warnings"][0]["details"]["hint"])
    scene.run(f"claim {T1}", ok=True)


def test_a_shorter_reason_is_hinted_at_where_that_is_all_it_takes(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge_blob(T1, of_size(claim_members(scene.arbiter, T1, minutes=-1), 16 * 1024 - 300))
    told = scene.claims(f"reap --reason {'x' * 1000}")
    assert told["warnings"][0]["details"]["hint"] == "swarm reap   # with a shorter reason"
    scene.shell(told["warnings"][0]["details"]["hint"])
    assert [entry["closed"]["outcome"] for entry in scene.claims("log")["entries"]] == ["expired"]


def test_a_thief_that_cannot_carry_the_record_is_told_to_reap(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge_blob(T1, of_size(claim_members(scene.arbiter, T1, minutes=-1), 16 * 1024 - 300))
    error = scene.refused(f"steal {T1}")
    assert (error["code"], error["hint"]) == ("limits-exceeded", "swarm reap")
    scene.shell(error["hint"])
    scene.run(f"claim {T1}", ok=True)
