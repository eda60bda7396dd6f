"""Files below `.agents/` that a pull request could bring to base: refused with file and line, each on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scene import FILES, T1, T2, Scene, stage
from tests.support.board import manifest_file, plan_file, task_file, task_id

#: Turns the text of a valid task into the bytes of a file.
Write = Callable[[str], bytes]


def instead(old: str, new: str) -> Write:
    def write(text: str) -> bytes:
        assert old in text
        return text.replace(old, new, 1).encode("utf-8", "surrogateescape")

    return write


def with_line(line: str) -> Write:
    """One more line of front matter, before the authority; it is line 6 of the file."""
    return instead("authority:", f"{line}\nauthority:")


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file that is no task, the line that is named, and what is said of it."""

    name: str
    write: Write
    line: int
    words: str
    code: str = "malformed-task"


HOSTILE = [
    Hostile("an anchor", with_line("x-a: &a 1"), 6, "an anchor (`&`)"),
    Hostile("an alias", with_line("x-a: *a"), 6, "an alias (`*`)"),
    Hostile("an alias in a list", with_line("x-a: [1, *a]"), 6, "an alias (`*`)"),
    Hostile("a merge key", with_line("<<: {x: 1}"), 6, "a merge key (`<<`)"),
    Hostile("a merge key further in", instead("  paths:", "  <<: x\n  paths:"), 7, "a merge key (`<<`)"),
    Hostile("a tag", with_line("x-a: !!str 1"), 6, "a tag (`!`)"),
    Hostile("a tag that runs code", with_line("x-a: !!python/object/apply:os.system [id]"), 6, "a tag (`!`)"),
    Hostile("a directive", instead("---\nid", "---\n%YAML 1.1\nid"), 2, "a directive (`%`)"),
    Hostile("a key twice", with_line("status: queued"), 6, "the key `status` again; it is on line 4"),
    Hostile("an own key twice", with_line("x-a: 1\nx-a: 2"), 7, "the key `x-a` again; it is on line 6"),
    Hostile("the authority twice", instead("authority:", "authority:\n  paths: [x]\nauthority:"), 8, "again"),
    Hostile("a tab", instead("  paths:", "\tpaths:"), 7, "a tab in the indentation"),
    Hostile("a tab after blanks", instead("  paths:", " \tpaths:"), 7, "a tab in the indentation"),
    Hostile("a byte-order mark", lambda text: b"\xef\xbb\xbf" + text.encode(), 1, "a byte-order mark"),
    Hostile("a byte-order mark inside", with_line("x-a: \ufeff1"), 6, "a byte-order mark"),
    Hostile("U+2028", with_line("x-a: one\u2028status: done"), 6, "U+2028"),
    Hostile("U+2029", with_line("x-a: one\u2029status: done"), 6, "U+2029"),
    Hostile("U+0085", with_line("x-a: one\x85status: done"), 6, "U+0085"),
    Hostile("U+2028 in a comment", with_line("# one\u2028status: done"), 6, "U+2028"),
    Hostile("a lone carriage return", with_line("x-a: one\rstatus: done"), 6, "a carriage return"),
    Hostile("NUL", with_line("x-a: \0"), 6, "U+0000"),
    Hostile("an escape", with_line("x-a: \x1b[2J"), 6, "U+001B"),
    Hostile("a second document", with_line("...\n--- more"), 6, "a second document"),
    Hostile("UTF-16", lambda text: text.encode("utf-16"), 1, "does not start with a line `---`"),
    Hostile("Latin-1", with_line("x-a: \udce4"), 6, "not UTF-8"),
    Hostile("bytes that are no text in the body", lambda text: text.encode() + b"\xff\xfe", 11, "not UTF-8"),
    Hostile("no front matter", lambda text: text.encode()[4:], 1, "does not start with a line `---`"),
    Hostile("an end that is missing", lambda text: text.encode().rpartition(b"---\n")[0], 9, "no line `---` closes"),
    Hostile("nothing", lambda text: b"", 1, "does not start with a line `---`"),
    Hostile("no keys", lambda text: b"---\n---\n", 1, "nothing but blanks"),
    Hostile("front matter of 17 KiB", with_line(f"x-a: {'x' * 17 * 1024}"), 1, "16384 are allowed"),
    Hostile("17 lists within each other", with_line(f"x-a: {'[' * 17}{']' * 17}"), 6, "nested deeper than 16"),
    Hostile("8,000 brackets", with_line(f"x-a: {'[' * 8000}"), 6, "nested deeper than 16"),
    Hostile("a key nobody knows", with_line("owner: b1"), 6, "no key `owner`"),
    Hostile("a mapping in braces", with_line("x-a: {b: 1}"), 6, "a mapping in braces"),
    Hostile("a number for a title", instead("title: ", "title: 12e4 # "), 3, "expected text"),
    Hostile("text for a list", with_line("locks: spec-lock"), 6, "expected a list"),
    Hostile("a lock with a blank", with_line("locks: [spec lock]"), 6, "not a lock key"),
    Hostile("a week date", with_line("review_by: 2026-W33-5"), 6, "not a date"),
    Hostile("a day that is none", with_line("review_by: 2026-02-30"), 6, "`review_by`"),
    Hostile("another's id", instead("id: T-", f"id: {T1} # T-"), 2, f"`id`: {T1}, but the file is named"),
    Hostile("another state", instead("status: queued", "status: done"), 4, "but the file is in"),
    Hostile("a title of two lines", instead("title: ", 'title: "a\\nb" # '), 3, "text on one line"),
    Hostile("an authority over everything", instead("- src/", '- "**"'), 8, "no character besides"),
    Hostile("an authority above the root", instead("- src/", "- ../"), 8, "has no character besides"),
    Hostile("an authority over another folder", instead("- src/", "- src/../lib/"), 8, "has a segment '..'"),
    Hostile("an authority from the root of all", instead("- src/", "- /etc/"), 8, "starts with /"),
    Hostile("no authority", instead("authority:\n  paths:\n    - src/\n", ""), 1, "lacks `authority`"),
    Hostile("no paths", instead("  paths:\n    - src/\n", "  paths: []\n"), 6, "1 to 200"),
    Hostile("201 paths", instead("    - src/\n", "    - src/\n" * 201), 6, "1 to 200"),
    Hostile("300 KiB", lambda text: text.encode() + b"x" * 300 * 1024, 1, "262144", "limits-exceeded"),
    Hostile("3 MB of brackets", lambda text: b"[" * 3_000_000, 1, "262144", "limits-exceeded"),
]

