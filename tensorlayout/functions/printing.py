"""Text of tensors: values, dtype, device, and the layout if it is not row-major."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.devices import CPU
from tensorlayout.errors import short_repr
from tensorlayout.exchange.numpy import Array, convert_array, read_packed_elements
from tensorlayout.functions.indexing import getitem
from tensorlayout.functions.transfers import ensure_strided, move_to_cpu
from tensorlayout.layout import order_name
from tensorlayout.plan import display_only
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor

# Tensors with more elements show only their edges (NumPy's limits).
_THRESHOLD = 1000
# NumPy's default for `edgeitems`.
_EDGE = 3
_FIRST = 8  # number of values in a notebook's summary
_MOST = 40_000  # limit on brackets and elements: many dimensions have many edges


def format_repr(x: Tensor) -> str:
    """Return the text of ``repr(x)``."""
    prefix = "Tensor("
    tail = f", dtype={x.dtype}, device={str(x.device)!r}"
    layout = x.spec.layout
    if not layout.is_row_major or layout.is_padded or layout.slot_bits is not None:
        tail += f", layout={order_name(layout) or str(x.layout)!r}"
    if placeholder := _values_placeholder(x):
        return f"{prefix}{placeholder}, shape={x.shape}{tail})"
    return f"{prefix}{_format_values(x, prefix)}{tail})"


def format_str(x: Tensor) -> str:
    """Return the text of ``str(x)``: only the values."""
    placeholder = _values_placeholder(x)
    return f"{placeholder} with shape {x.shape}" if placeholder else _format_values(x, "")


def _format_values(x: Tensor, prefix: str) -> str:
    edge = _edge_item_count(x)
    with display_only.scope_with_value(True):
        # Copies that only serve the text are not copies of the program: `no_copies` lets them pass.
        values, threshold = _printed_values(x, edge)
    if not x.ndim:
        return _format_scalar(values)
    return np.array2string(
        _as_printable_dtype(values),
        separator=", ",
        prefix=prefix,
        threshold=threshold,
        edgeitems=edge,
    )


def _as_printable_dtype(values: Array) -> Array:
    """Convert `values` of dtypes that NumPy cannot print to a wider dtype."""
    if dtypes.is_numpy_dtype(values.dtype):
        return values
    return convert_array(values, dtypes.computing_dtype(values.dtype))


def _format_scalar(number: Array) -> str:
    """Return the fewest digits that read back to a bfloat16; other numbers as NumPy prints them."""
    value: Any = number[()]
    if not dtypes.is_bfloat16(number.dtype):
        return str(_as_printable_dtype(number)[()])
    # NumPy would print the digits of a wider dtype. Four digits identify every bfloat16, and mostly
    # fewer do.
    exact = float(value)
    texts = (str(float(f"{exact:.{digits}g}")) for digits in (1, 2, 3))
    return next((t for t in texts if type(value)(float(t)) == value), str(float(f"{exact:.4g}")))


def _edge_item_count(x: Tensor) -> int:
    """Return how many elements to print at each end of a dimension; 0 if even one is too many."""
    most = _MOST // max(x.ndim, 1)
    # Each of n dimensions has two ends, so even the edges may be 2**n elements.
    fitting = (e for e in (_EDGE, 1) if math.prod(min(n, 2 * e) for n in x.shape) <= most)
    return _EDGE if x.size <= _THRESHOLD else next(fitting, 0)


def _values_placeholder(x: Tensor) -> str:
    """Return the text that replaces the values if there are none or too many, else ""."""
    if x.size == 0:
        return "[]"
    return "" if _edge_item_count(x) else "[...]"


def _printed_values(x: Tensor, edge: int) -> tuple[Any, int]:
    """Return an array that prints like `x`, maybe of its edges only, and the threshold."""
    if x.device == CPU and x.spec.layout.is_strided:
        return x.memory, _THRESHOLD
    if x.size <= _THRESHOLD:
        return ensure_strided("__repr__", move_to_cpu(x)).memory, _THRESHOLD
    if x.spec.layout.slot_bits is not None:  # edges may begin inside a byte
        x = x if x.device == CPU else ensure_strided("__repr__", x)
    both = slice(edge), slice(-edge, None)  # first and last indices of each dimension, or all
    # Edges come from each end of a long dimension, so a tensor has up to 2**n corners to fetch.
    ends = [(slice(None),) if n <= 2 * edge else both for n in x.shape]
    # A dimension of 2 * edge + 1 elements is the shortest that NumPy abbreviates. Its middle is
    # never printed, so nothing is fetched for it.
    values = np.zeros([min(n, 2 * edge + 1) for n in x.shape], x.dtype)
    for corner in itertools.product(*ends):
        values[corner] = _fetch_elements(x, corner)
    # The threshold 0 makes NumPy abbreviate the small array as it would the whole tensor.
    return values, 0


def _fetch_elements(x: Tensor, key: tuple[slice, ...]) -> Any:
    """Return a few elements of `x`, on any device, as an array."""
    if x.device == CPU and x.spec.layout.slot_bits is not None:
        ranges = [range(*s.indices(n)) for s, n in zip(key, x.shape, strict=True)]
        elements = read_packed_elements(x, itertools.product(*ranges))
        return elements.reshape([len(r) for r in ranges])
    return ensure_strided("__repr__", move_to_cpu(getitem(x, key))).memory


def format_html(x: Tensor) -> str:
    """Format a tensor for notebooks: facts, picture of the layout, first values.

    `x` may be on any device; only the elements shown are fetched.
    """
    drawing, layout = import_lazily("tensorlayout.layout.drawing.drawing"), x.layout
    facts = [
        ("tensor", f"shape {x.shape}, dtype {x.dtype}, on {x.device}"),
        *drawing.layout_facts(layout),
        ("bytes", drawing.describe_bytes(layout, x.itemsize)),
    ]
    if x.size:
        first = (np.unravel_index(n, x.shape) for n in range(min(x.size, _FIRST)))
        if layout.slot_bits is not None and x.device != CPU:
            x = ensure_strided("__repr__", x)
        keys = (tuple(slice(int(i), int(i) + 1) for i in index) for index in first)
        values = [_format_scalar(_fetch_elements(x, key).reshape(())) for key in keys]
        facts.append(("first values", ", ".join(values) + ", …" * (x.size > _FIRST)))
    return drawing.summary_html(layout, facts)


def format_scalar_or_text(x: Tensor, format_spec: str) -> str:
    """Return ``format(x, format_spec)``: of the value at rank 0, otherwise of the text."""
    value: Any = format_str(x)
    if x.ndim == 0 and format_spec:
        value = _as_printable_dtype(ensure_strided("__repr__", move_to_cpu(x)).memory).item()
    try:
        return format(value, format_spec)
    except ValueError:
        subject = f"a {x.dtype}"
        if x.ndim:
            subject = f"shape {x.shape}, whose text is formatted; only rank 0 is a number"
        raise ValueError(f"format: {short_repr(format_spec)} does not suit {subject}") from None
