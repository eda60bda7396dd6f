"""`python -m tests.mutations`: take one line of the gate away at a time, and see which fixture notices.

Each mutation is made in a copy of the package `gate`, in a temporary folder; every fixture is then judged by that copy.
A mutation that no fixture notices survives, and what it took away is not tested: exit 1.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gate.rules import RULES, id_of
from tests.support import seal
from tests.support.fixture_repo import build
from tests.support.fixtures import found, load

ROOT = Path(__file__).resolve().parent.parent
#: Seconds for all fixtures under one mutation.
_DEADLINE = 600

#: Judge the fixtures that are named on standard input, each in its repository below the folder given; print those
#: whose verdict is not the expected one. It runs where the copy of `gate` lies, which therefore comes first.
_JUDGE = """
import json, sys
from pathlib import Path
sys.path.append(sys.argv[1])
import gate
assert Path(gate.__file__).parent.parent == Path.cwd(), gate.__file__
from tests.support.fixture_repo import disagreements, judge
from tests.support.fixtures import load
from tests.support.repo import Repo
noticed = []
for number, path in enumerate(json.load(sys.stdin)):
    fixture = load(path)
    try:
        wrong = disagreements(fixture, judge(fixture, Repo(Path(sys.argv[2], str(number)))))
    except Exception as error:
        wrong = [str(error)]
    if wrong:
        noticed.append(path)
print(json.dumps(noticed))
"""


class NoMutation(Exception):
    """The text to change is not there, or not once: the source has moved on from under the mutation."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """Instead of the text `before`, which stands once in `file` (below `gate/`), it has `after`."""

    what: str
    file: str
    before: str
    after: str


_JUDGED = "def judge(evidence: Evidence) -> Ruling:\n"
_NAMES = [id_of(rule).replace("-", "_") for rule in RULES]
_RULES = tuple(
    Mutation(f"rule {name.replace('_', '-')}", f"rules/{name}.py", _JUDGED, f"{_JUDGED}    return Ruling()\n")
    for name in _NAMES
)
_CONTRACT = (
    Mutation("landing: the paths of each commit", "paths.py", "if history is History.COMMITS:", "if False:"),
    Mutation(
        "landing: base to what lands",
        "landing.py",
        "{**by_path(self.proposed), **by_path(self.landed)}",
        "{**by_path(self.proposed)}",
    ),
    Mutation(
        "landing: merge base to head",
        "landing.py",
        "{**by_path(self.proposed), **by_path(self.landed)}",
        "{**by_path(self.landed)}",
    ),
    Mutation("landing: what head and base share", "landing.py", "if change.path in differ", "if change.path"),
    Mutation("landing: commits of what both have", "landing.py", "if change.path not in shared or", "if True or"),
    Mutation("landing: with renamed folders only", "landing.py", "(True, False)) if clean]", "(True, True)) if clean]"),
    Mutation("landing: without them only", "landing.py", "(True, False)) if clean]", "(False, False)) if clean]"),
    Mutation("landing: one merge base", "landing.py", "if len(bases) > 1:", "if False:"),
    Mutation("landing: a common history", "landing.py", "if not bases:", "if False:"),
    Mutation("landing: conflicts", "repository.py", "done.code == 0) for done in merged", "True) for done in merged"),
    Mutation("landing: the test merge", "landing.py", "merge_ref.tree != tree", "False"),
    Mutation("landing: merges are merged anew", "landing.py", "if len(commit.parents) == 2:", "if False:"),
    Mutation("landing: what is like no parent", "landing.py", "if change.path not in known]", "if False]"),
    Mutation("landing: commits without parents", "landing.py", " or [EMPTY_TREES[len(commit.tree)]]", ""),
    Mutation("landing: nothing lands", "gather.py", "if not landing.landed:", "if False:"),
    Mutation(
        "landing: a repository of its own", "repository.py", "        yield git\n", "        yield _users(objects)\n"
    ),
    *(
        Mutation(
            f"landing: {what} off",
            "repository.py",
            "        yield git\n",
            f"        _take_over({path!r}, objects.parent, git)\n        yield git\n",
        )
        for what, path in (
            ("attributes", "info/attributes"),
            ("grafts", "info/grafts"),
            ("replace refs", "refs/replace"),
        )
    ),
    Mutation("landing: parents of the test merge", "landing.py", "merge_ref.parents == (base, head)", "True"),
    Mutation("landing: submodules are not ignored", "repository.py", "submodules=none", "submodules=all"),
)
#: What other systems make of a name or of a link.
_SYSTEMS = (
    Mutation("names: short ones", "names.py", "return length < 8 and given == stem", "return False"),
    Mutation("names: shorter ones", "names.py", "return stem.startswith(given) or", "return given == stem or"),
    Mutation("names: selectors", "names.py", "return selector[1] if", "return None if"),
    Mutation("names: twins by what is not seen", "names.py", '_SELECTORS.sub("", unic', 'str("" + unic'),
    Mutation("names: a link's target", "rules/entries_ordinary.py", "if odd is not None:", "if False:"),
    Mutation("names: a link's way", "gather.py", "if any(entry.mode == LINK for entry in found):", "if False:"),
    Mutation("names: a link's way in another case", "gather.py", "get(folded(name), ())", "get(name.decode(), ())"),
    Mutation("names: what a proposal hides", "rules/proposals_valid.py", 'which is not seen" if unseen', '" if False'),
)
MUTATIONS = (*_RULES, *_CONTRACT, *_SYSTEMS)

#: For some of them: git in the user's own repository, with whatever is in force there, or with one thing taken over.
_USERS = """

