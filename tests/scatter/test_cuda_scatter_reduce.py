"""Values combined with what is at positions on CUDA: against NumPy's ``ufunc.at``, bit for bit."""

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import as_dtype, same
from test_cuda_matmul import copied, count_second_call

import tensorlayout as tl
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.scatter import compile_inplace_scatter_reduce, plan_scatter_reduce
from tensorlayout.plan.scatter import Scatter, ScatterReducePlan
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as result:
        yield result


def on_cuda(values, dtype=None):
    return tl.asarray(np.asarray(values, dtype)).to_device("cuda")


def rng():
    return np.random.default_rng(0)


def combine(x, dims, positions, value, operation="add", **order):
    """Combine `value` with `x` at positions in `dims`, as indexing means them."""
    specs = [p.spec for p in positions]
    plan = Scatter("scatter").plan(x.spec, value.spec, dims, False, *specs)
    with checking("bounds", "initialized", *([] if order else ["races"]), **order):
        reducing(plan, operation)(x, value, *positions)
    return x


def reducing(plan, operation="add"):
    """Return the function that combines values with a destination, as a plan does."""
    return compile_inplace_scatter_reduce(reduction(plan, operation))


def reduction(plan, operation="add"):
    return ScatterReducePlan(plan.result, plan, operation)


def expected(array, key, value, operation="add"):
    result = array.copy()
    getattr(np, operation).at(result, key, value)
    return result


@pytest.mark.parametrize("places", [16, 200])
def test_sums_of_floats_are_taken_in_index_order(places):
    i = rng().integers(0, places, 3000)
    value = rng().standard_normal(3000).astype(np.float32)
    array = np.zeros(places, np.float32)
    orders = [{}, {"order": "forward"}, {"order": "reverse"}, {"order": "random", "seed": 1}]
    for order in orders:
        arguments = [on_cuda(i, "int16")]
        result = combine(on_cuda(array), (0,), arguments, on_cuda(value), **order)
        same(result.to_device("cpu"), expected(array, (i,), value), f"{order}")


def test_positions_outside_are_left_out():
    x = on_cuda(np.zeros(3, np.float32))
    combine(x, (0,), [on_cuda([0, 3, -4, 0, 2])], on_cuda(np.ones(5, np.float32)))
    with pytest.raises(IndexError, match="scatter: index -4 is out of bounds for size 3"):
        x.to_device("cpu")
    same(x.to_device("cpu"), np.asarray([2, 0, 1], np.float32))
    empty = on_cuda(np.zeros((3, 0), np.float32))
    combine(empty, (0,), [on_cuda([5])], on_cuda(np.zeros((1, 0), np.float32)))
    with pytest.raises(IndexError, match="scatter: index 5 is out of bounds"):
        empty.to_device("cpu")


def launched(gpu, call):
    """Return the number of kernels that a warm call launches, and the bytes in its trace."""
    done = count_second_call(gpu, call)
    assert done["synchronisations"] == 0
    return done["launches"], [(name, nbytes) for name, _, nbytes in copied(call)]


def planned(places, positions):
    """The launches that add values of rank 1 to places of rank 1."""
    spec = TensorSpec(as_dtype("float32"), tl.Layout.row_major((places,)), tl.Device("cuda"))
    argument = TensorSpec(as_dtype("int64"), tl.Layout.row_major((positions,)), tl.Device("cuda"))
    plan = Scatter("scatter").plan(
        spec, TensorSpec(spec.dtype, argument.layout, argument.device), (0,), False, argument
    )
    return plan_scatter_reduce(plan, "add").launches


