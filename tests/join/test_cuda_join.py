"""Joins on CUDA: many parts, widths, launches, memory accesses.

Values in every layout: `ops/moving_cases.py`.
"""

from collections import Counter

import numpy as np
import pytest
from cuda_memory import UNTOUCHED, Storage, elements, numbered
from layouts import STRIDED, slots_of
from simulated import needs_compiler, simulator
from tensors import as_dtype, fits, placed, same, slots, tensor_in
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda import join
from tensorlayout.cuda.engine.launch import bind_launches, make_writer
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.cuda.join import plan_join
from tensorlayout.functions import dispatch
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.plan.join import Split


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as result:
        yield result


def on_cuda(values):
    return tl.asarray(np.asarray(values)).to_device("cuda")


def values_of(shape, dtype="float32", seed=0):
    return slots(as_dtype(dtype), int(np.prod(shape)), seed, finite=True).reshape(shape)


# --- Values --------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_inputs_of_different_layouts_in_one_launch(gpu, axis):
    values = [values_of((4, 5, 6), seed=k) for k in range(6)]
    inputs = [
        on_cuda(values[0]),
        tl.to_layout(on_cuda(values[1]), (0, 1, 2)),
        tl.to_layout(on_cuda(values[2]), (1, 2, 0)),
        tl.flip(on_cuda(values[3][::-1, :, ::-1]), axis=(0, 2)),
        tl.to_layout(on_cuda(values[4]), Layout.padded((4, 5, 6), (5, 7, 8))),
        tl.broadcast_to(on_cuda(values[5][:1]), (4, 5, 6)),
    ]
    values[5] = np.broadcast_to(values[5][:1], (4, 5, 6))
    with checking("bounds", "races", "initialized"):
        result = tl.concat(inputs, axis=axis)
    # One for those that can be read in wide accesses, at most one more for each narrower width.
    assert count_second_call(gpu, lambda: tl.concat(inputs, axis=axis))["launches"] <= 3
    same(result.to_device("cpu"), np.concatenate(values, axis))


