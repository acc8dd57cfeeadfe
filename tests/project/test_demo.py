"""The demo: its table and pictures against NumPy, other pictures, and every difference found."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tensorlayout as tl

Image = pytest.importorskip("PIL.Image", reason="optional: pillow, for the demo")

from tensorlayout.cli import main  # noqa: E402 - Pillow is optional
from tensorlayout.demo import (  # noqa: E402
    beside,
    directml,
    handover,
    ledger,
    panels,
    pictures,
    pipeline,
    report,
    sheet,
    statistics,
)
from tensorlayout.demo.errors import DifferenceError  # noqa: E402
from tensorlayout.demo.ledger import Known  # noqa: E402

HEIGHT, WIDTH = 427, 400  # what the two photographs of the package have in common
PICTURES = {"directml.png", "layouts.png", "mosaic.png", "normalised.png", "statistics.png"}


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def noise(height, width, *channels):
    rng = np.random.default_rng(height * 1000 + width)
    return rng.integers(0, 256, (height, width, *channels), dtype=np.uint8)


def complaint(capsys, *arguments, status=2):
    """The one line of stderr with which the demo ends."""
    assert main(["demo", *map(str, arguments)]) == status
    found = capsys.readouterr().err
    assert found.count("\n") == 1
    assert "Traceback" not in found
    assert len(found) <= 2000
    return found


@pytest.fixture
def picture(tmp_path):
    """Writes a picture of noise, a.png."""

    def written(*size):
        Image.fromarray(noise(*size, 3)).save(tmp_path / "a.png")
        return tmp_path / "a.png"

    return written


# The demo as users start it takes five seconds; of small pictures it runs below.
on_photographs = pytest.mark.ci


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder, the output and the steps of the demo on the photographs of the package."""
    out, said, books = tmp_path_factory.mktemp("demo"), io.StringIO(), []

    class Kept(ledger.Ledger):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            books.append(self)

    with contextlib.redirect_stdout(said), pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "Ledger", Kept)
        out = out / "new"
        arguments = [f"--out={out}", f"--json={out}/a.json", f"--report={out}/page", "--repeat=1"]
        assert main(["demo", *arguments]) == 0
    [book] = books
    return out, said.getvalue(), book.steps


@pytest.fixture(scope="module")
def photographs():
    """The photographs as NumPy sees them, cut to their common size from the middle."""
    folder = files("tensorlayout.demo") / "photographs"
    astronaut, rocket = (decoded(folder / name) for name in pictures.PHOTOGRAPHS)
    assert astronaut.shape == (448, 400, 3)
    assert rocket.shape == (427, 640, 3)
    return astronaut[10:437], rocket[:, 120:520]


# ---- On the photographs of the package


@on_photographs
def test_output_fits_100_columns_of_plain_ascii(demo):
    out, said, _ = demo
    assert max(map(len, said.replace(str(out), "OUT").splitlines())) <= 100
    assert said.isascii()
    assert "\x1b" not in said
    assert "astronaut.jpg: 400 x 448 pixels" in said
    assert "cut to 400 x 427, from the middle" in said


@on_photographs
def test_nothing_more_is_copied_than_what_is_asked_for(demo):
    firsts = {"cut to multiples of 4": "directml", "bytes to float32": "statistics"}
    copied, part = {"pipeline": {}, "directml": {}, "statistics": {}}, "pipeline"
    for step in demo[2]:
        part = firsts.get(step.title, part)
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


@on_photographs
def test_numpy_and_torch_see_the_same_address(demo):
    assert len(set(re.findall(r" (0x[0-9a-f]+)", demo[1]))) == 1
    assert "NumPy:   0x" in demo[1]
    if importlib.util.find_spec("torch") is not None:
        assert re.search(r"PyTorch: 0x.*channels_last: yes", demo[1])


