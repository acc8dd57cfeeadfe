"""Libraries that take any array namespace, run on this one; NumPy through them is the oracle.

All of them are optional: `pip install -e .[consumers]` brings them. A case is a function of the
library and a namespace, called with NumPy and with tensorlayout.
"""

import importlib
import os

import numpy as np
import pytest

import tensorlayout as tl

# SciPy and scikit-learn dispatch only if this is set when SciPy is imported; Cubed reads its
# namespace once, too. Nothing else in the tests imports them.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("CUBED_BACKEND_ARRAY_API_MODULE", "tensorlayout")

# What these libraries warn of is theirs.
pytestmark = pytest.mark.filterwarnings("default")

RNG = np.random.default_rng(0)
LINE = RNG.uniform(0.1, 0.9, size=30)
OTHER = RNG.normal(size=30)
TABLE = RNG.normal(size=(40, 5))
TARGET = TABLE @ np.arange(1.0, 6.0)
CLASSES = (TARGET > 0).astype(np.int64) + (TARGET > 3)
IMAGE = RNG.random((8, 9))
MATRIX = RNG.random((4, 4)) + 4 * np.eye(4)
HOLES = np.where(np.arange(24) % 5 == 3, np.nan, np.arange(24.0)).reshape(2, 3, 4)


def optional(name):
    return pytest.importorskip(name, reason=f"{name} is optional")


def given(xp, array):
    """`array` in the namespace; matrices and more column-major, so that the layout is at stake."""
    if xp is np:
        return array
    return tl.asarray(array, copy=True, layout=tuple(range(array.ndim)))


def parts(result):
    """The arrays in a result, in order."""
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in parts(item)]
    return [result]


def agree(case, library):
    """The case gives tensors, and what it gives with NumPy."""
    expected, found = parts(case(library, np)), parts(case(library, tl))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, (tl.Tensor, bool, int, float)), type(one)
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9, atol=1e-12)
        if isinstance(one, tl.Tensor):
            assert one.dtype == np.asarray(other).dtype


# --- array-api-extra -----------------------------------------------------------------------------

EXTRA = {
    "angle": lambda x, xp: x.angle(xp.asarray([1 + 1j, -1j])),
    "apply_where": lambda x, xp: x.apply_where(
        given(xp, TABLE) > 0, (given(xp, TABLE),), lambda a: a * 2, lambda a: -a
    ),
    "argpartition": lambda x, xp: xp.asarray(x.argpartition(xp.asarray([4, 1, 3]), 1))[1],
    "at, add": lambda x, xp: x.at(xp.asarray([1, 2, 3]), slice(1, None)).add(9),
    "at, mask": lambda x, xp: x.at(given(xp, TABLE) + 0, given(xp, TABLE) > 0).set(0.0),
    "at, set": lambda x, xp: x.at(xp.asarray([1, 2, 3]))[0].set(9),
    "atleast_nd": lambda x, xp: x.atleast_nd(xp.asarray([1, 2]), ndim=3),
    "cov": lambda x, xp: x.cov(given(xp, TABLE)),
    "create_diagonal": lambda x, xp: x.create_diagonal(given(xp, TABLE), offset=1),
    "deg2rad": lambda x, xp: x.deg2rad(given(xp, TABLE)),
    "diag_indices": lambda x, xp: x.diag_indices(3, xp=xp),
    "isclose": lambda x, xp: x.isclose(given(xp, HOLES), given(xp, HOLES), equal_nan=True),
    "isin": lambda x, xp: x.isin(xp.asarray([1, 2]), xp.asarray([2]), invert=True),
    "kron": lambda x, xp: x.kron(given(xp, MATRIX), given(xp, TABLE[:2, :3])),
    "lazy_apply": lambda x, xp: x.lazy_apply(
        np.sort, given(xp, TABLE), shape=(40, 5), dtype=xp.float64, as_numpy=True, xp=xp
    ),
    "nan_to_num": lambda x, xp: x.nan_to_num(given(xp, HOLES), fill_value=7.0),
    "nanmean": lambda x, xp: x.nanmean(given(xp, HOLES), axis=1),
    "nansum": lambda x, xp: x.nansum(given(xp, HOLES), axis=(0, 2)),
    "nunique": lambda x, xp: xp.asarray(x.nunique(xp.asarray([1, 1, 2]))),
    "one_hot": lambda x, xp: x.one_hot(xp.asarray([0, 2, 1]), 3, axis=0),
    "pad": lambda x, xp: x.pad(given(xp, TABLE), ((1, 0), (0, 2)), constant_values=3.0),
    "partition": lambda x, xp: x.partition(given(xp, TABLE), 20, axis=0)[20, :],
    "searchsorted": lambda x, xp: x.searchsorted(
        xp.asarray([[1.0, 2, 3], [4, 5, 6]]), xp.asarray([[0.0, 2], [4.5, 9]])
    ),
    "setdiff1d": lambda x, xp: x.setdiff1d(xp.asarray([1, 2, 3, 2]), xp.asarray([3, 4])),
    "sinc": lambda x, xp: x.sinc(given(xp, TABLE)),
    "triu_indices": lambda x, xp: x.triu_indices(3, offset=1, xp=xp),
    "union1d": lambda x, xp: x.union1d(xp.asarray([-1, 0]), xp.asarray([0, 2])),
    "unravel_index": lambda x, xp: x.unravel_index(xp.asarray([22, 41]), (7, 6)),
}


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name):
    library = optional("array_api_extra")
    if not hasattr(library, name.partition(",")[0]):
        pytest.skip("optional: this array-api-extra has no such function")
    agree(EXTRA[name], library)


