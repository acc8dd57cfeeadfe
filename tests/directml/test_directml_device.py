"""The operators on a CUDA device, simulated: positions outside, errors, and what they cost.

How many kernels each launches and what it allocates is counted, and held against the table of
docs/directml.md.
"""

import functools
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from directml_facts import OPERATORS, _column_major, _gaps, _row_major, array, attributes, call
from simulated import needs_compiler, simulator
from test_directml_examples import data_type, each

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cuda.engine.launch_log import launch_log

pytestmark = needs_compiler

PAGE = Path(__file__).parents[2] / "docs" / "directml.md"


@pytest.fixture(scope="module", autouse=True)
def simulated():
    with simulator(1) as driver:
        yield driver


def moved(values, make=_row_major):
    """A tensor there with these elements, gaps and all."""
    values = np.asarray(values)
    layout = make(values.shape)
    x = tl.empty(values.shape, dtype=values.dtype, device="cuda:0", layout=layout)
    x[...] = tl.asarray(values).to_device("cuda:0")
    assert x.layout.same_placement(layout)
    return x


def make_call(example, inside, outside=None):
    """Return a call of an example's function, with inputs in one layout and outputs in another."""
    inputs = {
        k: each(lambda t: moved(array(t), inside), tensor)
        for k, tensor in example["inputs"].items()
    }
    sizes = {k: each(lambda t: t["sizes"], tensor) for k, tensor in example["output"].items()}
    dtypes = {k: each(data_type, tensor) for k, tensor in example["output"].items()}
    options = {} if inputs else {"device": "cuda:0"}
    if outside is not None:
        outs = [
            each(lambda t: moved(np.full(t["sizes"], 99, data_type(t).lower()), outside), tensor)
            for tensor in example["output"].values()
        ]
        options = {"out": outs[0] if len(outs) == 1 else outs}
    return lambda name: call(name, inputs, attributes(example), sizes, dtypes, **options)


@pytest.mark.parametrize("bad", [3, -4, 2**40])
def test_positions_outside_touch_nothing_and_raise(bad):
    x, at = moved(np.array([1, 2, 3])), moved(np.array([0, bad]))
    around = moved(np.array([7, 7, 7, 7, 7]))
    matrix, tuples, pair = x[None, :], at[:, None], moved(np.array([[5, 6]]))
    for name, run in (
        ("GATHER_ELEMENTS", lambda: directml.gather_elements(x, at, 0, out=around[1:3])),
        ("GATHER_ND", lambda: directml.gather_nd(matrix, tuples, 1, 2, out=around[None, 1:3])),
        ("SCATTER", lambda: directml.scatter(x, at, at, 0, out=around[1:4])),
        (
            "SCATTER_ND",
            lambda: directml.scatter_nd(matrix, tuples, pair, 1, 2, out=around[None, 1:4]),
        ),
    ):
        with pytest.raises(IndexError, match=f"^{name}: index {bad} is out of bounds"):
            np.asarray(run().to_device("cpu"))
        after = np.asarray(around.to_device("cpu"))
        assert after[[0, 4]].tolist() == [7, 7]
        around[...] = 7


def test_an_error_of_a_launch_before_keeps_its_name():
    x, at, outside = moved(np.array([1, 2])), moved(np.array([0, 1])), moved(np.array([0, 5]))
    for waits in (
        lambda: directml.nonzero_coordinates(moved(np.array([1, 0], np.int32))),
        lambda: directml.scatter(x, at, x, 0, duplicates="error"),
    ):
        directml.gather_elements(x, outside, 0)
        with pytest.raises(IndexError, match=r"^GATHER_ELEMENTS: index 5 is out of bounds"):
            waits()
    directml.max_unpooling(x[None, None, None], moved(np.array([[[[0, 9]]]], np.uint32)), (1,) * 4)
    with pytest.raises(IndexError, match=r"^MAX_UNPOOLING: index 9 is out of bounds"):
        np.asarray(x.to_device("cpu"))


# --- what they cost ---


def table():
    """The rows of the page: operator, launches, allocations."""
    text = PAGE.read_text("utf-8").partition("## Launches on CUDA")[2]
    rows = re.findall(
        r"^\| ([A-Z_0-9, ]+) \| .+ \| (\d+)[^|]* \| (\d+)[^|]* \|$", text, re.MULTILINE
    )
    return {
        name: (int(launches), int(allocations))
        for names, launches, allocations in rows
        for name in names.split(", ")
    }


def test_the_table_has_every_operator():
    assert table().keys() == OPERATORS.keys()


