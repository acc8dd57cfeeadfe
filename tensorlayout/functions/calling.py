"""How a function becomes a call: operands checked, the plan found, the plan run.

The closures that `unary` and `binary` make are the shortest path of the package: two type checks,
one look-up of the plan, one call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from operator import index
from typing import Any

import numpy as np

from tensorlayout import words
from tensorlayout.devices import CPU
from tensorlayout.dtypes import SCALARS, float64, misfit
from tensorlayout.exchange.numpy import shortage, tensor_over
from tensorlayout.plan.base import CaptureError, Operation
from tensorlayout.plan.copy import Transfer
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.plan.library import Library
from tensorlayout.plan.run import prepared, prepared_into
from tensorlayout.tensor import Tensor

_SCALAR = Transfer()

# Of the function that prepares a call, the operation, the key and the operands.
Observer = Callable[[Any, Operation, tuple[Any, ...], tuple[Any, ...]], Tensor]

_Watching = Set[object]

# Who sees every call, as long as there is somebody for whom: empty else. What is in it comes and
# goes by itself, in other threads too, so there is no second variable to be kept in step.
_watched: _Watching = frozenset()
_observer: Observer


def observe(observer: Observer, watched: _Watching) -> None:
    """Let `observer` carry out all calls while there is anything in `watched`."""
    global _observer, _watched
    _observer, _watched = observer, watched


def call(
    operation: Operation,
    key: tuple[Any, ...],
    operands: tuple[Any, ...],
    prepared: Any = prepared,
) -> Tensor:
    """Run the plan of `key` on `operands`; `prepared` finds it."""
    try:
        if _watched:
            return _observer(prepared, operation, key, operands)
        return prepared(operation, *key)(*operands)  # type: ignore[no-any-return]
    except MemoryError as error:
        raise _short(operation, error) from None
    except CaptureError as error:
        msg = f"{operation.name}: {error}"
        raise CaptureError(msg) from None
    except TypeError as error:
        raise _explained(prepared, operation, key, error) from None
    except ValueError as error:
        if not str(error).startswith(_TOO_BIG):
            raise
        raise _short(operation, MemoryError()) from None


_TOO_BIG = "array is too big"  # NumPy's words for more bytes than 64 bits count


def call_into(
    out: Tensor | None, operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Tensor:
    """Run the plan of `key` on `operands`, and write into `out`, of any layout, if that is given.

    It shares no memory with the operands.
    """
    if out is None:
        return call(operation, key, operands)
    return call(operation, (out._spec, *key), (out, *operands), prepared_into)


def _explained(
    prepared: Any, operation: Operation, key: tuple[Any, ...], error: TypeError
) -> Exception:
    """What the plan says of an argument that cannot even be looked up, such as a list."""
    try:
        prepared.__wrapped__(operation, *key)
    except (TypeError, ValueError) as reason:
        return reason
    return error


def _short(operation: Operation, error: MemoryError) -> MemoryError:
    """What to raise where memory for a result cannot be had."""
    return MemoryError(f"{operation.name}: {shortage(error)}")


def elementwise(operation: Elementwise, *operands: Any, out: Tensor | None = None) -> Tensor:
    """Call an elementwise operation on tensors and Python or NumPy scalars.

    `out`: what the result is written into; an operand may be exactly there.
    """
    given = tuple(operand(operation.name, x) for x in operands)
    if any(isinstance(x, np.generic) for x in operands):
        given = _on_one_device(operands, given)
    key = tuple(x._spec if type(x) is Tensor else type(x) for x in given)
    if not any(type(x) is Tensor for x in given):
        msg = f"{operation.name}: at least one operand must be a tensor, got only Python scalars"
        raise TypeError(msg)
    return call(operation, key, given) if out is None else call_into(out, operation, key, given)


def _on_one_device(operands: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """`given`, those of them that were NumPy scalars moved to where the tensors are."""
    device = next((x.device for x in operands if type(x) is Tensor), None)
    if device is None or device == CPU:
        return given
    return tuple(
        call(_SCALAR, (y._spec, device), (y,)) if isinstance(x, np.generic) else y
        for x, y in zip(operands, given, strict=True)
    )


def library(operation: Library, *operands: Any, **options: Any) -> Any:
    """Call a library function on tensors; what it gives may be one tensor or several.

    `options`: hashable; they become part of the plan, and keywords of the call.
    """
    given = tuple(tensor(operation.name, x) for x in operands)
    return call(operation, (len(given), *(x._spec for x in given), *options.items()), given)


def operand(name: str, x: Any) -> Any:
    """A tensor or an exact Python scalar; NumPy scalars become tensors of rank 0."""
    if type(x) is Tensor or type(x) in SCALARS:
        return x
    if isinstance(x, np.generic):
        wrapped = tensor_over(np.asarray(x))
        assert wrapped is not None
        return wrapped
    for kind in (int, float, complex):  # subclasses, such as enumerations, count as their base
        if isinstance(x, kind):
            return kind(x)  # type: ignore[arg-type]
    msg = f"{name}: operands must be tensors or Python scalars, got {_described(x)}"
    raise TypeError(msg)


def tensor(name: str, x: Any, argument: str = "") -> Tensor:
    """`x`, which must be a tensor (a NumPy scalar becomes one); `argument`, of several, is it."""
    if type(x) is Tensor:
        return x
    if isinstance(x, np.generic):
        return operand(name, x)  # type: ignore[no-any-return]
    rule = f"{argument} must be a tensor" if argument else "must be called with a tensor"
    msg = f"{name}: {rule}, got {_described(x)}"
    raise TypeError(msg)


def integer(name: str, argument: str, given: Any) -> int:
    """`given` as an int. TypeError for anything else: for floats, and for bool, too."""
    if type(given) is int:
        return given
    found = _integer(given)
    if found is None:
        msg = f"{name}: {argument} must be an integer, got {shown(given)}"
        raise TypeError(msg)
    return found


def count(name: str, argument: str, given: Any) -> int:
    """`given` as an int that is not negative."""
    found = integer(name, argument, given)
    if found < 0:
        msg = f"{name}: {argument} must not be negative, got {shown(found)}"
        raise ValueError(msg)
    return found


_INTEGERS = {int}
_MOST = 1024  # integers of a sequence, which may be one without end


def integers(given: Any, name: str = "", argument: str = "axis", *, none: bool = True) -> Any:
    """An integer, or a tuple of them from any sequence, as a key of plans; None, if it may be.

    TypeError for anything else, sets and text too: they have no order, or no numbers.
    """
    if type(given) is int or (given is None and none):
        return given
    if type(given) is tuple and set(map(type, given)) <= _INTEGERS:
        return given
    found = _integer(given)
    if found is not None:
        return found
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Set, Mapping)):
        numbers = _integers(given)
        if numbers is not None:
            return numbers
    where = f"{name}: {argument}" if name else f"{argument}:"
    msg = f"{where} must be an integer or a sequence of integers, got {shown(given)}"
    raise TypeError(msg)


def _integers(given: Iterable[Any]) -> tuple[int, ...] | None:
    """The integers of a sequence; None at the first that is none, or where they do not end."""
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


def shape(name: str, given: Any) -> tuple[int, ...]:
    """A shape, from an integer or any sequence of them; sizes are for plans to judge."""
    found = integers(given, name, "shape", none=False)
    return (found,) if isinstance(found, int) else found


def layout(name: str, given: Any) -> Any:
    """A layout asked for, as a key of plans; sequences become tuples of integers."""
    if isinstance(given, (tuple, list)):  # (0.0, True) would find the plan of (0, 1)
        return integers(given, name, "layout")
    return given


def _integer(given: Any) -> int | None:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        return None
    try:
        return int(index(given))
    except TypeError:  # tensors and arrays have the method, and use it if they are one integer
        return None


def flag(name: str, argument: str, given: Any) -> bool | None:
    """True, False or None, which other values, such as words, might silently stand for."""
    if given is None or type(given) is bool:
        return given
    if isinstance(given, np.bool_):
        return bool(given)
    msg = f"{name}: {argument} must be True, False or None, got {shown(given)}"
    raise TypeError(msg)


def truth(name: str, argument: str, given: Any) -> bool:
    """`given`, which must be True or False."""
    if given is True or given is False:
        return given
    if isinstance(given, np.bool_):
        return bool(given)
    msg = f"{name}: {argument} must be True or False, got {shown(given)}"
    raise TypeError(msg)


def choice(name: str, argument: str, given: Any, rule: str, allowed: Collection[str]) -> str:
    """`given`, which must be one of the words `allowed`; ValueError with the `rule` otherwise."""
    if isinstance(given, str) and given in allowed:
        return given
    msg = f"{name}: {argument} must be {rule}, got {shown(given)}"
    raise ValueError(msg)


def real(name: str, argument: str, given: Any, kind: str = "a real number") -> Any:
    """A real number of any library as a Python integer or float."""
    if type(given) in (int, float):
        return given
    if not isinstance(given, (str, bytes, complex)) and not getattr(given, "ndim", 0):
        for convert in (index, float):
            try:
                return convert(given)
            except TypeError:
                continue
    msg = f"{name}: {argument} must be {kind}, got {shown(given)}"
    raise TypeError(msg)


def as_float(name: str, number: Any) -> float:
    """A real number as a float; OverflowError for an integer beyond all of them."""
    try:
        return float(number)
    except OverflowError:
        raise misfit(name, number, float64) from None


def number(name: str, argument: str, given: Any) -> complex:
    """A number, of any library, as a Python float or complex."""
    if isinstance(given, complex):
        return complex(given)
    if isinstance(given, Tensor) and given.dtype.kind == "c" and not given.ndim:
        return complex(given)
    return as_float(name, real(name, argument, given, "a number"))


def is_array(x: Any) -> bool:
    """Whether `x` is an array of another library."""
    return hasattr(x, "__dlpack__") or hasattr(x, "__array__")


def shown(x: Any) -> str:
    """What came, for an error: tensors and arrays by their kind, all else as `words` shows it."""
    if isinstance(x, Tensor):
        return f"a tensor of {x.dtype} and shape {x.shape}"
    return words.kind_of(x) if is_array(x) and not isinstance(x, np.generic) else words.shown(x)


def _described(x: Any) -> str:
    fix = "; make it a tensor with asarray() first" if is_array(x) or isinstance(x, list) else ""
    return f"{words.kind_of(x)}{fix}"


def writable(name: str, x: Tensor) -> Tensor:
    """`x`, which must be one that can be written to: not read-only, no slot shared."""
    if x.readonly:
        msg = f"{name}: the tensor is read-only; copy() it first"
        raise ValueError(msg)
    if x._spec.layout.is_overlapping:
        msg = f"{name}: elements of layout {words.cut(x.layout)} share slots, so it cannot be"
        msg += " written; copy() it"
        raise ValueError(msg)
    return x


_DOC = """{summary}

