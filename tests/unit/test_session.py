"""The session: who asks, where, against which base and remote; what was said goes before what was set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claims import tokens
from claims.errors import Refused, Undecided, Usage
from claims.git import Objects
from claims.names import TaskId, log_prefix
from claims.session import NETWORK_DEADLINE, Session
from tests.integration.sessions import opened
from tests.support.repo import Repo, clone, init
from tests.unit.values import NOW, task

TASK = task(1)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", {"a": ""})


@pytest.fixture
def here(repo: Repo, tmp_path: Path) -> Repo:
    """A clone, on a branch of its own."""
    here = clone(repo, tmp_path / "here")
    here.branch("topic")
    return here


# Each may be said, set for this process, or configured; the first that says something counts.

Ask = Callable[[Session], object]
SOURCES: dict[str, tuple[Ask, str, str]] = {
    "agent": (lambda session: session.agent, "agent", "SWARM_AGENT"),
    "base": (lambda session: session.base, "base", "SWARM_BASE"),
    "remote": (lambda session: session.remote, "remote", "SWARM_REMOTE"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_said_goes_before_what_is_set_before_what_is_configured(here: Repo, name: str) -> None:
    ask, option, variable = SOURCES[name]
    for remote in ("said", "set", "configured"):
        here.git("remote", "add", remote, "/x")

    def found(env: dict[str, str], **said: Any) -> object:
        with opened(here, env=env, **said) as session:
            return ask(session)

    default = found({})
    here.git("config", f"swarm.{name}", "configured")
    assert found({}) == "configured"
    assert found({variable: "set"}) == "set"
    assert found({variable: ""}) == "configured", "empty is as good as not set"
    assert found({variable: "set"}, **{option: "said"}) == "said"
    here.git("config", f"swarm.{name}", "")
    assert found({}) == default, "configured as empty is not configured"


@pytest.mark.parametrize(
    ("said", "env", "key", "source"),
    [
        ({"agent": "-x"}, {}, None, "--agent"),
        ({}, {"SWARM_AGENT": "a b"}, None, "SWARM_AGENT"),
        ({}, {}, ("swarm.agent", "ä"), "swarm.agent"),
        ({"base": "a..b"}, {}, None, "--base"),
        ({}, {"SWARM_BASE": "HEAD"}, None, "SWARM_BASE"),
        ({}, {}, ("swarm.base", "x.lock"), "swarm.base"),
        ({"branch": "a b"}, {}, None, "--branch"),
        ({}, {"SWARM_TIMEOUT": "soon"}, None, "SWARM_TIMEOUT"),
    ],
)
def test_a_name_that_is_none_is_refused_with_its_source(
    repo: Repo, said: dict[str, Any], env: dict[str, str], key: tuple[str, str] | None, source: str
) -> None:
    if key:
        repo.git("config", *key)
    with pytest.raises(Usage, match=f"^{source}: "), opened(repo, env=env, **said):
        pass


# Base and remote.


def test_without_a_remote_base_is_main(repo: Repo) -> None:
    with opened(repo) as session:
        assert (session.remote, session.base) == (None, "main")


def test_with_a_remote_base_is_what_its_head_says(tmp_path: Path, repo: Repo) -> None:
    repo.git("branch", "-m", "trunk")
    here = clone(repo, tmp_path / "here")
    with opened(here) as session:
        assert (session.remote, session.base) == ("origin", "trunk")
    with opened(here, no_remote=True) as session:
        assert session.base == "trunk", "without asking it, what it said last still counts"
    here.git("remote", "set-head", "origin", "-d")
    with opened(here) as session:
        assert session.base == "main"


def test_of_other_remotes_none_arbitrates_until_it_is_named(repo: Repo) -> None:
    repo.git("remote", "add", "hub", "/x")
    with opened(repo) as session:
        assert session.remote is None
    with opened(repo, remote="hub") as session:
        assert session.remote == "hub"


def test_a_remote_that_is_not_there_is_refused_with_those_that_are(here: Repo) -> None:
    here.git("remote", "add", "my.hub", "/x")
    with pytest.raises(Undecided) as caught, opened(here, remote="nowhere"):
        pass
    assert caught.value.code == "remote-unreachable"
    assert "there are: origin, my.hub" in caught.value.message
    with opened(here, remote="my.hub") as session:
        assert session.remote == "my.hub"


def test_left_out_a_remote_arbitrates_nothing_and_nothing_may_be_claimed(here: Repo) -> None:
    with opened(here, no_remote=True) as session:
        assert (session.remote, session.remote_left_out) == (None, "origin")
        with pytest.raises(Usage, match="origin arbitrates here"):
            session.needs_arbiter()


def test_where_there_is_no_remote_leaving_it_out_changes_nothing(repo: Repo, here: Repo) -> None:
    with opened(repo, no_remote=True) as session:
        assert session.remote_left_out is None
        session.needs_arbiter()
    with opened(here) as session:
        assert session.remote_left_out is None
        session.needs_arbiter()


# Who, and on which branch.


def test_nobody_is_guessed(repo: Repo) -> None:
    with opened(repo) as session:
        assert session.agent is None
        with pytest.raises(Refused) as caught:
            session.required_agent()
    assert caught.value.code == "agent-required"
    with opened(repo, agent="ann") as session:
        assert session.required_agent() == "ann"


@pytest.mark.parametrize("word", ["NAME", "<NAME>"])
def test_the_word_that_hints_have_for_a_name_is_none(word: str, repo: Repo) -> None:
    with pytest.raises(Usage, match="stands for a name of this session's own"), opened(repo, agent=word):
        pass
    with pytest.raises(Usage, match=r"SWARM_AGENT: .* stands for"), opened(repo, env={"SWARM_AGENT": word}):
        pass
    with opened(repo, agent="NAME-2") as session:
        assert session.agent == "NAME-2"


def test_the_hint_to_name_a_session_works_in_a_linked_worktree(repo: Repo) -> None:
    linked = repo.worktree("linked", "topic")
    with opened(linked) as session, pytest.raises(Refused) as caught:
        session.required_agent()
    assert caught.value.hint is not None
    for command in caught.value.hint.partition(", or: ")[0].replace("NAME", "ann").split(" && "):
        linked.git(*command.split()[1:])
    with opened(linked) as session:
        assert session.agent == "ann"
    with opened(repo) as session:
        assert session.agent is None


def test_the_branch_is_that_which_is_checked_out(here: Repo) -> None:
    with opened(here) as session:
        assert session.required_branch() == "topic"


def test_the_branch_may_be_another_one(here: Repo) -> None:
    with opened(here, branch="feature/x") as session:
        assert session.required_branch() == "feature/x"


def test_detached_there_is_none_unless_it_is_named(here: Repo) -> None:
    here.git("switch", "-q", "--detach")
    with opened(here) as session, pytest.raises(Refused) as caught:
        session.required_branch()
    assert caught.value.code == "detached-head"
    with opened(here, branch="topic") as session:
        assert session.required_branch() == "topic"


def test_a_branch_without_a_commit_is_one(tmp_path: Path) -> None:
    with opened(init(tmp_path / "new", None)) as session:
        assert session.branch == "main"


@pytest.mark.parametrize("head", ["refs/heads/a\u202eb", "refs/other/x"])
def test_a_branch_that_a_claim_cannot_name_is_none(repo: Repo, head: str) -> None:
    repo.git("update-ref", head, "HEAD")
    repo.git("symbolic-ref", "HEAD", head)
    with opened(repo) as session, pytest.raises(Refused) as caught:
        session.required_branch()
    assert caught.value.code == "detached-head"
    assert caught.value.message.isprintable()


# Tokens, limits, and the rest.


def test_the_tokens_of_this_worktree(here: Repo) -> None:
    with opened(here) as session:
        drawn = tokens.draw(session.repository.private_dir, TASK)
        assert session.tokens_for(TASK) == [drawn]
        assert session.tokens_for(task(2)) == []
    with opened(here.worktree("other", "other")) as session:
        assert session.tokens_for(TASK) == []


def test_a_token_that_was_given_overrides_those(here: Repo) -> None:
    with opened(here, env={"SWARM_TOKEN": "from-the-environment"}) as session:
        tokens.draw(session.repository.private_dir, TASK)
        (found,) = session.tokens_for(TASK)
        assert (found.hash, found.path) == (tokens.hash_of("from-the-environment"), None)
    with opened(here, env={"SWARM_TOKEN": "x"}, token="said\n") as session:
        assert [found.hash for found in session.tokens_for(TASK)] == [tokens.hash_of("said")]
    with opened(here, env={"SWARM_TOKEN": ""}) as session:
        assert [found.path is not None for found in session.tokens_for(TASK)] == [True]


@pytest.mark.parametrize(("text", "seconds"), [("", NETWORK_DEADLINE), ("1", 1.0), ("3600", 3600.0), ("007", 7.0)])
def test_how_long_the_network_may_take(repo: Repo, text: str, seconds: float) -> None:
    with opened(repo, env={"SWARM_TIMEOUT": text}) as session:
        assert session.network_deadline == seconds


@pytest.mark.parametrize("text", ["0", "3601", "-1", "1.5", "1 ", "²", "٣", "inf"])
def test_how_long_it_may_not(repo: Repo, text: str) -> None:
    with pytest.raises(Usage), opened(repo, env={"SWARM_TIMEOUT": text}):
        pass


def test_a_clone_is_partial_where_a_remote_is_a_promisor(here: Repo) -> None:
    with opened(here) as session:
        assert not session.partial_clone
    here.git("config", "remote.origin.promisor", "true")
    with opened(here) as session:
        assert session.partial_clone


def test_the_logs_that_will_be_wanted_are_listed_on_the_way(repo: Repo) -> None:
    for number in (1, 2):
        repo.git("update-ref", f"{log_prefix(task(number))}20260814T093000.000Z", repo.blob("x"))
    logs = [TaskId(TASK)]
    with opened(repo, logs=logs, now=lambda: NOW) as session:
        assert session.logs_listed == (log_prefix(TASK),)
        assert session.repository.names == (f"{log_prefix(TASK)}20260814T093000.000Z",)
        assert session.clock() == NOW


def test_opening_takes_four_processes(here: Repo) -> None:
    """One that stays to read objects, one each for the configuration, the place and the names of refs."""
    with opened(here) as session:
        assert session.git.processes == 4
        assert session.objects.info(["refs/heads/topic"])[0] is not None
        assert session.git.processes == 4


def test_nothing_is_left_running_where_it_cannot_be_opened(
    tmp_path: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Objects] = []
    close = Objects.close

    def noted(self: Objects) -> None:
        ended.append(self)
        close(self)

    monkeypatch.setattr(Objects, "close", noted)
    with pytest.raises(Undecided), opened(tmp_path):
        pass
    with pytest.raises(Usage), opened(repo, base="a..b"):
        pass
    with pytest.raises(Usage), opened(repo, env={"SWARM_TIMEOUT": "x"}):
        pass
    assert len(ended) == 3
