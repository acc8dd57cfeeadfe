"""The command line: the demo on real photographs, `show`, `info`, and every refusal."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import tensorlayout as tl

Image = pytest.importorskip("PIL.Image", reason="optional: pillow, for the demo")

from tensorlayout.cli import (  # noqa: E402
    handover,
    info,
    ledger,
    main,
    pictures,
    pipeline,
    sheet,
    show,
)
from tensorlayout.cli.errors import CommandError, DifferenceError  # noqa: E402

HEIGHT, WIDTH = 427, 400  # what the two photographs of the package have in common


def run(*arguments, cwd):
    """The real entry point, in a process of its own, with the package that is under test."""
    roots = [str(Path(tl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))}
    command = [sys.executable, "-m", "tensorlayout", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def refusal(capsys, *arguments, status=2):
    """The one line of stderr with which a command ends."""
    try:
        ended = main(arguments)
    except SystemExit as end:  # from argparse
        ended = end.code
    assert ended == status
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "Traceback" not in complaint
    return complaint


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def noise(height, width, *channels):
    rng = np.random.default_rng(height * 1000 + width)
    return rng.integers(0, 256, (height, width, *channels), dtype=np.uint8)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder and the output of the demo on the photographs of the package."""
    out, said = tmp_path_factory.mktemp("demo"), io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["demo", "--out", str(out)]) == 0
    return out, said.getvalue()


@pytest.fixture(scope="module")
def photographs():
    """The photographs as NumPy sees them, cut to their common size from the middle."""
    astronaut, rocket = (
        decoded(files("tensorlayout.cli") / "photographs" / n) for n in pictures.PHOTOGRAPHS
    )
    assert astronaut.shape == (448, 400, 3)
    assert rocket.shape == (427, 640, 3)
    return astronaut[10:437], rocket[:, 120:520]


class TestDemo:
    def test_output_fits_100_columns_of_plain_ascii(self, demo):
        out, said = demo
        lines = said.replace(str(out), "OUT").splitlines()
        assert max(map(len, lines)) <= 100
        assert said.isascii()
        assert "\x1b" not in said

    def test_says_what_became_of_the_photographs(self, demo):
        said = demo[1]
        assert "astronaut.jpg: 448 x 400 pixels" in said
        assert "cut to 427 x 400, from the middle" in said

    @pytest.mark.parametrize(
        ("title", "layout", "kind"),
        [
            ("seen as CHW", "HWC -> HWC", "view"),
            ("stack the batch", "HWC -> NHWC", "copy"),
            ("NHWC to NCHW", "NHWC -> NCHW", "relayout"),
            ("NCHW to NHWC", "NCHW -> NHWC", "relayout"),
            ("NHWC to NHWC: nothing to do", "NHWC -> NHWC", "view"),
            ("rows at 256-byte pitch", "NCHW -> NCHW W+112", "relayout"),
            ("column-major", "NCHW -> WHCN", "relayout"),
            ("- mean (padding stays 0)", "NCHW W+112 -> NCHW W+112", "compute"),
            ("cut the left half", "NHWC -> NHWC gaps", "view"),
            ("turned by 180 degrees", "NHWC -> NHWC -H -W", "view"),
            ("one picture of all rows", "NHWC -> HWC", "view"),
        ],
    )
    def test_table(self, demo, title, layout, kind):
        line = next(line for line in demo[1].splitlines() if line.startswith(title))
        pattern = rf"{re.escape(title)} +[\dx]+ +{re.escape(layout)} +{kind} .*"
        assert re.fullmatch(pattern, line)
        moved = line.split()[-3]
        assert (moved == "-") == (kind == "view")

    def test_summary_counts_the_table(self, demo):
        said = demo[1]
        words = re.findall(r" (view|copy|relayout|compute) +[-\d]", said)
        views, computed = words.count("view"), words.count("compute")
        copies = len(words) - views - computed
        counts = f"{views} views, {copies} copies, {computed} computations"
        assert f"{len(words)} steps, each equal to NumPy's own result: {counts}" in said
        # in bytes of the batch: stacked, relaid four times, twice for the PNG, a mosaic of four;
        # to float32 twice, and from it once
        assert f"{(1 + 4 + 2 + 4 + 2 * 4 + 1) * 2 * 3 * HEIGHT * WIDTH:,} bytes copied" in said

    def test_numpy_and_torch_see_the_same_address(self, demo):
        addresses = set(re.findall(r" (0x[0-9a-f]+)", demo[1]))
        assert len(addresses) == 1
        assert "NumPy:   0x" in demo[1]
        if importlib.util.find_spec("torch") is not None:
            assert re.search(r"PyTorch: 0x.*channels_last: yes", demo[1])

    def test_mosaic_is_what_numpy_makes_of_the_photographs(self, demo, photographs):
        half = WIDTH // 2
        rows = [
            np.hstack(
                [
                    p,
                    p[:, :half],
                    np.fliplr(p[:, :half]),
                    np.fliplr(p[:, half:]),
                    p[:, half:],
                    np.rot90(p, 2),
                ]
            )
            for p in photographs
        ]
        np.testing.assert_array_equal(decoded(demo[0] / "mosaic.png"), np.vstack(rows))

    def test_normalised_is_what_numpy_makes_of_the_photographs(self, demo, photographs):
        mean, std = (np.array(v, np.float32) for v in (pipeline.MEAN, pipeline.STD))
        x = (np.hstack(photographs).astype(np.float32) / np.float32(255) - mean) / std
        rescaled = np.round((x - x.min()) / (x.max() - x.min()) * np.float32(255))
        np.testing.assert_array_equal(decoded(demo[0] / "normalised.png"), rescaled)

    def test_contact_sheet_shows_the_picture_and_the_padding(self, demo):
        drawn = decoded(demo[0] / "layouts.png")
        assert drawn.shape[0] > 1000
        assert drawn.shape[1] > 1600
        assert (drawn == sheet.STRIPES[0]).all(axis=2).sum() > 10_000

    def test_photographs_are_free_small_and_described(self):
        folder = Path(str(files("tensorlayout.cli") / "photographs"))
        described = (folder / "README.md").read_text(encoding="utf-8")
        assert {p.name for p in folder.iterdir()} == {*pictures.PHOTOGRAPHS, "README.md"}
        assert all(name in described for name in pictures.PHOTOGRAPHS)
        assert sum(p.stat().st_size for p in folder.iterdir()) < 600_000


