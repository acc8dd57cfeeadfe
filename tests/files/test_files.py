"""Tensors in files: held against NumPy, safetensors and Zarr themselves."""

import copy
import io
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile

import layouts
import numpy as np
import pytest
import tensors
from tensors import BFLOAT16, DTYPES, as_dtype, asarray, fits, host, padding_of, same, slots

import tensorlayout as tl
from tensorlayout.layout import Layout

pytestmark = pytest.mark.usefixtures("device")

KINDS = ["npy", "safetensors", "zarr"]
# What each cannot say.
WITHOUT = {"npy": "bfloat16", "safetensors": "complex128", "zarr": "bfloat16"}


@pytest.fixture(scope="module", autouse=True)
def libraries():
    pytest.importorskip("safetensors", reason="optional: safetensors")
    pytest.importorskip("zarr", reason="optional: zarr")


def by_others(path):
    """Read a file with the format's own library."""
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".zarr"):
        import zarr

        return np.asarray(zarr.open(path, mode="r")[...])
    from safetensors.numpy import load_file

    (array,) = load_file(path).values()
    return array


def into_another(path, expected, layout):
    """A file is read into a tensor that is there, whose padding stays as it is."""
    before = slots(expected.dtype, layout.required_size, seed=3)
    out, _ = tensors.tensor_in(layout, before)
    padding = padding_of(out).tobytes()
    assert tl.load(path, out=out) is out
    same(out, expected)
    assert out.layout == layout
    assert padding_of(out).tobytes() == padding


def some_tensor(layout):
    """A tensor in a layout, of float32 where that holds the padding, and its elements."""
    single = np.dtype(np.float32)
    dtype = single if fits(layout, single) else np.dtype(layout.padding_value.dtype)
    return tensors.tensor_in(layout, slots(dtype, layout.required_size))


def in_npy(layout):
    return layout.form in (Layout.row_major(layout.shape), Layout.column_major(layout.shape))


# --- there and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "layout"), layouts.LAYOUTS, ids=[n for n, _ in layouts.LAYOUTS])
def test_every_layout(name, layout, kind, tmp_path):
    x, expected = some_tensor(layout)
    path = str(tmp_path / f"x.{kind}")
    if kind == "npy" and not in_npy(layout):
        with pytest.raises(ValueError, match=r"use \.safetensors or \.zarr, or to_layout"):
            tl.save(path, x)
        assert os.listdir(tmp_path) == []
        return
    tl.save(path, x)
    np.testing.assert_array_equal(by_others(path), expected)
    back = tl.load(path, device=tl.default_device())
    same(back, expected)
    assert back.layout == layout.form
    assert not back.readonly
    if layout.covers_block and layout.padding_value is not tl.PaddingValue.UNSPECIFIED:
        np.testing.assert_array_equal(padding_of(back), padding_of(x))
    if not layout.is_overlapping:
        into_another(path, expected, layout)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_every_dtype(dtype, kind, tmp_path):
    path = str(tmp_path / f"x.{kind}")
    x, expected = tensors.tensor_in(Layout.column_major((3, 4)), slots(as_dtype(dtype), 12))
    if WITHOUT[kind] == dtype:
        with pytest.raises(ValueError, match=f"no {dtype}; use "):
            tl.save(path, x)
        return
    tl.save(path, x)
    others = by_others(path)
    assert others.dtype == as_dtype(dtype)
    same(asarray(others), expected)
    back = tl.load(path, device=tl.default_device())
    same(back, expected)
    assert back.layout == x.layout
    into_another(path, expected, Layout.row_major(x.shape))


