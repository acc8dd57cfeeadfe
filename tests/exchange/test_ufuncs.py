"""NumPy's universal functions on tensors: what they give on arrays is the oracle.

The table of operations (`tests/ops/numpy_cases.py`) draws calls, reductions and destinations; here
are dtypes, keywords and refusals, and the functions that the table leaves out.
"""

import itertools

import numpy as np
import pytest
from numpy_cases import OF_THE_STANDARD
from tensors import BFLOAT16, asarray, close, host, same

import tensorlayout as tl

pytestmark = [
    pytest.mark.usefixtures("device"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

EVERY = [np.dtype(name) for name in "?bhilBHILefdFD"]


def has_no_loop(ufunc, dtypes):
    """Return whether NumPy refuses these dtypes, or has a loop for dtypes that are not ours."""
    try:
        loop = ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout))
    except TypeError:
        return True
    return any(dtype.kind not in "biufc" for dtype in loop)


def numbers(dtype):
    """Return numbers at which no function is far from exact."""
    return np.array([1, 0, 1, 0, 1, 1] if dtype.kind == "b" else [1, 2, 3, 5, 2, 7], dtype)


@pytest.mark.cpu
@pytest.mark.parametrize("name", sorted(OF_THE_STANDARD))
def test_promotion_of_what_follows_the_standard(name):
    """Tensors and NumPy's scalars; of powers of integers, only the dtype is NumPy's."""
    ufunc = getattr(np, name)
    for dtypes in itertools.product(EVERY, repeat=ufunc.nin):
        first, *more = (numbers(dtype) for dtype in dtypes)
        second = [more[0][::-1].copy()] if more else []
        if has_no_loop(ufunc, dtypes):
            continue
        for operands in ([first, *second], [first, *(x[2] for x in second)]):
            expected = ufunc(*operands)
            try:
                results = ufunc(*(asarray(x) if x.ndim else x for x in operands))
            except TypeError:
                assert name == "power" or any(dtype.kind == "c" for dtype in dtypes), dtypes
                continue
            pairs = (
                [(results, expected)] if ufunc.nout == 1 else zip(results, expected, strict=True)
            )
            for one, other in pairs:
                assert one.dtype == other.dtype, dtypes
                if name != "power":
                    close(one, other, f"{name} {dtypes}", 40)


