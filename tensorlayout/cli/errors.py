"""Errors that end a command with one line for the user."""

from __future__ import annotations

from typing import NoReturn


class CommandError(Exception):
    """One line on stderr, and the exit status: 2 for a wrong argument or a refused file."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def refuse(text: str) -> NoReturn:
    """Raise a CommandError of ``show``."""
    raise CommandError(f"show: {text}")
