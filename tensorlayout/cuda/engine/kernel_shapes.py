"""Which kernels a file has, in which shapes, and of which types of elements.

Shapes are read from the end of the file itself.

A line ``SHAPES(…)`` is in front of the kernels that have these shapes, of several such lines those
of each::

    SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16, PACK = 1 16/WIDTH,
           WHERE RANK != 1 || PACK == 1)
    KERNEL(band_strided, StridedBand<RANK, INDEX>) { strided<RANK, INDEX, WIDTH, PACK>(p); }

Each macro has the values behind its ``=``: words, or expressions without blanks of the macros
before and of those that name types. ``WHERE`` leaves out shapes. For a GPU the macros of one shape
are defined, and the compiler gets the file; the simulator gets all shapes of one type of index
behind one another.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorlayout.cuda.engine.cpp_text import NameScope, closing, file_of, refuse, split
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.structs import struct
from tensorlayout.dtypes import DType, in_category, is_narrow

Types = tuple[tuple[str, str], ...]
Shape = tuple[tuple[str, str], ...]

_DECLARATION = re.compile(r"^(SHAPES|KERNEL|BLOCK_KERNEL)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Declared:
    """A kernel: the macro that defines it, its name, its parameters' type, its text."""

    macro: str
    name: str
    parameters: str
    text: str
    shapes: tuple[tuple[str, ...], ...]


def kernels_in(file: str, types: Types = (), operation: str = "") -> tuple[Kernel, ...]:
    """All kernels of a file in all their shapes; `types` and `operation` as of `Kernel`."""
    return tuple(
        Kernel(file, each.name, types, shape, operation)
        for each in _declared(file).values()
        for shape in _shapes(file, each.name, types).values()
    )


def kernel(file: str, name: str, types: Types = (), operation: str = "", **shape: Any) -> Kernel:
    """One kernel; `shape` has the values of its macros. ValueError for what is not declared.

    A RANK without a kernel of its own gets that of any rank, 0.

    >>> kernel("join.cu", "join_parts", WIDTH=4, INDEX="int32_t", RANK=9).symbol
    'join_parts_0_int32_t_4'
    """
    shapes = _shapes(file, name, types)
    wanted = {macro: str(value) for macro, value in shape.items()}
    found = shapes.get(frozenset(wanted.items()))
    if found is None and "RANK" in wanted:
        found = shapes.get(frozenset({**wanted, "RANK": "0"}.items()))
    if found is None:
        msg = f"cuda: {file} declares no kernel {name} of {wanted or 'no shape'} for {dict(types)}"
        raise ValueError(msg)
    return Kernel(file, name, types, found, operation)


def parameters(kernel: Kernel, **constants: int) -> Any:
    """The ctypes structure that a kernel takes; `constants` as of `struct`."""
    declared = _declared(kernel.file)[kernel.name]
    return struct(kernel.file, _replaced(declared.parameters, dict(kernel.shape)), **constants)


def index_type(kernel: Kernel) -> str:
    """The type that a kernel computes positions in; of one without a macro for it, any will do."""
    return dict(kernel.shape).get("INDEX", "int32_t")


def unit(file: str, types: Types, index: str) -> str:
    """Write what the simulator compiles: the file, its kernels in all shapes of this type of index.

    Few calls need indices of 64 bits, and their kernels are nearly half of a file's.
    """
    lines = [f'#include "{file}"']
    for each in _declared(file).values():
        for shape in _shapes(file, each.name, types).values():
            if dict(shape).get("INDEX", index) != index:
                continue
            symbol = Kernel(file, each.name, types, shape).symbol
            text = _replaced(f"{each.parameters}) {each.text}", dict(shape))
            lines.append(f"{each.macro}({symbol}, {text}")
    return "\n".join(lines) + "\n"


@functools.cache
def _declared(file: str) -> dict[str, _Declared]:
    """The kernels by their names; none where a file declares no shapes."""
    text = file_of(file).text
    found: dict[str, _Declared] = {}
    shapes: list[tuple[str, ...]] = []
    last = ""
    for each in _DECLARATION.finditer(text) if "\nSHAPES(" in text else ():
        end = closing(text, each.end() - 1)
        inside = split(text[each.end() : end]) if each[1] == "SHAPES" else [text[each.end() : end]]
        if each[1] == "SHAPES":
            shapes = [*(shapes if last == "SHAPES" else ()), tuple(inside)]
        else:
            name, _, parameters = inside[0].partition(",")
            start = text.index("{", end)
            body = " ".join(text[start : closing(text, start) + 1].split())
            if not shapes or name in found:
                refuse(file_of(file), f"the kernel {name}: it has no shapes, or is there twice")
            found[name] = _Declared(each[1], name, parameters.strip(), body, tuple(shapes))
        last = each[1]
    return found


@functools.cache
def _shapes(file: str, name: str, types: Types) -> dict[frozenset[tuple[str, str]], Shape]:
    """The shapes of a kernel in the order of the file, each by what is in it."""
    declared = _declared(file).get(name)
    if declared is None:
        raise ValueError(f"cuda: {file} declares no kernel {name}")
    found = (shape for clauses in declared.shapes for shape in _expanded(file, clauses, types))
    return {frozenset(shape): shape for shape in found}


def _expanded(file: str, clauses: tuple[str, ...], types: Types) -> Iterator[Shape]:
    rows: list[dict[str, str]] = [{}]
    for clause in clauses:
        name, _, values = (word.strip() for word in clause.partition("="))
        condition = clause.removeprefix("WHERE ")
        if condition != clause:
            rows = [row for row in rows if _scope(file, types, row).value(condition)]
            continue
        longer = []
        for row in rows:
            scope = _scope(file, types, row)
            for text in values.split():
                known = text.isidentifier() and text not in scope.names
                longer.append(row | {name: text if known else str(scope.value(text))})
        rows = longer
    return (tuple(row.items()) for row in rows)


def _scope(file: str, types: Types, row: dict[str, str]) -> NameScope:
    names = {k: int(v) if v.isdigit() else v for k, v in (*types, *row.items())}
    return NameScope(file_of(file), names, {})


def _replaced(text: str, shape: dict[str, str]) -> str:
    return re.sub(r"\w+", lambda word: shape.get(word[0], word[0]), text)


# ---- Types of elements (``kernels/include/dtypes.cuh``, ``narrow.cuh``)

_TYPES = {
    "bool": "bool8",
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}


@functools.cache  # NumPy works out names of dtypes in Python
def c_type(dtype: DType, saturate: bool = False) -> str:
    """The type of an element; with `saturate`, of one that conversions give the nearest limit.

    >>> import numpy as np
    >>> c_type(np.dtype("uint16")), c_type(np.dtype("float16"))
    ('uint16_t', 'half')
    """
    name = dtype.name
    if saturate:
        return f"saturated<{c_type(dtype)}>"
    return name if in_category(dtype, "narrow floating") else _TYPES.get(name, f"{name}_t")


def c_type_of_bits(dtype: DType) -> str:
    """The type of an element that is added to modulo two, or only moved: integers are unsigned.

    >>> import numpy as np
    >>> c_type_of_bits(np.dtype("int16")), c_type_of_bits(np.dtype("float32"))
    ('uint16_t', 'float')
    """
    as_bits = dtype.kind in "bi" or is_narrow(dtype)
    return f"uint{8 * dtype.itemsize}_t" if as_bits else c_type(dtype)
