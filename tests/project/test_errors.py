"""Every public function refuses what it cannot do: the class of the error, and its words.

What all functions share (tensors, axes, dtypes, devices, layouts, shapes) is tried on each by
templates, in which ``@`` is the wrong argument. All else is in tables that read like a session: a
call, and behind or under it the error, which begins with the name of the function (that is left
out); "…" stands for anything. Layouts have a file of their own.
"""

import functools
import inspect
import pickle
import re
import traceback
from pathlib import Path

import numpy as np
import pytest
from processes import python
from tensors import read_only, slots_of

import tensorlayout as tl
from tensorlayout.directml.constants import check_range
from tensorlayout.errors import call_with_error_name
from tensorlayout.plan.rules import AxisError

pytestmark = pytest.mark.usefixtures("device")


class Foreign:
    """An array of another library, as far as can be seen from outside."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


# New tensors of several kinds for each call.
MADE = """
x = asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]); v = asarray([1.0, 2.0, 3.0])
v2 = asarray([1.0, 2.0]); s = asarray(2.0); cube = zeros((2, 3, 4)); none = zeros((0, 3))
q = asarray([[1.0, 2.0], [2.0, 4.0]]); i = asarray([1, 2, 3]); i8 = asarray([1, 2, 3], dtype=int8)
u8 = asarray([1, 2, 3], dtype=uint8); f4 = asarray([1, 2, 3], dtype=float32)
bf = asarray([1, 2, 3], dtype=bfloat16); b = asarray([True, False, True])
z = asarray([1 + 2j, 3j, 0]); zi = asarray([0, 1]); far = asarray([0, 9])
ro = read_only(zeros((3,))); w = broadcast_to(v, (2, 3))
big = broadcast_to(asarray(1.0), (2**30, 2**20)); tiled = "(4,6):(2*12+2*2,3*4+2*1)"
bits = Layout(shape=(4, 6), padded_shape=(4, 8), padding_value=BitPattern(1, "int8"))
least = Layout(shape=(4, 6), padded_shape=(4, 8), padding_value=PaddingValue.LOWEST)
"""


def space():
    """The names that calls may use: those of the package, and what `MADE` makes."""
    names = {name: getattr(tl, name) for name in tl.__all__}
    names |= {"np": np, "foreign": Foreign(), "read_only": read_only}
    exec(MADE, names)
    return names


def name_of(call):
    """The function that a call names."""
    match = re.match(r"[\w.]+(?=\()", call)
    return match and match[0]


def said_by(call):
    """The name that errors of a call begin with: of two names of one function its own."""
    space, _, last = name_of(call).rpartition(".")
    return getattr(getattr(getattr(tl, space, tl), last, None), "__name__", last)


def raised(call, names):
    """The exception of a call, None if there is none."""
    try:
        exec(call, dict(names))
    except Exception as error:
        return error
    return None


def fault(call, words, names):
    """Text that tells how a call errs from what is promised; empty if it does not.

    `words`: the class of the error and its message; "…" stands for anything. The call must leave
    all operands as they are, show no other error, and show few frames of the package.
    """
    operands = [value for name, value in names.items() if is_operand(name, value, call)]
    before = [(slots_of(x).tobytes(), x.layout) for x in operands]
    error = raised(call, names)
    if error is None or not re.fullmatch(pattern_of(words), f"{type(error).__name__}: {error}"):
        return f"{error!r} instead of {words!r}"
    if [(slots_of(x).tobytes(), x.layout) for x in operands] != before:
        return "an operand has changed"
    if call.startswith("from_dlpack"):  # shows the exporter's error, too
        return ""
    if error.__cause__ or (error.__context__ and not error.__suppress_context__):
        return f"{error!r} shows another error"
    return "" if len(frames_of(error)) <= most_frames(call) else f"{error!r} shows many frames"


def is_operand(name, value, call):
    return isinstance(value, tl.Tensor) and re.search(rf"\b{name}\b", call)


def most_frames(call):
    """The number of our frames that a traceback may show: few, but for classes and methods."""
    return 4 if re.match(r"Device|savez|v\.__dlpack|big\.copy|\w @=|__array_namespace", call) else 2


PACKAGE = str(Path(tl.__file__).parent)


def frames_of(error):
    return [
        frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename
    ]


@pytest.fixture(scope="module")
def names(device):
    return space()


def templates(text):
    """The calls of a text, one a line; of several names before arguments, each makes one."""
    results = []
    for line in text.split("\n")[1:-1]:
        several = re.fullmatch(r"([\w.]+(?: [\w.]+)+) (\(.*)", line)
        results += [name + several[2] for name in several[1].split()] if several else [line]
    return results


def refuse(names, calls, cases):
    """Every template raises the error of every case: a wrong value, the class and the message.

    The message is given without the name of the function, with which it begins.
    """
    faults = []
    for call in calls:
        for wrong, kind, message in cases:
            words = f"{kind.__name__}: {said_by(call)}: {message}"
            said = fault(call.replace("@", "wrong"), words, {**names, "wrong": wrong})
            faults += [f"{call} of {wrong!r}: {said}"] if said else []
    assert not faults, "\n".join(faults)


def pattern_of(words):
    """The words, written for the CPU, as the default device has them; "…" stands for anything."""
    device = tl.default_device()
    if device != "cpu":
        here = ", ".join(map(str, tl.__array_namespace_info__().devices()))
        words = words.replace("available (cpu)", f"available ({here})")
        words = words.replace("device='cpu'", f"device='{device}'")
        # A record of positions outside has signed numbers of 64 bits.
        words = words.replace(f"index {2**63} ", f"index {2**63 - 1} ")
        asked = rf"{device}: asked for \1 bytes, and … bytes are free"
        words = re.sub(r"shape .* needs (\S+) bytes, which cannot be allocated", asked, words)
    return re.escape(words).replace("…", ".*")


# --- what all functions share ------------------------------------------------------------------

ELEMENTWISE_FUNCTIONS = [
    name
    for name, function in vars(tl).items()
    if hasattr(function, "operation") and getattr(tl, name).__name__ == name
]
TWO = [n for n in ELEMENTWISE_FUNCTIONS if "x2" in inspect.signature(getattr(tl, n)).parameters]
ONE = [n for n in ELEMENTWISE_FUNCTIONS if n not in TWO]

TENSORS = [
    *(f"{name}(@)" for name in ONE),
    *(f"{name}(@, v)" for name in TWO),
    *(f"{name}(v, @)" for name in TWO),
    *templates("""
