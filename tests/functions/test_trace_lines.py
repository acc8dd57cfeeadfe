"""Lines of the user's program in records: the program's comments say what each line calls."""

import asyncio
import contextvars
import copy
import functools
import operator
import pickle
import threading

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout.tracing.record import Line

# Behind each line what a trace has of it, in order; a line without has nothing.
PROGRAM = """\
y = x + 1  # add
y = x ** 2 + x * x  # square multiply add
y = x @ x.T  # T matmul
y = x.copy()  # copy
y += x  # add
y[...] = x  # __setitem__
y[1:] = x[:-1]  # __getitem__ __setitem__ __setitem__
y = x[1, 2:]  # __getitem__
y = x[mask]  # __getitem__
y = float(x[0, 0])  # __getitem__
y = x.T  # T
y = x.T.reshape(-1)  # T reshape
y = x.transpose(1, 0)  # permute_dims
y = tl.to_layout(x, "WH")  # to_layout
y = tl.stack([x, x])  # stack stack stack
y = tl.linalg.trace(x)  # diagonal trace
y = tl.fft.fft(x)  # fft
y = tl.asarray(swapped)  # asarray
y = tl.asarray(x, copy=True)  # asarray
y = tl.asarray([array, array])  # asarray
y = x.__dlpack__()  # __dlpack__
y = np.asarray(z, dtype="complex64")  # __array__
y = np.sum(x)  # sum
y = copy.deepcopy(x)  # copy
y = pickle.dumps(x[:, ::2])  # __getitem__ __reduce__
y = list(x)  # __getitem__ __getitem__ __getitem__
y = list(map(tl.negative, [x, x]))  # negative negative
y = functools.reduce(operator.add, [x, x, x])  # add add
y = [row * 2 for row in (x, x)]  # multiply multiply
y = (lambda: x - 2)()  # subtract
y = fused(x, 3.0)  # fused
y = fused(x, 4.0, out=x)  # fused
def function(a):
    b = a * 2  # multiply
    return tl.exp(b)  # exp
y = function(x)
class Model:
    def __call__(self, a):
        return a / 2  # divide
    @property
    def weight(self):
        return tl.ones_like(x)  # ones_like
y = Model()(x)
y = Model().weight
def generator():
    yield x + 3  # add
y = next(generator())
y = tl.reshape(  # reshape
    x,
    (4, 3),
)
y = (
    x  # add
    + 5
)
async def task():
    return x * 7  # multiply
y = asyncio.run(task())
thread = threading.Thread(target=contextvars.copy_context().run, args=(function, x))
thread.start()
thread.join()
y = [tl.flip(x),  # flip
     tl.squeeze(x[None], axis=0)]  # __getitem__ squeeze
with tl.trace() as inner:
    y = x + 9
exec("y = x + 11")
"""


@tl.fuse
def fused(a, b):
    return a * b + 1.0


def setting():
    return {
        "x": tl.reshape(tl.asarray(np.arange(12.0)), (3, 4)),
        "z": tl.zeros((2, 2), dtype=tl.complex128),
        "mask": tl.asarray(np.eye(3, 4, dtype=bool)),
        "at": tl.asarray(np.array([0, 2])),
        "array": np.ones(3),
        "swapped": np.arange(3.0).astype(">f8"),
        "fused": fused,
        **{item.__name__: item for item in (asyncio, contextvars, copy, functools, operator)},
        "tl": tl,
        "np": np,
        "pickle": pickle,
        "threading": threading,
    }


def named_by_line(seen, file):
    results = {}
    for record in seen:
        if record.stack[-1].file == file:
            results.setdefault(record.stack[-1].number, []).append(record.name)
    return results


def expected_by_line(text):
    lines = [line.rpartition("#") for line in text.splitlines()]
    return {n: right.split() for n, (_, sign, right) in enumerate(lines, 1) if sign}


def test_each_line_of_a_program_is_named():
    fused(tl.ones((3, 4), dtype=tl.float64), 2.0)  # so that it is warm on the way
    code = compile(PROGRAM, "/home/ada/program.py", "exec")
    space = setting()
    with tl.trace() as seen:
        exec(code, space)
    expected = expected_by_line(PROGRAM)
    assert len(expected) > 35
    body = PROGRAM.splitlines().index("    b = a * 2  # multiply") + 1
    for n, line in ((body, "multiply"), (body + 1, "exp")):  # called once more, in the thread
        expected[n] = [line, line]
    assert named_by_line(seen, "/home/ada/program.py") == expected
    other, inner = [record for record in seen if record.file != "/home/ada/program.py"]
    assert (other.name, other.file) == ("copy", copy.__file__)  # deepcopy is Python's own
    at = PROGRAM.splitlines().index("y = copy.deepcopy(x)  # copy") + 1
    assert other.where == f"copy.py:{other.line} < /home/ada/program.py:{at}"
    assert (inner.name, inner.file, inner.line) == ("add", "<string>", 1)


LIBRARY = """\
def smooth(xp, x):
    wide = xp.reshape(x.T, (-1,))
    return wide * 0.5
"""
CALLER = """\

y = smooth(tl, x)
"""


