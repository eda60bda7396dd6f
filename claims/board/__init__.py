"""The files under `.agents/` as values: read strictly, once, and trusted by their types afterwards."""
