"""Arguments checked, and made what plans take: tensors, integers, shapes, flags, numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from operator import index
from typing import Any

import numpy as np

from tensorlayout import dtypes, errors
from tensorlayout.devices import CPU, Device
from tensorlayout.exchange.numpy import pin_array, tensor_over_array
from tensorlayout.layout import Layout, normalize_foreign_order
from tensorlayout.plan import normalize_dims
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor


class Unknown:
    """A Python scalar whose value is not known yet: an argument of a function that is traced."""

    __slots__ = ("spec",)

    spec: type  # its kind, where plans look for what an operand is


# While a function is traced: the tensors of rank 0 that NumPy scalars in it became.
constants: Scope[list[Tensor]] = Scope("constants")


def operand(x: Any) -> Any:
    """Return a tensor (over the memory of an array, of rank 0 for NumPy scalars) or a scalar."""
    if type(x) is Tensor or type(x) in dtypes.SCALARS or isinstance(x, Unknown):
        return x
    rule = "operands must be tensors, arrays or Python scalars"
    if isinstance(x, np.ndarray):
        return _over_array(x, rule)
    if isinstance(x, np.generic):
        wrapped = tensor_over_array(np.asarray(x))
        assert wrapped is not None
        found = constants.innermost_value()
        if found is not None:
            found.append(wrapped)
        return wrapped
    for kind in (int, float, complex):  # subclasses, such as enumerations, count as their base
        if isinstance(x, kind):
            return kind(x)  # type: ignore[arg-type]
    raise TypeError(f"{rule}, got {_described(x)}")


def _over_array(x: Any, rule: str) -> Tensor:
    """Return a tensor on the CPU over the memory of a NumPy array; TypeError where none can be."""
    try:
        # Other subclasses give elements another meaning (masks, units) or operators (`matrix`).
        found = tensor_over_array(pin_array(x)) if type(x) in (np.ndarray, np.memmap) else None
    except (TypeError, ValueError):  # no dtype of ours, or memory that is closed
        found = None
    if found is not None:
        return found
    raise TypeError(f"{rule}, got {_described(x)}")


def tensor(x: Any, argument: str = "") -> Tensor:
    """Return `x`, a tensor; NumPy scalars and arrays become tensors on the CPU, without a copy."""
    if type(x) is Tensor:
        return x
    if isinstance(x, np.generic):
        return operand(x)
    if argument == "out" and not is_array(x):
        raise TypeError(f"out must be a tensor, got {errors.qualified_type_name(x)}")
    rule = f"{argument} must be a tensor" if argument else "must be called with a tensor"
    if isinstance(x, np.ndarray):
        return _over_array(x, rule)
    raise TypeError(f"{rule}, got {_described(x)}")


def refuse_arrays(given: Iterable[Any], device: Device) -> None:
    """Raise TypeError for NumPy arrays beside tensors of another device than the CPU."""
    if device != CPU:
        for x in given:
            if isinstance(x, np.ndarray):
                rule = f"operands beside tensors on {device} must be tensors"
                raise TypeError(f"{rule}, got {_described(x)}")


def check_callable(function: Any, argument: str) -> None:
    """Raise TypeError for an argument that cannot be called."""
    if not callable(function):
        raise TypeError(f"{argument} must be callable, got {shown(function)}")


def check_sequence(items: Any, argument: str) -> None:
    """Raise TypeError for an argument that is no sequence of tensors."""
    if not hasattr(items, "__len__") or isinstance(items, (str, bytes)):
        raise TypeError(f"{argument} must be a sequence of tensors, got {_described(items)}")


def integer(argument: str, given: Any) -> int:
    """`given` as an int. TypeError for anything else: for floats, and for bool, too."""
    if type(given) is int:
        return given
    found = _integer(given)
    if found is None:
        raise TypeError(f"{argument} must be an integer, got {shown(given)}")
    return found


def dims(given: Any, ndim: int, argument: str = "axis") -> tuple[int, ...]:
    """Dimensions counted from the front: an axis, several, or all for None."""
    return normalize_dims(integers(given, argument), ndim, argument)


def dim(given: Any, ndim: int, argument: str = "axis") -> int:
    """One dimension counted from the front."""
    found = given if type(given) is int else integer(argument, given)
    return found % ndim if -ndim <= found < ndim else dims(found, ndim, argument)[0]


def indices(x: Any) -> Tensor:
    """A tensor of integers, called ``indices``."""
    found = tensor(x, "indices")
    if not dtypes.is_in_category(found.dtype, "integral"):
        raise TypeError(f"only integral dtypes are allowed as indices, got {found.dtype}")
    return found


def count(argument: str, given: Any) -> int:
    """`given` as an int that is not negative."""
    found = integer(argument, given)
    if found < 0:
        raise ValueError(f"{argument} must not be negative, got {shown(found)}")
    return found


_MOST = 1024  # integers of a sequence, which may be one without end


def integers(given: Any, argument: str = "axis", *, none: bool = True) -> Any:
    """An integer, or a tuple of them from any sequence, as a key of plans; None, if it may be."""
    if type(given) is int or (given is None and none):
        return given
    if type(given) is tuple:
        for item in given:
            if type(item) is not int:
                break
        else:
            return given
    found = _integer(given)
    if found is not None:
        return found
    numbers = _integers(given)
    if numbers is not None:
        return numbers
    raise TypeError(f"{argument} must be an integer or a sequence of integers, got {shown(given)}")


def _integers(given: Any) -> tuple[int, ...] | None:
    """The integers of a sequence; None for one that has others, no order (sets) or no end."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Set, Mapping)):
        return None
    numbers: list[int] = []
    try:
        for item in given:
            number = _integer(item)
            if number is None or len(numbers) == _MOST:
                return None
            numbers.append(number)
    except TypeError:  # a tensor of rank 0 says only now that it has no elements
        return None
    return tuple(numbers)


