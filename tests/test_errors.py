"""Every public function refuses what it cannot do: the class of the error, and its words.

What all functions share (tensors, axes, dtypes, devices, layouts, shapes) is tried on each by
templates, in which ``@`` is the wrong argument. All else is in tables that read like a session: a
call, and under it the error; "…" stands for anything. Layouts have a file of their own.
"""

import inspect
import re

import numpy as np
import pytest
from tensors import read_only, slots_of

import tensorlayout as tl
from tensorlayout.plan.rules import AxisError

pytestmark = pytest.mark.usefixtures("device")


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
        "ro": read_only(tl.zeros((3,))),
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
    before = [(slots_of(t).tobytes(), t.layout) for t in given.values()]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is, the caller looks at
        exec(call.replace("@", "wrong") if "wrong" in names else call, names)
    assert [(slots_of(t).tobytes(), t.layout) for t in given.values()] == before
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
    assert re.fullmatch(pattern_of(f"{name}: {message}"), str(error)), str(error)


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
bincount(@)
cumprod(@)
cumsum(@)
diag(@)
einsum("i", @)
gradient(@)
median(@)
nanargmax(@)
nanargmin(@)
nancumprod(@)
nancumsum(@)
nanmax(@)
nanmean(@)
nanmedian(@)
nanmin(@)
nanprod(@)
nanquantile(@, 0.5)
nanstd(@)
nansum(@)
nanvar(@)
pad(@, 1)
put_along_axis(@, zi, 1)
put_along_axis(v, @, 1)
scatter_add(@, zi, 1)
scatter_add(v, @, 1)
scatter_add(v, zi, @)
scatter_max(@, zi, 1)
scatter_min(@, zi, 1)
quantile(@, 0.5)
transpose(@)
isin(@, v)
isin(v, @)
linalg.trace(@)
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


@pytest.mark.parametrize(
    "call",
    templates("""
bincount(i, @)
diff(x, append=@)
diff(x, prepend=@)
searchsorted(v, v, sorter=@)
"""),
)
def test_what_is_no_tensor_where_none_is_needed(call):
    argument = re.search(r"(\w+)=@", call)
    name = argument[1] if argument else "weights"
    for wrong, came in [([1.0], "list; make it a tensor with asarray() first"), ("text", "str")]:
        check(call, wrong, TypeError, f"{name} must be a tensor, got {came}")


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
linalg.vector_norm(x, axis=@)
fft.fftn(x, axes=(0, @))
fft.ifftn(x, axes=(0, @))
fft.rfftn(x, axes=(0, @))
fft.irfftn(x, axes=(0, @))
tensordot(x, x, axes=((@,), (0,)))
linalg.tensordot(x, x, axes=((@,), (0,)))
median(x, axis=@)
nanmax(x, axis=@)
nanmin(x, axis=@)
nanmean(x, axis=@)
nanmedian(x, axis=@)
nanprod(x, axis=@)
nanstd(x, axis=@)
nansum(x, axis=@)
nanvar(x, axis=@)
cumprod(x, axis=@)
cumsum(x, axis=@)
gradient(x, axis=@)
nanargmax(x, axis=@)
nanargmin(x, axis=@)
nancumprod(x, axis=@)
nancumsum(x, axis=@)
quantile(x, 0.5, axis=@)
nanquantile(x, 0.5, axis=@)
put_along_axis(x, zi[None, :], 1, axis=@)
scatter_add(x, zi, 1, axis=@)
transpose(x, axes=(0, @))
""")


@pytest.mark.parametrize("call", AXES)
def test_axes_outside(call):
    for wrong in (2, -3, 2**70):
        check(call, wrong, AxisError, f"…must be at least -2 and below 2, got {wrong}")


@pytest.mark.parametrize("call", ["stack([x, x], axis=@)", "expand_dims(x, axis=@)"])
def test_new_axes_outside(call):
    for wrong in (3, -4):
        check(call, wrong, AxisError, f"axis must be at least -3 and below 3, got {wrong}")


@pytest.mark.parametrize("call", AXES)
def test_axes_that_are_truth_values(call):
    check(call, True, TypeError, "…, got …True…")


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
argsort(x, axis=@)
sort(x, axis=@)
diff(x, axis=@)
diff(x, n=@)
cumulative_sum(x, axis=@)
cumulative_prod(x, axis=@)
argmax(x, axis=@)
argmin(x, axis=@)
vecdot(x, x, axis=@)
linalg.cross(v, v, axis=@)
linalg.diagonal(x, offset=@)
linalg.trace(x, offset=@)
linalg.matrix_power(q, @)
fft.fft(x, n=@)
fft.fft(x, axis=@)
fft.ifft(x, n=@)
fft.ifft(x, axis=@)
fft.rfft(x, n=@)
fft.rfft(x, axis=@)
fft.irfft(x, n=@)
fft.irfft(x, axis=@)
fft.hfft(x, n=@)
fft.hfft(x, axis=@)
fft.ihfft(x, n=@)
fft.ihfft(x, axis=@)
fft.fftfreq(@)
fft.rfftfreq(@)
cumprod(x, axis=@)
cumsum(x, axis=@)
nanargmax(x, axis=@)
nanargmin(x, axis=@)
nancumprod(x, axis=@)
nancumsum(x, axis=@)
bincount(i, minlength=@)
diag(x, k=@)
gradient(x, edge_order=@)
logspace(0, 1, @)
put_along_axis(x, zi[None, :], 1, axis=@)
scatter_add(x, zi, 1, axis=@)
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
all(x, axis=@)
any(x, axis=@)
count_nonzero(x, axis=@)
max(x, axis=@)
mean(x, axis=@)
min(x, axis=@)
prod(x, axis=@)
std(x, axis=@)
sum(x, axis=@)
var(x, axis=@)
linalg.vector_norm(x, axis=@)
fft.fftn(x, s=@, axes=(0, 1))
fft.fftn(x, axes=@)
fft.ifftn(x, s=@, axes=(0, 1))
fft.ifftn(x, axes=@)
fft.rfftn(x, s=@, axes=(0, 1))
fft.rfftn(x, axes=@)
fft.irfftn(x, s=@, axes=(0, 1))
fft.irfftn(x, axes=@)
fft.fftshift(x, axes=@)
fft.ifftshift(x, axes=@)
median(x, axis=@)
nanmax(x, axis=@)
nanmin(x, axis=@)
nanmean(x, axis=@)
nanmedian(x, axis=@)
nanprod(x, axis=@)
nanstd(x, axis=@)
nansum(x, axis=@)
nanvar(x, axis=@)
gradient(x, axis=@)
quantile(x, 0.5, axis=@)
nanquantile(x, 0.5, axis=@)
transpose(x, axes=@)
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
sum(x, dtype=@)
prod(x, dtype=@)
cumulative_sum(v, dtype=@)
cumulative_prod(v, dtype=@)
linalg.trace(x, dtype=@)
fft.fftfreq(3, dtype=@)
fft.rfftfreq(3, dtype=@)
cumprod(v, dtype=@)
cumsum(v, dtype=@)
logspace(0, 1, 3, dtype=@)
nancumprod(x, dtype=@)
nancumsum(x, dtype=@)
nanmean(x, dtype=@)
nanprod(x, dtype=@)
nanstd(x, dtype=@)
nansum(x, dtype=@)
nanvar(x, dtype=@)
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
fft.fftfreq(3, device=@)
fft.rfftfreq(3, device=@)
logspace(0, 1, 3, device=@)
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
        ("{0:T(2)}", ValueError, "minor_to_major: … a permutation of 0 to 1 …, got (0,)"),
        ("{1,0:T(2,0)}", ValueError, "tiles: sizes must be at least 1, …, got (2, 0)"),
        ("{1,0:T(2,2)S(1)}", ValueError, "layout text: must read …; xla.layout_of reads …"),
        ("{1,0:T(4,4)(3,3)}", ValueError, "tiles: … cannot be said as parts … of (4, 6)"),
        (5, TypeError, f"layout {kinds}, got 5"),
        ({}, TypeError, f"layout {kinds}, got {{}}"),
        (tl.zeros((2,)), TypeError, f"layout {kinds}, got Tensor…"),
        (space()[0]["bits"], ValueError, padding.format("BitPattern(0x1, 'int8')")),
    ]:
        check(call, wrong, error, message)


@pytest.mark.parametrize(
    "call",
    templates("""
