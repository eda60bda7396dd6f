"""The claim blob: change one member, expect one error. What is valid stands beside what is not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from claims import record
from claims.names import ObjectId, SlotKey
from claims.record import Claim, Closed, decode, encode
from tests.unit.values import NOW, claim, ended, minutes

HEX = "0123456789abcdef"
REPLACED: dict[str, Any] = {
    "task": "T-20260814-0000000a",
    "agent": "old",
    "branch": "old/work",
    "baseCommit": HEX * 2 + "01234567",
    "claimedAt": "2026-08-14T08:00:00.000Z",
    "expiresAt": "2026-08-14T08:30:00.000Z",
    "locks": [],
    "planRevision": 0,
    "closed": {"at": "2026-08-14T09:00:00.000Z", "by": "new", "outcome": "stolen", "reason": None, "commit": None},
}
WHOLE: dict[str, Any] = {
    "task": "T-20260814-0000000a",
    "agent": "codex:auth",
    "branch": "agent/ä-1",
    "baseCommit": "0" * 40,
    "claimedAt": "2026-08-14T09:00:00.000Z",
    "expiresAt": "2026-08-14T10:00:00.125Z",
    "locks": ["a/b", "c:d"],
    "planRevision": 7,
    "taskDigest": "sha256:" + HEX * 4,
    "branchCommit": "1" * 64,
    "repository": 1296269,
    "tokenHash": HEX * 4,
    "slots": ["agent:codex:auth", "wip:feature:1"],
    "local": True,
    "replaced": REPLACED,
    "closed": {
        "at": "2026-08-14T09:20:00.000Z",
        "by": "unknown",
        "outcome": "released",
        "reason": "zu früh",
        "commit": "2" * 40,
        "x-end": [{"by": "another tool"}],
    },
    "x-note": {"nested": [1, 2.5, None]},
}
REQUIRED = ("task", "agent", "branch", "baseCommit", "claimedAt", "expiresAt", "locks", "planRevision")
OPTIONAL = ("taskDigest", "branchCommit", "repository", "tokenHash", "slots", "local", "replaced", "closed", "x-note")


def canonical(members: dict[str, Any]) -> bytes:
    return json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def held(**changes: Any) -> dict[str, Any]:
    """`WHOLE` while it was held, with changes; a path like `replaced__agent` goes down a level. `...` deletes."""
    members: dict[str, Any] = json.loads(json.dumps({name: WHOLE[name] for name in WHOLE if name != "closed"}))
    return _changed(members, changes)


def closed(**changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(json.dumps(WHOLE))
    return _changed(members, changes)


def _changed(members: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for path, value in changes.items():
        *folders, name = path.split("__")
        at = members
        for folder in folders:
            at = at[folder]
        if value is ...:
            del at[name]
        else:
            at[name] = value
    return members


def fault(data: bytes | dict[str, Any]) -> str:
    with pytest.raises(ValueError) as caught:
        decode(canonical(data) if isinstance(data, dict) else data, NOW)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_whole_blob_reads_and_is_written_back_byte_for_byte() -> None:
    data = canonical(WHOLE)
    read = decode(data, NOW)
    assert encode(read) == data
    assert read == Claim(
        task=read.task,
        agent=read.agent,
        branch=read.branch,
        base_commit=ObjectId("0" * 40),
        claimed_at=minutes(-30),
        expires_at=minutes(30) + timedelta(milliseconds=125),
        locks=read.locks,
        plan_revision=7,
        task_digest="sha256:" + HEX * 4,
        branch_commit=ObjectId("1" * 64),
        repository=1296269,
        token_hash=HEX * 4,
        slots=(SlotKey("agent:codex:auth"), SlotKey("wip:feature:1")),
        local=True,
        replaced=read.replaced,
        closed=Closed(
            minutes(-10), "unknown", "released", "zu früh", ObjectId("2" * 40), {"x-end": [{"by": "another tool"}]}
        ),
        unknown={"x-note": {"nested": [1, 2.5, None]}},
    )
    assert (read.task, read.agent, read.branch, read.locks) == (
        "T-20260814-0000000a",
        "codex:auth",
        "agent/ä-1",
        ("a/b", "c:d"),
    )
    assert read.replaced is not None and read.replaced.closed is not None
    assert (read.replaced.agent, read.replaced.closed.outcome) == ("old", "stolen")


def test_the_eight_members_that_other_tools_write_are_a_claim() -> None:
    read = decode(canonical({name: WHOLE[name] for name in REQUIRED}), NOW)
    assert (read.token_hash, read.slots, read.local, read.replaced, read.closed) == (None, (), False, None, None)
    assert sorted(record.to_json(read)) == sorted(REQUIRED)


@pytest.mark.parametrize("name", REQUIRED)
def test_without_a_required_member_it_is_none(name: str) -> None:
    assert fault(held(**{name: ...})) == f"{name} is missing"


@pytest.mark.parametrize("name", OPTIONAL)
def test_without_an_optional_member_it_is_one(name: str) -> None:
    data = canonical(closed(**{name: ...}))
    assert encode(decode(data, NOW)) == data


@pytest.mark.parametrize("name", sorted(set(WHOLE) - {"x-note"}))
@pytest.mark.parametrize("wrong", [None, 1.5, {}, [1], "", " ", False, "x\n", -1])
def test_every_member_has_one_type(name: str, wrong: Any) -> None:
    assert fault(closed(**{name: wrong})).startswith(f"{name}: ")


def test_a_member_that_nobody_knows_may_be_anything() -> None:
    everything: list[Any] = [None, 1.5, {}, [1], "", False, {"a": {"b": []}}]
    for value in everything:
        assert decode(canonical(held(x=value)), NOW).unknown["x"] == value


def test_nor_is_a_member_of_the_end_that_nobody_knows_lost() -> None:
    """Written again, as part of a thief's claim or of a reopened one's log entry, it says what it said."""
    data = canonical(closed())
    assert encode(decode(data, NOW)) == data
    thief = claim(10, replaced=decode(data, NOW))
    assert record.to_json(thief)["replaced"]["closed"]["x-end"] == [{"by": "another tool"}]


# One change, the words of the error, and a twin that is as near as can be and valid.
CHANGES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "task of another form": ({"task": "T-20260814-0000000A"}, "task: ", {}),
    "task with no date": ({"task": "T-20260230-0000000a"}, "not a real date", {}),
    "agent with a dash first": ({"agent": "-a"}, "agent: ", {"agent": "a-"}),
    "agent over 100": ({"agent": "a" * 101}, "agent: ", {"agent": "a" * 100}),
    "branch that git refuses": ({"branch": "a..b"}, "branch: ", {"branch": "a.b"}),
    "branch as a full ref": ({"branch": "HEAD"}, "branch: ", {"branch": "refs/heads/x"}),
    "branch with an escape": ({"branch": "a\x1bb"}, "branch: ", {"branch": "a#b"}),
    "short commit": ({"baseCommit": "0" * 39}, "baseCommit: ", {"baseCommit": "0" * 64}),
    "upper case commit": ({"baseCommit": "A" * 40}, "baseCommit: ", {"baseCommit": "a" * 40}),
    "no milliseconds": ({"claimedAt": "2026-08-14T09:00:00Z"}, "claimedAt: ", {}),
    "an offset": ({"claimedAt": "2026-08-14T09:00:00.000+00:00"}, "claimedAt: ", {}),
    "no such day": (
        {"claimedAt": "2026-02-30T09:00:00.000Z"},
        "claimedAt: ",
        {"claimedAt": "2026-02-28T09:00:00.000Z"},
    ),
    "lease that ends before it begins": (
        {"expiresAt": "2026-08-14T08:59:59.999Z"},
        "expiresAt is before claimedAt",
        {"expiresAt": "2026-08-14T09:00:00.000Z"},
    ),
    "lease over a day": (
        {"expiresAt": "2026-08-15T09:35:00.001Z"},
        "is more than a day ahead",
        {"expiresAt": "2026-08-15T09:35:00.000Z"},
    ),
    "locks unsorted": ({"locks": ["b", "a"]}, "locks: not sorted, or with repeats", {"locks": ["a", "b"]}),
    "locks repeated": ({"locks": ["a", "a"]}, "locks: not sorted, or with repeats", {"locks": ["a"]}),
    "lock key with a blank": ({"locks": ["a b"]}, "locks: ", {"locks": ["a-b"]}),
    "lock that is no string": ({"locks": [1]}, "locks: not a string", {"locks": ["1"]}),
    "lock key over 120": ({"locks": ["a" * 121]}, "locks: ", {"locks": ["a" * 120]}),
    "revision below zero": ({"planRevision": -1}, "planRevision: not an integer", {"planRevision": 0}),
    "revision as a float": ({"planRevision": 7.0}, "planRevision: not an integer", {"planRevision": 7}),
    "revision as a truth": ({"planRevision": True}, "planRevision: not an integer", {"planRevision": 1}),
    "revision over 64 bits": ({"planRevision": 2**63}, "planRevision: not an integer", {"planRevision": 2**63 - 1}),
    "digest of another hash": ({"taskDigest": "sha512:" + HEX * 4}, "taskDigest: ", {}),
    "digest too long": ({"taskDigest": "sha256:" + HEX * 4 + "0"}, "taskDigest: ", {}),
    "digest with a line end": ({"taskDigest": "sha256:" + HEX * 4 + "\n"}, "taskDigest: ", {}),
    "repository zero": ({"repository": 0}, "repository: not an integer from 1", {"repository": 1}),
    "token hash upper case": ({"tokenHash": HEX.upper() * 4}, "tokenHash: ", {"tokenHash": "f" * 64}),
    "token hash short": ({"tokenHash": HEX * 2}, "tokenHash: ", {}),
    "slot of no kind": ({"slots": ["lock:a"]}, "slots: not a slot key", {"slots": ["agent:a"]}),
    "slots unsorted": ({"slots": ["wip:a:1", "agent:a"]}, "slots: not sorted", {"slots": ["agent:a", "wip:a:1"]}),
    "slot over 120": ({"slots": ["agent:" + "a" * 115]}, "slots: not a slot key", {"slots": ["agent:" + "a" * 114]}),
    "slot with an escape": ({"slots": ["agent:\x1b"]}, "slots: not a slot key", {"slots": ["agent:b"]}),
    "local false": ({"local": False}, "local: not true", {"local": ...}),
    "local one": ({"local": 1}, "local: not true", {"local": True}),
    "replaced without its end": ({"replaced__closed": ...}, "replaced: not a closed record", {"replaced": ...}),
    "replaced of another task": ({"replaced__task": "T-20260814-0000000b"}, "replaced: is of another task", {}),
    "replaced with an error": ({"replaced__agent": ""}, "replaced: agent: ", {"replaced__agent": "x"}),
    "closed without a reason": ({"closed": {}}, "closed: at is missing", {}),
    "unknown member too deep": (
        {"x": json.loads("[" * 17 + "]" * 17)},
        "nested too deeply",
        {"x": json.loads("[" * 16 + "]" * 16)},
    ),
}
CLOSED_CHANGES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "at missing": ({"closed__at": ...}, "closed: at is missing", {}),
    "by missing": ({"closed__by": ...}, "closed: by is missing", {}),
    "outcome missing": ({"closed__outcome": ...}, "closed: outcome is missing", {}),
    "reason missing": ({"closed__reason": ...}, "closed: reason is missing", {"closed__reason": None}),
    "commit missing": ({"closed__commit": ...}, "closed: commit is missing", {"closed__commit": None}),
    "by nobody": ({"closed__by": None}, "closed: by: not a string", {"closed__by": "unknown"}),
    "outcome unknown": ({"closed__outcome": "lost"}, "closed: outcome: not one of", {"closed__outcome": "reopened"}),
    "reason too long": ({"closed__reason": "a" * 1001}, "closed: reason: over 1000", {"closed__reason": "a" * 1000}),
    "short commit": ({"closed__commit": "2" * 39}, "closed: commit: ", {"closed__commit": "2" * 64}),
    "unknown member of the end too deep": (
        {"closed__x": json.loads("[" * 17 + "]" * 17)},
        "closed: nested too deeply",
        {"closed__x": json.loads("[" * 16 + "]" * 16)},
    ),
    "closed for good": ({"closed": ...}, "is more than a day ahead", {}),
}


@pytest.mark.parametrize("case", CHANGES)
def test_change_one_member(case: str) -> None:
    wrong, words, right = CHANGES[case]
    assert words in fault(held(**wrong))
    assert decode(canonical(held(**right)), NOW).closed is None


@pytest.mark.parametrize("case", CLOSED_CHANGES)
def test_change_one_member_of_a_closed_record(case: str) -> None:
    wrong, words, right = CLOSED_CHANGES[case]
    far = {"expiresAt": "2027-08-14T09:00:00.000Z"}
    assert words in fault(closed(**far, **wrong))
    assert decode(canonical(closed(**far, **right)), NOW).closed is not None


@pytest.mark.parametrize("outcome", ["released", "done", "stolen", "expired", "reopened"])
def test_every_outcome(outcome: str) -> None:
    read = decode(canonical(closed(closed__outcome=outcome)), NOW)
    assert read.closed is not None and read.closed.outcome == outcome


TEXT = canonical(held())
# Bytes that `json` would read, and how they are refused.
BYTES = {
    "nothing": (b"", "Expecting value"),
    "a list": (b"[]", "not a JSON object"),
    "a string": (b'"task"', "not a JSON object"),
    "a byte-order mark": (b"\xef\xbb\xbf" + TEXT, "BOM"),
    "UTF-16": (TEXT.decode().encode("utf-16"), "not UTF-8"),
    "UTF-32": (TEXT.replace("ä".encode(), b"a").decode().encode("utf-32-le"), "Expecting"),
    "Latin-1": (TEXT.decode().encode("latin-1"), "not UTF-8"),
    "overlong UTF-8": (TEXT.replace(b"codex", b"c\xc1\xafdex"), "not UTF-8"),
    "a lone surrogate": (TEXT.replace(b"codex", b"c\\ud800dex"), "not UTF-8"),
    "something after it": (TEXT + b"{}", "Extra data"),
    "a second line": (TEXT + TEXT, "Extra data"),
    "a comment": (b"//\n" + TEXT, "Expecting value"),
    "a comma at the end": (TEXT.replace(b"}\n", b",}\n"), "Expecting property name"),
    "single quotes": (TEXT.replace(b'"', b"'"), "Expecting property name"),
    "a control character": (TEXT.replace(b"codex", b"c\tdex"), "Invalid control character"),
    "a member twice": (TEXT.replace(b'"agent":', b'"agent":"x","agent":'), "a member stands twice"),
    "an unknown member twice": (TEXT[:-2] + b',"x":1,"x":1}', "a member stands twice"),
    "a member twice below": (TEXT.replace(b'"nested":', b'"nested":1,"nested":'), "a member stands twice"),
    "NaN": (TEXT.replace(b"2.5", b"NaN"), "NaN is not JSON"),
    "infinity": (TEXT.replace(b"2.5", b"Infinity"), "Infinity is not JSON"),
    "minus infinity": (TEXT.replace(b"2.5", b"-Infinity"), "-Infinity is not JSON"),
    "a number without end": (TEXT.replace(b"2.5", b"1e999"), "1e999 is out of range"),
    "a number of thousands of digits": (TEXT.replace(b"2.5", b"9" * 9999), "Exceeds the limit"),
    "nested without end": (b"[" * 8000 + b"]" * 8000, "nested too deeply"),
    "nested without end inside": (TEXT.replace(b"2.5", b"[" * 900 + b"]" * 900), "nested too deeply"),
    "cut short": (TEXT[:-3], "Expecting"),
}


@pytest.mark.parametrize("case", BYTES)
def test_bytes_that_are_no_claim(case: str) -> None:
    data, words = BYTES[case]
    assert words in fault(data)


def test_what_is_no_json_is_not_written() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            encode(claim(unknown={"x": number}))


def test_blanks_around_it_and_another_order_are_read() -> None:
    loose = b"\n" + json.dumps(dict(reversed(held().items())), indent=2).encode() + b"\r\n \t\n"
    assert decode(loose, NOW) == decode(TEXT, NOW)


def test_the_size_is_limited() -> None:
    room = record.MAX_BYTES - len(canonical(held(x="")))
    assert decode(canonical(held(x="a" * room)), NOW).unknown["x"] == "a" * room
    assert fault(canonical(held(x="a" * (room + 1)))) == f"{record.MAX_BYTES + 1} bytes; {record.MAX_BYTES} are read"


def test_the_largest_new_claim_still_reads_when_it_was_closed_and_stolen() -> None:
    """A new claim is written up to MAX_NEW_BYTES; its record, and a thief's claim that carries it, must still read."""
    locks = [f"{number:0>120}" for number in range(44)]
    largest = claim(locks=locks)
    assert 5500 < len(encode(largest)) <= record.MAX_NEW_BYTES
    stolen = ended(largest, "stolen", reason="r" * record.MAX_REASON)
    thief = claim(agent="thief", locks=locks, replaced=stolen)
    assert decode(encode(thief), NOW) == thief
    gone = ended(thief, "released", reason="r" * record.MAX_REASON)
    assert decode(encode(gone), NOW) == gone


