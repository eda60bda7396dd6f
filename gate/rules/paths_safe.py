"""A path that base lacks can be checked out everywhere and reads as what it is.

Why: names that differ in case or in Unicode form only, names that Windows or git reserve, and characters that nobody
sees let one file pass for another, or keep others from checking the repository out.

Fix: rename the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from gate.evidence import Evidence
from gate.fixes import rename, rewrite
from gate.judged import judged_paths
from gate.tree import folders_of, shown
from gate.verdict import Finding, Ruling

RULE = "paths-safe"

_WINDOWS_NAMES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_WINDOWS_CHARACTERS = frozenset('<>:"|?*')
_GIT_NAMES = re.compile(r"(\.git|git~[0-9]+)[ .]*(:.*)?", re.IGNORECASE)
#: How Windows shortens the names of files that git obeys, as git's `is_ntfs_dot_generic` has it.
_SHORT_NAMES = ("gitmod", "gitatt", "gitign", "mailma", "gi7eba", "gi7d29", "gi250a", "maba30")
_SHORTENED = re.compile(r"([a-z0-9]{1,6})~[1-9][0-9]*", re.IGNORECASE)
#: Letters and marks that are not seen either: fillers, joiners, a blank Braille cell, rarer variation selectors.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Bytes of a path's component beyond which file systems refuse it.
_LONGEST = 255


def judge(evidence: Evidence) -> Ruling:
    findings = [
        Finding(
            RULE, f"the tree {shown(folder) or '(root)'} is malformed: {fault}", shown(folder), fix=rewrite(evidence)
        )
        for folder, fault in evidence.odd_trees
    ]
    names = {folder: _by_folded(found) for folder, found in evidence.folders.items()}
    for judged in judged_paths(evidence):
        if judged.change.before is not None or judged.change.after is None:
            continue
        message = objection(judged.path) or _collision(names, judged.path)
        if message is not None:
            findings.append(Finding(RULE, message + judged.where, shown(judged.path), fix=rename(evidence, judged)))
    return Ruling(tuple(findings))


def objection(path: bytes) -> str | None:
    """What is wrong with a path by itself, or None."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return "the path is not UTF-8"
    if unicodedata.normalize("NFC", text) != text:
        return "the path is not in Unicode's composed form (NFC)"
    unseen = next((char for char in text if _is_unseen(char)), None)
    if unseen is not None:
        return f"the path has the character U+{ord(unseen):04X}, which is not seen"
    if "\\" in text:
        return "the path has a backslash"
    return next((wrong for part in text.split("/") if (wrong := _objection_to_name(part)) is not None), None)


def _objection_to_name(name: str) -> str | None:
    if name in ("", ".", ".."):
        return f"{name!r} is no name"
    if len(name.encode("utf-8")) > _LONGEST:
        return f"a name of more than {_LONGEST} bytes"
    if _GIT_NAMES.fullmatch(name) or _is_short_name(name):
        return f"git reserves the name {name!r}"
    if _WINDOWS_NAMES.fullmatch(name) or name.endswith((" ", ".")) or _WINDOWS_CHARACTERS & set(name):
        return f"Windows cannot hold the name {name!r}"
    return None


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN or char in _FILLERS or "\U000e0100" <= char <= "\U000e01ef"


def _is_short_name(name: str) -> bool:
    match = _SHORTENED.fullmatch(name)
    return match is not None and len(name) == 8 and any(one.startswith(match[1].lower()) for one in _SHORT_NAMES)


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


def folded(name: bytes) -> str:
    """A name as file systems that fold case and Unicode forms compare it."""
    text = name.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())
