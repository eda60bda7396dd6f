"""The configuration: its defaults, its keys, each refusal with its twin."""

from __future__ import annotations

import pytest

from claims.board.authority import parse_pattern
from claims.board.config import (
    CONFIG_PATH,
    Account,
    Config,
    Exemption,
    GateConfig,
    History,
    Overlap,
    Signatures,
    parse_config,
)
from claims.board.task import Kind
from claims.errors import Undecided


def config(text: str) -> Config:
    return parse_config(text.encode())


@pytest.mark.parametrize("text", ["", "\n", "# lease_minutes: 45\n", "x-team: sessions\n", "gate:\n  x-a: 1\n"])
def test_every_key_has_a_default(text: str) -> None:
    read = config(text)
    assert read == Config()
    assert (read.lease_minutes, read.wip, read.one_claim_per_agent) == (30, {}, False)
    assert (read.overlap, read.retention_days) == (Overlap.WARN, 30)
    assert read.gate == GateConfig((), (), History.COMMITS, False, (), Signatures.OFF)


def test_the_example_of_the_specification() -> None:
    read = config(
        """\
lease_minutes: 45            # 1..1440
wip:                         # caps on held claims, by task kind; absent = no cap
  implementation: 3
  planning: 0
one_claim_per_agent: true    # default false
overlap: refuse
gate:
  operators: [octocat]
  protected: [deploy/]
  history: squash
  hotfix: true
  exempt:
    - login: "dependabot[bot]"
      paths: [package-lock.json, "requirements*.txt"]
  signatures: required
retention_days: 60
"""
    )
    assert (read.lease_minutes, read.one_claim_per_agent, read.overlap) == (45, True, Overlap.REFUSE)
    assert read.wip == {Kind.IMPLEMENTATION: 3, Kind.PLANNING: 0}
    assert read.retention_days == 60
    paths = (parse_pattern("package-lock.json"), parse_pattern("requirements*.txt"))
    assert read.gate == GateConfig(
        operators=(Account("octocat"),),
        protected=(parse_pattern("deploy/"),),
        history=History.SQUASH,
        hotfix=True,
        exempt=(Exemption(Account("dependabot[bot]"), paths),),
        signatures=Signatures.REQUIRED,
    )


@pytest.mark.parametrize(
    "text",
    [
        "gate:\n  operators: [octocat, {login: hubot, id: 7}]\n",
        "gate:\n  operators:\n    - octocat\n    - login: hubot\n      id: 7\n",
        '{"gate": {"operators": ["octocat", {"login": "hubot", "id": 7}]}}',
    ],
)
def test_operators_are_logins_or_accounts(text: str) -> None:
    assert config(text).gate.operators == (Account("octocat"), Account("hubot", 7))


@pytest.mark.parametrize(
    ("account", "login", "number", "same"),
    [
        (Account("octocat"), "octocat", None, True),
        (Account("octocat"), "OctoCat", 5, True),
        (Account("octocat"), "octocat2", 5, False),
        (Account("octocat", 5), "Octocat", 5, True),
        (Account("octocat", 5), "octocat", 6, False),
        (Account("octocat", 5), "octocat", None, False),
    ],
)
def test_who_an_account_is(account: Account, login: str, number: int | None, same: bool) -> None:
    assert account.is_author(login, number) is same


