"""The session: who runs a command, where, on which branch, against which base and remote, with which tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from claims import clock, tokens
from claims.errors import NAME_A_SESSION, Refused, Undecided, Usage
from claims.git import (
    Git,
    Objects,
    Repository,
    begin_config,
    begin_repository,
    open_repository,
    printable,
    read_config,
    urls_of,
)
from claims.names import LIVE, AgentName, Branch, TaskId, log_prefix, parse_agent, parse_branch
from claims.tokens import Token
from claims.values import dataclass

Name = TypeVar("Name")

_HEADS = "refs/heads/"
DEFAULT_BASE = "main"
#: Seconds a fetch or a push may take, unless SWARM_TIMEOUT says otherwise.
NETWORK_DEADLINE = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said, unparsed. None: not said."""

    directory: Path = Path()
    base: str | None = None
    remote: str | None = None
    no_remote: bool = False
    agent: str | None = None
    token: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """Everything a command needs to know about its surroundings. Made by `open_session`."""

    git: Git
    objects: Objects
    repository: Repository
    #: The log prefixes below which `repository.names` lists everything.
    logs_listed: tuple[str, ...]
    base: Branch
    #: The remote that arbitrates; None where the shared git directory does.
    remote: str | None
    #: A remote that exists although `--no-remote` was said.
    remote_left_out: str | None
    #: Whether git may push elsewhere than it fetches from, or to several repositories: then it is asked.
    may_push_elsewhere: bool
    agent: AgentName | None
    #: The branch that was named, else the one checked out; None where HEAD is on none that a claim can hold.
    branch: Branch | None
    token: Token | None
    partial_clone: bool
    network_deadline: float
    clock: Callable[[], datetime]

    def tokens_for(self, task: TaskId) -> list[Token]:
        """The tokens to try for `task`: the one given, else those in this worktree."""
        return [self.token] if self.token else tokens.held_here(self.repository.private_dir, task)

    def required_agent(self) -> AgentName:
        """Raises Refused `agent-required`: two sessions of one person are two agents, so nobody is guessed."""
        if self.agent is None:
            raise Refused(
                "agent-required",
                "no agent name: every session needs one of its own",
                f"{NAME_A_SESSION}, or: export SWARM_AGENT=NAME",
            )
        return self.agent

    def required_branch(self) -> Branch:
        """Raises Refused `detached-head`."""
        if self.branch is not None:
            return self.branch
        head = self.repository.head
        message = "HEAD is detached: a claim is for a branch"
        if head is not None:
            message = f"a claim cannot hold the name of the branch {printable(head.removeprefix(_HEADS))!r}"
        raise Refused("detached-head", message, "git switch -c BRANCH")

    def needs_arbiter(self) -> None:
        """Refuse to change claims behind the back of the remote that arbitrates.

        Raises Usage under `--no-remote`; Undecided `remote-not-atomic` where pushes go elsewhere than fetches.
        """
        if self.remote_left_out is not None:
            message = f"--no-remote: {self.remote_left_out} arbitrates here, so nothing can be claimed without it"
            raise Usage("usage", message, "run the command again without --no-remote")
        if self.remote is not None and self.may_push_elsewhere:
            from claims.remote_urls import split

            fault = split(self.remote, *urls_of(self.git, self.remote))
            if fault is not None:
                raise fault


