"""Hypothesis without its deadline: the machine is shared, and no test here is about time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("swarm", deadline=None)
settings.load_profile("swarm")
