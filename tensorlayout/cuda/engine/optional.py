"""Libraries that only CUDA needs, imported when first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def cupy_part(name: str) -> Any:
    """A module of CuPy. RuntimeError that names the extra to install, where it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        # Its own libraries may be what is missing: the reason is told, on the same line.
        reason = str(error).strip().partition("\n")[0]
        raise RuntimeError(missing(f"CuPy cannot be imported ({reason})")) from None


def missing(what: str) -> str:
    """The line that says what is missing, and what to install."""
    return (
        f"cuda: {what}; a GPU needs pip install 'tensorlayout[cuda12]' (or 'tensorlayout[cuda13]')"
        " and NVIDIA's driver, and TENSORLAYOUT_CUDA_SIMULATOR=1 does without"
    )


def with_progress(items: Iterable[T], title: str, total: int) -> Iterator[T]:
    """The items, with a bar on the standard error: of tqdm where it is installed, else plain."""
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return _plain(items, title, total)
    bar: Iterator[T] = iter(tqdm(items, desc=title, total=total))
    return bar


def _plain(items: Iterable[T], title: str, total: int) -> Iterator[T]:
    for done, item in enumerate(items):
        print(f"\r{title}: {done} of {total}", end="", file=sys.stderr, flush=True)
        yield item
    print(f"\r{title}: {total} of {total}", file=sys.stderr, flush=True)