@pytest.fixture
def through_a_library():
    """Run `CALLER` through an installed library and return its records."""
    space = {"tl": tl, "x": tl.zeros((2, 3))}
    path = "/opt/venv/lib/python3.12/site-packages/filters/core.py"
    exec(compile(LIBRARY, path, "exec"), space)
    with tl.trace() as seen:
        exec(compile(CALLER, "/home/ada/caller.py", "exec"), space)
    return seen


def test_a_librarys_line_is_named_and_the_users_that_led_there(through_a_library):
    _, reshape, multiply = through_a_library
    library = "/opt/venv/lib/python3.12/site-packages/filters/core.py"
    mine = Line("/home/ada/caller.py", 2, "<module>")
    assert reshape.stack == (Line(library, 2, "smooth"), mine)
    assert multiply.stack == (Line(library, 3, "smooth"), mine)
    assert (reshape.file, reshape.line) == (library, 2)
    assert reshape.where == "filters/core.py:2 < /home/ada/caller.py:2"


def test_by_line_counts_a_library_for_who_called_it(through_a_library):
    lines = through_a_library.by_line()
    assert [*lines] == ["/home/ada/caller.py:2"]
    (part,) = lines.values()
    assert [record.name for record in part] == ["T", "reshape", "multiply"]


def test_a_thread_of_a_library_has_no_line_of_the_users():
    space = {}
    worker = "/opt/venv/lib/python3.12/site-packages/worker.py"
    exec(compile("def work(x):\n    return x.copy()\n", worker, "exec"), space)
    with tl.trace() as seen:
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(space["work"], tl.zeros((2,))))
        thread.start()
        thread.join()
    _, copied = seen
    assert copied.stack == (Line(worker, 2, "work"),)
    assert copied.thread == thread.ident


@pytest.fixture
def five():
    x = tl.zeros((2, 3), dtype=tl.float32)
    code = "y = x.T\nz = y.reshape(6)\nw = x.copy() + 1\nv = z * 2\n"
    with tl.trace() as seen:
        exec(compile(code, "/home/ada/five.py", "exec"), {"x": x})
    return seen


def names(records):
    return [record.name for record in records]


def test_a_trace_is_a_sequence(five):
    assert len(five) == 5
    assert five[1].name == "reshape"
    assert five[-1].name == "multiply"
    assert names(five[1:3]) == ["reshape", "copy"]
    assert isinstance(five[1:3], tl.Trace)
    with pytest.raises(IndexError):
        five[5]


def test_filters(five):
    assert names(five.filter("view")) == ["T"]
    assert names(five.filter("copy", "relayout")) == names(five.copies) == ["reshape", "copy"]
    assert names(five.filter(name="add")) == ["add"]
    assert names(five.filter(file="five.py", line=3)) == ["copy", "add"]
    assert names(five.filter(file="six.py")) == []
    assert names(five.filter(at_least=24)) == ["reshape", "copy", "add", "multiply"]
    assert names(five.filter(at_least=25)) == []
    assert names(five.filter("compute", where=lambda r: r.line == 4)) == ["multiply"]
    with pytest.raises(ValueError, match="view, export, copy, relayout, compute, got 'run'"):
        five.filter("run")


def test_totals(five):
    assert (five.bytes_read, five.bytes_written, five.bytes_copied) == (96, 96, 48)
    assert five.seconds == sum(record.seconds for record in five)
    summary, _, time = five.totals.rpartition(", ")
    kinds = "1 view, 1 copy, 1 relayout, 2 computes"
    assert summary == (
        f"5 operations ({kinds}): 96 bytes read, 96 written (48 in copies and relayouts)"
    )
    assert time.endswith(" us")
    with tl.trace() as nothing:
        pass
    assert nothing.totals.startswith("0 operations: 0 bytes read, 0 written (0 in copies")


def test_by_line_has_the_most_bytes_copied_first(five):
    lines = five.by_line()
    assert {line: names(part) for line, part in lines.items()} == {
        "/home/ada/five.py:2": ["reshape"],
        "/home/ada/five.py:3": ["copy", "add"],
        "/home/ada/five.py:1": ["T"],
        "/home/ada/five.py:4": ["multiply"],
    }
    assert [*lines][:2] == ["/home/ada/five.py:2", "/home/ada/five.py:3"]
    head, first, second, *_ = str(lines).splitlines()
    words = "line operations view export copy relayout compute read written copied us"
    assert head.split() == words.split()
    assert first.split()[:-1] == [
        "/home/ada/five.py:2",
        *["1", "0", "0", "0", "1", "0", "24", "24", "24"],
    ]
    assert second.split()[:-1] == [
        "/home/ada/five.py:3",
        *["2", "0", "0", "1", "0", "1", "48", "48", "24"],
    ]


def test_bytes_of_windows_that_overlap_are_read_once():
    x = tl.zeros((6, 5, 8), dtype=tl.float32)
    with tl.trace() as seen:
        tl.sum(tl.sliding_window(x, 3, axis=0))
        tl.sum(tl.broadcast_to(x[:1], (6, 5, 8)))
    assert [record.bytes_read for record in seen if record.kind == "compute"] == [960, 160]
