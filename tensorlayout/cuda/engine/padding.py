"""Where the padding of a layout is, and the struct by which a kernel writes it."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Any

from tensorlayout.cuda.engine.scalars import pattern
from tensorlayout.cuda.engine.structs import constant, divisor32, struct
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged

REGIONS = constant("include/padding.cuh", "PADDING_REGIONS")
# Elements that a block writes.
BLOCK = constant("include/padding.cuh", "PADDING_PER_THREAD * THREADS")
_FEWER_THAN = 2**31 - 2**12

# All blocks do the kernel's own work.
_NEVER = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Region:
    """Padding behind one dimension: for each index of the dimensions before it, a run of slots."""

    start: int
    run: int
    depth: int


@dataclass(frozen=True, slots=True)
class Regions:
    """All slots of padding, each once; `dims` are (size, stride), slowest first."""

    dims: tuple[tuple[int, int], ...]
    regions: tuple[Region, ...]

    def rows(self, region: Region) -> int:
        """How many runs a region has."""
        return prod([size for size, _ in self.dims[: region.depth]])

    @property
    def fit_a_launch(self) -> bool:
        """Whether the struct can hold them."""
        sizes = [n for r in self.regions for n in (r.run, self.rows(r))]
        depth = max([region.depth for region in self.regions], default=0)
        return len(self.regions) <= REGIONS >= depth and max(sizes, default=0) < _FEWER_THAN


# Padding that a launch writes beside its elements: where, and the content of one element.
Beside = tuple[Regions | None, bytes]


def padding_regions(layout: Layout) -> Regions:
    """The padding that a layout owns; its lowest slot is 0, and slots run upwards.

    Dimensions in the order of memory make a packed block of padded sizes. Behind the elements of a
    dimension, all that follows in the block up to the next index of the dimension before is a run.
    """
    axes: list[Axis] = []
    regions: list[Region] = []
    for d in reversed(layout.minor_to_major if layout.is_padded else ()):
        size, padded, stride = layout.shape[d], layout.padded_shape[d], abs(layout.strides[d])
        if padded > size:
            regions.append(Region(size * stride, (padded - size) * stride, len(merged(axes))))
        axes.append(Axis(size, (stride,)))
    made = Regions(tuple([(n, stride) for n, (stride,), _ in merged(axes)]), tuple(regions))
    return Regions(made.dims, tuple(r for r in regions if r.run and made.rows(r)))


def bits_of(value: bytes) -> tuple[int, int]:
    """The pattern of an element as two 64-bit numbers; of none: zeros."""
    repeated = pattern(value)
    return int.from_bytes(repeated[:8], "little"), int.from_bytes(repeated[8:], "little")


def padding_struct(beside: Beside, first_block: int, alignment: int) -> tuple[Any, int]:
    """The struct, and how many blocks follow `first_block`.

    `alignment`: the power of two that divides the address of the first slot. Elements are written
    as many at a time as it allows, and where runs begin and end.
    """
    found, value = beside
    made = struct("include/padding.cuh", "Padding")(first_block=_NEVER)
    if found is None or not found.regions:
        return made, 0
    found, width = _widened(found, len(value), alignment)
    made.first_block = first_block
    made.bits[:] = bits_of(value)
    made.itemsize = width
    depth = max([region.depth for region in found.regions])
    for k, (size, stride) in enumerate(found.dims[:depth]):
        made.stride[k] = stride
        made.size[k] = divisor32(size)
    end = first_block
    for k, region in enumerate(found.regions):
        count = region.run * found.rows(region)
        end += -(-count // BLOCK)
        made.start[k] = region.start
        made.count[k] = count
        made.run[k] = divisor32(region.run)
        made.depth[k] = region.depth
        made.end_block[k] = end
    return made, end - first_block


def _widened(found: Regions, itemsize: int, alignment: int) -> tuple[Regions, int]:
    """The regions counted in elements of as many bytes as all runs allow; and how many."""
    depth = max([region.depth for region in found.regions])
    places = [n for region in found.regions for n in (region.start, region.run)]
    places += [stride for _, stride in found.dims[:depth]]
    width = max(itemsize, gcd(16, alignment, *[n * itemsize for n in places]))
    times = width // itemsize
    dims = tuple((size, stride // times) for size, stride in found.dims)
    regions = tuple(Region(r.start // times, r.run // times, r.depth) for r in found.regions)
    return Regions(dims, regions), width
