"""Searches: scalars, NaN, sorters, errors; `tests/ops` has layouts and dtypes."""

import numpy as np
import pytest
from tensors import DTYPES, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_where_with_scalars():
    c = tl.asarray([True, False])
    same(tl.where(c, tl.asarray([1, 2], dtype=tl.int8), 3), np.array([1, 3], np.int8))
    same(tl.where(c, 3, tl.asarray([1, 2], dtype=tl.float32)), np.array([3, 2], np.float32))
    same(tl.where(c, 1, 2), np.array([1, 2]))
    same(tl.where(c, True, False), np.array([True, False]))
    same(tl.where(c, 1, 2.5), np.array([1, 2.5]))
    same(tl.where(c, 1j, 2), np.array([1j, 2]))
    same(tl.where(c, np.float32(1), 2), np.array([1, 2], np.float32))
    same(tl.where(np.bool_(True), 1, tl.asarray([2.0])), np.array([1.0]))


def test_scalars_of_searchsorted():
    x = tl.asarray([1, 2, 3], dtype=tl.uint8)
    same(tl.searchsorted(x, 2), np.array(1))
    same(tl.searchsorted(x, 2.5), np.array(2))
    same(tl.searchsorted(x, np.float32(2), side="right"), np.array(2))
    same(tl.searchsorted(tl.asarray([1.0, 2.0]), 2), np.array(1))
    with pytest.raises(OverflowError, match="searchsorted: the Python integer 300 does not fit"):
        tl.searchsorted(x, 300)


def test_sorters_of_each_integer_dtype():
    x = tl.asarray([3.0, 1.0, 2.0])
    for dtype in DTYPES["integral"]:
        order = tl.asarray([1, 2, 0], dtype=dtype)
        same(tl.searchsorted(x, tl.asarray([2.5, 0.0]), sorter=order), np.array([2, 0]))


@pytest.mark.cpu  # on CUDA what is moved on the way has records too
def test_searches_are_one_record():
    x = tl.ones((3, 4)).T
    with tl.trace() as seen:
        tl.searchsorted(x[0, :], x)
        tl.searchsorted(x[0, :], x, sorter=tl.asarray([2, 1, 0]))
    kinds = [(record.name, record.kind) for record in seen if record.kind != "view"]
    assert [name for name, _ in kinds].count("searchsorted") == 2
    assert len(kinds) == 3  # the elements gathered by the sorter are seen