@on_photographs
def test_mosaic_is_what_numpy_makes_of_the_photographs(demo, photographs):
    rows = []
    for p in photographs:
        left, right = p[:, : WIDTH // 2], p[:, WIDTH // 2 :]
        tiles = [p, left, np.fliplr(left), np.fliplr(right), right, np.rot90(p, 2)]
        rows.append(np.hstack(tiles))
    np.testing.assert_array_equal(decoded(demo[0] / "mosaic.png"), np.vstack(rows))


@on_photographs
def test_normalised_is_what_numpy_makes_of_the_photographs(demo, photographs):
    mean, std = (np.array(v, np.float32) for v in (pipeline.MEAN, pipeline.STD))
    x = (np.hstack(photographs).astype(np.float32) / np.float32(255) - mean) / std
    rescaled = np.round((x - x.min()) / (x.max() - x.min()) * np.float32(255)).astype(np.uint8)
    drawn, shown = decoded(demo[0] / "normalised.png"), np.asarray(panels.fitted(rescaled))
    left, top = panels.MARGIN + 2 * (panels.PANEL + panels.MARGIN), 64 + panels.CAPTION
    found = drawn[top : top + shown.shape[0], left : left + shown.shape[1]]
    np.testing.assert_array_equal(found, shown)


def test_photographs_are_small_and_described():
    folder = Path(str(files("tensorlayout.demo") / "photographs"))
    described = (folder / "README.md").read_text(encoding="utf-8")
    assert {p.name for p in folder.iterdir()} == {*pictures.PHOTOGRAPHS, "README.md"}
    assert all(name in described for name in pictures.PHOTOGRAPHS)
    assert sum(p.stat().st_size for p in folder.iterdir()) < 600_000


# ---- On other pictures


@pytest.mark.parametrize("size", [(1, 1), (7, 256), (8, 257)])
def test_sizes(picture, tmp_path, capsys, size):
    assert main(["demo", str(picture(*size)), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert ("no row needs padding" in said) == (size[1] % 256 == 0)
    assert ("DirectML: left out" in said) == (min(size) < 8)
    written = {p.name for p in (tmp_path / "out").iterdir()}
    assert written == PICTURES - ({"directml.png"} if min(size) < 8 else set())
    mosaic, pixels = decoded(tmp_path / "out" / "mosaic.png"), noise(*size, 3)
    np.testing.assert_array_equal(mosaic[:, : size[1]], pixels)
    np.testing.assert_array_equal(mosaic[:, -size[1] :], pixels[::-1, ::-1])


def test_different_sizes_are_cut_from_the_middle(tmp_path, capsys):
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, size in zip(paths, [(9, 20), (12, 11), (10, 30)], strict=True):
        Image.fromarray(noise(*size, 3)).save(path)
    assert main(["demo", *map(str, paths), "--out", str(tmp_path)]) == 0
    assert "cut to 11 x 9, from the middle" in capsys.readouterr().out
    mosaic = decoded(tmp_path / "mosaic.png")
    np.testing.assert_array_equal(mosaic[:9, :11], noise(9, 20, 3)[:, 4:15])
    np.testing.assert_array_equal(mosaic[9:18, :11], noise(12, 11, 3)[1:10])


def loaded(path):
    [found] = pictures.load([str(path)])
    return found


def test_modes_are_made_rgb_and_said(tmp_path):
    for mode, note in (
        ("L", "grey made RGB"),
        ("LA", "grey with alpha made RGB on a white ground"),
        ("RGBA", "RGBA made RGB on a white ground"),
        ("P", "palette made RGB"),
        ("1", "black and white made RGB"),
    ):
        original = Image.fromarray(noise(6, 5, 3)).convert(mode)
        original.save(tmp_path / "a.png")
        found = loaded(tmp_path / "a.png")
        assert found.notes == (note,)
        np.testing.assert_array_equal(found.pixels, np.asarray(original.convert("RGB")))
    grey = noise(4, 3)
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "a.png")
    assert loaded(tmp_path / "a.png").notes == ("16-bit grey made RGB",)
    np.testing.assert_array_equal(loaded(tmp_path / "a.png").pixels[..., 0], grey)


def test_transparent_is_white(tmp_path):
    Image.new("RGBA", (2, 2), (10, 20, 30, 0)).save(tmp_path / "a.png")
    assert (loaded(tmp_path / "a.png").pixels == 255).all()


def test_turned_photographs_are_set_upright(tmp_path):
    path, pixels, exif = tmp_path / "a.png", noise(4, 3, 3), Image.Exif()
    exif[0x0112] = 6  # the camera was turned by 90 degrees
    Image.fromarray(pixels).save(path, exif=exif)
    np.testing.assert_array_equal(loaded(path).pixels, np.rot90(pixels, -1))


def test_first_frame_of_several(tmp_path):
    frames = [Image.new("RGB", (3, 2), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert "the first of 2 frames" in loaded(tmp_path / "a.gif").notes


# ---- Refused


@pytest.mark.parametrize("out", ["file", "file/out"])
def test_folders_that_cannot_be_made(tmp_path, capsys, out):
    (tmp_path / "file").write_bytes(b"")
    assert "cannot write to" in complaint(capsys, "--out", tmp_path / out)


def test_unknown_device(tmp_path, capsys):
    found = complaint(capsys, "--device", "abacus", "--out", tmp_path)
    assert "demo: --device must be one of those available" in found
    assert "'abacus'" in found


def test_without_pillow(capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'tensorlayout[demo]'" in complaint(capsys)


# ---- A library that computes one thing wrong


def spoil(monkeypatch, module, name):
    """Let a function get the first element of its result wrong by one, which no trace shows."""
    true = getattr(module, name)

    def wrong(*arguments, **named):
        x = true(*arguments, **named)
        with tl.trace():  # which hides it
            x = x.copy()
            x[(0,) * x.ndim] = x[(0,) * x.ndim] + 1
        return x

    monkeypatch.setattr(module, name, wrong)


def difference(tmp_path, capsys):
    Image.fromarray(noise(4, 3, 3) // 2 + 8).save(tmp_path / "a.png")
    return complaint(capsys, tmp_path / "a.png", "--out", tmp_path, status=1)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("to_layout", "NHWC to NCHW"),
        ("astype", "to float32"),
        ("round", "rescale to bytes for viewing"),
        ("concat", "side by side"),
    ],
)
def test_one_wrong_element(tmp_path, capsys, monkeypatch, name, title):
    spoil(monkeypatch, tl, name)
    found = difference(tmp_path, capsys)
    assert f"({title}) differs from NumPy: 1 of " in found
    assert "the first at (0, 0, 0" in found


def test_padding_that_does_not_stay_true(tmp_path, capsys, monkeypatch):
    true = tl.astype

    def wrong(x, dtype):
        x = true(x, dtype)
        if x.layout.is_padded:
            array = np.asarray(x)
            last = (x.layout.required_size,)
            np.lib.stride_tricks.as_strided(array, last, (x.itemsize,))[-1] = 5
        return x

    monkeypatch.setattr(tl, "astype", wrong)
    found = difference(tmp_path, capsys)
    assert "(to float32) differs from NumPy: 1 of 3072 slots" in found
    assert "5.0 instead of 0.0" in found


def test_view_that_is_a_copy(tmp_path, capsys, monkeypatch):
    true = tl.permute_dims
    monkeypatch.setattr(tl, "permute_dims", lambda x, axes: true(x, axes).copy())
    found = difference(tmp_path, capsys)
    assert "(seen as CHW) must be a view, the trace says copy" in found


def known(array, dims):
    return Known(tl.asarray(array), array, dims)


# ---- Its parts


@pytest.mark.parametrize(
    ("part", "module", "name", "title"),
    [
        (directml, tl.directml, "join", "JOIN 16 tiles"),
        (directml, tl.directml, "gather_elements", "GATHER_ELEMENTS in waves"),
        (directml, tl.directml, "padding", "PADDING by reflection"),
        (statistics, tl, "mean", "mean by channel"),
        (statistics, tl, "scatter_add", "histogram by scatter_add"),
        (statistics, tl, "sort", "each of its rows sorted"),
    ],
)
def test_one_wrong_element_of_a_part(monkeypatch, part, module, name, title):
    spoil(monkeypatch, module, name)
    number = r"\d+" if name == "join" else "1"  # JOIN's are joined again
    array = np.moveaxis(noise(9, 17, 3)[None] // 2, 3, 1)
    batch = Known(tl.to_layout(tl.asarray(array), "NHWC"), array, "NCHW")
    with pytest.raises(DifferenceError, match=rf"\({title}\) differs from NumPy: {number} of "):
        part.run(ledger.Ledger(str), batch)


def other_memory(xp, x):
    """A copy that no trace shows."""
    return xp.asarray(np.array(x.tolist(), np.uint8))


def test_differences_are_found():
    x, octets = known(np.zeros((2, 2), np.uint8), "HW"), np.uint8
    same, exported = lambda _, x: x, lambda xp, x: xp.asarray(np.asarray(x).copy())
    wrong = {"expected": np.zeros((2, 2), np.int8)}
    for said, step in (
        ("memory is not shared", lambda book: book.view("other", other_memory, x)),
        ("must be a view, the trace says export", lambda book: book.view("other", exported, x)),
        (
            r"uint8 of shape \(2, 2\) instead of int8",
            lambda book: book.step("made", same, x, **wrong),
        ),
        (
            r"uint8 of shape \(4,\) instead of uint8 of shape",
            lambda book: book.step("same", same, x, stored="HW", row=4),
        ),
        (
            "NumPy sees other elements",
            lambda _: handover.shared(x.tensor, np.ones(x.array.shape, octets)),
        ),
        (
            "PyTorch sees the batch at 0x20, not at 0x10",
            lambda _: handover._same("PyTorch", 0x10, 0x20, np.zeros(1), np.zeros(1)),
        ),
    ):
        with pytest.raises(DifferenceError, match=said):
            step(ledger.Ledger(str))


class TestLedger:
    def test_a_computation_that_copies(self):
        book, x = ledger.Ledger(str), known(np.zeros((2, 3), np.float32), "HW")
        with pytest.raises(DifferenceError, match="only compute, the trace says compute and 24 by"):
            book.compute(
                "up",
                lambda _, x: tl.to_layout(x.T, "HW") + 1,
                x,
                dims="WH",
                expected=np.ones((3, 2), np.float32),
            )

    def test_a_difference_within_what_sums_may_have(self):
        book, x = ledger.Ledger(str), known(np.full(2, 1000, np.float32), "W")
        up = functools.partial(book.compute, "up", lambda _, x: x + 0, x, within=1e-6)
        for away in (-0.0009, 0.0009):
            up(expected=np.full(2, 1000 + away, np.float32))
        with pytest.raises(DifferenceError, match=r"1 of 2 elements, the first at \(1,\)"):
            up(expected=np.array([1000, 1000.002], np.float32))

    def test_memory_that_was_only_asked_for_is_no_computation(self):
        def copied(xp, x):
            out = xp.empty(3, dtype=xp.uint8)
            out[...] = x
            return out

        lines = []
        ledger.Ledger(lines.append).step("copied", copied, known(np.ones(3, np.uint8), "W"))
        assert re.fullmatch(r"copied +W -> W +copy +0.00 .*", lines[0])

    def test_brief(self):
        for text, words in (
            ("(2,3,4):(12,4,1)", "CHW"),
            ("(2,3,4):(1,8,2)", "HWC"),
            ("(2,3,4):(24,8,1) padded=(2,3,8)", "CHW W+4"),
            ("(2,3,4):(12,-4,-1)+11", "CHW -H -W"),
            ("(2,3,4):(100,10,1)", "CHW gaps"),
        ):
            assert ledger.brief(tl.Layout.parse(text), "CHW") == words


def test_bars_of_a_histogram():
    counts = np.zeros((256, 3), np.int32)
    counts[64:192] = 100
    drawn = panels.histogram(counts, np.array([127.5] * 3), np.array([1.0] * 3))
    for colour in panels.COLOURS:
        bar = (drawn == colour).all(axis=2).sum(axis=0)
        assert bar[95] == bar[288] == 0  # 64 and 192 are at 96 and 288 of the 384 pixels
        assert bar[96] == bar[287] == 100
    assert (drawn[:, 191:193] == panels.INK).all(axis=2).any()


class TestSheet:
    PICTURE = noise(5, 4, 3)

    @pytest.fixture
    def drawn(self):
        x = tl.permute_dims(tl.asarray(self.PICTURE), (2, 0, 1))
        return dict(zip(("hwc", "chw", "pitched", "column"), sheet.panels(x, 16), strict=True))

    def test_octets_are_the_memory(self, drawn):
        chw = np.moveaxis(self.PICTURE, 2, 0)
        for name, memory in (
            ("hwc", self.PICTURE.reshape(5, 12)),
            ("chw", chw.reshape(15, 4)),
            ("pitched", np.pad(chw, [(0, 0), (0, 0), (0, 12)]).reshape(15, 16)),
            ("column", self.PICTURE.transpose(1, 0, 2).reshape(4, 15)),
        ):
            np.testing.assert_array_equal(drawn[name].octets, memory)

    def test_channels_say_which_bytes_are_padding(self, drawn):
        np.testing.assert_array_equal(drawn["hwc"].channels, np.tile([1, 2, 3], (5, 4)))
        rows = np.repeat([1, 2, 3], 5)[:, None]
        np.testing.assert_array_equal(drawn["pitched"].channels[:, :4], rows.repeat(4, axis=1))
        assert (drawn["pitched"].channels[:, 4:] == 0).all()

    def test_padding_is_striped_and_nothing_else_is(self, drawn):
        panel = drawn["pitched"]
        striped = [(panel.drawn == colour).all(axis=2) for colour in sheet.STRIPES]
        np.testing.assert_array_equal(np.logical_or(*striped), panel.channels == 0)


# ---- Times, beside those of others


@pytest.fixture(scope="module")
def facts(demo):
    return json.loads((demo[0] / "a.json").read_text("utf-8"))


@on_photographs
def test_the_total_is_of_the_steps_that_all_did(facts):
    total = facts["total"]
    both = [s for s in facts["steps"] if s["seconds"].keys() == total["seconds"].keys()]
    assert total["steps"].split()[2] == str(len(both))
    for name, seconds in total["seconds"].items():
        assert seconds == pytest.approx(sum(step["seconds"][name] for step in both))
    assert total["bytes_read"] == sum(step["bytes_read"] for step in both)


def test_json_alone_on_stdout_and_names_that_are_no_html(tmp_path, capsys):
    path = tmp_path / "<b>&x.png"
    Image.new("RGB", (8, 9)).save(path)  # of one colour, which has no span to rescale
    folders = [f"--out={tmp_path}", f"--report={tmp_path}"]
    assert main(["demo", str(path), *folders, "--repeat", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeat"] == 2
    text = (tmp_path / "tensorlayout-demo.html").read_text("utf-8")
    assert path.name not in text
    assert any(f"{path.name}: 8 " in words for words in Checked(text).text)


def test_a_picture_is_not_taken_for_the_file_of_json(picture, tmp_path, capsys):
    path = picture(9, 8)
    before = path.read_bytes()
    found = complaint(capsys, "--json", path, "--out", tmp_path)
    assert "the file of --json must end with .json" in found
    assert path.read_bytes() == before


def test_refused_before_anything_is_done(tmp_path, capsys):
    for arguments in (["--repeat", "0"], ["--json", "none/a.json"]):
        complaint(capsys, *arguments, "--out", tmp_path)
    assert not list(tmp_path.glob("*.png"))


def test_how_often_is_timed(monkeypatch):
    clock, made = [0.0], []

    def call(once):
        made.append(1)
        clock[0] += once

    monkeypatch.setattr(beside.time, "perf_counter", lambda: clock[0])
    for once, repeat, calls, runs in [
        (0.2, 5, 1 + 2, 2),
        (3.0, 5, 1 + 1, 1),
        (1e-3, 7, 1 + 7, 7),
        (2e-5, 3, 1 + 3 * 2, 3),
    ]:
        made.clear()
        took, found = beside.median(lambda once=once: call(once), repeat)
        assert (len(made), found) == (calls, runs)
        assert took == pytest.approx(once)
    # The median counts, and the first is no run.
    durations = iter([9e-4, 5e-3, 1e-3, 2e-3])
    assert beside.median(lambda: call(next(durations)), 3)[0] == pytest.approx(2e-3)


def test_another_library_that_computes_something_else():
    class Wrong:
        def __getattr__(self, name):
            return lambda x, **_: x + 1

    other = beside.Library("Other", Wrong(), lambda x: x, np.asarray)
    book = ledger.Ledger(str, repeat=1, libraries=[other])
    with pytest.raises(DifferenceError, match=r"\(sorted\) by Other differs from NumPy: 3 of 3"):
        book.step("sorted", lambda xp, x: xp.sort(x, axis=0), known(np.arange(3), "W"))


def test_numpy_and_others_work_on_the_same_memory():
    seen = []

    def taken(array):
        seen.append(array)
        return array

    book = ledger.Ledger(str, repeat=1, libraries=[beside.Library("N", np, taken, np.asarray)])
    x = tl.to_layout(tl.asarray(noise(4, 3, 2)), (0, 1, 2))
    book.step("same", lambda _, x: x, Known(x, noise(4, 3, 2), "HWC"))
    assert seen[0].strides == np.asarray(x).strides == (1, 4, 12)
    assert np.shares_memory(seen[0], np.asarray(x))


# ---- Folders


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / "folder"
        folder.mkdir()
        for name in ("b.png", "a.JPG", "c.gif"):
            Image.fromarray(noise(9, 8, 3)).save(folder / name)
        (folder / "notes.txt").write_text("no picture")
        (folder / ".hidden.png").write_bytes(b"")
        return folder

    def test_its_pictures_in_order(self, folder):
        assert [p.name for p in pictures.load([str(folder)])] == ["a.JPG", "b.png", "c.gif"]

    def test_what_cannot_be_read_is_named(self, folder, tmp_path, capsys):
        (folder / "b.png").write_bytes(b"broken")
        assert main(["demo", str(folder), "--out", str(tmp_path / "out"), "--repeat", "1"]) == 0
        said = capsys.readouterr().out
        assert f"\nleft out: cannot read {folder / 'b.png'}: cannot identify image file" in said
        assert "\nread b.png" not in said
        assert "\nread c.gif" in said

    def test_nothing_can_be_read(self, folder, capsys, tmp_path):
        for path in folder.iterdir():
            path.write_bytes(b"broken")
        assert "no picture can be read; cannot" in complaint(capsys, folder, "--out", tmp_path)

    def test_too_many(self, folder, monkeypatch):
        left_out = []
        monkeypatch.setattr(pictures, "MOST_PICTURES", 2)
        assert [p.name for p in pictures.load([str(folder)], left_out)] == ["a.JPG", "b.png"]
        assert left_out == ["all but the first 2 of 3 pictures"]


# ---- The page


class Checked(HTMLParser):
    """Tags and text of a page; end tags must be those of what is open."""

    VOID: ClassVar = {"meta", "br", "img"}

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.tags = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@on_photographs
def test_the_page_has_all_steps_and_needs_nothing_from_elsewhere(demo, facts):
    text = (demo[0] / "page" / "tensorlayout-demo.html").read_text("utf-8")
    page = Checked(text)
    assert {step["name"] for step in facts["steps"]} <= {*page.text}
    assert page.tags.count("img") == len(PICTURES)
    assert "script" not in page.tags
    assert not re.search(r"url\(|@import|<link", text)
    assert set(re.findall(r"https?://[^\"' <]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert len(re.findall(r'="data:image/(?:webp|png);base64', text)) == len(PICTURES)


def test_small_layouts_have_the_form():
    for layout, small in (
        ("(2,3,427,400):(512400,1,1200,3)", "(1,3,2,4):(24,1,12,3)"),
        ("(2,3,5,5):(90,30,6,1) padded=(2,3,5,6)", "(1,3,2,4):(36,12,6,1) padded=(1,3,2,6)"),
        ("(2,3,5,5):(75,25,-5,-1)+24", "(1,3,2,4):(24,8,-4,-1)+7"),
        ("(2,3,5,5):(300,100,10,1)", "(1,3,2,4):(36,12,6,1)"),
    ):
        assert str(report._small(tl.Layout.parse(layout))) == small
