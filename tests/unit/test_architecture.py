"""The house as `docs/architecture.md` draws it: who may import whom, who owns which library, and how code is cut."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Modules and packages, the lowest first. Each imports only from those above it in this list, and from itself.
LAYERS = (
    "claims",
    "claims.values",
    "claims.errors",
    "claims.clock",
    "claims.names",
    "claims.notice",
    "claims.record",
    "claims.board",
    "claims.ledger",
    "claims.admission",
    "claims.transaction",
    "claims.tokens",
    "claims.remote_urls",
    "claims.git",
    "claims.session",
    "claims.git_tree",
    "claims.arbiter",
    "claims.operations",
    "claims.demo",
    "claims.cli",
    "gate",
    "gate.verdict",
    "gate.tree",
    "gate.names",
    "gate.task_text",
    "gate.landing",
    "gate.paths",
    "gate.evidence",
    "gate.judged",
    "gate.on_record",
    "gate.fixes",
    "gate.kinds",
    "gate.rules",
    "gate.judge",
    "gate.trees",
    "gate.bounds",
    "gate.repository",
    "gate.gather",
    "gate.records",
    "gate.local",
    "gate.fetched",
    "gate.report",
    "gate.github",
    "gate.cli",
)

#: Each library, and each part of the standard library that starts programs, with the modules that may import it.
OWNERS = {
    "subprocess": ("claims.git", "claims.demo.terminal"),
    "ruamel": ("claims.board.yaml_files",),
    "click": ("claims.cli", "gate.cli"),
    "github": ("gate.github.api",),
    "requests": ("gate.github.api", "gate.github.connection"),
    "urllib3": ("gate.github.connection",),
    "multiprocessing": (),
    "pty": (),
    "asyncio": (),
}

#: What starts a program without `subprocess`.
STARTERS = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp")
STARTER_FAMILIES = ("exec", "spawn")

LONGEST_FUNCTION = 60

#: Dataclasses that gather something while a command runs.
MUTABLE = {"claims.operations.reap.Reaped", "claims.cli.renew_every._Kept"}


@dataclass(frozen=True, slots=True)
class Module:
    """One source file of the packages: its dotted name and what it says."""

    name: str
    tree: ast.Module

    @property
    def imports(self) -> set[str]:
        """Every module or name that is imported anywhere in it, dotted; those for type checkers alone too."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module is not None, f"{self.name}: a relative import"
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found


def module(name: str, source: str) -> Module:
    return Module(name, ast.parse(source))


def modules(*packages: str) -> Iterator[Module]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text("utf-8"))


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def layer(name: str) -> str | None:
    """The entry of LAYERS that a module belongs to: the longest that fits. Every room of a package has its line."""
    fitting = [entry for entry in LAYERS if within(name, entry)]
    found = max(fitting, key=len, default=None)
    return None if found in ("claims", "gate") and found != name else found


def upward_imports(source: Module) -> list[str]:
    """The imports of `source` that do not point down the list, and what is in no layer."""
    own = layer(source.name)
    if own is None:
        return [f"{source.name} is in no layer"]
    wrong = []
    for imported in sorted(source.imports):
        if imported.split(".")[0] not in ("claims", "gate"):
            continue
        # `from claims import names` is the module, `from claims import __version__` the package itself.
        target = layer(imported.removesuffix(".__version__"))
        if target is None or LAYERS.index(target) > LAYERS.index(own):
            wrong.append(f"{source.name} imports {imported}")
    return wrong


def foreign_imports(source: Module) -> list[str]:
    """The imports of a library that another module owns, or that nobody does."""
    wrong = []
    for imported in sorted(source.imports):
        library = imported.split(".")[0]
        owners = OWNERS.get(library)
        if owners is None:
            if library not in sys.stdlib_module_names and library not in ("claims", "gate"):
                wrong.append(f"{source.name} imports {imported}, which has no owner")
        elif not any(within(source.name, owner) for owner in owners):
            wrong.append(f"{source.name} imports {imported}")
    return wrong


def started_programs(source: Module) -> list[str]:
    """Uses of `os` that start a program or become one."""
    return [
        f"{source.name}:{node.lineno} uses os.{node.attr}"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and (node.attr in STARTERS or node.attr.startswith(STARTER_FAMILIES))
    ]


