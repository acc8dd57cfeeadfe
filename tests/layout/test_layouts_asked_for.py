"""`to_layout`, `from_storage` and ``layout=``: what is asked for is what one gets."""

import numpy as np
import pytest
from tensors import asarray, host, shared

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (tl.PaddingValue.LOWEST, tl.complex64),
        (tl.BitPattern(1, "float32"), tl.float64),
        (tl.BitPattern(256, "uint8"), tl.uint8),
    ],
    ids=str,
)
def test_padding_that_the_dtype_cannot_hold_is_refused(value, dtype):
    layout = tl.Layout.padded((1,), (3,), padding_value=value)
    for make in (tl.zeros, tl.empty):
        with pytest.raises(ValueError, match="has no meaning in"):
            make((1,), dtype=dtype, layout=layout)
    with pytest.raises(ValueError, match="has no meaning in"):
        tl.to_layout(tl.zeros((1,), dtype=dtype), layout)


def test_copy_only_where_asked_or_needed():
    x = asarray(ARRAY)
    assert tl.to_layout(x, "CHW") is x
    assert tl.to_layout(x, "CHW", copy=False) is x
    y = tl.to_layout(x, "CHW", copy=True)
    assert not shared(y, x)
    with pytest.raises(ValueError, match=r"to_layout: .* and copy=False"):
        tl.to_layout(x, "HWC", copy=False)


def test_the_same_placement_in_another_order_is_a_view():
    x = tl.zeros((1, 4))
    y = tl.to_layout(x, (0, 1), copy=False)
    assert y.layout.minor_to_major == (0, 1)
    y[0, 2] = 5
    assert float(x[0, 2]) == 5


@pytest.mark.cpu
def test_a_tensor_over_storage_shares_it():
    storage = bytearray(b"ABCxxDEFxx")
    x = tl.from_storage(storage, "(2,3):(5,1)", dtype=tl.uint8)
    assert bytes(host(x).ravel()) == b"ABCDEF"
    x[1, 1] = ord("!")
    assert storage == b"ABCxxD!Fxx"
    assert str(tl.from_storage(storage, "(2,2):(-5,1)+6", dtype=tl.int8).layout) == "(2,2):(-5,1)+6"


@pytest.mark.cpu
def test_storage_that_is_read_only_makes_read_only_tensors():
    x = tl.from_storage(b"abc", "(3,):(1,)", dtype=tl.uint8)
    assert x.readonly
    assert x[1:].readonly
    assert tl.flip(x).readonly
    assert not x.copy().readonly
