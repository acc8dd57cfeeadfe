"""Operands tiled or packed below a byte: the one place where plans of strides only meet those.

Backends carry out some plans on tiled tensors themselves, as their `takes_tiles` says, and on slots
of fewer bits than a byte what copies, assigns, transfers and views; some others where `takes_tiles`
says so. For any other such operands are copied to packed layouts of whole bytes, of their orders,
the operation runs on those, and what was promised to be tiled or packed below a byte is copied
back. Each copy is a step that a trace shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, Run, backend
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.steps import Step, note
from tensorlayout.plan.view import NoViewError, ViewPlan
from tensorlayout.tensor import SlotBitsError, Tensor, TensorSpec


def planned(operation: Any, key: tuple[Any, ...]) -> Any:
    """The plan of a call; that of packed copies for a view that a tiled layout does not have.

    And for results whose dtype has other bits than the slots of an operand.
    """
    try:
        return operation.plan(*key)
    except NoViewError:
        return operation.plan(*_untiled(key))
    except SlotBitsError:
        plan = operation.plan(*_untiled(key))
        if plan.kind in _OF_ANY_BITS:
            raise
        return plan


def is_tiled(key: tuple[Any, ...]) -> bool:
    """Whether a tensor in the key of a plan is tiled or packed below a byte."""
    for item in key:  # noqa: SIM110 - a generator has a frame for each, and every plan asks
        if isinstance(item, TensorSpec) and not item.layout.is_strided:
            return True
    return False


# Plans that backends carry out on slots of any bits.
_OF_ANY_BITS = frozenset(["assign", "copy", "transfer", "view", "row", "same", "reinterpret"])

# Plans that backends carry out on some such slots, as their `takes_tiles` says.
_OF_SOME_BITS = frozenset(["create", "dequantize", "quantize"])


def _has_few_bits(plan: Plan, key: tuple[Any, ...]) -> bool:
    """Whether a tensor of a call is packed below a byte."""
    specs = [plan.result, *(item for item in key if isinstance(item, TensorSpec))]
    return any(spec.layout.slot_bits is not None for spec in specs)


def needs_strides(plan: Plan, key: tuple[Any, ...], takes_tiles: Callable[[Any], bool]) -> bool:
    """Whether a call needs packed copies of tiled operands; `takes_tiles`: the backend's word."""
    if not is_tiled(key) and plan.result.layout.slot_bits is None:
        return False
    if isinstance(plan, ViewPlan) and plan.source.layout.is_strided:
        return True  # the view of a packed copy
    if _has_few_bits(plan, key):
        if plan.kind in _OF_SOME_BITS:
            return not takes_tiles(plan)
        return plan.kind not in _OF_ANY_BITS
    return not (plan.moves_elements or takes_tiles(plan))


def packed(spec: TensorSpec) -> TensorSpec:
    """A spec of the same elements at whole strides: packed in the order of one that has none."""
    layout = spec.layout
    if layout.is_strided:
        return spec
    return TensorSpec(spec.dtype, Layout.packed(layout.shape, layout.minor_to_major), spec.device)


def _untiled(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(packed(item) if isinstance(item, TensorSpec) else item for item in key)


def prepare(
    operation: Any,
    key: tuple[Any, ...],
    plan: Plan,
    again: Callable[..., Run],
    prepared: Callable[..., Run],
    carried_out: Callable[[Plan], Run],
) -> Run:
    """The function of the operands for a key of such specs; `plan` is what was planned for it.

    `again(operation, *key)` prepares the same for packed operands, `prepared` copies of them;
    `carried_out` is for a plan of which the result alone is such.
    """
    name, specs = operation.name, [item for item in key if isinstance(item, TensorSpec)]
    if not is_tiled(key):
        strided: Any = replace(plan, result=packed(plan.result))  # type: ignore[type-var]
        made, stored = carried_out(strided), _copier(name, strided.result, plan.result, prepared)
        return lambda *operands: stored(made(*operands))
    run = again(operation, *_untiled(key))
    copiers = [_copier(name, spec, packed(spec), prepared) for spec in specs]
    if plan.given and not plan.reads_destination:
        several = plan.destinations
        copiers[:several] = map(_allocator, specs[:several])

    def untiled(operands: tuple[Any, ...]) -> list[Any]:
        copies = iter(copiers)
        return [next(copies)(x) if isinstance(x, Tensor) else x for x in operands]

    if plan.given:
        backs = [_writer(name, spec, prepared) for spec in specs[: plan.destinations]]

        def write(*operands: Any) -> Any:
            given = untiled(operands)
            run(*given)
            for back, x, found in zip(backs, operands, given, strict=False):
                back(x, found)
            return operands[0]

        return write
    if plan.keeps_form and not plan.result.layout.is_strided:
        found = operation.plan(*_untiled(key)).result
        back = _copier(name, found, plan.result, prepared)
        return lambda *operands: back(run(*untiled(operands)))
    return lambda *operands: run(*untiled(operands))


def _allocator(spec: TensorSpec) -> Run:
    """A packed tensor in place of one that has no strides, is written and not read."""
    strided = packed(spec)
    if strided is spec:
        return lambda x: x
    new = backend(spec.device).new_tensors(strided)
    return lambda x: new()


def _writer(name: str, destination: TensorSpec, prepared: Callable[..., Run]) -> Callable[..., Any]:
    """What writes the packed tensor of `_allocator` into the place of a destination."""
    strided = packed(destination)
    if strided is destination:
        return lambda x, found: None
    assign = prepared(Assign(name), destination, strided)
    step = Step(name, strided, destination)

    def write(x: Tensor, found: Tensor) -> None:
        note(step)
        assign(x, found)

    return write


def _copier(name: str, source: TensorSpec, result: TensorSpec, prepared: Callable[..., Run]) -> Run:
    """A copy of a tensor in another layout, noted as a step; the tensor itself where it fits."""
    if source is result:
        return lambda x: x
    run = prepared(Copy(name), source, result.layout, None)
    step = Step(name, source, result)

    def copy(x: Tensor) -> Tensor:
        note(step)
        return run(x)

    return copy
