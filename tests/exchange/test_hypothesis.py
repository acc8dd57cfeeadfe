"""hypothesis.extra.array_api accepts this namespace, and draws tensors."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import tensorlayout as tl

pytestmark = pytest.mark.cpu

xps = make_strategies_namespace(tl, api_version="2024.12")
DTYPES = st.one_of(xps.scalar_dtypes(), xps.complex_dtypes())


def test_it_takes_the_namespace_for_a_whole_one():
    """It warns of names and dtypes that it misses."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_strategies_namespace(tl).name == "tensorlayout"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_arrays(data):
    dtype, shape = data.draw(DTYPES), data.draw(xps.array_shapes(min_dims=0, min_side=0))
    x = data.draw(xps.arrays(dtype, shape))
    assert isinstance(x, tl.Tensor)
    assert (x.dtype, x.shape) == (dtype, shape)
