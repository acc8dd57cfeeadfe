"""Values at the edges of operators' ranges, positions outside, and what a trace counts.

`tests/ops/directml_cases.py` tries each operator on random operands.
"""

import math

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import directml


def same(x, expected):
    np.testing.assert_array_equal(np.asarray(x), expected, strict=True)


def test_the_longest_step():
    same(directml.slice1(tl.arange(10), [0], [10], [2**31 - 1]), np.array([0]))


def test_gather_reads_the_nearest_position_for_one_outside():
    x = tl.asarray([10, 11, 12])
    same(directml.gather(x, tl.asarray([3, -4, 1, 2**62, -(2**62)]), 0, 1), [12, 10, 11, 12, 10])
    far = tl.asarray(np.array([2**64 - 1, 2**63, 0], np.uint64))
    same(directml.gather(x, far, 0, 1), [12, 12, 10])
    same(directml.gather(x, tl.asarray([7], dtype=tl.uint32), 0, 1), [12])


@pytest.mark.parametrize("bad", [3, -4, 2**40, -(2**40)])
def test_positions_outside(bad):
    x, at = tl.asarray([1, 2, 3]), tl.asarray([0, bad])
    untouched = tl.asarray([0, 1, 2, 3, 0])
    into = untouched[1:4]
    with pytest.raises(IndexError, match=rf"^GATHER_ELEMENTS: IndicesTensor: .*{bad}"):
        directml.gather_elements(x, at, 0)
    with pytest.raises(IndexError, match=rf"^SCATTER: IndicesTensor: .*{bad}"):
        directml.scatter(x, at, at, 0, out=into)
    matrix, tuples = tl.asarray([[1, 2, 3]]), tl.asarray([[0], [bad]])
    with pytest.raises(IndexError, match=rf"^GATHER_ND: IndicesTensor: .*{bad}"):
        directml.gather_nd(matrix, tuples, 1, 2)
    with pytest.raises(IndexError, match=rf"^SCATTER_ND: IndicesTensor: .*{bad}"):
        directml.scatter_nd(matrix, tuples, tl.asarray([[5, 6]]), 1, 2)
    same(untouched, np.array([0, 1, 2, 3, 0]))


@pytest.mark.parametrize(
    ("shape", "indices", "bad"),
    [
        ((2, 2), [[0, 3], [1, 1]], 3),  # the number in row-major order is that of another place
        ((4, 5), [[1, 7], [1, 7]], 7),
        ((4, 5), [[2], [9], [9]], 9),
        ((1, 5), [[0], [-2], [-2]], -2),
    ],
)
def test_positions_outside_do_not_count_as_equal(shape, indices, bad):
    x = tl.zeros(shape)
    updates = tl.ones((len(indices), *shape[len(indices[0]) :]))
    updates = updates[None] if updates.ndim == 1 else updates
    with pytest.raises(
        IndexError, match=rf"^SCATTER_ND: IndicesTensor: index {bad} is out of bounds"
    ):
        directml.scatter_nd(x, tl.asarray(indices), updates, 2, 2, duplicates="error")
    line, at = tl.zeros(4, dtype=tl.int64), tl.asarray([9, 9])
    with pytest.raises(IndexError, match=r"^SCATTER: IndicesTensor: index 9"):
        directml.scatter(line, at, at, 0, duplicates="error")


def test_values_of_padding():
    x = tl.asarray([1], dtype=tl.int64)
    same(directml.padding(x, [0], [1], value=10.6), np.array([1, 10]))
    same(directml.padding(x, [0], [1], value=-10.6), np.array([1, -10]))
    same(directml.padding(x, [0], [1], value=2**24 + 1), np.array([1, 2**24]))
    same(directml.padding1(x, [0], [1], value=2**53 + 1), np.array([1, 2**53 + 1]))
    half = tl.asarray([1.0], dtype=tl.float16)
    same(directml.padding(half, [0], [1], value=0.1), np.array([1, 0.1], np.float16))
    infinite = directml.padding1(half, [0], [1], value=-math.inf)
    same(infinite, np.array([1, -math.inf], np.float16))


def test_columns_may_have_the_rank_of_the_image():
    image = tl.reshape(tl.arange(6), (1, 1, 2, 3))
    window = [1, 2], [1, 1], [1, 1], [0, 0], [0, 0]
    out = tl.zeros((1, 1, 2, 4), dtype=tl.int64)
    directml.unfold(image, *window, out=out)
    same(out, np.array([[[[0, 1, 3, 4], [1, 2, 4, 5]]]]))
    same(directml.fold(out, (1, 1, 2, 3), *window), np.array([[[[0, 2, 2], [3, 8, 5]]]]))


@pytest.mark.parametrize(
    ("operator", "call", "read", "written"),
    [
        ("PADDING", lambda x: directml.padding(x, [0, 1, 1], [0, 1, 1], "EDGE"), 96, 192),
        ("UPSAMPLE_2D", lambda x: directml.upsample_2d(x[None], (2, 3), "LINEAR"), 96, 576),
        (
            "SLICE_GRAD",
            lambda x: directml.slice_grad(x, (1, 5, 8), *[(0, 0, 0), (1, 4, 6)], (1,) * 3),
            96,
            160,
        ),
        ("FILL_VALUE_SEQUENCE", lambda _: directml.fill_value_sequence((6,), 0, 1, "INT16"), 0, 12),
        ("TOP_K", lambda x: directml.top_k(x, 2, 3), 96, 96),
    ],
)
def test_a_trace_counts_what_is_read_and_what_is_written(operator, call, read, written):
    x = tl.ones((1, 4, 6), dtype=tl.float32)
    with tl.trace() as seen:
        call(x)
    records = [r for r in seen if r.name == operator and r.kind != "view"]
    assert sum(r.bytes_read for r in records) == read
    assert sum(r.bytes_written for r in records) == written