# --- SciPy ---------------------------------------------------------------------------------------


def calls(name, *arrays, **options):
    """A function of SciPy, named from the package on, called with arrays."""

    def case(scipy, xp):
        module, _, function = f"{scipy.__name__}.{name}".rpartition(".")
        call = getattr(importlib.import_module(module), function)
        return call(*(given(xp, a) if isinstance(a, np.ndarray) else a for a in arrays), **options)

    return case


SCIPY = {
    "cluster.vq.vq": calls("cluster.vq.vq", TABLE, TABLE[:3]),
    "cluster.hierarchy.linkage": calls("cluster.hierarchy.linkage", LINE[:10]),
    "constants": calls("constants.convert_temperature", LINE, "C", "F"),
    "fft.fft": calls("fft.fft", TABLE),
    "fft.dct": calls("fft.dct", TABLE),
    "integrate.trapezoid": calls("integrate.trapezoid", TABLE, axis=0),
    "integrate.cumulative_trapezoid": calls("integrate.cumulative_trapezoid", TABLE, axis=0),
    "interpolate.Akima": lambda s, xp: calls(
        "interpolate.Akima1DInterpolator", np.arange(9.0), IMAGE[0]
    )(s, xp)(given(xp, LINE)),
    "ndimage.gaussian_filter": calls("ndimage.gaussian_filter", IMAGE, 1.0),
    "ndimage.zoom": calls("ndimage.zoom", IMAGE, 2.0),
    "optimize.rosen_hess": calls("optimize.rosen_hess", LINE[:4]),
    "signal.fftconvolve": calls("signal.fftconvolve", OTHER, LINE[:7]),
    "signal.freqs": calls("signal.freqs", LINE[:4], LINE[4:8]),
    "signal.hilbert": calls("signal.hilbert", OTHER),
    "signal.savgol_filter": calls("signal.savgol_filter", OTHER, 7, 2),
    "signal.sosfilt": calls("signal.sosfilt", np.array([[0.1, 0.2, 0.1, 1, -1, 0.3]]), OTHER),
    "special.betainc": calls("special.betainc", LINE + 1, LINE + 2, LINE),
    "special.expm1": calls("special.expm1", TABLE),  # a bare ufunc
    "special.logsumexp": calls("special.logsumexp", TABLE, axis=1),
    "special.ndtri": calls("special.ndtri", LINE),
    "special.xlogy": calls("special.xlogy", LINE, LINE),
    "stats.entropy": calls("stats.entropy", IMAGE, axis=1),
    "stats.false_discovery_control": calls(
        "stats.false_discovery_control", LINE.reshape(5, 6), axis=0
    ),
    "stats.kurtosis": calls("stats.kurtosis", TABLE, axis=1),
    "stats.pearsonr": lambda s, xp: calls("stats.pearsonr", LINE, OTHER)(s, xp).statistic,
    "stats.rankdata": calls("stats.rankdata", TABLE, axis=0),
    "stats.ttest_ind": lambda s, xp: calls("stats.ttest_ind", LINE, OTHER)(s, xp).pvalue,
    "stats.zscore": calls("stats.zscore", HOLES, axis=2, nan_policy="omit"),
}


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name):
    agree(SCIPY[name], optional("scipy"))


