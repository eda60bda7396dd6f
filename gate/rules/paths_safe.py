"""A path that base lacks can be checked out everywhere and reads as what it is.

Why: names that differ in case or in Unicode form only, names that Windows or git reserve or that Windows may give to
another file, and characters that nobody sees let one file pass for another, or keep others from checking the repository
out.

Fix: rename the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gate.evidence import Evidence
from gate.fixes import rename, rewrite
from gate.judged import judged_paths
from gate.names import folded, objection
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "paths-safe"


def judge(evidence: Evidence) -> Ruling:
    findings = [
        Finding(
            RULE, f"the tree {shown(folder) or '(root)'} is malformed: {fault}", shown(folder), fix=rewrite(evidence)
        )
        for folder, fault in evidence.odd_trees
    ]
    protected = evidence.board.config.gate.protected
    twins = _Twins(evidence.folders)
    for judged in judged_paths(evidence):
        if judged.change.before is not None or judged.change.after is None:
            continue
        message, twin = objection(judged.path, protected), twins.of(judged.path)
        if message is None and twin is not None:
            message = f"the path is {shown(twin)} to a file system that folds case"
        if message is not None:
            findings.append(Finding(RULE, message + judged.where, shown(judged.path), fix=rename(evidence, judged)))
    return Ruling(tuple(findings))


def _by_folded(names: Iterable[bytes]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for name in sorted(names):
        found.setdefault(folded(name), []).append(name)
    return found


class _Twins:
    """Other paths of the landing tree that are the same to a file system that folds case.

    Every folder is looked at once, however many files are below it.
    """

    def __init__(self, folders: Mapping[bytes, Iterable[bytes]]) -> None:
        self._names = {folder: _by_folded(found) for folder, found in folders.items()}
        self._known: dict[bytes, bytes | None] = {b"": None}

    def of(self, path: bytes) -> bytes | None:
        """The highest path that a path, or a folder above it, is the twin of; None where there is none."""
        unknown: list[bytes] = []
        while path not in self._known:
            unknown.append(path)
            path = path.rpartition(b"/")[0]
        twin = self._known[path]
        for below in reversed(unknown):
            twin = twin if twin is not None else self._beside(below)
            self._known[below] = twin
        return twin

    def _beside(self, path: bytes) -> bytes | None:
        folder, slash, name = path.rpartition(b"/")
        others = self._names.get(folder, {}).get(folded(name), ())
        return next((folder + slash + other for other in others if other != name), None)
