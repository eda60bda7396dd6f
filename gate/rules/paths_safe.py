"""A path that base lacks can be checked out everywhere and reads as what it is.

Why: names that differ in case or in Unicode form only, names that Windows or git reserve or that Windows may give to
another file, and characters that nobody sees let one file pass for another, or keep others from checking the repository
out.

Fix: rename the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gate.evidence import Evidence
from gate.fixes import rename, rewrite
from gate.judged import judged_paths
from gate.names import folded, objection
from gate.tree import folders_of, shown
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
    names = {folder: _by_folded(found) for folder, found in evidence.folders.items()}
    for judged in judged_paths(evidence):
        if judged.change.before is not None or judged.change.after is None:
            continue
        message = objection(judged.path, protected) or _collision(names, judged.path)
        if message is not None:
            findings.append(Finding(RULE, message + judged.where, shown(judged.path), fix=rename(evidence, judged)))
    return Ruling(tuple(findings))


def _by_folded(names: Iterable[bytes]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for name in sorted(names):
        found.setdefault(folded(name), []).append(name)
    return found


def _collision(names: Mapping[bytes, Mapping[str, Sequence[bytes]]], path: bytes) -> str | None:
    """Another path of the landing tree that is the same to a file system that folds case, here or in a folder above."""
    parts = path.split(b"/")
    for folder, name in zip(folders_of(path), parts, strict=True):
        for other in names.get(folder, {}).get(folded(name), ()):
            if other != name:
                where = b"/".join(filter(None, [folder, other]))
                return f"the path is {shown(where)} to a file system that folds case"
    return None