class TestOtherPictures:
    @pytest.mark.parametrize("size", [(1, 1), (2, 3), (1, 300), (300, 1), (7, 256), (5, 513)])
    def test_sizes(self, tmp_path, capsys, size):
        pixels = noise(*size, 3)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        assert main(["demo", str(tmp_path / "a.png"), "--out", str(tmp_path / "out")]) == 0
        said = capsys.readouterr().out
        assert ("no row needs padding" in said) == (size[1] % 256 == 0)
        mosaic = decoded(tmp_path / "out" / "mosaic.png")
        np.testing.assert_array_equal(mosaic[:, : size[1]], pixels)
        np.testing.assert_array_equal(mosaic[:, -size[1] :], pixels[::-1, ::-1])

    def test_one_colour_has_no_span_to_rescale(self, tmp_path, capsys):
        Image.new("RGB", (1, 1), (0, 0, 0)).save(tmp_path / "black.png")
        assert main(["demo", str(tmp_path / "black.png"), "--out", str(tmp_path)]) == 0

    def test_different_sizes_are_cut_from_the_middle(self, tmp_path, capsys):
        paths = []
        for number, size in enumerate([(9, 20), (12, 11), (10, 30)]):
            paths.append(tmp_path / f"{number}.png")
            Image.fromarray(noise(*size, 3)).save(paths[-1])
        assert main(["demo", *map(str, paths), "--out", str(tmp_path)]) == 0
        assert "cut to 9 x 11, from the middle" in capsys.readouterr().out
        mosaic = decoded(tmp_path / "mosaic.png")
        np.testing.assert_array_equal(mosaic[:9, :11], noise(9, 20, 3)[:, 4:15])
        np.testing.assert_array_equal(mosaic[9:18, :11], noise(12, 11, 3)[1:10])

    @pytest.mark.parametrize(
        ("mode", "note"),
        [
            ("L", "grey made RGB"),
            ("LA", "grey with alpha made RGB on a white ground"),
            ("RGBA", "RGBA made RGB on a white ground"),
            ("P", "palette made RGB"),
            ("1", "black and white made RGB"),
        ],
    )
    def test_modes_are_made_rgb_and_said(self, tmp_path, mode, note):
        path = tmp_path / "a.png"
        original = Image.fromarray(noise(6, 5, 3)).convert(mode)
        original.save(path)
        [picture] = pictures.load([str(path)])
        assert picture.notes == (note,)
        np.testing.assert_array_equal(picture.pixels, np.asarray(original.convert("RGB")))

    def test_transparent_is_white(self, tmp_path):
        path = tmp_path / "a.png"
        Image.new("RGBA", (2, 2), (10, 20, 30, 0)).save(path)
        assert (pictures.load([str(path)])[0].pixels == 255).all()

    def test_sixteen_bits_of_grey_keep_their_upper_half(self, tmp_path):
        path, grey = tmp_path / "a.png", noise(4, 3)
        Image.fromarray(grey.astype(np.uint16) * 257).save(path)
        [picture] = pictures.load([str(path)])
        assert picture.notes == ("16-bit grey made RGB",)
        np.testing.assert_array_equal(picture.pixels[..., 0], grey)

    def test_turned_photographs_are_set_upright(self, tmp_path):
        path, pixels = tmp_path / "a.png", noise(4, 3, 3)
        exif = Image.Exif()
        exif[0x0112] = 6  # the camera was turned by 90 degrees
        Image.fromarray(pixels).save(path, exif=exif)
        np.testing.assert_array_equal(pictures.load([str(path)])[0].pixels, np.rot90(pixels, -1))

    def test_first_frame_of_several(self, tmp_path):
        frames = [Image.new("RGB", (3, 2), colour) for colour in ("red", "blue")]
        frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
        assert "the first of 2 frames" in pictures.load([str(tmp_path / "a.gif")])[0].notes

    def test_large_pictures_are_reduced_and_said(self, tmp_path, monkeypatch):
        monkeypatch.setattr(pictures, "MOST_PIXELS", 100)
        Image.fromarray(noise(40, 10, 3)).save(tmp_path / "a.png")
        [picture] = pictures.load([str(tmp_path / "a.png")])
        assert (picture.height, picture.width) == (20, 5)
        assert picture.notes == ("reduced from 40 x 10",)


