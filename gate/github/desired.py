"""From what is there to what the gate needs on GitHub. Pure: JSON as GitHub's REST API has it, in and out.

What others set up beside it stays: further rules, stricter reviews, further checks. Only what the gate needs is put in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any, TypeAlias

from claims.values import dataclass
from gate.github.finding import Finding
from gate.github.policies import EVENT_RULE, EVENTS, allowed_events, blocked_by, event_policies, is_own, patterns

Json: TypeAlias = Any

#: The id of GitHub Actions as an app: a check that it did not post does not count.
ACTIONS_APP = 15368
#: What the Actions policy of `setup` is called.
POLICY = "provenance-gate"
VARIABLE = "SWARM_OPERATORS"

#: Title and message of a squashed commit, which GitHub takes together or not at all.
SQUASH = {
    "allow_squash_merge": True,
    "squash_merge_commit_title": "PR_TITLE",
    "squash_merge_commit_message": "PR_BODY",
}

LABELS = (
    {"name": "agent-triage", "color": "c5def5", "description": "An agent is to classify this issue"},
    {"name": "agent-attempt", "color": "bfd4f2", "description": "An agent is to attempt this issue"},
)

#: What a pull request rule has where nothing says more; whatever is there already is kept.
_REVIEWS = {
    "dismiss_stale_reviews_on_push": False,
    "require_code_owner_review": False,
    "require_last_push_approval": False,
    "required_approving_review_count": 0,
    "required_review_thread_resolution": False,
}
_QUEUE = {
    "check_response_timeout_minutes": 30,
    "max_entries_to_build": 5,
    "max_entries_to_merge": 5,
    "min_entries_to_merge": 1,
    "min_entries_to_merge_wait_minutes": 5,
}

ADMINISTRATION = "Administration: write"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `setup` is asked for: the gated branches, and whether a merge queue leads to them."""

    bases: tuple[str, ...]
    queue: bool = False


@dataclass(frozen=True, slots=True)
class There:
    """What is there. `policies` is None where GitHub does not show them; `operators` where base names none."""

    settings: Mapping[str, Json]
    rulesets: Sequence[Mapping[str, Json]]
    labels: Sequence[str]
    operators: tuple[str, ...] | None
    variable: str | None
    policies: Sequence[Mapping[str, Json]] | None
    #: The gate's workflow on the default branch, for each base that has one.
    workflows: Mapping[str, str]
    default_branch: str = "main"

    @property
    def private(self) -> bool:
        return bool(self.settings.get("private"))


@dataclass(frozen=True, slots=True)
class Change:
    """One request that brings GitHub nearer: what it is about, before and after as JSON, and the permission it takes.

    `path` is below `/repos/OWNER/NAME`. `before` is None where there is nothing yet.
    """

    what: str
    before: Json
    after: Json
    method: str
    path: str
    body: Json
    needs: str
    #: Whether it makes the check required.
    requires: bool = False

    def diff(self) -> list[str]:
        """The lines of a unified diff of both, as indented JSON."""
        before, after = ([] if value is None else _lines(value) for value in (self.before, self.after))
        there = "/dev/null" if self.before is None else self.what
        return list(unified_diff(before, after, fromfile=there, tofile=self.what, lineterm="", n=2))

    def to_json(self) -> dict[str, Json]:
        return {
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "request": f"{self.method} {self.path}",
            "needs": self.needs,
        }


def check_name(base: str) -> str:
    """The name of the gate's check for a base branch, which is also what its ruleset is called."""
    return f"provenance-gate ({base})"


def changes(there: There, wanted: Wanted) -> list[Change]:
    """What to do, in order: what the check needs first, and the rulesets that require it last."""
    found = [*_settings(there), *_labels(there), *_variable(there), *_policy(there, wanted)]
    for base in wanted.bases:
        found += _ruleset(there, base, wanted.queue)
    return found


def in_the_way(there: There, wanted: Wanted) -> list[Finding]:
    """Why the check cannot be required yet: required now, it would keep everybody from merging anything."""
    found = []
    for base in wanted.bases:
        if base not in there.workflows:
            found.append(
                Finding(
                    "workflow-missing",
                    f"no workflow on {there.default_branch} posts the check {check_name(base)!r}",
                    f"the gate's workflow on {there.default_branch}, whence GitHub takes it",
                    f"swarm-gate init --base {base}   # then merge what it writes, and run setup again",
                )
            )
    if not there.operators:
        found.append(
            Finding(
                "operators-missing",
                f"{wanted.bases[0]} names no operators in .agents/swarm.yaml",
                "gate.operators, without which nobody can change the board once the check is required",
                "swarm init   # fill in gate.operators, merge .agents/, and run setup again",
            )
        )
    return found


def _settings(there: There) -> Iterator[Change]:
    now = {name: there.settings.get(name) for name in SQUASH}
    if now != SQUASH:
        yield Change("repository settings", now, SQUASH, "PATCH", "", SQUASH, ADMINISTRATION)


def _labels(there: There) -> Iterator[Change]:
    known = {name.casefold() for name in there.labels}
    for label in LABELS:
        if label["name"] not in known:
            yield Change(f"label {label['name']}", None, label, "POST", "/labels", label, "Issues: write")


def _variable(there: There) -> Iterator[Change]:
    if there.operators is None or same_operators(there.variable, there.operators):
        return
    value = json.dumps(list(there.operators))
    body = {"name": VARIABLE, "value": value}
    before = None if there.variable is None else {"name": VARIABLE, "value": there.variable}
    how = ("POST", "/actions/variables") if before is None else ("PATCH", f"/actions/variables/{VARIABLE}")
    yield Change(f"variable {VARIABLE}", before, body, *how, body, "Variables: write")


