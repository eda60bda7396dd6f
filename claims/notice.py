"""Notices: what a command that worked still wants to tell. A stable code, a line for people, facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claims.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Notice:
    """One warning; `details` holds JSON-ready facts."""

    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "details": dict(self.details)}