clip(@, 0, 1)
real imag sum prod min max mean var std all any count_nonzero argmax argmin cumulative_sum (@)
cumulative_prod diff sort argsort nonzero unique_all unique_counts unique_inverse unique_values (@)
empty_like zeros_like ones_like tril triu unstack expand_dims flip matrix_transpose (@)
linalg.cholesky linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh (@)
linalg.inv linalg.matrix_norm linalg.matrix_rank linalg.matrix_transpose linalg.pinv linalg.qr (@)
linalg.slogdet linalg.svd linalg.svdvals linalg.vector_norm fft.fft fft.ifft fft.rfft fft.irfft (@)
fft.hfft fft.ihfft fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fftshift fft.ifftshift bincount (@)
cumprod cumsum diag gradient median nanargmax nanargmin nancumprod nancumsum nanmax nanmean (@)
nanmedian nanmin nanprod nanstd nansum nanvar transpose linalg.trace cov corrcoef ptp average (@)
histogram histogram_bin_edges (@)
digitize(@, [0.0, 1.0])
percentile nanpercentile (@, 50)
angle argwhere diag_indices_from fix flatnonzero iscomplex isneginf isposinf isreal (@)
nan_to_num real_if_close sinc tril_indices_from triu_indices_from unique vander (@)
fft.fft2 fft.ifft2 fft.irfft2 fft.rfft2 linalg.cond linalg.norm (@)
argpartition copyto fill_diagonal partition top_k (@, 0)
compress extract (b, @)
piecewise(@, b, [1])
place putmask (@, b, 1)
put(@, 0, 1)
unravel_index(@, (3,))
searchsorted(@, v)
take take_along_axis (@, zi)
full_like roll sliding_window pad split array_split hsplit vsplit dsplit delete append resize (@, 1)
atleast_1d atleast_2d atleast_3d broadcast_arrays copy diagflat diagonal ediff1d fliplr flipud (@)
ix_ meshgrid ravel rot90 trapezoid unwrap (@)
concat concatenate stack vstack hstack dstack column_stack ([@])
rollaxis(@, 0)
swapaxes(@, 0, 1)
insert interp (@, 0, 1)
apply_along_axis(sum, 0, @)
apply_over_axes(sum, @, 0)
astype(@, float64)
to_layout permute_dims (@, (0,))
broadcast_to(@, (2, 3))
squeeze(@, 0)
moveaxis(@, 0, 0)
repeat linalg.matrix_power (@, 2)
tile(@, (2,))
reshape(@, (3,))
einsum("i", @)
nanquantile quantile (@, 0.5)
put_along_axis scatter_add scatter_max scatter_min (@, zi, 1)
scatter_add(v, @, 1)
scatter_add(v, zi, @)
"""),
]

# Beside a tensor, a list is one too.
BESIDE = templates("""
allclose array_equal array_equiv convolve correlate cross dot inner isclose isin kron matmul (@, v)
intersect1d outer polyval setdiff1d setxor1d tensordot union1d vdot vecdot linalg.cross (@, v)
linalg.matmul linalg.outer linalg.solve linalg.tensordot linalg.vecdot (@, v)
allclose array_equal array_equiv convolve correlate cross dot inner isclose isin kron matmul (v, @)
intersect1d outer polyval setdiff1d setxor1d tensordot union1d vdot vecdot linalg.cross (v, @)
linalg.matmul linalg.outer linalg.tensordot linalg.vecdot take_along_axis (v, @)
linalg.solve(q, @)
where(@, v, v)
where(b, @, v)
where(b, v, @)
choose(@, [v, v])
compress extract (@, v)
lexsort linalg.multi_dot ([v, @])
put put_along_axis (v, @, 1)
ravel_multi_index((i, @), (9, 9))
select([b], [@])
append broadcast_arrays meshgrid (v, @)
broadcast_arrays meshgrid (@, v)
concat stack vstack block ([v, @])
insert(v, 0, @)
interp(v, v, @)
""")


def test_what_is_no_tensor(names):
    cases = [
        ([1.0], "got list; make it a tensor with asarray() first"),
        ("text", "got str"),
        (None, "…"),
        (np.ones(3, ">f8"), "numpy.ndarray of dtype >f8; make it a tensor with asarray() first"),
        (Foreign(), "Foreign; make it a tensor with asarray() first"),
        ({}, "got dict"),
    ]
    refuse(names, TENSORS, [(wrong, TypeError, f"…{item}") for wrong, item in cases])
    refuse(names, BESIDE, [(wrong, TypeError, f"…{item}") for wrong, item in cases[1:]])


def test_what_is_no_tensor_where_none_is_needed(names):
    calls = ["searchsorted(v, v, sorter=@)"]
    for call in calls:
        rule = "sorter must be a tensor, got"
        cases = [([1.0], "list; make it a tensor with asarray() first"), ("text", "str")]
        refuse(names, [call], [(wrong, TypeError, f"{rule} {item}") for wrong, item in cases])


AXES = templates("""
all any argmax argmin argsort count_nonzero cumulative_prod cumulative_sum diff flip max (x, axis=@)
mean min prod sort squeeze std sum unstack var fft.fft fft.hfft fft.ifft fft.ihfft (x, axis=@)
fft.irfft fft.rfft linalg.vector_norm median nanmax nanmin nanmean nanmedian nanprod (x, axis=@)
nanstd nansum nanvar cumprod cumsum gradient nanargmax nanargmin nancumprod nancumsum (x, axis=@)
concat([x, x], axis=@)
moveaxis(x, @, 0)
moveaxis(x, 0, @)
permute_dims(x, (0, @))
repeat(x, 2, axis=@)
roll sliding_window (x, 1, axis=@)
take(x, zi, axis=@)
take_along_axis(x, zi[None, :], axis=@)
fft.fftshift fft.ifftshift (x, axes=@)
fft.fftn fft.ifftn fft.rfftn fft.irfftn transpose (x, axes=(0, @))
tensordot linalg.tensordot (x, x, axes=((@,), (0,)))
quantile nanquantile (x, 0.5, axis=@)
put_along_axis(x, zi[None, :], 1, axis=@)
scatter_add(x, zi, 1, axis=@)
""")


def test_axes_outside(names):
    rule = "{} is out of bounds for array of dimension"
    refuse(names, AXES, [(n, AxisError, f"… {rule.format(n)} 2") for n in (2, -3, 2**70)])
    new = ["stack([x, x], axis=@)", "expand_dims(x, axis=@)"]
    refuse(names, new, [(n, AxisError, f"axis {rule.format(n)} 3") for n in (3, -4)])


def test_axes_that_are_truth_values(names):
    refuse(names, AXES, [(True, TypeError, "…, got …True…")])


def test_an_axis_error_is_caught_as_either():
    assert issubclass(AxisError, ValueError)
    assert issubclass(AxisError, IndexError)


INTEGERS = templates("""
concat stack ([x, x], axis=@)
eye(3, k=@)
linspace logspace (0, 1, @)
repeat(x, 2, axis=@)
swapaxes(x, 0, @)
diagonal(x, axis1=@)
rollaxis(x, @)
take(x, zi, axis=@)
take_along_axis(x, zi[None, :], axis=@)
tril triu diag (x, k=@)
unstack argsort sort diff cumulative_sum cumulative_prod argmax argmin fft.fft fft.ifft (x, axis=@)
fft.rfft fft.irfft fft.hfft fft.ihfft cumprod cumsum nanargmax nanargmin nancumprod (x, axis=@)
nancumsum(x, axis=@)
top_k(x, 1, axis=@)
top_k(x, @)
diff fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft (x, n=@)
vecdot(x, x, axis=@)
linalg.cross(v, v, axis=@)
linalg.diagonal linalg.trace (x, offset=@)
linalg.matrix_power(q, @)
fft.fftfreq fft.rfftfreq (@)
bincount(i, minlength=@)
gradient(x, edge_order=@)
put_along_axis(x, zi[None, :], 1, axis=@)
scatter_add(x, zi, 1, axis=@)
""")


def test_what_is_no_integer(names):
    cases = [(1.0, "1.0"), ("0", "'0'"), (True, "True"), ((0,), "(0,)")]
    rule = "… must be an integer, got"
    refuse(names, INTEGERS, [(wrong, TypeError, f"{rule} {item}") for wrong, item in cases])


SEQUENCES = templates("""
broadcast_shapes((2, 3), @)
broadcast_to permute_dims reshape roll sliding_window tile (x, @)
empty ones zeros (@)
expand_dims flip squeeze all any count_nonzero max mean min prod std sum var (x, axis=@)
linalg.vector_norm median nanmax nanmin nanmean nanmedian nanprod nanstd nansum nanvar (x, axis=@)
gradient(x, axis=@)
full(@, 1)
moveaxis(x, @, 0)
moveaxis(x, 0, @)
roll sliding_window (x, 1, axis=@)
fft.fftn fft.ifftn fft.rfftn fft.irfftn (x, s=@, axes=(0, 1))
fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fftshift fft.ifftshift transpose (x, axes=@)
quantile nanquantile (x, 0.5, axis=@)
""")


def test_what_is_no_sequence_of_integers(names):
    cases = [
        (1.0, "1.0"),
        ("12", "'12'"),
        (b"12", "b'12'"),
        (True, "True"),
        ((0.0, 1), "(0.0, 1)"),
        ([True], "[True]"),
        ({0, 1}, "{0, 1}"),
        (((0, 1),), "((0, 1),)"),
        (np.ones(2), "numpy.ndarray"),
        (names["s"], "a tensor of float64 and shape ()"),
    ]
    rule = "… must be an integer or a sequence of integers, got"
    refuse(names, SEQUENCES, [(wrong, TypeError, f"{rule} {item}") for wrong, item in cases])


DTYPES = templates("""
arange fft.fftfreq fft.rfftfreq (3, dtype=@)
asarray([1], dtype=@)
asarray empty_like ones_like zeros_like sum prod linalg.trace nancumprod nancumsum (x, dtype=@)
nanmean nanprod nanstd nansum nanvar (x, dtype=@)
astype(x, @)
can_cast(@, int8)
can_cast result_type (int8, @)
empty ones zeros ((2,), dtype=@)
eye(2, dtype=@)
finfo iinfo (@)
from_storage(bytes(8), "(1,):(1,)", dtype=@)
full((2,), 1, dtype=@)
full_like(x, 1, dtype=@)
isdtype(@, "bool")
linspace logspace (0, 1, 3, dtype=@)
cumulative_sum cumulative_prod cumprod cumsum (v, dtype=@)
""")


def test_what_is_no_dtype(names):
    more = "; they are bool, int8, …, bfloat16, …"
    cases = [
        ("float3", "'float3'; did you mean 'float32'?"),
        ("S3", f"'S3'{more}"),
        ("f4,f4", f"'f4,f4'{more}"),
        (object, "<class 'object'>"),
        ([], "list"),
        ({}, "dict"),
        (np.dtype("M8[s]"), "dtype('<M8[s]')"),
    ]
    rule = "…must be a dtype of this namespace, got"
    refuse(names, DTYPES, [(wrong, TypeError, f"{rule} {item}") for wrong, item in cases])


DEVICES = templates("""
arange fft.fftfreq fft.rfftfreq (3, device=@)
asarray([1], device=@)
astype(x, int8, device=@)
empty ones zeros ((2,), device=@)
empty_like from_dlpack ones_like zeros_like (x, device=@)
eye(2, device=@)
full((2,), 1, device=@)
full_like(x, 1, device=@)
linspace logspace (0, 1, 3, device=@)
""")


def test_what_is_no_device_of_this_machine(names):
    rule = "device must be one of those available (…), got"
    cases = [
        ("gpu", ValueError, f"{rule} 'gpu'; GPUs are called 'cuda' or 'cuda:0'"),
        (tl.Device("cuda", 7), ValueError, f"{rule} Device('cuda:7')…"),
        (5, TypeError, f"{rule} int"),
        ([], TypeError, f"{rule} list"),
    ]
    refuse(names, DEVICES, cases)


LAYOUT_ARGUMENTS = templates("""
asarray(np.ones((4, 6)), layout=@)
empty ones zeros ((4, 6), layout=@)
empty_like ones_like zeros_like (zeros((4, 6)), layout=@)
eye(4, 6, layout=@)
full((4, 6), 1.0, layout=@)
full_like(zeros((4, 6)), 1, layout=@)
to_layout(zeros((4, 6)), @)
""")


def test_what_is_no_layout_for_the_shape(names):
    for call in LAYOUT_ARGUMENTS:  # equal keys, such as (0.0, 1), have one plan
        exec(call.replace("@", "(0, 1)"), dict(names))
    kinds = "must be a Layout, its text, labels or a minor-to-major sequence"
    padding = "the padding of layout, {}, has no meaning in float64"
    cases = [
        ((0, 0), ValueError, "minor_to_major: … permutation of 0 to 1 …, got (0, 0)"),
        ((False, True), TypeError, f"layout {kinds}, got (False, True)"),
        ("CHW", ValueError, "labels: 'CHW' names 3 dimensions (C, H, W), the shape has 2; …"),
        ("(4,6:(5,1)", ValueError, "layout text: must have the form …, got '(4,6:(5,1)'"),
        ("(4,5):(5,1)", ValueError, "layout (4,5):(5,1) is for shape (4, 5), the … (4, 6)"),
        ("(4,6):(0,1)", ValueError, "elements of layout (4,6):(0,1) share slots; …"),
        (
            "{1,0:T(2,2)S(1)}",
            ValueError,
            "layout text: must have the form …; xla.layout_of reads …",
        ),
        (5, TypeError, f"layout {kinds}, got 5"),
        (names["v2"], TypeError, f"layout {kinds}, got a tensor of float64 and shape (2,)"),
        (names["bits"], ValueError, padding.format("BitPattern(0x1, 'int8')")),
    ]
    refuse(names, LAYOUT_ARGUMENTS, cases)


TRUTHS = templates("""
all any argmax argmin count_nonzero max mean min prod std sum var linalg.matrix_norm (x, keepdims=@)
linalg.vector_norm median nanmax nanmin nanmean nanmedian nanprod nanstd nansum (x, keepdims=@)
nanvar nanargmax nanargmin (x, keepdims=@)
quantile nanquantile (x, 0.5, keepdims=@)
argsort sort (x, descending=@)
top_k(x, 1, sorted=@)
cumulative_prod cumulative_sum (v, include_initial=@)
isin(x, x, invert=@)
linalg.cholesky(q, upper=@)
linspace(0, 1, 3, endpoint=@)
logspace(0, 1, endpoint=@)
""")


def test_what_is_neither_true_nor_false(names):
    for call in TRUTHS:
        argument = re.search(r"(\w+)=@", call)[1]
        rule = f"{argument} must be True or False, got"
        cases = [("no", "'no'"), (1, "1"), (0.0, "0.0"), (None, "None"), ([], "[]")]
        refuse(names, [call], [(wrong, TypeError, f"{rule} {item}") for wrong, item in cases])


COPIES = templates("""
asarray from_dlpack (x, copy=@)
astype(x, int8, copy=@)
reshape(x, (6,), copy=@)
to_layout(x, (0, 1), copy=@)
""")


def test_what_is_no_answer_to_copy(names):
    rule = "copy must be True, False or None, got"
    refuse(names, COPIES, [(wrong, TypeError, f"{rule} {wrong!r}") for wrong in ("never", 2, [])])


LARGE = templates("""
abs empty_like negative ones_like reciprocal sin sort tril triu zeros_like (big)
add divide full_like maximum pow (big, 2.0)
add atan2 floor_divide multiply (v[:1], big)
empty ones zeros ((2**30, 2**20))
full((2**30, 2**20), 1.0)
zeros((2**30, 2**20), layout=(0, 1))
reshape(big, (2**50,), copy=True)
to_layout(big, (0, 1))
asarray from_dlpack (big, copy=True)
eye(2**30, 2**20)
concat([big[1:], big[:1]])
stack([big, big], axis=1)
take(big, broadcast_to(zi[0], (2**30,)), axis=0)
cumulative_sum(big, axis=0)
cumulative_sum(big, axis=0, include_initial=True)
astype(big, float32)
linspace(0, 1, 2**50)
arange(0, 2**50)
tile(big, (2,))
zeros((2**62,))
""")


@pytest.mark.cpu
def test_memory_that_cannot_be_had(names):
    words = "shape (…) of … needs … bytes, which cannot be allocated"
    refuse(names, LARGE, [(None, MemoryError, words)])


def test_memory_that_cannot_be_had_on_the_device(names):
    """Few calls: on a device each looks for garbage first, which takes long beside other tests."""
    words = "shape (…) of float64 needs 9007199254740992 bytes, which cannot be allocated"
    refuse(names, ["add(big, 2.0)", "zeros((2**30, 2**20))"], [(None, MemoryError, words)])


def faults_of(rows, names):
    """Of calls and words, those that do not agree."""
    results = [(call, fault(call, words, names)) for call, words in rows]
    return [f"{call}: {said}" for call, said in results if said]


# Rules that several functions share, each with calls that break it.
RULES = """
ValueError: shape: at most 64 dimensions are allowed, got …
    zeros((1,) * 65) | empty((1,) * 65) | broadcast_to(s, (1,) * 65) |
    expand_dims(zeros((1,) * 64), axis=0) | reshape(x, (1,) * 65 + (6,))
