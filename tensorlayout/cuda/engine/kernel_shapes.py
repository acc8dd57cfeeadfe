"""The kernels of a file, their shapes (sets of macro values), and C++ element types.

Shapes are declared at the end of each file of kernels. ``SHAPES(…)`` precedes the kernels that have
these shapes; several such lines add up::

    SHAPES(RANK = 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16, PACK = 1 16/WIDTH,
           WHERE PACK > 1)
    KERNEL(band_strided, StridedBand<RANK, INDEX>) { strided<RANK, INDEX, WIDTH, PACK>(p); }

Each macro takes the values after its ``=``: words, earlier macros, macros for types, and quotients
(a quotient of 0 is left out). ``WHERE`` keeps shapes that satisfy a comparison with a number;
``WITH`` and ``WITHOUT`` require that the types define a macro, or do not. For a GPU, the file is
compiled with the macros of one shape; for the simulator, with all shapes of one index type.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.structs import (
    OPERATORS,
    fill_walk,
    read_without_comments,
    struct_type,
    substitute_words,
)
from tensorlayout.dtypes import DType, is_in_category, is_narrow_dtype

Types = tuple[tuple[str, str], ...]
Shape = tuple[tuple[str, str], ...]

_KERNEL = re.compile(
    r"^((?:SHAPES\([^)]*\)\s+)*)((?:BLOCK_)?KERNEL)\((\w+), ([^)]*)\) (\{.*?\})$",
    re.MULTILINE | re.DOTALL,
)
_SHAPES = re.compile(r"SHAPES\(([^)]*)\)")


_MOST_LABELLED = 6  # functions of a fused chain that a label names

# A kernel: the macro that defines it, the type of its parameters, its text, and its shapes.
_Declared = tuple[str, str, str, list[str]]


def kernels_in_file(file: str, types: Types = (), operation: str = "") -> tuple[Kernel, ...]:
    """Return all kernels of a file in all their shapes; `types` and `operation` as in `Kernel`."""
    return tuple(
        Kernel(file, name, types, shape, operation)
        for name in _kernels_with_declared_shapes(file)
        for shape in _shapes_by_items(file, name, types).values()
    )


def kernel_with_macros(
    file: str, name: str, types: Types = (), operation: str = "", /, **shape: Any
) -> Kernel:
    """Return one kernel; `shape`: values of its macros.

    A RANK without a kernel of its own gets the kernel for any rank, 0. Raises ValueError for a
    kernel or shape that is not declared.

    >>> kernel_with_macros("join.cu", "join_parts", WIDTH=4, INDEX="int32_t", RANK=9).symbol
    'join_parts_0_int32_t_4'
    """
    shapes = _shapes_by_items(file, name, types)
    macro_texts = {macro: str(value) for macro, value in shape.items()}
    shape_values = shapes.get(frozenset(macro_texts.items()))
    if shape_values is None and "RANK" in macro_texts:
        shape_values = shapes.get(frozenset({**macro_texts, "RANK": "0"}.items()))
    if shape_values is None:
        values = macro_texts or "no shape"
        msg = f"cuda: {file} declares no kernel {name} of {values} for {dict(types)}"
        raise ValueError(msg)
    return Kernel(file, name, types, shape_values, operation)


def parameter_struct_type(kernel: Kernel, **constants: int) -> Any:
    """Return the ctypes type of a kernel's parameters; `constants` as in `struct_type`."""
    _, text, *_ = _kernels_with_declared_shapes(kernel.file)[kernel.name]
    return struct_type(kernel.file, substitute_words(text, dict(kernel.shape)), **constants)


def make_parameter_struct(kernel: Kernel, /, **members: Any) -> Any:
    """Return the structure with these members; a ``Walk`` is filled from axes, or by a function."""
    structure = parameter_struct_type(kernel)()
    for name, value in members.items():
        if isinstance(value, Sequence) and hasattr(member := getattr(structure, name), "stride"):
            fill_walk(member, value)
        elif callable(value):
            value(getattr(structure, name))
        else:
            setattr(structure, name, value)
    return structure


def index_type_of_kernel(kernel: Kernel) -> str:
    """Return the index type of a kernel; "int32_t" if it has no macro for it."""
    return dict(kernel.shape).get("INDEX", "int32_t")


def compiled_name(kernel: Kernel) -> str:
    """Return a kernel's name in machine code, which profilers show: it ends with `kernel_label`.

    >>> compiled_name(kernel_with_macros("join.cu", "join_parts", WIDTH=4, INDEX="int32_t", RANK=2))
    'join_parts_2_int32_t_4'
    """
    return "_".join(filter(None, [kernel.name, kernel_label(kernel)]))


