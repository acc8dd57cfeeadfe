"""A bar on the terminal while the demo takes long."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any, Self

DELAY = 1.0  # seconds before it is shown


class Bar:
    """tqdm's bar on stderr, if that is a terminal and tqdm is installed; else nothing."""

    def __init__(self, unit: str, total: int) -> None:
        self.tqdm: Any = None
        if sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
            made = importlib.import_module("tqdm").tqdm
            self.tqdm = made(total=total, unit=unit, delay=DELAY, leave=False, file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.tqdm is not None:
            self.tqdm.close()

    def step(self) -> None:
        """One more is done."""
        if self.tqdm is not None:
            self.tqdm.update()

    def write(self, text: str) -> None:
        """A line on stdout, above the bar."""
        if self.tqdm is None:
            print(text)
        else:
            self.tqdm.write(text, file=sys.stdout)
