"""Number of Python functions that a warm call on 8 x 8 float32 enters, a figure without noise."""

import contextvars
import re

import numpy as np
import pytest

import tensorlayout as tl
from benchmarks.measure import python_calls

VALUES = np.arange(64, dtype=np.float32).reshape(8, 8)
X = tl.asarray(VALUES)
MASK = X > 30
Y, AT = X + 1, tl.asarray([1, 3, 5])

# At most so many. NumPy's own functions in Python are among them.
MOST = """
8 tl.arange(8) | 6 tl.argmax(X) | 7 tl.argsort(X) | 8 tl.asarray(VALUES)
6 tl.astype(X, tl.float64) | 5 tl.clip(X, 1, 5) | 6 tl.concat([X, X]) | 3 X.copy()
6 tl.cumulative_sum(X, axis=0) | 8 tl.from_dlpack(VALUES) | 9 tl.full((8, 8), 2.0) | 6 X @ X
7 tl.nonzero(MASK) | 2 np.asarray(X) | 7 tl.sort(X) | 13 tl.stack([X, X]) | 6 tl.sum(X, axis=1)
5 tl.where(MASK, X, X) | 7 tl.zeros((8, 8)) | 2 X + X | 2 X + 1.5 | 3 Y.__iadd__(X) | 3 X[1]
5 X[1, 2] | 5 X[1:, ::2] | 6 X[..., None] | 5 X[MASK] | 4 X[AT] | 8 Y.__setitem__(1, 0)
10 Y.__setitem__((slice(1, None), slice(None, None, 2)), 0) | 29 list(X) | 3 X.T | 3 X.mT
7 tl.reshape(X, (4, 16)) | 6 tl.permute_dims(X, (1, 0)) | 6 tl.expand_dims(X, axis=0)
7 tl.broadcast_to(X, (3, 8, 8)) | 6 tl.flip(X, axis=0)
"""
MOST = [line.strip().split(" ", 1) for line in re.split(r"[|\n]", MOST) if line]


@pytest.mark.parametrize(("most", "call"), MOST)
def test_warm_call(most, call):
    run = eval(f"lambda: {call}")
    # Outside of whatever block another test has left behind.
    assert contextvars.Context().run(python_calls, run) <= int(most)
