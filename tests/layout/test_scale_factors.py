"""Scale factors of block scaled matrix products, slot by slot as cuBLAS's documents put them.

"1D Block Scaling Factors Layout" has an offset inside of a tile, and that of a tile, whose rows are
counted in tiles there.
"""

import numpy as np
import pytest

from tensorlayout.layout import Layout, PaddingValue

SIZES = [
    *((1, 1), (1, 5), (31, 3), (32, 4), (33, 3), (127, 1), (128, 4), (128, 8), (129, 1)),
    *((130, 6), (256, 4), (300, 17), (384, 12)),
]


def slots(rows, columns):
    """The documented offset of each factor, in whole tiles, and how many slots those take."""
    inner = -(-columns // 4) * 4
    outer = -(-rows // 128) * 128
    places = np.empty((rows, columns), np.int64)
    for row in range(rows):
        for column in range(columns):
            tile = (column // 4 * 4 + row // 128 * inner) * 128
            within = row % 128
            places[row, column] = tile + (within % 32) * 16 + (within // 32) * 4 + column % 4
    return places, outer * inner


@pytest.mark.parametrize("size", SIZES)
def test_each_factor_is_where_the_documents_put_it(size):
    layout = Layout.scale_factors(*size)
    places, count = slots(*size)
    found = [[layout.offset_of((i, j)) for j in range(size[1])] for i in range(size[0])]
    np.testing.assert_array_equal(found, places)
    assert (layout.shape, layout.required_size, layout.offset) == (size, count, 0)
    assert layout.covers_block


def test_without_factors():
    for size in ((0, 4), (5, 0), (0, 0)):
        layout = Layout.scale_factors(*size)
        assert (layout.shape, layout.required_size) == (size, 0)


def test_huge():
    layout = Layout.scale_factors(2**40 + 1, 2**20)
    assert layout.offset_of((2**40, 2**20 - 1)) == 2**60 + (2**18 - 1) * 512 + 3
    assert layout.required_size == (2**40 + 128) * 2**20


def test_padding():
    assert Layout.scale_factors(130, 6).padding_value is PaddingValue.ZERO
    assert Layout.scale_factors(130, 6).padding_size == 256 * 8 - 130 * 6
    assert Layout.scale_factors(130, 6, "ONE").padding_value is PaddingValue.ONE
    assert Layout.scale_factors(128, 4).padding_size == 0