all(x, keepdims=@)
any(x, keepdims=@)
argmax(x, keepdims=@)
argmin(x, keepdims=@)
count_nonzero(x, keepdims=@)
max(x, keepdims=@)
mean(x, keepdims=@)
min(x, keepdims=@)
prod(x, keepdims=@)
std(x, keepdims=@)
sum(x, keepdims=@)
var(x, keepdims=@)
linalg.matrix_norm(x, keepdims=@)
linalg.vector_norm(x, keepdims=@)
median(x, keepdims=@)
nanmax(x, keepdims=@)
nanmin(x, keepdims=@)
nanmean(x, keepdims=@)
nanmedian(x, keepdims=@)
nanprod(x, keepdims=@)
nanstd(x, keepdims=@)
nansum(x, keepdims=@)
nanvar(x, keepdims=@)
nanargmax(x, keepdims=@)
nanargmin(x, keepdims=@)
quantile(x, 0.5, keepdims=@)
nanquantile(x, 0.5, keepdims=@)
argsort(x, descending=@)
argsort(x, stable=@)
sort(x, descending=@)
sort(x, stable=@)
cumulative_prod(v, include_initial=@)
cumulative_sum(v, include_initial=@)
isin(x, x, invert=@)
linalg.cholesky(q, upper=@)
linalg.svd(x, full_matrices=@)
logspace(0, 1, endpoint=@)
"""),
)
def test_what_is_neither_true_nor_false(call):
    argument = re.search(r"(\w+)=@", call)[1]
    for wrong, came in [("no", "'no'"), (1, "1"), (0.0, "0.0"), (None, "None"), ([], "[]")]:
        check(call, wrong, TypeError, f"{argument} must be True or False, got {came}")


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
from_storage(bytes(20), tiled, dtype=int8)
    ValueError: from_storage: layout (4,6):(2*12+2*2,3*4+2*1) of int8 requires 24 bytes (24 slots),
    the storage has 20 available
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
    MemoryError: repeat: repeats add up to 1.153e+18, more than any memory holds
repeat(v, asarray([2**62, 2**62, 2**62]))
    MemoryError: repeat: repeats add up to 1.384e+19, more than any memory holds
repeat(v, asarray([2**62, 2**62, 2**63], dtype=uint64))
    MemoryError: repeat: repeats add up to 1.845e+19, more than any memory holds
repeat(v, asarray([2**62]))
    MemoryError: repeat: repeats add up to 1.384e+19, more than any memory holds
repeat(v, asarray([5, -2, 2**62]))
    ValueError: repeat: repeats must not be negative, got -2
repeat(v, asarray([-3], dtype=int8))
    ValueError: repeat: repeats must not be negative, got -3
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
    MemoryError: tile: shape (1073741824, 2, 1048576) of float64 needs 18014398509481984
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
    OverflowError: add: the Python integer 300 does not fit int8
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
    OverflowError: clip: the Python integer 300 does not fit int8
clip(i, 2**70)
    OverflowError: clip: the Python integer 1180591620717411303424 does not fit int64
clip(b, False, True)
    TypeError: clip: only real numeric dtypes are allowed, got bool, bool, bool
imag(b)
    TypeError: imag: only numeric dtypes are allowed, got bool
conj(b)
    TypeError: conj: only numeric dtypes are allowed, got bool
add(v, 10**400)
    OverflowError: add: the Python integer of 1329 bits does not fit float64
where(b, v, 10**400)
    OverflowError: where: the Python integer of 1329 bits does not fit float64
clip(v, 0, 10**5000)
    OverflowError: clip: the Python integer of 16610 bits does not fit float64
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
searchsorted(v, v, side=np.zeros(3))
    ValueError: searchsorted: side must be 'left' or 'right', got numpy.ndarray
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
    TypeError: isin: operands must be tensors or Python scalars, got str
var(x, correction="a")
    TypeError: var: correction must be a real number, got 'a'
var(x, correction=None)
    TypeError: var: correction must be a real number, got None
std(x, correction=1j)
    TypeError: std: correction must be a real number, got 1j
sum(x, keepdims="a")
    TypeError: sum: keepdims must be True or False, got 'a'
cumulative_sum(z, dtype=float64)
    TypeError: cumulative_sum: complex128 cannot become float64; take real() or abs() first
cumulative_prod(v, dtype=bool)
    TypeError: cumulative_prod: dtype must be numeric, got bool
diff(v, append=x)
    ValueError: diff: shapes may differ along axis 0 only, got (2, 3) beside (3,)
argmax(x, axis=(0, 1))
    TypeError: argmax: axis must be an integer, got (0, 1)
searchsorted(v, v, sorter=v)
    TypeError: searchsorted: sorter must have an integer dtype, got float64
searchsorted(v2, v, sorter=far)
    IndexError: searchsorted: sorter holds positions outside x1 of shape (2,)
searchsorted(v, v, sorter=zi)
    ValueError: searchsorted: x1 must have rank 1 and sorter its shape, got shapes (3,) and
    (2,)
isin(1, 2)
    TypeError: isin: at least one operand must be a tensor, got only Python scalars
sum(x, keepdims=None)
    TypeError: sum: keepdims must be True or False, got None
sort(x, descending="a")
    TypeError: sort: descending must be True or False, got 'a'
argsort(x, stable=None)
    TypeError: argsort: stable must be True or False, got None
isin(i, i, invert="a")
    TypeError: isin: invert must be True or False, got 'a'
cumulative_sum(v, include_initial=2)
    TypeError: cumulative_sum: include_initial must be True or False, got 2
searchsorted(i8, 300)
    OverflowError: searchsorted: the Python integer 300 does not fit int8
var(x, correction=10**400)
    OverflowError: var: the Python integer of 1329 bits does not fit float64
all(x, keepdims=0)
    TypeError: all: keepdims must be True or False, got 0
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
    AxisError: vecdot: axis must be negative and inside both shapes (3,) and (3,), got 0
vecdot(v, v, axis=-2)
    AxisError: vecdot: axis must be negative and inside both shapes (3,) and (3,), got -2
vecdot(s, s)
    AxisError: vecdot: axis must be negative and inside both shapes () and (), got -1
vecdot(b, b)
    TypeError: vecdot: …bool, bool
linalg.cholesky(v)
    ValueError: cholesky: …(3,)
linalg.cross(s, s)
    AxisError: cross: axis must be negative and inside both shapes () and (), got -1
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
tensordot(x, x, axes=3)
    ValueError: tensordot: axes must be from 0 to 2 (the ranks), got 3
tensordot(x, x, axes=-1)
    ValueError: tensordot: axes must be from 0 to 2 (the ranks), got -1
tensordot(x, x, axes=1.0)
    TypeError: tensordot: axes must be an integer or two sequences of integers, got 1.0
tensordot(x, x, axes=None)
    TypeError: tensordot: axes must be an integer or two sequences of integers, got None
tensordot(x, x, axes="ab")
    TypeError: tensordot: axes must be an integer or two sequences of integers, got 'ab'
tensordot(x, x, axes=((0,), (1,)))
    ValueError: tensordot: sizes along axes (0,) of shape (2, 3) and (1,) of shape (2, 3)
    differ
tensordot(x, x, axes=((0, 0), (0, 0)))
    ValueError: tensordot: axes must not name a dimension twice, got (0, 0)
tensordot(x, x, axes=((0,), (0, 1)))
    ValueError: tensordot: axes must be equally many of each operand, got (0,) and (0, 1)
linalg.cholesky(x)
    ValueError: cholesky: matrices must be square, got shape (2, 3)
linalg.cholesky(q - 3)
    LinAlgError: cholesky: Matrix is not positive definite
linalg.det(x)
    ValueError: det: matrices must be square, got shape (2, 3)
linalg.eig(x)
    ValueError: eig: matrices must be square, got shape (2, 3)
linalg.eig(q * nan)
    LinAlgError: eig: elements must be finite
linalg.eigh(x)
    ValueError: eigh: matrices must be square, got shape (2, 3)
linalg.eigvals(x)
    ValueError: eigvals: matrices must be square, got shape (2, 3)
linalg.eigvals(q * nan)
    LinAlgError: eigvals: elements must be finite
linalg.eigvalsh(x)
    ValueError: eigvalsh: matrices must be square, got shape (2, 3)
linalg.inv(q)
    LinAlgError: inv: Singular matrix
linalg.inv(x)
    ValueError: inv: matrices must be square, got shape (2, 3)
linalg.matrix_power(x, 2)
    ValueError: matrix_power: matrices must be square, got shape (2, 3)
linalg.matrix_power(q, 2**63)
    ValueError: matrix_power: n must lie within 2**63 - 1, got 9223372036854775808
linalg.matrix_power(q, -1)
    LinAlgError: matrix_power: Singular matrix
linalg.slogdet(x)
    ValueError: slogdet: matrices must be square, got shape (2, 3)
linalg.solve(q, v2)
    LinAlgError: solve: Singular matrix
linalg.solve(x, v2)
    ValueError: solve: matrices must be square, got shape (2, 3)
linalg.solve(q, v)
    ValueError: solve: shapes (2, 2) and (3,) do not match as (…, m, m) and (m,) or (…, m, k)
linalg.solve(q, zeros((2, 3, 4)))
    ValueError: solve: shapes (2, 2) and (2, 3, 4) do not match as (…, m, m) and (m,) or (…, m,
    k)
linalg.solve(q + eye(2), asarray(1.0))
    ValueError: solve: shapes (2, 2) and () do not match as (…, m, m) and (m,) or (…, m, k)
linalg.svd(q * nan)
    LinAlgError: svd: elements must be finite
linalg.matrix_rank(q * nan)
    LinAlgError: matrix_rank: elements must be finite
linalg.pinv(q * nan)
    LinAlgError: pinv: elements must be finite
linalg.cross(v, v2)
    ValueError: cross: sizes along axis -1 must be 3, got shapes (3,) and (2,)
linalg.cross(v2, v2)
    ValueError: cross: sizes along axis -1 must be 3, got shapes (2,) and (2,)
linalg.outer(x, v)
    ValueError: outer: both operands must have rank 1, got shapes (2, 3) and (3,)
linalg.matrix_norm(x, ord="foo")
    ValueError: matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got 'foo'
linalg.matrix_norm(x, ord=3)
    ValueError: matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got 3.0
linalg.matrix_norm(x, ord=[1])
    TypeError: matrix_norm: ord must be a real number, got [1]
linalg.matrix_rank(q, rtol="a")
    TypeError: matrix_rank: rtol must be a real number or a tensor, got 'a'
linalg.matrix_rank(q, rtol=x)
    ValueError: matrix_rank: rtol of shape (2, 3) does not fit a stack of shape ()
linalg.pinv(q, rtol="a")
    TypeError: pinv: rtol must be a real number or a tensor, got 'a'
linalg.pinv(q, rtol=v)
    ValueError: pinv: rtol of shape (3,) does not fit a stack of shape ()
linalg.qr(x, mode=np.zeros(3))
    ValueError: qr: mode must be 'reduced' or 'complete', got numpy.ndarray
linalg.qr(x, mode="foo")
    ValueError: qr: mode must be 'reduced' or 'complete', got 'foo'
linalg.vector_norm(v, ord="foo")
    TypeError: vector_norm: ord must be a real number, got 'foo'
linalg.vector_norm(v, ord=None)
    TypeError: vector_norm: ord must be a real number, got None
linalg.vector_norm(v, axis=(0, 0))
    ValueError: vector_norm: axis must not name a dimension twice, got (0, 0)
linalg.cholesky(q, upper="a")
    TypeError: cholesky: upper must be True or False, got 'a'
linalg.svd(x, full_matrices=None)
    TypeError: svd: full_matrices must be True or False, got None
linalg.trace(b[None])
    TypeError: trace: only numeric dtypes are allowed, got bool
linalg.trace(x, dtype=bool)
    TypeError: trace: dtype must be numeric, got bool
linalg.trace(z[None], dtype=float64)
    TypeError: trace: complex128 cannot become float64; take real() or abs() first
linalg.matrix_norm(q * nan, ord="nuc")
    LinAlgError: matrix_norm: elements must be finite
linalg.matrix_norm(q * inf, ord=2)
    LinAlgError: matrix_norm: elements must be finite
linalg.svdvals(q * nan)
    LinAlgError: svdvals: elements must be finite
linalg.matrix_norm(x, keepdims="a")
    TypeError: matrix_norm: keepdims must be True or False, got 'a'
linalg.vector_norm(v, keepdims="a")
    TypeError: vector_norm: keepdims must be True or False, got 'a'
linalg.vector_norm(v, ord=nan)
    ValueError: vector_norm: ord must be a real number, got nan
linalg.vector_norm(v, ord=10**400)
    OverflowError: vector_norm: the Python integer of 1329 bits does not fit float64
tensordot(x, x, axes=True)
    TypeError: tensordot: axes must be an integer or two sequences of integers, got True
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
fft.rfftn(s)
    ValueError: rfftn: needs at least one axis, got shape () and axes None
fft.irfftn(s)
    ValueError: irfftn: needs at least one axis, got shape () and axes None
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
    TypeError: fftfreq: dtype must be a dtype of this namespace, got 'x'
fft.rfftfreq(3, device="gpu")
    ValueError: rfftfreq: device must be one of those available (cpu), got 'gpu'
fft.fft(v, n=0)
    ValueError: fft: n must be at least 1, got 0
fft.fft(v, n=-1)
    ValueError: fft: n must be at least 1, got -1
fft.fft(zeros((0,)))
    ValueError: fft: sizes along axes (0,) must be at least 1, got (0,) for shape (0,)
fft.fft(v, n=2**60)
    ValueError: fft: shape (1152921504606846976,) of complex128 spans more than 2**63 - 1 bytes
fft.rfft(v, n=-1)
    ValueError: rfft: n must be at least 1, got -1
fft.irfft(v[:1])
    ValueError: irfft: sizes along axes (0,) must be at least 1, got (0,) for shape (1,)
fft.irfft(v, n=0)
    ValueError: irfft: n must be at least 1, got 0
fft.hfft(v[:1])
    ValueError: hfft: sizes along axes (0,) must be at least 1, got (0,) for shape (1,)
fft.fftn(x, s=(2,), axes=(0, 1))
    ValueError: fftn: s and axes must be equally many, got (2,) and (0, 1)
fft.fftn(x, axes=(0, 0))
    ValueError: fftn: axes must not name a dimension twice, got (0, 0)
fft.fftn(x, s=(0, 2), axes=(0, 1))
    ValueError: fftn: sizes along axes (0, 1) must be at least 1, got (0, 2) for shape (2, 3)
fft.fftn(x, s=(-2, 2), axes=(0, 1))
    ValueError: fftn: sizes along axes (0, 1) must be at least 1, got (-2, 2) for shape (2, 3)
fft.fftn(x, s=(1, 2, 3))
    ValueError: fftn: s needs axes, one for each size
fft.rfftn(x, axes=())
    ValueError: rfftn: needs at least one axis, got shape (2, 3) and axes ()
fft.irfftn(x, s=(0,), axes=(0,))
    ValueError: irfftn: sizes along axes (0,) must be at least 1, got (0,) for shape (2, 3)
fft.fftfreq(0)
    ValueError: fftfreq: n must be at least 1, got 0
fft.fftfreq(-1)
    ValueError: fftfreq: n must be at least 1, got -1
fft.fftfreq(3, d="a")
    TypeError: fftfreq: d must be a real number, got 'a'
fft.fftfreq(3, d=0)
    ValueError: fftfreq: d must not be 0
fft.fftfreq(3, dtype=int8)
    TypeError: fftfreq: dtype must be real floating, got int8
fft.rfftfreq(-1)
    ValueError: rfftfreq: n must be at least 1, got -1
"""

