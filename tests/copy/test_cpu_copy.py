"""Copies between layouts on the CPU: every case against numpy's own assignment."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import python

from tensorlayout.cpu.copy import choose
from tensorlayout.cpu.copy.choose import (
    Tuning,
    choose_copy,
    copy_boxes,
    copy_boxes_by_channel,
    fuse_contiguous_run,
    make_boxed_copy,
    make_buffered_box_mover,
    make_copy_loop,
    tile_extents,
)
from tensorlayout.cpu.engine import threads as copy_threads
from tensorlayout.cpu.engine.sharing import axis_slices
from tensorlayout.cpu.engine.threads import run_in_threads

WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
GUARD = 64  # bytes around everything that the destination covers

# As if every copy were a large one: cut up, shared by three threads, with tiny boxes.
EAGER = Tuning(
    small_elements=0, thread_cost=0.0, piece_cost=1.0, threads=3, tile_elements=8, channel_bytes=64
)


def even_cuts(loop, extents):
    """Boxes of these extents, smaller at the ends of the axes."""
    return tuple(axis_slices(axis.size, n) for axis, n in zip(loop.axes, extents, strict=True))


@dataclass(frozen=True)
class Side:
    """One side of a copy: strides in elements, and the bytes before the lowest element."""

    strides: tuple[int, ...]
    shift: int = 0

    def lowest(self, shape):
        if 0 in shape:
            return 0
        return sum((n - 1) * s for n, s in zip(shape, self.strides, strict=True) if s < 0)

    def slots(self, shape):
        if 0 in shape:
            return 0
        return 1 + sum((n - 1) * abs(s) for n, s in zip(shape, self.strides, strict=True))

    def memory(self, shape, itemsize, rng):
        size = 2 * GUARD + self.shift + self.slots(shape) * itemsize
        return rng.integers(0, 256, size).astype(np.uint8)

    def view(self, memory, shape, dtype):
        dtype = np.dtype(dtype)
        offset = GUARD + self.shift - self.lowest(shape) * dtype.itemsize
        strides = [s * dtype.itemsize for s in self.strides]
        return np.ndarray(shape, dtype, memory, offset, strides)


def packed(shape, order=None, pitch=0):
    """Strides of a packed block; `order` names the axes slowest first, `pitch` adds to the rows."""
    strides = [0] * len(shape)
    step = 1
    for k in reversed(range(len(shape)) if order is None else order):
        strides[k] = step
        step *= shape[k]
        step += pitch if step == shape[k] else 0
    return tuple(strides)


def check(run, shape, to, from_, dtype, seed=0):
    """`run` must leave the whole memory, guards and gaps too, as numpy's assignment does."""
    rng = np.random.default_rng(seed)
    itemsize = np.dtype(dtype).itemsize
    lent = from_.memory(shape, itemsize, rng)
    source = from_.view(lent, shape, dtype)
    memory = to.memory(shape, itemsize, rng)
    expected = memory.copy()
    to.view(expected, shape, dtype)[...] = source
    before = lent.copy()
    run(to.view(memory, shape, dtype), source)
    assert memory.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(lent, before)


def copy(shape, to, from_, dtype, tuning=EAGER, seed=0):
    plan = choose_copy(shape, to.strides, from_.strides, np.dtype(dtype).itemsize, tuning)
    check(plan.run, shape, to, from_, dtype, seed)
    return plan


@st.composite
def shapes(draw):
    shape = []
    for _ in range(draw(st.integers(0, 6))):
        most = max(1, 4000 // max(1, prod(shape)))
        shape.append(
            draw(
                st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5, 8, 17, 40, 130]).map(
                    lambda n, most=most: min(n, most)
                )
            )
        )
    return tuple(shape)


