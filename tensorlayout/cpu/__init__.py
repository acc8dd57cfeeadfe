"""The CPU: plans run with NumPy."""
