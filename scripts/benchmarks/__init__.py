"""Benchmarks of ptxspec; run through ``scripts/bench``."""
