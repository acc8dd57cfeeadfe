"""The simulator: kernels run as on a GPU, and each check finds the fault planted for it."""

import re
import shutil
import struct

import numpy as np
import pytest
from right_kernels import KERNELS, THREADS, Array, check, every_case, floats, right, run
from simulated import needs_compiler

from tensorlayout.cuda.engine import disk_cache, driver, launch_log, simulator
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch_log import Counts, Tally
from tensorlayout.cuda.engine.ranges import LiveRanges
from tensorlayout.cuda.engine.simulator import KernelError, checking, open_driver
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

pytestmark = needs_compiler


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


def test_launches_that_a_gpu_would_refuse(simulated):
    shape = (("RANK", "2"), ("INDEX", "int32_t"))
    missing = Kernel(str(KERNELS / "right.cu"), "missing", shape=shape)
    with pytest.raises(ValueError, match=r"right.cu has no kernel missing_2_int32_t"):
        simulated.launcher(missing)
    for grid in (0, -1, (1, 0, 1), (1, 65536, 1), 2**31):
        with pytest.raises(ValueError, match=r"nothing needs a grid of 1 to"):
            run(simulated, right("nothing"), grid, 0)
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
    ("name", "count", "message"),
    [
        ("load_before_the_first", 255, "thread 0, .*load of 4 bytes .* byte -4 of .* has 1020"),
        ("load_across_the_end", 255, "thread 127, .*load of 8 bytes .*, at byte 1016 of the"),
        ("load_misaligned", 255, "thread 0, .*load of 8 bytes at .*, which is no multiple of 8"),
        ("load_nowhere", 255, "thread 3, .*load of 4 bytes at 0x0, far from all allocations"),
        ("dereference_nowhere", 8, "thread 3: access to memory that is not there"),
        ("store_past_the_tile", 1, "thread 255, .*store to shared memory of 4 bytes, at byte 1024"),
        ("load_past_the_tile", 1, "thread 128, .*load from shared memory of 4 bytes, at byte 1024"),
        ("too_much_shared_memory", 1, "2 shared arrays of 65536 bytes together; a block has 49152"),
        ("exchange_in_a_plain_kernel", 1, "an exchange within a warp in a KERNEL; declare it as"),
        (
            "exchange_without_a_lane",
            1,
            "thread 32, .*waits for its warp; 1 of 32 threads",
        ),
        ("exchange_elsewhere", 1, "exchanges here, while thread 0 of its warp does at faulty.cu"),
        ("meet_in_a_plain_kernel", 1, "a barrier in a KERNEL; declare it as BLOCK_KERNEL"),
    ],
)
def test_faults_seen_without_further_checks(simulated, name, count, message):
    x, y = floats(simulated, 255), floats(simulated, 255)
    with pytest.raises(KernelError, match=message):
        run(simulated, faulty(name), 1, y, x, count)


def test_memory_that_was_freed_is_out_of_bounds(simulated):
    x, y = floats(simulated, 10), floats(simulated, 10)
    gone = x.pointer
    del x
    with pytest.raises(KernelError, match=f"load of 4 bytes at {gone:#x}"):
        run(simulated, right("increment"), 1, y, gone, 10)


def test_memory_never_written(simulated):
    """Neither a host's copy, nor a kernel, nor a copy on the device has written all of it."""
    with checking("initialized"):
        x, y, z = (simulated.allocate(400, 0) for _ in range(3))
        simulated.copy_to_device(x.pointer, np.zeros(200, np.uint8))
        run(simulated, right("increment"), 1, y.pointer, x.pointer, 50)
        simulated.copy_device_to_device(z.pointer, y.pointer, 400)
        result = floats(simulated, 100)
        for memory in (x, y, z):
            run(simulated, right("increment"), 1, result, memory.pointer, 50)
            message = r"thread 50, right.cu.*: load of byte 200 of 400, which was never"
            with pytest.raises(KernelError, match=message):
                run(simulated, right("increment"), 1, result, memory.pointer, 51)


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