{shapes}

dtypes: {category}{integers}. Result: {result}; the shape that the operands broadcast to; the
layout is the form that the operands of that shape have in common, else packed in the order of the
first of them. TypeError for other dtypes, ValueError for shapes that do not broadcast.

Source: array API standard 2025.12, elementwise functions, `{name}`.
"""


def _documented(function: Any, operation: Elementwise, summary: str, shapes: str) -> Any:
    results = {"same": "the promoted dtype", "bool": "bool", "real": "the dtype of the real part"}
    function.__name__ = function.__qualname__ = operation.name
    function.__module__ = "tensorlayout"
    function.__doc__ = _DOC.format(
        summary=summary,
        shapes=shapes,
        category=operation.dtypes,
        integers=f" (integers are taken as {operation.integers})" if operation.integers else "",
        result=results[operation.result],
        name=operation.name,
    )
    function.operation = operation
    return function


Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Any, Any], Tensor]


def unary(operation: Elementwise, summary: str) -> Unary:
    """The public function of a one-operand line of the table."""

    def function(x: Tensor, /) -> Tensor:
        if type(x) is Tensor and not _watched:
            try:
                return prepared(operation, x._spec)(x)
            except MemoryError as error:
                raise _short(operation, error) from None
        x = tensor(operation.name, x)
        return call(operation, (x._spec,), (x,))

    return _documented(function, operation, summary, "`x`: a tensor of any shape.")  # type: ignore[no-any-return]


def binary(operation: Elementwise, summary: str) -> Binary:
    """The public function of a two-operand line of the table."""

    def function(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
        if type(x1) is Tensor and type(x2) is Tensor and not _watched:
            try:
                return prepared(operation, x1._spec, x2._spec)(x1, x2)
            except MemoryError as error:
                raise _short(operation, error) from None
        return elementwise(operation, x1, x2)

    shapes = "`x1`, `x2`: tensors whose shapes broadcast, or one a Python scalar (weakly typed)."
    return _documented(function, operation, summary, shapes)  # type: ignore[no-any-return]


def operator(operation: Elementwise) -> Callable[[Tensor, Any], Any]:
    """The method for ``x + y`` and its like."""

    def method(self: Tensor, other: Any, /) -> Any:
        try:
            if type(other) is Tensor and not _watched:
                return prepared(operation, self._spec, other._spec)(self, other)
            if type(other) in SCALARS and not _watched:
                return prepared(operation, self._spec, type(other))(self, other)
        except MemoryError as error:
            raise _short(operation, error) from None
        if not _ours(other):
            return NotImplemented
        return elementwise(operation, self, other)

    return method


def reflected(operation: Elementwise) -> Callable[[Tensor, Any], Any]:
    """The method for ``1 + x`` and its like."""

    def method(self: Tensor, other: Any, /) -> Any:
        if type(other) in SCALARS and not _watched:
            try:
                return prepared(operation, type(other), self._spec)(other, self)
            except MemoryError as error:
                raise _short(operation, error) from None
        return elementwise(operation, other, self) if _ours(other) else NotImplemented

    return method


def in_place(operation: Elementwise) -> Callable[[Tensor, Any], Any]:
    """The method for ``x += y`` and its like: x keeps its dtype, shape, layout and padding."""

    def method(self: Tensor, other: Any, /) -> Any:
        if type(other) in SCALARS and not _watched:
            spec = writable(operation.name, self)._spec
            return prepared_into(operation, spec, spec, type(other))(self, self, other)
        if not _ours(other):
            return NotImplemented
        return elementwise(operation, self, other, out=writable(operation.name, self))

    return method


def _ours(other: Any) -> bool:
    """Whether an operator takes `other`: other arrays reach the error that names the fix."""
    return isinstance(other, (Tensor, np.generic, int, float, complex)) or is_array(other)


def tensors(name: str, arrays: Sequence[Any], argument: str = "arrays") -> tuple[Tensor, ...]:
    """A sequence of tensors, at least one; `argument` is what errors call it."""
    if not isinstance(arrays, (tuple, list)):
        msg = f"{name}: {argument} must be a tuple or list of tensors, got {shown(arrays)}"
        raise TypeError(msg)
    if not arrays:
        msg = f"{name}: {argument} must be at least one tensor, got none"
        raise ValueError(msg)
    if {*map(type, arrays)} == {Tensor}:
        return tuple(arrays)
    return tuple(
        x if type(x) is Tensor else tensor(name, x, f"{argument}[{i}]")
        for i, x in enumerate(arrays)
    )
