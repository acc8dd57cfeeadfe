"""Memory handed to other libraries: what a trace has of each request, and how it is refused."""

import contextlib
import functools
import hashlib
import io
import json
import operator
import pickle
import sys

import numpy as np
import pytest

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

T22 = "{1,0:T(2,2)}"
HAS_BUFFERS = sys.version_info >= (3, 12)  # a class written in Python can have `__buffer__`

# Each line of a program on the CPU, and the kinds of the records that it leaves but for views.
PROGRAM = """\
y = np.asarray(x)  # export
y = np.array(x)  # export
y = np.asarray(x, dtype="float32")  # export
y = np.ascontiguousarray(x.T)  # export
y = np.array([x, x])  # export export
y = np.from_dlpack(x)  # export
y = np.from_dlpack(x, copy=True)  # copy
y = rng.permutation(x)  # export
y = rng.choice(x)  # export
y = np.nditer(x)  # export
np.testing.assert_array_equal(x, x)  # export export
array[...] = x  # export
y = array[at]  # export
y = x.__array__()  # export
y = x.__array__(copy=True)  # copy
y = x.__dlpack__()  # export
y = x.__dlpack__(copy=True)  # copy
y = x.__array_interface__  # export
y = hasattr(x, "__array_interface__")  # export
y = hasattr(x, "__cuda_array_interface__")
y = x.view("V8")  # export
y = pickle.dumps(x, protocol=5)  # export
y = pickle.dumps(x, protocol=4)
y = np.array(z)  # copy
y = np.asarray(z, dtype="complex64")  # copy
y = np.asarray(b)  # export
y = np.asarray(b, dtype="float32")  # copy
y = np.asarray(tiled)  # relayout
y = np.asarray(tiled, dtype="float32")  # relayout copy
y = list(x)
y = x.tolist()
y = x.tobytes()
y = bytes(x)
y = str(x) + repr(x) + f"{x}"
y = np.sum(x) + np.concatenate([x, x])  # compute copy compute
y = np.array_equal(x, array)  # compute compute
np.savetxt(io.StringIO(), x)
np.save(io.BytesIO(), x)
y = tl.asarray(x)
y = tl.asarray([x, x])  # copy
y = tl.from_dlpack(x)
"""
BUFFERS = """\
y = memoryview(x)  # export
y = bytearray(x)  # export
y = np.frombuffer(x)  # export
y = hashlib.sha256(x).digest()  # export
y = io.BytesIO().write(x)  # export
y = memoryview(x).tobytes()  # export
y = b"".join([x])  # export
"""


def setting():
    return {
        "x": tl.reshape(tl.arange(12.0), (3, 4)),
        "at": tl.asarray([0, 2]),
        "z": tl.ones((2, 2), dtype=tl.complex128),
        "b": tl.ones((2, 2), dtype=tl.bfloat16),
        "tiled": tl.ones((4, 4), layout=T22),
        "array": np.zeros((3, 4)),
        "rng": np.random.default_rng(1),
        **{item.__name__: item for item in (hashlib, io, operator, pickle)},
        "np": np,
        "tl": tl,
    }


def kinds_by_line(text):
    """Of each line of a program what its comment says, and what a trace has."""
    code, space = compile(text, "/home/ada/exports.py", "exec"), setting()
    with tl.trace() as seen:
        exec(code, space)
    lines = [line.partition("#")[2].split() for line in text.splitlines()]
    results = [[] for _ in lines]
    for record in seen:
        assert record.stack[-1].file == "/home/ada/exports.py", record
        if record.kind != "view":
            results[record.stack[-1].number - 1].append(record.kind)
    return dict(zip(text.splitlines(), zip(lines, results, strict=True), strict=True))


@pytest.mark.cpu
@pytest.mark.parametrize("text", [PROGRAM, BUFFERS], ids=["arrays", "buffers"])
def test_each_request_leaves_one_record_at_its_line(text):
    if text is BUFFERS and not HAS_BUFFERS:
        for line in text.splitlines()[2:-1]:
            with pytest.raises(TypeError, match=r"bytes-like|buffer"):
                exec(line, setting())
        return
    wrong = {line: pair for line, pair in kinds_by_line(text).items() if pair[0] != pair[1]}
    assert not wrong