def test_several_by_name(tmp_path):
    tensors = {"w": asarray([[1.0, 2.0], [3.0, 4.0]], layout="F"), "layers/b": asarray(5)}
    for kind in ("safetensors", "zarr", "npz"):
        path = tmp_path / f"x.{kind}"
        tl.save(path, tensors)
        back = tl.load(path, device=tl.default_device())
        out = {name: tl.zeros_like(x) for name, x in tensors.items()}
        assert tl.load(path, out=out) is out
        assert back.keys() == tensors.keys()
        for name, x in tensors.items():
            same(back[name], host(x))
            same(out[name], host(x))
            assert back[name].layout == x.layout
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["w"].tolist() == [[1, 2], [3, 4]]
        assert arrays["w"].flags.f_contiguous
    tl.save(tmp_path / "none.safetensors", {})
    assert tl.load(tmp_path / "none.safetensors") == {}


def test_open_files():
    x, file = asarray([[1, 2], [3, 4]], layout="F"), io.BytesIO()
    tl.save(file, x)
    tl.save(file, x[0])
    file.seek(0)
    assert np.load(file).tolist() == [[1, 2], [3, 4]]
    assert np.load(file).tolist() == [1, 2]
    file.seek(0)
    assert tl.load(file, out=asarray([[0, 0], [0, 0]])).tolist() == [[1, 2], [3, 4]]
    assert host(tl.load(file)).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"is no \.npy"):
        tl.load(file)
    file = io.BytesIO()
    tl.savez(file, x, file=x, **{"file.npy": x, "self": x})
    file.seek(0)
    assert np.load(file)["file"].tolist() == [[1, 2], [3, 4]]
    file.seek(0)
    assert tl.load(file).keys() == {"arr_0", "file", "file.npy", "self"}
    file.seek(0)
    with pytest.raises(ValueError, match=r"only \.npy at a path can be mapped"):
        tl.load(file, mmap_mode="r")


def test_chunks_are_tiles(tmp_path, monkeypatch):
    import zarr

    import tensorlayout.files.zarr

    x = tl.to_layout(tl.reshape(tl.arange(12.0 * 300), (12, 300)), "{1,0:T(8,128)}")
    tl.save(tmp_path / "x.zarr", x)
    array = zarr.open(tmp_path / "x.zarr", mode="r")
    assert (array.chunks, array.shards) == ((8, 128), (16, 384))
    tl.save(tmp_path / "x.zarr", tl.to_layout(tl.ones((2, 5)), "{1,0:T(2,2)}"))
    assert zarr.open(tmp_path / "x.zarr", mode="r").chunks == (2, 2)
    monkeypatch.setattr(tensorlayout.files.zarr, "_MAX_SHARD_BYTES", 2**16)
    large = Layout.tiled((400, 400), [(8, 128)])
    tl.save(tmp_path / "y.zarr", tl.zeros((400, 400), dtype=tl.float32, layout=large))
    shards = zarr.open(tmp_path / "y.zarr", mode="r").shards
    assert shards[0] % 8 == shards[1] % 128 == 0
    assert 2**14 < shards[0] * shards[1] * 4 <= 2**16


# --- files of others ---------------------------------------------------------------------------


class GivesLittle(io.BytesIO):
    """A file that gives a few bytes at a time."""

    def readinto(self, buffer):
        return super().readinto(memoryview(buffer)[:7])


def test_what_numpy_wrote(tmp_path):
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    for order in "CF":
        np.save(tmp_path / "x.npy", np.array(array, order=order))
        back = tl.load(tmp_path / "x.npy")
        assert back.layout == (Layout.row_major if order == "C" else Layout.column_major)((2, 3))
        assert host(back).tolist() == array.tolist()
    np.save(tmp_path / "x.npy", array.astype(">i2"))
    assert host(tl.load(tmp_path / "x.npy")).tolist() == array.tolist()
    for version in ((1, 0), (2, 0), (3, 0)):
        file = GivesLittle()
        np.lib.format.write_array(file, array, version)
        file.seek(0)
        assert host(tl.load(file)).tolist() == array.tolist()
    np.savez_compressed(tmp_path / "x.npz", a=array, b=array.T)
    back = tl.load(tmp_path / "x.npz")
    assert host(back["b"]).tolist() == array.T.tolist()
    assert back["b"].strides == (1, 3)


