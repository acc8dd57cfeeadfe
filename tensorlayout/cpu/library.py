"""Library calls on the CPU: NumPy functions on whole arrays, some replaced by faster ones.

All figures are for 16 MB of random elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.cpu.engine.casting import round_before_bfloat16
from tensorlayout.cpu.engine.memory import Array, call_quietly, tensor_over_array
from tensorlayout.cpu.matmul import convert_unrepeated, multiply_matrices
from tensorlayout.dtypes import DType
from tensorlayout.plan import LibraryPlan, Run, compute_dtype
from tensorlayout.support import array_library as array_functions
from tensorlayout.tensor import Tensor


def compile_library_call(plan: LibraryPlan) -> Run:
    """Compile a call of a library function on strided arrays, with row-major results.

    16-bit floats are passed as float32; results are rounded once to the operands' dtype.
    """
    operation, options = plan.operation, dict(plan.options)
    function = FUNCTIONS[operation.name]
    dtype, specs = plan.dtype, plan.results
    work = compute_dtype(dtype)

    def call_numpy(*operands: Tensor) -> Any:
        arrays = [convert_unrepeated(x.memory, work) for x in operands]
        result = operation.call_library(np, function, *arrays, **options)
        arrays_out = result if isinstance(result, tuple) else (result,)
        tensors: list[Any]
        if specs is None:
            # Computed values get the operands' dtype; indices and counts keep their own.
            kinds = [dtype if array.dtype == work else array.dtype for array in arrays_out]
            tensors = [
                tensor_over_array(_as_row_major(a, k))
                for a, k in zip(arrays_out, kinds, strict=True)
            ]
        else:
            pairs = zip(arrays_out, specs, strict=True)
            tensors = [Tensor._from_memory(_as_row_major(array, s.dtype), s) for array, s in pairs]
        return tuple(tensors) if isinstance(result, tuple) else tensors[0]

    return partial(call_quietly, call_numpy)


def _as_row_major(array: Any, dtype: DType) -> Array:
    return np.array(round_before_bfloat16(np.asarray(array), dtype), dtype, order="C", copy=None)


# --- integers of a narrow range ----------------------------------------------------------------


class _IntegerTable(NamedTuple):
    """Table with a place for each of `size` consecutive integers from `least` on."""

    least: int
    size: int

    def table_positions(self, x: Array) -> Array:
        """Return the position of each element's value in the table."""
        places: Array = x.view(f"u{x.itemsize}") - self._least_wrapped_to_unsigned(x.dtype)
        return places.view(np.int64) if x.itemsize == 8 else places  # as np.bincount takes it

    def values_at(self, places: Array, dtype: DType) -> Array:
        """Return the values at some places, the inverse of `table_positions`."""
        values: Array = places.astype(f"u{dtype.itemsize}") + self._least_wrapped_to_unsigned(dtype)
        return values.view(dtype)

    def _least_wrapped_to_unsigned(self, dtype: DType) -> Any:
        """Return `least` as an unsigned number, so that sums and differences wrap around."""
        return np.asarray(self.least % (1 << (8 * dtype.itemsize)), f"u{dtype.itemsize}")


def _table_of_all_values(dtype: DType) -> _IntegerTable | None:
    """Return the table of all values of bool or an 8- or 16-bit integer dtype, else None."""
    if dtype.kind not in "biu" or dtype.itemsize > 2:
        return None
    return _IntegerTable(np.iinfo(dtype).min if dtype.kind == "i" else 0, 1 << (8 * dtype.itemsize))


def _counting_table(x: Array) -> _IntegerTable | None:
    """Return a table for counting the elements; None if sorting them is faster."""
    every = _table_of_all_values(x.dtype)
    if every is None and x.dtype.kind in "iu" and x.size:
        least, most = int(x.min()), int(x.max())
        every = _IntegerTable(least, most - least + 1)
    return every if every is not None and every.size <= x.size else None


# --- sets --------------------------------------------------------------------------------------


def unique_all(x: Array) -> tuple[Array, ...]:
    """Return unique values, first indices, inverse and counts."""
    table = _counting_table(x)
    if table is None:
        return np.unique_all(x)
    places = table.table_positions(x).reshape(-1)
    first = np.empty(table.size, np.int64)
    first[places[::-1]] = np.arange(x.size - 1, -1, -1)  # the last assignment to a place wins
    values, inverse, counts = _unique_inverse_counts_by_table(x, table)
    return values, first[table.table_positions(values)], inverse, counts


def unique_counts(x: Array) -> tuple[Array, ...]:
    """Return unique values and counts: for 16 MB of uint8 32 ms, np.unique 520."""
    table = _counting_table(x)
    if table is None:
        return np.unique_counts(x)
    counts = np.bincount(table.table_positions(x).reshape(-1))
    occurring = np.flatnonzero(counts)
    return table.values_at(occurring, x.dtype), counts[occurring]


def unique_inverse(x: Array) -> tuple[Array, ...]:
    """Return unique values and, for each element, the position of its value."""
    table = _counting_table(x)
    return np.unique_inverse(x) if table is None else _unique_inverse_counts_by_table(x, table)[:2]


def unique_values(x: Array) -> Array:
    """Return sorted unique values: for 4 M int32 160 ms, np.unique with its hash table 3400."""
    if _counting_table(x) is not None:
        return unique_counts(x)[0]
    line = np.sort(x, axis=None)
    is_new = np.ones(line.size, np.bool_)
    np.not_equal(line[1:], line[:-1], out=is_new[1:])  # every NaN is distinct
    return line[is_new]


