"""NumPy's universal functions on tensors: the implementation of `__array_ufunc__`.

``np.sin(x)`` and ``np.float64(2) * x`` call our function of the same name, on any device, with
NumPy's promotion: operands of dtypes that our function rejects are converted to those of the loop
that NumPy would run. A few ufuncs without a counterpart are composed of our functions. Others, such
as those of `scipy.special`, run on the memory of CPU tensors; their results are packed in the order
of the operands.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import REFUSALS, finalize_public_error
from tensorlayout.exchange.numpy import call_quietly, tensor_over_array
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.extra_scattering import scatter_add, scatter_max, scatter_min
from tensorlayout.functions.operands import (
    as_tensor_on_device_of,
    as_tensors,
    call_product_allowing_bools,
)
from tensorlayout.functions.outputs import accumulation_dtype, store_in_out_where
from tensorlayout.functions.transfers import ensure_strided
from tensorlayout.tensor import Tensor

UFunc = np.ufunc
_Kind = Any  # a dtype, or the type of a Python scalar

# Our functions by the NumPy ufunc of the same name.
_OURS: dict[UFunc, Any] = {
    numpy_ufunc: function
    for name, function in vars(xp).items()
    if hasattr(function, "operation")
    and isinstance(numpy_ufunc := getattr(np, name, None), np.ufunc)
}

# Replacements for bool, if our function of that name does not accept it.
_OF_BOOL: dict[UFunc, Any] = {
    np.maximum: xp.logical_or,
    np.minimum: xp.logical_and,
    **dict.fromkeys((np.absolute, np.floor, np.ceil, np.trunc), Tensor.copy),
}


def _modf(x: Tensor) -> tuple[Tensor, Tensor]:
    whole = xp.trunc(x)
    # An infinity minus itself is NaN, but its fraction is 0. The fraction of a negative whole
    # number is -0, which the subtraction gives as 0.
    fraction = xp.where(xp.isinf(x), 0.0, xp.subtract(x, whole))
    return xp.copysign(fraction, x), whole


def _make_fmin_or_fmax(combine: Any, bool_function: Any) -> Any:
    """Return a minimum or maximum that ignores NaN if the other number is not NaN."""

    def combine_ignoring_nan(x: Tensor, y: Tensor) -> Tensor:
        if not dtypes.is_in_category(x.dtype, "real floating"):
            return (bool_function if x.dtype == dtypes.bool else combine)(x, y)
        return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, combine(x, y)))

    return combine_ignoring_nan


def _heaviside(x: Tensor, y: Tensor) -> Tensor:
    nonzero_result = xp.where(xp.equal(x, 0), y, xp.astype(xp.greater(x, 0), x.dtype))
    # Comparisons with NaN are False, so it would become 0.
    return xp.where(xp.isnan(x), x, nonzero_result)


# Ufuncs composed of our functions; operands have the dtypes of NumPy's loop.
_COMPOSED: dict[UFunc, Callable[..., Any]] = {
    np.divmod: lambda x, y: (xp.floor_divide(x, y), xp.remainder(x, y)),
    np.exp2: lambda x: xp.pow(2.0, x),
    np.fabs: xp.abs,
    np.float_power: xp.pow,
    np.fmax: _make_fmin_or_fmax(xp.maximum, xp.logical_or),
    np.fmin: _make_fmin_or_fmax(xp.minimum, xp.logical_and),
    np.heaviside: _heaviside,
    np.modf: _modf,
    np.rint: xp.round,
    **dict.fromkeys((np.deg2rad, np.radians), lambda x: xp.multiply(x, math.pi / 180)),
    **dict.fromkeys((np.rad2deg, np.degrees), lambda x: xp.multiply(x, 180 / math.pi)),
}


def _matvec(x: Tensor, y: Tensor) -> Tensor:
    _check_matrix_rank(x)
    return call_product_allowing_bools(xp.matmul, x, y[..., None])[..., 0]


def _vecmat(x: Tensor, y: Tensor) -> Tensor:
    _check_matrix_rank(y)
    # NumPy: vecmat conjugates its vector, matvec does not.
    conjugate = xp.conj(x) if x.dtype.kind == "c" else x
    return call_product_allowing_bools(xp.matmul, conjugate[..., None, :], y)[..., 0, :]


def _check_matrix_rank(x: Tensor) -> None:
    if x.ndim < 2:
        raise ValueError(f"matrices have a rank of at least 2, got shape {x.shape}")


_PRODUCTS: dict[UFunc, Callable[..., Tensor]] = {
    np.matmul: functools.partial(call_product_allowing_bools, xp.matmul),
    np.vecdot: functools.partial(call_product_allowing_bools, xp.vecdot),
}
if hasattr(np, "matvec"):  # since NumPy 2.2
    _PRODUCTS |= {np.matvec: _matvec, np.vecmat: _vecmat}


# Functions for operands that need no conversion, by ufunc and dtypes (types for non-tensors).
_STRAIGHT: dict[tuple[Any, ...], Any] = {}


def apply_ufunc(_x: Tensor, ufunc: UFunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Run a ufunc that was called on tensors, on their device; results are tensors.

    Methods: `reduce`, `accumulate`, `outer`, and `at` for sums, minima and maxima. Keywords:
    ``out=`` a tensor, ``where=`` a bool tensor (without ``out=``, other elements are 0), ``dtype=``
    and ``casting=`` as in NumPy. On the CPU, operands and ``out=`` may also be NumPy arrays; an
    array given as ``out=`` is returned. NotImplemented if another type has a protocol of its own.
    """
    outs = options.get("out", ())
    try:
        if not options and method == "__call__":
            kinds = [x.spec.dtype if type(x) is Tensor else type(x) for x in inputs]
            direct_function = _STRAIGHT.get((ufunc, *kinds))
            if direct_function is not None:
                return direct_function(*inputs)
        others = [x for x in (*inputs, *outs) if not isinstance(x, Tensor)]
        if any(map(dispatch.has_ufunc_protocol, others)):
            return NotImplemented
        result = _call_ufunc_method(ufunc, method, inputs, outs, options)
    except REFUSALS as error:
        ufunc_name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise finalize_public_error(error, f"numpy.{ufunc_name}") from None
    return outs[0] if len(outs) == 1 and isinstance(outs[0], np.ndarray) else result