@pytest.mark.parametrize("version", [2, 3])
def test_what_zarr_wrote(version, tmp_path):
    import zarr

    group = zarr.create_group(tmp_path / "x.zarr", zarr_format=version)
    inner = group.create_group("inner").create_array("a", shape=(3, 5), chunks=(2, 2), dtype="u2")
    inner[...] = np.arange(15).reshape(3, 5)
    back = tl.load(tmp_path / "x.zarr")
    assert list(back) == ["inner/a"]
    assert host(back["inner/a"]).tolist() == np.arange(15).reshape(3, 5).tolist()


@pytest.mark.cpu
def test_bfloat16_where_nothing_has_named_it_yet(tmp_path):
    from safetensors.numpy import save_file

    arrays = {"w": np.ones((2, 3), BFLOAT16), "tensor": np.zeros((), np.int64)}
    save_file(arrays, tmp_path / "w.safetensors", {"format": "pt"})
    back = tl.load(tmp_path / "w.safetensors")
    assert (back["w"].dtype, back["w"].shape, back["tensor"].shape) == (BFLOAT16, (2, 3), ())
    code = "import sys, tensorlayout as tl; print(tl.load(sys.argv[1])['w'].dtype)"
    words = [sys.executable, "-c", code, str(tmp_path / "w.safetensors")]
    assert subprocess.check_output(words, text=True) == "bfloat16\n"


# --- mapped ------------------------------------------------------------------------------------


def test_mapped(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    read, written = tl.load(path, mmap_mode="r"), tl.load(path, mmap_mode="r+")
    alone = tl.load(path, mmap_mode="c")
    assert read.readonly
    assert read.strides == (1, 2)
    alone[0, 0] = 5
    assert float(read[0, 0]) == 0
    written[0, 0] = 7
    assert (float(read[0, 0]), float(alone[0, 0])) == (7, 5)
    tl.save(tmp_path / "y.safetensors", written)
    with pytest.raises(ValueError, match=r"only \.npy at a path can be mapped"):
        tl.load(tmp_path / "y.safetensors", mmap_mode="r")
    np.save(path, np.zeros((0, 3)))
    assert tl.load(path, mmap_mode="r").shape == (0, 3)


def test_a_file_is_replaced_under_a_tensor_that_is_over_it(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(3))
    x = tl.load(path, mmap_mode="r")
    tl.save(path, x[::-1] if tl.default_device() == "cpu" else tl.flip(x))
    assert np.load(path).tolist() == [2, 1, 0]
    assert host(x).tolist() == [0, 1, 2]


# --- places ------------------------------------------------------------------------------------


def saved(path, x):
    tl.save(path, {"a": x} if str(path).endswith("npz") else x)


def read_back(path):
    result = tl.load(path)
    return host(result["a"] if isinstance(result, dict) else result).tolist()


@pytest.mark.parametrize("kind", [*KINDS, "npz"])
def test_links_stay_and_the_mode_is_that_of_other_new_files(kind, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").touch()
    real, link = tmp_path / "there" / f"x.{kind}", tmp_path / f"link.{kind}"
    saved(real, asarray([1]))
    assert (
        real.stat().st_mode == (tmp_path / ("there" if kind == "zarr" else "file")).stat().st_mode
    )
    link.symlink_to(real)
    saved(link, asarray([2]))
    assert link.is_symlink()
    assert read_back(real) == [2]
    assert os.listdir(tmp_path / "there") == [real.name]


@pytest.mark.parametrize("kind", [*KINDS, "npz"])
def test_folders_of_any_name_and_none_that_is_not_there(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("a::b", "memory:"):
        os.mkdir(folder)
        saved(f"{folder}//x.{kind}", asarray([1]))
        assert read_back(f"{folder}//x.{kind}") == [1]
        assert os.listdir(folder) == [f"x.{kind}"]
    with pytest.raises(OSError, match=r"(?i)no such file"):
        saved(tmp_path / "none" / f"x.{kind}", asarray([1]))
    assert not (tmp_path / "none").exists()


def test_a_folder_comes_back_where_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    path = tmp_path / "x.zarr"
    tl.save(path, asarray([1]))
    rename = os.rename

    def refused(before, after):
        if os.path.basename(before).endswith(".part.zarr"):
            raise KeyboardInterrupt
        rename(before, after)

    monkeypatch.setattr(os, "rename", refused)
    with pytest.raises(KeyboardInterrupt):
        tl.save(path, asarray([2]))
    assert os.listdir(tmp_path) == ["x.zarr"]
    assert read_back(path) == [1]


def test_the_sign_of_zeros(tmp_path):
    for dtype in (tl.float32, tl.complex64):
        x = tl.asarray(np.full(5, -0.0).astype(dtype))
        tl.save(tmp_path / "x.zarr", x)
        assert np.signbit(host(tl.load(tmp_path / "x.zarr")).real).all()


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "npz"])
def test_an_error_leaves_what_was_there(kind, tmp_path, monkeypatch):
    path = tmp_path / f"x.{kind}"
    saved(path, asarray([1, 2]))
    name = "write_stream" if kind in ("npy", "npz") else "write_path"
    module = __import__(f"tensorlayout.files.{kind}", fromlist=[name])
    write = getattr(module, name)

    def broken(part, ready):
        write(part, ready)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, name, broken)
    with pytest.raises(OSError, match="No space"):
        saved(path, asarray([3]))
    assert os.listdir(tmp_path) == [f"x.{kind}"]
    assert read_back(path) == [1, 2]


