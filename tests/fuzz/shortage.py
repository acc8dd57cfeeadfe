"""Cases whose memory runs out: the n-th allocation fails, for each n, of NumPy's and of a device's.

What is raised is a MemoryError, operands are unchanged, but for a destination, which may be partly
written; and the same call holds afterwards. Allocations of Python's own objects do not fail here:
NumPy does not survive that.
"""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy_memory
from case import DifferenceError, Refused, _expected, _operands, _run, _untouched, _written, judge
from tensors import NARROW

import tensorlayout as tl
from tensorlayout.cuda.engine.driver import driver

# Types of other packages, and formats of blocks whose elements are of such types.
OTHERS = re.compile(rf"\b({'|'.join(['bfloat16', *NARROW])}|mxfp\w+|nvfp4)\b")
MOST = 200  # allocations of a call that fail, one in each try


def judge_short(case, traced=False):
    """`DifferenceError` for a case that does not survive that memory runs out."""
    expected = _expected(case)
    if isinstance(expected, Refused) or case.may_refuse or case.name == "views and writes":
        return
    if OTHERS.search(case.source()):  # NumPy does not survive it, for types of other packages
        return
    judge(case)  # plans are made and modules imported: what follows is the call
    for failing in _places():
        with failing() as fail_after:
            for n in range(MOST):
                try:
                    if not _short_of(case, expected, fail_after, n):
                        break
                except DifferenceError as error:
                    raise DifferenceError(f"allocation {n} failed: {error}") from None
    judge(case)


def _places():
    result = [] if numpy_memory.library() is None else [_of_numpy]
    return result if tl.default_device() == "cpu" else [*result, _of_device]


@contextmanager
def _of_numpy():
    with numpy_memory.ours() as allocator:

        def fail_after(n):
            reached = allocator.still_left() < 0
            allocator.fail_after(n)
            return reached

        yield fail_after


@contextmanager
def _of_device():
    """The simulator's memory, which its driver gives."""
    result = driver()
    allocate, left = result.allocate, -1

    def failing(nbytes, device):
        nonlocal left
        left -= 1
        if left == -1:
            msg = f"cuda:{device}: asked for {nbytes} bytes, and 0 bytes are free"
            raise MemoryError(msg)
        return allocate(nbytes, device)

    def fail_after(n):
        nonlocal left
        reached, left = left < 0, (n if n >= 0 else -2)
        return reached

    result.allocate = failing
    try:
        yield fail_after
    finally:
        del result.allocate


def _short_of(case, expected, fail_after, n):
    """Run a case of which the n-th allocation fails; False where it has none."""
    argument, space = _operands(case)
    error = None
    fail_after(n)
    try:
        _run(case, space)
    except Exception as raised:
        error = raised
    if not fail_after(-1):
        return False
    if error is not None and not isinstance(error, MemoryError):
        raise DifferenceError(f"raised {error!r}")
    if error is None and case.writes:
        _written(case, space, argument, expected)
    else:
        _untouched(case, argument, but=case.writes)
    return True
