"""Results found from their own coordinates, on CUDA: launches, indices of 64 bits, accesses.

Values, of every dtype and layout, are those of `tests/ops`; here each must be that of the CPU.
"""

import numpy as np
import pytest
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cuda import image, pad
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.fill import create, diagonals
from tensorlayout.devices import as_device
from tensorlayout.layout import Layout
from tensorlayout.plan.pad import Pad
from tensorlayout.tensor import TensorSpec


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator(1) as result:
        yield result


def numbers(shape, dtype="float32"):
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def same(x, expected):
    np.testing.assert_array_equal(host(x), expected, strict=True)


def host(x):
    return np.asarray(x.to_device("cpu"))


BORDERS = [
    ((3,), [(2, 5)]),
    ((2, 61), [(0, 0), (16, 3)]),
    ((2, 3, 4, 5), [(0, 0), (1, 2), (0, 9), (3, 0)]),
    ((1, 2, 1, 3, 2, 2), [(1, 0), (0, 2), (1, 1), (0, 0), (2, 0), (0, 1)]),
]
LENGTHS = np.array([[[1, 2, 3]], [[0, 9, 2]]], np.uint32)


def bordered(borders, mode):
    before, after = zip(*borders, strict=True)
    return lambda x, out: directml.padding(x, before, after, mode, 7, out=out)


# Each call, and its operands; the last argument is the result, or None.
CALLS = {
    **{
        f"padding {mode} of rank {len(shape)}": (bordered(borders, mode), [numbers(shape)])
        for shape, borders in BORDERS
        for mode in ("CONSTANT", "SYMMETRIC")
    },
    "lines": (
        lambda x, lengths, out: directml.reverse_subsequences(x, lengths, 1, out=out),
        [numbers((2, 3, 3)), LENGTHS],
    ),
    "interpolation": (
        lambda x, out: directml.upsample_2d(x, (2, 3), "LINEAR", out=out),
        [numbers((2, 1, 2, 3))],
    ),
    "patches": (
        lambda x, out: directml.fold(
            x, (1, 2, 5, 4), [2, 2], [2, 1], [1, 2], [0, 2], [1, 0], out=out
        ),
        [numbers((1, 8, 12))],
    ),
    "sequence": (
        lambda _, out: directml.fill_value_sequence((2, 3), 1, 2, "FLOAT32", out=out),
        [numbers(1)],
    ),
    "diagonal": (
        lambda x, out: directml.diagonal_matrix1(x, 3, -1, 2, out=out),
        [numbers((2, 3, 4))],
    ),
    "hot lines": (
        lambda at, values, out: directml.one_hot(at, values, 3, 1, out=out),
        [np.array([[1], [-1]]), np.array([[0, 9]])],
    ),
}


def check(name, gpu):
    """One launch writes what the CPU gives into a result whose rows run backwards, with gaps."""
    call, arrays = CALLS[name]
    expected = host(call(*map(tl.asarray, arrays), None))
    operands = [tl.asarray(array).to_device("cuda:0") for array in arrays]
    whole = tl.full((*expected.shape[:-1], 2 * expected.shape[-1]), 99, dtype=expected.dtype)
    whole = whole.to_device("cuda:0")
    before = gpu.counters.launches, gpu.counters.allocations
    with checking("bounds", "initialized", "races"):
        call(*operands, whole[..., ::-2])
    assert (gpu.counters.launches, gpu.counters.allocations) == (before[0] + 1, before[1])
    same(whole[..., ::-2], expected)
    assert (host(whole)[..., ::2] == 99).all()


@needs_compiler
@pytest.mark.parametrize("name", CALLS)
def test_one_launch_into_memory_that_is_there(gpu, name):
    check(name, gpu)


@needs_compiler
@pytest.mark.parametrize("name", CALLS)
def test_indices_of_64_bits(gpu, name, monkeypatch):
    for module in (pad, image, create, diagonals):
        monkeypatch.setattr(module, "narrowest_index_type", lambda count, furthest: "int64_t")
    tl.plan.run.cache_clear()
    check(name, gpu)
    tl.plan.run.cache_clear()


