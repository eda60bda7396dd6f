"""What `swarm` does, one verb a file. Operations read through an arbiter, decide, and change claims through it."""
