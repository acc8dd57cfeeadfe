"""NumPy's functions on tensors: what they give on arrays is the oracle.

The table of operations (`tests/ops/numpy_cases.py`) draws most functions, with their usual
arguments. Here are the functions that it leaves out, and rarer arguments.
"""

import functools
import inspect
import io

import numpy as np
import numpy.fft
import numpy.lib.scimath
import numpy.linalg
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions
from numpy_cases import CASES as TABLE_OF_OPERATIONS
from numpy_cases import UFUNCS
from tensors import asarray, host

import tensorlayout as tl
from tensorlayout.numpy_style.array_functions import ABOUT, CONVERTED, LIKE, OVERLAP, TABLE

pytestmark = pytest.mark.usefixtures("device")

K = np.array([[3, 1, 2], [6, 5, 4]])
J = np.array([[1, 0, 2], [0, 2, 1]])
F = np.array([[1.5, -2.0, 0.25, 4.0], [0.5, 8.0, -1.0, 2.0], [3.0, 0.0, 7.0, -6.0]])
G = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 2.0]])
H = np.array([1.0, -np.inf, np.nan, np.inf])
B = np.array([[True, False, True], [False, True, True]])
Z = np.array([1 + 2j, -3j, 2 + 0j])
V = np.array([1.0, 2.0, 4.0, 8.0])
W = np.array([0.5, 3.0, 3.5, 9.0, 4.0])
N = np.array([4, 1, 3, 1, 0, 4])
S = np.array([[4.0, 1.0], [1.0, 3.0]])
M = np.array([[2, 1], [7, 4]])
C = np.arange(24.0).reshape(2, 3, 4)


def into(function, x, *args, **options):
    """Call a function that writes in place, and return what it wrote into."""
    assert function(x, *args, **options) is None
    return x


def each(names, *calls):
    """Return calls of several functions: each takes the function first."""
    functions = {name: functools.reduce(getattr, name.split("."), np) for name in names.split()}
    return {n: [functools.partial(call, f) for call in calls] for n, f in functions.items()}


