"""The pictures in the documents: each is that of the layout which its page prints above it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import transposition

from tensorlayout import Layout

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


def test_twenty_one():
    page = (DOCS / "gallery.md").read_text("utf-8")
    shown = re.findall(r"pictures/[\w-]+\.svg", page.partition("\n## ")[2])
    assert len({*shown}) == page.count("\n## ") == 21
    assert {name for _, name in PICTURES} == {
        f"pictures/{p.name}" for p in (DOCS / "pictures").iterdir()
    }


@pytest.mark.parametrize(("text", "name"), PICTURES, ids=[name for _, name in PICTURES])
def test_is_current(text, name):
    layout = Layout.parse(text)
    kept = ElementTree.parse(DOCS / name).getroot()
    drawn = ElementTree.fromstring(layout.draw().svg)
    command = f"python -m tensorlayout show '{layout}' --svg docs/{name}"
    assert ElementTree.tostring(kept) == ElementTree.tostring(drawn), f"renew it: {command}"


def test_transposition_is_current():
    assert transposition.PICTURE.read_text("utf-8") == transposition.svg(), (
        "run python docs/hooks/transposition.py"
    )
