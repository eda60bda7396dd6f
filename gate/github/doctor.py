"""What `doctor` looks at on GitHub: whether the gate is in force, and whether something can pass it by.

One check, one function. Each yields what it finds, and raises Undecided where it cannot look: `diagnose` tells that as
unknown, for what nobody looked at is not in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from claims.errors import Undecided
from claims.git import printable
from claims.values import dataclass
from gate.github.desired import ACTIONS_APP, LABELS, SQUASH, VARIABLE, check_name, same_operators
from gate.github.finding import Check, Finding, Unknown
from gate.github.policies import EVENT, QUEUE_EVENT, Json, blocked_by, event_policies, restricting_actors
from gate.github.reading import SEE_POLICIES, Reading
from gate.github.workflow_check import check_workflow

SETUP = "swarm-gate setup --apply"
#: The workflows that answer labels, and the operators' variable that they compare with.
_LABEL_WORKFLOWS = tuple(f".github/workflows/{label['name']}.yml" for label in LABELS)
_USES = re.compile(rb"^[ \t-]*uses:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Gated:
    """What the checks are about: the repository, and one of its gated branches. `agent`: an agent works here."""

    reading: Reading
    base: str
    agent: bool = False

    @property
    def name(self) -> str:
        """The name of the required check."""
        return check_name(self.base)

    @property
    def setup(self) -> str:
        return f"{SETUP} --base {self.base}"

    def rules(self, kind: str) -> list[Mapping[str, Json]]:
        """The rules of one type in force, each with its parameters."""
        return [rule for rule in self.reading.rules(self.base) if rule.get("type") == kind]

    def parameters(self, kind: str) -> list[Mapping[str, Json]]:
        return [rule.get("parameters") or {} for rule in self.rules(kind)]

    def listed(self) -> list[Mapping[str, Json]]:
        """The entries of the check among those required in force, whatever their source."""
        found = self.parameters("required_status_checks")
        every = [one for parameters in found for one in parameters.get("required_status_checks") or ()]
        return [one for one in every if one.get("context") == self.name]


Look = Callable[[Gated], Iterable[Finding | Unknown]]


def checks(reading: Reading, bases: Sequence[str], *, agent: bool) -> list[Check]:
    """Every check of every gated branch."""
    return [Check(code, _looking(look, Gated(reading, base, agent))) for base in bases for code, look in LOOKS.items()]


def _looking(look: Look, gated: Gated) -> Callable[[], Iterable[Finding | Unknown]]:
    return lambda: look(gated)


def check_required(gated: Gated) -> Iterator[Finding]:
    """The rules in force, and not merely a ruleset that says so."""
    if gated.listed():
        return
    named = [one for one in gated.reading.rulesets() if one.get("name") == gated.name]
    found = f"no rule in force on {gated.base} requires the check {gated.name!r}"
    for one in named:
        found += f"; the ruleset of that name is {printable(str(one.get('enforcement')))}"
    yield Finding("check-required", found, "a ruleset in force that requires it", gated.setup)


def check_source(gated: Gated) -> Iterator[Finding]:
    """A required check is a name on a commit: without a source, whoever may write a commit's status can post it."""
    listed = gated.listed()
    if listed and not any(one.get("integration_id") == ACTIONS_APP for one in listed):
        sources = sorted({str(one.get("integration_id") or "anybody") for one in listed})
        yield Finding(
            "check-source",
            f"{gated.name!r} counts from {', '.join(sources)}",
            f"GitHub Actions ({ACTIONS_APP}) as its only source",
            gated.setup,
        )


def check_shared(gated: Gated) -> Iterator[Finding]:
    """Another workflow of the default branch that posts a check of the same name, by itself or from a copy."""
    own = gated.reading.gate_workflow(gated.base)
    for path in gated.reading.posting(gated.base):
        if own is not None and path != own:
            yield Finding(
                "check-shared",
                f"{printable(path)} names the check {gated.name!r} too",
                f"one workflow that posts it: {printable(own)}",
                f"rename the job, or delete {printable(path)}",
            )


def pull_request_required(gated: Gated) -> Iterator[Finding]:
    if not gated.rules("pull_request"):
        found = f"{gated.base} can be pushed to without a pull request"
        yield Finding("pull-request-required", found, "a pull request for every change", gated.setup)


def up_to_date(gated: Gated) -> Iterator[Finding]:
    """What lands has to be what was judged: the branch up to date, or a queue all of whose entries have to pass."""
    queues = gated.parameters("merge_queue")
    head_only = [one for one in queues if one.get("grouping_strategy") != "ALLGREEN"]
    if head_only:
        found = f"the merge queue of {gated.base} asks the last entry of a group alone to pass"
        yield Finding("up-to-date", found, "ALLGREEN: every entry has to pass", f"{gated.setup} --merge-queue")
    strict = any(one.get("strict_required_status_checks_policy") for one in gated.parameters("required_status_checks"))
    if not queues and not strict:
        found = f"a pull request that was judged against an older {gated.base} can be merged"
        yield Finding("up-to-date", found, "branches that are up to date, or a merge queue", gated.setup)