BEYOND = """
logspace("a", 2)
    TypeError: …'a'
logspace(0, 2, num=-1)
    ValueError: logspace: num must not be negative, got -1
logspace(0, 2, num=2.0)
    TypeError: logspace: num must be an integer, got 2.0
logspace(0, 2, base="a")
    TypeError: logspace: base must be a number, got 'a'
logspace(0, 2, base=10**400)
    OverflowError: logspace: the Python integer of 1329 bits does not fit float64
logspace(0, 2, dtype="x")
    TypeError: logspace: dtype must be a dtype of this namespace, got 'x'
logspace(0, 2, device="gpu")
    ValueError: logspace: device must be one of those available (cpu), got 'gpu'
logspace(0, 2j, dtype=float64)
    TypeError: logspace: complex128 cannot become float64; take real() or abs() first
logspace(0, 2, endpoint="no")
    TypeError: logspace: endpoint must be True or False, got 'no'
bincount(v)
    TypeError: bincount: only integral dtypes are allowed, got float64
bincount(i - 2)
    ValueError: bincount: the integers must not be negative
bincount(asarray([3, 2**63 - 1]))
    ValueError: bincount: the integers must be below 2**63 - 1
bincount(asarray([2**63], dtype=uint64), minlength=4)
    ValueError: bincount: the integers must be below 2**63 - 1
bincount(cube)
    TypeError: bincount: only integral dtypes are allowed, got float64
bincount(zi, v)
    ValueError: bincount: needs weights of the same shape, got (3,) for (2,)
bincount(zi, asarray([1j, 2]))
    TypeError: bincount: complex128 cannot become float64; take real() or abs() first
bincount(zi, minlength=-1)
    ValueError: bincount: minlength must not be negative, got -1
bincount(zi, minlength=1.0)
    TypeError: bincount: minlength must be an integer, got 1.0
bincount(x)
    TypeError: bincount: only integral dtypes are allowed, got float64
diag(s)
    ValueError: diag: needs a rank of 1 or 2, got shape ()
diag(cube)
    ValueError: diag: needs a rank of 1 or 2, got shape (2, 3, 4)
diag(x, k=1.0)
    TypeError: diag: k must be an integer, got 1.0
diag(v, k=2**62)
    ValueError: diag: shape: the sizes (4611686018427387907, 4611686018427387907), with 1 for
    0, multiply to more than 2**63 - 1
einsum(x, x)
    TypeError: einsum: the first argument must be the subscripts, got a tensor of float64 and
    shape (2, 3)
einsum("i")
    ValueError: einsum: operands must be at least one tensor, got none
einsum("ij", v)
    ValueError: einsum: 'ij' does not fit shapes (3,): 'ij' does not name the dimensions of
    shape (3,)
einsum("i,i", v, v2)
    ValueError: einsum: 'i,i' does not fit shapes (3,), (2,): 'i' names sizes 3 and 2
einsum("a$b", x)
    ValueError: einsum: 'a$b' does not fit shapes (2, 3): '$' is no letter, and no part of one
    '->' or of a term's one '...'
einsum("ij->k", x)
    ValueError: einsum: 'ij->k' does not fit shapes (2, 3): 'k' is in no operand, or more than
    once in the output
einsum("i,ij->,j", v2, x)
    ValueError: einsum: 'i,ij->,j' does not fit shapes (2,), (2, 3): ',' is no letter, and no
    part of one '->' or of a term's one '...'
einsum("...i,...j", x, cube)
    ValueError: einsum: '...i,...j' does not fit shapes (2, 3), (2, 3, 4): '...' names sizes 2
    and 3
einsum("ii", x)
    ValueError: einsum: 'ii' does not fit shapes (2, 3): 'i' names sizes 2 and 3
einsum("i", s)
    ValueError: einsum: 'i' does not fit shapes (): 'i' does not name the dimensions of shape ()
einsum("", v)
    ValueError: einsum: '' does not fit shapes (3,): '' does not name the dimensions of shape
    (3,)
einsum("i,i", v)
    ValueError: einsum: 'i,i' does not fit shapes (3,): each operand is named once, at most 64,
    in at most 4096 letters
gradient(s)
    ValueError: gradient: needs a rank of at least 1, got shape ()
gradient(v2[:1])
    ValueError: gradient: Shape of array too small to calculate a numerical gradient, at least
    (edge_order + 1) elements are required.
gradient(v, 1, 2)
    ValueError: gradient: distances must be none, one, or one for each axis, got 2
gradient(v, "a")
    TypeError: gradient: distances must be a real number, got 'a'
gradient(v, v2)
    ValueError: gradient: when 1d, distances must match the length of the corresponding
    dimension
gradient(v, x)
    ValueError: gradient: distances must be either scalars or 1d
gradient(v, [1, "a", 2])
    TypeError: gradient: a tensor holds numbers, got str
gradient(v, axis=1.0)
    TypeError: gradient: axis must be an integer or a sequence of integers, got 1.0
gradient(x, axis=(0, 0))
    ValueError: gradient: axis must not name a dimension twice, got (0, 0)
gradient(v, edge_order=3)
    ValueError: gradient: edge_order must be 1 or 2, got 3
gradient(v, edge_order=1.0)
    TypeError: gradient: edge_order must be an integer, got 1.0
pad(x, -1)
    ValueError: pad: pad_width must not be negative, got -1
pad(x, 1.0)
    TypeError: pad: pad_width must be integers, got 1.0
pad(x, "a")
    TypeError: pad: pad_width must be integers, got 'a'
pad(x, ((1, 1),) * 3)
    ValueError: pad: pad_width must be a number, a pair or 2 pairs, got ((1, 1), (1, 1), (1,
    1))
pad(x, {2: 1})
    AxisError: pad: axis must be at least -2 and below 2, got 2
pad(x, {"a": 1})
    TypeError: pad: pad_width must be an integer, got 'a'
pad(x, 1, "mean")
    ValueError: pad: mode must be one of constant, edge, reflect, symmetric, wrap, got 'mean'
pad(x, 1, None)
    ValueError: pad: mode must be one of constant, edge, reflect, symmetric, wrap, got None
pad(none, 1, "edge")
    ValueError: pad: mode 'edge' cannot extend dimension 0 of size 0
pad(x, 1, constant_values="a")
    TypeError: pad: constant_values must be numbers, got 'a'
pad(x, 1, constant_values=1j)
    TypeError: pad: complex cannot be written into float64; take real() first
pad(i8, 1, constant_values=300)
    OverflowError: pad: the Python integer 300 does not fit int8
pad(x, 2**62)
    ValueError: pad: shape: the sizes (9223372036854775810, 9223372036854775811), with 1 for 0,
    multiply to more than 2**63 - 1
put_along_axis(v, v, 1)
    TypeError: put_along_axis: only integral dtypes are allowed as indices, got float64
put_along_axis(v, x, 1)
    TypeError: put_along_axis: only integral dtypes are allowed as indices, got float64
put_along_axis(v, far, 1)
    IndexError: put_along_axis: index 9 is outside a dimension of size 3
put_along_axis(v, zi, 1j)
    TypeError: put_along_axis: complex cannot be written into float64; take real() first
put_along_axis(v, zi, "a")
    TypeError: put_along_axis: value must be a tensor, an array or numbers, got 'a'
put_along_axis(v, zi, v)
    ValueError: put_along_axis: a value of shape (3,) cannot be broadcast to (2,)
put_along_axis(ro, zi, 1)
    ValueError: put_along_axis: the tensor is read-only; copy() it first
put_along_axis(v, zi, 1, axis=1)
    AxisError: put_along_axis: axis must be at least -1 and below 1, got 1
put_along_axis(v, zi, 1, axis=0.0)
    TypeError: put_along_axis: axis must be an integer, got 0.0
put_along_axis(i8, zi, 300)
    OverflowError: put_along_axis: the Python integer 300 does not fit int8
scatter_add(v, v, 1)
    TypeError: scatter_add: only integral dtypes are allowed as indices, got float64
scatter_add(b, zi, True)
    TypeError: scatter_add: only numeric dtypes are allowed, got bool
scatter_min(z, zi, 1)
    TypeError: scatter_min: only real numeric dtypes are allowed, got complex128
scatter_max(v, zi, asarray([1j, 2]))
    TypeError: scatter_max: only real numeric dtypes are allowed, got complex128
scatter_add(i, zi, 1.5)
    TypeError: scatter_add: updates of float do not fit a tensor of int64
scatter_add(i, zi, v2)
    TypeError: scatter_add: updates of float64 do not fit a tensor of int64; convert one with
    astype()
scatter_add(i8, zi, 300)
    OverflowError: scatter_add: the Python integer 300 does not fit int8
scatter_add(i, far, 1)
    IndexError: scatter_add: index 9 is outside a dimension of size 3
scatter_add(none, zi, 1)
    IndexError: scatter_add: index 1 is outside a dimension of size 0
scatter_add(v, zi, v)
    ValueError: scatter_add: a value of shape (3,) cannot be broadcast to (2,)
scatter_add(cube, asarray([zi, zi]), 1)
    ValueError: scatter_add: indices must have rank 1 or 3, got shape (2, 2)
scatter_add(x, asarray([zi]), x, axis=1)
    ValueError: scatter_add: a value of shape (2, 3) cannot be broadcast to (2, 2)
scatter_add(x, asarray([zi, zi, zi]), 1, axis=1)
    ValueError: scatter_add: indices of shape (3, 2) do not fit a tensor of shape (2, 3) along
    axis 1
scatter_add(s, zi, 1)
    AxisError: scatter_add: axis must name a dimension, and rank 0 has none, got 0
transpose(x, axes=(0, 0))
    ValueError: transpose: axes must not name a dimension twice, got (0, 0)
transpose(x, axes=(0,))
    ValueError: transpose: axes must be 2, the rank, got (0,)
transpose(x, axes=(0, 2))
    AxisError: transpose: axes must be at least -2 and below 2, got 2
transpose(x, axes="ab")
    TypeError: transpose: axes must be an integer or a sequence of integers, got 'ab'
cumsum(x, axis=2)
    AxisError: cumsum: axis must be at least -2 and below 2, got 2
cumsum(x, axis=True)
    TypeError: cumsum: axis must be an integer, got True
cumsum(z, dtype=float64)
    TypeError: cumsum: complex128 cannot become float64; take real() or abs() first
cumprod(x, dtype=bool)
    TypeError: cumprod: dtype must be numeric, got bool
nancumsum(x, axis=1.0)
    TypeError: nancumsum: axis must be an integer, got 1.0
nancumprod(x, dtype="x")
    TypeError: nancumprod: dtype must be a dtype of this namespace, got 'x'
median(z)
    TypeError: median: only real numeric dtypes are allowed, got complex128
median(x, axis=1.0)
    TypeError: median: axis must be an integer or a sequence of integers, got 1.0
median(x, keepdims=1)
    TypeError: median: keepdims must be True or False, got 1
nanmedian(b)
    TypeError: nanmedian: only real numeric dtypes are allowed, got bool
nansum(x, dtype="x")
    TypeError: nansum: dtype must be a dtype of this namespace, got 'x'
nansum(z, dtype=float64)
    TypeError: nansum: complex128 cannot become float64; take real() or abs() first
nansum(x, axis=2)
    AxisError: nansum: axis must be at least -2 and below 2, got 2
nanprod(x, dtype=bool)
    TypeError: nanprod: dtype must be numeric, got bool
nanmin(none)
    ValueError: nanmin: no elements along axis (0, 1) of shape (0, 3)
nanmax(z)
    TypeError: nanmax: only real numeric dtypes are allowed, got complex128
nanmean(x, dtype=int8)
    TypeError: nanmean: dtype must be floating-point, got int8
nanmean(x, dtype="x")
    TypeError: nanmean: dtype must be a dtype of this namespace, got 'x'
nanmean(b)
    TypeError: nanmean: only numeric dtypes are allowed, got bool
nanmean(z, dtype=float64)
    TypeError: nanmean: complex128 cannot become float64; take real() or abs() first
nanvar(z)
    TypeError: nanvar: only real numeric dtypes are allowed, got complex128
nanvar(x, correction="a")
    TypeError: nanvar: correction must be a real number, got 'a'
nanvar(x, dtype=int8)
    TypeError: nanvar: dtype must be floating-point, got int8
nanstd(x, ddof=None)
    TypeError: nanstd: correction must be a real number, got None
nanstd(b)
    TypeError: nanstd: only real numeric dtypes are allowed, got bool
nanargmin(x * nan)
    ValueError: nanargmin: all elements along axis None are NaN
nanargmin(x, axis=(0, 1))
    TypeError: nanargmin: axis must be an integer, got (0, 1)
nanargmax(none)
    ValueError: nanargmax: no elements along axis (0, 1) of shape (0, 3)
quantile(x, 2)
    ValueError: quantile: q must be from 0 to 1, got 2
quantile(x, "a")
    TypeError: quantile: q must be a real number, or several, got 'a'
quantile(x, 1j)
    TypeError: quantile: q must be a real number, or several, got 1j
quantile(x, None)
    TypeError: quantile: q must be a real number, or several, got None
quantile(x, [0.5, 2])
    ValueError: quantile: q must be from 0 to 1, got [0.5, 2]
quantile(x, 0.5, method="a")
    ValueError: quantile: method must be one of …, got 'a'
quantile(x, 0.5, method=[])
    ValueError: quantile: method must be one of …, got []
quantile(none, 0.5, axis=3)
    AxisError: quantile: axis must be at least -2 and below 2, got 3
nanquantile(x, -0.5)
    ValueError: nanquantile: q must be from 0 to 1, got -0.5
nanquantile(z, 0.5)
    TypeError: nanquantile: only real numeric dtypes are allowed, got complex128
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
    OverflowError: add: the Python integer 1180591620717411303424 does not fit int64
i8 + 300
    OverflowError: add: the Python integer 300 does not fit int8
u8 + (-1)
    OverflowError: add: the Python integer -1 does not fit uint8
i8 * 300
    OverflowError: multiply: the Python integer 300 does not fit int8
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
    OverflowError: equal: the Python integer 1180591620717411303424 does not fit int64
x -= v2
    ValueError: subtract: shapes (2, 3), (2,) do not broadcast together
i8 += 1.5
    TypeError: add: the result has dtype float64, which an in-place operation cannot put into
    int8; use astype() first
i8 += i
    TypeError: add: the result has dtype int64, which an in-place operation cannot put into
    int8; use astype() first
i8 += 300
    OverflowError: add: the Python integer 300 does not fit int8
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
x + 10**400
    OverflowError: add: the Python integer of 1329 bits does not fit float64
x + 10**5000
    OverflowError: add: the Python integer of 16610 bits does not fit float64
10**5000 - x
    OverflowError: subtract: the Python integer of 16610 bits does not fit float64
x == 10**5000
    OverflowError: equal: the Python integer of 16610 bits does not fit float64
x < 10**5000
    OverflowError: less: the Python integer of 16610 bits does not fit float64
v * 10**400
    OverflowError: multiply: the Python integer of 1329 bits does not fit float64
x += 10**400
    OverflowError: add: the Python integer of 1329 bits does not fit float64
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
v.__array_namespace__(api_version="1999.12")
    ValueError: __array_namespace__: api_version must be one of 2021.12, 2022.12, 2023.12,
    2024.12, 2025.12, got '1999.12'
v.__array_namespace__(api_version=np.zeros(3))
    ValueError: __array_namespace__: api_version must be one of 2021.12, 2022.12, 2023.12,
    2024.12, 2025.12, got numpy.ndarray
v.__array_namespace__(api_version=2025.12)
    ValueError: __array_namespace__: api_version must be one of 2021.12, 2022.12, 2023.12,
    2024.12, 2025.12, got 2025.12
v.__dlpack__(dl_device="cpu")
    TypeError: __dlpack__: dl_device must be an integer or a sequence of integers, got 'cpu'
v.__dlpack__(max_version=1)
    TypeError: __dlpack__: max_version must be a pair of integers, got 1
v.__dlpack__(max_version=(1,))
    TypeError: __dlpack__: max_version must be a pair of integers, got (1,)
ro.__dlpack__()
    BufferError: __dlpack__: a read-only tensor needs a DLPack of version 1 or later; give
    max_version=(1, 0), or copy() it first
big.copy()
    MemoryError: copy: shape (1073741824, 1048576) of float64 needs 9007199254740992 bytes,
    which cannot be allocated
"""