# --- scikit-learn --------------------------------------------------------------------------------


def fitted(path, target=None, result="transform", **options):
    """An estimator fitted to the table, and what it makes of the table."""

    def case(sklearn, xp):
        module, _, name = path.rpartition(".")
        estimator = getattr(importlib.import_module(f"sklearn.{module}"), name)(**options)
        with sklearn.config_context(array_api_dispatch=True):
            x = given(xp, TABLE)
            estimator.fit(x, *([] if target is None else [given(xp, target)]))
            return getattr(estimator, result)(x)

    return case


def scored(name, *arrays, **options):
    """A metric of arrays."""

    def case(sklearn, xp):
        module, _, metric = f"sklearn.metrics.{name}".rpartition(".")
        function = getattr(importlib.import_module(module), metric)
        with sklearn.config_context(array_api_dispatch=True):
            return function(*(given(xp, a) for a in arrays), **options)

    return case


def split(sklearn, xp):
    selection = importlib.import_module("sklearn.model_selection")
    with sklearn.config_context(array_api_dispatch=True):
        return selection.train_test_split(given(xp, TABLE), given(xp, TARGET), random_state=0)


SKLEARN = {
    "GaussianNB": fitted("naive_bayes.GaussianNB", CLASSES, "predict_proba"),
    "LinearDiscriminantAnalysis": fitted(
        "discriminant_analysis.LinearDiscriminantAnalysis", CLASSES, "predict_proba"
    ),
    "MinMaxScaler": fitted("preprocessing.MinMaxScaler"),
    "Normalizer": fitted("preprocessing.Normalizer"),
    "PCA": fitted("decomposition.PCA", n_components=3, svd_solver="full"),
    "Ridge": fitted("linear_model.Ridge", TARGET, "predict", solver="svd"),
    "RidgeClassifier": fitted("linear_model.RidgeClassifier", CLASSES, "predict", solver="svd"),
    "StandardScaler": fitted("preprocessing.StandardScaler"),
    "accuracy_score": scored("accuracy_score", CLASSES, CLASSES[::-1]),
    "confusion_matrix": scored("confusion_matrix", CLASSES, CLASSES[::-1]),
    "f1_score": scored("f1_score", CLASSES, CLASSES[::-1], average="macro"),
    "median_absolute_error": scored("median_absolute_error", LINE, OTHER),
    "r2_score": scored("r2_score", LINE, OTHER),
    "cosine_similarity": scored("pairwise.cosine_similarity", TABLE, TABLE[:7]),
    "rbf_kernel": scored("pairwise.rbf_kernel", TABLE, TABLE[:7]),
    "train_test_split": split,
}


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name):
    optional("scipy")
    agree(SKLEARN[name], optional("sklearn"))


# --- einops --------------------------------------------------------------------------------------

PHOTOS = RNG.random((2, 3, 4, 4)).astype(np.float32)
EINOPS = {
    "rearrange": lambda e, x: e.rearrange(x, "b c (h g) (w v) -> b (c g v) h w", g=2, v=2),
    "rearrange, a list": lambda e, x: e.rearrange([x, x], "n b c h w -> b (n c) h w"),
    "reduce, max": lambda e, x: e.reduce(x, "b c (h 2) (w 2) -> b c h w", "max"),
    "reduce, mean": lambda e, x: e.reduce(x, "b c h w -> c", "mean"),
    "repeat": lambda e, x: e.repeat(x, "b c h w -> b c (h 2) (w 3)"),
    "pack": lambda e, x: e.pack([x, x[:, :, :, 0]], "b c h *")[0],
    "unpack": lambda e, x: e.unpack(x, [[1], [2]], "b * h w"),
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name):
    numpys, ours = optional("einops"), optional("einops.array_api")
    expected = parts(EINOPS[name](numpys, PHOTOS))
    found = parts(EINOPS[name](ours, tl.asarray(PHOTOS, layout="NHWC")))
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, tl.Tensor)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)


