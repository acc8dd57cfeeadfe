"""Elementwise functions and operators: dtypes of results, scalars, destinations, special cases.

Values in every layout and dtype: `ops/elementwise_cases.py`.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from tensors import DTYPES, as_dtype, asarray, host, padding_of, same, tensor_in

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_sums_and_products_of_bools():
    x = tl.asarray([True, False])
    same(x + True, np.array([True, True]))
    same(False * x, np.array([False, False]))
    x += x[::-1]
    same(x, np.array([True, True]))


@pytest.mark.parametrize("dtype", DTYPES["numeric"])
def test_the_second_power_is_the_square(dtype):
    array = np.array([0, 1, 3, -0.0, 13]).astype(as_dtype(dtype))
    expected, x = array * array, asarray(array)
    with tl.trace() as seen:
        result = x**2
        x **= 2
    same(result, expected)
    same(x, expected)
    assert [record.name for record in seen] == ["square", "square"]


def test_second_powers_of_other_dtypes():
    assert (asarray(np.array([True, False])) ** 2).tolist() == [1, 0]
    with pytest.raises(TypeError, match=r"^pow: nothing is computed with narrow dtypes"):
        tl.zeros(3, dtype=tl.float8_e5m2) ** 2


@pytest.mark.parametrize("size", [2047, 2048, 5000])
def test_one_condition_for_all_elements(size):
    """From 2048 elements on, a condition is sampled before anything is chosen."""
    array = np.arange(size, dtype="f4")
    x = asarray(array)
    for condition in (True, False):
        same(tl.where(asarray(np.bool_(condition)), x, 0), array if condition else array * 0)
        y = tl.ones(size, dtype=tl.float32)
        tl.add(x, x, out=y, where=condition)
        same(y, array * 2 if condition else np.ones(size, "f4"))


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


def test_bounds_of_clip_that_the_dtype_does_not_hold():
    x = tl.asarray([-5, 0, 100], dtype=tl.int8)
    same(tl.clip(x), np.array([-5, 0, 100], np.int8))
    same(tl.clip(x, None, np.int8(1)), np.array([-5, 0, 1], np.int8))
    same(tl.clip(x, tl.asarray([-1000]), tl.asarray(1000)), np.array([-5, 0, 100], np.int8))
    same(tl.clip(x, -np.inf, 1.9), np.array([-5, 0, 1], np.int8))
    z = tl.asarray([2**64 - 1], dtype=tl.uint64)
    same(tl.clip(z, -1.0, 2.0**70), np.array([2**64 - 1], np.uint64))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_python_scalars_beyond_a_float(dtype):
    x = tl.ones((3,), dtype=dtype)
    with pytest.raises(OverflowError, match=r"^multiply: "):
        x * 10**400
    largest = np.full((3,), 1e300 if dtype == "float64" else np.inf, as_dtype(dtype))
    if dtype != "complex64":
        same(x * 1e300, largest)
        same(1e300 * x[::-1], largest)


@pytest.mark.cpu
@pytest.mark.parametrize("other", [None, "a", object()], ids=["None", "str", "object"])
def test_equality_with_what_has_no_elements(other):
    x = tl.ones((3,))
    assert (x == other) is False
    assert (x != other) is True
    assert (other == x) is False


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (np.ones(3, object), "numpy.ndarray of dtype object"),
        (np.ones(3, "u1,f8")["f1"], "strides that are no multiples of 8 bytes"),
        (np.ma.ones(3), "numpy.MaskedArray of dtype float64"),
        (np.ones((1, 3)).view(np.matrix), "numpy.matrix of dtype float64"),
    ],
)
def test_arrays_that_are_no_operands(other, words):
    """Others, and the operators: `project/test_errors.py`."""
    x = tl.ones((3,))
    for operands in [(x, other), (other, x)]:
        with pytest.raises(TypeError, match=f"^add: operands must be .*{words}; make it a tensor"):
            tl.add(*operands)


def test_a_condition_with_the_strides_of_the_result_and_none_of_its_padding():
    layout = tl.Layout.parse("(2,):(1,) padded=(4,) padding=ONE")
    c, x = (tl.asarray([True, False], dtype=t) for t in ("bool", "float32"))
    x = tl.to_layout(x, layout)
    result = tl.where(c, x, x)
    assert result.layout == layout
    same(result, np.array([1, 0], np.float32))
    assert (padding_of(result) == 1).all()


def test_subclasses_of_python_numbers():
    class Whole(int):
        pass

    x = tl.ones((2,), dtype=tl.int8)
    same(x + Whole(2), np.array([3, 3], np.int8))
    same(Whole(2) - x, np.array([1, 1], np.int8))


def test_results_in_place_that_have_another_shape():
    row = tl.ones((1, 3))  # a shape that sorts before that of the result
    with pytest.raises(ValueError, match=r"add: a result of shape \(4, 3\) does not fit \(1, 3\)"):
        row += tl.ones((4, 3))
    x, y = tl.ones((3,)), tl.ones((1,))
    with pytest.raises(ValueError, match="does not fit"):
        y += x
    x += y
    same(x, np.full(3, 2.0))


@pytest.mark.cpu
def test_parts_of_real_numbers():
    x = tl.ones((2, 3), layout="(2,3):(1,2)+4")
    assert tl.real(x).layout == x.layout
    assert tl.imag(x).layout == x.layout.form


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_remainders_are_less_than_the_divisor(dtype):
    limits = tl.finfo(as_dtype(dtype))
    sizes = [float(limits.smallest_normal), float(limits.eps), 0.1, 1 / 3, 1.0, 7.5]
    values = tl.asarray([n * sign for n in sizes for sign in (1, -1)], dtype=as_dtype(dtype))
    near = tl.nextafter(values, tl.zeros_like(values))
    line = tl.concat([values, near, values - near])  # differences, too, of one unit
    x, y, result = (
        host(tl.astype(item, tl.float64)).ravel().tolist()
        for item in (*tl.broadcast_arrays(line[:, None], line), line[:, None] % line)
    )
    for a, b, rest in zip(x, y, result, strict=True):
        exact = Fraction(a) % Fraction(b)
        assert abs(rest) < abs(b), f"{a} % {b} is {rest}"
        assert math.copysign(1, rest) == math.copysign(1, b), f"{a} % {b} is {rest}"
        assert abs(Fraction(rest) - exact) <= Fraction(float(limits.eps)) * abs(exact)


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
