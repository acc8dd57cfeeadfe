"""`fuse`: what a function is called with, how often it is traced, and what is refused.

Results in every layout and dtype, beside those of the same function unfused, are drawn in tests/ops
(`fuse_cases`). What depends on tracing alone is tried on the CPU.
"""

import dataclasses
import enum
import inspect
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from identical import identical
from tensors import asarray, host

import tensorlayout as tl
from tensorlayout.functions import dispatch

on_every_device = pytest.mark.usefixtures("device")

X = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -8.0]], np.float32)
CHANNELS = np.array([1.0, 2.0, 4.0], np.float32)


def x():
    return asarray(X.copy())


def normalise(x, mean, std=2.0):
    return (x - mean) / std


# --- what comes of it --------------------------------------------------------------------------


def test_numbers_are_worked_out_at_each_call():
    mixed = tl.fuse(lambda x, t: x * (1 - t) + t**2)
    for t in (0.25, 0.5, 2.0):
        np.testing.assert_array_equal(host(mixed(x(), t)), X * np.float32(1 - t) + np.float32(t**2))


def test_a_numpy_scalar_is_a_tensor_of_rank_0():
    for function in (lambda x, s: x * s, lambda x, s: (x * s) + s):
        result = tl.fuse(function)(asarray(np.array([1, 2], np.int8)), np.float64(0.5))
        assert result.dtype == tl.float64


def test_out():
    out = tl.zeros((2, 3), dtype=tl.float32, layout=(0, 1))
    assert tl.fuse(normalise)(x(), 1.0, out=out) is out
    np.testing.assert_array_equal(host(out), (X - 1) / 2)
    assert str(out.layout) == "(2,3):(1,2)"
    a = x()
    tl.fuse(lambda x: x.T.T * 2 + x[::-1])(a, out=a)  # the reversed one is copied first
    np.testing.assert_array_equal(host(a), X * 2 + X[::-1])
    total = tl.zeros((), dtype=tl.float32)
    tl.fuse(lambda x: (x * 2).sum())(x(), out=total)
    assert float(total) == 2 * X.sum()


@on_every_device
def test_a_function_that_gives_an_argument():
    same, turned = tl.fuse(lambda x: x), tl.fuse(lambda x: x[::-1, ::-1])
    a = x()
    assert same(a) is a
    assert turned(a).layout == a[::-1, ::-1].layout
    out = tl.zeros_like(a)
    assert same(x(), out=out) is out
    np.testing.assert_array_equal(host(out), X)
    a = x()
    assert turned(a, out=a) is a  # whose own memory is read
    np.testing.assert_array_equal(host(a), X[::-1, ::-1])
    with pytest.raises(ValueError, match=r"does not fit \(2, 2, 3\)"):
        same(x(), out=tl.zeros((2, 2, 3), dtype=tl.float32))
    with pytest.raises(TypeError, match="has dtype float32, which is not the int8"):
        same(x(), out=tl.zeros((2, 3), dtype=tl.int8))


def test_out_that_does_not_fit():
    for out, message in [
        (tl.zeros((3, 2), dtype=tl.float32), r"a result of shape \(2, 3\) does not fit"),
        (tl.zeros((2, 3), dtype=tl.float64), "the result has dtype float32"),
        (3, "out must be a tensor, got int"),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"^normalise: {message}"):
            tl.fuse(normalise)(x(), 1.0, out=out)


def test_keywords_and_defaults():
    fused = tl.fuse(normalise)
    expected = (X - 1) / 4
    for _ in range(2):  # the second calls are shorter ones
        for item in (
            fused(x(), 1.0, 4.0),
            fused(x(), mean=1.0, std=4.0),
            fused(x(), std=4.0, mean=1.0),
        ):
            np.testing.assert_array_equal(host(item), expected)
    np.testing.assert_array_equal(host(fused(x(), 1.0)), (X - 1) / 2)
    assert fused.__name__ == "normalise"
    assert inspect.signature(fused) == inspect.signature(normalise)


# --- how often ---------------------------------------------------------------------------------


