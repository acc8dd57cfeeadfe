"""Every public function refuses what it cannot do: the class of the error, and its words.

What all functions share (tensors, axes, dtypes, devices, layouts, shapes) is tried on each by
templates, in which ``@`` is the wrong argument. All else is in tables that read like a session: a
call, and under it the error; "…" stands for anything. Layouts have a file of their own.
"""

import inspect
import re

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout.cpu.memory import storage_of
from tensorlayout.plan.results import AxisError


class Foreign:
    """An array of another library, as far as can be seen from outside."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


def space():
    """The names that calls may use: those of the package, and new tensors of several kinds."""
    x = tl.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v = tl.asarray([1.0, 2.0, 3.0])
    padded = {"shape": (4, 6), "padded_shape": (4, 8)}
    given = {
        "x": x,
        "v": v,
        "v2": tl.asarray([1.0, 2.0]),
        "s": tl.asarray(2.0),
        "cube": tl.zeros((2, 3, 4)),
        "q": tl.asarray([[1.0, 2.0], [2.0, 4.0]]),
        "none": tl.zeros((0, 3)),
        "i": tl.asarray([1, 2, 3]),
        "i8": tl.asarray([1, 2, 3], dtype=tl.int8),
        "u8": tl.asarray([1, 2, 3], dtype=tl.uint8),
        "f4": tl.asarray([1, 2, 3], dtype=tl.float32),
        "bf": tl.asarray([1, 2, 3], dtype=tl.bfloat16),
        "b": tl.asarray([True, False, True]),
        "z": tl.asarray([1 + 2j, 3j, 0]),
        "zi": tl.asarray([0, 1]),
        "far": tl.asarray([0, 9]),
        "ro": tl.from_storage(bytes(24), "(3,):(1,)", dtype=tl.float64),
        "w": tl.broadcast_to(v, (2, 3)),
        "big": tl.broadcast_to(tl.asarray(1.0), (2**30, 2**20)),
    }
    others = {
        "np": np,
        "foreign": Foreign(),
        "bits": tl.Layout(**padded, padding_value=tl.BitPattern(1, "int8")),
        "least": tl.Layout(**padded, padding_value=tl.PaddingValue.LOWEST),
        "tiled": "(4,6):(2*12+2*2,3*4+2*1)",
    }
    return {**{name: getattr(tl, name) for name in tl.__all__}, **others, **given}, given


def name_of(call):
    """The function that a call names."""
    found = re.match(r"[\w.]+(?=\()", call)
    return found and found[0]


def failing(call, **wrong):
    """The error of a call; nothing is changed by it, and no other error is shown with it."""
    names, given = space()
    names |= wrong
    before = [(storage_of(t).tobytes(), t.layout) for t in given.values()]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is, the caller looks at
        exec(call.replace("@", "wrong") if "wrong" in names else call, names)
    assert [(storage_of(t).tobytes(), t.layout) for t in given.values()] == before
    error = caught.value
    if not call.startswith("from_dlpack"):  # which shows the exporter's error, too
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
    return error


def templates(text):
    return text.split("\n")[1:-1]


def check(call, wrong, kind, message):
    """The error of a template, whose message begins with the name of the function."""
    error = failing(call, wrong=wrong)
    assert type(error) is kind, repr(error)
    name = name_of(call).rpartition(".")[2]
    pattern = re.escape(f"{name}: {message}").replace("…", ".*")
    assert re.fullmatch(pattern, str(error)), str(error)


# --- what all functions share ------------------------------------------------------------------

ELEMENTWISE_FUNCTIONS = [
    name for name, function in vars(tl).items() if hasattr(function, "operation")
]
ONE = [n for n in ELEMENTWISE_FUNCTIONS if len(inspect.signature(getattr(tl, n)).parameters) == 1]
TWO = [n for n in ELEMENTWISE_FUNCTIONS if n not in ONE]

TENSORS = [
    *(f"{name}(@)" for name in ONE),
    *(f"{name}(@, v)" for name in TWO),
    *(f"{name}(v, @)" for name in TWO),
    *templates("""
clip(@, 0, 1)
real(@)
imag(@)
where(@, v, v)
where(b, @, v)
where(b, v, @)
sum(@)
prod(@)
min(@)
max(@)
mean(@)
var(@)
std(@)
all(@)
any(@)
count_nonzero(@)
argmax(@)
argmin(@)
cumulative_sum(@)
cumulative_prod(@)
diff(@)
sort(@)
argsort(@)
nonzero(@)
searchsorted(@, v)
searchsorted(v, @)
unique_all(@)
unique_counts(@)
unique_inverse(@)
unique_values(@)
take(@, zi)
take(v, @)
take_along_axis(@, zi)
take_along_axis(v, @)
empty_like(@)
zeros_like(@)
ones_like(@)
full_like(@, 1)
meshgrid(@, v)
meshgrid(v, @)
tril(@)
triu(@)
astype(@, float64)
to_layout(@, (0,))
broadcast_arrays(v, @)
broadcast_to(@, (2, 3))
concat([v, @])
stack([v, @])
unstack(@)
expand_dims(@)
squeeze(@, 0)
flip(@)
moveaxis(@, 0, 0)
permute_dims(@, (0,))
repeat(@, 2)
tile(@, (2,))
reshape(@, (3,))
roll(@, 1)
sliding_window(@, 1)
matmul(@, v)
matmul(v, @)
matrix_transpose(@)
tensordot(@, v)
tensordot(v, @)
vecdot(@, v)
vecdot(v, @)
linalg.cholesky(@)
linalg.cross(@, v)
linalg.cross(v, @)
linalg.det(@)
linalg.diagonal(@)
linalg.eig(@)
linalg.eigh(@)
linalg.eigvals(@)
linalg.eigvalsh(@)
linalg.inv(@)
linalg.matmul(@, v)
linalg.matmul(v, @)
linalg.matrix_norm(@)
linalg.matrix_power(@, 2)
linalg.matrix_rank(@)
linalg.matrix_transpose(@)
linalg.outer(@, v)
linalg.outer(v, @)
linalg.pinv(@)
linalg.qr(@)
linalg.slogdet(@)
linalg.solve(@, v)
linalg.solve(q, @)
linalg.svd(@)
linalg.svdvals(@)
linalg.tensordot(@, v)
linalg.tensordot(v, @)
linalg.vecdot(@, v)
linalg.vecdot(v, @)
linalg.vector_norm(@)
fft.fft(@)
fft.ifft(@)
fft.rfft(@)
fft.irfft(@)
fft.hfft(@)
fft.ihfft(@)
fft.fftn(@)
fft.ifftn(@)
fft.rfftn(@)
fft.irfftn(@)
fft.fftshift(@)
fft.ifftshift(@)
"""),
]


@pytest.mark.parametrize("call", TENSORS)
def test_what_is_no_tensor(call):
    for wrong, came in [
        ([1.0], "got list; make it a tensor with asarray() first"),
        ("text", "got str"),
        (None, "got NoneType"),
        (np.ones(3), "got numpy.ndarray; make it a tensor with asarray() first"),
        (Foreign(), "Foreign; make it a tensor with asarray() first"),
        ({}, "got dict"),
    ]:
        check(call, wrong, TypeError, f"…{came}")


AXES = templates("""
all(x, axis=@)
any(x, axis=@)
argmax(x, axis=@)
argmin(x, axis=@)
argsort(x, axis=@)
concat([x, x], axis=@)
count_nonzero(x, axis=@)
cumulative_prod(x, axis=@)
cumulative_sum(x, axis=@)
diff(x, axis=@)
flip(x, axis=@)
max(x, axis=@)
mean(x, axis=@)
min(x, axis=@)
moveaxis(x, @, 0)
moveaxis(x, 0, @)
permute_dims(x, (0, @))
prod(x, axis=@)
repeat(x, 2, axis=@)
roll(x, 1, axis=@)
sliding_window(x, 1, axis=@)
sort(x, axis=@)
squeeze(x, axis=@)
std(x, axis=@)
sum(x, axis=@)
take(x, zi, axis=@)
take_along_axis(x, zi[None, :], axis=@)
unstack(x, axis=@)
var(x, axis=@)
fft.fft(x, axis=@)
fft.fftshift(x, axes=@)
fft.hfft(x, axis=@)
fft.ifft(x, axis=@)
fft.ifftshift(x, axes=@)
fft.ihfft(x, axis=@)
fft.irfft(x, axis=@)
fft.rfft(x, axis=@)
""")


@pytest.mark.parametrize("call", AXES)
def test_axes_outside(call):
    for wrong in (2, -3, 2**70):
        check(call, wrong, AxisError, f"…must be at least -2 and below 2, got {wrong}")


@pytest.mark.parametrize("call", ["stack([x, x], axis=@)", "expand_dims(x, axis=@)"])
def test_new_axes_outside(call):
    for wrong in (3, -4):
        check(call, wrong, AxisError, f"axis must be at least -3 and below 3, got {wrong}")


def test_an_axis_error_is_caught_as_either():
    assert issubclass(AxisError, ValueError)
    assert issubclass(AxisError, IndexError)


@pytest.mark.parametrize(
    "call",
    templates("""
concat([x, x], axis=@)
eye(3, k=@)
linspace(0, 1, @)
repeat(x, @)
repeat(x, 2, axis=@)
stack([x, x], axis=@)
take(x, zi, axis=@)
take_along_axis(x, zi[None, :], axis=@)
tril(x, k=@)
triu(x, k=@)
unstack(x, axis=@)
"""),
)
def test_what_is_no_integer(call):
    for wrong, came in [(1.0, "1.0"), ("0", "'0'"), (True, "True"), ((0,), "(0,)")]:
        check(call, wrong, TypeError, f"… must be an integer, got {came}")


@pytest.mark.parametrize(
    "call",
    templates("""
