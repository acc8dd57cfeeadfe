"""cuDNN's tensor formats: dimension orders, and vectors of channels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import block_form, layout_from_digits, matching_name, raise_error
from tensorlayout.layout import Layout, check_sizes

__all__ = ["read", "write"]

# cuDNN has vectorised types for these only: CUDNN_DATA_INT8x4, UINT8x4 and INT8x32.
_VECTOR_SIZES = (4, 32)
_RANKS = range(3, 9)
_KNOWN_FORMATS = "NCHW, NHWC, NC/4HW4, NC/32HW32, NCHW_VECT_C with vector=4 or 32"


def read(shape: Sequence[int], tensor_format: str, vector: int | None = None) -> Layout:
    """Return the layout of a tensor in one of cuDNN's formats.

    - `shape`: N, C and the spatial sizes; C counts channels, not vectors.
    - `tensor_format`: ``"NCHW"``, ``"NHWC"``, ``"NC/4HW4"``, ``"NC/32HW32"`` or the name of the
      enumerator, such as ``"CUDNN_TENSOR_NCHW_VECT_C"``; ``"NCDHW"`` and ``"NDHWC"`` for 5
      dimensions.
    - `vector`: channels per element of the data type, for ``NCHW_VECT_C`` only.

    Raises `ValueError` for other formats, a `vector` that the format does not have, a rank outside
    3 to 8, and a number of channels that is not a multiple of the vector.

    Source: cuDNN, "Tensors and Layouts", cudnnTensorFormat_t.

    >>> from tensorlayout import formats
    >>> formats.cudnn.read((2, 8, 2, 3), "NC/4HW4")
    Layout.parse('(2,8,2,3):(48,2*24+4*1,12,4)')
    """
    sizes = check_sizes("shape", shape)
    if len(sizes) not in _RANKS:
        raise_error(f"a tensor has 3 to 8 dimensions, got shape {short_repr(sizes)}")
    word = tensor_format if isinstance(tensor_format, str) else ""
    word = word.removeprefix("CUDNN_TENSOR_")
    # With 5 dimensions the formats have a D, and are the same orders.
    if word in ("NCDHW", "NDHWC") and len(sizes) == 5:
        word = word.replace("D", "")
    # \1 requires both numbers to agree, as in NC/4HW4.
    vectors = re.fullmatch(r"NC/(4|32)HW\1", word)
    if vectors and vector in (None, int(vectors[1])):
        word, vector = "NCHW_VECT_C", int(vectors[1])
    if word in ("NCHW", "NHWC") and vector is None:
        spatial = range(2, len(sizes))
        order = (0, 1, *spatial) if word == "NCHW" else (0, *spatial, 1)
        return Layout.packed(sizes, order[::-1])
    if word != "NCHW_VECT_C" or vector not in _VECTOR_SIZES:
        received = (
            f"{short_repr(tensor_format)} with vector={short_repr(vector)} for {len(sizes)} "
            "dimensions"
        )
        raise_error(f"tensor_format must be one of {_KNOWN_FORMATS}, got {received}")
    if sizes[1] % vector:
        rule = f"channels must be a multiple of the {vector} of a vector"
        raise_error(f"{rule}, got shape {short_repr(sizes)}")
    # The channels of a vector are the fastest digit, after all other dimensions.
    extents = [[n] for n in sizes]
    extents[1] = [sizes[1] // vector, vector]
    return layout_from_digits(sizes, extents, [*((dim, 0) for dim in range(len(sizes))), (1, 1)])


def write(layout: Layout) -> str:
    """Return the name of the cuDNN format of `layout`.

    If several names fit, the dimension order decides.

    Raises `ValueError` for all other layouts: pass their strides to a descriptor, which accepts any
    (vectors of channels have no strides, only a format); `TypeError` if `layout` is not a Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.cudnn.write(Layout.tiled((1, 64, 2, 3), [(32, 1, 1)]))
    'NC/32HW32'
    """
    block = block_form(layout)
    if block.ndim in _RANKS:
        words = ["NCHW", "NHWC"]
        words += [f"NC/{n}HW{n}" for n in _VECTOR_SIZES if block.shape[1] % n == 0]
        word = matching_name(block, [(word, read(block.shape, word)) for word in words])
        if word is not None:
            return word
    return raise_error(
        f"no format of cuDNN ({_KNOWN_FORMATS}); a descriptor takes strides, got {truncate(layout)}"
    )
