"""The README's quick start, typed as it stands there: what it promises to print is what comes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import repo
from tests.support.repo import Repo
from tests.support.swarm import SWARM, environment, swarm

README = Path(__file__).parents[2] / "README.md"

#: The id that the README's examples have.
EXAMPLE = "abcdef01"


def blocks() -> list[tuple[str, str]]:
    """The quick start's blocks: language and text."""
    section = README.read_text("utf-8").split("\n## Quick start\n")[1].split("\n## ")[0]
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    return [line for language, text in blocks() if language == "sh" for line in text.splitlines()]


def answers() -> list[str]:
    return [text for language, text in blocks() if language == "text"]


def normal(text: str) -> str:
    """`text` without what differs from run to run (ids, times, durations), and with a remote or without."""
    text = text.replace(" (made without a remote, in this clone)", "")
    text = re.sub(r"T-[0-9]{8}-[0-9a-f]{8}", "T-ID", text)
    text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "TIME", text)
    text = re.sub(r"\bat [0-9a-f]{12}$", "at COMMIT", text, flags=re.MULTILINE)
    text = re.sub(r"\b[0-9]+ (pass|n/a)\b", r"N \1", text)
    return re.sub(r"\([0-9]+m [0-9]+s\)", "(DURATION)", text)


def type_in(here: Repo, lines: list[str]) -> list[tuple[str, int, str]]:
    """Type lines into one shell: each with its exit status and what it printed.

    The id of the only task that was ever queued stands for the example's.
    """
    known = "TASK=${TASK:-$(cd .agents/tasks/queued 2>/dev/null && ls T-* 2>/dev/null | sed 's/[.]md//')}"
    script = "exec 2>&1\n"
    for line in lines:
        line = line.replace(f"T-20260814-{EXAMPLE}", "$TASK").replace(EXAMPLE, "${TASK##*-}")
        script += f"{line}\nprintf '\\0%s\\0' $?\n{known}\n"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=here.path,
        env=environment({"PATH": f"{SWARM.parent}{os.pathsep}{os.environ['PATH']}"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=True,
    )
    parts = done.stdout.decode("utf-8").split("\0")[:-1]
    return list(zip(lines, map(int, parts[1::2]), parts[::2], strict=True))


@pytest.fixture(params=["without a remote", "with a remote"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    if request.param == "without a remote":
        return repo.init(tmp_path / "app", {"README": "mine\n"})
    return repo.clone(repo.origin(tmp_path / "origin.git", {"README": "mine\n"}), tmp_path / "app")


def typed(here: Repo) -> list[str]:
    """The commands; with a remote the plan is pushed, as the README says in words."""
    lines = commands()
    if here.git("remote"):
        lines.insert(lines.index("git commit -m 'Plan the first milestone'") + 1, "git push -q origin main")
    return lines


def test_every_command_works_but_the_one_that_shows_a_refusal(here: Repo) -> None:
    run = type_in(here, typed(here))
    assert [(line, exit, out) for line, exit, out in run if (exit == 0) is ("--agent claude:other" in line)] == []


def test_it_prints_what_the_readme_shows(here: Repo) -> None:
    printed = normal("".join(out for _, _, out in type_in(here, typed(here))))
    *shown, _failure, _expiry = answers()
    assert len(shown) == 4
    assert [answer for answer in shown if normal(answer) not in printed] == []


def test_whoever_comes_after_an_expiry_reads_what_the_readme_shows(here: Repo) -> None:
    upto = next(number for number, line in enumerate(typed(here)) if "--agent claude:other" in line)
    claim = typed(here)[upto]
    run = type_in(here, [*typed(here)[:upto], "swarm renew --minutes 0", claim])
    assert run[-1][1] == 2
    assert normal(run[-1][2]) == normal(answers()[-1])


def test_a_path_outside_fails_as_the_readme_shows(here: Repo) -> None:
    lines = typed(here)
    upto = next(number for number, line in enumerate(lines) if line.startswith("swarm-gate pr"))
    outside = ["touch Makefile", "git add Makefile", "git commit -qm 'While I am at it'", lines[upto]]
    *_, (_, exit, printed) = type_in(here, [*lines[:upto], *outside])
    assert exit == 1
    assert printed.startswith(answers()[-2])
    assert printed.rstrip().splitlines()[-1].startswith("verdict: FAIL")


def test_the_board_that_it_leaves_is_as_it_says(here: Repo) -> None:
    type_in(here, typed(here))
    listed = swarm(here, "status", ok=True).out
    assert "finished, not merged yet" in listed
