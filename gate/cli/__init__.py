"""The command line of `swarm-gate`."""