# What is refused, its line, words of the message, and the twin.
REFUSED = [
    ("lease: 5\n", 1, "the configuration has no key `lease`", "x-lease: 5\n"),
    ("lease_minutes: 0\n", 1, "`lease_minutes`: expected 1 to 1440, found 0", "lease_minutes: 1\n"),
    ("lease_minutes: 1441\n", 1, "expected 1 to 1440", "lease_minutes: 1440\n"),
    ("lease_minutes: '30'\n", 1, "expected a whole number", "lease_minutes: 30\n"),
    ("lease_minutes: 30.0\n", 1, "expected a whole number", "lease_minutes: 30\n"),
    ("lease_minutes:\n", 1, "found nothing", "# lease_minutes:\n"),
    ("wip: 3\n", 1, "`wip`: expected a mapping", "wip: {}\n"),
    ("wip:\n  feature: 3\n", 2, "`wip`: wip has no key `feature`", "wip:\n  amendment: 3\n"),
    ("wip:\n  planning: -1\n", 2, "`planning`: expected 0 to", "wip:\n  planning: 0\n"),
    ("wip:\n  planning: true\n", 2, "expected a whole number, found true", "wip:\n  planning: 1\n"),
    ("one_claim_per_agent: yes\n", 1, "expected true or false, found text ('yes')", "one_claim_per_agent: true\n"),
    ("one_claim_per_agent: 1\n", 1, "expected true or false, found the number 1", "one_claim_per_agent: True\n"),
    ("overlap: off\n", 1, "expected one of warn, refuse", "overlap: warn\n"),
    ("gate: []\n", 1, "`gate`: expected a mapping", "gate: {}\n"),
    ("gate:\n  operator: [x]\n", 2, "the gate's configuration has no key `operator`", "gate:\n  operators: [x]\n"),
    ("gate:\n  operators: x\n", 2, "expected a list", "gate:\n  operators: []\n"),
    ("gate:\n  operators: ['@x']\n", 2, "'@x' is not a login", "gate:\n  operators: ['x[bot]']\n"),
    ("gate:\n  operators: [7]\n", 2, "expected a mapping", "gate:\n  operators: ['7']\n"),
    ("gate:\n  operators: [{id: 7}]\n", 2, "an account lacks `login`", "gate:\n  operators: [{login: x}]\n"),
    ("gate:\n  operators: [{login: x, id: '7'}]\n", 2, "whole number", "gate:\n  operators: [{login: x, id: 7}]\n"),
    ("gate:\n  protected: ['!x']\n", 2, "the pattern '!x' starts with !", "gate:\n  protected: ['x!']\n"),
    ("gate:\n  history: merge\n", 2, "expected one of commits, squash", "gate:\n  history: commits\n"),
    ("gate:\n  hotfix: on\n", 2, "expected true or false", "gate:\n  hotfix: false\n"),
    ("gate:\n  signatures: false\n", 2, "expected text, found false", "gate:\n  signatures: off\n"),
    ("gate:\n  exempt: [x]\n", 2, "expected a mapping", "gate:\n  exempt: [{login: x, paths: [y]}]\n"),
    ("gate:\n  exempt:\n  - login: x\n", 3, "lacks `paths`", "gate:\n  exempt:\n  - login: x\n    paths: [y]\n"),
    ("gate:\n  exempt:\n  - login: x\n    paths: []\n", 4, "without paths", "gate:\n  exempt: []\n"),
    ("retention_days: -1\n", 1, "expected 0 to", "retention_days: 0\n"),
    ("lease_minutes: 5\nlease_minutes: 5\n", 2, "the key `lease_minutes` again", "lease_minutes: 5\n"),
    ("- lease_minutes: 5\n", 1, "expected keys and values", "lease_minutes: 5\n"),
]


@pytest.mark.parametrize(("text", "line", "words", "twin"), REFUSED)
def test_refuses_with_file_and_line(text: str, line: int, words: str, twin: str) -> None:
    with pytest.raises(Undecided) as caught:
        config(text)
    assert caught.value.code == "malformed-config"
    assert caught.value.message.startswith(f"{CONFIG_PATH}:{line}: ")
    assert words in caught.value.message
    assert isinstance(config(twin), Config)


def test_suggests_the_key_that_was_meant() -> None:
    with pytest.raises(Undecided) as caught:
        config("lease_minuts: 5\n")
    assert caught.value.hint == "did you mean `lease_minutes`?"
    with pytest.raises(Undecided) as caught:
        config("gate:\n  zzz: 5\n")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("it may have: operators, protected, history")