def test_wrong_calls(tmp_path):
    x = asarray([1])
    for call, error, text in [
        (lambda: tl.save(tmp_path / "x.npy", {"a": x}), ValueError, "holds one tensor"),
        (lambda: tl.save(tmp_path / "x.npz", x), ValueError, "holds tensors by name"),
        (lambda: tl.save(tmp_path / "x.zarr", {"a": [1]}), TypeError, r"x\['a'\] must be a tensor"),
        (lambda: tl.save(tmp_path / "x.zarr", {1: x}), TypeError, "names must be str, got 1"),
        (lambda: tl.save(tmp_path / "x.zarr", {"../a": x}), ValueError, "'../a' is none"),
        (lambda: tl.save(tmp_path / "x.zarr", {"a\\b": x}), ValueError, "is none"),
        (lambda: tl.save(tmp_path / "x.npz", {"a\0b": x}), ValueError, "null character"),
        (lambda: tl.save(tmp_path / "x.safetensors", {"__metadata__": x}), ValueError, "itself"),
        (lambda: tl.load(io.StringIO("text")), TypeError, "or an open binary file, got _io.String"),
        (lambda: tl.load(tmp_path / "none.npy"), FileNotFoundError, "none.npy"),
        (lambda: tl.save(tmp_path / "no" / "x.npy", x), FileNotFoundError, "no"),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert os.listdir(tmp_path) == []
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "precious").touch()
    with pytest.raises(ValueError, match="is a folder of something else"):
        tl.save(tmp_path / "x.zarr", x)
    assert os.listdir(tmp_path / "x.zarr") == ["precious"]


