"""Elementwise functions and operators against NumPy, in every layout and dtype."""

import math
import operator
import re
from fractions import Fraction

import numpy as np
import pytest
from elementwise_oracle import COMPARISONS, OF_BOOLS, OPERATORS, TABLE, THREE, TWO, WHOLE, oracle
from layouts import TENSORS
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    close,
    fits,
    host,
    kind,
    padding_of,
    read_only,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl
from tensorlayout.functions import elementwise

pytestmark = pytest.mark.usefixtures("device")


CASES = [(name, dtype) for name, line in TABLE.items() for dtype in DTYPES[line[1]]]
VIEWS = ("real", "imag")
FLOATING = [name for name, line in TABLE.items() if "floating" in line[1]]


def test_the_table_has_every_function():
    assert sorted(TABLE) == sorted(elementwise.__all__)


def layouts_for(dtype):
    return [layout for layout in TENSORS if fits(layout, as_dtype(dtype))]


def operands(name, dtype, layout, other=None):
    """The operands of a function: tensors in `layout` (the others in `other`), and arrays."""
    finite = TABLE[name][2:] == ("finite",)
    number = 1 + (name in TWO) + 2 * (name in THREE)
    made = []
    for seed, placed in enumerate([layout, other or layout, other or layout][:number]):
        values = slots(as_dtype(dtype), placed.required_size, seed, finite)
        if seed == 1 and TABLE[name][2:] == ("exponents",) and kind(values.dtype) in "iu":
            values = values % 5 - (2 if kind(values.dtype) == "i" else 0)
        made.append(tensor_in(placed, values.astype(as_dtype(dtype))))
    return [x for x, _ in made], [a for _, a in made]


# --- functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda case: case)
def test_every_layout(name, dtype):
    function = getattr(tl, name)
    for layout in layouts_for(dtype):
        given, arrays = operands(name, dtype, layout)
        result = function(*given)
        close(result, oracle(name, *arrays), f"{name} of {dtype} in {layout}")
        assert name in VIEWS or result.layout.form is result.layout


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint64"])
def test_integers_are_taken_as_float64(dtype):
    for name in FLOATING if tl.default_device() == "cpu" else ("exp", "atan2", "signbit"):
        for layout in layouts_for(dtype)[::4]:
            given, arrays = operands(name, dtype, layout)
            expected = oracle(name, *[array.astype(np.float64) for array in arrays])
            close(getattr(tl, name)(*given), expected, f"{name} of {dtype} in {layout}")


@pytest.mark.parametrize("name", OF_BOOLS)
def test_sums_and_products_of_bools(name):
    for layout in layouts_for("bool"):
        given, arrays = operands(name, "bool", layout)
        expected = OF_BOOLS[name](*arrays)
        same(getattr(tl, name)(*given), expected, str(layout))
        if not layout.is_overlapping:
            given[0] += given[1]
            same(given[0], np.logical_or(*arrays), str(layout))
    same(tl.asarray([True, False]) + True, np.array([True, True]))
    same(False * tl.asarray([True, False]), np.array([False, False]))


@pytest.mark.parametrize("name", [*TWO, *THREE])
def test_operands_in_different_layouts(name):
    function = getattr(tl, name)
    for dtype in {DTYPES[TABLE[name][1]][0], DTYPES[TABLE[name][1]][-1]}:
        for layout in layouts_for(dtype):
            row_major = tl.Layout.row_major(layout.shape)
            for pair in [(layout, row_major), (row_major, layout)]:
                given, arrays = operands(name, dtype, *pair)
                close(function(*given), oracle(name, *arrays), f"{name} of {dtype} in {pair}")