@pytest.mark.cpu
def test_ours_follow_the_standard():
    x = tl.asarray([np.inf + 0j])
    same(np.floor_divide(tl.asarray([1.0]), np.inf), host(tl.asarray([1.0]) // np.inf))
    same(np.tanh(x), host(tl.tanh(x)))


@pytest.mark.cpu
def test_bfloat16():
    x = tl.asarray([1.0, 2.0], dtype="bfloat16")
    assert np.exp(x).dtype == BFLOAT16
    assert np.add(x, tl.asarray([1.0], dtype=tl.float32)).dtype == np.float32
    assert np.add(x, 1.5, out=tl.zeros(2, dtype="bfloat16")).dtype == BFLOAT16


@pytest.mark.cpu
def test_of_others():
    special = pytest.importorskip("scipy.special", reason="optional: SciPy")
    array = np.array([0.5, 1.0])
    x, out = tl.asarray(array.copy()), tl.zeros(2)
    close(special.dawsn(x), special.dawsn(array))
    assert special.dawsn(x, out=out) is out
    close(out, special.dawsn(array))


@pytest.mark.cpu
def test_numpy_calculates_what_is_none_of_ours():
    array = np.linspace(-2, 2, 12).reshape(3, 4)
    for layout in ("(3,4):(6,1) padded=(3,6)", "{1,0:T(2,2)}"):
        x = tl.to_layout(asarray(array), layout)
        close(np.cbrt(x), np.cbrt(array))
        for one, other in zip(np.frexp(x), np.frexp(array), strict=True):
            same(one, other)
        assert np.negative(x).layout == x.layout


def test_of_others_on_a_device():
    x = tl.ones(2)
    if x.device == "cpu":
        return
    with pytest.raises(TypeError, match=r"numpy\.cbrt: not on .*use to_device\('cpu'\)"):
        np.cbrt(x)


def test_out():
    array = np.arange(6.0).reshape(2, 3)
    x = asarray(array.copy())
    for out, expected in [
        (tl.to_layout(tl.zeros((2, 3)), (0, 1)), np.zeros((2, 3))),
        (tl.zeros((2, 2, 3)), np.zeros((2, 2, 3))),
        (tl.zeros((2, 3), dtype=tl.complex128), np.zeros((2, 3), complex)),
    ]:
        layout = out.layout
        assert np.add(x, 2, out=out) is out
        same(out, np.add(array, 2, out=expected))
        assert out.layout == layout
    two = tl.zeros((2, 3))
    result = np.divmod(x, 2, out=(None, two))
    assert result[1] is two
    same(result[0], array // 2)
    same(two, array % 2)


def test_out_in_memory_that_is_read():
    array = np.arange(6.0)
    for key in (slice(0, 5), slice(None, 0, -1)):
        x, expected = asarray(array.copy()), array.copy()
        np.add(x[1:], x[key], out=x[:5], where=asarray(array[1:] > 2))
        np.add(expected[1:], expected[key], out=expected[:5], where=array[1:] > 2)
        same(x, expected)


def test_where_without_out():
    """Elements that are left alone are 0."""
    x, chosen = asarray(np.array([4.0, 9.0, 16.0])), asarray(np.array([True, False, True]))
    same(np.sqrt(x, where=chosen), np.array([2.0, 0.0, 4.0]))
    same(np.less(x, 5, where=chosen), np.array([True, False, False]))


def test_dtype():
    array = np.array([1, 2, 3], np.int8)
    x = asarray(array)
    for call in (
        lambda x: np.add(x, 1, dtype=np.int64),
        lambda x: np.add(x, x, dtype=np.float32),
        lambda x: np.sqrt(x, dtype=np.float64),
        lambda x: np.divide(x, x, dtype=np.float32),
        lambda x: np.matmul(x, x, dtype=np.int64),
        lambda x: np.add(x, 1.5, dtype=np.int8, casting="unsafe"),
    ):
        same(call(x), call(array))
    with pytest.raises(TypeError, match=r"numpy\.add: .*same_kind"):
        np.add(asarray(np.ones(2)), 1, dtype=np.int8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.add(x, 1, out=np.ones(3, ">f8")), r"numpy\.add: operands must be"),
        (
            lambda x: np.add(x, 1, out=tl.ones(2)),
            r"numpy\.add: the result .* could not be broadcast to the shape of out",
        ),
        (
            lambda x: np.add(x, 1, out=tl.ones(())),
            r"numpy\.add: the result .* could not be broadcast to the shape of out",
        ),
        (lambda x: np.add(x, 1, out=tl.ones(3, dtype=tl.int8)), r"numpy\.add: .*same_kind"),
        (lambda x: np.add(x, 1, where=np.ones(3, object)), r"asarray\(\)"),
        (lambda x: np.add(x, 1, casting="any"), r"numpy\.add: casting must be one of"),
        (lambda x: np.add(x > 0, x, casting="no"), r"numpy\.add: Cannot cast"),
        (lambda x: np.add.reduceat(x, [0]), r"numpy\.add\.reduceat: .*numpy\.asarray"),
        (lambda x: np.multiply.at(x, 0, 2), r"numpy\.multiply\.at: .*x\[indices\] ="),
        (lambda x: np.sin(x, order="C"), r"numpy\.sin: takes no order="),
        (lambda x: np.matmul(x, np.ones(3, ">f8")), r"numpy\.matmul: .*asarray\(\)"),
        (lambda x: np.matmul(x, x, dtype=np.int8), r"numpy\.matmul: .*same_kind"),
        (lambda x: np.matvec(x, x), r"numpy\.matvec: matrices"),
        (lambda x: np.subtract.reduce(x[:0]), r"numpy\.subtract\.reduce: nothing"),
        (lambda x: np.subtract.reduce(x[None], None), r"numpy\.subtract\.reduce: "),
        (lambda x: np.subtract.reduce(x > 0), r"numpy\.subtract\.reduce: "),
        (lambda x: np.less.accumulate(x[:1]), r"numpy\.less\.accumulate: "),
        (lambda x: np.reciprocal(x.astype(int)), r"numpy\.reciprocal: gives integers"),
        (lambda x: np.logical_or(x, x, dtype=np.int8), r"numpy\.logical_or: "),
        (lambda x: np.add.at(x.astype(int), 0, 1.5), "at: float64 cannot be put into int64"),
        (lambda x: np.add.at(tl.broadcast_to(x, (2, 3)), 0, 1), r"at: .*read-only|share slots"),
    ],
)
def test_refusals(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(tl.ones(3))


def test_casting_is_forgotten():
    x = asarray(np.array([1, 2], np.uint16))
    with pytest.raises(TypeError, match="Cannot cast"):
        np.exp(x, casting="no")
    close(np.exp(x), np.exp(np.array([1, 2], np.uint16)))


class Other:
    """An array of another library, which takes part in the protocol."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return "theirs"


def test_other_libraries_are_asked():
    assert np.add(tl.ones(2), Other()) == "theirs"
    assert np.add(tl.ones(2), 1, out=Other()) == "theirs"


GRID = np.array([[3, 1, 2], [6, 5, 4]])

# The dtype of the result is that of NumPy's loop, however few are folded.
OF_LOOPS = [
    lambda t: np.arctan2.reduce(t(GRID.astype(np.int8)), axis=()),
    lambda t: np.heaviside.reduce(t(GRID[:1]), keepdims=True),
    lambda t: np.logical_xor.reduce(t(GRID[:1])),
    lambda t: np.bitwise_xor.reduce(t(GRID[:, :0]), axis=0),
    lambda t: np.maximum.accumulate(t(GRID[:0]), dtype=np.float32),
    lambda t: np.logical_or.accumulate(t(GRID * 1j)),
    lambda t: np.subtract.reduce(t(GRID > 2), axis=0, dtype=np.float32, initial=2),
    lambda t: np.logical_and.reduce(t(GRID), initial=False),
    lambda t: np.hypot.reduce(t(GRID.astype(np.float16)), out=t(np.zeros(3))),
    lambda t: np.multiply.accumulate(t(GRID.astype(np.uint8)), out=t(np.zeros((2, 3)))),
    # numbers count as arrays
    lambda t: np.maximum.outer(t(GRID.astype(np.uint8)), 300),
    lambda t: np.multiply.outer(-2.0, t(GRID.astype(np.float32))),
]


@pytest.mark.cpu
def test_methods_have_the_dtype_of_numpys_loop():
    for number, call in enumerate(OF_LOOPS):
        close(call(asarray), call(np.asarray), str(number))


KEYS = [
    lambda t: 1,
    lambda t: (0, -1),
    lambda t: [0, 0, -1],
    lambda t: (slice(None), [1, 1]),
    lambda t: (t(np.array([0, 1, 0])), t(np.array([2, 2, 2]))),
    lambda t: t(GRID > 3),
    lambda t: (..., slice(None, None, -1)),
    lambda t: np.array([1, 0, 1]),
]


@pytest.mark.cpu
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum, np.minimum])
def test_at(ufunc):
    for number, key in enumerate(KEYS):
        x, expected = asarray(GRID.copy(), layout=(0, 1)), GRID.copy()
        assert ufunc.at(x, key(asarray), 4) is None
        ufunc.at(expected, key(np.asarray), 4)
        same(x, expected, f"{ufunc.__name__} {number}")
        assert x.layout.is_column_major
    x, expected = asarray(GRID * 1.0), GRID * 1.0
    ufunc.at(x, [1, 1], asarray(np.array([[1, 2, 3]])))
    ufunc.at(expected, [1, 1], [[1, 2, 3]])
    same(x, expected)


def test_at_refuses():
    with pytest.raises(OverflowError, match=r"numpy\.minimum\.at: .* 300 out of bounds for"):
        np.minimum.at(asarray(np.array([1, 2], np.uint8)), 0, 300)
    with pytest.raises(IndexError):
        np.add.at(asarray(GRID), 2, 1)