ValueError: shape: the sizes (…), … more than 2**63 - 1
    zeros((2**40, 2**40)) | linspace(0, 1, 2**64) | eye(2**40) | ones((2**40, 2**40)) |
    from_storage(bytearray(32), "(1180591620717411303424,):(0,)", dtype=int8) |
    broadcast_to(s, (2**40, 2**40)) | repeat(v, 2**70) | tile(v, (2**70,)) |
    cumulative_sum(broadcast_to(astype(s, int8), (2**63 - 1,)), include_initial=True) |
    diag(v, k=2**62) | pad(x, 2**62)
OverflowError: Python integer 300 out of bounds for int8, -128 to 127
    full((2,), 300, dtype=int8) | full_like(i8, 300) | asarray([1, 300], dtype=int8) |
    i8[...] = 300 | i8[zi] = 300 | i8[b] = 300 | i8[b] = [1, 300] | add(i8, 300) | clip(i8, 300) |
    where(b, i8, 300) | pad(i8, 1, constant_values=300) |
    put_along_axis(i8, zi, 300) | scatter_add(i8, zi, 300)
OverflowError: Python integer -1 out of bounds for uint8, 0 to 255
    full((2,), -1, dtype=uint8) | arange(-1, 3, dtype=uint8)
OverflowError: Python integer of 1329 bits out of bounds for float64
    full((2,), 10**400, dtype=float64) | arange(0, 10**400, 1.0) | linspace(0, 10**400, 3) |
    asarray([10**400], dtype=float64) | var(x, correction=10**400) |
    linalg.vector_norm(v, ord=10**400) | logspace(0, 2, base=10**400)
TypeError: complex128 cannot become float64; take real() or abs() first
    full((2,), 1j, dtype=float64) | full((2,), z[0], dtype=float64) | full_like(x, 1j) |
    asarray([1j], dtype=float64) | asarray(z, dtype=float64) | astype(z, float64) | clip(v, z) |
    sum(z, dtype=float64) | cumulative_sum(z, dtype=float64) |
    linalg.trace(z[None], dtype=float64) | logspace(0, 2j, dtype=float64) |
    bincount(zi, asarray([1j, 2])) | cumsum(z, dtype=float64) | nansum(z, dtype=float64) |
    nanmean(z, dtype=float64)
TypeError: dtype must be numeric, got bool
    arange(3, dtype=bool) | linspace(0, 1, 3, dtype=bool) | sum(x, dtype=bool) |
    cumulative_prod(v, dtype=bool) | linalg.trace(x, dtype=bool) | cumprod(x, dtype=bool) |
    nanprod(x, dtype=bool)
TypeError: a tensor holds numbers, got str
    asarray("abc") | v[...] = ["a"] | gradient(v, [1, "a", 2])
ValueError: shape (…) of … spans more than 2**63 - 1 bytes
    meshgrid(broadcast_to(s, (2**30,)), broadcast_to(s, (2**30,))) |
    from_storage(bytearray(32), "(4611686018427387904,):(0,)", dtype=int64) |
    broadcast_to(s, (2**62, 0)) | repeat(v, 2**60) | tile(v, (2**60,)) | fft.fft(v, n=2**60)
ValueError: needs a rank of at least 2, got shape (3,)
    diagonal(v) | matrix_transpose(v) | linalg.cholesky(v) | linalg.det(v) |
    linalg.diagonal(v) | linalg.eigvals(v) | linalg.inv(v) | linalg.matrix_norm(v) |
    linalg.pinv(v) | linalg.qr(v) | linalg.svd(v) | linalg.svdvals(v)
ValueError: the tensor is read-only; copy() it first
    from_storage(bytes(32), least, dtype=int8, fill_padding=True) | ro[0] = 1 |
    put_along_axis(ro, zi, 1)
ValueError: shape mismatch: … shapes (2,), (3,)
    broadcast_shapes((2,), (3,)) | matmul(zeros((2, 3, 4)), zeros((3, 4, 5)))
ValueError: axis must not repeat a dimension, got (0, 0)
    expand_dims(x, axis=(0, 0)) | squeeze(zeros((1, 1)), axis=(0, 0)) | flip(x, axis=(0, 0)) |
    sliding_window(x, (1, 1), axis=(0, 0)) | sum(x, axis=(0, 0)) | count_nonzero(x, axis=(0, 0)) |
    linalg.vector_norm(v, axis=(0, 0)) | gradient(x, axis=(0, 0))
ValueError: axes must not repeat a dimension, got (0, 0)
    permute_dims(x, (0, 0)) | tensordot(x, x, axes=((0, 0), (0, 0))) |
    fft.ifftshift(x, axes=(0, 0)) | fft.fftn(x, axes=(0, 0)) | transpose(x, axes=(0, 0))
ValueError: axis must be given for a tensor of rank 2
    cumulative_sum(x) | cumulative_prod(x)
TypeError: indices must be of an integer dtype, got …
    take(v, v) | take_along_axis(v, v)
IndexError: boolean index did not match …: the mask has shape (3,), the dimensions (2,)
    x[b] | x[asarray([True, False, True]), zi] | x[b] = 1
ValueError: a value of shape … could not be broadcast to …
    v[...] = [1, 2] | v[zi] = i | v[b] = v | v[b] = [1, 2, 3] | put_along_axis(v, zi, v) |
    scatter_add(v, zi, v)
TypeError: complex cannot be written into float64; use real() first
    v[...] = 1j | v[zi] = 1j | v[b] = 1j | pad(x, 1, constant_values=1j) | put_along_axis(v, zi, 1j)
TypeError: only numeric dtypes are allowed, got bool
    abs(b) | scatter_add(b, zi, True)
TypeError: only numeric dtypes are allowed, got bool, bool
    subtract(b, b) | cross(b, b)