@pytest.mark.parametrize("name", TWO)
def test_broadcast_operands(name):
    function = getattr(tl, name)
    dtype = DTYPES[TABLE[name][1]][-1]
    for layout in layouts_for(dtype):
        for shape in [(), layout.shape[-1:], (2, *layout.shape), (1,) * (len(layout.shape) + 1)]:
            given, arrays = operands(name, dtype, layout, tl.Layout.row_major(shape))
            message = f"{name} of {layout} and {shape}"
            close(function(*given), oracle(name, *arrays), message)
            if name != "pow":
                close(function(*given[::-1]), oracle(name, *arrays[::-1]), message)


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

OPERATOR_CASES = [
    pytest.param(sign, name, dtype, id=f"{name}-{dtype}")
    for sign, (name, category) in (OPERATORS | COMPARISONS).items()
    for dtype in DTYPES[category]
]
IN_PLACE_CASES = [case for case in OPERATOR_CASES if case.values[0] in OPERATORS]
SCALAR = {"b": True, "i": 3, "u": 3, "f": 2.5, "c": 1 - 0.5j}


@pytest.mark.parametrize(
    ("sign", "name", "dtype"),
    [
        (sign, name, dtype)
        for sign, name in {
            operator.pos: "positive",
            operator.neg: "negative",
            operator.abs: "abs",
            operator.invert: "bitwise_invert",
        }.items()
        for dtype in DTYPES[TABLE[name][1]]
    ],
)
def test_operators_of_one_operand(sign, name, dtype):
    (x,), arrays = operands(name, dtype, tl.Layout((2, 3), (1, 2)))
    close(sign(x), oracle(name, *arrays))


@pytest.mark.parametrize(("sign", "name", "dtype"), OPERATOR_CASES)
def test_operators(sign, name, dtype):
    for layout in [tl.Layout.row_major((3, 4)), tl.Layout.padded((3, 4), (4, 4), (0, 1))]:
        (x, y), arrays = operands(name, dtype, layout)
        close(sign(x, y), oracle(name, *arrays))


@pytest.mark.parametrize(("sign", "name", "dtype"), OPERATOR_CASES)
def test_operators_with_scalars_in_both_orders(sign, name, dtype):
    for layout in [tl.Layout.row_major((3, 4)), tl.Layout((3, 4), (-4, -1), offset=11)]:
        (_, x), (_, array) = operands(name, dtype, layout)
        scalar = SCALAR[kind(array.dtype)]
        strong = array.dtype.type(scalar)
        full = np.full_like(array, scalar)
        for given in (scalar, strong):
            close(sign(x, given), oracle(name, array, full), f"x {name} {given!r}")
            close(sign(given, x), oracle(name, full, array), f"{given!r} {name} x")


@pytest.mark.parametrize(("sign", "name", "dtype"), IN_PLACE_CASES)
def test_operators_in_place(sign, name, dtype):
    in_place = getattr(operator, f"i{sign.__name__.strip('_')}")
    for layout in layouts_for(dtype):
        if layout.is_overlapping:
            continue
        (x, y), arrays = operands(name, dtype, layout)
        scalar = SCALAR[kind(arrays[0].dtype)]
        z = x.copy()
        for destination, other, array in [
            (x, y, arrays[1]),
            (z, scalar, np.full_like(arrays[0], scalar)),
        ]:
            before = destination.layout
            result = in_place(destination, other)
            close(destination, oracle(name, arrays[0], array), f"{name} in place, {layout}")
            assert result is destination
            assert result.layout is before


