"""A C++ file of tests/kernels, over headers of the package, as a library for this process."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from tensorlayout.cuda.engine import simulator
from tensorlayout.support.kernel_sources import header_directory

SOURCES = Path(__file__).parents[1] / "kernels"


def host_library(name: str, folder: Path, *options: str) -> ctypes.CDLL:
    """Compile the source of that name into `folder`, and load it; skips without a compiler."""
    try:
        compiler, _ = simulator.find_compiler()
    except RuntimeError:
        pytest.skip("optional: a C++ compiler")
    target = folder / f"{name}.so"
    command = [*compiler, "-std=c++17", "-ffp-contract=off", "-Wall", "-Wextra", *options]
    command += ["-shared", "-fPIC", f"-I{header_directory()}", str(SOURCES / f"{name}.cpp")]
    subprocess.run([*command, "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))
