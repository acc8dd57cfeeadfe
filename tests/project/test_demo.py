"""The demo: its table and pictures against NumPy, every difference found, and all or no files."""

import contextlib
import importlib.util
import io
import json
import re
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tensorlayout as tl

Image = pytest.importorskip("PIL.Image", reason="optional: pillow, for the demo")

from tensorlayout.cli import main  # noqa: E402 - Pillow is optional
from tensorlayout.cli.answers import CommandError  # noqa: E402
from tensorlayout.cli.demo import drawing, pictures, pipeline, table  # noqa: E402

FOLDER = Path(pictures.PHOTOGRAPHS)
HEIGHT, WIDTH = 427, 400  # what the two photographs of the package have in common
PICTURES = {"directml.png", "layouts.png", "mosaic.png", "normalised.png", "statistics.png"}


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def noise(height, width, *channels):
    rng = np.random.default_rng(height * 1000 + width)
    return rng.integers(0, 256, (height, width, *channels), dtype=np.uint8)


def saved(path, *size):
    """Write a picture of noise; return its path as a text."""
    Image.fromarray(noise(*size, 3)).save(path)
    return str(path)


def complaint(capsys, *arguments, status=2):
    """The one line of stderr with which the demo ends."""
    assert main(["demo", *map(str, arguments)]) == status
    result = capsys.readouterr().err
    assert result.count("\n") == 1
    assert "Traceback" not in result
    assert len(result) <= 2000
    return result


