"""Libraries that take any array namespace, run on this one; NumPy through them is the oracle.

All of them are optional: `pip install -e .[consumers]` brings them. A case is a function of the
library and a namespace, called with NumPy and with tensorlayout. `python tests/consumers` runs the
tests that some of these libraries install; of those there are only a few cases here.
"""

import importlib
import os
import warnings

import numpy as np
import pytest
from hypothesis import given as drawing
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

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


def column_major(xp, array):
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
    expected, results = parts(case(library, np)), parts(case(library, tl))
    assert len(results) == len(expected)
    for one, other in zip(results, expected, strict=True):
        assert isinstance(one, (tl.Tensor, bool, int, float)), type(one)
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9, atol=1e-12)
        if isinstance(one, tl.Tensor):
            assert one.dtype == np.asarray(other).dtype


EXTRA = {
    "apply_where": lambda x, xp: x.apply_where(
        column_major(xp, TABLE) > 0, (column_major(xp, TABLE),), lambda a: a * 2, lambda a: -a
    ),
    "at, mask": lambda x, xp: x.at(column_major(xp, TABLE) + 0, column_major(xp, TABLE) > 0).set(
        0.0
    ),
    "lazy_apply": lambda x, xp: x.lazy_apply(
        np.sort, column_major(xp, TABLE), shape=(40, 5), dtype=xp.float64, as_numpy=True, xp=xp
    ),
    "partition": lambda x, xp: x.partition(column_major(xp, TABLE), 20, axis=0)[20, :],
    "unravel_index": lambda x, xp: x.unravel_index(xp.asarray([22, 41]), (7, 6)),
}


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name):
    agree(EXTRA[name], optional("array_api_extra"))


def calls(name, *arrays, **options):
    """A function of SciPy, named from the package on, called with arrays."""

    def case(scipy, xp):
        module, _, function = f"{scipy.__name__}.{name}".rpartition(".")
        call = getattr(importlib.import_module(module), function)
        return call(
            *(column_major(xp, a) if isinstance(a, np.ndarray) else a for a in arrays), **options
        )

    return case


SCIPY = {
    "fft.dct": calls("fft.dct", TABLE),
    "ndimage.gaussian_filter": calls("ndimage.gaussian_filter", IMAGE, 1.0),
    "signal.savgol_filter": calls("signal.savgol_filter", OTHER, 7, 2),
    "special.expm1": calls("special.expm1", TABLE),  # a bare ufunc
    "special.logsumexp": calls("special.logsumexp", TABLE, axis=1),
    "stats.pearsonr": lambda s, xp: calls("stats.pearsonr", LINE, OTHER)(s, xp).statistic,
}


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name):
    agree(SCIPY[name], optional("scipy"))


def fitted(path, target=None, result="transform", **options):
    """An estimator fitted to the table, and what it makes of the table."""

    def case(sklearn, xp):
        module, _, name = path.rpartition(".")
        estimator = getattr(importlib.import_module(f"sklearn.{module}"), name)(**options)
        with sklearn.config_context(array_api_dispatch=True):
            x = column_major(xp, TABLE)
            estimator.fit(x, *([] if target is None else [column_major(xp, target)]))
            return getattr(estimator, result)(x)

    return case


def split(sklearn, xp):
    selection = importlib.import_module("sklearn.model_selection")
    with sklearn.config_context(array_api_dispatch=True):
        return selection.train_test_split(
            column_major(xp, TABLE), column_major(xp, TARGET), random_state=0
        )


SKLEARN = {
    "PCA": fitted("decomposition.PCA", n_components=3, svd_solver="full"),
    "RidgeClassifier": fitted("linear_model.RidgeClassifier", CLASSES, "predict", solver="svd"),
    "train_test_split": split,
}


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name):
    optional("scipy")
    agree(SKLEARN[name], optional("sklearn"))


