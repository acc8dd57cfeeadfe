"""The layout of elementwise results, and their padding, which stays true."""

import numpy as np
import pytest
from tensors import (
    as_dtype,
    host,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def tensor(text, dtype="float32"):
    layout = tl.Layout.parse(text)
    return tensor_in(layout, slots(as_dtype(dtype), layout.required_size))[0]


# --- layout ------------------------------------------------------------------------------------


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
