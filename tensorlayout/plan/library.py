"""Plans of calls of a numerical library on whole tensors: linear algebra, transforms, sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import check_byte_range, check_category, check_same_device
from tensorlayout.tensor import TensorSpec

Shape = tuple[int, ...]

# The shape and dtype of each result.
Results = Sequence[tuple[Shape, DType]]

# ``rule(shapes, dtype, **options)``: results for operands of these shapes that promote to `dtype`.
# Raises ValueError for shapes that do not match.
Rule = Callable[..., Results]


@plan_dataclass
class LibraryPlan(Plan):
    """A library call on operands in their own layouts, converted to one dtype.

    Results are row-major.
    """

    kind = "library"
    result_kind = "own"

    operation: Library
    operands: tuple[TensorSpec, ...]
    dtype: DType  # dtype to which operands are converted
    results: tuple[TensorSpec, ...] | None  # None if shapes depend on data
    result: TensorSpec  # the first result; the first operand if shapes depend on data
    options: tuple[tuple[str, Any], ...]


@plan_dataclass
class Library:
    """One row of a table of library calls, whose functions backends find by name.

    The key of a call is the number of operands, their specs, and the options.

    Attributes:
        rule: rule for the shapes and dtypes of results; None if shapes depend on data.
        rank: least rank of the first operand.
        finite: True if its elements must be finite: NumPy and CuPy treat others differently.
        error: exception for elements that are not finite; also the one by which a library reports
            that there is no result.
        failure: our message for the second case.

    """

    name: str
    dtypes: str
    rule: Rule | None = None
    rank: int = 0
    finite: bool = False
    error: type[Exception] | tuple[()] = ()
    failure: str = ""

    def call_library(
        self, xp: Any, function: Callable[..., Any], /, *arrays: Any, **options: Any
    ) -> Any:
        """Call a NumPy or CuPy function; raise `error` with our own message if it fails."""
        refused = self.finite and not xp.isfinite(arrays[0]).all()
        if not refused:
            try:
                return function(*arrays, **options)
            except self.error:
                pass
        assert self.error
        raise self.error("elements must be finite" if refused else self.failure)

    def plan(self, count: int, *key: Any) -> LibraryPlan:
        specs: tuple[TensorSpec, ...] = key[:count]
        options = key[count:]
        device = check_same_device(specs)
        input_dtypes = [spec.dtype for spec in specs]
        dtype = reduce(dtypes.promote_dtypes, input_dtypes)
        check_category(self.dtypes, dtype, *input_dtypes)
        shapes = [spec.layout.shape for spec in specs]
        if len(shapes[0]) < self.rank:
            raise ValueError(f"needs a rank of at least {self.rank}, got shape {shapes[0]}")
        if self.rule is None:
            return LibraryPlan(self, specs, dtype, None, specs[0], options)
        results = tuple(
            check_byte_range(TensorSpec(kind, Layout.row_major(shape), device))
            for shape, kind in self.rule(shapes, dtype, **dict(options))
        )
        return LibraryPlan(self, specs, dtype, results, results[0], options)


def complex_dtype_for(dtype: DType) -> DType:
    """Return the complex dtype of a float's precision; complex64 for 16 bits too."""
    if dtype.kind == "c":
        return dtype
    return dtypes.complex128 if dtype == dtypes.float64 else dtypes.complex64


def compute_dtype(dtype: DType) -> DType:
    """Return the dtype in which a library computes: float32 for 16-bit floats."""
    # NumPy's kind of bfloat16 is V, because another package defines it.
    return dtypes.float32 if dtype.itemsize == 2 and dtype.kind in "fV" else dtype