ValueError: needs at least one element along axes (0, 1), got shape (0, 3) (zero-size …
    min(none) | nanmin(none) | nanargmax(none)
TypeError: only real numeric dtypes are allowed, got complex128
    min(z) | argmax(z) | sort(z) | argsort(z) | scatter_min(z, zi, 1) |
    scatter_max(v, zi, asarray([1j, 2])) | median(z) | nanmax(z) | nanquantile(z, 0.5)
TypeError: only real floating dtypes are allowed, got complex128
    fft.rfft(z) | fft.rfftn(z) | fft.ihfft(z)
ValueError: matrices must be square, got shape (2, 3)
    linalg.cholesky(x) | linalg.det(x) | linalg.eig(x) | linalg.eigh(x) | linalg.eigvals(x) |
    linalg.eigvalsh(x) | linalg.inv(x) | linalg.matrix_power(x, 2) | linalg.slogdet(x) |
    linalg.solve(x, v2)
LinAlgError: elements must be finite
    linalg.eig(q * nan) | linalg.eigvals(q * nan) | linalg.svd(q * nan) |
    linalg.matrix_rank(q * nan) | linalg.pinv(q * nan) | linalg.matrix_norm(q * nan, ord="nuc") |
    linalg.svdvals(q * nan)
LinAlgError: Singular matrix
    linalg.inv(q) | linalg.matrix_power(q, -1) | linalg.solve(q, v2)
ValueError: n must be at least 1, got …
    fft.fft(v, n=0) | fft.rfft(v, n=-1) | fft.irfft(v, n=0) | fft.fftfreq(0) | fft.rfftfreq(-1)
ValueError: needs a rank of at most 2, got shape (2, 3, 4)
    cov(cube) | corrcoef(cube)
TypeError: only a tensor of rank 0 can be converted to …, got shape (3,); use item(), …
    float(v) | int(v) | complex(v)
"""


# --- what each function refuses besides --------------------------------------------------------

CHAPTERS = """
=== creation
zeros((2, -3))  # ValueError: shape: sizes must not be negative, got (2, -3)
zeros((2,), device="cuda:99")  # ValueError: device must be one of those available…, got 'cuda:99'…
set_default_device("abacus")  # ValueError: device must be one of those available…, got 'abacus'
set_num_threads(0)  # ValueError: count must be at least 1, got 0
set_num_threads("2")  # TypeError: count must be an integer or None, got '2'
full((2,), "a")  # TypeError: fill_value must be a number, got 'a'
full((2,), v)  # ValueError: fill_value must be a number, got a tensor of shape (3,)
full(v, 1)  # TypeError: shape must be an integer or a…, got a tensor of float64 and shape (3,)
full_like(x, "a")  # TypeError: fill_value must be a number, got 'a'
full_like(x, v2)  # ValueError: a value of shape (2,) could not be broadcast to (2, 3)
zeros((2,), order="A")  # ValueError: order must be one of C, F, got 'A'
zeros((2, 3), order="F", layout=(0, 1))  # ValueError: give order or layout, got 'F' and a layout
zeros_like(x, order="R")  # ValueError: order must be one of C, F, A, K, got 'R'
tril(s)  # ValueError: needs a rank of at least 2, got shape ()
triu(s)  # ValueError: needs a rank of at least 2, got shape ()
arange("a")  # TypeError: stop must be a real number, got 'a'
arange(0, 10, 0)  # ValueError: step must not be 0
arange(0, 1e300)  # ValueError: from 0 to 1e+300 by 1 are more than 2**63 - 1 numbers
arange(0, inf)  # ValueError: from 0 to inf by 1 is no finite number of steps
arange(nan)  # ValueError: from 0 to nan by 1 is no finite number of steps
arange(0, 10, nan)  # ValueError: from 0 to 10 by nan is no finite number of steps
arange(300, dtype=int8)  # OverflowError: Python integer 299 out of bounds for int8, -128 to 127
linspace("a", 1, 3)  # TypeError: start must be a number, got 'a'
linspace(0, None, 3)  # TypeError: stop must be a number, got None
linspace(0, 1, -1)  # ValueError: num must not be negative, got -1
linspace(0, 1j, 3, dtype=float32)  # TypeError: complex numbers cannot become float32
linspace(0, 1, 3, axis=1)  # AxisError: axis 1 is out of bounds for array of dimension 1
geomspace("a", 1)  # TypeError: a tensor holds numbers, got str
geomspace(1, 8, -1)  # ValueError: num must not be negative, got -1
geomspace(asarray([1, 0]), 8)  # ValueError: start and stop must not be 0
eye(-1)  # ValueError: N must not be negative, got -1
eye(3, -1)  # ValueError: M must not be negative, got -1
eye(2.0)  # TypeError: N must be an integer, got 2.0
identity(-1)  # ValueError: N must not be negative, got -1
tri(3, -1)  # ValueError: M must not be negative, got -1
array([1], ndmin=1.5)  # TypeError: ndmin must be an integer, got 1.5
array([1], ndmax=1)  # TypeError: takes no ndmax=1 with tensors
ascontiguousarray({})  # TypeError: …
asfortranarray({})  # TypeError: …
round(b)  # TypeError: only numeric dtypes are allowed, got bool
round(v, 400)  # ValueError: decimals must be from -308 to 308, got 400
eye(3, 2.0)  # TypeError: M must be an integer, got 2.0
asarray(float64)  # TypeError: a Float64DType gives no numbers: 'numpy.dtypes.Float64DType' object…
asarray([[1, 2], [3]])
    ValueError: nested sequences must have equal lengths (the shape is inhomogeneous), got a
      sequence of 2 and a sequence of 1
asarray(2**70)  # OverflowError: Python integer 1180591620717411303424 out of bounds for int64
asarray(-2**63 - 1)  # OverflowError: Python integer -9223372036854775809 out of bounds for int64
asarray([1], copy=False)
    ValueError: unable to avoid a copy, as copy=False demands: the memory of a list cannot be shared
asarray(i, dtype=float64, copy=False)
    ValueError: unable to avoid a copy, as copy=False demands: int64 is not float64
asarray([[1, 2]], layout="NCHW")  # ValueError: labels: 'NCHW' names 4 dimensions (N, C, H, W)…
asarray(x, layout=(0, 1), copy=False)
    ValueError: unable to avoid a copy, as copy=False demands: layout (2,3):(3,1) is not (2,3):(1,2)
asarray(np.array(["a"]))  # TypeError: dtype must be a dtype of this namespace, got dtype('<U1')
meshgrid(v, indexing="xx")  # ValueError: indexing must be 'xy' or 'ij', got 'xx'
no_copies("a")  # TypeError: at_least must be an integer, got 'a'
explain(3)  # TypeError: function must be callable, got 3
no_copies(allow="copy")  # TypeError: allow must be a collection of names, got 'copy'
from_dlpack([1])  # AttributeError: needs an object with __dlpack__ and…, got list; use asarray()
from_dlpack(np.array(["a"]))  # BufferError: ndarray could not be exchanged: …
=== files
save(3.5, ones(2))  # TypeError: file must be a path or an open binary file, got 3.5
save("x.txt", ones(2))  # ValueError: the path must end in .npy, .npz, .safetensors…, got 'x.txt'
save("x.npy", [1])  # TypeError: x must be a tensor, got list; make it a tensor with asarray() first
savez("x.npz", arr=2)  # TypeError: arr must be a tensor…; make it a tensor with asarray() first
savez("x.npz", ones(2), arr_0=ones(2))  # ValueError: arr_0 is the name of an argument by…
load(None)  # TypeError: file must be a path or an open binary file, got None
load("x.npy", mmap_mode="w")  # ValueError: mmap_mode must be None, 'r', 'r+' or 'c', got 'w'
=== layouts
from_storage([1, 2], "(2,):(1,)", dtype=int8)  # TypeError: storage must have the…, got [1, 2]
from_storage(bytes(4), "(2,):(1,)", dtype=int64)  # ValueError: layout (2,):(1,) of int64 requires…
from_storage(bytes(4), "(2,)", dtype=int8)  # ValueError: layout text: must have…, got '(2,)'
from_storage(bytes(4), (2,), dtype=int8)  # TypeError: layout must be a Layout or its…, got (2,)
from_storage(bytes(4), "(2,):(1,)", dtype=None)  # TypeError: dtype must be a dtype of…, got None
from_storage(bytearray(256), least, dtype=complex64, fill_padding=True)  # ValueError: the padding…
from_storage(np.ones((4, 4))[:, 0], "(2,):(1,)", dtype=float64)  # ValueError: the storage must be…
from_storage(v, "(2,):(1,)", dtype=int8)  # TypeError: storage must be a buffer or an array, got a…
to_layout(x, None)  # TypeError: layout must say which, got None
to_layout(x, tiled)  # ValueError: layout (4,6):(2*12+2*2,3*4+2*1) is for shape (4, 6), the tensor…
to_layout(cube, "NHWC")  # ValueError: labels: 'NHWC' names 4 dimensions (N, C, H, W), the shape…
to_layout(cube, "channels_last")  # ValueError: labels: 'channels_last' is NHWC of rank 4 or…
to_layout(x, "")  # ValueError: labels: must be different letters of one case, slowest first…
to_layout(x, (0, 1), copy=False)
    ValueError: unable to avoid a copy, as copy=False demands: layout (2,3):(3,1) is not (2,3):(1,2)
Device(5)  # TypeError: must be a kind and a number, got 5 and 0
=== data types
can_cast("x", int8)  # TypeError: from_ must be a dtype of this namespace…; they are bool, int8, …
can_cast(int8, "x")  # TypeError: to must be a dtype of this namespace…; they are bool, int8, …
result_type()  # ValueError: needs at least one tensor or dtype
result_type(np.ones(3, "S3"))  # TypeError: each argument must be a dtype of this…, got dtype('S3')
isdtype(int8, "foo")  # ValueError: kind must be a dtype or one of bool, complex…, got 'foo'
isdtype(int8, None)  # TypeError: kind must be a dtype of this namespace, got None
isdtype(int8, (int8, "foo"))  # ValueError: kind must be a dtype or one of bool, …, got 'foo'
finfo(int8)  # TypeError: type must be a floating-point dtype, got int8
iinfo(float32)  # TypeError: type must be an integer dtype, got float32
=== manipulation
broadcast_arrays(v, v2)  # ValueError: shape mismatch: operands could not be broadcast together…
broadcast_shapes((-1,))  # ValueError: shape must hold no negative sizes, got [(-1,)]
broadcast_to(v, (2, 4))  # ValueError: shape (3,) could not be broadcast to (2, 4)
broadcast_to(v, (-1, 3))  # ValueError: shape must hold no negative sizes, got (-1, 3)
concat([])  # ValueError: arrays must hold at least one tensor, got none
concat(3)  # TypeError: arrays must be a sequence, got 3
concat(v)  # ValueError: tensors of rank 0 have no axis to join along; use stack()
concat([v, v], dtype=int8)  # TypeError: float64 cannot become int8 by the rule 'same_kind'
concat([v, v], out=v)  # ValueError: out must have the shape of the result, (6,), got (3,)
concat([v, x])  # ValueError: shapes must be equal except along axis 0, got [(3,), (2, 3)]
concat([s, s])  # ValueError: tensors of rank 0 have no axis to join along; use stack()
stack([])  # ValueError: arrays must hold at least one tensor, got none
stack([v, v], casting="any")  # ValueError: casting must be one of no, equiv, safe…, got 'any'
block([])  # ValueError: lists must not be empty, and equally deep
block([1.0])  # TypeError: needs at least one tensor
split(v, 2)  # ValueError: 3 elements cannot be split into 2 equal parts
array_split(v, 0)  # ValueError: the number of parts must be at least 1, got 0
vsplit(v, 1)  # ValueError: needs a rank of at least 2, got shape (3,)
insert(v, 4, 1)  # IndexError: index 4 is out of bounds for axis 0 with size 3
insert(v, asarray([2**64 - 1], dtype=uint64), 1)  # IndexError: index 18446744073709551615 is …
insert(v, 1.5, 1)  # TypeError: positions must be integers, got float64
insert(v, b, 1)  # TypeError: positions must be integers, got bool; use nonzero() first
delete(v, 3)  # IndexError: index 3 is out of bounds for axis 0 with size 3
rot90(x, axes=(0,))  # ValueError: axes must be two, got (0,)
rollaxis(x, 0, 3)  # ValueError: start must be from -2 to 2, got 3
diagonal(x, axis1=1)  # ValueError: axis1 and axis2 must not repeat a dimension, got (1, 1)
ravel(x, "R")  # ValueError: order must be one of C, F, A, K, got 'R'
resize(x, (-1,))  # ValueError: sizes must not be negative, got (-1,)
ix_(x)  # ValueError: positions must be of rank 1, got shapes [(2, 3)]
apply_along_axis(sum, 0, zeros((2, 0)))  # ValueError: there are no lines along axis 0 of…
stack([v, v2])  # ValueError: shapes must be equal, got [(3,), (2,)]
unstack(s)  # AxisError: axis 0 is out of bounds for array of dimension 0
squeeze(x, axis=0)  # ValueError: only dimensions of size 1 can be…, got axis 0 of shape (2, 3)
moveaxis(x, (0, 1), 0)  # ValueError: source (0, 1) and destination 0 must have equal lengths
moveaxis(x, (0, 0), (0, 1))  # ValueError: source must not repeat a dimension, got (0, 0)
moveaxis(x, (0, 1), (0, 0))  # ValueError: destination must not repeat a dimension, got (0, 0)
permute_dims(x, (0,))  # ValueError: axes must be a permutation of 2 dimensions, got (0,)
repeat(x, -1)  # ValueError: repeats must not be negative, got -1
repeat(x, i)  # ValueError: repeats must have shape (6,), got (3,)
repeat(v, v)  # TypeError: repeats must be integers, got float64
repeat(v, asarray([1, -2, 3]))  # ValueError: repeats must not be negative, got -2
repeat(v, asarray([1, 2, 2**60]))  # MemoryError: repeats add up to 1.153e+18, more than any…
repeat(v, asarray([2**62, 2**62, 2**63], dtype=uint64))  # MemoryError: repeats add up to…
repeat(v, s)  # TypeError: repeats must be an integer, got a tensor of float64 and shape ()
tile(v, (-1,))  # ValueError: reps must not be negative, got (-1,)
tile(v, (1,) * 65)  # ValueError: shape: at most 64 dimensions are allowed, got 65
reshape(x, (4,))  # ValueError: cannot reshape 6 elements into shape (4,)
reshape(x, (-1, -1))  # ValueError: shape may hold one -1 and no other negative sizes, got (-1, -1)
reshape(x, (-1, 4))  # ValueError: cannot reshape 6 elements into shape (-1, 4)
reshape(none, (-1, 0))  # ValueError: cannot reshape 0 elements into shape (-1, 0)
reshape(x.T, (6,), copy=False)
    ValueError: unable to avoid a copy, as copy=False demands: layout (3,2):(1,3) has no view of
      shape (6,)
roll(x, (1, 2, 3), axis=(0, 1))  # ValueError: shift (1, 2, 3) and axis (0, 1) must have equal…
reshape(x, (6,), order="K")  # ValueError: order must be one of C, F, A, got 'K'
sliding_window(x, 2)  # ValueError: window_shape (2,) and axis (0, 1) must have equal lengths
sliding_window(v, 4)  # ValueError: window_shape: must be from 1 to 3 along dimension 0, got 4
sliding_window(v, 0)  # ValueError: window_shape: must be from 1 to 3 along dimension 0, got 0
=== indexing
take(v, i)  # IndexError: index 3 is out of bounds for size 3
take(v, 3)  # IndexError: index 3 is out of bounds for size 3
take(v, True)  # TypeError: indices must be of an integer dtype, got bool
take(v, "a")  # TypeError: a tensor holds numbers, got str
take(v, None)  # TypeError: …NoneType…
take(v, i, mode="a")  # ValueError: mode must be 'raise', 'wrap' or 'clip', got 'a'
take_along_axis(x, zi)  # ValueError: ranks must be equal, got shapes (2, 3) and (2,)
take_along_axis(x, asarray([[0], [9]]))  # IndexError: index 9 is out of bounds for size 3
take_along_axis(x, asarray([[0], [0], [0]]))  # ValueError: shape mismatch: … shapes (2, 1), (3, 1)
v[3]  # IndexError: index 3 is out of bounds for axis 0 with size 3
v[1.0]  # IndexError: an index must be an integer, a slice, None, Ellipsis, or an integer…, got 1.0
v[None, "a"]  # IndexError: an index must be an integer, …, got 'a'
x[5]  # IndexError: index 5 is out of bounds for axis 0 with size 2
s[...,...]  # IndexError: an index can only have a single ellipsis ('...')
x[far]  # IndexError: index 9 is out of bounds for size 2
v[1, 2]  # IndexError: too many indices for shape (3,), got 2
s[0]  # IndexError: too many indices for shape (), got 1
none[0]  # IndexError: no index is inside dimension 0 of shape (0, 3)
v[2**70]  # IndexError: index 1180591620717411303424 is out of bounds for axis 0 with size 3
v[v]  # IndexError: positions must be integers or booleans, got dtype float64
v[[0, 3]]  # IndexError: index 3 is out of bounds for size 3
v[[2**63]]  # IndexError: positions must be integers or booleans, got [9223372036854775808]
v[[[1], [2, 3]]]
    ValueError: nested sequences must have equal lengths (the shape is inhomogeneous), got a
      sequence of 1 and a sequence of 2
x[far, 0]  # IndexError: index 9 is out of bounds for size 2
x[zi, far]  # IndexError: index 9 is out of bounds for size 3
x[zi, i]  # IndexError: index tensors of shapes (2,) (3,) could not be broadcast together
v["1":2]  # TypeError: a slice must be of integers or None, got slice('1', 2, None)
v[::0]  # ValueError: the step of a slice must not be 0, got slice(None, None, 0)
v[(0,), (1,)]  # IndexError: an index must be an integer, …, got (0,)
v[asarray(5)]  # IndexError: index 5 is out of bounds for axis 0 with size 3
v[u8]  # IndexError: index 3 is out of bounds for size 3
v[asarray([2**63], dtype=uint64)]  # IndexError: index 9223372036854775808 is out of bounds for…
v[...] = "a"  # TypeError: value must be a tensor, an array or numbers, got 'a'
v[...] = [[1, 2], [3]]
    ValueError: nested sequences must have equal lengths (the shape is inhomogeneous), got a
      sequence of 2 and a sequence of 1
bf[0] = 10**400  # OverflowError: Python integer of 1329 bits out of bounds for bfloat16
asarray([10**400], dtype=float32)  # OverflowError: Python integer … out of bounds for float32
v[3] = 1  # IndexError: index 3 is out of bounds for axis 0 with size 3
v[1.0] = 1  # IndexError: an index must be an integer, …, got 1.0
v[[0, 3]] = 1  # IndexError: index 3 is out of bounds for size 3
w[0] = 1  # ValueError: elements of layout (2,3):(0,1) share slots, so the tensor…; copy() it first
none[0] = 1  # IndexError: no index is inside dimension 0 of shape (0, 3)
s[0] = 1  # IndexError: too many indices for shape (), got 1
v[::0] = 1  # ValueError: the step of a slice must not be 0, got slice(None, None, 0)
v[...] = np.array(["a"])  # TypeError: value must be an array of numbers, got <U1
=== elementwise
add(v, v2)  # ValueError: shape mismatch: … shapes (3,), (2,)
add(1, 2)  # TypeError: at least one operand must be a tensor or an array, got only Python scalars
atan2(z, z)  # TypeError: only real floating dtypes are allowed, got complex128, complex128
bitwise_and(v, v)  # TypeError: only integer or boolean dtypes are allowed, got float64, float64
bitwise_invert(v)  # TypeError: only integer or boolean dtypes are allowed, got float64
clip(z, 0, 1)  # TypeError: only real numeric dtypes are allowed, got complex128, int, int
clip(v, v2)  # ValueError: shape mismatch: … shapes (3,), (2,)
clip(v, 1j)  # TypeError: only real numeric dtypes are allowed, got float64, complex
clip(v, 0, 10**5000)  # OverflowError: Python integer of 16610 bits out of bounds for float64
=== searches, sorts, sets, statistics
where(b, v, None)  # TypeError: either both or neither of x and y must be given; y is missing
where(b, v2, v)  # ValueError: shape mismatch: … shapes (3,), (2,), (3,)
max(zeros((0,)))
    ValueError: needs at least one element along axis 0, got shape (0,) (zero-size reduction
      without identity)
diff(v, n=-1)  # ValueError: …-1
argmax(zeros((0,)))
    ValueError: needs at least one element along axis 0, got shape (0,) (zero-size reduction
      without identity)
argmin(none, axis=0)
    ValueError: needs at least one element along axis 0, got shape (0, 3) (zero-size reduction
      without identity)
nonzero(s)  # ValueError: …()
searchsorted(x, v)  # ValueError: …(2, 3)
searchsorted(v, v, side="middle")  # ValueError: …'middle'
searchsorted(z, z)  # TypeError: …complex128, complex128
searchsorted(v, z)  # TypeError: …float64, complex128
var(x, correction="a")  # TypeError: correction must be a real number, got 'a'
std(x, correction=1j)  # TypeError: correction must be a real number, got 1j
diff(v, append=x)  # ValueError: append: shapes may differ along axis 0 only, got (2, 3) beside…
searchsorted(v, v, sorter=v)  # TypeError: sorter must have an integer dtype, got float64
searchsorted(v2, v, sorter=far)  # IndexError: sorter holds positions out of bounds for a of…
searchsorted(v, v, sorter=zi)  # ValueError: a must have rank 1 and…, got shapes (3,) and (2,)
searchsorted(v, "a")  # TypeError: a tensor holds numbers, got str
isin(1, 2)  # TypeError: must be called with a tensor, got int; make it a tensor with asarray()…
argsort(v, stable=2)  # TypeError: stable must be True, False or None, got 2
sort(v, kind="a")  # ValueError: kind must be one of heapsort, mergesort, quicksort, stable, got 'a'
sort(v, order="a")  # TypeError: takes no order='a' with tensors
top_k(v, 4)  # ValueError: k must be from 0 to 3, the size along axis 0, got 4
top_k(v, -1)  # ValueError: k must be from 0 to 3, the size along axis 0, got -1
top_k(v, 1, mode="max")  # ValueError: mode must be one of largest, smallest, got 'max'
top_k(z, 1)  # TypeError: only real numeric dtypes are allowed, got complex128
partition(v, 3)  # ValueError: kth must lie within the 3 elements of a line, got 3
lexsort([])  # ValueError: keys must hold at least one tensor, got none
lexsort([v, v[:1]])  # ValueError: keys must have one shape, got (1,) and (3,)
=== linear algebra
matmul(x, x)  # ValueError: shapes (2, 3) and (2, 3) are not aligned: 3 (axis 1) != 2 (axis 0)
vecdot(v, v2)  # ValueError: sizes along axis -1 differ in shapes (3,) and (2,)
vecdot(v, v, axis=0)  # AxisError: axis must be negative and inside both shapes (3,) and (3,), got 0
linalg.cross(s, s)  # AxisError: axis must be negative and inside both shapes () and (), got -1
tensordot(x, x, axes=3)  # ValueError: axes must be from 0 to 2 (the ranks), got 3
tensordot(x, x, axes=-1)  # ValueError: axes must be from 0 to 2 (the ranks), got -1
tensordot(x, x, axes=1.0)  # TypeError: axes must be an integer or two sequences of…, got 1.0
tensordot(x, x, axes=((0,), (1,)))  # ValueError: sizes along axes (0,) of shape (2, 3) and (1,)…
tensordot(x, x, axes=((0,), (0, 1)))  # ValueError: axes must have equal…, got (0,) and (0, 1)
linalg.cholesky(q - 3)  # LinAlgError: Matrix is not positive definite
linalg.matrix_power(q, 2**63)  # ValueError: n must lie within 2**63 - 1, got 9223372036854775808
linalg.solve(q, v)  # ValueError: shapes (2, 2) and (3,) do not match as …
linalg.solve(q + eye(2), asarray(1.0))  # ValueError: shapes (2, 2) and () do not match as …
linalg.cross(v, v2)  # ValueError: sizes along axis -1 must be 3, got shapes (3,) and (2,)
linalg.eigh(q, "no")  # ValueError: UPLO must be 'L' or 'U', got 'no'
linalg.norm(cube, 1)  # ValueError: axis must be one or two, got 3
linalg.norm(v, "nuc")  # ValueError: ord of vectors must be a number, got 'nuc'
linalg.cond(none)  # ValueError: matrices must have elements, got shape (0, 3)
linalg.matrix_norm(x, ord="foo")  # ValueError: ord must be 'fro', 'nuc', 1, -1, 2, -2…, got 'foo'
linalg.matrix_norm(x, ord=[1])  # TypeError: ord must be a real number, got [1]
linalg.matrix_rank(q, rtol="a")  # TypeError: rtol must be a real number or a tensor, got 'a'
linalg.matrix_rank(q, rtol=x)  # ValueError: rtol of shape (2, 3) does not fit a stack of shape ()
linalg.pinv(q, rtol="a")  # TypeError: rtol must be a real number or a tensor, got 'a'
linalg.pinv(q, rtol=v)  # ValueError: rtol of shape (3,) does not fit a stack of shape ()
linalg.qr(x, mode=np.zeros(3))  # ValueError: mode must be 'reduced', …, got numpy.ndarray
linalg.vector_norm(v, ord="foo")  # TypeError: ord must be a real number, got 'foo'
linalg.vector_norm(v, ord=nan)  # ValueError: ord must be a real number, got nan
=== Fourier transforms
fft.fft(v, norm="foo")  # ValueError: …'foo'
fft.fftn(x, norm="a")  # ValueError: …'a'
fft.rfftn(s)  # ValueError: needs at least one axis, got shape () and axes None
fft.irfftn(s)  # ValueError: needs at least one axis, got shape () and axes None
fft.fft(zeros((0,)))  # ValueError: sizes along axes (0,) must be at…, got (0,) for shape (0,)
fft.irfft(v[:1])  # ValueError: sizes along axes (0,) must be at least 1, got (0,) for shape (1,)
fft.hfft(v[:1])  # ValueError: sizes along axes (0,) must be at least 1, got (0,) for shape (1,)
fft.fftn(x, s=(2,), axes=(0, 1))  # ValueError: s and axes must have equal…, got (2,) and (0, 1)
fft.fftn(x, s=(0, 2), axes=(0, 1))  # ValueError: sizes along axes…, got (0, 2) for shape (2, 3)
fft.fftn(x, s=(-2, 2), axes=(0, 1))  # ValueError: sizes along axes…, got (-2, 2) for shape (2, 3)
fft.fftn(x, s=(1, 2, 3))  # AxisError: axis -3 is out of bounds for array of dimension 2
fft.irfftn(x, s=(0,), axes=(0,))  # ValueError: sizes along axes (0,)…, got (0,) for shape (2, 3)
fft.fftfreq(3, d="a")  # TypeError: d must be a real number, got 'a'
fft.fftfreq(3, d=0)  # ValueError: d must not be 0
fft.fftfreq(3, dtype=int8)  # TypeError: dtype must be real floating, got int8
=== beyond the standard
fuse(3)  # TypeError: must be called with a function, got 3
logspace(0, 2, num=-1)  # ValueError: num must not be negative, got -1
logspace(0, 2, base="a")  # TypeError: base must be a number, got 'a'
bincount(v)  # TypeError: only integral dtypes are allowed, got float64
bincount(i - 2)  # ValueError: the integers must not be negative
bincount(asarray([3, 2**63 - 1]))  # ValueError: the integers must be below 2**63 - 1
bincount(asarray([2**63], dtype=uint64), minlength=4)  # ValueError: the integers must be below…
bincount(zi, v)  # ValueError: needs weights of the same shape, got (3,) for (2,)
bincount(zi, minlength=-1)  # ValueError: minlength must not be negative, got -1
cov(x, v2)  # ValueError: shapes must be equal except along axis 0, got [(2, 3), (1, 2)]
cov(x, ddof=1.0)  # TypeError: ddof must be an integer, got 1.0
cov(x, rowvar=2)  # TypeError: rowvar must be True or False, got 2
cov(x, dtype="int64")  # TypeError: dtype must be floating-point, got int64
isclose(v, v, equal_nan=2)  # TypeError: equal_nan must be True or False, got 2
diag(s)  # ValueError: needs a rank of 1 or 2, got shape ()
einsum(x, x)  # TypeError: the first argument must be…, got a tensor of float64 and shape (2, 3)
einsum("i")  # ValueError: operands must hold at least one tensor, got none
einsum("ij", v)  # ValueError: 'ij' does not fit shapes (3,): 'ij' does not name the dimensions of…
einsum("i,i", v, v2)  # ValueError: 'i,i' does not fit shapes (3,), (2,): 'i' names sizes 3 and 2
einsum("a$b", x)  # ValueError: 'a$b' does not fit shapes (2, 3): '$' is no letter, and no part of…
einsum("ij->k", x)  # ValueError: 'ij->k' does not fit shapes (2, 3): 'k' is in no operand, or…
einsum("i,ij->,j", v2, x)  # ValueError: 'i,ij->,j' does not fit shapes (2,), (2, 3): ',' is no…
einsum("...i,...j", x, cube)  # ValueError: '...i,...j' does not fit shapes (2, 3), (2, 3, 4):…
einsum("ii", x)  # ValueError: 'ii' does not fit shapes (2, 3): 'i' names sizes 2 and 3
einsum("", v)  # ValueError: '' does not fit shapes (3,): '' does not name the dimensions of shape…
einsum("i,i", v)  # ValueError: 'i,i' does not fit shapes (3,): each operand is named once, at…
gradient(s)  # ValueError: needs a rank of at least 1, got shape ()
gradient(v2[:1])  # ValueError: needs 2 elements along each axis, got shape (1,)
gradient(x[:, :1], 1, v[:1])  # ValueError: needs 2 elements along each axis, got shape (2, 1)
gradient(v, 1, 2)  # ValueError: distances must be none, one, or one for each axis, got 2
gradient(v, "a")  # TypeError: distances must be a real number, got 'a'
gradient(v, v2)  # ValueError: when 1d, distances must match the length of the corresponding…
gradient(v, edge_order=3)  # ValueError: edge_order must be 1 or 2, got 3
quantize_blocks(i, "mxfp4")  # TypeError: only real floating dtypes are allowed, got int64…
quantize_blocks(x, "fp4")  # ValueError: format must be one of mxfp8_e4m3, mxfp8_e5m2…, got 'fp4'
quantize_blocks(x, "mxfp4", scaling="up")  # ValueError: scaling must be one of floor…, got 'up'
quantize_blocks(x, "nvfp4", global_scale="a")  # TypeError: global_scale must be a real…, got 'a'
quantize_blocks(s, "mxfp4")  # AxisError: axis -1 is out of bounds for array of dimension 0
scaled_matmul(x, x)  # TypeError: x1 must be a tuple of elements, scales and perhaps a global…
scaled_matmul((x, x), (x,))  # TypeError: x2 must be a tuple of elements, scales and perhaps a…
scaled_matmul((x, x), (x, x))  # TypeError: data and scales must be of a format (…), got float64…
scaled_matmul((x, x, 2.0), (x, x))  # ValueError: global_scale is for scales of float8_e4m3fn, got…
scaled_matmul((v, v), (x, x))  # ValueError: needs matrices, got shapes [(3,), (3,), (2, 3), (2, 3)]
scaled_matmul((x, x), (x, x), dtype="i1")  # TypeError: dtype must be float32, float16 or…, got int8
dequantize_blocks(x, x)  # TypeError: data and scales must be of a format (…), got float64 with…
pad(x, -1)  # ValueError: pad_width must not be negative, got -1
pad(x, 1.0)  # TypeError: pad_width must be integers, got 1.0
pad(x, ((1, 1),) * 3)  # ValueError: pad_width must be a number, a…, got ((1, 1), (1, 1), (1, 1))
pad(x, {2: 1})  # AxisError: axis 2 is out of bounds for array of dimension 2
pad(x, {"a": 1})  # TypeError: pad_width must be an integer, got 'a'
pad(x, 1, "mean")  # ValueError: mode must be one of constant, edge, reflect…, got 'mean'
pad(none, 1, "edge")  # ValueError: mode 'edge' cannot extend dimension 0 of size 0
pad(x, 1, constant_values="a")  # TypeError: constant_values must be numbers, got 'a'
put_along_axis(v, v, 1)  # TypeError: only integral dtypes are allowed as indices, got float64
put_along_axis(v, far, 1)  # IndexError: index 9 is out of bounds for size 3
put_along_axis(v, zi, "a")  # TypeError: value must be a tensor, an array or numbers, got 'a'
scatter_add(v, v, 1)  # TypeError: only integral dtypes are allowed as indices, got float64
scatter_add(i, zi, 1.5)  # TypeError: updates of float do not fit a tensor of int64
scatter_add(i, zi, v2)  # TypeError: updates of float64 do not fit a…; convert one with astype()
scatter_add(i, far, 1)  # IndexError: index 9 is out of bounds for size 3
scatter_add(cube, asarray([zi, zi]), 1)  # ValueError: indices must have rank 1…, got shape (2, 2)
scatter_add(x, asarray([zi, zi, zi]), 1, axis=1)  # ValueError: indices of shape (3, 2) do not fit…
transpose(x, axes=(0,))  # ValueError: axes must be a permutation of 2 dimensions, got (0,)
interp(v, v, v2)  # ValueError: xp and fp must be of one shape (n,), got (3,), (2,)
interp(v, v, v, period=0)  # ValueError: period must not be 0
pad(x, 1, "edge", constant_values=1)  # TypeError: constant_values are …, got mode 'edge'
nanmean(x, dtype=int8)  # TypeError: dtype must be floating-point, got int8
nanvar(x, correction="a")  # TypeError: correction must be a real number, got 'a'
nanvar(x, dtype=int8)  # TypeError: dtype must be floating-point, got int8
nanstd(x, ddof=None)  # TypeError: ddof must be a real number, got None
nanargmin(x * nan)  # ValueError: all elements along axis None are NaN
quantile(x, 2)  # ValueError: q must be from 0 to 1, got 2
quantile(x, "a")  # TypeError: q must be a real number, or several, got 'a'
quantile(x, 0.5, method="a")  # ValueError: method must be one of …, got 'a'
quantile(x, 0.5, method=[])  # ValueError: method must be one of …, got []
nanquantile(x, -0.5)  # ValueError: q must be from 0 to 1, got -0.5
=== methods
Tensor()  # TypeError: not made by calling the class; use asarray(), zeros() or from_storage()
int(asarray(nan))  # ValueError: cannot convert nan to an integer
int(asarray(inf))  # OverflowError: cannot convert inf to an integer
float(z[0])  # TypeError: cannot convert a complex value; use real() first
int(z[0])  # TypeError: cannot convert a complex value; use real() first
len(s)  # TypeError: a tensor of rank 0 has no length
iter(s)  # TypeError: a tensor of rank 0 cannot be iterated over
v.to_device("gpu")
    ValueError: device must be one of those available (cpu), got 'gpu'; GPUs are called 'cuda'
      or 'cuda:0'
v.__array_namespace__(api_version="1999.12")  # ValueError: api_version must be one…, got '1999.12'
v.__dlpack__(dl_device="cpu")  # TypeError: dl_device must be an integer or a sequence…, got 'cpu'
v.__dlpack__(max_version=1)  # TypeError: max_version must be a pair of integers, got 1
ro.__dlpack__()  # BufferError: a read-only tensor…; give max_version=(1, 0), or copy() it first
=== arguments that do not fit
sum(x, 1, 1.5)  # TypeError: dtype must be a dtype of this namespace, got float
sum(x, dim=1)
    TypeError: got an unexpected keyword argument 'dim'; it is called axis here: sum(a,
      axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None)
sum(x, out=v)  # ValueError: out must have the shape of the result, (), got (3,)
sum()  # TypeError: missing a required argument: 'a': sum(a, axis=None, dtype=None…
sum(x=x)
    TypeError: got an unexpected keyword argument 'x': sum(a, axis=None, dtype=None, out=None,
      keepdims=False, initial=None, where=None)
sum(x, axiz=1)
    TypeError: got an unexpected keyword argument 'axiz'; did you mean 'axis'? sum(a,
      axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None)
max(x, x)  # TypeError: axis must be an integer or a sequence of integers, got a tensor of…
var(x, ddof=1, correction=1)  # ValueError: ddof and correction are two names of one argument…
zeros(2, 3)
    TypeError: dtype must be a dtype of this namespace, got 3; pass the shape as one tuple, as in
      (2, 3)
reshape(x, 3, 2)  # TypeError: order must be a letter, got 2; pass the shape as one tuple
reshape(x, (3, 2), shape=6)  # TypeError: multiple values for argument 'shape': reshape(…
concat(x, x)  # TypeError: the tensors must be one sequence: concat([x, y])
sort(x, knd="stable")
    TypeError: got an unexpected keyword argument 'knd'; did you mean 'kind'? sort(a, axis=-1,
      kind=None, order=None, stable=None, descending=False)
clip(x, lower=0)
    TypeError: got an unexpected keyword argument 'lower': clip(x, min=None, max=None)
exp()  # TypeError: missing a required argument: 'x': exp(x, out=None, where=True…
exp(x, out=v)
    ValueError: the result of shape (2, 3) could not be broadcast to the shape of out, (3,)
exp(x, out=u8)
    TypeError: cannot cast the result from float64 to uint8, the dtype of out, by the rule
      'same_kind'; pass an out of float64, or use astype() first
add(x, x, where=asarray([True, False]))
    ValueError: shape mismatch: operands could not be broadcast together with shapes (2,), (2, 3)
cumsum([1.0, 2.0], out=v)
    TypeError: must be called with a tensor, got list; make it a tensor with asarray() first
histogram(v, range=(1, 2, 3))  # ValueError: range must be a pair of numbers, got (1, 2, 3)
piecewise(v, (), [1])  # ValueError: condlist must have at least one condition
fuse(print, static=5)  # TypeError: static must be a name or names of arguments, got 5
x.copy(0)  # ValueError: order must be one of C, F, A, K, got 0
concat([x, x], axis=v)  # TypeError: axis must be an integer, got a tensor of float64 and shape (3,)
add(x, float)  # TypeError: operands must be tensors, arrays or Python scalars, got type
add(x)  # TypeError: missing a required argument: 'x2': add(x1, x2, out=None…
meshgrid(v, v, dense=True)
    TypeError: got an unexpected keyword argument 'dense': meshgrid(*xi, copy=True,
      sparse=False, indexing='xy')
v.flatten(1, 2)  # TypeError: takes 2 positional arguments, got 3: flatten(a, order='C')
v.dot(y=v)  # TypeError: got an unexpected keyword argument 'y': dot(a, b, out=None)
linalg.svd(x, False, True, False, 1)  # TypeError: takes … positional arguments, got 5: svd(…
"""


# In full: operators, and what has another name than the call.
OPERATORS = """
x + [1]  # TypeError: add: operands must be tensors, arrays…; make it a tensor with asarray() first
[1] * x  # TypeError: multiply: operands must be …, got list; make it a tensor with asarray() first
x + "a"  # TypeError: unsupported operand type(s) for +: 'Tensor' and 'str'
x + np.ones((2, 3), dtype=">f8")  # TypeError: add: operands must be …, got numpy.ndarray of dtype…
x + v2  # ValueError: add: shape mismatch: … shapes (2, 3), (2,)
i + 2**70  # OverflowError: add: Python integer 1180591620717411303424 out of bounds for int64
u8 + (-1)  # OverflowError: add: Python integer -1 out of bounds for uint8, 0 to 255
b - b  # TypeError: subtract: only numeric dtypes are allowed, got bool, bool
~v  # TypeError: bitwise_invert: only integer or boolean dtypes are allowed, got float64
i & 1.5  # TypeError: bitwise_and: only integer or boolean dtypes are allowed, got int64, float
x @ x  # ValueError: matmul: shapes (2, 3) and (2, 3) are not aligned: 3 (axis 1) != 2 (axis 0)
x @ 2  # TypeError: unsupported operand type(s) for @: 'Tensor' and 'int'
x < z  # TypeError: less: only real numeric dtypes are allowed, got float64, complex128
x == v2  # ValueError: equal: shape mismatch: … shapes (2, 3), (2,)
i == 2**70  # OverflowError: equal: Python integer 1180591620717411303424 out of bounds for int64
x -= v2  # ValueError: subtract: shape mismatch: … shapes (2, 3), (2,)
i8 += 1.5
    TypeError: add: cannot cast the result from float64 to int8 in place; assign a new tensor,
      or use astype() first
u8 += i
    TypeError: add: cannot cast the result from int64 to uint8 in place; assign a new tensor, or
      use astype() first
i8 += 300  # OverflowError: add: Python integer 300 out of bounds for int8, -128 to 127
i /= 2
    TypeError: divide: cannot cast the result from float64 to int64 in place; assign a new
      tensor, or use astype() first
x + foreign  # TypeError: add: operands must be …, got ….Foreign; make it a tensor …
x == foreign  # TypeError: equal: operands must be …, got ….Foreign; make it a tensor …
x //= foreign  # TypeError: floor_divide: operands must be …, got ….Foreign; make it a tensor …
ro <<= 1  # ValueError: bitwise_left_shift: the tensor is read-only; copy() it first
ro += 1  # ValueError: add: the tensor is read-only; copy() it first
w += 1  # ValueError: add: elements of layout (2,3):(0,1) share slots, …
v += x  # ValueError: add: a result of shape (2, 3) does not fit (3,)
x @= x  # ValueError: matmul: shapes (2, 3) and (2, 3) are not aligned: 3 (axis 1) != 2 (axis 0)
q @= [1]  # TypeError: unsupported operand type(s) for @=: 'Tensor' and 'list'
q @= q[0]  # ValueError: matmul: the result, float64 of shape (2,), does not fit in place of…
x ** "a"  # TypeError: unsupported operand type(s) for ** or pow(): 'Tensor' and 'str'
x + 10**400  # OverflowError: add: Python integer of 1329 bits out of bounds for float64
x < 10**5000  # OverflowError: less: Python integer of 16610 bits out of bounds for float64
__array_namespace_info__().dtypes(kind="foo")  # ValueError: dtypes: kind must be a…, got 'foo'
__array_namespace_info__().dtypes(kind=5)  # TypeError: dtypes: kind must be a dtype of…, got 5
linalg.trace(v)  # ValueError: …needs a rank of at least 2, got shape (3,)
logspace("a", 2)  # TypeError: …'a'
not v2
    ValueError: bool: the truth value of a tensor with more than one element is ambiguous, got
      shape (2,); use any() or all()
[1,2,3][v]  # TypeError: index: needs an integer tensor of rank 0, got float64 of shape (3,)
for _ in s: pass  # TypeError: iter: a tensor of rank 0 cannot be iterated over
hash(v)
    TypeError: unhashable type: 'Tensor', because tensors can be written to; use id(x), or
      x.layout and x.dtype
"a" in v  # TypeError: __contains__: operands must be tensors, arrays or Python scalars, got str
f"{v:.3f}"  # ValueError: format: '.3f' does not suit shape (3,), whose…; only rank 0 is a number
f"{s:d}"  # ValueError: format: 'd' does not suit a float64
f"{i[0]:q}"  # ValueError: format: 'q' does not suit a int64
format(s, None)  # TypeError: format() argument 2 must be str, not None
v.T  # ValueError: T: needs a rank of 2, got shape (3,); expand_dims() makes a column
v.mT  # ValueError: mT: needs a rank of at least 2, got shape (3,)
"""


# Where NumPy shares the memory, and where there are no streams.
OF_THE_CPU = """
v.to_device("cpu", stream=1)  # ValueError: to_device: the cpu has no streams, got stream=1
v.__dlpack__(stream=1)  # ValueError: __dlpack__: the cpu has no streams, got stream=1
v.__dlpack__(stream=10**5000)  # ValueError: __dlpack__: the…, got stream=an integer of 16610 bits
v.__dlpack__(dl_device=(2, 0))  # BufferError: __dlpack__: the tensor is on the cpu, (1, 0) in…
v.__array__("x")  # TypeError: __array__: dtype must be one of NumPy's, got 'x'
v.__array__(int, copy=False)  # ValueError: __array__: float64 cannot be seen as <class 'int'>…
np.asarray(z, dtype=float)  # TypeError: __array__: complex128 cannot…; take real() or abs() first
np.asarray(z, dtype=int)  # TypeError: __array__: complex128 cannot…; take real() or abs() first
v.__array__(float, copy=2)  # TypeError: __array__: copy must be True, False or None, got 2
asarray([v, [1.0, 2.0]])
    ValueError: asarray: nested sequences must have equal lengths (the shape is inhomogeneous),
      got a sequence of 3 and a sequence of 2
"""


def sessions(table):
    """The calls of a table, each with the error that it makes."""
    for row in re.split(r"\n(?! )", table.strip("\n")):
        call, words = re.split(r"  # |\n", row, maxsplit=1)
        yield call, " ".join(words.split())


def named(rows):
    """The same, with the name of the function that is called."""
    for call, words in rows:
        kind, _, message = words.partition(": ")
        subscript = "__setitem__" if re.match(r"\w+\[.*\] = ", call) else "__getitem__"
        name = said_by(call) if name_of(call) else subscript
        yield call, f"{kind}: {name}: {message}"


def shared(rules):
    """Each call that breaks a shared rule, with the error that it makes."""
    for rule in re.split(r"\n(?! )", rules.strip("\n")):
        words, calls = rule.split("\n", 1)
        for call in re.split(r"\s\|\s+", calls.strip()):
            yield call, words


REFUSED = {
    "rules that functions share": [*named(shared(RULES))],
    "operators": [*sessions(OPERATORS)],
}
for _chapter in CHAPTERS.split("=== ")[1:]:
    _name, _rows = _chapter.split("\n", 1)
    REFUSED[_name] = [*named(sessions(_rows))]


@pytest.mark.parametrize("chapter", REFUSED)
def test_refused(chapter, names):
    assert faults_of(REFUSED[chapter], names) == []


@pytest.mark.cpu
def test_refused_on_the_cpu(names):
    assert faults_of(sessions(OF_THE_CPU), names) == []


TEMPLATES = [*TENSORS, *AXES, *INTEGERS, *SEQUENCES, *DEVICES, *LAYOUT_ARGUMENTS, *TRUTHS, *COPIES]


def test_every_public_function_is_tried():
    calls = [*TENSORS, *BESIDE, *AXES, *(call for rows in REFUSED.values() for call, _ in rows)]
    tried = set(map(name_of, calls))
    values = [
        getattr(tl, name) for name in tl.__all__
    ]  # NumPy's other names are the same functions
    functions = {value.__name__ for value in values if inspect.isfunction(value)}
    functions |= {f"linalg.{name}" for name in tl.linalg.__all__}
    functions |= {f"fft.{name}" for name in tl.fft.__all__}
    # These take nothing, or check when the block begins; layouts have
    # tests/layout/test_layout_errors.py.
    untried = {"allow_negative_strides", "trace", "default_device", "using_device", "coalesce"}
    untried |= {"get_num_threads"}
    assert functions - untried - tried == set()


# --- what a traceback shows ----------------------------------------------------------------------


@pytest.mark.cpu
def test_all_frames_are_kept_where_the_environment_says_so(monkeypatch):
    monkeypatch.delenv("TENSORLAYOUT_TRACEBACKS", raising=False)
    code = f"""
import traceback, tensorlayout as tl
try:
    tl.sum(tl.ones((2, 3)), axis=5)
except IndexError as error:
    print(sum({PACKAGE!r} in f.filename for f in traceback.extract_tb(error.__traceback__)))
"""
    counts = []
    for more in ({}, {"TENSORLAYOUT_TRACEBACKS": "full"}):
        counts.append(int(python("-c", code, **more)))
    assert counts[0] <= 2 < counts[1]


@pytest.mark.cpu
def test_a_fault_inside_keeps_its_frames(monkeypatch):
    def faulty(*_):
        raise KeyError("a fault of ours")

    monkeypatch.setattr("tensorlayout.functions.arguments.as_shape", faulty)
    with pytest.raises(KeyError) as caught:
        tl.zeros([2, 3])
    assert len(frames_of(caught.value)) > 2


@pytest.mark.cpu
def test_a_frame_of_functools_between_two_of_ours_leaves_the_name():
    """Some properties are `functools.cached_property`: from Python 3.12 on, all of them."""
    between = functools.singledispatch(check_range)
    with pytest.raises(ValueError, match=r"^f: Axis must be 0 to 1, got 3$"):
        call_with_error_name("f", between, "Axis", 3, 0, 1)


@pytest.mark.parametrize("name", ["sum", "exp", "where", "linalg.svd", "fft.fft", "linalg.matmul"])
def test_guarded_functions_are_found_again(name):
    space, _, last = name.rpartition(".")
    function = getattr(getattr(tl, space, tl), last)
    assert pickle.loads(pickle.dumps(function)) is function
    assert (function.__name__, function.__qualname__) == (last, last)
    assert function.__doc__
