"""The pictures in the documents: each is that of the layout which its page prints above it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import transposition

from tensorlayout.cli import main
from tensorlayout.layout.drawing.drawing import DARK, LIGHT

DOCS = Path(__file__).parents[2] / "docs"
# Each picture, and the last layout that is printed above it.
PICTURES = [
    (above[-1], picture[1])
    for page in DOCS.rglob("*.md")
    for picture in re.finditer(r"\(\S*(pictures/[\w-]+\.svg)\)", page.read_text("utf-8"))
    if (
        above := re.findall(r"Layout\.parse\('(.*?)'\)", page.read_text("utf-8")[: picture.start()])
    )
]
# Pictures with the colours of another layout of the same memory.
COLOR_BY = {"pictures/photo-channels-first.svg": "(2,3,3):(9,3,1)"}
SVG = "{http://www.w3.org/2000/svg}"


def test_twenty_one():
    page = (DOCS / "gallery.md").read_text("utf-8")
    shown = re.findall(r"pictures/[\w-]+\.svg", page.partition("\n## ")[2])
    assert len({*shown}) == page.count("\n## ") == 21
    assert {name for _, name in PICTURES} == {
        f"pictures/{p.name}" for p in (DOCS / "pictures").iterdir()
    }


@pytest.mark.parametrize(("text", "name"), PICTURES, ids=[name for _, name in PICTURES])
def test_is_current(text, name, tmp_path, capsys):
    options = ["--color-by", COLOR_BY[name]] if name in COLOR_BY else []
    file = tmp_path / "drawn.svg"
    assert main(["show", text, *options, "--svg", str(file)]) == 0
    command = " ".join(f"'{word}'" if "(" in word else word for word in (text, *options))
    assert (DOCS / name).read_text("utf-8") == file.read_text("utf-8"), (
        f"renew it: python -m tensorlayout show {command} --svg docs/{name}"
    )


def test_one_photograph_has_the_same_colour_in_each_slot_of_both_pictures():
    pictures = [DOCS / "pictures" / f"{name}.svg" for name in ("photo", "photo-channels-first")]
    colours = [
        {
            int(g.get("data-slot")): g[0].get("class").split()[1]
            for g in ElementTree.parse(picture).getroot().iter(f"{SVG}g")
            if g.get("class") == place
        }
        for picture in pictures
        for place in ("grid", "memory")
    ]
    # Each of the six pixels has three slots.
    assert colours == [{slot: f"row{slot // 3}" for slot in range(18)}] * 4


def test_transposition_is_current():
    assert transposition.PICTURE.read_text("utf-8") == transposition.svg(), (
        "run python docs/hooks/transposition.py"
    )


def test_one_photograph_is_current():
    image = pytest.importorskip("PIL.Image", reason="optional: pillow")
    one_photograph = importlib.import_module("one_photograph")  # it needs Pillow, too
    sheet = one_photograph.sheet()
    with image.open(one_photograph.PICTURE) as kept:
        assert kept.size == sheet.size
        differences = np.asarray(kept, float) - np.asarray(sheet, float)
    # Compression changes pixels a little; other words in the head would change some entirely.
    assert abs(differences).mean() < 5, "run python docs/hooks/one_photograph.py"
    assert abs(differences[:140]).max() < 100, "run python docs/hooks/one_photograph.py"


# --- legible on any page --------------------------------------------------------------------------


def luminance(colour):
    """Return the relative luminance of a colour such as "#ffffff", by WCAG 2."""
    levels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in levels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted(map(luminance, (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_letters_contrast_with_the_background_of_the_picture(scheme):
    for colour in (scheme.ink, scheme.faint):
        assert contrast(colour, scheme.paper) >= 4.5
    assert contrast(scheme.ink, scheme.gap) >= 4.5


@pytest.mark.parametrize(
    "path", sorted(DOCS.rglob("*.svg")), ids=lambda path: str(path.relative_to(DOCS))
)
def test_every_svg_has_a_background_in_both_modes(path):
    root = ElementTree.parse(path).getroot()
    paper = root.find(f"{SVG}rect[@class='paper']")
    *_, width, height = root.get("viewBox").split()
    assert (paper.get("width"), paper.get("height")) == (width, height)
    style = root.findtext(f"{SVG}style")
    light, dark = re.split(r"@media \(prefers-color-scheme: ?dark\)", style)
    assert re.search(rf"\.paper\b[^}}]*fill: ?{LIGHT.paper}", light)
    assert re.search(rf"\.paper\b[^}}]*fill: ?{DARK.paper}", dark)


@pytest.mark.parametrize(
    "path",
    sorted([*DOCS.rglob("*.png"), *DOCS.rglob("*.jpg")]),
    ids=lambda path: str(path.relative_to(DOCS)),
)
def test_every_bitmap_has_a_light_opaque_margin(path):
    image = pytest.importorskip("PIL.Image", reason="optional: pillow")
    with image.open(path) as picture:
        assert not picture.has_transparency_data
        pixels = picture.convert("RGB")
    width, height = pixels.size
    edges = [(x, y) for x in range(0, width, 7) for y in (0, 4, height - 5, height - 1)]
    edges += [(x, y) for y in range(0, height, 7) for x in (0, 4, width - 5, width - 1)]
    assert min(min(pixels.getpixel(at)) for at in edges) > 235
