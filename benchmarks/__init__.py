"""Benchmarks: ``python -m benchmarks cpu``."""
