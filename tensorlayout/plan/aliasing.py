"""Writes as if every other operand had been copied first: the one place that sees to it.

Masks, positions, values and summands may be views of the tensor that is written, under another
dtype too. Where one may be disturbed, the call goes on with a copy of it, in its form; so backends
prepare writes for operands that lie apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.plan.base import Disturbs, Run
from tensorlayout.plan.copy import Copy
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec


def prepare(
    operation: Any,
    key: tuple[Any, ...],
    run: Run,
    disturbs: Disturbs,
    again: Callable[..., Run],
    prepared: Callable[..., Run],
) -> Run:
    """`run`, which writes into its first operand, on others that this does not disturb.

    The tensors among the operands are those of the specs in `key`, in their order. `again` prepares
    the same operation for another key, `prepared` copies.
    """
    copying = Copy(operation.name)  # one: plans are found by the operation itself
    instead = "write what shares no memory with the tensor that is written"

    def call_with_one(x: Tensor, other: Tensor) -> Tensor:
        return anew(x, other) if disturbs(x, other) else run(x, other)

    def call(x: Tensor, *others: Any) -> Tensor:
        for other in others:
            if type(other) is Tensor and disturbs(x, other):
                return anew(x, *others)
        return run(x, *others)

    def anew(x: Tensor, *others: Any) -> Tensor:
        given = [x, *(copy(o) if type(o) is Tensor and disturbs(x, o) else o for o in others)]
        specs = iter([o._spec for o in given if type(o) is Tensor])
        found = [next(specs) if isinstance(item, TensorSpec) else item for item in key]
        return again(operation, *found)(*given)

    def copy(x: Tensor) -> Tensor:
        spec = x._spec
        form = TensorSpec(spec.dtype, spec.layout.form, spec.device)
        note(Step(operation.name, spec, form, instead))
        return prepared(copying, spec, None, None)(x)

    if len(key) == 2 and all(isinstance(item, TensorSpec) for item in key):
        return call_with_one
    return call if sum(isinstance(item, TensorSpec) for item in key) > 1 else run
