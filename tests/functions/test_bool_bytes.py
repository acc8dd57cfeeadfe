"""Bool memory that holds more than 0 and 1, as foreign buffers may: every byte but 0 is True.

`tests/ops` draws such operands for all functions; here are results whose bytes are 0 and 1.
"""

import operator

import numpy as np
import pytest
from tensors import asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_results_hold_0_and_1():
    octets = np.random.default_rng(0).integers(0, 256, (2, 3000), dtype=np.uint8)
    octets[octets < 128] = 0
    x, y = (asarray(octet.view(np.bool_)) for octet in octets)
    a, b = octets != 0
    for view in (slice(None), slice(None, None, 2), slice(None, None, -1)):
        for name in ("eq", "ne", "and_", "or_", "xor"):
            function = getattr(operator, name)
            clean(function(x[view], y[view]), function(a[view], b[view]))
            clean(function(x[view], y[:1]), function(a[view], b[:1]))
            clean(function(x[view], True), function(a[view], True))
        for name in ("iand", "ior", "ixor"):
            change, written, expected = getattr(operator, name), x[view].copy(), a[view].copy()
            clean(change(written, y[view]), change(expected, b[view]))
        clean(~x[view], ~a[view])
        clean(tl.any(x[view], axis=0), np.any(a[view], axis=0))
        clean(tl.unique_values(x[view]), np.unique(a[view]))
        clean(tl.isin(x[view], y[:1]), np.isin(a[view], b[:1]))


def clean(x, expected):
    """Compare values, and expect bytes of 0 and 1 alone."""
    same(x, expected)
    assert host(x).view(np.uint8).max(initial=0) <= 1


def test_every_byte_is_one_true():
    """No more of a vector is read than there are places to write to."""
    for byte in range(1, 256):
        mask = asarray(np.full(9, byte, np.uint8).view(np.bool_))
        x = tl.zeros(9)
        x[mask] = tl.arange(9, dtype=tl.float64)
        same(x, np.arange(9.0))
        with pytest.raises(ValueError, match="could not be broadcast"):
            x[mask] = tl.arange(10, dtype=tl.float64)
        assert int(tl.count_nonzero(mask)) == 9


@pytest.mark.cpu
def test_single_elements_and_texts():
    octets = np.array([0, 1, 2, 255], np.uint8)
    x = tl.from_storage(bytearray(octets.tobytes()), tl.Layout.row_major((4,)), dtype=bool)
    assert [bool(e) for e in x] == [False, True, True, True]
    assert [int(e) for e in x] == [0, 1, 1, 1]
    assert [float(e) for e in x] == [0.0, 1.0, 1.0, 1.0]
    assert str(x) == "[False,  True,  True,  True]"
    assert True in x
    assert f"{x[3]}" == "True"
    assert np.asarray(x).view(np.uint8).tolist() == octets.tolist()  # as they are
