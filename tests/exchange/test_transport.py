"""From one process to another: pickles of protocol 5, shared memory, sizes, addresses, threads."""

import multiprocessing.shared_memory
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout.cpu.engine import sharing, threads

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


def address(memory):
    return np.asarray(memory).__array_interface__["data"][0]


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
        assert {address(y.home[0] if y.home else y.memory) % 64 for y in several} == {0}


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

        sharing.share_pieces(pieces, piece, 4)
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
    assert threads._omp_threads_from_environment() == (count or threads.MOST_THREADS)


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("limits", [1, {"tensorlayout": 1}])
def test_threadpoolctl_knows_our_threads(limits):
    library = pytest.importorskip("threadpoolctl", reason="threadpoolctl is optional")
    threads._register_with_threadpoolctl()
    with library.threadpool_limits(limits):
        assert tl.get_num_threads() == 1
    assert tl.get_num_threads() == 4
