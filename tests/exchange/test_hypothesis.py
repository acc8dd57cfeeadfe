"""hypothesis.extra.array_api on this namespace: what it draws are tensors, and NumPy is the oracle.

The fuzz draws by itself: there a number stands for a case, and layouts are drawn too.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace
from tensors import same

import tensorlayout as tl

pytestmark = pytest.mark.cpu

xps = make_strategies_namespace(tl, api_version="2024.12")
DTYPES = st.one_of(xps.scalar_dtypes(), xps.complex_dtypes())


def test_it_takes_the_namespace_for_a_whole_one():
    """It warns of names and dtypes that it misses."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_strategies_namespace(tl).name == "tensorlayout"


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_arrays(data):
    dtype, shape = data.draw(DTYPES), data.draw(xps.array_shapes(min_dims=0, min_side=0))
    x = data.draw(xps.arrays(dtype, shape))
    assert isinstance(x, tl.Tensor)
    assert (x.dtype, x.shape) == (dtype, shape)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_parts_of_arrays(data):
    shape = data.draw(xps.array_shapes(min_dims=0, min_side=0))
    x = data.draw(xps.arrays(xps.integer_dtypes(), shape))
    x = tl.asarray(x, layout=data.draw(st.permutations(range(x.ndim))), copy=True)
    index = data.draw(xps.indices(shape, allow_newaxis=True))
    same(x[index], np.asarray(np.asarray(x)[index]))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_sums_of_what_broadcasts(data):
    shapes = data.draw(xps.mutually_broadcastable_shapes(2)).input_shapes
    dtype = data.draw(xps.integer_dtypes())
    x, y = (data.draw(xps.arrays(dtype, shape)) for shape in shapes)
    with np.errstate(over="ignore"):
        same(x + y, np.asarray(np.asarray(x) + np.asarray(y)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_reductions_along_drawn_axes(data):
    shape = data.draw(xps.array_shapes(min_dims=1))
    x = data.draw(xps.arrays(xps.integer_dtypes(), shape))
    axis = data.draw(xps.valid_tuple_axes(len(shape)))
    same(tl.max(x, axis=axis), np.asarray(np.asarray(x).max(axis)))
