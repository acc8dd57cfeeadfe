"""From one process to another: pickles of protocol 5, shared memory, sizes, addresses, threads."""

import gc
import multiprocessing.shared_memory
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from test_interchange import address

import tensorlayout as tl
from tensorlayout.cpu.engine import threads

PADDED = tl.Layout.padded((50, 3), (64, 4), padding_value="ONE")
COVERING = {
    "row-major": tl.Layout.row_major((50, 3)),
    "padded": PADDED,
    "tiled": tl.Layout.tiled((50, 3), [(8, 128)], padding_value="ZERO"),
    "backwards": tl.Layout((50, 3), (-3, -1), offset=149),
    "rank 0": tl.Layout.row_major(()),
    "size 0": tl.Layout.row_major((2, 0)),
}


def filled(layout):
    x = tl.from_storage(bytearray(layout.nbytes(4)), layout, dtype=tl.float32)
    x[...] = tl.astype(tl.reshape(tl.arange(layout.size), layout.shape), x.dtype)
    return x


def out_of_band(x):
    buffers = []
    return pickle.dumps(x, protocol=5, buffer_callback=buffers.append), buffers


@pytest.mark.parametrize("protocol", [5, "out of band"])
@pytest.mark.parametrize("kind", ["row-major", "padded", "tiled", "gaps"])
def test_read_only_tensors_come_back_read_only(kind, protocol):
    layout = COVERING.get(kind, tl.Layout((5,), (2,)))
    x = tl.from_storage(bytes(layout.nbytes(4)), layout, dtype="float32")
    text, buffers = out_of_band(x) if protocol != 5 else (pickle.dumps(x, 5), None)
    y = pickle.loads(text, buffers=buffers)
    assert x.readonly
    assert y.readonly
    with pytest.raises(ValueError, match="read-only"):
        y[...] = 1


def test_a_view_sends_what_it_covers():
    x = tl.reshape(tl.arange(1_000_000, dtype=tl.int32), (1000, 1000))
    repeated = tl.broadcast_to(x[0, 0], (4, 4))
    for view, count in ((x[:, ::2], 500_000), (x[3], 1000), (x[5:7], 2000), (repeated, 16)):
        text, buffers = out_of_band(view)
        assert (len(text) < 1000, buffers[0].raw().nbytes) == (True, 4 * count)
        assert len(pickle.dumps(view)) < 4 * count + 1000
        y = pickle.loads(text, buffers=[bytearray(buffers[0])])
        assert np.array_equal(np.asarray(y), np.asarray(view))
    assert address(out_of_band(x[5:7])[1][0]) == address(np.asarray(x)[5])  # whole rows


@pytest.mark.parametrize("cut", [0, 1, 10, 100, 599])
def test_a_message_cut_short_is_an_error(cut):
    text, buffers = out_of_band(filled(COVERING["row-major"]))
    with pytest.raises(ValueError, match=r"reshape|multiple|requires 600 bytes"):
        pickle.loads(text, buffers=[bytes(buffers[0])[:cut]])
    for length in range(len(text)):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            pickle.loads(text[:length], buffers=buffers)


def test_a_state_that_reaches_outside_is_refused():
    text, _ = out_of_band(filled(COVERING["row-major"]))
    for ours, theirs in ((b"(50,3):(3,1)", b"(50,3):(9,1)"), (b"(50,3):(3,1)", b"(90,3):(3,1)")):
        assert ours in text
        with pytest.raises(ValueError, match="from_storage: "):
            pickle.loads(text.replace(ours, theirs), buffers=[bytearray(600)])


def test_a_tensor_is_as_large_as_its_storage_and_a_view_is_small():
    for layout in COVERING.values():
        x = tl.to_layout(tl.zeros(layout.shape), layout)
        assert x.layout.nbytes(x.dtype) <= sys.getsizeof(x) <= x.layout.nbytes(x.dtype) + 200
    x = tl.zeros((1000, 1000))
    assert sys.getsizeof(x[1:]) < 200
    assert sys.getsizeof(tl.broadcast_to(x[0, 0], (1000, 1000))) < 200