def _call_ufunc_method(
    ufunc: UFunc, method: str, inputs: Sequence[Any], outs: Sequence[Any], options: dict[str, Any]
) -> Any:
    if method not in _METHODS:
        raise TypeError("takes no tensors; loop over slices of x, or take numpy.asarray(x)")
    # In comparisons NumPy passes its scalars as arrays of rank 0.
    operands = [x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs]
    if method != "at":  # positions may be arrays on every device
        operands = _wrap_numpy_arrays(operands)
    options = {key: value for key, value in options.items() if value is not np._NoValue}
    if outs:
        destinations = _wrap_numpy_arrays(outs)
        options["out"] = destinations[0] if len(destinations) == 1 else tuple(destinations)
    return _METHODS[method](ufunc, *operands, **options)


def _wrap_numpy_arrays(operands: Sequence[Any]) -> list[Any]:
    """Return operands with NumPy arrays replaced by tensors over the same memory."""
    wrapped_operands = [
        arguments.as_operand(x) if isinstance(x, np.ndarray) else x for x in operands
    ]
    arguments.check_no_numpy_arrays(operands, arguments.device_of_first_tensor(operands))
    return wrapped_operands


def _call_ufunc(
    ufunc: UFunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    subok: bool = True,
    **options: Any,
) -> Any:
    name = f"numpy.{ufunc.__name__}"
    arguments.check_casting_rule(casting)
    if ufunc.signature is not None:
        result = _call_matrix_product(ufunc, inputs, dtype, casting, options)
    elif options:
        raise TypeError(f"takes no {'=, '.join(options)}= with tensors")
    elif ufunc in _OURS or ufunc in _COMPOSED:
        operands = [x if type(x) is Tensor else arguments.as_operand(x) for x in inputs]
        kinds = tuple(map(_dtype_or_scalar_type, operands))
        requested_dtype = None if dtype is None else as_dtype(dtype, "dtype")
        if ufunc in _COMPOSED:
            loop = numpy_loop_dtypes(ufunc, kinds, requested_dtype, casting)
            result = _COMPOSED[ufunc](*_operands_in_loop_dtypes(operands, inputs, loop))
        else:
            function, operands = _function_and_operands(
                ufunc, inputs, kinds, requested_dtype, casting
            )
            if function is not Tensor.copy:
                return function(*operands, out=out, where=where, casting=casting)
            result = function(*operands)
    else:
        result = _call_foreign_ufunc_on_cpu_memory(
            ufunc, inputs, {"dtype": dtype, "casting": casting}
        )
    if out is None and where is True:
        return result
    if not isinstance(result, tuple):
        return store_in_out_where(name, result, out, casting, where)
    outs = (None,) * len(result) if out is None else out
    pairs = zip(outs, result, strict=True)
    return tuple(
        store_in_out_where(name, part, destination, casting, where) for destination, part in pairs
    )


