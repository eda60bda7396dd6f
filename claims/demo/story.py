"""What the demo tells: a stage, then acts on it. Each act runs real commands and knows how every one of them ends."""

from __future__ import annotations

from collections.abc import Callable

from claims.demo.agents import claims
from claims.demo.pull_requests import gate
from claims.demo.stage import Stage, set_stage
from claims.demo.terminal import Terminal

#: The acts in their order; each goes on from where the one before it left the stage.
ACTS: tuple[Callable[[Stage], None], ...] = (claims, gate)


def tell(terminal: Terminal) -> None:
    """Set the stage and play every act. Raises Undecided where a command ends otherwise than told."""
    stage = set_stage(terminal)
    for act in ACTS:
        act(stage)
