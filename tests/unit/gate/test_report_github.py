"""What a job shows: nothing that a pull request chose is a command, a link, a mention, or ends a table."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from claims.errors import Conflict, SwarmError, Undecided
from claims.names import ObjectId, RefName, TaskId
from gate.github.api import Api
from gate.report import escape
from gate.report.actions import publish
from gate.report.annotations import MAX_TEXT, MOST, commands
from gate.report.comment import MARKER, MAX_COMMENT, body_of, write_comment
from gate.report.summary import MAX_SUMMARY, summary
from gate.verdict import ClaimUsed, Finding, Outcome, Remark, Side, Verdict
from tests.support.github.fake import Fake
from tests.support.github.state import ACTIONS_BOT, REPOSITORY, STRANGER, State

HOSTILE = [
    "::error::forged",
    " ::stop-commands::x",
    "##[error]forged",
    "a\n::set-output name=verdict::pass",
    "a\r\n::error::b",
    "\x1b[2J\x1b]0;title\x07",
    "\u202eright to left",
    "\U000e0041\u200b\ufeff",
    "| a | b |\n|---|---|",
    "```\n</details>\n```",
    "</code></td></table>",
    "<img src=x onerror=alert(1)>",
    "<!-- swarm-gate: verdict -->",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "https://evil.example www.evil.example a@evil.example",
    "@octo-operator #1 octo-org/widgets#1 GH-1",
    "# heading",
    "- [ ] task",
    "&lt;b&gt; &#64;x",
    "\\`*_{}[]()<>#+-.!|",
    "%0A::error::x %25",
    "a,line=1::b",
    "$\\alpha$ $$x$$",
    "x" * 9_000,
    "",
]
MARKDOWN = MarkdownIt("gfm-like", {"html": True})
#: What the reports' own mark-up is made of.
OWN_TAGS = {"<code>", "</code>", "<details>", "</details>", "<summary>", "</summary>", "<!-- -->"}
TEXT = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=80), st.text(alphabet="|`<>[]()@#:*_~&;!/.\\\n-w$", max_size=40)
)


def verdict(word: str, count: int = 1) -> Verdict:
    """A fail in which every text is `word`."""
    side = Side(word, ObjectId("1" * 40), word)
    claim = ClaimUsed(word, word, word, word, RefName(word), word)
    findings = [Finding("paths-inside", word, word, RefName(word), word) for _ in range(count)]
    outcomes = {"paths-inside": Outcome.FAIL, "one-task": Outcome.PASS}
    return Verdict(word, "recorded", side, side, outcomes, TaskId(word), claim, findings, [Remark("one-task", word)])


def tokens(text: str) -> list[str]:
    """The kinds of everything that a Markdown parser finds, and raw HTML itself."""
    found: list[str] = []
    for token in MARKDOWN.parse(text):
        for one in (token, *(token.children or ())):
            found.append(one.content.strip() if one.type.startswith("html") else one.type)
    return found


def check_markdown(text: str, rows: int) -> None:
    kinds = tokens(text)
    assert not {"link_open", "image", "fence", "code_block", "blockquote_open", "hr"} & set(kinds)
    tags = {tag for kind in kinds if kind.startswith("<") for tag in re.findall(r"<[^>]*>", kind)}
    assert tags <= OWN_TAGS | {MARKER}, tags
    assert kinds.count("tr_open") == rows
    # GitHub finds mentions and issues once the text is HTML.
    shown = re.sub(r"<code>.*?</code>", "", MARKDOWN.render(text), flags=re.DOTALL)
    assert not re.search(r"@\w|(?:^|\W)#\d", shown)


@pytest.mark.parametrize("word", HOSTILE, ids=ascii)
def test_no_name_breaks_the_summary(word: str) -> None:
    check_markdown(summary([verdict(word)]), rows=expected_rows(verdict(word)))


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_no_text_breaks_the_summary(word: str) -> None:
    check_markdown(summary([verdict(word)]), rows=expected_rows(verdict(word)))


def expected_rows(one: Verdict) -> int:
    facts = 4
    return facts + (1 + len(one.findings)) + (1 + len(one.remarks)) + (1 + len(one.outcomes))


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_no_text_forges_a_command(word: str) -> None:
    """Every line that the runner could obey is one that the gate wrote."""
    for told in (verdict(word), Undecided("unexpected", word, word), Conflict("moved", word)):
        stream = io.StringIO()
        publish([told], {}, [word, f"x {word}"], {}, stream)
        check_log(stream.getvalue())


@pytest.mark.parametrize("word", HOSTILE, ids=ascii)
def test_no_name_forges_a_command(word: str) -> None:
    stream = io.StringIO()
    publish([verdict(word, 12)], {}, [word], {}, stream)
    check_log(stream.getvalue())


def check_log(log: str) -> None:
    first, rest = log.split("\n", 1)
    mark = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", first)
    assert mark is not None
    quoted, _, after = rest.partition(f"::{mark[1]}::\n")
    assert mark[1] not in quoted and "##[" not in log
    assert not any(line.lstrip().startswith("::") for line in re.split(r"[\n\r\x0b\x0c\x85\u2028\u2029]", quoted))
    assert all(char.isprintable() or char == "\n" for char in log)
    for line in after.splitlines():
        assert re.fullmatch(r"::(error|notice|warning) (file=[^:,]*,)?title=swarm-gate[^:,]*::.*", line), line


def test_ten_annotations_and_how_many_more() -> None:
    found = list(commands([verdict("x", 25)]))
    errors = [line for line in found if line.startswith("::error")]
    assert len(errors) == MOST and "and 16 more findings" in errors[-1]
    assert len([line for line in commands([verdict("x", 10)]) if line.startswith("::error")]) == MOST


def test_an_annotation_has_an_end_and_no_half_of_a_command() -> None:
    (line,) = (one for one in commands([verdict("y" * 4_000)]) if one.startswith("::error"))
    assert len(line.rpartition("::")[2]) <= MAX_TEXT and "fix:" not in line


@pytest.mark.parametrize("limit", [MAX_SUMMARY, 5_000, 400])
def test_a_summary_that_is_cut_keeps_the_verdict(limit: int) -> None:
    text = summary([verdict("€" * 1_000, 3_000)], limit)
    assert len(text.encode()) <= limit
    assert text.startswith("## ❌ swarm-gate: fail\n")
    assert re.search(r"and \d+ more lines", text)


def test_a_comment_fits() -> None:
    assert len(body_of([verdict("€" * 500, 3_000)])) <= MAX_COMMENT


@pytest.mark.parametrize(
    ("results", "word"),
    [
        ([], "error"),
        ([Undecided("timed-out", "late")], "error"),
        ([verdict("x"), Undecided("timed-out", "late")], "error"),
        ([verdict("x")], "fail"),
    ],
)
def test_the_worst_word_stands_on_top(results: Sequence[Verdict | SwarmError], word: str) -> None:
    assert summary(results).splitlines()[0].endswith(f"swarm-gate: {word}")


def test_outputs_end_where_they_end(tmp_path: Path) -> None:
    """A value that holds what ends values elsewhere does not end its own."""
    output, shown = tmp_path / "output", tmp_path / "summary"
    told = verdict("x\nEOF\nverdict=pass")
    environ = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(shown)}
    publish([told], told.to_json(), [], environ, io.StringIO())
    found = dict(
        re.findall(r"^(\w+)<<(?P<mark>end-[0-9a-f]{32})\n(?:.*)\n(?P=mark)$", output.read_text(), re.MULTILINE)
    )
    assert {"verdict", "kind", "trust", "task", "json"} >= set(found) >= {"verdict", "trust", "json"}
    assert output.read_text().startswith(f"verdict<<{found['verdict']}\nfail\n")
    assert shown.read_text() == summary([told])


def test_what_cannot_be_shown_changes_nothing(tmp_path: Path) -> None:
    stream = io.StringIO()
    publish([verdict("x")], {}, [], {"GITHUB_STEP_SUMMARY": str(tmp_path)}, stream)
    assert "::warning title=swarm-gate::the job's summary could not be written" in stream.getvalue()


class TestComment:
    @staticmethod
    def state() -> State:
        state = State(user=dict(ACTIONS_BOT))
        state.pull(7, "topic", "1" * 40)
        return state

    @pytest.mark.parametrize("token", ["of a job", "of an account"])
    def test_it_is_written_once_and_edited_in_place(self, token: str) -> None:
        """A job's token may not ask who it is."""
        state = self.state()
        if token == "of a job":
            state.lacks["GET /user"] = "nothing=read"
        else:
            state.user = dict(STRANGER)
        with Fake(state) as fake:
            api = Api(REPOSITORY, "token", fake.url)
            write_comment(api, 7, [verdict("first")])
            write_comment(api, 7, [verdict("second")])
            assert [one["id"] for one in fake.state.comments.values()] == [1]
            assert "second" in fake.state.comments[1]["body"]

    def test_somebody_elses_with_our_marker_is_left_alone(self) -> None:
        state = self.state()
        forged = {
            "id": 1,
            "issue": 7,
            "body": f"{MARKER}\npass",
            "user": {"login": "passer-by", "id": 9, "type": "User"},
        }
        state.comments[1] = dict(forged)
        with Fake(state) as fake:
            write_comment(Api(REPOSITORY, "token", fake.url), 7, [verdict("x")])
            assert state.comments[1] == forged and state.comments[2]["user"]["login"] == "github-actions[bot]"

    def test_a_comment_that_is_refused_is_a_warning(self) -> None:
        state = self.state()
        state.lacks["POST /repos/{owner}/{repo}/issues/{issue_number}/comments"] = "pull_requests=write"
        with Fake(state) as fake:
            stream = io.StringIO()
            api = Api(REPOSITORY, "token", fake.url)
            publish([verdict("x")], {}, [], {"SWARM_GATE_COMMENT": "true"}, stream, api, 7)
            assert "::warning title=swarm-gate::the comment could not be written" in stream.getvalue()

    def test_none_is_written_unasked(self) -> None:
        with Fake(self.state()) as fake:
            publish([verdict("x")], {}, [], {}, io.StringIO(), Api(REPOSITORY, "token", fake.url), 7)
            assert fake.requests == []


def test_a_line_that_is_cut_says_so() -> None:
    assert escape.line("x" * 50, 20) == f"{'x' * 18} …"
    assert json.loads(json.dumps(escape.line("plain", 20))) == "plain"
