"""Plans of elementwise operations: promotion, broadcasting, layout of the result."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import (
    adapt_layout_to_dtype,
    broadcast_shape,
    check_same_device,
    dtype_category_error,
    vote_result_layout,
)
from tensorlayout.tensor import TensorSpec

Operand = TensorSpec | type  # a tensor, or the kind of a Python scalar


@plan_dataclass
class ElementwisePlan(Plan):
    """One value per index from the operands' values at that index."""

    kind = "elementwise"
    in_place = True

    operation: Elementwise
    operands: tuple[Operand, ...]
    inputs: tuple[DType, ...]  # dtypes to which the operands are converted
    result: TensorSpec
    destinations: int = 0

    @property
    def is_contiguous_loop(self) -> bool:
        return have_same_block_placement(self.result, self.operands)

    def check_destination_fits(self, destination: TensorSpec) -> None:
        result = self.result
        if result.dtype != destination.dtype and result.layout.shape == destination.layout.shape:
            rule = f"cannot cast the result from {result.dtype} to {destination.dtype} in place"
            raise TypeError(f"{rule}; assign a new tensor, or use astype() first")
        Plan.check_destination_fits(self, destination)


def have_same_block_placement(result: TensorSpec, operands: Iterable[Operand]) -> bool:
    """Return whether all tensors are one block in the result's order: one flat loop suffices.

    Scalars and tensors of rank 0 do not matter.
    """
    layout = result.layout
    # A common case: equal specs are one object, so nothing has to be compared in detail.
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


@plan_dataclass
class Elementwise:
    """One row of the table of elementwise functions.

    Attributes:
        dtypes: category of dtypes that operands must belong to, in the standard's words. Integers
            and bool are converted to float64 if it is a floating-point category.
        result: rule for the result's dtype, from the promoted one: ``same``, ``bool`` or ``real``.
        abstain: operands that take no part in promotion, and vote on the layout only if no other
            does (the condition of `where`).
        does: name of the operation in backends, if it differs from `name`.
        of_bools: the same for operands that are all bool; without it they are refused.

    """

    name: str
    dtypes: str
    result: str = "same"
    abstain: tuple[int, ...] = ()
    does: str = ""
    of_bools: str = ""

    @property
    def function_name(self) -> str:
        return self.does or self.name

    @property
    def converts_integers_to_float(self) -> bool:
        return "floating" in self.dtypes

    def accepts_dtype(self, dtype: DType) -> bool:
        """Return whether operands that promote to `dtype` need no conversion of kind."""
        return bool(dtypes.is_in_category(dtype, self.dtypes))

    def plan(self, *operands: Operand) -> ElementwisePlan:
        specs = [o for o in operands if isinstance(o, TensorSpec)]
        device = check_same_device(specs)
        promoted = self._promoted_dtype(operands)
        if self.of_bools and promoted == dtypes.bool:
            return Elementwise(self.name, "bool", does=self.of_bools).plan(*operands)
        shape = broadcast_shape([s.layout.shape for s in specs])
        result_dtype = dtypes.bool if self.result == "bool" else promoted
        if self.result == "real":
            result_dtype = dtypes.real_part_dtype(promoted)
        # Layouts of the operands that have the result's shape, by number. Smaller operands would be
        # repeated, so their layouts say nothing of the result's.
        full = {
            i: o.layout
            for i, o in enumerate(operands)
            if isinstance(o, TensorSpec) and o.layout.shape == shape
        }
        voters = [layout for i, layout in full.items() if i not in self.abstain]
        layout = adapt_layout_to_dtype(
            vote_result_layout(shape, voters or [*full.values()]), result_dtype
        )
        result = TensorSpec(result_dtype, layout, device)
        inputs = self._input_dtypes(operands, promoted)
        return ElementwisePlan(self, operands, inputs, result)

    def _promoted_dtype(self, operands: tuple[Operand, ...]) -> DType:
        taking_part = [o for i, o in enumerate(operands) if i not in self.abstain]
        dtypes_text = [o.dtype for o in taking_part if isinstance(o, TensorSpec)]
        if not dtypes_text:  # where(condition, 1, 2): scalars alone, by their default dtypes
            dtypes_text = [
                dtypes.default_scalar_dtype(o) for o in taking_part if isinstance(o, type)
            ]
        # The standard: a Python scalar takes the dtype of the tensors, so these come first.
        promoted = reduce(dtypes.promote_dtypes, dtypes_text)
        for o in taking_part:
            if isinstance(o, type):
                promoted = dtypes.promote_with_scalar(promoted, o)
        if not (self.accepts_dtype(promoted) or (self.of_bools and promoted == dtypes.bool)):
            if self.converts_integers_to_float and dtypes.is_in_category(
                promoted, "integer or boolean"
            ):
                return dtypes.float64
            message = ", ".join(
                o.__name__ if isinstance(o, type) else str(o.dtype) for o in taking_part
            )
            raise dtype_category_error(self.dtypes, promoted, message)
        return promoted

    def _input_dtypes(self, operands: tuple[Operand, ...], promoted: DType) -> tuple[DType, ...]:
        # int64 and uint64 promote to float64, where neighbouring integers may be equal: so they
        # are compared as integers.
        compares = self.result == "bool" and not self.converts_integers_to_float
        if compares and promoted == dtypes.float64:
            tensors = [o.dtype for o in operands if isinstance(o, TensorSpec)]
            integral = [d for d in tensors if dtypes.is_in_category(d, "integral")]
            if len(integral) == len(operands):
                return tuple(dtypes.int64 if d.kind == "i" else dtypes.uint64 for d in integral)
        if self.result == "bool" and dtypes.is_narrow_dtype(promoted):  # compared by their values
            promoted = dtypes.computing_dtype(promoted)
        if not self.abstain:
            return (promoted,) * len(operands)
        return tuple(
            o.dtype if i in self.abstain and isinstance(o, TensorSpec) else promoted
            for i, o in enumerate(operands)
        )


@plan_dataclass
class Scaling(Elementwise):
    """``x * scale + bias`` with Python floats, computed in at least float32, in the dtype of x."""

    def _input_dtypes(self, operands: tuple[Operand, ...], promoted: DType) -> tuple[DType, ...]:
        wide = dtypes.promote_dtypes(promoted, dtypes.float32)
        return (promoted, wide, wide)