class TestDifferences:
    """A library that computes one thing wrong: the demo must find it."""

    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("permute_dims", "seen as CHW"),
            ("stack", "stack the batch"),
            ("to_layout", "NHWC to NCHW"),
            ("astype", "to float32"),
            ("round", "rescale to bytes for viewing"),
            ("flip", "its mirror image"),
            ("concat", "side by side"),
            ("reshape", "one picture of all rows"),
        ],
    )
    def test_one_wrong_element(self, tmp_path, capsys, monkeypatch, name, title):
        true = getattr(tl, name)

        def wrong(*arguments, **named):
            x = true(*arguments, **named).copy()
            constants = name == "reshape" and x.shape == (3, 1, 1)
            if x.size > 3 and x.ndim > 1 and not constants:
                x[(0,) * x.ndim] = x[(0,) * x.ndim] + 1
            return x

        monkeypatch.setattr(tl, name, wrong)
        complaint = self.complaint(tmp_path, capsys)
        assert f"({title}) differs from NumPy: 1 of " in complaint
        assert "the first at (0, 0, 0" in complaint

    def test_padding_that_does_not_stay_true(self, tmp_path, capsys, monkeypatch):
        true = tl.astype

        def wrong(x, dtype):
            x = true(x, dtype)
            if x.layout.is_padded:
                array = np.asarray(x)
                last = (x.layout.required_size,)
                np.lib.stride_tricks.as_strided(array, last, (x.itemsize,))[-1] = 5
            return x

        monkeypatch.setattr(tl, "astype", wrong)
        complaint = self.complaint(tmp_path, capsys)
        assert "(to float32) differs from NumPy: 1 of 3072 slots" in complaint
        assert "5.0 instead of 0.0" in complaint

    def test_view_that_is_a_copy(self, tmp_path, capsys, monkeypatch):
        true = tl.permute_dims
        monkeypatch.setattr(tl, "permute_dims", lambda x, axes: true(x, axes).copy())
        complaint = self.complaint(tmp_path, capsys)
        assert "(seen as CHW) must be a view, the trace says copy" in complaint

    def test_view_that_the_trace_misreports(self):
        x = tl.zeros((2, 2), dtype=tl.uint8)
        with pytest.raises(DifferenceError, match="memory is not shared"):
            ledger.Ledger(str).view(
                "other",
                "HW HW",
                lambda x: tl.asarray(np.asarray(x).copy()),
                x,
                expected=np.zeros((2, 2), np.uint8),
            )

    def test_other_dtype_or_shape(self):
        with pytest.raises(DifferenceError, match=r"uint8 of shape \(2,\) instead of int8"):
            ledger.Ledger(str).step(
                "made", "W", lambda: tl.zeros(2, dtype=tl.uint8), expected=np.zeros(2, np.int8)
            )

    def test_hand_over_of_other_elements(self):
        x = tl.zeros((1, 3, 2, 2), dtype=tl.float32, layout="NHWC")
        with pytest.raises(DifferenceError, match="NumPy sees other elements"):
            handover.shared(x, np.ones(x.shape, np.float32))

    def test_hand_over_that_copies(self):
        with pytest.raises(DifferenceError, match="sees the batch at 0x20, not at 0x10"):
            handover._same("PyTorch", 0x10, 0x20, np.zeros(1), np.zeros(1))

    def test_hand_over_without_torch(self, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        x = tl.zeros((1, 3, 2, 2), dtype=tl.float32, layout="NHWC")
        assert handover.shared(x, np.zeros(x.shape, np.float32))[-1].endswith("not tried")

    @staticmethod
    def complaint(tmp_path, capsys):
        Image.fromarray(noise(4, 3, 3) // 2 + 8).save(tmp_path / "a.png")
        arguments = ("demo", str(tmp_path / "a.png"), "--out", str(tmp_path))
        return refusal(capsys, *arguments, status=1)


class TestSheet:
    PICTURE = noise(5, 4, 3)

    def panels(self):
        x = tl.permute_dims(tl.asarray(self.PICTURE), (2, 0, 1))
        return dict(zip(("hwc", "chw", "pitched", "column"), sheet.panels(x, 16), strict=True))

    def test_octets_are_the_memory(self):
        panels, chw = self.panels(), np.moveaxis(self.PICTURE, 2, 0)
        np.testing.assert_array_equal(panels["hwc"].octets, self.PICTURE.reshape(5, 12))
        np.testing.assert_array_equal(panels["chw"].octets, chw.reshape(15, 4))
        padded = np.pad(chw, [(0, 0), (0, 0), (0, 12)]).reshape(15, 16)
        np.testing.assert_array_equal(panels["pitched"].octets, padded)
        np.testing.assert_array_equal(
            panels["column"].octets, self.PICTURE.transpose(1, 0, 2).reshape(4, 15)
        )

    def test_channels_say_which_bytes_are_padding(self):
        panels = self.panels()
        np.testing.assert_array_equal(panels["hwc"].channels, np.tile([1, 2, 3], (5, 4)))
        rows = np.repeat([1, 2, 3], 5)[:, None]
        np.testing.assert_array_equal(panels["pitched"].channels[:, :4], rows.repeat(4, axis=1))
        assert (panels["pitched"].channels[:, 4:] == 0).all()

    def test_padding_is_striped_and_nothing_else_is(self):
        panel = self.panels()["pitched"]
        striped = [(panel.drawn == colour).all(axis=2) for colour in sheet.STRIPES]
        np.testing.assert_array_equal(np.logical_or(*striped), panel.channels == 0)

    def test_only_hwc_reads_as_the_picture(self):
        seen = {name: p.taken_for_hwc(5, 4) for name, p in self.panels().items()}
        same = {name for name, pixels in seen.items() if np.array_equal(pixels, self.PICTURE)}
        assert same == {"hwc"}


class TestRefusals:
    def test_missing_file(self, tmp_path, capsys):
        complaint = refusal(capsys, "demo", str(tmp_path / "none.png"), "--out", str(tmp_path))
        assert "none.png: No such file or directory" in complaint

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"])
    def test_no_picture(self, tmp_path, capsys, content):
        (tmp_path / "a.png").write_bytes(content)
        complaint = refusal(capsys, "demo", str(tmp_path / "a.png"), "--out", str(tmp_path))
        assert "cannot read" in complaint

    @pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "TIFF"])
    def test_half_a_picture(self, tmp_path, capsys, form):
        path = tmp_path / "a"
        Image.fromarray(noise(64, 64, 3)).save(path, format=form)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        assert "cannot read" in refusal(capsys, "demo", str(path), "--out", str(tmp_path))

    def test_folder_as_a_picture(self, tmp_path, capsys):
        assert "cannot read" in refusal(capsys, "demo", str(tmp_path), "--out", str(tmp_path))

    def test_picture_too_large_to_decode(self, tmp_path, capsys, monkeypatch):
        Image.fromarray(noise(64, 64, 3)).save(tmp_path / "a.png")
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
        complaint = refusal(capsys, "demo", str(tmp_path / "a.png"), "--out", str(tmp_path))
        assert "exceeds limit" in complaint

    def test_folder_that_cannot_be_made(self, tmp_path, capsys):
        (tmp_path / "file").write_bytes(b"")
        complaint = refusal(capsys, "demo", "--out", str(tmp_path / "file" / "out"))
        assert "cannot write to" in complaint

    def test_out_is_a_file(self, tmp_path, capsys):
        (tmp_path / "file").write_bytes(b"")
        assert "cannot write to" in refusal(capsys, "demo", "--out", str(tmp_path / "file"))

    def test_unknown_device(self, tmp_path, capsys):
        complaint = refusal(capsys, "demo", "--device", "abacus", "--out", str(tmp_path))
        assert "one of those available" in complaint
        assert "'abacus'" in complaint

    def test_without_pillow(self, capsys, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        assert "pip install 'tensorlayout[demo]'" in refusal(capsys, "demo")

    @pytest.mark.parametrize("arguments", [[], ["nonsense"], ["show"], ["demo", "--nonsense"]])
    def test_arguments(self, capsys, arguments):
        assert "--help" in refusal(capsys, *arguments)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["(2,3):(3"], "layout text: must read"),
            (["(2,3):(3,1)", "2,3"], "already has a shape"),
            (["NHWC"], "labels need a shape"),
            (["NHWC", "1,2"], "names 4 dimensions, the shape has 2"),
            (["NHWC", "1,2,x,3"], "a shape is sizes with commas between"),
            (["NXYZ", "1,2,2,3"], "labels: must be the letters of one of"),
            (["(4,):(-1,)"], "negative slots"),
            (["(99999999999,99999999999):(1,1)"], "2**63 - 1"),
        ],
    )
    def test_show(self, capsys, arguments, words):
        assert words in refusal(capsys, "show", *arguments)