def test_how_deep_it_may_be_nested_does_not_depend_on_how_often_it_was_stolen() -> None:
    deep = claim(unknown={"x": json.loads("[" * 16 + "]" * 16)})
    thief = claim(agent="thief", replaced=ended(deep, "stolen"))
    assert decode(encode(thief), NOW) == thief


def test_a_lease_is_measured_from_the_readers_clock() -> None:
    far = claim(left=24 * 60 + 5)
    assert decode(encode(far), NOW) == far
    with pytest.raises(ValueError, match="more than a day ahead"):
        decode(encode(far), NOW - timedelta(milliseconds=1))
    with pytest.raises(ValueError, match="more than a day ahead"):
        decode(encode(replace(far, expires_at=far.expires_at + timedelta(milliseconds=1))), NOW)


def test_expired_means_now_or_before() -> None:
    lease = claim(left=0)
    assert lease.expired(NOW)
    assert not lease.expired(NOW - timedelta(milliseconds=1))


def test_a_closed_record_is_the_claim_with_its_end_and_what_it_owes() -> None:
    one, owed = claim(replaced=ended(claim(agent="old"), "stolen")), ended(claim(agent="older"), "stolen")
    end = Closed(NOW, "ann", "released", None, None)
    assert record.close(one, end) == replace(one, replaced=None, closed=end)
    assert record.close(one, end, owed) == replace(one, replaced=owed, closed=end)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"expires_at": minutes(60)}, True),
        ({"plan_revision": 9}, True),
        ({"locks": ()}, True),
        ({"closed": Closed(NOW, "ann", "done", None, None)}, True),
        ({"token_hash": "f" * 64}, False),
        ({"claimed_at": minutes(-9)}, False),
        ({"agent": "bob"}, False),
        ({"branch": "other"}, False),
        ({"task": "T-20260814-00000002"}, False),
    ],
)
def test_what_makes_it_the_same_claim(change: dict[str, Any], same: bool) -> None:
    one = claim(locks=["a"])
    assert one.same_claim(replace(one, **change)) is same
