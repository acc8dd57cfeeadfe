"""Tensors that are the same: their spec, the bits of their elements, and padding."""

import numpy as np
from comparing import bits
from tensors import padding_of


def identical(found, expected, message=""):
    """Spec, bits of elements (one NaN is like another), and padding."""
    assert found.spec is expected.spec, (found.spec, expected.spec, message)
    assert bits(found) == bits(expected), (found, expected, message)
    if not found.layout.is_overlapping and found.layout.padding_value.name != "UNSPECIFIED":
        np.testing.assert_array_equal(padding_of(found), padding_of(expected), err_msg=message)
