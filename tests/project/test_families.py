"""Each family of operations has one name, in every layer; what else is there is listed here."""

from pathlib import Path

import tensorlayout
from tensorlayout.support.kernel_sources import kernel_directory

FAMILIES = {
    *("view", "copy", "fill", "elementwise", "join", "pad", "gather", "scatter", "mask", "reduce"),
    *("scan", "sort", "matmul", "library", "image", "fuse", "quantize"),
}

# What families share.
INFRASTRUCTURE = {
    "plan": {
        *("__init__", "base", "events", "from_strides", "matrices", "programs", "rules", "run")
    },
    "cpu": {"__init__", "engine"},
    "cuda": {"__init__", "engine"},
}

WITHOUT_KERNELS = {"library", "view"}

PACKAGE = Path(tensorlayout.__file__).parent
TESTS = Path(__file__).parents[1]


def names(folder, suffix=".py"):
    """Return the names in a folder: modules (or kernels), and folders that contain any."""
    files = {path.stem for path in folder.glob(f"*{suffix}")}
    return files | {path.parent.name for path in folder.glob(f"*/*{suffix}")}


def test_modules():
    for piece, shared in INFRASTRUCTURE.items():
        assert names(PACKAGE / piece) == FAMILIES | shared


def test_tests():
    assert [name for name in FAMILIES if not [*(TESTS / name).glob("test_*.py")]] == []


def test_kernels():
    assert names(kernel_directory(), ".cu") == FAMILIES - WITHOUT_KERNELS
