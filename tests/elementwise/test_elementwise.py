"""Elementwise functions and operators: dtypes of results, scalars, destinations, special cases.

Values in every layout and dtype: `ops/elementwise_cases.py`.
"""

import math
import operator
import re
from fractions import Fraction

import numpy as np
import pytest
from elementwise_oracle import OF_BOOLS, TABLE, THREE, TWO, WHOLE, oracle
from layouts import TENSORS
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    close,
    fits,
    host,
    padding_of,
    read_only,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl
from tensorlayout.functions import elementwise

pytestmark = pytest.mark.usefixtures("device")


FLOATING = [name for name, line in TABLE.items() if "floating" in line[1]]


def test_the_table_has_every_function():
    assert sorted(TABLE) == sorted(elementwise.__all__)


# --- functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_integers_are_taken_as_float64(dtype):
    values = slots(as_dtype(dtype), 12).reshape(3, 4)
    for name in FLOATING if tl.default_device() == "cpu" else ("exp", "signbit"):
        arrays = [values, values[::-1]][: 1 + (name in TWO)]
        found = getattr(tl, name)(*map(asarray, arrays))
        close(found, oracle(name, *[a.astype(np.float64) for a in arrays]), f"{name} of {dtype}")


def test_sums_and_products_of_bools():
    x = tl.asarray([True, False])
    same(x + True, np.array([True, True]))
    same(False * x, np.array([False, False]))
    x += x[::-1]
    same(x, np.array([True, True]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_with_gaps_between_them(dtype):
    """NumPy 2.4.6 writes results of 16 elements and more side by side, wherever they are to go."""
    padded = tl.Layout.padded((2, 40, 1), (2, 41, 3), None, tl.PaddingValue.ZERO)
    for layout in (padded, padded.permute((1, 0, 2)), padded.flip((1,)), padded.flip((0,))):
        x, array = tensor_in(layout, np.full(layout.required_size, 2.5, dtype))
        x[..., 0, :] = array[..., 0, :] = -np.inf
        x[..., 1, :] = array[..., 1, :] = np.nan
        same(tl.signbit(x), array < 0, str(layout))
        same(tl.isfinite(x), array > 0, str(layout))
        same(tl.isinf(x), array < 0, str(layout))
        same(tl.isnan(x), array != array, str(layout))


def test_no_elements_in_a_large_padded_block():
    layout = tl.Layout.padded((0, 9), (20000, 10), None, tl.PaddingValue.ONE)
    x = tl.zeros((0, 9), dtype=tl.complex128, layout=layout)
    same(tl.atan(x), np.zeros((0, 9), complex))
    assert (padding_of(tl.atan(x)) == 1).all()
    x /= 2
    same(x, np.zeros((0, 9), complex))


def test_other_bounds_of_clip():
    x = tl.asarray([-5, 0, 100], dtype=tl.int8)
    same(tl.clip(x), np.array([-5, 0, 100], np.int8))
    same(tl.clip(x, 1), np.array([1, 1, 100], np.int8))
    same(tl.clip(x, max=1), np.array([-5, 0, 1], np.int8))
    same(tl.clip(x, None, np.int8(1)), np.array([-5, 0, 1], np.int8))
    same(tl.clip(x, tl.asarray([-1000]), tl.asarray(1000)), np.array([-5, 0, 100], np.int8))
    same(tl.clip(x, tl.asarray(300, dtype=tl.uint16)), np.array([127, 127, 127], np.int8))
    same(tl.clip(x, -np.inf, 1.9), np.array([-5, 0, 1], np.int8))
    y = tl.asarray([-5.0, np.nan, 7.0], dtype=tl.float32)
    same(tl.clip(y, tl.asarray(-1.0), tl.asarray(3)), np.array([-1, np.nan, 3], np.float32))
    same(tl.clip(y, 0, 1), np.array([0, np.nan, 1], np.float32))
    z = tl.asarray([2**64 - 1], dtype=tl.uint64)
    same(tl.clip(z, -1.0, 2.0**70), np.array([2**64 - 1], np.uint64))
    same(tl.clip(z, tl.asarray(-3), tl.asarray(2**63 - 1)), np.array([2**63 - 1], np.uint64))


# --- operators ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sign", "name", "dtype"),
    [
        (operator.pos, "positive", "int8"),
        (operator.neg, "negative", "float32"),
        (operator.abs, "abs", "complex64"),
        (operator.invert, "bitwise_invert", "bool"),
    ],
)
def test_operators_of_one_operand(sign, name, dtype):
    values = slots(as_dtype(dtype), 6).reshape(2, 3).T
    close(sign(asarray(values)), oracle(name, values))


# --- dtypes ------------------------------------------------------------------------------------


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("dtype", "scalar", "expected"),
    [
        ("bool", True, "bool"),
        ("bool", 1, "int64"),
        ("bool", 1.0, "float64"),
        ("bool", 1j, "complex128"),
        ("int8", True, "int8"),
        ("int8", 1, "int8"),
        ("uint16", 1, "uint16"),
        ("int8", 1.0, "float64"),
        ("uint64", 1.0, "float64"),
        ("int8", 1j, "complex128"),
        *[(half, s, half) for half in ("float16", "bfloat16", "float32") for s in (True, 1, 1.0)],
        ("float16", 1j, "complex64"),
        ("bfloat16", 1j, "complex64"),
        ("float32", 1j, "complex64"),
        ("float64", 1, "float64"),
        ("float64", 1j, "complex128"),
        ("complex64", 1.0, "complex64"),
        ("complex64", 1j, "complex64"),
        ("complex128", 1, "complex128"),
    ],
)
def test_python_scalars_are_weak(dtype, scalar, expected):
    values = slots(as_dtype(dtype), 6).reshape(2, 3)
    x, wanted = asarray(values), values.astype(as_dtype(expected))
    same(tl.where(tl.asarray(True), x, scalar), wanted)
    same(tl.where(tl.asarray(False), scalar, x), wanted)
    if dtype != "bool":
        assert (x * scalar).dtype == (scalar * x).dtype == wanted.dtype
        assert tl.subtract(x, scalar).dtype == tl.subtract(scalar, x).dtype == wanted.dtype
        assert (x == scalar).dtype == (scalar == x).dtype == tl.bool


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("dtype", "scalar", "expected"),
    [
        ("float32", np.float64(2), "float64"),
        ("float32", np.float32(2), "float32"),
        ("float32", np.int8(2), "float32"),
        ("float32", np.int32(2), "float64"),
        ("int8", np.int64(2), "int64"),
        ("int8", np.uint8(2), "int16"),
        ("int8", np.bool_(True), "int8"),
        ("bfloat16", np.float16(2), "float32"),
        ("float16", BFLOAT16.type(2), "float32"),
        ("float64", np.complex64(2), "complex128"),
    ],
)
def test_numpy_scalars_count_by_their_dtype(dtype, scalar, expected):
    x = tl.ones((2, 3), dtype=dtype)
    assert (x * scalar).dtype == (scalar * x).dtype == as_dtype(expected)
    assert (x - scalar).dtype == tl.add(scalar, x).dtype == as_dtype(expected)
    same(scalar * x, np.full((2, 3), scalar, as_dtype(expected)))


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [
        ("int8", 128),
        ("int8", -129),
        ("uint8", 256),
        ("uint8", -1),
        ("uint64", -1),
        ("int64", 2**63),
    ],
)
def test_python_integers_that_do_not_fit(dtype, scalar):
    message = f"the Python integer {scalar} does not fit {dtype}"
    x = tl.ones((3,), dtype=dtype)
    for function in (tl.add, tl.less, tl.bitwise_and, tl.maximum, tl.pow):
        for given in [(x, scalar), (scalar, x)]:
            with pytest.raises(OverflowError, match=f"{function.__name__}: {message}"):
                function(*given)
    with pytest.raises(OverflowError, match=f"add: {message}"):
        x += scalar
    with pytest.raises(OverflowError, match=f"where: {message}"):
        tl.where(tl.asarray(True), x, scalar)
    with pytest.raises(OverflowError, match=f"clip: {message}"):
        tl.clip(x, scalar)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_python_scalars_beyond_a_float(dtype):
    x = tl.ones((3,), dtype=dtype)
    with pytest.raises(OverflowError, match=r"^multiply: "):
        x * 10**400
    largest = np.full((3,), 1e300 if dtype == "float64" else np.inf, as_dtype(dtype))
    if dtype != "complex64":
        same(x * 1e300, largest)
        same(1e300 * x[::-1], largest)


