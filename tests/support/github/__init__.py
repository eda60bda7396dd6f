"""GitHub on loopback: a small stateful fake, held to GitHub's own OpenAPI description."""
