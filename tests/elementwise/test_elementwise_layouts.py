"""The layout of elementwise results, and their padding, which stays true."""

import numpy as np
import pytest
from tensors import as_dtype, host, same, slots, tensor_in

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def tensor(text, dtype="float32"):
    layout = tl.Layout.parse(text)
    return tensor_in(layout, slots(as_dtype(dtype), layout.required_size))[0]


def padded(value):
    return f"(2,3):(5,1) padded=(2,5) padding={value}"


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        # one form, the padding of the first
        (padded("ZERO"), padded("ONE"), padded("ZERO")),
        (padded("ONE"), padded("ZERO"), padded("ONE")),
        ("(2,3):(5,1) padded=(2,5)", padded("ONE"), "(2,3):(5,1) padded=(2,5)"),
        (padded("ONE"), "(2,3):(5,1) padded=(2,5)", padded("ONE")),
        (padded("ONE"), "(2,3):(5,-1)+2 padded=(2,5) padding=ZERO", padded("ONE")),
        # several forms: packed in the order of the first
        ("(2,3):(3,1)", "(2,3):(1,2)", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "(2,3):(3,1)", "(2,3):(1,2)"),
        (padded("ZERO"), "(2,3):(3,1)", "(2,3):(3,1)"),
        (padded("ZERO"), "(2,3):(8,1) padded=(2,8) padding=ZERO", "(2,3):(3,1)"),
        # operands of another shape have no vote
        ("(2,3):(1,2)", "(3,):(1,)", "(2,3):(1,2)"),
        ("(3,):(1,)", "(2,3):(1,2)", "(2,3):(1,2)"),
        ("(1,3):(3,1)", padded("ONE"), padded("ONE")),
        ("(3,1):(1,1)", "(2,3,4):(1,2,6)", "(2,3,4):(1,2,6)"),
        # nobody votes
        ("(2,1):(1,2)", "(1,3):(1,1)", "(2,3):(3,1)"),
        ("(3,1):(1,3)", "(2,1,4):(1,8,2)", "(2,3,4):(12,4,1)"),
        # size 1 and size 0
        ("(1,1):(1,1) order=(0,1)", "():()", "(1,1):(1,1) order=(0,1)"),
        ("(0,1):(1,1)", "(1,3):(1,1)", "(0,3):(3,1)"),
    ],
)
def test_two_operands_vote(first, second, result):
    x, y = tensor(first), tensor(second)
    assert str((x + y).layout) == result
    assert str(tl.less(x, y).layout) == result
    assert str(tl.where(tl.asarray(True), x, y).layout) == result
    assert str(tl.clip(x, y).layout) == result
    assert str(tl.clip(x, 0.0, y).layout) == result


@pytest.mark.parametrize(
    ("condition", "first", "second", "result"),
    [
        ("(2,3):(1,2)", "(2,3):(3,1)", "():()", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "(2,3):(3,1)", "(2,3):(1,2)", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "(2,1):(1,1)", "(1,3):(1,1)", "(2,3):(1,2)"),
        (padded("ONE"), "():()", "():()", padded("ONE")),
        ("(3,):(1,)", "(2,1):(1,1)", "():()", "(2,3):(3,1)"),
        # the strides of the result, but none of its padding
        (
            "(2,):(1,)",
            "(2,):(1,) padded=(4,) padding=ONE",
            None,
            "(2,):(1,) padded=(4,) padding=ONE",
        ),
    ],
)
def test_the_condition_of_where_votes_last(condition, first, second, result):
    c, x, y = tensor(condition, "bool"), tensor(first), tensor(second or first)
    chosen = tl.where(c, x, y)
    assert str(chosen.layout) == result
    same(chosen, np.where(host(c), host(x), host(y)))
    if first == second == "():()":
        assert str(tl.where(c, 1.0, 2.0).layout) == result


@pytest.mark.cpu
def test_padding_goes_with_a_dtype_that_can_hold_it():
    def value_of(value, function):
        layout = tl.Layout.padded((2,), (4,), padding_value=value)
        return function(tl.ones((2,), dtype=tl.float32, layout=layout)).layout.padding_value

    values = tl.PaddingValue
    pattern = tl.BitPattern(0x3F800000, "float32")
    assert value_of(values.LOWEST, tl.isnan) is values.LOWEST
    assert value_of(values.LOWEST, lambda x: x * 1j) is values.UNSPECIFIED
    assert value_of(values.ONE, lambda x: x * 1j) is values.ONE
    assert value_of(pattern, tl.exp) == pattern
    assert value_of(pattern, tl.isnan) is values.UNSPECIFIED
    assert value_of(pattern, lambda x: x + np.float64(1)) is values.UNSPECIFIED
