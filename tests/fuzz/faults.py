"""What happens to a process while it computes: memory runs out, interrupts, threads, forks.

Each fault has numbered scenarios, which follow from a seed: text that says what is done, and a
function that does it and says what differs. They run in a process of their own (`isolated`), in
which a scenario that hangs is one that differs.
"""

from __future__ import annotations

import contextvars
import os
import random
import signal
import threading
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import running
import shortage
from case import DifferenceError, judge

import tensorlayout as tl
from tensorlayout.functions import dispatch


@dataclass(slots=True)
class Scenario:
    """One of a fault: what is done, as text; and a function that gives what differs, or nothing."""

    name: str
    source: str
    run: Callable[[], str]


def _case_holds(seed, number, few):
    """What differs in a case of the search, or nothing."""
    case, traced = running.case_of(seed, number, few)
    try:
        judge(case, traced)
    except DifferenceError as error:
        return f"{case.source()}: {error}"
    return ""


# --- memory --------------------------------------------------------------------------------------


def memory(seed, number, few):
    case, _ = running.case_of(seed, number, few)

    def run():
        try:
            shortage.judge_short(case)
        except DifferenceError as error:
            return str(error)
        return ""

    return Scenario(f"memory: {case.name}", case.source(), run)


# --- interrupts ----------------------------------------------------------------------------------

LARGE = 2048  # rows and columns of what is large enough for several threads

CALLS = (
    "x[...] = y",
    "x[...] = y.T",
    "x[::-1] = x",
    "x[m] = 1",
    "x[k] = y",
    "x += y",
    "x *= 2",
    "tl.put_along_axis(x, q, y, axis=1)",
    "z = tl.to_layout(y, (0, 1))",
    "z = y.T.copy()",
    "z = tl.astype(y.T, tl.float64)",
    "z = tl.concat([y, y.T])",
    "z = tl.take(y, k, axis=1)",
    "z = tl.sort(y, axis=0)",
    "z = tl.sum(y, axis=0)",
    "z = y[m]",
    "z = tl.stack([y, y.T, y])",
    "z = tl.reshape(y.T, (-1,))",
)


def _large():
    rng = np.random.default_rng(5)
    values = rng.random((LARGE, LARGE), dtype=np.float32)
    return {
        "tl": tl,
        "x": tl.asarray(np.zeros((LARGE, LARGE), np.float32), device=tl.default_device()),
        "y": tl.asarray(values, device=tl.default_device()),
        "m": tl.asarray(values > 0.5, device=tl.default_device()),
        "k": tl.asarray(rng.permutation(LARGE), device=tl.default_device()),
        "q": tl.asarray(rng.integers(0, LARGE, (LARGE, LARGE)), device=tl.default_device()),
    }


_kept = {}


def _kept_large():
    if not _kept:
        _kept.update(_large())
        for text in CALLS:
            exec(text, _kept)
    return _kept


def interrupt(seed, number, few):
    """Ctrl-C at some moment of a large call, once or some times; then all is as before."""
    chance = random.Random(f"{seed}/interrupt/{number}")
    text, moment, traced = chance.choice(CALLS), chance.random(), chance.random() < 0.2
    times, pause = chance.choice((1, 1, 2, 3)), chance.choice((2e-5, 1e-4, 5e-4))
    body = f"with tl.trace(): {text}" if traced else text
    again = f", {times} times, {pause * 1e6:.0f} us apart" if times > 1 else ""
    return Scenario(
        "interrupt",
        f"{body}  # interrupted after {moment:.3f} of its time{again}",
        lambda: _interrupted(body, (moment, times, pause), seed, number, few),
    )


def _interrupted(body, when, seed, number, few):
    space, device, code = _kept_large(), tl.default_device(), compile(body, "interrupt", "exec")
    if body not in _durations:
        start = time.perf_counter()
        exec(code, space)
        _durations[body] = time.perf_counter() - start
    space["x"][...] = 0
    if not _runs_into(code, space, _durations[body], *when):
        return ""
    first = _sum(space["x"])
    time.sleep(0.01)
    if first != _sum(space["x"]):
        return "written to after the interrupt was handled"
    return _as_before(device) or _still_works(space, seed, number, few)


_durations = {}


def _runs_into(code, space, taken, moment, times, pause):
    """Run code that is interrupted; whether it was. As many are caught as come, and none after."""
    came, armed = 0, False

    def interrupt(*_):
        nonlocal came
        if armed and came < times:
            came += 1
            raise KeyboardInterrupt

    def run(level):
        nonlocal armed
        try:
            if level:
                run(level - 1)
            else:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, max(taken * moment, 1e-6), pause)
                exec(code, space)
            armed = False  # in here, where one that comes just before is caught
        except KeyboardInterrupt:
            armed = False

    # The handler stays: a signal that is on its way would meet the default, which ends the process.
    signal.signal(signal.SIGALRM, interrupt)
    run(times)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return came > 0


def _sum(x):
    return zlib.crc32(memoryview(np.asarray(x.to_device("cpu"))).cast("B"))


def _as_before(device):
    if tl.default_device() != device:
        return f"the default device is now {tl.default_device()}"
    return "the trace goes on" if dispatch.watched else ""