broadcast_shapes((2, 3), @)
broadcast_to(x, @)
empty(@)
expand_dims(x, axis=@)
flip(x, axis=@)
full(@, 1)
moveaxis(x, @, 0)
moveaxis(x, 0, @)
ones(@)
permute_dims(x, @)
reshape(x, @)
roll(x, @)
roll(x, 1, axis=@)
sliding_window(x, @)
sliding_window(x, 1, axis=@)
squeeze(x, axis=@)
tile(x, @)
zeros(@)
"""),
)
def test_what_is_no_sequence_of_integers(call):
    for wrong, came in [
        (1.0, "1.0"),
        ("12", "'12'"),
        (b"12", "b'12'"),
        (True, "True"),
        ((0.0, 1), "(0.0, 1)"),
        ([True], "[True]"),
        ({0, 1}, "{0, 1}"),
        (((0, 1),), "((0, 1),)"),
        (np.ones(2), "numpy.ndarray"),
        (tl.asarray(1.0), "a tensor of float64 and shape ()"),
    ]:
        rule = "must be an integer or a sequence of integers"
        check(call, wrong, TypeError, f"… {rule}, got {came}")


@pytest.mark.parametrize(
    "call",
    templates("""
arange(3, dtype=@)
asarray([1], dtype=@)
asarray(x, dtype=@)
astype(x, @)
can_cast(@, int8)
can_cast(int8, @)
empty((2,), dtype=@)
empty_like(x, dtype=@)
eye(2, dtype=@)
finfo(@)
from_storage(bytes(8), "(1,):(1,)", dtype=@)
full((2,), 1, dtype=@)
full_like(x, 1, dtype=@)
iinfo(@)
isdtype(@, "bool")
linspace(0, 1, 3, dtype=@)
ones((2,), dtype=@)
ones_like(x, dtype=@)
result_type(int8, @)
zeros((2,), dtype=@)
zeros_like(x, dtype=@)
"""),
)
def test_what_is_no_dtype(call):
    for wrong, came in [
        ("float3", "'float3'"),
        ("S3", "'S3'"),
        ("f4,f4", "'f4,f4'"),
        (object, "<class 'object'>"),
        ([], "list"),
        ({}, "dict"),
        (np.ones(2), "ndarray"),
        (np.dtype("M8[s]"), "dtype('<M8[s]')"),
    ]:
        check(call, wrong, TypeError, f"…must be a dtype of this namespace, got {came}")


@pytest.mark.parametrize(
    "call",
    templates("""
arange(3, device=@)
asarray([1], device=@)
astype(x, int8, device=@)
empty((2,), device=@)
empty_like(x, device=@)
eye(2, device=@)
from_dlpack(x, device=@)
full((2,), 1, device=@)
full_like(x, 1, device=@)
linspace(0, 1, 3, device=@)
ones((2,), device=@)
ones_like(x, device=@)
zeros((2,), device=@)
zeros_like(x, device=@)
"""),
)
def test_what_is_no_device_of_this_machine(call):
    rule = "device must be one of those available (…), got"
    check(call, "gpu", ValueError, f"{rule} 'gpu'")
    check(call, tl.Device("cuda", 7), ValueError, f"{rule} Device('cuda:7')…")
    check(call, 5, TypeError, f"{rule} int")
    check(call, [], TypeError, f"{rule} list")


@pytest.mark.parametrize(
    "call",
    templates("""
asarray(np.ones((4, 6)), layout=@)
empty((4, 6), layout=@)
empty_like(zeros((4, 6)), layout=@)
eye(4, 6, layout=@)
full((4, 6), 1.0, layout=@)
full_like(zeros((4, 6)), 1, layout=@)
ones((4, 6), layout=@)
ones_like(zeros((4, 6)), layout=@)
to_layout(zeros((4, 6)), @)
zeros((4, 6), layout=@)
zeros_like(zeros((4, 6)), layout=@)
"""),
)
def test_what_is_no_layout_for_the_shape(call):
    exec(call.replace("@", "(0, 1)"), space()[0])  # equal keys, such as (0.0, 1), have one plan
    kinds = "must be a Layout, its text, labels or a minor-to-major sequence"
    padding = "the padding of layout, {}, has no meaning in float64"
    for wrong, error, message in [
        ((0, 0), ValueError, "minor_to_major: … permutation of 0 to 1 …, got (0, 0)"),
        ((0, 1, 2), ValueError, "minor_to_major: … permutation of 0 to 1 …, got (0, 1, 2)"),
        ([0.0, 1], TypeError, "layout must be … a sequence of integers, got [0.0, 1]"),
        ((False, True), TypeError, "layout must be … of integers, got (False, True)"),
        ("CHW", ValueError, "labels: 'CHW' names 3 dimensions, the shape has 2"),
        ("XY", ValueError, "labels: must be the letters of one of …, got 'XY'"),
        ("(4,6:(5,1)", ValueError, "layout text: must read …, got '(4,6:(5,1)'"),
        ("(4,5):(5,1)", ValueError, "layout (4,5):(5,1) is for shape (4, 5), the … (4, 6)"),
        ("(4,6):(0,1)", ValueError, "elements of layout (4,6):(0,1) share slots; …"),
        ("(4,6):(2*12+2*2,3*4+2*1)", NotImplementedError, "layout … is tiled; …"),
        (5, TypeError, f"layout {kinds}, got 5"),
        ({}, TypeError, f"layout {kinds}, got {{}}"),
        (tl.zeros((2,)), TypeError, f"layout {kinds}, got Tensor…"),
        (space()[0]["bits"], ValueError, padding.format("BitPattern(0x1, 'int8')")),
    ]:
        check(call, wrong, error, message)


@pytest.mark.parametrize(
    "call",
    templates("""
asarray(x, copy=@)
astype(x, int8, copy=@)
from_dlpack(x, copy=@)
reshape(x, (6,), copy=@)
to_layout(x, (0, 1), copy=@)
"""),
)
def test_what_is_no_answer_to_copy(call):
    for wrong in ("never", 2, []):
        check(call, wrong, TypeError, f"copy must be True, False or None, got {wrong!r}")


LARGE = [
    *(f"{name}(big)" for name in ("empty_like", "zeros_like", "ones_like", "tril")),
    *(f"{name}(big)" for name in ("sin", "abs", "negative", "reciprocal")),
    *(f"{name}(big, 2.0)" for name in ("full_like", "add", "divide", "pow", "maximum")),
    *(f"{name}(v[:1], big)" for name in ("add", "atan2", "multiply", "floor_divide")),
    *(f"{name}((2**30, 2**20))" for name in ("empty", "zeros", "ones")),
    "full((2**30, 2**20), 1.0)",
    "zeros((2**30, 2**20), layout=(0, 1))",
    'ones((2**30, 2**20), layout="(1073741824,1048576):(1048576,1)")',
    "reshape(big, (2**50,), copy=True)",
    "to_layout(big, (0, 1))",
    "asarray(big, copy=True)",
    "from_dlpack(big, copy=True)",
    "eye(2**30, 2**20)",
    "concat([big[1:], big[:1]])",
    "stack([big, big], axis=1)",
    "take(big, broadcast_to(zi[0], (2**30,)), axis=0)",
    "sort(big)",
    "cumulative_sum(big, axis=0)",
]


@pytest.mark.parametrize("call", LARGE)
def test_memory_that_cannot_be_had(call):
    check(call, None, MemoryError, "shape (…) of float64 needs … bytes, which cannot be allocated")


SIGNS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "bitwise_left_shift",
    ">>": "bitwise_right_shift",
}
COMPARISONS = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}


@pytest.mark.parametrize("sign", {**SIGNS, **COMPARISONS})
def test_operators_refuse_other_arrays(sign):
    name = {**SIGNS, **COMPARISONS}[sign]
    for call in [f"x {sign} foreign", *([f"x {sign}= foreign"] if sign in SIGNS else [])]:
        error = failing(call)
        assert type(error) is TypeError
        assert str(error).startswith(f"{name}: operands must be tensors or Python scalars, got ")
        assert str(error).endswith("Foreign; make it a tensor with asarray() first")


@pytest.mark.parametrize("sign", SIGNS)
def test_operators_in_place_refuse_to_write(sign):
    for call, rule in {
        f"ro {sign}= 1": "the tensor is read-only; copy() it first",
        f"w {sign}= 1": "elements of layout (2,3):(0,1) share slots, so it cannot be written; …",
    }.items():
        error = failing(call)
        assert type(error) is ValueError
        assert re.fullmatch(re.escape(f"{SIGNS[sign]}: {rule}").replace("…", ".*"), str(error))


# --- what each function refuses besides --------------------------------------------------------

CREATION = """
zeros((2, -3))
    ValueError: zeros: shape: sizes must not be negative, got (2, -3)
zeros((1,) * 65)
    ValueError: zeros: shape: at most 64 dimensions are allowed, got 65
zeros((2**40, 2**40))
    ValueError: zeros: shape: the sizes (1099511627776, 1099511627776), with 1 for 0, multiply
    to more than 2**63 - 1
zeros((2**62,))
    MemoryError: zeros: shape (4611686018427387904,) of float64 needs 36893488147419103232
    bytes, which cannot be allocated
zeros((2**50,))
    MemoryError: zeros: shape (1125899906842624,) of float64 needs 9007199254740992 bytes, which
    cannot be allocated
zeros((2,), dtype=np.longdouble)
    TypeError: zeros: dtype must be a dtype of this namespace, got <class 'numpy.longdouble'>
