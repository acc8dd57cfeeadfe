"""A bar on the terminal while the demo takes long."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from typing import Any, Self

DELAY = 1.0  # seconds before it is shown


class Bar:
    """tqdm's bar on stderr, if that is a terminal and tqdm is installed; else nothing."""

    def __init__(self, unit: str, total: int) -> None:
        self.unit, self.total, self.done, self.begun = unit, total, 0, time.monotonic()
        self.wanted = sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
        self.tqdm: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.tqdm is not None:
            self.tqdm.close()

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        if self.tqdm is not None:
            self.tqdm.update()
        elif self.wanted and time.monotonic() - self.begun >= DELAY:
            made = importlib.import_module("tqdm").tqdm
            named = {"total": self.total, "initial": self.done, "unit": self.unit}
            self.tqdm = made(**named, leave=False, file=sys.stderr)

    def write(self, text: str) -> None:
        """A line on stdout, above the bar."""
        if self.tqdm is None:
            print(text)
        else:
            self.tqdm.write(text, file=sys.stdout)
