"""Validation and normalisation of arguments: tensors, integers, shapes, flags, numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from operator import index
from typing import Any

import numpy as np

from tensorlayout import dtypes, errors
from tensorlayout.devices import CPU, Device
from tensorlayout.exchange.numpy import borrow_array, tensor_over_array
from tensorlayout.layout import Layout, normalize_foreign_order
from tensorlayout.plan import normalize_dims
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor


class UnknownScalar:
    """A Python scalar of unknown value: an argument of a function being traced."""

    __slots__ = ("spec",)

    spec: type  # plans read an operand's kind from its `spec`


# While a function is traced: the tensors of rank 0 that replace its NumPy scalars.
constants: Scope[list[Tensor]] = Scope("constants")


def as_operand(x: Any) -> Any:
    """Return a tensor (over the memory of an array, of rank 0 for NumPy scalars) or a scalar."""
    if type(x) is Tensor or type(x) in dtypes.SCALARS or isinstance(x, UnknownScalar):
        return x
    rule = "operands must be tensors, arrays or Python scalars"
    if isinstance(x, np.ndarray):
        return _tensor_over_array(x, rule)
    # Before the loop over Python's kinds, because numpy.float64 is a subclass of float. A NumPy
    # scalar has a dtype that counts in promotion; a Python number takes the dtype of the tensor.
    if isinstance(x, np.generic):
        wrapped = tensor_over_array(np.asarray(x))
        assert wrapped is not None
        recorded = constants.innermost_value()
        if recorded is not None:
            recorded.append(wrapped)
        return wrapped
    for kind in (int, float, complex):  # subclasses, such as enumerations, count as their base
        if isinstance(x, kind):
            return kind(x)  # type: ignore[arg-type]
    raise TypeError(f"{rule}, got {_describe_operand(x)}")


def _tensor_over_array(x: Any, rule: str) -> Tensor:
    """Return a tensor on the CPU over the memory of a NumPy array; TypeError if unsupported."""
    try:
        # Other subclasses give elements another meaning (masks, units) or operators (`matrix`).
        result = tensor_over_array(borrow_array(x)) if type(x) in (np.ndarray, np.memmap) else None
    except (TypeError, ValueError):  # no dtype of ours, or memory that is closed
        result = None
    if result is not None:
        return result
    raise TypeError(f"{rule}, got {_describe_operand(x)}")


def as_tensor(x: Any, argument: str = "") -> Tensor:
    """Return `x`, a tensor; NumPy scalars and arrays become tensors on the CPU, without a copy."""
    if type(x) is Tensor:
        return x
    if isinstance(x, np.generic):
        return as_operand(x)
    if argument == "out" and not is_foreign_array(x):
        raise TypeError(f"out must be a tensor, got {errors.qualified_type_name(x)}")
    rule = f"{argument} must be a tensor" if argument else "must be called with a tensor"
    if isinstance(x, np.ndarray):
        return _tensor_over_array(x, rule)
    raise TypeError(f"{rule}, got {_describe_operand(x)}")


def check_no_numpy_arrays(operands: Iterable[Any], device: Device) -> None:
    """Raise TypeError if NumPy arrays are mixed with tensors that are not on the CPU."""
    if device != CPU:
        for x in operands:
            if isinstance(x, np.ndarray):
                rule = f"operands beside tensors on {device} must be tensors"
                raise TypeError(f"{rule}, got {_describe_operand(x)}")


def check_callable(function: Any, argument: str) -> None:
    """Raise TypeError if an argument is not callable."""
    if not callable(function):
        raise TypeError(f"{argument} must be callable, got {format_argument(function)}")


def check_sequence(items: Any, argument: str) -> None:
    """Raise TypeError if an argument is not a sequence of tensors."""
    # A generator has no length, and could be read only once.
    if not hasattr(items, "__len__") or isinstance(items, (str, bytes)):
        raise TypeError(f"{argument} must be a sequence of tensors, got {_describe_operand(items)}")


def as_integer(argument: str, value: Any) -> int:
    """Return `value` as an int; TypeError for anything else, including floats and bool."""
    if type(value) is int:
        return value
    result = _integer_or_none(value)
    if result is None:
        raise TypeError(f"{argument} must be an integer, got {format_argument(value)}")
    return result


def normalize_axes(axes: Any, ndim: int, argument: str = "axis") -> tuple[int, ...]:
    """Return dimensions counted from the front: an axis, several, or all for None."""
    return normalize_dims(as_integers(axes, argument), ndim, argument)


def normalize_axis(axis: Any, ndim: int, argument: str = "axis") -> int:
    """Return one axis as a number from 0 up; raise an error if it is out of range."""
    number = axis if type(axis) is int else as_integer(argument, axis)
    # For rank 0 the condition is never true, so that nothing is divided by 0.
    return number % ndim if -ndim <= number < ndim else normalize_axes(number, ndim, argument)[0]


def as_indices(x: Any) -> Tensor:
    """Return `x` as a tensor, after checking that its dtype is integral."""
    result = as_tensor(x, "indices")
    if not dtypes.is_in_category(result.dtype, "integral"):
        raise TypeError(f"only integral dtypes are allowed as indices, got {result.dtype}")
    return result


def as_nonnegative_integer(argument: str, value: Any) -> int:
    """Return `value` as an int that is not negative."""
    number = as_integer(argument, value)
    if number < 0:
        raise ValueError(f"{argument} must not be negative, got {format_argument(number)}")
    return number


# Limit on a sequence of integers, which may be endless.
_MOST = 1024


def as_integers(value: Any, argument: str = "axis", *, allow_none: bool = True) -> Any:
    """Return an integer, a tuple of integers from any sequence, or None: part of a plan's key."""
    if type(value) is int or (value is None and allow_none):
        return value
    # Keys of plans are compared with ==, and True == 1: a tuple goes on as it is only if all its
    # items are exact integers.
    if type(value) is tuple:
        for item in value:
            if type(item) is not int:
                break
        else:
            return value
    result = _integer_or_none(value)
    if result is not None:
        return result
    numbers = _integers_of_sequence(value)
    if numbers is not None:
        return numbers
    raise TypeError(
        f"{argument} must be an integer or a sequence of integers, got {format_argument(value)}"
    )


