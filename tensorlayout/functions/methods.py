"""The methods of `Tensor` that compute: each is a function of another module, bound here."""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.errors import (
    REFUSALS,
    call_with_error_name,
    finalize_public_error,
    wrap_public_function,
)
from tensorlayout.exchange import cuda_array, dlpack
from tensorlayout.functions import (
    arguments,
    dispatch,
    indexing,
    interchange,
    layouts,
    methods_of_arrays,
    printing,
    products,
    selecting,
    sorting,
)
from tensorlayout.functions import basics as xp
from tensorlayout.functions.fuse import check_not_symbolic
from tensorlayout.functions.linear_algebra import transpose_matrix_layout
from tensorlayout.functions.transfers import move_to_cpu, move_to_device
from tensorlayout.layout import Layout
from tensorlayout.plan import View
from tensorlayout.support.spellings import METHOD_SPELLINGS, MissingMethod
from tensorlayout.tensor import Tensor

# Versions of the standard whose every rule holds here, oldest first.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

_OPERATORS: dict[str, Any] = {
    "add": xp.add,
    "sub": xp.subtract,
    "mul": xp.multiply,
    "truediv": xp.divide,
    "floordiv": xp.floor_divide,
    "mod": xp.remainder,
    "pow": xp.pow,
    "and": xp.bitwise_and,
    "or": xp.bitwise_or,
    "xor": xp.bitwise_xor,
    "lshift": xp.bitwise_left_shift,
    "rshift": xp.bitwise_right_shift,
}
_COMPARISONS: dict[str, Any] = {
    "lt": xp.less,
    "le": xp.less_equal,
    "gt": xp.greater,
    "ge": xp.greater_equal,
    "eq": xp.equal,
    "ne": xp.not_equal,
}


class Methods:
    """Methods that NumPy's arrays have, and of most names CuPy's, JAX's and PyTorch's, too."""

    all = xp.all
    any = xp.any
    argmax = xp.argmax
    argmin = xp.argmin
    argsort = sorting.argsort
    astype = xp.astype
    clip = methods_of_arrays.clip
    copy = layouts.copy
    cumprod = xp.cumprod
    cumsum = xp.cumsum
    cumulative_prod = xp.cumulative_prod
    cumulative_sum = xp.cumulative_sum
    diagonal = xp.diagonal
    dot = products.dot
    fill = methods_of_arrays.fill
    flatten = methods_of_arrays.flatten
    item = methods_of_arrays.item
    max = xp.max
    mean = xp.mean
    min = xp.min
    nonzero = xp.nonzero
    permute = methods_of_arrays.permute
    prod = xp.prod
    ravel = xp.ravel
    repeat = xp.repeat
    reshape = methods_of_arrays.reshape
    round = xp.round
    searchsorted = xp.searchsorted
    sort = methods_of_arrays.sort
    squeeze = xp.squeeze
    std = xp.std
    sum = xp.sum
    swapaxes = xp.swapaxes
    take = selecting.take
    tobytes = methods_of_arrays.tobytes
    tolist = methods_of_arrays.tolist
    trace = methods_of_arrays.trace
    transpose = methods_of_arrays.transpose
    var = xp.var
    view = methods_of_arrays.view


_METHODS: dict[str, Any] = {name: f for name, f in vars(Methods).items() if name[0] != "_"}
_METHODS |= {"conj": xp.conj, "conjugate": xp.conj}  # type checkers would not see methods


def _matmul(self: Tensor, other: Any, /) -> Any:
    # The standard does not allow numbers or lists here. Python raises the error, or asks `other`.
    if type(other) is not Tensor and not (
        isinstance(other, np.ndarray) and dispatch.answers_for_operand(other)
    ):
        return NotImplemented
    try:
        return xp.matmul(self, other)
    except REFUSALS as error:
        raise finalize_public_error(error, "matmul") from error.__cause__


def _imatmul(self: Tensor, other: Any, /) -> Any:
    product = _matmul(self, other)
    if product is NotImplemented:
        return product
    # An in-place product keeps dtype and shape, by the standard. It is computed as a tensor of its
    # own, because elements of `self` are read until the last one is written.
    if (product.dtype, product.shape) != (self.dtype, self.shape):
        result_text = f"{product.dtype} of shape {product.shape}"
        msg = (
            f"matmul: the result, {result_text}, does not fit in place of {self.dtype} of "
            f"{self.shape}"
        )
        raise (TypeError if product.dtype != self.dtype else ValueError)(msg)
    arguments.check_writable(self)[...] = product
    return self


