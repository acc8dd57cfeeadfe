"""What ends the demo early."""

from __future__ import annotations


class RefusedError(Exception):
    """A picture, folder or device that cannot be used."""


class DifferenceError(Exception):
    """A result that is not what NumPy works out."""