zeros((2,), device="cuda:99")
    ValueError: zeros: device must be one of those available (cpu…), got 'cuda:99'…
set_default_device("abacus")
    ValueError: set_default_device: device must be one of those available (cpu…), got 'abacus'
full((2,), "a")
    TypeError: full: fill_value must be a number, got 'a'
full((2,), None)
    TypeError: full: fill_value must be a number, got None
full((2,), [1, 2])
    TypeError: full: fill_value must be a number, got [1, 2]
full((2,), v)
    ValueError: full: fill_value must be a number, got a tensor of shape (3,)
full((2,), np.ones(3))
    TypeError: full: fill_value must be a number, got numpy.ndarray
full((2,), 300, dtype=int8)
    OverflowError: full: the Python integer 300 does not fit int8
full((2,), -1, dtype=uint8)
    OverflowError: full: the Python integer -1 does not fit uint8
full((2,), 2**70)
    OverflowError: full: the Python integer 1180591620717411303424 does not fit int64
full((2,), 10**400, dtype=float64)
    OverflowError: full: the Python integer of 1329 bits does not fit float64
full((2,), 1j, dtype=float64)
    TypeError: full: complex128 cannot become float64; take real() or abs() first
full((2,), z[0], dtype=float64)
    TypeError: full: complex128 cannot become float64; take real() or abs() first
full(v, 1)
    TypeError: full: shape must be an integer or a sequence of integers, got a tensor of float64
    and shape (3,)
full_like(x, "a")
    TypeError: full_like: fill_value must be a number, got 'a'
full_like(x, v)
    ValueError: full_like: fill_value must be a number, got a tensor of shape (3,)
full_like(x, None)
    TypeError: full_like: fill_value must be a number, got None
full_like(i8, 300)
    OverflowError: full_like: the Python integer 300 does not fit int8
full_like(x, 1j)
    TypeError: full_like: complex128 cannot become float64; take real() or abs() first
arange("a")
    TypeError: arange: stop must be a real number, got 'a'
arange(None)
    TypeError: arange: stop must be a real number, got None
arange(0, 10, 0)
    ValueError: arange: step must not be 0
arange(0, 1e300)
    ValueError: arange: from 0 to 1e+300 by 1 are more than 2**63 - 1 numbers
arange(0, 2**64)
    OverflowError: arange: the Python integer 18446744073709551615 does not fit int64
arange(0, 2**50)
    MemoryError: arange: shape (1125899906842624,) of int64 needs 9007199254740992 bytes, which
    cannot be allocated
arange(0, inf)
    ValueError: arange: from 0 to inf by 1 is no finite number of steps
arange(nan)
    ValueError: arange: from 0 to nan by 1 is no finite number of steps
arange(0, 10, nan)
    ValueError: arange: from 0 to 10 by nan is no finite number of steps
arange(1j)
    TypeError: arange: stop must be a real number, got 1j
arange(v)
    TypeError: arange: stop must be a real number, got a tensor of float64 and shape (3,)
arange(300, dtype=int8)
    OverflowError: arange: the Python integer 299 does not fit int8
arange(2**70, 2**70 + 2)
    OverflowError: arange: the Python integer 1180591620717411303425 does not fit int64
arange(3, dtype=bool)
    TypeError: arange: dtype must be numeric, got bool
arange(0, 10**400, 1.0)
    OverflowError: arange: the Python integer of 1329 bits does not fit float64
arange(-1, 3, dtype=uint8)
    OverflowError: arange: the Python integer -1 does not fit uint8
linspace("a", 1, 3)
    TypeError: linspace: start must be a number, got 'a'
linspace(0, None, 3)
    TypeError: linspace: stop must be a number, got None
linspace(0, 1, -1)
    ValueError: linspace: num must not be negative, got -1
linspace(0, 1, 2.5)
    TypeError: linspace: num must be an integer, got 2.5
linspace(0, 1, None)
    TypeError: linspace: num must be an integer, got None
linspace(0, 1, 2**50)
    MemoryError: linspace: shape (1125899906842624,) of float64 needs 9007199254740992 bytes,
    which cannot be allocated
linspace(0, 1, 2**64)
    ValueError: linspace: shape: the sizes (18446744073709551616,), with 1 for 0, multiply to
    more than 2**63 - 1
linspace(0, 1j, 3, dtype=float32)
    TypeError: linspace: complex numbers cannot become float32
linspace(x, 1, 3)
    TypeError: linspace: start must be a number, got a tensor of float64 and shape (2, 3)
linspace(0, 1, 3, dtype=bool)
    TypeError: linspace: dtype must be numeric, got bool
linspace(0, 10**400, 3)
    OverflowError: linspace: the Python integer of 1329 bits does not fit float64
eye(-1)
    ValueError: eye: n_rows must not be negative, got -1
eye(3, -1)
    ValueError: eye: n_cols must not be negative, got -1
eye(2.0)
    TypeError: eye: n_rows must be an integer, got 2.0
eye(3, 2.0)
    TypeError: eye: n_cols must be an integer, got 2.0
eye(3, k=1.5)
    TypeError: eye: k must be an integer, got 1.5
eye(2**40)
    ValueError: eye: shape: the sizes (1099511627776, 1099511627776), with 1 for 0, multiply to
    more than 2**63 - 1
eye(2**25, 2**25)
    MemoryError: eye: shape (33554432, 33554432) of float64 needs 9007199254740992 bytes, which
    cannot be allocated
asarray("abc")
    TypeError: asarray: a tensor holds numbers, got str
asarray(None)
    TypeError: asarray: a tensor holds numbers, got NoneType
asarray([1, "a"])
    TypeError: asarray: a tensor holds numbers, got str
asarray([[1, 2], [3]])
    ValueError: asarray: sequences inside one another must have equal lengths, got a sequence of
    2 beside a sequence of 1
asarray([v, [1.0, 2.0]])
    ValueError: asarray: sequences inside one another must have equal lengths, got a sequence of
    3 beside a sequence of 2
asarray({})
    TypeError: asarray: a tensor holds numbers, got dict
asarray(2**70)
    OverflowError: asarray: the Python integer 1180591620717411303424 does not fit int64
asarray(-2**63 - 1)
    OverflowError: asarray: the Python integer -9223372036854775809 does not fit int64
asarray([1, 300], dtype=int8)
    OverflowError: asarray: the Python integer 300 does not fit int8
asarray([1j], dtype=float64)
    TypeError: asarray: complex128 cannot become float64; take real() or abs() first
asarray(z, dtype=float64)
    TypeError: asarray: complex128 cannot become float64; take real() or abs() first
asarray([10**400], dtype=float64)
    OverflowError: asarray: the Python integer of 1329 bits does not fit float64
asarray([10**400, 1.5])
    OverflowError: asarray: the Python integer of 1329 bits does not fit float64
asarray([1], dtype=object)
    TypeError: asarray: dtype must be a dtype of this namespace, got <class 'object'>
asarray([1], copy=False)
    ValueError: asarray: the memory of a list cannot be shared, and copy=False
asarray(i, dtype=float64, copy=False)
    ValueError: asarray: int64 cannot be seen as float64 without a copy, and copy=False
asarray([[1, 2]], layout="NCHW")
    ValueError: asarray: labels: 'NCHW' names 4 dimensions, the shape has 2
asarray(x, layout=(0, 1), copy=False)
    ValueError: asarray: (2,3):(3,1) is not (2,3):(1,2), and copy=False
asarray(np.array(["a"]))
    TypeError: asarray: dtype must be a dtype of this namespace, got dtype('<U1')
asarray(np.array([1], dtype=object))
    TypeError: asarray: dtype must be a dtype of this namespace, got dtype('O')
asarray(np.array([(1, 2)], dtype="i4,i4"))
    TypeError: asarray: dtype must be a dtype of this namespace, got dtype([('f0', '<i4'),
    ('f1', '<i4')])
asarray(np.array(["2020"], dtype="M8[Y]"))
    TypeError: asarray: dtype must be a dtype of this namespace, got dtype('<M8[Y]')
asarray(lambda: 1)
    TypeError: asarray: a tensor holds numbers, got function
asarray(i for i in range(3))
    TypeError: asarray: a tensor holds numbers, got generator
asarray([[[1], [2, 3]]])
    ValueError: asarray: sequences inside one another must have equal lengths, got a sequence of
    1 beside a sequence of 2
meshgrid(x)
    ValueError: meshgrid: arrays must be of rank 1, got shapes [(2, 3)]
meshgrid(v, i)
    TypeError: meshgrid: arrays must be of one dtype, got float64, int64
meshgrid(v, indexing="xx")
    ValueError: meshgrid: indexing must be 'xy' or 'ij', got 'xx'
meshgrid(v, indexing=None)
    ValueError: meshgrid: indexing must be 'xy' or 'ij', got None
meshgrid(broadcast_to(s, (2**30,)), broadcast_to(s, (2**30,)))
    ValueError: meshgrid: shape (1073741824, 1073741824) of float64 spans more than 2**63 - 1
    bytes
tril(v)
    ValueError: tril: needs a rank of at least 2, got shape (3,)
tril(x, k=1.5)
    TypeError: tril: k must be an integer, got 1.5
triu(v)
    ValueError: triu: needs a rank of at least 2, got shape (3,)
triu(big)
    MemoryError: triu: shape (1073741824, 1048576) of float64 needs 9007199254740992 bytes,
    which cannot be allocated
from_dlpack([1])
    AttributeError: from_dlpack: a list exports nothing by DLPack (__dlpack__ and
    __dlpack_device__); use asarray()
from_dlpack(None)
    AttributeError: from_dlpack: a NoneType exports nothing by DLPack (__dlpack__ and
    __dlpack_device__); use asarray()
