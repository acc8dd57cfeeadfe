"""No input takes long: what is twice as long takes at most about twice the steps, in bytecodes.

Work inside of one step, such as a regular expression's, is timed in the tests marked `long`.
"""

import contextlib
import ctypes
import io
import pickle
import re
import sys
import time

import design
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_errors import TEMPLATES, sessions, space, templates

import tensorlayout as tl
from tensorlayout import directml, xla
from tensorlayout.cli import main
from tensorlayout.cli.answers import CommandError
from tensorlayout.cli.show import describe_layout_text

DOCUMENTED = (ValueError, TypeError, IndexError, OverflowError, MemoryError, BufferError)
DOCUMENTED += (CommandError,)
MOST_LETTERS = 2000  # of a message
SIZE = 100


class Whole(int):
    """A subclass of int."""


class Exporter:
    """An array whose export gives a value, or raises it."""

    def __init__(self, arguments):
        self.arguments = arguments

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **keywords):
        if isinstance(self.arguments, Exception):
            raise self.arguments
        return self.arguments


NAME = b"n" * 100_000  # lives as long as the capsule


def capsule():
    """A capsule that is no array's, of a long name."""
    kinds = (ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return ctypes.PYFUNCTYPE(*kinds)(("PyCapsule_New", ctypes.pythonapi))(1, NAME, None)


def nested(levels):
    results = [1]
    for _ in range(levels):
        results = [results]
    return results


KINDS = {
    "Nones": lambda n: (None,) * n,
    "dots": lambda n: (...,) * n,
    "zeros": lambda n: (0,) * n,
    "ones": lambda n: [1] * n,
    "range": range,
    "large": lambda n: (2**62,) * n,
    "negative": lambda n: (-1,) * n,
    "slices": lambda n: (slice(None),) * n,
    "truths": lambda n: (True,) * n,
    "pairs": lambda n: ((1, 2),) * n,
    "tiles of (2, 2)": lambda n: [(2, 2)] * n,
    "nested": nested,
    "integer": lambda n: 10 ** (20 * n),
    "negative integer": lambda n: -(10 ** (20 * n)),
    "integer of a subclass": lambda n: Whole(10 ** (20 * n)),
    "integers": lambda n: (10 ** (20 * n),) * 2,
    "lists of integers": lambda n: ((10 ** (20 * n),), (0,)),
    "digits": lambda n: "1" * (20 * n),
    "blanks": lambda n: " " * n,
    "number and blanks": lambda n: "sizes=1" + " " * n + "x",
    "commas": lambda n: "," * n,
    "open": lambda n: "(" * n,
    "brackets": lambda n: "f32" + "[" * n,
    "word": lambda n: "a" * n,
    "words": lambda n: "a=1 " * n,
    "bytes": lambda n: b"1" * n,
    "text of parts": lambda n: "(4):(" + "2*2+" * n + "1*1)",
    "text of ones": lambda n: "(4):(" + "1*0+" * n + "4*1)",
    "text of tiles": lambda n: "{1,0:T" + "(2,2)" * n + "}",
    "text of a tile": lambda n: "{1,0:T(" + "2," * n + "2)}",
    "text of sizes": lambda n: "(" + "1," * n + "1):(" + "1," * n + "1)",
    "text of an order": lambda n: "{" + "1," * n + "0}",
    "XLA's tiles": lambda n: "f32[8,8]{1,0:T" + "(2,2)" * n + "}",
    "XLA's sizes": lambda n: "f32[" + "1," * n + "1]",
    "XLA's tuple": lambda n: "(" + "f32[2], " * n + "f32[2])",
    "XLA's comments": lambda n: "/* */" * n,
    "subscripts": lambda n: "ij," * n + "ij->i",
    "labels": lambda n: "NHWC" * n,
    "dictionary": lambda n: dict.fromkeys(range(n), 0),
    "set": lambda n: set(range(n)),
    "array": lambda n: np.zeros(n, np.int64),
    "array of large": lambda n: np.full(n, 2**62),
    "tensor": lambda n: tl.zeros(n),
    "broadcast": lambda n: tl.broadcast_to(tl.asarray(1, dtype=tl.int8), (2,) * min(n // 4, 60)),
}

# What takes text, keys, sizes, orders, tiles, descriptors. Of functions that share code, one.
INPUTS = """
x[@]; x[0, @]; x[@] = 1; x[0] = @; asarray(1, device=@); zeros(@); zeros((2, 2), layout=@)
full((2,), @); arange(@); linspace(0, 1, @); eye(@); meshgrid(v, v, indexing=@)
broadcast_shapes(@, (2,)); broadcast_to(v, @); einsum(@, x); gradient(x, @); pad(x, @)
pad(x, 1, mode=@); repeat(x, @); reshape(x, @); roll(x, @); tile(x, @); permute_dims(x, @)
sum(x, axis=@); diff(x, n=@); sliding_window(x, @); tensordot(x, x, axes=@)
quantile(x, 0.5, method=@); searchsorted(v, v, side=@); linalg.qr(x, mode=@)
linalg.cross(x, x, axis=@); linalg.matrix_norm(q, ord=@); fft.fft(x, n=@)
fft.fftn(x, s=@, axes=(0, 1)); fft.fft(x, norm=@); to_layout(x, @)
from_storage(bytes(100), @, dtype=float32); format(x, @); x.__array_namespace__(api_version=@)
x.__dlpack__(stream=@); from_dlpack(Exporter(@)); Layout(@); Layout((2, 3), @)
Layout((2, 3), parts=(@, ((3, 1),))); Layout((2, 3), minor_to_major=@)
Layout((2, 3), padded_shape=@); Layout((2, 3), offset=@); Layout.parse(@)
Layout.labelled((1, 2, 3, 4), @); Layout.pitched((2, 3), @, 4); Layout.from_cute(@)
Layout.from_cute((2, @)); Layout.from_cute((2, 1), @); Layout.tiled((2, 3), @)
Layout.tiled((2, 3), [@]); Layout((2, 3)).permute(@); Layout((2, 3)).slice(@)
Layout((2, 3)).broadcast_to(@); Layout((2, 3)).reshape(@); Layout((2, 3)).sliding_window(@, (0,))
Layout((2, 3)).component(@, 2); Layout((2, 3)).component(0, @); Layout((2, 3)).same_placement(@)
Layout((2, 3)).table(@); Layout((2, 3)).offset_of(@); Layout((2, 3)).index_of(@); BitPattern(1, @)
BitPattern(@, "float32"); Device(@); xla.parse_shape(@); xla.parse_shapes(@); xla.parse_layout(@)
xla.layout_of(@); xla.Tile(@); xla.XlaLayout(minor_to_major=@); xla.XlaLayout(tiles=@)
xla.XlaLayout(split_configs=@); xla.XlaLayout(memory_space=@)
xla.Shape.array(xla.PrimitiveType.F32, @); xla.Shape.tuple_of(@)
xla.shape_of(@, xla.PrimitiveType.F32); xla.permutations.inverse_permutation(@)
xla.permutations.common_factors(@, (2,)); xla.permutations.is_identity_permutation(@)
xla.layout_util.equal(row, row, ignore=@); xla.shape_util.equal(rows, rows, ignore=@)
xla.shape_util.equal(rows, @); xla.shape_util.elements_in(@); xla.layout_util.minor_to_major(@)
xla.index_util.get_dimension_stride(@, 0); xla.index_util.get_dimension_stride(rows, @)
directml.TensorDesc(@, (2, 3)); directml.TensorDesc("FLOAT32", @)
directml.TensorDesc("FLOAT32", (2, 3), @); directml.TensorDesc("FLOAT32", (2, 3)).with_rank(@)
directml.calc_buffer_tensor_size("FLOAT32", @); formats.blas.read((2, 3), (@, 3))
formats.blas.read((2, 3), ("N", @)); formats.cudnn.read((2, 3, 4), @)
formats.cudnn.read((2, 4, 4), "NCHW_VECT_C", @); formats.directml.read((2, 3), @)
formats.einops.read((2, 3), @); formats.einops.read((2, 3), "a (b c) -> a b c", b=@)
formats.einops.write(Layout((2, 3)), @); formats.jax.read((2, 3), formats.jax.JaxLayout(@))
formats.jax.read((2, 3), formats.jax.JaxLayout((0, 1), @)); formats.numpy.read((2, 3), @, 8)
formats.numpy.read((2, 3), (24, 8), @); formats.onednn.read((2, 3), @)
formats.onednn.read(@, "ab"); formats.onednn.write(Layout((2, 3)), @)
formats.pytorch.read((2, 3), @); described(@); described("NHWC", @)
described("sizes=2,3 strides=" + @)
"""
CALLS = re.split(r"; |\n", INPUTS.strip())


@pytest.fixture(scope="module")
def names():
    result = space()
    rows = xla.parse_shape("f32[2,3]{1,0}")
    result |= {"rows": rows, "row": rows.layout, "Exporter": Exporter, "capsule": capsule}
    return result | {
        "formats": tl.formats,
        "xla": xla,
        "directml": directml,
        "described": describe_layout_text,
        "main": main,
    }


def outcome(code, names):
    """Return the exception of a call, or None; printed text counts as an exception."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            exec(code, dict(names))
    except SystemExit:
        pass
    except Exception as error:
        return error
    return ValueError(printed.getvalue()) if printed.getvalue() else None


def is_pythons(call, value):
    """Return True if Python itself refuses the call: two operands that cannot be added."""
    texts = ("+", "format(", "described", "main")
    return any(word in call for word in texts) and not isinstance(value, str)


def check_error(call, kind, value, error):
    if error is None or is_pythons(call, value):
        return
    message = str(error)
    assert isinstance(error, DOCUMENTED), (kind, repr(error)[:300])
    assert len(message) <= MOST_LETTERS, (kind, len(message), message[:300])
    assert "Exceeds the limit" not in message, (kind, message[:300])


def steps_of(code, names):
    """Count the bytecodes that a call executes."""
    count = 0

    def traced(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        error = outcome(code, names)
    finally:
        sys.settrace(before)
    return count, error


def check_steps(code, call, kind, names):
    """Twice the input takes at most about twice the steps."""
    make = KINDS[kind]
    if is_pythons(call, make(1)):
        return
    for size in (SIZE, 2 * SIZE):  # imports, what is kept, and Python 3.13 counts only then
        steps_of(code, names | {"wrong": make(size)})
    counts = []
    for size in (SIZE, 2 * SIZE):
        value = make(size)
        steps, error = steps_of(code, names | {"wrong": value})
        check_error(call, kind, value, error)
        counts.append(steps)
    assert counts[1] <= 2.5 * counts[0] + 2000, (kind, counts)


@pytest.mark.parametrize(
    "kinds",
    [pytest.param(6, id="some"), pytest.param(len(KINDS), id="all", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("call", CALLS)
def test_twice_the_input_takes_twice_the_steps(call, kinds, names):
    code = compile(call.replace("@", "wrong"), call, "exec")
    for kind in design.chance("slow inputs", call).sample([*KINDS], kinds):
        check_steps(code, call, kind, names)


# --- any text ------------------------------------------------------------------------------------

LETTERS = st.text("()[]{}<>=,:;+-*#?~/|&.0123456789xTLESMPDSCfbu32 \t\n_NHWCorderpaddingZERO…é")
WORDS = templates("""
( ) [ ] { } , : + * - = < <= ? 0 1 2 3 64 128 -1 9223372036854775808 T (2,2) (*,2) S(1) L(4) E(4)
SC (0:1) D(D) M(8) # f32 u8 b( token opaque order= padded= padding=ZERO padding=0x3f:uint8 sizes=
strides= type=FLOAT32 total= alignment= /*a*/ // Layout.parse( ' (2,3) :(3,1) :(1,2) {1,0} [2,3]
f32[2,3] {1,0:T(2,2)} NHWC NCHW W
""")
TEXTS = LETTERS | st.lists(st.sampled_from(" ".join(WORDS).split(" "))).map(" ".join)
READERS = {
    "Layout.parse": tl.Layout.parse,
    "zeros(layout=)": lambda text: tl.zeros((2, 3), layout=text),
    "xla.parse_shape": xla.parse_shape,
    "xla.parse_shapes": xla.parse_shapes,
    "xla.parse_layout": xla.parse_layout,
    "xla.layout_of": xla.layout_of,
    "show": describe_layout_text,
    "show with a shape": lambda text: describe_layout_text(text, "1,2,2,3"),
    "show of a shape": lambda text: describe_layout_text("NHWC", text),
    "show of a descriptor": lambda text: describe_layout_text("sizes=" + text),
    "TensorDesc": lambda text: directml.TensorDesc(text, (2, 3)),
    "einsum": lambda text: tl.einsum(text, tl.zeros((2, 2)), tl.zeros((2, 2))),
    "Device": lambda text: tl.zeros(2, device=text),
    "format": lambda text: format(tl.asarray(1.5), text),
}


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=40)
@given(text=TEXTS)
def test_any_text_is_read_or_refused(reader, text):
    try:
        READERS[reader](text)
    except DOCUMENTED as error:
        message = str(error)
    else:
        return
    assert 0 < len(message) <= MOST_LETTERS


# --- as it was: what took minutes, gigabytes or Python's words -----------------------------------


# Calls, and how their errors begin.
AT_ONCE = """
x[(None,) * 32000]  # __getitem__: too many indices for shape
take(x, 10**5000, axis=0)  # take: index an integer of 16610 bits is out of bounds
fft.fft(x, n=2**62)  # fft: shape: the sizes (2, 4611686018427387904), with 1 for 0,
tensordot(big, big, axes=0)  # tensordot: shape: the sizes (1073741824, 1048576, 10737
meshgrid(*[v] * 65)  # meshgrid: shape: at most 64 dimensions are allowed, got 65
bincount(i, minlength=10**30)  # bincount: minlength must be at most 2**63 - 1, got 1000
bincount(i, minlength=2**62)  # bincount: the memory it needs cannot be allocated
unstack(broadcast_to(v[0], (2**45,)))  # unstack: at most 16777216 tensors are made, got
unique_values(big)  # unique_values: shape (1125899906842624,) of float64 needs
einsum('i,' * 32000, x)  # einsum: 'i,i,i,i,
zeros((2, 2), layout='{1,0:T' + '(2,2)' * 100000 + '}')  # zeros: layout text: has more th
Layout.parse('(4):(' + '2*2+' * 9000 + '1*1)')  # layout text: has more than 64 parts
Layout((4,), parts=[[(2, 1)] * 65])  # parts: a dimension has at most 64, got 65
Layout.tiled((2, 2), [(2, 2)] * 65)  # tiles: at most 64 are allowed, got 65
Layout.tiled((2, 2), [(1,) * 65])  # tiles: a tile has at most 64 sizes, got 65
Layout((2**20,)).table()  # table: at most 65536 slots or elements are drawn, got 1048576
next(Layout((2**62,)).elements())  # elements: at most 4194304 are listed, got 46116860
Layout((2, 3), offset=10**5000)  # strides: shape (2, 3) from slot an integer of 16610 bits
xla.parse_shape('f32[8,8]{1,0:T' + '(2,2)' * 65 + '}')  # shape text: expected at most 64
described('sizes=1' + ' ' * 10**5 + 'x')  # show: sizes is numbers with commas between,
described('a' * 10**5 + ' = ')  # show: a DirectML descriptor has sizes, strides, type,
described('sizes=2 type=' + '9' * 5000)  # show: DataType must be one of FLOAT32,
from_dlpack(Exporter(capsule()))  # from_dlpack: Exporter.__dlpack__() gave PyCapsule,
from_dlpack(Exporter(RuntimeError('m' * 10**5)))
    from_dlpack: Exporter could not be exchanged: mmm
concat([zeros((2, n)) for n in range(3000)], axis=0)
    concat: shapes must be equal except along axis 0, got [(2, 0), (2, 1),
quantile(x, broadcast_to(asarray(0.5), (2**50,)))
    quantile: shape (1125899906842624,) of float64 needs 9007199254740992 bytes
"""


@pytest.mark.parametrize(("call", "message"), [*sessions(AT_ONCE)])
def test_refused_at_once(call, message, names):
    with pytest.raises(DOCUMENTED) as caught:
        exec(call, dict(names))
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) <= MOST_LETTERS


def test_faults_inside_of_xlas_functions_are_shown_as_they_are(names):
    def visit(index):
        raise AttributeError(index)

    with pytest.raises(AttributeError, match=r"^\(0, 0\)$"):
        xla.shape_util.for_each_index(names["rows"], visit)
    for part in (xla.shape_util, xla.layout_util, xla.index_util):
        for function in map(vars(part).get, part.__all__):
            assert pickle.loads(pickle.dumps(function)) is function


def test_differences_end_where_nothing_is_left():
    x = tl.asarray([[1, 2, 4]])
    assert tl.diff(x, n=10**5000).shape == tl.diff(x, n=3).shape == (1, 0)


@pytest.mark.parametrize("shape", [(2,) * 60, (2,) * 20 + (1,) * 44, (3,) * 13])
def test_printing_looks_at_few_elements(shape):
    x = tl.broadcast_to(tl.asarray(1, dtype=tl.int8), shape)
    assert repr(x).startswith(f"Tensor([...], shape={shape}, dtype=int8")
    assert str(x) == f"{x}" == f"[...] with shape {shape}"
    assert str(tl.broadcast_to(x[(0,) * x.ndim], (9,) * 6)).startswith("[[[[[[1, ..., 1],")


# --- all functions, and long inputs: minutes -----------------------------------------------------

LONG = 100_000  # letters, items or digits
# Of the processor, for what takes 50 ms; steps for each pair of letters would take hours.
SECONDS = 10


def lengthened(kind, make):
    """A value of about 100,000 letters."""
    if kind in ("integer", "negative integer", "integer of a subclass", "digits"):
        return make(LONG // 20)
    if kind in ("integers", "lists of integers"):
        return make(LONG // 40)
    return make(LONG // 8 if kind in ("array", "array of large", "tensor", "dictionary") else LONG)


@pytest.mark.long
@pytest.mark.parametrize("call", sorted({*CALLS, *TEMPLATES}))
def test_long_inputs_take_no_time(call, names):
    code = compile(call.replace("@", "wrong"), call, "exec")
    for kind, make in KINDS.items():
        if is_pythons(call, make(1)) or (kind == "broadcast" and not call.startswith("Layout")):
            continue
        value = lengthened(kind, make)
        start = time.process_time()
        error = outcome(code, names | {"wrong": value})
        took = time.process_time() - start
        check_error(call, kind, value, error)
        assert took <= SECONDS or (error is None and kind in WORK), (kind, took)


# What is sound and long: its time is that of what is made.
WORK = ("XLA's tuple", "XLA's sizes", "truths")
