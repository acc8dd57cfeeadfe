"""`no_copies`: which calls it stops before anything is moved, what it says, and where it counts.

Memory handed to other libraries, too: what a trace has of each request, and how it is refused.
"""

import asyncio
import contextlib
import functools
import hashlib
import io
import json
import operator
import pickle
import re
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tensors import host

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

T22 = "{1,0:T(2,2)}"


def refused(call, **options):
    with pytest.raises(tl.CopyError) as caught, tl.no_copies(**options):
        call()
    return caught.value


export_refused = functools.partial(refused, exports=True)


def numbers(*shape, **options):
    count = int(np.prod(shape))
    return tl.reshape(tl.arange(count, dtype=tl.float32), shape, **options)


@tl.fuse
def scaled(x):
    return tl.astype(x, tl.float64) * 2


# Of a tensor (2, 3) of float32, row-major: what is called, and all that is said but the line.
SAID = {
    "reshape": (
        lambda x: tl.reshape(x.T, (6,)),
        "24 bytes of float32 would be moved into another layout at LINE, layout (3,2):(1,3) ->"
        " (6,):(1,); instead, have the operand in layout (3,2):(2,1), which has such a view",
    ),
    "to_layout": (
        lambda x: tl.to_layout(x, "WH"),
        "24 bytes of float32 would be moved into another layout at LINE, layout (2,3):(3,1) ->"
        " (2,3):(1,2); instead, have the operand in layout (2,3):(1,2)",
    ),
    "astype": (
        lambda x: tl.astype(x, tl.int8),
        "6 bytes of int8 would be copied at LINE, layout (2,3):(3,1) -> (2,3):(3,1); instead,"
        " have the operand in int8",
    ),
    "asarray": (
        lambda x: tl.asarray(x, copy=True),
        "24 bytes of float32 would be copied at LINE, layout (2,3):(3,1) -> (2,3):(3,1); instead,"
        " use the operand itself, of which it is the same",
    ),
    "__setitem__": (
        lambda x: x.__setitem__(0, x[1]),
        "12 bytes of float32 would be copied at LINE, layout (3,):(1,)+3 -> (3,):(1,); instead,"
        " work the value out in the place that it is written to",
    ),
    "pad": (
        lambda x: tl.pad(x, 1),
        "80 bytes of float32 would be copied at LINE, layout (2,3):(3,1) -> (4,5):(5,1); instead,"
        " make the padded tensor first, and work out the inside in a view of it",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name):
    call, words = SAID[name]
    x = numbers(2, 3)
    error = refused(lambda: call(x))
    line = f"{error.record.file.rpartition('/')[2]}:{call.__code__.co_firstlineno}"
    assert line.startswith("test_no_copies.py:")
    said = re.sub(r"at \S*test_no_copies.py:\d+", "at LINE", str(error))
    assert said == f"{name}: {words}"
    assert str(error.record.stack[0]).endswith(line)
    assert host(x).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.T[1:].T,
        lambda x: tl.reshape(x, (6,)),
        lambda x: x.T * 2 + x.T,
        lambda x: tl.to_layout(x, (1, 0)),
        lambda x: tl.sum(x, axis=0),
        lambda x: x.__iadd__(1),
        lambda x: tl.asarray(x),
        lambda x: tl.asarray([1, 2, 3], dtype=tl.float32, device="cpu"),
        lambda x: tl.astype(x, tl.float32, copy=False),
        lambda x: x.to_device(x.device),
        lambda x: tl.astype(x[0, 0], tl.int32),  # of one element
        lambda x: scaled(x, out=tl.zeros((2, 3), dtype=tl.float64)),
    ],
)
def test_what_moves_nothing_goes_on(call):
    x = numbers(2, 3)
    with tl.no_copies():
        call(x)


def test_copies_that_go_on():
    x = numbers(2, 3)
    with tl.no_copies(25):
        x.copy()
    assert refused(lambda: x.copy(), at_least=24).record.bytes_written == 24
    with tl.no_copies(allow=("copy", "astype")):
        tl.astype(x.copy(), tl.int16)
    assert refused(lambda: tl.to_layout(x, "WH"), allow=["copy"]).record.name == "to_layout"