def test_traced_once_for_each_kind_of_arguments():
    seen = []

    @tl.fuse(static="axis")
    def function(x, s, relu=False, axis=None):
        seen.append((x.shape, axis))
        y = x * s
        return (tl.where(y > 0, y, 0.0) if relu else y + 0).sum(axis=axis)

    a, b = x(), asarray(np.float32([[1, 2, 3]]))
    for s in (2.0, 3.0, -4.0):
        assert float(function(a, s)) == s * X.sum()
        assert float(function(b, s)) == s * 6
    assert len(seen) == 2
    function(a, 2)  # an int
    function(a[:, :2], 2.0)  # another layout
    assert len(seen) == 4
    assert float(function(a, 2.0, True)) == 2 * X[X > 0].sum()
    assert function(a, 2.0, axis=0).shape == (3,)
    assert function(a, 2.0, axis=1).shape == (2,)
    assert len(seen) == 7
    function(a, 5.0, axis=1)
    function(a, 5.0, True)
    assert len(seen) == 7
    assert not dispatch.watched


def test_many_kinds_do_not_pile_up():
    seen = []
    fused = tl.fuse(lambda x: seen.append(x.shape) or x + 1 - 2)
    for n in range(300):
        assert fused(tl.zeros(n)).shape == (n,)
    fused(tl.zeros(0))
    assert len(seen) == 301


def test_static_numbers_of_two_kinds():
    fused = tl.fuse(lambda x, s: x * 1 * s, static="s")
    whole = asarray(np.array([1, 2]))
    assert [fused(whole, s).dtype for s in (2, 2.0, 2)] == [tl.int64, tl.float64, tl.int64]


def test_fused_in_fused():
    seen = []

    @tl.fuse
    def square(x):
        seen.append(1)
        return x * x

    outer = tl.fuse(lambda x, s: square(x * s) - square(x))
    a = x()
    with tl.trace() as trace:
        result = outer(a, 2.0)
    np.testing.assert_array_equal(host(result), 4 * X * X - X * X)
    assert len(seen) == 2  # the tracing of `outer`, which calls it twice
    (record,) = trace.records
    assert record.parts == ("multiply", "multiply", "multiply", "subtract")


def test_a_trace_shows_one_call_with_its_parts():
    a, c, out = x(), asarray(CHANNELS), tl.zeros((2, 3), dtype=tl.float32)
    fused = tl.fuse(normalise)
    with tl.trace() as trace:
        fused(a, c)
        fused(a, 1.0, out=out)
        tl.fuse(lambda x: (x + 1).sum())(a)
    first, second, third = trace.records
    assert (first.name, first.kind, first.parts) == ("normalise", "compute", ("subtract", "divide"))
    assert (first.bytes_read, first.bytes_written) == (24 + 12, 24)
    assert first.output == a.layout
    assert second.parts == first.parts
    assert (second.bytes_read, second.bytes_written) == (24, 24)
    assert third.parts == ("add", "sum")
    assert (third.bytes_read, third.bytes_written) == (24, 4)
    assert "normalise(subtract, divide)  compute" in str(trace)


# --- what is refused ---------------------------------------------------------------------------

ELSEWHERE = np.float32([1, 2, 3])


