"""`Tensor` itself: attributes, conversions, text; numbers print all their digits."""

import inspect

import ml_dtypes
import numpy as np
import pytest

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_attributes_of_a_permuted_tensor():
    x = tl.zeros((2, 3, 4), dtype=tl.int16, layout="HWC")
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3, 4), 3, 24, np.dtype("int16"))
    assert (x.strides, x.itemsize, x.nbytes, x.device) == ((1, 8, 2), 2, 48, tl.default_device())
    assert x.layout is tl.Layout.packed((2, 3, 4), (0, 2, 1))
    assert x.readonly is False


COLUMN_MAJOR = """Tensor([[1, 2],
        [3, 4]], dtype=int8, device='cpu', layout='F')"""


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tl.asarray([1, 2]), "Tensor([1, 2], dtype=int64, device='cpu')"),
        (lambda: tl.asarray(2.5, dtype=tl.float32), "Tensor(2.5, dtype=float32, device='cpu')"),
        (lambda: tl.zeros((0, 3)), "Tensor([], shape=(0, 3), dtype=float64, device='cpu')"),
        (
            lambda: tl.asarray([1.5, 2], dtype="bfloat16"),
            "Tensor([1.5, 2. ], dtype=bfloat16, device='cpu')",
        ),
        (lambda: tl.asarray([[1, 2], [3, 4]], dtype=tl.int8, layout="WH"), COLUMN_MAJOR),
    ],
    ids=["row-major", "rank 0", "size 0", "bfloat16", "column-major"],
)
def test_repr_shows_values_dtype_device_and_any_unusual_layout(make, text):
    assert repr(make()) == text.replace("'cpu'", f"'{tl.default_device()}'")


def test_large_tensors_show_their_edges_only():
    text = repr(tl.zeros((1000, 1000)))
    assert text.count("0.") == 36
    assert "..." in text


def test_str_and_format():
    assert str(tl.asarray([1, 2])) == "[1, 2]"
    assert f"{tl.asarray(3.14159):.3g}" == "3.14"
    assert f"{tl.asarray([1])}" == "[1]"


def test_len_iteration_membership_and_the_same_device():
    x = tl.reshape(tl.arange(6), (3, 2))
    assert len(x) == 3
    assert [list(map(int, row)) for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert 5 in x
    assert 6 not in x
    assert x.to_device(x.device) is x


def test_the_namespace_is_the_module_itself():
    x = tl.zeros(())
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is tl


def test_comparisons_with_other_things_are_pythons_own():
    x = tl.zeros(3)
    assert (x == None) is False  # noqa: E711 - this is what is tested
    assert (x != "a") is True
    with pytest.raises(TypeError):
        x < "a"  # noqa: B015 - raises


def test_methods_keep_signatures():
    assert str(inspect.signature(tl.Tensor.__add__)) == "(self: 'Tensor', other: 'Any', /) -> 'Any'"
    assert list(inspect.signature(tl.Tensor.to_device).parameters) == ["self", "device", "stream"]
    assert tl.Tensor.__radd__.__name__ == "__radd__"


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