def _integers_of_sequence(values: Any) -> tuple[int, ...] | None:
    """Return the integers of a sequence; None for other items, sets, and endless sequences."""
    # A set has no order, the items of a dict are its keys and those of a string are letters.
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Set, Mapping)):
        return None
    numbers: list[int] = []
    try:
        for item in values:
            number = _integer_or_none(item)
            if number is None or len(numbers) == _MOST:
                return None
            numbers.append(number)
    except TypeError:  # a tensor of rank 0 raises only when it is iterated
        return None
    return tuple(numbers)


def as_shape(sizes: Any) -> tuple[int, ...]:
    """Convert an integer or a sequence of integers to a shape; sizes are not checked."""
    result = as_integers(sizes, "shape", allow_none=False)
    return (result,) if isinstance(result, int) else result


def as_layout_key(value: Any) -> Any:
    """Return a layout argument as a `Layout`, text, tuple or None: part of a plan's key."""
    kind = type(value)
    if value is None or kind is Layout or kind is str:
        return value
    # As parts of a key (0.0, True) and (0, 1) are equal.
    if kind is tuple and set(map(type, value)) <= {int}:
        return value
    requested = normalize_foreign_order(value)
    if isinstance(requested, str):
        return requested
    order = None if isinstance(requested, Tensor) else _integers_of_sequence(requested)
    if order is None:
        rule = "layout must be a Layout, its text, labels or a minor-to-major sequence"
        raise TypeError(f"{rule}, got {format_argument(value)}")
    return order


def is_column_major_order(order: Any, allowed: str, x: Tensor | None = None) -> bool:
    """Return True if a NumPy `order` means column-major; ``A`` does if `x` is column-major."""
    if type(order) is str and order == "C":
        return False
    check_choice("order", order, tuple(allowed))
    if order != "A" or x is None:
        return bool(order == "F")
    layout = x.spec.layout
    # A vector is row-major and column-major at once; NumPy's order "A" then means "C".
    return layout.is_column_major and not layout.is_row_major


def layout_for_order(order: Any, x: Tensor, sizes: tuple[int, ...]) -> Layout | None:
    """Return the layout of shape `sizes` for an `order`; None for ``K``, the order of `x`."""
    if type(order) is str and order == "K":
        return None
    columns = is_column_major_order(order, "CFAK", x)
    return Layout.column_major(sizes) if columns else Layout.row_major(sizes)


def _integer_or_none(value: Any) -> int | None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return int(index(value))
    except TypeError:  # tensors and arrays have the method, but raise unless they are one integer
        return None


def check_flag(argument: str, value: Any) -> bool | None:
    """Return True, False or None; refuse other values, such as strings, that are merely truthy."""
    return None if value is None else check_bool(argument, value, "True, False or None")


def check_bool(argument: str, value: Any, rule: str = "True or False") -> bool:
    """Return `value`, which must be True or False."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise TypeError(f"{argument} must be {rule}, got {format_argument(value)}")


def check_choice(argument: str, value: Any, allowed: Collection[str], rule: str = "") -> str:
    """Return `value` if it is one of `allowed`; else raise ValueError with the `rule`."""
    if isinstance(value, str) and value in allowed:
        return value
    rule = rule or f"one of {', '.join(allowed)}"
    raise ValueError(f"{argument} must be {rule}, got {format_argument(value)}")


def as_dtype_in_category(category: str, value: Any) -> dtypes.DType:
    """Return `value` as a dtype; TypeError unless it is in `category`."""
    kind = dtypes.as_dtype(value, "dtype")
    if not dtypes.is_in_category(kind, category):
        raise TypeError(f"dtype must be {category}, got {kind}")
    return kind


def check_casting_rule(value: Any) -> str:
    """Return `value`, which must be one of NumPy's casting rules."""
    return check_choice("casting", value, ("no", "equiv", "safe", "same_kind", "unsafe"))