class TestShowXla:
    def test_facts(self):
        said = show.described("f32[3,5]{1,0:T(2,2)L(32)S(1)}", width=100)
        facts = dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", said, re.MULTILINE))
        assert facts == {
            "shape": "f32[3,5]{1,0:T(2,2)L(32)S(1)}",
            "element type": "f32, float32, stored in 32 bits",
            "sizes": "(3, 5), 15 elements",
            "order": "minor to major (1, 0); in JAX major_to_minor=(0, 1)",
            "tiles": "(2,2) on (3, 5) make (2, 3, 2, 2)",
            "tail": "slots up to a multiple of 32",
            "memory space": "1",
            "slots": "32, of which 17 padding",
            "bytes": "128; the elements alone 60: 2.13 times",
            "layout": "(3,5):(2*12+2*2,3*4+2*1)",
        }
        assert said.splitlines()[-4:] == [
            "memory, 32 slots (A is the first element):",
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28"
            " 29 30 31",
            "Value:  A B F G C D H I E x  J  x  K  L  x  x  M  N  x  x  O  x  x  x  x  x  x  x  x"
            "  x  x  x",
            "x: padding, which holds anything",
        ]

    def test_packed_elements_and_growth(self):
        said = show.described("s4[1000,1]{1,0:T(8,128)E(4)}", width=100)
        assert "s4, ml_dtypes.int4, stored in 4 bits" in said
        assert "64000; the elements alone 500: 128 times" in said
        assert "memory, the first 96 of 128000 slots" in said

    def test_stars_that_no_layout_says_are_drawn(self):
        said = show.described("f32[2,3,4]{2,1,0:T(*,2,3)}", width=100)
        assert "layout         none: the tiles of f32[2,3,4]{2,1,0:T(*,2,3)} cannot be said" in said
        assert "Value:  A B C E F G D x x H  x  x" in said

    def test_tuples(self):
        said = show.described("(f32[2], (token[], bf16[5,9]{1,0:T(8,128)}))", width=100)
        assert said.splitlines() == [
            "tuple          3 parts",
            "part 0         f32[2]{0}, 8 bytes",
            "part 1,0       token[]",
            "part 1,1       bf16[5,9]{1,0:T(8,128)}, 2048 bytes",
            "bytes          2056 in arrays",
        ]

    @pytest.mark.parametrize(
        ("text", "last"),
        [
            ("token[]", "shape          token[]"),
            ("f32[?,3]", "shape          f32[?,3]{1,0}"),
            ("u8[0,3]", "memory: no slots"),
            ("()", "bytes          0 in arrays"),
            ("pred[]", "Value:  A"),
        ],
    )
    def test_shapes_without_much_memory(self, text, last):
        assert show.described(text).splitlines()[-1] == last

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("f32[2", "shape text: expected ']' or ',', got the end of the text, at column 6"),
            ("f32[2,3]{1,1}", "layout {1,1} of shape f32[2,3]: the order has 1 twice"),
            ("f32[2]{0:T(2,*)}", "tile: sizes must be at least 1"),
        ],
    )
    def test_refusals(self, capsys, text, complaint):
        assert complaint in refusal(capsys, "show", text)