def test_destinations_are_as_they_were():
    out, x = numbers(2, 3), numbers(3, 2)
    refused(lambda: out.__setitem__(..., x.T))
    assert host(out).tolist() == [[0, 1, 2], [3, 4, 5]]
    refused(lambda: out[0].__setitem__(slice(1, None), out[0, :-1]))
    assert host(out).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_tiles_on_the_way_are_found():
    x = tl.to_layout(numbers(4, 4), T22)
    error = refused(lambda: tl.sum(x))
    assert (error.record.name, error.record.kind) == ("sum", "relayout")
    instead = str(error).rpartition("; instead, ")[2]
    assert instead == "have the operand in layout (4,4):(4,1)"


def test_an_operand_that_the_write_would_disturb_is_found_before_the_write():
    x, at = numbers(5), tl.asarray([1, 2, 3])
    with tl.trace() as seen:
        y = x.copy()
        y[at] = y[:3]
    assert host(y).tolist() == [0, 0, 1, 2, 4]
    assert [(r.name, r.kind, r.bytes_written) for r in seen] == [
        ("copy", "copy", 20),
        ("__getitem__", "view", 0),
        ("__setitem__", "copy", 12),
        ("__setitem__", "compute", 20),
    ]
    error = refused(lambda: x.__setitem__(at, x[:3]))
    end = "; instead, write what shares no memory with the tensor that is written"
    assert str(error).endswith(end)
    assert host(x).tolist() == [0, 1, 2, 3, 4]


def test_warnings_stand_at_the_line_and_the_call_goes_on():
    x = numbers(2, 3)
    code = compile("\n\n\ny = x.copy()", "/home/ada/warned.py", "exec")
    space = {"x": x}
    with warnings.catch_warnings(record=True) as found, tl.no_copies(warn=True):
        warnings.simplefilter("always")
        exec(code, space)
    (warning,) = found
    assert warning.category is tl.CopyWarning
    assert (warning.filename, warning.lineno) == ("/home/ada/warned.py", 4)
    assert str(warning.message).startswith("copy: 24 bytes of float32 would be copied at /home/ada")
    assert host(space["y"]).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_blocks_nest_and_the_innermost_says():
    x = numbers(2, 3)
    with tl.no_copies():
        with tl.no_copies(allow=["copy"]):
            x.copy()
        with pytest.raises(tl.CopyError):
            x.copy()


def test_with_a_trace_on_either_side():
    x = numbers(2, 3)
    with tl.trace() as seen:
        x + 1
        refused(lambda: x.copy())
        x + 2
    assert [record.name for record in seen] == ["add", "add"]
    with tl.no_copies(allow=["copy"]), tl.trace() as seen:
        x.copy()
    assert [(record.name, record.bytes_copied) for record in seen] == [("copy", 24)]


def test_as_a_decorator():
    @tl.no_copies()
    def flat(x):
        return tl.reshape(x, (-1,))

    x = numbers(2, 3)
    assert flat(x).shape == (6,)
    with pytest.raises(tl.CopyError):
        flat(x.T)


def is_refused(x):
    try:
        x.T.copy()
    except tl.CopyError:
        return True
    return False


def test_as_a_decorator_of_coroutines_and_not_of_generators():
    x = numbers(2, 3)

    @tl.no_copies()
    async def flat():
        await asyncio.sleep(0)
        return is_refused(x)

    assert asyncio.run(flat())
    assert not is_refused(x)
    with pytest.raises(TypeError, match="values is a generator, whose code runs after the call"):

        @tl.no_copies()
        def values():
            yield x.T.copy()


def opened(block=tl.no_copies):
    with block() as seen:
        yield seen


@pytest.mark.parametrize("first", [0, 1])
def test_blocks_of_generators_are_left_in_any_order_and_thread(first):
    x, blocks = numbers(2, 3), [opened(), opened()]
    for block in blocks:
        next(block)
    blocks[first].close()
    assert is_refused(x)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(blocks[1 - first].close).result()
    assert not is_refused(x)
    with tl.trace():
        assert not is_refused(x)


