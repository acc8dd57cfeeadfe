"""The boxes that a rule chooses for copies, compared with sixty others that fit."""

from itertools import product
from math import prod

import numpy as np
import pytest

from tensorlayout.cuda.engine.shared_tiles import ROOMS, TileProblem
from tensorlayout.cuda.engine.shared_tiles.choice import choose_tile, choose_tile_of_copy
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop

row_major, column_major = Layout.row_major, Layout.column_major


def nhwc(shape):
    return Layout.labelled(shape, "NHWC")


LAYOUTS = [
    # whole sectors in both memories, in one, in none
    (row_major((256, 384)), column_major((256, 384))),
    (row_major((384, 131)), column_major((384, 131))),
    (row_major((131, 384)), column_major((131, 384))),
    (row_major((237, 315)), column_major((237, 315))),
    # flipped
    (row_major((237, 256)), column_major((237, 256)).flip((0,))),
    # few channels, and many
    (nhwc((2, 3, 64, 80)), row_major((2, 3, 64, 80))),
    (row_major((2, 3, 61, 83)), nhwc((2, 3, 61, 83))),
    (nhwc((2, 40, 21, 32)), row_major((2, 40, 21, 32))),
    # rows of other pitches
    (row_major((97, 513)), Layout((97, 513), (1024, 1))),
    # short axes, of which no three make long runs
    (column_major((7, 5, 9, 6, 8)), row_major((7, 5, 9, 6, 8))),
    (column_major((2, 3, 61, 67)), row_major((2, 3, 61, 67))),
]


def loop_of(destination, source, width):
    arguments = (destination.at_origin, source.at_origin), (width,) * 2, (32, 32)
    return TiledLoop.over_layouts(*arguments)


def moved(loop, extents):
    """The bytes of the sectors that boxes touch in both memories, over those of the elements."""
    index = np.indices([axis.size for axis in loop.axes]).reshape(len(loop.axes), -1)
    counts = [-(-axis.size // n) for axis, n in zip(loop.axes, extents, strict=True)]
    box = np.ravel_multi_index(index // np.array(extents)[:, None], counts)
    result = 0
    for memory, width in enumerate(loop.widths):
        strides = np.array(loop.strides[memory])
        sectors = (loop.firsts[memory] + strides @ index * width) // 32
        result += len(np.unique(box * (1 << 32) + sectors)) * 32 / (box.size * width)
    return result


def all_boxes(loop):
    """The extents of boxes of all axes, of usual lengths, that fit the room of a block."""
    lengths = (1, 2, 3, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 256, 512, 1024)
    sizes = [axis.size for axis in loop.axes]
    for extents in product(*[sorted({min(n, size) for n in (*lengths, size)}) for size in sizes]):
        if ROOMS[0] // 4 <= prod(extents) * loop.width <= ROOMS[-1] - 3072:
            yield extents


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("destination", "source"), LAYOUTS)
def test_hardly_any_box_moves_fewer_sectors(destination, source, width):
    loop = loop_of(destination, source, width)
    box = choose_tile(TileProblem.from_loop(loop, (1,), (), max(1, 4 // width)))
    extents = [1] * len(loop.axes)
    for k, extent in zip(box.axes, box.extents, strict=True):
        extents[k] = extent
    boxes = list(all_boxes(loop))
    some = np.random.default_rng(width).permutation(len(boxes))[:60]
    best = min(moved(loop, boxes[k]) for k in some)
    assert moved(loop, extents) <= 1.1 * best


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("destination", "source"), LAYOUTS)
def test_each_element_of_a_box_has_a_place_of_its_own(destination, source, width):
    box = choose_tile_of_copy(loop_of(destination, source, width))
    (pitches,) = box.tile_strides.values()
    index = np.indices(box.extents).reshape(len(box.extents), -1)
    places = np.array(pitches) @ index
    assert len(np.unique(places)) == box.element_count
    assert places.max() < ROOMS[-1] // box.problem.tile_element_bytes(1)