@pytest.mark.cpu
def test_adapters_hand_memory_over():
    """Lines of this package ask NumPy there, for the library that called it."""
    autoray = pytest.importorskip("autoray", reason="optional: autoray")
    dispatch = pytest.importorskip("dask.array.dispatch", reason="optional: Dask")
    x = tl.zeros((2, 3))
    with tl.trace() as seen:
        autoray.do("to_numpy", x)
        dispatch.to_numpy_dispatch(x)
    assert [(record.name, record.kind) for record in seen] == [("to_numpy", "export")] * 2


# Of a tensor on any device, and of one on CUDA.
EVERYWHERE = """\
y = x.__dlpack__()  # export
y = x.__dlpack__(dl_device=x.__dlpack_device__())  # export
y = x.__dlpack__(copy=True)  # copy
y = tl.from_dlpack(x)
y = tl.from_dlpack(x, copy=True)  # copy
y = tl.asarray(x)
y = tl.asarray([x, x])  # copy
"""
ON_CUDA = """\
y = x.__cuda_array_interface__  # export
y = hasattr(x, "__cuda_array_interface__")  # export
y = hasattr(x, "__array_interface__")
y = x.__dlpack__(dl_device=(1, 0))  # copy
y = x.to_device("cpu")  # copy
y = np.asarray(x.to_device("cpu"))  # copy export
y = pickle.dumps(x, protocol=5)  # copy
y = x.tolist()  # copy
y = str(x)  # copy
"""


def test_each_request_on_every_device():
    result = kinds_by_line(EVERYWHERE + ON_CUDA * (tl.default_device() != "cpu"))
    assert [pair for pair in result.values() if pair[0] != pair[1]] == []


def address(x):
    """Return the address of the first element."""
    on_host = x.device == "cpu"
    interface = np.asarray(x).__array_interface__ if on_host else x.__cuda_array_interface__
    return interface["data"][0]


def leads_to(result, start, end):
    """Return whether a result of a call is, or points to, memory from `start` to `end`."""
    if type(result).__name__ == "PyCapsule":
        return True
    if isinstance(result, (memoryview, pickle.PickleBuffer)):
        result = np.asarray(memoryview(result))
    if isinstance(result, np.ndarray):
        result = result.__array_interface__["data"][0]
    if isinstance(result, (dict, tuple, list)):
        items = result.values() if isinstance(result, dict) else result
        return any(leads_to(item, start, end) for item in items)
    return isinstance(result, int) and start <= result < end


ARGUMENTS = [(), (0,), (5,), ("V8",)]
# The last gives the private attributes, which nobody asks of a class with `__reduce_ex__`.
SKIPPED = {"__class__", "__init_subclass__", "__new__", "__setattr__", "__getstate__"}


def memory_given_by(make, names, arguments):
    """Of names, those that give memory of a tensor, and whether a trace always says so."""
    results = {}
    for name in names:
        for argument in arguments:
            x = tl.reshape(tl.arange(6.0), (2, 3))
            start = address(x)
            with tl.trace() as seen, contextlib.suppress(Exception):
                result = function = make(x, name)
                if callable(function):
                    result = function(*argument)
                if leads_to(result, start, start + 48):
                    exported = "export" in [record.kind for record in seen]
                    results[name] = results.get(name, True) and exported
    return results


def test_whatever_gives_memory_leaves_a_record():
    names = {n for n in dir(tl.Tensor) if n.startswith("__") or not n.startswith("_")}
    result = memory_given_by(getattr, sorted(names - SKIPPED), ARGUMENTS)
    assert [name for name, said in result.items() if not said] == []
    if tl.default_device() == "cpu":
        reduces = {"__reduce__", "__reduce_ex__"}  # of pickle protocol 5
        expected = {"__array__", "__array_interface__", "__buffer__", "__dlpack__", "view"}
        assert set(result) == expected | reduces
    else:
        assert set(result) == {"__cuda_array_interface__", "__dlpack__"}


