"""Plans found, or made and kept; memory for results; the functions that calls run.

`prepared` gives the function of the operands for an operation and a key. It allocates the result,
and has the backend of the device write into it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from tensorlayout.plan import aliasing, tiled
from tensorlayout.plan.base import Backend, Operation, Plan, Run, Write, backend
from tensorlayout.plan.copy import Assign, CopyPlan
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec

# Plans kept. One holds a few kilobytes (layouts, closures), never data.
CACHE_SIZE = 4096


class _Prepared(Protocol):
    def __call__(self, operation: Operation, *key: Any) -> Run: ...
    def cache_info(self) -> Any: ...
    def cache_clear(self) -> None: ...


def prepare(operation: Operation, *key: Any) -> Run:
    """The function of the operands, without the cache."""
    return _prepare(operation, tiled.planned(operation, key), key, prepared)


def prepare_into(operation: Operation, destination: TensorSpec, *key: Any) -> Run:
    """The function of a destination of any layout and the operands, without the cache."""
    plan = tiled.planned(operation, key)
    plan.check_into(destination)
    if plan.any_layout:
        return _prepare(operation, plan.into(destination), (destination, *key), prepared_into)
    assign = prepared(Assign(operation.name), destination, plan.result)
    run = prepared(operation, *key)
    step = Step(operation.name, plan.result, destination, "leave out=, which it is copied into")

    def run_into(out: Tensor, *operands: Any) -> Tensor:
        note(step)
        return assign(out, run(*operands))

    return run_into


# Typed by hand: operations are hashable by identity, which their protocol does not say.
_cached: Any = functools.lru_cache(maxsize=CACHE_SIZE)
prepared: _Prepared = _cached(prepare)
prepared_into: _Prepared = _cached(prepare_into)


def _prepare(
    operation: Operation, plan: Plan, key: tuple[Any, ...], again: Callable[..., Run]
) -> Run:
    """What carries out a plan; `again` prepares the same operation for another key."""
    where = backend(plan.result.device)
    if tiled.needs_strides(plan, key, where.takes_tiles):
        return tiled.prepare(operation, key, plan, again, prepared, carried_out)
    run = _run(plan, where)
    disturbs = where.disturbs(plan) if plan.given else None
    if disturbs is None:
        return run
    return aliasing.prepare(operation, key, run, disturbs, again, prepared)


def carried_out(plan: Plan) -> Run:
    """The function of the operands of a plan that stands for a part of another."""
    return _run(plan, backend(plan.result.device))


def noted_copy(name: str, source: TensorSpec, result: TensorSpec) -> Run:
    """A copy on the way, which a trace shows; `source`: how the tensor is seen."""
    copy = noting(Step(name, source, result), CopyPlan(source, result))
    return lambda x: copy(Tensor._new(x._memory, source, x._home))


def noting(step: Step, plan: Plan) -> Run:
    """The function of the operands of a copy on the way, which a trace shows as `step`."""
    copy = carried_out(plan)

    def noted(*operands: Tensor) -> Tensor:
        note(step)
        return copy(*operands)

    return noted


def _run(plan: Plan, where: Backend) -> Run:
    """The function of the operands, which are ready for the backend."""
    if plan.makes != "new":
        run: Run = where.carry_out(plan)
        return run
    direct = where.direct(plan)
    if direct is not None:
        return direct
    write = where.carry_out(plan)
    if plan.given:

        def run_into(out: Tensor, *operands: Any) -> Tensor:
            write(out, *operands)
            return out

        return run_into
    return making(where.new_tensors(plan.result), write)


def making(new: Callable[[], Tensor], write: Write) -> Run:
    """The function of the operands that writes into a new tensor."""

    def run_anew(*operands: Any) -> Tensor:
        out = new()
        write(out, *operands)
        return out

    return run_anew


def cache_info() -> Any:
    """Hits, misses, the size limit and the current size of the cache of plans."""
    return prepared.cache_info()


def cache_clear() -> None:
    """Forget all plans."""
    prepared.cache_clear()
    prepared_into.cache_clear()
