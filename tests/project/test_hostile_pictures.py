"""The demo on files that are not what they say: one line on stderr, status 2, never a traceback."""

import os
import random
import struct
import zlib

import pytest

Image = pytest.importorskip("PIL.Image", reason="optional: pillow")

from test_demo import complaint  # noqa: E402 - Pillow is optional

from tensorlayout.cli.answers import CommandError  # noqa: E402
from tensorlayout.cli.demo import pictures  # noqa: E402


def chunk(name, content):
    check = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + check


def png(width, height, octets=b"", *, before=b""):
    """A PNG of grey bits; all of them are black where the packed `octets` are not given."""
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = octets or zlib.compress(bytes(height * (1 + (width + 7) // 8)))
    chunks = chunk(b"IHDR", head) + before + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize(
    ("octets", "rule"),
    [
        (b"", "cannot identify image file"),
        (b"P6 0 0 255\n", "cannot identify image file"),
        (b"P6 10 10 255\n123", "image file is truncated"),
        (png(8, 8, b"no stream"), ""),
        (png(0, 5), "cannot identify image file"),
        (png(3, 3, before=chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2**24)))), "too large"),
        # Small on disk, and gigabytes as pixels in colour: refused by the header alone.
        (png(13000, 13000, b"x"), "the image has 169,000,000 pixels; the limit is 33,554,432"),
        (png(2**25 + 1, 1, b"x"), "the image has 33,554,433 pixels; the limit is"),
        (png(2**31 - 1, 2**31 - 1, b"x"), "exceeds limit"),
    ],
)
def test_files_that_are_no_pictures(octets, rule, capsys, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(octets)
    line = complaint(capsys, path, "--out", tmp_path / "out")
    assert line.startswith(f"tensorlayout: error: cannot read {path}: ")
    assert rule in line
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_places_that_are_no_files(capsys, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, rule in [
        ("pipe", "it is not a regular file"),  # not waited for
        ("folder", "no pictures are in it"),
        ("loop", "symbolic links"),
        ("nothing", "No such file or directory"),
        ("a" * 1000, "File name too long"),
    ]:
        assert rule in complaint(capsys, tmp_path / name, "--out", tmp_path / "out")


RAISED = [
    *(struct.error, KeyError, IndexError, AttributeError, TypeError, RuntimeError),
    *(MemoryError, RecursionError, SyntaxError, OSError, Image.DecompressionBombError),
]


@pytest.mark.parametrize("words", ["some words", "", "two\nlines", "long " * 10_000])
def test_whatever_a_reader_raises_is_one_line(words, capsys, tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(png(3, 3))
    for kind in RAISED:

        def broken(*_, kind=kind, **__):
            raise kind(words)

        monkeypatch.setattr(Image.Image, "copy", broken)
        monkeypatch.setattr(Image.Image, "convert", broken)
        assert words[:8].split("\n")[0] in complaint(capsys, path, "--out", tmp_path / "out")


@pytest.mark.parametrize("form", ["png", "gif", "tiff", "jpeg", "webp", "bmp", "dds", "ico", "tga"])
def test_pictures_with_wrong_bytes(form, tmp_path):
    """A picture or a complaint, whatever stands in the file."""
    path, draw = tmp_path / f"a.{form}", random.Random(form)
    frames = [Image.radial_gradient("L").resize((40, 30)).rotate(n) for n in range(3)]
    several = {"save_all": True, "append_images": frames[1:]} if form in ("gif", "tiff") else {}
    frames[0].save(path, **several)
    whole = path.read_bytes()
    for _ in range(40):
        octets = bytearray(whole)
        for _ in range(draw.choice((1, 3, 10))):
            octets[draw.randrange(min(len(octets), draw.choice((30, 10**6))))] = draw.randrange(256)
        path.write_bytes(octets[: draw.choice((len(octets), draw.randrange(len(octets))))])
        results, said = [], f"cannot read {path}: "
        try:
            results, _ = pictures.load_pictures([str(path)])
        except CommandError as error:
            said = str(error)
        assert said.startswith(f"cannot read {path}: ")
        assert all(picture.shape[2:] == (3,) and picture.size for picture in results)


@pytest.mark.parametrize("size", [(2**16, 1), (1, 2**16), (200, 500)])
def test_long_pictures_are_reduced_like_others(size, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "MAX_PIXELS", 1000)
    path = tmp_path / "a.png"
    path.write_bytes(png(*size))
    [picture], [line] = pictures.load_pictures([str(path)])
    height, width, _ = picture.shape
    assert height * width <= 1000
    assert (width > height) == (size[0] > size[1])
    assert line.endswith(f"reduced from {size[0]} x {size[1]}")
