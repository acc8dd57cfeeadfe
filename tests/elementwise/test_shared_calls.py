"""Large elementwise calls, cut into pieces that threads share: the same bits in the end."""

import numpy as np
import pytest
from elementwise_oracle import ONE, TABLE, TWO
from layouts import LAYOUTS
from tensors import DTYPES, as_dtype, fits, slots, slots_of, tensor_in

import tensorlayout as tl
from tensorlayout.cpu.elementwise import writing
from tensorlayout.cpu.engine import sharing, threads


@pytest.fixture
def small_pieces(monkeypatch):
    """Cut from a few elements on, and always shared."""
    monkeypatch.setattr(sharing, "LEAST_BYTES", 8)
    monkeypatch.setattr(sharing, "SURE_BYTES", 8)
    monkeypatch.setattr(sharing, "_PIECE", 8)
    monkeypatch.setattr(writing, "CHUNK_BYTES", 16)
    tl.plan.run.cache_clear()
    yield
    tl.plan.run.cache_clear()


def count(monkeypatch, n):
    monkeypatch.setattr(threads, "_forced", n)


def operands(name, layout, dtype):
    number = 1 if name in ONE else 2 if name in TWO else 3
    values = [slots(as_dtype(dtype), layout.required_size, seed) for seed in range(number)]
    return [tensor_in(layout, v)[0] for v in values]


SOME = [layout for _, layout in LAYOUTS if not layout.is_overlapping and layout.size > 1][::5]


@pytest.mark.parametrize("name", TABLE)
def test_pieces_give_what_the_whole_gives(name, small_pieces, monkeypatch):
    function, dtype = getattr(tl, name), DTYPES[TABLE[name][1]][-1]
    # Not single elements: of these NumPy's loops take strided ones for contiguous.
    monkeypatch.setattr(sharing, "_PIECE", 6 * as_dtype(dtype).itemsize)
    for layout in SOME:
        if not fits(layout, as_dtype(dtype)):
            continue
        argument = operands(name, layout, dtype)
        with monkeypatch.context() as whole:
            whole.setattr(sharing, "LEAST_BYTES", 1 << 40)
            whole.setattr(writing, "CHUNK_BYTES", 1 << 40)
            tl.plan.run.cache_clear()
            expected = function(*argument)
        tl.plan.run.cache_clear()
        for n in (2, 3):
            count(monkeypatch, n)
            result = function(*argument)
            assert result.layout == expected.layout
            assert slots_of(result).tobytes() == slots_of(expected).tobytes(), (name, layout, n)


def test_an_error_in_a_thread_reaches_the_caller(small_pieces, monkeypatch):
    count(monkeypatch, 3)
    x = tl.asarray(np.arange(64.0))
    calls = []

    def fail(box):
        calls.append(box)
        raise MemoryError

    share = sharing.share_pieces
    monkeypatch.setattr(sharing, "share_pieces", lambda boxes, move, n: share(boxes, fail, n))
    with pytest.raises(MemoryError):
        x + x
    assert 1 <= len(calls) <= 3  # no more pieces are dealt out after an error
