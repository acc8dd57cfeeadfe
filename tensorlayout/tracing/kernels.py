"""Kernels of CUDA, as tables show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorlayout.cuda.engine.counting import Counts
    from tensorlayout.cuda.engine.driver import Kernel


def by_name(kernels: Mapping[Kernel, Counts]) -> dict[Kernel, Counts]:
    """Kernels of one name and operation counted together, whatever their types and shapes."""
    found: dict[tuple[str, str], tuple[Kernel, Counts]] = {}
    for kernel, counts in kernels.items():
        key = kernel.name, kernel.operation
        first, before = found.get(key, (kernel, None))
        found[key] = first, counts if before is None else before + counts
    return dict(found.values())


def named(kernel: Kernel, counts: Counts) -> str:
    """The name, its operation, and how often it was launched, if not once."""
    times = f" x{counts.launches}" if counts.launches > 1 else ""
    return f"{kernel.name} {kernel.operation}".rstrip() + times


def cost(counts: Counts) -> str:
    """The time on a GPU; on the simulator how few sectors would have done."""
    if counts.seconds:
        return f"{counts.seconds * 1e6:.1f} us"
    found = []
    if counts.loads.accesses:
        found.append(f"read {counts.sector_efficiency_read:.2f}")
    if counts.stores.accesses:
        found.append(f"written {counts.sector_efficiency_write:.2f}")
    return f"sectors: {', '.join(found)}" if found else ""


def lines(kernels: Mapping[Kernel, Counts]) -> list[str]:
    """A line for each, to stand below what launched them."""
    return [
        f"{f'  {named(kernel, counts)}':<44}{cost(counts)}".rstrip()
        for kernel, counts in by_name(kernels).items()
    ]