#: What reads, however odd it looks.
SOUND: list[tuple[str, Write]] = [
    ("CRLF", lambda text: text.replace("\n", "\r\n").encode()),
    ("own keys", with_line("x-owner: [b1, 'c1', \"d1\"]\nx-more:\n  - a: 1\n    b: |\n      text")),
    ("comments", with_line("# & * ! %\nx-a: 1 # << : &a")),
    ("quoted hazards", with_line("x-a: '&a *b !c'\nx-b: \"\\u2028\"")),
    ("U+2028 in the body", lambda text: (text + "one\u2028two\x85\n---\nmore: &a\n").encode()),
    ("a body of 250 KiB", lambda text: text.encode() + b"x" * 250 * 1024),
    ("16 lists within each other", with_line(f"x-a: {'[' * 15}{']' * 15}")),
    ("text that is not ASCII", instead("title: ", 'title: "Größe 大小" # ')),
    ("200 paths", instead("    - src/\n", "    - src/\n" * 200)),
]

HOSTILE_AT = {task_id(0x100 + number): row for number, row in enumerate(HOSTILE)}
SOUND_AT = {task_id(0x300 + number): row for number, row in enumerate(SOUND)}
#: What else may lie in the folder.
STRANGE = ("README.md", "T-20260814-0000000z.md", f"{task_id(0x401)}.txt", ".hidden", f"{task_id(0x402)}.md/inner.md")