PHOTOS = RNG.random((2, 3, 4, 4)).astype(np.float32)
EINOPS = {
    "rearrange, a list": lambda e, x: e.rearrange([x, x], "n b c h w -> b (n c) h w"),
    "reduce, mean": lambda e, x: e.reduce(x, "b c h w -> c", "mean"),
    "pack": lambda e, x: e.pack([x, x[:, :, :, 0]], "b c h *")[0],
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name):
    numpys, ours = optional("einops"), optional("einops.array_api")
    expected = parts(EINOPS[name](numpys, PHOTOS))
    result = parts(EINOPS[name](ours, tl.asarray(PHOTOS, layout="NHWC")))
    for one, other in zip(result, expected, strict=True):
        assert isinstance(one, tl.Tensor)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)


def _above(block):
    return block[:-2, 1:-1]


CUBED = {
    "map_overlap": (
        lambda c, xp, x: c.map_overlap(
            _above, x, dtype=x.dtype, chunks=x.chunks, depth=1, boundary=0, trim=False
        ),
        lambda a: np.vstack([np.zeros(9), a[:-1]]),
    ),
    "nanmean": (lambda c, xp, x: c.nanmean(x, axis=0), lambda a: np.nanmean(a, 0)),
    "uint8, var": (
        lambda c, xp, x: xp.var(xp.astype(100 * x, xp.uint8), axis=0, correction=1),
        lambda a: (100 * a).astype(np.uint8).var(0, ddof=1),
    ),
}


@pytest.mark.parametrize("name", CUBED)
def test_cubed(name, tmp_path):
    cubed, xp = optional("cubed"), optional("cubed.array_api")
    if optional("cubed.backend_array_api").namespace is not tl:
        pytest.skip("optional: Cubed was told to use another namespace")
    spec = cubed.Spec(str(tmp_path), allowed_mem="100MB", executor_name="single-threaded")
    lazy, numpys = CUBED[name]
    result = lazy(cubed, xp, xp.asarray(IMAGE, chunks=(3, 4), spec=spec)).compute()
    np.testing.assert_allclose(np.asarray(result), numpys(IMAGE), rtol=1e-12)


XARRAY = {
    "differentiate": lambda xr, d: d.differentiate("w"),
    "groupby": lambda xr, d: d.groupby("h").mean(),
    "pad, reflect": lambda xr, d: d.pad(w=2, mode="reflect"),
    "quantile, with NaN": lambda xr, d: d.quantile(0.5, "w", skipna=False),
}


def labelled(xr, xp):
    places = {"w": [10.0, 20.0, 40.0, 50.0], "h": ["x", "y", "z"]}
    return xr.DataArray(column_major(xp, HOLES), dims=("b", "h", "w"), coords=places)


@pytest.mark.parametrize("name", XARRAY)
def test_xarray(name):
    xr = optional("xarray")
    result, expected = (XARRAY[name](xr, labelled(xr, xp)) for xp in (tl, np))
    assert isinstance(result.data, tl.Tensor)
    assert result.dims == expected.dims
    np.testing.assert_allclose(np.asarray(result.data), expected.data, rtol=1e-12)


LEFT, RIGHT = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 6))
OPT_EINSUM = {
    "contract": lambda o, xp: o.contract(
        "ij,jk,kl->il", *(column_major(xp, a) for a in (LEFT, RIGHT, RIGHT.T))
    ),
    "contract_expression": lambda o, xp: o.contract_expression(
        "ij,jk->ki", LEFT.shape, RIGHT.shape
    )(column_major(xp, LEFT), column_major(xp, RIGHT)),
}


@pytest.mark.parametrize("name", OPT_EINSUM)
def test_opt_einsum(name):
    agree(OPT_EINSUM[name], optional("opt_einsum"))


def named(name, *arrays, **options):
    """A function of NumPy's by its name, as autoray calls it."""
    return lambda a, xp: a.do(name, *(column_major(xp, x) for x in arrays), **options)