# --- Cubed ---------------------------------------------------------------------------------------


def _above(block):
    return block[:-2, 1:-1]


CUBED = {
    "argmax": (lambda c, xp, x: xp.argmax(x, axis=0), lambda a: a.argmax(0)),
    "channels": (lambda c, xp, x: xp.std(xp.permute_dims(x, (1, 0)), axis=1), lambda a: a.std(0)),
    "concat": (lambda c, xp, x: xp.concat([x, x], axis=1), lambda a: np.concatenate([a, a], 1)),
    "cumulative_sum": (lambda c, xp, x: xp.cumulative_sum(x, axis=1), lambda a: a.cumsum(1)),
    "diff": (lambda c, xp, x: xp.diff(x, axis=0), lambda a: np.diff(a, axis=0)),
    "float32, mean": (
        lambda c, xp, x: xp.mean(xp.astype(x, xp.float32)),
        lambda a: a.astype(np.float32).mean(dtype=np.float64).astype(np.float32),
    ),
    "index": (lambda c, xp, x: x[1:7, ::2], lambda a: a[1:7, ::2]),
    "map_overlap": (
        lambda c, xp, x: c.map_overlap(
            _above, x, dtype=x.dtype, chunks=x.chunks, depth=1, boundary=0, trim=False
        ),
        lambda a: np.vstack([np.zeros(9), a[:-1]]),
    ),
    "matmul": (lambda c, xp, x: xp.matmul(x, xp.permute_dims(x, (1, 0))), lambda a: a @ a.T),
    "mean": (lambda c, xp, x: xp.mean(x, axis=0), lambda a: a.mean(0)),
    "nanmean": (lambda c, xp, x: c.nanmean(x, axis=0), lambda a: np.nanmean(a, 0)),
    "nansum": (lambda c, xp, x: c.nansum(x), lambda a: np.nansum(a)),
    "reshape": (lambda c, xp, x: xp.reshape(x, (72,)), lambda a: a.reshape(72)),
    "squeeze": (lambda c, xp, x: xp.squeeze(x[:, :1], axis=1), lambda a: a[:, 0]),
    "uint8, var": (
        lambda c, xp, x: xp.var(xp.astype(100 * x, xp.uint8), axis=0, correction=1),
        lambda a: (100 * a).astype(np.uint8).var(0, ddof=1),
    ),
    "where": (lambda c, xp, x: xp.where(x > 0.5, x, -x), lambda a: np.where(a > 0.5, a, -a)),
}


@pytest.mark.parametrize("name", CUBED)
def test_cubed(name, tmp_path):
    cubed, xp = optional("cubed"), optional("cubed.array_api")
    if optional("cubed.backend_array_api").namespace is not tl:
        pytest.skip("optional: Cubed was told to use another namespace")
    spec = cubed.Spec(str(tmp_path), allowed_mem="100MB", executor_name="single-threaded")
    lazy, numpys = CUBED[name]
    found = lazy(cubed, xp, xp.asarray(IMAGE, chunks=(3, 4), spec=spec)).compute()
    np.testing.assert_allclose(np.asarray(found), numpys(IMAGE), rtol=1e-12)


# --- xarray --------------------------------------------------------------------------------------

XARRAY = {
    "arithmetic": lambda xr, d: np.float64(2) * d - d.isel(b=0),
    "coarsen": lambda xr, d: d.coarsen(w=2).mean(),
    "concat": lambda xr, d: xr.concat([d, d], "n"),
    "cumsum": lambda xr, d: d.cumsum("w"),
    "cumprod": lambda xr, d: d.cumprod("w", skipna=False),
    "differentiate": lambda xr, d: d.differentiate("w"),
    "dot": lambda xr, d: xr.dot(d, d.isel(b=0), dim="w"),
    "groupby": lambda xr, d: d.groupby("h").mean(),
    "isel": lambda xr, d: d.isel(w=[3, 0], h=slice(None, None, -1)),
    "max": lambda xr, d: d.max("w"),
    "mean": lambda xr, d: d.mean("w"),
    "median": lambda xr, d: d.median(["h", "w"]),
    "pad": lambda xr, d: d.pad(w=(1, 2), h=1),
    "pad, reflect": lambda xr, d: d.pad(w=2, mode="reflect"),
    "prod": lambda xr, d: d.prod("w", skipna=True),
    "quantile": lambda xr, d: d.quantile([0.1, 0.5], "w"),
    "quantile, with NaN": lambda xr, d: d.quantile(0.5, "w", skipna=False),
    "shift": lambda xr, d: d.shift(w=1),
    "sin": lambda xr, d: np.sin(d),
    "std": lambda xr, d: d.std("w", ddof=1),
    "sum": lambda xr, d: d.sum("b"),
    "transpose": lambda xr, d: d.transpose("w", "b", "h"),
    "where": lambda xr, d: d.where(d > 3),
}