REFUSED = [
    (name, dtype)
    for name, line in TABLE.items()
    for dtype in ("bool", "int8", "float32", "complex64")
    if dtype not in DTYPES[line[1]]
    and not (name in FLOATING and dtype in WHOLE)
    and not (name in OF_BOOLS and dtype == "bool")
]


@pytest.mark.cpu
def test_refused_dtypes():
    for name, dtype in REFUSED:
        number = 1 + (name in TWO) + 2 * (name in THREE)
        came = ", ".join([dtype] * number)
        words = f"^{name}: only {TABLE[name][1]} dtypes are allowed, got {came}$"
        with pytest.raises(TypeError, match=words):
            getattr(tl, name)(*[tl.ones((3,), dtype=dtype)] * number)


@pytest.mark.cpu
def test_what_is_no_tensor():
    x = tl.ones((3,))
    refused = {
        "list": [1.0, 2.0, 3.0],
        "numpy.ndarray of dtype >f8": np.ones(3, ">f8"),
        "numpy.ndarray of dtype object": np.ones(3, object),
        "numpy.ndarray of dtype float64 with strides that are no multiples of 8 bytes": np.ones(
            3, "u1,f8"
        )["f1"],
        "numpy.MaskedArray of dtype float64": np.ma.ones(3),
        "numpy.matrix of dtype float64": np.ones((1, 3)).view(np.matrix),
    }
    for came, other in refused.items():
        message = f"^add: operands must be .*, got {came}; make it a tensor with asarray"
        for given in [(x, other), (other, x)]:
            with pytest.raises(TypeError, match=message):
                tl.add(*given)
    other = refused["numpy.ndarray of dtype >f8"]
    for sign in (operator.lt, operator.eq):
        for given in [(x, other), (other, x)]:
            with pytest.raises(TypeError, match=r"asarray\(\)"):
                sign(*given)
    with pytest.raises(TypeError, match=r"asarray\(\)"):
        x += other
    for other in (None, object()):
        for given in [(x, other), (other, x)]:
            with pytest.raises(TypeError, match="unsupported operand"):
                operator.add(*given)
            with pytest.raises(TypeError, match="not supported between"):
                operator.lt(*given)
    with pytest.raises(
        TypeError, match="add: operands must be tensors, arrays or Python scalars, got str"
    ):
        tl.add(x, "a")
    with pytest.raises(TypeError, match="add: at least one operand must be a tensor"):
        tl.add(1, 2)
    with pytest.raises(TypeError, match="sin: must be called with a tensor, got float"):
        tl.sin(1.0)