from_dlpack(np.array(["a"]))
    BufferError: from_dlpack: ndarray could not be exchanged: …
ones((2**40, 2**40))
    ValueError: ones: shape: the sizes (1099511627776, 1099511627776), with 1 for 0, multiply to
    more than 2**63 - 1
empty((1,) * 65)
    ValueError: empty: shape: at most 64 dimensions are allowed, got 65
"""

LAYOUTS = """
from_storage([1, 2], "(2,):(1,)", dtype=int8)
    TypeError: from_storage: storage must have the buffer protocol, got [1, 2]
from_storage(None, "(2,):(1,)", dtype=int8)
    TypeError: from_storage: storage must have the buffer protocol, got None
from_storage("ab", "(2,):(1,)", dtype=int8)
    TypeError: from_storage: storage must have the buffer protocol, got 'ab'
from_storage(bytes(4), "(2,):(1,)", dtype=int64)
    ValueError: from_storage: layout (2,):(1,) of int64 requires 16 bytes (2 slots), the storage
    has 4 available
from_storage(bytes(4), "(2,)", dtype=int8)
    ValueError: from_storage: layout text: must read (sizes):(strides)[+offset] …, got '(2,)'
from_storage(bytes(4), (2,), dtype=int8)
    TypeError: from_storage: layout must be a Layout or its text, got (2,)
from_storage(bytes(4), None, dtype=int8)
    TypeError: from_storage: layout must be a Layout or its text, got None
from_storage(bytes(4), "(2,):(1,)", dtype=None)
    TypeError: from_storage: dtype must be a dtype of this namespace, got None
from_storage(bytes(400), tiled, dtype=int8)
    NotImplementedError: from_storage: layout (4,6):(2*12+2*2,3*4+2*1) is tiled; tensors hold
    strided layouts only so far
from_storage(bytes(32), least, dtype=int8, fill_padding=True)
    ValueError: from_storage: the tensor is read-only; copy() it first
from_storage(bytearray(256), least, dtype=complex64, fill_padding=True)
    ValueError: from_storage: the padding of layout, PaddingValue.LOWEST, has no meaning in
    complex64
from_storage(np.ones((4, 4))[:, 0], "(2,):(1,)", dtype=float64)
    ValueError: from_storage: the storage must be one run of bytes (C-contiguous)
from_storage(bytearray(32), "(2**70,):(1,)", dtype=int8)
    ValueError: from_storage: layout text: must read (sizes):(strides)[+offset] …, got
    '(2**70,):(1,)'
from_storage(bytearray(32), "(1180591620717411303424,):(0,)", dtype=int8)
    ValueError: from_storage: shape: the sizes (1180591620717411303424,), with 1 for 0, multiply
    to more than 2**63 - 1
from_storage(bytearray(32), "(4611686018427387904,):(0,)", dtype=int64)
    ValueError: from_storage: shape (4611686018427387904,) of int64 spans more than 2**63 - 1
    bytes
from_storage(v, "(2,):(1,)", dtype=int8)
    TypeError: from_storage: storage must have the buffer protocol, got a tensor of float64 and
    shape (3,)
to_layout(x, None)
    TypeError: to_layout: layout must say which, got None
to_layout(x, tiled)
    ValueError: to_layout: layout (4,6):(2*12+2*2,3*4+2*1) is for shape (4, 6), the tensor has
    shape (2, 3)
to_layout(x, "CHW")
    ValueError: to_layout: labels: 'CHW' names 3 dimensions, the shape has 2
to_layout(x, "")
    ValueError: to_layout: labels: must be the letters of one of W, HW, DHW, CHW, NCHW, NCDHW,
    in any order, got ''
to_layout(x, (0, 1), copy=False)
    ValueError: to_layout: (2,3):(3,1) is not (2,3):(1,2), and copy=False
to_layout(x, Layout((3, 2)))
    ValueError: to_layout: layout (3,2):(2,1) is for shape (3, 2), the tensor has shape (2, 3)
to_layout(x, "(2,3):(0,1)")
    ValueError: to_layout: elements of layout (2,3):(0,1) share slots; a new tensor needs one
    slot for each
to_layout(x, {0, 1})
    TypeError: to_layout: layout must be a Layout, its text, labels or a minor-to-major
    sequence, got {0, 1}
to_layout(x, (0.0, 1))
    TypeError: to_layout: layout must be an integer or a sequence of integers, got (0.0, 1)
to_layout(x, i)
    TypeError: to_layout: layout must be a Layout, its text, labels or a minor-to-major
    sequence, got Tensor([1, 2, 3], dtype=int64, device='cpu')
Device(5)
    TypeError: Device: must be a kind and a number, got 5 and 0
Device("cpu", None)
    TypeError: Device: must be a kind and a number, got 'cpu' and None
"""

DATA_TYPES = """
astype(x, None)
    TypeError: astype: dtype must be a dtype of this namespace, got None
astype(x, x)
    TypeError: astype: dtype must be a dtype of this namespace, got Tensor
astype(z, float64)
    TypeError: astype: complex128 cannot become float64; take real() or abs() first
astype(z, int8)
    TypeError: astype: complex128 cannot become int8; take real() or abs() first
astype(big, float32)
    MemoryError: astype: shape (1073741824, 1048576) of float32 needs 4503599627370496 bytes,
    which cannot be allocated
can_cast("x", int8)
    TypeError: can_cast: from_ must be a dtype of this namespace, got 'x'
can_cast(int8, "x")
    TypeError: can_cast: to must be a dtype of this namespace, got 'x'
can_cast(int8, None)
    TypeError: can_cast: to must be a dtype of this namespace, got None
result_type()
    ValueError: result_type: needs at least one tensor or dtype
result_type("x")
    TypeError: result_type: each argument must be a dtype of this namespace, got 'x'
result_type(int8, "abc")
    TypeError: result_type: each argument must be a dtype of this namespace, got 'abc'
result_type(np.ones(3))
    TypeError: result_type: each argument must be a dtype of this namespace, got ndarray
isdtype(int8, "foo")
    ValueError: isdtype: kind must be a dtype or one of bool, complex floating, integral,
    numeric, real floating, signed integer, unsigned integer, got 'foo'
isdtype("x", "bool")
    TypeError: isdtype: dtype must be a dtype of this namespace, got 'x'
isdtype(int8, None)
    TypeError: isdtype: kind must be a dtype of this namespace, got None
isdtype(int8, (int8, "foo"))
    ValueError: isdtype: kind must be a dtype or one of bool, complex floating, integral,
    numeric, real floating, signed integer, unsigned integer, got 'foo'
isdtype(int8, [int8])
    TypeError: isdtype: kind must be a dtype of this namespace, got list
isdtype(None, "bool")
    TypeError: isdtype: dtype must be a dtype of this namespace, got None
finfo(int8)
    TypeError: finfo: type must be a floating-point dtype, got int8
finfo(bool)
    TypeError: finfo: type must be a floating-point dtype, got bool
finfo("x")
    TypeError: finfo: type must be a dtype of this namespace, got 'x'
finfo(1.0)
    TypeError: finfo: type must be a dtype of this namespace, got float
finfo(i)
    TypeError: finfo: type must be a floating-point dtype, got int64
iinfo(float32)
    TypeError: iinfo: type must be an integer dtype, got float32
iinfo("x")
    TypeError: iinfo: type must be a dtype of this namespace, got 'x'
iinfo(v)
    TypeError: iinfo: type must be an integer dtype, got float64
__array_namespace_info__().dtypes(kind="foo")
    ValueError: dtypes: kind must be a dtype or one of bool, complex floating, integral,
    numeric, real floating, signed integer, unsigned integer, got 'foo'
__array_namespace_info__().dtypes(kind=5)
    TypeError: dtypes: kind must be a dtype of this namespace, got 5
"""

MANIPULATION = """
broadcast_arrays(v, v2)
    ValueError: broadcast_arrays: shapes (3,), (2,) do not broadcast together
broadcast_shapes((2,), (3,))
    ValueError: broadcast_shapes: shapes (2,), (3,) do not broadcast together
broadcast_shapes(2, 3)
    ValueError: broadcast_shapes: shapes (2,), (3,) do not broadcast together
broadcast_shapes("ab")
    TypeError: broadcast_shapes: shape must be an integer or a sequence of integers, got 'ab'
broadcast_shapes((-1,))
    ValueError: broadcast_shapes: shape must hold no negative sizes, got [(-1,)]
broadcast_to(v, (2, 4))
    ValueError: broadcast_to: shape (3,) cannot be broadcast to (2, 4)
broadcast_to(x, (3,))
    ValueError: broadcast_to: shape (2, 3) cannot be broadcast to (3,)
broadcast_to(v, (-1, 3))
    ValueError: broadcast_to: shape must hold no negative sizes, got (-1, 3)
broadcast_to(v, (2.0, 3))
    TypeError: broadcast_to: shape must be an integer or a sequence of integers, got (2.0, 3)
broadcast_to(v, "23")
    TypeError: broadcast_to: shape must be an integer or a sequence of integers, got '23'
broadcast_to(v, None)
    TypeError: broadcast_to: shape must be an integer or a sequence of integers, got None
broadcast_to(s, (2**40, 2**40))
    ValueError: broadcast_to: shape: the sizes (1099511627776, 1099511627776), with 1 for 0,
    multiply to more than 2**63 - 1
broadcast_to(s, (1,) * 65)
    ValueError: broadcast_to: shape: at most 64 dimensions are allowed, got 65
broadcast_to(s, (2**62, 0))
    ValueError: broadcast_to: shape (4611686018427387904, 0) of float64 spans more than 2**63 -
    1 bytes
