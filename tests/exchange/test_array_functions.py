"""NumPy's functions on tensors: which there are, what they refuse, and what they say.

The table of operations (`tests/ops/numpy_cases.py`) draws the functions and their arguments. Here
are those whose results have no one right order or sign, and functions that make something else.
"""

import inspect
import io

import numpy as np
import numpy.fft
import numpy.lib.scimath
import numpy.linalg
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions
from numpy_cases import LEFT_OUT
from tensors import asarray, host

import tensorlayout as tl
from tensorlayout.interchange.numpy_functions import LIKE, ON_ARRAYS, TABLE

pytestmark = pytest.mark.usefixtures("device")

K = np.array([[3, 1, 2], [6, 5, 4]])
F = np.array([[1.5, -2.0, 0.25, 4.0], [0.5, 8.0, -1.0, 2.0], [3.0, 0.0, 7.0, -6.0]])
V = np.array([1.0, 2.0, 4.0, 8.0])
S = np.array([[4.0, 1.0], [1.0, 3.0]])
M = np.array([[2, 1], [7, 4]])

# Calls of functions that the table of operations leaves out; `t` makes an array or a tensor.
CASES = {
    "partition": [
        lambda t: np.partition(t(F), 1)[:, 1],
        lambda t: np.partition(t(V[::-1]), kth=(0, 1, 2, -1), axis=None),
    ],
    "argpartition": [lambda t: np.argpartition(t(V[::-1]), (0, 1, 2, 3))],
    "unique_values": [lambda t: np.sort(np.unique_values(t(K[:, :2])))],
    "eig": [lambda t: np.sort(abs(np.linalg.eig(t(M))[0]))],
    "eigvals": [lambda t: np.sort(abs(np.linalg.eigvals(t(M))))],
    "eigh": [lambda t: np.linalg.eigh(t(S), UPLO="U")[0]],
    "qr": [lambda t: abs(np.linalg.qr(t(S))[1]), lambda t: abs(np.linalg.qr(t(F), mode="r"))],
    "svd": [
        lambda t: np.linalg.svd(t(F), full_matrices=False)[1],
        lambda t: np.linalg.svd(t(K), compute_uv=False),
    ],
}


# Functions that are in `numpy.linalg` with other parameters: here both are one.
TWICE = {"linalg.cross": np.cross, "linalg.outer": np.outer, "linalg.tensordot": np.tensordot}


def name_of(function):
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


def plain(array):
    return np.array(array)


def new(array):
    """A tensor in memory of its own, which calls may write."""
    return asarray(np.array(array))


def compared(result, expected, message):
    """Both are results of one call, on tensors and on arrays."""
    assert isinstance(result, tl.Tensor), message
    assert result.device == tl.default_device(), message
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape), message
    np.testing.assert_allclose(host(result), expected, 1e-12, 1e-12, err_msg=message)


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_as_on_arrays(name):
    for call in CASES[name]:
        compared(call(new), call(plain), name)