@on_every_device
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x if x.sum() > 0 else -x, "greater: a reduction must be the last step"),
        (lambda x: x if (x > 0) else -x, "the data of a tensor is not known .*bool"),
        (lambda x: x * x[:1, 0].item(), "the data of a tensor is not known"),
        (lambda x: x + np.asarray(x), "the data of a tensor is not known|sees no memory of cuda"),
        (lambda x: f"{x + 1}", "the data of a tensor is not known"),
        (lambda x: tl.sort(x), "sort: cannot be part of the fused function"),
        (lambda x: x[x > 0], "__getitem__: cannot be part of the fused function"),
        (lambda x: x @ x.T, "matmul: cannot be part of the fused function"),
        (lambda x: tl.cumulative_sum(x + 1, axis=0), "cumulative_sum: cannot be part of the fused"),
        (lambda x: (x + 1).T, "T: .* may take views of its arguments, not of what"),
        (lambda x: x + asarray(ELSEWHERE), "add: .* a tensor that is no argument .*; pass the"),
        (lambda x: x - x.mean(), "subtract: a reduction must be the last step"),
        (lambda x: x.sum().sum(), "sum: a reduction must be the last step"),
        (lambda x: x.__iadd__(1), "add: .* writes into no argument; call it with out="),
        (lambda x: x.__iadd__(x.astype(tl.float64)), "add: .* writes into no argument"),
        (lambda x: x.__setitem__(0, 1), "__setitem__: cannot be part of the fused function"),
        (lambda x: (x + 1, x), "must return one tensor, made of its arguments, got"),
        (lambda x: None, "must return one tensor, made of its arguments, got None"),
        (lambda x: asarray(ELSEWHERE), "must return one tensor, made of its arguments, got"),
        (lambda x: tl.add(x, 1, out=x), "add"),
    ],
)
def test_refusals(function, said):
    with pytest.raises(TypeError, match=said):
        tl.fuse(function)(x())
    assert not dispatch.watched  # nothing half recorded stays
    identical(tl.add(x(), 1), x() + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: x if s > 0 else -x,
        lambda x, s: x if s else -x,
        lambda x, s: x * float(s),
        lambda x, s: x[int(s)],
        lambda x, s: x * max(s, 1.0),
        lambda x, s: x * {2: 5.0}.get(s, 1.0),
        lambda x, s: x if f"{s}" == "2.0" else -x,
    ],
)
def test_numbers_decide_nothing(function):
    said = r"the value of a number is not known .*; name its argument in static=, or use where"
    with pytest.raises(TypeError, match=said):
        tl.fuse(function)(x(), 2.0)


def test_arithmetic_that_changes_its_kind():
    fused = tl.fuse(lambda x, n: x * 2**n + 0)
    np.testing.assert_array_equal(host(fused(x(), 3)), X * 8)
    with pytest.raises(TypeError, match="pow of numbers gave float where it was traced as int"):
        fused(x(), -1)


def test_a_power_of_a_number_below_0_is_a_float():
    np.testing.assert_array_equal(host(tl.fuse(lambda x, n: x * n**-1)(x(), 2)), X / 2)


def test_a_number_and_a_result_on_the_way_as_out():
    fused = tl.fuse(lambda x, n: tl.add(x, n, out=x * 1))
    np.testing.assert_array_equal(host(fused(x(), 2.0)), X + 2)
    np.testing.assert_array_equal(host(fused(x(), 3.0)), X + 3)


def test_numbers_say_what_they_are():
    fused = tl.fuse(lambda x, n: (x + 1 if isinstance(n, int) else x - 1) * n)
    np.testing.assert_array_equal(host(fused(x(), 2)), (X + 1) * 2)
    np.testing.assert_array_equal(host(fused(x(), 2.0)), (X - 1) * 2)


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass(frozen=True)
class Options:
    scale: Any


@dataclasses.dataclass(eq=False)
class Changing:
    scale: Any


class Kind(enum.IntEnum):
    ONE = 1


def holding(scale):
    result = Options(1.0)
    object.__setattr__(result, "more", scale)
    return result


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Changing([2, {"a": 0.0}]), Changing([2, {"a": -0.0}])),
        (Changing({2}), Changing({2.0})),
        (holding(0.0), holding(-0.0)),
        (Changing(slice(0, 2)), Changing(slice(0, 2.0))),
        (Kind.ONE, 1),
        (np.dtype(">f4"), np.dtype("<f4")),
        (Fraction(1), Decimal(1)),
    ],
)
def test_equal_values_are_not_the_same(first, second):
    """Numbers, tuples, sets and frozen dataclasses: tests/ops, "fused by value"."""
    seen = []
    fused = tl.fuse(lambda x, value: seen.append(value) or x + 1, static="value")
    for value in (first, second, first):
        fused(x(), value)
    assert [repr(value) for value in seen] == [repr(first), repr(second)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Changing((2.0, [1, {"a": slice(0, 2)}], {1})),
        lambda: Options((2.0, frozenset({1}), range(3))),
        lambda: Pair(np.float32(2), np.dtype("f4")),
        lambda: tl.Layout.row_major((2, 3)),
        lambda: tl.Layout.tiled((4, 6), [(2, 2)]),
        lambda: tl.asarray(1).device,
        lambda: Kind.ONE,
        lambda: str.upper,
    ],
)
def test_the_same_values_are_traced_once(make):
    seen = []
    fused = tl.fuse(lambda x, value: seen.append(value) or x + 1)
    fused(x(), make())
    fused(x(), make())
    assert len(seen) == 1


