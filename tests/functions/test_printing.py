"""How numbers print: tensors of rank 0, with all their digits, on every device."""

import ml_dtypes
import numpy as np
import pytest

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize(
    ("number", "dtype", "text"),
    [
        (0.1 + 0.2, "float64", "0.30000000000000004"),
        (1e20, "float64", "1e+20"),
        (-0.0, "float64", "-0.0"),
        (float("-inf"), "float32", "-inf"),
        (np.pi, "float32", "3.1415927"),
        (1 / 3, "float32", "0.33333334"),
        (1 / 3, "float16", "0.3333"),
        (0.1, "bfloat16", "0.1"),
        (1 / 3, "bfloat16", "0.334"),
        (257.0, "bfloat16", "256.0"),
        (3.3895e38, "bfloat16", "3.39e+38"),
        (float("nan"), "bfloat16", "nan"),
        (0.1 + 0.2j, "complex128", "(0.1+0.2j)"),
        (1 / 3 - 2j, "complex64", "(0.33333334-2j)"),
        (2**64 - 1, "uint64", "18446744073709551615"),
    ],
)
def test_rank_0_keeps_all_digits(number, dtype, text):
    x = tl.asarray(number, dtype=getattr(tl, dtype))
    assert str(x) == f"{x}" == text
    assert repr(x) == f"Tensor({text}, dtype={dtype}, device='{tl.default_device()}')"


def test_print_options_do_not_cut_numbers():
    with np.printoptions(precision=2):
        assert str(tl.asarray(1 / 3)) == "0.3333333333333333"


def test_a_number_amid_a_storage():
    x = tl.asarray([[0.1, 1 / 3], [1.0, 2.0]])
    assert str(x[0, 1]) == "0.3333333333333333"
    tiled = tl.to_layout(x, "{1,0:T(2,2)}")
    assert str(tl.sum(tiled)) == "3.4333333333333336"


def test_formats_are_those_of_the_number():
    x = tl.asarray(1 / 3)
    assert f"{x:.3f}" == "0.333"
    assert f"{tl.asarray(0.1, dtype=tl.bfloat16):.6f}" == "0.100098"


@pytest.mark.cpu
def test_every_bfloat16_reads_back_from_at_most_four_digits():
    for number in np.arange(0, 0x7F80, 7, dtype=np.uint16).view(ml_dtypes.bfloat16):
        text = str(tl.asarray(number))
        assert ml_dtypes.bfloat16(float(text)) == number
        assert len(text.partition("e")[0].replace(".", "").strip("0")) <= 4
