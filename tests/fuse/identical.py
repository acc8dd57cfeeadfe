"""Tensors that are the same: their spec, the bits of their elements, and padding."""

import numpy as np
from comparing import bits
from tensors import padding_of


def identical(result, expected, message=""):
    """Spec, bits of elements (one NaN is like another), and padding."""
    assert result.spec is expected.spec, (result.spec, expected.spec, message)
    assert bits(result) == bits(expected), (result, expected, message)
    if not result.layout.is_overlapping and result.layout.padding_value.name != "UNSPECIFIED":
        np.testing.assert_array_equal(padding_of(result), padding_of(expected), err_msg=message)
