"""`no_copies`: which calls it stops before anything is moved, what it says, and where it counts."""

import asyncio
import contextlib
import itertools
import random
import re
import threading
import warnings

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
        "24 bytes of float32 would be moved into another layout at LINE, layout F (3,2) ->"
        " (6,); instead, create the operand in row-major order, whose reshape is a view",
    ),
    "to_layout": (
        lambda x: tl.to_layout(x, "WH"),
        "24 bytes of float32 would be moved into another layout at LINE, layout (2,3) ->"
        " F (2,3); instead, create the operand in F",
    ),
    "astype": (
        lambda x: tl.astype(x, tl.int8),
        "6 bytes of int8 would be copied at LINE, layout (2,3) -> (2,3); instead,"
        " create the operand in int8, and leave out the conversion",
    ),
    "asarray": (
        lambda x: tl.asarray(x, copy=True),
        "24 bytes of float32 would be copied at LINE, layout (2,3) -> (2,3); instead,"
        " use the operand itself, whose elements and layout are the same",
    ),
    "__setitem__": (
        lambda x: x.__setitem__(0, x[1]),
        "12 bytes of float32 would be copied at LINE, layout (3,) -> (3,); instead,"
        " compute the value in its destination, by out= or an in-place operator",
    ),
    "pad": (
        lambda x: tl.pad(x, 1),
        "80 bytes of float32 would be copied at LINE, layout (2,3) -> (4,5); instead,"
        " allocate the padded tensor first, and compute the inner part in a view of it",
    ),
}


LAYOUTS = ["C", "F", "NHWC", "{3,2,1,0:T(2,2)}", "{1,3,2,0:T(2,2)}", "{2,1,3,0}"]


def test_advice_on_reshapes_is_true():
    """Operands in the order that the error names have a view, and named axes need no reshape."""
    choose, advices = random.Random(7), set()
    for layout in LAYOUTS * 20:
        shape = [choose.choice([1, 2, 3, 4]) for _ in range(4)]
        cuts = sorted(choose.sample(range(1, 4), choose.choice([0, 1, 2])))
        bounds = itertools.pairwise([0, *cuts, 4])
        result = [int(np.prod(shape[low:high])) for low, high in bounds]
        x = tl.to_layout(numbers(*shape), layout)
        try:
            with tl.no_copies():
                y = tl.reshape(x, result)
        except tl.CopyError as error:
            y = tl.reshape(x, result)
            advice = str(error).partition("instead, create the operand in ")[2]
            order, _, axes = advice.partition(", whose reshape is a view")
            order = {"row-major order": "C"}.get(order, order).removeprefix("layout ")
            z = tl.to_layout(numbers(*shape), order)
            named = tuple(map(int, re.findall(r"\d", axes)))
            with tl.no_copies():
                view = tl.reshape(z, result)
                total = tl.sum(x, axis=named) if named else None
            assert host(view).tolist() == host(y).tolist()
            if named:
                assert host(total).tolist() == host(tl.sum(y, axis=-1)).tolist()
            advices.add(bool(axes))
    assert advices == {True, False}


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (
            lambda: numbers(2, 3).flatten(),
            "use reshape() to (6,) without copy=True, which is a view",
        ),
        (
            lambda: numbers(3, 4)[:, ::2].ravel(),
            "use reshape() to (6,) without copy=True, which is a view",
        ),
        (lambda: tl.broadcast_to(numbers(3), (2, 3)).copy(), "use the broadcast view itself"),
    ],
)
def test_advice_without_another_operand(call, advice):
    assert str(refused(call)).partition("; instead, ")[2] == advice


def test_packed_elements_are_no_broadcast():
    x = tl.zeros((4, 4), dtype=tl.int4, layout=tl.Layout.row_major((4, 4)).with_slot_bits(4))
    assert str(refused(lambda: tl.to_layout(x, "F"))).endswith("create the operand in F")


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


# Calls on a batch (2, 3, 4, 5) of float32, the layouts that the error names, and its advice.
BATCHES = [
    (
        lambda x: tl.reshape(tl.to_layout(x, "NHWC"), (2, -1)),
        "NHWC (2,3,4,5) -> (2,60)",
        "create the operand in NCHW, whose reshape is a view, or reduce over axis=(1, 2, 3)",
    ),
    (
        lambda x: tl.reshape(tl.to_layout(x, "F"), (2, 3, 20)),
        "F (2,3,4,5) -> (2,3,20)",
        "create the operand in row-major order, whose reshape is a view,"
        " or reduce over axis=(2, 3)",
    ),
    (
        lambda x: tl.reshape(tl.to_layout(x, "NHWC"), (6, 20)),
        "NHWC (2,3,4,5) -> (6,20)",
        "create the operand in NCHW, whose reshape is a view",
    ),
    (
        lambda x: tl.reshape(tl.to_layout(x, "NHWC"), (-1,)),
        "NHWC (2,3,4,5) -> (120,)",
        "create the operand in NCHW, whose reshape is a view",
    ),
    (
        lambda x: tl.reshape(x[:, :, ::2, ::-1], (2, -1)),
        "(2,3,2,5):(60,20,10,-1)+4 -> (2,30)",
        "create the operand in row-major order, whose reshape is a view,"
        " or reduce over axis=(1, 2, 3)",
    ),
    (
        lambda x: tl.concat([x] * 5 + [x[:1]]),
        "5 x (2,3,4,5), (1,3,4,5) -> (11,3,4,5)",
        "allocate the result first, and compute each part in a view of it",
    ),
    (
        lambda x: tl.concat([x, x[:1], x, x[:1]]),
        "(2,3,4,5), (1,3,4,5), (2,3,4,5), … -> (6,3,4,5)",
        "allocate the result first, and compute each part in a view of it",
    ),
    (
        lambda x: tl.reshape(tl.broadcast_to(x[:, :1, :, :], (2, 3, 4, 5)), (-1,)),
        "(2,3,4,5):(60,0,5,1) -> (120,)",
        "use the broadcast view itself",
    ),
]


@pytest.mark.parametrize(("call", "layouts", "advice"), BATCHES)
def test_layouts_and_advice(call, layouts, advice):
    x = numbers(2, 3, 4, 5)
    said = str(refused(lambda: call(x), allow=["to_layout"]))
    rest = said.partition(", layout ")[2].replace(" \N{MULTIPLICATION SIGN} ", " x ")
    assert rest == f"{layouts}; instead, {advice}"


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
    assert instead == "create the operand in row-major order"


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
    end = "; instead, pass operands that share no memory with the destination"
    assert str(error).endswith(end)
    assert host(x).tolist() == [0, 1, 2, 3, 4]


def test_warnings_stand_at_the_line_and_the_call_goes_on():
    x = numbers(2, 3)
    code = compile("\n\n\ny = x.copy()", "/home/ada/warned.py", "exec")
    space = {"x": x}
    with warnings.catch_warnings(record=True) as result, tl.no_copies(warn=True):
        warnings.simplefilter("always")
        exec(code, space)
    (warning,) = result
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
    thread = threading.Thread(target=blocks[1 - first].close)
    thread.start()
    thread.join()
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
    assert [len(item) for item in seen] == [0, 0]


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
    x, results = numbers(2, 3), []

    async def task():
        with pytest.raises(tl.CopyError):
            await asyncio.to_thread(x.copy)
        results.append("task")

    with tl.no_copies():
        thread = threading.Thread(target=lambda: results.append(x.copy().shape))
        thread.start()
        thread.join()
        asyncio.run(task())
    assert results == [(2, 3), "task"]


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
        "pass an array in native byte order whose strides are multiples of its item size"
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
