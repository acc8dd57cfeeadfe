"""Narrow types on the simulator take one launch; and the machine code of their conversions.

Values in every layout are those of tests/functions/test_narrow.py, which runs on every device.
"""

import numpy as np
import pytest
from cuda_memory import assert_no_spills
from simulated import needs_compiler, simulator
from tensors import host

import tensorlayout as tl
from tensorlayout.cuda.elementwise import plan_conversion, plan_elementwise
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.cuda.engine.warm_up import common_kernels
from tensorlayout.devices import Device
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler

SHAPE = (6, 10)
PLACES = {
    "column-major": tl.Layout.column_major(SHAPE),
    "padded": tl.Layout.padded(SHAPE, (8, 16)),
    "tiled": tl.Layout.tiled(SHAPE, [(4, 8)]),
}


@pytest.fixture(scope="module", autouse=True)
def _device():
    with simulator(1), tl.using_device("cuda"):
        yield


def there(first, layout):
    """A tensor of float8_e4m3fn that holds every byte from `first` on."""
    contents = np.arange(first, first + 60, dtype=np.uint8).reshape(SHAPE)
    return tl.to_layout(tl.asarray(contents, device="cuda"), layout).view(tl.float8_e4m3fn)


def spread(x):
    """Rows that are read again and again."""
    return tl.broadcast_to(x[3], (5, x.shape[1]))


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.mT, spread])
@pytest.mark.parametrize("place", PLACES)
def test_a_conversion_is_one_launch(place, view):
    x = there(0, PLACES[place])
    known = host(view(x)).astype(np.float32)
    with launch_log() as seen:
        result = tl.astype(view(x), tl.float32)
    assert sum(value.launches for value in seen.values()) == 1
    np.testing.assert_array_equal(host(result), known)


def gelu(x, scale):
    wide = x.astype(tl.float32) * scale
    return tl.astype(wide * tl.tanh(wide) / 2, tl.float8_e4m3fn, saturate=True)


def quantised(x, y):
    z = tl.where(x == y, x, y).astype(tl.bfloat16)
    return (z + x.astype(tl.bfloat16)).astype(tl.float8_e5m2).astype(tl.int8)


@pytest.mark.parametrize(
    ("place", "function", "second"), [("padded", gelu, 3.5), ("tiled", quantised, None)]
)
def test_a_chain_between_narrow_types_is_one_launch(place, function, second):
    x = there(0, PLACES[place])
    second = there(60, PLACES[place]) if second is None else second
    one_by_one = function(x, second)
    with launch_log() as seen:
        result = tl.fuse(function)(x, second)
    ((kernel, counts),) = seen.items()
    assert (kernel.file, counts.launches) == ("fuse.cu", 1)
    assert (result.dtype, result.layout) == (one_by_one.dtype, one_by_one.layout)
    assert host(result).tobytes() == host(one_by_one).tobytes()


def kernels():
    flat, rows = tl.Layout.row_major((64, 64)), tl.Layout.row_major((640, 640))
    turned, tailed = tl.Layout.column_major((640, 640)), tl.Layout.tiled((65, 131), [(8, 128)])
    spread = tl.Layout.row_major((64, 64, 7)).slice(np.s_[:, ::2, ::-2])

    def spec(layout, name):
        return TensorSpec(tl.asarray(0, dtype=name).dtype, layout, Device("cuda", 0))

    for source, target, saturate, to, from_ in [
        ("float32", "float8_e4m3fn", False, flat, flat),
        ("float64", "float8_e5m2", True, spread, spread),
        ("int64", "float8_e8m0fnu", False, rows, turned),
        ("uint64", "int4", True, flat, flat),
        ("float16", "float6_e3m2fn", False, tailed, tailed),
        ("float8_e4m3fn", "float8_e5m2fnuz", False, flat, flat),
        ("float8_e8m0fnu", "complex128", False, rows, turned),
    ]:
        arguments = spec(to, target), spec(from_, source), [256, 256]
        yield plan_conversion(*arguments, saturate=saturate).launches[0].kernel
    plan = tl.equal.operation.plan(spec(rows, "float8_e3m4"), spec(turned, "float8_e3m4"))
    yield plan_elementwise(plan, [256] * 3).launches[0].kernel
    yield from common_kernels("float8_e4m3fn")


@pytest.mark.parametrize(
    "architecture", [75, *[pytest.param(n, marks=pytest.mark.long) for n in (80, 90, 100, 120)]]
)
def test_compiled_for_a_gpu_without_spills(architecture):
    assert_no_spills(kernels(), architecture, registers=64)
