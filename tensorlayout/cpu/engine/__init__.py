"""Foundations of all plans on the CPU: memory, threads, conversions."""
