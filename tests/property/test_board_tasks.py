"""Whatever a task is given, its file reads back as that, or is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from claims.board.task import Classification, Kind, Priority, State, compose_task, parse_task, task_path
from claims.names import TaskId, parse_agent, parse_lock_key, parse_task_id

ID = TaskId("T-20260814-abcdef01")

LINE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=40).filter(
    lambda text: text.strip() and not set(text) & set("\ufeff\ufffe\uffff")
)
TEXT = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], include_characters="\n\t"), max_size=60
).filter(lambda text: not set(text) & set("\ufeff\ufffe\uffff"))
SEGMENT = st.text(st.sampled_from("aé[](){}*?#:-_.,'\"&!@% $|<>=~`0"), min_size=1, max_size=8).filter(
    lambda name: "**" not in name and name[0] not in ".! " and name[-1] not in ". "
)
PATHS = st.lists(SEGMENT, min_size=1, max_size=3).map("/".join).filter(lambda path: path.strip("*?/."))
IDS = st.integers(0, 2**32 - 1).map(lambda number: parse_task_id(f"T-20260813-{number:08x}"))

TASKS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"title": LINE, "paths": st.lists(PATHS, min_size=1, max_size=4)},
    optional={
        "state": st.sampled_from([state for state in State if state is not State.FAILED]),
        "classification": st.sampled_from(Classification),
        "kind": st.sampled_from(Kind),
        "priority": st.sampled_from(Priority),
        "stream": st.from_regex(r"[a-z0-9]{1,5}(-[a-z0-9]{1,5}){0,2}", fullmatch=True),
        "depends_on": st.lists(IDS, max_size=3, unique=True),
        "locks": st.lists(
            st.from_regex(r"[A-Za-z0-9._/:@+-]{1,20}", fullmatch=True).map(parse_lock_key), max_size=3, unique=True
        ),
        "review_by": st.dates(date(1, 1, 1)),
        "reserved_for": st.from_regex(r"[A-Za-z0-9._:@/+][A-Za-z0-9._:@/+-]{0,9}", fullmatch=True).map(parse_agent),
        "acceptance": st.lists(TEXT, max_size=3),
        "verify": st.lists(TEXT, max_size=3),
        "regenerated_from": IDS,
        "body": st.text(st.characters(exclude_categories=["Cs"]), max_size=40).filter(lambda text: "\r\n" not in text),
    },
)


@given(TASKS)
def test_what_is_composed_reads_back(given: dict[str, Any]) -> None:
    task = parse_task(compose_task(id=ID, **given), task_path(ID, given.get("state", State.QUEUED)))
    for name, value in given.items():
        expected = tuple(value) if isinstance(value, list) else value
        if name == "paths":
            assert tuple(pattern.text for pattern in task.authority.patterns) == expected
        else:
            assert getattr(task, name) == expected


@given(st.text(max_size=30), st.lists(st.text(max_size=20), max_size=3), st.text(max_size=20))
def test_anything_reads_back_or_is_refused(title: str, acceptance: list[str], body: str) -> None:
    try:
        data = compose_task(id=ID, title=title, paths=["src/"], acceptance=acceptance, body=body)
    except ValueError:
        return
    task = parse_task(data, task_path(ID, State.QUEUED))
    assert (task.title, list(task.acceptance), task.body) == (title, acceptance, body)