def long_functions(source: Module) -> list[str]:
    return [
        f"{source.name}.{node.name} has {length} lines"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def dataclasses(source: Module) -> Iterator[tuple[str, set[str]]]:
    """Each dataclass with the options that are switched on."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = call.func if call is not None else decorator
            if isinstance(name, ast.Name) and name.id == "dataclass":
                keywords = call.keywords if call is not None else []
                on = {word.arg or "" for word in keywords if getattr(word.value, "value", None) is True}
                yield f"{source.name}.{node.name}", on


def test_imports_point_down_the_list_of_layers() -> None:
    assert [wrong for source in modules("claims", "gate") for wrong in upward_imports(source)] == []


def test_claims_imports_nothing_of_the_gate() -> None:
    found = {(source.name, imported) for source in modules("claims") for imported in source.imports}
    assert not [pair for pair in found if within(pair[1], "gate")]


def test_each_library_has_one_owner() -> None:
    assert [wrong for source in modules("claims", "gate") for wrong in foreign_imports(source)] == []


def test_programs_are_started_through_subprocess_alone() -> None:
    assert [wrong for source in modules("claims", "gate") for wrong in started_programs(source)] == []


def test_no_function_is_longer_than_a_screen() -> None:
    assert [wrong for source in modules("claims", "gate") for wrong in long_functions(source)] == []


def test_dataclasses_are_frozen_and_slotted() -> None:
    found = dict(item for source in modules("claims", "gate") for item in dataclasses(source))
    assert {name for name, on in found.items() if not {"frozen", "slots"} <= on} - MUTABLE == set()


def test_every_module_says_what_it_is() -> None:
    silent = [
        source.name
        for source in modules("claims", "gate", "tests/support")
        if source.tree.body and ast.get_docstring(source.tree) is None
    ]
    assert silent == []


def test_every_layer_and_owner_exists() -> None:
    listed = {*LAYERS, *(owner for owners in OWNERS.values() for owner in owners)}
    assert listed - {source.name for source in modules("claims", "gate")} == set()


HEAVY = ("ruamel", "github", "requests", "importlib.metadata", "difflib", "asyncio", "unittest", "email", "http")


def test_heavy_modules_stay_away_from_the_start() -> None:
    # What every command pays for: the table of commands and the wiring that most of them share.
    assert loaded_by("import claims.cli.main, claims.cli.claim, claims.cli.status", HEAVY) == set()


def test_what_only_a_job_needs_stays_away_from_a_judgement() -> None:
    wanted = (*HEAVY, "secrets", "gate.github", "gate.report.actions", "claims.board.whole")
    assert loaded_by("import gate.cli.main, gate.cli.pr", wanted) == set()


def test_loaded_modules_are_seen() -> None:
    assert loaded_by("import claims.cli.main, difflib", HEAVY) == {"difflib"}


def loaded_by(code: str, wanted: Iterable[str]) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(wanted) & set(done.stdout.split())


# The checks themselves, on sources that they must refuse; each with a twin that they let through.


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("claims.record", "from claims import names, clock", []),
        ("claims.record", "from claims.board.task import Task", ["claims.record imports claims.board.task.Task"]),
        ("claims.record", "def f():\n    import claims.git", ["claims.record imports claims.git"]),
        ("claims.board.task", "from claims.board import fields", []),
        ("claims.cli.main", "from claims import __version__", []),
        ("claims.cli.main", "import gate", ["claims.cli.main imports gate"]),
        ("gate.cli.main", "from claims.cli.main import run", []),
        ("claims.helpers", "", ["claims.helpers is in no layer"]),
        ("claims.cli.main", "import claims.helpers", ["claims.cli.main imports claims.helpers"]),
    ],
)
def test_upward_imports(name: str, text: str, wrong: list[str]) -> None:
    assert upward_imports(module(name, text)) == wrong


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("claims.git", "import subprocess", 0),
        ("claims.session", "import subprocess", 1),
        ("claims.cli.claim", "import click", 0),
        ("claims.operations.claim", "from click import echo", 1),
        ("claims.record", "import json, collections.abc", 0),
        ("claims.record", "import requests", 1),
    ],
)
def test_foreign_imports(name: str, text: str, wrong: int) -> None:
    assert len(foreign_imports(module(name, text))) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("os.open('x')", 0), ("os.system('x')", 1), ("os.execv('x', [])", 1), ("os.spawnl(0, 'x')", 1)],
)
def test_started_programs(text: str, wrong: int) -> None:
    assert len(started_programs(module("claims.x", text))) == wrong


@pytest.mark.parametrize(("lines", "wrong"), [(LONGEST_FUNCTION, 0), (LONGEST_FUNCTION + 1, 1)])
def test_long_functions(lines: int, wrong: int) -> None:
    assert len(long_functions(module("claims.x", "def f():\n" + "    pass\n" * (lines - 1)))) == wrong


def test_dataclasses() -> None:
    text = "@dataclass\nclass A: pass\n@dataclass(frozen=True, slots=True)\nclass B: pass\nclass C: pass\n"
    assert dict(dataclasses(module("m", text))) == {"m.A": set(), "m.B": {"frozen", "slots"}}


def test_the_house_is_drawn_as_it_stands() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = text.split("## The house")[1].split("\n## ")[0]
    rows = [line.split("`")[1] for line in table.split("\n") if line.startswith("| `")]
    assert rows == [name for name in LAYERS if "." in name]
