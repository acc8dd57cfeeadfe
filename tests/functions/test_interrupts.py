"""Interrupts at any instruction: nothing is written afterwards, and all is as it was."""

import functools
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from interrupting import at_each_instruction

import tensorlayout as tl
from tensorlayout import devices
from tensorlayout.cpu.copy.choose import Tuning, choose_copy
from tensorlayout.cpu.engine import threads as copy_threads
from tensorlayout.cpu.engine.threads import share_pieces
from tensorlayout.cuda.engine import counting, faults, simulator
from tensorlayout.exchange import dlpack
from tensorlayout.functions import dispatch
from tensorlayout.layout import once
from tensorlayout.scopes import Scope

ROOT = Path(tl.__file__).parents[1]


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    """Copies use helpers, also where there is one processor."""
    monkeypatch.setattr(copy_threads, "_affinity", lambda: {0, 1})


class Shared:
    """Pieces for two threads; a helper writes at the end of each of its own."""

    def __init__(self, fails):
        self.caller, self.fails = threading.get_ident(), fails
        self.begun, self.ended = threading.Event(), threading.Event()
        self.late = []

    def move(self, _):
        if threading.get_ident() != self.caller:
            self.begun.set()
            time.sleep(1e-3)
            self.late.append(self.ended.is_set())
        else:
            self.begun.wait(5)  # no helper comes to a call that ends before it has one
            if self.fails:
                raise KeyboardInterrupt


@pytest.mark.parametrize("fails", [False, True], ids=["once", "twice"])
def test_no_helper_writes_after_an_interrupt(fails):
    calls = []

    def work():
        calls.append(Shared(fails))
        share_pieces(iter(range(4)), calls[-1].move, 2)

    for _ in at_each_instruction(work, step=2):
        calls[-1].ended.set()
        time.sleep(3e-3)
    assert not any(any(call.late) for call in calls)
    assert sum(call.begun.is_set() for call in calls) > 50


def test_interrupts_while_a_helper_is_waited_for():
    begun, written = threading.Event(), []
    caller = threading.get_ident()

    def interrupt(*_):
        if not written:  # a signal may be handled late, after all is over
            raise KeyboardInterrupt

    def move(_):
        if threading.get_ident() == caller:
            begun.wait(120)
            raise KeyboardInterrupt
        begun.set()
        for _ in range(20):
            signal.pthread_kill(caller, signal.SIGINT)
            time.sleep(1e-3)
        written.append(True)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            share_pieces(iter(range(4)), move, 2)
        assert written == [True]  # and no further piece was begun
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_copy_that_was_interrupted_is_over():
    a = np.arange(300 * 400, dtype=np.int32).reshape(300, 400)
    b = np.zeros((400, 300), np.int32)
    plan = choose_copy(b.shape, (300, 1), (1, 400), 4, Tuning(thread_cost=0.0, threads=2))
    assert plan.threads == 2
    for _ in at_each_instruction(lambda: plan.run(b, a.T), step=3):
        b[...] = 0
        assert not b.any()
        plan.run(b, a.T)
        assert np.array_equal(b, a.T)


# A timer interrupts copies at any moment; what is written to `b` afterwards is counted. The loop
# also ends if a callback swallows the exception.
TIMER = """
import faulthandler, random, signal
import numpy as np
from tensorlayout.cpu.engine import threads
from tensorlayout.cpu.copy.choose import Tuning, choose_copy

faulthandler.dump_traceback_later(500, exit=True)
threads._affinity = lambda: {0, 1}

def interrupt(*_):
    global armed
    armed = False
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
a = np.arange(900 * 1000, dtype="f4").reshape(900, 1000)
b = np.zeros((1000, 900), "f4")
plan = choose_copy(b.shape, (900, 1), (1, 1000), 4, Tuning(thread_cost=0.0, threads=2))
rng = random.Random(1)
came = late = 0

# A function: Python 3.13 let an exception at the jump back of a loop escape the `try` around it.
def copy_until_interrupted():
    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 3e-3))
    while armed:
        plan.run(b, a.T)

while came < 150:
    armed = True
    try:
        copy_until_interrupted()
    except KeyboardInterrupt:
        pass
    came += 1
    b[...] = -1
    for _ in range(3):
        late += not (b == -1).all()
plan.run(b, a.T)
print(late, (b == a.T).all())
"""


