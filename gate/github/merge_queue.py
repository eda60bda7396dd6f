"""The merge queue, unit by unit. `docs/gate.md`, *In a merge queue*.

The group's branch leads from base over each entry's commits to its head. Where each entry ends, the queue's own refs
say. Each is judged as if it were to land on the one before it, and has to be what merging its pull request there gives:
with the grouping HEADGREEN the check of the last entry alone lets all of them land.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from claims.errors import Conflict
from claims.names import Branch, ObjectId, RefName
from claims.values import dataclass, replace
from gate.evidence import Facts
from gate.fetched import FetchedRepository, Source, fetching, judge_once
from gate.github.event import entry_of, queue_of
from gate.github.pull import Pull
from gate.judge import judge_nothing
from gate.landing import Commit, NoLanding
from gate.verdict import Verdict

#: How often a base that moves while it is judged is judged anew.
_TRIES = 3
#: Commits on the way from a group's head to base: a queue has at most 100 entries in a group.
_MOST = 2_000
_MAX_UNITS = 100
_QUEUE, _PULLS = "refs/gate/queue/", "refs/gate/pulls/"

Verify = Callable[[Sequence[ObjectId]], bool]
#: The pull request with a number, what is known of it, and how to find out whether its commits are verified.
FactsOf = Callable[[int], tuple[Pull, Facts, Verify]]


@dataclass(frozen=True, slots=True)
class Unit:
    """One entry of a group: the pull request `number`, from the commit before it to its last."""

    number: int
    before: ObjectId
    last: Commit


def judge_group(source: Source, group: Facts, facts_of: FactsOf, environ: Mapping[str, str]) -> list[Verdict]:
    """The verdict on each unit, the lowest first; where base moved meanwhile, anew, at most three times.

    `group` is what is known of the group itself: its branch and base.

    A group of which a commit belongs to no entry gets one verdict, with the finding `group-incomplete`. Raises Conflict
    `moved` where the group is gone or a pull request in it has moved; Undecided as judging does.
    """
    with fetching(source, environ) as repository:
        for _ in range(_TRIES):
            tip, head, _ = repository.fetch_sides()
            if head != source.commit:
                raise Conflict("moved", f"{source.head} is at another commit than the group", "the queue makes another")
            verdicts = _judge(repository, group, tip, head, facts_of)
            tip_now, head_now = repository.look_again()
            if head_now != head:
                raise Conflict("moved", f"{source.head} moved while it was judged", "the queue makes another group")
            if tip_now == tip:
                return verdicts
    raise Conflict("moved", f"{source.base} moved {_TRIES} times while the group was judged", "run the job again")


def _judge(
    repository: FetchedRepository, group: Facts, tip: ObjectId, head: ObjectId, facts_of: FactsOf
) -> list[Verdict]:
    base = group.base_branch
    refs = repository.fetch_refs(f"+{queue_of(base)}*:{_QUEUE}*", below=_QUEUE)
    entries = {RefName(queue_of(base) + ref.removeprefix(_QUEUE)): commit for ref, commit in refs.items()}
    path = repository.first_parents(head, tip, _MOST + 1)
    try:
        units = split(path, tip, ends_of(base, entries))
    except NoLanding as reason:
        return [judge_nothing(group, tip, head, reason)]
    return [_judge_unit(repository, base, unit, facts_of) for unit in units]


def ends_of(base: Branch, refs: Mapping[RefName, ObjectId]) -> Mapping[ObjectId, list[int]]:
    """For each commit at which the queue has an entry end, the pull requests that it says so of."""
    found: dict[ObjectId, list[int]] = {}
    for ref, commit in sorted(refs.items()):
        number = entry_of(base, ref)
        if number is not None:
            found.setdefault(commit, []).append(number)
    return found


def split(path: Sequence[Commit], base: ObjectId, ends: Mapping[ObjectId, Sequence[int]]) -> list[Unit]:
    """The units of a group, the lowest first. `path` are its commits by first parents, the head first, without base.

    Raises NoLanding `group-incomplete` where the path does not lead to base, or a commit belongs to no one entry.
    """
    if not path or len(path) > _MOST or not path[-1].parents or path[-1].parents[0] != base:
        raise _incomplete(f"the group does not lead to {base[:12]}, where base is")
    units: list[Unit] = []
    before = base
    for commit in reversed(path):
        numbers = ends.get(commit.id, ())
        if len(numbers) > 1:
            raise _incomplete(f"{commit.id[:12]} ends the entries of several pull requests")
        if numbers:
            units.append(Unit(numbers[0], before, commit))
            before = commit.id
    if before != path[0].id:
        raise _incomplete(f"{path[0].id[:12]} belongs to no entry of the queue")
    if len(units) > _MAX_UNITS or len({unit.number for unit in units}) != len(units):
        raise _incomplete(f"{len(units)} entries, or one pull request twice")
    return units


def _judge_unit(repository: FetchedRepository, base: Branch, unit: Unit, facts_of: FactsOf) -> Verdict:
    """Judge a pull request on the unit before it. The queue's own commit stands for GitHub's test merge."""
    pull, facts, verify = facts_of(unit.number)
    if not pull.is_open or pull.base_branch != base:
        raise Conflict("moved", f"pull request {unit.number} is closed or has another base by now", "queue it again")
    ref = f"{_PULLS}{unit.number}"
    heads = repository.fetch_refs(f"+refs/pull/{unit.number}/head:{ref}", below=ref)
    head = heads.get(RefName(ref))
    if head is None or head != pull.head_commit:
        raise Conflict("moved", f"pull request {unit.number} moved since it was queued", "queue it again")
    queued = replace(unit.last, parents=(unit.before, head))
    return judge_once(repository, facts, unit.before, head, queued, verify)


def _incomplete(message: str) -> NoLanding:
    return NoLanding("group-incomplete", message, "queue the pull requests again")
