"""Filling a layout with one value: which kernel, decided once. Integers only.

The value is data: a plan serves every value of its size. That of the padding is part of the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from typing import Any

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import (
    SECTOR,
    WIDEST,
    Launch,
    Launches,
    blocks_for,
    check_aligned,
    writer,
)
from tensorlayout.cuda.engine.padding import Beside, bits_of, padding_regions, padding_struct
from tensorlayout.cuda.engine.scalars import pattern
from tensorlayout.cuda.engine.structs import fits_a_walk, pack_walk, walk_struct
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.layout.digits import TiledLoop, tiled_loop, without_tails, written_sizes
from tensorlayout.layout.loop import Axis, Loop, index_type
from tensorlayout.plan.base import Write
from tensorlayout.tensor import TensorSpec
from tensorlayout.words import cut

FILE, BOUNDED_FILE = "fill/fill.cu", "copy/tiled.cu"


def plan_fill(
    layout: Layout, itemsize: int, alignment: int = SECTOR, padding: bytes | None = None
) -> Launches:
    """How to write one value to all elements, and `padding` to the padding that the layout owns.

    `layout` has its lowest slot at 0 and no two elements in one slot; `alignment` is a power of two
    that divides the address of that slot. `padding` is the content of one element, None to leave it
    alone, unless the layout says that it may hold anything. The cases, in the order of their cost:

    1. ``empty``: no element, nor padding to write.
    2. ``padding``: no element.
    3. ``flat``: one run of slots.
    4. ``strided``: any strides.
    5. ``bounded``: tiled, with tails.
    6. ``pieces``: the same, with more of them than a launch can take.
    """
    if layout.is_tiled:
        return _tiled(layout, itemsize, alignment, padding)
    if layout.size == 0:
        return plan_padding(layout, itemsize, alignment, padding)
    beside, apart = padding_beside(layout, itemsize, alignment, padding)
    found = _of_loop(Loop.over((layout,), (itemsize,), (alignment,)), itemsize, beside)
    return replace(found, launches=found.launches + apart)


def _of_loop(loop: Loop, itemsize: int, beside: Beside) -> Launches:
    loop = loop.fitted(WIDEST)
    if loop.contiguous and len(loop.axes) == 1:
        return Launches((_flat(loop, beside),), "flat")
    return Launches(_in_parts(loop, itemsize, beside), "strided")


def _tiled(layout: Layout, itemsize: int, alignment: int, padding: bytes | None) -> Launches:
    anything = layout.covers_block and layout.padding_value is PaddingValue.UNSPECIFIED
    if anything and padding is None and layout.size:
        return plan_fill(Layout((layout.required_size,)), itemsize, alignment)
    if layout.size == 0 and padding is None:
        return Launches((), "empty")
    loop = tiled_loop((layout,), (itemsize,), (alignment,), written_sizes(layout, padding))
    if loop is not None and loop.count == 0:
        return Launches((), "empty")
    if loop is not None and not loop.bounds:
        return _of_loop(loop, itemsize, (None, b""))
    if loop is not None and fits_a_walk(loop):
        return Launches((_bounded(loop, padding or b"", elements=True),), "bounded")
    launches: list[Launch] = []
    if padding is not None:  # all of the block first, and then the elements
        block = plan_fill(Layout((layout.required_size,)), itemsize, alignment)
        launches += filled_with(block, padding).launches
    for (piece,) in without_tails((layout,)):
        shift = piece.lowest * itemsize
        part = plan_fill(piece.at_origin, itemsize, gcd(alignment, shift, SECTOR))
        launches += [each.placed((0,), shift) for each in part.launches]
    return Launches(tuple(launches), "pieces")


def filled_with(fill: Launches, value: bytes) -> Launches:
    """A fill whose value is known, and no scalar of a call."""
    return replace(fill, launches=tuple([e.without_scalars(pattern(value)) for e in fill.launches]))


def padding_beside(
    layout: Layout,
    itemsize: int,
    alignment: int,
    padding: bytes | None,
    loop: TiledLoop | None = None,
) -> tuple[Beside, tuple[Launch, ...]]:
    """What a launch writes beside the elements of a layout, or else launches of their own.

    The content of padding, and where: None for nowhere, or for tails of tiles. `loop`: over digits.
    """
    regions = padding_regions(layout) if padding is not None and not layout.is_tiled else None
    # Kernels count regions from where digits begin, which may be below a flipped layout.
    here = alignment >= itemsize and (loop is None or not loop.firsts[0])
    if regions is None or (regions.fit_a_launch and here):
        return (regions, padding or b""), ()
    return (None, b""), plan_padding(layout, itemsize, alignment, padding).launches


def plan_padding(layout: Layout, itemsize: int, alignment: int, padding: bytes | None) -> Launches:
    """How to write `padding` to the padding that a layout owns: in one launch, if that holds it.

    Else in one for each of its regions. The rest is as in `plan_fill`; NotImplementedError for
    tiles with tails in more dimensions than a launch can take.
    """
    if padding is None:
        return Launches((), "empty")
    if layout.is_tiled:
        return filled_with(_tiled_padding(layout, itemsize, alignment, padding), padding)
    regions = padding_regions(layout)
    if not regions.regions:
        return Launches((), "empty")
    if regions.fit_a_launch and alignment >= itemsize:
        nothing = Loop((Axis(1, (1,)),), (itemsize,), (0,), (alignment,))
        return filled_with(
            Launches((_strided(nothing, 0, (regions, padding)),), "padding"), padding
        )
    launches: list[Launch] = []
    for region in regions.regions:
        dims, shift = (*regions.dims[: region.depth], (region.run, 1)), region.start * itemsize
        box = Layout([size for size, _ in dims], [stride for _, stride in dims])
        fill = filled_with(plan_fill(box, itemsize, gcd(alignment, shift, SECTOR)), padding)
        launches += [each.placed((0,), shift) for each in fill.launches]
    return Launches(tuple(launches), "padding")


def _tiled_padding(layout: Layout, itemsize: int, alignment: int, padding: bytes) -> Launches:
    loop = tiled_loop((layout,), (itemsize,), (alignment,), written_sizes(layout, padding))
    if loop is not None and not loop.bounds:
        return Launches((), "empty")
    if loop is None or not fits_a_walk(loop):
        msg = f"padding: layout {cut(layout)} has tails in more dimensions than a kernel takes"
        raise NotImplementedError(msg)
    return Launches((_bounded(loop, padding, elements=False),), "padding")


def _in_parts(loop: Loop, itemsize: int, padding: Beside) -> tuple[Launch, ...]:
    """One launch; or one for each part of an element that memory is not aligned for."""
    last = loop.axes[-1]
    if loop.width >= itemsize:
        return (_strided(loop, loop.count, padding),)
    # The parts of an element stand side by side, alone or in a run of elements.
    parts = itemsize // loop.width
    axes = (*loop.axes[:-1], Axis(last.size // parts, (parts,)))
    launches = []
    for k in range(parts):
        first = (loop.firsts[0] + k * loop.width,)
        one = Loop(axes, loop.widths, first, loop.alignments)
        part = (k * loop.width, (k + 1) * loop.width)
        launches.append(replace(_strided(one, one.count, (None, b"")), takes=part))
    return tuple(launches)


def _flat(loop: Loop, padding: Beside) -> Launch:
    nbytes = loop.count * loop.width
    blocks = max(1, blocks_for(nbytes // WIDEST))
    padded, more = padding_struct(padding, blocks, loop.alignments[0])
    chosen = kernel(FILE, "fill_flat")
    made = parameters(chosen)(padding=padded, bytes=nbytes)
    return Launch(chosen, blocks + more, bytes(made), loop.firsts)


def _strided(loop: Loop, count: int, padding: Beside) -> Launch:
    index = index_type(count, loop.furthest)
    blocks = blocks_for(count)
    padded, more = padding_struct(padding, blocks, loop.alignments[0])
    chosen = kernel(FILE, "fill_strided", RANK=len(loop.axes), INDEX=index, WIDTH=loop.width)
    made = parameters(chosen)(padding=padded, count=count)
    pack_walk(made.walk, loop.sizes, loop.strides)
    return Launch(chosen, blocks + more, bytes(made), loop.firsts)


def _bounded(loop: TiledLoop, padding: bytes, *, elements: bool) -> Launch:
    """Elements, if they are to be written, and padding, if the digits reach into it."""
    check_aligned("fill", loop.widths, loop.alignments)
    pack = loop.pack(WIDEST)
    count = loop.count // pack
    chosen = kernel(BOUNDED_FILE, "fill_bounded", INDEX=loop.index, FILL=loop.width * pack)
    made = parameters(chosen)(count=count, elements=elements)
    made.padding[:] = bits_of(padding)
    made.walk = walk_struct(loop, (0,), pack)
    return Launch(chosen, blocks_for(count), bytes(made), loop.firsts)


# ---- Writes


def write_fill(
    spec: TensorSpec,
    octets: Callable[[Any], bytes] | None,
    padding: bytes | None = None,
    plan_for: Callable[..., Launches] = plan_fill,
) -> Write:
    """The function of a tensor and a value for all its elements.

    `octets`: what makes the value one element; None: there is no value. `padding`, `plan_for`: as
    in `plan_fill`, and what plans the same way.
    """

    def planned(alignments: tuple[int, ...]) -> Launches:
        return plan_for(spec.layout, spec.dtype.itemsize, alignments[0], padding)

    content = None if octets is None else lambda value: pattern(octets(value))
    return writer(spec.device.number, planned, 1, content)
