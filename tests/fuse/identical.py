"""Tensors that are the same: their spec, the bits of their elements, and padding."""

import numpy as np
from tensors import host, padding_of


def identical(found, expected, message=""):
    """Spec, bits of elements (one NaN is like another), and padding."""
    assert found._spec is expected._spec, (found._spec, expected._spec, message)
    assert bits(host(found)) == bits(host(expected)), (host(found), host(expected), message)
    if not found.layout.is_overlapping and found.layout.padding_value.name != "UNSPECIFIED":
        np.testing.assert_array_equal(padding_of(found), padding_of(expected), err_msg=message)


def bits(array):
    """The bytes of an array, all NaN made one; real and imaginary parts each by itself."""
    array = np.array(array, order="C", ndmin=1)
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind in "fV":
        array[np.isnan(array)] = np.nan
    return array.tobytes()
