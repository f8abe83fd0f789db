"""The kernel language."""