class TestShow:
    def test_facts(self):
        said = show.described("(2,3):(1,3)+1 padded=(3,5) padding=ZERO", width=100)
        facts = dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", said, re.MULTILINE))
        assert facts == {
            "layout": "(2,3):(1,3)+1 padded=(3,5) padding=ZERO",
            "shape": "(2, 3), 6 elements",
            "strides": "(1, 3), in elements",
            "offset": "slot 1 holds the element at index (0, ...)",
            "order": "minor to major (0, 1)",
            "required size": "16 slots; the elements and their padding begin at slot 1",
            "padding": "9 slots up to the sizes (3, 5), holding ZERO",
            "flags": "padded, covers a block",
            "form": "(2,3):(1,3) padded=(3,5) padding=ZERO",
        }
        assert said.splitlines()[-4:] == [
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
            "Value:  x A D 0 B E 0 C F 0  0  0  0  0  0  0",
            "0: padding",
            "x: no element of this layout",
        ]

    def test_labels_are_the_example_of_the_directml_documents(self, capsys):
        assert main(["show", "NHWC", "1,2,2,3"]) == 0
        assert capsys.readouterr().out.splitlines()[-2:] == [
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11",
            "Value:  A G B H C I D J E K  F  L",
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "():()",
            "(3,4):(4,1)",
            "(3,4):(1,3)",
            "(4,5):(-10,2)+30",
            "(3,5):(2*12+2*2,3*4+2*1)",
            "(20,20):(20,1)",
            "(2,3):(1,3) padded=(3,5) padding=0x3f800000:float32",
            "(2,2):(4,1) padded=(2,4) padding=ONE",
        ],
    )
    @pytest.mark.parametrize("width", [20, 40, 100, 1000])
    def test_memory_is_the_table_broken_into_lines(self, text, width):
        lines = show.memory(tl.Layout.parse(text), width)
        assert max(map(len, lines[1:])) <= max(width, 40)
        joined = {"Offset:": [], "Value:": []}
        for line in lines[1:]:
            head, *words = line.split()
            joined.get(head, []).extend(words)
        expected = [line.split()[1:] for line in tl.Layout.parse(text).table().splitlines()]
        assert list(joined.values()) == expected

    @pytest.mark.parametrize("text", ["(40,40):(50,1)", "(40,40):(-40,2)+1700", "(600,):(1,)+3"])
    def test_first_part_of_large_layouts(self, text):
        layout = tl.Layout.parse(text)
        lines = show.memory(layout, 10_000)
        assert lines[0].startswith(f"memory, the first 96 of {layout.required_size} slots")
        assert lines[1].split()[1:] == list(map(str, range(96)))
        assert lines[2].split()[1:] == layout.table().splitlines()[1].split()[1:97]

    def test_shared_slots(self):
        assert show.memory(tl.Layout.parse("(2,3):(0,1)"), 80)[-1].startswith("elements share")
        huge = show.memory(tl.Layout.parse("(1000000,1000000):(0,1)"), 80)
        assert huge[-1] == "*: shared by several elements"

    def test_huge_layouts_answer_at_once(self):
        said = show.described("(3000000000,3000000000):(3000000000,1)", width=80)
        assert "9000000000000000000 slots" in said

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("(0,3):(3,1)", "memory: no slots"),
            ("(0,3):(3,1)", "required size  0 slots: there are no elements"),
            ("(4,5):(10,2)", "padding        none; 19 slots between the elements belong to others"),
            ("(3,3):(1,1)", "flags          overlapping"),
            ("(4,5):(-5,-1)+19", "flags          packed, covers a block"),
            (
                "(3,5):(2*12+2*2,3*4+2*1)",
                "parts          (2*12+2*2, 3*4+2*1), extent*stride in elements",
            ),
        ],
    )
    def test_lines(self, text, line):
        assert line in show.described(text, width=100).splitlines()

    def test_width_is_the_terminals(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "30")
        assert max(map(len, show.described("(9,9):(9,1)").splitlines()[11:])) <= 30


