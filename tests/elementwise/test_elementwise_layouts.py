"""The layout of elementwise results, and their padding, which stays true."""

import numpy as np
import pytest
from tensors import (
    BFLOAT16,
    as_dtype,
    host,
    padding_of,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl
from tensorlayout.cpu.engine.memory import storage_of

pytestmark = pytest.mark.usefixtures("device")

V = tl.PaddingValue


def tensor(text, dtype="float32"):
    layout = tl.Layout.parse(text)
    return tensor_in(layout, slots(as_dtype(dtype), layout.required_size))[0]


# --- layout ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operand", "result"),
    [
        ("(2,3):(3,1)", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "(2,3):(1,2)"),
        ("(2,3,4):(1,8,2)", "(2,3,4):(1,8,2)"),
        ("(2,3):(3,1)+7", "(2,3):(3,1)"),
        ("(2,3):(5,1) padded=(2,5) padding=ZERO", "(2,3):(5,1) padded=(2,5) padding=ZERO"),
        ("(2,3):(1,3)+4 padded=(3,5)", "(2,3):(1,3) padded=(3,5)"),
        ("(2,3):(-3,1)+3", "(2,3):(3,1)"),
        ("(2,3):(-1,-2)+5", "(2,3):(1,2)"),
        ("(2,3):(-5,1)+5 padded=(2,5) padding=ONE", "(2,3):(5,1) padded=(2,5) padding=ONE"),
        ("(2,3):(5,1)", "(2,3):(3,1)"),
        ("(2,3):(2,10)", "(2,3):(1,2)"),
        ("(2,3):(0,1)", "(2,3):(3,1)"),
        ("(2,3):(1,0)", "(2,3):(3,1)"),
        ("(2,3):(0,1) order=(0,1)", "(2,3):(1,2)"),
        ("(4,3):(1,1)", "(4,3):(3,1)"),
        ("(1,3):(1,1) order=(0,1)", "(1,3):(1,1) order=(0,1)"),
        ("(1,3):(9,1)", "(1,3):(3,1)"),
        ("(2,0):(0,1)", "(2,0):(1,1)"),
        ("(0,3):(3,1) padded=(2,3) padding=ONE", "(0,3):(3,1) padded=(2,3) padding=ONE"),
        ("():()+3", "():()"),
    ],
)
def test_one_operand_gives_its_form(operand, result):
    x = tensor(operand)
    for y in (tl.exp(x), tl.isnan(x), x + 1, 1 - x, x * np.float32(2), x + x, tl.clip(x, 0, 1)):
        assert str(y.layout) == result