def test_no_function_gives_memory():
    def bound(x, name):
        return functools.partial(getattr(tl, name), x)

    names = [n for n in tl.__all__ if callable(getattr(tl, n))]
    assert memory_given_by(bound, names, [(), (0,)]) == {}


def refused(call, **options):
    with pytest.raises(tl.CopyError) as caught, tl.no_copies(exports=True, **options):
        call()
    return caught.value


def test_an_export_is_refused_only_if_asked():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.no_copies():
        x.__dlpack__()
    error = refused(lambda: x.__dlpack__())
    assert (error.record.name, error.record.kind, error.record.bytes_exported) == (
        *("__dlpack__", "export"),
        24,
    )
    before, _, after = str(error).partition(error.record.where)
    assert before == "__dlpack__: 24 bytes of float32 would be handed to another library at "
    assert after == (
        ", layout (2,3); instead, use a function of tensorlayout, or give no_copies"
        ' allow=("__dlpack__",)'
    )
    assert "test_exports.py:" in error.record.where


def test_small_exports_and_those_allowed_go_on():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.no_copies(at_least=25, exports=True):
        x.__dlpack__()
    assert refused(lambda: x.__dlpack__(), at_least=24).record.bytes_exported == 24
    with tl.no_copies(exports=True, allow=["__dlpack__"]):
        x.__dlpack__()
    with tl.no_copies(exports=True):
        x[0, 0].__dlpack__()
        tl.from_dlpack(x), tl.asarray(x), str(x)


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float64", "complex128", "bfloat16"])
def test_numpy_passes_a_refusal_on(dtype):
    """It asks by several protocols, one after the other, and drops errors of the first."""
    x = tl.ones((2, 3), dtype=dtype)
    for call in (np.asarray, np.ascontiguousarray, np.random.default_rng(1).permutation):
        assert refused(lambda call=call: call(x)).record.kind == "export"
    array = np.zeros((2, 3), x.dtype)
    refused(lambda: array.__setitem__(..., x))
    assert not array.any()
    with tl.no_copies(exports=True, allow=[refused(lambda: np.asarray(x)).record.name]):
        assert np.asarray(x).shape == (2, 3)


def test_totals_tables_and_events_say_what_was_handed_out():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.trace() as seen:
        x.T.__dlpack__()
    view, export = seen
    assert (view.bytes_exported, export.bytes_exported, seen.bytes_exported) == (0, 24, 24)
    assert (export.bytes_read, export.bytes_written, export.bytes_copied) == (0, 0, 0)
    assert (export.layouts, export.dtype) == ("(3,2):(1,3) -> (3,2):(1,3)", "float32")
    kinds, _, read = seen.totals.partition(": ")
    assert kinds == "2 operations (1 view, 1 export)"
    assert read.startswith("0 bytes read, 0 written (0 in copies and relayouts), 24 exported, ")
    (line,) = [line.split() for line in str(seen).splitlines() if " export " in line]
    assert line[1:3] == ["__dlpack__", "export"]
    assert line[3:] == [*("float32", "0", "0", "-", "-"), *("F", "(3,2)", "->", "F", "(3,2)")]
    head, row = str(seen.by_line()).splitlines()
    assert row.split()[head.split().index("export")] == "1"
    page = seen.to_html()
    assert '<li class="export"><b class="export">export</b> __dlpack__' in page
    assert "24 bytes handed out" in page
    event = json.loads(seen.to_perfetto())["traceEvents"][1]
    assert (event["cat"], event["ph"], event["args"]["bytes exported"]) == ("export", "i", 24)
    assert [record.name for record in seen.filter("export")] == ["__dlpack__"]


@pytest.mark.cpu
def test_what_fails_is_no_export():
    x = tl.asarray(np.arange(3.0))
    fixed = tl.from_dlpack(np.broadcast_to(np.float64(1), (3,)))
    with tl.trace() as seen:
        for call in (
            lambda: fixed.__dlpack__(),  # read-only
            lambda: x[::-1].__dlpack__(copy=False, max_version=(1, 0)),
            lambda: x.__array__("complex64", copy=False),
        ):
            with pytest.raises((BufferError, ValueError)):
                call()
    assert len(seen.filter("export")) == 0
