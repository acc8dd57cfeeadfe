"""Plans found, or made and kept; memory for results; the functions that calls run.

`prepared` gives the function of the operands for an operation and a key. It allocates the result,
and has the backend of the device write into it. Operands that the backend cannot take, or that the
write would disturb, are copied before: backends see neither. Each such copy is a step that a trace
shows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from tensorlayout.plan import tiled
from tensorlayout.plan.base import Backend, Disturbs, Operation, Plan, Run, Write, backend
from tensorlayout.plan.copy import Assign, AssignPlan, Copy, CopyPlan
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
        return _on_packed_copies(operation, key, plan, again)
    run = _run(plan, where)
    disturbs = where.disturbs(plan) if plan.given else None
    return run if disturbs is None else _undisturbed(operation, key, run, disturbs, again)


def carried_out(plan: Plan) -> Run:
    """The function of the operands of a plan that stands for a part of another."""
    return _run(plan, backend(plan.result.device))


def noted_copy(name: str, source: TensorSpec, result: TensorSpec) -> Run:
    """A copy on the way, which a trace shows; `source`: how the tensor is seen."""
    copy = noting(Step(name, source, result), CopyPlan(source, result))
    return lambda x: copy(Tensor._new(x.memory, source, x.home))


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


# --- operands that a write would disturb ---


def _undisturbed(
    operation: Operation,
    key: tuple[Any, ...],
    run: Run,
    disturbs: Disturbs,
    again: Callable[..., Run],
) -> Run:
    """`run`, which writes into its first operand, as if every other operand had been copied first.

    Masks, positions, values and summands may be views of the tensor that is written, under another
    dtype too. Where one may be disturbed, the call goes on with a copy of it, in its form. The
    tensors among the operands are those of the specs in `key`, in their order.
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
        specs = iter([o.spec for o in given if type(o) is Tensor])
        found = [next(specs) if isinstance(item, TensorSpec) else item for item in key]
        return again(operation, *found)(*given)

    def copy(x: Tensor) -> Tensor:
        spec = x.spec
        form = TensorSpec(spec.dtype, spec.layout.form, spec.device)
        note(Step(operation.name, spec, form, instead))
        return prepared(copying, spec, None, None)(x)

    if len(key) == 2 and all(isinstance(item, TensorSpec) for item in key):
        return call_with_one
    return call if sum(isinstance(item, TensorSpec) for item in key) > 1 else run


# --- operands tiled or packed below a byte, as `tiled` says ---


def _on_packed_copies(
    operation: Operation, key: tuple[Any, ...], plan: Plan, again: Callable[..., Run]
) -> Run:
    """The function of the operands for a key of such specs; `plan` is what was planned for it.

    They are copied to packed layouts of whole bytes, of their orders, the operation runs on those,
    and what was promised to be tiled or packed below a byte is copied back.
    """
    name, specs = operation.name, [item for item in key if isinstance(item, TensorSpec)]
    if not tiled.is_tiled(key):  # the result alone is
        strided: Any = replace(plan, result=tiled.packed(plan.result))  # type: ignore[type-var]
        made, stored = carried_out(strided), _copier(name, strided.result, plan.result)
        return lambda *operands: stored(made(*operands))
    run = again(operation, *tiled.untiled(key))
    copiers = [_copier(name, spec, tiled.packed(spec)) for spec in specs]
    if plan.given and not plan.reads_destination:
        several = plan.destinations
        copiers[:several] = map(_allocator, specs[:several])

    def copied(operands: tuple[Any, ...]) -> list[Any]:
        copies = iter(copiers)
        return [next(copies)(x) if isinstance(x, Tensor) else x for x in operands]

    if plan.given:
        backs = [_writer(name, spec) for spec in specs[: plan.destinations]]

        def write(*operands: Any) -> Any:
            given = copied(operands)
            run(*given)
            for back, x, found in zip(backs, operands, given, strict=False):
                back(x, found)
            return operands[0]

        return write
    if plan.keeps_form and not plan.result.layout.is_strided:
        found = operation.plan(*tiled.untiled(key)).result
        back = _copier(name, found, plan.result)
        return lambda *operands: back(run(*copied(operands)))
    return lambda *operands: run(*copied(operands))


def _copier(name: str, source: TensorSpec, result: TensorSpec) -> Run:
    """A copy of a tensor in another layout; the tensor itself where it fits."""
    if source is result:
        return lambda x: x
    return noting(Step(name, source, result), CopyPlan(source, result))


def _allocator(spec: TensorSpec) -> Run:
    """A packed tensor in place of one that has no strides, is written and not read."""
    strided = tiled.packed(spec)
    if strided is spec:
        return lambda x: x
    new = backend(spec.device).new_tensors(strided)
    return lambda x: new()


def _writer(name: str, destination: TensorSpec) -> Callable[..., Any]:
    """What writes the packed tensor of `_allocator` into the place of a destination."""
    strided = tiled.packed(destination)
    if strided is destination:
        return lambda x, found: None
    step, assign = Step(name, strided, destination), AssignPlan(name, strided, destination)
    return noting(step, assign)


def cache_info() -> Any:
    """Hits, misses, the size limit and the current size of the cache of plans."""
    return prepared.cache_info()


def cache_clear() -> None:
    """Forget all plans."""
    prepared.cache_clear()
    prepared_into.cache_clear()
