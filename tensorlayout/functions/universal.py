"""Elementwise functions as callables: a fast path, and the keywords of NumPy's ufuncs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.errors import REFUSALS, call_mismatch_error
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.outputs import store_in_out_where
from tensorlayout.plan import Elementwise, compile_call, watched
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Array, ArrayLike, DTypeLike, NumpyOperand

_DOC = """{summary}

{shapes}
- `out`: a tensor that receives the result.
- `where`: the elements to write; without `out`, the others are 0.
- `casting`: NumPy's rule for conversions to `dtype` and `out`.
- `dtype`: dtype that operands are converted to first.

Returns a tensor of {result} and the broadcast shape. dtypes: {category}{notes}.
Layout: the form that the operands of that shape have in common, else packed in the order of the
first of them.

Raises `TypeError` for other dtypes; `ValueError` for shapes that do not broadcast.

Source: array API standard 2025.12, elementwise functions, `{name}`.
"""


def _unary_signature(  # type: ignore[empty-body]
    x: Tensor,
    /,
    out: Tensor | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def _binary_signature(  # type: ignore[empty-body]
    x1: Tensor | complex,
    x2: Tensor | complex,
    /,
    out: Tensor | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    dtype: DTypeLike | None = None,
) -> Tensor: ...


# Signatures that `help` shows for the functions in the table.
_SIGNATURES = {
    pattern: inspect.signature(pattern) for pattern in (_unary_signature, _binary_signature)
}


def _set_function_metadata(
    function: Any, operation: Elementwise, summary: str, signature_function: Any, operand_text: str
) -> Any:
    results = {"same": "the promoted dtype", "bool": "bool", "real": "the dtype of the real part"}
    notes = f", or all bool (`{operation.of_bools}`)" if operation.of_bools else ""
    if operation.converts_integers_to_float:
        notes = " (integers and bool are taken as float64)"
    function.__name__ = function.__qualname__ = operation.name
    # Errors for wrong arguments show the name of the code object.
    function.__code__ = function.__code__.replace(
        co_name=operation.name, co_qualname=operation.name
    )
    function.__module__ = "tensorlayout"
    function.__doc__ = _DOC.format(
        summary=summary,
        shapes=operand_text,
        category=operation.dtypes,
        notes=notes,
        result=results[operation.result],
        name=operation.name,
    )
    function.operation = operation
    function.__signature__ = _SIGNATURES[signature_function]
    function.__annotations__ = signature_function.__annotations__
    return function


_S = TypeVar("_S", bound=complex, contravariant=True)


class Unary(Protocol):
    """An elementwise function of one tensor."""

    __name__: str

    def __call__(
        self,
        x: Tensor | Array,
        /,
        out: Tensor | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Return the tensor of the results."""


