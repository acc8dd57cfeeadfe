"""SCATTER, SCATTER_ND and MAX_UNPOOLING: writes at positions that are data.

Of equal positions the last one in index order wins; SCATTER and SCATTER_ND refuse them with
``duplicates="error"``. Positions outside raise IndexError, and nothing is written there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from tensorlayout.directml.operator_desc import Expected, Given, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import delivered, seen_as, target
from tensorlayout.directml.rules import (
    check_away_from,
    check_axis,
    check_rank,
    check_same,
    check_sizes,
    check_type,
    expected,
    refuse,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.directml.tuples import Blocks, blocks, key_of, padded, positions_of
from tensorlayout.functions import calling
from tensorlayout.functions.creation import zeros
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import reshape
from tensorlayout.functions.searching import where
from tensorlayout.functions.sorting import sort
from tensorlayout.functions.utility import any as any_of
from tensorlayout.plan.scatter import CopyScatter, Scatter, ScatterAlong
from tensorlayout.tensor import Tensor

Duplicates = Literal["last", "error"]


@dataclass(frozen=True, kw_only=True)
class ScatterOperatorDesc(OperatorDesc):
    """DML_SCATTER_OPERATOR_DESC, also called DML_SCATTER_ELEMENTS_OPERATOR_DESC.

    `duplicates` is ours: what becomes of equal positions.
    """

    operator: ClassVar[str] = "SCATTER"
    input: TensorDesc
    indices: TensorDesc
    updates: TensorDesc
    output: TensorDesc | None = None
    axis: int
    duplicates: Duplicates = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_duplicates(self.operator, self.duplicates)

    def _rule(self) -> tuple[Expected, ...]:
        name = self.operator
        check_axis(name, self.axis, self.input.rank)
        check_away_from(name, "IndicesTensor", self.indices, self.input.sizes, self.axis)
        check_type(name, "UpdatesTensor", self.updates, self.input.data_type)
        check_rank(name, "UpdatesTensor", self.updates, self.input.rank)
        check_sizes(name, "UpdatesTensor", self.updates, self.indices.sizes)
        return (expected(self.input),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        x, indices, updates = inputs
        if self.duplicates == "error":
            _refuse_equal(self.operator, _from_front(indices, x.shape[self.axis]), self.axis)
        result = target(outs[0], self.output, x)
        with positions_of(self.operator):
            key = (x._spec, result._spec, updates._spec, self.axis, indices._spec)
            calling.call(_SCATTER, key, (result, x, updates, indices))
        return (result,)


@dataclass(frozen=True, kw_only=True)
class ScatterNDOperatorDesc(OperatorDesc):
    """DML_SCATTER_ND_OPERATOR_DESC. `duplicates` is ours: what becomes of equal tuples."""

    operator: ClassVar[str] = "SCATTER_ND"
    input: TensorDesc
    indices: TensorDesc
    updates: TensorDesc
    output: TensorDesc | None = None
    input_dimension_count: int
    indices_dimension_count: int
    duplicates: Duplicates = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_duplicates(self.operator, self.duplicates)

    def _rule(self) -> tuple[Expected, ...]:
        sizes = padded(self._blocks().spread, self.input.rank)
        check_type(self.operator, "UpdatesTensor", self.updates, self.input.data_type)
        check_rank(self.operator, "UpdatesTensor", self.updates, self.input.rank)
        check_sizes(self.operator, "UpdatesTensor", self.updates, sizes)
        return (expected(self.input),)

    def _blocks(self) -> Blocks:
        counts = self.input_dimension_count, self.indices_dimension_count
        return blocks(self.operator, self.input, self.indices, counts)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        x, indices, updates = inputs
        found = self._blocks()
        key = key_of(indices, found)
        if self.duplicates == "error":
            numbers = reshape(_numbered(key, found.source), (-1,))
            _refuse_equal(self.operator, numbers, 0, found.source[: len(key)])
        result = target(outs[0], self.output, x)
        source, into = seen_as(x, found.source), seen_as(result, found.source)
        values = seen_as(updates, found.spread)
        with positions_of(self.operator):
            specs = (source._spec, into._spec, values._spec, tuple(range(len(key))), False)
            plan_key = (*specs, *(p._spec for p in key))
            calling.call(_SCATTER_ND, plan_key, (into, source, values, *key))
        return (result,)


@dataclass(frozen=True, kw_only=True)
class MaxUnpoolingOperatorDesc(OperatorDesc):
    """DML_MAX_UNPOOLING_OPERATOR_DESC."""

    operator: ClassVar[str] = "MAX_UNPOOLING"
    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc

    def _rule(self) -> tuple[Expected, ...]:
        check_sizes(self.operator, "IndicesTensor", self.indices, self.input.sizes)
        return (expected(self.input, self.output.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        x, indices = inputs
        flat = zeros(math.prod(self.output.sizes), dtype=x.dtype, device=x.device)
        with positions_of(self.operator):
            flat[reshape(indices, (-1,))] = reshape(x, (-1,))
        return (delivered(reshape(flat, self.output.sizes), outs[0]),)


_SCATTER = CopyScatter(ScatterAlong("SCATTER"))
_SCATTER_ND = CopyScatter(Scatter("SCATTER_ND"))


def _check_duplicates(name: str, given: Any) -> None:
    if not isinstance(given, str) or given not in get_args(Duplicates):
        refuse(name, f"duplicates must be 'last' or 'error', got {calling.shown(given)}")


def _from_front(indices: Tensor, size: int) -> Tensor:
    """Positions inside, counted from the front."""
    if indices.dtype.kind == "u":
        return astype(indices, "uint64")
    whole = astype(indices, "int64")
    return where(whole < 0, whole + size, whole)


def _numbered(key: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """The number of each tuple's block in row-major order."""
    number = _from_front(key[0], sizes[0])
    for coordinate, size in zip(key[1:], sizes[1:], strict=False):
        number = number * size + _from_front(coordinate, size)
    return number