# --- borders ---


@needs_compiler
def test_values_of_borders():
    largest = tl.asarray(np.array([1], np.uint64)).to_device("cuda:0")
    same(directml.padding1(largest, [1], [0], value=2**64 - 1), np.array([2**64 - 1, 1], np.uint64))
    half = tl.asarray(np.ones(8, np.float16)).to_device("cuda:0")
    same(directml.padding1(half, [8], [1], value=0.1)[7:9], np.array([0.1, 1], np.float16))


def kernel_of(shape, borders, mode, alignments=(32, 32)):
    source = TensorSpec(np.dtype("float32"), Layout.row_major(shape), as_device("cuda:0", "device"))
    launch = pad.plan_pad(Pad("pad").plan(source, tuple(borders), mode), alignments)
    return dict(launch.kernel.shape)


def test_widths_of_accesses():
    result = kernel_of((8, 64), [(0, 0), (4, 4)], "constant")
    assert result == {"RANK": "2", "INDEX": "int32_t", "ELEMENT": "16", "WIDTH": "16"}
    assert kernel_of((8, 64), [(1, 1), (0, 0)], "constant")["RANK"] == "1"
    result = kernel_of((8, 64), [(0, 0), (4, 4)], "reflection")
    assert (result["ELEMENT"], result["WIDTH"]) == ("4", "16")
    assert kernel_of((8, 64), [(0, 0), (1, 1)], "edge")["WIDTH"] == "4"
    assert kernel_of((8, 64), [(2, 2), (0, 0)], "edge", alignments=(32, 8))["ELEMENT"] == "8"
    assert kernel_of((2**28, 8), [(0, 0), (1, 1)], "edge")["INDEX"] == "int64_t"


# --- lines, interpolation, patches, hot lines ---


@needs_compiler
def test_vectors_of_lines_of_one_length_move_as_packs():
    values, lengths = numbers((2, 5, 64)), np.array([[[3]], [[9]]], np.uint32).repeat(64, 2)
    wide = tl.broadcast_to(tl.asarray(lengths[..., :1]).to_device("cuda:0"), (2, 1, 64))
    with checking("bounds", "count") as record:
        result = directml.reverse_subsequences(tl.asarray(values).to_device("cuda:0"), wide, 1)
    same(result, host(directml.reverse_subsequences(tl.asarray(values), tl.asarray(lengths), 1)))
    ((kernel, counts),) = [
        value for value in record.counts.items() if value[0].name.startswith("rev")
    ]
    assert counts.sector_efficiency_write >= 0.9
    assert dict(kernel.shape)["WIDTH"] == "16"


@needs_compiler
@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_what_weighs_nothing_may_be_infinite(where):
    x = tl.asarray([[[[1.0, np.inf, 2.0]]]], dtype=tl.float32).to_device(where)
    result = host(directml.upsample_2d(x, (3, 1), "LINEAR"))
    expected = np.array([1, 1, np.inf, np.inf, np.inf, np.inf, np.inf, 2, 2], np.float32)
    np.testing.assert_array_equal(result.ravel(), expected)


@needs_compiler
@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_halves_are_added_in_float(where):
    """2048 + 1 + 1 is 2050, and each sum of halves would stay 2048."""
    columns = tl.asarray([[[1.0, 2048.0, 1.0]]], dtype=tl.float16).to_device(where)
    columns = tl.reshape(columns, (1, 3, 1))
    overlapping = tl.broadcast_to(columns, (1, 3, 3))
    result = directml.fold(overlapping, (1, 1, 5), [3], [1], [1], [0], [0])
    same(result, np.array([[[1, 2048, 2050, 2048, 1]]], np.float16))


@needs_compiler
@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_a_position_of_64_bits_without_sign_is_not_the_last(where):
    at, values = np.array([[2**64 - 1]], np.uint64), np.array([[7, 8]], np.int64)
    at, values = (tl.asarray(array).to_device(where) for array in (at, values))
    same(directml.one_hot(at, values, 3, 1), np.array([[7, 7, 7]]))
