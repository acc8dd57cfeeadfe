"""What the kernels call dtypes (``kernels/include/dtypes.cuh``)."""

from __future__ import annotations

from tensorlayout.dtypes import DType

_NAMES = {
    "bool": "bool8",
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}


def c_type(dtype: DType) -> str:
    """The type of an element.

    >>> import numpy as np
    >>> c_type(np.dtype("uint16")), c_type(np.dtype("float16"))
    ('uint16_t', 'half')
    """
    return _NAMES.get(dtype.name, f"{dtype.name}_t")


def c_type_of_bits(dtype: DType) -> str:
    """The type of an element that is added to modulo two, or only moved: integers are unsigned.

    >>> import numpy as np
    >>> c_type_of_bits(np.dtype("int16")), c_type_of_bits(np.dtype("float32"))
    ('uint16_t', 'float')
    """
    return f"uint{8 * dtype.itemsize}_t" if dtype.kind in "bi" else c_type(dtype)