@pytest.mark.cpu
@pytest.mark.parametrize("other", [None, "a", object()], ids=["None", "str", "object"])
def test_equality_with_what_has_no_elements(other):
    x = tl.ones((3,))
    assert (x == other) is False
    assert (x != other) is True
    assert (other == x) is False


@pytest.mark.cpu
@pytest.mark.parametrize("other", [[], [1.0, 1.0, 1.0], (1.0,)], ids=str)
def test_equality_with_a_sequence_is_refused(other):
    x = tl.ones((3,))
    with pytest.raises(TypeError, match=r"^equal: .* make it a tensor with asarray\(\) first"):
        x == other  # noqa: B015
    with pytest.raises(TypeError, match=r"^equal: .* make it a tensor with asarray\(\) first"):
        other == x  # noqa: B015


def test_subclasses_of_python_numbers():
    class Whole(int):
        pass

    x = tl.ones((2,), dtype=tl.int8)
    same(x + Whole(2), np.array([3, 3], np.int8))
    same(Whole(2) - x, np.array([1, 1], np.int8))


# --- shapes ------------------------------------------------------------------------------------


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("first", "second"),
    [((2,), (3,)), ((2, 3), (2,)), ((0,), (2,)), ((2, 3), (3, 2)), ((2, 0), (3, 1))],
)
def test_shapes_that_do_not_broadcast(first, second):
    x, y = tl.ones(first), tl.ones(second)
    message = re.escape(f"operands could not be broadcast together with shapes {first}, {second}")
    with pytest.raises(ValueError, match=message):
        x + y
    with pytest.raises(ValueError, match=message):
        x += y