def kernel_label(kernel: Kernel) -> str:
    """Return operations, dtypes and shape of a kernel as a part of an identifier.

    It depends on the macros alone, so that kernels of one file with equal macros, which are
    compiled together, have the same label.

    >>> types = ("FIRST", "float"), ("COMPUTE", "float"), ("RESULT", "bool8"), ("WIDEST", "4")
    >>> kernel_label(Kernel("elementwise.cu", "elementwise_flat", types, (("PACK", "4"),), "less"))
    'less_float32_bool_4'
    """
    macros = dict(kernel.types)
    functors = re.findall(r"functions::(\w+)", macros.get("CHAIN", ""))[:_MOST_LABELLED]
    words = [word.strip() for value in macros.values() for word in value.split(",")]
    dtypes = dict.fromkeys(_dtype_of_c_type(word) for word in words)
    values = (value for _, value in kernel.shape)
    return re.sub(
        r"\W", "_", "_".join(filter(None, [kernel.operation, *functors, *dtypes, *values]))
    )


def _dtype_of_c_type(name: str) -> str:
    """Return the name of the dtype of a C++ type; "" for other texts."""
    saturated = re.fullmatch(r"saturated<(.*)>", name)
    plain = saturated[1] if saturated else name
    known = {c_type: dtype for dtype, c_type in _TYPES.items()}
    match = re.fullmatch(r"(u?int\d+)_t|(float\d+_\w+)", plain)
    return known.get(plain, match[1] or match[2] if match else "")


def simulator_source(file: str, types: Types, index: str) -> str:
    """Return the source for the simulator: the file, and its kernels' shapes of one index type.

    Few calls need 64-bit indices, whose kernels are nearly half of a file's: so each index type is
    compiled separately.
    """
    lines = [f'#include "{file}"']
    for name, (macro, parameters, text, _) in _kernels_with_declared_shapes(file).items():
        for shape in _shapes_by_items(file, name, types).values():
            values = dict(shape)
            if values.get("INDEX", index) == index:
                symbol = "_".join([name, *values.values()])
                lines.append(
                    f"{macro}({symbol}, {substitute_words(f'{parameters}) {text}', values)}"
                )
    return "\n".join(lines) + "\n"


@functools.cache
def _kernels_with_declared_shapes(file: str) -> dict[str, _Declared]:
    """Return the kernels by name; empty if the file declares no shapes."""
    kernels: dict[str, _Declared] = {}
    shapes: list[str] = []
    for lines, macro, name, parameters, text in _KERNEL.findall(read_without_comments(file)):
        # A kernel without lines of its own has the shapes of the kernel before it.
        shapes = _SHAPES.findall(lines) or shapes
        if shapes:
            kernels[name] = macro, parameters, " ".join(text.split()), shapes
    return kernels


@functools.cache
def _shapes_by_items(file: str, name: str, types: Types) -> dict[frozenset[tuple[str, str]], Shape]:
    """Return the shapes declared for a kernel, in the file's order, by their set of items."""
    declared = _kernels_with_declared_shapes(file).get(name)
    if declared is None:
        raise ValueError(f"cuda: {file} declares no kernel {name}")
    shapes = (shape for line in declared[-1] for shape in _expand_shape_line(line, dict(types)))
    # Callers name macros in any order; in a symbol they have the order of the file.
    return {frozenset(shape): shape for shape in shapes}


def _expand_shape_line(line: str, types: dict[str, str]) -> Iterator[Shape]:
    # Each macro multiplies the shapes so far: "RANK = 1 0, WIDTH = 4 8" gives four. Conditions drop
    # some of them, or all.
    rows: list[dict[str, str]] = [{}]
    for clause in line.split(","):
        match clause.split():
            case ["WITH", macro]:
                rows = rows if macro in types else []
            case ["WITHOUT", macro]:
                rows = [] if macro in types else rows
            case ["WHERE", macro, sign, number]:
                holds = OPERATORS[sign]
                rows = [row for row in rows if holds(int((types | row)[macro]), int(number))]
            case [macro, "=", *values]:
                rows = [
                    row | {macro: value}
                    for row in rows
                    for value in _evaluate_nonzero_macro_values(values, types | row)
                ]
    return (tuple(row.items()) for row in rows)


def _evaluate_nonzero_macro_values(words: list[str], known: dict[str, str]) -> Iterator[str]:
    for word in words:
        dividend, slash, divisor = word.partition("/")
        value = str(int(dividend) // int(known[divisor])) if slash else known.get(word, word)
        if value != "0" or not slash:
            yield value


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
    """Return the C++ type of an element; with `saturate`, a type whose conversions saturate.

    >>> import numpy as np
    >>> c_type(np.dtype("uint16")), c_type(np.dtype("float16"))
    ('uint16_t', 'half')
    """
    name = dtype.name
    if saturate:
        return f"saturated<{c_type(dtype)}>"
    return name if is_in_category(dtype, "narrow floating") else _TYPES.get(name, f"{name}_t")


def c_type_with_unsigned_integers(dtype: DType) -> str:
    """Return the C++ type for moving elements or adding them modulo 2**n: unsigned for integers.

    >>> import numpy as np
    >>> [c_type_with_unsigned_integers(np.dtype(name)) for name in ("int16", "float32")]
    ['uint16_t', 'float']
    """
    as_bits = dtype.kind in "bi" or is_narrow_dtype(dtype)
    return f"uint{8 * dtype.itemsize}_t" if as_bits else c_type(dtype)