def test_a_trace_that_is_left_does_not_grow():
    x, blocks = numbers(2, 3), [opened(tl.trace), opened(tl.trace)]
    seen = [next(block) for block in blocks]
    for block in blocks:
        block.close()
    with tl.no_copies(at_least=10**9):
        x.T.copy()
    assert [len(each) for each in seen] == [0, 0]


@pytest.mark.parametrize("traced", [False, True])
def test_a_task_that_runs_after_the_block_is_free(traced):
    x = numbers(2, 3)

    async def task():
        return is_refused(x)

    async def main():
        with tl.no_copies():
            begun = asyncio.create_task(task())
        with tl.trace() if traced else contextlib.nullcontext():
            return await begun

    assert not asyncio.run(main())


def test_to_print_is_never_refused():
    x = tl.to_layout(numbers(4, 4), "{1,0:T(2,2)}")
    for y in (x, numbers(4, 4)[::2, ::3]):
        with tl.no_copies():
            texts = repr(y), str(y), format(y)
        assert texts == (repr(y), str(y), format(y))


def test_it_counts_for_this_thread_and_for_tasks_begun_in_it():
    x, found = numbers(2, 3), []

    async def task():
        with pytest.raises(tl.CopyError):
            await asyncio.to_thread(x.copy)
        found.append("task")

    with tl.no_copies(), ThreadPoolExecutor(1) as pool:
        found.append(pool.submit(x.copy).result().shape)
        asyncio.run(task())
    assert found == [(2, 3), "task"]


@pytest.mark.cpu
def test_numpys_protocol():
    z = tl.zeros((2, 3), dtype=tl.complex128)
    for call in (
        lambda: np.array(z),
        lambda: np.asarray(z, dtype=np.complex64),
        lambda: np.asarray(tl.to_layout(numbers(4, 4), T22)),
        lambda: z.__array__(copy=True),
    ):
        assert refused(call, allow=["to_layout"]).record.name == "__array__"
    with tl.no_copies():
        assert np.asarray(z).shape == (2, 3)
    words = str(refused(lambda: np.array(z)))
    assert words.endswith("; instead, leave out copy=True, and share the memory")


@pytest.mark.cpu
def test_arrays_that_cannot_be_shared():
    swapped = np.arange(3.0).astype(">f8")
    error = refused(lambda: tl.asarray(swapped))
    assert str(error).endswith(
        "give an array in this machine's byte order, at strides of whole elements"
    )
    error = refused(lambda: tl.asarray([np.ones(3), np.ones(3)]))
    assert str(error).endswith("; instead, give one array, or stack() tensors")
    assert error.record.bytes_written == 48


@pytest.mark.cpu
def test_a_copy_that_the_exporter_made():
    class Exporter:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return np.arange(3.0).__dlpack__(max_version=(1, 0), copy=True)

    with tl.trace() as seen:
        tl.from_dlpack(Exporter())
    assert [(r.name, r.kind, r.bytes_written) for r in seen] == [("from_dlpack", "copy", 24)]
    error = refused(lambda: tl.from_dlpack(Exporter()))
    assert "have it export its memory: a Exporter made the copy" in str(error)


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
        **{each.__name__: each for each in (hashlib, io, operator, pickle)},
        "np": np,
        "tl": tl,
    }


def kinds_by_line(text):
    """Of each line of a program what its comment says, and what a trace has."""
    code, space = compile(text, "/home/ada/exports.py", "exec"), setting()
    with tl.trace() as seen:
        exec(code, space)
    lines = [line.partition("#")[2].split() for line in text.splitlines()]
    found = [[] for _ in lines]
    for record in seen:
        assert record.stack[-1].file == "/home/ada/exports.py", record
        if record.kind != "view":
            found[record.stack[-1].number - 1].append(record.kind)
    return dict(zip(text.splitlines(), zip(lines, found, strict=True), strict=True))


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
    found = kinds_by_line(EVERYWHERE + ON_CUDA * (tl.default_device() != "cpu"))
    assert [pair for pair in found.values() if pair[0] != pair[1]] == []