concat([])
    ValueError: concat: arrays must be at least one tensor, got none
concat(v)
    TypeError: concat: arrays must be a tuple or list of tensors, got a tensor of float64 and
    shape (3,)
concat([v, x])
    ValueError: concat: shapes must agree but for axis 0, got [(3,), (2, 3)]
concat([x, q])
    ValueError: concat: shapes must agree but for axis 0, got [(2, 3), (2, 2)]
concat([x, x], axis=(0,))
    TypeError: concat: axis must be an integer, got (0,)
concat([s, s])
    ValueError: concat: tensors of rank 0 have no axis to join along; use stack()
concat([big, big])
    MemoryError: concat: shape (2147483648, 1048576) of float64 needs 18014398509481984 bytes,
    which cannot be allocated
stack([])
    ValueError: stack: arrays must be at least one tensor, got none
stack(v)
    TypeError: stack: arrays must be a tuple or list of tensors, got a tensor of float64 and
    shape (3,)
stack([v, v2])
    ValueError: stack: shapes must be equal, got [(3,), (2,)]
stack([big, big])
    MemoryError: stack: shape (2, 1073741824, 1048576) of float64 needs 18014398509481984 bytes,
    which cannot be allocated
unstack(s)
    AxisError: unstack: axis must name a dimension, and rank 0 has none, got 0
expand_dims(x, axis=3)
    AxisError: expand_dims: axis must be at least -3 and below 3, got 3
expand_dims(x, axis=-4)
    AxisError: expand_dims: axis must be at least -3 and below 3, got -4
expand_dims(x, axis=(0, 0))
    ValueError: expand_dims: axis must not name a dimension twice, got (0, 0)
expand_dims(zeros((1,) * 64), axis=0)
    ValueError: expand_dims: shape: at most 64 dimensions are allowed, got 65
squeeze(x, axis=0)
    ValueError: squeeze: axis must name dimensions of size 1, got 0 of shape (2, 3)
squeeze(zeros((1, 1)), axis=(0, 0))
    ValueError: squeeze: axis must not name a dimension twice, got (0, 0)
flip(x, axis=(0, 0))
    ValueError: flip: axis must not name a dimension twice, got (0, 0)
flip(s, axis=0)
    AxisError: flip: axis must name a dimension, and rank 0 has none, got 0
moveaxis(x, 2, 0)
    AxisError: moveaxis: source must be at least -2 and below 2, got 2
moveaxis(x, 0, -3)
    AxisError: moveaxis: destination must be at least -2 and below 2, got -3
moveaxis(x, (0, 1), 0)
    ValueError: moveaxis: source (0, 1) and destination 0 must be equally many
moveaxis(x, (0, 0), (0, 1))
    ValueError: moveaxis: source must not name a dimension twice, got (0, 0)
moveaxis(x, (0, 1), (0, 0))
    ValueError: moveaxis: destination must not name a dimension twice, got (0, 0)
moveaxis(x, 0.0, 1)
    TypeError: moveaxis: source must be an integer or a sequence of integers, got 0.0
moveaxis(x, None, 1)
    TypeError: moveaxis: source must be an integer or a sequence of integers, got None
moveaxis(x, 0, "1")
    TypeError: moveaxis: destination must be an integer or a sequence of integers, got '1'
moveaxis(x, True, 0)
    TypeError: moveaxis: source must be an integer or a sequence of integers, got True
permute_dims(x, (0,))
    ValueError: permute_dims: axes must be a permutation of 2 dimensions, got (0,)
permute_dims(x, (0, 0))
    ValueError: permute_dims: axes must not name a dimension twice, got (0, 0)
permute_dims(x, (0, 2))
    AxisError: permute_dims: axes must be at least -2 and below 2, got 2
permute_dims(x, (0.0, 1))
    TypeError: permute_dims: axes must be an integer or a sequence of integers, got (0.0, 1)
permute_dims(x, 0)
    ValueError: permute_dims: axes must be a permutation of 2 dimensions, got (0,)
permute_dims(x, None)
    TypeError: permute_dims: axes must be an integer or a sequence of integers, got None
permute_dims(x, "10")
    TypeError: permute_dims: axes must be an integer or a sequence of integers, got '10'
permute_dims(x, (True, False))
    TypeError: permute_dims: axes must be an integer or a sequence of integers, got (True,
    False)
repeat(x, -1)
    ValueError: repeat: repeats must not be negative, got -1
repeat(x, 1.5)
    TypeError: repeat: repeats must be an integer, got 1.5
repeat(x, None)
    TypeError: repeat: repeats must be an integer, got None
repeat(x, i)
    ValueError: repeat: repeats must have shape (6,), got (3,)
repeat(x, [1, 2])
    TypeError: repeat: repeats must be an integer, got [1, 2]
repeat(v, v)
    TypeError: repeat: repeats must be integers, got float64
repeat(v, asarray([1, -2, 3]))
    ValueError: repeat: repeats must not be negative, got -2
repeat(v, b)
    TypeError: repeat: repeats must be integers, got bool
repeat(v, x)
    TypeError: repeat: repeats must be integers, got float64
repeat(v, 2**60)
    ValueError: repeat: shape (3, 1152921504606846976) of float64 spans more than 2**63 - 1
    bytes
repeat(v, 2**70)
    ValueError: repeat: shape: the sizes (3, 1180591620717411303424), with 1 for 0, multiply to
    more than 2**63 - 1
repeat(v, asarray([1, 2, 2**60]))
    MemoryError: repeat: the memory it needs cannot be allocated
repeat(v, asarray([2**62, 2**62, 2**62]))
    MemoryError: repeat: the memory it needs cannot be allocated
repeat(v, s)
    TypeError: repeat: repeats must be an integer, got a tensor of float64 and shape ()
repeat(s, 2, axis=0)
    AxisError: repeat: axis must name a dimension, and rank 0 has none, got 0
tile(v, (-1,))
    ValueError: tile: repetitions must not be negative, got (-1,)
tile(v, (1.5,))
    TypeError: tile: repetitions must be an integer or a sequence of integers, got (1.5,)
tile(v, None)
    TypeError: tile: repetitions must be an integer or a sequence of integers, got None
tile(v, (1,) * 65)
    ValueError: tile: at most 64 dimensions are allowed, got 65 repetitions
tile(v, (2**60,))
    ValueError: tile: shape (1152921504606846976, 3) of float64 spans more than 2**63 - 1 bytes
tile(v, (2**70,))
    ValueError: tile: shape: the sizes (1180591620717411303424, 3), with 1 for 0, multiply to
    more than 2**63 - 1
tile(big, (2,))
    MemoryError: tile: shape (1, 1073741824, 2, 1048576) of float64 needs 18014398509481984
    bytes, which cannot be allocated
reshape(x, (4,))
    ValueError: reshape: shape (4,) does not fit 6 elements
reshape(x, (-1, -1))
    ValueError: reshape: shape must hold no negative sizes but for one -1, got (-1, -1)
reshape(x, (-2, 3))
    ValueError: reshape: shape must hold no negative sizes but for one -1, got (-2, 3)
reshape(x, (-1, 4))
    ValueError: reshape: shape (-1, 4) does not fit 6 elements
reshape(x, (2.0, 3))
    TypeError: reshape: shape must be an integer or a sequence of integers, got (2.0, 3)
reshape(x, 2.0)
    TypeError: reshape: shape must be an integer or a sequence of integers, got 2.0
reshape(x, "23")
    TypeError: reshape: shape must be an integer or a sequence of integers, got '23'
reshape(x, None)
    TypeError: reshape: shape must be an integer or a sequence of integers, got None
reshape(none, (-1, 0))
    ValueError: reshape: shape (-1, 0) does not fit 0 elements
reshape(x, (1,) * 65 + (6,))
    ValueError: reshape: shape: at most 64 dimensions are allowed, got 66
reshape(x.T, (6,), copy=False)
    ValueError: reshape: layout (3,2):(1,3) has no view of shape (6,), and copy=False
reshape(big, (2**50,), copy=True)
    MemoryError: reshape: shape (1073741824, 1048576) of float64 needs 9007199254740992 bytes,
    which cannot be allocated
reshape(x, (2**70, -1))
    ValueError: reshape: shape (1180591620717411303424, -1) does not fit 6 elements
roll(x, 1.5)
    TypeError: roll: shift must be an integer or a sequence of integers, got 1.5
roll(x, "1")
    TypeError: roll: shift must be an integer or a sequence of integers, got '1'
roll(x, None)
    TypeError: roll: shift must be an integer or a sequence of integers, got None
roll(x, (1, 2), axis=0)
    ValueError: roll: shift (1, 2) and axis 0 must be equally many
roll(x, (1, 2))
    ValueError: roll: shift (1, 2) and axis None must be equally many
roll(x, (1, 2), axis=(0, 1, 0))
    ValueError: roll: shift (1, 2) and axis (0, 1, 0) must be equally many
roll(s, 1, axis=0)
    AxisError: roll: axis must name a dimension, and rank 0 has none, got 0
sliding_window(x, 2)
    ValueError: sliding_window: window_shape (2,) and axis (0, 1) must be equally many
sliding_window(v, 4)
    ValueError: sliding_window: window_shape: must be from 1 to 3 along dimension 0, got 4
sliding_window(v, 0)
    ValueError: sliding_window: window_shape: must be from 1 to 3 along dimension 0, got 0
sliding_window(v, -1)
    ValueError: sliding_window: window_shape: must be from 1 to 3 along dimension 0, got -1
sliding_window(v, 1.5)
    TypeError: sliding_window: window_shape must be an integer or a sequence of integers, got
    1.5
