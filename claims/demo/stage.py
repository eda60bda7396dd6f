"""Where the demo plays: an origin with a board on it, a clone with two worktrees, and a second clone."""

from __future__ import annotations

from claims.demo.terminal import Terminal
from claims.values import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """`app` has main checked out, `one` and `two` are its worktrees, `far` is another clone.

    All four tasks are queued on origin's main. `sessions` and `schema` share a lock; `login` waits for `sessions`;
    `help` stands alone.
    """

    terminal: Terminal
    sessions: str
    schema: str
    login: str
    help: str


def set_stage(terminal: Terminal) -> Stage:
    """Run the commands that make the repositories. Raises Undecided where one ends otherwise than told."""
    terminal.say("An origin, and a clone with a board of four tasks. `swarm add` prints the file that it wrote.")
    terminal.run(".", "git init --quiet --bare origin.git")
    terminal.run(".", "git clone --quiet origin.git app")
    terminal.run("app", "swarm init")
    sessions = _add(terminal, "'Opaque sessions' --path src/sessions/ --lock users-table")
    schema = _add(terminal, "'Split the users table' --path db/ --lock users-table")
    login = _add(terminal, f"'Login page' --path src/login/ --depends-on {sessions}")
    help = _add(terminal, "'Help page' --path docs/")
    terminal.run("app", "git add --all .agents")
    terminal.run("app", "git commit --quiet -m 'Plan the first milestone'")
    terminal.run("app", "git push --quiet origin main")
    terminal.say("Three agents: two in worktrees of that clone, one in a clone of its own. Each has its own branch.")
    terminal.run("app", "git worktree add --quiet -b agent/one ../one")
    terminal.run("app", "git worktree add --quiet -b agent/two ../two")
    terminal.run(".", "git clone --quiet origin.git far")
    terminal.run("far", "git switch --quiet -c agent/far")
    return Stage(terminal, sessions, schema, login, help)


def _add(terminal: Terminal, what: str) -> str:
    """Add a task to the first milestone; its id, from the path that `swarm add` prints."""
    printed = terminal.run("app", f"swarm add {what} --milestone m1", says=".agents/tasks/queued/T-")
    return printed.split(".agents/tasks/queued/")[1].split(".md")[0]