def _refuse_equal(name: str, positions: Tensor, axis: int, sizes: Sequence[int] = ()) -> None:
    """`sizes`: what `positions` number the tuples of, for the error."""
    ordered = sort(positions, axis=axis)
    before = (slice(None),) * axis
    later = ordered[(*before, slice(1, None))]
    equal = later == ordered[(*before, slice(0, -1))]
    if bool(any_of(equal)):
        first = int(later[equal][0])
        came = _coordinates(first, sizes) if sizes else first
        rule = "positions must differ with duplicates='error'"
        refuse(name, f"IndicesTensor: {rule}, got {came} again")


def _coordinates(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """The tuple that has a number in row-major order."""
    found = []
    for size in reversed(sizes):
        number, coordinate = divmod(number, size)
        found.append(coordinate)
    return tuple(reversed(found))


@remembered
def scatter(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: int,
    *,
    duplicates: Duplicates = "last",
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """A copy of `x` with `updates` written at `indices`, on their line along `axis`: SCATTER.

    `indices`, `updates`: of the sizes of `x`, but for `axis`, where they are free. Of equal
    positions the last one in index order wins; ``duplicates="error"`` raises ValueError for them,
    since DirectML calls them invalid. IndexError for a position outside; `out` may have been
    written to by then. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.scatter(tl.zeros(4), tl.asarray([2, 0]), tl.asarray([7.0, 8.0]), 0)
    Tensor([8., 0., 7., 0.], dtype=float64, device='cpu')
    """
    desc = ScatterOperatorDesc(
        input=desc_of("SCATTER", "InputTensor", x),
        indices=desc_of("SCATTER", "IndicesTensor", indices),
        updates=desc_of("SCATTER", "UpdatesTensor", updates),
        output=desc_of_out("SCATTER", out),
        axis=axis,
        duplicates=duplicates,
    )
    found: Tensor = call(desc, (x, indices, updates), out, feature_level)
    return found


scatter_elements = scatter
ScatterElementsOperatorDesc = ScatterOperatorDesc


@remembered
def scatter_nd(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    input_dimension_count: int,
    indices_dimension_count: int,
    *,
    duplicates: Duplicates = "last",
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """A copy of `x` with blocks of `updates` written at coordinate tuples: SCATTER_ND.

    As `gather_nd` reads: the last dimension of `indices` holds the tuples, `updates` has the sizes
    of its result. `duplicates` and errors as for `scatter`.
    """
    desc = ScatterNDOperatorDesc(
        input=desc_of("SCATTER_ND", "InputTensor", x),
        indices=desc_of("SCATTER_ND", "IndicesTensor", indices),
        updates=desc_of("SCATTER_ND", "UpdatesTensor", updates),
        output=desc_of_out("SCATTER_ND", out),
        input_dimension_count=input_dimension_count,
        indices_dimension_count=indices_dimension_count,
        duplicates=duplicates,
    )
    found: Tensor = call(desc, (x, indices, updates), out, feature_level)
    return found


@remembered
def max_unpooling(
    x: Tensor,
    indices: Tensor,
    output_sizes: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Zeros of `output_sizes` with the elements of `x` written at `indices`: MAX_UNPOOLING.

    `indices`: unsigned, of the sizes of `x`; they number the elements of the output in row-major
    order. Of equal ones the last wins; IndexError for one outside. Result: row-major, or `out`.
    """
    source = desc_of("MAX_UNPOOLING", "InputTensor", x)
    whole = asked("MAX_UNPOOLING: OutputTensor", source.data_type, output_sizes)
    output = desc_of_out("MAX_UNPOOLING", out) or whole
    check_same("MAX_UNPOOLING", "OutputTensor", output, whole)
    desc = MaxUnpoolingOperatorDesc(
        input=source,
        indices=desc_of("MAX_UNPOOLING", "IndicesTensor", indices),
        output=output,
    )
    found: Tensor = call(desc, (x, indices), out, feature_level)
    return found
