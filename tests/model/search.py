"""Breadth-first search of a world: every state within its bounds, every invariant in each of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from tests.model.invariants import ALL, violations
from tests.model.state import State
from tests.model.steps import successors
from tests.model.words import describe
from tests.model.world import Step, World, start


@dataclass(frozen=True, slots=True)
class Violation:
    """A path that breaks an invariant; `steps` ends with the one that does."""

    invariant: str
    particulars: str
    steps: tuple[tuple[Step, State], ...]

    def __str__(self) -> str:
        lines = [f"{self.invariant}: {self.particulars}"]
        lines += [f"  {number}. {describe(step, state)}" for number, (step, state) in enumerate(self.steps, 1)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found. `depth` is the length of the longest path it followed."""

    states: int
    depth: int
    violation: Violation | None


def search(world: World, invariants: Iterable[str] = ALL, most: int = 10_000_000) -> Result:
    """Visit all states within the world's bounds, or stop at the first violation. At most `most` states.

    States are told apart by their 64-bit hashes: among a million of them two share one with odds of 1 to 37 million.
    """
    wanted = frozenset(invariants)
    wedges: dict[object, str | None] = {}
    first = start(world)
    seen = {hash(first)}
    parents = array("q", [-1])
    hashes = array("q", [hash(first)])
    layer = [(0, first)]
    depth = 0
    while layer:
        following: list[tuple[int, State]] = []
        for index, state in layer:
            for step, child in successors(world, state):
                digest = hash(child)
                if digest in seen and step.told is None:
                    continue
                for invariant, particulars in violations(world, step, child, wedges):
                    if invariant in wanted:
                        path = (*_path(world, parents, hashes, index), (step, child))
                        return Result(len(seen), depth + 1, Violation(invariant, particulars, path))
                if digest in seen:
                    continue
                seen.add(digest)
                assert len(seen) <= most, "the search is larger than it should be"
                parents.append(index)
                hashes.append(digest)
                following.append((len(parents) - 1, child))
        layer = following
        depth += bool(layer)
    return Result(len(seen), depth, None)


def _path(world: World, parents: array[int], hashes: array[int], index: int) -> list[tuple[Step, State]]:
    """The steps to a state, found again by following the hashes down from the start."""
    chain = []
    while index > 0:
        chain.append(hashes[index])
        index = parents[index]
    state = start(world)
    path = []
    for digest in reversed(chain):
        step, state = next((s, child) for s, child in successors(world, state) if hash(child) == digest)
        path.append((step, state))
    return path
