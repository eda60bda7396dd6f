"""The gate: judges what a pull request would land. The command is `swarm-gate`."""

__version__ = "0.1.0"
