"""How fast the commands are, against what nobody can do without. `python -m benchmarks claims` prints it all."""