def history_kept(gated: Gated) -> Iterator[Finding]:
    """No force push, no deletion: either takes back what was judged."""
    for kind, what in (("non_fast_forward", "overwritten by a forced push"), ("deletion", "deleted")):
        if not gated.rules(kind):
            found = f"{gated.base} can be {what}"
            yield Finding("history-kept", found, "a rule against it, in force", gated.setup)


def squash_only(gated: Gated) -> Iterator[Finding]:
    """Merge methods that are allowed: those that every pull request rule in force allows."""
    methods = {"merge", "squash", "rebase"}
    for one in gated.parameters("pull_request"):
        methods &= set(one.get("allowed_merge_methods") or methods)
    if gated.rules("pull_request") and methods - {"squash"}:
        found = f"{gated.base} takes {', '.join(sorted(methods))} of a pull request"
        yield Finding("squash-only", found, "squash alone: one task, one commit", gated.setup)


def squash_message(gated: Gated) -> Iterator[Finding]:
    now = gated.reading.merge_settings()
    wrong = [f"{name} is {now.get(name)}" for name, value in SQUASH.items() if now.get(name) != value]
    if wrong:
        wanted = ", ".join(f"{name} {value}" for name, value in SQUASH.items())
        yield Finding("squash-message", printable("; ".join(wrong)), wanted, gated.setup)


def bypass(gated: Gated) -> Iterator[Finding | Unknown]:
    """Who is excused from the rules that the gate rests on."""
    kinds = ("pull_request", "required_status_checks", "non_fast_forward", "deletion", "merge_queue")
    numbers = {rule.get("ruleset_id") for kind in kinds for rule in gated.rules(kind)}
    for number in sorted(number for number in numbers if isinstance(number, int)):
        ruleset = gated.reading.ruleset(number)
        name = printable(str(ruleset.get("name")))
        actors = ruleset.get("bypass_actors")
        if not isinstance(actors, list):
            reason = f"GitHub does not show who may pass the ruleset {name!r}"
            yield Unknown(("bypass",), reason, "a token with Administration: write")
        for actor in actors or ():
            who = f"{actor.get('actor_type')} {actor.get('actor_id')}"
            yield Finding(
                "bypass",
                printable(f"{who} may pass the ruleset {name!r} ({actor.get('bypass_mode')})"),
                "nobody: an administrator who has to can switch the ruleset off, and is seen to",
                f"{gated.setup}   # where the ruleset is the repository's own; else its owner empties the list",
            )


def workflow(gated: Gated) -> Iterator[Finding]:
    """The workflow on the default branch, which is the one that GitHub runs, and its pins."""
    path, branch = gated.reading.gate_workflow(gated.base), gated.reading.default_branch()
    again = f"swarm-gate init --base {gated.base} --force   # and merge what it writes"
    if path is None:
        found = f"no workflow on {branch} is started by {EVENT} and posts {gated.name!r}"
        yield Finding("workflow", found, f"the gate's workflow on {branch}, whence GitHub takes it", again)
        return
    for fault in check_workflow(gated.reading.workflow_files()[path], gated.base):
        yield Finding("workflow", printable(f"{path}: {fault}"), "the workflow as init writes it", again)


def actions_allowed(gated: Gated) -> Iterator[Finding | Unknown]:
    """Whether Actions run, and those that the workflow uses."""
    where = "Settings, Actions, General"
    actions = gated.reading.actions()
    if actions.get("enabled") is not True:
        yield Finding("actions-allowed", "Actions are switched off", "Actions that run", f"switch them on: {where}")
        return
    path = gated.reading.gate_workflow(gated.base)
    if path is None or actions.get("allowed_actions") == "all":
        return
    used = [one.decode("utf-8", "replace") for one in _USES.findall(gated.reading.workflow_files()[path])]
    foreign = [one for one in used if not one.startswith("./") and not _same_owner(one, gated.reading.repository)]
    selected = gated.reading.selected_actions() if actions.get("allowed_actions") == "selected" else {}
    for one in sorted(set(foreign)):
        if not _may_run(one, selected):
            found = f"{printable(path)} uses {printable(one)}, which may not run here"
            yield Finding("actions-allowed", found, "an action that is allowed", f"allow it: {where}")