def padded(value):
    return f"(2,3):(5,1) padded=(2,5) padding={value}"


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        # one form
        ("(2,3):(1,2)", "(2,3):(1,2)", "(2,3):(1,2)"),
        ("(2,3):(1,2)", "(2,3):(-1,-2)+5", "(2,3):(1,2)"),
        ("(2,3):(1,2)", "(2,3):(2,10)", "(2,3):(1,2)"),
        (padded("ZERO"), padded("ZERO"), padded("ZERO")),
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
        ("(2,3):(1,2)", padded("ZERO"), "(2,3):(1,2)"),
        (padded("ZERO"), "(2,3):(8,1) padded=(2,8) padding=ZERO", "(2,3):(3,1)"),
        ("(2,3):(1,3) padded=(3,3)", "(2,3):(1,2)", "(2,3):(1,2)"),
        ("(2,3):(0,1)", "(2,3):(1,2)", "(2,3):(3,1)"),
        # operands of another shape have no vote
        ("(2,3):(1,2)", "(3,):(1,)", "(2,3):(1,2)"),
        ("(3,):(1,)", "(2,3):(1,2)", "(2,3):(1,2)"),
        ("():()", padded("ONE"), padded("ONE")),
        ("(1,3):(3,1)", padded("ONE"), padded("ONE")),
        ("(2,1):(1,1)", "(2,3,4):(1,2,6)", "no broadcast"),
        ("(3,1):(1,1)", "(2,3,4):(1,2,6)", "(2,3,4):(1,2,6)"),
        # nobody votes
        ("(2,1):(1,2)", "(1,3):(1,1)", "(2,3):(3,1)"),
        ("(3,1):(1,3)", "(2,1,4):(1,8,2)", "(2,3,4):(12,4,1)"),
        ("(4,1):(1,1) padded=(5,1) padding=ONE", "(2,):(1,)", "(4,2):(2,1)"),
        # size 1 and size 0
        ("(1,1):(1,1) order=(0,1)", "():()", "(1,1):(1,1) order=(0,1)"),
        ("(0,3):(1,1)", "(3,):(1,)", "(0,3):(3,1)"),
        ("(0,1):(1,1)", "(1,3):(1,1)", "(0,3):(3,1)"),
    ],
)
def test_two_operands_vote(first, second, result):
    x, y = tensor(first), tensor(second)
    if result == "no broadcast":
        with pytest.raises(ValueError, match="could not be broadcast"):
            x + y
        return
    assert str((x + y).layout) == result
    assert str(tl.less(x, y).layout) == result
    assert str(tl.where(tl.asarray(True), x, y).layout) == result
    assert str(tl.clip(x, y).layout) == result
    assert str(tl.clip(x, 0.0, y).layout) == result


@pytest.mark.parametrize(
    ("condition", "first", "second", "result"),
    [
        ("(2,3):(1,2)", "(2,3):(3,1)", "(2,3):(3,1)", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "(2,3):(3,1)", "():()", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "():()", "(2,3):(3,1)", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "(2,3):(3,1)", "(2,3):(1,2)", "(2,3):(3,1)"),
        ("(2,3):(1,2)", "():()", "(3,):(1,)", "(2,3):(1,2)"),
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


def test_padding_goes_with_a_dtype_that_can_hold_it():
    def layout_of(value, function, dtype="float32"):
        x = tl.ones((2,), dtype=dtype, layout=tl.Layout.padded((2,), (4,), padding_value=value))
        return function(x).layout.padding_value

    def as_complex(x):
        return x * 1j

    pattern = tl.BitPattern(0x3F800000, "float32")
    assert layout_of(V.LOWEST, tl.isnan) is V.LOWEST
    assert layout_of(V.HIGHEST, lambda x: x / 2, "int8") is V.HIGHEST
    assert layout_of(V.LOWEST, as_complex) is V.UNSPECIFIED
    assert layout_of(V.ONE, as_complex) is V.ONE
    assert layout_of(pattern, tl.exp) == pattern
    assert layout_of(pattern, tl.isnan) is V.UNSPECIFIED
    assert layout_of(pattern, lambda x: x + np.float64(1)) is V.UNSPECIFIED
    assert layout_of(pattern, as_complex) is V.UNSPECIFIED


def test_results_start_at_slot_0_of_storage_of_their_own():
    x = tensor("(2,3):(3,1)+100")
    y = tl.exp(x)
    assert y.layout.offset == 0
    storage = storage_of(y) if y.device == "cpu" else y._home[0]
    assert storage.nbytes == 24


def test_padding_is_read_in_the_dtype_of_the_result():
    layout = tl.Layout.padded((2,), (4,), padding_value=V.LOWEST)
    x = tl.asarray([3, -4], dtype=tl.int8, layout=layout)
    for result, dtype, value in [
        (x, tl.int8, -128),
        (x / 2, tl.float64, -np.inf),
        (x > 0, tl.bool, False),
        (x * tl.asarray(2, dtype=tl.int32), tl.int32, -(2**31)),
        (tl.astype(x, tl.uint8), tl.uint8, 0),
        (tl.astype(x, tl.bfloat16), BFLOAT16, -np.inf),
    ]:
        assert padding_of(result).tobytes() == np.full(2, value, dtype).tobytes()
