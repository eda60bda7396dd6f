"""The command line of `swarm`: one command, one file. Parse, wire, print, exit; nothing is decided here."""
