"""Copies and writes on the simulator, for every layout and size of element, as on the CPU.

What else functions give there, their own tests say, which run on every device: see `on_devices`.
"""

import numpy as np
import pytest
from layouts import STRIDED
from simulated import needs_compiler, simulator
from tensors import as_dtype, fits, padding_of, placed, same, slots, slots_of, tensor_in

import tensorlayout as tl

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def driver():
    with simulator() as found:
        yield found


def pairs(dtype, *, writable=False):
    """The same tensor on the CPU and on the device, in exactly the same layout, every one."""
    for layout in STRIDED:
        if fits(layout, as_dtype(dtype)) and not (writable and layout.is_overlapping):
            x, _ = tensor_in(layout, slots(as_dtype(dtype), layout.required_size, finite=True))
            yield x, placed(x)


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


def test_writes():
    for dtype, number in (("float32", 7.5), ("int8", 3)):
        for x, y in pairs(dtype, writable=True):
            for tensor in (x, y):
                tensor[...] = number
                if tensor.ndim and tensor.shape[0] > 1:
                    tensor[1:, ...] = tl.flip(tensor[:-1, ...])
                    tensor[0, ...] = tensor[1, ...] * 2
            alike(y.copy(), x.copy(), f"{x.layout}")
            if not x.layout.is_padded:  # what lies in gaps stays
                assert slots_of(y).tobytes() == slots_of(x).tobytes(), f"{x.layout}"


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
