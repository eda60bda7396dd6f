"""Tokens: secret, synced before they count, found under either name, and one's own to delete."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from claims import tokens
from claims.names import TaskId
from claims.tokens import Token
from tests.unit.values import task

ONE, TWO = task(1), task(2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "private" / "swarm"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def secret(token: Token) -> str:
    assert token.path is not None
    return token.path.read_text()


def test_a_token_is_drawn_into_a_file_that_only_its_owner_reads(folder: Path) -> None:
    old = os.umask(0)
    try:
        token = tokens.draw(folder, ONE)
    finally:
        os.umask(old)
    assert token.path is not None and token.task == ONE
    assert token.path == folder / f"token-{ONE}.{token.hash[:8]}"
    assert stat.S_IMODE(token.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert token.hash == hashlib.sha256(secret(token).rstrip("\n").encode()).hexdigest()
    assert len(secret(token)) == 65


def test_every_token_is_another(folder: Path) -> None:
    drawn = [tokens.draw(folder, ONE) for _ in range(20)]
    assert len({token.hash for token in drawn}) == len({secret(token) for token in drawn}) == 20
    assert len(names(folder)) == 20


def test_the_file_and_its_folder_are_synced_before_it_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim whose maker lost its token in a power cut would hold until its lease runs out."""
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        what = os.fstat(descriptor)
        synced.append("folder" if stat.S_ISDIR(what.st_mode) else f"file of {what.st_size}")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    tokens.draw(folder, ONE)
    assert synced == ["file of 65", "folder"]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_the_hash_is_of_the_token_without_a_line_end(end: str) -> None:
    assert tokens.hash_of(f"abc{end}") == hashlib.sha256(b"abc").hexdigest()


def test_the_hash_is_of_everything_else() -> None:
    assert len({tokens.hash_of(text) for text in ("abc", " abc", "abc ", "ABC", "abc\n.", "\udcff")}) == 6


def test_a_token_has_a_lasting_name_once_its_claim_is_answered(folder: Path) -> None:
    drawn = tokens.draw(folder, ONE)
    assert not tokens.is_settled(drawn)
    settled = tokens.settle(drawn)
    assert (names(folder), settled.hash) == ([f"token-{ONE}"], drawn.hash)
    assert tokens.is_settled(settled)
    marked = tokens.unsettle(settled)
    assert (names(folder), marked) == ([f"token-{ONE}.{drawn.hash[:8]}"], drawn)
    assert not tokens.is_settled(marked)


def test_naming_it_as_it_is_named_changes_nothing(folder: Path) -> None:
    drawn = tokens.draw(folder, ONE)
    assert tokens.unsettle(drawn) is drawn
    settled = tokens.settle(drawn)
    assert tokens.settle(settled) is settled


def test_the_winner_takes_the_place_of_an_older_token(folder: Path) -> None:
    tokens.settle(tokens.draw(folder, ONE))
    fresh = tokens.settle(tokens.draw(folder, ONE))
    assert names(folder) == [f"token-{ONE}"]
    assert [token.hash for token in tokens.held_here(folder, ONE)] == [fresh.hash]


def test_a_name_that_cannot_be_given_is_no_failure(folder: Path) -> None:
    drawn = tokens.draw(folder, ONE)
    (folder / f"token-{ONE}").mkdir()
    assert tokens.settle(drawn) is drawn
    assert drawn.path is not None and drawn.path.exists()


def test_a_token_that_was_given_has_no_file_to_name_or_delete() -> None:
    given = Token(None, "f" * 64, None)
    assert tokens.settle(given) is given
    assert tokens.unsettle(given) is given
    assert not tokens.is_settled(given)
    tokens.discard(given)


def test_a_loser_deletes_only_its_own(folder: Path) -> None:
    held, lost = tokens.settle(tokens.draw(folder, ONE)), tokens.draw(folder, ONE)
    tokens.discard(lost)
    assert tokens.held_here(folder) == [held]
    tokens.discard(lost)


def test_found_are_the_tokens_of_a_task_under_either_name(folder: Path) -> None:
    settled = tokens.settle(tokens.draw(folder, ONE))
    marked = tokens.draw(folder, ONE)
    other = tokens.draw(folder, TWO)
    assert tokens.held_here(folder, ONE) == [settled, marked]
    assert tokens.held_here(folder, TWO) == [other]
    assert tokens.held_here(folder, task(3)) == []
    assert tokens.held_here(folder) == [settled, marked, other]


def test_what_is_no_token_is_passed_over(folder: Path) -> None:
    real = tokens.draw(folder, ONE)
    for name in ("token-", "token-x", "token-T-20260230-00000001", f"x-token-{ONE}", f"{ONE}", "log"):
        (folder / name).write_text("x")
    (folder / f"token-{TWO}").mkdir()
    (folder / f"token-{TWO}.1").symlink_to(folder / "nowhere")
    assert tokens.held_here(folder) == [real]


def test_no_folder_is_no_tokens(folder: Path) -> None:
    assert tokens.held_here(folder) == []
    folder.parent.mkdir()
    folder.write_text("")
    assert tokens.held_here(folder) == []


@pytest.mark.parametrize("text", ["abc\n", "abc", "abc\r\n", "  abc  \n", "ä\n", ""])
def test_whatever_a_token_file_holds_is_a_token(folder: Path, text: str) -> None:
    """Somebody may carry one over by hand."""
    folder.mkdir(parents=True)
    (folder / f"token-{ONE}").write_text(text)
    (found,) = tokens.held_here(folder, ONE)
    assert found.hash == tokens.hash_of(text)


def test_bytes_that_are_no_text_are_hashed_as_they_are(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / f"token-{ONE}").write_bytes(b"\xff\xfe\n")
    (found,) = tokens.held_here(folder, ONE)
    assert found.hash == hashlib.sha256(b"\xff\xfe").hexdigest()


def test_a_task_id_holds_no_dot_so_a_name_says_which_task() -> None:
    assert "." not in TaskId(ONE)
