"""Tokens: the secrets that prove who made a claim. They live in this worktree's private git directory, never in a ref.

A token is written and synced before its claim is published, under a name that carries the hash of it, so that nothing
a crash can do leaves a claim whose maker has lost its token. The winner renames it; a loser deletes only its own.
"""

from __future__ import annotations

import os
from pathlib import Path

from claims.names import TaskId, parse_task_id
from claims.values import dataclass

_PREFIX = "token-"
#: Bytes of randomness in a token, written as hex.
_SIZE = 32
#: A token file is this long at most; anything larger is not one.
_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Token:
    """A token and the file that holds it; `path` is None where it was given by option or environment."""

    task: TaskId | None
    hash: str
    path: Path | None


def hash_of(secret: str) -> str:
    """The `tokenHash` of a token: sha256 of it without a line end."""
    import hashlib  # as in claims.names

    return hashlib.sha256(secret.rstrip("\r\n").encode("utf-8", "surrogateescape")).hexdigest()


def draw(folder: Path, task: TaskId) -> Token:
    """Write a fresh token for one attempt to claim `task`, and sync it."""
    secret = os.urandom(_SIZE).hex()
    hashed = hash_of(secret)
    path = folder / f"{_PREFIX}{task}.{hashed[:8]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secret + "\n")
        file.flush()
        os.fsync(file.fileno())
    _sync(folder)
    return Token(task, hashed, path)


def settle(token: Token) -> Token:
    """Give the token of a claim that is known to be held its lasting name."""
    return _rename(token, f"{_PREFIX}{token.task}")


def unsettle(token: Token) -> Token:
    """Take the lasting name away before a renewal or a release is sent, until it is answered.

    While a release may still land late, reading that the claim is there proves nothing: `claim` takes a token
    without its lasting name as a sign to confirm by moving the claim.
    """
    return _rename(token, f"{_PREFIX}{token.task}.{token.hash[:8]}")


def is_settled(token: Token) -> bool:
    """Whether everything that was sent with this token has been answered. Of one given by option nothing is known."""
    return token.path is not None and token.path.name == f"{_PREFIX}{token.task}"


def discard(token: Token) -> None:
    """Delete a token whose claim did not come about, or has ended."""
    if token.path is not None:
        token.path.unlink(missing_ok=True)


def held_here(folder: Path, task: TaskId | None = None) -> list[Token]:
    """The tokens in a worktree's private folder, of one task where it is given. What cannot be read is no token."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    found = [_read(path) for path in paths if path.name.startswith(_PREFIX)]
    return [token for token in found if token is not None and task in (None, token.task)]


def _rename(token: Token, name: str) -> Token:
    """Either name serves to find a token, so a failure to rename it changes nothing that matters."""
    if token.path is None or token.path.name == name:
        return token
    try:
        renamed = token.path.replace(token.path.with_name(name))
    except OSError:
        return token
    return Token(token.task, token.hash, renamed)


def _read(path: Path) -> Token | None:
    try:
        task = parse_task_id(path.name[len(_PREFIX) :].split(".")[0])
        with path.open("rb") as file:
            secret = file.read(_LIMIT)
    except (OSError, ValueError):
        return None
    return Token(task, hash_of(secret.decode("utf-8", "surrogateescape")), path)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
