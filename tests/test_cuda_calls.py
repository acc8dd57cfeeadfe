"""Functions on a CUDA device, here the simulator: the same values and layouts as on the CPU."""

import operator

import numpy as np
import pytest
from layouts import STRIDED
from simulated import needs_compiler, simulator
from tensors import as_dtype, fits, padding_of, same, slots, tensor_in

import tensorlayout as tl

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def driver():
    with simulator() as found:
        yield found


def pairs(dtype, *, writable=False):
    """The same tensor on the CPU and on the device, in every layout that the device takes over."""
    for layout in STRIDED:
        if fits(layout, as_dtype(dtype)) and not (writable and layout.is_overlapping):
            x, _ = tensor_in(layout, slots(as_dtype(dtype), layout.required_size, finite=True))
            yield x, x.to_device("cuda")


def alike(found, expected, message=""):
    """Values, dtype, layout and padding of a result on the device, as of that on the CPU."""
    assert str(found.device) == "cuda:0", message
    assert found.layout.at_origin == expected.layout.at_origin, message
    host = found.to_device("cpu")
    same(host, np.asarray(expected), message)
    value = expected.layout.padding_value
    if expected.layout.is_padded and value is not tl.PaddingValue.UNSPECIFIED:
        np.testing.assert_array_equal(padding_of(host), padding_of(expected), err_msg=message)


COPIES = {
    "copy": lambda x: x.mT.copy() if x.ndim > 1 else x.copy(),
    "row-major": lambda x: tl.to_layout(x, tl.Layout.row_major(x.shape), copy=True),
    "column-major": lambda x: tl.to_layout(x, tl.Layout.column_major(x.shape), copy=True),
    "padded": lambda x: tl.to_layout(
        x, tl.Layout.padded(x.shape, [n + 2 for n in x.shape], None, tl.PaddingValue.ONE)
    ),
    "reshape": lambda x: tl.reshape(x, -1, copy=True),
    "concat": lambda x: tl.concat([x, tl.flip(x)], axis=-1) if x.ndim else x.copy(),
    "stack": lambda x: tl.stack([x, x], axis=0),
    "repeat": lambda x: tl.repeat(x, 2, axis=0) if x.ndim else x.copy(),
    "roll": lambda x: tl.roll(x, 1, axis=0) if x.ndim else x.copy(),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_every_layout(name):
    for dtype in ("uint8", "float16", "float32", "complex128"):
        for x, y in pairs(dtype):
            expected = COPIES[name](x)
            alike(COPIES[name](y), tl.asarray(expected), f"{name} of {dtype} in {x.layout}")


@pytest.mark.parametrize(
    ("source", "result"), [("float32", "int8"), ("int8", "float32"), ("float32", "float16")]
)
def test_casts_of_every_layout(source, result):
    for x, y in pairs(source):
        alike(tl.astype(y, result), tl.astype(x, result), f"{x.layout}")


FLOATS = {
    "add": lambda x: x + x,
    "to a scalar": lambda x: 2 - x,
    "comparison": lambda x: x <= 1,
    "negative": lambda x: -x,
    "floor_divide": lambda x: x // tl.broadcast_to(x[..., :1], x.shape) if x.ndim else x // 2,
    "where": lambda x: tl.where(x > 1, x, 0),
    "clip": lambda x: tl.clip(x, -1, 2),
}


@pytest.mark.parametrize("name", FLOATS)
def test_elementwise_functions_in_every_layout(name):
    for x, y in pairs("float32"):
        alike(FLOATS[name](y), FLOATS[name](x), f"{name} in {x.layout}")


def test_operands_in_other_orders_and_dtypes():
    x = tl.reshape(tl.arange(12, dtype=tl.int32), (3, 4))
    y = tl.to_layout(tl.astype(x, tl.float32), (0, 1))
    a, b = x.to_device("cuda"), y.to_device("cuda")
    for function in (tl.add, tl.multiply, tl.less, tl.maximum):
        alike(function(a, b), function(x, y))
        alike(function(b, a), function(y, x))


@pytest.mark.parametrize("sign", [operator.iadd, operator.imul])
def test_in_place(sign):
    for x, y in pairs("float32", writable=True):
        layout = y.layout
        sign(x, 2)
        sign(y, 2)
        if x.ndim and x.shape[0] > 1:
            sign(x[1:, ...], x[:-1, ...])
            sign(y[1:, ...], y[:-1, ...])
        assert y.layout is layout
        alike(tl.to_layout(y, y.layout.form, copy=True), tl.to_layout(x, x.layout.form, copy=True))


def test_writes():
    for dtype, number in (("float32", 7.5), ("int8", 3)):
        for x, y in pairs(dtype, writable=True):
            for tensor in (x, y):
                tensor[...] = number
                if tensor.ndim and tensor.shape[0] > 1:
                    tensor[1:, ...] = tl.flip(tensor[:-1, ...])
                    tensor[0, ...] = tensor[1, ...] * 2
            alike(y.copy(), x.copy(), f"{x.layout}")


def test_padding_that_was_never_written_does_not_travel():
    layout = tl.Layout.padded((2, 3), (2, 5), padding_value=tl.PaddingValue.ZERO)
    x = tl.from_storage(bytearray(range(10)), layout, dtype=tl.uint8)
    y = x.to_device("cuda")
    for found in (y, y.copy(), y + 0, tl.astype(y, "int16")):
        assert found.layout == layout
        assert padding_of(found.to_device("cpu")).tolist() == [0, 0, 0, 0]
    assert np.asarray(y.to_device("cpu")).tolist() == [[0, 1, 2], [5, 6, 7]]


def test_one_launch_and_one_allocation(driver):
    x = tl.ones((100, 100), dtype=tl.float32, device="cuda")
    x + x
    counters = driver.counters
    before = (counters.launches, counters.allocations, counters.synchronisations, counters.compiles)
    x + x
    after = (counters.launches, counters.allocations, counters.synchronisations, counters.compiles)
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 0, 0]


def test_nothing_is_copied_on_the_way():
    x = tl.ones((4, 5, 6), dtype=tl.float32, layout="HWC", device="cuda")
    with tl.trace() as seen:
        y = tl.exp(x) + x
    assert [r.kind for r in seen] == ["run", "run"]
    assert y.layout.minor_to_major == x.layout.minor_to_major
