"""Files read into tensors that are there, and folders of Zarr that several processes write."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from tensors import asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

KINDS = ["npy", "safetensors", "zarr"]


@pytest.fixture(scope="module", autouse=True)
def libraries():
    pytest.importorskip("safetensors", reason="optional: safetensors")
    pytest.importorskip("zarr", reason="optional: zarr")


def test_into_several_by_name(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b/c": np.arange(4), "s": np.array(7)}
    for kind in ("safetensors", "zarr", "npz"):
        tl.save(tmp_path / f"x.{kind}", {n: tl.asarray(a, copy=True) for n, a in arrays.items()})
        out = {n: asarray(np.zeros_like(a)) for n, a in arrays.items()}
        assert tl.load(tmp_path / f"x.{kind}", out=out) is out
        for name, array in arrays.items():
            same(out[name], array)


def test_what_zarr_wrote_in_parts(tmp_path):
    """Chunks that the ends cut, missing chunks, shards, the other order of bytes."""
    import zarr

    array = np.arange(35.0).reshape(5, 7)
    tiles = tl.Layout.tiled((5, 7), [(2, 4)])
    for more in ({}, {"shards": (4, 6)}, {"dtype": ">f8"}, {"fill_value": 9.0}):
        said = {"shape": (5, 7), "chunks": (2, 3), "dtype": "f8", **more}
        there = zarr.create_array(tmp_path / "x", overwrite=True, **said)
        there[...] = array
        if "fill_value" in more:
            there = zarr.create_array(tmp_path / "x", overwrite=True, **said)
            there[:2] = array[:2]
        for layout in ((0, 1), tiles):
            out = asarray(np.zeros((5, 7)), layout=layout)
            same(tl.load(tmp_path / "x", out=out), there[...].astype("f8"))


@pytest.mark.parametrize("kind", KINDS)
def test_refused_and_nothing_written(kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    tl.save(path, tl.ones((2, 3)))
    zeros = asarray(np.zeros((2, 3)))
    cases = [
        (
            asarray(np.zeros((3, 2))),
            ValueError,
            r"^load: out must be of float64 and shape \(2, 3\)",
        ),
        (asarray(np.zeros((2, 3), "f4")), ValueError, r"got float32 and \(2, 3\)$"),
        ({"x": zeros}, ValueError, "^load: out must be one tensor, as the file holds$"),
        (tl.broadcast_to(asarray(np.zeros(3)), (2, 3)), ValueError, "share slots"),
        (np.zeros((2, 3), ">f8"), TypeError, r"^load: out must be a tensor, got numpy\.ndarray"),
        ({"x": 3}, TypeError, r"^load: out\['x'\] must be a tensor, got int"),
    ]
    for out, error, words in cases:
        with pytest.raises(error, match=words):
            tl.load(path, out=out)
    with pytest.raises(ValueError, match=r"^load: out is memory of its own; leave device out$"):
        tl.load(path, out=zeros, device="cpu")
    if kind != "npy":
        tl.save(path, {"x": tl.ones((2, 3))})
        for out in (zeros, {"y": zeros}, {"x": zeros, "y": zeros}):
            with pytest.raises(ValueError, match=r"out must be tensors by the names \['x'\]"):
                tl.load(path, out=out)
    assert not host(zeros).any()


# --- several processes, and one that dies --------------------------------------------------------


def fill(path, row, value):
    """Write a row of chunks with tensors whose layout is not Zarr's."""
    import zarr

    part = tl.full((8, 64), value, layout=(0, 1))
    zarr.open_array(path, mode="r+")[8 * row : 8 * row + 8] = part


def fill_again_and_again(path, ready):
    value = 0.0
    while True:
        value += 1
        fill(path, 0, value)
        ready.set()


@pytest.mark.ci
@pytest.mark.cpu
def test_two_processes_write_different_chunks(tmp_path):
    import zarr

    path = str(tmp_path / "x.zarr")
    zarr.create_array(path, shape=(64, 64), chunks=(8, 16), dtype="f8")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(fill, [(path, row, row + 1.0) for row in range(8)], chunksize=1)
    expected = np.repeat(np.arange(1.0, 9.0), 8)[:, None] * np.ones(64)
    same(tl.load(path), expected)


@pytest.mark.ci
@pytest.mark.cpu
@pytest.mark.parametrize("wait", [0.0, 0.01, 0.03])
def test_a_process_killed_while_it_writes(wait, tmp_path):
    """Each chunk is the old one or the new one: whole, of one value."""
    import zarr

    path = str(tmp_path / "x.zarr")
    zarr.create_array(path, shape=(8, 64), chunks=(8, 16), dtype="f8")
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    writer = context.Process(target=fill_again_and_again, args=(path, ready), daemon=True)
    writer.start()
    assert ready.wait(60)
    time.sleep(wait)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    found = host(tl.load(path))
    for column in range(0, 64, 16):
        assert len(np.unique(found[:, column : column + 16])) == 1
    assert found.min() >= 1
