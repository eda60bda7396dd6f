"""What the fake answers, by operation. A handler gets the state, the path's parameters, the query and the body."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tests.support.github.state import ACTIONS_BOT, Handler, State

_REPO = "/repos/{owner}/{repo}"
Answer = tuple[int, Any]
Words = Mapping[str, str]

NOT_FOUND: Answer = (404, {"message": "Not Found", "documentation_url": "https://docs.example.invalid/"})


def _unprocessable(message: str) -> Answer:
    return 422, {"message": message, "documentation_url": "https://docs.example.invalid/"}


def _page(found: Sequence[Any], query: Words) -> Answer:
    size, number = int(query.get("per_page", "30")), int(query.get("page", "1"))
    return 200, list(found[size * (number - 1) : size * number])


def _settings(state: State, names: Words, query: Words, body: Any) -> Answer:
    return 200, dict(state.settings)


def _change_settings(state: State, names: Words, query: Words, body: Any) -> Answer:
    state.settings.update(body)
    return 200, dict(state.settings)


def _pull(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.pulls.get(int(names["pull_number"]))
    return (200, found) if found is not None else NOT_FOUND


def _pull_commits(state: State, names: Words, query: Words, body: Any) -> Answer:
    number = int(names["pull_number"])
    return _page(state.commits.get(number, [])[:250], query) if number in state.pulls else NOT_FOUND


def _issues(state: State, names: Words, query: Words, body: Any) -> Answer:
    wanted = {name for name in query.get("labels", "").split(",") if name}
    found = [
        issue
        for issue in state.issues.values()
        if issue.get("state", "open") == query.get("state", "open")
        and wanted <= {label["name"] for label in issue.get("labels", [])}
    ]
    found.sort(key=lambda one: one["number"], reverse=query.get("direction", "desc") == "desc")
    return _page(found, query)


def _issue(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.issues.get(int(names["issue_number"]))
    return (200, found) if found is not None else NOT_FOUND


def _issue_events(state: State, names: Words, query: Words, body: Any) -> Answer:
    number = int(names["issue_number"])
    return _page(state.events.get(number, []), query) if number in state.issues else NOT_FOUND


def _remove_label(state: State, names: Words, query: Words, body: Any) -> Answer:
    issue = state.issues.get(int(names["issue_number"]))
    labels = issue.get("labels", []) if issue is not None else []
    left = [label for label in labels if label["name"] != names["name"]]
    if issue is None or len(left) == len(labels):
        return 404, {"message": "Label does not exist", "documentation_url": "https://docs.example.invalid/"}
    issue["labels"] = left
    known = state.events.setdefault(int(names["issue_number"]), [])
    happened = {"id": len(known) + 1, "event": "unlabeled", "created_at": state.now}
    known.append({**happened, "actor": dict(state.user), "label": {"name": names["name"]}})
    return 200, left


def _comments(state: State, names: Words, query: Words, body: Any) -> Answer:
    number = int(names["issue_number"])
    if number not in state.issues and number not in state.pulls:
        return NOT_FOUND
    return _page([one for one in state.comments.values() if one["issue"] == number], query)


def _add_comment(state: State, names: Words, query: Words, body: Any) -> Answer:
    number = int(names["issue_number"])
    if number not in state.issues and number not in state.pulls:
        return NOT_FOUND
    if len(body["body"]) > 65_536:
        return _unprocessable("body is too long (maximum is 65536 characters)")
    made = len(state.comments) + 1
    user = ACTIONS_BOT if state.user.get("type") == "Bot" else state.user
    times = {"created_at": state.now, "updated_at": state.now}
    state.comments[made] = {"id": made, "issue": number, "body": body["body"], "user": dict(user), **times}
    return 201, state.comments[made]


def _comment(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.comments.get(int(names["comment_id"]))
    return (200, found) if found is not None else NOT_FOUND


def _edit_comment(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.comments.get(int(names["comment_id"]))
    if found is None:
        return NOT_FOUND
    if len(body["body"]) > 65_536:
        return _unprocessable("body is too long (maximum is 65536 characters)")
    found.update(body=body["body"], updated_at=state.now)
    return 200, found


def _labels(state: State, names: Words, query: Words, body: Any) -> Answer:
    return _page(state.labels, query)


def _add_label(state: State, names: Words, query: Words, body: Any) -> Answer:
    if any(one["name"].casefold() == body["name"].casefold() for one in state.labels):
        return _unprocessable("Validation Failed")
    state.labels.append({"id": len(state.labels) + 1, **body})
    return 201, state.labels[-1]


def _rulesets(state: State, names: Words, query: Words, body: Any) -> Answer:
    short = ("id", "name", "target", "source_type", "source", "enforcement")
    return _page([{name: one[name] for name in short} for one in state.rulesets.values()], query)


def _ruleset(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.rulesets.get(int(names["ruleset_id"]))
    return (200, found) if found is not None else NOT_FOUND


def _add_ruleset(state: State, names: Words, query: Words, body: Any) -> Answer:
    number = len(state.rulesets) + 1
    whole = {"target": "branch", "bypass_actors": [], "conditions": {}, "rules": [], **body}
    state.rulesets[number] = {
        "id": number,
        "source_type": "Repository",
        "source": state.settings["full_name"],
        **whole,
    }
    return 201, state.rulesets[number]


def _change_ruleset(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.rulesets.get(int(names["ruleset_id"]))
    if found is None:
        return NOT_FOUND
    found.update(body)
    return 200, found


def _rules_in_force(state: State, names: Words, query: Words, body: Any) -> Answer:
    ref = f"refs/heads/{names['branch']}"
    found = [
        {
            **rule,
            "ruleset_id": one["id"],
            "ruleset_source": one["source"],
            "ruleset_source_type": one["source_type"],
        }
        for one in state.rulesets.values()
        if one["enforcement"] == "active" and _holds_for(state, one, ref)
        for rule in one["rules"]
    ]
    return _page(found, query)


def _holds_for(state: State, ruleset: Mapping[str, Any], ref: str) -> bool:
    """Whether a ruleset's conditions mean a ref: it is included, and not excluded."""
    where = ruleset.get("conditions", {}).get("ref_name", {})
    special = {"~ALL": "refs/heads/*", "~DEFAULT_BRANCH": f"refs/heads/{state.settings['default_branch']}"}
    included, excluded = (
        any(fnmatchcase(ref, special.get(one, one)) for one in where.get(which, [])) for which in ("include", "exclude")
    )
    return included and not excluded