def labelled(xr, xp):
    places = {"w": [10.0, 20.0, 40.0, 50.0], "h": ["x", "y", "z"]}
    return xr.DataArray(given(xp, HOLES), dims=("b", "h", "w"), coords=places)


@pytest.mark.parametrize("name", XARRAY)
def test_xarray(name):
    xr = optional("xarray")
    found, expected = (XARRAY[name](xr, labelled(xr, xp)) for xp in (tl, np))
    assert isinstance(found.data, tl.Tensor)
    assert found.dims == expected.dims
    np.testing.assert_allclose(np.asarray(found.data), expected.data, rtol=1e-12)


# --- contractions, by opt_einsum, autoray, cotengra and quimb ------------------------------------

LEFT, RIGHT = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 6))
OPT_EINSUM = {
    "contract": lambda o, xp: o.contract(
        "ij,jk,kl->il", *(given(xp, a) for a in (LEFT, RIGHT, RIGHT.T))
    ),
    "contract, all": lambda o, xp: o.contract("ij,ij->", given(xp, LEFT), given(xp, LEFT)),
    "contract_expression": lambda o, xp: o.contract_expression(
        "ij,jk->ki", LEFT.shape, RIGHT.shape
    )(given(xp, LEFT), given(xp, RIGHT)),
    "trace": lambda o, xp: o.contract("ii->", given(xp, MATRIX)),
}


@pytest.mark.parametrize("name", OPT_EINSUM)
def test_opt_einsum(name):
    agree(OPT_EINSUM[name], optional("opt_einsum"))


def named(name, *arrays, **options):
    """A function of NumPy's by its name, as autoray calls it."""
    return lambda a, xp: a.do(name, *(given(xp, x) for x in arrays), **options)


AUTORAY = {
    "abs": named("abs", LEFT),
    "allclose": named("allclose", LEFT, LEFT),
    "array": lambda a, xp: a.do("array", LEFT.tolist(), like=given(xp, LEFT)),
    "clip": named("clip", LEFT, a_min=0.0, a_max=1.0),
    "complex": named("complex", LEFT, 2 * LEFT),
    "concatenate": lambda a, xp: a.do("concatenate", (given(xp, LEFT), given(xp, LEFT)), axis=1),
    "conj": named("conj", 1j * LEFT),
    "cumsum": named("cumsum", LEFT, axis=0),
    "dag": lambda a, xp: a.dag(given(xp, 1j * LEFT)),
    "diag": named("diag", MATRIX),
    "einsum": lambda a, xp: a.do("einsum", "ij,jk", given(xp, LEFT), given(xp, RIGHT)),
    "eye": lambda a, xp: a.do("eye", 3, like=given(xp, LEFT)),
    "isclose": named("isclose", LEFT, 1.01 * LEFT, rtol=0.02),
    "linalg.eigh": lambda a, xp: a.do("linalg.eigh", given(xp, MATRIX + MATRIX.T))[0],
    "linalg.norm": named("linalg.norm", LEFT),
    "linalg.qr": named("linalg.qr", LEFT),
    "linalg.solve": named("linalg.solve", MATRIX, MATRIX),
    "linalg.svd": lambda a, xp: a.do("linalg.svd", given(xp, LEFT))[1],
    "pad": lambda a, xp: a.do("pad", given(xp, LEFT), ((1, 0), (0, 2))),
    "power": named("power", abs(LEFT), 1.5 * abs(LEFT)),
    "ravel": named("ravel", LEFT),
    "reshape": lambda a, xp: a.do("reshape", given(xp, LEFT), (2, 10)),
    "sum": named("sum", LEFT, axis=1),
    "tensordot": lambda a, xp: a.do("tensordot", given(xp, LEFT), given(xp, RIGHT), 1),
    "to_numpy": lambda a, xp: tl.asarray(a.to_numpy(given(xp, LEFT))),
    "trace": named("trace", MATRIX),
    "transpose": lambda a, xp: a.do("transpose", given(xp, LEFT), (1, 0)),
    "zeros": lambda a, xp: a.do("zeros", (2, 3), like=given(xp, LEFT)),
}


