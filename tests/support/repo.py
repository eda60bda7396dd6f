"""Real repositories, built with short git commands.

New ones use the object format that the seal asks for (`--object-format`): git reads it from GIT_DEFAULT_HASH.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.support import seal

#: Path to content; None deletes.
Files: TypeAlias = Mapping[str, str | bytes | None]

_COMMITTER = f"{seal.NAME} <{seal.EMAIL}> {seal.EPOCH} +0000"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a command could have changed in a repository. Equal snapshots: nothing changed."""

    head: str
    refs: dict[str, str]
    index: list[str]
    #: Path below the work tree to mode and content.
    files: dict[str, tuple[int, bytes]]
    #: The same for `swarm/` in the worktree's private git directory, where tokens live.
    private: dict[str, tuple[int, bytes]]
    #: Lock files that a killed git left.
    locks: list[str]


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository at `path`: a clone, a linked worktree or a bare one."""

    path: Path

    def git(
        self,
        *args: str,
        input: str | bytes | None = None,
        ok: bool | None = True,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run git here; its stdout without the last newline, and stderr too unless it exits 0.

        `ok`: it must succeed (True), must fail (False), or may do either (None); else AssertionError.
        """
        done = self.run(*args, input=input, env=env)
        out = done.stdout.decode("utf-8", "surrogateescape")
        if done.returncode:
            out += done.stderr.decode("utf-8", "surrogateescape")
        assert ok is None or ok == (done.returncode == 0), f"git {' '.join(args)}: exit {done.returncode}\n{out}"
        return out.removesuffix("\n")

    def run(
        self, *args: str, input: str | bytes | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git here, whatever comes of it. `env` is the whole environment, None for the sealed one."""
        data = input.encode("utf-8", "surrogateescape") if isinstance(input, str) else input
        # Without `input` stdin is empty: nothing ever waits for a terminal.
        return subprocess.run(
            ["git", *args],
            cwd=self.path,
            input=data or b"",
            env=env,
            capture_output=True,
            timeout=120,
            check=False,
        )

    def commit(self, files: Files, message: str = "Change", branch: str | None = None) -> str:
        """Write `files` and commit them (an empty commit where there are none); the commit's id.

        On the branch checked out here, leaving alone whatever else is staged; with `branch`, and in a bare repository,
        straight onto that branch (default main), touching neither work tree nor index.
        """
        if branch is None and not self.is_bare:
            return self._commit_here(files, message)
        return self._commit_onto(branch or "main", files, message)

    def branch(self, name: str, start: str = "HEAD") -> None:
        """Create a branch at `start` and switch to it."""
        self.git("switch", "-q", "-c", name, start)

    def worktree(self, name: str, branch: str, start: str = "HEAD") -> Repo:
        """Add a linked worktree beside this one, on `branch`, created at `start` where it is missing."""
        path = self.path.parent / name
        known = self.oid(f"refs/heads/{branch}") is not None
        how = [str(path), branch] if known else ["--no-track", "-b", branch, str(path), start]
        self.git("worktree", "add", "-q", *how)
        return Repo(path)

    def blob(self, data: str | bytes) -> str:
        """Write a blob; its id."""
        return self.git("hash-object", "-w", "--stdin", input=data)

    def cat(self, what: str) -> bytes:
        """The content of the blob that `what` names: a ref, an id, `main:path`."""
        done = self.run("cat-file", "blob", what)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def oid(self, what: str) -> str | None:
        """The object id that `what` names, or None."""
        return self.git("rev-parse", "-q", "--verify", what, ok=None) or None

    def refs(self, prefix: str = "refs/swarm/") -> dict[str, str]:
        """Refs below `prefix` to object ids, in name order."""
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname)", prefix).splitlines()
        return dict(line.rsplit(" ", 1) for line in listed)

    def git_path(self, name: str) -> Path:
        """Where git keeps `name` for this worktree."""
        return self.path / self.git("rev-parse", "--git-path", name)

    def locks(self) -> list[Path]:
        """The lock files below the shared git directory, which a killed git leaves behind."""
        return sorted((self.path / self.git("rev-parse", "--git-common-dir")).rglob("*.lock"))

    @property
    def url(self) -> str:
        """The file:// URL of this repository, which takes git's real transport."""
        return self.path.absolute().as_uri()

    @property
    def is_bare(self) -> bool:
        return not (self.path / ".git").exists()

    def snapshot(self) -> Snapshot:
        """What is here now, to be compared later."""
        return Snapshot(
            head=self.git("symbolic-ref", "-q", "HEAD", ok=None) or self.git("rev-parse", "HEAD"),
            refs=self.refs("refs/"),
            index=[] if self.is_bare else self.git("ls-files", "--stage", "-z").split("\0"),
            files={} if self.is_bare else _files_below(self.path),
            private=_files_below(self.git_path("swarm")),
            locks=[str(lock) for lock in self.locks()],
        )

    def _commit_here(self, files: Files, message: str) -> str:
        for name, content in files.items():
            _write(self.path / name, content)
        if files:
            self.git("add", "-f", "-A", "--", *(f":(literal){name}" for name in files))
        self.git("commit", "-q", "--allow-empty", "--no-verify", "-m", message)
        return self.git("rev-parse", "HEAD")

    def _commit_onto(self, branch: str, files: Files, message: str) -> str:
        ref = f"refs/heads/{branch}"
        before = self.oid(ref)
        lines = [f"commit {ref}\ncommitter {_COMMITTER}\n".encode(), _data(message)]
        lines += [f"from {before}\n".encode()] if before else []
        lines += [_edit(name, content) for name, content in files.items()]
        self.git("fast-import", "--quiet", input=b"".join(lines))
        return self.git("rev-parse", ref)


def init(path: Path, files: Files | None = None) -> Repo:
    """A new repository on main, with a first commit of `files`, None for no commit at all."""
    return _init(path, files)


def origin(path: Path, files: Files | None = None) -> Repo:
    """A new bare repository, with a first commit of `files` on main, None for an empty one."""
    return _init(path, files, "--bare")


def clone(source: Repo | Path | str, path: Path, *options: str) -> Repo:
    """Clone a repository or URL into `path`; `options` as in `--depth=1`. A Repo is cloned through file://."""
    url = source.url if isinstance(source, Repo) else str(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    Repo(path.parent).git("clone", "-q", *options, url, str(path))
    return Repo(path)


def _init(path: Path, files: Files | None, *options: str) -> Repo:
    path.mkdir(parents=True)
    repo = Repo(path)
    repo.git("init", "-q", *options)
    if files is not None:
        repo.commit(files, "Start")
    return repo


def _write(path: Path, content: str | bytes | None) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _edit(name: str, content: str | bytes | None) -> bytes:
    """One file of a commit, as git-fast-import(1) reads it."""
    if content is None:
        return f"D {name}\n".encode()
    return f"M 100644 inline {name}\n".encode() + _data(content)


def _data(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"data %d\n%s\n" % (len(raw), raw)


def _files_below(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Path to mode and content (a link's target) of all files but git's own."""
    found = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    named = {str(path.relative_to(folder)): path for path in found}
    return {
        name: (
            path.lstat().st_mode,
            str(path.readlink()).encode() if path.is_symlink() else path.read_bytes(),
        )
        for name, path in named.items()
        if name.split("/")[0] != ".git"
    }