sliding_window(v, None)
    TypeError: sliding_window: window_shape must be an integer or a sequence of integers, got
    None
sliding_window(x, (1, 1), axis=(0, 0))
    ValueError: sliding_window: axis must not name a dimension twice, got (0, 0)
"""

INDEXING = """
take(x, i)
    ValueError: take: axis must be given for a tensor of rank 2
take(v, i)
    IndexError: take: index 3 is outside a dimension of size 3
take(v, v)
    TypeError: take: indices must be of an integer dtype, got float64
take(v, b)
    TypeError: take: indices must be of an integer dtype, got bool
take(v, 3)
    IndexError: take: index 3 is outside dimension 0 of shape (3,)
take(v, -4)
    IndexError: take: index -4 is outside dimension 0 of shape (3,)
take(v, True)
    TypeError: take: indices must be a tensor, got bool
take(v, far)
    IndexError: take: index 9 is outside a dimension of size 3
take(none, zi, axis=0)
    IndexError: take: index 1 is outside a dimension of size 0
take(s, 0, axis=0)
    AxisError: take: axis must name a dimension, and rank 0 has none, got 0
take_along_axis(v, v)
    TypeError: take_along_axis: indices must be of an integer dtype, got float64
take_along_axis(v, b)
    TypeError: take_along_axis: indices must be of an integer dtype, got bool
take_along_axis(x, zi)
    ValueError: take_along_axis: ranks must be equal, got shapes (2, 3) and (2,)
take_along_axis(x, asarray([[0], [9]]))
    IndexError: take_along_axis: index 9 is outside a dimension of size 3
take_along_axis(x, asarray([[0, 1, 3], [0, 1, 2]]), axis=0)
    IndexError: take_along_axis: index 3 is outside a dimension of size 2
take_along_axis(x, asarray([[0], [0], [0]]))
    ValueError: take_along_axis: shapes (2, 1), (3, 1) do not broadcast together
take_along_axis(s, asarray(0))
    AxisError: take_along_axis: axis must name a dimension, and rank 0 has none, got -1
v[3]
    IndexError: __getitem__: index 3 is outside dimension 0 of shape (3,)
v[1.0]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got 1.0
v[nan]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got nan
v[None, "a"]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got 'a'
v[1, 2]
    IndexError: __getitem__: 2 indices (or Ellipses) are too many for shape (3,)
s[0]
    IndexError: __getitem__: 1 index is too many for shape ()
s[...,...]
    IndexError: __getitem__: 2 indices (or Ellipses) are too many for shape ()
none[0]
    IndexError: __getitem__: no index is inside dimension 0 of shape (0, 3)
v[2**70]
    IndexError: __getitem__: index 1180591620717411303424 is outside dimension 0 of shape (3,)
v[v]
    IndexError: __getitem__: positions must be integers or booleans, got dtype float64
v[[0, 3]]
    IndexError: __getitem__: index 3 is outside a dimension of size 3
v[[0.5]]
    IndexError: __getitem__: positions must be integers or booleans, got dtype float64
v[[2**63]]
    IndexError: __getitem__: positions must be integers or booleans, got [9223372036854775808]
v[["a"]]
    IndexError: __getitem__: positions must be integers or booleans, got ['a']
v[[[1], [2, 3]]]
    ValueError: __getitem__: sequences inside one another must have equal lengths, got a
    sequence of 1 beside a sequence of 2
v[far]
    IndexError: __getitem__: index 9 is outside a dimension of size 3
x[0, far]
    IndexError: __getitem__: index 9 is outside a dimension of size 3
x[far]
    IndexError: __getitem__: index 9 is outside a dimension of size 2
x[far, 0]
    IndexError: __getitem__: index 9 is outside a dimension of size 2
x[zi, far]
    IndexError: __getitem__: index 9 is outside a dimension of size 3
x[zi, i]
    ValueError: __getitem__: shapes (2,), (3,) do not broadcast together
x[b]
    IndexError: __getitem__: a mask of shape (3,) does not fit dimensions of sizes (2,)
x[asarray([True, False, True]), zi]
    IndexError: __getitem__: a mask of shape (3,) does not fit dimensions of sizes (2,)
v[asarray([True, False])]
    IndexError: __getitem__: a mask of shape (2,) does not fit dimensions of sizes (3,)
x[:, :, :]
    IndexError: __getitem__: 3 indices (or Ellipses) are too many for shape (2, 3)
v["1":2]
    TypeError: __getitem__: a slice must be of integers or None, got slice('1', 2, None)
v[1.5:]
    TypeError: __getitem__: a slice must be of integers or None, got slice(1.5, None, None)
v[::0]
    ValueError: __getitem__: the step of a slice must not be 0, got slice(None, None, 0)
v[None:"a"]
    TypeError: __getitem__: a slice must be of integers or None, got slice(None, 'a', None)
v[slice(0, 2, 1.5)]
    TypeError: __getitem__: a slice must be of integers or None, got slice(0, 2, 1.5)
v[object()]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got object
v[1j]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got 1j
v[np.asarray([0, 9])]
    IndexError: __getitem__: index 9 is outside a dimension of size 3
v[np.asarray([0.5])]
    IndexError: __getitem__: positions must be integers or booleans, got dtype float64
v[np.asarray(9)]
    IndexError: __getitem__: index 9 is outside dimension 0 of shape (3,)
v[np.float64(1)]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got np.float64(1.0)
v[{0}]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got {0}
v[foreign]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got ….Foreign
v[(0,), (1,)]
    IndexError: __getitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got (0,)
v[asarray(5)]
    IndexError: __getitem__: index 5 is outside dimension 0 of shape (3,)
v[asarray(1.5)]
    IndexError: __getitem__: positions must be integers or booleans, got dtype float64
v[u8]
    IndexError: __getitem__: index 3 is outside a dimension of size 3
v[asarray([2**63], dtype=uint64)]
    IndexError: __getitem__: index 9223372036854775808 is outside a dimension of size 3
v[...] = "a"
    TypeError: __setitem__: value must be a tensor, an array or numbers, got 'a'
v[...] = None
    TypeError: __setitem__: value must be a tensor, an array or numbers, got None
v[...] = [1, 2]
    ValueError: __setitem__: a value of shape (2,) cannot be broadcast to (3,)
v[...] = [[1, 2], [3]]
    ValueError: __setitem__: sequences inside one another must have equal lengths, got a
    sequence of 2 beside a sequence of 1
v[...] = ["a"]
    TypeError: __setitem__: a tensor holds numbers, got str
v[...] = v2
    ValueError: __setitem__: a value of shape (2,) cannot be broadcast to (3,)
v[...] = x
    ValueError: __setitem__: a value of shape (2, 3) cannot be broadcast to (3,)
v[...] = z
    TypeError: __setitem__: complex128 cannot be written into float64; take real() first
v[...] = 1j
    TypeError: __setitem__: complex cannot be written into float64; take real() first
i[...] = z
    TypeError: __setitem__: complex128 cannot be written into int64; take real() first
i8[...] = 300
    OverflowError: __setitem__: the Python integer 300 does not fit int8
u8[0] = -1
    OverflowError: __setitem__: the Python integer -1 does not fit uint8
i[0] = 2**70
    OverflowError: __setitem__: the Python integer 1180591620717411303424 does not fit int64
v[0] = 10**400
    OverflowError: __setitem__: the Python integer of 1329 bits does not fit float64
f4[0] = 10**400
    OverflowError: __setitem__: the Python integer of 1329 bits does not fit float32
bf[0] = 10**400
    OverflowError: __setitem__: the Python integer of 1329 bits does not fit bfloat16
v[3] = 1
    IndexError: __setitem__: index 3 is outside dimension 0 of shape (3,)
v[1.0] = 1
    IndexError: __setitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got 1.0
v["a"] = 1
    IndexError: __setitem__: an index must be an integer, a slice, None, Ellipsis, or an integer
    or boolean tensor, got 'a'
v[:] = foreign
    TypeError: __setitem__: value must be a tensor, an array or numbers, got ….Foreign
v[[0, 3]] = 1
    IndexError: __setitem__: index 3 is outside a dimension of size 3
v[far] = 1
    IndexError: __setitem__: index 9 is outside a dimension of size 3
v[zi] = i
    ValueError: __setitem__: a value of shape (3,) cannot be broadcast to (2,)
v[zi] = "a"
    TypeError: __setitem__: value must be a tensor, an array or numbers, got 'a'
v[zi] = 1j
    TypeError: __setitem__: complex cannot be written into float64; take real() first
i8[zi] = 300
    OverflowError: __setitem__: the Python integer 300 does not fit int8
v[b] = v
    ValueError: __setitem__: a value of shape (3,) cannot be broadcast to (2,)
v[b] = [1, 2, 3]
    ValueError: __setitem__: a value of shape (3,) cannot be broadcast to (2,)
v[b] = 1j
    TypeError: __setitem__: complex cannot be written into float64; take real() first
v[b] = "a"
    TypeError: __setitem__: value must be a tensor, an array or numbers, got 'a'
i8[b] = 300
    OverflowError: __setitem__: the Python integer 300 does not fit int8
i8[b] = [1, 300]
    OverflowError: __setitem__: the Python integer 300 does not fit int8
i8[...] = [1, 2, 300]
    OverflowError: __setitem__: the Python integer 300 does not fit int8
v[asarray([True, False])] = 1
    IndexError: __setitem__: a mask of shape (2,) does not fit dimensions of sizes (3,)
x[b] = 1
    IndexError: __setitem__: a mask of shape (3,) does not fit dimensions of sizes (2,)
x[zi, far] = 1
    IndexError: __setitem__: index 9 is outside a dimension of size 3