@pytest.mark.parametrize(
    ("name", "later", "does", "earlier", "did"),
    [
        ("forget_the_barrier", (0, 1), "stores byte 4 of tile", (0, 0), "loads"),
        ("forget_the_second_barrier", (0, 128), "loads byte 0 of tile", (0, 0), "stores"),
        ("read_half_of_a_neighbour", (0, 1), "stores byte 2 of words", (0, 0), "loads"),
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


PACKS_OF_BYTES = """
#include "memory.cuh"
struct Nothing { int64_t unused; };
BLOCK_KERNEL(own, Nothing) {
    SHARED(uint8_t, chunk, 16 * THREADS);
    store_shared(reinterpret_cast<Pack<uint8_t, 16>*>(chunk) + threadIdx.x, Pack<uint8_t, 16>{});
}
"""


@pytest.mark.parametrize("alignment", [16, 8, 1])
def test_shared_arrays_are_no_better_aligned_than_on_a_gpu(
    simulated, tmp_path, monkeypatch, alignment
):
    folder = shutil.copytree(kernel_directory(), tmp_path / "kernels")
    header = folder / "include" / "platform.cuh"
    text = header.read_text("utf-8")
    changed = text.replace("SHARED_ALIGNMENT = 16;", f"SHARED_ALIGNMENT = {alignment};")
    assert (changed == text) == (alignment == 16)
    header.write_text(changed, "utf-8")
    monkeypatch.setattr(simulator, "kernel_directory", lambda: folder)
    monkeypatch.setattr(simulator, "header_directory", lambda: folder / "include")
    (tmp_path / "own.cu").write_text(PACKS_OF_BYTES, "utf-8")
    launch = simulated.launcher(Kernel(str(tmp_path / "own.cu"), "own"))
    if alignment == 16:
        launch(1, bytearray(8))
        return
    expected = r"^own: .*: store to shared memory of 16 bytes at 0x\w+, which is no multiple of 16$"
    with pytest.raises(KernelError, match=expected):
        launch(1, bytearray(8))


def test_a_fault_of_the_processor(simulated):
    y = Array(simulated, np.zeros(1, np.int32))
    divide = simulated.launcher(faulty("divide"))
    for numerator, denominator in [(1, 0), (-(2**31), -1)]:
        with pytest.raises(KernelError, match=r"thread 3: division of an integer by zero, or of"):
            divide(1, bytearray(struct.pack("qii", y.pointer, numerator, denominator)))
    divide(1, bytearray(struct.pack("qii", y.pointer, 7, 2)))
    assert y.get() == [3]


@pytest.mark.parametrize("name", ["return_early", "store_past_the_tile", "load_nowhere"])
def test_a_launch_after_a_failed_one(simulated, name):
    x, y = floats(simulated, THREADS), floats(simulated, THREADS)
    with pytest.raises(KernelError):
        run(simulated, faulty(name), 1, y, x, 200)
    with checking("bounds", "barriers", "count") as record:
        run(simulated, faulty("forget_the_second_barrier"), 1, y, x, 1)
    assert record.total_of_kernel("forget_the_second_barrier").stores == Tally(8, 256, 1024, 32, 32)


# ---- Counting


def run_counted(simulated, name, grid, *parameters):
    with checking("bounds", "count") as record:
        run(simulated, right(name), grid, *parameters)
    return record.total_of_kernel(name)


def test_counts_of_a_coalesced_kernel_and_of_a_misaligned_start(simulated):
    x, y = floats(simulated, 1024), floats(simulated, 1024)
    counts = run_counted(simulated, "increment", 4, y, x, 1024)
    whole = Tally(accesses=32, lanes=1024, bytes=4096, units=128, ideal=128)
    assert counts == Counts("increment", 1, whole, whole)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1
    assert counts.lane_activity == counts.bank_conflict_ratio == 1
    assert counts.bytes_per_access == 4
    counts = run_counted(simulated, "increment", 1, y, x.pointer + 4, 256)
    assert counts.loads == Tally(accesses=8, lanes=256, bytes=1024, units=40, ideal=32)
    assert (counts.sector_efficiency_read, counts.sector_efficiency_write) == (0.8, 1)


def test_counts_of_elements_that_are_not_aligned_to_their_size(simulated):
    x = Array(simulated, np.array([1 + 2j] * 256, np.complex64))
    y = Array(simulated, np.zeros(256, np.complex64))
    counts = run_counted(simulated, "conjugate", 1, y, x, 256)
    assert counts.loads == Tally(accesses=16, lanes=512, bytes=2048, units=128, ideal=64)
    assert counts.bytes_per_access == 4
    np.testing.assert_array_equal(y.get(), np.array([1 - 2j] * 256, np.complex64))


def test_counts_of_bank_conflicts(simulated):
    x, y = floats(simulated, 1024), floats(simulated, 1024)
    padded = run_counted(simulated, "transpose_tiles", (1, 1, 1), y, x, 32, 32)
    assert padded.shared_loads == padded.shared_stores == Tally(32, 1024, 4096, 32, 32)
    assert padded.bank_conflict_ratio == 1
    assert padded.sector_efficiency_read == padded.sector_efficiency_write == 1
    conflicting = run_counted(simulated, "transpose_in_one_bank", (1, 1, 1), y, x, 32, 32)
    assert conflicting.shared_stores == Tally(32, 1024, 4096, 32, 32)
    assert conflicting.shared_loads == Tally(32, 1024, 4096, 1024, 32)
    assert conflicting.bank_conflict_ratio == 1056 / 64


def test_counts_add_up_over_launches(simulated):
    x, y = floats(simulated, 256), floats(simulated, 256)
    with checking("count") as record:
        for _ in range(3):
            run(simulated, right("increment"), 1, y, x, 256)
        run(simulated, right("nothing"), 1, 0)
        assert simulator.current_mode().record is record
    assert record.total_of_kernel("increment").launches == 3
    assert record.total_of_kernel("increment").loads.units == 3 * 32
    assert record.total_of_kernel("nothing").launches == 1
    assert record.total_of_kernel("increment_packs") == Counts("increment_packs")


# ---- Memory


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 100_000])
def test_allocations(simulated, nbytes):
    before = simulated.counters.allocations
    buffer = simulated.allocate(nbytes, 1)
    assert simulated.counters.allocations == before + 1
    assert (buffer.nbytes, buffer.device, buffer.pointer % 256) == (nbytes, 1, 0)
    source = np.arange(nbytes, dtype=np.uint8)
    simulated.copy_to_device(buffer.pointer, source)
    back = np.zeros(nbytes, np.uint8)
    simulated.copy_to_host(back, buffer.pointer)
    np.testing.assert_array_equal(back, source)