# ---- On the photographs of the package: as users start it, so in CI alone


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder, the output and the facts of the demo."""
    out = tmp_path_factory.mktemp("demo") / "new"
    options = [f"--out={out}", f"--json={out}/a.json", f"--report={out}/page", "--repeat=2"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["demo", *options]) == 0
    return out, said.getvalue(), json.loads((out / "a.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def photographs():
    """The photographs as NumPy sees them, cut to their common size from the middle."""
    astronaut, rocket = (decoded(FOLDER / name) for name in ("astronaut.jpg", "rocket.jpg"))
    return astronaut[10:437], rocket[:, 120:520]


@pytest.mark.ci
class TestPhotographs:
    def test_output_fits_100_columns_of_plain_ascii(self, demo):
        out, said, _ = demo
        assert [
            line for line in said.replace(str(out), "OUT").splitlines() if len(line) > 100
        ] == []
        assert said.isascii()
        assert "\x1b" not in said
        assert "astronaut.jpg: 400 x 448 pixels" in said
        assert "cut to 400 x 427, from the middle" in said
        assert "numpy: (2,3,427,400):(512400,1,1200,3), no copy: both see" in said

    def test_the_story_names_the_line_that_copied(self, demo):
        code = (Path(pipeline.__file__).with_name("numpy_code.py")).read_text("utf-8").splitlines()
        copying = next(
            number for number, line in enumerate(code, 1) if "np.reshape(np.move" in line
        )
        batch = 2 * 3 * HEIGHT * WIDTH
        lines = re.findall(
            r"^numpy_code.py:(\d+): .*: ([\d,]+) bytes moved$",
            demo[1],
            re.MULTILINE,
        )
        assert [int(line) for line, _ in lines] == [*range(copying, copying + 3)]
        assert [copied for _, copied in lines] == [f"{batch:,}", "0", "0"]
        refused = (
            rf"reshape: {batch:,} bytes .* moved into another layout at numpy_code.py:{copying}"
        )
        assert re.search(refused, demo[1])

    def test_nothing_more_is_copied_than_what_is_asked_for(self, demo):
        copied = {step["name"]: step["bytes_copied"] for step in demo[2]["steps"]}
        batch, cut = 2 * 3 * HEIGHT * WIDTH, 2 * 3 * 424 * 400
        assert {name: size for name, size in copied.items() if size} == {
            "mosaic: views, joined once": 4 * batch,
            "planes, rows at 256 bytes": batch,
            "normalise(planes)": batch,
            "rescaled to rows of pixels": (1 + 1 + 1) * batch,  # to bytes, joined, relaid
            "JOIN": cut,  # one picture of the two, first to rows and then to the whole
            "SLICE1": cut,
            "SPACE_TO_DEPTH": cut,
            "PADDING": cut,
            "UPSAMPLE_2D, nearest": cut // 8**2 * 4 + cut * 4,
            "UPSAMPLE_2D, linear": cut // 8**2 * 4,
            "{1,0:T(8,128)}": 4 * HEIGHT * WIDTH,
            "bytes to float32": 4 * batch,
            "stack 9 crops": 9 * 3 * 128 * 128,
        }

    def test_mosaic_is_what_numpy_makes_of_the_photographs(self, demo, photographs):
        rows = []
        for p in photographs:
            left, right = p[:, : WIDTH // 2], p[:, WIDTH // 2 :]
            tiles = [p, left, np.fliplr(left), np.fliplr(right), right, np.rot90(p, 2)]
            rows.append(np.hstack(tiles))
        np.testing.assert_array_equal(decoded(demo[0] / "mosaic.png"), np.vstack(rows))

    def test_normalised_is_what_numpy_makes_of_the_photographs(self, demo, photographs):
        mean, std = pipeline.MEAN.astype(np.float32), pipeline.STD.astype(np.float32)
        x = (np.hstack(photographs).astype(np.float32) / np.float32(255) - mean) / std
        rescaled = np.round((x - x.min()) / (x.max() - x.min()) * np.float32(255)).astype(np.uint8)
        shown = np.asarray(
            drawing.resize_picture(rescaled, drawing.fit_to_panel(rescaled.shape, 2 * WIDTH))
        )
        left = drawing.MARGIN + 2 * (drawing.PANEL + drawing.MARGIN)
        top = drawing.TOP + drawing.CAPTION
        result = decoded(demo[0] / "normalised.png")[top:, left:]
        np.testing.assert_array_equal(result[: shown.shape[0], : shown.shape[1]], shown)

    def test_the_totals_are_the_sums_of_the_columns(self, demo):
        columns = r"^.* (\d+\.\d\d) +~?(\d+) +~?(\d+) +(\d+\.\d\d)$"
        rows = re.findall(columns, demo[1], re.MULTILINE)
        *steps, total = [[float(number) for number in row] for row in rows]
        assert len(steps) == sum(step["kind"] != "view" for step in demo[2]["steps"])
        sums = np.sum(steps, axis=0)
        np.testing.assert_allclose(total[:3], sums[:3], rtol=1e-9)
        assert total[3] == pytest.approx(sums[1] / sums[2], abs=0.005)

    def test_views_are_not_timed(self, demo):
        views = [step for step in demo[2]["steps"] if step["kind"] == "view"]
        assert [step["seconds"] for step in views] == [{"tensorlayout": [], "NumPy": []}] * 2
        assert re.search(r"\nseen as NCHW .* view +- +- +- +-\n", demo[1])

    def test_the_page_has_all_steps_and_needs_nothing_from_elsewhere(self, demo):
        text = (demo[0] / "page" / "tensorlayout-demo.html").read_text("utf-8")
        page = Checked(text)
        assert {step["name"] for step in demo[2]["steps"]} <= {*page.text}
        assert page.tags.count("img") == len(PICTURES)
        assert page.tags.count("svg") == 4
        assert "script" not in page.tags
        assert not re.search(r"url\(|@import|<link", text)
        assert set(re.findall(r"https?://[^\"' <]+", text)) <= {"http://www.w3.org/2000/svg"}


class Checked(HTMLParser):
    """Tags and text of a page; end tags must be those of what is open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.tags = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in {"meta", "br", "img"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_photographs_are_small_and_described():
    described = (FOLDER / "README.md").read_text("utf-8")
    assert {p.name for p in FOLDER.iterdir()} == {"astronaut.jpg", "rocket.jpg", "README.md"}
    assert {"astronaut.jpg", "rocket.jpg"} <= {*re.findall(r"\w+\.jpg", described)}
    assert sum(p.stat().st_size for p in FOLDER.iterdir()) < 600_000


# ---- On other pictures


@pytest.mark.parametrize("size", [(1, 1), (7, 256), (8, 257)])
def test_sizes(tmp_path, capsys, size):
    assert main(["demo", saved(tmp_path / "a.png", *size), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert ("DirectML: left out" in said) == (min(size) < 8)
    assert ("nothing is refused" in said) == (size != (8, 257))  # else there is padding
    written = {p.name for p in (tmp_path / "out").iterdir()}
    assert written == PICTURES - ({"directml.png"} if min(size) < 8 else set())
    mosaic, pixels = decoded(tmp_path / "out" / "mosaic.png"), noise(*size, 3)
    np.testing.assert_array_equal(mosaic[:, : size[1]], pixels)
    np.testing.assert_array_equal(mosaic[:, -size[1] :], pixels[::-1, ::-1])


def test_different_sizes_are_cut_from_the_middle(tmp_path):
    sizes = [(9, 20), (12, 11), (10, 30)]
    paths = [saved(tmp_path / f"{n}.png", *size) for n, size in enumerate(sizes)]
    result, lines = pictures.load_pictures(paths)
    assert lines[-1] == "the pictures differ in size: cut to 11 x 9, from the middle"
    middles = noise(9, 20, 3)[:, 4:15], noise(12, 11, 3)[1:10], noise(10, 30, 3)[:9, 9:20]
    np.testing.assert_array_equal(result, middles)


def loaded(path):
    """A picture, and what is said of it."""
    [pixels], [line] = pictures.load_pictures([str(path)])
    return pixels, line.partition("; ")[2]


def test_modes_are_made_rgb_and_said(tmp_path):
    path = tmp_path / "a.png"
    for mode, note in (
        ("L", "grey made RGB"),
        ("LA", "grey with alpha made RGB on a white ground"),
        ("RGBA", "RGBA made RGB on a white ground"),
        ("P", "palette made RGB"),
        ("1", "black and white made RGB"),
    ):
        original = Image.fromarray(noise(6, 5, 3)).convert(mode)
        original.save(path)
        pixels, said = loaded(path)
        assert said == note
        np.testing.assert_array_equal(pixels, np.asarray(original.convert("RGB")))
    grey = noise(4, 3)
    Image.fromarray(grey.astype(np.uint16) * 257).save(path)
    pixels, said = loaded(path)
    assert said == "16-bit grey made RGB"
    np.testing.assert_array_equal(pixels[..., 0], grey)


def test_transparent_is_white(tmp_path):
    Image.new("RGBA", (2, 2), (10, 20, 30, 0)).save(tmp_path / "a.png")
    assert (loaded(tmp_path / "a.png")[0] == 255).all()


def test_turned_photographs_are_set_upright(tmp_path):
    path, pixels, exif = tmp_path / "a.png", noise(4, 3, 3), Image.Exif()
    exif[0x0112] = 6  # the camera was turned by 90 degrees
    Image.fromarray(pixels).save(path, exif=exif)
    np.testing.assert_array_equal(loaded(path)[0], np.rot90(pixels, -1))


def test_first_frame_of_several(tmp_path):
    frames = [Image.new("RGB", (3, 2), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert "the first of 2 frames" in loaded(tmp_path / "a.gif")[1]


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / "folder"
        folder.mkdir()
        for name in ("b.png", "a.JPG", "c.gif"):
            saved(folder / name, 9, 8)
        (folder / "notes.txt").write_text("no picture")
        (folder / ".hidden.png").write_bytes(b"")
        return folder

    def named(self, folder):
        """The pictures that are read, and what is said besides."""
        result, lines = pictures.load_pictures([str(folder)])
        return [line.partition(": ")[0] for line in lines[: len(result)]], lines[len(result) :]

    def test_its_pictures_in_order(self, folder):
        assert self.named(folder) == (["a.JPG", "b.png", "c.gif"], [])

    def test_what_cannot_be_read_is_named(self, folder):
        (folder / "b.png").write_bytes(b"broken")
        result, lines = pictures.load_pictures([str(folder)])
        assert len(result) == 2
        assert lines[1].startswith(f"left out: cannot read {folder / 'b.png'}: cannot identify")

    def test_nothing_can_be_read(self, folder, capsys, tmp_path):
        for path in folder.iterdir():
            path.write_bytes(b"broken")
        assert "no picture can be read; left out: cannot" in complaint(capsys, folder)

    def test_too_many(self, folder, monkeypatch):
        monkeypatch.setattr(pictures, "MAX_PICTURES", 2)
        left_out = ["left out: all but the first 2 of 3 pictures"]
        assert self.named(folder) == (["a.JPG", "b.png"], left_out)


# ---- Refused, and then nothing is left behind


@pytest.mark.parametrize("out", ["file", "file/out"])
def test_folders_that_cannot_be_made(tmp_path, capsys, out):
    (tmp_path / "file").write_bytes(b"")
    assert f"cannot write to {tmp_path / out}: " in complaint(capsys, "--out", tmp_path / out)


def test_refused_before_anything_is_done(tmp_path, capsys, monkeypatch):
    for arguments, rule in (
        (["--device", "abacus"], "--device must be one of those available, cpu, got 'abacus'"),
        (["--repeat", "0"], "--repeat must be at least 1, got 0"),
        (["--json", tmp_path / "a.jpg"], "the file of --json must end with .json"),
    ):
        assert rule[:30] in complaint(capsys, *arguments, "--out", tmp_path / "out")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install pillow" in complaint(capsys)
    assert not [*tmp_path.iterdir()]


def test_a_failed_run_leaves_nothing_behind(tmp_path, capsys, monkeypatch):
    path, out = saved(tmp_path / "a.png", 9, 8), tmp_path / "new" / "out"
    before = Path(path).read_bytes()
    options = [f"--out={out}", f"--report={out}/page", f"--json={out}/facts/a.json", "--repeat=1"]

    def failing(error):
        def save(*_, **__):
            raise error

        return save

    monkeypatch.setattr(Image.Image, "save", failing(OSError(28, "No space left on device")))
    assert "No space left" in complaint(capsys, path, *options)
    monkeypatch.setattr(pipeline, "_draw_statistics", failing(KeyboardInterrupt()))
    assert main(["demo", path, *options]) == 130
    monkeypatch.setattr(pipeline, "_draw_statistics", failing(ValueError("a mistake")))
    with pytest.raises(ValueError, match="a mistake"):
        main(["demo", path, *options])
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert Path(path).read_bytes() == before
    monkeypatch.undo()
    assert main(["demo", path, *options]) == 0
    assert {p.name for p in out.iterdir()} == PICTURES | {"page", "facts"}


def test_results_that_cannot_be_placed_leave_nothing_behind(tmp_path, capsys):
    path, out = saved(tmp_path / "a.png", 9, 8), tmp_path / "new" / "out"
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "old").mkdir()
    for options in (
        [f"--out={out / ('x' * 300)}"],
        [f"--out={out}", f"--report={out}/page", f"--json={tmp_path}/folder.json"],
        [f"--out={tmp_path}/old/new", f"--json={out}/{'x' * 300}.json"],
    ):
        assert "cannot write " in complaint(capsys, path, "--repeat=1", *options)
        remaining = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")}
        assert remaining == {"a.png", "folder.json", "old"}


def test_json_alone_on_stdout_and_names_that_are_no_html(tmp_path, capsys):
    path = tmp_path / "<b>&x.png"
    Image.new("RGB", (8, 9)).save(path)  # of one colour, which has no span to rescale
    folders = [f"--out={tmp_path}", f"--report={tmp_path}"]
    assert main(["demo", str(path), *folders, "--repeat", "2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {len(runs) for s in facts["steps"] for runs in s["seconds"].values()} == {0, 2}
    text = (tmp_path / "tensorlayout-demo.html").read_text("utf-8")
    assert path.name not in text
    assert any(f"{path.name}: 8 " in words for words in Checked(text).text)


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
    Image.fromarray(noise(9, 17, 3) // 2 + 8).save(tmp_path / "a.png")
    return complaint(capsys, tmp_path / "a.png", "--out", tmp_path / "out", status=1)


@pytest.mark.parametrize(
    ("module", "name", "title"),
    [
        (tl, "concat", "mosaic: views, joined once"),
        (tl, "to_layout", "planes, rows at 256 bytes"),
        (tl, "round", "rescaled to rows of pixels"),
        (tl.directml, "join", "JOIN"),
        (tl.directml, "gather_elements", "GATHER_ELEMENTS"),
        (tl.directml, "padding", "PADDING"),
        (tl, "clip", "clipped in its tiles"),
        (tl, "astype", "rescaled to rows of pixels"),
        (tl, "mean", "mean by channel"),
        (tl, "scatter_add", "histogram by scatter_add"),
        (tl, "sort", "rows of red sorted"),
    ],
)
def test_one_wrong_element(tmp_path, capsys, monkeypatch, module, name, title):
    spoil(monkeypatch, module, name)
    number = r"\d+" if name in ("join", "round") else "1"  # JOIN's are joined again
    result = difference(tmp_path, capsys)
    assert re.search(rf"\({re.escape(title)}\) differs from NumPy: .*elements: {number} / ", result)
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_padding_that_does_not_stay_true(tmp_path, capsys, monkeypatch):
    true = tl.to_layout

    def wrong(x, layout, **named):
        x = true(x, layout, **named)
        if x.layout.is_padded:
            array, slots = np.asarray(x), (x.layout.required_size,)
            np.lib.stride_tricks.as_strided(array, slots, (x.itemsize,))[-1] = 5
        return x

    monkeypatch.setattr(tl, "to_layout", wrong)
    result = difference(tmp_path, capsys)
    assert "(planes, rows at 256 bytes) differs from NumPy: " in result
    assert "Mismatched elements: 1 / 6912 " in result


def test_view_that_is_a_copy(tmp_path, capsys, monkeypatch):
    true = tl.permute_dims
    monkeypatch.setattr(tl, "permute_dims", lambda x, axes: true(x, axes).copy())
    result = difference(tmp_path, capsys)
    assert (
        "(seen as NCHW) must only view, the trace says copy, 459 bytes in copies and relayouts"
        in result
    )


def test_a_library_that_copies(tmp_path, capsys, monkeypatch):
    class Copied(np.ndarray):
        cpu = np.ndarray.view

    other = SimpleNamespace(from_dlpack=lambda x: np.from_dlpack(x).copy().view(Copied))
    monkeypatch.setitem(sys.modules, "torch", other)
    assert "torch does not share the memory" in difference(tmp_path, capsys)


# ---- Its parts


X = tl.asarray(np.full((2, 2), 1000, np.float32))


@pytest.mark.parametrize(
    ("said", "by_numpy", "options"),
    [
        (r"differs from NumPy: .*\(shapes \(2, 2\), \(4,\) mismatch\)", np.ravel, {}),
        ("float32, float64 mismatch", np.float64, {}),
        ("elements: 4 / 4", lambda x: x + np.float32(0.002), {"tolerance": 1e-6}),
        ("", lambda x: x + np.float32(0.0009), {"tolerance": 1e-6}),
        (
            "must only compute, the trace says copy, 16 bytes in copies and relayouts",
            np.array,
            {"expected_kind": "compute"},
        ),
    ],
)
def test_differences_are_found(said, by_numpy, options):
    step = partial(table.Table(str).run_step, "copied", tl.Tensor.copy, X)
    if not said:
        step(numpy_reference=by_numpy, dims="HW", **options)
        return
    with pytest.raises(CommandError, match=rf"step 1 \(copied\) .*{said}"):
        step(numpy_reference=by_numpy, dims="HW", **options)


def test_rows():
    lines = []
    book = table.Table(lines.append)
    copied = lambda xp, x: xp.astype(x, xp.float64)  # noqa: E731
    book.run_step("to float64", copied, X, dims="HW")
    assert re.fullmatch(r"to float64 +2x2 +HW +copy +0.00 +- +- +-", lines[0])

    def asked(x):
        out = tl.empty(4, dtype=tl.float32)
        out[...] = x[0, 0]
        return out

    book.run_step(
        "memory that was only asked for", asked, X, numpy_reference=lambda x: x.ravel(), dims="W"
    )
    assert " W              copy " in lines[1]
    for runs, shown in (
        ([], (0, "-")),
        ([9e-6, 5e-6, 4.1e-6], (5, "5")),
        ([9e-6, 5e-6, 3.9e-6], (5, "~5")),
    ):
        assert table.median_time_and_text(runs) == shown


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("(2,3,4):(12,4,1)", "CHW"),
        ("(2,3,4):(1,8,2)", "HWC"),
        ("(2,3,4):(24,8,1) padded=(2,3,8)", "CHW W+4"),
        ("(2,3,4):(100,10,1)", "CHW gaps"),
    ],
)
def test_memory_in_letters(layout, words):
    assert table.describe_memory_order(tl.Layout.parse(layout), "CHW") == words


def test_how_often_is_timed(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(table.time, "perf_counter", lambda: clock[0])

    def call(seconds):
        clock[0] += seconds

    for seconds, repeat, runs in ((1e-3, 7, 7), (0.2, 5, 3), (3.0, 5, 1), (1.0, 0, 0)):
        result = table.time_calls(lambda seconds=seconds: call(seconds), repeat)
        assert result == pytest.approx([seconds] * runs)


def test_numpy_works_on_the_same_memory():
    seen = []
    x = tl.to_layout(tl.asarray(noise(4, 3, 2)), (0, 1, 2))
    table.Table(str).run_step(
        "same", lambda x: x, x, dims="HWC", numpy_reference=lambda x: seen.append(x) or x
    )
    assert seen[0].strides == (1, 4, 12)
    assert np.shares_memory(seen[0], np.asarray(x))


def test_bars_of_a_histogram():
    counts = np.zeros((256, 3), np.int32)
    counts[64:192] = 100
    drawn = drawing.draw_histogram(counts, np.array([127.5] * 3), np.array([1.0] * 3))
    for colour in drawing.COLOURS:
        bar = (drawn == colour).all(axis=2).sum(axis=0)
        assert bar[95] == bar[288] == 0  # 64 and 192 are at 96 and 288 of the 384 pixels
        assert bar[96] == bar[287] == 100
    assert (drawn[:, 191:193] == drawing.INK).all(axis=2).any()


def test_memory_of_a_picture_is_drawn_byte_by_byte():
    picture = noise(5, 4, 3)
    chw = np.moveaxis(picture, 2, 0)
    memories = (
        (picture.reshape(5, 12), np.tile([1, 2, 3], (5, 4))),
        (chw.reshape(15, 4), np.repeat([1, 2, 3], 20).reshape(15, 4)),
        (np.pad(chw, [(0, 0), (0, 0), (0, 12)]).reshape(15, 16), None),
        (picture.transpose(1, 0, 2).reshape(4, 15), np.tile([1, 2, 3], (4, 5))),
    )
    x = tl.permute_dims(tl.asarray(picture), (2, 0, 1))
    for layout, (octets, channels) in zip(drawing.demo_layouts(x.shape, 16), memories, strict=True):
        result = drawing.stored_bytes_and_channels(x, layout, len(octets))
        np.testing.assert_array_equal(result[0], octets)
        if channels is None:  # zeros are padding, which is striped, and nothing else is
            channels = np.pad(memories[1][1], [(0, 0), (0, 12)])
            striped = [
                (drawing._color_bytes_by_channel(*result) == c).all(axis=2) for c in drawing.STRIPES
            ]
            np.testing.assert_array_equal(np.logical_or(*striped), channels == 0)
        np.testing.assert_array_equal(result[1], channels)
