"""NumPy's functions on tensors: what they give on arrays is the oracle."""

import functools
import inspect
import io
import math

import numpy as np
import numpy.fft
import numpy.lib.scimath
import numpy.linalg
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions
from tensors import asarray, host, same

import tensorlayout as tl
from tensorlayout.numpy_style.array_functions import ABOUT, CONVERTED, LIKE, OVERLAP, TABLE

pytestmark = [
    pytest.mark.usefixtures("device"),
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated"),  # since NumPy 2.5
]

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
    """A function that writes in place, and what it wrote."""
    assert function(x, *args, **options) is None
    return x


def each(names, *calls):
    """Calls of several functions: each takes the function first."""
    found = {name: functools.reduce(getattr, name.split("."), np) for name in names.split()}
    return {name: [functools.partial(call, f) for call in calls] for name, f in found.items()}


# Calls by the name of the function; `t` makes an array what the function is tried on.
CASES = {
    # reductions
    **each(
        "sum prod max min amax amin",
        lambda f, t: f(t(F)),
        lambda f, t: f(a=t(F), axis=0),
        lambda f, t: f(t(K), axis=1, keepdims=True),
        lambda f, t: f(t(F), axis=1, where=t(F > 0), initial=2.0),
        lambda f, t: f(t(F), 0, out=t(np.zeros(4))),
    ),
    **each(
        "mean std var all any",
        lambda f, t: f(t(F)),
        lambda f, t: f(a=t(K), axis=0),
        lambda f, t: f(t(B), axis=1, keepdims=True),
    ),
    "ptp": [lambda t: np.ptp(t(F)), lambda t: np.ptp(t(K), axis=1, keepdims=True)],
    **each(
        "argmax argmin count_nonzero",
        lambda f, t: f(t(F)),
        lambda f, t: f(a=t(K), axis=0),
        lambda f, t: f(t(K), axis=1, keepdims=True),
    ),
    **each(
        "cumsum cumprod nancumsum nancumprod",
        lambda f, t: f(t(F)),
        lambda f, t: f(a=t(K), axis=1),
        lambda f, t: f(t(B), 0),
    ),
    **each(
        "cumulative_sum cumulative_prod",
        lambda f, t: f(t(F), axis=0),
        lambda f, t: f(t(V), include_initial=True),
    ),
    **each(
        "nanmax nanmin nanmean nanmedian nanprod nanstd nansum",
        lambda f, t: f(t(G)),
        lambda f, t: f(a=t(G), axis=0, keepdims=True),
        lambda f, t: f(t(K), 1),
    ),
    "nanvar": [
        lambda t: np.nanvar(t(G), axis=1, ddof=1),
        lambda t: np.nanvar(t(G), correction=1),
    ],
    "nanargmax": [lambda t: np.nanargmax(t(G)), lambda t: np.nanargmax(t(G), axis=1)],
    "nanargmin": [lambda t: np.nanargmin(t(G)), lambda t: np.nanargmin(t(G), axis=1)],
    "median": [lambda t: np.median(t(F)), lambda t: np.median(t(K), axis=0, keepdims=True)],
    "quantile": [
        lambda t: np.quantile(t(F), 0.3),
        lambda t: np.quantile(t(F), [0.25, 0.5], axis=1),
        lambda t: np.quantile(t(F), t(np.array([0.25, 0.5])), axis=0, method="lower"),
    ],
    "nanquantile": [lambda t: np.nanquantile(t(G), 0.5, axis=0)],
    "percentile": [
        lambda t: np.percentile(t(F), 30),
        lambda t: np.percentile(t(F), [25, 75], axis=1, keepdims=True),
    ],
    "nanpercentile": [lambda t: np.nanpercentile(t(G), q=[10, 50], axis=1)],
    "average": [
        lambda t: np.average(t(K)),
        lambda t: np.average(t(F), axis=1, weights=t(V)),
        lambda t: np.average(t(F), axis=0, weights=t(F * F), returned=True),
        lambda t: np.average(t(K), axis=1, returned=True, keepdims=True),
    ],
    "cov": [
        lambda t: np.cov(t(F)),
        lambda t: np.cov(t(F), rowvar=False, ddof=0),
        lambda t: np.cov(t(V), t(V[::-1])),
        lambda t: np.cov(t(V)),
    ],
    "corrcoef": [lambda t: np.corrcoef(t(F)), lambda t: np.corrcoef(t(V), t(F[1]))],
    "bincount": [
        lambda t: np.bincount(t(N)),
        lambda t: np.bincount(t(N), weights=t(N * 0.5), minlength=8),
    ],
    "digitize": [
        lambda t: np.digitize(t(W), t(V)),
        lambda t: np.digitize(t(W), bins=[1, 2, 4, 8], right=True),
        lambda t: np.digitize(t(V), t(V[::-1])),
        lambda t: np.digitize(t(V), t(V[::-1]), right=True),
    ],
    "histogram": [
        lambda t: np.histogram(t(F), bins=[1.0]),
        lambda t: np.histogram(t(F)),
        lambda t: np.histogram(t(N), bins=3, range=(0, 4)),
        lambda t: np.histogram(t(W), t(V)),
        lambda t: np.histogram(t(W), [0, 1, 4, 9], weights=t(W), density=True),
        lambda t: np.histogram(t(V), 3, weights=t(np.array([0.5, 1, 2, 4], np.float32))),
    ],
    "histogram_bin_edges": [lambda t: np.histogram_bin_edges(t(N), 4)],
    # joins and parts
    "concatenate": [
        lambda t: np.concatenate([t(K), t(J)]),
        lambda t: np.concatenate((t(K), t(F[:2])), axis=1),
        lambda t: np.concatenate([t(K), t(J)], axis=None, dtype=np.float64),
        lambda t: np.concatenate([t(K), t(J)], out=t(np.zeros((4, 3), int))),
    ],
    "stack": [
        lambda t: np.stack([t(K), t(J)]),
        lambda t: np.stack(arrays=[t(K), t(J)], axis=-1, dtype=np.float64),
    ],
    "vstack": [lambda t: np.vstack([t(K), t(J)]), lambda t: np.vstack((t(V), t(V)))],
    "hstack": [lambda t: np.hstack([t(K), t(J)]), lambda t: np.hstack([t(V), t(W)])],
    "dstack": [lambda t: np.dstack([t(K), t(J)]), lambda t: np.dstack([t(V), t(V)])],
    "column_stack": [
        lambda t: np.column_stack([t(V), t(V)]),
        lambda t: np.column_stack((t(K), t(J))),
    ],
    "block": [
        lambda t: np.block([[t(K), t(J)], [t(J), t(K)]]),
        lambda t: np.block([t(V), 3.0]),
    ],
    "append": [
        lambda t: np.append(t(K), 7),
        lambda t: np.append(t(K), t(J), axis=1),
        lambda t: np.append(t(V), [1.0, 2.0]),
    ],
    "delete": [
        lambda t: np.delete(t(V), 1),
        lambda t: np.delete(t(F), [0, -1], axis=1),
        lambda t: np.delete(t(F), slice(None, None, 2), 0),
        lambda t: np.delete(t(F), t(np.array([1, 2]))),
    ],
    "insert": [
        lambda t: np.insert(t(V), 1, 9.0),
        lambda t: np.insert(t(V), [1, 3, -1], [5.0, 6.0, 7.0]),
        lambda t: np.insert(t(K), 1, 7, axis=1),
        lambda t: np.insert(t(K), 0, t(np.array([7, 8, 9])), axis=0),
        lambda t: np.insert(t(K), [0, 3], 7, axis=1),
        lambda t: np.insert(t(K), 2, 5),
        lambda t: np.insert(t(V), 2, t(W)),
        lambda t: np.insert(t(V), [1], [7.0, 8.0]),
        lambda t: np.insert(t(K), [1], t(J), axis=1),
    ],
    "split": [lambda t: np.split(t(V), 2), lambda t: np.split(t(F), [1, 3], axis=1)],
    "array_split": [
        lambda t: np.array_split(t(V), 3),
        lambda t: np.array_split(ary=t(F), indices_or_sections=3, axis=1),
    ],
    "hsplit": [lambda t: np.hsplit(t(F), 2), lambda t: np.hsplit(t(V), [1])],
    "vsplit": [lambda t: np.vsplit(t(F), 3)],
    "dsplit": [lambda t: np.dsplit(t(C), 2)],
    "unstack": [lambda t: np.unstack(t(F), axis=1)],
    **each(
        "atleast_1d atleast_2d atleast_3d",
        lambda f, t: f(t(V)),
        lambda f, t: f(t(F), t(C), t(np.array(5))),
    ),
    # rearranged
    "ravel": [lambda t: np.ravel(t(F)), lambda t: np.ravel(a=t(F), order="F")],
    "reshape": [
        lambda t: np.reshape(t(F), (2, -1)),
        lambda t: np.reshape(t(F), shape=12),
        lambda t: np.reshape(t(F), (6, 2), order="F"),
    ],
    "resize": [lambda t: np.resize(t(F), (3, 5)), lambda t: np.resize(t(F), 5)],
    "transpose": [lambda t: np.transpose(t(C)), lambda t: np.transpose(t(C), axes=(1, 0, 2))],
    "matrix_transpose": [lambda t: np.matrix_transpose(t(C))],
    "swapaxes": [lambda t: np.swapaxes(t(C), 0, 2)],
    "moveaxis": [lambda t: np.moveaxis(t(C), 0, -1), lambda t: np.moveaxis(t(C), [0, 1], [2, 0])],
    "rollaxis": [
        lambda t: np.rollaxis(t(C), 2),
        lambda t: np.rollaxis(t(C), 0, 3),
        lambda t: np.rollaxis(t(C), axis=-1, start=1),
    ],
    "squeeze": [lambda t: np.squeeze(t(C[:1])), lambda t: np.squeeze(t(C[:1]), axis=0)],
    "expand_dims": [lambda t: np.expand_dims(t(F), 1), lambda t: np.expand_dims(t(F), axis=(0, 2))],
    "flip": [lambda t: np.flip(t(F)), lambda t: np.flip(m=t(F), axis=1)],
    "flipud": [lambda t: np.flipud(t(F))],
    "fliplr": [lambda t: np.fliplr(t(F))],
    "rot90": [lambda t, k=k: np.rot90(t(C), k, axes=(0, 2)) for k in (-1, 0, 1, 2, 3)],
    "roll": [
        lambda t: np.roll(t(F), 2),
        lambda t: np.roll(t(F), 1, axis=1),
        lambda t: np.roll(t(F), (1, 2), (0, 1)),
        lambda t: np.roll(t(F), (1, 2), 0),
    ],
    "tile": [lambda t: np.tile(t(K), 2), lambda t: np.tile(A=t(K), reps=(2, 1, 2))],
    "repeat": [
        lambda t: np.repeat(t(K), 2),
        lambda t: np.repeat(t(K), [1, 0, 2], axis=1),
    ],
    "broadcast_to": [lambda t: np.broadcast_to(t(V), (2, 4))],
    "broadcast_arrays": [
        lambda t: np.broadcast_arrays(t(K), t(np.ones((4, 1, 3)))),
        lambda t: np.broadcast_arrays(t(V.astype(np.float32)), 1.5, 2),
    ],
    "pad": [
        lambda t: np.pad(t(K), 1),
        lambda t: np.pad(t(K), ((1, 0), (0, 2)), "edge"),
        lambda t: np.pad(array=t(F), pad_width=1, constant_values=3.0),
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
    "where": [
        lambda t: np.where(t(F) > 0, t(F), 0),
        lambda t: np.where(t(K), t(K), t(J * 0.5)),
        lambda t: np.where(t(B)),
    ],
    "nonzero": [lambda t: np.nonzero(t(J))],
    "flatnonzero": [lambda t: np.flatnonzero(t(J))],
    "argwhere": [lambda t: np.argwhere(t(J))],
    "select": [
        lambda t: np.select([t(F) > 2, t(F) > 0], [t(F), t(F) * 10]),
        lambda t: np.select([t(K) > 4, t(K) > 2], [t(K), t(J)], default=-1),
    ],
    "piecewise": [
        lambda t: np.piecewise(t(F), [t(F < 0), t(F > 2)], [np.negative, lambda x: x * 2]),
        lambda t: np.piecewise(t(F), [t(F < 0)], [1, lambda x, y, z: x + y + z], 2, z=3),
        lambda t: np.piecewise(t(W), t(W < 3), [np.abs, 7]),
        lambda t: np.piecewise(t(F), t(np.stack([F < 0, F > 2])), [5, 6]),
        lambda t: np.piecewise(t(W), [True, False, True, True, False], [5, 6]),
    ],
    "choose": [
        lambda t: np.choose(t(J), [t(K), t(K * 10), t(K * 100)]),
        lambda t: np.choose(t(J), [t(K), t(K * 10)], mode="clip"),
        lambda t: np.choose(t(J), [t(K), t(K * 10)], mode="wrap"),
    ],
    "extract": [lambda t: np.extract(t(B), t(K))],
    "compress": [
        lambda t: np.compress(t(B[0]), t(K), axis=1),
        lambda t: np.compress([False, True], t(K), 0),
        lambda t: np.compress([0, 1, 1], t(K)),
    ],
    "take": [
        lambda t: np.take(t(K), t(J)),
        lambda t: np.take(t(K), [2, 0, -1], axis=1),
        lambda t: np.take(t(K), 1, axis=0),
        lambda t: np.take(t(V), [7, -9, 1], mode="clip"),
        lambda t: np.take(t(V), [7, -9, 1], mode="wrap"),
        lambda t: np.take(t(K), 5),
    ],
    "take_along_axis": [
        lambda t: np.take_along_axis(t(K), t(J), 1),
        lambda t: np.take_along_axis(t(K), t(N), axis=None),
    ],
    "put_along_axis": [lambda t: into(np.put_along_axis, t(K), t(J[:, :1]), 9, axis=1)],
    "put": [
        lambda t: into(np.put, t(K), [0, -1], [70, 80]),
        lambda t: into(np.put, t(K), t(np.array([9, -8])), 5, mode="clip"),
        lambda t: into(np.put, t(K), [7, 3, 4], t(np.array([5, 6])), mode="wrap"),
    ],
    "place": [
        lambda t: into(np.place, t(K), t(B), [7, 8, 9]),
        lambda t: into(np.place, t(K), t(B), np.float64(2.5)),
    ],
    "putmask": [
        lambda t: into(np.putmask, t(K), t(B), t(J)),
        lambda t: into(np.putmask, t(K), t(B), [7, 8]),
        lambda t: into(np.putmask, t(K), t(B), []),
        lambda t: into(np.putmask, t(K > 3), t(B), 1),
    ],
    "copyto": [
        lambda t: into(np.copyto, t(F), 3),
        lambda t: into(np.copyto, t(F), t(K[:1, :1]), where=t(F > 1)),
    ],
    "fill_diagonal": [
        lambda t: into(np.fill_diagonal, t(F), 9),
        lambda t: into(np.fill_diagonal, t(F), []),
        lambda t: into(np.fill_diagonal, t(np.zeros((3, 3, 3))), [1.0, 2.0]),
    ],
    "unravel_index": [lambda t: np.unravel_index(t(N), (3, 2))],
    "ravel_multi_index": [
        lambda t: np.ravel_multi_index((t(N), t(N[::-1])), (5, 6)),
        lambda t: np.ravel_multi_index((t(N), t(N)), (3, 2), mode="wrap"),
    ],
    "tril_indices_from": [lambda t: np.tril_indices_from(t(F), 1)],
    "triu_indices_from": [lambda t: np.triu_indices_from(t(F), k=-1)],
    "diag_indices_from": [lambda t: np.diag_indices_from(t(S))],
    # compared
    "isclose": [
        lambda t: np.isclose(t(F), t(F + 1e-9)),
        lambda t: np.isclose(t(H), t(H)),
        lambda t: np.isclose(t(H), t(H), equal_nan=True),
        lambda t: np.isclose(t(K), 3, atol=1),
    ],
    "allclose": [lambda t: np.allclose(t(F), t(F + 1e-9)), lambda t: np.allclose(t(F), 0.0)],
    "array_equal": [
        lambda t: np.array_equal(t(K), t(K)),
        lambda t: np.array_equal(t(K), t(V)),
        lambda t: np.array_equal(t(G), t(G), equal_nan=True),
    ],
    "array_equiv": [lambda t: np.array_equiv(t(K[:1]), t(np.stack([K[0], K[0]])))],
    "real": [lambda t: np.real(t(Z)), lambda t: np.real(t(B))],
    "imag": [lambda t: np.imag(t(Z)), lambda t: np.imag(t(B)), lambda t: np.imag(t(K))],
    "angle": [
        lambda t: np.angle(t(Z)),
        lambda t: np.angle(t(F), deg=True),
    ],
    "iscomplex": [lambda t: np.iscomplex(t(Z))],
    "isreal": [lambda t: np.isreal(t(Z))],
    "iscomplexobj": [lambda t: np.iscomplexobj(t(Z)), lambda t: np.iscomplexobj(t(K))],
    "isrealobj": [lambda t: np.isrealobj(t(Z))],
    "real_if_close": [lambda t: np.real_if_close(t(Z)), lambda t: np.real_if_close(t(Z[2:]))],
    "isposinf": [lambda t: np.isposinf(t(H))],
    "isneginf": [lambda t: np.isneginf(t(H))],
    "nan_to_num": [
        lambda t: np.nan_to_num(t(H)),
        lambda t: np.nan_to_num(t(H), nan=-1.0, posinf=5.0, neginf=6.0),
        lambda t: np.nan_to_num(t(Z * np.nan)),
        lambda t: np.nan_to_num(t(K)),
    ],
    "fix": [lambda t: np.fix(t(F))],
    "sinc": [lambda t: np.sinc(t(F)), lambda t: np.sinc(t(K))],
    "round": [lambda t: np.round(t(F), 1), lambda t: np.round(t(K))],
    "around": [lambda t: np.around(t(F), decimals=1)],
    "clip": [
        lambda t: np.clip(t(F), 0, 2),
        lambda t: np.clip(t(F), a_min=0, a_max=None),
        lambda t: np.clip(t(F), max=1.0),
    ],
    # differences
    "diff": [
        lambda t: np.diff(t(K)),
        lambda t: np.diff(t(F), 2, axis=0),
        lambda t: np.diff(t(V), prepend=0.0, append=t(V[:2])),
    ],
    "ediff1d": [lambda t: np.ediff1d(t(K)), lambda t: np.ediff1d(t(V), to_begin=[7.0, 8.0])],
    "gradient": [lambda t: np.gradient(t(V)), lambda t: np.gradient(t(F), 2.0, axis=1)],
    "trapezoid": [
        lambda t: np.trapezoid(t(F)),
        lambda t: np.trapezoid(t(F), t(V), axis=1),
        lambda t: np.trapezoid(t(F), dx=2.0, axis=0),
    ],
    "interp": [
        lambda t: np.interp(t(W), t(V), t(V * 3)),
        lambda t: np.interp(t(W), t(V), t(V * 3), left=-1.0, right=-2.0),
        lambda t: np.interp(t(W), t(V), t(V[::-1]), period=5.0),
    ],
    "unwrap": [lambda t: np.unwrap(t(F)), lambda t: np.unwrap(t(F), axis=0, period=4.0)],
    # orders and sets
    "sort": [lambda t: np.sort(t(F)), lambda t: np.sort(t(F), axis=None)],
    "argsort": [
        lambda t: np.argsort(t(F), axis=0, kind="stable"),
        lambda t: np.argsort(t(V[::-1]), None),
    ],
    "partition": [
        lambda t: np.partition(t(F), 1)[:, 1],
        lambda t: np.partition(t(V[::-1]), kth=(0, 1, 2, -1), axis=None),
    ],
    "argpartition": [lambda t: np.argpartition(t(V[::-1]), (0, 1, 2, 3))],
    "lexsort": [lambda t: np.lexsort((t(F[0]), t(N[1:5]))), lambda t: np.lexsort((t(K), t(J)), 0)],
    "searchsorted": [
        lambda t: np.searchsorted(t(V), t(W)),
        lambda t: np.searchsorted(t(V), v=2.0, side="right"),
    ],
    "unique": [
        lambda t: np.unique(t(N)),
        lambda t: np.unique(t(N), return_index=True, return_inverse=True, return_counts=True),
        lambda t: np.unique(t(G)),
        lambda t: np.unique(t(G), return_inverse=True, return_counts=True),
        lambda t: np.unique(t(G), equal_nan=False),
    ],
    "unique_all": [lambda t: tuple(np.unique_all(t(N)))],
    "unique_counts": [lambda t: tuple(np.unique_counts(t(N)))],
    "unique_inverse": [lambda t: tuple(np.unique_inverse(t(N)))],
    "unique_values": [lambda t: np.sort(np.unique_values(t(N)))],
    "isin": [lambda t: np.isin(t(K), [1, 5]), lambda t: np.isin(t(K), t(J), invert=True)],
    "union1d": [lambda t: np.union1d(t(N), t(K))],
    "intersect1d": [
        lambda t: np.intersect1d(t(N), t(K)),
        lambda t: np.intersect1d(t(N), t(K), return_indices=True),
    ],
    "setdiff1d": [lambda t: np.setdiff1d(t(K), t(N))],
    "setxor1d": [lambda t: np.setxor1d(t(N), t(K))],
    # products
    "dot": [
        lambda t: np.dot(t(K), t(J.T)),
        lambda t: np.dot(t(V), t(V)),
        lambda t: np.dot(t(V), 2.0),
        lambda t: np.dot(t(C), t(F.T)),
    ],
    "vdot": [lambda t: np.vdot(t(Z), t(Z)), lambda t: np.vdot(t(K), t(J))],
    "inner": [lambda t: np.inner(t(K), t(J)), lambda t: np.inner(t(V), 2.0)],
    "outer": [lambda t: np.outer(t(K), t(V)), lambda t: np.outer(t(V), t(Z))],
    "tensordot": [
        lambda t: np.tensordot(t(K), t(J)),
        lambda t: np.tensordot(t(C), t(F), axes=(1, 0)),
    ],
    "einsum": [lambda t: np.einsum("ij,kj->ik", t(K), t(J), optimize=True)],
    "polyval": [lambda t: np.polyval(t(V), t(F)), lambda t: np.polyval([1, -2, 3], t(K))],
    "kron": [lambda t: np.kron(t(K), t(J)), lambda t: np.kron(t(V), t(F))],
    "cross": [
        lambda t: np.cross(t(K), t(J)),
        lambda t: np.cross(t(K.T), t(J.T), axis=0),
    ],
    "trace": [lambda t: np.trace(t(F), 1), lambda t: np.trace(t(C), axis1=1, axis2=2)],
    "diagonal": [lambda t: np.diagonal(t(F), -1), lambda t: np.diagonal(t(C), axis1=1, axis2=2)],
    "diag": [lambda t: np.diag(t(V), 1), lambda t: np.diag(v=t(F))],
    "diagflat": [lambda t: np.diagflat(t(K), 1)],
    "tril": [lambda t: np.tril(t(F)), lambda t: np.tril(t(V), k=1)],
    "triu": [lambda t: np.triu(t(F), 1), lambda t: np.triu(t(C))],
    "vander": [lambda t: np.vander(t(N)), lambda t: np.vander(t(V), 3, increasing=True)],
    "convolve": [
        lambda t, mode=mode: np.convolve(t(V), t(W), mode) for mode in ("full", "same", "valid")
    ],
    "correlate": [
        lambda t, mode=mode: np.correlate(t(V), t(W), mode) for mode in ("full", "same", "valid")
    ]
    + [lambda t: np.correlate(t(W), t(Z[:2]), "full")],
    # made
    "zeros_like": [
        lambda t: np.zeros_like(t(K)),
        lambda t: np.zeros_like(t(K), shape=(4, 2), dtype=float),
    ],
    "ones_like": [
        lambda t: np.ones_like(a=t(K), dtype=bool),
        lambda t: np.ones_like(t(K), order="F"),
    ],
    "full_like": [lambda t: np.full_like(t(K), 7), lambda t: np.full_like(t(F), t(V))],
    "empty_like": [lambda t: np.empty_like(t(K), shape=(0, 2)), lambda t: np.empty_like(t(K)) * 0],
    "copy": [lambda t: np.copy(t(F)), lambda t: np.copy(t(F), order="F")],
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
    "shape": [lambda t: np.shape(t(C))],
    "ndim": [lambda t: np.ndim(t(C))],
    "size": [
        lambda t: np.size(t(C)),
        lambda t: np.size(t(C), axis=1),
        lambda t: np.size(t(C), (0, 1)),
    ],
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
    "linalg.det": [lambda t: np.linalg.det(t(M))],
    "linalg.diagonal": [lambda t: np.linalg.diagonal(t(C), offset=1)],
    "linalg.eig": [lambda t: np.sort(abs(np.linalg.eig(t(M))[0]))],
    "linalg.eigvals": [lambda t: np.sort(abs(np.linalg.eigvals(t(M))))],
    "linalg.eigh": [lambda t: np.linalg.eigh(t(S), UPLO="U")[0]],
    "linalg.eigvalsh": [
        lambda t: np.linalg.eigvalsh(t(S)),
        lambda t: np.linalg.eigvalsh(t(M), "U"),
    ],
    "linalg.inv": [lambda t: np.linalg.inv(t(M)), lambda t: np.linalg.inv(a=t(S))],
    "linalg.matmul": [lambda t: np.linalg.matmul(t(K), t(J.T))],
    "linalg.matrix_norm": [lambda t: np.linalg.matrix_norm(t(K), ord=1, keepdims=True)],
    "linalg.matrix_power": [
        lambda t: np.linalg.matrix_power(t(M), 5),
        lambda t: np.linalg.matrix_power(t(M), 0),
        lambda t: np.linalg.matrix_power(t(M), -2),
    ],
    "linalg.matrix_rank": [
        lambda t: np.linalg.matrix_rank(t(C)),
        lambda t: np.linalg.matrix_rank(t(S), tol=3.0),
        lambda t: np.linalg.matrix_rank(t(V)),
    ],
    "linalg.matrix_transpose": [lambda t: np.linalg.matrix_transpose(t(C))],
    "linalg.multi_dot": [lambda t: np.linalg.multi_dot([t(K), t(J.T), t(M)])],
    "linalg.norm": [
        lambda t: np.linalg.norm(t(F)),
        lambda t: np.linalg.norm(t(C)),
        lambda t: np.linalg.norm(t(F), 1),
        lambda t: np.linalg.norm(t(F), np.inf, axis=0),
        lambda t: np.linalg.norm(t(C), axis=(0, 2), keepdims=True),
        lambda t: np.linalg.norm(t(F), "nuc"),
        lambda t: np.linalg.norm(t(V), 3),
        lambda t: np.linalg.norm(t(K), keepdims=True),
    ],
    "linalg.outer": [lambda t: np.linalg.outer(t(V), t(W))],
    "linalg.pinv": [lambda t: np.linalg.pinv(t(F)), lambda t: np.linalg.pinv(t(K), rcond=0.1)],
    "linalg.qr": [
        lambda t: abs(np.linalg.qr(t(S))[1]),
        lambda t: abs(np.linalg.qr(t(F), mode="r")),
    ],
    "linalg.slogdet": [lambda t: tuple(np.linalg.slogdet(t(M)))],
    "linalg.solve": [
        lambda t: np.linalg.solve(t(M), t(np.array([1, 2]))),
        lambda t: np.linalg.solve(a=t(S), b=t(M)),
    ],
    "linalg.svd": [
        lambda t: np.linalg.svd(t(F), full_matrices=False)[1],
        lambda t: np.linalg.svd(t(K), compute_uv=False),
    ],
    "linalg.svdvals": [lambda t: np.linalg.svdvals(t(K))],
    "linalg.tensordot": [lambda t: np.linalg.tensordot(t(K), t(J), axes=((0,), (0,)))],
    "linalg.trace": [lambda t: np.linalg.trace(t(C), offset=1)],
    "linalg.vecdot": [lambda t: np.linalg.vecdot(t(Z), t(Z))],
    "linalg.vector_norm": [lambda t: np.linalg.vector_norm(t(K), axis=0, ord=1)],
    # transforms
    **each(
        "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft",
        lambda f, t: f(t(V)),
        lambda f, t: f(a=t(K), n=4, axis=0, norm="ortho"),
    ),
    **each(
        "fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn",
        lambda f, t: f(t(F)),
        lambda f, t: f(t(C), axes=(0, 2), norm="forward"),
    ),
    "fft.fftshift": [lambda t: np.fft.fftshift(t(F)), lambda t: np.fft.fftshift(t(F), axes=1)],
    "fft.ifftshift": [lambda t: np.fft.ifftshift(t(W))],
}


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
    "bool": "choose clip digitize dot histogram linalg.cond prod put quantile round searchsorted"
    " sum take trapezoid unravel_index",
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
    assert {name_of(function) for function in TABLE} == set(CASES)


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


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.put(x, [0, 5], 9.0),
        lambda x: np.put(x, [-6], 9.0),
        lambda x: np.put_along_axis(x, asarray(np.array([99])), 9.0, None),
        lambda x: np.put(x[0], [1], 9.0),
        lambda x: np.put(x[:0], [0], 9.0, mode="wrap"),
    ],
)
def test_writes_outside_are_refused(write):
    x = new(W)
    with pytest.raises(IndexError, match="out of bounds"):
        write(x)
    np.testing.assert_array_equal(host(x), W)


