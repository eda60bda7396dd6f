"""A task file cut into the parts that rules compare: lines as bytes, line ends and all."""

from __future__ import annotations

from collections.abc import Sequence

from claims.board.strict_yaml import split_front_matter
from claims.values import dataclass
from gate.tree import shown

#: What `swarm done` writes beside the status: top-level keys of one line each.
COMPLETION = ("completed_at", "completed_by", "result")
#: Lines of a difference that are told.
_SHOWN = 10
#: A difference between more lines than this is not worked out: it takes time that grows with their product.
_COMPARED = 400


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task file's parts.

    `authority` are the lines of the authority block. `rest` are all other lines of the front matter but the first lines
    of `status` and of what completes a task. `body` is everything after the front matter.
    """

    authority: bytes
    rest: tuple[bytes, ...]
    body: bytes


def cut(data: bytes, where: str) -> TaskText:
    """Cut a file. Raises Undecided `malformed-task` or `limits-exceeded` for one that does not read strictly."""
    front = split_front_matter(data, where)
    raw = data.split(b"\n")
    lines = raw[1 : 1 + len(front.lines)]
    spans = front.spans()
    authority = set(range(*spans.get("authority", (0, 0))))
    own = [spans[key] for key in ("status", *COMPLETION) if key in spans]
    # A value of several lines could be the lines of the key before it: then it stays, and differs.
    dropped = {start for start, end in own if all(_is_idle(line) for line in lines[start + 1 : end])}
    return TaskText(
        authority=b"".join(lines[number] + b"\n" for number in sorted(authority)),
        rest=tuple(line for number, line in enumerate(lines) if number not in authority and number not in dropped),
        body=b"\n".join(raw[2 + len(front.lines) :]),
    )


def _is_idle(line: bytes) -> bool:
    return line.strip()[:1] in (b"", b"#")


def is_appended(base: bytes, landed: bytes) -> bool:
    """Whether `landed` is `base` with whole lines after it."""
    if not landed.startswith(base):
        return False
    added = landed[len(base) :]
    return not added or not base or base.endswith(b"\n") or added.startswith(b"\n")


def difference(base: Sequence[bytes], landed: Sequence[bytes]) -> str:
    """The lines that differ, on one line, as `-` and `+`."""
    if len(base) + len(landed) > _COMPARED:
        return f"{len(base)} lines on base, {len(landed)} on the branch"
    import difflib  # where nothing differs it is not needed

    before, after = [shown(line) for line in base], [shown(line) for line in landed]
    lines = [
        line[:200] for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:3] not in ("---", "+++")
    ]
    lines = [line for line in lines if not line.startswith("@@")]
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return " | ".join(lines[:_SHOWN]) + more