def test_what_contains_itself():
    loop = Changing(None)
    loop.scale = [loop]
    np.testing.assert_array_equal(host(tl.fuse(lambda x, value: x + 1)(x(), loop)), X + 1)


def test_objects_are_compared_by_identity_while_they_live():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __eq__(self, other):
            return True

        __hash__ = lambda self: 1  # noqa: E731

    fused = tl.fuse(lambda x, scale: x * scale.by + 0)
    for by in range(20):  # each but the first where the one before would have been
        np.testing.assert_array_equal(host(fused(x(), Scale(by))), X * by)


def test_scalars_and_classes_of_numpy_by_value():
    total = tl.fuse(lambda x, axis: tl.sum(x * 2, axis=axis), static="axis")
    np.testing.assert_array_equal(host(total(x(), np.int64(1))), X.sum(1) * 2)
    converted = tl.fuse(lambda x, dtype: x.astype(dtype) * 2)
    assert converted(x(), np.float64).dtype == tl.float64


def test_static_numbers_decide():
    fused = tl.fuse(lambda x, s: x + 1 if s > 0 else x - 1, static=["s"])
    np.testing.assert_array_equal(host(fused(x(), 2)), X + 1)
    np.testing.assert_array_equal(host(fused(x(), -2)), X - 1)
    np.testing.assert_array_equal(host(fused(x(), s=-2)), X - 1)


def test_arguments_of_other_kinds():
    fused = tl.fuse(lambda x, y: x + y)
    with pytest.raises(TypeError, match=r"make it a tensor with asarray\(\) first"):
        fused(x(), np.ones(3, ">f8"))
    with pytest.raises(TypeError, match="must be tensors, numbers or values that can be hashed"):
        fused(x(), [1, 2])
    with pytest.raises(TypeError, match=r"^[\w.<>]*<lambda>\(\) missing 1 required .*: 'y'"):
        fused(x())
    with pytest.raises(TypeError, match="fuse: must be called with a function, got 3"):
        tl.fuse(3)
    with pytest.raises(ValueError, match="fuse: the function must not take out= itself"):
        tl.fuse(lambda x, out: x)
    with pytest.raises(ValueError, match=r"fuse: static must name arguments .*, got 'z'"):
        tl.fuse(lambda x: x, static="z")


def test_errors_are_those_of_the_parts():
    with pytest.raises(ValueError, match=r"add: shape mismatch: .* \(2, 3\), \(2,\)"):
        tl.fuse(lambda x, y: (x + y) * 2)(x(), tl.zeros(2))
    with pytest.raises(TypeError, match="bitwise_and: only integer or boolean dtypes"):
        tl.fuse(lambda x: (x & x) + 1)(x())
    small = asarray(np.int8([1, 2]))
    for function in (lambda x, n: x * 2 + n, lambda x, n: (x + n).sum()):
        with pytest.raises(
            OverflowError, match="Python integer 300 out of bounds for int8, -128 to 127"
        ):
            tl.fuse(function)(small, 300)


def test_an_error_of_the_function_itself():
    def function(x):
        y = x + 1
        raise KeyError(y.shape)

    fused = tl.fuse(function)
    for _ in range(2):
        with pytest.raises(KeyError):
            fused(x())
    assert not dispatch.watched


def test_a_symbol_that_got_out():
    kept = []
    tl.fuse(lambda x: kept.append(x) or x + 1)(x())
    with pytest.raises(TypeError, match="the data of a tensor is not known"):
        kept[0] + 1
    with pytest.raises(TypeError, match="a tensor that is no argument of <lambda>"):
        tl.fuse(lambda x: x * kept[0])(x())
    with pytest.raises(TypeError, match="the data of a tensor is not known"):
        print(kept[0])