def test_the_last_value_wins_at_rank_0():
    for call in (
        lambda t: into(np.put, t(np.array(3.0)), [0, -1, 0], [1.0, 2.0, 5.0]),
        lambda t: into(np.put, t(np.array(3.0)), [4, 7], [1.0, 2.0], mode="clip"),
        lambda t: into(np.put, t(W), [], []),
        lambda t: into(np.put, t(W), [1], []),
    ):
        compared(call(new), call(plain), "")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64"])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_positions_of_short_integers(dtype, mode):
    places = asarray(np.array([3, 100], dtype))
    x = asarray(np.arange(300.0))
    for found in (np.take(x, places, mode=mode), x.take(places, mode=mode)):
        np.testing.assert_array_equal(host(found), [3.0, 100.0])
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


@pytest.mark.parametrize("method", ["lower", "higher", "nearest"])
def test_quantiles_are_elements(method):
    for array in (2**53 + np.array([1, 3, 5, 9]), 2**63 + np.array([9, 1, 3], np.uint64)):
        for call in (
            lambda t: np.quantile(t(array), [0.2, 0.5, 0.9], method=method),  # noqa: B023
            lambda t: np.percentile(t(array), 50, method=method),  # noqa: B023
        ):
            found, expected = call(new), call(plain)
            assert found.dtype == expected.dtype == array.dtype
            np.testing.assert_array_equal(host(found), expected)
    for function in (np.quantile, np.nanquantile):
        with pytest.raises(IndexError, match="no elements along axis"):
            function(new(np.zeros((2, 0), np.int64)), 0.5, axis=1, method=method)
    found = np.quantile(new(np.zeros((0, 2), np.int64)), 0.5, axis=1, method=method)
    assert (found.shape, found.dtype) == ((0,), tl.int64)