def _actions(state: State, names: Words, query: Words, body: Any) -> Answer:
    return 200, state.permissions


def _workflow(state: State, names: Words, query: Words, body: Any) -> Answer:
    return 200, state.workflow


def _selected(state: State, names: Words, query: Words, body: Any) -> Answer:
    return 200, state.selected


def _variable(state: State, names: Words, query: Words, body: Any) -> Answer:
    value = state.variables.get(names["name"])
    return (200, {"name": names["name"], "value": value}) if value is not None else NOT_FOUND


def _add_variable(state: State, names: Words, query: Words, body: Any) -> Answer:
    state.variables[body["name"]] = body["value"]
    return 201, {}


def _change_variable(state: State, names: Words, query: Words, body: Any) -> Answer:
    if names["name"] not in state.variables:
        return NOT_FOUND
    state.variables[names["name"]] = body["value"]
    return 204, None


def _contents(state: State, names: Words, query: Words, body: Any) -> Answer:
    branch = query.get("ref", state.settings["default_branch"]).removeprefix("refs/heads/")
    path = names["path"]
    data = state.files.get((branch, path))
    if data is not None:
        return 200, _file(path, data)
    below = [name for there, name in state.files if there == branch and name.startswith(f"{path}/")]
    entries = [_file(name, state.files[branch, name], listed=True) for name in sorted(below)]
    return (200, entries) if entries else NOT_FOUND


def _file(path: str, data: bytes, *, listed: bool = False) -> dict[str, Any]:
    known = {"type": "file", "path": path, "name": path.rpartition("/")[2], "size": len(data)}
    known["sha"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    if not listed:
        known.update(encoding="base64", content=base64.encodebytes(data).decode("ascii"))
    return known


def _permission(state: State, names: Words, query: Words, body: Any) -> Answer:
    found = state.collaborators.get(names["username"])
    if found is None:
        return NOT_FOUND
    user = dict(state.user) if state.user["login"] == names["username"] else None
    return 200, {"permission": found, "role_name": found, "user": user}


def _user(state: State, names: Words, query: Words, body: Any) -> Answer:
    return 200, state.user


ROUTES: Mapping[str, Handler] = {
    f"GET {_REPO}": _settings,
    f"PATCH {_REPO}": _change_settings,
    f"GET {_REPO}/pulls/{{pull_number}}": _pull,
    f"GET {_REPO}/pulls/{{pull_number}}/commits": _pull_commits,
    f"GET {_REPO}/issues": _issues,
    f"GET {_REPO}/issues/{{issue_number}}": _issue,
    f"GET {_REPO}/issues/{{issue_number}}/comments": _comments,
    f"POST {_REPO}/issues/{{issue_number}}/comments": _add_comment,
    f"GET {_REPO}/issues/comments/{{comment_id}}": _comment,
    f"PATCH {_REPO}/issues/comments/{{comment_id}}": _edit_comment,
    f"GET {_REPO}/issues/{{issue_number}}/events": _issue_events,
    f"DELETE {_REPO}/issues/{{issue_number}}/labels/{{name}}": _remove_label,
    f"GET {_REPO}/labels": _labels,
    f"POST {_REPO}/labels": _add_label,
    f"GET {_REPO}/rulesets": _rulesets,
    f"POST {_REPO}/rulesets": _add_ruleset,
    f"GET {_REPO}/rulesets/{{ruleset_id}}": _ruleset,
    f"PUT {_REPO}/rulesets/{{ruleset_id}}": _change_ruleset,
    f"GET {_REPO}/rules/branches/{{branch}}": _rules_in_force,
    f"GET {_REPO}/actions/permissions": _actions,
    f"GET {_REPO}/actions/permissions/workflow": _workflow,
    f"GET {_REPO}/actions/permissions/selected-actions": _selected,
    f"GET {_REPO}/actions/variables/{{name}}": _variable,
    f"POST {_REPO}/actions/variables": _add_variable,
    f"PATCH {_REPO}/actions/variables/{{name}}": _change_variable,
    f"GET {_REPO}/contents/{{path}}": _contents,
    f"GET {_REPO}/collaborators/{{username}}/permission": _permission,
    "GET /user": _user,
}
