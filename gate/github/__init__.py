"""The gate on GitHub."""