def test_nothing_in_a_file_is_run(tmp_path):
    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    np.save(tmp_path / "x.npy", np.array([Harm()]), allow_pickle=True)
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(Harm()))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    for name in ("x.npy", "x.pkl", "x.npz"):
        with pytest.raises(ValueError, match=f"{name}.*(damaged|a pickle can run any code)"):
            tl.load(tmp_path / name)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "text",
    [
        "(2,3):(3,1)+1000000",  # outside
        "(2,3):(0,1)",
        "(2,3):(-3,1)+3",
        "(2,3):(5,1)",
        "(3,2):(2,1)",  # another shape
        "(2,3):(1000000000000,1) padded=(2,1000000000000)",
        "(2,3",
        7,
        None,
        [],
    ],
)
def test_a_layout_that_no_tensor_was_saved_in(text, tmp_path):
    import zarr
    from safetensors.numpy import save_file

    said = json.dumps({"alone": True, "layouts": {"tensor": text}})
    save_file({"tensor": np.ones((2, 3))}, tmp_path / "x.safetensors", {"tensorlayout": said})
    zarr.create_array(tmp_path / "x.zarr", data=np.ones((2, 3)), attributes={"tensorlayout": text})
    for name in ("x.safetensors", "x.zarr"):
        if text in (None, []):  # nothing said
            assert tl.load(tmp_path / name).strides == (3, 1)
        else:
            with pytest.raises(ValueError, match=name):
                tl.load(tmp_path / name)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (1_000_000, 1_000_000)}\n", r"x\.npy"),
        (b"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,)}\n", "is an array, of"),
        (b"-" * 9000 + b"1", r"x\.npy"),  # at which Python's parser gives up
    ],
)
def test_headers_that_promise_what_is_not_there(header, words, tmp_path):
    lead = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (tmp_path / "x.npy").write_bytes(lead + header + np.arange(6, dtype="<f4").tobytes())
    for mode in (None, "r", "r+", "c"):
        with pytest.raises(ValueError, match=words):
            tl.load(tmp_path / "x.npy", mmap_mode=mode)


@pytest.mark.parametrize(
    ("members", "names"),
    [
        (["a", "a.npy"], ["a", "a.npy"]),
        (["a.npy", "b.npy", "a"], ["a.npy", "b", "a"]),
        (["a.npy.npy", "a.npy", "a"], ["a.npy.npy", "a.npy", "a"]),
    ],
)
def test_members_of_an_archive_with_one_name(members, names, tmp_path):
    """NumPy finds each of them by its whole name."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for value, member in enumerate(members):
            with archive.open(member, "w") as file:
                np.lib.format.write_array(file, np.array([value]))
    back = tl.load(tmp_path / "x.npz")
    assert list(back) == names
    with np.load(tmp_path / "x.npz") as theirs:
        for value, (member, name) in enumerate(zip(members, names, strict=True)):
            assert int(back[name][0]) == int(theirs[member][0]) == int(theirs[name][0]) == value


@pytest.mark.cpu
@pytest.mark.parametrize("out", [None, tl.zeros(2**22, dtype=tl.int8)])
def test_more_chunks_than_time(out, tmp_path):
    tl.save(tmp_path / "x.zarr", tl.zeros(4, dtype=tl.int8))
    about = json.loads((tmp_path / "x.zarr" / "zarr.json").read_text())
    about["shape"] = [2**22]
    about["chunk_grid"]["configuration"]["chunk_shape"] = [1]
    (tmp_path / "x.zarr" / "zarr.json").write_text(json.dumps(about))
    rule = "4194304 chunks of 1 bytes; beyond 16384 chunks they must have 1024 bytes on average"
    with pytest.raises(ValueError, match=rule):
        tl.load(tmp_path / "x.zarr", out=out)


def test_a_folder_of_something_else_and_a_broken_archive(tmp_path):
    with pytest.raises(ValueError, match=os.path.basename(tmp_path)):
        tl.load(tmp_path)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.npy", bytes(1000))
    data = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(data.replace(b"BZh", b"BZx"))
    with pytest.raises(ValueError, match=r"x\.npz"):
        tl.load(tmp_path / "x.npz")


@pytest.mark.cpu
def test_many_texts_that_ask_for_a_lot_of_padding(tmp_path):
    from safetensors.numpy import save_file

    names = [f"t{i}" for i in range(20)]
    said = json.dumps({"layouts": dict.fromkeys(names, "(1,):(1,) padded=(10000000,)")})
    arrays = {name: np.ones(1, np.int8) for name in names}
    save_file(arrays, tmp_path / "x.safetensors", {"tensorlayout": said})
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"x\.safetensors.*takes 10000000 bytes"):
        tl.load(tmp_path / "x.safetensors")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 27


@pytest.mark.cpu
def test_an_archive_is_read_a_part_at_a_time(tmp_path):
    tl.savez(tmp_path / "x.npz", tl.zeros(1 << 21))
    tracemalloc.start()
    tl.load(tmp_path / "x.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * 2**24


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
def test_a_file_that_may_not_grow(kind, tmp_path):
    resource = pytest.importorskip("resource", reason="optional: a POSIX system")
    path = tmp_path / f"x.{kind}"
    saved(path, asarray([1]))
    x = asarray(np.random.default_rng(18).random(100_000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(OSError, match=r"(?i)file too large"):
            saved(path, x)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == [path.name]
    assert read_back(path) == [1]


def outcome(path):
    try:
        return type(tl.load(path)).__name__
    except ValueError as error:
        return "refused" if str(path) in str(error) else str(error)


def damaged(chance, whole):
    """The bytes of a file: cut, with bytes changed, or with a run of bytes moved."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data))
        if chance.random() < 0.3:
            del data[at:]
            data.append(0)
        elif chance.random() < 0.5:
            data[at] = chance.randrange(256)
        else:
            data[at:at] = data[chance.randrange(len(data)) :][: chance.randint(1, 8)]
    return data


