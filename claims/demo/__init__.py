"""`swarm demo`: a story told by real commands, in a temporary folder, sealed from its user's configuration."""