def open_session(
    options: Options,
    environ: Mapping[str, str],
    *,
    logs: Sequence[TaskId] = (),
    now: Callable[[], datetime] = clock.now,
) -> Session:
    """Find out where the command runs. `logs` names the tasks whose log will be wanted.

    Raises Undecided (`not-a-repository`, `remote-unreachable` for a remote that is not configured) and Usage for
    names that are none.
    """
    git = Git(options.directory, environ)
    where, settings = begin_repository(git), begin_config(git)
    objects: Objects | None = None
    try:
        configured = read_config(git, settings)
        config = dict(configured)
        remote = _remote(options, environ, config)
        promisor = any(key.endswith(".promisor") and value == "true" for key, value in config.items())
        objects = git.objects(lazy_fetch=promisor)
        objects.start()
        repository = open_repository(git, (*LIVE, *map(log_prefix, logs)), remote, where)
        arbiter = None if options.no_remote else remote
        return Session(
            git=git,
            objects=objects,
            repository=repository,
            logs_listed=tuple(map(log_prefix, logs)),
            base=_base(options, environ, config, repository, remote),
            remote=arbiter,
            remote_left_out=remote if options.no_remote else None,
            may_push_elsewhere=_may_push_elsewhere(configured, arbiter),
            agent=_named(
                _own_name,
                (options.agent, "--agent"),
                (environ.get("SWARM_AGENT"), "SWARM_AGENT"),
                (config.get("swarm.agent"), "swarm.agent"),
            ),
            branch=_branch(options, repository),
            token=_token(options, environ),
            partial_clone=promisor,
            network_deadline=_deadline(environ),
            clock=now,
        )
    except BaseException:
        where.stop()
        settings.stop()
        if objects is not None:
            objects.close()
        raise


def _remote(options: Options, environ: Mapping[str, str], config: Mapping[str, str]) -> str | None:
    named = options.remote or environ.get("SWARM_REMOTE") or config.get("swarm.remote") or None
    known = [key[len("remote.") : -len(".url")] for key in config if key.startswith("remote.") and key.endswith(".url")]
    if named is None:
        return "origin" if "origin" in known else None
    if named not in known:
        have = ", ".join(map(printable, known)) or "none"
        raise Undecided(
            "remote-unreachable", f"there is no remote {printable(named)!r} here (there are: {have})", "git remote -v"
        )
    return named


def _may_push_elsewhere(configured: Sequence[tuple[str, str]], remote: str | None) -> bool:
    """Whether that cannot be ruled out by what is configured."""
    keys = [key for key, _ in configured]
    return (
        keys.count(f"remote.{remote}.url") > 1
        or f"remote.{remote}.pushurl" in keys
        or any(key.startswith("url.") for key in keys)
    )


def _base(
    options: Options,
    environ: Mapping[str, str],
    config: Mapping[str, str],
    repository: Repository,
    remote: str | None,
) -> Branch:
    named = _named(
        parse_branch,
        (options.base, "--base"),
        (environ.get("SWARM_BASE"), "SWARM_BASE"),
        (config.get("swarm.base"), "swarm.base"),
    )
    if named is not None:
        return named
    if repository.remote_head is not None:
        return Branch(repository.remote_head.removeprefix(f"refs/remotes/{remote}/"))
    return Branch(DEFAULT_BASE)


def _branch(options: Options, repository: Repository) -> Branch | None:
    named = _named(parse_branch, (options.branch, "--branch"))
    if named is not None:
        return named
    head = repository.head
    if head is None or not head.startswith(_HEADS):
        return None
    try:
        return parse_branch(head.removeprefix(_HEADS))
    except ValueError:
        return None  # git knows more names than a claim can hold: written, it could not be read again


def _token(options: Options, environ: Mapping[str, str]) -> Token | None:
    secret = options.token or environ.get("SWARM_TOKEN")
    return Token(None, tokens.hash_of(secret), None) if secret else None


def _own_name(text: str) -> AgentName:
    """An agent's name. Raises ValueError, for the word too that stands for one in hints and in the help."""
    if text.strip("<>") == "NAME":
        raise ValueError(f"{text} stands for a name of this session's own, as codex:auth is one")
    return parse_agent(text)


def _named(parse: Callable[[str], Name], *sources: tuple[str | None, str]) -> Name | None:
    """The first source that says something, parsed. Raises Usage that names the source."""
    for text, source in sources:
        if text:
            try:
                return parse(text)
            except ValueError as error:
                raise Usage("usage", f"{source}: {error}") from None
    return None


def _deadline(environ: Mapping[str, str]) -> float:
    text = environ.get("SWARM_TIMEOUT", "")
    if not text:
        return NETWORK_DEADLINE
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 3600):
        raise Usage("usage", f"SWARM_TIMEOUT: {text!r} is not a number of seconds from 1 to 3600")
    return float(text)
