"""A bar for rows, where tqdm is installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def show_progress(rows: Sequence[T]) -> Iterable[T]:
    """The rows, with a bar where stderr is a terminal."""
    try:
        from tqdm import tqdm
    except ImportError:  # figures matter more
        return rows
    bar: Iterable[T] = tqdm(rows, disable=None, leave=False, unit="row")
    return bar