@st.composite
def sides(draw, shape, itemsize, broadcast):
    """Any order of axes, steps, gaps, flips, unaligned first bytes; repeats if `broadcast`."""
    strides = [0] * len(shape)
    step = draw(st.sampled_from([1, 1, 1, 2, 3]))
    for k in draw(st.permutations(range(len(shape)))):
        if broadcast and draw(st.sampled_from([False, False, False, True])):
            continue
        strides[k] = step if draw(st.sampled_from([True, True, False])) else -step
        step *= max(1, shape[k])
        step += draw(st.sampled_from([0, 0, 0, 1, 5]))
    return Side(tuple(strides), draw(st.sampled_from([0, 0, 1, itemsize // 2])))


@st.composite
def copies(draw):
    shape, itemsize = draw(shapes()), draw(st.sampled_from(sorted(WORDS)))
    to = draw(sides(shape, itemsize, broadcast=False))
    return shape, to, draw(sides(shape, itemsize, broadcast=True)), itemsize


@settings(deadline=None, max_examples=150)
@given(copies(), st.sampled_from([EAGER, Tuning(small_elements=0, threads=1), Tuning()]))
def test_any_copy_is_what_numpy_does(case, tuning):
    shape, to, from_, itemsize = case
    copy(shape, to, from_, WORDS[itemsize], tuning)


@settings(deadline=None, max_examples=150)
@given(copies(), st.data(), st.integers(1, 3))
def test_every_mover_with_any_boxes(case, data, threads):
    shape, to, from_, itemsize = case
    if 0 in shape or prod(shape) == 1:
        return
    loop = make_copy_loop(shape, to.strides, from_.strides, itemsize)
    if data.draw(st.booleans()):
        loop = fuse_contiguous_run(loop)
    room = data.draw(st.sampled_from([1, 2, 7, 32, 300, 5000]))
    cuts = even_cuts(loop, tile_extents(loop, room))
    check(make_boxed_copy(loop, cuts, threads, copy_boxes), shape, to, from_, WORDS[itemsize])
    check(
        make_boxed_copy(loop, cuts, threads, make_buffered_box_mover(loop, cuts)),
        shape,
        to,
        from_,
        WORDS[itemsize],
    )
    whole = (*cuts[:-1], (slice(0, loop.axes[-1].size),))
    check(
        make_boxed_copy(loop, whole, threads, copy_boxes_by_channel),
        shape,
        to,
        from_,
        WORDS[itemsize],
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(copies(), min_size=1, max_size=5), st.sampled_from([1, 200, 10**6]))
def test_several_copies_at_once(cases, group):
    rng, pairs, expected = np.random.default_rng(2), [], []
    for shape, to, from_, itemsize in cases:
        here, there = to.memory(shape, itemsize, rng), from_.memory(shape, itemsize, rng)
        word, wanted = WORDS[itemsize], here.copy()
        to.view(wanted, shape, word)[...] = from_.view(there, shape, word)
        pairs.append((to.view(here, shape, word), from_.view(there, shape, word)))
        expected.append((here, wanted))
    plans = [choose_copy(s, to.strides, of.strides, n, EAGER) for s, to, of, n in cases]
    sizes = [prod(shape) * itemsize for shape, _, _, itemsize in cases]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "TUNING", EAGER)
        patch.setattr(choose, "_GROUP", group)
        choose.make_combined_copy(plans, sizes)(*zip(*pairs, strict=True))
    for here, wanted in expected:
        assert here.tobytes() == wanted.tobytes()


NCHW, NHWC = (0, 1, 2, 3), (0, 2, 3, 1)

# name, case, shape, destination strides, source strides, bytes of an element, and why
TABLE = [
    # A size of zero leaves nothing to do, whatever the strides.
    ("empty", "empty", (3, 0, 5), packed((3, 0, 5)), (0, 0, 0), 4),
    # 2047 elements: numpy is through before anything else is set up.
    ("small transpose", "small", (89, 23), packed((89, 23)), packed((89, 23), (1, 0)), 4),
    ("one element", "small", (), (), (), 8),
    # Both packed in one order, not row-major: all axes merge into one run.
    ("same order", "flat", (40, 30, 20), *[packed((40, 30, 20), (2, 0, 1))] * 2, 2),
    # Flipped on both sides along the same axis: the loop counts up instead.
    ("both flipped", "flat", (5000,), (-1,), (-1,), 8),
    # A crop: rows of 100 out of 128 elements, contiguous on both sides.
    ("crop", "rows", (300, 100), packed((300, 100)), packed((300, 100), pitch=28), 4),
    # The same with rows longer than a void element may be.
    ("long rows", "rows", (30, 1000), packed((30, 1000)), packed((30, 1000), pitch=24), 4),
    # Rows upside down: only the order of the runs differs.
    ("flipped rows", "rows", (60, 90), packed((60, 90)), (-90, 1), 4),
    # Height and width exchanged, three bytes stay together: elements of three bytes, whose
    # destination rows are short enough that the source's lines stay near.
    ("pixels", "rows", (50, 60, 3), packed((50, 60, 3)), packed((50, 60, 3), (1, 0, 2)), 1),
    # Each row of the source fills many of the destination: a broadcast first axis.
    ("repeated rows", "rows", (50, 60, 40), packed((50, 60, 40)), (0, 40, 1), 4),
    # Every second element, and each of them 50 times.
    ("repeated steps", "repeated", (50, 60), packed((50, 60)), (0, 2), 4),
    # Reversed elements: contiguous nowhere, walked well in either order.
    ("reversed", "strided", (5000,), (1,), (-1,), 4),
    ("stepped", "strided", (5000,), (1,), (3,), 4),  # Every third element.
    ("filled rows", "strided", (80, 70), packed((80, 70)), (1, 0), 4),  # One value a row.
    # One value a row of single bytes: numpy's fill, so cheap that threads wait for larger ones.
    ("filled bytes", "strided", (200, 300), packed((200, 300)), (1, 0), 1),
    # Three channels apart: the destination's rows are long, the source's lines hold whole pixels.
    ("NHWC to NCHW", "strided", (2, 3, 50, 60), packed((2, 3, 50, 60)),
     packed((2, 3, 50, 60), NHWC), 4),
    # 100 rows of 400 bytes: 100 cache lines wait for their next element, and stay near.
    ("near transpose", "strided", (100, 100), packed((100, 100)), packed((100, 100), (1, 0)), 4),
    # The destination's fastest axis has three positions: a loop of three costs more to enter
    # than to run.
    ("NCHW to NHWC", "channels", (2, 3, 50, 60), packed((2, 3, 50, 60), NHWC),
     packed((2, 3, 50, 60)), 4),
    # Grey to colour: each value three times, and a loop of three again.
    ("grey to RGB", "channels", (90, 80, 3), packed((90, 80, 3)), (80, 1, 0), 1),
    # Rows of 512 elements, a power of two: all lines of a column fall into few sets.
    ("512 square", "tiles", (512, 512), packed((512, 512)), packed((512, 512), (1, 0)), 4),
    # No power of two, but 1000 lines are more than the near cache holds.
    ("1000 x 300", "tiles", (300, 1000), packed((300, 1000)), packed((300, 1000), (1, 0)), 1),
    # Pairs of bytes stay together and make elements of two bytes, 1024 bytes apart.
    ("pairs", "tiles", (256, 512, 2), packed((256, 512, 2)), packed((256, 512, 2), (1, 0, 2)), 1),
    # Rows of 16 floats, of which lines are read again and again; of 16 bytes, or in a second cache,
    # that costs less than a buffer, and with gaps between rows a buffer costs more.
    ("thin rows", "tiles", (50000, 16), (1, 50000), (16, 1), 4),
    ("thin rows of bytes", "strided", (50000, 16), (1, 50000), (16, 1), 1),
    ("few thin rows", "strided", (1000, 16), (1, 1000), (16, 1), 4),
    ("thin rows with gaps", "strided", (50000, 12), (1, 50000), (13, 1), 4),
    # 256 channels to planes: rows of 1024 bytes in the source.
    ("wide NHWC to NCHW", "tiles", (4, 256, 14, 14), packed((4, 256, 14, 14)),
     packed((4, 256, 14, 14), NHWC), 4),
    # All axes reversed: the fastest axes of the two sides are the slowest of the other.
    ("reversed axes", "tiles", (20, 24, 28, 32), packed((20, 24, 28, 32)),
     packed((20, 24, 28, 32), (3, 2, 1, 0)), 4),
    # The same with a repeated axis among them, held once in the buffer.
    ("reversed, repeated", "tiles", (64, 5, 512), packed((64, 5, 512)), (1, 0, 256), 4),
]  # fmt: skip


@pytest.mark.parametrize(("name", "case", "shape", "to", "from_", "itemsize"), TABLE,
                         ids=[row[0] for row in TABLE])  # fmt: skip
@pytest.mark.parametrize("threads", [1, 4])
def test_each_layout_reaches_its_case(name, case, shape, to, from_, itemsize, threads):
    tuning = Tuning(threads=threads, thread_cost=0.0 if threads > 1 else 1e99)
    plan = copy(shape, Side(to), Side(from_), WORDS[itemsize], tuning)
    assert plan.case == case
    assert plan.threads == (1 if case in ("empty", "small") else threads)


def test_a_plan_is_pure_and_can_be_shared_by_threads():
    # Eight threads run few plans at once, on memory of their own, with helpers among them.
    shape = (40, 50, 60)
    sources = [packed(shape, order) for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1))]
    plans = [choose_copy(shape, packed(shape), s, 4, EAGER) for s in sources]
    start = threading.Barrier(8)

    def work(seed):
        start.wait()
        for turn in range(6):
            k = (seed + turn) % len(plans)
            check(plans[k].run, shape, Side(packed(shape)), Side(sources[k]), "f4", seed)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()


def test_a_copy_within_a_copy_has_a_buffer_of_its_own():
    # A finalizer may run a copy in the middle of another one, in the same thread.
    shape = (64, 64)
    to, from_ = Side(packed(shape)), Side(packed(shape, (1, 0)))
    loop = make_copy_loop(shape, to.strides, from_.strides, 4)
    cuts = even_cuts(loop, (16, 16))
    move = make_buffered_box_mover(loop, cuts)

    def interrupted(destination, source, boxes):
        def disturbed():
            for box in boxes:
                check(make_boxed_copy(loop, cuts, 1, move), shape, to, from_, "u4", seed=7)
                yield box

        move(destination, source, disturbed())

    check(make_boxed_copy(loop, cuts, 1, interrupted), shape, to, from_, "u4")


def test_share_raises_what_a_helper_raises(monkeypatch):
    """Interrupts of the caller: `functions/test_interrupts.py`."""
    monkeypatch.setattr(copy_threads, "_forced", 2)
    begun, caller = threading.Event(), threading.current_thread()

    def helper_fails(pieces):
        if threading.current_thread() is caller:
            begun.wait(10)
            return
        begun.set()
        raise MemoryError("helper")

    with pytest.raises(MemoryError, match="helper"):
        run_in_threads(helper_fails, range(4), 2)


SCRIPT = """
import atexit
import numpy as np
from tensorlayout.cpu.copy.choose import Tuning, choose_copy

def large(message):
    a = np.arange(600 * 700, dtype="f4").reshape(600, 700)
    b = np.zeros((700, 600), "f4")
    plan = choose_copy(b.shape, (600, 1), (1, 700), 4, Tuning(thread_cost=0.0, threads=2))
    assert plan.threads == 2
    plan.run(b, a.T)
    assert (b == a.T).all()
    print(message, flush=True)

large("before")
atexit.register(large, "exit")
"""


def test_copies_at_exit():
    # No new threads start when Python shuts down.
    assert python("-W", "ignore", "-c", SCRIPT).split() == ["before", "exit"]
