"""Dispatch: find the compiled plan of a call and run it.

The elementwise functions of `universal` are the shortest path of the package: two type checks, one
look-up of the plan, one call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout import plan
from tensorlayout.devices import CPU
from tensorlayout.dtypes import SCALARS, is_same_kind_cast, promote_dtypes
from tensorlayout.errors import REFUSALS, prefix_operation_name, strip_package_frames
from tensorlayout.exchange.numpy import describe_memory_error
from tensorlayout.functions import arguments
from tensorlayout.functions.arguments import check_writable
from tensorlayout.plan import compile_call
from tensorlayout.plan import watched as watched
from tensorlayout.tensor import Tensor

# Types with a higher `__array_priority__` than ours handle operators first.
PRIORITY = 1000.0

# Moves a NumPy scalar, wrapped on the CPU, to the device of the other operands.
_SCALAR = plan.Transfer()
assignment = functools.cache(plan.Assign)  # by name of the function that assigns

# Takes the operation, the key and the operands of a call. Returns the result, or None to pass the
# call on to the next handler.
Observer = Callable[[plan.Operation, tuple[Any, ...], tuple[Any, ...]], Any]

# Called for every operation while `watched` has open blocks.
observers: list[Observer] = []


def _call_unless_observer_answers(
    operation: plan.Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Any:
    # The first observer that returns a result ends the call: `fuse` records it, and nothing runs.
    for observer in observers:
        result = observer(operation, key, operands)
        if result is not None:
            return result
    return compile_call(operation, *key)(*operands)


def call(operation: plan.Operation, key: tuple[Any, ...], operands: tuple[Any, ...]) -> Tensor:
    """Run the plan of `key` on `operands`."""
    try:
        if watched:
            return _call_unless_observer_answers(operation, key, operands)
        return compile_call(operation, *key)(*operands)
    except TypeError as error:
        # An unhashable item of the key, such as a list, fails in the look-up, before planning could
        # explain which argument is wrong.
        raise named_error(operation, _unhashable_key_error(operation, key, error)) from None
    except REFUSALS as error:
        raise named_error(operation, error) from None


def call_view(operation: plan.Operation, x: Tensor, key: Any, start: int | None = None) -> Tensor:
    """Return a view of `x`, from row or slot `start`; `call` would take twice the time."""
    # The start is data and not part of the key: all rows of a tensor share one plan.
    try:
        if watched:
            return _call_unless_observer_answers(
                operation, (x.spec, key), (x,) if start is None else (x, start)
            )
        run = compile_call(operation, x.spec, key)
        return run(x) if start is None else run(x, start)
    except REFUSALS as error:
        raise named_error(operation, error) from None


# NumPy's message, a ValueError, for a size that exceeds 64 bits.
_TOO_BIG = "array is too big"


def call_into(
    out: Tensor | None, operation: plan.Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Tensor:
    """Run the plan of `key` on `operands`, and write into `out` if given."""
    if out is None:
        return call(operation, key, operands)
    return call(plan.into_destination(operation), (out.spec, *key), (out, *operands))


def _unhashable_key_error(
    operation: plan.Operation, key: tuple[Any, ...], error: TypeError
) -> Exception:
    """Return the error that planning raises for an unhashable argument, such as a list."""
    try:
        plan.compile_call_uncached(operation, *key)
    except (TypeError, ValueError) as reason:
        return reason
    return error


def named_error(operation: plan.Operation, error: Exception) -> Exception:
    """Return the error with the operation's name in front; unchanged if memory ran out."""
    if not hasattr(error, "said"):
        if str(error).startswith(_TOO_BIG):
            error = MemoryError()
        if isinstance(error, MemoryError):
            error = MemoryError(describe_memory_error(error))
    return strip_package_frames(prefix_operation_name(operation.name, error))


def call_elementwise(
    operation: plan.Elementwise, *operands: Any, out: Tensor | None = None
) -> Tensor:
    """Call an elementwise operation on tensors and scalars; an operand may be exactly in `out`."""
    for x in operands:
        if type(x) is not Tensor and type(x) not in SCALARS:
            operands = _as_operands_on_one_device(operands)
            break
    # Numbers alone would have no device, and Python's own arithmetic is meant for them.
    if Tensor not in map(type, operands):
        rule = "at least one operand must be a tensor or an array, got only Python scalars"
        raise TypeError(rule)
    key = tuple([type(x) if type(x) in SCALARS else x.spec for x in operands])
    if out is None:
        return call(operation, key, operands)
    return call_into(out, operation, key, operands)