def lacks(ours, theirs):
    """Yield the parts of a call of NumPy's function that ours does not accept: names, positions."""
    known, result = (
        [p for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_KEYWORD]
        for f in (theirs, ours)
    )
    known = [p for p in known if p.name != "like"]
    places = [p for p in result if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = {p.name for p in result if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for place, p in enumerate(known):
        if p.kind is p.VAR_POSITIONAL:
            names |= {result[place].name} if result[place].kind is p.kind else set()
        if p.kind is not p.POSITIONAL_ONLY and p.name not in names:
            yield p.name
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            if p.kind is p.POSITIONAL_OR_KEYWORD and places[place].name != p.name:
                yield f"{p.name} in place {place}"
            if p.default is not p.empty and places[place].default is p.empty:
                yield f"a default of {p.name}"
    yield from (p.name for p in result[len(known) :] if p.default is p.empty and p.name != "device")


@pytest.mark.cpu
def test_every_call_of_numpys_is_one_here():
    functions = {f: TWICE.get(name_of(f), f) for f in (*TABLE, *LIKE)}
    lacking = {
        name_of(f): [*lacks({**TABLE, **LIKE}[f], numpys)] for f, numpys in functions.items()
    }
    assert {name: result for name, result in lacking.items() if result} == {}


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_positions_of_short_integers(dtype):
    places = asarray(np.array([3, 100], dtype))
    for mode in ("raise", "wrap", "clip"):
        x = asarray(np.arange(300.0))
        np.testing.assert_array_equal(host(x.take(places, mode=mode)), [3.0, 100.0])
        np.put(x, places, [7.0, 8.0], mode=mode)
        np.testing.assert_array_equal(host(x[[3, 100, 101]]), [7.0, 8.0, 101.0])
        result = np.ravel_multi_index((places, places), (300, 300), mode=mode)
        np.testing.assert_array_equal(host(result), [903, 30100])


def test_positions_beyond_int64():
    x, places = asarray(np.arange(5.0)), asarray(np.array([2**64 - 1], np.uint64))
    assert float(np.take(x, places, mode="clip")[0]) == 4.0
    assert float(np.take(x, places, mode="wrap")[0]) == (2**64 - 1) % 5
    with pytest.raises(IndexError, match="out of bounds"):
        np.put(x, places, 1.0)


def test_casting_is_for_scalars_too():
    x = asarray(np.array([1, 2]))
    for value in (1.5, np.float64(1.5), [1.5, 2.5], 1j):
        with pytest.raises(TypeError, match=r"copyto: .* by the rule 'same_kind'"):
            np.copyto(x, value)
    for size in (0, 2):  # of Python's numbers only bool has a dtype of its own
        with pytest.raises(TypeError, match="copyto: bool cannot become uint64 by the rule 'no'"):
            np.copyto(tl.zeros(size, dtype=tl.uint64), True, casting="no")
        np.copyto(tl.zeros(size, dtype=tl.uint64), 1, casting="no")
    with pytest.raises(ValueError, match="copyto: casting must be one of"):
        np.copyto(x, 1, casting="any")
    np.copyto(x, 7.5, casting="unsafe")
    np.copyto(asarray(np.ones(2, np.float32)), 1.5, casting="safe")
    np.testing.assert_array_equal(host(x), [7, 7])


MADE = [
    lambda like: np.zeros((2, 3), **like),
    lambda like: np.ones(3, dtype=np.float32, **like),
    lambda like: np.empty((0, 2), **like),
    lambda like: np.full((2, 2), 7, order="F", **like),
    lambda like: np.array([[1, 2], [3, 4]], ndmin=3, **like),
    lambda like: np.asarray([1.0, 2.0], dtype=np.float32, **like),
    lambda like: np.asanyarray([1, 2], **like),
    lambda like: np.ascontiguousarray([[1, 2]], **like),
    lambda like: np.asfortranarray([[1, 2], [3, 4]], **like),
    lambda like: np.arange(5, **like),
    lambda like: np.arange(1, 2, 0.25, dtype=np.float32, **like),
    lambda like: np.eye(2, 3, k=1, **like),
    lambda like: np.identity(3, dtype=int, **like),
    lambda like: np.tri(3, 4, 1, **like),
    lambda like: np.fromiter([1, 2, 3], int, **like),
    lambda like: np.frombuffer(b"abcd", np.uint8, **like),
    lambda like: np.loadtxt(io.StringIO("1 2"), **like),
]


def test_what_is_made_like_a_tensor():
    x = tl.ones(2)
    for number, make in enumerate(MADE):
        compared(make({"like": x}), make({}), str(number))
    assert np.full((2, 3), 1, order="F", like=x).layout.is_column_major
    assert np.asfortranarray([[1, 2], [3, 4]], like=x).layout.is_column_major
    assert np.zeros_like(np.zeros((2, 3), order="F", like=x)).layout.is_column_major


def test_dtypes():
    x, y = asarray(K.astype(np.int8)), asarray(V.astype(np.float32))
    assert np.result_type(x, y) == np.float32
    assert np.result_type(x, 2.0) == np.float64
    assert np.can_cast(x.dtype, np.int16)
    assert np.common_type(y) == np.float32
    assert np.min_scalar_type(x) == np.int8


@pytest.mark.cpu
def test_what_sees_the_memory(tmp_path):
    x, z = new(F), new(F[:1])
    np.savez(tmp_path / "x.npz", x, z=z)
    with np.load(tmp_path / "x.npz") as result:
        np.testing.assert_array_equal(result["arr_0"], F)
        np.testing.assert_array_equal(result["z"], F[:1])
    for save in (np.save, np.savetxt, np.savez_compressed):
        save(tmp_path / save.__name__, x)
    np.testing.assert_array_equal(np.load(tmp_path / "save.npy"), F)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "savetxt"), F)
    for text in (np.array_repr, np.array_str, np.array2string):
        assert text(z) == text(F[:1])
    assert np.shares_memory(x, x[1:])
    assert not np.shares_memory(x, z)
    assert np.may_share_memory(x, x)
    array, y = np.zeros((3, 4)), tl.to_layout(new(F), tl.Layout.tiled(F.shape, [(2,)]))
    np.copyto(array, x)
    np.testing.assert_array_equal(array, F)
    np.copyto(y, array + 1)
    np.testing.assert_array_equal(y, F + 1)
    assert np.array_equiv(F, x)
    assert not np.allclose(F + 1, x)
    np.testing.assert_array_almost_equal_nulp(x, x)


def test_memory_that_numpy_does_not_see():
    x = tl.ones(3)
    if x.device == "cpu":
        return
    for call in (
        np.array_repr,
        lambda x: np.save(io.BytesIO(), x),
        lambda x: np.shares_memory(x, x),
    ):
        with pytest.raises(TypeError, match=r"use .*to_device\('cpu'\)"):
            call(x)


