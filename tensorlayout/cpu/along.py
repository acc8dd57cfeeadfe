"""Operations along one dimension on the CPU: how they are carried out."""

from __future__ import annotations

from collections.abc import Callable

from tensorlayout.cpu.engine.memory import Array, allocator, quietly
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.base import Run
from tensorlayout.tensor import Tensor

# Writes the result. Both arrays have their lines along the last axis; the others are in the order
# of storage, so that lines side by side are visited one after the other.
Work = Callable[[Array, Array], None]


def prepare(plan: AlongPlan) -> Run:
    """The operation's work, into the planned layout."""
    write, spec = _writer(plan), plan.result
    allocate = allocator(spec)

    def along(x: Tensor) -> Tensor:
        memory, home = allocate()
        write(x._memory, memory)
        return Tensor._new(memory, spec, home)

    return along


def prepare_into(plan: AlongPlan) -> Run:
    """The same into a tensor given first, of any layout."""
    write = _writer(plan)

    def along(result: Tensor, x: Tensor) -> Tensor:
        write(x._memory, result._memory)
        return result

    return along


def _writer(plan: AlongPlan) -> Callable[[Array, Array], None]:
    work: Work = plan.operation.numpy(plan)
    layout = plan.source.layout
    order = (*[d for d in reversed(layout.minor_to_major) if d != plan.dim], plan.dim)

    def write(x: Array, out: Array) -> None:
        if out.size:
            quietly(work, x.transpose(order), out.transpose(order))

    return write