def _dtype_or_scalar_type(x: Any) -> _Kind:
    """Return the dtype of an operand, or the type of a Python scalar, which is weakly typed."""
    if hasattr(x, "dtype"):
        return x.dtype
    return dtypes.bool if type(x) is bool else type(x)


def _function_and_operands(
    ufunc: UFunc,
    inputs: Sequence[Any],
    kinds: tuple[_Kind, ...],
    requested_dtype: Any,
    casting: str,
) -> tuple[Any, list[Any]]:
    """Return our function and the converted operands."""
    function, targets = _resolve_tensor_function(ufunc, kinds, requested_dtype, casting)
    if targets is None:
        # The key has no options, and dtype= or casting= may select another function.
        if requested_dtype is None and casting == "same_kind" and len(_STRAIGHT) < _MOST:
            key = [x.spec.dtype if type(x) is Tensor else type(x) for x in inputs]
            _STRAIGHT[(ufunc, *key)] = function
        return function, list(inputs)
    pairs = zip(inputs, targets, strict=True)
    return function, [_cast_operand(x, kind, requested_dtype is not None) for x, kind in pairs]


_MOST = 4096  # entries: more than there are dtypes for the ufuncs of NumPy


def _cast_operand(x: Any, kind: DType, is_requested: bool) -> Any:
    """Cast a tensor or NumPy scalar to a dtype; a Python scalar only for `dtype=` or bool."""
    if isinstance(x, Tensor):
        return xp.astype(x, kind, copy=False)
    if isinstance(x, np.generic):
        return x.astype(kind)
    # With dtype=, NumPy converts a number before it computes: in int64, 2.7 is 2.
    return np.asarray(x).astype(kind).item() if is_requested or kind == dtypes.bool else x