def without_examples(outside):
    """Calls of the operators whose pages have no example."""
    image = moved(np.ones((1, 2, 3, 4), np.float32))
    where = moved(np.arange(24, dtype=np.uint32).reshape(1, 2, 3, 4))
    same, large = (moved(np.ones(s, np.float32), outside) for s in ((1, 2, 3, 4), (1, 2, 6, 12)))
    whole = moved(np.ones((1, 2, 3, 4), np.int32), outside)
    return {
        "ELEMENT_WISE_IDENTITY": lambda: directml.element_wise_identity(image, (2, 1), out=same),
        "CAST": lambda: directml.cast(image, "INT32", out=whole),
        "UPSAMPLE_2D": lambda: directml.upsample_2d(image, (3, 2), out=large),
        "MAX_UNPOOLING": lambda: directml.max_unpooling(image, where, large.shape, out=large),
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_launches_into_a_given_tensor(simulated, name):
    """Of the first example of an operator's page, into an output with gaps."""
    examples = OPERATORS[name]["examples"]
    result = make_call(examples[0], _column_major, _gaps) if examples else None
    run = without_examples(_gaps)[name] if result is None else lambda: result(name)
    run()
    before = simulated.counters.launches, simulated.counters.allocations
    run()
    after = simulated.counters.launches, simulated.counters.allocations
    assert (after[0] - before[0], after[1] - before[1]) == table()[name]


def accesses():
    """Return calls that are counted, made from a dtype, by name."""

    def image(*shape, dtype, **options):
        return tl.zeros(shape, dtype=dtype, device="cuda:0", **options)

    def padded(dtype, border, mode="CONSTANT"):
        x, sides = image(1, 3, 64, 256, dtype=dtype), [0, 0, border, border]
        return lambda: directml.padding(x, sides, sides, mode)

    def joined(dtype, shape, axis):
        parts = [image(*shape, dtype=dtype) for _ in range(4)]
        return lambda: directml.join(parts, axis)

    def crop(dtype, window):
        x = image(128, 192, dtype=dtype)
        return lambda: directml.slice1(x, *window)

    def moved_blocks(dtype, function, shape, **options):
        x = image(*shape, dtype=dtype, **options)
        return lambda: function(x, 2)

    deep, flat = directml.space_to_depth, directml.depth_to_space
    return {
        "join of 4 of (64, 96) along axis 0": lambda t: joined(t, (64, 96), 0),
        "join of 4 of (64, 96) along axis 1": lambda t: joined(t, (64, 96), 1),
        "every other row of (128, 192)": lambda t: crop(t, ([0, 0], [128, 192], [2, 1])),
        "(128, 192) backwards": lambda t: crop(t, ([0, 0], [128, 192], [-1, -1])),
        "a window (64, 128) of (128, 192)": lambda t: crop(t, ([3, 32], [64, 128], [1, 1])),
        "(1, 3, 64, 256) padded by 16": lambda t: padded(t, 16),
        "(1, 3, 64, 256) mirrored by 16": lambda t: padded(t, 16, "REFLECTION"),
        "(1, 3, 128, 256) to depth": lambda t: moved_blocks(t, deep, (1, 3, 128, 256)),
        "(1, 12, 64, 128) to space": lambda t: moved_blocks(t, flat, (1, 12, 64, 128)),
        "(1, 16, 64, 64) NHWC to depth": lambda t: moved_blocks(
            t, deep, (1, 16, 64, 64), layout="NHWC"
        ),
        "(1, 64, 32, 32) NHWC to space": lambda t: moved_blocks(
            t, flat, (1, 64, 32, 32), layout="NHWC"
        ),
    }


@pytest.mark.parametrize("dtype", ["int16", "float32", "int64"])
def test_accesses_fill_sectors(dtype):
    for words, make in accesses().items():
        run = make(dtype)
        with launch_log() as log:
            run()
        counts = functools.reduce(operator.add, log.values())
        assert counts.sector_efficiency_read >= 0.9, words
        assert counts.sector_efficiency_write >= 0.95, words


@pytest.mark.parametrize("exclusive", [False, True])
def test_launches_in_place(simulated, exclusive):
    x = moved(np.ones((4, 10), np.float32), _gaps)
    before = simulated.counters.launches
    directml.cumulative_summation(x, 1, "INCREASING", exclusive, out=x)
    assert simulated.counters.launches == before + 1 + exclusive


def test_a_device_that_is_not_that_of_the_tensors():
    here, there = tl.zeros((2, 2)), tl.zeros((2, 2), device="cuda:0")
    says = "device must be that of the tensors, cpu, got cuda:0"
    with pytest.raises(ValueError, match=f"^FILL_VALUE_CONSTANT: {says}$"):
        directml.fill_value_constant((2, 2), 1, "FLOAT64", device="cuda", out=here)
    says = "device must be that of the tensors, cuda:0, got cpu"
    with pytest.raises(ValueError, match=f"^DIAGONAL_MATRIX1: {says}$"):
        directml.diagonal_matrix1(there, 1, 0, 1, device="cpu")
    with pytest.raises(ValueError, match="live on cpu and cuda:0"):
        directml.join([here, there], 0)
    result = directml.diagonal_matrix1(there, 1, 0, 1, device="cuda")
    assert np.asarray(result.to_device("cpu")).tolist() == [[1, 0], [0, 1]]


def test_declared_bytes_are_there():
    desc = directml.TensorDesc("FLOAT32", (2, 2), total_tensor_size_in_bytes=64)
    tile = directml.compile(directml.TileOperatorDesc(input=desc, output=desc, repeats=(1, 1)))
    x = desc.empty(device="cuda:0")
    x[...] = 3
    assert np.asarray(tile(tile(x)).to_device("cpu")).tolist() == [[3, 3], [3, 3]]
    says = "TILE: InputTensor: TotalTensorSizeInBytes is 64, got 16 bytes"
    with pytest.raises(ValueError, match=f"^{says}$"):
        tile(tl.zeros((2, 2), dtype=tl.float32, device="cuda:0"))
