"""What the kernels call dtypes (``kernels/include/dtypes.cuh``, ``narrow.cuh``)."""

from __future__ import annotations

from tensorlayout.dtypes import DType, in_category, is_narrow

_NAMES = {
    "bool": "bool8",
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}


def c_type(dtype: DType, saturate: bool = False) -> str:
    """The type of an element; with `saturate`, of one that conversions give the nearest limit.

    >>> import numpy as np
    >>> c_type(np.dtype("uint16")), c_type(np.dtype("float16"))
    ('uint16_t', 'half')
    """
    name = dtype.name
    if saturate:
        return f"saturated<{c_type(dtype)}>"
    return name if in_category(dtype, "narrow floating") else _NAMES.get(name, f"{name}_t")


def c_type_of_bits(dtype: DType) -> str:
    """The type of an element that is added to modulo two, or only moved: integers are unsigned.

    >>> import numpy as np
    >>> c_type_of_bits(np.dtype("int16")), c_type_of_bits(np.dtype("float32"))
    ('uint16_t', 'float')
    """
    as_bits = dtype.kind in "bi" or is_narrow(dtype)
    return f"uint{8 * dtype.itemsize}_t" if as_bits else c_type(dtype)
