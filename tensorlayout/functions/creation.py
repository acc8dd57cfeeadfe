"""Creation functions: new tensors from numbers, sequences, arrays and buffers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.devices import CPU, Device, as_device, default_device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import REFUSALS, prefix_operation_name, unavoidable_copy_error
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.arrays import (
    check_range_fits,
    import_array,
    tensor_from_sequence,
    tensor_over_ndarray,
)
from tensorlayout.functions.transfers import copy_tensor, move_to_cpu, move_to_device
from tensorlayout.layout import MAX_SLOTS, Layout
from tensorlayout.plan import Create, Relayout, adapt_layout_to_dtype, resolve_layout
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, DeviceLike, DTypeLike, Integers, LayoutLike, Number, Real

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


_EMPTY, _EMPTY_LIKE = Create("empty", "nothing"), Create("empty_like", "nothing")
_FULL, _FULL_LIKE = Create("full", "value"), Create("full_like", "value")
_ZEROS, _ZEROS_LIKE = Create("zeros", "value"), Create("zeros_like", "value")
_ONES, _ONES_LIKE = Create("ones", "value"), Create("ones_like", "value")
_ARANGE = Create("arange", "arange")
_RELAYOUT = Relayout("asarray")


def create_tensor(
    operation: Create,
    shape: Any,
    dtype: Any,
    device: DeviceLike | None,
    layout: LayoutLike | None,
    *values: Any,
    order: Any = "C",
) -> Tensor:
    """Return a new tensor, in a `layout` or in an `order`."""
    # A shape that is not a tuple enters the loop once, as None.
    for size in shape if type(shape) is tuple else (None,):
        if type(size) is not int:  # a float may be equal to an integer
            if type(dtype) is int:  # as in zeros(2, 3)
                received = arguments.format_argument(dtype)
                rule = f"dtype must be a dtype of this namespace, got {received}"
                raise TypeError(f"{rule}; pass the shape as one tuple, as in (2, 3)")
            shape = arguments.as_shape(shape)
            break
    requested_layout = None if layout is None else arguments.as_layout_key(layout)
    if not (type(order) is str and order == "C"):
        _check_order_without_layout(order, layout)
        arguments.is_column_major_order(order, "CF")
        requested_layout = Layout.column_major(shape)
    kind = dtypes.float64 if dtype is None else dtype
    # Plans always name their device, so that changing the default does not change a plan.
    where: Any = default_device() if device is None else device
    if where is CPU:
        # Python stores the hash of a string, and would compute that of a device at each look-up.
        where = "cpu"
    return dispatch.call(operation, (shape, kind, requested_layout, where), values)


def _check_order_without_layout(order: Any, layout: Any) -> None:
    if layout is not None:
        raise ValueError(
            f"give order or layout, got {arguments.format_argument(order)} and a layout"
        )


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Create a tensor from a number, nested sequence, array, buffer, or DLPack object.

    - `a`: the source. It is read by the first of these that it has: a tensor, a NumPy array,
      `__dlpack__`, `__cuda_array_interface__`, `__array_interface__`, `__array_struct__`,
      `__array__`, the buffer protocol, a sequence.
    - `dtype`: by default the dtype of `a`; for Python numbers bool, int64, float64 or complex128.
    - `order`: ``C`` for row-major, ``F`` for column-major, ``A`` for column-major if `a` is, ``K``
      for the order of `a`.
    - `device`: by default the device of an array (the CPU for NumPy arrays), otherwise the default
      device.
    - `copy`: None shares memory if possible, True never, False always.
    - `layout`: as for `to_layout`; by default that of an array, row-major for sequences.

    Returns a tensor over the memory of `a`, or a new one. It is read-only if the source is, and
    over legacy DLPack capsules, which cannot state it. Layout: as specified.

    Raises `TypeError` for objects that are not numbers, `ValueError` for ragged sequences, closed
    memory, and if `copy` is False but a copy is needed, `BufferError` for memory that cannot be
    used, and `OverflowError` for integers that no dtype holds.

    Arrays in the other byte order, or with strides that are not whole elements, are converted in a
    copy. A sequence with tensors of another device than the CPU is assembled there.

    Source: array API standard 2025.12, creation functions, `asarray`.

    >>> import tensorlayout as tl
    >>> tl.asarray([[1, 2, 3], [4, 5, 6]], dtype=tl.int16, layout="WH")
    Tensor([[1, 2, 3],
            [4, 5, 6]], dtype=int16, device='cpu', layout='F')
    """
    try:
        usual = dtype is None and device is None and copy is None and layout is None
        if usual and order is None and type(a) is np.ndarray:
            return tensor_over_ndarray(a, None, a)[0]
        if order is not None:
            x = asarray(a, dtype, device=device, copy=copy, layout=layout)
            requested_layout = arguments.layout_for_order(order, x, x.shape)
            if requested_layout is None:
                return x
            _check_order_without_layout(order, layout)
            return _to_layout(x, requested_layout, False if copy is False else None)
        target = None if device is None else as_device(device, "device")
        copy = None if copy is None else arguments.check_flag("copy", copy)
        layout = None if layout is None else arguments.as_layout_key(layout)
        requested_dtype = None if dtype is None else as_dtype(dtype, "dtype")
        result = import_array(a, target, copy)
        if result is None:
            return _tensor_of_numbers(a, requested_dtype, target, copy, layout)
        shared, copied = result
        # A private copy in writable memory is what copy=True requests.
        if copied and not shared.readonly:
            copy = None
        if target is None or target == shared.device:
            if requested_dtype is None and copy is None and layout is None:
                return shared
            return _convert_imported(shared, requested_dtype, copy, layout)
        if copy is False:
            reason = f"the memory is on {shared.device}, not on {target}"
            raise unavoidable_copy_error(reason)
        # Converted on the CPU, if the memory comes from there or goes there.
        if target == CPU:
            shared = move_to_device(shared, target)
        return move_to_device(
            _convert_imported(shared, requested_dtype, None, layout),
            target,
            keep_layout=layout is not None,
        )
    except REFUSALS as error:
        prefix_operation_name("asarray", error)
        raise


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return a new tensor from anything that `asarray` accepts.

    - `ndmin`: least rank; dimensions of size 1 are prepended.
    - `ndmax`: must be 0. `subok` has no effect.
    - `dtype`, `copy`, `order`, `device`: as in `asarray`.

    Layout: the layout of `object`, row-major for sequences, or as `order` says.

    Raises `TypeError`, `ValueError`, `BufferError` and `OverflowError` as `asarray` does;
    `ValueError` if the rank exceeds 64.

    >>> import tensorlayout as tl
    >>> tl.array([1, 2], ndmin=2)
    Tensor([[1, 2]], dtype=int64, device='cpu')
    """
    if ndmax:
        raise TypeError(f"takes no ndmax={ndmax} with tensors")
    result = asarray(object, dtype, order, device=device, copy=copy)
    rank = arguments.as_integer("ndmin", ndmin)
    return result if result.ndim >= rank else result[(None,) * (rank - result.ndim)]


def ascontiguousarray(
    a: Any, dtype: DTypeLike | None = None, *, device: DeviceLike | None = None
) -> Tensor:
    """Return a row-major tensor of rank at least 1; `a` itself if it is one already.

    `dtype` and `device` are as in `asarray`.

    Raises `TypeError` and `ValueError` as `asarray` does.

    >>> import tensorlayout as tl
    >>> tl.ascontiguousarray(tl.zeros((2, 3), layout=(0, 1))).layout
    Layout.parse('(2,3):(3,1)')
    """
    return array(a, dtype, copy=None, order="C", ndmin=1, device=device)


def asfortranarray(
    a: Any, dtype: DTypeLike | None = None, *, device: DeviceLike | None = None
) -> Tensor:
    """Return a column-major tensor of rank at least 1; `a` itself if it is one already.

    `dtype`, `device` and the `layout` of the result are as in `asarray` with ``order="F"``.

    Raises `TypeError` and `ValueError` as `asarray` does.

    >>> import tensorlayout as tl
    >>> tl.asfortranarray([[1, 2], [3, 4]]).layout
    Layout.parse('(2,2):(1,2)')
    """
    return array(a, dtype, copy=None, order="F", ndmin=1, device=device)


asanyarray = asarray


def _tensor_of_numbers(
    obj: Any, dtype: DType | None, target: Device | None, copy: bool | None, layout: Any
) -> Tensor:
    """Return a new tensor from a number or a sequence."""
    if copy is False:
        reason = f"the memory of a {type(obj).__name__} cannot be shared"
        raise unavoidable_copy_error(reason)
    x = tensor_from_sequence("asarray", obj, dtype)
    x = x if layout is None else _to_layout(x, layout, None)
    # Plain numbers go to the default device; sequences with tensors stay on theirs.
    if target is None:
        target = default_device() if x.device == CPU else x.device
    return move_to_device(x, target, keep_layout=True)


def _convert_imported(
    imported: Tensor, requested_dtype: DType | None, copy: bool | None, layout: Any
) -> Tensor:
    """Return `imported` in a dtype and a layout, on its device, copied as `copy` says."""
    kind = imported.dtype if requested_dtype is None else requested_dtype
    if kind != imported.dtype or copy is True:
        if copy is False:
            reason = f"{imported.dtype} is not {kind}"
            raise unavoidable_copy_error(reason)
        form = None if layout is None else resolve_layout(imported.shape, layout)
        return copy_tensor("asarray", imported, form, kind)
    return imported if layout is None else _to_layout(imported, layout, copy)


def _to_layout(x: Tensor, layout: Any, copy: bool | None) -> Tensor:
    return dispatch.call(_RELAYOUT, (x.spec, layout, copy), (x,))


def empty(
    shape: Integers,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor with undefined elements; padding with a value has that value.

    - `shape`: a size, or a sequence of sizes.
    - `dtype`: by default float64.
    - `order`: ``C`` for row-major or ``F`` for column-major, if no `layout` is given.
    - `device`: by default the default device.
    - `layout`: a `Layout`, labels from the slowest dimension to the fastest, or any other argument
      of `to_layout`.

    Returns a new tensor. Layout: as specified, row-major by default.

    Raises `ValueError` for negative sizes, a layout of another shape and a device that does not
    exist, and `TypeError` for an invalid dtype.

    >>> import tensorlayout as tl
    >>> tl.empty((2, 3, 4), dtype=tl.float32, layout="HWC").strides
    (1, 8, 2)
    """
    return create_tensor(_EMPTY, shape, dtype, device, layout, order=order)