def test_a_timer_that_interrupts_copies():
    command = [sys.executable, "-c", TIMER]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert (done.stdout.split(), done.returncode) == (["0", "True"], 0), done.stderr


SCOPES = {
    "trace": (lambda: tl.trace(), lambda: bool(dispatch.watched)),
    "device": (lambda: tl.using_device("cuda"), lambda: tl.default_device() != "cpu"),
    "strict": (lambda: faults.strict_indexing(), lambda: faults._is_strict()),
    "no copies": (lambda: tl.no_copies(), lambda: bool(dispatch.watched)),
    "checks": (lambda: simulator.checking(), lambda: counting._active.get() is not None),
}


@pytest.mark.parametrize("name", SCOPES)
def test_blocks_that_are_interrupted_leave_nothing_behind(name, monkeypatch):
    monkeypatch.setattr(devices, "available", lambda: (devices.CPU, devices.Device("cuda", 0)))
    make, is_on = SCOPES[name]
    seen = []

    def work():
        with make():
            seen.append(is_on())

    interrupts = [is_on() for _ in at_each_instruction(work)]
    assert len(interrupts) > 20
    assert not any(interrupts)
    assert not is_on()
    assert seen.count(True) == len(seen) > 0


def test_blocks_around_one_that_was_cut_off_still_count():
    scope = Scope("test")

    def work():
        with scope.saying("inner"):
            pass

    with scope.saying("outer"):
        assert {scope.get() for _ in at_each_instruction(work)} == {"outer"}
    assert scope.get() is None
    assert not scope.blocks


def test_a_block_that_goes_before_it_was_known_goes_in_silence(capfd):
    scope = Scope("test")
    with scope.saying("y"):
        reference = type(next(iter(scope.blocks)))
    block = scope.saying("x")
    known = reference(block, scope.blocks.discard)  # nobody asks for its hash
    del block
    assert known() is None
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", [dlpack._Owner, simulator.SimulatedBuffer])
def test_an_object_that_was_never_initialised_goes_in_silence(kind, capfd):
    """An interrupt may come between `__new__` and the first line of `__init__`."""
    kind.__new__(kind)
    assert capfd.readouterr().err == ""


def test_plans_after_an_interrupt():
    values = np.arange(12.0).reshape(3, 4)
    x = tl.asarray(values)

    def work():
        tl.plan.run.cache_clear()
        return tl.sum(x.T + x.T, axis=0)

    expected = (2 * values).sum(axis=1)
    for _ in at_each_instruction(work, step=37):
        assert np.array_equal(np.asarray(tl.sum(x.T + x.T, axis=0)), expected)
        assert np.array_equal(np.asarray(work()), expected)


def test_layouts_and_specs_after_an_interrupt():
    def work():
        x = tl.zeros((3, 5), dtype=tl.int16, layout=(0, 1))
        return x._spec, x.layout

    for _ in at_each_instruction(work, step=7):
        assert work() == work()
        (spec, layout), (again, other) = work(), work()
        assert spec is again
        assert layout is other


def test_a_write_that_was_interrupted_is_over():
    x = tl.to_layout(tl.zeros((40, 30), dtype=tl.int32), (0, 1))

    def work():
        x[...] = 1
        x[1:, ::2] += 1

    for _ in at_each_instruction(work, step=5):
        x[...] = 7
        assert (np.asarray(x) == 7).all()
    work()
    assert np.asarray(x).sum() == 40 * 30 + 39 * 15


def test_an_interned_value_outlives_a_forgetting_that_was_cut_off():
    class Value:
        pass

    table = once.Interned()

    def work():
        table.entered("key", Value())

    for _ in at_each_instruction(work):
        value = Value()
        assert table.entered("key", value) is table.get("key") is value
        del value


def test_what_is_made_at_once_is_one_object():
    meeting = threading.Barrier(2)

    @once.once
    def make(_):
        meeting.wait()
        return object()

    class Holder:
        @once.cached_property
        def made(self):
            meeting.wait()
            return object()

    holder, found = Holder(), []
    for ask in (functools.partial(make, 1), lambda: holder.made):
        threads = [threading.Thread(target=lambda ask=ask: found.append(ask())) for _ in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first, second = found[-2:]
        assert first is second is ask()
