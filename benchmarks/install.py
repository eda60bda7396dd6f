"""The commands as users have them: a wheel of this checkout in a virtual environment of its own.

An editable install goes through an import hook that doubles start-up, and so does `python -m`: neither is measured.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

#: What the wheel is made of. The build leaves files beside its sources, so it gets a copy of them.
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "claims", "gate")
_NOT_SOURCES = shutil.ignore_patterns("__pycache__", "*.pyc")
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Installed:
    """The interpreter of the environment and the console script in it."""

    python: Path
    swarm: Path


def install() -> Installed:
    """Install this checkout, or find it installed. The environment stays in the temporary folder for the next run."""
    folder = _own_folder()
    with _locked(folder / "lock"):
        environment = folder / "venv"
        bin_ = environment / "bin"
        wanted = _digest(_SOURCES)
        needs = _digest(("pyproject.toml",)) + sys.version
        installed, needed = folder / "installed", folder / "needed"
        if _text(needed) != needs:
            installed.unlink(missing_ok=True)
            venv.create(environment, clear=True, with_pip=True)
            _pip(bin_, folder)
            needed.write_text(needs)
        elif _text(installed) != wanted:
            installed.unlink(missing_ok=True)
            _pip(bin_, folder, "--no-deps", "--force-reinstall")
        installed.write_text(wanted)
    return Installed(bin_ / "python", bin_ / "swarm")


def _own_folder() -> Path:
    """A folder that nobody else can write to: what lies in it is run."""
    folder = Path(tempfile.gettempdir()) / f"swarm-benchmarks-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SystemExit(f"{folder} is not this user's alone: remove it")
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _pip(bin_: Path, folder: Path, *options: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        copy = Path(name) / "checkout"
        copy.mkdir()
        for source in map(CHECKOUT.joinpath, _SOURCES):
            if source.is_dir():
                shutil.copytree(source, copy / source.name, ignore=_NOT_SOURCES)
            elif source.exists():
                shutil.copy(source, copy)
        command = [str(bin_ / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, *options, str(copy)], check=True, timeout=_SECONDS)


def _digest(names: tuple[str, ...]) -> str:
    """One hash over the files, and over those in the folders, that are named."""
    digest = hashlib.sha256()
    for name in names:
        top = CHECKOUT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