# Calls by the name of the function; `t` makes an array what the function is tried on.
CASES = {
    # reductions
    **each("sum max", lambda f, t: f(t(F), 0, out=t(np.zeros(4)))),
    "cumsum": [lambda t: np.cumsum(t(F), 0, out=t(np.zeros((3, 4))))],
    "average": [
        lambda t: np.average(t(F), axis=0, weights=t(F * F), returned=True),
        lambda t: np.average(t(K), axis=1, returned=True, keepdims=True),
    ],
    "cov": [
        lambda t: np.cov(t(F), rowvar=False, ddof=0),
        lambda t: np.cov(t(V), t(V[::-1])),
    ],
    "corrcoef": [lambda t: np.corrcoef(t(V), t(F[1]))],
    "bincount": [lambda t: np.bincount(t(N), weights=t(N * 0.5), minlength=8)],
    "digitize": [
        lambda t: np.digitize(t(V), t(V[::-1])),
        lambda t: np.digitize(t(V), t(V[::-1]), right=True),
    ],
    "histogram": [
        lambda t: np.histogram(t(F), bins=[1.0]),
        lambda t: np.histogram(t(N), bins=3, range=(0, 4)),
        lambda t: np.histogram(t(W), t(V)),
        lambda t: np.histogram(t(W), [0, 1, 4, 9], weights=t(W), density=True),
        lambda t: np.histogram(t(V), 3, weights=t(np.array([0.5, 1, 2, 4], np.float32))),
    ],
    "histogram_bin_edges": [lambda t: np.histogram_bin_edges(t(N), 4)],
    # joins and parts
    "concatenate": [
        lambda t: np.concatenate([t(K), t(J)], axis=None, dtype=np.float64),
        lambda t: np.concatenate([t(K), t(J)], out=t(np.zeros((4, 3), int))),
    ],
    "stack": [lambda t: np.stack(arrays=[t(K), t(J)], axis=-1, dtype=np.float64)],
    "block": [
        lambda t: np.block([[t(K), t(J)], [t(J), t(K)]]),
        lambda t: np.block([t(V), 3.0]),
    ],
    "delete": [lambda t: np.delete(t(F), slice(None, None, 2), 0)],
    "insert": [
        lambda t: np.insert(t(V), [1, 3, -1], [5.0, 6.0, 7.0]),
        lambda t: np.insert(t(K), 0, t(np.array([7, 8, 9])), axis=0),
        lambda t: np.insert(t(V), 2, t(W)),
        lambda t: np.insert(t(K), [1], t(J), axis=1),
    ],
    "split": [lambda t: np.split(t(F), [1, 3], axis=1)],
    "hsplit": [lambda t: np.hsplit(t(F), 2), lambda t: np.hsplit(t(V), [1])],
    "vsplit": [lambda t: np.vsplit(t(F), 3)],
    "dsplit": [lambda t: np.dsplit(t(C), 2)],
    "unstack": [lambda t: np.unstack(t(F), axis=1)],
    **each(
        "atleast_1d atleast_2d atleast_3d",
        lambda f, t: f(t(F), t(C), t(np.array(5))),
    ),
    # rearranged
    "ravel": [lambda t: np.ravel(t(F), order="F")],
    "reshape": [lambda t: np.reshape(t(F), (6, 2), order="F")],
    "matrix_transpose": [lambda t: np.matrix_transpose(t(C))],
    "moveaxis": [lambda t: np.moveaxis(t(C), [0, 1], [2, 0])],
    "rot90": [lambda t: np.rot90(t(C), 3, axes=(0, 2))],
    "roll": [
        lambda t: np.roll(t(F), (1, 2), (0, 1)),
        lambda t: np.roll(t(F), (1, 2), 0),
    ],
    "tile": [lambda t: np.tile(A=t(K), reps=(2, 1, 2))],
    "repeat": [lambda t: np.repeat(t(K), [1, 0, 2], axis=1)],
    "broadcast_arrays": [
        lambda t: np.broadcast_arrays(t(K), t(np.ones((4, 1, 3)))),
        lambda t: np.broadcast_arrays(t(V.astype(np.float32)), 1.5, 2),
    ],
    "pad": [
        lambda t: np.pad(t(K), ((1, 0), (0, 2)), "edge"),
        lambda t: np.pad(t(F), 1, constant_values=3.0),
    ],
    "lib.stride_tricks.sliding_window_view": [
        lambda t: np.lib.stride_tricks.sliding_window_view(t(F), 2, axis=1)
    ],
    "meshgrid": [
        lambda t: np.meshgrid(t(V), t(W)),
        lambda t: np.meshgrid(t(V), t(N), indexing="ij"),
        lambda t: np.meshgrid(t(V), t(W), sparse=True),
    ],
    "ix_": [lambda t: np.ix_(t(N), t(B[0]))],
    # chosen and written
    "where": [lambda t: np.where(t(B))],
    "select": [
        lambda t: np.select([t(B), [True, False, True]], [t(K), 7]),
        # of Python's numbers among choices, none decides the dtype
        lambda t: np.select([t(B), t(~B)], [5, t(B)], 3),
        lambda t: np.select([t(B), t(~B)], [t(B), t(K.astype(np.int8))], 3),
    ],
    "piecewise": [
        lambda t: np.piecewise(t(F), [t(F < 0), t(F > 2)], [np.negative, lambda x: x * 2]),
        lambda t: np.piecewise(t(F), [t(F < 0)], [1, lambda x, y, z: x + y + z], 2, z=3),
        lambda t: np.piecewise(t(F), t(np.stack([F < 0, F > 2])), [5, 6]),
        lambda t: np.piecewise(t(W), [True, False, True, True, False], [5, 6]),
    ],
    "compress": [
        lambda t: np.compress(t(B[0]), t(K), axis=1),
        lambda t: np.compress([0, 1, 1], t(K)),
    ],
    "take": [lambda t: np.take(t(K), t(J))],
    "take_along_axis": [lambda t: np.take_along_axis(t(K), t(N), axis=None)],
    "put": [
        lambda t: into(np.put, t(K), [0, -1], [70, 80]),
        lambda t: into(np.put, t(K), [7, 3, 4], t(np.array([5, 6])), mode="wrap"),
        # the last value wins
        lambda t: into(np.put, t(np.array(3.0)), [0, -1, 0], [1.0, 2.0, 5.0]),
        lambda t: into(np.put, t(np.array(3.0)), [4, 7], [1.0, 2.0], mode="clip"),
    ],
    "fill_diagonal": [
        lambda t: into(np.fill_diagonal, t(F), []),
        lambda t: into(np.fill_diagonal, t(np.zeros((3, 3, 3))), [1.0, 2.0]),
    ],
    "tril_indices_from": [lambda t: np.tril_indices_from(t(F), 1)],
    "triu_indices_from": [lambda t: np.triu_indices_from(t(F), k=-1)],
    "diag_indices_from": [lambda t: np.diag_indices_from(t(S))],
    # compared
    "isclose": [lambda t: np.isclose(t(K), 3, atol=1)],
    "array_equal": [lambda t: np.array_equal(t(G), t(G), equal_nan=True)],
    "angle": [lambda t: np.angle(t(F), deg=True)],
    "real_if_close": [lambda t: np.real_if_close(t(Z)), lambda t: np.real_if_close(t(Z[2:]))],
    "nan_to_num": [
        lambda t: np.nan_to_num(t(H), nan=-1.0, posinf=5.0, neginf=6.0),
        lambda t: np.nan_to_num(t(Z * np.nan)),
    ],
    "clip": [
        lambda t: np.clip(t(F), a_min=0, a_max=None),
        lambda t: np.clip(t(F), max=1.0),
    ],
    # differences
    "diff": [
        lambda t: np.diff(t(V), prepend=0.0, append=t(V[:2])),
        lambda t: np.diff(t(V), n=0, prepend=0.0),
    ],
    "ediff1d": [lambda t: np.ediff1d(t(V), to_begin=[7.0, 8.0])],
    "gradient": [lambda t: np.gradient(t(F), 2.0, axis=1)],
    "trapezoid": [lambda t: np.trapezoid(t(F), t(V), axis=1)],
    "interp": [
        lambda t: np.interp(t(W), t(V), t(V * 3), left=-1.0, right=-2.0),
        lambda t: np.interp(t(W), t(V), t(V[::-1]), period=5.0),
    ],
    "unwrap": [lambda t: np.unwrap(t(F), axis=0, period=4.0)],
    # orders and sets
    "sort": [lambda t: np.sort(t(F), axis=None)],
    "argsort": [lambda t: np.argsort(t(V[::-1]), None)],
    "partition": [
        lambda t: np.partition(t(F), 1)[:, 1],
        lambda t: np.partition(t(V[::-1]), kth=(0, 1, 2, -1), axis=None),
    ],
    "argpartition": [lambda t: np.argpartition(t(V[::-1]), (0, 1, 2, 3))],
    "lexsort": [lambda t: np.lexsort((t(F[0]), t(N[1:5]))), lambda t: np.lexsort((t(K), t(J)), 0)],
    "unique": [
        lambda t: np.unique(t(N), return_index=True, return_inverse=True, return_counts=True),
        lambda t: np.unique(t(G), return_inverse=True, return_counts=True),
        lambda t: np.unique(t(G), equal_nan=False),
    ],
    "unique_all": [lambda t: tuple(np.unique_all(t(N)))],
    "unique_counts": [lambda t: tuple(np.unique_counts(t(N)))],
    "unique_inverse": [lambda t: tuple(np.unique_inverse(t(N)))],
    "unique_values": [lambda t: np.sort(np.unique_values(t(N)))],
    "intersect1d": [
        lambda t: np.intersect1d(t(N), t(K), return_indices=True),
        lambda t: np.intersect1d(t(B), t(F)),
    ],
    "setxor1d": [
        lambda t: np.setxor1d(t(np.array([1, np.nan, np.nan])), t(np.array([3.0]))),
        lambda t: np.setxor1d(t(np.array([1, 1, 2])), t(np.array([2, 3, 3])), True),
    ],
    # products
    "dot": [lambda t: np.dot(t(K), t(J.T)), lambda t: np.dot(t(C), t(F.T))],
    "tensordot": [
        lambda t: np.tensordot(t(K), t(J)),
        lambda t: np.tensordot(t(C), t(F), axes=(1, 0)),
    ],
    "einsum": [lambda t: np.einsum("ij,kj->ik", t(K), t(J), optimize=True)],
    "polyval": [lambda t: np.polyval([1, -2, 3], t(K))],
    "cross": [
        lambda t: np.cross(t(K), t(J)),
        lambda t: np.cross(t(K.T), t(J.T), axis=0),
    ],
    "trace": [lambda t: np.trace(t(C), axis1=1, axis2=2)],
    "diagonal": [lambda t: np.diagonal(t(C), axis1=1, axis2=2)],
    "vander": [lambda t: np.vander(t(V), 3, increasing=True)],
    "convolve": [lambda t, mode=mode: np.convolve(t(V), t(W), mode) for mode in ("same", "valid")],
    "correlate": [lambda t, mode=mode: np.correlate(t(V), t(W), mode) for mode in ("same", "valid")]
    + [lambda t: np.correlate(t(W), t(Z[:2]), "full")],
    # made
    "zeros_like": [lambda t: np.zeros_like(t(K), shape=(4, 2), dtype=float)],
    "ones_like": [lambda t: np.ones_like(t(K), order="F")],
    "full_like": [lambda t: np.full_like(t(F), t(V))],
    "empty_like": [lambda t: np.empty_like(t(K), shape=(0, 2)), lambda t: np.empty_like(t(K)) * 0],
    "copy": [lambda t: np.copy(t(F), order="F")],
    "astype": [lambda t: np.astype(t(F), np.int64)],
    "linspace": [
        lambda t: np.linspace(t(V), 10.0, 5),
        lambda t: np.linspace(t(V), t(V * 2), num=3, endpoint=False, axis=1, retstep=True),
        lambda t: np.linspace(t(np.array(1)), 7, 4, dtype=int),
        lambda t: np.isnan(np.linspace(t(V.astype(np.float32)), 7, 1, retstep=True)[1]),
    ],
    "logspace": [lambda t: np.logspace(t(V), 3.0, 4)],
    "geomspace": [lambda t: np.geomspace(t(V), 64.0, 4)],
    # mapped
    "apply_along_axis": [
        lambda t: np.apply_along_axis(np.sum, 0, t(F)),
        lambda t: np.apply_along_axis(lambda line: line[:2] * 2, 1, t(C)),
        lambda t: np.apply_along_axis(np.diag, -1, t(F)),
    ],
    "apply_over_axes": [lambda t: np.apply_over_axes(np.sum, t(C), [0, -1])],
    "size": [lambda t: np.size(t(C), axis=1), lambda t: np.size(t(C), (0, 1))],
    # linear algebra
    "linalg.cholesky": [
        lambda t: np.linalg.cholesky(t(S)),
        lambda t: np.linalg.cholesky(t(S), upper=True),
    ],
    "linalg.cond": [
        lambda t: np.linalg.cond(t(S)),
        lambda t: np.linalg.cond(t(M), 1),
        lambda t: np.linalg.cond(t(np.zeros((2, 2)))),
    ],
    "linalg.cross": [lambda t: np.linalg.cross(t(K), t(J))],
    "linalg.eig": [lambda t: np.sort(abs(np.linalg.eig(t(M))[0]))],
    "linalg.eigvals": [lambda t: np.sort(abs(np.linalg.eigvals(t(M))))],
    "linalg.eigh": [lambda t: np.linalg.eigh(t(S), UPLO="U")[0]],
    "linalg.eigvalsh": [
        lambda t: np.linalg.eigvalsh(t(S)),
        lambda t: np.linalg.eigvalsh(t(M), "U"),
    ],
    "linalg.matmul": [lambda t: np.linalg.matmul(t(K), t(J.T))],
    "linalg.matrix_norm": [lambda t: np.linalg.matrix_norm(t(K), ord=1, keepdims=True)],
    "linalg.matrix_rank": [
        lambda t: np.linalg.matrix_rank(t(C)),
        lambda t: np.linalg.matrix_rank(t(S), tol=3.0),
        lambda t: np.linalg.matrix_rank(t(V)),
    ],
    "linalg.matrix_transpose": [lambda t: np.linalg.matrix_transpose(t(C))],
    "linalg.multi_dot": [lambda t: np.linalg.multi_dot([t(K), t(J.T), t(M)])],
    "linalg.norm": [
        lambda t: np.linalg.norm(t(C), axis=(0, 2), keepdims=True),
        lambda t: np.linalg.norm(t(F), "nuc"),
        lambda t: np.linalg.norm(t(V), 3),
    ],
    "linalg.outer": [lambda t: np.linalg.outer(t(V), t(W))],
    "linalg.pinv": [lambda t: np.linalg.pinv(t(K), rcond=0.1)],
    "linalg.qr": [
        lambda t: abs(np.linalg.qr(t(S))[1]),
        lambda t: abs(np.linalg.qr(t(F), mode="r")),
    ],
    "linalg.solve": [
        lambda t: np.linalg.solve(t(M), t(np.array([1, 2]))),
        lambda t: np.linalg.solve(a=t(S), b=t(M)),
    ],
    "linalg.svd": [
        lambda t: np.linalg.svd(t(F), full_matrices=False)[1],
        lambda t: np.linalg.svd(t(K), compute_uv=False),
    ],
    "linalg.tensordot": [lambda t: np.linalg.tensordot(t(K), t(J), axes=((0,), (0,)))],
    "linalg.vecdot": [lambda t: np.linalg.vecdot(t(Z), t(Z))],
    "linalg.vector_norm": [lambda t: np.linalg.vector_norm(t(K), axis=0, ord=1)],
    # transforms
    **each("fft.fft fft.ifft fft.rfft fft.hfft fft.ihfft", lambda f, t: f(t(K), 4, norm="ortho")),
    **each("fft.irfft", lambda f, t: f(t(V)), lambda f, t: f(t(K), 4, axis=0, norm="ortho")),
    **each(
        "fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn",
        lambda f, t: f(t(F)),
        lambda f, t: f(t(C), axes=(0, 2), norm="forward"),
    ),
    "fft.fftshift": [lambda t: np.fft.fftshift(t(F)), lambda t: np.fft.fftshift(t(F), axes=1)],
    "fft.ifftshift": [lambda t: np.fft.ifftshift(t(W))],
}
DRAWN = {name.removeprefix("numpy.") for name in TABLE_OF_OPERATIONS} - {n for n, _ in UFUNCS}


