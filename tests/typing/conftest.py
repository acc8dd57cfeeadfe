"""Collected by nobody: uses of the package, most of which fail."""

collect_ignore = ["right.py", "wrong.py"]