def _transpose_2d_layout(layout: Layout, _: None) -> Layout:
    if layout.ndim != 2:
        fix = "expand_dims() makes a column" if layout.ndim == 1 else "use mT or permute_dims()"
        raise ValueError(f"needs a rank of 2, got shape {layout.shape}; {fix}")
    return layout.permute((1, 0))


_TRANSPOSE = View("T", _transpose_2d_layout)
_MATRIX_TRANSPOSE = View("mT", transpose_matrix_layout)


def _transpose(self: Tensor) -> Tensor:
    """Return a view of the transpose of a matrix; ValueError for any other rank."""
    return dispatch.call_view(_TRANSPOSE, self, None)


def _matrix_transpose(self: Tensor) -> Tensor:
    """Return a view with the last two dimensions exchanged; ValueError below rank 2."""
    return dispatch.call_view(_MATRIX_TRANSPOSE, self, None)


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    if api_version is not None:
        arguments.check_choice("api_version", api_version, API_VERSIONS)
    return sys.modules["tensorlayout"]


def _to_python_scalar(self: Tensor, python_type: type) -> Any:
    check_not_symbolic(self, python_type.__name__)
    if self.size != 1 or self.ndim != 0:
        rule = "only a tensor of rank 0 can be converted to a Python scalar"
        rule = f"{python_type.__name__}: {rule}, got shape {self.shape}"
        raise TypeError(f"{rule}; use item(), or index one element")
    if dtypes.is_in_category(self.dtype, "complex floating") and python_type in (int, float):
        raise TypeError(f"{python_type.__name__}: cannot convert a complex value; use real() first")
    # The scalars of ml_dtypes are not Python numbers, and `tolist` converts them.
    if not dtypes.is_numpy_dtype(self.dtype):
        return methods_of_arrays.tolist(self)
    return move_to_cpu(self).memory.item()


def _bool(self: Tensor) -> bool:
    check_not_symbolic(self, "bool")
    if self.size != 1:
        subject, fix = "an empty tensor", "x.size > 0"
        if self.size:
            subject, fix = "a tensor with more than one element", "any() or all()"
        rule = f"the truth value of {subject} is ambiguous, got shape {self.shape}"
        raise ValueError(f"bool: {rule}; use {fix}")
    # One element of any rank has a truth value, but int() and float() accept only rank 0, as in the
    # standard.
    return bool(_to_python_scalar(xp.reshape(self, ()) if self.ndim else self, bool))


def _int(self: Tensor) -> int:
    value = _to_python_scalar(self, int)
    if value != value or abs(value) == math.inf:
        error = ValueError if value != value else OverflowError
        raise error(f"int: cannot convert {value} to an integer")
    return int(value)


def _float(self: Tensor) -> float:
    return float(_to_python_scalar(self, float))


def _complex(self: Tensor) -> complex:
    value = complex(_to_python_scalar(self, complex))
    if value != value and not dtypes.is_in_category(self.dtype, "complex floating"):
        return complex(value.real, value.real)  # the standard: both parts are NaN
    return value


def _index(self: Tensor) -> int:
    if self.ndim != 0 or not dtypes.is_in_category(self.dtype, "integral"):
        msg = f"index: needs an integer tensor of rank 0, got {self.dtype} of shape {self.shape}"
        raise TypeError(msg)
    return int(move_to_cpu(self).memory)


def _round(self: Tensor, ndigits: int | None = None) -> Tensor:
    return call_with_error_name("round", xp.round, self, 0 if ndigits is None else ndigits)


def _divmod(self: Tensor, other: Any, /) -> Any:
    if not dispatch.answers_for_operand(other):
        return NotImplemented
    return self // other, self % other


def _rdivmod(self: Tensor, other: Any, /) -> Any:
    return other // self, other % self


def _contains(self: Tensor, value: Any, /) -> bool:
    item = arguments.as_operand(value)
    if isinstance(item, Tensor) and item.device != self.device:
        item = move_to_device(item, self.device)
    return bool(xp.any(xp.equal(self, item)))


