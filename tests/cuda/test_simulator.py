"""The simulator: kernels run as on a GPU, and each check finds the fault planted for it."""

import os
import re
import shutil
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from right_kernels import KERNELS, THREADS, Array, check, every_case, floats, right, run

from tensorlayout.cuda.engine import disk_cache, driver, host_compiler, simulator
from tensorlayout.cuda.engine.counting import Counts, Tally
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.ranges import Ranges
from tensorlayout.cuda.engine.simulator import KernelError, checking, open_driver
from tensorlayout.kernels_path import header_directory, kernel_directory

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, (os.environ.get("CXX", ""), "g++", "clang++"))),
    reason="optional: a C++ compiler",
)


@pytest.fixture(scope="module")
def simulated():
    """The driver, its compiled files cached as those of any user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORLAYOUT_SIMULATOR_DEVICES", "2")
        yield open_driver()


def faulty(name):
    return Kernel(str(KERNELS / "faulty.cu"), name)


def line_of(name, mark="here"):
    """The line marked in a faulty kernel; where it has no such mark, the one that is "here"."""
    text = (KERNELS / "faulty.cu").read_text("utf-8")
    start = text.index(f"({name},")
    body = text[start : text.index("KERNEL(", start)]
    end = f"// {mark}" if f"// {mark}\n" in body else "// here"
    return text.count("\n", 0, start + body.index(f"{end}\n")) + 1


# ---- Right kernels are right, in every order, and every check is silent on them.

ALL_CHECKS = ("bounds", "initialized", "barriers", "races", "count")
MODES = [
    ((), "forward", 0),
    (("bounds", "barriers"), "reverse", 0),
    (("bounds", "barriers"), "random", 1),
    (ALL_CHECKS, "forward", 0),
    (ALL_CHECKS, "random", 1),
]


@pytest.fixture(params=MODES, ids=lambda mode: f"{'+'.join(mode[0]) or 'unchecked'}-{mode[1]}")
def any_mode(request):
    checks, order, seed = request.param
    with checking(*checks, order=order, seed=seed) as record:
        yield record


@every_case
def test_right_kernels(simulated, any_mode, case):
    check(simulated, case)


def test_one_element_that_all_threads_store(simulated, any_mode):
    x, y = floats(simulated, 1, 5), floats(simulated, 1)
    run(simulated, right("agree"), 3, y, x, 1)
    assert y.get() == [5]


def test_threads_that_take_turns(simulated, any_mode):
    x, y = floats(simulated, THREADS), Array(simulated, np.zeros((3, THREADS), np.float32))
    run(simulated, right("take_turns"), 3, y, x, 1)
    expected = np.roll(np.arange(1, THREADS + 1, dtype=np.float32), 3)
    np.testing.assert_array_equal(y.get(), np.tile(expected, (3, 1)))


@pytest.mark.parametrize(("operation", "expected"), [("increment", 4), ("double", 6)])
def test_operations_are_chosen_by_name(simulated, operation, expected):
    x, y = Array(simulated, np.float32([3])), Array(simulated, np.float32([0]))
    run(simulated, right("operate", operation), 1, y, x, 1)
    assert y.get() == [expected]


def test_an_unknown_kernel(simulated):
    shape = (("RANK", "2"), ("INDEX", "int32_t"))
    missing = Kernel(str(KERNELS / "right.cu"), "missing", shape=shape)
    with pytest.raises(ValueError, match=r"right.cu has no kernel missing_2_int32_t"):
        simulated.launcher(missing)


@pytest.mark.parametrize("grid", [0, -1, (1, 0, 1), (1, 65536, 1), 2**31])
def test_a_grid_that_a_gpu_would_refuse(simulated, grid):
    with pytest.raises(ValueError, match=r"nothing needs a grid of 1 to"):
        run(simulated, right("nothing"), grid, 0)


def test_parameters_of_another_size(simulated):
    with pytest.raises(KernelError, match=r"increment: takes 24 bytes of parameters, got 16"):
        run(simulated, right("increment"), 1, 0, 0)


# ---- Faults


def test_a_store_out_of_bounds(simulated):
    y = floats(simulated, 300)
    with pytest.raises(KernelError) as error:
        run(simulated, faulty("store_one_too_many"), 2, y, 0, 300)
    assert str(error.value) == (
        f"store_one_too_many: block (1, 0, 0), thread 44,"
        f" faulty.cu:{line_of('store_one_too_many')}: store of 4 bytes at"
        f" {y.pointer + 1200:#x}, at byte 1200 of the nearest allocation, which has 1200 bytes"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "load_before_the_first",
            r"thread 0, .*load of 4 bytes at .* byte -4 of .* has 1020 bytes",
        ),
        (
            "load_across_the_end",
            r"thread 127, .*load of 8 bytes at .*, at byte 1016 of the nearest",
        ),
        ("load_misaligned", r"thread 0, .*load of 8 bytes at .*, which is no multiple of 8"),
        ("load_nowhere", r"thread 3, .*load of 4 bytes at 0x0, far from all allocations"),
    ],
)
def test_loads_out_of_bounds(simulated, name, message):
    x, y = floats(simulated, 255), floats(simulated, 255)
    with pytest.raises(KernelError, match=message):
        run(simulated, faulty(name), 1, y, x, 255)


def test_memory_that_was_freed_is_out_of_bounds(simulated):
    x, y = floats(simulated, 10), floats(simulated, 10)
    gone = x.pointer
    del x
    with pytest.raises(KernelError, match=f"load of 4 bytes at {gone:#x}"):
        run(simulated, right("increment"), 1, y, gone, 10)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("store_past_the_tile", r"thread 255, .*: store to shared memory of 4 bytes, at byte 1024"),
        ("load_past_the_tile", r"thread 128, .*: load from shared memory of 4 bytes, at byte 1024"),
        ("too_much_shared_memory", r": 2 shared arrays of 65536 bytes together; a block has 49152"),
    ],
)
def test_shared_memory_out_of_bounds(simulated, name, message):
    y = floats(simulated, THREADS)
    with pytest.raises(KernelError, match=message):
        run(simulated, faulty(name), 1, y, y, 1)


def test_memory_never_written(simulated):
    with checking("initialized"):
        y, x = floats(simulated, 100), simulated.allocate(400, 0)
        simulated.to_device(x.pointer, np.zeros(200, np.uint8))
        run(simulated, right("increment"), 1, y, x.pointer, 50)
        message = r"increment: .*thread 50, right.cu.*: load of byte 200 of 400, which was never"
        with pytest.raises(KernelError, match=message):
            run(simulated, right("increment"), 1, y, x.pointer, 51)


def test_what_a_kernel_or_a_copy_has_written_is_written(simulated):
    with checking("initialized"):
        x = floats(simulated, 100)
        y, z = simulated.allocate(400, 0), simulated.allocate(400, 0)
        run(simulated, right("increment"), 1, y.pointer, x, 50)
        simulated.on_device(z.pointer, y.pointer, 400)
        run(simulated, right("increment"), 1, x, z.pointer, 50)
        with pytest.raises(KernelError, match="load of byte 200 of 400"):
            run(simulated, right("increment"), 1, x, z.pointer, 51)


def test_memory_that_was_not_followed_is_taken_for_written(simulated):
    x = simulated.allocate(400, 0)
    with checking("initialized"):
        y = simulated.allocate(400, 0)
        run(simulated, right("increment"), 1, y.pointer, x.pointer, 50)
    run(simulated, right("increment"), 1, y.pointer, x.pointer, 100)
    with checking("initialized"):
        run(simulated, right("increment"), 1, x.pointer, y.pointer, 100)


def test_shared_memory_never_written(simulated):
    y = floats(simulated, THREADS)
    run(simulated, faulty("load_unset_tile"), 1, y, y, 1)
    message = r"thread 7, .*: load from shared memory of byte 28 of 1024, which was never written"
    with checking("initialized"), pytest.raises(KernelError, match=message):
        run(simulated, faulty("load_unset_tile"), 1, y, y, 1)


def test_a_thread_that_misses_a_barrier(simulated):
    x, y = floats(simulated, THREADS), floats(simulated, THREADS)
    with pytest.raises(KernelError) as error:
        run(simulated, faulty("return_early"), 1, y, x, 200)
    assert str(error.value) == (
        f"return_early: block (0, 0, 0), thread 0, faulty.cu:{line_of('return_early')}: waits at"
        " this barrier, and thread 255 has finished without"
    )


def test_threads_at_different_barriers(simulated):
    y, line = floats(simulated, THREADS), line_of("meet_elsewhere")
    with pytest.raises(KernelError) as error:
        run(simulated, faulty("meet_elsewhere"), 1, y, y, 1)
    assert str(error.value) == (
        f"meet_elsewhere: block (0, 0, 0), thread 128, faulty.cu:{line}: waits at this barrier,"
        f" while thread 0 waits at that of faulty.cu:{line - 2}"
    )


def test_a_barrier_in_a_plain_kernel(simulated):
    y = floats(simulated, THREADS)
    with pytest.raises(KernelError, match="a barrier in a KERNEL; declare it as BLOCK_KERNEL"):
        run(simulated, faulty("meet_in_a_plain_kernel"), 1, y, y, 1)


@pytest.mark.parametrize(
    ("name", "later", "does", "earlier", "did"),
    [
        ("forget_the_barrier", (0, 1), "stores byte 4 of tile", (0, 0), "loads"),
        ("forget_the_second_barrier", (0, 128), "loads byte 0 of tile", (0, 0), "stores"),
        ("read_half_of_a_neighbour", (0, 1), "stores byte 2 of words", (0, 0), "loads"),
        ("last_block_wins", (1, 0), "stores byte 0 of the", (0, 0), "stores"),
        ("all_blocks_store_the_same", (1, 0), "stores byte 0 of the", (0, 0), "stores"),
        ("all_threads_store_the_same", (0, 1), "stores byte 0 of the", (0, 0), "stores"),
        ("blocks_say_they_store_the_same", (2, 0), "repeats byte 0 of", (1, 0), "repeats"),
        ("read_what_another_block_stores", (1, 0), "loads byte 0 of", (0, 0), "stores"),
        ("store_what_another_block_read", (2, 5), "stores byte 0 of", (1, 0), "loads"),
        ("read_after_the_barrier", (0, 1), "loads byte 4 of", (0, 0), "stores"),
        ("count_what_is_cleared", (0, 200), "stores byte 0 of", (0, 0), "changes"),
        ("read_what_is_counted", (0, 1), "loads byte 0 of", (0, 0), "changes"),
    ],
)
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_races(simulated, name, later, does, earlier, did, order):
    x, y = floats(simulated, THREADS), Array(simulated, np.zeros(THREADS, np.float32))
    run(simulated, faulty(name), 4, y, x, 1)
    with checking("races", order=order), pytest.raises(KernelError) as error:
        run(simulated, faulty(name), 4, y, x, 1)
    if order != "forward":  # where others may be the first to meet
        assert str(error.value).startswith(f"{name}: a race: block (")
        return
    here, there = (
        f"block ({block}, 0, 0), thread {thread}, faulty.cu:{line_of(name, mark)}"
        for (block, thread), mark in ((later, "here"), (earlier, "there"))
    )
    message = re.escape(f"{name}: a race: {here}: {does}") + ".*" + re.escape(f"; {there}: {did}")
    assert re.match(message, str(error.value))


def test_a_fault_of_the_processor(simulated):
    y = Array(simulated, np.zeros(1, np.int32))
    divide = simulated.launcher(faulty("divide"))
    for numerator, denominator in [(1, 0), (-(2**31), -1)]:
        with pytest.raises(KernelError, match=r"thread 3: division of an integer by zero, or of"):
            divide(1, bytearray(struct.pack("qii", y.pointer, numerator, denominator)))
    divide(1, bytearray(struct.pack("qii", y.pointer, 7, 2)))
    assert y.get() == [3]


def test_an_access_past_the_helpers(simulated):
    y = floats(simulated, 1)
    with pytest.raises(KernelError, match="thread 3: access to memory that is not there"):
        run(simulated, faulty("dereference_nowhere"), 1, y, y, 8)


@pytest.mark.parametrize("name", ["return_early", "store_past_the_tile", "load_nowhere"])
def test_a_launch_after_a_failed_one(simulated, name):
    x, y = floats(simulated, THREADS), floats(simulated, THREADS)
    kinds = [("forget_the_barrier", 1.0), ("forget_the_second_barrier", 1.0)]
    for follower, _ in kinds:
        with pytest.raises(KernelError):
            run(simulated, faulty(name), 1, y, x, 200)
        with checking("bounds", "barriers", "count") as record:
            run(simulated, faulty(follower), 1, y, x, 1)
        assert record.of(follower).stores == Tally(8, 256, 1024, 32, 32)


# ---- Counting


def counted(simulated, name, grid, *parameters):
    with checking("bounds", "count") as record:
        run(simulated, right(name), grid, *parameters)
    return record.of(name)


def test_counts_of_a_coalesced_kernel(simulated):
    x, y = floats(simulated, 1024), floats(simulated, 1024)
    counts = counted(simulated, "increment", 4, y, x, 1024)
    whole = Tally(accesses=32, lanes=1024, bytes=4096, units=128, ideal=128)
    assert counts == Counts("increment", 1, whole, whole)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1
    assert counts.lane_activity == 1
    assert counts.bytes_per_access == 4
    assert counts.bank_conflict_ratio == 1


def test_counts_of_elements_that_are_not_aligned_to_their_size(simulated):
    x = Array(simulated, np.array([1 + 2j] * 256, np.complex64))
    y = Array(simulated, np.zeros(256, np.complex64))
    counts = counted(simulated, "conjugate", 1, y, x, 256)
    assert counts.loads == Tally(accesses=16, lanes=512, bytes=2048, units=128, ideal=64)
    assert counts.bytes_per_access == 4
    np.testing.assert_array_equal(y.get(), np.array([1 - 2j] * 256, np.complex64))


def test_counts_of_a_misaligned_start(simulated):
    x, y = floats(simulated, 1024), floats(simulated, 1024)
    counts = counted(simulated, "increment", 1, y, x.pointer + 4, 256)
    assert counts.loads == Tally(accesses=8, lanes=256, bytes=1024, units=40, ideal=32)
    assert counts.sector_efficiency_read == 0.8
    assert counts.sector_efficiency_write == 1


def test_counts_of_bank_conflicts(simulated):
    x, y = floats(simulated, 1024), floats(simulated, 1024)
    padded = counted(simulated, "transpose_tiles", (1, 1, 1), y, x, 32, 32)
    assert padded.shared_loads == padded.shared_stores == Tally(32, 1024, 4096, 32, 32)
    assert padded.bank_conflict_ratio == 1
    assert padded.sector_efficiency_read == padded.sector_efficiency_write == 1
    conflicting = counted(simulated, "transpose_in_one_bank", (1, 1, 1), y, x, 32, 32)
    assert conflicting.shared_stores == Tally(32, 1024, 4096, 32, 32)
    assert conflicting.shared_loads == Tally(32, 1024, 4096, 1024, 32)
    assert conflicting.bank_conflict_ratio == 1056 / 64


def test_counts_add_up_over_launches(simulated):
    x, y = floats(simulated, 256), floats(simulated, 256)
    with checking("count") as record:
        for _ in range(3):
            run(simulated, right("increment"), 1, y, x, 256)
        run(simulated, right("operate", "double"), 1, y, x, 256)
        assert simulator.record() is record
    assert record.of("increment").launches == 3
    assert record.of("increment").loads.units == 3 * 32
    assert record.of("operate").launches == 1
    assert record.of("increment_packs") == Counts("increment_packs")


# ---- Memory


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 100_000])
def test_allocations(simulated, nbytes):
    before = simulated.counters.allocations
    buffer = simulated.allocate(nbytes, 1)
    assert simulated.counters.allocations == before + 1
    assert (buffer.nbytes, buffer.device, buffer.pointer % 256) == (nbytes, 1, 0)
    source = np.arange(nbytes, dtype=np.uint8)
    simulated.to_device(buffer.pointer, source)
    back = np.zeros(nbytes, np.uint8)
    simulated.to_host(back, buffer.pointer)
    np.testing.assert_array_equal(back, source)


@pytest.mark.parametrize("method", ["to_device", "to_host", "on_device"])
def test_copies_out_of_bounds(simulated, method):
    x = floats(simulated, 100)
    data = np.zeros(401, np.uint8)
    arguments = {
        "to_device": (x.pointer, data),
        "to_host": (data, x.pointer),
        "on_device": (x.pointer + 400, x.pointer, 400),
    }
    with pytest.raises(ValueError, match=f"{method} of 40. bytes at 0x.*, which are not all alloc"):
        getattr(simulated, method)(*arguments[method])


def test_copies_onto_themselves(simulated):
    x = floats(simulated, 100)
    simulated.on_device(x.pointer, x.pointer + 40, 40)
    with pytest.raises(ValueError, match=r"on_device of 41 bytes from 0x.* to 0x.*: they overlap"):
        simulated.on_device(x.pointer, x.pointer + 40, 41)


def test_copies_of_strided_bytes(simulated):
    x = floats(simulated, 100)
    with pytest.raises(ValueError, match="need contiguous bytes"):
        simulated.to_device(x.pointer, np.zeros(20, np.uint8)[::2])


def test_wrapped_memory_can_be_used_while_its_owner_lives(simulated):
    memory = np.zeros(100, np.float32)
    x = floats(simulated, 100)
    buffer = simulated.wrap(memory.ctypes.data, memory.nbytes, 0, memory)
    part = simulated.wrap(memory.ctypes.data + 40, 40, 0, memory)
    run(simulated, right("increment"), 1, buffer.pointer, x, 100)
    np.testing.assert_array_equal(memory, np.arange(1, 101))
    del buffer
    run(simulated, right("increment"), 1, part.pointer, x, 10)
    with pytest.raises(KernelError, match=r"store of 4 bytes at .*, at byte 40 of the nearest"):
        run(simulated, right("increment"), 1, part.pointer, x, 11)


def test_an_unknown_device(simulated):
    with pytest.raises(ValueError, match="there is no device 2; the simulator has 2"):
        simulated.allocate(1, 2)
    with pytest.raises(ValueError, match="there is no device -1"), simulated.using(-1):
        pass


def test_ranges_against_brute_force():
    rng = np.random.default_rng(5)
    ranges, live = Ranges(), []
    for _ in range(300):
        if live and rng.random() < 0.45:
            ranges.remove_later(*live.pop(rng.integers(len(live))))
        else:
            live.append((int(rng.integers(1, 400)), int(rng.integers(0, 30))))
            ranges.add(*live[-1])
        covered = {at for begin, nbytes in live for at in range(begin, begin + nbytes)}
        table, count = ranges.table()
        begins, sizes = table[::3], table[1::3]
        assert len(begins) == count
        assert all(a + n <= b for a, n, b in zip(begins, sizes, begins[1:], strict=False))
        assert covered == {a + i for a, n in zip(begins, sizes, strict=True) for i in range(n)}


# ---- Threads and processes


def test_launches_from_many_threads(simulated):
    def work(seed):
        x, y = floats(simulated, 1024, seed), Array(simulated, np.zeros((32, 32), np.float32))
        for _ in range(20):
            run(simulated, right("transpose_tiles"), (1, 1, 1), y, x, 32, 32)
            run(simulated, right("increment"), 4, x, x, 1024)
        expected = np.arange(seed + 19, seed + 19 + 1024, dtype=np.float32).reshape(32, 32).T
        results.append(np.array_equal(y.get(), expected))

    results = []
    workers = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [True] * 4


def test_fibers_where_there_is_no_assembly(monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_FLAGS", "-DSIMULATOR_PORTABLE_FIBERS")
    simulated = open_driver()
    values = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    x, y = Array(simulated, values), Array(simulated, np.zeros((96, 64), np.float32))
    for _ in range(2):
        run(simulated, right("transpose_tiles"), (3, 2, 1), y, x, 64, 96)
        np.testing.assert_array_equal(y.get(), values.T)


def test_a_fork_in_the_midst_of_launches():
    code = (
        INCREMENT
        + """
