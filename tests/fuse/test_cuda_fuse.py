"""Fused functions on the simulator: one launch, the bits of the functions one by one."""

import numpy as np
import pytest
from identical import identical
from simulated import needs_compiler, simulator
from tensors import as_dtype, host, slots

import tensorlayout as tl
from tensorlayout.cuda import fuse
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.devices import Device
from tensorlayout.functions import elementwise
from tensorlayout.layout import Layout, PaddingValue
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
    argument = {} if layout is None else {"layout": layout}
    return tl.asarray(np.ascontiguousarray(values), device="cuda", **argument)


def fused_as_unfused(function, *args, message=""):
    """Hold a call against that of the function as it is; the one kernel that was launched."""
    expected = function(*args)
    with launch_log() as seen:
        result = tl.fuse(function)(*args)
    identical(result, expected, message)
    if not expected.size:
        return None
    ((kernel, counts),) = seen.items()
    assert (kernel.file, counts.launches) == ("fuse.cu", 1), message
    return counts


# ---- Bits


def blend(x, y, share):
    return tl.where(x < y, (x * share + y).astype(tl.float16), x - share)


@pytest.mark.parametrize("shape", [(64, 256), (65, 131), (3, 17, 129)])
@pytest.mark.parametrize("padding", [PaddingValue.UNSPECIFIED, PaddingValue.LOWEST])
def test_tiles_are_not_copied(shape, padding):
    layout = Layout.tiled(shape, [(8, 128)], padding_value=padding)
    fused_as_unfused(blend, *[there(shape, seed=n, layout=layout) for n in range(2)], 0.5)


# ---- Memory


def test_what_is_moved():
    def formula(x, y, z):
        return tl.exp(x * y - 1) / (z + 2)

    x, y, z = (there((300, 500), seed=n) for n in range(3))
    counts = fused_as_unfused(formula, x, y, z)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1
    assert (counts.loads.bytes, counts.stores.bytes) == (3 * x.nbytes, x.nbytes)
    counts = fused_as_unfused(formula, x, y, z[0])
    assert (counts.loads.bytes, counts.stores.bytes) == (3 * x.nbytes, x.nbytes)  # a row: caches
    column = tl.asarray(z[:, :1], copy=True)
    fused_as_unfused(formula, x, y, column)
    turned = there((500, 300)).mT
    counts = fused_as_unfused(formula, x, turned, z)
    assert (counts.loads.bytes, counts.stores.bytes) == (3 * x.nbytes, x.nbytes)
    assert min(counts.sector_efficiency_read, counts.sector_efficiency_write) > 0.9
    assert counts.bank_conflict_ratio < 1.1


def test_results_are_written_over_operands():
    x, y = there((90, 70)), there((90, 70), seed=1)
    expected = blend(x, y, 0.5)
    inside, before = tl.asarray(y, copy=True), host(x)
    with launch_log() as seen:
        tl.fuse(blend)(inside, y, 0.5, out=inside)
    assert [kernel.name for kernel in seen] == ["fuse_flat"]
    identical(inside, blend(y, y, 0.5))
    inside = tl.asarray(x, copy=True)
    tl.fuse(blend)(inside[1:], y[1:], 0.5, out=inside[:-1])  # which a copy is made for
    np.testing.assert_array_equal(host(inside[:-1]), host(expected[1:]))
    np.testing.assert_array_equal(host(inside[-1]), before[-1])


# ---- Kernels


def spec(shape, dtype="float32"):
    layout = shape if isinstance(shape, Layout) else Layout.row_major(shape)
    return TensorSpec(as_dtype(dtype), layout, DEVICE)


def part(name, *sources):
    return Part(getattr(elementwise, name).operation, sources)


def test_numbers_and_shapes_are_no_part_of_a_kernel():
    twice = tl.fuse(lambda x, n: x * n + n)
    same = tl.fuse(lambda tensor, factor: tensor * factor + factor)
    x = there((50, 60), "int16")
    with launch_log() as seen:
        results = [twice(x, 2), twice(x, -3), same(x[0], 4), same(there((5, 600), "int16"), 5)]
    assert len(seen) == 1
    wanted = [x * 2 + 2, x * -3 - 3, x[0] * 4 + 4, there((5, 600), "int16") * 5 + 5]
    for item, expected in zip(results, wanted, strict=True):
        identical(item, expected)
    with pytest.raises(OverflowError, match="100000"):
        twice(x, 100000)


def test_more_than_a_kernel_takes():
    """Values on the way are written and read again; the bits are the same."""

    def polynomial(x, steps):
        for n in range(steps):
            x = x * (n % 3 - 1) + n % 5
        return x

    x, many = there((50, 60)), [there((50, 60), seed=n) for n in range(20)]
    for function, item, launches in [
        (lambda x: polynomial(x, 40), [x], 2),
        (lambda *xs: tl.where(sum(xs[:9]) > sum(xs[9:16]), sum(xs[16:]), xs[3]), many, 3),
    ]:
        expected = function(*item)
        with launch_log() as seen:
            result = tl.fuse(function)(*item)
        identical(result, expected)
        assert sum(counts.launches for counts in seen.values()) == launches
        assert {kernel.file for kernel in seen} == {"fuse.cu"}


def total(count):
    """The plan of a sum of so many operands."""
    parts = [part("add", 0, 1), *[part("add", count + n, n + 2) for n in range(count - 2)]]
    return Fusion("total", tuple(parts))


