"""Reports: a verdict as text for people, as JSON for programs."""