def _still_works(space, seed, number, few):
    """Large copies end, and hold what they should; small calls hold."""
    z = tl.to_layout(space["y"], (0, 1))
    if not np.array_equal(np.asarray(z.to_device("cpu")), np.asarray(space["y"].to_device("cpu"))):
        return "a large copy is wrong"
    return _case_holds(seed, number, few)


# --- threads -------------------------------------------------------------------------------------


def threads(seed, number, few):
    """Cases of eight threads that start at once, some of them the first to use what they need."""
    numbers = range(number * 40, number * 40 + 40)

    def run():
        said: list[str] = []
        barrier = threading.Barrier(8)

        def work(n):
            barrier.wait()
            for k in numbers[n::8]:
                said.append(_said(seed, k, few))

        _in_threads(8, work)
        return next(filter(None, said), "")

    return Scenario("threads", f"cases {numbers[0]} to {numbers[-1]} in 8 threads", run)


def first(seed, number, few):
    """The first calls of a process, made by eight threads at once: a few functions, few kernels."""

    def run():
        barrier, said = threading.Barrier(8), []
        only = ("filled", "copied", "flip")

        def work(n):
            case, _ = running.case_of(seed, number * 8 + n, few, only)
            barrier.wait()
            for _ in range(3):
                try:
                    judge(case)
                except BaseException as error:
                    said.append(f"raised {error!r}")

        _in_threads(8, work)
        return said[0] if said else ""

    return Scenario("first", "the first calls of a process, by 8 threads at once", run)


def _said(seed, number, few):
    try:
        return _case_holds(seed, number, few)
    except BaseException as error:
        return f"raised {error!r}"


def _in_threads(count, work):
    started = [
        threading.Thread(target=contextvars.copy_context().run, args=(work, n), daemon=True)
        for n in range(count)
    ]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


# --- forks ---------------------------------------------------------------------------------------

LONGEST_CHILD = 20.0  # seconds


def fork(seed, number, few):
    """A fork while three threads compute: the child computes as well, and ends."""

    def run():
        stop = threading.Event()
        workers = threading.Thread(target=_in_threads, args=(3, lambda n: _busy(stop, n)))
        workers.start()
        try:
            time.sleep(random.Random(f"{seed}/fork/{number}").random() * 0.02)
            return _forked(lambda: _child(seed, number, few))
        finally:
            stop.set()
            workers.join()

    return Scenario("fork", "a fork while three threads make layouts and copy", run)


def _busy(stop, number):
    """New layouts all the time, and large copies."""
    y = _large_copy_source()
    size = 1
    while not stop.is_set():
        size = size % 5000 + 1
        tl.zeros((size, number + 2), dtype=tl.int8, layout=(0, 1)) + 1
        if number == 0:
            tl.to_layout(y, (0, 1))


def _large_copy_source():
    if "source" not in _kept:
        _kept["source"] = tl.ones((LARGE, LARGE), dtype=tl.float32)
    return _kept["source"]


def _child(seed, number, few):
    for n in range(900):
        tl.Layout((n + 1, 7, number % 9 + 1))
    copied = tl.to_layout(_large_copy_source(), (0, 1))
    if not bool(tl.all(copied == 1)):
        return 1
    return 2 if any(_said(seed, number * 5 + n, few) for n in range(5)) else 0


def _forked(work):
    with warnings.catch_warnings():  # that there are threads is what this is about
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 9
        try:
            status = work()
        finally:
            os._exit(status)
    end = time.monotonic() + LONGEST_CHILD
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"the child ended with {code}" if code else ""
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "the child does not end"


# --- processors ----------------------------------------------------------------------------------


def affinity(seed, number, few):
    """Copy threads stay on the processors that the process may use, as they are at that moment."""

    def run():
        every = os.sched_getaffinity(0)
        only = {random.Random(f"{seed}/{number}").choice(sorted(every))}
        tl.to_layout(_large_copy_source(), (0, 1))
        before = _worked()
        os.sched_setaffinity(0, only)
        try:
            for _ in range(5):
                tl.to_layout(_large_copy_source(), (0, 1))
        finally:
            os.sched_setaffinity(0, every)
        beyond = [t for t, spent in _worked().items() if spent > before.get(t, 0) + 200_000]
        beyond = [t for t in beyond if not os.sched_getaffinity(t) <= only]
        return f"copied on processors other than {only}" if beyond else ""

    return Scenario("affinity", "a large copy after the process was bound to one processor", run)


def _worked():
    """How long each copy thread has run, in ns."""
    tasks = [t.native_id for t in threading.enumerate() if "tensorlayout" in t.name]
    return {t: int(Path(f"/proc/self/task/{t}/schedstat").read_text().split()[0]) for t in tasks}


FAULTS = {f.__name__: f for f in (memory, interrupt, threads, first, fork, affinity)}
IN_EACH_PROCESS = {"first": 1}  # scenarios of a process; of others, as many as there are


def search(fault, seed, few, first, cases, seconds, findings):
    """Run scenarios one by one, from number `first` on, until time or their number is up."""
    number, end = first, time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while number - first < cases and time.monotonic() < end:
            running.begins(number)
            scenario = FAULTS[fault](seed, number, few)
            findings.counts[scenario.name] += 1
            said = scenario.run()
            if said:
                size = len(scenario.source)
                found = running.Difference(number, scenario.name, scenario.source, size, said)
                findings.take(found)
            number += 1