def _unique_inverse_counts_by_table(x: Array, table: _IntegerTable) -> tuple[Array, Array, Array]:
    """Return unique values, inverse and counts through a table, 25 times as fast as NumPy."""
    places = table.table_positions(x)
    counts = np.bincount(places.reshape(-1), minlength=table.size)
    occurring = np.flatnonzero(counts)
    position = np.empty(counts.size, np.int64)
    position[occurring] = np.arange(occurring.size)
    return table.values_at(occurring, x.dtype), position[places], counts[occurring]


def isin(x: Array, test_values: Array, invert: bool) -> Array:
    """Return whether each element occurs in `test_values`; NaN never does."""
    every = _table_of_all_values(x.dtype)
    if every is not None:  # int16: 13 ms, np.isin 1150, which avoids a range that might overflow
        is_member = np.full(every.size, invert)
        is_member[every.table_positions(test_values).reshape(-1)] = not invert
        return is_member[every.table_positions(x)]
    # np.isin is fast for few test values and for integers; for others it sorts `x` too. 4 million
    # float32 in 1000 values take it 640 ms, and 260 here; in a million values, 700 and 980.
    if x.dtype.kind in "iu" or not 100 <= test_values.size <= x.size // 16:
        return np.isin(x, test_values, invert=invert)
    line = np.sort(test_values, axis=None)
    indices = np.searchsorted(line, x)
    indices[indices == line.size] = 0
    is_match = line[indices] != x if invert else line[indices] == x
    return np.asarray(is_match)


# --- products and norms ------------------------------------------------------------------------


def einsum(*arrays: Array, subscripts: str) -> Array:
    """Return the sum of products given by `subscripts`; never a view.

    Matrix products are used where possible: `ij,jk->ik` of 512 x 512 float32 takes 1.4 ms, and 13
    without them.
    """
    result = np.asarray(np.einsum(subscripts, *arrays, optimize=True))
    shared = any(np.may_share_memory(result, array) for array in arrays)
    return result.copy(order="C") if shared else result


def tensordot(x: Array, y: Array, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> Array:
    """Return the sum of products over pairs of axes, by one matrix product."""
    first, second = axes
    rows = tuple(d for d in range(x.ndim) if d not in first)
    columns = tuple(d for d in range(y.ndim) if d not in second)
    shape = (*(x.shape[d] for d in rows), *(y.shape[d] for d in columns))
    count = math.prod(x.shape[d] for d in first)
    a = x.transpose(*rows, *first).reshape(math.prod(shape[: len(rows)]), count)
    b = y.transpose(*second, *columns).reshape(count, math.prod(shape[len(rows) :]))
    product = np.empty((a.shape[0], b.shape[1]), x.dtype)
    multiply_matrices(a, b, product)
    return product.reshape(shape)


def vecdot(x: Array, y: Array, axis: int) -> Any:
    """Return the sum of products along one axis, with the first operand conjugated.

    np.vecdot calls BLAS for each pair of vectors, which is fast only for contiguous vectors:
    2048 × 2048 float32 take 0.3 ms along the fast axis and 25 along the other, np.einsum 1.1 and
    0.6.
    """
    a, b = (x, y) if axis == -1 else (np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1))
    if a.strides[-1] == a.itemsize and b.strides[-1] == b.itemsize:
        return np.vecdot(a, b)
    return np.einsum("...i,...i->...", np.conj(a) if a.dtype.kind == "c" else a, b)


_BLOCK = 1 << 16  # elements processed at a time
_UFUNCS: dict[str, Any] = {"max": np.maximum, "min": np.minimum, "sum": np.add}


def _map_and_reduce_to_float64(
    reduction: str, function: Any, x: Array, axis: tuple[int, ...]
) -> Any:
    """Return `function` of each element, reduced along `axis` in float64.

    It works in blocks that fit the cache: the norm of 2048 × 2048 float32 along axis 0 takes 3.6 ms
    instead of 12.9. NumPy's own takes 1.9 ms, but adds in float32: squares overflow from 1.8e19 on.
    """
    if not x.ndim:
        return _map_and_reduce_to_float64(reduction, function, x[None], (0,))
    ufunc = _UFUNCS[reduction]
    initial = np.inf if ufunc is np.minimum else 0
    if x.size <= _BLOCK:
        return ufunc.reduce(function(x), axis, np.float64, None, False, initial)
    order = sorted(range(x.ndim), key=lambda d: -abs(x.strides[d]))  # slowest dimension first
    dims = tuple(order.index(d) for d in axis)
    x = x.transpose(order)
    totals = np.full([1 if d in dims else n for d, n in enumerate(x.shape)], initial, np.float64)
    rows = max(1, _BLOCK * x.shape[0] // x.size)
    for start in range(0, x.shape[0], rows):
        block = slice(start, start + rows)
        part = ufunc.reduce(function(x[block]), dims, np.float64, None, True, initial)
        target = totals if 0 in dims else totals[block]
        ufunc(target, part, out=target)
    back = [order.index(d) for d in range(x.ndim)]
    return np.squeeze(totals.transpose(back), axis)


# --- the table ---------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: partial(function, np) for name, function in array_functions.ARRAY_FUNCTIONS.items()},
    "cholesky": np.linalg.cholesky,
    "einsum": einsum,
    "isin": isin,
    "matrix_norm": partial(array_functions.matrix_norm, np, reducer=_map_and_reduce_to_float64),
    "repeat": lambda counts: np.repeat(np.arange(counts.size), counts),
    "searchsorted": np.searchsorted,
    "solve": np.linalg.solve,
    "tensordot": tensordot,
    "unique_all": unique_all,
    "unique_counts": unique_counts,
    "unique_inverse": unique_inverse,
    "unique_values": unique_values,
    "vecdot": vecdot,
    "vector_norm": partial(array_functions.vector_norm, np, reducer=_map_and_reduce_to_float64),
}
