"""The documents say what the code does: tables, help, codes, keys, members, limits, links."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import claims
import gate
from claims import errors, record
from claims.board import config, task
from claims.board.authority import PROTECTED
from claims.board.node import MAX_FILE
from claims.git import MINIMUM_VERSION
from claims.names import ObjectId, RefName
from gate import landing, records, repository
from gate.cli.rules import explanation
from gate.kinds import Kind
from gate.rules import RULES, id_of
from gate.verdict import ClaimUsed, Finding, Outcome, Remark, Side, Verdict
from tests.support import write_docs
from tests.support.swarm import swarm

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What follows a heading, up to the next one of its level or above."""
    level = len(heading.partition(" ")[0])
    lines = text.split("\n")
    start = lines.index(heading) + 1
    ends = (number for number, line in enumerate(lines[start:], start) if re.match(rf"#{{1,{level}}} ", line))
    return "\n".join(lines[start : next(ends, len(lines))])


def first_cells(text: str) -> list[str]:
    """The quoted words in the first cells of a table's rows."""
    cells = [line.split("|")[1] for line in text.split("\n") if line.startswith("| `")]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", write_docs.DOCUMENTS)
def test_generated_parts_are_up_to_date(name: str) -> None:
    assert write_docs.written()[name] == read(name), "run: python -m tests.support.write_docs"


