"""The libraries that read and write formats, where they are installed."""

from __future__ import annotations

from typing import Any

from tensorlayout.late import loaded


def library(name: str, module: str) -> Any:
    """A module of an optional library; ImportError with what to install."""
    try:
        return loaded(module)
    except ImportError as error:
        msg = f"{name} reads and writes such files: pip install 'tensorlayout[files]'"
        raise ImportError(msg) from error