def place(task: str) -> str:
    return f".agents/tasks/queued/{task}.md"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A board with all of them at once, and beside them things that are no tasks."""
    rows = {task: row.write for task, row in HOSTILE_AT.items()} | {
        task: write for task, (_, write) in SOUND_AT.items()
    }
    files = {place(task): write(task_file(task)) for task, write in rows.items()}
    strange = {f".agents/tasks/queued/{name}": "what is this?\n" for name in STRANGE}
    scene = stage(tmp_path_factory.mktemp("crowded"))
    scene.change({**files, **strange})
    yield scene


@pytest.fixture(scope="module")
def listed(crowded: Scene) -> dict[str, dict[str, Any]]:
    """What `tasks` says of each."""
    return {entry["task"]: entry for entry in crowded.claims("tasks")["tasks"]}


@pytest.mark.parametrize("task", HOSTILE_AT, ids=[row.name for row in HOSTILE])
def test_what_is_no_task_is_told_with_its_line(task: str, listed: dict[str, dict[str, Any]]) -> None:
    row, entry = HOSTILE_AT[task], listed[task]
    assert (entry["ready"], entry["title"]) == (False, None)
    (reason,) = entry["reasons"]
    assert reason["code"] == row.code, reason
    assert row.words in reason["message"]
    assert row.code == "limits-exceeded" or reason["message"].startswith(f"{place(task)}:{row.line}: "), reason
    assert reason["message"].isprintable()


@pytest.mark.parametrize("task", SOUND_AT, ids=[name for name, _ in SOUND])
def test_what_looks_odd_is_a_task(task: str, listed: dict[str, dict[str, Any]]) -> None:
    assert (listed[task]["ready"], listed[task]["reasons"]) == (True, [])


def test_only_tasks_are_listed(listed: dict[str, dict[str, Any]]) -> None:
    assert set(listed) == {*HOSTILE_AT, *SOUND_AT, *(task_id(number) for number in (1, 2, 3))}


@pytest.mark.parametrize("name", ["a merge key", "300 KiB", "a second document", "UTF-16"])
def test_it_is_refused_and_its_neighbour_is_not(name: str, crowded: Scene) -> None:
    task = next(task for task, row in HOSTILE_AT.items() if row.name == name)
    assert crowded.refused(f"claim {task}")["code"] == HOSTILE_AT[task].code
    sound = next(iter(SOUND_AT))
    for line in (f"claim {sound}", "check", "release"):
        crowded.run(line, ok=True)


@pytest.mark.parametrize("command", ["claim", "steal", "renew", "check"])
def test_a_held_task_that_no_longer_reads_is_in_nobodys_way(command: str, tmp_path: Path) -> None:
    """Overlaps and caps look at the tasks of other claims."""
    scene = stage(tmp_path)
    if command in ("renew", "check"):
        scene.run(f"claim {T1}", ok=True)
    if command == "steal":
        scene.forge(T1, minutes=-1)
    scene.forge(T2)
    scene.put(config={"wip": {"implementation": 2}})
    scene.change({place(T2): HOSTILE_300_KIB})
    assert scene.claims(f"{command} {T1}")["task"] == T1


HOSTILE_300_KIB = "---\n" + "x" * 300 * 1024

#: The other files that base has: which, what is in it, the answer to whoever claims anything.
OTHERS = [
    (".agents/swarm.yaml", "lease_minutes: &a 30\n", "malformed-config", "an anchor"),
    (".agents/swarm.yaml", "wip: {implementation: 1, implementation: 2}\n", "malformed-config", "again"),
    (".agents/swarm.yaml", "a: 1\n---\nb: 2\n", "malformed-config", "a second document"),
    (".agents/swarm.yaml", "\tlease_minutes: 30\n", "malformed-config", "a tab"),
    (".agents/swarm.yaml", "gate:\n  operators: !!set {a}\n", "malformed-config", "a tag"),
    (".agents/swarm.yaml", f"gate: {'[' * 200_000}\n", "malformed-config", "nested deeper"),
    (".agents/swarm.yaml", "x" * 300 * 1024, "limits-exceeded", "262144"),
    (".agents/swarm.yaml", b"\xff\xfe", "malformed-config", "not UTF-8"),
    (".agents/plan.md", plan_file().replace("revision: 1", "revision: true"), "malformed-plan", "a whole number"),
    (".agents/plan.md", plan_file().replace("revision: 1", "revision: 1\nrevision: 2"), "malformed-plan", "again"),
    (".agents/manifest.yaml", manifest_file() + "plan_revision: 2\n", "malformed-manifest", "again"),
    (".agents/manifest.yaml", "x: &x [*x]\n" + manifest_file(), "malformed-manifest", "an anchor"),
    (".agents/manifest.yaml", "<<: [{a: 1}]\n" + manifest_file(), "malformed-manifest", "a merge key"),
]


@pytest.mark.parametrize(("path", "content", "code", "words"), OTHERS, ids=[f"{o[2]}-{o[3]}" for o in OTHERS])
def test_a_board_that_does_not_read_refuses_claims(
    path: str, content: str | bytes, code: str, words: str, tmp_path: Path
) -> None:
    plan = {".agents/plan.md": plan_file(), ".agents/manifest.yaml": manifest_file()} if "swarm" not in path else {}
    scene = stage(tmp_path, {**FILES, **plan, path: content})
    error = scene.refused(f"claim {T1}")
    assert (error["code"], words in error["message"]) == (code, True), error
    assert path in error["message"]
    assert scene.claims("status")["counts"]["queued"] == 3


#: The files that a claim needs, and what is said where one is none.
NEEDED = {
    ".agents/swarm.yaml": "malformed-config",
    ".agents/plan.md": "malformed-plan",
    ".agents/manifest.yaml": "malformed-manifest",
    place(T1): "malformed-task",
}


@pytest.mark.parametrize("path", NEEDED)
@pytest.mark.parametrize("kind", ["link", "folder", "submodule", "submodule that is here"])
def test_what_is_no_file_is_not_read_as_one(path: str, kind: str, tmp_path: Path) -> None:
    """A link is never followed, and what is no file is never taken for a missing one."""
    plan = {".agents/plan.md": plan_file(), ".agents/manifest.yaml": manifest_file()} if "swarm" not in path else {}
    scene = stage(tmp_path, {**FILES, **plan} if path != place(T1) else FILES)
    put_in_place(scene, path, kind)
    error = scene.refused(f"claim {T1}")
    if (path, kind) == (place(T1), "submodule"):
        assert error["code"] == "task-not-queued", "git says of such a commit that there is nothing"
    else:
        assert (error["code"], error["message"].startswith(f"{path}:1: ")) == (NEEDED[path], True), error
        assert kind == "link" or error["message"] == f"{path}:1: it is a {kind.partition(' ')[0]}, not a file"
    assert "root:" not in error["message"]
    scene.run(f"claim {T2}", ok=path == place(T1))


@pytest.mark.parametrize("path", NEEDED)
@pytest.mark.parametrize("kind", ["link", "folder", "submodule"])
def test_nor_by_commands_that_claim_nothing(path: str, kind: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    put_in_place(scene, path, kind)
    for line in ("status", "tasks", f"show {T1}", "check", "renew", "reap", "prune", "log", "release"):
        told = scene.run(f"{line} --json")
        assert told.error_code not in ("unexpected", "git-failed"), (line, told)
    assert scene.arbiter.refs().keys() == {ref for ref in scene.arbiter.refs() if "claim-log" in ref}


@pytest.mark.parametrize("path", [path for path in NEEDED if path != place(T1)])
def test_nor_by_those_that_read_the_working_tree(path: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    (scene.here.path / path).unlink(missing_ok=True)
    (scene.here.path / path).mkdir()
    error = scene.refused("add Title --path src/x --milestone m1")
    assert (error["code"], error["message"]) in [
        (NEEDED[path], f"{path}:1: it is a folder, not a file"),
        ("usage", "--milestone m1: there is no .agents/manifest.yaml"),
    ]


def put_in_place(scene: Scene, path: str, kind: str) -> None:
    """Have base hold something else at `path` than a file."""
    bare = scene.arbiter
    if kind == "folder":
        scene.change({path: None, f"{path}/inner": "x\n"})
        return
    target = {"link": bare.blob("/etc/passwd"), "submodule": "1" * len(bare.oid("main") or "")}.get(kind)
    lines = "commit refs/heads/main\ncommitter a <a@b.invalid> 0 +0000\ndata 1\nm\nfrom refs/heads/main^0\n"
    mode = "120000" if kind == "link" else "160000"
    bare.git("fast-import", "--quiet", input=f"{lines}M {mode} {target or bare.oid('main')} {path}\n")