def can_cast(source: dtypes.DType, target: dtypes.DType, casting: str) -> bool:
    """Return True if a NumPy casting rule (checked) permits `source` to `target`."""
    if casting in ("no", "equiv"):
        return bool(source == target)
    if casting == "safe":
        return bool(dtypes.promote_dtypes(source, target) == target)
    return casting == "unsafe" or bool(dtypes.is_same_kind_cast(source, target))


def check_casting(source: dtypes.DType, target: dtypes.DType, casting: str) -> None:
    """Raise TypeError for a conversion that the rule `casting` does not permit."""
    if not can_cast(source, target, check_casting_rule(casting)):
        raise TypeError(f"{source} cannot become {target} by the rule {casting!r}")


def as_real_number(argument: str, value: Any, expected: str = "a real number") -> Any:
    """Return a real number of any library as a Python integer or float."""
    if type(value) in (int, float):
        return value
    # numpy.complex128 is a subclass of complex, and its __float__ drops the imaginary part with a
    # mere warning. float() would also parse text, and convert arrays of one element.
    if not isinstance(value, (str, bytes, complex)) and not getattr(value, "ndim", 0):
        # First as an integer, since float() would round integers above 2**53.
        for convert in (index, float):
            try:
                return convert(value)
            except TypeError:
                continue
    raise TypeError(f"{argument} must be {expected}, got {format_argument(value)}")


def as_real_float(argument: str, value: Any, expected: str = "a real number") -> float:
    """Return a real number of any library as a float."""
    return integer_or_float_to_float(as_real_number(argument, value, expected))


def integer_or_float_to_float(number: Any) -> float:
    """Return a real number as a float; OverflowError for an integer that is too large."""
    try:
        return float(number)
    except OverflowError:
        raise dtypes.integer_overflow_error(number, dtypes.float64) from None


def as_number(argument: str, value: Any) -> complex:
    """Return a number, of any library, as a Python float or complex."""
    if isinstance(value, complex):
        return complex(value)
    if isinstance(value, Tensor) and value.dtype.kind == "c" and not value.ndim:
        return complex(value)
    return as_real_float(argument, value, "a number")


def is_foreign_array(x: Any) -> bool:
    """Return True if `x` is an array of another library."""
    return hasattr(x, "__dlpack__") or hasattr(x, "__array__")


def format_argument(x: Any) -> str:
    """Format an argument for an error message: tensors and arrays by their kind."""
    if isinstance(x, Tensor):
        return f"a tensor of {x.dtype} and shape {x.shape}"
    # The repr of an array may be long, and on a device it would copy the elements to the host.
    return (
        errors.qualified_type_name(x)
        if is_foreign_array(x) and not isinstance(x, np.generic)
        else errors.short_repr(x)
    )


def _describe_operand(x: Any) -> str:
    kind, fix = errors.qualified_type_name(x), ""
    if isinstance(x, np.ndarray):
        kind = f"{kind} of dtype {errors.truncate(x.dtype, 60)}"
        # NumPy has dtypes whose elements have no bytes, such as "V0".
        if any(stride % max(x.itemsize, 1) for stride in x.strides):
            kind += f" with strides that are no multiples of {x.itemsize} bytes"
    if is_foreign_array(x) or type(x) in (list, tuple, int, float, complex):
        fix = "; make it a tensor with asarray() first"
    return f"{kind}{fix}"


def check_writable(x: Tensor) -> Tensor:
    """Return `x`, which must be writable: not read-only, with no slots shared between elements."""
    memory = x.memory  # an array, or on CUDA a place
    if x.readonly if type(memory) is not np.ndarray else not memory.flags.writeable:
        raise ValueError("the tensor is read-only; copy() it first")
    if x.spec.layout.is_overlapping:
        rule = f"elements of layout {errors.truncate(x.layout)} share slots"
        raise ValueError(f"{rule}, so the tensor cannot be written; copy() it first")
    return x


def as_tensor_sequence(arrays: Sequence[Any], argument: str) -> tuple[Tensor, ...]:
    """Return a sequence of at least one tensor; `argument` is its name in errors."""
    if not isinstance(arrays, (tuple, list)):
        raise TypeError(
            f"{argument} must be a tuple or list of tensors, got {format_argument(arrays)}"
        )
    if not arrays:
        raise ValueError(f"{argument} must hold at least one tensor, got none")
    if {*map(type, arrays)} == {Tensor}:
        return tuple(arrays)
    result = tuple([as_tensor(x, f"{argument}[{i}]") for i, x in enumerate(arrays)])
    check_no_numpy_arrays(arrays, device_of_first_tensor(arrays))
    return result


def device_of_first_tensor(arrays: Iterable[Any]) -> Device:
    """Return the device of the first tensor; the CPU if there is none."""
    return next((x.device for x in arrays if type(x) is Tensor), CPU)