def name_of(function):
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


def plain(array):
    return np.array(array)


def new(array):
    """A tensor in memory of its own, which calls may write."""
    return asarray(np.array(array))


def compared(found, expected, message, tolerance=1e-12):
    """Both are results of one call, on tensors and on arrays."""
    if isinstance(expected, (tuple, list)):
        assert isinstance(found, (tuple, list)), message
        assert len(found) == len(expected), message
        for one, other in zip(found, expected, strict=True):
            compared(one, other, message, tolerance)
    elif isinstance(expected, (np.ndarray, np.generic)) and not isinstance(expected, np.bool):
        assert isinstance(found, tl.Tensor), message
        assert found.device == tl.default_device(), message
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), message
        np.testing.assert_allclose(host(found), expected, tolerance, tolerance, err_msg=message)
    else:
        assert host(found) == expected, message


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_as_on_arrays(name):
    for number, call in enumerate(CASES[name]):
        compared(call(new), call(plain), f"{name} {number}")


def columns(array):
    return tl.to_layout(new(array), tuple(range(array.ndim)))


def backwards(array):
    return asarray(array[..., ::-1].copy())[..., ::-1]


def tiles(array):
    return tl.to_layout(new(array), tl.Layout.tiled(array.shape, [(2,)]))


@pytest.mark.cpu
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("placed", [columns, backwards, tiles])
def test_in_other_layouts(placed):
    for name, calls in CASES.items():
        for number, call in enumerate(calls):
            compared(
                call(lambda array: placed(array) if array.ndim else new(array)),
                call(plain),
                f"{name} {number}",
            )


