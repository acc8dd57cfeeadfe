"""Python scalars as elements on CUDA: each is rounded once, whatever the call."""

import numpy as np
import pytest
from tensors import as_dtype

import tensorlayout as tl
from tensorlayout.cuda.engine.scalars import scalar_bytes

# Each goes another way if it is rounded to float32 or to float64 before.
ROUNDED = [
    ("bfloat16", 2**24 + 2**16 + 1, 2.0**24 + 2.0**17),
    ("bfloat16", -(2**60) - 2**52 - 1, -(2.0**60) - 2.0**53),
    ("bfloat16", 2**63 + 2**55 + 1, 2.0**63 + 2.0**56),
    ("bfloat16", 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7),
    ("bfloat16", -1 - 2.0**-8 + 2.0**-40, -1.0),
    ("bfloat16", 2.0**-134 + 2.0**-170, 2.0**-133),
    ("float16", 1 + 2.0**-11 + 2.0**-45, 1 + 2.0**-10),
    ("float32", 2**60 + 2**36 + 1, 2.0**60 + 2.0**37),
    ("float32", -(2**62) - 2**38 - 1, -(2.0**62) - 2.0**39),
    ("complex64", 2**60 + 2**36 + 1, 2.0**60 + 2.0**37),
]


@pytest.mark.parametrize(("dtype", "value", "expected"), ROUNDED)
def test_octets(dtype, value, expected):
    result = np.frombuffer(scalar_bytes("add", value, as_dtype(dtype)), as_dtype(dtype))
    assert complex(result[0]) == expected


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39, -1e39, 3.4e38])
def test_beyond_the_greatest_bfloat16(value):
    (result,) = np.frombuffer(scalar_bytes("add", value, tl.bfloat16), tl.bfloat16)
    assert float(result) == np.copysign(np.inf, value)


def test_signs_of_zeros_and_nan():
    for dtype in (tl.bfloat16, tl.float16, tl.float32, tl.complex64):
        (result,) = np.frombuffer(scalar_bytes("add", -0.0, dtype), dtype)
        assert result == 0
        assert np.signbit(result.real.astype(np.float32))
        (result,) = np.frombuffer(scalar_bytes("add", np.nan, dtype), dtype)
        assert result != result