import os, threading, time
packed = struct.pack("PPq", *[memory.pointer] * 2, 1)
launch = lambda: simulated.launcher(kernel)(1, bytearray(packed))
stop = threading.Event()
def work():
    while not stop.is_set():
        launch()
worker = threading.Thread(target=work)
worker.start()
for _ in range(20):
    child = os.fork()
    if not child:
        launch()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
worker.join()
print("done")
"""
    )
    done = python(code, TENSORLAYOUT_CUDA_SIMULATOR="1")
    assert done.stdout.endswith("done\n"), done.stderr


def python(code, **environment):
    """Run `code` in a process of its own; its output and messages."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


INCREMENT = f"""
import struct, numpy as np
from tensorlayout.cuda.engine.driver import Kernel, driver
simulated = driver()
memory = simulated.allocate(4, 0)
simulated.to_device(memory.pointer, np.float32([6]).view(np.uint8))
kernel = Kernel({str(KERNELS / "right.cu")!r}, "increment")
simulated.launcher(kernel)(1, bytearray(struct.pack("PPq", memory.pointer, memory.pointer, 1)))
result = np.empty(1, np.float32)
simulated.to_host(result.view(np.uint8), memory.pointer)
print(result[0], simulated.counters.compiles, simulated.counters.cache_hits)
"""