def address(x):
    """Return the address of the first element."""
    on_host = x.device == "cpu"
    interface = np.asarray(x).__array_interface__ if on_host else x.__cuda_array_interface__
    return interface["data"][0]


def leads_to(found, start, end):
    """Return whether a result of a call is, or points to, memory from `start` to `end`."""
    if type(found).__name__ == "PyCapsule":
        return True
    if isinstance(found, (memoryview, pickle.PickleBuffer)):
        found = np.asarray(memoryview(found))
    if isinstance(found, np.ndarray):
        found = found.__array_interface__["data"][0]
    if isinstance(found, (dict, tuple, list)):
        items = found.values() if isinstance(found, dict) else found
        return any(leads_to(item, start, end) for item in items)
    return isinstance(found, int) and start <= found < end


ARGUMENTS = [(), (0,), (5,), ("V8",)]
# The last gives the private attributes, which nobody asks of a class with `__reduce_ex__`.
SKIPPED = {"__class__", "__init_subclass__", "__new__", "__setattr__", "__getstate__"}


def memory_given_by(make, names, arguments):
    """Of names, those that give memory of a tensor, and whether a trace always says so."""
    found = {}
    for name in names:
        for given in arguments:
            x = tl.reshape(tl.arange(6.0), (2, 3))
            start = address(x)
            with tl.trace() as seen, contextlib.suppress(Exception):
                result = function = make(x, name)
                if callable(function):
                    result = function(*given)
                if leads_to(result, start, start + 48):
                    exported = "export" in [record.kind for record in seen]
                    found[name] = found.get(name, True) and exported
    return found


def test_whatever_gives_memory_leaves_a_record():
    names = {n for n in dir(tl.Tensor) if n.startswith("__") or not n.startswith("_")}
    found = memory_given_by(getattr, sorted(names - SKIPPED), ARGUMENTS)
    assert [name for name, said in found.items() if not said] == []
    if tl.default_device() == "cpu":
        reduces = {"__reduce__", "__reduce_ex__"}  # of pickle protocol 5
        expected = {"__array__", "__array_interface__", "__buffer__", "__dlpack__", "view"}
        assert set(found) == expected | reduces
    else:
        assert set(found) == {"__cuda_array_interface__", "__dlpack__"}


def test_no_function_gives_memory():
    def bound(x, name):
        return functools.partial(getattr(tl, name), x)

    names = [n for n in tl.__all__ if callable(getattr(tl, n))]
    assert memory_given_by(bound, names, [(), (0,)]) == {}


def test_an_export_is_refused_only_if_asked():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.no_copies():
        x.__dlpack__()
    error = export_refused(lambda: x.__dlpack__())
    assert (error.record.name, error.record.kind, error.record.bytes_exported) == (
        *("__dlpack__", "export"),
        24,
    )
    before, _, after = str(error).partition(error.record.where)
    assert before == "__dlpack__: 24 bytes of float32 would be handed to another library at "
    assert after == (
        ", layout (2,3):(3,1); instead, use a function of tensorlayout, or give no_copies"
        ' allow=("__dlpack__",)'
    )
    assert "test_no_copies.py:" in error.record.where


def test_small_exports_and_those_allowed_go_on():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.no_copies(at_least=25, exports=True):
        x.__dlpack__()
    assert export_refused(lambda: x.__dlpack__(), at_least=24).record.bytes_exported == 24
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
        assert export_refused(lambda call=call: call(x)).record.kind == "export"
    array = np.zeros((2, 3), x.dtype)
    export_refused(lambda: array.__setitem__(..., x))
    assert not array.any()
    with tl.no_copies(exports=True, allow=[export_refused(lambda: np.asarray(x)).record.name]):
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
    assert read.startswith("0 bytes read, 0 written, 0 of them copied, 24 exported, ")
    (line,) = [line.split() for line in str(seen).splitlines() if " export " in line]
    assert line[1:3] == ["__dlpack__", "export"]
    assert line[7:] == ["0", "0", "-", "-"]
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