ro[0] = 1
    ValueError: __setitem__: the tensor is read-only; copy() it first
ro[...] = 1
    ValueError: __setitem__: the tensor is read-only; copy() it first
ro[zi] = 1
    ValueError: __setitem__: the tensor is read-only; copy() it first
ro[b] = 1
    ValueError: __setitem__: the tensor is read-only; copy() it first
w[0] = 1
    ValueError: __setitem__: elements of layout (2,3):(0,1) share slots, so it cannot be
    written; copy() it
w[...] = 1
    ValueError: __setitem__: elements of layout (2,3):(0,1) share slots, so it cannot be
    written; copy() it
w[zi] = 1
    ValueError: __setitem__: elements of layout (2,3):(0,1) share slots, so it cannot be
    written; copy() it
w[1, zi] = 1
    ValueError: __setitem__: elements of layout (2,3):(0,1) share slots, so it cannot be
    written; copy() it
none[0] = 1
    IndexError: __setitem__: no index is inside dimension 0 of shape (0, 3)
s[0] = 1
    IndexError: __setitem__: 1 index is too many for shape ()
s[...] = v
    ValueError: __setitem__: a value of shape (3,) cannot be broadcast to ()
v[::0] = 1
    ValueError: __setitem__: the step of a slice must not be 0, got slice(None, None, 0)
v[...] = np.array(["a"])
    TypeError: __setitem__: value must be an array of numbers, got <U1
v[...] = np.array([1, 2])
    ValueError: __setitem__: a value of shape (2,) cannot be broadcast to (3,)
v[0] = v
    ValueError: __setitem__: a value of shape (3,) cannot be broadcast to ()
v[0] = [1]
    ValueError: __setitem__: a value of shape (1,) cannot be broadcast to ()
v[0] = [1, 2]
    ValueError: __setitem__: a value of shape (2,) cannot be broadcast to ()
"""

ELEMENTWISE = """
abs(b)
    TypeError: abs: only numeric dtypes are allowed, got bool
sin(i)
    TypeError: sin: only floating-point dtypes are allowed, got int64
add(v, v2)
    ValueError: add: shapes (3,), (2,) do not broadcast together
add(1, 2)
    TypeError: add: at least one operand must be a tensor, got only Python scalars
add(b, b)
    TypeError: add: only numeric dtypes are allowed, got bool, bool
add(i8, 300)
    OverflowError: add: the Python scalar 300 does not fit int8
atan2(i, i)
    TypeError: atan2: only real floating dtypes are allowed, got int64, int64
bitwise_and(v, v)
    TypeError: bitwise_and: only integer or boolean dtypes are allowed, got float64, float64
bitwise_invert(v)
    TypeError: bitwise_invert: only integer or boolean dtypes are allowed, got float64
clip(z, 0, 1)
    TypeError: clip: only real numeric dtypes are allowed, got complex128, int, int
clip(v, v2)
    ValueError: clip: shapes (3,), (2,) do not broadcast together
clip(v, z)
    TypeError: clip: complex128 cannot become float64; take real() or abs() first
clip(v, 1j)
    TypeError: clip: only real numeric dtypes are allowed, got float64, complex
clip(i8, 300)
    OverflowError: clip: the Python scalar 300 does not fit int8
clip(i, 2**70)
    OverflowError: clip: the Python scalar 1180591620717411303424 does not fit int64
clip(b, False, True)
    TypeError: clip: only real numeric dtypes are allowed, got bool, bool, bool
imag(b)
    TypeError: imag: only numeric dtypes are allowed, got bool
conj(b)
    TypeError: conj: only numeric dtypes are allowed, got bool
"""

# Chapters whose words are their own matter: here, that the function and what came are named.
SEARCHES_SORTS_SETS_AND_STATISTICS = """
where(i, v, v)
    TypeError: where: …int64
where(b, v2, v)
    ValueError: where: shapes (3,), (2,), (3,) do not broadcast together
where(b, i8, 300)
    OverflowError: where: …300 does not fit int8
sum(x, axis=(0, 0))
    ValueError: sum: …(0, 0)
sum(x, dtype=bool)
    TypeError: sum: …bool
sum(z, dtype=float64)
    TypeError: sum: complex128 cannot become float64; take real() or abs() first
min(none)
    ValueError: min: …no elements…(0, 3)
min(none, axis=0)
    ValueError: min: …no elements…(0, 3)
min(z)
    TypeError: min: …complex128
max(b)
    TypeError: max: …bool
max(zeros((0,)))
    ValueError: max: …no elements…(0,)
mean(i)
    TypeError: mean: …int64
var(z)
    TypeError: var: …complex128
std(i)
    TypeError: std: …int64
cumulative_sum(x)
    ValueError: cumulative_sum: axis must be given for a tensor of rank 2
cumulative_sum(s)
    ValueError: cumulative_sum: axis must be given for a tensor of rank 0
cumulative_sum(b)
    TypeError: cumulative_sum: …bool
cumulative_prod(x)
    ValueError: cumulative_prod: axis must be given for a tensor of rank 2
diff(v, n=-1)
    ValueError: diff: …-1
diff(s)
    AxisError: diff: …-1
argmax(z)
    TypeError: argmax: …complex128
argmax(zeros((0,)))
    ValueError: argmax: …no elements…(0,)
argmin(b)
    TypeError: argmin: …bool
argmin(none, axis=0)
    ValueError: argmin: …no elements…(0, 3)
count_nonzero(x, axis=(0, 0))
    ValueError: count_nonzero: …(0, 0)
nonzero(s)
    ValueError: nonzero: …()
searchsorted(x, v)
    ValueError: searchsorted: …(2, 3)
searchsorted(v, v, side="middle")
    ValueError: searchsorted: …'middle'
searchsorted(v, v, side=None)
    ValueError: searchsorted: …None
searchsorted(z, z)
    TypeError: searchsorted: …complex128, complex128
searchsorted(v, z)
    TypeError: searchsorted: …float64, complex128
sort(z)
    TypeError: sort: …complex128
sort(b)
    TypeError: sort: …bool
sort(s)
    AxisError: sort: …-1
argsort(z)
    TypeError: argsort: …complex128
isin("a", v)
    TypeError: …a tensor holds numbers, got str
"""

LINEAR_ALGEBRA = """
matmul(x, x)
    ValueError: matmul: shapes (2, 3) and (2, 3) do not match as (…, m, k) and (…, k, n)
matmul(s, v)
    ValueError: matmul: shapes () and (3,) do not match as (…, m, k) and (…, k, n)
matmul(b, b)
    TypeError: matmul: …bool, bool
matmul(zeros((2, 3, 4)), zeros((3, 4, 5)))
    ValueError: matmul: shapes (2,), (3,) do not broadcast together
matrix_transpose(v)
    ValueError: matrix_transpose: …(3,)
tensordot(b, b, axes=1)
    TypeError: tensordot: …bool, bool
vecdot(v, v2)
    ValueError: vecdot: sizes along axis -1 differ in shapes (3,) and (2,)
vecdot(v, v, axis=0)
    ValueError: vecdot: …0
vecdot(v, v, axis=-2)
    ValueError: vecdot: …-2
vecdot(s, s)
    ValueError: vecdot: …-1
vecdot(b, b)
    TypeError: vecdot: …bool, bool
linalg.cholesky(v)
    ValueError: cholesky: …(3,)
linalg.cross(s, s)
    ValueError: cross: …()
linalg.cross(b, b)
    TypeError: cross: …bool, bool
linalg.det(v)
    ValueError: det: …(3,)
linalg.diagonal(v)
    ValueError: diagonal: …(3,)
linalg.eigvals(v)
    ValueError: eigvals: …(3,)
linalg.inv(v)
    ValueError: inv: …(3,)
linalg.matrix_norm(v)
    ValueError: matrix_norm: …(3,)
linalg.matrix_rank(v)
    ValueError: matrix_rank: …(3,)
linalg.outer(s, s)
    ValueError: outer: …()
linalg.outer(b, b)
    TypeError: outer: …bool, bool
linalg.pinv(v)
    ValueError: pinv: …(3,)
linalg.qr(v)
    ValueError: qr: …(3,)
linalg.svd(v)
    ValueError: svd: …(3,)
linalg.svdvals(v)
    ValueError: svdvals: …(3,)
linalg.vector_norm(i)
    TypeError: vector_norm: …int64
linalg.trace(v)
    ValueError: …needs a rank of at least 2, got shape (3,)
"""

FOURIER_TRANSFORMS = """
fft.fft(i)
    TypeError: fft: …int64
fft.fft(s)
    AxisError: fft: …-1
fft.fft(v, norm="foo")
    ValueError: fft: …'foo'
fft.fft(v, norm=None)
    ValueError: fft: …None
fft.fft(v, norm=[])
    ValueError: fft: …[]
fft.ifft(i)
    TypeError: ifft: …int64
fft.fftn(x, norm="a")
    ValueError: fftn: …'a'
fft.fftn(s)
    ValueError: fftn: …()
fft.ifftn(i)
    TypeError: ifftn: …int64
fft.rfft(z)
    TypeError: rfft: …complex128
fft.irfft(b)
    TypeError: irfft: …bool
fft.rfftn(z)
    TypeError: rfftn: …complex128
fft.hfft(i)
    TypeError: hfft: …int64
fft.ihfft(z)
    TypeError: ihfft: …complex128
fft.fftshift(x, axes=2)
    AxisError: fftshift: …2
fft.ifftshift(x, axes=(0, 0))
    ValueError: ifftshift: …(0, 0)
fft.fftfreq(3, dtype="x")
    TypeError: …dtype must be a dtype of this namespace, got 'x'
