"""The demo's second act: the gate, with one honest branch and five moves by which one agent once got its work in."""

from __future__ import annotations

from claims.demo.stage import Stage

_GATE = "swarm-gate pr --base origin/main --head HEAD"


def gate(stage: Stage) -> None:
    """The honest branch passes; each move of the incident fails for its own reason. Agent two holds `schema`."""
    _honest(stage)
    _made_up(stage)
    _no_claim(stage)
    _another_branch(stage)
    _widened(stage)
    _outside(stage)


def _honest(stage: Stage) -> None:
    terminal, schema = stage.terminal, stage.schema
    terminal.say("The gate. Agent two does what it claimed: the work, then the move of its task, as `check` lists it.")
    terminal.run("two", "mkdir db")
    terminal.run("two", "touch db/users.sql")
    terminal.run("two", "git add db")
    terminal.run("two", "git commit --quiet -m 'Split the users table'")
    terminal.run("two", "swarm check", says="git mv")
    _finish(stage, schema)
    terminal.say("What CI will say of the pull request, said before the push.")
    terminal.run("two", _GATE, says=f"verdict: pass (implementation of {schema})")


def _made_up(stage: Stage) -> None:
    terminal = stage.terminal
    terminal.say(
        "Now five moves that must not get in. One: refused a claim, an agent writes itself a task, straight into done/."
    )
    terminal.run("two", "git switch --quiet -c agent/made-up origin/main")
    printed = terminal.run("two", "swarm add 'Whatever I like' --path src/", says=".agents/tasks/queued/T-")
    task = printed.split(".agents/tasks/queued/")[1].split(".md")[0]
    terminal.run("two", f"mv .agents/tasks/queued/{task}.md .agents/tasks/done/")
    _edit(stage, "s/^status: queued$/status: done/", _done(task))
    terminal.run("two", "mkdir src")
    terminal.run("two", "touch src/rewritten")
    terminal.run("two", "git add --all")
    terminal.run("two", "git commit --quiet -m 'Whatever I like'")
    # There is no task on base, so nothing that hangs on one can hold.
    on_no_task = ("task-unchanged", "authority-unchanged", "plan-current", "claim-recorded", "paths-inside")
    terminal.failed("two", _GATE, "one-task", "base-queued", *on_no_task)


def _no_claim(stage: Stage) -> None:
    terminal = stage.terminal
    terminal.say("Two: sound work on a task that is free, but nobody claimed it.")
    terminal.run("two", "git switch --quiet -c agent/unclaimed origin/main")
    terminal.run("two", "mkdir docs")
    terminal.run("two", "touch docs/help.md")
    terminal.run("two", "git add docs")
    _finish(stage, stage.help)
    terminal.failed("two", _GATE, "claim-recorded")


def _another_branch(stage: Stage) -> None:
    terminal = stage.terminal
    terminal.say("Three: the honest work again, on a branch for which it was not claimed.")
    terminal.run("two", "git switch --quiet -c agent/two-again agent/two")
    terminal.failed("two", _GATE, "claim-recorded", "claim-current")


def _widened(stage: Stage) -> None:
    terminal = stage.terminal
    terminal.say("Four: on the branch of the claim, but it grants itself more than the operator did.")
    terminal.run("two", "git switch --quiet agent/two")
    _edit(stage, "s|- db/|- src/|", _done(stage.schema))
    terminal.run("two", "git commit --quiet --all -m 'Widen the authority'")
    terminal.failed("two", _GATE, "authority-unchanged")
    terminal.run("two", "git reset --quiet --hard HEAD~1")


def _outside(stage: Stage) -> None:
    terminal = stage.terminal
    terminal.say("Five: a file that nobody asked for.")
    terminal.run("two", "touch Makefile")
    terminal.run("two", "git add Makefile")
    terminal.run("two", "git commit --quiet -m 'While I am at it'")
    terminal.failed("two", _GATE, "paths-inside")
    terminal.run("two", "git reset --quiet --hard HEAD~1")


def _finish(stage: Stage, task: str) -> None:
    """Move a task to done/ and commit, with whatever is staged."""
    stage.terminal.run("two", f"git mv .agents/tasks/queued/{task}.md .agents/tasks/done/{task}.md")
    _edit(stage, "s/^status: queued$/status: done/", _done(task))
    stage.terminal.run("two", f"git commit --quiet --all -m 'Finish {task}'")


def _edit(stage: Stage, how: str, path: str) -> None:
    stage.terminal.run("two", f"sed -i.bak '{how}' {path}")
    stage.terminal.run("two", f"rm {path}.bak")


def _done(task: str) -> str:
    return f".agents/tasks/done/{task}.md"