def same_operators(variable: str | None, operators: Iterable[str]) -> bool:
    """Whether the variable of the label workflows lists these logins and no others."""
    try:
        listed = json.loads(variable or "null")
    except ValueError:
        return False
    if not isinstance(listed, list) or not all(isinstance(login, str) for login in listed):
        return False
    return sorted(map(str.casefold, listed)) == sorted(login.casefold() for login in operators)


def _policy(there: There, wanted: Wanted) -> Iterator[Change]:
    """An event policy for the gate's workflows alone, where GitHub's default for public repositories stops them."""
    if there.policies is None:
        return
    own = next((one for one in there.policies if one.get("name") == POLICY and is_own(one)), None)
    paths = sorted({there.workflows[base] for base in wanted.bases if base in there.workflows})
    if not any(_stopped(there, own, path) for path in paths):
        return
    before = None if own is None else {name: own.get(name) for name in ("name", "enforcement", "conditions", "rules")}
    after = _policy_body(own or {}, paths)
    how = ("POST", "/actions/policies") if own is None else ("PUT", f"/actions/policies/{own['id']}")
    yield Change(f"Actions policy {POLICY}", before, after, *how, after, ADMINISTRATION)


def _stopped(there: There, own: Mapping[str, Json] | None, path: str) -> bool:
    """Whether our own policy stops the workflow, or, in a public repository, none keeps the default from doing so."""
    by_own = own is not None and any(blocked_by([own], path, event) for event in EVENTS)
    return by_own or not (there.private or event_policies(there.policies or (), path))


def _policy_body(own: Mapping[str, Json], paths: Sequence[str]) -> dict[str, Json]:
    listed = patterns(own)[0] if own else ()
    include = ["~ALL"] if "~ALL" in listed else sorted({*listed, *paths})
    events = sorted({*(allowed_events(own) or ()), *EVENTS})
    rest = [rule for rule in own.get("rules") or () if rule.get("type") != EVENT_RULE]
    return {
        "name": POLICY,
        "enforcement": "active",
        "conditions": {"workflow_path": {"include": include, "exclude": []}},
        "rules": [*rest, {"type": EVENT_RULE, "parameters": {"allowed_events": events}}],
    }


def _ruleset(there: There, base: str, queue: bool) -> Iterator[Change]:
    name = check_name(base)
    own = next((one for one in there.rulesets if one.get("name") == name), None)
    before = None if own is None else _comparable(own)
    after = _ruleset_body(before or {}, base, queue)
    if before != after:
        how = ("POST", "/rulesets") if own is None else ("PUT", f"/rulesets/{own['id']}")
        yield Change(f"ruleset {name}", before, after, *how, after, ADMINISTRATION, requires=True)


def _comparable(ruleset: Mapping[str, Json]) -> dict[str, Json]:
    """What of a ruleset can be written, its rules in order; without its bypass list where GitHub does not show that."""
    kept = {
        name: ruleset[name]
        for name in ("name", "target", "enforcement", "conditions", "bypass_actors")
        if name in ruleset
    }
    rules = sorted(ruleset.get("rules") or (), key=lambda rule: str(rule.get("type")))
    return {**kept, "rules": [_without_nothing(rule) for rule in rules]}


def _without_nothing(rule: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in rule.items() if name in ("type", "parameters") and value is not None}


def _ruleset_body(before: Mapping[str, Json], base: str, queue: bool) -> dict[str, Json]:
    rules = {rule["type"]: rule for rule in before.get("rules") or ()}
    queue = queue or "merge_queue" in rules
    parameters = {kind: rule.get("parameters") or {} for kind, rule in rules.items()}
    needed: dict[str, Json] = {
        "deletion": None,
        "non_fast_forward": None,
        "pull_request": {**_REVIEWS, **parameters.get("pull_request", {}), "allowed_merge_methods": ["squash"]},
        "required_status_checks": _checks(parameters.get("required_status_checks", {}), check_name(base), queue),
    }
    if queue:
        forced = {"grouping_strategy": "ALLGREEN", "merge_method": "SQUASH"}
        needed["merge_queue"] = {**_QUEUE, **parameters.get("merge_queue", {}), **forced}
    for kind, values in needed.items():
        rules[kind] = {"type": kind} if values is None else {"type": kind, "parameters": values}
    hidden = bool(before) and "bypass_actors" not in before
    return {
        "name": check_name(base),
        "target": "branch",
        "enforcement": "active",
        "conditions": _conditions(before.get("conditions") or {}, f"refs/heads/{base}"),
        **({} if hidden else {"bypass_actors": []}),
        "rules": [rules[kind] for kind in sorted(rules)],
    }


def _checks(now: Mapping[str, Json], name: str, queue: bool) -> dict[str, Json]:
    """The required checks with ours among them, from GitHub Actions and nobody else."""
    ours = {"context": name, "integration_id": ACTIONS_APP}
    listed = [ours if one.get("context") == name else one for one in now.get("required_status_checks") or ()]
    return {
        "do_not_enforce_on_create": False,
        **now,
        "required_status_checks": listed if ours in listed else [*listed, ours],
        # A queue brings every entry up to date by itself.
        "strict_required_status_checks_policy": bool(now.get("strict_required_status_checks_policy")) or not queue,
    }


def _conditions(now: Mapping[str, Json], ref: str) -> dict[str, Json]:
    where = now.get("ref_name") or {}
    include = list(where.get("include") or ())
    exclude = [one for one in where.get("exclude") or () if one != ref]
    return {**now, "ref_name": {"include": include if ref in include else [*include, ref], "exclude": exclude}}


def _lines(value: Json) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True).splitlines()
