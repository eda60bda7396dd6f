"""Claims: who works on which task, decided by git refs. The command is `swarm`."""

__version__ = "0.1.0"
