"""Forks while other threads are in the midst of anything, and the processors that threads use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from simulated import needs_compiler

import tensorlayout as tl

ROOT = Path(tl.__file__).parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")

# Without the interpreter lock, a dict has one of its own; CPython leaves it taken in the child.
forks_well = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="optional: the interpreter lock"
)

# `busy` runs in threads that never end, and `again` in each child; one that hangs is ended.
FORKS = """
import os, sys, signal, threading, itertools, time
import numpy as np
import tensorlayout as tl
from tensorlayout.cpu.engine import sharing, threads
from tensorlayout.cpu.copy.choose import Tuning, choose_copy

threads._forced = 2
sys.setswitchinterval(1e-5)
{what}

def for_ever(number):
    for turn in itertools.count():
        busy(number, turn)

for number in range(3):
    threading.Thread(target=for_ever, args=(number,), daemon=True).start()
hung = wrong = 0
for turn in range({forks}):
    time.sleep(0.001)
    child = os.fork()
    if not child:
        signal.alarm(200)
        try:
            again(turn)
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    hung += os.WIFSIGNALED(status)
    wrong += os.WIFEXITED(status) and os.WEXITSTATUS(status)
    if hung or wrong:
        break
print(hung, wrong, flush=True)
os._exit(0)
"""

LAYOUTS = """
def busy(number, turn):
    layout = tl.Layout((turn % 97 + 1, 3), (1, 97), offset=number)
    layout.at_origin.lowest, layout.form
    with tl.trace():
        tl.zeros((turn % 31, 2))

def again(turn):
    for n in range(100):
        busy(0, n)
    assert tl.Layout((5, 7)) is tl.Layout((5, 7))
"""

COPIES = """
a = np.arange(300 * 400, dtype="f4").reshape(300, 400)
plan = choose_copy((400, 300), (300, 1), (1, 400), 4, Tuning(thread_cost=0.0, threads=2))

def busy(number, turn):
    plan.run(np.empty((400, 300), "f4"), a.T)

def again(turn):
    for _ in range(3):
        b = np.zeros((400, 300), "f4")
        plan.run(b, a.T)
        assert (b == a.T).all()
    begun, caller = threading.Event(), threading.current_thread()

    def move(_):
        if threading.current_thread() is not caller:
            begun.set()
        assert begun.wait(60), "no helper came"

    sharing.share_pieces(range(2), move, 2)
"""

SIMULATOR = """
x = tl.ones((4, 5), dtype=tl.float32, device="cuda")
y = x + x

def busy(number, turn):
    tl.add(x, x)[tl.asarray([turn % 4], device="cuda")]

def again(turn):
    for n in range(4):
        assert (np.asarray((x + x)[tl.asarray([n], device="cuda")].to_device("cpu")) == 2).all()
"""


def forked(what, forks, **variables):
    """Return the output of a process with these threads: how many children hung and failed."""
    command = [sys.executable, "-W", "ignore", "-c", FORKS.format(what=what, forks=forks)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=600, env=os.environ | variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@forks_well
@pytest.mark.parametrize(("what", "forks"), [(LAYOUTS, 12), (COPIES, 40)], ids=["made", "copied"])
def test_children_of_forks_do_not_wait_for_threads_that_are_gone(what, forks):
    assert forked(what, forks) == ["0", "0"]


@forks_well
@needs_compiler
def test_children_use_the_simulator():
    assert forked(SIMULATOR, 10, TENSORLAYOUT_CUDA_SIMULATOR="1") == ["0", "0"]


# Which threads of the process may run where, besides those that NumPy's libraries started.
PINNED = """
import os, threading
import numpy as np
from tensorlayout.cpu.copy.choose import Tuning, choose_copy
from tensorlayout.cpu.engine.sharing import share_pieces
from tensorlayout.cpu.engine.threads import get_num_threads

def threads():
    return {int(each) for each in os.listdir("/proc/self/task")}

def processors(those):
    return set().union(*map(os.sched_getaffinity, those))

a = np.arange(600 * 700, dtype="f4").reshape(600, 700)
b = np.zeros((700, 600), "f4")
plan = choose_copy(b.shape, (600, 1), (1, 700), 4, Tuning(thread_cost=0.0, threads=2))
others = threads() - {threading.get_native_id()}
for _ in range(BEFORE):
    plan.run(b, a.T)
first = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {first})
assert get_num_threads() == 1
used = set()

def move(_):
    used.add(threading.get_native_id())
    plan.run(b, a.T)

for _ in range(20):
    share_pieces(iter(range(8)), move, 2)
assert processors(used) == {first}
if not BEFORE:
    assert processors(threads() - others) == {first}
print("ok")
"""


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="optional: two processors",
)
@pytest.mark.parametrize("before", [0, 5], ids=["at once", "after copies"])
def test_copies_stay_where_the_thread_was_pinned(before):
    command = [sys.executable, "-c", PINNED.replace("BEFORE", str(before))]
    unsaid = {k: v for k, v in os.environ.items() if k != "TENSORLAYOUT_THREADS"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=600, env=unsaid
    )
    assert (done.stdout, done.stderr) == ("ok\n", "")