# --- in place ----------------------------------------------------------------------------------


def test_in_place_with_itself_in_a_wider_dtype():
    memory = np.asarray([1, 2, 3, 4], np.int32)
    x, y = tl.asarray(memory), tl.asarray(memory)[::-1]
    x += tl.astype(y, tl.int64)
    assert memory.tolist() == [5, 5, 5, 5]


def test_in_place_keeps_the_dtype():
    x = tl.ones((3,), dtype=tl.int32)
    message = "result has dtype float64, which an in-place operation cannot put into int32"
    for other in (1.0, tl.ones((3,)), np.float64(1)):
        with pytest.raises(TypeError, match=f"^add: the {message}"):
            x += other
    with pytest.raises(TypeError, match=f"^divide: the {message}"):
        x /= 2
    with pytest.raises(TypeError, match="complex64"):
        tl.ones((3,), dtype=tl.float32).__iadd__(1j)
    same(x, np.ones(3, np.int32))
    x += tl.ones((3,), dtype=tl.int8)
    same(x, np.full(3, 2, np.int32))


def test_in_place_keeps_the_shape():
    x = tl.ones((3,))
    for other in (tl.ones((2, 3)), tl.ones((1, 3))):
        with pytest.raises(
            ValueError, match=r"add: a result of shape \(\d, 3\) does not fit \(3,\)"
        ):
            x += other
    row = tl.ones((1, 3))  # a shape that sorts before that of the result
    with pytest.raises(ValueError, match=r"add: a result of shape \(4, 3\) does not fit \(1, 3\)"):
        row += tl.ones((4, 3))
    y = tl.ones((1,))
    with pytest.raises(ValueError, match="does not fit"):
        y += x
    x += y
    same(x, np.full(3, 2.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: read_only(tl.ones((2,))), "read-only"),
        (lambda: tl.broadcast_to(tl.ones((1,)), (3,)), "share slots"),
        (lambda: tl.sliding_window(tl.ones((5,)), 3), "share slots"),
    ],
    ids=["read-only", "broadcast", "window"],
)
def test_refused_destinations(make, message):
    x = make()
    before = np.array(host(x))
    for other in (x, 2):
        with pytest.raises(ValueError, match=message):
            x += other
    same(x, before)