# Where NumPy shares the memory, and where there are no streams.
OF_THE_CPU = """
v.to_device("cpu", stream=1)
    ValueError: to_device: the cpu has no streams, got stream=1
v.__dlpack__(stream=1)
    ValueError: __dlpack__: the cpu has no streams, got stream=1
v.__dlpack__(stream=10**5000)
    ValueError: __dlpack__: the cpu has no streams, got stream=an integer of 16610 bits
v.__dlpack__(dl_device=(2, 0))
    BufferError: __dlpack__: the tensor is on the cpu, (1, 0) in DLPack, not (2, 0)
v.__array__("x")
    TypeError: __array__: dtype must be one of NumPy's, got 'x'
v.__array__(int, copy=False)
    ValueError: __array__: float64 cannot be seen as <class 'int'> without a copy
np.asarray(z, dtype=float)
    TypeError: __array__: complex128 cannot become float64; take real() or abs() first
np.asarray(z, dtype=int)
    TypeError: __array__: complex128 cannot become int64; take real() or abs() first
v.__array__(float, copy=2)
    TypeError: __array__: copy must be True, False or None, got 2
asarray([v, [1.0, 2.0]])
    ValueError: asarray: sequences inside one another must have equal lengths, got a sequence of
    3 beside a sequence of 2
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
        BEYOND,
        OPERATORS,
        METHODS,
    )
)


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[call for call, _ in REFUSED])
def test_refused(call, words):
    check_words(call, words)


@pytest.mark.cpu
@pytest.mark.parametrize(("call", "words"), [*sessions(OF_THE_CPU)])
def test_refused_on_the_cpu(call, words):
    check_words(call, words)


def check_words(call, words):
    error = failing(call)
    assert re.fullmatch(pattern_of(words), f"{type(error).__name__}: {error}"), repr(error)


def test_every_public_function_is_tried():
    calls = [*TENSORS, *AXES, *(call for call, _ in [*REFUSED, *sessions(OF_THE_CPU)])]
    tried = set(map(name_of, calls))
    functions = {name for name in tl.__all__ if inspect.isfunction(getattr(tl, name))}
    functions |= {f"linalg.{name}" for name in tl.linalg.__all__}
    functions |= {f"fft.{name}" for name in tl.fft.__all__}
    # These take nothing, or check when the block begins; layouts have tests/test_layout_errors.py.
    untried = {"trace", "default_device", "using_device", "coalesce"}
    assert functions - untried - tried == set()
