"""Options, the seal around every test, and `rounds`."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import seal

_LOCALE = pytest.StashKey[str | None]()
_NUMBERS = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("swarm")
    group.addoption("--full", action="store_true", help="run races and searches in full, not a tenth of their rounds")
    group.addoption(
        "--object-format",
        choices=("sha1", "sha256"),
        default="sha1",
        help="of the repositories that tests create",
    )
    group.addoption(
        "--swarm-locale",
        metavar="LOCALE",
        help="what child processes speak, as in de_DE.UTF-8; C.UTF-8 where missing",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LOCALE] = _installed(config.getoption("--swarm-locale"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers a core: a test mostly waits for the processes that it started, or for a lock to be given up."""
    return 2 * (os.cpu_count() or 1)


def pytest_report_header(config: pytest.Config) -> str:
    return (
        f"swarm: full={config.getoption('--full')} object-format={config.getoption('--object-format')} "
        f"locale={config.stash[_LOCALE] or 'C.UTF-8'}"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for `rounds`, so that `-m full --full` runs just the long ones."""
    for item in items:
        if "rounds" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.full)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """How often to repeat: `rounds(n)` is n with `--full`, else a tenth of it, at least once."""
    full = bool(request.config.getoption("--full"))
    return lambda n: n if full else max(1, n // 10)


@pytest.fixture(scope="session", autouse=True)
def _sealed_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The seal for fixtures that live longer than a test. Gives the folder that holds every home."""
    homes = tmp_path_factory.mktemp("homes")
    with _seal(request.config, homes / "session"):
        yield homes


@pytest.fixture(autouse=True)
def _sealed(request: pytest.FixtureRequest, _sealed_session: Path) -> Iterator[None]:
    """Own HOME and git configuration, fixed identity, dates and time zone, nothing inherited, loopback only."""
    # Counted here: pytest's own numbering lists the folder each time, which adds up over thousands of tests.
    with _seal(request.config, _sealed_session / str(next(_NUMBERS))):
        yield


@contextmanager
def _seal(config: pytest.Config, home: Path) -> Iterator[None]:
    """Apply `tests.support.seal`, with `home` as working directory: a bare `git` never meets this checkout."""
    seal.write_home(home)
    sealed = seal.environment(os.environ, home, config.getoption("--object-format"), config.stash[_LOCALE])
    guard = seal.LoopbackOnly()
    # Not pytest's own `monkeypatch`: a test may undo that one.
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - sealed.keys():
            patch.delenv(name)
        for name, value in sealed.items():
            patch.setenv(name, value)
        patch.chdir(home)
        guard.install(patch)
        yield
    shutil.rmtree(home, ignore_errors=True)
    assert not guard.attempts, f"tried to reach {', '.join(guard.attempts)}"


def _installed(locale: str | None) -> str | None:
    """`locale` where this system has it, else None. Compared as `locale -a` writes it: de_DE.utf8."""
    if locale is None or shutil.which("locale") is None:
        return None
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.split()
    plain = {name.replace("-", "").lower() for name in listed}
    return locale if locale.replace("-", "").lower() in plain else None