def test_copies_that_are_refused(simulated):
    x, data = floats(simulated, 100), np.zeros(401, np.uint8)
    end = x.pointer + 400
    simulated.copy_device_to_device(x.pointer, x.pointer + 40, 40)
    for method, arguments, message in (
        (
            "copy_to_device",
            (x.pointer, data),
            "copy_to_device of 401 bytes at 0x.*, which are not all all",
        ),
        (
            "copy_to_host",
            (data, x.pointer),
            "copy_to_host of 401 bytes at 0x.*, which are not all alloc",
        ),
        (
            "copy_device_to_device",
            (end, x.pointer, 400),
            "copy_device_to_device of 400 bytes at 0x.*, which are not all",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            getattr(simulated, method)(*arguments)


def test_wrapped_memory_can_be_used_while_its_owner_lives(simulated):
    memory = np.zeros(100, np.float32)
    x = floats(simulated, 100)
    buffer = simulated.wrap_memory(memory.ctypes.data, memory.nbytes, 0, memory)
    part = simulated.wrap_memory(memory.ctypes.data + 40, 40, 0, memory)
    run(simulated, right("increment"), 1, buffer.pointer, x, 100)
    np.testing.assert_array_equal(memory, np.arange(1, 101))
    del buffer
    run(simulated, right("increment"), 1, part.pointer, x, 10)
    with pytest.raises(KernelError, match=r"store of 4 bytes at .*, at byte 40 of the nearest"):
        run(simulated, right("increment"), 1, part.pointer, x, 11)


def test_an_unknown_device(simulated):
    with pytest.raises(ValueError, match="there is no device 2; the simulator has 2"):
        simulated.allocate(1, 2)
    with pytest.raises(ValueError, match="there is no device -1"), simulated.using_device(-1):
        pass


def test_ranges_against_brute_force():
    rng = np.random.default_rng(5)
    ranges, live = LiveRanges(), []
    for _ in range(300):
        if live and rng.random() < 0.45:
            ranges.remove_later(*live.pop(rng.integers(len(live))))
        else:
            live.append((int(rng.integers(1, 400)), int(rng.integers(0, 30))))
            ranges.add_range(*live[-1])
        covered = {at for begin, nbytes in live for at in range(begin, begin + nbytes)}
        table, count = ranges.sorted_range_table()
        begins, sizes = table[::3], table[1::3]
        assert len(begins) == count
        assert all(a + n <= b for a, n, b in zip(begins, sizes, begins[1:], strict=False))
        assert covered == {a + i for a, n in zip(begins, sizes, strict=True) for i in range(n)}


# ---- Threads and processes


def test_fibers_where_there_is_no_assembly(monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_FLAGS", "-DSIMULATOR_PORTABLE_FIBERS")
    simulated = open_driver()
    values = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    x, y = Array(simulated, values), Array(simulated, np.zeros((96, 64), np.float32))
    for _ in range(2):
        run(simulated, right("transpose_tiles"), (3, 2, 1), y, x, 64, 96)
        np.testing.assert_array_equal(y.get(), values.T)


def test_an_error_of_the_compiler(simulated):
    with pytest.raises(RuntimeError) as error:
        simulated.launcher(Kernel(str(KERNELS / "broken.cu"), "broken"))
    first, *rest = str(error.value).splitlines()
    assert first.startswith("cuda: ")
    assert first.endswith(" could not compile broken.cu:")
    assert any("broken.cu:7" in line and "from" in line for line in rest)


@pytest.fixture
def found_again():
    simulator.find_compiler.cache_clear()
    yield
    simulator.find_compiler.cache_clear()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "",
            "cuda: the simulator needs a C++ compiler (g++ or clang++), and found none;"
            " install one or set CXX",
        ),
        ("icpc -w", "found CXX=icpc -w, which is not there"),
    ],
)
def test_no_compiler(monkeypatch, found_again, command, message):
    monkeypatch.setenv("CXX", command)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match=re.escape(message)):
        open_driver()


