"""Methods of tensors without a function of the same name and meaning in the namespace.

`reshape`, `transpose` and `permute` also accept sizes and axes one by one; `trace` is the trace of
a matrix, whereas `tl.trace` records operations; `sort` works in place; `clip` promotes, whereas the
standard keeps the dtype of the tensor.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch, indexing, interchange, sorting
from tensorlayout.functions import basics as xp
from tensorlayout.functions.manipulation import flatten_in_order
from tensorlayout.functions.operands import as_tensor_on_device_of
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.functions.transfers import ensure_strided, move_to_cpu, move_to_device
from tensorlayout.plan import Assign, Reinterpret
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, DTypeLike, Integers

_FILL, _SORT, _VIEW = Assign("fill"), Assign("sort"), Reinterpret()


def reshape(a: Tensor, /, *shape: Integers, order: str = "C", copy: bool | None = None) -> Tensor:
    """Return the elements in index order with another shape.

    - `shape`: the new sizes; one of them may be -1 and is computed.
    - `order`: the index that changes fastest, in `a` and in the result: ``C`` for the last, ``F``
      for the first, ``A`` for the first if `a` is column-major.
    - `copy`: None copies only if needed, True always, False never.

    Returns a view if the strides permit it, otherwise a packed copy in that order (row-major for
    ``C``). Any dtype, kept.

    Raises `ValueError` for a shape with another number of elements, and if `copy` is False but a
    copy is needed.

    >>> import tensorlayout as tl
    >>> tl.arange(6).reshape(2, -1)
    Tensor([[0, 1, 2],
            [3, 4, 5]], dtype=int64, device='cpu')
    """
    # A single argument is the shape itself: a tuple, or -1.
    sizes: Any = shape[0] if len(shape) == 1 else shape
    return xp.reshape(a, sizes, order, copy=copy)


def transpose(a: Tensor, *axes: Integers | None) -> Tensor:
    """Permute dimensions; axes come one by one or as one sequence, reversed if none.

    Raises `ValueError` and `TypeError` as `tl.permute_dims` does.

    >>> import tensorlayout as tl
    >>> tl.zeros((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    order: Any = axes[0] if len(axes) == 1 else axes or None
    return xp.permute_dims(a, order)


def permute(a: Tensor, *dims: Integers) -> Tensor:
    """Return a view with the dimensions permuted, given one by one or as one sequence."""
    order: Any = dims[0] if len(dims) == 1 else dims
    return xp.permute_dims(a, order)


def flatten(a: Tensor, order: str = "C") -> Tensor:
    """Return a copy of the elements as one dimension; `order` as in `tl.ravel`."""
    return flatten_in_order(a, order, True)


def trace(
    a: Tensor,
    offset: SupportsIndex = 0,
    axis1: SupportsIndex = 0,
    axis2: SupportsIndex = 1,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum along the diagonal `offset` of matrices; dtype as in `sum`."""
    line = xp.diagonal(a, offset, axis1, axis2)
    return store_in_out("trace", xp.sum(line, axis=-1, dtype=dtype), out)


def view(a: Tensor, dtype: Any = None) -> Any:
    """View the same memory as elements of `dtype`, without a copy; None gives a new view.

    A dtype of the same item size accepts any layout. For another, the last dimension must have
    stride 1 (or size 1); its size changes accordingly. NumPy's void types, with which Zarr compares
    bits, give a NumPy array over the memory on the CPU.

    Raises `ValueError` if the strides do not allow it or the size is not divisible; `TypeError` if
    `dtype` is not one.

    >>> import tensorlayout as tl
    >>> tl.asarray([1.0, -2.0], dtype=tl.float32).view(tl.uint32)
    Tensor([1065353216, 3221225472], dtype=uint32, device='cpu')
    """
    if isinstance(dtype, (int, tuple, list)):
        raise TypeError("takes a dtype; for another shape use reshape(…, copy=False)")
    # Text such as "V8" or "|V8", which `as_dtype` would refuse.
    if isinstance(dtype, str) and dtype.startswith(("V", "|V")):
        return interchange.note_export("view", a, interchange.to_numpy(a).view(dtype))
    a = arguments.as_tensor(a)
    kind = a.dtype if dtype is None else dtypes.as_dtype(dtype, "dtype")
    return dispatch.call(_VIEW, (a.spec, kind), (a,))


def fill(a: Tensor, value: ArrayLike) -> None:
    """Set each element to `value`, a number or a tensor of rank 0, in place."""
    number = arguments.as_operand(value)
    if isinstance(number, Tensor):
        if number.ndim:
            raise ValueError(f"value must be one number, got shape {number.shape}; use x[...] = y")
        number = move_to_device(number, a.device)
    arguments.check_writable(a)
    kind = number.spec if isinstance(number, Tensor) else type(number)
    dispatch.call(_FILL, (a.spec, kind), (a, number))


def item(a: Tensor, *index: Integers) -> Any:
    """Return one element as a Python number: at an index, at a position, or the only one.

    Raises `IndexError` if the position is out of bounds; `ValueError` without a position if there
    is more than one element.

    >>> import tensorlayout as tl
    >>> tl.asarray([[1, 2], [3, 4]]).item(1, 0)
    3
    """
    key: Any = index[0] if len(index) == 1 and isinstance(index[0], (tuple, list)) else index
    if len(key) == 0:
        if a.size != 1:
            rule = "can only convert a tensor with one element to a Python scalar"
            raise ValueError(f"{rule}, got shape {a.shape}; pass an index")
        element = xp.reshape(a, ())
    else:
        indices = tuple([arguments.as_integer("index", i) for i in key])
        # One integer counts in index order, whatever the rank.
        if len(indices) == 1 and a.ndim != 1:
            if not -a.size <= indices[0] < a.size:
                raise IndexError(f"index {indices[0]} is out of bounds for {a.size} elements")
            indices = tuple(map(int, np.unravel_index(indices[0] % a.size, a.shape)))
        if len(indices) != a.ndim:
            raise ValueError(
                f"needs {a.ndim} integers, or one, got {arguments.format_argument(index)}"
            )
        # A packed element may begin inside of a byte, where no view can begin.
        source = ensure_strided("__array__", a) if a.spec.layout.slot_bits is not None else a
        element = indexing.getitem(source, indices)
    return tolist(element)


def tolist(a: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers; at rank 0 the number itself."""
    a = move_to_cpu(a)
    if not dtypes.is_numpy_dtype(a.dtype):
        # NumPy's tolist would leave the scalars of ml_dtypes; the wider dtype holds each value
        # exactly.
        a = xp.astype(a, dtypes.computing_dtype(a.dtype))
    return interchange.to_numpy(a).tolist()


def tobytes(a: Tensor) -> bytes:
    """Return the bytes of the elements in row-major index order, with no padding and no gaps."""
    return interchange.to_numpy(move_to_cpu(a)).tobytes()


# Kinds of bounds that keep the dtype of `a`.
_WHOLE = {int, type(None)}


def clip(
    a: Tensor,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    out: Tensor | None = None,
    *,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Tensor:
    """Call `tl.clip` in the dtype that the tensor and the bounds promote to, as NumPy does.

    `min`, `max`: other names of `a_min`, `a_max`.
    """
    a = arguments.as_tensor(a)
    least = _aliased_argument_as_operand(a, "a_min", a_min, "min", min)
    most = _aliased_argument_as_operand(a, "a_max", a_max, "max", max)
    # A bound outside the dtype's range has no effect.
    if a.dtype.kind in "iu":
        limits = xp.iinfo(a.dtype)
        least = None if type(least) is int and least <= limits.min else least
        most = None if type(most) is int and most >= limits.max else most
    bounds = [b for b in (least, most) if type(b) not in _WHOLE]
    if bounds:
        a = xp.astype(a, xp.result_type(a, *bounds), copy=False)
    return store_in_out("clip", xp.clip(a, least, most), out)


def _aliased_argument_as_operand(
    a: Tensor, first_name: str, first_value: Any, second_name: str, second_value: Any
) -> Any:
    """Return the argument passed under one of two names, as an operand for `a`."""
    if first_value is not None and second_value is not None:
        raise ValueError(f"{first_name} and {second_name} are two names of one argument, got both")
    bound = second_value if first_value is None else first_value
    is_sequence = arguments.is_foreign_array(bound) or isinstance(bound, (list, tuple))
    return as_tensor_on_device_of(bound, a) if is_sequence else bound


def sort(
    a: Tensor,
    axis: SupportsIndex = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> None:
    """Sort the elements of `a` along `axis` in place; `tl.sort` returns a new tensor."""
    result = sorting.sort(a, axis, kind, order, stable=stable, descending=descending)
    arguments.check_writable(a)
    dispatch.call(_SORT, (a.spec, result.spec), (a, result))


def real(a: Tensor) -> Tensor:
    """Return a view of the real parts; assignment writes them."""
    # `tl.real` returns a bool tensor itself; the attribute is a view for every dtype.
    return xp.real(a) if a.spec.dtype.kind != "b" else a[...]


def imag(a: Tensor) -> Tensor:
    """Return a view of the imaginary parts; new zeros if `a` is not complex."""
    return xp.imag(a) if a.spec.dtype.kind != "b" else xp.zeros_like(a)


def write_real(a: Tensor, value: Any) -> None:
    """Assign `value` to the real part of `a`."""
    real(a)[...] = value


def write_imag(a: Tensor, value: Any) -> None:
    """Assign to `x.imag`; TypeError if `x` is not complex."""
    if not dtypes.is_in_category(a.dtype, "complex floating"):
        raise TypeError(f"imag: only a complex tensor has one to write, got {a.dtype}")
    xp.imag(a)[...] = value
