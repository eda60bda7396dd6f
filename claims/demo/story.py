"""What the demo tells: a stage, then acts on it. Each act runs real commands and knows how every one of them ends."""

from __future__ import annotations

from collections.abc import Callable

from claims.demo.terminal import Terminal
from claims.values import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the acts play: `app` has main checked out, `one` and `two` are its worktrees, `far` is another clone.

    All three tasks are queued on origin's main. `sessions` and `schema` share a lock; `login` waits for `sessions`.
    """

    terminal: Terminal
    sessions: str
    schema: str
    login: str


def tell(terminal: Terminal) -> None:
    """Set the stage and play every act. Raises Undecided where a command ends otherwise than told."""
    stage = set_stage(terminal)
    for act in ACTS:
        act(stage)


def set_stage(terminal: Terminal) -> Stage:
    """An origin with a board on it, a clone with two worktrees, and a second clone."""
    terminal.say("An origin, and a clone with a board of three tasks. `swarm add` prints the file that it wrote.")
    terminal.run(".", "git init --quiet --bare origin.git")
    terminal.run(".", "git clone --quiet origin.git app")
    terminal.run("app", "swarm init")
    sessions = _add(terminal, "'Opaque sessions' --path src/sessions/ --lock users-table")
    schema = _add(terminal, "'Split the users table' --path db/ --lock users-table")
    login = _add(terminal, f"'Login page' --path src/login/ --depends-on {sessions}")
    terminal.run("app", "git add --all .agents")
    terminal.run("app", "git commit --quiet -m 'Plan the first milestone'")
    terminal.run("app", "git push --quiet origin main")
    terminal.say("Three agents: two in worktrees of that clone, one in a clone of its own. Each has its own branch.")
    terminal.run("app", "git worktree add --quiet -b agent/one ../one")
    terminal.run("app", "git worktree add --quiet -b agent/two ../two")
    terminal.run(".", "git clone --quiet origin.git far")
    terminal.run("far", "git switch --quiet -c agent/far")
    return Stage(terminal, sessions, schema, login)


def claims(stage: Stage) -> None:
    """One winner, a lease that is renewed and runs out, a steal, a stale holder, a task that is finished."""
    _one_winner(stage)
    _lease(stage)
    _overtaken(stage)
    _finished(stage)


#: The acts in their order. An act for the gate runs `swarm-gate`, which the stage has on its PATH.
ACTS: tuple[Callable[[Stage], None], ...] = (claims,)


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


def _add(terminal: Terminal, what: str) -> str:
    """Add a task to the first milestone; its id, from the path that `swarm add` prints."""
    printed = terminal.run("app", f"swarm add {what} --milestone m1", says=".agents/tasks/queued/T-")
    return printed.split(".agents/tasks/queued/")[1].split(".md")[0]
