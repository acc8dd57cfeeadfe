"""Tiled operands: the one place where plans that know strides only meet tiles.

Backends carry out some plans on tiled tensors themselves, as their `takes_tiles` says. For any
other the tiled operands are copied to packed layouts of their orders, the operation runs on those,
and what was promised to be tiled is copied back. Each such copy is a step that a trace shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, Run, backend
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.steps import Step, note
from tensorlayout.plan.view import NoViewError, ViewPlan
from tensorlayout.tensor import Tensor, TensorSpec


def planned(operation: Any, key: tuple[Any, ...]) -> Any:
    """The plan of a call; of a view that a tiled layout does not have, that of its packed copy."""
    try:
        return operation.plan(*key)
    except NoViewError:
        return operation.plan(*_untiled(key))


def is_tiled(key: tuple[Any, ...]) -> bool:
    """Whether a tensor in the key of a plan is tiled."""
    for item in key:  # noqa: SIM110 - a generator has a frame for each, and every plan asks
        if isinstance(item, TensorSpec) and item.layout.is_tiled:
            return True
    return False


def needs_strides(plan: Plan, key: tuple[Any, ...], takes_tiles: Callable[[Any], bool]) -> bool:
    """Whether a call needs packed copies of tiled operands; `takes_tiles`: the backend's word."""
    if not is_tiled(key):
        return False
    if isinstance(plan, ViewPlan) and not plan.source.layout.is_tiled:
        return True  # the view of a packed copy
    return not (plan.moves_elements or takes_tiles(plan))


def packed(spec: TensorSpec) -> TensorSpec:
    """A strided spec of the same elements: packed in the order of a tiled one."""
    layout = spec.layout
    if not layout.is_tiled:
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
) -> Run:
    """The function of the operands for a key with tiled specs; `plan` is what was planned for it.

    `again(operation, *key)` prepares the same for packed operands, `prepared` copies of them.
    """
    name, specs = operation.name, [item for item in key if isinstance(item, TensorSpec)]
    run = again(operation, *_untiled(key))
    copiers = [_copier(name, spec, packed(spec), prepared) for spec in specs]
    if plan.given and not plan.reads_destination:
        copiers[0] = _allocator(specs[0])

    def call(*operands: Any) -> Any:
        copies = iter(copiers)
        given = [next(copies)(x) if isinstance(x, Tensor) else x for x in operands]
        return run(*given)

    if plan.given:
        return _writing(name, plan.result, call, prepared)
    if plan.keeps_form and plan.result.layout.is_tiled:
        found = operation.plan(*_untiled(key)).result
        back = _copier(name, found, plan.result, prepared)
        return lambda *operands: back(call(*operands))
    return call


def _allocator(spec: TensorSpec) -> Run:
    """A packed tensor in place of a tiled one that is written and not read."""
    strided = packed(spec)
    if strided is spec:
        return lambda x: x
    new = backend(spec.device).new_tensors(strided)
    return lambda x: new()


def _writing(name: str, destination: TensorSpec, call: Run, prepared: Callable[..., Run]) -> Run:
    """A write into the first operand: into a packed copy of it, and from there into its place."""
    strided = packed(destination)
    if strided is destination:
        return call
    assign = prepared(Assign(name), destination, strided)
    step = Step(name, strided, destination)

    def write(x: Tensor, *others: Any) -> Tensor:
        found = call(x, *others)
        note(step)
        assign(x, found)
        return x

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