def test_what_stands_between_marks_is_replaced_and_nothing_else() -> None:
    assert write_docs.between("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", "x", "new\n") == (
        "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    )


def test_every_exit_status_has_a_meaning() -> None:
    statuses = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert set(write_docs.MEANINGS) == statuses


def test_every_error_code_is_explained_under_its_exit_status() -> None:
    text = read("docs/errors.md")
    headings = [line for line in text.split("\n") if line.startswith("### Exit ")]
    explained = {
        code: int(heading.split()[2].rstrip(":"))
        for heading in headings
        for code in first_cells(section(text, heading))
    }
    assert explained == dict(errors.CODES)


def test_every_warning_is_explained() -> None:
    assert set(first_cells(section(read("docs/errors.md"), "## Warnings"))) == set(notice_codes())


def notice_codes() -> Iterator[str]:
    """The first argument of every `Notice(…)` in the code, where it is written out."""
    for path in (ROOT / "claims").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Notice":
                code = node.args[0]
                if isinstance(code, ast.Constant):
                    yield str(code.value)


def test_the_keys_of_a_task_are_documented() -> None:
    assert set(first_cells(section(read("docs/board.md"), "## Task").split("### Locks")[0])) == set(task.KEYS)


def test_the_values_of_a_task_are_documented() -> None:
    text = section(read("docs/board.md"), "## Task")
    kinds = (task.State, task.Classification, task.Kind, task.FailureKind)
    assert [value.value for kind in kinds for value in kind if f"`{value.value}`" not in text] == []


def test_the_keys_of_the_configuration_are_documented() -> None:
    keys = {*(field.name for field in fields(config.Config)), *(field.name for field in fields(config.GateConfig))}
    assert set(first_cells(section(read("docs/board.md"), "## Configuration"))) == keys


def test_the_protected_paths_are_documented() -> None:
    text = section(read("docs/board.md"), "## Authority")
    assert [path for path in PROTECTED if f"`{path.removeprefix('**/')}`" not in text] == []


def test_the_members_of_a_claim_are_documented() -> None:
    tree = ast.parse(read("claims/record.py"))
    reader = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_claim")
    calls = [node for node in ast.walk(reader) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    taken = {ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func).startswith("take.")}
    assert set(first_cells(section(read("docs/protocol.md"), "## The claim blob"))) == taken


def test_the_limits_of_a_claim_are_documented() -> None:
    text = section(read("docs/protocol.md"), "## The claim blob")
    assert f"at most {record.MAX_BYTES // 1024} KiB" in text
    assert f"at most {record.MAX_NEW_BYTES // 1024} KiB" in text
    hours, minutes = divmod(int(record.MAX_LEASE.total_seconds()) // 60, 60)
    assert f"{hours} h {minutes} min" in text
    assert [outcome for outcome in record.OUTCOMES if f"`{outcome}`" not in text] == []


def test_the_readme_says_what_is_needed() -> None:
    python = re.search(r'requires-python = ">=([0-9.]+)"', read("pyproject.toml"))
    assert python is not None
    git = ".".join(map(str, MINIMUM_VERSION))
    assert f"Python {python[1]} or newer and git {git} or newer" in read("README.md")


def test_one_version_everywhere() -> None:
    assert f'\nversion = "{claims.__version__}"\n' in read("pyproject.toml")
    assert gate.__version__ == claims.__version__


def test_ci_runs_the_test_command_of_the_readme() -> None:
    _, test = blocks(section(read("README.md"), "## Try it"), "sh")
    assert "pytest" in test and test.count("\n") == 1
    lines = [line.strip() for line in read(".ci/run").split("\n")]
    assert f'{test.strip()} "$@"' in lines
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_ci_runs_with_no_more_rights_than_it_needs() -> None:
    workflow = read(".github/workflows/ci.yml")
    assert re.findall(r"uses: (\S+)", workflow) == [
        used for used in re.findall(r"uses: (\S+)", workflow) if re.search(r"@[0-9a-f]{40}$", used)
    ]
    assert "\npermissions:\n  contents: read\n" in workflow
    assert "persist-credentials: false" in workflow
    assert "run: .ci/run\n" in workflow


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    assert broken_links(path.read_text("utf-8"), path) == []


def test_broken_links_are_found() -> None:
    here = ROOT / "README.md"
    text = "# A b\n[1](docs/errors.md#codes) [2](docs/none.md) [3](docs/errors.md#none) [4](#a-b) [5](#b)\n"
    assert broken_links(text, here) == ["docs/none.md", "docs/errors.md#none", "#b"]


def broken_links(text: str, path: Path) -> list[str]:
    """The relative links of a document whose file or heading does not exist."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name
        there = (target.read_text("utf-8") if name else text) if target.exists() else None
        if there is None or (anchor and anchor not in anchors(there)):
            broken.append(link)
    return broken


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of headings."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", outside, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_the_code_says_of_the_documents_is_there() -> None:
    """`docs/protocol.md`, *Admission*, as comments write it: the document and the heading exist."""
    missing = []
    for path in [*(ROOT / "claims").rglob("*.py"), *(ROOT / "gate").rglob("*.py")]:
        text = " ".join(path.read_text("utf-8").split())
        for name, heading in re.findall(r"`docs/(\w+)\.md`(?:, \*([^*]+)\*)?", text):
            document = ROOT / "docs" / f"{name}.md"
            known = re.findall(r"^#+ (.*)$", document.read_text("utf-8"), re.MULTILINE) if document.exists() else []
            if not document.exists() or (heading and heading not in known):
                missing.append((path.name, name, heading))
    assert missing == []


@pytest.mark.parametrize("rule", RULES, ids=id_of)
def test_every_rule_says_what_it_forbids_and_why_and_how_to_mend_it(rule: ModuleType) -> None:
    forbids, why, fix = explanation(rule).split("\n\n")
    assert (why[:5], fix[:5]) == ("Why: ", "Fix: ")
    assert len(forbids) > 20
    text = " ".join(section(read("docs/gate.md"), f"### {id_of(rule)}").split())
    assert [part for part in (forbids, why[5:], fix[5:]) if " ".join(part.split()) not in text] == []


def test_no_section_is_left_of_a_rule_that_is_gone() -> None:
    sections = re.findall(r"^### (.*)$", section(read("docs/gate.md"), "## Rules"), re.MULTILINE)
    assert sections == [id_of(rule) for rule in RULES]


def test_every_kind_of_pull_request_is_explained() -> None:
    told = section(read("docs/gate.md"), "## Kinds of pull request").split("<!-- kinds -->")[0]
    assert first_cells(told) == ["empty", *(kind.value for kind in Kind)]


def test_every_landing_code_is_explained() -> None:
    assert set(first_cells(section(read("docs/gate.md"), "## Landing codes"))) == landing_codes()


def landing_codes() -> set[str]:
    """The first argument of every `NoLanding(…)` in the code, by name."""
    raised = [
        node.args[0]
        for path in (ROOT / "gate").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "NoLanding"
    ]
    assert raised and all(isinstance(code, ast.Constant) for code in raised)
    return {str(ast.literal_eval(code)) for code in raised}


def test_a_verdict_has_the_members_that_are_documented() -> None:
    (example,) = blocks(read("docs/gate.md"), "json")
    documented = json.loads(example)
    found = verdict().to_json()
    assert list(documented) == list(found)
    assert [list(documented[name]) for name in ("base", "head", "claim")] == [
        list(found[name]) for name in ("base", "head", "claim")
    ]
    assert set(documented["findings"][0]) | {"ref"} == set(found["findings"][0])
    assert set(documented["notices"][0]) == set(found["notices"][0])


def verdict() -> Verdict:
    """A verdict with everything in it that one can have."""
    commit, ref = ObjectId("a" * 40), RefName("refs/swarm/x")
    return Verdict(
        kind="implementation",
        trust="recorded",
        base=Side("main", commit),
        head=Side("topic", commit, "octocat/app"),
        outcomes={"one-task": Outcome.FAIL},
        claim=ClaimUsed("agent", "topic", "then", "later", ref, "done"),
        findings=[Finding("one-task", "wrong", "path", ref, "command")],
        remarks=[Remark("one-task", "so")],
    )


def test_the_limits_of_the_gate_are_documented() -> None:
    text = section(read("docs/gate.md"), "## Limits")
    for limit in (landing.MAX_PATHS, landing.MAX_COMMITS, records.MAX_RECORDS):
        assert f"| {limit:,}" in text
    assert f"| {MAX_FILE // 1024} KiB |" in text
    assert f"| {repository.DEADLINE:g} s |" in text


def test_the_installed_command_prints_the_documented_help(tmp_path: Path) -> None:
    documented = section(read("docs/commands.md"), "## swarm claim").split("```text\n")[1].split("```")[0]
    assert swarm(tmp_path, "claim", "--help", env={"COLUMNS": "80"}, ok=True).out == documented
