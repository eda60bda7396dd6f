"""The commands that findings propose. They are meant to be pasted, so whatever the head named is quoted for a shell."""

from __future__ import annotations

import shlex
import unicodedata

from gate.evidence import Evidence, Subject
from gate.on_record import heads_claims
from gate.paths import Judged
from gate.tree import shown

#: Bytes that mean something else in a pathspec than themselves.
_PATHSPEC = b"*?[:\\"
#: Names that no file of a checkout has.
_NO_NAMES = (b"", b".", b"..", b".git")


def word(path: bytes) -> str:
    """A path as one word of a POSIX shell, without control or format characters.

    What cannot be shown as it is becomes `$'…'` with escapes, which bash, zsh and ksh read back to the same bytes.
    """
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        text = "\x00"
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(chr(byte) if 0x20 <= byte < 0x7F and byte not in b"\\'" else f"\\x{byte:02x}" for byte in path)
    return f"$'{escaped}'"


def put_back(evidence: Evidence, judged: Judged) -> str:
    """Let a path be as the base branch has it: restored, removed, or left alone by every commit on the way."""
    start = evidence.landing.merge_base[:12]
    if judged.commit is not None:
        return f"git reset --soft {start} && git commit -m 'In one commit'"
    if _is_unwritable(judged.path):
        return rewrite(evidence)
    git = "git --literal-pathspecs" if any(byte in judged.path for byte in _PATHSPEC) else "git"
    if judged.change.before is None:
        return f"{git} rm -- {word(judged.path)}"
    return f"{git} checkout {start} -- {word(judged.path)}"


def rename(evidence: Evidence, judged: Judged) -> str:
    """Give a path another name: its composed form where that is all, else one that somebody has to think of."""
    if judged.commit is not None:
        return put_back(evidence, judged)
    if _is_unwritable(judged.path):
        return rewrite(evidence)
    name = "NEW-NAME"
    try:
        text = judged.path.decode("utf-8")
    except UnicodeDecodeError:
        return f"git mv -- {word(judged.path)} {name}"
    composed = unicodedata.normalize("NFC", text)
    return f"git mv -- {word(judged.path)} {shlex.quote(composed) if composed != text else name}"


def rewrite(evidence: Evidence) -> str:
    """Have git write the head's trees anew, from the files in the work tree."""
    return f"git reset {evidence.landing.merge_base[:12]} && git add --all && git commit -m 'Write the trees anew'"


def _is_unwritable(path: bytes) -> bool:
    """Whether git never writes such a file, so that no command can name it: `src/../work.py` would mean another."""
    return any(part.lower() in _NO_NAMES for part in path.split(b"/"))


def move(evidence: Evidence, subject: Subject) -> str:
    """Move the task's file from queued/, as base has it, to done/."""
    queued, done = shown(subject.queued_path), shown(subject.done_path)
    return f"git checkout {evidence.landing.base[:12]} -- {queued} && git mv {queued} {done}"


def move_afresh(evidence: Evidence, subject: Subject) -> str:
    """Write the task's file into done/ anew: base's, with its status changed and nothing else."""
    queued, done = shown(subject.queued_path), shown(subject.done_path)
    status = "sed '1,/^status: /s/^status: .*/status: done/'"
    base = evidence.landing.base[:12]
    return f"rm -f {done} && git show {base}:{queued} | {status} > {done} && git add {done}"


def claim_afresh(evidence: Evidence, subject: Subject) -> str:
    """Claim on a branch without work of its own, then bring the work there: a claim comes before the work.

    Under the name of the branch's last claim, where there is one: whoever pastes it may have given theirs by option.
    """
    new = shlex.quote(f"{evidence.facts.head_branch or 'work'}-2")
    head = evidence.landing.head[:12]
    made = heads_claims(evidence)
    agent = f" --agent {made[-1].claim.agent}" if made else ""
    claim = f"git switch -c {new} {evidence.landing.base[:12]} && swarm claim {subject.id}{agent}"
    return f"{claim} && git merge --squash {head} && git commit --no-edit"