# Where truths and integers are not taken, or NumPy's integers wrap.
OTHERWISE = {
    "bool": "clip cumsum digitize dot histogram linalg.cond put sum take trapezoid",
    "int8": "",
    "uint16": "select unwrap",
    "float16": "fft.irfft2 fft.irfftn",
    "float32": "",
}
TOLERANCES = {"float16": 3e-2, "float32": 1e-4}


@pytest.mark.cpu
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", OTHERWISE)
def test_in_other_dtypes(dtype):
    left_out = OTHERWISE[dtype].split()
    for name, calls in CASES.items():
        for number, call in enumerate(calls if name not in left_out else ()):
            try:
                expected = call(lambda array: array.astype(dtype))
            except (TypeError, ValueError, OverflowError, IndexError):
                continue  # no such function of these
            found = call(lambda array: new(array.astype(dtype)))
            compared(found, expected, f"{name} {number}", TOLERANCES.get(dtype, 1e-5))


@pytest.mark.cpu
def test_each_function_is_tried():
    assert {name_of(function) for function in TABLE} <= set(CASES) | DRAWN


@pytest.mark.cpu
def test_parameters_are_numpys():
    for function, ours in TABLE.items():
        theirs = {p.name: p.kind for p in inspect.signature(function).parameters.values()}
        theirs.pop("kwargs", None) if function is np.clip else None
        if function in (np.sort, np.argsort):  # NumPy 2.5 has it
            theirs.setdefault("descending", inspect.Parameter.KEYWORD_ONLY)
        found = {p.name: p.kind for p in inspect.signature(ours).parameters.values()}
        assert found == theirs, name_of(function)
    for function, ours in LIKE.items():
        theirs = list(inspect.signature(function).parameters)
        assert list(inspect.signature(ours).parameters) == theirs, name_of(function)