def _make_power_operators() -> tuple[Any, Any]:
    """Return ``__pow__`` and ``__ipow__``; a power of 2 is `square`, as in NumPy: much faster."""
    operation = _OPERATORS["pow"].operation
    power = dispatch.make_operator(operation)
    power_in_place = dispatch.make_in_place_operator(operation)

    def is_square(x: Tensor, exponent: Any) -> bool:
        is_two = type(exponent) is int and exponent == 2
        return is_two and dtypes.is_in_category(x.dtype, "numeric")

    def raise_to_power(self: Tensor, other: Any, /) -> Any:
        return xp.square(self) if is_square(self, other) else power(self, other)

    def raise_to_power_in_place(self: Tensor, other: Any, /) -> Any:
        if is_square(self, other):
            return xp.square(self, out=self)
        return power_in_place(self, other)

    return raise_to_power, raise_to_power_in_place


class SpecialMethods(Methods):
    """`Methods`, and the special methods of Python and other libraries, which need no guard."""

    __array__ = interchange.to_numpy
    __bool__ = _bool
    __buffer__ = interchange.memory_buffer
    __bytes__ = methods_of_arrays.tobytes
    __complex__ = _complex
    __dask_tokenize__ = interchange.dask_token
    __dlpack__ = interchange.to_dlpack
    __dlpack_device__ = dlpack.dlpack_device
    __float__ = _float
    __index__ = _index
    __int__ = _int
    __iter__ = indexing.iterate_slices
    __round__ = _round
    _repr_html_ = printing.format_html
    to_device = interchange.to_device


def bind_tensor_methods() -> None:
    """Give `Tensor` its computing methods."""
    methods_by_name: dict[str, Any] = {}
    for name, function in (_OPERATORS | _COMPARISONS).items():
        methods_by_name[f"__{name}__"] = dispatch.make_operator(function.operation)
    # Comparisons have no reflected methods: for 1 < x Python calls x.__gt__(1).
    for name, function in _OPERATORS.items():
        methods_by_name[f"__r{name}__"] = dispatch.make_reflected_operator(function.operation)
        methods_by_name[f"__i{name}__"] = dispatch.make_in_place_operator(function.operation)
    methods_by_name["__pow__"], methods_by_name["__ipow__"] = _make_power_operators()
    for name, method in methods_by_name.items():
        method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    # First the names that raise an error with a hint; real methods of the same name replace them.
    methods_by_name |= {name: MissingMethod(name) for name in METHOD_SPELLINGS}
    methods_by_name |= {
        **{name: method for name, method in vars(SpecialMethods).items() if callable(method)},
        "__pos__": xp.positive,
        "__neg__": xp.negative,
        "__invert__": xp.bitwise_invert,
        "__abs__": xp.abs,
        "__matmul__": _matmul,
        "__rmatmul__": lambda self, other: NotImplemented,
        "__imatmul__": _imatmul,
        "__getitem__": indexing.getitem,
        "__setitem__": indexing.setitem,
        "__reduce__": interchange.pickle_parts,
        "__reduce_ex__": interchange.pickle_parts,
        "__array_interface__": property(interchange.array_interface_dict),
        "__cuda_array_interface__": property(cuda_array.export_cuda_interface),
        "__sizeof__": interchange.object_and_owned_storage_bytes,
        "__repr__": printing.format_repr,
        "__str__": printing.format_str,
        "__format__": printing.format_scalar_or_text,
        "T": property(_transpose),
        "mT": property(_matrix_transpose),
        "readonly": property(interchange.is_readonly),
        "real": property(methods_of_arrays.real, methods_of_arrays.write_real),
        "imag": property(methods_of_arrays.imag, methods_of_arrays.write_imag),
        "__divmod__": _divmod,
        "__rdivmod__": _rdivmod,
        "__array_priority__": dispatch.PRIORITY,
        "copy": layouts.copy,  # a guard would cost more than it is worth
    }
    special = {"__array_namespace__": _array_namespace, "__contains__": _contains}
    for name, method in special.items():
        method.__name__ = name
    for name, method in (_METHODS | special).items():
        # `__wrapped__` passes by the cache, because the guard of a method gets other names below
        # than the guard of the function in the namespace.
        method = wrap_public_function.__wrapped__(method, name)
        # Pickles look methods up under these names.
        method.__module__, method.__qualname__ = Tensor.__module__, f"Tensor.{name}"
        methods_by_name.setdefault(name, method)
    for name, method in methods_by_name.items():
        setattr(Tensor, name, method)


bind_tensor_methods()