@functools.cache
def _resolve_tensor_function(
    ufunc: UFunc, kinds: tuple[_Kind, ...], dtype: DType | None, casting: str
) -> tuple[Any, tuple[DType, ...] | None]:
    """Return our function, and the dtypes to convert operands to; None for no conversion."""
    function = _OURS[ufunc]
    operation = function.operation
    strong = [kind for kind in kinds if isinstance(kind, np.dtype)]
    weak = [kind for kind in kinds if not isinstance(kind, np.dtype)]
    if not strong:
        return function, None
    if casting not in ("same_kind", "unsafe"):
        # Raises for operands that the rule does not permit to be cast.
        numpy_loop_dtypes(ufunc, kinds, dtype, casting)
    # Our function gets the operands as they are if it accepts the dtype to which they promote.
    # Otherwise they are converted to the dtypes of NumPy's loop, except in the cases below.
    promoted = functools.reduce(
        dtypes.promote_with_scalar, weak, functools.reduce(dtypes.promote_dtypes, strong)
    )
    if dtype is None and (
        operation.accepts_dtype(promoted) or (promoted == dtypes.bool and operation.of_bools)
    ):
        return function, None
    if operation.dtypes == "bool":  # logical functions take the truth of any numbers
        if dtype is not None:
            numpy_loop_dtypes(ufunc, kinds, dtype, casting)
        return function, (dtypes.bool,) * len(kinds)
    try:
        *loop, _ = numpy_loop_dtypes(ufunc, kinds, dtype, casting)
    except TypeError:
        if dtype is None:
            return function, None
        raise
    # Ours gives float64 for integers as well, without converted copies of them.
    if dtype is None and operation.converts_integers_to_float and set(loop) == {dtypes.float64}:
        return function, None
    promoted = functools.reduce(dtypes.promote_dtypes, loop)
    if promoted == dtypes.bool and not dtypes.is_in_category(promoted, operation.dtypes):
        # Comparisons: 0 and 1 compare as False and True.
        if operation.result == "bool":
            return function, (dtypes.uint8,) * len(loop)
        return _OF_BOOL.get(ufunc, function), tuple(loop)
    if not dtypes.is_in_category(promoted, operation.dtypes):
        if operation.converts_integers_to_float:
            dtypes_text = ", ".join(map(str, kinds))
            advice = "convert the operands to a floating-point dtype with astype() first"
            raise TypeError(f"gives integers for {dtypes_text}; {advice}")
        return function, None if dtype is None else tuple(loop)
    return function, tuple(loop)


def numpy_loop_dtypes(
    ufunc: UFunc, kinds: Sequence[_Kind], dtype: DType | None, casting: str
) -> tuple[DType, ...]:
    """Return the dtypes of operands and results of NumPy's loop; TypeError if there is none."""
    # NumPy 2.4.6 crashes for "equiv" with a Python scalar; for native dtypes it equals "no".
    options: dict[str, Any] = {"casting": "no" if casting == "equiv" else casting}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    operand_dtypes: Any = (*kinds, *(None,) * ufunc.nout)
    return _call_with_plain_errors(ufunc.resolve_dtypes, operand_dtypes, **options)


def _operands_in_loop_dtypes(
    operands: Sequence[Any], inputs: Sequence[Any], loop: Sequence[DType]
) -> list[Tensor]:
    """Return the operands as tensors with the dtypes of NumPy's loop."""
    # A NumPy scalar among `inputs` is a CPU tensor among `operands`: it is made again on the device
    # of the call. `loop` ends with the dtypes of the results, for which there are no operands.
    device = next(x.device for x in inputs if isinstance(x, Tensor))
    return [
        xp.astype(x, kind, copy=False)
        if isinstance(x, Tensor) and isinstance(y, Tensor)
        else xp.asarray(y, dtype=kind, device=device)
        for x, y, kind in zip(operands, inputs, loop, strict=False)
    ]