@pytest.mark.parametrize("name", AUTORAY)
def test_autoray(name):
    agree(AUTORAY[name], optional("autoray"))


def test_autoray_draws_tensors():
    autoray = optional("autoray")
    for name in ("random.normal", "random.uniform"):
        x = autoray.do(name, size=(200, 30), like="tensorlayout")
        assert isinstance(x, tl.Tensor)
        assert 0.2 < float(tl.std(x)) < 1.1


def test_cotengra():
    cotengra = optional("cotengra")
    arrays = [LEFT, RIGHT, RIGHT.T, LEFT.T]
    labels = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    found = cotengra.array_contract([given(tl, a) for a in arrays], labels, ("a", "e"))
    assert isinstance(found, tl.Tensor)
    np.testing.assert_allclose(np.asarray(found), np.linalg.multi_dot(arrays))


def test_quimb():
    """A matrix product state is normalised, brought to a canonical form, and compressed."""
    quimb = optional("quimb.tensor")
    ours, numpys = (quimb.MPS_rand_state(8, 6, seed=1) for _ in range(2))
    ours.apply_to_arrays(lambda array: tl.asarray(np.asarray(array)))
    for state in (ours, numpys):
        state.normalize()
        state.canonicalize(3)
        state.compress(max_bond=4)
    assert {type(part.data) for part in ours} == {tl.Tensor}
    norm = ours.H @ ours
    assert isinstance(norm, tl.Tensor)
    np.testing.assert_allclose(float(norm), float(numpys.H @ numpys), rtol=1e-9)
    assert ours.max_bond() == 4


# --- arrays around arrays: pint, pint-xarray, marray ---------------------------------------------

PINT = {
    "convert": lambda u, x: x.to(u.centimeter),
    "cumsum": lambda u, x: np.cumsum(x, axis=0),
    "divide": lambda u, x: x / (2 * u.second),
    "index": lambda u, x: x[1:, ::2],
    "max": lambda u, x: np.max(x, axis=1),
    "mean": lambda u, x: np.mean(x),
    "multiply": lambda u, x: x * x,
    "power": lambda u, x: x**2,
    "sqrt": lambda u, x: np.sqrt(x * x),
    "stack": lambda u, x: np.stack([x, x]),
    "std": lambda u, x: x.std(axis=0),
    "sum": lambda u, x: x.sum(),
    "transpose": lambda u, x: x.T,
    "where": lambda u, x: np.where(x > 0 * u.meter, x, -x),
}


@pytest.mark.parametrize("name", PINT)
def test_pint(name):
    units = optional("pint").UnitRegistry()

    def case(_, xp):
        found = PINT[name](units, units.Quantity(given(xp, LEFT), "meter"))
        return found.magnitude

    agree(case, None)


def test_pint_xarray():
    xr = optional("xarray")
    optional("pint_xarray")
    places = {"a": np.arange(4.0)}

    def case(_, xp):
        d = xr.DataArray(given(xp, LEFT), dims=("a", "b"), coords=places, attrs={"units": "m"})
        q = d.pint.quantify()
        kept = (q * q).pint.to("cm**2").mean("b")
        return [each.pint.dequantify().data for each in (q, q + q, kept, q.isel(a=slice(2)))]

    agree(case, None)