class TestBrief:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("(2,3,4):(12,4,1)", "CHW"),
            ("(2,3,4):(1,8,2)", "HWC"),
            ("(2,3,4):(24,8,1) padded=(2,3,8)", "CHW W+4"),
            ("(2,3,4):(12,-4,-1)+11", "CHW -H -W"),
            ("(2,3,4):(100,10,1)", "CHW gaps"),
        ],
    )
    def test_words(self, text, words):
        assert ledger.brief(tl.Layout.parse(text), "CHW") == words


class TestEntryPoints:
    def test_version(self, tmp_path):
        done = run("--version", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"tensorlayout {tl.__version__}\n")

    def test_help_names_the_commands(self, tmp_path):
        done = run("--help", cwd=tmp_path)
        assert done.returncode == 0
        assert all(word in done.stdout for word in ("demo", "show", "info"))

    def test_info_imports_neither_torch_nor_cupy(self, capsys):
        before = set(sys.modules)
        assert main(["info"]) == 0
        said = capsys.readouterr().out
        assert not {"torch", "cupy"} & (set(sys.modules) - before)
        facts = dict(line.split(maxsplit=1) for line in said.splitlines())
        assert facts["tensorlayout"] == tl.__version__
        assert facts["numpy"] == np.__version__
        assert facts["devices"].startswith("cpu")
        assert "hits" in said
        assert info.version("no-such-distribution") is None

    def test_demo_in_the_current_folder(self, tmp_path):
        Image.fromarray(noise(9, 9, 3)).save(tmp_path / "ünïcode.png")
        done = run("demo", "ünïcode.png", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        written = {p.name for p in (tmp_path / "tensorlayout-demo").iterdir()}
        assert written == {"mosaic.png", "normalised.png", "layouts.png"}

    def test_refusal_is_one_line_and_status_2(self, tmp_path):
        done = run("demo", "none.png", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            "tensorlayout: error: cannot read none.png: No such file or directory\n"
        )

    @pytest.mark.skipif(os.name == "nt", reason="needs a POSIX pipe")
    def test_reader_that_goes_away(self, tmp_path):
        ends = os.pipe()
        os.close(ends[0])
        command = [sys.executable, "-m", "tensorlayout", "show", "(9,9):(9,1)"]
        root = str(Path(tl.__file__).parents[1])
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": root},
            stdout=ends[1],
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
        os.close(ends[1])
        assert done.stderr == ""

    def test_interrupt_ends_quietly(self, monkeypatch, capsys):
        def interrupted():
            raise KeyboardInterrupt

        monkeypatch.setattr(info, "report", interrupted)
        assert main(["info"]) == 130
        assert capsys.readouterr().err == ""


def test_command_errors_are_no_others():
    assert not issubclass(CommandError, DifferenceError)
