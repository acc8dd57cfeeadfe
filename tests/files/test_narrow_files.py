"""Narrow types in files: bit for bit where a format has them, refused with words where not.

What is in a file is read byte by byte, and by PyTorch.
"""

import json
import os

import layouts
import ml_dtypes
import numpy as np
import pytest
from tensors import elements, fits

import tensorlayout as tl
from tensorlayout.layout import Layout

# By name: what safetensors calls it.
HELD = {
    "float8_e4m3fn": "F8_E4M3",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2": "F8_E5M2",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    "float4_e2m1fn": "F4",
}
OTHERS = [
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn"),
    *("int1", "int2", "int4", "uint1", "uint2", "uint4"),
]


@pytest.fixture(scope="module", autouse=True)
def libraries():
    pytest.importorskip("safetensors", reason="optional: safetensors")
    pytest.importorskip("zarr", reason="optional: zarr")


def octets(x):
    return np.asarray(x).view(np.uint8)


def tensor(name, layout):
    """A tensor in a layout, and the bytes of its elements: any of the type's values."""
    most = 16 if name == "float4_e2m1fn" else 256
    storage = np.random.default_rng(0).integers(0, most, layout.required_size, np.uint8)
    return tl.from_storage(storage, layout, dtype=name), elements(layout, storage)


def inside(path):
    """The header of a file of safetensors, and the bytes behind it."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return header, file.read()


@pytest.mark.parametrize("layout", layouts.TENSORS, ids=str)
def test_every_layout_in_safetensors(layout, tmp_path):
    path = str(tmp_path / "x.safetensors")
    for name, code in HELD.items():
        if not fits(layout, np.dtype(getattr(ml_dtypes, name))):
            continue
        x, expected = tensor(name, layout)
        if code == "F4" and (not layout.ndim or layout.shape[-1] % 2):
            with pytest.raises(ValueError, match="in pairs along the last dimension, which must"):
                tl.save(path, x)
            continue
        tl.save(path, x)
        header, body = inside(path)
        about = header["tensor"]
        assert (about["dtype"], about["shape"]) == (code, list(layout.shape))
        flat = expected.ravel().tolist()
        if code == "F4":
            flat = [low | high << 4 for low, high in zip(flat[::2], flat[1::2], strict=True)]
        assert list(body) == flat
        back = tl.load(path)
        assert (back.dtype, back.layout) == (x.dtype, layout.form)
        assert octets(back).tolist() == expected.tolist()
        assert not back.readonly


@pytest.mark.parametrize(
    "text",
    [
        "(3,4):(4,1) bits=4",
        "(3,6):(1,3) bits=4",
        "(3,4):(8,1) padded=(4,8) padding=ZERO bits=4",
        "(4,6):(2*12+2*2,3*4+2*1) bits=4",
    ],
)
def test_what_is_packed_in_memory_is_so_again(text, tmp_path):
    path = str(tmp_path / "x.safetensors")
    wide, expected = tensor("float4_e2m1fn", Layout.row_major(Layout.parse(text).shape))
    x = tl.to_layout(wide, text)
    tl.save(path, x)
    assert inside(path)[0]["tensor"]["shape"] == list(x.shape)
    back = tl.load(path)
    assert (back.layout, str(back.layout)) == (x.layout, text)
    assert octets(back).tolist() == expected.tolist()
    out = tl.zeros(x.shape, dtype=x.dtype)
    assert octets(tl.load(path, out=out)).tolist() == expected.tolist()
    into = tl.to_layout(out, text)
    into[...] = 0
    assert octets(tl.load(path, out=into)).tolist() == expected.tolist()


def test_high_bits_of_a_byte_are_no_part_of_a_pair(tmp_path):
    path = str(tmp_path / "x.safetensors")
    tl.save(path, tl.from_storage(b"\xf1\xe2", "(2,):(1,)", dtype=tl.float4_e2m1fn))
    assert inside(path)[1] == b"\x21"
    assert octets(tl.load(path)).tolist() == [1, 2]


def test_pytorch_reads_and_writes_the_same(tmp_path):
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    safetensors = pytest.importorskip("safetensors.torch", reason="optional: safetensors")
    path = str(tmp_path / "x.safetensors")
    for name, code in HELD.items():
        x, expected = tensor(name, Layout.row_major((3, 4)))
        tl.save(path, x)
        (theirs,) = safetensors.load_file(path).values()
        kind = "float4_e2m1fn_x2" if code == "F4" else name
        assert theirs.dtype == getattr(torch, kind)
        result = theirs.view(torch.uint8).numpy()
        if code == "F4":
            result = np.stack([result & 15, result >> 4], axis=-1).reshape(3, 4)
        assert result.tolist() == expected.tolist()
        safetensors.save_file({"x": theirs}, path)
        assert octets(tl.load(path)["x"]).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["safetensors", "npy", "npz", "zarr"])
@pytest.mark.parametrize("name", [*HELD, *OTHERS])
def test_what_a_format_has_not(name, kind, tmp_path):
    if kind == "safetensors" and name in HELD:
        return
    x = tl.zeros(2, dtype=tl.uint8).view(name)
    wider = "float32" if name.startswith("float") else name[: name.index("t") + 1] + "8"
    words = rf"no {name}; use \.safetensors where that has it, or astype\(x, {wider}\) first"
    if kind == "safetensors":
        words = rf"no {name}; use astype\(x, {wider}\) first, or x\.view\(uint8\)"
    with pytest.raises(ValueError, match=words):
        tl.save(str(tmp_path / f"x.{kind}"), {"x": x} if kind == "npz" else x)
    assert os.listdir(tmp_path) == []
    if kind == "npy":
        np.save(tmp_path / "x.npy", np.asarray(x))
        with pytest.raises(ValueError, match="is damaged, or not for tensors"):
            tl.load(tmp_path / "x.npy")


@pytest.mark.parametrize("code", ["F6_E2M3", "F6_E3M2"])
def test_six_bits_of_others_are_refused(code, tmp_path):
    path = str(tmp_path / "x.safetensors")
    about = {"x": {"dtype": code, "shape": [4], "data_offsets": [0, 3]}}
    header = json.dumps(about).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + bytes(3))
    with pytest.raises(ValueError, match=f"not for tensors: .*{code}"):
        tl.load(path)