# --- what NumPy raises, and rare arguments -----------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_positions_of_short_integers(dtype):
    places = asarray(np.array([3, 100], dtype))
    for mode in ("raise", "wrap", "clip"):
        x = asarray(np.arange(300.0))
        np.testing.assert_array_equal(host(x.take(places, mode=mode)), [3.0, 100.0])
        np.put(x, places, [7.0, 8.0], mode=mode)
        np.testing.assert_array_equal(host(x[[3, 100, 101]]), [7.0, 8.0, 101.0])
        found = np.ravel_multi_index((places, places), (300, 300), mode=mode)
        np.testing.assert_array_equal(host(found), [903, 30100])


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


def test_averages_of_no_lines():
    x = new(np.zeros((0, 2)))
    for options in ({}, {"returned": True}):
        with pytest.raises(ZeroDivisionError, match=r"average: .*\(0, 2\)"):
            np.average(x, axis=1, **options)
    with pytest.raises(ZeroDivisionError, match="the weights add up to zero"):
        np.average(x, axis=0, weights=x)
    assert np.isnan(host(np.average(x, axis=0))).all()


def test_choices_that_are_none():
    x = new(K)
    with pytest.raises(ValueError, match="choose: a must be at least 0 and below 2"):
        np.choose(asarray(np.array([0, 2])), [x[0, :2], x[1, :2]])
    with pytest.raises(ValueError, match="putmask: mask must have 6 elements, as a has, got 2"):
        np.putmask(x, [True, False], 1)
    with pytest.raises(ValueError, match="place: vals must have at least one element"):
        np.place(x, x > 1, [])
    with pytest.raises(ValueError, match=r"has more than 2\*\*63 - 1 elements"):
        np.unravel_index(asarray(np.array([0])), (2,) * 63)


