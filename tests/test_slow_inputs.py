"""No input takes long: what is twice as long takes at most about twice the steps.

Steps are bytecodes, which a busy machine does not change. What they cannot see, work inside of one
step such as a regular expression's, is timed in the tests marked `long`. Errors are those that are
documented, and short, whatever came.
"""

import contextlib
import io
import sys

import numpy as np
import pytest
from test_errors import space, templates

import tensorlayout as tl
from tensorlayout import directml, xla
from tensorlayout.cli import main
from tensorlayout.cli.errors import CommandError
from tensorlayout.cli.show import described

DOCUMENTED = (ValueError, TypeError, IndexError, OverflowError, MemoryError, CommandError)
MOST_LETTERS = 2000  # of a message
SIZE = 200


class Whole(int):
    """A subclass of int."""


def nested(levels):
    found = [1]
    for _ in range(levels):
        found = [found]
    return found


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

# What takes text, keys, sizes, orders, tiles or descriptors. Of many functions that share code, one.
CALLS = templates("""
x[@]
x[0, @]
x[@] = 1
x[0] = @
asarray(1, device=@)
zeros(@)
zeros((2, 2), layout=@)
full((2,), @)
arange(@)
linspace(0, 1, @)
eye(@)
meshgrid(v, v, indexing=@)
broadcast_shapes(@, (2,))
broadcast_to(v, @)
einsum(@, x)
gradient(x, @)
pad(x, @)
pad(x, 1, mode=@)
repeat(x, @)
reshape(x, @)
roll(x, @)
tile(x, @)
permute_dims(x, @)
sum(x, axis=@)
diff(x, n=@)
sliding_window(x, @)
tensordot(x, x, axes=@)
quantile(x, 0.5, method=@)
linalg.matrix_norm(q, ord=@)
fft.fft(x, n=@)
fft.fftn(x, s=@, axes=(0, 1))
fft.fft(x, norm=@)
to_layout(x, @)
from_storage(bytes(100), @, dtype=float32)
format(x, @)
Layout(@)
Layout((2, 3), @)
Layout((2, 3), parts=(@, ((3, 1),)))
Layout((2, 3), minor_to_major=@)
Layout((2, 3), padded_shape=@)
Layout((2, 3), offset=@)
Layout.parse(@)
Layout.labelled((1, 2, 3, 4), @)
Layout.pitched((2, 3), @, 4)
Layout.tiled((2, 3), @)
Layout.tiled((2, 3), [@])
Layout((2, 3)).permute(@)
Layout((2, 3)).slice(@)
Layout((2, 3)).broadcast_to(@)
Layout((2, 3)).reshape(@)
Layout((2, 3)).sliding_window(@, (0,))
Layout((2, 3)).component(@, 2)
Layout((2, 3)).offset_of(@)
Layout((2, 3)).index_of(@)
BitPattern(1, @)
BitPattern(@, "float32")
Device(@)
xla.parse_shape(@)
xla.parse_shapes(@)
xla.parse_layout(@)
xla.layout_of(@)
xla.Tile(@)
xla.XlaLayout(minor_to_major=@)
xla.XlaLayout(tiles=@)
xla.XlaLayout(split_configs=@)
xla.XlaLayout(memory_space=@)
xla.Shape.array(xla.PrimitiveType.F32, @)
xla.Shape.tuple_of(@)
xla.shape_of(@, xla.PrimitiveType.F32)
xla.permutations.inverse_permutation(@)
xla.permutations.common_factors(@, (2,))
directml.TensorDesc(@, (2, 3))
directml.TensorDesc("FLOAT32", @)
directml.TensorDesc("FLOAT32", (2, 3), @)
directml.TensorDesc("FLOAT32", (2, 3)).with_rank(@)
directml.calc_buffer_tensor_size("FLOAT32", @)
described(@)
described("NHWC", @)
described("sizes=2,3 strides=" + @)
described(@ + "=2")
main(["show", @])
main([@])
""")


@pytest.fixture(scope="module")
def names():
    found, _ = space()
    return found | {"xla": xla, "directml": directml, "described": described, "main": main}


def outcome(code, names):
    """What a call raises, None for nothing; what it prints counts as if it were raised."""
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
    """Whether Python refuses a call before it is ours: two things that do not add up."""
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
    """How many bytecodes a call takes."""
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


@pytest.mark.parametrize("call", CALLS)
def test_twice_the_input_takes_twice_the_steps(call, names):
    code = compile(call.replace("@", "wrong"), call, "exec")
    for kind, make in KINDS.items():
        if is_pythons(call, make(1)):
            continue
        outcome(code, names | {"wrong": make(SIZE // 2)})  # imports, and what is kept
        counts = []
        for size in (SIZE, 2 * SIZE):
            value = make(size)
            steps, error = steps_of(code, names | {"wrong": value})
            check_error(call, kind, value, error)
            counts.append(steps)
        assert counts[1] <= 2.5 * counts[0] + 2000, (kind, counts)
