"""A task's keys, each refusal with its twin; its digest and its authority's bytes; writing one."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import Any

import pytest

from claims.board.authority import parse_pattern
from claims.board.strict_yaml import split_front_matter
from claims.board.task import (
    Classification,
    Failure,
    FailureKind,
    Kind,
    Priority,
    State,
    Task,
    compose_task,
    parse_task,
    place_of,
    task_digest,
    task_path,
)
from claims.errors import Undecided
from claims.names import AgentName, LockKey, TaskId

ID = TaskId("T-20260814-abcdef01")
OTHER = TaskId("T-20260814-abcdef02")
PATH = f".agents/tasks/queued/{ID}.md"

MINIMAL = f"""\
id: {ID}
title: Opaque sessions
status: queued
classification: feature
authority:
  paths:
    - src/auth/
"""

FULL = f"""\
id: {ID}
title: "Opaque: sessions"
status: failed
classification: bug-fix
kind: integration
priority: p0
stream: log-in
depends_on: [{OTHER}, T-20260814-abcdef03]
locks:
  - spec-lock
  - "db:users"
review_by: 2026-09-01
reserved_for: codex:auth
authority: # what it may touch
  paths:
    - src/auth/

    # the page
    - docs/login.md
acceptance:
  - Sessions survive a restart.
  - |
    Two lines
    of one criterion.
verify:
  - pytest -q tests/auth
regenerated_from: T-20260813-00000001
failure:
  kind: invalid-premise
  note: There are no sessions.
