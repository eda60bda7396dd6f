"""What a push said, and what that means. Only the flag that an edit must have, on every line, is a yes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from claims.arbiter import Verdict
from claims.arbiter.porcelain import is_not_atomic, judge_push
from claims.git import Completed
from claims.names import ObjectId, RefName
from claims.transaction import Edit, Transaction

OLD, NEW = ObjectId("1" * 40), ObjectId("2" * 40)
CREATED, MOVED, DELETED = (RefName(f"refs/swarm/task-locks/{name}") for name in ("created", "moved", "deleted"))
EDITS = Transaction((Edit(CREATED, None, NEW), Edit(MOVED, OLD, NEW), Edit(DELETED, OLD, None)))
YES = (
    f"*\t{NEW}:{CREATED}\t[new reference]",
    f"+\t{NEW}:{MOVED}\t1111111...2222222 (forced update)",
    f"-\t:{DELETED}\t[deleted]",
)
NO = "[rejected] (stale info)"


def said(
    lines: Sequence[str], code: int = 0, err: str = "", head: str = "To http://127.0.0.1/o.git", done: str = "Done"
) -> Completed:
    return Completed(code, "".join(f"{line}\n" for line in (head, *lines, done)).encode(), err)


def refused(*summaries: str) -> list[str]:
    """A line of refusal for every edit: the first summaries as given, the last of them for the rest."""
    refs = (f"{NEW}:{CREATED}", f"{NEW}:{MOVED}", f":{DELETED}")
    return [f"!\t{ref}\t{summaries[min(number, len(summaries) - 1)]}" for number, ref in enumerate(refs)]


def judged(push: Completed) -> Verdict:
    return judge_push(push, EDITS).verdict


def test_every_line_with_its_flag_is_a_yes() -> None:
    assert judged(said(YES)) is Verdict.APPLIED


def test_the_order_of_the_lines_does_not_matter() -> None:
    assert judged(said(YES[::-1])) is Verdict.APPLIED


def test_further_refs_do_not_matter() -> None:
    assert judged(said([*YES, f"=\t{NEW}:refs/heads/x\t[up to date]"])) is Verdict.APPLIED


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("flag", list("=*+-!tx"))
def test_one_flag_that_is_another_is_no_yes(number: int, flag: str) -> None:
    lines = list(YES)
    if lines[number][0] != flag:
        lines[number] = flag + lines[number][1:]
        assert judged(said(lines)) is Verdict.UNKNOWN


@pytest.mark.parametrize("number", range(3))
def test_a_ref_that_was_there_already_is_no_yes(number: int) -> None:
    """The trap: git exits 0 with `=`, and has written the other refs."""
    lines = list(YES)
    lines[number] = f"={lines[number][1:].rpartition(chr(9))[0]}\t[up to date]"
    assert judged(said(lines)) is Verdict.UNKNOWN


@pytest.mark.parametrize("number", range(3))
def test_a_line_that_is_missing_is_no_yes(number: int) -> None:
    assert judged(said([line for at, line in enumerate(YES) if at != number])) is Verdict.UNKNOWN


@pytest.mark.parametrize("code", [1, 2, 128, 141, -9, -13])
def test_an_exit_that_is_not_zero_is_no_yes(code: int) -> None:
    assert judged(said(YES, code)) is Verdict.UNKNOWN


def test_a_move_that_only_goes_forward_is_a_yes() -> None:
    lines = [YES[0], f" \t{NEW}:{MOVED}\t1111111..2222222", YES[2]]
    assert judged(said(lines)) is Verdict.APPLIED


@pytest.mark.parametrize("number", [0, 2])
def test_going_forward_is_no_creation_and_no_deletion(number: int) -> None:
    lines = list(YES)
    lines[number] = f" {lines[number][1:]}"
    assert judged(said(lines)) is Verdict.UNKNOWN


CONTENTION = [
    "[rejected] (stale info)",
    "[rejected] (atomic push failed)",
    "[rejected] (already exists)",
    "[rejected] (fetch first)",
    "[rejected] (non-fast-forward)",
    "[rejected] (remote ref updated since checkout)",
    "[remote rejected] (atomic transaction failed)",
    "[remote rejected] (atomic push failure)",
    "[remote rejected] (failed to update ref)",
    "[remote rejected] (transaction failed to start)",
    "[remote rejected] (incorrect old value provided)",
    "[remote rejected] (reference already exists)",
    "[remote rejected] (cannot lock ref 'refs/swarm/x': Unable to create 'x.lock': File exists.)",
]
RULES = [
    "[remote rejected] (pre-receive hook declined)",
    "[remote rejected] (hook declined)",
    "[remote rejected] (deny updating a hidden ref)",
    "[remote rejected] (deletion prohibited)",
    "[remote rejected] (protected branch hook declined)",
    "[remote rejected] (funny refname)",
    "[remote rejected] (shallow update not allowed)",
    "[remote rejected] (not allowed (by policy))",
    "[remote rejected]",
    "[no match]",
]


@pytest.mark.parametrize("summary", CONTENTION)
def test_contention_may_work_at_another_try(summary: str) -> None:
    assert judged(said(refused(summary), 1)) is Verdict.REFUSED


@pytest.mark.parametrize("summary", RULES)
def test_a_rule_of_the_server_does_not(summary: str) -> None:
    assert judged(said(refused(summary), 1)) is Verdict.REJECTED


@pytest.mark.parametrize("rule", RULES)
def test_one_ref_that_a_rule_refuses_decides(rule: str) -> None:
    assert judged(said(refused(rule, "[remote rejected] (atomic push failure)"), 1)) is Verdict.REJECTED
    assert judged(said(refused("[remote rejected] (atomic push failure)", rule), 1)) is Verdict.REJECTED


@pytest.mark.parametrize("line", [*YES, f" \t{NEW}:{MOVED}\t1..2"])
@pytest.mark.parametrize("summary", [NO, "[remote rejected] (hook declined)"])
def test_a_ref_that_was_written_beside_one_that_was_refused_is_not_known(line: str, summary: str) -> None:
    """Of an atomic push that cannot be; where it is, something was written after all."""
    lines = [other for other in refused(summary) if line.split("\t")[1] not in other]
    assert judged(said([line, *lines], 1)) is Verdict.UNKNOWN


def test_a_ref_that_was_there_already_beside_refused_ones_was_not_written() -> None:
    lines = [f"=\t{NEW}:{CREATED}\t[up to date]", *refused(NO)[1:]]
    assert judged(said(lines, 1)) is Verdict.REFUSED


def test_a_server_that_did_not_report_is_not_known() -> None:
    lines = refused("[remote failure] (remote failed to report status)")
    assert judged(said(lines, 1)) is Verdict.UNKNOWN
    assert judged(said([*refused(NO)[:2], lines[2]], 1)) is Verdict.UNKNOWN


@pytest.mark.parametrize("code", [0, 128, -9])
def test_a_refusal_needs_its_exit_status(code: int) -> None:
    assert judged(said(refused(NO), code)) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    "err",
    [
        "fatal: unable to access 'http://h/o.git/': The requested URL returned error: 403",
        "remote: Permission to o/r.git denied to bob.\nfatal: unable to access 'x': The requested URL returned error: "
        "403",
        "fatal: Authentication failed for 'http://h/o.git/'",
        "fatal: could not read Username for 'http://h': terminal prompts disabled",
        "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
        "ERROR: Permission to o/r.git denied to bob.\nfatal: Could not read from remote repository.",
        "fatal: remote error: access denied or repository not exported: /o.git",
        "fatal: remote error: service not enabled: /o.git",
    ],
)
def test_a_server_that_takes_no_push_at_all(err: str) -> None:
    assert judged(Completed(128, b"", err)) is Verdict.REJECTED


@pytest.mark.parametrize(
    "err",
    [
        "",
        "fatal: unable to access 'http://h/o.git/': Could not resolve host: h",
        "fatal: the remote end hung up unexpectedly",
        "error: RPC failed; curl 52 Empty reply from server\nfatal: the remote end hung up unexpectedly",
        "fatal: unable to access 'http://h/o.git/': The requested URL returned error: 500",
        # A hook said so after the push had been made, and then the connection broke.
        "remote: post-receive: permission denied for the mailer\nfatal: the remote end hung up unexpectedly",
    ],
)
def test_a_connection_that_broke_is_not_known(err: str) -> None:
    assert judged(Completed(128, b"", err)) is Verdict.UNKNOWN


def test_words_of_a_server_count_only_where_nothing_was_reported_and_git_gave_up() -> None:
    err = "fatal: unable to access 'x': The requested URL returned error: 403"
    assert judged(said(YES, 128, err)) is Verdict.UNKNOWN
    for code in (0, 1):
        assert judged(Completed(code, b"", err)) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    "out",
    [
        b"",
        b"Done\n",
        b"\n\n\n",
        b"\xff\xfe\n",
        b"*\n",
        b"*\t\n",
        b"*\tx\n",
        b"*\t:\t\n",
        b"\t\t\n",
        "\n".join(line.replace("\t", " ") for line in YES).encode(),
        "\n".join("*" + line for line in YES).encode(),
        "\n".join(line + "\tmore" for line in YES).encode(),
        "\r".join(YES).encode(),
    ],
)
@pytest.mark.parametrize("code", [0, 1, 128])
def test_garbage_is_not_known(out: bytes, code: int) -> None:
    assert judged(Completed(code, out, "")) is Verdict.UNKNOWN


def test_a_later_line_about_a_ref_counts() -> None:
    assert judged(said([*YES, *refused(NO)[:1]])) is Verdict.UNKNOWN


def test_the_words_say_why_once_and_what_git_said() -> None:
    outcome = judge_push(said(refused(NO), 1, "error: failed to push some refs to 'origin'\n"), EDITS)
    assert outcome.words == "stale info; failed to push some refs to 'origin'"


def test_the_words_hold_nothing_that_moves_a_terminal() -> None:
    outcome = judge_push(said(refused("[remote rejected] (\x1b[2J)"), 1, "remote: \x1b]0;x\x07"), EDITS)
    assert outcome.words.isprintable()


def test_there_are_words_where_git_said_nothing() -> None:
    assert judge_push(Completed(-9, b"", ""), EDITS).words == "git push ended with -9"


def test_not_atomic() -> None:
    err = "fatal: the receiving end does not support --atomic push"
    assert is_not_atomic(Completed(128, b"", err))
    assert not is_not_atomic(Completed(0, b"", err))
    assert not is_not_atomic(Completed(128, b"", "fatal: the remote end hung up unexpectedly"))
