"""Reads and writes under a mask on CUDA: sizes, launches, waiting, accesses.

Values in every layout: `ops/indexing_cases.py`.
"""

from collections import Counter

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import same
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda import gather
from tensorlayout.cuda import mask as masks
from tensorlayout.cuda.engine.simulator import checking


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as result:
        yield result


def on_cuda(values, dtype=None):
    return tl.asarray(np.asarray(values, dtype)).to_device("cuda")


def rng():
    return np.random.default_rng(0)


def mask_of(shape, share=0.5):
    return rng().random(shape) < share


def written(array, key, value):
    result = array.copy()
    result[key] = value
    return result


# --- Reads ---------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("size", [0, 1, 255, 4095, 4096, 4097, 20000])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_sizes_and_shares(size, share):
    values, mask = np.arange(size, dtype=np.int32), mask_of(size, share)
    with checking("bounds", "initialized", "races"):
        result = on_cuda(values)[on_cuda(mask)]
    same(result.to_device("cpu"), values[mask])


@needs_compiler
def test_more_chunks_than_one_step_of_the_sums():
    mask = mask_of(9_000_000, 0.001)
    result = on_cuda(mask.view(np.uint8))[on_cuda(mask)].to_device("cpu")
    same(result, np.ones(mask.sum(), np.uint8))


@needs_compiler
def test_indices_of_64_bits(monkeypatch):
    for module in (gather, masks):
        monkeypatch.setattr(module, "narrowest_index_type", lambda count, furthest: "int64_t")
    values, mask = np.arange(60, dtype=np.float32).reshape(3, 4, 5), mask_of((3, 4))
    for x in (on_cuda(values), tl.to_layout(on_cuda(values), (1, 2, 0))):
        same(x[on_cuda(mask)].to_device("cpu"), values[mask])
        same(x[on_cuda(values % 2 == 0)].to_device("cpu"), values[values % 2 == 0])
        x[on_cuda(mask)] = 4
        same(x.to_device("cpu"), written(values, (mask,), 4))
    tl.plan.run.cache_clear()


@pytest.mark.parametrize(
    ("rest", "index"), [(masks.CHUNK + 1, "int32_t"), (masks.CHUNK, "int64_t")]
)
def test_64_bits_where_the_last_chunk_ends_beyond_32(monkeypatch, rest, index):
    def chosen(file, name, **shape):
        raise NotImplementedError(shape["INDEX"])

    mask = tl.broadcast_to(on_cuda([True]), (2**31 - rest,))
    monkeypatch.setattr(masks, "kernel_with_macros", chosen)
    with pytest.raises(NotImplementedError, match=index):
        masks._make_mask_writer(mask.spec, "count_true", (1,))(mask, mask)


# --- Writes --------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("order", [(2, 1, 0), (0, 1, 2), (1, 2, 0)])
def test_one_slice_for_all(order):
    values = np.arange(2 * 3 * 8, dtype=np.float32).reshape(2, 3, 8)
    row, column = rng().random(8, np.float32), rng().random((2, 1, 1), np.float32)
    for key, value in (
        ((mask_of((2, 3)),), row),
        ((mask_of((2, 3)),), row[None]),
        ((mask_of(2),), row),
        ((mask_of(2),), column[:1]),
        ((slice(None), mask_of(3)), column),
        ((slice(None), mask_of(3)), row[None, None, None]),
        ((slice(None), slice(None), mask_of(8)), column),
    ):
        x = tl.to_layout(on_cuda(values), order)
        with checking("bounds", "races"):
            x[tuple(on_cuda(k) if isinstance(k, np.ndarray) else k for k in key)] = on_cuda(value)
        same(x.to_device("cpu"), written(values, key, value))


# --- What it costs -------------------------------------------------------------------------------


@needs_compiler
def test_launches_and_waiting(gpu):
    values, mask = np.zeros((50, 8)), mask_of((50, 8))
    x, m, rows = on_cuda(values), on_cuda(mask), on_cuda(mask[:, 0])
    same((x + 1).to_device("cpu"), values + 1)  # nothing is left to be checked
    packed, row = on_cuda(values[mask]), on_cuda(values[0])
    assert count_second_call(gpu, lambda: x.__setitem__(m, 5)) == Counter(launches=1)
    assert count_second_call(gpu, lambda: x.__setitem__(rows, row)) == Counter(launches=1)
    # count, sums, elements; and of positions, two dimensions
    done = count_second_call(gpu, lambda: x[m])
    assert done == Counter(launches=3, allocations=2, synchronisations=1)
    done = count_second_call(gpu, lambda: tl.nonzero(m))
    assert done == Counter(launches=4, allocations=3, synchronisations=1)
    assert count_second_call(gpu, lambda: x[rows]) >= Counter(launches=4, allocations=3)
    assert count_second_call(gpu, lambda: x.__setitem__(m, packed))["launches"] == 4


@needs_compiler
def test_accesses_are_coalesced():
    mask = np.repeat(mask_of(4096), 64)
    x = tl.zeros((mask.size,), dtype=tl.float32, device="cuda")
    m = on_cuda(mask)
    with checking("bounds", "count") as record:
        x[m]
        x[m] = 3.0
    result = record.total_of_kernel("count_true")
    assert (result.sector_efficiency_read, result.bytes_per_access > 15) == (1.0, True)
    result = record.total_of_kernel("select_elements")
    assert result.sector_efficiency_write >= 0.9
    assert result.sector_efficiency_read >= 0.9
    assert result.lane_activity >= 0.9
    assert result.bank_conflict_ratio <= 1.2
    result = record.total_of_kernel("store_masked")
    assert result.sector_efficiency_write == 1.0
    assert result.sector_efficiency_read == 1.0
