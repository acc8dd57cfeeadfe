"""Dask's arrays whose chunks are tensors: chunks stay tensors, in their layout.

Dask is optional. What it gives of chunks that are arrays of NumPy is the oracle. `python
tests/consumers dask` runs Dask's own tests of CuPy's arrays on tensors; here are operations that
take other ways than those.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import tensorlayout as tl

# What Dask warns of is its own.
pytestmark = pytest.mark.filterwarnings("default")

RNG = np.random.default_rng(0)
A = RNG.normal(size=(12, 8))
HOLES = np.where(np.arange(96).reshape(12, 8) % 7 == 3, np.nan, A)
LINE = A[:, 0].copy()
TALL = RNG.normal(size=(16, 4))
SQUARE = RNG.normal(size=(8, 8)) + 8 * np.eye(8)
NUMBERS = RNG.integers(0, 9, size=24)


def optional(name):
    return pytest.importorskip(name, reason=f"{name} is optional")


@pytest.fixture(name="da")
def _da():
    return optional("dask.array")


def lazy(da, xp, array, chunks=(5, 3)):
    """A Dask array; its chunks are column-major tensors, or arrays of NumPy."""
    chunks = chunks if array.ndim == 2 else chunks if isinstance(chunks, int) else 5
    if xp is np:
        return da.from_array(array, chunks=chunks)
    where = tl.default_device()
    x = tl.asarray(array, layout=range(array.ndim), copy=True, device=where)
    return da.from_array(x, chunks=chunks)


def parts(result):
    """The Dask arrays in a result, in order."""
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in parts(item)]
    return [result]


def chunks_of(x):
    """The chunks of a Dask array, as they are."""

    def flat(result):
        return (
            [c for f in result for c in flat(f)] if isinstance(result, (list, tuple)) else [result]
        )

    return flat(optional("dask").get(dict(x.__dask_graph__()), x.__dask_keys__()))


def smooth(x):
    return x * 2 + 1


# Functions of Dask's module and of what makes a Dask array of an array.
OPERATIONS = {
    "apply_along_axis": lambda da, x: da.apply_along_axis(lambda v: v.sum(), 0, x(A)),
    "apply_gufunc": lambda da, x: da.apply_gufunc(
        lambda v: np.mean(v, axis=-1), "(i)->()", x(A, (5, 8)), output_dtypes=float
    ),
    "astype": lambda da, x: x(A).astype("f4"),
    "cholesky": lambda da, x: da.linalg.cholesky(x(SQUARE @ SQUARE.T, 4)),
    "coarsen": lambda da, x: da.coarsen(np.mean, x(A, (6, 4)), {0: 2, 1: 2}),
    "cumsum, blelloch": lambda da, x: da.cumsum(x(A), axis=1, method="blelloch"),
    "fft": lambda da, x: da.fft.fft(x(A, (12, 3)), axis=0),
    "from_array": lambda da, x: x(A),
    "histogram, density": lambda da, x: da.histogram(x(A), bins=[-3, 0, 3], density=True)[0],
    "indices": lambda da, x: x(A)[[7, 1, 1, 10]],
    "lstsq": lambda da, x: da.linalg.lstsq(x(TALL, (8, 4)), x(TALL[:, 0].copy(), 8))[0],
    "map_overlap": lambda da, x: x(A).map_overlap(smooth, depth=1, boundary="reflect"),
    "mask of rows": lambda da, x: x(A)[x(A)[:, 0] > 0],
    "mean": lambda da, x: x(A).mean(axis=0),
    "mixed with NumPy's": lambda da, x: x(A) + da.ones((12, 8)),
    "pad": lambda da, x: da.pad(x(A), ((1, 0), (0, 2)), mode="edge"),
    "percentile": lambda da, x: da.percentile(x(LINE), [10, 50, 90]),
    "percentile of integers": lambda da, x: da.percentile(x(NUMBERS), 50, method="nearest"),
    "qr": lambda da, x: da.linalg.qr(x(TALL, (8, 4))),
    "quantile": lambda da, x: da.quantile(x(A), 0.3, axis=0),
    "rechunk": lambda da, x: x(A).rechunk((4, 8)),
    "rechunk, without elements": lambda da, x: x(A)[12:].rechunk((1, 8)),
    "select": lambda da, x: da.select([x(A) > 1, x(A) > 0], [x(A), x(A) * 2], 5.0),
    "solve, positive": lambda da, x: da.linalg.solve(
        x(SQUARE @ SQUARE.T, 4), x(A[:8, :3].copy(), (4, 3)), assume_a="pos"
    ),
    "topk": lambda da, x: da.topk(x(A), 3, axis=0),
    "ufuncs": lambda da, x: np.sin(x(A)) + np.float64(2) * x(HOLES) ** 2,
}
OF_SCIPY = {"cholesky", "lstsq", "solve, positive"}

# What needs arrays that Dask makes by itself: tensors, where its backend is ours.
WITH_BACKEND = {
    "arange": lambda da, x: da.arange(1, 12, 2, chunks=3),
    "argwhere": lambda da, x: da.argwhere(x(A) > 0),
    "eye": lambda da, x: da.ones((4, 5), chunks=2) + da.zeros((4, 5), chunks=2),
    "RandomState": lambda da, x: da.random.RandomState(1).normal(size=(6, 4), chunks=3),
    "svd_compressed": lambda da, x: da.linalg.svd_compressed(
        x(TALL, (8, 4)), 4, seed=da.random.RandomState(1)
    )[1],
}


def agree(da, call):
    """The call gives tensors, whole and in chunks, and what it gives of arrays of NumPy."""
    with optional("dask.config").set({"array.backend": "numpy"}):
        expected = parts(call(da, lambda *arguments: lazy(da, np, *arguments)))
        expected = [item.compute(scheduler="synchronous") for item in expected]
    result = parts(call(da, lambda *arguments: lazy(da, tl, *arguments)))
    assert len(result) == len(expected)
    for one, other in zip(result, expected, strict=True):
        chunks = chunks_of(one)
        assert {type(chunk) for chunk in chunks} == {tl.Tensor}
        whole = one.compute(scheduler="synchronous")
        assert isinstance(whole, tl.Tensor)
        assert whole.dtype == np.asarray(other).dtype
        np.testing.assert_allclose(np.asarray(whole), other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OPERATIONS)
def test_chunks_stay_tensors(name, da):
    if name in OF_SCIPY:
        optional("scipy")
    agree(da, OPERATIONS[name])


@pytest.mark.parametrize("name", WITH_BACKEND)
def test_new_arrays_are_tensors(name, da):
    with optional("dask.config").set({"array.backend": "tensorlayout"}):
        agree(da, WITH_BACKEND[name])


def test_refusals_have_words(da):
    x = lazy(da, tl, LINE)
    with pytest.raises(TypeError, match=r"numpy\.histogramdd: takes no tensors"):
        da.histogram2d(x, x, bins=3, range=((-3, 3),) * 2)[0].compute(scheduler="synchronous")
    with (
        optional("dask.config").set({"array.backend": "tensorlayout"}),
        pytest.raises(TypeError, match=r"use da\.random\.RandomState"),
    ):
        da.random.default_rng(0)


ON_DEVICE = ("from_array", "map_overlap", "mean", "percentile", "qr", "ufuncs")


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", ON_DEVICE)
def test_chunks_stay_on_their_device(name, da):
    result = parts(OPERATIONS[name](da, lambda *arguments: lazy(da, tl, *arguments)))
    expected = parts(OPERATIONS[name](da, lambda *arguments: lazy(da, np, *arguments)))
    for one, other in zip(result, expected, strict=True):
        assert {chunk.device for chunk in chunks_of(one)} == {tl.default_device()}
        whole = one.to_backend("numpy").compute(scheduler="synchronous")
        assert isinstance(whole, np.ndarray)
        np.testing.assert_allclose(whole, other.compute(scheduler="synchronous"), rtol=1e-9)


@pytest.mark.usefixtures("device")
def test_new_arrays_are_on_the_default_device(da):
    with optional("dask.config").set({"array.backend": "tensorlayout"}):
        for x in (da.ones((4, 3)), da.arange(5), da.random.RandomState(0).random((2, 2))):
            whole = x.compute(scheduler="synchronous")
            assert whole.device == tl.default_device()


KEPT = {
    "concatenate": lambda da, x: da.concatenate([x, x]),
    "map_overlap": lambda da, x: x.map_overlap(smooth, depth=1, boundary="nearest"),
    "pad": lambda da, x: da.pad(x, 1, mode="edge"),
    "rechunk": lambda da, x: x.rechunk(2),
    "where": lambda da, x: da.where(x > 0, x, 0.0),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("order", [(1, 3, 2, 0), (0, 1, 2, 3), (3, 2, 1, 0)], ids=str)
def test_the_order_in_memory_is_kept(name, order, da):
    x = tl.asarray(RNG.normal(size=(2, 4, 6, 5)), layout=order)
    result = KEPT[name](da, da.from_array(x, chunks=(1, 4, 3, 5)))
    whole = result.compute(scheduler="synchronous")
    assert whole.layout.minor_to_major == order
    for chunk in chunks_of(result):
        assert [d for d in chunk.layout.minor_to_major if chunk.shape[d] > 1] == [
            d for d in order if chunk.shape[d] > 1
        ]


def test_padding_of_chunks_is_kept(da):
    padded = tl.Layout.parse("(4,6):(8,1) padded=(4,8) padding=ZERO")
    x = da.from_array(tl.to_layout(tl.ones((4, 6)), padded), chunks=-1)
    for operand in (x, x + 1, np.sin(x), x.astype("f4"), da.where(x > 0, x, 0.0)):
        assert [chunk.layout for chunk in chunks_of(operand)] == [padded]


def test_layout_by_the_backend(da):
    x = da.from_array(A, chunks=6).to_backend("tensorlayout", layout=(0, 1))
    assert {chunk.layout.minor_to_major for chunk in chunks_of(x)} == {(0, 1)}
    assert isinstance(x._meta, tl.Tensor)
    assert x.to_backend("tensorlayout") is x
    back = (x + 1).to_backend("numpy")
    assert {type(chunk) for chunk in chunks_of(back)} == {np.ndarray}
    np.testing.assert_array_equal(back.compute(scheduler="synchronous"), A + 1)


def test_zarr_holds_what_tensors_hold(da, tmp_path):
    zarr = optional("zarr")
    for text in ("(12,8):(1,12)", "(12,8):(9,1) padded=(12,9) padding=ZERO"):
        x = da.from_array(tl.to_layout(tl.asarray(A), tl.Layout.parse(text)), chunks=(4, 8)) + 1
        da.to_zarr(x, str(tmp_path / "x.zarr"), mode="w")
        np.testing.assert_array_equal(zarr.open_array(tmp_path / "x.zarr")[...], A + 1)


def test_tokens_tell_values_dtypes_and_layouts_apart():
    tokenize = optional("dask.base").tokenize
    x = tl.asarray(A, copy=True)
    others = [x + 1, tl.astype(x, tl.float32), tl.to_layout(x, (0, 1)), tl.reshape(x, (8, 12))]
    others.append(tl.to_layout(x, tl.Layout.parse("(12,8):(9,1) padded=(12,9) padding=ZERO")))
    others.append(tl.to_layout(x, tl.Layout.tiled((12, 8), [(2, 2)])))
    tokens = [tokenize(operand, ensure_deterministic=True) for operand in (x, *others)]
    assert len(set(tokens)) == len(tokens)
    again = [tokenize(pickle.loads(pickle.dumps(operand))) for operand in (x, *others)]
    assert again == tokens
    optional("joblib")  # with which pickles of tensors are others
    code = "import dask.base, numpy, tensorlayout as tl\n"
    code += "x = tl.asarray(numpy.random.default_rng(0).normal(size=(12, 8)))\n"
    code += "print(dask.base.tokenize(x))"
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert other.stdout.strip() == tokens[0]


def test_sizes_and_the_wire():
    protocol, sizeof = optional("distributed.protocol"), optional("dask.sizeof").sizeof
    for layout in ("(12,8):(1,12)", "(12,8):(9,1) padded=(12,9) padding=ZERO"):
        x = tl.to_layout(tl.asarray(A), tl.Layout.parse(layout))
        header, frames = protocol.serialize(x)
        result = protocol.deserialize(header, [bytearray(frame) for frame in frames])
        assert result.layout == x.layout
        np.testing.assert_array_equal(np.asarray(result), A)
        assert sum(memoryview(frame).nbytes for frame in frames) < x.layout.nbytes(x.dtype) + 300
        assert sizeof(x) == sizeof(x[::-1]) == x.layout.nbytes(x.dtype)
    assert sizeof(tl.broadcast_to(tl.ones(10), (1000, 10))) == 80


REGISTERED = "from dask.array.dispatch import numel_lookup as n; print(tl.Tensor in n._lookup)"


@pytest.mark.parametrize(
    "imports",
    [
        "import tensorlayout as tl, dask.array",
        "import dask.array, tensorlayout as tl",
        "import dask, tensorlayout as tl, dask.array",
        "import tensorlayout.interchange.dask, dask.array as da, tensorlayout as tl",
    ],
)
def test_whichever_is_imported_first(imports):
    optional("dask.array")
    run = [sys.executable, "-c", f"{imports}\n{REGISTERED}"]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "True\n"


def test_registered_again_without_effect(da):
    from tensorlayout.interchange import dask

    utils = optional("dask.array.utils")
    before = utils.scipy_linalg_safe
    dask.register()
    assert utils.scipy_linalg_safe is before


def test_the_chunk_that_dask_makes_of_a_number_joins_tensors(da):
    result = da.insert(lazy(da, tl, A), 3, 5.0, axis=0).compute(scheduler="synchronous")
    assert isinstance(result, tl.Tensor)
    np.testing.assert_array_equal(np.asarray(result), np.insert(A, 3, 5.0, axis=0))
