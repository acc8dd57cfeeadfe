"""Tensors, plans, layouts and traces used by eight threads that start at once."""

import os
import pathlib
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
from simulated import needs_compiler

import tensorlayout as tl
from tensorlayout.support.interning import memoize

THREADS = 8
ROOT = pathlib.Path(tl.__file__).parents[1]


@pytest.fixture(autouse=True)
def frequent_switches():
    """Let threads change places between almost any two instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work):
    """Return what ``work(number)`` gives in each of eight threads; raise the first exception."""
    barrier = threading.Barrier(THREADS)
    results, errors = [None] * THREADS, []

    def begin(number):
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def test_equal_layouts_are_one_object_also_where_they_die_and_are_made_again():
    def work(_):
        whole = [tl.Layout.padded((i + 5, 7), (i + 5, 8), (0, 1)) for i in range(300)]
        assert all(tl.Layout((n % 7, 5)) is tl.Layout((n % 7, 5)) for n in range(2000))
        return [(item, item.slice(2), item.permute((1, 0)).form) for item in whole]

    first, *others = in_threads(work)
    assert others == [first] * (THREADS - 1)


def test_what_is_made_at_once_is_one_object():
    meeting = threading.Barrier(THREADS)

    @memoize
    def make():
        meeting.wait()
        return object()

    assert len(set(in_threads(lambda _: make()))) == 1


def test_writes_to_parts_that_do_not_meet():
    x = tl.to_layout(tl.zeros((THREADS, 50), dtype=tl.int32), (0, 1))

    def work(number):
        for i in range(50):
            x[number, i] = number * i
            x[number, i : i + 1] += 1

    in_threads(work)
    assert np.array_equal(np.asarray(x), np.outer(range(THREADS), range(50)) + 1)


def test_plans_forgotten_while_others_run():
    x = tl.arange(6)

    def work(number):
        for _ in range(100):
            if number == 0:
                tl.plan.run.cache_clear()
            assert np.asarray(x * number + x).tolist() == [(number + 1) * i for i in range(6)]

    in_threads(work)


def test_the_cache_stays_within_its_bound():
    def work(number):
        for n in range(700):
            tl.zeros((number + 1, n), dtype=tl.int8)

    in_threads(work)
    info = tl.plan.run.cache_info()
    assert 0 < info.currsize <= info.maxsize


def test_large_copies_share_their_helpers():
    x = tl.reshape(tl.arange(600_000, dtype=tl.int32), (600, 1000))

    def work(_):
        return np.array_equal(np.asarray(tl.to_layout(x, (0, 1))), np.asarray(x))

    assert in_threads(work) == [True] * THREADS


def test_traces_that_begin_and_end_while_others_compute():
    x = tl.ones(3)

    def work(number):
        for _ in range(300):
            if number % 2:
                with tl.trace() as seen:
                    tl.reshape(x, (3, 1))
                assert len(seen) == 1
            else:
                assert tl.reshape(x, (1, 3)).shape == (1, 3)

    in_threads(work)


def test_the_last_reference_goes_in_any_thread_and_only_once():
    class Watched(np.ndarray):
        def __del__(self):
            gone.append(threading.get_ident())

    gone = []
    for _ in range(20):
        box = [tl.from_dlpack(np.from_dlpack(tl.asarray(np.ones(3).view(Watched))))] * THREADS
        in_threads(lambda _, box=box: box.pop())
    del box
    assert len(gone) == 20


# A finalizer that makes tensors may run wherever the interpreter makes an object, also where this
# package is about to enter a layout or a spec into its table.
FINALIZERS = """
import faulthandler, gc, itertools
import tensorlayout as tl
faulthandler.dump_traceback_later(500, exit=True)
sizes = itertools.count(5)
class Garbage:
    def __init__(self): self.itself = self
    def __del__(self): tl.zeros((next(sizes), 3))
for i in range(4_000):
    gc.set_threshold(5 + i % 97, 1, 1)
    Garbage()
    tl.zeros((i + 7, 2))
"""


def test_finalizers_that_use_the_package_find_no_lock_taken():
    command = [sys.executable, "-c", FINALIZERS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


# Threads that begin with CUDA at once: each makes the driver, and the structs of its launches.
FIRST_USE = """
import sys, threading
import numpy as np
import tensorlayout as tl
sys.setswitchinterval(1e-6)
barrier, drivers, errors = threading.Barrier(8), [], []

def begin(number):
    shape = (2, 3, 4, 5, 6)[: number % 4 + 1]
    expected = 2 * np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    barrier.wait()
    try:
        x = tl.reshape(tl.arange(expected.size, dtype=tl.float32, device="cuda"), shape)
        assert np.array_equal(np.asarray((x + x).to_device("cpu")), expected)
        turned = tl.permute_dims(x, tuple(range(x.ndim))[::-1])
        assert np.array_equal(np.asarray((turned + turned).to_device("cpu")), expected.T)
        from tensorlayout.cuda.engine.driver import driver
        drivers.append(driver())
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=begin, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(errors, len(set(map(id, drivers))))
"""


# Threads that ask for one struct at once, often.
STRUCTS = """
import sys, threading
from tensorlayout.cuda.engine import structs
sys.setswitchinterval(1e-6)
kinds = []

def ask(barrier, own):
    barrier.wait()
    own.add(structs.struct_type("include/padding.cuh", "Padding"))

for _ in range(300):
    structs.struct_type.cache_clear()
    structs._make_structure_class.cache_clear()
    barrier, own = threading.Barrier(4), set()
    threads = [threading.Thread(target=ask, args=(barrier, own)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    kinds.append(len(own))
print(set(kinds))
"""


def test_threads_share_the_class_of_a_struct():
    command = [sys.executable, "-c", STRUCTS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert (done.stdout, done.stderr) == ("{1}\n", "")


@needs_compiler
def test_cuda_first_used_by_several_threads():
    command = [sys.executable, "-c", FIRST_USE]
    variables = os.environ | {"TENSORLAYOUT_CUDA_SIMULATOR": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=600
    )
    assert (done.stdout, done.stderr) == ("[] 1\n", "")


LOCK = """
import sys
import tensorlayout as tl
tl.astype(tl.ones(3, dtype=tl.bfloat16) + 1, tl.int8)
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""


def test_a_build_without_the_interpreter_lock_stays_without():
    """A module that does not say that it needs none would bring it back, with a warning."""
    command = [sys.executable, "-W", "error", "-c", LOCK]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    locked = not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert (done.stdout, done.stderr) == (f"{locked}\n", "")
