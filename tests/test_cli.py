"""The command line: the demo on real photographs, `show`, `info`, and every refusal."""

from __future__ import annotations

import contextlib
import functools
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

from tensorlayout import devices, directml  # noqa: E402
from tensorlayout.cli import (  # noqa: E402
    directml_part,
    handover,
    histogram,
    info,
    ledger,
    main,
    panels,
    pictures,
    pipeline,
    sheet,
    show,
    statistics_part,
)
from tensorlayout.cli.errors import CommandError, DifferenceError  # noqa: E402

HEIGHT, WIDTH = 427, 400  # what the two photographs of the package have in common
PICTURES = ("directml.png", "layouts.png", "mosaic.png", "normalised.png", "statistics.png")


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
    """The folder, the output and the steps of the demo on the photographs of the package."""
    out, said, books = tmp_path_factory.mktemp("demo"), io.StringIO(), []

    class Kept(ledger.Ledger):
        def __init__(self, **named):
            super().__init__(**named)
            books.append(self)

    with contextlib.redirect_stdout(said), pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "Ledger", Kept)
        assert main(["demo", "--out", str(out)]) == 0
    [book] = books
    return out, said.getvalue(), book.steps


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
        out, said, _ = demo
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
            ("cut to multiples of 4", "NHWC -> NHWC gaps", "view"),
            ("JOIN 16 tiles", "NHWC gaps -> NHWC", "copy"),
            ("SLICE1 with stride -1", "NHWC gaps -> NHWC", "copy"),
            ("SCATTER pixels in waves", "NHWC gaps -> NHWC", "compute"),
            ("GATHER_ELEMENTS in waves", "NHWC gaps -> NHWC", "compute"),
            ("SPACE_TO_DEPTH, blocks of 4", "NHWC gaps -> NHWC", "copy"),
            ("PADDING by reflection", "NHWC gaps -> NHWC", "copy"),
            ("UPSAMPLE_2D, linear", "NHWC -> NHWC", "compute"),
            ("mean by channel", "NHWC -> C", "compute"),
            ("a row for each pixel", "NHWC -> PC", "view"),
            ("histogram by scatter_add", "PC gaps -> VC", "compute"),
            ("YCbCr by matmul", "PC -> PC", "compute"),
            ("sums down columns", "NHWC -> NHWC", "compute"),
            ("the red channel", "NHWC -> NHW gaps", "view"),
            ("each of its rows sorted", "NHW gaps -> NHW", "compute"),
            ("stack 9 crops", "NHWC -> NHWC", "copy"),
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
        copied = sum(step.bytes_copied for step in demo[2])
        assert said.splitlines()[-7:-5] == [
            f"{len(words)} steps, each equal to NumPy's own result, 2 of them to within 1e-06:",
            f"{views} views, {copies} copies, {computed} computations; {copied:,} bytes copied",
        ]

    def test_nothing_more_is_copied_than_what_is_asked_for(self, demo):
        copied = {"pipeline": {}, "directml": {}, "statistics": {}}
        part = "pipeline"
        for step in demo[2]:
            part = {"cut to multiples of 4": "directml", "bytes to float32": "statistics"}.get(
                step.title, part
            )
            if step.bytes_copied:
                copied[part][step.title] = copied[part].get(step.title, 0) + step.bytes_copied
        # In bytes of the batch: stacked, relaid four times, twice for the PNG, a mosaic of four;
        # to float32 twice, and from it once.
        batch, cut = 2 * 3 * HEIGHT * WIDTH, 2 * 3 * 424 * 400
        assert sum(copied["pipeline"].values()) == (1 + 4 + 2 + 4 + 2 * 4 + 1) * batch
        assert copied["directml"] == {
            "JOIN 16 tiles": cut,  # one picture of the two, first to rows and then to the whole
            "SLICE1 with stride -1": cut,
            "SPACE_TO_DEPTH, blocks of 4": cut,
            "DEPTH_TO_SPACE: back again": cut,
            "PADDING by reflection": cut,
            "a patch in float32": cut // 8**2 * 4,
            "UPSAMPLE_2D, nearest": cut * 4,
        }
        assert copied["statistics"] == {
            "bytes to float32": 4 * batch,
            "stack 9 crops": 9 * 3 * 128 * 128,
        }

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
    @pytest.mark.parametrize("size", [(1, 1), (2, 3), (1, 300), (300, 1), (7, 256), (8, 513)])
    def test_sizes(self, tmp_path, capsys, size):
        pixels = noise(*size, 3)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        assert main(["demo", str(tmp_path / "a.png"), "--out", str(tmp_path / "out")]) == 0
        said = capsys.readouterr().out
        assert ("no row needs padding" in said) == (size[1] % 256 == 0)
        assert ("DirectML: left out" in said) == (min(size) < 8)
        written = {p.name for p in (tmp_path / "out").iterdir()}
        assert written == set(PICTURES) - ({"directml.png"} if min(size) < 8 else set())
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