# --- dtypes ------------------------------------------------------------------------------------


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
    for layout in [tl.Layout.row_major((2, 3)), tl.Layout((2, 3), (1, -2), offset=4)]:
        x, array = tensor_in(layout, slots(as_dtype(dtype), 6))
        wanted = array.astype(as_dtype(expected))
        for found in (
            tl.where(tl.asarray(True), x, scalar),
            tl.where(tl.asarray(False), scalar, x),
        ):
            same(found, wanted)
        if dtype != "bool":
            assert (x * scalar).dtype == (scalar * x).dtype == as_dtype(expected)
            assert tl.subtract(x, scalar).dtype == tl.subtract(scalar, x).dtype == wanted.dtype
            assert (x == scalar).dtype == (scalar == x).dtype == tl.bool


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
    for layout in [None, tl.Layout((3,), (-1,), offset=2), tl.Layout.padded((3,), (4,))]:
        x = tl.ones((3,), dtype=dtype, layout=layout)
        for function in (tl.add, tl.less, tl.equal, tl.bitwise_and, tl.maximum, tl.pow):
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


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name, line in TABLE.items()
        for dtype in DTYPES["any"]
        if dtype not in DTYPES[line[1]]
        and not (name in FLOATING and dtype in WHOLE)
        and not (name in OF_BOOLS and dtype == "bool")
    ],
    ids=lambda case: case,
)
def test_refused_dtypes(name, dtype):
    x = tl.ones((3,), dtype=dtype)
    number = 1 + (name in TWO) + 2 * (name in THREE)
    category = TABLE[name][1]
    came = ", ".join([dtype] * number)
    with pytest.raises(
        TypeError, match=f"^{name}: only {category} dtypes are allowed, got {came}$"
    ):
        getattr(tl, name)(*[x] * number)


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
    for sign in (operator.add, operator.lt, operator.eq, operator.and_):
        for given in [(x, other), (other, x)]:
            with pytest.raises(TypeError, match=r"asarray\(\)"):
                sign(*given)
    with pytest.raises(TypeError, match=r"asarray\(\)"):
        x += other
    for other in (None, {}, object()):
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


@pytest.mark.parametrize("other", [None, "a", object()], ids=["None", "str", "object"])
def test_equality_with_what_has_no_elements(other):
    x = tl.ones((3,))
    assert (x == other) is False
    assert (x != other) is True
    assert (other == x) is False


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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((), (), ()),
        ((), (3,), (3,)),
        ((1,), (3,), (3,)),
        ((2, 1), (3,), (2, 3)),
        ((2, 1, 4), (3, 1), (2, 3, 4)),
        ((1, 1), (), (1, 1)),
        ((0,), (1,), (0,)),
        ((0,), (), (0,)),
        ((2, 0), (1, 1), (2, 0)),
        ((3, 1), (1, 0), (3, 0)),
    ],
)
def test_broadcasting(first, second, expected):
    x, y = tl.ones(first), tl.ones(second, dtype=tl.float32)
    same(x + y, np.full(expected, 2.0))
    same(y - x, np.zeros(expected))


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


@pytest.mark.parametrize(
    "layout", ["(2,3):(3,1)", "(2,3):(1,2)", "(2,3):(4,1) padded=(2,4) padding=ONE"]
)
@pytest.mark.parametrize(
    ("dtype", "other"),
    [
        *(("int8", "int64"), ("int32", "uint16"), ("uint8", "uint64"), ("float32", "float64")),
        *(("float16", "float32"), ("complex64", "complex128"), ("float32", "int64")),
    ],
)
def test_in_place_results_of_the_same_kind_are_converted(dtype, other, layout):
    first = np.asarray([[100, 2, 3], [4, 5, 127]]).astype(dtype)
    second = np.asarray([[100, 1, 0], [7, 8, 9]]).astype(other)
    x = tl.asarray(first, layout=tl.Layout.parse(layout), copy=True)
    view, kept = x, x.layout
    x += tl.asarray(second)
    first += second
    assert x is view
    assert (x.dtype, x.layout) == (first.dtype, kept)
    assert x.tolist() == first.tolist()
    x -= np.dtype(other).type(1)
    first -= np.dtype(other).type(1)
    assert x.tolist() == first.tolist()


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
@pytest.mark.parametrize("sign", [operator.iadd, operator.ipow, operator.itruediv])
def test_refused_destinations(make, sign, message):
    x = make()
    before = np.array(host(x))
    for other in (x, 2):
        with pytest.raises(ValueError, match=message):
            sign(x, other)
    same(x, before)


