"""What the git processes of a command were for, from the log of `tests.support.git_wrapper`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.support.git_wrapper import Invocation

#: The git commands that talk to a remote. (`rev-list` and `cat-file` may in a partial clone; ours are kept from it.)
NETWORK = frozenset({"fetch", "push", "ls-remote", "pull", "clone", "fetch-pack", "send-pack", "archive"})


def git_command(argv: Sequence[str]) -> str:
    """`fetch` of `-c protocol.version=2 fetch --quiet …`."""
    words = iter(argv)
    for word in words:
        if word in ("-c", "-C", "--git-dir", "--work-tree", "--namespace"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def git_commands(calls: Iterable[Invocation]) -> list[str]:
    """The git command of each call, in order."""
    return [git_command(call.argv) for call in calls]


def network_operations(calls: Iterable[Invocation]) -> list[str]:
    """Those of them that talk to a remote."""
    return [command for command in git_commands(calls) if command in NETWORK]
