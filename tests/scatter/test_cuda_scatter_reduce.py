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
    counts = tl.zeros((16,), dtype=tl.int64, device="cuda")
    sums = tl.zeros((16,), dtype=tl.float32, device="cuda")
    # The number is written, the table cleared, positions are counted, and each count is added.
    assert launched(gpu, lambda: tl.scatter_add(counts, bins, 1)) == (4, [])
    # Else places are listed, sorted, found among the sorted, runs are added up, and then the rest.
    few = on_cuda(rng().integers(0, 16, 200))
    assert launched(gpu, lambda: tl.scatter_add(counts, few, few)) == (5, [])
    assert launched(gpu, lambda: tl.scatter_add(counts, line, line)) == (6, [])
    one = on_cuda(1.5, "float32")
    assert launched(gpu, lambda: tl.scatter_add(sums, bins, one)) == (6, [])
    small = tl.astype(line, tl.int8)
    wide = [("scatter_add", 600 * 4)]
    assert launched(gpu, lambda: tl.scatter_add(sums, line, small)) == (7, wide)
    one = on_cuda([3], "int8")
    assert launched(gpu, lambda: tl.scatter_add(sums, line, one)) == (7, [("scatter_add", 4)])