MARRAY = {
    "add": lambda m, x: x + 2 * x,
    "argmax": lambda m, x: m.argmax(x, axis=0),
    "astype": lambda m, x: m.astype(x, m.float32),
    "concat": lambda m, x: m.concat([x, x]),
    "count": lambda m, x: m.count(x, axis=0),
    "index": lambda m, x: x[1:, ::2],
    "max": lambda m, x: m.max(x, axis=1),
    "mean": lambda m, x: m.mean(x, axis=0),
    "permute_dims": lambda m, x: m.permute_dims(x, (1, 0)),
    "reshape": lambda m, x: m.reshape(x, (-1,)),
    "sin": lambda m, x: m.sin(x),
    "sort": lambda m, x: m.sort(x, axis=0),
    "std": lambda m, x: m.std(x),
    "sum": lambda m, x: m.sum(x, axis=1),
    "unique_values": lambda m, x: m.unique_values(x),
    "where": lambda m, x: m.where(x > 0, x, -x),
}


@pytest.mark.parametrize("name", MARRAY)
def test_marray(name):
    marray = optional("marray")

    def case(_, xp):
        masked = marray.masked_namespace(xp)
        x = masked.asarray(given(xp, LEFT), mask=given(xp, LEFT > 0.5))
        found = MARRAY[name](masked, x)
        return [xp.where(found.mask, found.data[()] * 0, found.data), found.mask]

    agree(case, None)


# --- scikit-image --------------------------------------------------------------------------------

GREY = RNG.random((16, 20))
SKIMAGE = {
    "adjust_gamma": ("exposure", lambda e, x: e.adjust_gamma(x, 2.0)),
    "adjust_log": ("exposure", lambda e, x: e.adjust_log(x)),
    "invert": ("util", lambda u, x: u.invert(x)),
    "mean_squared_error": ("metrics", lambda m, x: m.mean_squared_error(x, x * 0.5)),
    "rescale_intensity": ("exposure", lambda e, x: e.rescale_intensity(x, (0.1, 0.9))),
    "threshold_otsu": ("filters", lambda f, x: float(f.threshold_otsu(x))),
}


@pytest.mark.parametrize("name", SKIMAGE)
def test_scikit_image(name):
    """Its 0.26 knows no namespaces: these are the functions that NumPy's protocols carry."""
    chapter, function = SKIMAGE[name]
    agree(lambda m, xp: function(m, given(xp, GREY)), optional(f"skimage.{chapter}"))


# --- array-api-compat ----------------------------------------------------------------------------


def test_array_api_compat():
    compat = optional("array_api_compat")
    x = tl.zeros((2, 3), layout=(0, 1))
    assert compat.is_array_api_obj(x)
    assert not compat.is_numpy_array(x)
    assert compat.array_namespace(x, None, 1.0) is tl
    assert compat.is_array_api_strict_namespace(tl) is False
    assert compat.device(x) == x.device
    assert compat.to_device(x, "cpu") is x
    assert compat.size(x) == 6
    assert compat.is_writeable_array(x)
    assert not compat.is_lazy_array(x)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, np.ones(2))


# --- the layout comes through --------------------------------------------------------------------


def test_scalers_keep_the_layout():
    sklearn, scaling = optional("sklearn"), optional("sklearn.preprocessing")
    x = tl.asarray(TABLE, layout=(0, 1), copy=True)
    with sklearn.config_context(array_api_dispatch=True):
        for scaler in (scaling.StandardScaler(), scaling.MinMaxScaler(), scaling.MaxAbsScaler()):
            assert scaler.fit_transform(x).layout == x.layout


def test_photographs_stay_channels_last():
    einops, x = optional("einops.array_api"), tl.asarray(PHOTOS, layout="NHWC")
    assert einops.reduce(x, "b c (h 2) (w 2) -> b c h w", "mean").layout.minor_to_major[0] == 1
    rows = einops.rearrange(x, "b c h w -> b h w c")
    assert np.shares_memory(np.asarray(rows), np.asarray(x))
    assert rows.layout.is_row_major


def test_data_arrays_keep_the_order():
    xr = optional("xarray")
    d = labelled(xr, tl)
    assert d.data.layout.is_column_major
    assert d.mean("h").data.layout == tl.Layout.column_major((2, 4))
    assert d.pad(w=1).data.layout == tl.Layout.column_major((2, 3, 6))
    assert (d + 1).data.layout == d.data.layout
    assert np.sin(d).data.layout == d.data.layout
