"""Plans of elementwise operations: promotion, broadcasting, the form of the result."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Plan, planned
from tensorlayout.plan.rules import (
    broadcast_shape,
    in_dtype,
    of_another_category,
    one_device,
    voted_layout,
)
from tensorlayout.tensor import TensorSpec

Operand = TensorSpec | type  # a tensor, or the kind of a Python scalar


@planned
class ElementwisePlan(Plan):
    """One value per index from the operands' values at that index."""

    kind = "elementwise"
    in_place = True

    operation: Elementwise
    operands: tuple[Operand, ...]
    inputs: tuple[DType, ...]  # what the operands are converted to
    result: TensorSpec
    destinations: int = 0

    @property
    def is_one_run(self) -> bool:
        return are_one_run(self.result, self.operands)

    def check_into(self, destination: TensorSpec) -> None:
        found, wanted = self.result, destination
        if found.dtype != wanted.dtype and found.layout.shape == wanted.layout.shape:
            raise TypeError(
                f"the result has dtype {found.dtype}, which an in-place operation"
                f" cannot put into {wanted.dtype}; use astype() first"
            )
        Plan.check_into(self, destination)


def are_one_run(result: TensorSpec, operands: Iterable[Operand]) -> bool:
    """Return whether tensors have the placement of the result, which is that of a whole block.

    Tensors of rank 0 take part as scalars do.
    """
    layout = result.layout
    if {*operands} == {result}:
        return layout.covers_block
    return layout.covers_block and all(
        isinstance(o, type)
        or not o.layout.shape
        or (
            o.layout.is_tiled == layout.is_tiled
            and o.layout.same_placement(layout)
            and o.layout.padded_shape == layout.padded_shape
        )
        for o in operands
    )


@planned
class Elementwise:
    """One line of the table of elementwise functions.

    `dtypes`, the category that operands must belong to, in the standard's words; `result`, how the
    result's dtype follows from the promoted one (``same``, ``bool``, ``real``); `abstain`, operands
    that vote on the layout only if no other does (the condition of `where`), which also stay out of
    promotion; `does`, what backends know the operation by, if not its name; `of_bools`, the same
    for operands that are all bool, which are refused without it.

    Where a floating-point category is asked for, integers and bool are taken as float64.
    """

    name: str
    dtypes: str
    result: str = "same"
    abstain: tuple[int, ...] = ()
    does: str = ""
    of_bools: str = ""

    @property
    def function(self) -> str:
        return self.does or self.name

    @property
    def takes_integers(self) -> bool:
        return "floating" in self.dtypes

    def takes(self, dtype: DType) -> bool:
        """Return whether operands that promote to `dtype` need no conversion of kind."""
        return bool(dtypes.in_category(dtype, self.dtypes))

    def plan(self, *operands: Operand) -> ElementwisePlan:
        specs = [o for o in operands if isinstance(o, TensorSpec)]
        device = one_device(specs)
        promoted = self._promoted(operands)
        if self.of_bools and promoted == dtypes.bool:
            return Elementwise(self.name, "bool", does=self.of_bools).plan(*operands)
        shape = broadcast_shape([s.layout.shape for s in specs])
        result_dtype = dtypes.bool if self.result == "bool" else promoted
        if self.result == "real":
            result_dtype = dtypes.real_of(promoted)
        full = {
            i: o.layout
            for i, o in enumerate(operands)
            if isinstance(o, TensorSpec) and o.layout.shape == shape
        }
        voters = [layout for i, layout in full.items() if i not in self.abstain]
        layout = in_dtype(voted_layout(shape, voters or [*full.values()]), result_dtype)
        result = TensorSpec(result_dtype, layout, device)
        inputs = self._input_dtypes(operands, promoted)
        return ElementwisePlan(self, operands, inputs, result)

    def _promoted(self, operands: tuple[Operand, ...]) -> DType:
        taking_part = [o for i, o in enumerate(operands) if i not in self.abstain]
        given = [o.dtype for o in taking_part if isinstance(o, TensorSpec)]
        if not given:  # where(condition, 1, 2): scalars alone, by their default dtypes
            given = [dtypes.default_of(o) for o in taking_part if isinstance(o, type)]
        promoted = reduce(dtypes.promote, given)
        for o in taking_part:
            if isinstance(o, type):
                promoted = dtypes.promote_scalar(promoted, o)
        if not (self.takes(promoted) or (self.of_bools and promoted == dtypes.bool)):
            if self.takes_integers and dtypes.in_category(promoted, "integer or boolean"):
                return dtypes.float64
            came = ", ".join(
                o.__name__ if isinstance(o, type) else str(o.dtype) for o in taking_part
            )
            raise of_another_category(self.dtypes, promoted, came)
        return promoted

    def _input_dtypes(self, operands: tuple[Operand, ...], promoted: DType) -> tuple[DType, ...]:
        # Signed integers and uint64 promote to float64, in which neighbours may be equal: they are
        # compared as integers.
        compares = self.result == "bool" and not self.takes_integers
        if compares and promoted == dtypes.float64:
            tensors = [o.dtype for o in operands if isinstance(o, TensorSpec)]
            integral = [d for d in tensors if dtypes.in_category(d, "integral")]
            if len(integral) == len(operands):
                return tuple(dtypes.int64 if d.kind == "i" else dtypes.uint64 for d in integral)
        if self.result == "bool" and dtypes.is_narrow(promoted):  # compared by their values
            promoted = dtypes.wider(promoted)
        if not self.abstain:
            return (promoted,) * len(operands)
        return tuple(
            o.dtype if i in self.abstain and isinstance(o, TensorSpec) else promoted
            for i, o in enumerate(operands)
        )


@planned
class Scaling(Elementwise):
    """``x * scale + bias`` with two Python floats, taken in float32 at least; rounded to `x`."""

    def _input_dtypes(self, operands: tuple[Operand, ...], promoted: DType) -> tuple[DType, ...]:
        wide = dtypes.promote(promoted, dtypes.float32)
        return (promoted, wide, wide)