class Binary(Protocol[_S]):
    """An elementwise function of two tensors or arrays, or of one and a scalar of type `_S`."""

    __name__: str

    @overload
    def __call__(
        self,
        x1: Tensor,
        x2: Tensor | _S | NumpyOperand,
        /,
        out: Tensor | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        x1: _S | NumpyOperand,
        x2: Tensor,
        /,
        out: Tensor | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...


# Default that marks a missing operand.
_NOTHING: Any = object()


def make_unary_function(name: str, category: str, summary: str, result: str = "same") -> Unary:
    """Return the public function for a one-operand row of the operation table."""
    operation = Elementwise(name, category, result)

    def apply_unary(
        x: Any = _NOTHING,
        /,
        out: Any = None,
        *,
        where: Any = None,
        casting: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        try:
            # True if all four are None: a chain of `is` compares neighbours.
            if type(x) is Tensor and out is where is casting is dtype is None:
                if not watched:
                    return compile_call(operation, x.spec)(x)
            elif x is _NOTHING:
                raise call_mismatch_error(apply_unary, (), {})
            elif not (out is where is casting is dtype is None):
                return call_with_ufunc_keywords(operation, (x,), out, where, casting, dtype)
            x = arguments.as_tensor(x)
            return dispatch.call(operation, (x.spec,), (x,))
        except REFUSALS as error:
            raise dispatch.named_error(operation, error) from None

    shapes = "- `x`: a tensor of any shape."
    return _set_function_metadata(apply_unary, operation, summary, _unary_signature, shapes)


# Python scalars among the operands must be of a kind that the category contains.
_Booleans = Literal["bool"]
_Integers = Literal["integral", "integer or boolean"]
_Reals = Literal["real numeric", "real floating"]
_Numbers = Literal["numeric", "floating-point", "any or narrow"]


@overload
def make_binary_function(
    name: str, category: _Booleans, summary: str, result: str = ...
) -> Binary[bool]: ...
@overload
def make_binary_function(
    name: str, category: _Integers, summary: str, result: str = ...
) -> Binary[int]: ...
@overload
def make_binary_function(
    name: str, category: _Reals, summary: str, result: str = ...
) -> Binary[float]: ...
@overload
def make_binary_function(
    name: str, category: _Numbers, summary: str, result: str = ..., of_bools: str = ...
) -> Binary[complex]: ...
def make_binary_function(
    name: str, category: str, summary: str, result: str = "same", of_bools: str = ""
) -> Any:
    """Create the public elementwise function of two operands."""
    operation = Elementwise(name, category, result, of_bools=of_bools)

    def apply_binary(
        x1: Any = _NOTHING,
        x2: Any = _NOTHING,
        /,
        out: Any = None,
        *,
        where: Any = None,
        casting: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        try:
            if type(x1) is type(x2) is Tensor and out is where is casting is dtype is None:
                if not watched:
                    return compile_call(operation, x1.spec, x2.spec)(x1, x2)
            elif x2 is _NOTHING:
                raise call_mismatch_error(apply_binary, () if x1 is _NOTHING else (x1,), {})
            elif not (out is where is casting is dtype is None):
                return call_with_ufunc_keywords(operation, (x1, x2), out, where, casting, dtype)
            return dispatch.call_elementwise(operation, x1, x2)
        except REFUSALS as error:
            raise dispatch.named_error(operation, error) from None

    shapes = "- `x1`, `x2`: tensors whose shapes broadcast, or one a Python scalar (weakly typed)."
    return _set_function_metadata(apply_binary, operation, summary, _binary_signature, shapes)


def call_with_ufunc_keywords(
    operation: Elementwise, operands: Sequence[Any], out: Any, where: Any, casting: Any, dtype: Any
) -> Tensor:
    """Run an elementwise operation with the keywords of NumPy's ufuncs."""
    rule = "same_kind" if casting is None else arguments.check_casting_rule(casting)
    where = True if where is None else where
    # As in NumPy's ufuncs, which take a tuple with one item for each result.
    if type(out) is tuple and len(out) == 1:
        (out,) = out
    destination = None if out is None else arguments.as_tensor(out, "out")
    inputs = list(operands)
    kind = None if dtype is None else dtypes.as_dtype(dtype, "dtype")
    if kind is not None and operation.result == "bool":
        if kind != dtypes.bool:
            raise TypeError(f"gives bool, not {kind}")
        kind = None
    # Without a dtype, a strict rule holds for the conversion of each operand to the common dtype.
    if kind is None and rule in ("no", "equiv", "safe"):
        kinds = [x.dtype for x in inputs if type(x) is Tensor]
        kind = functools.reduce(dtypes.promote_dtypes, kinds) if kinds else None
    if kind is not None:
        inputs = [_cast_operand(x, kind, rule) for x in inputs]
    # The usual `out` is written at once, without a tensor for the result.
    if (
        destination is not None
        and where is True
        and _result_matches_destination(operation, inputs, destination)
    ):
        dispatch.call_elementwise(operation, *inputs, out=arguments.check_writable(destination))
        return out
    return store_in_out_where(
        operation.name, dispatch.call_elementwise(operation, *inputs), out, rule, where
    )


def _cast_operand(x: Any, kind: dtypes.DType, casting: str) -> Any:
    """Convert an operand to a dtype if `casting` permits it; Python numbers take any."""
    if not isinstance(x, (Tensor, np.generic, np.ndarray)):
        return x
    arguments.check_casting(x.dtype, kind, casting)
    return astype(x, kind, copy=False) if isinstance(x, Tensor) else x.astype(kind)


def _result_matches_destination(
    operation: Elementwise, operands: Sequence[Any], destination: Tensor
) -> bool:
    """Return True if the result has the dtype and shape of `destination`."""
    inputs = [arguments.as_operand(x) for x in operands]
    key: Any = tuple([type(x) if type(x) in dtypes.SCALARS else x.spec for x in inputs])
    # NumPy scalars are on the CPU; the tensors may not be.
    is_same_device = {x.device for x in inputs if type(x) is Tensor} == {destination.device}
    return is_same_device and _result_dtype_and_shape(operation, *key) == (
        destination.dtype,
        destination.shape,
    )


@functools.lru_cache
def _result_dtype_and_shape(
    operation: Elementwise, *key: Any
) -> tuple[dtypes.DType, tuple[int, ...]]:
    """Return the dtype and the shape of a result."""
    result = operation.plan(*key).result
    return result.dtype, result.layout.shape