def _users(objects: Path) -> Git:
    git = Git(objects.parent, os.environ)
    del git.environ["GIT_NO_REPLACE_OBJECTS"]
    return git


def _take_over(path: str, theirs: Path, git: Git) -> None:
    import shutil

    if not (theirs / path).exists():
        return
    if path == "refs/replace":
        del git.environ["GIT_NO_REPLACE_OBJECTS"]
        shutil.copytree(theirs / path, git.directory / path)
    else:
        (git.directory / path).parent.mkdir(exist_ok=True)
        shutil.copy(theirs / path, git.directory / path)
"""


#: Changes nothing: whatever a fixture notices then is not the mutation.
NOTHING = Mutation("nothing", "paths.py", "if history is History.COMMITS:", "if history is History.COMMITS:")


def notice(mutation: Mutation, paths: Sequence[str], repositories: Path) -> list[str]:
    """The fixtures, of those built into `repositories` in this order, that notice. Raises NoMutation."""
    with tempfile.TemporaryDirectory(prefix="swarm-mutation-") as name:
        folder = Path(name)
        shutil.copytree(ROOT / "gate", folder / "gate", ignore=shutil.ignore_patterns("__pycache__"))
        file = folder / "gate" / mutation.file
        source = file.read_text("utf-8")
        if source.count(mutation.before) != 1:
            raise NoMutation(f"{mutation.what}: {mutation.before!r} stands {source.count(mutation.before)} times")
        more = _USERS if "_users(" in mutation.after or "_take_over(" in mutation.after else ""
        file.write_text(source.replace(mutation.before, mutation.after) + more, "utf-8")
        if not paths:
            return []
        done = subprocess.run(
            [sys.executable, "-c", _JUDGE, str(ROOT), str(repositories)],
            cwd=folder,
            input=json.dumps(list(paths)),
            capture_output=True,
            text=True,
            timeout=_DEADLINE,
            check=False,
        )
    if done.returncode:
        raise NoMutation(f"{mutation.what}: {done.stderr}")
    noticed: list[str] = json.loads(done.stdout)
    return noticed


def build_all(paths: Sequence[str], folder: Path) -> None:
    """Build the repository of each fixture, named by its place in the list."""
    for number, path in enumerate(paths):
        build(load(path), folder / str(number))


def main() -> int:
    paths = found()
    with tempfile.TemporaryDirectory(prefix="swarm-mutations-") as name:
        folder = Path(name)
        seal.enter(folder / "home")
        build_all(paths, folder)
        wrong = notice(NOTHING, paths, folder)
        if wrong:
            print(f"these fixtures fail as it is: {', '.join(wrong)}", file=sys.stderr)
            return 2
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            noticed = list(pool.map(lambda mutation: notice(mutation, paths, folder), MUTATIONS))
    survivors = 0
    for mutation, by in zip(MUTATIONS, noticed, strict=True):
        survivors += not by
        more = f" and {len(by) - 1} more" if len(by) > 1 else ""
        print(f"{mutation.what:36} {by[0] + more if by else 'SURVIVES'}")
    print(f"\n{len(MUTATIONS)} mutations, {len(paths)} fixtures, {survivors} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