def test_the_compiler_of_the_environment(monkeypatch, found_again):
    monkeypatch.setenv("CXX", f"{shutil.which('g++') or shutil.which('clang++')} -Wall")
    command, version = simulator.find_compiler()
    assert command[1:] == ("-Wall",)
    assert version


# ---- The choice of the driver, and of checks


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (driver.driver.__wrapped__, "TENSORLAYOUT_CUDA_SIMULATOR must be 0 or 1, got '2'"),
        (open_driver, "TENSORLAYOUT_SIMULATOR_DEVICES must be a positive integer, got '0'"),
        (lambda: checking("bound"), "no check is called 'bound'; there are bounds, "),
        (lambda: checking(order="up"), "order must be one of forward, reverse, random, got 'up'"),
    ],
)
def test_choices_that_do_not_exist(monkeypatch, call, message):
    monkeypatch.setenv("TENSORLAYOUT_CUDA_SIMULATOR", "2")
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_DEVICES", "0")
    with pytest.raises(ValueError, match=message):
        call()


def test_checks_of_a_whole_process(monkeypatch, simulated):
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_CHECKS", "count, bounds")
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_ORDER", "random:7")
    launch_log._simulator_mode_from_environment.cache_clear()
    x = floats(simulated, 1)
    run(simulated, right("increment"), 1, x, x, 1)
    mode = launch_log.current_mode()
    launch_log._simulator_mode_from_environment.cache_clear()
    assert (mode.checks, mode.order, mode.seed) == (("count", "bounds"), "random", 7)
    assert mode.record.total_of_kernel("increment").loads.units == 1


def test_every_header_of_the_simulator_is_followed():
    result = disk_cache.read_with_includes(KERNELS / "right.cu", header_directory())
    headers = {path.name for path in (kernel_directory() / "simulator").iterdir()}
    assert {name.removeprefix("../simulator/") for name in result} == headers | {
        "right.cu",
        "memory.cuh",
        "platform.cuh",
    }