def event_policy(gated: Gated) -> Iterator[Finding | Unknown]:
    """Whether the Actions policies let the gate start, for everybody's pull requests."""
    path = gated.reading.gate_workflow(gated.base)
    if path is None:
        return  # told by `workflow`
    policies = gated.reading.policies()
    if policies is None:
        if gated.reading.private() and gated.reading.administered():
            return  # an administrator sees every policy that there is, and no default is for private repositories
        reason = "GitHub does not show the Actions policies to this token, or has none here"
        yield Unknown(
            ("event-policy",), reason, f"{SEE_POLICIES}; or see whether the gate ran for the last pull request"
        )
        return
    events = (EVENT, *((QUEUE_EVENT,) if gated.rules("merge_queue") else ()))
    for event in events:
        for name in blocked_by(policies, path, event):
            found = f"the Actions policy {printable(name)!r} keeps {event} from starting {printable(path)}"
            yield Finding("event-policy", found, f"{event} among its allowed events", SEE_POLICIES)
    for name in restricting_actors(policies, path):
        found = f"the Actions policy {printable(name)!r} lets only some accounts start {printable(path)}"
        yield Finding("event-policy", found, "a gate that runs for everybody", f"exclude {path} there: {SEE_POLICIES}")
    if not gated.reading.private() and not event_policies(policies, path):
        found = f"no Actions policy allows {EVENT} here, and GitHub's default for public repositories stops it"
        yield Finding("event-policy", found, f"a policy that allows it for {printable(path)}", gated.setup)


def workflow_token(gated: Gated) -> Iterator[Finding]:
    """What a workflow may do that does not say what it needs."""
    now = gated.reading.workflow_token()
    fix = "Settings, Actions, General, Workflow permissions: read repository contents and packages"
    if now.get("default_workflow_permissions") != "read":
        found = "a workflow's token may write wherever the workflow does not say otherwise"
        yield Finding("workflow-token", found, "a token that reads", fix)
    if now.get("can_approve_pull_request_reviews") is not False:
        found = "workflows may create and approve pull requests"
        yield Finding("workflow-token", found, "approvals by people", f"{fix}, and not to approve pull requests")


def operators(gated: Gated) -> Iterator[Finding]:
    """Who may change the board, as base says."""
    past = "have an administrator merge it past the check, which without it nobody can pass"
    wanted = "operators, without whom nobody can change the board"
    try:
        config = gated.reading.config(gated.base)
    except Undecided as fault:
        if fault.code != "malformed-config":
            raise
        yield Finding("operators", f"{gated.base}: {fault.message}", wanted, f"mend it, and {past}")
        return
    if config is None or not config.gate.operators:
        found = f"{gated.base} has no {'.agents/swarm.yaml' if config is None else 'gate.operators'}"
        yield Finding("operators", found, wanted, f"swarm init   # fill in gate.operators, and {past}")


def operator_login(gated: Gated) -> Iterator[Finding]:
    """An agent with an operator's account is an operator: it can plan its own work and land it."""
    if not gated.agent:
        return
    config, login = gated.reading.config(gated.base), gated.reading.login()
    listed = () if config is None else config.gate.operators
    if any(account.login.casefold() == login.casefold() for account in listed):
        yield Finding(
            "operator-login",
            f"an agent works here, and its token is {printable(login)}'s, who is an operator on {gated.base}",
            "an account of its own for agents",
            "give agents a token of another account, and keep an operator's out of their environment",
        )


def label_workflows(gated: Gated) -> Iterator[Finding]:
    """Whether the label workflows, where they are there, know the operators."""
    if not any(path in gated.reading.workflow_files() for path in _LABEL_WORKFLOWS):
        return
    config = gated.reading.config(gated.base)
    known = () if config is None else tuple(account.login for account in config.gate.operators)
    variable = gated.reading.variable()
    if not same_operators(variable, known):
        found = f"the variable {VARIABLE} is {'missing' if variable is None else printable(variable)}"
        yield Finding(
            "label-workflows", found, f"the operators of {gated.base}: {json.dumps(list(known))}", gated.setup
        )
    labels = {name.casefold() for name in gated.reading.labels()}
    for label in LABELS:
        if label["name"] not in labels:
            yield Finding("label-workflows", f"there is no label {label['name']}", "the labels", gated.setup)


#: Every check by its code.
LOOKS: Mapping[str, Look] = {
    "check-required": check_required,
    "check-source": check_source,
    "check-shared": check_shared,
    "pull-request-required": pull_request_required,
    "up-to-date": up_to_date,
    "history-kept": history_kept,
    "squash-only": squash_only,
    "squash-message": squash_message,
    "bypass": bypass,
    "workflow": workflow,
    "actions-allowed": actions_allowed,
    "event-policy": event_policy,
    "workflow-token": workflow_token,
    "operators": operators,
    "operator-login": operator_login,
    "label-workflows": label_workflows,
}


def _same_owner(action: str, repository: str) -> bool:
    return action.split("/")[0].casefold() == repository.split("/")[0].casefold()


def _may_run(action: str, selected: Mapping[str, Json]) -> bool:
    """Whether an action of somebody else may run. A verified publisher cannot be told from here: name the action."""
    patterns = [str(one) for one in selected.get("patterns_allowed") or ()]
    refused = any(fnmatchcase(action, one[1:]) for one in patterns if one.startswith("!"))
    named = any(fnmatchcase(action, one) for one in patterns)
    githubs = action.split("/")[0] in ("actions", "github") and selected.get("github_owned_allowed") is True
    return not refused and (named or githubs)