ORDERS = [
    Layout.packed((3,) * 7, order) for order in [(6, 5, 4, 3, 2, 1, 0), (0, 2, 4, 6, 1, 3, 5)]
]


@pytest.mark.parametrize("count", [2, 4, 5, 13, 40])
@pytest.mark.parametrize(
    "layouts",
    [
        [Layout.row_major((300, 200))],
        [Layout.row_major((300, 200)), Layout.column_major((300, 200))],
        [Layout.row_major((3,) * 9).slice((slice(None, None, 2),) * 9), Layout.row_major((2,) * 9)],
        ORDERS,
        [Layout.tiled((300, 200), [(8, 128)])],
        [
            Layout.row_major((2**20, 2**13)),
            Layout.row_major((2**20, 1)),
            Layout.row_major((2**13,)),
        ],
        [
            Layout.row_major((2**7,) * 5).slice((slice(None, None, 2),) * 5),
            Layout.row_major((64,) * 5),
        ],
    ],
)
def test_structs_fit_a_launch(count, layouts):
    plan = total(count).plan(*[spec(layouts[n % len(layouts)]) for n in range(count)])
    launches, _ = fuse.plan_fuse(plan, (256,) * (count + 1))
    assert (
        max(len(launch.parameters) for launch in launches.launches) <= 4096
    )  # what a launch takes
    if count <= 4:
        assert len(launches.launches) == 1
    if plan.result.layout.size > 2**31:
        assert all(("INDEX", "int32_t") not in launch.kernel.shape for launch in launches.launches)


# ---- Reductions


def reduced_as_unfused(function, *args):
    """Hold a call against that of the function as it is; kernels of a chain with their counts."""
    expected = function(*args)
    with launch_log() as seen:
        result = tl.fuse(function)(*args)
    identical(result, expected)
    return {k: counts for k, counts in seen.items() if "CHAIN" in dict(k.types)}


@pytest.mark.parametrize(
    "name",
    ["sum", "argmin", *[pytest.param(n, marks=pytest.mark.long) for n in ("max", "mean", "std")]],
)
def test_last_reductions(name):
    """Operands are read once, by the kernel that would have read what was made of them."""

    def function(axis):
        return lambda x, y, n: getattr(tl, name)(tl.sin(x / 2 + y) * n, axis=axis)

    kernels = set()
    for shape in [(70, 300), (3, 100, 37), (5000, 4), (900, 3), (40, 517), (70000,)]:
        x, y = (there(shape, "int16", n).astype(tl.float32) for n in range(2))
        for axis in (None, *range(len(shape))):
            ((kernel, counts),) = reduced_as_unfused(function(axis), x, y, 0.7).items()
            assert counts.sector_efficiency_read > 0.3  # rows of 3, each of which a thread reads
            assert (kernel.file, counts.loads.bytes) == ("reduce/reduce.cu", 2 * x.nbytes)
            kernels.add(kernel.name)
    assert kernels == {"reduce_rows", "reduce_columns", "reduce_short"}


@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ((70, 300), (300,)),  # whole packs of a row
        ((40, 517), (517,)),  # packs that rows end in
        ((900, 3), (3,)),
        ((9, 100, 36), (9, 1, 36)),
    ],
)
def test_reductions_of_broadcast_operands(shape, other):
    x, y = (there(item, "int16", n).astype(tl.float32) for n, item in enumerate((shape, other)))
    for axis in (None, *range(len(shape))):
        for operand in (y, tl.flip(y)):
            chained = reduced_as_unfused(sum_of_sines(axis), x, operand)
            assert [kernel.file for kernel in chained] == ["reduce/reduce.cu"]


def sum_of_sines(axis):
    return lambda x, y: tl.sum(tl.sin(x / 2 + y), axis=axis)


@pytest.mark.parametrize(
    ("function", "files"),
    [
        (lambda x: tl.sum((x / 255).astype(tl.float32), axis=0), {"reduce/reduce.cu"}),
        (lambda x: tl.any(x > 6), {"reduce/reduce.cu"}),
        # sums in another kind of number, and of nothing
        (lambda x: tl.sum(x > 1, axis=0, dtype=tl.float32), {"fuse.cu"}),
        (lambda x: tl.sum(x[:0] > 1, dtype=tl.float32), set()),
    ],
)
def test_reductions_of_other_types(function, files):
    x = there((300, 64), "uint8")
    chained = reduced_as_unfused(function, x)
    assert {kernel.file for kernel in chained} == files
    if files == {"reduce/reduce.cu"}:  # which reads once what is wider than what is made of it
        assert [counts.loads.bytes for counts in chained.values()] == [x.nbytes]


@pytest.mark.parametrize("turn", [lambda x: x[::-1], lambda x: x.mT], ids=["flipped", "turned"])
def test_operands_that_lie_elsewhere_are_combined_before_a_reduction(turn):
    x, y = there((90, 90)), there((90, 90), seed=1)
    chained = reduced_as_unfused(lambda x, y: tl.sum(x * turn(y), axis=1), x, y)
    assert {kernel.file for kernel in chained} == {"fuse.cu"}


def test_a_reduction_into_an_operand():
    x, scale = there((300, 64)), tl.asarray(0.5, dtype=tl.float32, device="cuda")
    expected = tl.sum(x * scale)
    tl.fuse(lambda x, scale: tl.sum(x * scale))(x, scale, out=scale)
    identical(scale, expected)