def full(
    shape: Integers,
    fill_value: Number,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor filled with one value.

    - `shape`, `order`, `device`, `layout`: as for `empty`.
    - `fill_value`: a number or a tensor of rank 0, converted as by `asarray`.
    - `dtype`: by default the dtype of the tensor, or of the kind of Python number.

    Returns a new tensor. Layout: as specified, row-major by default.

    Raises the errors (`TypeError`, `ValueError`) of `empty`, `TypeError` for a complex value in a
    real dtype, and `OverflowError` for an integer that `dtype` cannot hold.

    >>> import tensorlayout as tl
    >>> tl.full((2, 2), 7)
    Tensor([[7, 7],
            [7, 7]], dtype=int64, device='cpu')
    """
    requested_dtype = None if dtype is None else as_dtype(dtype, "dtype")
    # Exact types: bool is a subclass of int, and NumPy's float64 of float.
    if type(fill_value) is float or type(fill_value) is int:
        kind = requested_dtype or dtypes.default_scalar_dtype(type(fill_value))
        if _converts_with_one_rounding(fill_value, kind):
            return create_tensor(_FULL, shape, kind, device, layout, fill_value, order=order)
    value = _fill_value_tensor("full", fill_value, requested_dtype)
    return create_tensor(_FULL, shape, value.dtype, device, layout, value.memory, order=order)


def _converts_with_one_rounding(number: float, kind: DType) -> bool:
    """Return True if a Python number converts to `kind` with one rounding on every path."""
    # Integers up to 2**53 are exact in float64; larger ones might be rounded to float64 and then to
    # float32. NaN compares false and takes the other path.
    if kind.kind == "f" and kind.itemsize >= 4:
        return -(2**53) <= number <= 2**53
    # Other kinds get an empty range.
    least, most = dtypes.integer_limits(kind) if kind.kind in "iu" else (0, -1)
    return type(number) is int and least <= number <= most


def _fill_value_tensor(name: str, value: Any, dtype: DType | None) -> Tensor:
    if type(value) not in dtypes.SCALARS and not isinstance(value, Tensor):
        if not isinstance(value, (int, float, complex, np.generic)):
            raise TypeError(f"fill_value must be a number, got {arguments.format_argument(value)}")
        value = arguments.as_operand(value)
    if not isinstance(value, Tensor):
        return tensor_from_sequence(name, value, dtype)
    if value.ndim:
        raise ValueError(f"fill_value must be a number, got a tensor of shape {value.shape}")
    return copy_tensor(name, move_to_cpu(value), None, dtype)


def zeros(
    shape: Integers,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor of zeros.

    `shape`, `dtype`, `order`, `device` and `layout` are as in `empty`.

    Raises `TypeError` and `ValueError` as `empty` does.

    >>> import tensorlayout as tl
    >>> tl.zeros((2, 3), dtype=tl.int8, layout="WH")
    Tensor([[0, 0, 0],
            [0, 0, 0]], dtype=int8, device='cpu', layout='F')
    """
    return create_tensor(_ZEROS, shape, dtype, device, layout, 0, order=order)


def ones(
    shape: Integers,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor of ones.

    `shape`, `dtype`, `order`, `device` and `layout` are as in `empty`.

    Raises `TypeError` and `ValueError` as `empty` does.

    >>> import tensorlayout as tl
    >>> tl.ones(3)
    Tensor([1., 1., 1.], dtype=float64, device='cpu')
    """
    return create_tensor(_ONES, shape, dtype, device, layout, 1, order=order)


def _create_like(
    operation: Create,
    a: Tensor,
    dtype: Any,
    order: Any,
    shape: Any,
    device: Any,
    layout: Any,
    *values: Any,
) -> Tensor:
    x = arguments.as_tensor(a)
    kind = x.dtype if dtype is None else as_dtype(dtype, "dtype")
    sizes = x.shape if shape is None else arguments.as_shape(shape)
    if not (type(order) is str and order == "K"):
        _check_order_without_layout(order, layout)
        layout = arguments.layout_for_order(order, x, sizes)
    elif layout is None:
        # The form of `a` is for its own shape. Another shape of the same rank takes only the order
        # of the dimensions, because tiles and padding would not fit.
        if sizes == x.shape:
            layout = adapt_layout_to_dtype(x.spec.layout.form, kind)
        elif len(sizes) == x.ndim:
            layout = x.spec.layout.minor_to_major
    return create_tensor(
        operation, sizes, kind, x.device if device is None else device, layout, *values
    )


def empty_like(
    prototype: Tensor,
    /,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Integers | None = None,
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return an uninitialised tensor with the shape and form of `prototype`.

    - `dtype`, `device`, `layout`: by default as `prototype`, the layout in its form: order, padding
      and tiles, without gaps or negative strides.
    - `order`: ``K``, that form; ``C``, row-major; ``F``, column-major; ``A``, column-major if
      `prototype` is.
    - `shape`: another shape; the result is packed, in the order of `prototype` if it has its rank,
      else row-major.
    - `subok`: has no effect.

    Raises `TypeError` if `prototype` is not a tensor or `dtype` not a dtype; `ValueError` for a
    layout of another shape, an unknown `order`, and an unavailable device.

    >>> import tensorlayout as tl
    >>> tl.empty_like(tl.permute_dims(tl.zeros((2, 3)), (1, 0))).layout
    Layout.parse('(3,2):(1,3)')
    """
    return _create_like(_EMPTY_LIKE, prototype, dtype, order, shape, device, layout)


def full_like(
    a: Tensor,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Integers | None = None,
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor of the shape and form of `a`, filled with one value.

    `fill_value` is a number, or a tensor or list that broadcasts to the shape. `dtype`, `order`,
    `subok`, `shape`, `device` and `layout` are as in `empty_like`.

    Raises `TypeError` and `ValueError` as `empty_like` does; `TypeError` for a complex value in a
    real dtype, `ValueError` if shapes do not broadcast, `OverflowError` for an integer out of
    range.

    >>> import tensorlayout as tl
    >>> tl.full_like(tl.asarray([1.0, 2.0]), 9)
    Tensor([9., 9.], dtype=float64, device='cpu')
    """
    if isinstance(fill_value, Tensor) and isinstance(a, (list, tuple)):
        a = asarray(a, device=fill_value.device)
    x = arguments.as_tensor(a)
    kind = x.dtype if dtype is None else as_dtype(dtype, "dtype")
    arrays = isinstance(fill_value, (Tensor, np.ndarray)) and fill_value.ndim
    if arrays or isinstance(fill_value, (list, tuple)):
        result = _create_like(_EMPTY_LIKE, x, kind, order, shape, device, layout)
        result[...] = fill_value
        return result
    value = _fill_value_tensor("full_like", fill_value, kind)
    return _create_like(_FULL_LIKE, x, kind, order, shape, device, layout, value.memory)


def zeros_like(
    a: Tensor,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Integers | None = None,
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor of the shape and form of `a`, of zeros.

    `dtype`, `order`, `subok`, `shape`, `device` and `layout` are as in `empty_like`.

    Raises `TypeError` and `ValueError` as `empty_like` does.

    >>> import tensorlayout as tl
    >>> tl.zeros_like(tl.asarray([1, 2]))
    Tensor([0, 0], dtype=int64, device='cpu')
    """
    return _create_like(_ZEROS_LIKE, a, dtype, order, shape, device, layout, 0)


def ones_like(
    a: Tensor,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Integers | None = None,
    *,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> Tensor:
    """Return a new tensor of the shape and form of `a`, of ones.

    `dtype`, `order`, `subok`, `shape`, `device` and `layout` are as in `empty_like`.

    Raises `TypeError` and `ValueError` as `empty_like` does.

    >>> import tensorlayout as tl
    >>> tl.ones_like(tl.asarray([5, 6]), dtype=tl.float32)
    Tensor([1., 1.], dtype=float32, device='cpu')
    """
    return _create_like(_ONES_LIKE, a, dtype, order, shape, device, layout, 1)


# Int64 holds such an end, and the end plus one step.
_SAFE = 2**62


def arange(
    start: Real,
    /,
    stop: Real | None = None,
    step: Real = 1,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return the numbers from `start` up to, but not including, `stop`.

    - `start`, `stop`: with one argument, it is `stop`, and `start` is 0.
    - `step`: the distance between neighbours.
    - `dtype`: by default int64 if all arguments are integers, otherwise float64.
    - `device`: by default the default device.

    Returns a new tensor of rank 1. Layout: row-major.

    Raises `ValueError` for a step of 0, and `OverflowError` for integers that `dtype` cannot hold.

    >>> import tensorlayout as tl
    >>> tl.arange(1, 8, 3)
    Tensor([1, 4, 7], dtype=int64, device='cpu')
    """
    begin, end = (0, start) if stop is None else (start, stop)
    if type(begin) is type(end) is type(step) is int and step and dtype is None:
        # The quotient rounded up, in integers: // rounds down, and the negation turns that round.
        # For 0 to 7 by 3 it is -((0 - 7) // 3) = 3. Floats would lose integers above 2**53.
        count = max(0, -((begin - end) // step))
        if -_SAFE <= begin <= _SAFE and -_SAFE <= end <= _SAFE and count <= _SAFE:
            return create_tensor(_ARANGE, (count,), dtypes.int64, device, None, begin, step)
    first: Any = arguments.as_real_number("start", begin)
    end = arguments.as_real_number("stop", end)
    by: Any = arguments.as_real_number("step", step)
    if by == 0:
        raise ValueError("step must not be 0")
    whole = type(first) is type(end) is type(by) is int
    default = dtypes.int64 if whole else dtypes.float64
    kind = default if dtype is None else arguments.as_dtype_in_category("numeric", dtype)
    count = _arange_length(first, end, by, whole)
    # At most one number results, and 0 * infinity would be NaN.
    if by in (math.inf, -math.inf):
        by = 0.0
    # Only numbers that occur are checked, not `stop`, which may be out of range.
    if whole and count and kind.kind in "iu":
        last = first + (count - 1) * by
        check_range_fits(min(first, last), max(first, last), kind)
    if count > MAX_SLOTS:
        raise ValueError(f"from {first} to {end} by {by} are more than 2**63 - 1 numbers")
    # Each number is computed as a float and then truncated. NumPy truncates the first two, and goes
    # on with their difference.
    if not whole and dtypes.is_in_category(kind, "integral"):
        floats = create_tensor(_ARANGE, count, dtypes.float64, device, None, first, by)
        return copy_tensor("arange", floats, None, kind)
    return create_tensor(_ARANGE, count, kind, device, None, first, by)


def _arange_length(first: Any, end: Any, by: Any, is_integral: bool) -> int:
    """Return how many numbers there are from `first` to before `end`, `by` apart."""
    if is_integral:
        return int(max(0, -((first - end) // by)))
    start, stop, step = (arguments.integer_or_float_to_float(n) for n in (first, end, by))
    length = (stop - start) / step
    if not math.isfinite(length):
        raise ValueError(f"from {first} to {end} by {by} is no finite number of steps")
    # A quotient below the least float was rounded to 0.
    if length == 0 and start != stop:
        return int((stop > start) == (step > 0))
    return max(0, math.ceil(length))
