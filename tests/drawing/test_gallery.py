"""The gallery: its pictures are those of the layouts that its code makes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tensorlayout import Layout

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gallery.md").read_text("utf-8")
SECTIONS = re.findall(
    r"^## .*?^>>> (.*?)\n(Layout\.parse\(.*?\))\n.*?\((pictures/[\w-]+\.svg)\)",
    PAGE,
    re.DOTALL | re.MULTILINE,
)


def test_twenty():
    assert len(SECTIONS) == PAGE.count("\n## ") == 20
    shown = {Path(name).name for _, _, name in SECTIONS}
    assert shown == {path.name for path in (DOCS / "pictures").iterdir()}


@pytest.mark.parametrize(("code", "text", "name"), SECTIONS, ids=[s[2] for s in SECTIONS])
def test_is_current(code, text, name):
    layout = Layout.parse(text)
    assert eval(code, {"Layout": Layout}) is layout
    kept = ElementTree.parse(DOCS / name).getroot()
    drawn = ElementTree.fromstring(layout.draw().svg)
    command = f"python -m tensorlayout show '{layout}' --svg docs/{name}"
    assert ElementTree.tostring(kept) == ElementTree.tostring(drawn), f"renew it: {command}"