def shape(given: Any) -> tuple[int, ...]:
    """A shape, from an integer or any sequence of them; sizes are for plans to judge."""
    found = integers(given, "shape", none=False)
    return (found,) if isinstance(found, int) else found


def layout(given: Any) -> Any:
    """A layout asked for, as a key of plans: a `Layout`, text, a tuple of integers, or None."""
    kind = type(given)
    if given is None or kind is Layout or kind is str:
        return given
    if kind is tuple and set(map(type, given)) <= {int}:  # (0.0, True) would find (0, 1)
        return given
    asked = normalize_foreign_order(given)
    if isinstance(asked, str):
        return asked
    order = None if isinstance(asked, Tensor) else _integers(asked)
    if order is None:
        rule = "layout must be a Layout, its text, labels or a minor-to-major sequence"
        raise TypeError(f"{rule}, got {shown(given)}")
    return order


def by_columns(order: Any, allowed: str, x: Tensor | None = None) -> bool:
    """Return whether an `order` of NumPy's asks for column-major; ``A`` does if `x` is that."""
    if type(order) is str and order == "C":
        return False
    choice("order", order, tuple(allowed))
    if order != "A" or x is None:
        return bool(order == "F")
    layout = x.spec.layout
    return layout.is_column_major and not layout.is_row_major


def in_order(order: Any, x: Tensor, sizes: tuple[int, ...]) -> Layout | None:
    """The layout of the shape `sizes` that an `order` asks for; None for ``K``, that of `x`."""
    if type(order) is str and order == "K":
        return None
    columns = by_columns(order, "CFAK", x)
    return Layout.column_major(sizes) if columns else Layout.row_major(sizes)


def _integer(given: Any) -> int | None:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        return None
    try:
        return int(index(given))
    except TypeError:  # tensors and arrays have the method, and use it if they are one integer
        return None


def flag(argument: str, given: Any) -> bool | None:
    """True, False or None, which other values, such as words, might silently stand for."""
    return None if given is None else truth(argument, given, "True, False or None")


def truth(argument: str, given: Any, rule: str = "True or False") -> bool:
    """`given`, which must be True or False."""
    if given is True or given is False:
        return given
    if isinstance(given, np.bool_):
        return bool(given)
    raise TypeError(f"{argument} must be {rule}, got {shown(given)}")


def choice(argument: str, given: Any, allowed: Collection[str], rule: str = "") -> str:
    """`given`, which must be one of the words `allowed`; ValueError with the `rule` otherwise."""
    if isinstance(given, str) and given in allowed:
        return given
    rule = rule or f"one of {', '.join(allowed)}"
    raise ValueError(f"{argument} must be {rule}, got {shown(given)}")


def dtype_in(category: str, given: Any) -> dtypes.DType:
    """The dtype asked for, which must be of a category in the standard's words."""
    kind = dtypes.as_dtype(given, "dtype")
    if not dtypes.is_in_category(kind, category):
        raise TypeError(f"dtype must be {category}, got {kind}")
    return kind