def test_numbers_among_choices_are_weak():
    truths, small = np.array([True, False]), np.array([1, 2], np.int8)
    for call in (
        lambda t: np.select([t(truths)], [t(truths)], 5),
        lambda t: np.select([t(truths), t(~truths)], [t(truths), t(small)], 3),
        lambda t: np.select([t(truths), t(~truths)], [t(small), t(V[:2])], 300),
        lambda t: np.select([t(truths), t(~truths)], [5, t(truths)], 3),
    ):
        compared(call(new), call(plain), "")


def test_each_nan_is_a_value_of_its_own():
    for call in (
        lambda t: np.setxor1d(t(np.array([np.nan, 1, 2])), t(np.array([2, np.nan]))),
        lambda t: np.setxor1d(t(np.array([1, np.nan, np.nan])), t(np.array([3.0]))),
        lambda t: np.setxor1d(t(np.array([1, 1, 2])), t(np.array([2, 3, 3])), True),
        lambda t: np.setxor1d(t(B), t(B[:0])),
        lambda t: np.setxor1d(t(V[:0]), t(V[:0])),
    ):
        compared(call(new), call(plain), "")


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
    for places in ([0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="choose: a must be at least 0 and below 2"):
            np.choose(asarray(np.array(places)), [x[0, :2], x[1, :2]])
    with pytest.raises(ValueError, match="putmask: mask must have 6 elements, as a has, got 2"):
        np.putmask(x, [True, False], 1)
    with pytest.raises(ValueError, match="place: vals must have at least one element"):
        np.place(x, x > 1, [])
    with pytest.raises(ValueError, match=r"has more than 2\*\*63 - 1 elements"):
        np.unravel_index(asarray(np.array([0])), (2,) * 63)


@pytest.mark.parametrize("rank", [33, 64])
def test_many_dimensions(rank):
    x = asarray(np.reshape([3.0, 1.0, 2.0, 0.0], (1,) * (rank - 3) + (2, 2, 1)))
    for call, expected in (
        (lambda: tl.sort(x, axis=-2), [1, 3, 0, 2]),
        (lambda: tl.argsort(x, axis=-3, descending=True), [0, 0, 1, 1]),
        (lambda: np.partition(x, 1, axis=-2), [1, 3, 0, 2]),
        (lambda: tl.median(x), [1.5]),
        (lambda: tl.median(x, axis=-2), [2, 1]),
        (lambda: tl.quantile(x, 0.25, axis=-3, keepdims=True), [2.25, 0.25]),
        (lambda: tl.nanquantile(x, [0.0, 1.0], axis=(-2, -3)), [0, 3]),
        (lambda: tl.quantile(x, [[1.0]], axis=(0, 1, 2, -1, -2)), [3, 2]),
        (lambda: np.choose(tl.astype(x > 1, tl.int8), [x, x + 5]), [8, 1, 7, 0]),
        (lambda: tl.vecdot(x, x, axis=-1), [9, 1, 4, 0]),
    ):
        np.testing.assert_array_equal(host(call()).ravel(), expected)
    assert tl.sort(x).shape == tl.quantile(x, 0.5, axis=-1, keepdims=True).shape == x.shape
    assert tl.median(x, axis=-2).shape == (*x.shape[:-2], 1)
    assert tl.quantile(x, [0.5], axis=(1, -2)).shape == (1, *x.shape[:1], *x.shape[2:-2], 1)
    square = x[..., 0] + asarray(np.eye(2)) * 3
    found = host(tl.linalg.solve(square, square)).ravel()
    np.testing.assert_allclose(found, [1, 0, 0, 1], atol=1e-15)


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
    assert every == set(CASES) | ABOUT_MEMORY | ABOUT_DTYPES | MADE_LIKE | REFUSED
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
    ]:
        with pytest.raises((TypeError, ValueError), match=name):
            call()