# --- what is made beside a tensor --------------------------------------------------------------

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


# --- what is no array --------------------------------------------------------------------------


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
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), F)
    np.savez(tmp_path / "x.npz", x, z=z)
    with np.load(tmp_path / "x.npz") as found:
        np.testing.assert_array_equal(found["arr_0"], F)
        np.testing.assert_array_equal(found["z"], F[:1])
    np.savez_compressed(tmp_path / "y.npz", x=x)
    np.savetxt(tmp_path / "x.txt", x)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "x.txt"), F)
    assert np.array_repr(z) == np.array_repr(F[:1])
    assert np.array_str(z) == np.array_str(F[:1])
    assert np.array2string(z, precision=1) == np.array2string(F[:1], precision=1)
    assert np.shares_memory(x, x[1:])
    assert not np.shares_memory(x, z)
    assert np.may_share_memory(x, x)
    array = np.zeros((3, 4))
    np.copyto(array, x)
    np.testing.assert_array_equal(array, F)
    for placed in (new, columns, tiles):
        y = placed(F)
        np.copyto(y, array + 1)
        np.testing.assert_array_equal(y, F + 1)
    assert np.array_equal(x, F)
    assert np.array_equiv(F, x)
    assert np.allclose(a=x, b=F)
    assert not np.allclose(F + 1, x)
    np.testing.assert_allclose(x, F)
    np.testing.assert_array_equal(x, x)
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