@needs_compiler
@pytest.mark.parametrize("count", [2, 93, 94, 128, 300])
def test_many_inputs(gpu, count):
    values = [values_of((3, 1 + k % 4), seed=k) for k in range(count)]
    inputs = list(map(on_cuda, values))
    for axis, parts in ((1, values), (0, [v.T for v in values])):
        arguments = [x if axis else x.mT for x in inputs]
        done = count_second_call(gpu, lambda x=arguments, d=axis: tl.concat(x, axis=d))
        groups = 3  # widths of 4, 8 and 16 bytes
        assert done["launches"] <= -(-count // 85) + groups
        result = tl.concat(arguments, axis=axis)
        same(result.to_device("cpu"), np.concatenate(parts, axis))


# --- Taking apart -------------------------------------------------------------------------------


def windows(shapes, dtype, order=None):
    """Tensors full of 77, every other element of larger ones, which come too."""
    for shape in shapes:
        large = tl.full([2 * n + 1 for n in shape], 77, dtype=dtype, device="cuda", layout=order)
        yield large, large[tuple(slice(1, None, 2) for _ in shape)]


_SPLIT = Split("split")


def split_and_check(x, array, sizes, axis, outs):
    ends = np.cumsum(sizes)
    with checking("bounds", "initialized", "races", "count") as record:
        dispatch.call(_SPLIT, (axis, *(o.spec for o in outs), x.spec), (*outs, x))
    for out, part in zip(outs, np.split(array, ends[:-1], axis), strict=True):
        same(out.to_device("cpu"), part, f"{x.layout} {axis}")
    return record.counts


@needs_compiler
@pytest.mark.parametrize("dtype", ["uint8", pytest.param("complex128", marks=pytest.mark.long)])
def test_every_layout_taken_apart(dtype):
    suitable = [x for x in STRIDED if x.ndim and x.size and fits(x, as_dtype(dtype))]
    for layout in suitable[::4]:
        host, array = tensor_in(layout, slots(as_dtype(dtype), layout.required_size, finite=True))
        x = host.to_device("cuda")
        for axis in {0, layout.ndim - 1}:
            n = array.shape[axis]
            sizes = [1, n - 1] if n > 1 else [1]
            shapes = [(*array.shape[:axis], m, *array.shape[axis + 1 :]) for m in sizes]
            fresh = [tl.empty(s, dtype=dtype, device="cuda") for s in shapes]
            split_and_check(x, array, sizes, axis, fresh)
            large, outs = zip(*windows(shapes, dtype), strict=True)
            split_and_check(x, array, sizes, axis, [tl.flip(out) for out in outs])
            for whole, out in zip(large, outs, strict=True):
                out[...] = 77
                same(whole.to_device("cpu"), np.full(whole.shape, 77, dtype))


@needs_compiler
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_long_rows_that_begin_anywhere_are_taken_apart(dtype):
    rng = np.random.default_rng(17)
    for _ in range(8):
        sizes = [int(n) for n in rng.integers(1, 1300, rng.integers(1, 4))]
        shape = (int(rng.integers(1, 5)), sum(sizes))
        values = rng.integers(0, 100, shape).astype(dtype)
        x, outs = on_cuda(values), [on_cuda(np.zeros((shape[0], n), dtype)) for n in sizes]
        split_and_check(x, values, sizes, 1, outs)
        same(x.to_device("cpu"), values)


@needs_compiler
@pytest.mark.parametrize("order", [None, (0, 1)])
@pytest.mark.parametrize("count", [3, 93, 128])
def test_many_parts_and_other_orders(count, order):
    sizes = [1 + k % 4 for k in range(count)]
    values = values_of((5, sum(sizes)))
    for x, array, axis in ((on_cuda(values), values, 1), (on_cuda(values).T, values.T, 0)):
        shapes = [(5, n) if axis else (n, 5) for n in sizes]
        outs = [out for _, out in windows(shapes, "float32", order)]
        result = split_and_check(x, array, sizes, axis, outs)
        assert {kernel.name for kernel in result} == {"join_parts"}
        assert sum(value.launches for value in result.values()) == -(-count // 94)


@needs_compiler
def test_large_parts_in_another_order_go_through_tiles():
    values = values_of((128, 192))
    outs = [tl.empty((128, n), dtype="float32", device="cuda", layout=(0, 1)) for n in (64, 128)]
    result = split_and_check(on_cuda(values), values, [64, 128], 1, outs)
    assert {kernel.file for kernel in result} == {"copy/copy.cu"}


@needs_compiler
def test_a_stack_is_a_join(gpu):
    values = [values_of((5, 8), seed=k) for k in range(10)]
    inputs = list(map(on_cuda, values))
    for axis in (0, 1, 2):
        assert count_second_call(gpu, lambda d=axis: tl.stack(inputs, axis=d))["launches"] == 1
        same(tl.stack(inputs, axis=axis).to_device("cpu"), np.stack(values, axis))


@needs_compiler
def test_other_dtypes_are_converted_into_their_parts(gpu):
    parts = [values_of((2, 3)), values_of((2, 2), "int8"), values_of((2, 1), seed=1)]
    inputs = list(map(on_cuda, parts))
    assert count_second_call(gpu, lambda: tl.concat(inputs, axis=1))["launches"] == 2
    result = tl.concat(inputs, axis=1)
    same(result.to_device("cpu"), np.concatenate([p.astype(np.float32) for p in parts], 1))


@needs_compiler
def test_large_inputs_in_another_order_go_through_tiles():
    values = [values_of((256, 300), seed=k) for k in range(3)]
    inputs = [on_cuda(values[0]), tl.to_layout(on_cuda(values[1]), (0, 1)), on_cuda(values[2])]
    with checking("count") as record:
        result = tl.concat(inputs, axis=0)
    assert sorted(kernel.name for kernel in record.counts) == ["copy_tiles", "join_parts"]
    same(result.to_device("cpu"), np.concatenate(values))


@needs_compiler
def test_more_dimensions_than_a_kernel_is_made_for():
    layout = Layout((2,) * 8, [3**k for k in range(8)])
    x, array = tensor_in(layout, np.arange(layout.required_size, dtype=np.int16))
    result = tl.concat([placed(x)] * 3, axis=3)
    same(result.to_device("cpu"), np.concatenate([array] * 3, 3))


@needs_compiler
def test_indices_of_64_bits(monkeypatch):
    monkeypatch.setattr(join, "narrowest_index_type", lambda count, furthest: "int64_t")
    values = [values_of((3, n, 5), seed=n) for n in (4, 1, 2)]
    inputs = [tl.to_layout(on_cuda(v), order) for v, order in zip(
        values, [(2, 1, 0), (0, 2, 1), (1, 2, 0)], strict=True)]  # fmt: skip
    with checking("bounds", "races"):
        result = tl.concat(inputs, axis=1)
    same(result.to_device("cpu"), np.concatenate(values, 1))
    tl.plan.run.cache_clear()


# --- What it costs -------------------------------------------------------------------------------


@needs_compiler
def test_one_launch_and_one_allocation(gpu):
    inputs = [tl.ones((50, n), device="cuda") for n in (8, 16, 24)]
    done = count_second_call(gpu, lambda: tl.concat(inputs, axis=1))
    assert done == Counter(launches=1, allocations=1)


def test_of_many_inputs_the_least_alignment_counts():
    x, seen = on_cuda(np.zeros(8, np.int16)), []
    write = make_writer(0, seen.append, same_alignment=slice(1, None))
    write(x, x, x[4:], x)
    assert seen == [(32, 8, 8, 8)]


SHAPES = [
    # one run after the other
    ([(300, 257), (100, 257)], 0, 0.98, 0.95),
    # rows, 16 bytes a thread
    ([(200, 256), (200, 128), (200, 512)], 1, 1.0, 0.95),
    # planes of images
    ([(4, 3, 64, 64), (4, 1, 64, 64)], 1, 1.0, 0.95),
    # short rows, of a sector each
    ([(2000, 8)] * 8, 1, 1.0, 0.95),
    # planes that begin at no whole packs
    ([(40, 3, 13, 17), (40, 1, 13, 17)], 1, 0.95, 0.9),
]

# Of odd lengths, which begin anywhere in a sector: a few in a block, one in several; many inputs.
ODD_ROWS = [(100, (515, 1001)), (50, (129, 131)), (3, (5001, 1)), (7, (2047,) * 20)]


@needs_compiler
@pytest.mark.parametrize(("shapes", "axis", "sectors", "lanes"), SHAPES)
def test_accesses_are_coalesced(shapes, axis, sectors, lanes):
    inputs = [tl.zeros(shape, dtype=tl.float32, device="cuda") for shape in shapes]
    with checking("bounds", "count") as record:
        tl.concat(inputs, axis=axis)
    (counts,) = record.counts.values()
    assert counts.kernel == ("join_rows" if shapes[0][-1] == 17 else "join_parts")
    assert counts.sector_efficiency_read >= sectors
    assert counts.sector_efficiency_write >= sectors
    assert counts.lane_activity >= lanes


@needs_compiler
@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
@pytest.mark.parametrize(("rows", "sizes"), ODD_ROWS)
def test_rows_of_odd_lengths(monkeypatch, rows, sizes, index):
    monkeypatch.setattr(join, "narrowest_index_type", lambda count, furthest: index)
    tl.plan.run.cache_clear()
    for dtype in ("int16", "float64") if index == "int64_t" else ("float32",):
        values = [values_of((rows, n), dtype, n) for n in sizes]
        inputs = list(map(on_cuda, values))
        with checking("bounds", "races", "initialized", "count") as record:
            result = tl.concat(inputs, axis=1)
        same(result.to_device("cpu"), np.concatenate(values, 1))
        (counts,) = record.counts.values()
        assert counts.kernel == "join_rows" or dtype == "int16"
        assert counts.bank_conflict_ratio <= 1.1
        if counts.kernel == "join_rows":
            assert counts.sector_efficiency_read >= 0.9
            assert counts.sector_efficiency_write >= 0.9
            assert counts.lane_activity >= 0.9
    tl.plan.run.cache_clear()


@needs_compiler
@pytest.mark.parametrize("shift", [4, 12, 28])
def test_rows_of_odd_lengths_into_padded_rows_at_any_address(gpu, shift):
    result = Layout.padded((20, 400), (20, 403), None, PaddingValue.ONE)
    starts, sources = [0, 199], [Layout.row_major((20, 199)), Layout.row_major((20, 201))]
    plan = plan_join(result, sources, starts, 1, 4, (4, 4, 4))
    (launch,) = plan.launches
    assert launch.kernel.name == "join_rows"
    to = Storage(gpu, result.required_size * 4, shift)
    content = [numbered(s.required_size * 4) for s in sources]
    from_ = [Storage(gpu, len(c), shift + 4, c) for c in content]
    with checking("bounds", "races"):
        bind_launches(plan, 0)([to.pointer, *[item.pointer for item in from_]])
    expected = np.full((result.required_size, 4), UNTOUCHED, np.uint8)
    for source, start, octets in zip(sources, starts, content, strict=True):
        part = result.slice((slice(None), slice(start, start + source.shape[1])))
        expected[slots_of(part)] = elements(octets, 4)[slots_of(source)]
    np.testing.assert_array_equal(elements(to.get(), 4), expected)


# --- Kernels -------------------------------------------------------------------------------------


def test_how_many_inputs_a_launch_takes():
    results = {rank: constant_value("join.cu", f"MOST<{rank}, int32_t>") for rank in (1, 2, 3)}
    assert results == {1: 112, 2: 100, 3: 91}


def test_64_bits_only_where_offsets_ask_for_it():
    for rows, index in ((2**25 - 2, "int32_t"), (2**25, "int64_t")):
        source = Layout.row_major((rows // 2, 64))
        starts = [0, rows // 2]
        result = Layout.row_major((rows, 64))
        plan = plan_join(result, [source, source], starts, 0, 1, (32, 32, 32))
        (launch,) = plan.launches
        assert (launch.kernel.name, dict(launch.kernel.shape)["INDEX"]) == ("join_parts", index)