@pytest.mark.parametrize(
    ("places", "positions", "index", "passes"),
    [
        (2**33, 100, "int64_t", 1),
        (3, 2**31, "int64_t", 1),
        (3, 2**20, "int32_t", 1),
        (2**16 - 1, 2**24, "int32_t", 2),
        (2**16, 2**24, "int32_t", 3),  # outside is a place of its own
    ],
)
def test_tensors_of_any_size(places, positions, index, passes):
    result = planned(places, positions)
    names = [item.kernel.name for item in result]
    assert names[0] == "list_places"
    assert names[-1] == "combine_elements"
    kernels = [item.kernel for item in result if not item.kernel.name.startswith("fill")]
    assert {dict(kernel.shape)["INDEX"] for kernel in kernels} == {index}
    assert names.count("sort_tiles") + names.count("scatter_digits") == passes
    # Of 256 values each, of 65536, and so on.
    assert [item.grid for item in result if item.kernel.name == "fold_runs"] == [
        -(-positions // 256**k // 256) for k in (1, 2, 3) if positions >= 256**k
    ]
    assert all(item.grid < 2**31 for item in result)


def test_what_is_launched_and_moved(gpu):
    bins = on_cuda(rng().integers(0, 16, (20, 30)), "uint8")
    line = on_cuda(rng().integers(0, 16, 600))
    counts = tl.zeros((16,), dtype=tl.int16, device="cuda")
    sums = tl.zeros((16,), dtype=tl.float32, device="cuda")
    # The number is written, the table cleared, positions are counted, and each count is added.
    assert launched(gpu, lambda: tl.scatter_add(counts, bins, 1)) == (4, [])
    # Else places are listed, sorted, found among the sorted, runs are added up, and then the rest.
    few = on_cuda(rng().integers(0, 16, 200), "int16")
    assert launched(gpu, lambda: tl.scatter_add(counts, few, few)) == (5, [])
    many = tl.astype(line, tl.int16)
    assert launched(gpu, lambda: tl.scatter_add(counts, line, many)) == (6, [])
    one = on_cuda(1.5, "float32")
    assert launched(gpu, lambda: tl.scatter_add(sums, bins, one)) == (6, [])
    small = tl.astype(line, tl.int8)
    wide = [("scatter_add", 600 * 4)]
    assert launched(gpu, lambda: tl.scatter_add(sums, line, small)) == (7, wide)
    one = on_cuda([3], "int8")
    assert launched(gpu, lambda: tl.scatter_add(sums, line, one)) == (7, [("scatter_add", 4)])


# ---- Atomic operations


def test_what_atomic_combinations_launch_and_move(gpu):
    bins = on_cuda(rng().integers(0, 16, (20, 30)), "uint8")
    line = on_cuda(rng().integers(0, 16, 600))
    # The number is written and added; of integers the order does not show.
    counts = tl.zeros((16,), dtype=tl.int64, device="cuda")
    assert launched(gpu, lambda: tl.scatter_add(counts, bins, 1)) == (2, [])
    assert launched(gpu, lambda: tl.scatter_add(counts, line, line)) == (1, [])
    sums = tl.zeros((16,), dtype=tl.float32, device="cuda")
    value = tl.astype(line, tl.float32)
    for function in (tl.scatter_add, tl.scatter_min, tl.scatter_max):
        done = launched(gpu, lambda f=function: f(sums, line, value, deterministic=False))
        assert done == (1, [])
    small, wide = tl.astype(line, tl.int8), [("scatter_add", 600 * 4)]
    assert launched(gpu, lambda: tl.scatter_add(sums, line, small, deterministic=False)) == (
        2,
        wide,
    )
    halves = tl.zeros((16,), dtype=tl.float16, device="cuda")
    value = tl.astype(line, tl.float16)
    assert launched(gpu, lambda: tl.scatter_add(halves, line, value, deterministic=False)) == (
        6,
        [],
    )


ORDERS = ({"order": "forward"}, {"order": "reverse"}, {"order": "random", "seed": 1})


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["add", "minimum", "maximum"])
def test_integers_combined_atomically_are_exact_in_any_order(dtype, name):
    """Of the full range, so that sums wrap; values and the destination in several layouts."""
    limits = np.iinfo(dtype)
    shapes = (6, 4), (3000, 4)
    array, value = (
        rng().integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in shapes
    )
    i = rng().integers(-6, 6, 3000)
    want = expected(array, (i,), value, name)
    for order in ({}, *ORDERS):
        for x in (on_cuda(array), tl.to_layout(on_cuda(array), (0, 1))):
            result = combine(tl.copy(x), (0,), [on_cuda(i)], on_cuda(value), name, **order)
            same(result.to_device("cpu"), want, f"{order}")
    y = tl.to_layout(on_cuda(value), (0, 1))[::-1]
    same(combine(on_cuda(array), (0,), [on_cuda(i[::-1].copy())], y, name).to_device("cpu"), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_sums_of_floats_in_any_order_are_within_rounding(dtype):
    value = rng().standard_normal((2, 3000))
    value = (value[0] + 1j * value[1] if dtype.startswith("c") else value[0]).astype(dtype)
    i = rng().integers(0, 5, 3000)
    exact = np.zeros(5, "complex128" if dtype.startswith("c") else "float64")
    np.add.at(exact, i, value)
    results = []
    for order in ORDERS:
        with checking("bounds", "initialized", **order):
            x = tl.zeros(5, dtype=dtype, device="cuda")
            result = tl.scatter_add(x, on_cuda(i), on_cuda(value), deterministic=False)
        results.append(np.asarray(result.to_device("cpu")))
        # 600 additions of numbers around 1: their sums stay below 100.
        assert np.abs(results[-1] - exact).max() <= 600 * 100 * np.finfo(dtype).eps
    assert any((results[0] != other).any() for other in results[1:]), "one order was taken"
    same(
        tl.scatter_add(tl.zeros(5, dtype=dtype), tl.asarray(i), tl.asarray(value)),
        tl.scatter_add(
            tl.zeros(5, dtype=dtype), tl.asarray(i), tl.asarray(value), deterministic=False
        ),
        "on the CPU the order is fixed",
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_extremes_of_floats_in_any_order(dtype, name):
    function = {"minimum": tl.scatter_min, "maximum": tl.scatter_max}[name]
    array, value = (rng().standard_normal(shape).astype(dtype) for shape in (9, 3000))
    value[7], array[3] = np.nan, np.inf
    i = rng().integers(0, 9, 3000)
    with np.errstate(invalid="ignore"):
        want = expected(array, (i,), value, name)
    for order in ({}, *ORDERS):
        with checking("bounds", "initialized", *([] if order else ["races"]), **order):
            result = function(on_cuda(array), on_cuda(i), on_cuda(value), deterministic=False)
        same(result.to_device("cpu"), want, f"{order}")


def test_atomic_positions_outside_are_left_out():
    x = on_cuda(np.zeros(3, np.int32))
    x = tl.scatter_add(x, on_cuda([0, 3, -4, 0, 2]), 1)
    with pytest.raises(IndexError, match="scatter_add: index -4 is out of bounds for size 3"):
        x.to_device("cpu")
    same(x.to_device("cpu"), np.asarray([2, 0, 1], np.int32))


def test_deterministic_is_a_bool():
    x, i = tl.zeros(3), tl.asarray([0])
    for value in ("no", None, 1):
        with pytest.raises(TypeError, match=r"^scatter_add: deterministic must be True or False"):
            tl.scatter_add(x, i, 1.0, deterministic=value)
