"""Elementwise plans on the CPU: one NumPy call, without warnings, into the planned layout."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu import special
from tensorlayout.cpu.memory import (
    Array,
    block_of,
    new_tensor,
    padding_filler,
    quietly,
    unbuffered,
)
from tensorlayout.plan import Run
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import Spec, Tensor


def prepare(plan: ElementwisePlan) -> Run:
    """The function of the operands that carries out the plan."""
    usual = plan.operation.usual
    if usual is not None and isinstance(plan.operands[-1], type) and _repaired(plan) is not None:
        return _screened(plan, usual)
    return _prepare(plan)


def _prepare(plan: ElementwisePlan) -> Run:
    if plan.in_place:
        return _in_place(plan)
    if _numpy_alone_gives_the_layout(plan):
        return _direct(plan)
    if plan.flat and plan.result.layout.is_padded and plan.result.layout.size:
        return _flat(plan)
    return _strided(plan)


def _screened(plan: ElementwisePlan, usual: Callable[[Any], bool]) -> Run:
    """NumPy's function unless the last operand, a Python scalar, needs the repaired one."""
    common = _prepare(replace(plan, operation=replace(plan.operation, repair=None)))
    rare = _prepare(plan)

    def run(*operands: Any) -> Tensor:
        return common(*operands) if usual(operands[-1]) else rare(*operands)

    return run


def _numpy_alone_gives_the_layout(plan: ElementwisePlan) -> bool:
    """Whether NumPy, left to itself, returns a row-major array of the planned dtype."""
    layout = plan.result.layout
    return (
        _is_ufunc(plan)
        and _repaired(plan) is None
        and layout.ndim > 0
        and layout.size > 0
        and layout.is_row_major
        and all(isinstance(o, type) or _contiguous(o) for o in plan.operands)
        and _natural(plan)
    )


def _repaired(plan: ElementwisePlan) -> special.Repaired | None:
    """What replaces NumPy's function in the planned dtypes, if it departs from the standard."""
    repair = plan.operation.repair
    if repair is None:
        return None
    name = plan.inputs[-1].name
    return repair.get(name) or (repair.get(f"{name}*") if _last_repeats(plan) else None)


def _last_repeats(plan: ElementwisePlan) -> bool:
    """Whether the last operand may be one value for many elements of the result."""
    last = plan.operands[-1]
    if isinstance(last, type) or last.layout.size <= 1:
        return True
    return last.layout.shape != plan.result.layout.shape or last.layout.is_overlapping


def _is_ufunc(plan: ElementwisePlan) -> bool:
    return isinstance(plan.operation.numpy, np.ufunc)


def _contiguous(spec: Spec) -> bool:
    return spec.layout.is_row_major


def _natural(plan: ElementwisePlan) -> bool:
    """Whether NumPy's own promotion of these operands is the planned one."""
    if any(isinstance(o, type) for o in plan.operands):
        if any(dtypes.is_bfloat16(d) for d in plan.inputs):
            return False  # NumPy takes Python scalars beside bfloat16 for float32
        if plan.result.dtype == dtypes.bool and plan.inputs[0].kind in "iu":
            return False  # NumPy compares integers with Python integers that do not fit
    return _loop(plan, [o if isinstance(o, type) else o.dtype for o in plan.operands])


def _loop(plan: ElementwisePlan, given: Sequence[Any]) -> bool:
    """Whether NumPy picks the planned dtypes for operands of dtypes (or scalar kinds) `given`."""
    try:
        loop = plan.operation.numpy.resolve_dtypes((*given, None))
    except TypeError:
        return False
    return tuple(loop) == (*plan.inputs, plan.result.dtype)


def _direct(plan: ElementwisePlan) -> Run:
    """Row-major operands: NumPy allocates; the shortest path there is."""
    function, spec = plan.operation.numpy, plan.result
    copy, new = unbuffered.copy, object.__new__
    if len(plan.operands) == 1:

        def run_unary(x: Tensor) -> Tensor:
            result = new(Tensor)
            result._memory = copy().run(function, x._memory)
            result._spec = spec
            result._home = None
            return result

        return run_unary
    kinds = tuple(isinstance(o, type) for o in plan.operands)
    if kinds == (False, False):

        def run_tensors(x: Tensor, y: Tensor) -> Tensor:
            result = new(Tensor)
            result._memory = copy().run(function, x._memory, y._memory)
            result._spec = spec
            result._home = None
            return result

        return run_tensors
    if kinds == (False, True):

        def run_tensor_scalar(x: Tensor, y: Any) -> Tensor:
            result = new(Tensor)
            try:
                result._memory = copy().run(function, x._memory, y)
            except OverflowError:
                raise _misfit(plan, y) from None
            result._spec = spec
            result._home = None
            return result

        return run_tensor_scalar

    def run_mixed(*operands: Any) -> Tensor:
        arrays = [o._memory if isinstance(o, Tensor) else o for o in operands]
        try:
            return Tensor._new(copy().run(function, *arrays), spec)
        except OverflowError:
            raise _misfit(plan, *operands) from None

    return run_mixed


