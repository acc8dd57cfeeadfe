"""Blocks of a few elements: small tensors then take the ways of large ones, in several steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tensorlayout import plan
from tensorlayout.cpu import fill, fuse, gather, library, mask, reduce, scan, scatter, sort
from tensorlayout.cpu.copy import choose
from tensorlayout.cpu.elementwise import functions, staging, writing
from tensorlayout.cpu.engine import sharing, threads
from tensorlayout.cpu.reduce import fold

SMALL_STEPS = [
    *((fold, n, v) for n, v in [("SMALL", 0), ("BLOCK", 3), ("WIDE_RUN", 2), ("_ROW", 7)]),
    *((reduce, n, v) for n, v in [("SMALL", 0), ("WIDE_RUN", 2), ("_RUN", 2), ("_FEW", 5)]),
    *((reduce, n, v) for n, v in [("BLOCK", 1), ("_ROWS", 2), ("_WIDE", 2), ("_COLUMNS", 2)]),
    *((scan, n, v) for n, v in [("BLOCK", 3), ("_ROWS", 1), ("_ROW", 2), ("_SIDE_BY_SIDE", 2)]),
    *((gather, n, v) for n, v in [("MANY", 20), ("RUN", 3), ("BLOCK", 8), ("_COLUMNS", 2)]),
    *((gather, n, v) for n, v in [("_LONG", 8), ("_STAGE", 8)]),
    (scatter, "_SLICED", 2),
    *((mask, n, v) for n, v in [("_BLOCK", 32), ("_DENSE", 0.5)]),
    *((sharing, n, v) for n, v in [("LEAST_BYTES", 99), ("SURE_BYTES", 999), ("_PIECE", 8)]),
    (threads, "_forced", 3),
    (staging, "_needs_tiled_copy", lambda result, operand: True),
    *((staging, n, v) for n, v in [("LEAST", 4), ("SLAB_BYTES", 256), ("REPEATS", 2)]),
    *((sharing, "BLOCK_BYTES", 256), (writing, "CHUNK_BYTES", 64)),
    *((library, "_BLOCK", 16), (functions, "_SAMPLE", 8), (functions, "_LONG_RUN", 4)),
    *(
        (reduce, "_FEW_PLACES", 2),
        (sort, "_FEW", 2),
        (fill, "_CALL", 2),
        (choose, "FUSED_BYTES", 16),
    ),
    *((fuse, n, v) for n, v in [("LEAST", 0), ("BLOCK", 64)]),
    (writing, "_RUN", 3),
    (fold, "_COLUMNS", 3),
    (fold.block_boxes, "__defaults__", (3, 0)),
]


@contextmanager
def steps(small: bool) -> Iterator[None]:
    """Blocks of a few elements, if `small`."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in SMALL_STEPS if small else ():
            patch.setattr(module, name, value)
        plan.run.cache_clear()
        yield
    plan.run.cache_clear()
