"""100,000 tensors to other processes and back: nothing is lost, kept, or left behind."""

import gc
import os
import pickle
import random
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tensorlayout as tl

COUNT, BATCH = 100_000, 200
LAYOUTS = [
    lambda s: tl.Layout.row_major(s),
    lambda s: tl.Layout.column_major(s),
    lambda s: tl.Layout.padded(s, [n + 3 for n in s], padding_value="ZERO"),
    lambda s: tl.Layout.pitched(s, 256, 4),
    lambda s: tl.Layout.tiled(s, [(4, 8)]),
]


def drawn(number):
    """A tensor that follows from a number: up to 100 kB."""
    draw = random.Random(number)
    shape = (draw.randrange(1, 100), draw.randrange(1, 250) if number % 10 == 0 else 5)
    x = tl.full(shape, float(number % 2**20), dtype=tl.float32, layout=draw.choice(LAYOUTS)(shape))
    return x[::-1] if number % 7 == 0 else x


def doubled(batch):
    return [x + x for x in batch], os.getpid()


def check(begin, result):
    for number, x in zip(range(begin, begin + BATCH), result, strict=True):
        expected = drawn(number)
        assert (x.shape, x.dtype) == (expected.shape, expected.dtype)
        assert (np.asarray(x) == 2.0 * (number % 2**20)).all()


def resident():
    """Bytes in memory; the pages of files are not counted."""
    gc.collect()
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


def shared():
    """Names of shared memory; semaphores are of any process."""
    return {item.name for item in Path("/dev/shm").iterdir() if not item.name.startswith("sem.")}


@pytest.fixture
def flat():
    """Memory and shared memory are after the test as they were when its first part was done."""
    if not Path("/proc/self/status").exists():
        pytest.skip("optional: Linux's /proc")
    before, seen = shared(), []
    yield lambda: seen.append(resident())
    assert not seen or seen[-1] < seen[0] + (20 << 20), seen  # a test that was skipped saw nothing
    assert shared() <= before


def soak(send, note):
    for begin in range(0, COUNT, BATCH):
        result, _ = send([drawn(number) for number in range(begin, begin + BATCH)])
        check(begin, result)
        if begin % (COUNT // 10) == 0 and begin:
            note()


@pytest.mark.long
@pytest.mark.cpu
def test_through_a_pool_of_processes(flat):
    with ProcessPoolExecutor(2) as pool:
        soak(lambda batch: pool.submit(doubled, batch).result(), flat)


@pytest.mark.long
@pytest.mark.cpu
@pytest.mark.filterwarnings("default")
def test_through_distributed(flat):
    distributed = pytest.importorskip("distributed", reason="distributed is optional")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GB"
    )
    with cluster, distributed.Client(cluster) as client:

        def send(batch):
            (held,) = client.scatter([batch])
            return client.submit(doubled, held, pure=False).result()

        soak(send, flat)


# Without pickle's LONG_BINPUT, for whose number Python sets aside a table, of gigabytes.
BYTES = [octet for octet in range(256) if octet != ord("r")]


@pytest.mark.long
@pytest.mark.cpu
@pytest.mark.parametrize("number", range(20))
def test_a_message_with_any_wrong_byte_is_an_error_or_a_tensor(number):
    """Of the text, not of the elements: it never makes a tensor that reaches outside its buffer."""
    draw, buffers = random.Random(number), []
    text = bytearray(pickle.dumps(drawn(number), 5, buffer_callback=buffers.append))
    memory = bytes(buffers[0])
    for _ in range(2000):
        message = text.copy()
        for _ in range(draw.randrange(1, 4)):
            message[draw.randrange(len(message))] = draw.choice(BYTES)
        cut = memory[: draw.randrange(len(memory) + 1)] if draw.random() < 0.5 else memory
        if draw.random() < 0.2:
            del message[draw.randrange(len(message)) :]
        try:
            result = pickle.loads(bytes(message), buffers=[cut])
        except Exception:
            continue
        if isinstance(result, tl.Tensor):
            assert result.layout.nbytes(result.dtype) <= len(cut)
            assert result.tolist() is not None