def _call_foreign_ufunc_on_cpu_memory(
    ufunc: UFunc, inputs: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Call a ufunc of another library on the memory of tensors."""
    operands = [arguments.as_operand(x) for x in inputs]
    for x in operands:
        if isinstance(x, Tensor) and x.device != "cpu":
            raise TypeError(f"not on {x.device}; use to_device('cpu') first")
    arrays = [ensure_strided("ufunc", x).memory if isinstance(x, Tensor) else x for x in operands]
    results = _call_with_plain_errors(ufunc, *arrays, **options)
    if isinstance(results, tuple):
        return tuple(tensor_over_array(np.asarray(part)) for part in results)
    return tensor_over_array(np.asarray(results))


def _call_with_plain_errors(function: Any, *arrays: Any, **options: Any) -> Any:
    """Call NumPy; replace its errors, whose text is not in `args`, by plain ones."""
    try:
        return call_quietly(function, *arrays, **options)
    except (TypeError, ValueError, OverflowError) as error:
        kind = next(k for k in (TypeError, OverflowError, ValueError) if isinstance(error, k))
        raise kind(str(error)) from None


def _call_matrix_product(
    ufunc: UFunc, inputs: Sequence[Any], dtype: Any, casting: str, options: dict[str, Any]
) -> Any:
    """Return a product of vectors or matrices in the requested dtype."""
    if ufunc not in _PRODUCTS:
        raise TypeError("takes no tensors; make arrays with numpy.asarray()")
    operands = as_tensors(*inputs)
    if dtype is not None:
        kind = as_dtype(dtype, "dtype")
        for x in operands:
            if not arguments.can_cast(x.dtype, kind, casting):
                raise TypeError(f"{x.dtype} cannot become {kind} by the rule {casting!r}")
        operands = [xp.astype(x, kind, copy=False) for x in operands]
    axis = options.pop("axis", -1) if ufunc is np.vecdot else -1
    if options.get("axes") == [(-2, -1)] * 3:  # the default, which `array @= tensor` passes
        del options["axes"]
    if options:
        raise TypeError(f"takes no {'=, '.join(options)}= with tensors; use moveaxis()")
    if axis != -1:
        operands = [xp.moveaxis(x, arguments.as_integer("axis", axis), -1) for x in operands]
    return _PRODUCTS[ufunc](*operands)


_REDUCTIONS: dict[UFunc, Any] = {
    np.add: xp.sum,
    np.logical_and: xp.all,
    np.logical_or: xp.any,
    np.maximum: xp.max,
    np.minimum: xp.min,
    np.multiply: xp.prod,
}


def _reduce_ufunc(
    ufunc: UFunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Reduce with our function of the same name if there is one, else by a left fold."""
    name = f"numpy.{ufunc.__name__}.reduce"
    x = arguments.as_tensor(x)
    options = {"axis": axis, "out": out, "keepdims": keepdims}
    options |= {"initial": initial} if initial is not None else {}
    options |= {"where": where} if where is not True else {}
    if ufunc in _REDUCTIONS and not (ufunc in _OF_TRUTHS and (initial, dtype) != (None, None)):
        # Sums and products accumulate in the dtype. The others take none: convert before.
        if dtype is not None and ufunc not in (np.add, np.multiply):
            x = xp.astype(x, dtype, copy=False)
        elif dtype is not None:
            options["dtype"] = dtype
        return _REDUCTIONS[ufunc](x, **options)
    if where is not True:
        raise TypeError("takes no tensors with where=; use where() first")
    dims = arguments.normalize_axes(axis, x.ndim)
    x = _cast_for_fold(ufunc.reduce, x, dims, dtype, out)
    kept_shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
    # The dimensions to reduce move to the front and become one; each part along it has the shape of
    # the result.
    first = xp.moveaxis(x, dims, tuple(range(len(dims)))) if dims else x
    count, rest_shape = math.prod(first.shape[: len(dims)]), first.shape[len(dims) :]
    parts = list(xp.reshape(first, (count, *rest_shape)))
    initial_value = ufunc.identity if initial is None else initial
    if initial is not None or not parts:
        if initial_value is None:
            raise ValueError("nothing to reduce, and there is no identity")
        parts.insert(0, xp.full(rest_shape, initial_value, dtype=x.dtype, device=x.device))
    # The last step, without keeping the earlier ones. A single part is a view of the operand:
    # astype copies it.
    result = functools.reduce(lambda _, step: step, _fold_steps(ufunc, parts))
    result = xp.astype(result, x.dtype) if len(parts) == 1 else result
    result = xp.reshape(result, kept_shape) if keepdims else result
    return result if out is None else store_in_out_where(name, result, out, "same_kind", True)


# NumPy folds these in bool, whatever the dtype of the elements.
_OF_TRUTHS = (np.logical_and, np.logical_or)


def _cast_for_fold(method: Any, x: Tensor, axis: Any, dtype: Any, out: Any) -> Tensor:
    """Cast `x` to the dtype in which NumPy folds it; raise if NumPy would."""
    kind = dtype if method.__self__ in _OF_TRUTHS else accumulation_dtype(x, out, dtype)
    x = x if kind is None else xp.astype(x, kind, copy=False)
    # One element suffices to let NumPy determine the dtype, and raise its errors.
    probe = np.ones((1,) * x.ndim, x.dtype)
    return xp.astype(
        x, _call_with_plain_errors(method, probe, axis=axis, dtype=kind).dtype, copy=False
    )


def _fold_steps(ufunc: UFunc, parts: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the result of a left fold after each part."""
    kind = parts[0].dtype
    requested_dtype = None if kind == dtypes.bool else kind
    steps = itertools.accumulate(
        parts, lambda a, b: _call_ufunc(ufunc, a, b, dtype=requested_dtype)
    )
    return (xp.astype(step, kind, copy=False) for step in steps)


_RUNNING: dict[UFunc, Any] = {np.add: xp.cumulative_sum, np.multiply: xp.cumulative_prod}


def _accumulate_ufunc(
    ufunc: UFunc, x: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Tensor:
    name = f"numpy.{ufunc.__name__}.accumulate"
    x = arguments.as_tensor(x)
    dim = arguments.normalize_axis(axis, x.ndim)
    if ufunc in _RUNNING:
        kind = accumulation_dtype(x, out, dtype)
        operand = xp.astype(x, dtypes.int64) if x.dtype == dtypes.bool and kind is None else x
        result = _RUNNING[ufunc](operand, axis=dim, dtype=kind)
    else:
        x = _cast_for_fold(ufunc.accumulate, x, dim, dtype, out)
        parts = list(_fold_steps(ufunc, list(xp.moveaxis(x, dim, 0)))) if x.shape[dim] else []
        result = xp.stack(parts, axis=dim) if parts else xp.astype(x, x.dtype)
    return result if out is None else store_in_out_where(name, result, out, "same_kind", True)


def _outer_ufunc(ufunc: UFunc, x: Any, y: Any, **options: Any) -> Any:
    # NumPy's outer converts numbers to arrays, so their dtypes are not weak.
    x, y = (np.asarray(z)[()] if type(z) in dtypes.SCALARS else z for z in (x, y))
    if isinstance(x, Tensor):
        y_rank = getattr(y, "ndim", 0)
        # Sizes of 1 for all dimensions of y: broadcasting then pairs each element with all of y.
        x = xp.reshape(x, (*x.shape, *(1,) * y_rank)) if y_rank else x
    return _call_ufunc(ufunc, x, y, **options)


_SCATTERING: dict[UFunc, Any] = {
    np.add: scatter_add,
    np.subtract: scatter_add,
    np.maximum: scatter_max,
    np.minimum: scatter_min,
}


def _scatter_ufunc(ufunc: UFunc, x: Any, indices: Any, values: Any = None) -> None:
    """Combine values with the elements at positions in place, once per occurrence."""
    if ufunc not in _SCATTERING:
        supported_names = ", ".join(item.__name__ for item in _SCATTERING)
        advice = "where no position is named twice, write x[indices] = ..."
        raise TypeError(f"tensors support at() of {supported_names} only; {advice}")
    x = arguments.check_writable(arguments.as_tensor(x))
    # Indexing the row-major numbers of the elements gives the positions that any kind of index
    # names, a repeated one as often as it occurs.
    places = xp.reshape(xp.arange(x.size, device=x.device), x.shape)[indices]
    value = as_tensor_on_device_of(values, x)
    (*_, kind) = numpy_loop_dtypes(ufunc, (x.dtype, value.dtype), None, "same_kind")
    if not arguments.can_cast(kind, x.dtype, "same_kind"):
        raise TypeError(f"{kind} cannot be put into {x.dtype}; use astype() first")
    value = xp.broadcast_to(xp.astype(value, x.dtype, copy=False), places.shape)
    # There is no scatter_subtract: add the negated values.
    value = xp.negative(value) if ufunc is np.subtract else value
    lines = [xp.reshape(item, (-1,)) for item in (x, places, value)]
    x[...] = xp.reshape(_SCATTERING[ufunc](*lines), x.shape)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call_ufunc,
    "accumulate": _accumulate_ufunc,
    "at": _scatter_ufunc,
    "outer": _outer_ufunc,
    "reduce": _reduce_ufunc,
}
