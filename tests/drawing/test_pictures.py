"""Pictures of layouts: what stands where, against NumPy and plain arithmetic; what can be read."""

from __future__ import annotations

import io
import itertools
import math
import random
import re
import time
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from on_devices import entered
from simulated import needs_compiler

import tensorlayout as tl
from tensorlayout import BitPattern, Layout
from tensorlayout.layout.drawing import content, geometry
from tensorlayout.layout.drawing import drawing as rendering

SVG = "{http://www.w3.org/2000/svg}"


def strided(layout):
    """The slot of each index, by arithmetic on strides."""
    sums = (sum(map(math.prod, zip(i, layout.strides, strict=True))) for i in indices(layout))
    return {i: layout.offset + s for i, s in zip(indices(layout), sums, strict=True)}


def indices(layout):
    return list(itertools.product(*map(range, layout.shape)))


def in_tiles(shape, tile):
    """The slot of each index of a matrix and its padding in tiles, by NumPy's transpose."""
    (m, n), (a, b) = shape, tile
    rows, columns = -(-m // a), -(-n // b)
    numbers = np.arange(rows * columns * a * b).reshape(rows, columns, a, b)
    return {i: int(s) for i, s in np.ndenumerate(numbers.swapaxes(1, 2).reshape(rows * a, -1))}


def drawn(layout):
    """The picture as XML, and the boxes of its grid and of its memory."""
    root = ElementTree.fromstring(layout.draw().svg)
    return root, boxes(root, "grid"), boxes(root, "memory")


def boxes(root, place):
    return [g.attrib for g in root.iter(f"{SVG}g") if g.get("class") == place]


def index_of(box):
    return tuple(int(word) for word in box["data-index"].split(",") if word)


def slots_of(result, kind="element"):
    return {index_of(box): int(box["data-slot"]) for box in result if box["data-kind"] == kind}


LAYOUTS = {
    "row-major": Layout.row_major((2, 3)),
    "column-major": Layout.column_major((2, 3)),
    "gaps": Layout((2, 3), (5, 1), offset=4),
    "backwards": Layout((2, 3), (-3, -1), offset=5),
    "number": Layout(()),
    "number-moved": Layout((), offset=3),
    "vector": Layout((4,), (2,)),
    "broadcast": Layout((3, 4), (0, 1)),
    "overlap": Layout((8, 2), (2, 8)),
    "windows": Layout((4, 3), (1, 1)),
    "nhwc": Layout.labelled((1, 3, 2, 3), "NHWC"),
    "rank-3": Layout.row_major((2, 3, 4)).permute((2, 0, 1)),
    "rank-6": Layout.column_major((2, 1, 2, 2, 2, 2)),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_element_stands_at_its_index_and_in_its_slot(layout):
    _, grid, memory = drawn(layout)
    expected = strided(layout)
    assert slots_of(grid) == expected
    held = Counter(expected.values())
    firsts = {slot: index for index, slot in reversed(expected.items())}
    shared = {index_of(box) for box in grid if "data-shared" in box}
    assert shared == {i for i, s in expected.items() if held[s] > 1}
    shown = [int(box["data-slot"]) for box in memory]
    whole = list(range(min(held), max(held) + 1))
    assert shown == (whole if len(whole) <= 48 else whole[:40] + whole[-8:])
    for box in memory:
        slot = int(box["data-slot"])
        assert box["data-kind"] == ("element" if slot in held else "gap")
        assert ("data-shared" in box) == (held[slot] > 1)
        assert slot not in held or index_of(box) == firsts[slot]


@pytest.mark.parametrize(
    ("layout", "firsts"),
    [
        (Layout((30, 2), (2, 30)), {0: (0, 0), 30: (0, 1), 32: (1, 1), 88: (29, 1)}),
        (Layout((30, 2), (-2, 30), offset=58), {0: (29, 0), 28: (15, 0), 30: (14, 0), 88: (0, 1)}),
        (Layout((10**6, 10**6), (1, 1)), {0: (0, 0), 39: (0, 39), 2 * 10**6 - 8: (999993, 999999)}),
        (
            Layout((3, 10**6, 4), (0, -1, 1), offset=10**6 - 1),
            {0: (0, 999999, 0), 9: (0, 999990, 0)},
        ),
        (Layout.tiled((5, 4), [(2, 2)]).broadcast_to((3, 5, 4)), {1: (0, 0, 1), 17: (0, 4, 1)}),
    ],
    ids=str,
)
def test_a_shared_slot_shows_the_first_of_its_elements(layout, firsts):
    _, _, memory = drawn(layout)
    shown = {int(box["data-slot"]): index_of(box) for box in memory if "data-index" in box}
    assert {slot: shown.get(slot, "not shown") for slot in firsts} == firsts


def test_padding_is_hatched():
    root, grid, memory = drawn(Layout.padded((2, 3), (3, 5), (0, 1), "ZERO"))
    assert slots_of(grid) == {(r, c): r + 3 * c for r in range(2) for c in range(3)}
    beyond = {(r, c): r + 3 * c for r in range(3) for c in range(5) if r == 2 or c > 2}
    assert slots_of(grid, "padding") == beyond
    assert {int(b["data-slot"]) for b in memory if b["data-kind"] == "padding"} == {
        *beyond.values()
    }
    hatched = [g for g in root.iter(f"{SVG}g") if g.find(f"{SVG}path[@class='hatch']") is not None]
    assert len(hatched) == 2 * len(beyond)
    assert "hatched: padding, 9 slots" in root.findtext(f"{SVG}desc")


def test_padding_of_rows_that_run_backwards_is_in_memory_alone():
    layout = Layout.padded((2, 3), (2, 5)).flip((1,))
    _, grid, memory = drawn(layout)
    assert layout.is_padded
    assert slots_of(grid) == strided(layout)
    assert not slots_of(grid, "padding")
    kinds = [box["data-kind"] for box in memory]
    assert kinds == (["element"] * 3 + ["padding"] * 2) * 2


@pytest.mark.parametrize(("shape", "tile"), [((3, 5), (2, 2)), ((8, 5), (4, 1)), ((7, 3), (3, 2))])
def test_tiles(shape, tile):
    root, grid, _ = drawn(Layout.tiled(shape, [tile]))
    expected = in_tiles(shape, tile)
    inside = indices(Layout(shape))
    assert slots_of(grid) == {i: expected[i] for i in inside}
    assert slots_of(grid) | slots_of(grid, "padding") == expected
    heavy = root.findall(f"{SVG}path[@class='tile']")
    lines = [-(-n // t) + 1 for n, t in zip(shape, tile, strict=True)]
    assert len(heavy) == sum(n if t > 1 else 2 for n, t in zip(lines, tile, strict=True))


def test_nested_tiles_have_heavier_lines():
    root, grid, _ = drawn(Layout.tiled((8, 8), [(4, 4), (2, 2)]))
    spread = [0, 1, 4, 5, 16, 17, 20, 21]  # the bits of a number with a place between them
    assert slots_of(grid) == {(r, c): 2 * spread[r] + spread[c] for r in range(8) for c in range(8)}
    heavy = [float(p.get("stroke-width")) for p in root.findall(f"{SVG}path[@class='tile']")]
    assert Counter(heavy) == {2.5: 4, 3.5: 6}  # at 2 and 6; at 0, 4 and 8


@pytest.mark.parametrize("shape", [(0,), (2, 0), (2, 2, 0, 2), (0, 2, 1, 1, 1, 2, 2)])
def test_no_elements(shape):
    root, grid, memory = drawn(Layout(shape))
    assert grid == memory == []
    assert "no elements" in [text.text for text in root.iter(f"{SVG}text")]
    _, grid, memory = drawn(Layout.padded((0, 3), (2, 4)))  # padding is drawn all the same
    assert len(grid) == len(memory) == 8
    assert {box["data-kind"] for box in (*grid, *memory)} == {"padding"}


def test_of_more_than_six_dimensions_the_last_six_are_shown():
    layout = Layout.row_major((2,) * 8)
    root, grid, _ = drawn(layout)
    assert {i[:2] for i in slots_of(grid)} == {(0, 0)}
    assert len(grid) == 2**6
    assert "dims 0 to 1: only index 0 is shown" in root.findtext(f"{SVG}desc")
    titles = [text.text for text in root.iter(f"{SVG}text") if text.text.startswith("[")]
    assert titles == [
        f"[…, {a}, {b}, {c}, {d}]" for a, b, c, d in itertools.product("01", repeat=4)
    ]


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        (Layout(()), []),
        (Layout((1,)), ["dim 0 →"]),
        (Layout((4,), (2,)), ["dim 0 →"]),
        (Layout((1, 1)), ["dim 0 ↓", "dim 1 →"]),
        (Layout((2, 3)), ["dim 0 ↓", "dim 1 →"]),
        (Layout((3, 4), (0, 1)), ["dim 0 ↓", "dim 1 →"]),
        (Layout.tiled((3, 5), [(2, 2)]), ["dim 0 ↓", "dim 1 →"]),
        (Layout((2, 3, 3)), ["dim 1 ↓", "dim 2 →", "panels: dim 0"]),
        # The numbers are those of the logical dimensions, in any memory order.
        (
            Layout.labelled((1, 3, 2, 3), "NHWC"),
            ["dim 2 ↓", "dim 3 →", "panels: dims 0, 1"],
        ),
        (Layout((2,) * 8), ["dim 6 ↓", "dim 7 →", "panels: dims 2, 3, 4, 5"]),
        (Layout((1,) * 64), ["dim 62 ↓", "dim 63 →", "panels: dims 58, 59, 60, 61"]),
        (Layout((0, 3)), []),  # there is no grid
        (Layout.padded((0, 3), (2, 4)), ["dim 0 ↓", "dim 1 →"]),
    ],
    ids=str,
)
def test_axes_of_the_grid_have_names(layout, names):
    root, *_ = drawn(layout)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    pattern = r"dim \d+ [↓→]|panels: .*"
    assert [text for text in texts if re.fullmatch(pattern, text)] == names


def test_the_description_says_where_axes_run():
    root, *_ = drawn(Layout.tiled((2, 3, 5), [(2, 2)]))
    axes = root.findtext(f"{SVG}desc").split("; ")[1:4]
    assert axes == [
        "dim 0 (panels): stride 24",
        "dim 1 (rows, down): 2 tiles 12 apart, in each 2 that are 2 apart",
        "dim 2 (columns, across): 3 tiles 4 apart, in each 2 that are 1 apart",
    ]
    description = drawn(Layout((0, 3)))[0].findtext(f"{SVG}desc")
    assert "dim 0 (rows, down): stride 3; dim 1 (columns, across): stride 1" in description


# --- colours of another layout of the same memory -------------------------------------------------


def colours_by_slot(layout, place, color_by):
    """The class of each slot's colour in the grid or in the memory strip."""
    root = ElementTree.fromstring(layout.draw(color_by=color_by).svg)
    groups = (g for g in root.iter(f"{SVG}g") if g.get("class") == place)
    pairs = [(int(g.get("data-slot")), g[0].get("class").removeprefix("box ")) for g in groups]
    assert len(set(pairs)) == len(dict(pairs))  # elements that share a slot share its colour
    return dict(pairs)


BASE = Layout((3, 4))


@pytest.mark.parametrize(
    "layout",
    [
        BASE,
        BASE.permute((1, 0)),
        BASE.flip((0, 1)),
        BASE.reshape((2, 3, 2)),
        BASE.reshape((12,)),
        Layout((5, 3, 4), (0, 4, 1)),
        Layout((10, 3), (1, 1)),
        Layout.tiled((4, 3), [(2, 3)]),
        Layout((1, 12, 1)),
    ],
    ids=str,
)
def test_slots_have_the_same_colour_in_each_layout_of_a_memory(layout):
    expected = {slot: f"row{slot // 4}" for slot in range(12)}
    assert colours_by_slot(layout, "grid", BASE).items() <= expected.items()  # long rows are cut
    assert colours_by_slot(layout, "memory", BASE) == expected


def test_colours_of_parts_of_the_memory():
    for layout, expected in [
        (Layout((), offset=9), {9: "row2"}),
        (Layout((1,), offset=4), {4: "row1"}),
        (Layout((2,), (4,), offset=3), {3: "row0", 7: "row1"}),
        (Layout((0, 3)), {}),
        # Beyond the base there are no colours.
        (Layout((2, 2), (6, 3), offset=5), {5: "row1", 8: "row2", 11: "row2", 14: "uncoloured"}),
    ]:
        assert colours_by_slot(layout, "grid", BASE) == expected
    assert colours_by_slot(Layout((2,)), "grid", Layout((0, 3))) == dict.fromkeys(
        (0, 1), "uncoloured"
    )
    gaps = Layout((2, 3), (5, 1))
    assert colours_by_slot(Layout((8,)), "memory", gaps) == {
        **dict.fromkeys((0, 1, 2), "row0"),
        **dict.fromkeys((3, 4), "uncoloured"),
        **dict.fromkeys((5, 6, 7), "row1"),
    }


def test_a_shared_slot_has_the_colour_of_its_first_element():
    repeated = Layout((3, 4), (0, 1))
    assert {*colours_by_slot(repeated, "grid", repeated).values()} == {"row0"}
    rows = [g[0].get("class") for g in drawn(repeated)[0].iter(f"{SVG}g")][:12:4]
    assert rows == ["box row0", "box row1", "box row2"]  # by default, indices have the colours
    windows = Layout((4, 3), (1, 1))
    assert colours_by_slot(Layout((6,)), "grid", windows) == {
        0: "row0",
        1: "row0",
        2: "row0",
        3: "row1",
        4: "row2",
        5: "row3",
    }


def test_padding_has_no_colour():
    tiled = Layout.tiled((3, 3), [(2, 2)])
    colours = colours_by_slot(tiled, "grid", Layout((2, 8)))
    assert {slot for slot, kind in colours.items() if kind == "padding"} == {
        5,
        7,
        10,
        11,
        13,
        14,
        15,
    }
    assert {colours[slot] for slot in (0, 1, 2, 3, 4, 6)} == {"row0"}
    assert {colours[slot] for slot in (8, 9, 12)} == {"row1"}


def test_the_legend_names_the_layout_of_the_colours():
    described = ElementTree.fromstring(BASE.draw(color_by=Layout((2, 4))).svg).findtext(
        f"{SVG}desc"
    )
    assert described.endswith(
        "; colours: rows of (2,4):(4,1); no colour: not an element of that layout."
    )
    assert "colour" not in drawn(BASE)[0].findtext(f"{SVG}desc")


def test_what_cannot_give_colours_is_refused():
    with pytest.raises(TypeError, match=r"^color_by: must be a Layout, got 'slot'"):
        BASE.draw(color_by="slot")
    nibbles = Layout((3, 4), slot_bits=4)
    for one, other in [(BASE, nibbles), (nibbles, BASE)]:
        with pytest.raises(
            ValueError, match=r"^color_by: must have slot_bits=(4|None) as this layout"
        ):
            one.draw(color_by=other)
    assert nibbles.draw(color_by=nibbles).svg


@pytest.mark.parametrize(
    "layout",
    [
        Layout.row_major((10**6, 10**6)),
        Layout.labelled((10**3,) * 4, "NHWC"),
        Layout((10**6, 10**6), (0, 1)),
        Layout((10**6, 10**6), (1, 1)),
        Layout((10**18,), (-1,), offset=10**18),
        Layout.tiled((10**6, 10**6), [(8, 128), (2, 1)]),
        Layout.row_major((10,) * 18),
    ],
    ids=str,
)
def test_large_ones_are_cut(layout):
    layout.draw()
    start = time.process_time()
    root, grid, memory = drawn(layout)
    assert time.process_time() - start < 2  # of the processor, for what takes milliseconds
    assert len(grid) <= 240
    assert len(memory) <= 48
    assert "…" in [text.text for text in root.iter(f"{SVG}text")]
    for index, slot in slots_of(grid).items():
        assert slot == layout.offset_of(index)


def test_strides_that_take_long_to_search_are_drawn_all_the_same():
    start = time.process_time()
    layout = Layout((500,) * 6, (100003, 100019, 100043, 100049, 100057, 100069))
    root, grid, _ = drawn(layout)
    result = slots_of(grid)
    assert {(0,) * 6, (499,) * 6} < result.keys()
    for index, slot in result.items():
        assert slot == sum(map(math.prod, zip(index, layout.strides, strict=True)))
    assert "took too long" in root.findtext(f"{SVG}desc")
    assert time.process_time() - start < 10


# --- read by everybody ----------------------------------------------------------------------------

EVERY = [
    *LAYOUTS.values(),
    Layout.tiled((10, 200), [(8, 128)], padding_value="ZERO"),
    Layout.padded((2,), (4,), padding_value=BitPattern(1, "float32")),
    Layout((3,) * 20, (10**17,) * 20),
    Layout((10**18,), (-1,), offset=10**18),
    Layout.row_major((1, 1, 1, 1, 2, 3, 2, 1)),
    Layout((10**17, 90), (0, 10**17)),
    Layout((10**4, 10**4, 10**4, 10**4, 10, 10), (0,) * 6),
    Layout((2, *[9] * 4, 10**14, 1), (0,) * 7),
]


def area(text):
    """Return the rectangle that letters cover: left, top, right, low."""
    size, x, y = (float(text.get(name)) for name in ("font-size", "x", "y"))
    wide = len(text.text) * size * geometry.LETTER
    left = {None: x, "middle": x - wide / 2, "end": x - wide}[text.get("text-anchor")]
    return left, y - 0.8 * size, left + wide, y + 0.2 * size


def random_layout(seed):
    """Of 0 to 9 dimensions with few indices, or fewer with very many; each kind of layout."""
    rng = random.Random(seed)
    rank = rng.randrange(10)
    sizes = [0, *[1] * 4, 2, 2, 3, 12] if seed % 2 else [1, 2, 10, 10**6, 10 ** (18 // (rank or 1))]
    shape = tuple(rng.choice(sizes) for _ in range(rank))
    if math.prod(n or 1 for n in shape) > 10**18:
        shape = tuple(min(n, 10) for n in shape)
    kind = rng.randrange(4) if 0 < max(shape, default=0) <= 12 else 0
    if kind == 1:
        return Layout.tiled(shape, [tuple(rng.choice((1, 2, 4)) for _ in shape)])
    if kind == 2:
        return Layout.padded(shape, tuple(n + rng.randrange(3) for n in shape))
    most = [10**18 // (rank * (n or 1)) for n in shape]
    strides = [rng.choice((0, 1, -1, 7, 1000, m)) for m in most]
    strides = [s if abs(s) <= m else 1 for s, m in zip(strides, most, strict=True)]
    steps = (min(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True) if n)
    return Layout(shape, strides, offset=-sum(steps))


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.long)])
def test_letters_can_be_read(count):
    for layout in [*EVERY, *map(random_layout, range(count))]:
        root, *_ = drawn(layout)
        _, _, width, height = map(float, root.get("viewBox").split())
        assert width <= 420  # at 360 pixels letters of 11 are 9.4
        texts = [*root.iter(f"{SVG}text")]
        areas = {text: area(text) for text in texts}
        for text, (left, top, right, low) in areas.items():
            assert float(text.get("font-size")) >= 11
            assert 0 <= left <= right <= width, (layout, text.text)
            assert 0 <= top <= low <= height, (layout, text.text)
        left, top, right, low = np.array([*areas.values()]).T.round(3)
        meet = (left < right[:, None]) & (left[:, None] < right)
        meet &= (top < low[:, None]) & (top[:, None] < low)
        assert np.argwhere(np.triu(meet, 1)).tolist() == [], layout
        for rect in root.iter(f"{SVG}rect"):
            x, y, w, h = (float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))
            assert x + w <= width
            assert y + h <= height
        for box in root.iter(f"{SVG}g"):
            x, wide = (float(box[0].get(name)) for name in ("x", "width"))
            for text in box.iter(f"{SVG}text"):
                assert x <= areas[text][0] <= areas[text][2] <= x + wide, (layout, text.text)


def test_title_and_description():
    root, *_ = drawn(Layout((2, 3), (0, -1), offset=2))
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "Layout (2,3):(0,-1)+2"
    assert root[1].text == (
        "Shape (2, 3): broadcast, overlapping; dim 0 (rows, down): stride 0, repeats; dim 1"
        " (columns, across): stride -1, backwards; marked corner: a slot of several elements"
        " (broadcast)."
    )


def test_styles_touch_nothing_beside_the_picture():
    style = drawn(Layout(()))[0].findtext(f"{SVG}style")
    outside, dark, inside = style.partition("@media (prefers-color-scheme:dark)")
    assert dark
    rules = outside.split("}")[:-1] + inside.removeprefix("{").split("}")[:-2]
    selectors = [one for rule in rules for one in rule.partition("{")[0].split(",")]
    assert all(selector.startswith(".tensorlayout ") for selector in selectors)


# --- other forms ----------------------------------------------------------------------------------


def test_png():
    image = pytest.importorskip("PIL.Image", reason="optional: pillow")
    layout = Layout.tiled((3, 5), [(2, 2)], padding_value="ZERO")
    drawing = layout.draw()
    result = image.open(io.BytesIO(drawing.png(1)))
    assert result.format == "PNG"
    root, *_ = drawn(layout)
    assert result.size == (420, round(float(root.get("height"))))
    assert result.mode == "RGB"  # opaque
    for g in (g for g in root.iter(f"{SVG}g") if g.get("data-kind") == "element"):
        row = int(g[0].get("class").removeprefix("box row"))
        at = tuple(int(float(g[0].get(name))) + 4 for name in "xy")
        assert "#{:02x}{:02x}{:02x}".format(*result.getpixel(at)[:3]) == rendering.ROWS[row]


def test_png_with_the_colours_of_another_layout():
    image = pytest.importorskip("PIL.Image", reason="optional: pillow")
    drawing = BASE.draw(color_by=Layout((2, 4)))
    result = image.open(io.BytesIO(drawing.png(1)))
    groups = list(ElementTree.fromstring(drawing.svg).iter(f"{SVG}g"))
    colours = [rendering.ROWS[0], rendering.ROWS[1], rendering.LIGHT.paper]
    assert len(groups) == 24
    for g in groups:
        at = tuple(int(float(g[0].get(name))) + 4 for name in "xy")
        assert (
            "#{:02x}{:02x}{:02x}".format(*result.getpixel(at))
            == colours[int(g.get("data-slot")) // 4]
        )


def test_arrows_are_in_a_png():
    image = pytest.importorskip("PIL.Image", reason="optional: pillow")
    image_font = pytest.importorskip("PIL.ImageFont", reason="optional: pillow")
    root, *_ = drawn(BASE)
    result = image.open(io.BytesIO(BASE.draw().png(1))).convert("L")
    down, across = (t for t in root.iter(f"{SVG}text") if t.text in ("dim 0 ↓", "dim 1 →"))
    for text, size in ((down, (3, 8)), (across, (8, 3))):
        font = image_font.load_default(geometry.SMALL)
        left = round(float(text.get("x")) + font.getlength("dim 0 "))
        low = round(float(text.get("y"))) + 1
        dark = np.asarray(result)[low - 10 : low, left : left + 11] < 128
        lines = dark.any(1).sum(), dark.any(0).sum()
        assert np.greater_equal(lines, size[::-1]).all()


def test_files(tmp_path):
    drawing = Layout.row_major((2, 3)).draw()
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == drawing.svg == drawing._repr_svg_()
    for name in ("a.pdf", "a.svg.gz", "a.PNG.txt"):
        with pytest.raises(ValueError, match=r"^path: must end with \.svg or \.png, got 'a\."):
            drawing.save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


@pytest.mark.parametrize("width", [20, 100])
def test_the_terminal(width):
    shared = ["slots by index (*: shared):", "    0  1", "0: 0* 1*", "1: 0* 1*"]
    assert content.format_slots_by_index(Layout((2, 2), (0, 1)), width)[1:] == shared[1:]
    padded = ["slots by index (x: padding):", "   0 1 2 3", "0: 0 1 4 x", "1: 2 3 6 x"]
    assert content.format_slots_by_index(Layout.tiled((2, 3), [(2, 2)]), width)[1:] == padded[1:]
    lines = content.format_slots_by_index(Layout.row_major((1000, 1000)), width)
    assert max(map(len, lines)) <= width
    assert lines[1].split()[-1] == "999"
    assert lines[-1].split()[-1] == "999999"


# --- notebooks ------------------------------------------------------------------------------------


class Cells(HTMLParser):
    """The table of a summary."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.tags = [], [], Counter()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.words.append(data)

    @property
    def facts(self):
        return dict(zip(self.words[::2], self.words[1::2], strict=True))


def test_a_tensor_in_a_notebook():
    x = tl.to_layout(tl.reshape(tl.arange(15, dtype=tl.int32), (3, 5)), "{1,0:T(2,2)}")
    result = Cells(x._repr_html_())
    assert result.tags["svg"] == 1
    assert result.facts == {
        "tensor": "shape (3, 5), dtype int32, on cpu",
        "layout": "(3,5):(2*12+2*2,3*4+2*1)",
        "in words": "padded, tiled, covers a block",
        "padding": "9 slots up to the sizes (4, 6), holding UNSPECIFIED",
        "bytes": "60 of elements, 36 of padding",
        "first values": "0, 1, 2, 3, 4, 5, 6, 7, …",
    }


def test_a_layout_in_a_notebook():
    result = Cells(Layout((2, 3), (5, 1))._repr_html_())
    assert result.facts == {
        "shape": "(2, 3), 6 elements",
        "layout": "(2,3):(5,1)",
        "in words": "with gaps",
        "padding": "none; 2 slots between the elements belong to others",
        "storage": "8 slots from slot 0 on",
    }
    assert ElementTree.fromstring(Layout((2, 3))._repr_svg_()).get("role") == "img"


def test_the_table_of_a_summary_has_its_own_background():
    text = Layout((2, 3))._repr_html_()
    assert '<table class="tensorlayout-facts">' in text  # pages style tables without a class
    style = text.partition("<style>")[2].partition("</style>")[0]
    for part, scheme in zip(
        style.split("@media (prefers-color-scheme:dark)"),
        (rendering.LIGHT, rendering.DARK),
        strict=True,
    ):
        colours = rf"background:{scheme.paper};color:({scheme.ink}|{scheme.faint})\}}"
        assert len(re.findall(colours, part)) == 2


def test_first_values():
    shared = tl.sliding_window(tl.arange(5), 3)
    for x, values in [
        (tl.zeros((0, 3)), None),
        (tl.asarray(3.5), "3.5"),
        (tl.asarray([True, False]), "True, False"),
        (tl.asarray([1.5, 0.1], dtype=tl.bfloat16), "1.5, 0.1"),
        (tl.asarray([1 + 2j]), "(1+2j)"),
        (tl.arange(4)[::-1], "3, 2, 1, 0"),
        (shared, "0, 1, 2, 1, 2, 3, 2, 3, …"),
        (tl.broadcast_to(tl.asarray(7), (10**6, 10**6)), "7, 7, 7, 7, 7, 7, 7, 7, …"),
        (tl.reshape(tl.arange(2), (1,) * 19 + (2,)), "0, 1"),
    ]:
        assert Cells(x._repr_html_()).facts.get("first values") == values


@needs_compiler
@pytest.mark.parametrize("layout", ["C", "F", "{1,0:T(8,8)}"])
def test_of_a_tensor_on_another_device_only_what_is_shown_is_fetched(layout):
    with entered("simulator"):
        x = tl.zeros((300, 300), layout=layout)
        with tl.trace() as seen:
            said = x._repr_html_()
        assert Cells(said).facts["first values"] == ", ".join(["0.0"] * 8) + ", …"
        assert sum(record.bytes_written for record in seen) == 8 * 8