def casting_rule(given: Any) -> str:
    """Return `given`, which must be one of NumPy's rules of casts."""
    return choice("casting", given, ("no", "equiv", "safe", "same_kind", "unsafe"))


def can_cast(source: dtypes.DType, target: dtypes.DType, casting: str) -> bool:
    """Return whether a rule of NumPy's, which is checked, lets `source` become `target`."""
    if casting in ("no", "equiv"):
        return bool(source == target)
    if casting == "safe":
        return bool(dtypes.promote_dtypes(source, target) == target)
    return casting == "unsafe" or bool(dtypes.is_same_kind_cast(source, target))


def check_casting(source: dtypes.DType, target: dtypes.DType, casting: str) -> None:
    """Refuse (TypeError) a conversion that the rule `casting` does not allow."""
    if not can_cast(source, target, casting_rule(casting)):
        raise TypeError(f"{source} cannot become {target} by the rule {casting!r}")


def real(argument: str, given: Any, kind: str = "a real number") -> Any:
    """A real number of any library as a Python integer or float."""
    if type(given) in (int, float):
        return given
    if not isinstance(given, (str, bytes, complex)) and not getattr(given, "ndim", 0):
        for convert in (index, float):
            try:
                return convert(given)
            except TypeError:
                continue
    raise TypeError(f"{argument} must be {kind}, got {shown(given)}")


def real_float(argument: str, given: Any, kind: str = "a real number") -> float:
    """A real number of any library as a float."""
    return as_float(real(argument, given, kind))


def as_float(number: Any) -> float:
    """A real number as a float; OverflowError for an integer beyond all of them."""
    try:
        return float(number)
    except OverflowError:
        raise dtypes.integer_overflow_error(number, dtypes.float64) from None


def number(argument: str, given: Any) -> complex:
    """A number, of any library, as a Python float or complex."""
    if isinstance(given, complex):
        return complex(given)
    if isinstance(given, Tensor) and given.dtype.kind == "c" and not given.ndim:
        return complex(given)
    return real_float(argument, given, "a number")


def is_array(x: Any) -> bool:
    """Return whether `x` is an array of another library."""
    return hasattr(x, "__dlpack__") or hasattr(x, "__array__")


def shown(x: Any) -> str:
    """What came, for an error: tensors and arrays by their kind, all else as `words` shows it."""
    if isinstance(x, Tensor):
        return f"a tensor of {x.dtype} and shape {x.shape}"
    return (
        errors.qualified_type_name(x)
        if is_array(x) and not isinstance(x, np.generic)
        else errors.short_repr(x)
    )


def _described(x: Any) -> str:
    kind, fix = errors.qualified_type_name(x), ""
    if isinstance(x, np.ndarray):
        kind = f"{kind} of dtype {errors.truncate(x.dtype, 60)}"
        if any(stride % max(x.itemsize, 1) for stride in x.strides):
            kind += f" with strides that are no multiples of {x.itemsize} bytes"
    if is_array(x) or type(x) in (list, tuple, int, float, complex):
        fix = "; make it a tensor with asarray() first"
    return f"{kind}{fix}"


def writable(x: Tensor) -> Tensor:
    """`x`, which must be one that can be written to: not read-only, no slot shared."""
    memory = x.memory  # an array, or on CUDA a place
    if x.readonly if type(memory) is not np.ndarray else not memory.flags.writeable:
        raise ValueError("the tensor is read-only; copy() it first")
    if x.spec.layout.is_overlapping:
        rule = f"elements of layout {errors.truncate(x.layout)} share slots"
        raise ValueError(f"{rule}, so the tensor cannot be written; copy() it first")
    return x


def tensors(arrays: Sequence[Any], argument: str) -> tuple[Tensor, ...]:
    """A sequence of tensors, at least one; `argument` is what errors call it."""
    if not isinstance(arrays, (tuple, list)):
        raise TypeError(f"{argument} must be a tuple or list of tensors, got {shown(arrays)}")
    if not arrays:
        raise ValueError(f"{argument} must hold at least one tensor, got none")
    if {*map(type, arrays)} == {Tensor}:
        return tuple(arrays)
    found = tuple([tensor(x, f"{argument}[{i}]") for i, x in enumerate(arrays)])
    refuse_arrays(arrays, device_of(arrays))
    return found


def device_of(given: Iterable[Any]) -> Device:
    """Return the device of the first tensor; the CPU where there is none."""
    return next((x.device for x in given if type(x) is Tensor), CPU)