def batch_of(*pixels):
    """Pictures as a batch in NHWC, and as NumPy has it."""
    array = np.moveaxis(np.stack(pixels), 3, 1)
    return tl.to_layout(tl.asarray(array), "NHWC"), array


def shown_by(part, *pixels):
    """The pictures of a part of the demo by title."""
    return {each.title: each.pixels for each in part.run(ledger.Ledger(str), *batch_of(*pixels))}


@pytest.fixture(scope="module")
def shown_parts(photographs):
    """What the parts of the demo show of the photographs."""
    return [shown_by(part, *photographs) for part in (directml_part, statistics_part)]


class TestDirectmlPart:
    """What each panel shows, against NumPy on the photographs as they were decoded."""

    @pytest.fixture
    def shown(self, shown_parts):
        return shown_parts[0]

    @pytest.fixture
    def cut(self, photographs):
        return [p[:424] for p in photographs]

    def test_tiles_alternate(self, shown, cut):
        odd = np.indices((424, 400)) // np.array([106, 100]).reshape(2, 1, 1)
        expected = np.where((odd.sum(0) % 2 == 0)[..., None], *cut)
        np.testing.assert_array_equal(shown["JOIN"], expected)

    def test_mirror(self, shown, cut):
        np.testing.assert_array_equal(shown["SLICE1"], np.fliplr(cut[0]))

    def test_every_row_is_rolled(self, shown, cut):
        waves = np.round(24 * np.sin(2 * np.pi * 4 * np.arange(424) / 424)).astype(int)
        rolled = [np.roll(row, by, axis=0) for row, by in zip(cut[0], waves, strict=True)]
        np.testing.assert_array_equal(shown["SCATTER"], rolled)

    def test_rows_come_from_near_by(self, shown, cut):
        swing = np.round(0.06 * 424 * np.sin(2 * np.pi * 4 * np.arange(424) / 424)).astype(int)
        rows = [min(423, max(0, row + 2 * by)) for row, by in enumerate(swing)]
        np.testing.assert_array_equal(shown["GATHER_ELEMENTS"], cut[1][rows])

    def test_blocks_become_small_pictures(self, shown, cut):
        small = [[cut[0][i::4, j::4] for j in range(4)] for i in range(4)]
        expected = np.vstack([np.hstack(row) for row in small])
        np.testing.assert_array_equal(shown["SPACE_TO_DEPTH"], expected)

    def test_middle_is_reflected(self, shown, cut):
        part = cut[0][:212, 100:300]
        padded = np.pad(part, [(106, 106), (100, 100), (0, 0)], mode="reflect")
        np.testing.assert_array_equal(shown["PADDING"], padded)

    def test_magnified(self, shown, cut):
        patch = cut[0][106:159, 175:225]
        nearest = np.kron(patch, np.ones((8, 8, 1), np.uint8))
        np.testing.assert_array_equal(shown["UPSAMPLE_2D, nearest"], nearest)
        centres = [(np.arange(8 * n) + 0.5) / 8 - 0.5 for n in (53, 50)]
        linear = patch.astype(float)
        for axis, at in enumerate(centres):
            known = np.arange(linear.shape[axis])
            between = functools.partial(np.interp, at, known)
            linear = np.apply_along_axis(between, axis, linear)
        np.testing.assert_array_equal(shown["UPSAMPLE_2D, linear"], np.round(linear))

    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("join", "JOIN 16 tiles"),
            ("slice1", "SLICE1 with stride -1"),
            ("scatter", "SCATTER pixels in waves"),
            ("gather_elements", "GATHER_ELEMENTS in waves"),
            ("space_to_depth", "SPACE_TO_DEPTH, blocks of 4"),
            ("depth_to_space", "DEPTH_TO_SPACE: back again"),
            ("padding", "PADDING by reflection"),
            ("upsample_2d", "UPSAMPLE_2D, nearest"),
        ],
    )
    def test_one_wrong_element_is_found(self, monkeypatch, name, title):
        spoil(monkeypatch, directml, name)
        with pytest.raises(DifferenceError, match=rf"\({title}\) differs from NumPy: "):
            shown_by(directml_part, noise(9, 17, 3) // 2)


class TestStatisticsPart:
    @pytest.fixture
    def shown(self, shown_parts):
        return shown_parts[1]

    def test_planes_of_brightness_and_colour(self, shown, photographs):
        drawn, picture = shown["Colours by matmul"], photographs[0]
        np.testing.assert_array_equal(drawn[:HEIGHT, :WIDTH], picture)
        planes = drawn[:HEIGHT, WIDTH:], drawn[HEIGHT:, :WIDTH], drawn[HEIGHT:, WIDTH:]
        own = np.asarray(Image.fromarray(picture).convert("YCbCr"))  # with finer weights
        for channel, plane in enumerate(planes):
            assert (np.ptp(plane, axis=2) == 0).all()
            assert np.abs(plane[..., 0].astype(int) - own[..., channel]).max() <= 2

    def test_integral_image(self, shown, photographs):
        sums = np.zeros((HEIGHT + 1, WIDTH + 1, 3), np.int64)
        sums[1:, 1:] = photographs[0].astype(np.int64).cumsum(0).cumsum(1)
        np.testing.assert_array_equal(shown["Integral image"], sums * 255 // sums[-1, -1])

    def test_box_means(self, shown, photographs):
        boxes = np.lib.stride_tricks.sliding_window_view(photographs[0], (31, 31), (0, 1))
        means = boxes.sum((3, 4), dtype=np.int64) // 31**2
        np.testing.assert_array_equal(shown["Box means"], means)

    def test_sorted_rows(self, shown, photographs):
        rows = [sorted(row) for row in photographs[0][..., 0].tolist()]
        np.testing.assert_array_equal(shown["Sorted rows"][..., 0], rows)

    def test_crops(self, shown, photographs):
        drawn = shown["A batch of crops"]
        assert drawn.shape == (384, 384, 3)
        np.testing.assert_array_equal(drawn[:128, :128], photographs[0][:128, :128])
        np.testing.assert_array_equal(drawn[:128, 128:256], photographs[1][37:165, 34:162][:, ::-1])
        np.testing.assert_array_equal(drawn[256:, 256:], photographs[0][-128:, -128:])

    def test_statistics_are_drawn(self, shown):
        assert shown["Statistics by channel"].shape == (panels.PANEL, panels.PANEL, 3)

    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("mean", "mean by channel"),
            ("std", "deviation by channel"),
            ("scatter_add", "histogram by scatter_add"),
            ("matmul", "YCbCr by matmul"),
            ("cumulative_sum", "sums along rows"),
            ("sort", "each of its rows sorted"),
            ("stack", "stack 9 crops"),
        ],
    )
    def test_one_wrong_element_is_found(self, monkeypatch, name, title):
        spoil(monkeypatch, tl, name)
        with pytest.raises(DifferenceError, match=rf"\({title}\) differs from NumPy: 1 of "):
            shown_by(statistics_part, noise(9, 17, 3) // 2)


def spoil(monkeypatch, module, name):
    """Let a function get the first element of its result wrong by one."""
    true = getattr(module, name)

    def wrong(*arguments, **named):
        x = true(*arguments, **named)
        with tl.trace():  # which hides it
            x = x.copy()
            x[(0,) * x.ndim] = x[(0,) * x.ndim] + 1
        return x

    monkeypatch.setattr(module, name, wrong)


class TestLedger:
    def test_a_computation_that_copies(self):
        book, x = ledger.Ledger(str), tl.zeros((2, 3), dtype=tl.float32)
        expected = np.ones((3, 2), np.float32)
        with pytest.raises(DifferenceError, match="only compute, the trace says compute and 24 by"):
            book.compute("up", "HW WH", lambda x: tl.to_layout(x.T, "HW") + 1, x, expected=expected)

    def test_a_difference_within_what_sums_may_have(self):
        book, x = ledger.Ledger(str), tl.full((2,), 1000, dtype=tl.float32)
        for away in (-0.0009, 0.0009):
            near = np.full(2, 1000 + away, np.float32)
            book.compute("up", "W W", lambda x: x + 0, x, expected=near, within=1e-6)
        far = np.array([1000, 1000.002], np.float32)
        with pytest.raises(DifferenceError, match=r"1 of 2 elements, the first at \(1,\)"):
            book.compute("up", "W W", lambda x: x + 0, x, expected=far, within=1e-6)

    def test_memory_that_was_only_asked_for_is_no_computation(self):
        book, lines = ledger.Ledger(str), []
        book.announce = lines.append
        ones = np.ones(3, np.uint8)

        def copied(x):
            out = tl.empty(3, dtype=tl.uint8)
            out[...] = x
            return out

        book.step("copied", "W W", copied, tl.asarray(ones), expected=ones)
        assert re.fullmatch(r"copied +3 +W -> W +copy +0.00 .*", lines[0])


class TestPanels:
    def sheet(self, *sizes, columns=2):
        pictures = [
            panels.Captioned("W" * 12, "M" * 66, str(tl.Layout((9,) * 4, (999, 99, 9, 1))), pixels)
            for pixels in (np.full((*size, 3), 7, np.uint8) for size in sizes)
        ]
        return np.asarray(panels.captioned_sheet("W" * 20, pictures, columns))

    @pytest.mark.parametrize(
        "sizes", [[(400, 300), (10, 900), (1, 1)], [(384, 384)] * 4, [(3000, 20)]]
    )
    def test_pictures_are_aligned_whole_and_apart(self, sizes):
        drawn = self.sheet(*sizes)
        dark = (drawn == 7).all(axis=2)
        step = panels.PANEL + panels.MARGIN
        for column in range(min(2, len(sizes))):
            left = panels.MARGIN + column * step
            assert not dark[:, left - panels.MARGIN : left].any()
            assert dark[:, left].any()
        # The frame is empty: nothing runs over an edge.
        assert (drawn[-panels.MARGIN :] == panels.PAPER).all()
        assert (drawn[:, -panels.MARGIN :] == panels.PAPER).all()
        assert (drawn[:20] == panels.PAPER).all()

    @pytest.mark.parametrize(
        ("size", "fitted"),
        [
            ((384, 384), (384, 384)),
            ((768, 100), (384, 50)),
            ((100, 90), (300, 270)),
            ((1, 1), (384, 384)),
        ],
    )
    def test_size(self, size, fitted):
        assert panels.fitted(np.zeros((*size, 3), np.uint8)).size == fitted[::-1]

    def test_histogram(self):
        counts = np.zeros((256, 3), np.int32)
        counts[64:192] = 100
        drawn = histogram.drawn(counts, np.array([127.5] * 3), np.array([1.0] * 3))
        bars = [(drawn == colour).all(axis=2).sum(axis=0) for colour in histogram.COLOURS]
        for bar in bars:
            assert bar[95] == bar[288] == 0  # 64 and 192 are at 96 and 288 of the 384 pixels
            assert bar[96] == bar[287] == 100
        assert (drawn[:, 191:193] == panels.INK).all(axis=2).any()

    def test_histogram_of_one_pixel(self):
        counts = np.zeros((256, 3), np.int32)
        counts[255] = 1
        assert histogram.drawn(counts, np.full(3, 255.0), np.zeros(3)).shape == (384, 384, 3)


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
        assert "demo: --device must be one of those available" in complaint
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


class TestShowDirectml:
    def test_facts(self):
        said = show.described("type=FLOAT32 sizes=1,3,2,2 total=64 strides=14,1,7,3", width=100)
        facts = dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", said, re.MULTILINE))
        assert facts == {
            "descriptor": "sizes=1,3,2,2 strides=14,1,7,3 type=FLOAT32",
            "data type": "FLOAT32, float32, 4 bytes an element",
            "sizes": "(1, 3, 2, 2), 12 elements",
            "strides": "(14, 1, 7, 3), in elements",
            "order": "minor to major (1, 3, 2, 0): NCHW stored as NHWC",
            "slots": "13 slots, 1 of them without an element",
            "broadcast": "none",
            "minimum size": "52 bytes",
            "total size": "64 bytes, 12 more than the minimum",
            "layout": "(1,3,2,2):(14,1,7,3)",
        }
        assert said.splitlines()[-4:] == [
            "memory, 13 slots (A is the first element):",
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12",
            "Value:  A E I B F J x C G K  D  H  L",
            "x: no element of this layout",
        ]

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("sizes=2,3", "strides        (3, 1), in elements: packed, as none are given"),
            ("sizes=2,3", "data type      not given"),
            (
                "strides=5,1 sizes=2,3",
                "minimum size   bytes: 8 of UINT8, 16 of FLOAT16, 32 of FLOAT32, 64 of FLOAT64",
            ),
            (
                "sizes=(2,3), strides=[0, 1]",
                "broadcast      dimension 0 (stride 0): elements share slots",
            ),
            (
                "sizes=2,3 strides=0,0",
                "broadcast      dimensions 0, 1 (stride 0): elements share slots",
            ),
            ("sizes=3,3 strides=1,1", "broadcast      none, but elements share slots"),
            ("sizes=3 type=DML_TENSOR_DATA_TYPE_FLOAT16", "minimum size   8 bytes"),
            ("sizes=3 type=float16", "total size     8 bytes, the minimum"),
            ("sizes=3 type=10", "data type      UINT64, uint64, 8 bytes an element"),
            ("sizes=3 type=INT4", "data type      INT4, 2 elements in a byte"),
            ("sizes=9 type=INT4", "minimum size   8 bytes"),
            ("sizes=3 type=INT8 alignment=16", "alignment      offsets are multiples of 16 bytes"),
            (
                "sizes=1,2,3,4,5",
                "order          minor to major (4, 3, 2, 1, 0): NCDHW stored as NCDHW",
            ),
            (
                "sizes=65535,65535",
                "memory, the first 96 of 4294836225 slots (A is the first element):",
            ),
        ],
    )
    def test_lines(self, text, line):
        assert line in show.described(text, width=100).splitlines()

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("strides=3,1", "needs sizes, as in sizes=1,3,4,4, got 'strides=3,1'"),
            ("sizes=2,x", "sizes is numbers with commas between, as in 1,3,4,4, got 'sizes=2,x'"),
            ("sizes=", "got 'sizes='"),
            ("sizes=2 strides=1.5", "got 'strides=1.5'"),
            ("sizes=2 sizes=3", "sizes is there twice, at last in 'sizes=3'"),
            ("sizes=2 stride=1", "has sizes, strides, type, total, alignment, got 'stride=1'"),
            ("sizes=2,3 strides=1", "Strides must be as many as Sizes, 2, got 1, in 'sizes=2,3"),
            ("sizes=2,3 strides=-3,1", "none can be negative, got (-3, 1)"),
            ("sizes=2,0", "each of Sizes must be at least 1 and fit 32 bits, got (2, 0)"),
            ("sizes=1,1,1,1,1,1,1,1,1", "DimensionCount must be 1 to 8, got 9 sizes"),
            ("sizes=2 type=FLOAT33", "DataType must be one of FLOAT32, FLOAT16"),
            ("sizes=2 type=FLOAT32 total=4", "at least the minimum implied size, 8,"),
            ("sizes=2 total=4,5", "total is a number of bytes, got 'total=4,5'"),
            ("sizes=2 type=FLOAT32 alignment=2", "a power of two that is at least 4"),
            ("sizes=65536,65536", "addresses at most 2**32 - 1 elements"),
        ],
    )
    def test_refusals(self, capsys, text, complaint):
        assert complaint in refusal(capsys, "show", text)

    def test_two_words_without_quotes(self, capsys):
        assert main(["show", "sizes=2,3", "strides=5,1"]) == 0
        assert "slots          8 slots" in capsys.readouterr().out


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

    def test_sizes_with_tiles_are_a_layout(self):
        said = show.described("[3,5]{1,0:T(2,2)}", width=100)
        assert said == show.described("(3,5):(2*12+2*2,3*4+2*1)", width=100)
        assert said == show.described("{1,0:T(2,2)}", "3,5", width=100)
        rows = show.described("(3,5):(5,1)", width=100)
        assert rows == show.described("[3,5]{1,0}", width=100)

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
        assert facts["CUDA"].startswith("none; cuda") == ("cuda" not in facts["devices"])
        assert re.search(r"^default device +(cpu|cuda:\d+)$", said, re.MULTILINE)
        assert "hits" in said
        assert info.version("no-such-distribution") is None

    def test_demo_in_the_current_folder(self, tmp_path):
        Image.fromarray(noise(9, 9, 3)).save(tmp_path / "ünïcode.png")
        done = run("demo", "ünïcode.png", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        written = {p.name for p in (tmp_path / "tensorlayout-demo").iterdir()}
        assert written == set(PICTURES)

    def test_refusal_is_one_line_and_status_2(self, tmp_path):
        done = run("demo", "none.png", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            "tensorlayout: error: cannot read none.png: No such file or directory\n"
        )

    def test_info_says_what_a_default_device_that_is_not_here_is(self, capsys, monkeypatch):
        monkeypatch.setenv("TENSORLAYOUT_DEFAULT_DEVICE", "abacus")
        devices._named_by_the_variable.cache_clear()
        assert main(["info"]) == 0
        devices._named_by_the_variable.cache_clear()
        said = capsys.readouterr().out
        assert re.search(
            r"default device +none; TENSORLAYOUT_DEFAULT_DEVICE must .* 'abacus'", said
        )

    @pytest.mark.skipif(
        not Path("/dev/full").exists(), reason="needs a POSIX system with /dev/full"
    )
    def test_a_full_disk_is_one_line_and_status_1(self, tmp_path):
        root = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parents[1])}
        command = [sys.executable, "-m", "tensorlayout", "show", "(9,9):(9,1)"]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                command, env=root, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        complaint = "tensorlayout: error: cannot write what was found: No space left on device\n"
        assert (done.returncode, done.stderr) == (1, complaint)

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
