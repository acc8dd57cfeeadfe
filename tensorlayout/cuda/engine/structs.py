"""The structs and constants of the kernels as ctypes and Python see them, read from ``kernels/``.

>>> struct("include/indexing.cuh", "Divisor<int32_t>")(7, 613566757, 2).magic
613566757
>>> constant("include/padding.cuh", "PADDING_REGIONS")
4
"""

from __future__ import annotations

import functools
from typing import Any

from tensorlayout.cuda.engine.cpp_text import NameScope, file_of


def struct(file: str, name: str, **constants: int) -> Any:
    """The ctypes structure that a struct's name means in a file of kernels.

    Members have their names in C++; those that are Python's words have a ``_`` behind. Pointers are
    64-bit integers. `constants`: those that the file leaves to ``#if``. ValueError for what is no
    such struct.
    """
    return _struct(file, name, *constants.items())


def constant(file: str, name: str, **constants: int) -> int:
    """The value of a constant, or of an expression of them, as in ``MOST<3, int32_t>``."""
    return _constant(file, name, *constants.items())


@functools.cache
def _struct(file: str, name: str, *constants: tuple[str, int]) -> Any:
    return _scope(file, constants).type(name)


@functools.cache
def _constant(file: str, name: str, *constants: tuple[str, int]) -> int:
    return _scope(file, constants).value(name)


def _scope(file: str, constants: tuple[tuple[str, int], ...]) -> NameScope:
    return NameScope(file_of(file), {}, dict(constants))
