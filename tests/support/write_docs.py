"""The parts of the documents that come from the code, between marks: `python -m tests.support.write_docs` writes them.

`<!-- commands -->` to `<!-- /commands -->` is a table of the commands, `helps` what each prints with `--help`, `exits`
the exit statuses, `codes` those with their error codes, `kinds` the rules of each kind of pull request, `rules` a
section for each rule. `tests/unit/test_docs.py` compares.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import click

from claims import errors
from claims.cli.main import COMMANDS, run, swarm
from gate.cli.main import COMMANDS as GATE_COMMANDS
from gate.cli.main import swarm_gate
from gate.cli.rules import explanation
from gate.kinds import RULES_OF
from gate.rules import RULES, id_of

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/commands.md", "docs/errors.md", "docs/gate.md", "docs/protocol.md")

#: Each program: its group and the names of its commands, in their order.
PROGRAMS: dict[str, tuple[click.Group, list[str]]] = {
    "swarm": (swarm, list(COMMANDS)),
    "swarm-gate": (swarm_gate, list(GATE_COMMANDS)),
}

MEANINGS = {
    errors.EXIT_OK: "done, or nothing to do",
    errors.EXIT_REFUSED: "refused: the rules say no. Another try changes nothing until something else does",
    errors.EXIT_CONFLICT: "conflict: somebody else holds it or was faster. Take another task, or try again",
    errors.EXIT_UNDECIDED: "could not be decided: git, the remote, a file or the configuration is broken",
    errors.EXIT_USAGE: "the command line was wrong",
    errors.EXIT_INTERRUPTED: "interrupted",
}


def main() -> None:
    for name, text in written().items():
        (ROOT / name).write_text(text, "utf-8")


def written() -> dict[str, str]:
    """Each document as it has to be: what stands between marks comes from the code, the rest is as it is."""
    blocks: dict[str, Callable[[], str]] = {
        "commands": commands,
        "helps": helps,
        "exits": exits,
        "codes": codes,
        "kinds": kinds,
        "rules": rules,
    }
    documents = {}
    for name in DOCUMENTS:
        text = (ROOT / name).read_text("utf-8")
        for mark, block in blocks.items():
            if f"<!-- {mark} -->" in text:
                text = between(text, mark, block())
        documents[name] = text
    return documents


def between(text: str, mark: str, block: str) -> str:
    """`text` with `block` between the two marks. AssertionError where they are not there once each."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    replaced, times = pattern.subn(lambda match: match[1] + block + match[2], text)
    assert times == 1, f"{times} pairs of marks for {mark}"
    return replaced


def commands() -> str:
    """A table of the commands and the first paragraph of their help."""
    rows = []
    for program, (group, names) in PROGRAMS.items():
        found = {name: group.get_command(click.Context(group), name) for name in names}
        rows += [f"| `{program} {name}` | {_first_paragraph(command)} |" for name, command in found.items() if command]
    return table("command", "does", rows)


def helps() -> str:
    """A section for each command with what it prints."""
    sections = []
    for program, (group, names) in PROGRAMS.items():
        for words in [[], *([name] for name in names)]:
            title = " ".join([program, *words])
            sections.append(f"## {title}\n\n```text\n{help_of(group, program, words)}```\n")
    return "\n" + "\n".join(sections) + "\n"


def help_of(group: click.Group, program: str, words: list[str]) -> str:
    """What `program words --help` prints on a terminal of 80 columns."""
    out = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": "80"}), contextlib.redirect_stdout(out):
        status = run(group, program, [*words, "--help"])
    assert status == errors.EXIT_OK, f"{program} {' '.join(words)} --help: exit {status}"
    return out.getvalue()


def exits() -> str:
    return table("exit", "meaning", [f"| {status} | {meaning} |" for status, meaning in MEANINGS.items()])


def codes() -> str:
    """The exit statuses with the codes of the errors that end so."""
    rows = []
    for status, meaning in MEANINGS.items():
        own = " ".join(f"`{code}`" for code, exit in errors.CODES.items() if exit == status)
        rows.append(f"| {status} | {meaning} | {own} |")
    return table("exit", "meaning", rows, "error codes")


def kinds() -> str:
    """The kinds of pull request with the rules that judge them, each a link to its section; or those that do not."""
    everything = [id_of(rule) for rule in RULES]
    rows = []
    for kind, names in RULES_OF.items():
        others = [name for name in everything if name not in names]
        judged = f"all but {links(others)}" if len(others) < len(names) else links(names)
        rows.append(f"| `{kind.value}` | {judged} |")
    return table("kind", "judged by", rows)


def links(rules: Sequence[str]) -> str:
    known = [id_of(rule) for rule in RULES]
    return " ".join(f"[`{name}`](#{name})" if name in known else f"`{name}`" for name in rules)


def rules() -> str:
    """A section for each rule: what kinds it judges, and its explanation as `swarm-gate rules ID` prints it."""
    sections = []
    for rule in RULES:
        name = id_of(rule)
        judged = ", ".join(kind.value for kind, names in RULES_OF.items() if name in names)
        text = re.sub(r"^(Why|Fix): ", r"**\1:** ", explanation(rule), flags=re.MULTILINE)
        text = "\n\n".join(wrapped(paragraph) for paragraph in text.split("\n\n"))
        sections.append(f"### {name}\n\n{text}\n\n**Judges:** {judged}.\n")
    return "\n" + "\n".join(sections) + "\n"


def wrapped(paragraph: str) -> str:
    return textwrap.fill(" ".join(paragraph.split()), 120, break_long_words=False, break_on_hyphens=False)


def table(first: str, second: str, rows: list[str], *more: str) -> str:
    heads = [first, second, *more]
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows]) + "\n"


def _first_paragraph(command: click.Command) -> str:
    text = (command.help or "").partition("\n\n")[0]
    return " ".join(text.split())


if __name__ == "__main__":
    main()