fft.rfftfreq(3, device="gpu")
    ValueError: …device must be one of those available (cpu), got 'gpu'
"""

OPERATORS = """
x + [1]
    TypeError: unsupported operand type(s) for +: 'Tensor' and 'list'
x + "a"
    TypeError: unsupported operand type(s) for +: 'Tensor' and 'str'
x + np.ones((2, 3))
    TypeError: add: operands must be tensors or Python scalars, got numpy.ndarray; make it a
    tensor with asarray() first
x + foreign
    TypeError: add: operands must be tensors or Python scalars, got ….Foreign; make it a
    tensor with asarray() first
x + v2
    ValueError: add: shapes (2, 3), (2,) do not broadcast together
i + 2**70
    OverflowError: add: the Python scalar 1180591620717411303424 does not fit int64
i8 + 300
    OverflowError: add: the Python scalar 300 does not fit int8
u8 + (-1)
    OverflowError: add: the Python scalar -1 does not fit uint8
i8 * 300
    OverflowError: multiply: the Python scalar 300 does not fit int8
b + b
    TypeError: add: only numeric dtypes are allowed, got bool, bool
~v
    TypeError: bitwise_invert: only integer or boolean dtypes are allowed, got float64
v & 1
    TypeError: bitwise_and: only integer or boolean dtypes are allowed, got float64, int
i & 1.5
    TypeError: bitwise_and: only integer or boolean dtypes are allowed, got int64, float
i << v
    TypeError: bitwise_left_shift: only integral dtypes are allowed, got int64, float64
-b
    TypeError: negative: only numeric dtypes are allowed, got bool
x @ x
    ValueError: matmul: shapes (2, 3) and (2, 3) do not match as (…, m, k) and (…, k, n)
x @ 2
    TypeError: unsupported operand type(s) for @: 'Tensor' and 'int'
s @ v
    ValueError: matmul: shapes () and (3,) do not match as (…, m, k) and (…, k, n)
x < z
    TypeError: less: only real numeric dtypes are allowed, got float64, complex128
z < 1
    TypeError: less: only real numeric dtypes are allowed, got complex128, int
x == v2
    ValueError: equal: shapes (2, 3), (2,) do not broadcast together
i == 2**70
    OverflowError: equal: the Python scalar 1180591620717411303424 does not fit int64
x -= v2
    ValueError: subtract: shapes (2, 3), (2,) do not broadcast together
i8 += 1.5
    TypeError: add: the result has dtype float64, which an in-place operation cannot put into
    int8; use astype() first
i8 += i
    TypeError: add: the result has dtype int64, which an in-place operation cannot put into
    int8; use astype() first
i8 += 300
    OverflowError: add: the Python scalar 300 does not fit int8
i /= 2
    TypeError: divide: the result has dtype float64, which an in-place operation cannot put into
    int64; use astype() first
ro += 1
    ValueError: add: the tensor is read-only; copy() it first
w += 1
    ValueError: add: elements of layout (2,3):(0,1) share slots, so it cannot be written; copy()
    it
v += x
    ValueError: add: a result of shape (2, 3) does not fit (3,)
b += 1
    TypeError: add: the result has dtype int64, which an in-place operation cannot put into
    bool; use astype() first
x @= x
    ValueError: matmul: shapes (2, 3) and (2, 3) do not match as (…, m, k) and (…, k, n)
i @= q
    ValueError: matmul: shapes (3,) and (2, 2) do not match as (…, m, k) and (…, k, n)
q @= [1]
    TypeError: unsupported operand type(s) for @=: 'Tensor' and 'list'
q @= q[0]
    ValueError: matmul: the result, float64 of shape (2,), does not fit in place of float64 of
    (2, 2)
2 @ x
    TypeError: unsupported operand type(s) for @: 'int' and 'Tensor'
x ** "a"
    TypeError: unsupported operand type(s) for ** or pow(): 'Tensor' and 'str'
big + big
    MemoryError: add: shape (1073741824, 1048576) of float64 needs 9007199254740992 bytes, which
    cannot be allocated
big + 1
    MemoryError: add: shape (1073741824, 1048576) of float64 needs 9007199254740992 bytes, which
    cannot be allocated
v += v2
    ValueError: add: shapes (3,), (2,) do not broadcast together
"""

METHODS = """
Tensor()
    TypeError: Tensor: not made by calling the class; use asarray(), zeros() or from_storage()
float(v)
    TypeError: float: needs a tensor of rank 0, got shape (3,)
int(v)
    TypeError: int: needs a tensor of rank 0, got shape (3,)
int(asarray(nan))
    ValueError: int: nan is no integer
int(asarray(inf))
    OverflowError: int: inf is no integer
float(z[0])
    TypeError: float: a complex value is not one; take real() first
int(z[0])
    TypeError: int: a complex value is not one; take real() first
complex(v)
    TypeError: complex: needs a tensor of rank 0, got shape (3,)
not v2
    TypeError: bool: needs a tensor of rank 0, got shape (2,)
float(v2[:1])
    TypeError: float: needs a tensor of rank 0, got shape (1,)
[1,2,3][v]
    TypeError: index: needs an integer tensor of rank 0, got float64 of shape (3,)
len(s)
    TypeError: len: a tensor of rank 0 has no length
iter(s)
    TypeError: iter: a tensor of rank 0 cannot be iterated over
for _ in s: pass
    TypeError: iter: a tensor of rank 0 cannot be iterated over
hash(v)
    TypeError: a Tensor can be written to, so it has no hash; use id(x), or x.layout and x.dtype
"a" in v
    TypeError: __contains__: operands must be tensors or Python scalars, got str
None in v
    TypeError: __contains__: operands must be tensors or Python scalars, got NoneType
[1] in v
    TypeError: __contains__: operands must be tensors or Python scalars, got list; make it a
    tensor with asarray() first
f"{v:.3f}"
    ValueError: format: '.3f' does not suit shape (3,), whose text is formatted; only rank 0 is
    a number
f"{s:d}"
    ValueError: format: 'd' does not suit a float64
f"{i[0]:q}"
    ValueError: format: 'q' does not suit a int64
format(s, None)
    TypeError: format() argument 2 must be str, not None
v.T
    ValueError: T: needs a rank of 2, got shape (3,); use mT or permute_dims()
v.mT
    ValueError: mT: needs a rank of at least 2, got shape (3,)
v.to_device("gpu")
    ValueError: to_device: device must be one of those available (cpu), got 'gpu'
v.to_device(5)
    TypeError: to_device: device must be one of those available (cpu), got int
v.to_device("cpu", stream=1)
    ValueError: to_device: the cpu has no streams, got stream=1
v.__array_namespace__(api_version="1999.12")
    ValueError: __array_namespace__: api_version must be one of 2021.12, 2022.12, 2023.12,
    2024.12, 2025.12, got '1999.12'
v.__array_namespace__(api_version=2025.12)
    ValueError: __array_namespace__: api_version must be one of 2021.12, 2022.12, 2023.12,
    2024.12, 2025.12, got 2025.12
v.__dlpack__(stream=1)
    ValueError: __dlpack__: the cpu has no streams, got stream=1
v.__dlpack__(dl_device=(2, 0))
    BufferError: __dlpack__: the tensor is on the cpu, (1, 0) in DLPack, not (2, 0)
v.__dlpack__(dl_device="cpu")
    TypeError: __dlpack__: dl_device must be an integer or a sequence of integers, got 'cpu'
v.__dlpack__(max_version=1)
    TypeError: __dlpack__: max_version must be a pair of integers, got 1
v.__dlpack__(max_version=(1,))
    TypeError: __dlpack__: max_version must be a pair of integers, got (1,)
ro.__dlpack__()
    BufferError: __dlpack__: a read-only tensor needs a DLPack of version 1 or later; give
    max_version=(1, 0), or copy() it first
v.__array__("x")
    TypeError: __array__: dtype must be one of NumPy's, got 'x'
v.__array__(int, copy=False)
    ValueError: __array__: float64 cannot be seen as <class 'int'> without a copy
big.copy()
    MemoryError: copy: shape (1073741824, 1048576) of float64 needs 9007199254740992 bytes,
    which cannot be allocated
"""


def sessions(*tables):
    """The calls of tables with the error that each makes."""
    for text in tables:
        for row in re.split(r"\n(?! )", text.strip("\n")):
            call, *lines = row.split("\n")
            yield call, " ".join(line.strip() for line in lines)


REFUSED = list(
    sessions(
        CREATION,
        LAYOUTS,
        DATA_TYPES,
        MANIPULATION,
        INDEXING,
        ELEMENTWISE,
        SEARCHES_SORTS_SETS_AND_STATISTICS,
        LINEAR_ALGEBRA,
        FOURIER_TRANSFORMS,
        OPERATORS,
        METHODS,
    )
)


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[call for call, _ in REFUSED])
def test_refused(call, words):
    error = failing(call)
    pattern = re.escape(words).replace("…", ".*")
    assert re.fullmatch(pattern, f"{type(error).__name__}: {error}"), repr(error)


def test_every_public_function_is_tried():
    calls = [*TENSORS, *AXES, *(call for call, _ in REFUSED)]
    tried = set(map(name_of, calls))
    functions = {name for name in tl.__all__ if inspect.isfunction(getattr(tl, name))}
    functions |= {f"linalg.{name}" for name in tl.linalg.__all__}
    functions |= {f"fft.{name}" for name in tl.fft.__all__}
    # These take nothing, or check when the block begins; layouts have tests/test_layout_errors.py.
    untried = {"trace", "default_device", "using_device", "coalesce"}
    assert functions - untried - tried == set()
