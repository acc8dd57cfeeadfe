"""Keywords of NumPy in functions of the namespace: out, where, casting, dtype, initial."""

import math

import numpy as np
import pytest
from tensors import asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def x():
    return asarray(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_out_of_elementwise_functions():
    for out in (
        tl.zeros((2, 3)),
        tl.zeros((2, 3), layout=(0, 1)),
        tl.zeros((2, 3), dtype="float32"),
    ):
        assert tl.add(x(), x(), out=out) is out
        np.testing.assert_array_equal(host(out), [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]])
    a = x()
    assert tl.exp(a, (a,)[0]) is a
    assert tl.add(a, 1, out=(a,)) is a


@pytest.mark.cpu
def test_an_array_given_as_out_is_returned():
    out, line = np.zeros((2, 3)), np.zeros(3)
    assert tl.add(x(), x(), out=out) is out
    assert x().sum(0, out=line) is line
    np.testing.assert_array_equal(line, [5.0, 7.0, 9.0])


def test_where_of_elementwise_functions():
    a = x()
    same(tl.negative(a, where=a > 3), np.array([[0.0, 0.0, 0.0], [-4.0, -5.0, -6.0]]))
    out = tl.ones((2, 3))
    tl.negative(a, out=out, where=a > 3)
    same(out, np.array([[1.0, 1.0, 1.0], [-4.0, -5.0, -6.0]]))
    for mask in (a, 1, [[1.0, 0.0, 1.0]]):
        with pytest.raises(TypeError, match="negative: where must be of bool"):
            tl.negative(a, where=mask)


def test_casting_and_dtype_of_elementwise_functions():
    a, i = x(), asarray(np.array([1, 2, 3]))
    assert tl.add(a, a, dtype=tl.float32).dtype == tl.float32
    same(tl.equal(i, i, dtype=tl.bool), np.array([True, True, True]))
    calls = {
        "casting must be one of": lambda: tl.exp(a, casting="bad"),
        "int64 cannot become float64 by the rule 'no'": lambda: tl.add(a, i, casting="no"),
        "float64 cannot become int8 by the rule 'same_kind'": lambda: tl.add(a, 1, dtype=tl.int8),
        "gives bool, not float32": lambda: tl.equal(a, a, dtype=tl.float32),
    }
    for words, call in calls.items():
        with pytest.raises((TypeError, ValueError), match=words):
            call()


def test_keywords_are_not_taken_by_position():
    a, out = x(), tl.zeros((2, 3))
    for call in (lambda: tl.add(a, a, out, a), lambda: tl.exp(a, out, a), lambda: tl.exp(a, foo=1)):
        with pytest.raises(TypeError, match=r"(add|exp)\(\) "):
            call()
    same(a, host(x()))
    same(out, np.zeros((2, 3)))


def test_initial_is_one_number():
    for name in ("sum", "prod", "max", "min", "nansum", "nanmax"):
        with pytest.raises(ValueError, match=f"^{name}: initial must be one number"):
            getattr(tl, name)(x(), initial=[1.0, 2.0])


def test_where_and_mean_of_deviations_without_nan():
    a = asarray(np.array([1.0, math.nan, 3.0, 8.0]))
    same(tl.nanvar(a, where=a < 5), np.array(1.0))
    same(tl.nanstd(a, mean=asarray(np.array([1.0])), where=a < 5), np.array(math.sqrt(2.0)))
    assert math.isnan(float(tl.nanvar(a, where=False)))


def test_two_names_of_one_argument():
    a = asarray(np.array([[2.0, 0.0], [0.0, 1.0]]))
    calls = [
        lambda: tl.linalg.pinv(a, 0.1, rtol=0.5),
        lambda: tl.linalg.matrix_rank(a, 0.1, rtol=0.5),
        lambda: tl.sort(a, kind="stable", stable=False),
        lambda: tl.var(a, ddof=1, correction=1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"both$"):
            call()


def test_whole_powers_of_geomspace_are_exact():
    same(tl.geomspace(1, 1000, 4, dtype=tl.int64), np.array([1, 10, 100, 1000]))
    same(tl.geomspace(-1, -1000, 4), np.array([-1.0, -10.0, -100.0, -1000.0]))


def test_borders_of_integers_beyond_64_bits_and_of_either_zero():
    same(tl.pad(tl.zeros(1), 1, constant_values=2**70), np.array([2.0**70, 0.0, 2.0**70]))
    same(tl.pad(tl.ones(1), 1, constant_values=(0.0, -0.0)), np.array([0.0, 1.0, -0.0]))


def test_between_signs_geomspace_has_no_numbers():
    same(tl.geomspace(-1, 1, 3), np.array([-1.0, np.nan, 1.0]))
    same(tl.geomspace(tl.asarray([1.0, 4.0]), -1, 3)[1], np.array([np.nan, np.nan]))


def test_no_positions():
    same(asarray(np.array([1, 2, 3])).take([]), np.array([], np.int64))
