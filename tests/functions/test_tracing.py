"""Traces: what each operation did, to which layouts, with how many bytes."""

import threading

import pytest

import tensorlayout as tl
from tensorlayout.functions import dispatch

pytestmark = pytest.mark.usefixtures("device")


def test_views_runs_and_layout_conversions_are_told_apart():
    x = tl.zeros((3, 4), dtype=tl.float32)
    with tl.trace() as seen:
        y = tl.permute_dims(x, (1, 0))
        z = y + y
        tl.to_layout(z, (1, 0))
        tl.to_layout(x, (1, 0), copy=True)
        x[0]
    assert [(r.name, r.kind) for r in seen] == [
        *(("permute_dims", "view"), ("add", "compute"), ("to_layout", "relayout")),
        *(("to_layout", "copy"), ("__getitem__", "view")),
    ]


def test_memory_that_is_left_as_it_is_was_not_written():
    with tl.trace() as seen:
        x = tl.empty((3, 4), dtype=tl.int32)
        tl.empty_like(x)
        tl.zeros_like(x)
    assert [record.bytes_written for record in seen] == [0, 0, 48]
    assert [record.kind for record in seen] == ["compute"] * 3


def test_what_operations_copy_is_recorded():
    x = tl.zeros((2, 3), dtype=tl.float64)
    for call, copied in [
        *((lambda: tl.reshape(x, (6,)), 0), (lambda: tl.reshape(x.T, (6,)), 48)),
        *((lambda: tl.concat([x, x]), 96), (lambda: tl.astype(x, tl.float32), 24)),
        *((lambda: tl.flip(x), 0), (lambda: x.T * 2, 0)),
    ]:
        with tl.trace() as seen:
            call()
        assert seen.bytes_copied == copied


def test_an_assignment_is_recorded_with_what_was_written():
    x, y = tl.zeros((4, 4), dtype=tl.int16), tl.ones((2, 2), dtype=tl.int16)
    with tl.trace() as seen:
        x[::2, ::2] = y
    view, write = seen
    assert view.kind == "view"
    assert (write.name, write.kind) == ("__setitem__", "copy")
    assert (write.bytes_read, write.bytes_written) == (8, 8)
    assert write.output == tl.Layout((2, 2), (8, 2))


def test_blocks_nest_and_the_innermost_records():
    x = tl.zeros((2,))
    with tl.trace() as outer:
        x + 1
        with tl.trace() as inner:
            x + 2
        x + 3
    assert (len(outer), len(inner)) == (2, 1)


def test_other_threads_are_not_recorded():
    x = tl.zeros((2,))
    with tl.trace() as seen:
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
    assert len(seen) == 0


def test_off_means_no_observer_even_after_an_error():
    def failing():
        with tl.trace():
            tl.zeros((2,)) + tl.zeros((3,))

    with pytest.raises(ValueError, match="could not be broadcast"):
        failing()
    assert not dispatch.watched


def without_kernels(text):
    """The lines of a table; on CUDA kernels stand below what launched them."""
    return [line for line in text.splitlines() if not line.startswith("  ")]


def test_the_table_has_a_line_for_each_record_and_one_of_totals():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.trace() as seen:
        tl.to_layout(x, "WH")
    head, line, totals = without_kernels(str(seen))
    words = ["line", "operation", "kind", "layouts", "dtype", "read", "written", "us", "GB/s"]
    assert head.split()[:9] == words  # on a GPU, more
    assert "test_tracing.py:" in line.split()[0]
    assert line.split()[1:8] == [
        *("to_layout", "relayout", "(2,3):(3,1)", "->", "(2,3):(1,2)", "float32", "24")
    ]
    begin = "1 operation (1 relayout): 24 bytes read, 24 written, 24 of them copied, "
    assert totals.startswith(begin)
