"""What a transaction leaves behind, whole and torn."""

from __future__ import annotations

import pytest

from tests.model.protocol import DONE, LOG, RELEASED, STOLEN, T1, Blob, Edit, L, S, bit_of
from tests.model.state import Budget, State, apply, torn

OLD = Blob(0, 0, T1, (S, L), (), False)
NEW = Blob(32, 32, T1, (S, L), (), False)
CLOSED = OLD._replace(id=1, closed=True)


def _entry(outcome: int) -> Edit:
    return Edit(LOG, None, None, bit_of(0, outcome))


CLAIM = (Edit(S, None, NEW), Edit(L, None, NEW), Edit(T1, None, NEW))
STEAL = (_entry(STOLEN), Edit(S, OLD, NEW), Edit(L, OLD, NEW), Edit(T1, OLD, NEW))
RELEASE = (_entry(RELEASED), Edit(T1, OLD, None), Edit(S, OLD, None), Edit(L, OLD, None))
FINISH = (_entry(DONE), Edit(T1, OLD, CLOSED), Edit(S, OLD, None), Edit(L, OLD, None))


@pytest.mark.parametrize(
    ("edits", "parts"),
    [
        (CLAIM, ["S", "S L"]),
        (STEAL, ["log", "log S", "log S L", "S", "S T1", "S L T1"]),
        (RELEASE, ["log", "log T1", "log T1 S", "log T1 L", "log S", "log L", "log S L"]),
        (FINISH, ["log", "T1", "log T1", "log T1 S", "log T1 L"]),
    ],
    ids=["claim", "steal", "release", "finish"],
)
def test_a_part_is_a_prefix_in_git_order(edits: tuple[Edit, ...], parts: list[str]) -> None:
    """As listed, or as a push writes: existing refs by name, creations, deletes. Nothing else is left of them."""
    names = {LOG: "log", S: "S", T1: "T1", L: "L"}
    found = {" ".join(names[e.ref] for i, e in enumerate(edits) if mask >> i & 1) for mask in torn(edits)}
    assert found == set(parts)


def test_history_is_kept() -> None:
    empty = State((None, None, None, None), 0, 0, (), (), 0, 0, 0, Budget(0, 0, 0, 0))
    part = apply(empty, CLAIM, 0b011)
    assert (part.complete, part.gone) == (0, 0)
    claimed = apply(empty, CLAIM)
    assert (claimed.complete, claimed.gone) == (1 << NEW.token, 0)
    ended = apply(claimed, (Edit(T1, NEW, None), Edit(S, NEW, None), Edit(L, NEW, None)))
    assert (ended.refs, ended.gone) == (empty.refs, 1 << NEW.token)
