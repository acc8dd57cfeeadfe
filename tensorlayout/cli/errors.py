"""What ends a command with one line for the user."""

from __future__ import annotations


class CommandError(Exception):
    """A wrong argument or a refused file: one line on stderr, exit status 2."""


class DifferenceError(Exception):
    """A result that is not what NumPy works out: one line on stderr, exit status 1."""
