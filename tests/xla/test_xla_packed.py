"""The order of elements in a byte, by XLA's own programs: bitcasts that jax compiles for the CPU.

jax hands out arrays of one byte an element; in compiled programs they are ``E(4)`` and ``E(2)``.
"""

import ml_dtypes
import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import xla

jax = pytest.importorskip("jax", reason="optional: JAX")

TYPES = {"s4": "int4", "u4": "uint4", "s2": "int2", "u2": "uint2", "f4e2m1fn": "float4_e2m1fn"}


@pytest.mark.parametrize("text", TYPES)
def test_bits_of_bytes_are_elements_in_this_order(text):
    dtype = np.dtype(getattr(ml_dtypes, TYPES[text]))
    bits = xla.PrimitiveType[text.upper()].bit_width
    octets = np.random.default_rng(0).integers(0, 256, 40, np.uint8)
    cast = jax.jit(lambda x: jax.lax.bitcast_convert_type(x, dtype))
    theirs = np.asarray(cast(octets)).reshape(-1)
    ours = xla.from_buffer(octets, f"{text}[{theirs.size}]{{0:E({bits})}}")
    np.testing.assert_array_equal(np.asarray(ours).astype(float), theirs.astype(float))
    back = jax.jit(lambda x: jax.lax.bitcast_convert_type(x, np.uint8))
    again = np.asarray(back(theirs.reshape(40, -1)))
    assert again.tobytes() == octets.tobytes()
    assert xla.to_buffer(ours, f"{text}[{theirs.size}]{{0:E({bits})}}") == again.tobytes()


def test_layouts_of_compiled_programs_are_read():
    program = jax.jit(lambda x: x.T).lower(np.zeros((3, 5), ml_dtypes.int4)).compile()
    shape = xla.parse_hlo(program.as_text()).parameter_shapes[0]
    assert xla.layout_of(shape) is tl.Layout((3, 5), slot_bits=4)
