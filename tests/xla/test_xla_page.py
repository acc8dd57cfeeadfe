"""The page on XLA: its tables name what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from xla_facts import FACTS

from tensorlayout import xla
from tensorlayout.xla import index_util, layout_util, permutations, shape_util

PAGE = (Path(__file__).parents[2] / "docs" / "xla.md").read_text("utf-8")
MODULES = {
    "index_util": index_util,
    "layout_util": layout_util,
    "permutations": permutations,
    "shape_util": shape_util,
}


def test_functions_that_the_page_names_exist():
    named = re.findall(r"`(?:xla\.)?(index_util|layout_util|shape_util)\.(\w+)", PAGE)
    assert len(named) > 25
    for module, name in named:
        assert name in MODULES[module].__all__, f"{module}.{name}"


@pytest.mark.parametrize("module", [index_util, layout_util, shape_util], ids=lambda m: m.__name__)
def test_all_lists_what_there_is_and_all_is_documented(module):
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


def test_every_oddity_is_on_the_page():
    """Each text that XLA's parser reads in its own way, by the property that makes it odd."""
    section = PAGE.partition("| text |")[2].partition("\n\n")[0]
    for entry in FACTS["text_grammar"]["parser_quirks"]:
        odd = entry["text"].removeprefix("f32[2,3]{1,0:").removeprefix("f32[").rstrip("]}")
        assert f"`{odd}`" in section or f"`{odd}` alone" in section, odd


def test_the_module_says_what_it_offers():
    assert set(xla.__all__) <= set(dir(xla))
    assert all(getattr(xla, name) is not None for name in xla.__all__)


@pytest.mark.ci
def test_import_leaves_it_for_later():
    code = "import sys, tensorlayout\nassert 'tensorlayout.xla' not in sys.modules\n"
    code += "print(tensorlayout.xla.parse_shape('f32[2]'))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout == "f32[2]{0}\n"