# Every function of NumPy that asks its arguments is in the table, or is named here.
ABOUT_MEMORY = {
    *("array2string", "array_repr", "array_str", "may_share_memory", "save", "savetxt", "savez"),
    *("savez_compressed", "shares_memory"),
}
ABOUT_DTYPES = {"can_cast", "common_type", "min_scalar_type", "result_type"}
MADE_LIKE = {
    *("arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty"),
    *("eye", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "full"),
    *("genfromtxt", "identity", "loadtxt", "ones", "require", "tri", "zeros"),
}
REFUSED = {
    *("busday_count", "busday_offset", "datetime_as_string", "einsum_path"),
    *("histogram2d", "histogramdd", "i0", "is_busday", "lib.scimath.arccos"),
    *("lib.scimath.arcsin", "lib.scimath.arctanh", "lib.scimath.log", "lib.scimath.log10"),
    *("lib.scimath.log2", "lib.scimath.logn", "lib.scimath.power", "lib.scimath.sqrt"),
    *("linalg.lstsq", "linalg.tensorinv", "linalg.tensorsolve", "packbits"),
    *("poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul"),
    *("polysub", "roots", "sort_complex", "trim_zeros", "unpackbits"),
}


@pytest.mark.cpu
def test_each_function_of_numpy_is_named():
    every = {name_of(f) for f in get_overridable_numpy_array_functions()}
    # Of records, of text, and of file names: no tensor is one.
    every = {n for n in every if not n.startswith(("lib.recfunctions.", "strings.", "char."))}
    assert every == {name_of(f) for f in TABLE} | ABOUT_MEMORY | ABOUT_DTYPES | MADE_LIKE | REFUSED
    assert {name_of(f) for f in ON_ARRAYS} == ABOUT_MEMORY | ABOUT_DTYPES


def test_arguments_that_are_refused():
    x = tl.ones((2, 3))
    for call, name in [
        (lambda: np.average(new(np.zeros((0, 2))), axis=1), r"average: .*\(0, 2\)"),
        (lambda: np.choose(x.astype(tl.int8), [x[:, 0]]), "choose: a must be at least 0 and below"),
        (lambda: np.putmask(x, [True, False], 1), "putmask: mask must have 6 elements, as a has"),
        (lambda: np.putmask(tl.asarray([1, 2]), [True, False], x[0, :2]), "rule 'safe'"),
        (lambda: np.place(x, x > 0, []), "place: vals must have at least one element"),
        (lambda: np.unravel_index(tl.asarray([0]), (2,) * 63), r"more than 2\*\*63 - 1 elements"),
        (lambda: np.trim_zeros(x), r"numpy\.trim_zeros: .*tensorlayout\.nonzero\(\)"),
        (lambda: np.linalg.lstsq(x, x), r"numpy\.linalg\.lstsq: .*make arrays with numpy\.asarray"),
        (lambda: np.unique(x, axis=0), "unique: takes no axis=0"),
        (lambda: np.quantile(x, 0.5, weights=x), "quantile: takes no weights="),
        (lambda: np.cov(x, fweights=[1, 2, 3]), "cov: takes no fweights="),
        (lambda: np.pad(x, 1, "linear_ramp"), "pad: mode must be one of"),
        (lambda: np.pad(x, 1, "edge", constant_values=1), "pad: constant_values are for mode"),
        (lambda: np.histogram(x, weights=x[0, :]), "histogram: weights must have the shape"),
        (lambda: np.sort(x, order="a"), "sort: takes no order='a'"),
        (lambda: np.choose(x, [x, x]), "choose: positions must be integers, got float64"),
        (lambda: np.choose(x.astype(tl.int8), []), "choose: choices must hold at least one"),
        (lambda: np.choose(x.astype(tl.int8), [x, x[:, :2]]), "choose: shape mismatch"),
        (lambda: np.ravel_multi_index((x, x), (2, 3)), "ravel_multi_index: positions must be"),
        (lambda: np.isposinf(x * 1j), "isposinf: complex numbers have no sign"),
        (lambda: np.fft.fftn(x, 6), "fftn: "),
        (lambda: np.nan_to_num(x, np.ones(3)), "nan_to_num: "),
        (lambda: np.linalg.matrix_power(x, None), "matrix_power: "),
        (lambda: np.linalg.cond(x[:0, :0]), "cond: "),
    ]:
        with pytest.raises((TypeError, ValueError, ZeroDivisionError), match=name):
            call()


class Other:
    """An array of another library, which takes part in the protocol."""

    def __array_function__(self, func, types, args, kwargs):
        return "theirs"


def test_other_libraries_are_asked():
    x = tl.ones(3)
    assert np.concatenate([x, Other()]) == "theirs"
    assert x.__array_function__(np.sum, [tl.Tensor, Other], (x,), {}) is NotImplemented


def test_defaults_that_say_nothing():
    x = new(F)
    compared(np.sum(x, keepdims=np._NoValue, initial=np._NoValue), F.sum(), "sum")