completed_at: 2026-08-15T10:00:00.000Z
completed_by: 17
result: true
x-note: [1, [2]]
"""


def text(front: str = MINIMAL, body: str = "What is wanted.\n") -> bytes:
    return f"---\n{front}---\n{body}".encode()


def read(front: str, path: str = PATH) -> Task:
    return parse_task(text(front), path)


def refusal(front: str, path: str = PATH) -> Undecided:
    with pytest.raises(Undecided) as caught:
        read(front, path)
    assert caught.value.code == "malformed-task"
    return caught.value


def test_a_task_with_every_key() -> None:
    task = read(FULL, task_path(ID, State.FAILED))
    assert task.path == f".agents/tasks/failed/{ID}.md"
    assert (task.id, task.title, task.state) == (ID, "Opaque: sessions", State.FAILED)
    assert (task.classification, task.kind, task.priority) == (Classification.BUG_FIX, Kind.INTEGRATION, Priority.P0)
    assert task.stream == "log-in"
    assert task.depends_on == (OTHER, "T-20260814-abcdef03")
    assert task.locks == ("spec-lock", "db:users")
    assert (task.review_by, task.reserved_for) == (date(2026, 9, 1), "codex:auth")
    assert [pattern.text for pattern in task.authority.patterns] == ["src/auth/", "docs/login.md"]
    assert task.acceptance == ("Sessions survive a restart.", "Two lines\nof one criterion.\n")
    assert task.verify == ("pytest -q tests/auth",)
    assert task.regenerated_from == "T-20260813-00000001"
    assert task.failure == Failure(FailureKind.INVALID_PREMISE, "There are no sessions.")
    assert (task.completed_at, task.completed_by, task.result) == ("2026-08-15T10:00:00.000Z", "17", "true")
    assert task.body == "What is wanted.\n"


def test_defaults() -> None:
    task = read(MINIMAL)
    assert (task.kind, task.priority, task.stream) == (Kind.IMPLEMENTATION, Priority.P2, None)
    assert (task.depends_on, task.locks, task.acceptance, task.verify) == ((), (), (), ())
    assert (task.review_by, task.reserved_for, task.regenerated_from, task.failure) == (None, None, None, None)
    assert (task.completed_at, task.completed_by, task.result) == (None, None, None)


AUTHORITY = "authority:\n  paths:\n    - src/auth/\n"
PATHS = "  paths:\n    - src/auth/\n"
FAILURE = "failure:\n  kind: spec-gap\n  note: x\n"
MANY = "".join(f"    - src/f{number}\n" for number in range(201))

# Lines put in place of others of the minimal task, or after it: (old, new, line, words of the message, twin of new).
REFUSED: dict[str, tuple[str, str, int, str, str]] = {
    "no id": (f"id: {ID}\n", "", 1, "a task lacks `id`", f"id: {ID}\n"),
    "no title": ("title: Opaque sessions\n", "", 1, "lacks `title`", "title: x\n"),
    "no status": ("status: queued\n", "", 1, "lacks `status`", "status: queued\n"),
    "no classification": ("classification: feature\n", "", 1, "lacks `classification`", "classification: docs\n"),
    "no authority": (AUTHORITY, "", 1, "lacks `authority`", "authority:\n  paths: [x]\n"),
    "unknown key": ("", "autority: x\n", 9, "has no key `autority`", "x-autority: x\n"),
    "unknown key below": ("  paths:", "  path: x\n  paths:", 7, "an authority has no key `path`", "  x-p: x\n  paths:"),
    "another id": (str(ID), str(OTHER), 2, f"the file is named {ID}.md", str(ID)),
    "not an id": (str(ID), "T-2026081-abcdef01", 2, "`id`: 'T-2026081-abcdef01' is not a task id", str(ID)),
    "an impossible day": (str(ID), "T-20260230-abcdef01", 2, "not a real date", str(ID)),
    "title that is a number": ("Opaque sessions", "00000123", 3, "expected text, found the number 123", "'00000123'"),
    "title that is another number": ("Opaque sessions", "12e4", 3, "expected text, found the number", '"12e4"'),
    "title that is true": ("Opaque sessions", "true", 3, "expected text, found true", "on"),
    "title that is nothing": ("Opaque sessions", "", 3, "expected text, found nothing", "~x"),
    "blank title": ("Opaque sessions", '" "', 3, "text on one line", '" x"'),
    "title on two lines": ("Opaque sessions", '"a\\nb"', 3, "text on one line", '"a\\\\nb"'),
    "title that moves the cursor": ("Opaque sessions", '"a\\e[2J"', 3, "U+001B", '"a[2J"'),
    "title with a line separator": ("Opaque sessions", '"a\\Lb"', 3, "U+2028", '"a b"'),
    "title that is a list": ("Opaque sessions", "[a]", 3, "expected text, found a list", "'[a]'"),
    "unknown status": ("queued", "active", 4, "expected one of done, queued", "queued"),
    "status and folder": ("queued", "done", 4, "`status`: done, but the file is in .agents/tasks/queued/", "queued"),
    "status in capitals": ("queued", "Queued", 4, "expected one of", "queued"),
    "unknown classification": ("feature", "chore", 5, "`classification`: expected one of feature, bug-fix", "process"),
    "authority that is a list": (AUTHORITY, "authority: [src/]\n", 6, "expected a mapping, found a list", AUTHORITY),
    "no paths": ("    - src/auth/\n", "", 7, "`authority`: `paths`: expected a list, found nothing", "    - x\n"),
    "empty paths": (PATHS, "  paths: []\n", 6, "0 paths", "  paths: [x]\n"),
    "one path outside a list": (PATHS, "  paths: src/\n", 7, "expected a list, found text ('src/')", PATHS),
    "201 paths": ("    - src/auth/\n", MANY, 6, "201 paths; an authority has 1 to 200", MANY[MANY.index("\n") + 1 :]),
    "bad pattern": ("src/auth/", "src/../auth/", 8, "the pattern 'src/../auth/' has a segment '..'", "src/.x/auth/"),
    "path that is a number": ("src/auth/", "404", 8, "expected text, found the number 404", "'404'"),
    "path that is a mapping": ("src/auth/", "x: y", 8, "expected text, found a mapping", "'x: y'"),
    "unknown kind": ("", "kind: review\n", 9, "expected one of implementation", "kind: planning\n"),
    "unknown priority": ("", "priority: p4\n", 9, "expected one of p0", "priority: p3\n"),
    "priority that is a number": ("", "priority: 1\n", 9, "expected text", "priority: p1\n"),
    "stream that is no slug": ("", "stream: Log In\n", 9, "`stream`: 'Log In' is not a slug", "stream: log-in\n"),
    "dependency that is no list": ("", f"depends_on: {OTHER}\n", 9, "expected a list", f"depends_on: [{OTHER}]\n"),
    "dependency that is no id": ("", "depends_on:\n  - T-1\n", 10, "not a task id", f"depends_on:\n  - {OTHER}\n"),
    "dependencies that are nothing": ("", "depends_on:\n", 9, "expected a list, found nothing", "depends_on: []\n"),
    "itself": ("", f"depends_on: [{ID}]\n", 9, f"{ID} depends on itself", f"depends_on: [{OTHER}]\n"),
    "lock with a blank": ("", "locks: [a b]\n", 9, "not a lock key", "locks: [a-b]\n"),
    "lock that is too long": ("", f"locks: [{'a' * 121}]\n", 9, "not a lock key", f"locks: [{'a' * 120}]\n"),
    "lock that is a number": ("", "locks: [12]\n", 9, "expected text", "locks: ['12']\n"),
    "impossible date": ("", "review_by: 2026-02-30\n", 9, "`review_by`: ", "review_by: 2026-02-28\n"),
    "date that is an instant": ("", "review_by: 2026-02-28T00:00:00Z\n", 9, "not a date", "review_by: '2026-02-28'\n"),
    "week date": ("", "review_by: 2026-W09-1\n", 9, "not a date", "review_by: 2026-02-23\n"),
    "agent with a dash in front": ("", "reserved_for: -x\n", 9, "not an agent name", "reserved_for: x-\n"),
    "acceptance that is text": ("", "acceptance: x\n", 9, "expected a list", "acceptance: [x]\n"),
    "verify with a number": ("", "verify: [1]\n", 9, "expected text", "verify: ['1']\n"),
    "verify with a NUL": ("", 'verify: ["a\\0b"]\n', 9, "U+0000", 'verify: ["a\\tb"]\n'),
    "origin that is no id": ("", "regenerated_from: x\n", 9, "not a task id", f"regenerated_from: {OTHER}\n"),
    "failure without a note": ("", "failure:\n  kind: spec-gap\n", 9, "a failure lacks `note`", FAILURE),
    "failure of no kind": ("", "failure:\n  kind: bad-luck\n  note: x\n", 10, "`kind`: expected one of", FAILURE),
    "result that is a list": ("", "result: [x]\n", 9, "expected a single value, found a list", "result: x\n"),
}  # fmt: skip


def edited(old: str, new: str) -> str:
    return MINIMAL.replace(old, new, 1) if old else MINIMAL + new


@pytest.mark.parametrize(("old", "new", "line", "words", "twin"), REFUSED.values(), ids=REFUSED)
def test_refuses_with_file_and_line(old: str, new: str, line: int, words: str, twin: str) -> None:
    refused = refusal(edited(old, new))
    assert refused.message.startswith(f"{PATH}:{line}: ")
    assert words in refused.message
    assert read(edited(old, twin)).id == ID


def test_a_failed_task_says_why() -> None:
    failed = MINIMAL.replace("queued", "failed")
    path = task_path(ID, State.FAILED)
    refused = refusal(failed, path)
    assert refused.message == f"{path}:1: a failed task lacks `failure`"
    assert read(failed + "failure:\n  kind: spec-gap\n  note: x\n", path).state is State.FAILED


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_its_folder(state: State) -> None:
    failure = "failure:\n  kind: spec-gap\n  note: x\n"
    task = read(MINIMAL.replace("queued", state.value) + failure, task_path(ID, state))
    assert task.state is state
    assert place_of(task.path) == (ID, state)


def test_the_backlog_is_beside_the_tasks() -> None:
    assert task_path(ID, State.BACKLOG) == f".agents/backlog/{ID}.md"
    assert task_path(ID, State.DONE) == f".agents/tasks/done/{ID}.md"


@pytest.mark.parametrize(
    "path",
    [
        f".agents/tasks/{ID}.md",
        f".agents/tasks/active/{ID}.md",
        f".agents/tasks/backlog/{ID}.md",
        f".agents/tasks/queued/x/{ID}.md",
        f"x/.agents/tasks/queued/{ID}.md",
        f".agents/tasks/queued/{ID}",
        f".agents/tasks/queued/{ID}.MD",
        f".agents/tasks/queued/{ID}.md.md",
        ".agents/tasks/queued/.gitkeep",
        ".agents/tasks/queued/.md",
        "",
        f"{ID}.md",
    ],
)
def test_a_path_that_is_no_tasks(path: str) -> None:
    with pytest.raises(ValueError, match=r"is in none|is not named|is not a task id"):
        place_of(path)
    assert refusal(MINIMAL, path).message.startswith(f"{path}:1: ")


def test_what_comes_twice_counts_once() -> None:
    task = read(MINIMAL + f"depends_on: [{OTHER}, {OTHER}]\nlocks: [b, a, b]\n")
    assert task.depends_on == (OTHER,)
    assert task.locks == ("b", "a")


def digest_of(*lines: str) -> str:
    return "sha256:" + hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def test_the_digest_is_of_the_lines_that_do_not_change() -> None:
    front = (
        "# a comment before all keys\n" + MINIMAL + "priority: p0\n# about the priority\n\nacceptance:\n- x\n"
        "failure:\n  kind: spec-gap\n  note: x\nreview_by: 2026-09-01\nreserved_for: a\ncompleted_at: x\n"
        "completed_by: y\nresult: |\n  z\nlocks: [b]\n# the end\n"
    )
    assert read(front).digest == digest_of(
        "# a comment before all keys",
        f"id: {ID}",
        "title: Opaque sessions",
        "classification: feature",
        "authority:",
        "  paths:",
        "    - src/auth/",
        "acceptance:",
        "- x",
        "locks: [b]",
        "# the end",
    )


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("status: queued\n", "", True),
        ("status: queued\n", "status: done\ncompleted_at: now\n", True),
        ("status: queued\n", "status: queued # soon\n\n# really\n", True),
        ("title: Opaque sessions", "title: Opaque  sessions", False),
        ("title: Opaque sessions", 'title: "Opaque sessions"', False),
        ("    - src/auth/", "    - src/", False),
        ("classification: feature\n", "classification: feature\nlocks: [x]\n", False),
        ("classification: feature\n", "classification: feature\npriority: p0\n", True),
        ("classification: feature\n", "classification: feature\n# priority: p0\n", False),
    ],
)
def test_what_the_digest_notices(old: str, new: str, same: bool) -> None:
    after = task_digest(split_front_matter(text(MINIMAL.replace(old, new)), PATH))
    assert (after == read(MINIMAL).digest) is same


def test_line_ends_of_windows_change_neither_digest_nor_authority() -> None:
    one, two = parse_task(text(), PATH), parse_task(text().replace(b"\n", b"\r\n"), PATH)
    assert one == two
    assert one.digest == two.digest


def test_the_body_is_no_part_of_the_digest() -> None:
    assert parse_task(text(body="other\n"), PATH).digest == read(MINIMAL).digest


def test_the_authority_block_is_its_lines() -> None:
    task = read(FULL, task_path(ID, State.FAILED))
    assert task.authority_block == (
        b"authority: # what it may touch\n  paths:\n    - src/auth/\n\n    # the page\n    - docs/login.md\n"
    )


def test_a_large_file_exceeds_the_limits() -> None:
    with pytest.raises(Undecided) as caught:
        parse_task(text(body="x" * 256 * 1024), PATH)
    assert caught.value.code == "limits-exceeded"


def test_compose_writes_what_parse_reads() -> None:
    data = compose_task(
        id=ID,
        title='Say "hi": #1',
        paths=["src/auth/", "*.py", "app/[id]/page.tsx"],
        state=State.BACKLOG,
        classification=Classification.DOCS,
        kind=Kind.PLANNING,
        priority=Priority.P1,
        stream="log-in",
        depends_on=[OTHER],
        locks=[LockKey("a"), LockKey("12")],
        review_by=date(2026, 9, 1),
        reserved_for=AgentName("codex:auth"),
        acceptance=["a: b", "on", "two\nlines"],
        verify=["pytest -q"],
        regenerated_from=OTHER,
        body="\nWhy.\n",
    )
    task = parse_task(data, task_path(ID, State.BACKLOG))
    assert (task.title, task.state, task.kind, task.priority) == (
        'Say "hi": #1',
        State.BACKLOG,
        Kind.PLANNING,
        Priority.P1,
    )
    assert [pattern.text for pattern in task.authority.patterns] == ["src/auth/", "*.py", "app/[id]/page.tsx"]
    assert task.acceptance == ("a: b", "on", "two\nlines")
    assert (task.depends_on, task.locks, task.verify) == ((OTHER,), ("a", "12"), ("pytest -q",))
    assert (task.review_by, task.reserved_for, task.stream) == (date(2026, 9, 1), "codex:auth", "log-in")
    assert task.body == "\nWhy.\n"


def test_compose_leaves_out_what_says_nothing() -> None:
    data = compose_task(id=ID, title="Opaque sessions", paths=["src/auth/"])
    assert data == text(MINIMAL.replace("authority:", "priority: p2\nauthority:"), body="")


@pytest.mark.parametrize(
    ("given", "twin"),
    [
        ({"title": ""}, {"title": "x"}),
        ({"title": "a\nb"}, {"title": "a b"}),
        ({"title": "\x1b[2J"}, {"title": "[2J"}),
        ({"title": "\ud800"}, {"title": "\ud7ff"}),
        ({"title": "x" * 17_000}, {"title": "x" * 16_000}),
        ({"paths": []}, {"paths": ["x"]}),
        ({"paths": ["/x"]}, {"paths": ["x/"]}),
        ({"paths": [f"x{number}" for number in range(201)]}, {"paths": [f"x{number}" for number in range(200)]}),
        ({"depends_on": [ID]}, {"depends_on": [OTHER]}),
        ({"body": "a\r\nb"}, {"body": "a\rb"}),
        ({"body": "x" * 256 * 1024}, {"body": "x" * 255 * 1024}),
        ({"stream": "Log In"}, {"stream": "log-in"}),
        ({"state": State.FAILED}, {"state": State.BLOCKED}),
    ],
)
def test_compose_refuses_what_a_file_cannot_hold(given: dict[str, Any], twin: dict[str, Any]) -> None:
    base: dict[str, Any] = {"id": ID, "title": "x", "paths": ["src/"]}
    with pytest.raises(ValueError, match=r"."):
        compose_task(**{**base, **given})
    assert compose_task(**{**base, **twin})


def test_patterns_are_trusted_by_their_type() -> None:
    assert read(MINIMAL).authority.patterns == (parse_pattern("src/auth/"),)
