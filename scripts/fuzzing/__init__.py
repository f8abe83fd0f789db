"""Malformed input for the database; see scripts/fuzz."""
