"""Fused functions on the simulator: one launch, the bits of the functions one by one."""

import random
from dataclasses import replace

import layouts
import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import as_dtype, elements, fits, host, over, padding_of, slots, tensor_in

import tensorlayout as tl
from tensorlayout.cuda import fuse
from tensorlayout.cuda.engine.driver import PARAMETER_BYTES
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.devices import Device
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.plan import run
from tensorlayout.plan.fuse import Fusion, Part
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler

DEVICE = Device("cuda", 0)


@pytest.fixture(scope="module", autouse=True)
def _device():
    with simulator(1), tl.using_device("cuda"):
        yield


def there(shape, dtype="float32", seed=0, layout=None):
    """A tensor of many values, special ones among them."""
    values = slots(as_dtype(dtype), int(np.prod(shape)), seed).reshape(shape)
    given = {} if layout is None else {"layout": layout}
    return tl.asarray(np.ascontiguousarray(values), device="cuda", **given)


def bits(array):
    """Bytes, of which any NaN has the same."""
    found = np.array(array)
    parts = found.view(found.real.dtype) if found.dtype.kind == "c" and found.size else found
    if parts.dtype.kind in "fV":
        parts[np.isnan(parts)] = np.nan
    return found.tobytes()


def same_bits(found, expected, message=""):
    """Elements, layouts and padding of two tensors."""
    assert (found.dtype, found.layout) == (expected.dtype, expected.layout), message
    assert bits(host(found)) == bits(host(expected)), message
    if found.layout.padding_value is not PaddingValue.UNSPECIFIED:
        assert bits(padding_of(found)) == bits(padding_of(expected)), message


def fused_as_unfused(function, *args, message=""):
    """Hold a call against that of the function as it is; the one kernel that was launched."""
    expected = function(*args)
    with launch_log() as seen:
        found = tl.fuse(function)(*args)
    same_bits(found, expected, message)
    if not expected.size:
        return None
    ((kernel, counts),) = seen.items()
    assert (kernel.file, counts.launches) == ("fuse.cu", 1), message
    return counts


# ---- Bits

NAMES = {
    1: "abs ceil cos exp log1p negative sign sqrt square tanh isnan logical_not bitwise_invert conj",
    2: "add subtract multiply divide floor_divide remainder maximum minimum less equal hypot pow"
    " atan2 copysign bitwise_xor bitwise_left_shift logical_and",
    3: "where clip",
}
SHORT = ["float32", "float16", "bfloat16", "int16", "uint8", "bool", "complex64", "float64", "int64"]


def chain(seed, steps=9):
    """A function of some tensors: what it does is drawn, and left out where dtypes do not fit."""

    def function(*args):
        drawn, values = random.Random(seed), list(args)
        while len(values) < len(args) + steps:
            count = drawn.choice([1, 1, 2, 2, 2, 3, 0])
            given = [values[-1], *drawn.choices([*values, 3, 0.5], k=max(0, count - 1))]
            drawn.shuffle(given)
            name = drawn.choice(NAMES[count].split()) if count else "astype"
            given += [drawn.choice(SHORT)] if not count else []
            try:
                values.append(getattr(tl, name)(*given))
            except (TypeError, ValueError):
                continue
        return values[-1]

    return function


@pytest.mark.parametrize(
    ("seed", "dtypes"),
    [
        (1, ["float32", "float16", "int16"]),
        (2, ["bfloat16", "float32", "uint8"]),
        (3, ["complex64", "float32", "bool"]),
        (4, ["int8", "uint8", "int64"]),
        *[pytest.param(n, SHORT[n % 9 :][:3], marks=pytest.mark.long) for n in range(5, 40)],
    ],
)
def test_drawn_chains(seed, dtypes):
    function = chain(seed)
    for shape, other in [((40, 70), (40, 70)), ((7, 5), (5,)), ((1, 1), ()), ((0, 3), (3,))]:
        shapes = [shape, *[other] * (len(dtypes) - 1)]
        args = [there(*each, n) for n, each in enumerate(zip(shapes, dtypes, strict=True))]
        fused_as_unfused(function, *args, message=f"{shape} {other}")
    x, y, z = [there((90, 60), dtype, n) for n, dtype in enumerate(dtypes)]
    turned = there((60, 90), dtypes[1], 1).mT
    cut = [each[:, 1:] for each in (x, y, z)]
    for args in [(x, turned, z), (x[::2, ::-1], turned[1::2], z[0]), cut]:
        fused_as_unfused(function, *args, message=str([each.layout for each in args]))


def blend(x, y, share):
    return tl.where(x < y, (x * share + y).astype(tl.float16), x - share)


def test_layouts():
    for layout in layouts.STRIDED:
        if fits(layout, tl.float32):
            x, _ = tensor_in(layout, slots(tl.float32, layout.required_size))
            y = there(layout.shape, seed=1)
            fused_as_unfused(blend, x, y, 0.25, message=str(layout))
            fused_as_unfused(blend, y, x, 3, message=str(layout))


@pytest.mark.parametrize("shape", [(64, 256), (65, 131), (3, 17, 129)])
@pytest.mark.parametrize("padding", [PaddingValue.UNSPECIFIED, PaddingValue.LOWEST])
def test_tiles_are_not_copied(shape, padding):
    layout = Layout.tiled(shape, [(8, 128)], padding_value=padding)
    fused_as_unfused(blend, *[there(shape, seed=n, layout=layout) for n in range(2)], 0.5)


# ---- Memory


def test_what_is_moved():
    x, y, z = (there((300, 500), seed=n) for n in range(3))
    counts = fused_as_unfused(lambda x, y, z: tl.exp(x * y - 1) / (z + 2), x, y, z)
    assert (counts.loads.bytes, counts.stores.bytes) == (3 * x.nbytes, x.nbytes)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1
    counts = fused_as_unfused(lambda x, y, z: tl.exp(x * y - 1) / (z + 2), x, y, z[0])
    assert (counts.loads.bytes, counts.stores.bytes) == (3 * x.nbytes, x.nbytes)  # a row: caches
    turned = there((500, 300)).mT
    counts = fused_as_unfused(lambda x, y, z: tl.exp(x * y - 1) / (z + 2), x, turned, z)
    assert (counts.loads.bytes, counts.stores.bytes) == (3 * x.nbytes, x.nbytes)
    assert min(counts.sector_efficiency_read, counts.sector_efficiency_write) > 0.9
    assert counts.bank_conflict_ratio < 1.1