# --- what is refused ---------------------------------------------------------------------------

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
    assert {name_of(f) for f in CONVERTED | OVERLAP} == ABOUT_MEMORY
    assert {name_of(f) for f in ABOUT} == ABOUT_DTYPES


def test_refusals_name_the_way_out():
    x = tl.ones((2, 3))
    for call, name in [
        (lambda: np.trim_zeros(x), r"numpy\.trim_zeros: .*tensorlayout\.nonzero\(\)"),
        (lambda: np.polyfit(x[0], x[0], 1), r"numpy\.polyfit: "),
        (lambda: np.linalg.lstsq(x, x), r"numpy\.linalg\.lstsq: "),
    ]:
        with pytest.raises(TypeError, match=name + r".*make arrays with numpy\.asarray\(x\)"):
            call()


def test_arguments_that_are_refused():
    x = tl.ones((2, 3))
    for call, name in [
        (lambda: np.unique(x, axis=0), "unique: takes no axis=0"),
        (lambda: np.quantile(x, 0.5, weights=x), "quantile: takes no weights="),
        (lambda: np.cov(x, fweights=[1, 2, 3]), "cov: takes no fweights="),
        (lambda: np.pad(x, 1, "linear_ramp"), "pad: mode must be one of"),
        (lambda: np.pad(x, 1, "edge", constant_values=1), "pad: takes no constant_values=1"),
        (lambda: np.histogram(x, weights=x[0, :]), "histogram: weights must have the shape"),
        (lambda: np.sort(x, order="a"), "sort: takes no order='a'"),
        (lambda: np.choose(x, [x, x]), "choose: positions must be integers, got float64"),
        (lambda: np.choose(x.astype(tl.int8), []), "choose: choices must be at least one"),
        (lambda: np.choose(x.astype(tl.int8), [x, x[:, :2]]), "choose: shape mismatch"),
        (lambda: np.ravel_multi_index((x, x), (2, 3)), "ravel_multi_index: positions must be"),
        (lambda: np.isposinf(x * 1j), "isposinf: complex numbers have no sign"),
        (lambda: np.fft.fftn(x, 6), "fftn: "),
        (lambda: np.nan_to_num(x, np.ones(3)), "nan_to_num: "),
        (lambda: np.linalg.matrix_power(x, None), "matrix_power: "),
        (lambda: np.linalg.cond(x[:0, :0]), "cond: "),
    ]:
        with pytest.raises((TypeError, ValueError), match=name):
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


def test_results_in_memory_that_is_read():
    x = new(F)
    np.sum(x[:, :3], axis=0, out=x[0, :3])
    expected = F.copy()
    expected[0, :3] = F[:, :3].sum(0)
    np.testing.assert_array_equal(host(x), expected)
    y = new(V)
    np.cumsum(y[::-1], out=y)
    np.testing.assert_array_equal(host(y), np.cumsum(V[::-1]))


def test_errors_of_outs():
    x = tl.ones((2, 3))
    for out, error, words in [
        (tl.ones(2), ValueError, "out must have the shape"),
        (tl.ones(3, dtype=tl.int32), TypeError, "same_kind"),
        (np.ones(3, ">f8"), TypeError, "out must be a tensor, got numpy.ndarray of dtype >f8"),
    ]:
        with pytest.raises(error, match=words):
            np.sum(x, axis=0, out=out)
