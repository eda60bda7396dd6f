"""Decision records: what their files may say."""

from __future__ import annotations

from datetime import date

import pytest

from claims.board.decision import DecisionStatus, Rejected, parse_decision
from claims.errors import Undecided
from tests.support.board import yaml

PATH = ".agents/decisions/0007-opaque-sessions.md"
GOOD = {
    "id": "0007-opaque-sessions",
    "title": "Sessions are opaque",
    "status": "accepted",
    "date": "2026-08-14",
    "rejected": [{"alternative": "Signed tokens", "why": "They cannot be revoked."}],
}


def decision(path: str = PATH, /, **changes: object) -> tuple[bytes, str]:
    members = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return f"---\n{yaml(members)}---\nBecause.\n".encode(), path


def test_a_decision() -> None:
    found = parse_decision(*decision())
    assert (found.number, found.title, found.status) == (7, "Sessions are opaque", DecisionStatus.ACCEPTED)
    assert (found.date, found.rejected) == (
        date(2026, 8, 14),
        (Rejected("Signed tokens", "They cannot be revoked."),),
    )


@pytest.mark.parametrize("id", ["0007", "7", 7, "D-0007", "0007-opaque-sessions"])
def test_its_id_is_the_number_or_the_name(id: object) -> None:
    assert parse_decision(*decision(id=id)).number == 7


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        (PATH, {"rejected": []}, "rejected nothing decided nothing"),
        (PATH, {"rejected": None}, "`rejected`"),
        (PATH, {"rejected": ["Signed tokens"]}, "rejected"),
        (PATH, {"rejected": [{"alternative": "Signed tokens"}]}, "why"),
        (PATH, {"id": "0008"}, "but the file is named"),
        (PATH, {"status": "open"}, "status"),
        (PATH, {"date": "2026-02-30"}, "date"),
        (PATH, {"author": "me"}, "author"),
        (".agents/decisions/7-opaque.md", {}, "is not named <nnnn>-<slug>.md"),
        (".agents/decisions/0007-Opaque.md", {}, "Opaque"),
    ],
)
def test_what_does_not_read(path: str, changes: dict[str, object], words: str) -> None:
    with pytest.raises(Undecided, match=words) as caught:
        parse_decision(*decision(path, **changes))
    assert caught.value.code == "malformed-task"
