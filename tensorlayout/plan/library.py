"""Plans of calls to a numerical library on whole tensors: linear algebra, transforms, sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from tensorlayout import dtypes
from tensorlayout.plan.results import one_device
from tensorlayout.tensor import Spec


@dataclass(frozen=True, slots=True, eq=False)
class LibraryPlan:
    """Operands of one dtype handed over as they lie; results come back row-major."""

    operation: Library
    dtype: Any  # what the operands are converted to
    result: Spec  # of the first operand: what comes back depends on the library, or on data
    static: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """One line of a table of library calls; `numpy(*arrays, *static)` gives arrays back.

    `rank`: the least rank of the first operand.
    """

    name: str
    dtypes: str
    numpy: Any
    rank: int = 0

    def plan(self, count: int, *key: Any) -> LibraryPlan:
        """The plan of a call on `count` operands, whose specs open the key."""
        specs = key[:count]
        one_device(self.name, specs)
        dtype = reduce(dtypes.promote, [spec.dtype for spec in specs])
        if not dtypes.in_category(dtype, self.dtypes):
            came = ", ".join(str(spec.dtype) for spec in specs)
            msg = f"{self.name}: only {self.dtypes} dtypes are allowed, got {came}"
            raise TypeError(msg)
        if specs[0].layout.ndim < self.rank:
            msg = f"{self.name}: needs a rank of at least {self.rank}, got {specs[0].layout.shape}"
            raise ValueError(msg)
        return LibraryPlan(self, dtype, specs[0], key[count:])
