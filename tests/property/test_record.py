"""The claim blob, whatever is in it: what is written reads back, and what does not read is refused in one way."""

from __future__ import annotations

import json
import string
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from claims import record
from claims.names import (
    AgentName,
    Branch,
    LockKey,
    ObjectId,
    SlotKey,
    TaskId,
    parse_branch,
)
from claims.record import OUTCOMES, Claim, Closed, decode, encode
from tests.unit.values import NOW, claim, ended

#: Drawing a claim takes its time.
few = settings(max_examples=50)

_KEY = string.ascii_letters + string.digits + "._/:@+-"
#: Members that a claim has; an unknown one has another name.
_KNOWN = frozenset(record.to_json(ended(claim())) | dict.fromkeys(("taskDigest", "branchCommit", "repository")))
_KNOWN_TOO = frozenset(("slots", "local", "replaced"))
_CLOSED = frozenset(("at", "by", "outcome", "reason", "commit"))


def hexes(*sizes: int) -> st.SearchStrategy[str]:
    return st.one_of(*(st.text("0123456789abcdef", min_size=size, max_size=size) for size in sizes))


def is_branch(text: str) -> bool:
    try:
        return bool(parse_branch(text))
    except ValueError:
        return False


milliseconds = st.integers(0, 10**9).map(lambda count: timedelta(milliseconds=count))
instants = st.integers(-62_000_000_000, 200_000_000_000).map(
    lambda seconds: datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds, milliseconds=seconds % 1000)
)
ids = hexes(40, 64).map(ObjectId)
agents = st.from_regex(r"[A-Za-z0-9._:@/+][A-Za-z0-9._:@/+-]{0,99}", fullmatch=True).map(AgentName)
branches = st.text(min_size=1, max_size=40).filter(is_branch).map(Branch)
tasks = st.builds(
    lambda day, tail: TaskId(f"T-{day:%Y%m%d}-{tail}"),
    st.dates(min_value=datetime(1000, 1, 1).date()),
    hexes(8),
)
locks = st.sets(st.text(_KEY, min_size=1, max_size=120).map(LockKey), max_size=5).map(lambda keys: tuple(sorted(keys)))
slots = st.sets(agents.map(lambda name: SlotKey(f"agent:{name}")), max_size=3).map(lambda keys: tuple(sorted(keys)))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
unknowns = st.dictionaries(texts.filter(lambda name: name not in _KNOWN | _KNOWN_TOO), anything, max_size=3)
closed = st.builds(
    Closed,
    at=instants,
    by=agents | st.just("unknown"),
    outcome=st.sampled_from(OUTCOMES),
    reason=st.none() | texts,
    commit=st.none() | ids,
    unknown=st.dictionaries(texts.filter(lambda name: name not in _CLOSED), anything, max_size=2),
)


@st.composite
def claims(draw: st.DrawFn, task: TaskId | None = None, over: bool = False, depth: int = 2) -> Claim:
    """A claim of `task` (any: None); `over`: one that has ended."""
    of = task or draw(tasks)
    end = draw(closed) if over else draw(st.none() | closed)
    claimed_at = draw(instants)
    replaced = draw(st.none() | claims(of, True, depth - 1)) if depth else None
    return Claim(
        task=of,
        agent=draw(agents),
        branch=draw(branches),
        base_commit=draw(ids),
        claimed_at=claimed_at if end else NOW - draw(milliseconds),
        expires_at=claimed_at + draw(milliseconds)
        if end
        else NOW + draw(st.sampled_from([record.MAX_LEASE, timedelta()])),
        locks=draw(locks),
        plan_revision=draw(st.integers(0, 2**63 - 1)),
        task_digest=draw(st.none() | hexes(64).map(lambda text: f"sha256:{text}")),
        branch_commit=draw(st.none() | ids),
        repository=draw(st.none() | st.integers(1, 2**63 - 1)),
        token_hash=draw(st.none() | hexes(64)),
        slots=draw(slots),
        local=draw(st.booleans()),
        replaced=replaced,
        closed=end,
        unknown=draw(unknowns),
    )


def read(data: bytes) -> Claim | None:
    """The claim, or None where the bytes are refused, in the one way there is."""
    try:
        return decode(data, NOW)
    except ValueError as error:
        assert "\n" not in str(error)
        return None


@few
@given(claims())
def test_what_is_written_reads_back(one: Claim) -> None:
    data = encode(one)
    if len(data) <= record.MAX_BYTES:
        assert decode(data, NOW) == one
        assert encode(decode(data, NOW)) == data


@few
@given(claims())
def test_it_is_canonical(one: Claim) -> None:
    """UTF-8, members sorted at every level, no blanks, one line end: what any other JSON writer would write too."""
    data = encode(one)
    members = json.loads(data)
    again = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert data == again.encode() + b"\n"
    assert b"\n" not in data[:-1]


@few
@given(claims(), st.randoms())
def test_the_order_of_members_and_blanks_do_not_matter(one: Claim, random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            names = list(value)
            random.shuffle(names)
            return {name: shuffled(value[name]) for name in names}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    loose = json.dumps(shuffled(json.loads(encode(one))), indent=random.randrange(3)).encode()
    if max(len(loose), len(encode(one))) <= record.MAX_BYTES:
        assert encode(decode(loose, NOW)) == encode(one)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A blob with a few of its bytes changed, dropped, doubled or put in."""
    data = bytearray(encode(draw(claims(depth=1))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1)) if data else 0
        piece = draw(st.binary(max_size=4) | st.sampled_from([b'"', b",", b"{", b"}", b"[", b"null", b"1e999", b"NaN"]))
        until = at + draw(st.integers(0, 12))
        data[at:until] = draw(st.sampled_from([piece, bytes(data[at:until]) * 2, b""]))
    return bytes(data)


@few
@given(mutations())
def test_a_blob_that_was_changed_is_refused_or_read_as_what_it_says(data: bytes) -> None:
    changed = read(data)
    if changed is not None:
        assert decode(encode(changed), NOW) == changed


_MEMBERS: dict[str, Any] = record.to_json(
    claim(
        locks=["k"],
        slots=(SlotKey("agent:ann"),),
        task_digest="sha256:" + "0" * 64,
        branch_commit=ObjectId("1" * 40),
        repository=1,
        local=True,
        replaced=ended(claim(agent="old"), "stolen"),
        closed=Closed(NOW, "ann", "done", "reason", ObjectId("2" * 40)),
    )
)


@given(st.sampled_from(sorted(_MEMBERS)), anything)
def test_a_member_that_holds_something_else_is_refused_or_read_as_what_it_says(name: str, value: Any) -> None:
    data = json.dumps(_MEMBERS | {name: value}).encode()
    changed = read(data)
    if changed is not None:
        assert decode(encode(changed), NOW) == changed


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf{}")
@example(b'{"task":' * 2000)
@example(b"[" * record.MAX_BYTES)
@example(b"9" * record.MAX_BYTES)
@example(b'"\\ud800"')
def test_bytes_at_random_are_refused_in_one_way(data: bytes) -> None:
    assert read(data) is None
