"""Operands tiled or packed below a byte: which plans of strides only need packed copies of those.

Backends carry out some plans on tiled tensors themselves, as their `takes_tiles` says, and on slots
of fewer bits than a byte what copies, assigns, transfers and views; some others where `takes_tiles`
says so. For any other `run` copies such operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.view import NoViewError, ViewPlan
from tensorlayout.tensor import SlotBitsError, TensorSpec


def planned(operation: Any, key: tuple[Any, ...]) -> Any:
    """The plan of a call; that of packed copies for a view that a tiled layout does not have.

    And for results whose dtype has other bits than the slots of an operand.
    """
    try:
        return operation.plan(*key)
    except NoViewError:
        return operation.plan(*untiled(key))
    except SlotBitsError:
        plan = operation.plan(*untiled(key))
        if plan.kind in _OF_ANY_BITS:
            raise
        return plan


def is_tiled(key: tuple[Any, ...]) -> bool:
    """Return whether a tensor in the key of a plan is tiled or packed below a byte."""
    for item in key:  # noqa: SIM110 - a generator has a frame for each, and every plan asks
        if isinstance(item, TensorSpec) and not item.layout.is_strided:
            return True
    return False


# Plans that backends carry out on slots of any bits.
_OF_ANY_BITS = frozenset(["assign", "copy", "transfer", "view", "row", "same", "reinterpret"])

# Plans that backends carry out on some such slots, as their `takes_tiles` says.
_OF_SOME_BITS = frozenset(["create", "dequantize", "quantize"])


def needs_strides(plan: Plan, key: tuple[Any, ...], takes_tiles: Callable[[Any], bool]) -> bool:
    """Whether a call needs packed copies of tiled operands; `takes_tiles`: the backend's word."""
    if not is_tiled(key) and plan.result.layout.slot_bits is None:
        return False
    if isinstance(plan, ViewPlan) and plan.source.layout.is_strided:
        return True  # the view of a packed copy
    specs = [plan.result, *(item for item in key if isinstance(item, TensorSpec))]
    if any(spec.layout.slot_bits is not None for spec in specs):
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


def untiled(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key with such specs in place of its specs."""
    return tuple(packed(item) if isinstance(item, TensorSpec) else item for item in key)