@pytest.mark.cpu
@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors", "zarr"])
def test_damaged_files(kind, tmp_path):
    """They give a tensor, or the one error."""
    chance, path = random.Random(18), tmp_path / f"x.{kind}"
    x = asarray(np.arange(16.0).reshape(4, 4), layout="{1,0:T(2,2)}" if kind == "zarr" else "F")
    tl.save(path, {"a": x, "b": x} if kind in ("npz", "safetensors") else x)
    file = path / "zarr.json" if kind == "zarr" else path
    whole = file.read_bytes()
    results = set()
    for _ in range(150):
        file.write_bytes(damaged(chance, whole))
        results.add(outcome(path))
    assert results - {"Tensor", "dict"} == {"refused"}


# --- into tensors that are there ---------------------------------------------------------------


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
    result = host(tl.load(path))
    for column in range(0, 64, 16):
        assert len(np.unique(result[:, column : column + 16])) == 1
    assert result.min() >= 1


def test_functions_of_files_are_pickled_by_name():
    assert [pickle.loads(pickle.dumps(f)) for f in (tl.save, tl.savez, tl.load)] == [
        *(tl.save, tl.savez, tl.load)
    ]


# --- pickles -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "layout"), layouts.LAYOUTS, ids=[n for n, _ in layouts.LAYOUTS])
def test_copies_and_pickles(name, layout):
    x, expected = some_tensor(layout)
    buffers = []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    copies = [x.copy(), copy.copy(x), copy.deepcopy(x)]
    copies += [pickle.loads(pickle.dumps(x, protocol)) for protocol in range(2, 6)]
    for back in (*copies, pickle.loads(text, buffers=buffers)):
        same(back, expected)
        assert back.layout in (layout.at_origin, layout.form)
        assert back.layout.covers_block
        assert not back.readonly
        if layout.covers_block and layout.padding_value is not tl.PaddingValue.UNSPECIFIED:
            np.testing.assert_array_equal(padding_of(back), padding_of(x))
    assert back.layout == (layout.at_origin if layout.covers_block else layout.form)
    (buffer,) = buffers
    assert buffer.raw().nbytes == back.layout.nbytes(x.dtype)
    if x.device == "cpu" and layout.size > 0 and not layout.is_tiled:
        handed_over = np.shares_memory(np.frombuffer(buffer, np.uint8), np.asarray(x))
        assert handed_over == layout.covers_block


def test_a_pickle_over_memory_that_may_not_be_written():
    x = asarray([1, 2])
    text = pickle.dumps(x, 5, buffer_callback=lambda _: False)
    back = pickle.loads(text, buffers=[bytes(16)])
    assert back.readonly == (tl.default_device() == "cpu")
    assert host(back).tolist() == [0, 0]
    with pytest.raises(ValueError, match="requires 16 bytes"):
        pickle.loads(text, buffers=[bytes(15)])