# --- integers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
def test_integers_wrap_and_never_trap(dtype):
    limits = np.iinfo(dtype)
    x = tl.asarray([limits.min, limits.max, 1], dtype=dtype)
    same(x + 1, np.array([limits.min + 1, limits.min, 2], dtype))
    same(x // 0, np.array([0, 0, 0], dtype))
    same(x % 0, np.array([0, 0, 0], dtype))
    same(x << limits.bits, np.array([0, 0, 0], dtype))
    same(x >> limits.bits, np.array([-1 if limits.min else 0, 0, 0], dtype))
    if limits.min:
        same(x // -1, np.array([limits.min, -limits.max, -1], dtype))
        same(x % -1, np.array([0, 0, 0], dtype))
        same(-x, np.array([limits.min, -limits.max, -1], dtype))
        same(abs(x), np.array([limits.min, limits.max, 1], dtype))


# --- documentation -----------------------------------------------------------------------------


@pytest.mark.cpu
def test_functions_say_what_they_are():
    for name in TABLE:
        function = getattr(tl, name)
        assert function.__name__ == name
        assert f"elementwise functions, `{name}`" in function.__doc__
        assert ("real floating" if name == "atan2" else "dtypes: ") in function.__doc__


# --- real and imag -----------------------------------------------------------------------------


WRITABLE = [layout for layout in TENSORS if layout.size and not layout.is_overlapping]


@pytest.mark.parametrize("layout", [x for x in WRITABLE if fits(x, np.dtype("complex64"))][::4])
def test_parts_are_views(layout):
    for name in ("real", "imag"):
        x, array = tensor_in(layout, slots(np.dtype("complex64"), layout.required_size))
        part = getattr(tl, name)(x)
        doubled = tuple(tuple((e, 2 * s) for e, s in parts) for parts in layout.parts)
        assert part.layout.parts == doubled
        assert part.layout.minor_to_major == layout.minor_to_major
        assert part.layout.offset == 2 * layout.offset + (name == "imag")
        array = np.array(array)
        part[...] = 7
        setattr(array, name, 7)
        same(x, array)
        same(tl.flip(part), np.flip(getattr(array, name)))


@pytest.mark.cpu
def test_parts_of_real_numbers():
    x = tl.ones((2, 3), layout="(2,3):(1,2)+4")
    assert tl.real(x).layout == x.layout
    assert tl.imag(x).layout == x.layout.form


# --- remainders --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_remainders_are_less_than_the_divisor(dtype):
    limits = tl.finfo(as_dtype(dtype))
    sizes = [float(limits.smallest_normal), float(limits.eps), 0.1, 1 / 3, 1.0, 7.5]
    values = tl.asarray([n * sign for n in sizes for sign in (1, -1)], dtype=as_dtype(dtype))
    near = tl.nextafter(values, tl.zeros_like(values))
    line = tl.concat([values, near, values - near])  # differences, too, of one unit
    x, y, found = (
        host(tl.astype(each, tl.float64)).ravel().tolist()
        for each in (*tl.broadcast_arrays(line[:, None], line), line[:, None] % line)
    )
    for a, b, rest in zip(x, y, found, strict=True):
        exact = Fraction(a) % Fraction(b)
        assert abs(rest) < abs(b), f"{a} % {b} is {rest}"
        assert math.copysign(1, rest) == math.copysign(1, b), f"{a} % {b} is {rest}"
        assert abs(Fraction(rest) - exact) <= Fraction(float(limits.eps)) * abs(exact)


def test_remainders_of_infinite_divisors():
    x, inf = tl.asarray([5.0, -5.0, 0.0, -0.0]), math.inf
    same(x % inf, np.array([5.0, inf, 0.0, 0.0]))
    same(x % -inf, np.array([-inf, -5.0, -0.0, -0.0]))


# --- comparisons -------------------------------------------------------------------------------


def test_integers_of_both_signs_are_compared_exactly():
    signed = np.array([2**63 - 1, -1, 5, 2**62])
    unsigned = np.array([2**63, 2**64 - 1, 5, 2**62 + 1], np.uint64)
    x, y = asarray(signed), asarray(unsigned)
    narrow = tl.asarray([-1, 5], dtype=tl.int8)[:, None]
    for a, b in (x, y), (x[::-1], y[::-1]), (x[:, None], y[None]), (narrow, y):
        pairs = np.broadcast_arrays(host(a, object), host(b, object))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            expected = getattr(np, name)(*pairs).astype(bool)
            same(getattr(tl, name)(a, b), expected, name)
            same(getattr(tl, name)(b, a), getattr(np, name)(*pairs[::-1]).astype(bool), name)