AUTORAY = {
    "array": lambda a, xp: a.do("array", LEFT.tolist(), like=column_major(xp, LEFT)),
    "clip": named("clip", LEFT, a_min=0.0, a_max=1.0),
    "dag": lambda a, xp: a.dag(column_major(xp, 1j * LEFT)),
    "einsum": lambda a, xp: a.do(
        "einsum", "ij,jk", column_major(xp, LEFT), column_major(xp, RIGHT)
    ),
    "linalg.eigh": lambda a, xp: a.do("linalg.eigh", column_major(xp, MATRIX + MATRIX.T))[0],
    "to_numpy": lambda a, xp: tl.asarray(a.to_numpy(column_major(xp, LEFT))),
    "zeros": lambda a, xp: a.do("zeros", (2, 3), like=column_major(xp, LEFT)),
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
    result = cotengra.array_contract([column_major(tl, a) for a in arrays], labels, ("a", "e"))
    assert isinstance(result, tl.Tensor)
    np.testing.assert_allclose(np.asarray(result), np.linalg.multi_dot(arrays))


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


PINT = {
    "convert": lambda u, x: x.to(u.centimeter),
    "divide": lambda u, x: x / (2 * u.second),
    "stack": lambda u, x: np.stack([x, x]),
    "where": lambda u, x: np.where(x > 0 * u.meter, x, -x),
}


@pytest.mark.parametrize("name", PINT)
def test_pint(name):
    units = optional("pint").UnitRegistry()

    def case(_, xp):
        result = PINT[name](units, units.Quantity(column_major(xp, LEFT), "meter"))
        return result.magnitude

    agree(case, None)


def test_pint_xarray():
    xr = optional("xarray")
    optional("pint_xarray")
    places = {"a": np.arange(4.0)}

    def case(_, xp):
        d = xr.DataArray(
            column_major(xp, LEFT), dims=("a", "b"), coords=places, attrs={"units": "m"}
        )
        q = d.pint.quantify()
        kept = (q * q).pint.to("cm**2").mean("b")
        return [item.pint.dequantify().data for item in (q, q + q, kept, q.isel(a=slice(2)))]

    agree(case, None)


MARRAY = {
    "astype": lambda m, x: m.astype(x, m.float32),
    "index": lambda m, x: x[1:, ::2],
    "sort": lambda m, x: m.sort(x, axis=0),
    "unique_values": lambda m, x: m.unique_values(x),
    "where": lambda m, x: m.where(x > 0, x, -x),
}


@pytest.mark.parametrize("name", MARRAY)
def test_marray(name):
    marray = optional("marray")

    def case(_, xp):
        masked = marray.masked_namespace(xp)
        x = masked.asarray(column_major(xp, LEFT), mask=column_major(xp, LEFT > 0.5))
        result = MARRAY[name](masked, x)
        return [xp.where(result.mask, result.data[()] * 0, result.data), result.mask]

    agree(case, None)


GREY = RNG.random((16, 20))
SKIMAGE = {
    "mean_squared_error": ("metrics", lambda m, x: m.mean_squared_error(x, x * 0.5)),
    "rescale_intensity": ("exposure", lambda e, x: e.rescale_intensity(x, (0.1, 0.9))),
    "threshold_otsu": ("filters", lambda f, x: float(f.threshold_otsu(x))),
}


@pytest.mark.parametrize("name", SKIMAGE)
def test_scikit_image(name):
    """Its 0.26 knows no namespaces: these are the functions that NumPy's protocols carry."""
    chapter, function = SKIMAGE[name]
    agree(lambda m, xp: function(m, column_major(xp, GREY)), optional(f"skimage.{chapter}"))


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


xps = make_strategies_namespace(tl, api_version="2024.12")
DTYPES = st.one_of(xps.scalar_dtypes(), xps.complex_dtypes())


def test_hypothesis_takes_the_namespace_for_a_whole_one():
    """It warns of names and dtypes that it misses."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_strategies_namespace(tl).name == "tensorlayout"


@settings(max_examples=40, deadline=None)
@drawing(st.data())
def test_arrays_of_hypothesis(data):
    dtype, shape = data.draw(DTYPES), data.draw(xps.array_shapes(min_dims=0, min_side=0))
    x = data.draw(xps.arrays(dtype, shape))
    assert isinstance(x, tl.Tensor)
    assert (x.dtype, x.shape) == (dtype, shape)
