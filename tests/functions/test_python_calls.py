"""How many Python functions a warm call on 8 x 8 float32 enters: what noise cannot move."""

import contextvars
import operator

import numpy as np
import pytest

import tensorlayout as tl
from benchmarks.measure import python_calls

VALUES = np.arange(64, dtype=np.float32).reshape(8, 8)
X = tl.asarray(VALUES)
MASK = X > 30
Y, AT = X + 1, tl.asarray([1, 3, 5])

# At most so many. NumPy's own functions in Python are among them.
MOST = {
    "arange": (lambda: tl.arange(8), 9),
    "argmax": (lambda: tl.argmax(X), 6),
    "argsort": (lambda: tl.argsort(X), 7),
    "asarray of an array": (lambda: tl.asarray(VALUES), 8),
    "astype": (lambda: tl.astype(X, tl.float64), 6),
    "clip": (lambda: tl.clip(X, 1, 5), 7),
    "concat": (lambda: tl.concat([X, X]), 6),
    "copy": (lambda: X.copy(), 5),
    "cumulative_sum": (lambda: tl.cumulative_sum(X, axis=0), 6),
    "from_dlpack": (lambda: tl.from_dlpack(VALUES), 9),
    "full": (lambda: tl.full((8, 8), 2.0), 9),
    "matmul": (lambda: X @ X, 6),
    "nonzero": (lambda: tl.nonzero(MASK), 7),
    "np.asarray": (lambda: np.asarray(X), 2),
    "sort": (lambda: tl.sort(X), 7),
    "stack": (lambda: tl.stack([X, X]), 13),
    "sum": (lambda: tl.sum(X, axis=1), 6),
    "where": (lambda: tl.where(MASK, X, X), 5),
    "zeros": (lambda: tl.zeros((8, 8)), 9),
    "x + x": (lambda: X + X, 2),
    "x + 1.5": (lambda: X + 1.5, 2),
    "x += x": (lambda: operator.iadd(Y, X), 3),
    "x[1]": (lambda: X[1], 3),
    "x[1, 2]": (lambda: X[1, 2], 5),
    "x[1:, ::2]": (lambda: X[1:, ::2], 5),
    "x[..., None]": (lambda: X[..., None], 6),
    "x[mask]": (lambda: X[MASK], 5),
    "x[positions]": (lambda: X[AT], 4),
    "x[1] = 0": (lambda: operator.setitem(Y, 1, 0), 8),
    "x[1:, ::2] = 0": (lambda: operator.setitem(Y, (slice(1, None), slice(None, None, 2)), 0), 10),
    "iteration": (lambda: list(X), 29),
    "x.T": (lambda: X.T, 3),
    "x.mT": (lambda: X.mT, 3),
    "reshape": (lambda: tl.reshape(X, (4, 16)), 7),
    "permute_dims": (lambda: tl.permute_dims(X, (1, 0)), 6),
    "expand_dims": (lambda: tl.expand_dims(X, axis=0), 6),
    "broadcast_to": (lambda: tl.broadcast_to(X, (3, 8, 8)), 7),
    "flip": (lambda: tl.flip(X, axis=0), 6),
}


@pytest.mark.parametrize("name", MOST)
def test_warm_call(name):
    call, most = MOST[name]
    # Outside of whatever block another test has left behind.
    assert contextvars.Context().run(python_calls, call) <= most