def test_an_error_of_the_compiler(simulated):
    with pytest.raises(RuntimeError) as error:
        simulated.launcher(Kernel(str(KERNELS / "broken.cu"), "broken"))
    first, *rest = str(error.value).splitlines()
    assert first.startswith("cuda: ")
    assert first.endswith(" could not compile broken.cu:")
    assert any("broken.cu:7" in line and "from" in line for line in rest)


def test_no_compiler(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    host_compiler.compiler.cache_clear()
    with pytest.raises(RuntimeError) as error:
        open_driver()
    assert str(error.value) == (
        "cuda: the simulator needs a C++ compiler (g++ or clang++), and found none;"
        " install one or set CXX"
    )
    monkeypatch.setenv("CXX", "icpc -w")
    with pytest.raises(RuntimeError, match="found CXX=icpc -w, which is not there"):
        open_driver()


def test_the_compiler_of_the_environment(monkeypatch):
    monkeypatch.setenv("CXX", f"{shutil.which('g++') or shutil.which('clang++')} -Wall")
    host_compiler.compiler.cache_clear()
    command, version = host_compiler.compiler()
    assert command[1:] == ("-Wall",)
    assert version
    host_compiler.compiler.cache_clear()


# ---- The choice of the driver, and of checks


@pytest.mark.parametrize("value", ["2", "yes"])
def test_a_choice_that_is_none(monkeypatch, value):
    monkeypatch.setenv("TENSORLAYOUT_CUDA_SIMULATOR", value)
    driver.driver.cache_clear()
    with pytest.raises(ValueError, match=f"must be 0 or 1, got '{value}'"):
        driver.driver()


@pytest.mark.parametrize("count", ["0", "two", "-1"])
def test_a_number_of_devices_that_is_none(monkeypatch, count):
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_DEVICES", count)
    with pytest.raises(ValueError, match=f"must be a positive integer, got '{count}'"):
        open_driver()


def test_checks_that_are_none():
    with pytest.raises(ValueError, match="no check is called 'bound'; there are bounds, "):
        checking("bound").__enter__()
    with pytest.raises(ValueError, match="order must be one of forward, reverse, random, got 'up'"):
        checking(order="up").__enter__()


def test_checks_of_a_whole_process():
    code = INCREMENT + "from tensorlayout.cuda.engine import simulator\n"
    code += "print(simulator.record().of('increment').loads.units)\n"
    code += "simulated.launcher(kernel)(1, bytearray(struct.pack('PPq', memory.pointer, 0, 1)))"
    done = python(
        code,
        TENSORLAYOUT_CUDA_SIMULATOR="1",
        TENSORLAYOUT_SIMULATOR_CHECKS="count, bounds",
        TENSORLAYOUT_SIMULATOR_ORDER="random:7",
    )
    assert done.stdout.splitlines()[1] == "1"
    assert "KernelError: increment: block (0, 0, 0), thread 0, right.cu" in done.stderr


def test_every_header_of_the_simulator_is_followed():
    found = {path.name for path in disk_cache.sources(KERNELS / "right.cu", header_directory())}
    headers = {path.name for path in (kernel_directory() / "simulator").iterdir()}
    assert found == headers | {"right.cu", "memory.cuh", "platform.cuh"}
