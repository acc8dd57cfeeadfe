"""Each family of operations has one name, in every layer; what else is there is listed here."""

from pathlib import Path

import pytest

import tensorlayout
from tensorlayout.kernels_path import kernel_directory

FAMILIES = {
    *("view", "copy", "fill", "elementwise", "join", "pad", "gather", "scatter", "mask", "reduce"),
    *("scan", "sort", "matmul", "library", "image"),
}

# What families share.
INFRASTRUCTURE = {
    "plan": {
        *("__init__", "aliasing", "base", "einsum", "from_strides", "padding", "rules", "run"),
        *("steps", "tiled"),
    },
    "cpu": {"__init__", "engine"},
    "cuda": {"__init__", "bounded", "engine"},
}

# Kernels that have not the name of their family, by the family.
KERNELS = {
    "copy": {"bounded"},
    "fill": {"band", "sequence"},
    "image": {"coordinates"},
    "mask": {"select"},
    "pad": {"spread"},
    "reduce": {"quantile"},
    "scatter": {"combine", "replace"},
    "sort": {"radix", "search"},
}
WITHOUT_KERNELS = {"image", "library", "mask", "pad", "view"}  # of their own name

PACKAGE = Path(tensorlayout.__file__).parent
TESTS = Path(__file__).parents[1]


def names(folder):
    """What is in a folder: modules, and folders that hold any."""
    modules = {path.stem for path in folder.glob("*.py")}
    return modules | {path.parent.name for path in folder.glob("*/*.py")}


@pytest.mark.parametrize("piece", INFRASTRUCTURE)
def test_modules(piece):
    assert names(PACKAGE / piece) == FAMILIES | INFRASTRUCTURE[piece]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_tests(family):
    assert list((TESTS / family).glob("test_*.py"))


def test_kernels():
    known = (FAMILIES - WITHOUT_KERNELS).union(*KERNELS.values())
    assert {path.stem for path in kernel_directory().rglob("*.cu")} == known
