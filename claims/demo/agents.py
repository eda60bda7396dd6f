"""The demo's first act: agents that want the same task, a lease, a steal, and a task that is finished."""

from __future__ import annotations

from claims.demo.stage import Stage


def claims(stage: Stage) -> None:
    """One winner, a lease that is renewed and runs out, a steal, a stale holder, a task that is finished."""
    _one_winner(stage)
    _lease(stage)
    _overtaken(stage)
    _finished(stage)


def _one_winner(stage: Stage) -> None:
    terminal, sessions = stage.terminal, stage.sessions
    terminal.say("A claim is for a branch of its own.")
    terminal.refused("app", f"swarm claim {sessions} --agent one", "on-base-branch")
    terminal.run("one", f"swarm claim {sessions} --agent one", says=f"claimed {sessions}")
    terminal.say("Nobody else gets it: not a worktree of the same clone, not another clone.")
    terminal.refused("two", f"swarm claim {sessions} --agent two", "claim-held")
    terminal.refused("far", f"swarm claim {sessions} --agent far", "claim-held")
    terminal.say("Nor a task that needs the same lock, nor one that waits for it.")
    terminal.refused("two", f"swarm claim {stage.schema} --agent two", "lock-held")
    terminal.refused("far", f"swarm claim {stage.login} --agent far", "dependency-open")


def _lease(stage: Stage) -> None:
    terminal, sessions = stage.terminal, stage.sessions
    terminal.say("The claim is a lease. Its holder renews it; while it runs nobody can take it away.")
    terminal.run("one", "swarm renew --minutes 60", says=f"renewed {sessions}")
    terminal.refused("far", f"swarm steal {sessions} --agent far", "claim-live")
    terminal.say("Agent one stalls. To save you an hour of waiting, it ends its lease itself.")
    terminal.run("one", "swarm renew --minutes 0", says=f"renewed {sessions}")
    terminal.run("far", "swarm status", says="EXPIRED")


def _overtaken(stage: Stage) -> None:
    terminal, sessions = stage.terminal, stage.sessions
    terminal.say("A claim that ran out is not free for the taking by accident: it has to be stolen.")
    terminal.refused("far", f"swarm claim {sessions} --agent far", "claim-held")
    terminal.run("far", f"swarm steal {sessions} --agent far", says=f"stole {sessions}")
    terminal.say("Agent one wakes up. Nothing that it does counts any more.")
    terminal.refused("one", f"swarm renew {sessions}", "claim-lost")
    terminal.refused("one", f"swarm check {sessions}", "claim-lost")
    terminal.refused("one", f"swarm release {sessions} --done", "claim-lost")


def _finished(stage: Stage) -> None:
    terminal, sessions = stage.terminal, stage.sessions
    terminal.say("Agent far does the work (an empty commit stands for it), is told what is left, and finishes.")
    terminal.run("far", "git commit --quiet --allow-empty -m 'Opaque sessions'")
    terminal.run("far", "swarm check", says=f"you hold {sessions}")
    terminal.run("far", "swarm release --done", says=f"finished {sessions}")
    terminal.say("Until main has the work, the task is nobody's. Its lock is free again.")
    terminal.refused("one", f"swarm claim {sessions} --agent one", "finished-elsewhere")
    terminal.run("two", f"swarm claim {stage.schema} --agent two", says=f"claimed {stage.schema}")
    terminal.say("Who holds what, and how every claim ended.")
    terminal.run("app", "swarm status", says="finished, not merged yet")
    terminal.run("app", f"swarm log {sessions}", says="stolen")
