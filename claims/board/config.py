"""The configuration, `.agents/swarm.yaml`, and its defaults. board.md, "Configuration"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from claims.board import fields, yaml_files
from claims.board.authority import Pattern
from claims.board.node import Malformed, Node
from claims.board.task import Kind, read_patterns
from claims.values import dataclass, field

CONFIG_PATH = ".agents/swarm.yaml"
CODE = "malformed-config"

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")
_MAX_ID = 2**63 - 1
_MAX_CAP = 1000
_MAX_DAYS = 36_500


class Overlap(str, Enum):
    """What a claim does where another live claim's authority shares files with its own."""

    WARN = "warn"
    REFUSE = "refuse"


class History(str, Enum):
    """Whether the gate judges what only the commits on the way touch."""

    COMMITS = "commits"
    SQUASH = "squash"


class Signatures(str, Enum):
    OFF = "off"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Account:
    """A GitHub account. Logins are compared with case folded; where `id` is given, it must be the account's too."""

    login: str
    id: int | None = None

    def is_author(self, login: str, number: int | None) -> bool:
        """Is the author with this login and numeric id (None: not known) this account?"""
        return self.login.casefold() == login.casefold() and (self.id is None or self.id == number)


@dataclass(frozen=True, slots=True)
class Exemption:
    """An author whose pull requests need no task, and the paths they may touch."""

    account: Account
    paths: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class GateConfig:
    """What the gate is told: who operates, what else is protected, and what it lets through."""

    operators: tuple[Account, ...] = ()
    protected: tuple[Pattern, ...] = ()
    history: History = History.COMMITS
    hotfix: bool = False
    exempt: tuple[Exemption, ...] = ()
    signatures: Signatures = Signatures.OFF


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration with its defaults. `wip` has a cap for those kinds alone that are capped."""

    lease_minutes: int = 30
    wip: Mapping[Kind, int] = field(default_factory=dict)
    one_claim_per_agent: bool = False
    overlap: Overlap = Overlap.WARN
    gate: GateConfig = GateConfig()
    retention_days: int = 30


def parse_config(data: bytes, path: str = CONFIG_PATH) -> Config:
    """Read `swarm.yaml`. Raises Undecided("malformed-config") with `path:line: …`."""
    root = yaml_files.load(data, path, CODE)
    try:
        return _config(root)
    except Malformed as wrong:
        raise wrong.at(path, CODE) from None


def _config(root: dict[str, Node]) -> Config:
    default = Config()
    known = fields.Fields(root, 1, "the configuration", Config.__match_args__)
    return Config(
        lease_minutes=known.optional("lease_minutes", fields.integer(1, 1440), default.lease_minutes),
        wip=known.optional("wip", _wip, default.wip),
        one_claim_per_agent=known.optional("one_claim_per_agent", fields.boolean, default.one_claim_per_agent),
        overlap=known.optional("overlap", fields.one_of(Overlap), default.overlap),
        gate=known.optional("gate", _gate, default.gate),
        retention_days=known.optional("retention_days", fields.integer(0, _MAX_DAYS), default.retention_days),
    )


def _wip(node: Node) -> Mapping[Kind, int]:
    kinds = {kind.value: kind for kind in Kind}
    known = fields.mapping(node, "wip", tuple(kinds))
    caps = {kind: known.optional(name, fields.integer(0, _MAX_CAP), None) for name, kind in kinds.items()}
    return {kind: cap for kind, cap in caps.items() if cap is not None}


def _gate(node: Node) -> GateConfig:
    default = GateConfig()
    known = fields.mapping(node, "the gate's configuration", GateConfig.__match_args__)
    return GateConfig(
        operators=known.optional("operators", fields.list_of(_account), default.operators),
        protected=known.optional("protected", read_patterns, default.protected),
        history=known.optional("history", fields.one_of(History), default.history),
        hotfix=known.optional("hotfix", fields.boolean, default.hotfix),
        exempt=known.optional("exempt", fields.list_of(_exemption), default.exempt),
        signatures=known.optional("signatures", fields.one_of(Signatures), default.signatures),
    )


def _account(node: Node) -> Account:
    if isinstance(node.value, str):
        return Account(_LOGIN_OF(node))
    return _account_of(fields.mapping(node, "an account", ("login", "id")))


def _exemption(node: Node) -> Exemption:
    known = fields.mapping(node, "an exemption", ("login", "id", "paths"))
    paths = known.required("paths", read_patterns)
    if not paths:
        raise Malformed(known.line("paths"), "an exemption without paths", "name what its pull requests may touch")
    return Exemption(_account_of(known), paths)


def _account_of(known: fields.Fields) -> Account:
    return Account(known.required("login", _LOGIN_OF), known.optional("id", fields.integer(1, _MAX_ID), None))


def _parse_login(text: str) -> str:
    if _LOGIN.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a login")
    return text


_LOGIN_OF = fields.parsed(_parse_login)