def test_quirks_of_arguments():
    for call in (
        lambda t: np.diff(t(V), n=0, prepend=0.0),
        lambda t: np.intersect1d(t(N), t(V)),
        lambda t: np.intersect1d(t(B), t(F)),
        lambda t: np.select([t(B), [True, False, True]], [t(K), 7]),
    ):
        compared(call(new), call(plain), "")


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


def test_what_no_integer_holds_is_refused_and_nothing_written():
    """Errors are those of NumPy for the same calls."""
    for call, error in (
        (lambda x: np.put(x, [0], math.inf), OverflowError),
        (lambda x: np.put(x, [0], math.nan), ValueError),
        (lambda x: np.put_along_axis(x, asarray(np.array([[0, 0, 0]])), math.nan, 0), ValueError),
        (lambda x: np.fill_diagonal(x, math.inf), OverflowError),
        (lambda x: np.putmask(x, x > 0, asarray(np.array([1.5]))), TypeError),
        (lambda x: np.insert(x, 0, math.nan), ValueError),
        (lambda x: np.min(x, initial=math.nan), ValueError),
        (lambda x: np.sum(x, initial=math.inf), OverflowError),
        (lambda x: np.resize(x, (-1,)), ValueError),
        (lambda x: np.linalg.cond(x[:0, :0]), ValueError),
    ):
        x = asarray(K)
        with pytest.raises(error):
            call(x)
        same(x, K)