def _as_operands_on_one_device(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace NumPy arrays and scalars by tensors; scalars are moved to the device of others."""
    inputs = tuple([arguments.as_operand(x) for x in operands])
    # The device comes from the tensors as the caller gave them: a NumPy scalar is wrapped on the
    # CPU, and moves to the device of the others.
    device = arguments.device_of_first_tensor(operands)
    if device == CPU:
        return inputs
    arguments.check_no_numpy_arrays(operands, device)
    return tuple(
        call(_SCALAR, (y.spec, device), (y,)) if isinstance(x, np.generic) else y
        for x, y in zip(operands, inputs, strict=True)
    )


def call_library(operation: plan.Library, *operands: Any, **options: Any) -> Any:
    """Call a library function, which returns one or several tensors, with hashable `options`."""
    tensors = tuple([x if type(x) is Tensor else arguments.as_tensor(x) for x in operands])
    arguments.check_no_numpy_arrays(operands, arguments.device_of_first_tensor(tensors))
    return call(operation, (len(tensors), *[x.spec for x in tensors], *options.items()), tensors)


# The methods below look plans up themselves in the most common cases: `call_elementwise` would take
# a large part of the time of an operation on a small tensor. Within blocks of `watched`, operations
# take the long way, which observers see.


def make_operator(operation: plan.Elementwise) -> Callable[[Tensor, Any], Any]:
    """Return the method for ``x + y`` and its like."""

    def binary_operator(self: Tensor, other: Any, /) -> Any:
        try:
            # Keys hold what the result's dtype and layout depend on: a spec for each tensor, the
            # type for each number. The number itself is an operand.
            if type(other) is Tensor and not watched:
                return compile_call(operation, self.spec, other.spec)(self, other)
            if type(other) in SCALARS and not watched:
                return compile_call(operation, self.spec, type(other))(self, other)
            # NotImplemented makes Python try the reflected operator of `other`; an error here would
            # not.
            return (
                call_elementwise(operation, self, other)
                if answers_for_operand(other)
                else NotImplemented
            )
        except REFUSALS as error:
            raise named_error(operation, error) from None

    return binary_operator


def make_reflected_operator(operation: plan.Elementwise) -> Callable[[Tensor, Any], Any]:
    """Return the method for ``1 + x`` and its like."""

    def reflected_operator(self: Tensor, other: Any, /) -> Any:
        try:
            if type(other) in SCALARS and not watched:
                return compile_call(operation, type(other), self.spec)(other, self)
            return (
                call_elementwise(operation, other, self)
                if answers_for_operand(other)
                else NotImplemented
            )
        except REFUSALS as error:
            raise named_error(operation, error) from None

    return reflected_operator


def make_in_place_operator(operation: plan.Elementwise) -> Callable[[Tensor, Any], Any]:
    """Return the method for ``x += y`` and its like: x keeps its dtype, shape, layout and padding.

    A result of the same kind, as of int64 added to int32, is converted as `astype` does.
    """
    writing = plan.into_destination(operation)

    def in_place_operator(self: Tensor, other: Any, /) -> Any:
        try:
            if not watched:
                spec = self.spec
                if type(other) in SCALARS:
                    kind: Any = type(other)
                elif type(other) is Tensor and other.spec.dtype is spec.dtype:
                    # Equal dtypes need no check of casting. Other pairs take the general path
                    # below.
                    kind = other.spec
                else:
                    kind = None
                if kind is not None:
                    check_writable(self)
                    # `self` is destination and first operand, exactly in the same slots, which the
                    # executor permits.
                    return compile_call(writing, spec, spec, kind)(self, self, other)
            if not answers_for_operand(other):
                return NotImplemented
            out, operand = check_writable(self), arguments.as_operand(other)
            own = out.spec.dtype
            wide = promote_dtypes(own, operand.spec.dtype) if type(operand) is Tensor else own
            # The destination cannot hold the wider result, so the result is a tensor of its own,
            # which is then assigned with a conversion, as NumPy does for int32 += int64. If its
            # shape differs, the call at the end raises the error for a destination.
            if wide != own and is_same_kind_cast(wide, own):
                result = call_elementwise(operation, out, other)
                if result.shape == out.shape and is_same_kind_cast(result.dtype, own):
                    return call(assignment(operation.name), (out.spec, result.spec), (out, result))
            return call_elementwise(operation, out, other, out=out)
        except REFUSALS as error:
            raise named_error(operation, error) from None

    return in_place_operator


def answers_for_operand(other: Any) -> bool:
    """Return True if operators handle `other`, by accepting it or raising a helpful error.

    Types with a ufunc protocol (pint, xarray, Dask) or a higher priority than ours come first.
    """
    kinds = (Tensor, np.generic, int, float, complex, list, tuple, arguments.UnknownScalar)
    if type(other) is np.ndarray or isinstance(other, kinds):
        return True
    # A class has the attribute as a descriptor, which does not compare with a number.
    priority = getattr(other, "__array_priority__", 0) if not isinstance(other, type) else 0
    return (
        arguments.is_foreign_array(other)
        and not has_ufunc_protocol(other)
        and not priority > PRIORITY
    )


# Objects whose type inherits NumPy's own protocol, such as subclasses of ndarray, count as arrays.
_NUMPY_UFUNC = np.ndarray.__array_ufunc__


def has_ufunc_protocol(x: Any) -> bool:
    """Return True if the type of `x` has an `__array_ufunc__` other than NumPy's."""
    return getattr(type(x), "__array_ufunc__", _NUMPY_UFUNC) is not _NUMPY_UFUNC