def _misfit(plan: ElementwisePlan, *operands: Any) -> OverflowError:
    """What to raise where a Python integer does not fit the dtype it is to be taken in."""
    scalars = ", ".join(str(o) for o in operands if not isinstance(o, Tensor))
    return OverflowError(
        f"{plan.operation.name}: the Python scalar {scalars} does not fit {plan.inputs[0]}"
    )


def _memory_of(operand: Tensor) -> Array:
    return operand._memory  # type: ignore[no-any-return]


def _getters(plan: ElementwisePlan) -> list[Any]:
    """One function per operand: from the operand to what NumPy gets."""
    return [
        _scalar_in(plan.operation.name, dtype) if isinstance(o, type) else _memory_of
        for o, dtype in zip(plan.operands, plan.inputs, strict=True)
    ]


def _scalar_in(name: str, dtype: dtypes.DType) -> Any:
    """Python scalars as 0-d arrays of `dtype`; OverflowError for integers that do not fit."""
    bfloat16 = dtypes.is_bfloat16(dtype)  # ml_dtypes takes no integers beyond int64

    def convert(value: Any) -> Array:
        try:
            return np.asarray(float(value) if bfloat16 else value, dtype)
        except OverflowError:
            msg = f"{name}: the Python scalar {value} does not fit {dtype}"
            raise OverflowError(msg) from None

    if dtypes.in_category(dtype, "floating-point"):
        return functools.partial(quietly, convert)
    return convert


def _call(plan: ElementwisePlan) -> Any:
    """``call(arrays, out)``: the operation, with the planned dtypes, without warnings.

    A ufunc converts operands in blocks, so no operand is copied as a whole; other functions get
    converted operands.
    """
    function, repaired = plan.operation.numpy, _repaired(plan)
    if repaired is not None:
        return special.in_blocks(repaired, plan.inputs, plan.in_place)
    if isinstance(function, np.ufunc):
        signature = (*plan.inputs, plan.result.dtype)
        given = [
            i if isinstance(o, type) else o.dtype
            for o, i in zip(plan.operands, plan.inputs, strict=True)
        ]
        if _loop(plan, given):
            copy: Any = unbuffered.copy
            return lambda arrays, out: copy().run(function, *arrays, out=out)

        convert: Any = functools.partial(function, signature=signature, casting="unsafe")
        return lambda arrays, out: quietly(convert, *arrays, out=out)
    inputs = plan.inputs

    def call_function(arrays: list[Array], out: Array) -> None:
        converted = [a.astype(d, copy=False) for a, d in zip(arrays, inputs, strict=True)]
        quietly(function, *converted, out)

    return call_function


def _strided(plan: ElementwisePlan) -> Run:
    """Any layouts: NumPy's iterator walks the operands and the allocated result together."""
    call, get, spec = _call(plan), _getters(plan), plan.result

    def run(*operands: Any) -> Tensor:
        result = new_tensor(spec)
        call([g(o) for g, o in zip(get, operands, strict=True)], result._memory)
        return result

    return run


def _flat(plan: ElementwisePlan) -> Run:
    """Padded operands and result of equal strides: one run over the block, then the padding."""
    call, get, spec = _call(plan), _getters(plan), plan.result
    fill = padding_filler(spec)

    def run(*operands: Any) -> Tensor:
        result = new_tensor(spec)
        arrays = [
            block_of(o) if isinstance(o, Tensor) else g(o)
            for g, o in zip(get, operands, strict=True)
        ]
        block = block_of(result)
        call(arrays, block)
        if fill is not None:
            fill(block)
        return result

    return run


def _in_place(plan: ElementwisePlan) -> Run:
    """Into the first operand, in its own layout; NumPy buffers operands that overlap it."""
    plain = _is_ufunc(plan) and _repaired(plan) is None
    if plain and len(plan.operands) == 2 and _natural(plan):
        return _in_place_directly(plan)
    call, get = _call(plan), _getters(plan)

    def run(*operands: Any) -> Tensor:
        destination: Tensor = operands[0]
        call([g(o) for g, o in zip(get, operands, strict=True)], destination._memory)
        return destination

    return run


def _in_place_directly(plan: ElementwisePlan) -> Run:
    """``x += y`` where NumPy's promotion is the planned one."""
    function, copy = plan.operation.numpy, unbuffered.copy

    def run(x: Tensor, y: Any) -> Tensor:
        other = y._memory if type(y) is Tensor else y
        try:
            copy().run(function, x._memory, other, x._memory)
        except OverflowError:
            raise _misfit(plan, y) from None
        return x

    return run
