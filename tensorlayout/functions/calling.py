"""How a function becomes a call: operands checked, the plan found, the plan run.

The closures that `unary` and `binary` make are the shortest path of the package: two type checks,
one look-up of the plan, one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from tensorlayout.cpu.memory import tensor_over
from tensorlayout.dtypes import SCALARS
from tensorlayout.plan import Operation, prepared
from tensorlayout.plan.elementwise import Elementwise, InPlace
from tensorlayout.plan.library import Library
from tensorlayout.tensor import Tensor

Observer = Callable[[Operation, tuple[Any, ...], tuple[Any, ...]], Tensor]

# What sees every call while a trace is on; None otherwise.
_observer: Observer | None = None


def observe(observer: Observer | None) -> None:
    """Let `observer` carry out all calls (None: nobody)."""
    global _observer
    _observer = observer


def call(operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]) -> Tensor:
    """Run the plan of `key` on `operands`."""
    observer = _observer  # read once: another thread may end its trace meanwhile
    if observer is not None:
        return observer(operation, key, operands)
    return prepared(operation, *key)(*operands)


def elementwise(operation: Elementwise | InPlace, *operands: Any) -> Tensor:
    """Call an elementwise operation on tensors and Python or NumPy scalars."""
    given = tuple(operand(operation.name, x) for x in operands)
    key = tuple(x._spec if type(x) is Tensor else type(x) for x in given)
    if not any(type(x) is Tensor for x in given):
        msg = f"{operation.name}: at least one operand must be a tensor, got only Python scalars"
        raise TypeError(msg)
    return call(operation, key, given)


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


def tensor(name: str, x: Any) -> Tensor:
    """`x`, which must be a tensor (a NumPy scalar becomes one)."""
    if type(x) is Tensor:
        return x
    if isinstance(x, np.generic):
        return operand(name, x)  # type: ignore[no-any-return]
    msg = f"{name}: must be called with a tensor, got {_described(x)}"
    raise TypeError(msg)


def integers(given: Any) -> Any:
    """An integer, or a tuple of them from any sequence, as a key of plans; None as it is."""
    if given is None or type(given) is int:
        return given
    return index(given) if hasattr(given, "__index__") else tuple(map(index, given))


def is_array(x: Any) -> bool:
    """Whether `x` is an array of another library."""
    return hasattr(x, "__dlpack__") or hasattr(x, "__array__")


def _described(x: Any) -> str:
    kind = type(x)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[0]}."
    fix = "; make it a tensor with asarray() first" if is_array(x) or isinstance(x, list) else ""
    return f"{where}{kind.__name__}{fix}"


def writable(name: str, x: Tensor) -> Tensor:
    """`x`, which must be one that can be written to: not read-only, no slot shared."""
    if x.readonly:
        msg = f"{name}: the tensor is read-only; copy() it first"
        raise ValueError(msg)
    if x._spec.layout.is_overlapping:
        msg = (
            f"{name}: elements of layout {x.layout} share slots, so it cannot be written; copy() it"
        )
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
        if type(x) is Tensor and _observer is None:
            return prepared(operation, x._spec)(x)
        x = tensor(operation.name, x)
        return call(operation, (x._spec,), (x,))

    return _documented(function, operation, summary, "`x`: a tensor of any shape.")  # type: ignore[no-any-return]


def binary(operation: Elementwise, summary: str) -> Binary:
    """The public function of a two-operand line of the table."""

    def function(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
        if type(x1) is Tensor and type(x2) is Tensor and _observer is None:
            return prepared(operation, x1._spec, x2._spec)(x1, x2)
        return elementwise(operation, x1, x2)

    shapes = "`x1`, `x2`: tensors whose shapes broadcast, or one a Python scalar (weakly typed)."
    return _documented(function, operation, summary, shapes)  # type: ignore[no-any-return]


def operator(operation: Elementwise) -> Callable[[Tensor, Any], Any]:
    """The method for ``x + y`` and its like."""

    def method(self: Tensor, other: Any, /) -> Any:
        if type(other) is Tensor and _observer is None:
            return prepared(operation, self._spec, other._spec)(self, other)
        if type(other) in SCALARS and _observer is None:
            return prepared(operation, self._spec, type(other))(self, other)
        if not _ours(other):
            return NotImplemented
        return elementwise(operation, self, other)

    return method


def reflected(operation: Elementwise) -> Callable[[Tensor, Any], Any]:
    """The method for ``1 + x`` and its like."""

    def method(self: Tensor, other: Any, /) -> Any:
        if type(other) in SCALARS and _observer is None:
            return prepared(operation, type(other), self._spec)(other, self)
        return elementwise(operation, other, self) if _ours(other) else NotImplemented

    return method


def in_place(operation: Elementwise) -> Callable[[Tensor, Any], Any]:
    """The method for ``x += y`` and its like: x keeps its dtype, shape, layout and padding."""
    writing = InPlace(operation)

    def method(self: Tensor, other: Any, /) -> Any:
        if not _ours(other):
            return NotImplemented
        writable(operation.name, self)
        if type(other) in SCALARS and _observer is None:
            return prepared(writing, self._spec, type(other))(self, other)
        return elementwise(writing, self, other)

    return method


def _ours(other: Any) -> bool:
    """Whether an operator takes `other`: other arrays reach the error that names the fix."""
    return isinstance(other, (Tensor, np.generic, int, float, complex)) or is_array(other)


def tensors(name: str, arrays: Sequence[Any]) -> tuple[Tensor, ...]:
    """A sequence of tensors, at least one."""
    if isinstance(arrays, Tensor) or not isinstance(arrays, (tuple, list)) or not arrays:
        msg = f"{name}: must be called with a tuple or list of at least one tensor"
        raise TypeError(msg) if not isinstance(arrays, (tuple, list)) else ValueError(msg)
    return tuple(tensor(name, x) for x in arrays)
