"""Ended claims as they stand in the log: made by the hundred, without a command for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from tests.e2e.scene import canonical, claim_members, instant, stamp
from tests.support.repo import Repo

LOG = "refs/swarm/claim-log/"
ARCHIVE = "refs/swarm/claim-log-archive"


@dataclass(frozen=True, slots=True)
class Ended:
    """A claim on `task` that ended `days` ago, and `seconds` before that."""

    task: str
    days: float = 0
    seconds: int = 0
    outcome: str = "released"
    reason: str | None = None
    agent: str = "b1"
    by: str = "b1"


def write_log(where: Repo, ended: Iterable[Ended]) -> list[str]:
    """Write log entries; their refs. In three git processes, however many there are."""
    now = datetime.now(timezone.utc)
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    records = {}
    for one in ended:
        at = now - timedelta(days=one.days, seconds=one.seconds)
        ref = f"{LOG}{one.task}/{stamp(at)}"
        members = claim_members(where, one.task, agent=one.agent, ago=one.days * 1440 + 60, minutes=30)
        members["claimedAt"] = instant(at - timedelta(hours=1))
        members["expiresAt"] = instant(at - timedelta(minutes=30))
        closed = {"at": instant(at), "by": one.by, "outcome": one.outcome, "reason": one.reason, "commit": None}
        records[ref] = canonical({**members, "closed": closed})
    write_blobs(where, records)
    return list(records)


def write_blobs(where: Repo, contents: dict[str, bytes]) -> None:
    """Point refs at new blobs."""
    blobs = enumerate(contents.values(), 1)
    stream = b"".join(b"blob\nmark :%d\ndata %d\n%s\n" % (number, len(data), data) for number, data in blobs)
    marks = where.path / "marks"
    where.git("fast-import", "--quiet", f"--export-marks={marks.absolute()}", input=stream)
    ids = dict(line.split(" ") for line in marks.read_text().splitlines())
    marks.unlink()
    edits = [f"update {ref} {ids[f':{number}']}\n" for number, ref in enumerate(contents, 1)]
    where.git("update-ref", "--stdin", input="".join(edits))


def log_refs(where: Repo) -> set[str]:
    return set(where.refs(LOG))


def archived(where: Repo) -> dict[str, str]:
    """Path to blob of what the archive holds."""
    if where.oid(ARCHIVE) is None:
        return {}
    lines = where.git("ls-tree", "-r", ARCHIVE).splitlines()
    return {line.partition("\t")[2]: line.split()[2] for line in lines}


def archive_path(ref: str) -> str:
    """Where the archive has what stood at a log ref."""
    task, _, when = ref.removeprefix(LOG).partition("/")
    return f"{task[2:8]}/{task}/{when}.json"