def test_new_storage_begins_at_a_multiple_of_64_bytes():
    x = tl.ones((300, 40))
    padded = tl.Layout.padded((300, 40), (310, 50), None, "ZERO")
    for make in (
        lambda: tl.asarray(np.ones(5000), copy=True),
        lambda: tl.concat([x, x]),
        lambda: x @ x.T,
        lambda: tl.to_layout(x, padded),
        lambda: tl.sort(x),
        lambda: tl.sum(tl.ones((5000, 3)), axis=1),
        lambda: tl.exp(x),
        lambda: tl.zeros((300, 40)),
    ):
        several = [make() for _ in range(5)]
        assert {address(y._home[0] if y._home else y._memory) % 64 for y in several} == {0}


@pytest.mark.parametrize("shape", [(2, 3), (300, 70)])
def test_rows_with_a_pitch_of_256_bytes_begin_at_multiples_of_256(shape):
    several = [tl.zeros(shape, layout=tl.Layout.pitched(shape, 512, 8)) for _ in range(5)]
    several += [tl.to_layout(tl.ones(shape), x.layout) for x in several]
    for x in several:
        for row in np.asarray(x):
            assert address(row) % 256 == 0


WRITER = """
import sys
from multiprocessing import resource_tracker, shared_memory
import tensorlayout as tl
shared = shared_memory.SharedMemory(sys.argv[1])
resource_tracker.unregister(shared._name, "shared_memory")  # the maker unlinks it
x = tl.from_storage(shared.buf, sys.argv[2], dtype=tl.float32)
x += 1
del x
shared.close()
"""


def test_another_process_writes_into_shared_memory():
    layout = PADDED
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=layout.nbytes(4))
    try:
        x = tl.from_storage(shared.buf, layout, dtype=tl.float32, fill_padding=True)
        x[...] = 41
        command = [sys.executable, "-c", WRITER, shared.name, str(layout)]
        subprocess.run(command, check=True, timeout=60)
        assert (np.asarray(x) == 42).all()
        with pytest.raises(BufferError):  # not under a tensor
            shared.close()
        del x
        shared.close()
    finally:
        shared.unlink()


@pytest.fixture
def four(monkeypatch):
    """Four threads, whatever the machine has and the variables say."""
    monkeypatch.setattr(threads, "_forced", 4)
    yield
    tl.set_num_threads(None)


@pytest.mark.usefixtures("four")
def test_the_function_caps_the_threads_of_calls_that_were_planned_before():
    x = tl.ones((3000, 1000), dtype=tl.float32)

    def used():
        seen = set()
        pieces = iter(range(64))

        def piece(_):
            seen.add(threads.threading.get_ident())
            threads.threading.Event().wait(0.002)

        threads.share_pieces(pieces, piece, 4)
        return len(seen)

    tl.to_layout(x, "F")
    assert (tl.get_num_threads(), used() > 1) == (4, True)
    tl.set_num_threads(1)
    assert (tl.get_num_threads(), used()) == (1, 1)
    assert np.array_equal(np.asarray(tl.to_layout(x, "F")), np.asarray(x))
    tl.set_num_threads(100)
    assert tl.get_num_threads() == 4


def test_workers_with_one_thread_a_task_get_one_thread():
    environment = {k: v for k, v in os.environ.items() if k != threads.VARIABLE}
    command = [sys.executable, "-c", "import tensorlayout as tl; print(tl.get_num_threads())"]
    environment |= {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("said", "count"), [("1", 1), ("3,2", 3), ("0", 1), ("", None), ("x", None), ("999", 999)]
)
def test_the_first_number_of_the_variable_for_all_libraries_counts(said, count, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads._said_to_all() == (count or threads.MOST_THREADS)


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("limits", [1, {"tensorlayout": 1}])
def test_threadpoolctl_knows_our_threads(limits):
    library = pytest.importorskip("threadpoolctl", reason="threadpoolctl is optional")
    threads.threadpools.register(tl.get_num_threads, tl.set_num_threads)
    with library.threadpool_limits(limits):
        assert tl.get_num_threads() == 1
    assert tl.get_num_threads() == 4


# 100,000 tensors go to other processes and back: nothing is lost, kept, or left behind.
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


def check(begin, found):
    for number, x in zip(range(begin, begin + BATCH), found, strict=True):
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
    return {each.name for each in Path("/dev/shm").iterdir() if not each.name.startswith("sem.")}


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
        found, _ = send([drawn(number) for number in range(begin, begin + BATCH)])
        check(begin, found)
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
            found = pickle.loads(bytes(message), buffers=[cut])
        except Exception:
            continue
        if isinstance(found, tl.Tensor):
            assert found.layout.nbytes(found.dtype) <= len(cut)
            assert found.tolist() is not None