OVERLAPS = {
    "x[1:] += x[:-1]": (lambda x: x[1:], lambda x: x[:-1]),
    "x[:-1] += x[1:]": (lambda x: x[:-1], lambda x: x[1:]),
    "x[...] += x[::-1]": (lambda x: x, lambda x: x[::-1, :]),
    "x[::-1] += x": (lambda x: x[::-1, :], lambda x: x),
    "x += x.T": (lambda x: x, lambda x: x.T),
    "x.T += x": (lambda x: x.T, lambda x: x),
    "x += x[0]": (lambda x: x, lambda x: x[0, :]),
    "x += x[:, 1:2]": (lambda x: x, lambda x: x[:, 1:2]),
    "x += x": (lambda x: x, lambda x: x),
    "x[::2] += x[1::2]": (lambda x: x[:4:2, :], lambda x: x[1::2, :]),
}


@pytest.mark.parametrize("views", OVERLAPS.values(), ids=OVERLAPS)
@pytest.mark.parametrize("dtype", ["float64", "int8", "bfloat16", "complex64"])
def test_overlap_is_as_if_copied(views, dtype):
    for layout in [tl.Layout.row_major((5, 5)), tl.Layout.padded((5, 5), (7, 5), (0, 1))]:
        for sign in (operator.iadd, operator.imul, operator.ipow):
            x, array = tensor_in(layout, (np.arange(49) % 3 + 1).astype(as_dtype(dtype)))
            target, source = (view(x) for view in views)
            expected = array.copy()
            view = views[0](expected)
            view[...] = oracle(_name(sign), view, np.broadcast_to(views[1](array), view.shape))
            sign(target, source)
            close(x, expected, f"{sign.__name__} in {layout}")


def _name(sign):
    return {"iadd": "add", "imul": "multiply", "ipow": "pow"}[sign.__name__]


# --- integers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["integral"])
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


@pytest.mark.parametrize("dtype", DTYPES["integral"][:4])
def test_negative_powers_of_integers(dtype):
    x = tl.asarray([-2, -1, 0, 1, 2], dtype=dtype)
    same(x**-1, np.array([0, -1, 0, 1, 0], dtype))
    same(x**-2, np.array([0, 1, 0, 1, 0], dtype))
    same(tl.pow(2, x), np.array([0, 0, 1, 2, 4], dtype))
    x **= x
    same(x, np.array([0, -1, 1, 1, 4], dtype))


# --- documentation -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_functions_say_what_they_are(name):
    function = getattr(tl, name)
    assert function.__name__ == name
    assert f"elementwise functions, `{name}`" in function.__doc__
    assert ("real floating" if name == "atan2" else "dtypes: ") in function.__doc__


# --- real and imag -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["numeric"])
def test_parts_are_views(dtype):
    for layout in layouts_for(dtype):
        ((x,), (array,)) = operands("real", dtype, layout)
        for name in VIEWS:
            part = getattr(tl, name)(x)
            if kind(as_dtype(dtype)) != "c":
                assert part.layout == (layout if name == "real" else layout.form)
                continue
            doubled = tuple(tuple((e, 2 * s) for e, s in parts) for parts in x.layout.parts)
            assert part.layout.parts == doubled
            assert part.layout.minor_to_major == x.layout.minor_to_major
            if x.size and not x.layout.is_overlapping:
                assert part.layout.offset == 2 * x.layout.offset + (name == "imag")
                part[...] = 7
                array = np.array(array)
                setattr(array, name, 7)
                same(x, array)
                assert part.layout.offset_of((0,) * x.ndim) == part.layout.offset
                same(tl.flip(part), np.flip(getattr(array, name)))


def test_parts_of_bool_are_refused():
    for name in VIEWS:
        with pytest.raises(TypeError, match=f"{name}: only numeric dtypes are allowed, got bool"):
            getattr(tl, name)(tl.asarray(True))


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
