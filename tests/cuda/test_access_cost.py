"""The time that a kernel without tiles needs for its accesses, over that of the bytes requested."""

import pytest

from tensorlayout.cuda.engine.access_cost import access_cost
from tensorlayout.layout import Layout, Loop

SQUARE, IMAGES = (1024, 1024), (2, 3, 128, 128)
ROWS = Layout.row_major(SQUARE)
PIXELS = Layout.row_major((1024, 1024, 2))


def cost(destination, source, itemsize, memory):
    loop = Loop.over_layouts((destination, source), (itemsize, itemsize), (32, 32))
    return access_cost(loop, memory, written=memory == 0)


@pytest.mark.parametrize(
    ("destination", "source", "itemsize", "written", "read"),
    [
        # A block reads 1024 elements: a sector is shared by all warps that touch it.
        (ROWS, ROWS, 4, 1.0, 1.0),
        (ROWS, Layout(SQUARE, (1025, 1)), 4, 1.0, 129 / 128),
        (ROWS, Layout(SQUARE, (1025, 1)), 1, 1.0, 33 / 32),
        # Each element of a column is in a sector of its own.
        (ROWS, Layout(SQUARE, (1, 1024)), 4, 1.0, 8.0),
        (ROWS, Layout(SQUARE, (1, 1024)), 1, 1.0, 32.0),
        # A warp's store touches 32 sectors, whatever the next one does; each costs 20 bytes.
        (Layout(SQUARE, (1, 1024)), Layout(SQUARE, (1, 1024)), 4, 1.0, 1.0),
        (Layout((32, 32), (1, 32)), Layout.row_major((32, 32)), 4, 1.0, 15 * 32 / 128),
        # Pairs of 8 bytes: a quarter of a sector.
        (PIXELS, Layout(PIXELS.shape, (2, 2048, 1)), 4, 1.0, 4.0),
        # Three planes side by side: the cache looks up three lines or four for 32 bytes.
        (Layout.labelled(IMAGES, "NHWC"), Layout.row_major(IMAGES), 4, 1.0, 1.0),
    ],
)
def test_accesses_cost_what_blocks_fetch_and_warps_look_up(
    destination, source, itemsize, written, read
):
    assert cost(destination, source, itemsize, 0) == pytest.approx(written, abs=0.01)
    assert cost(destination, source, itemsize, 1) == pytest.approx(read, rel=0.05)
