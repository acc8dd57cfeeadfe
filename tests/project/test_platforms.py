"""The package on systems that lack names of Linux, such as Windows."""

import sys

import pytest
from processes import python
from simulated import needs_compiler

from tensorlayout.cuda.engine import disk_cache
from tensorlayout.cuda.engine.driver import Counters

# Import everything and use each backend; an encoding that depends on the system is an error, too.
PROGRAM = """
import sys
import without_posix
import importlib, pkgutil, tempfile
from pathlib import Path
import numpy as np
import tensorlayout as tl

for module in pkgutil.walk_packages(tl.__path__, "tensorlayout."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
tl.set_num_threads(2)
x = tl.ones((3000, 1000))
for _ in range(3):
    y = tl.to_layout(x + x, "{0,1}")
assert (np.asarray(y) == 2).all()
with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):  # the second replaces a file
        tl.save(Path(folder) / "x.npy", y)
    assert tl.load(Path(folder) / "x.npy").layout == y.layout
"""

ON_CUDA = """
from simulated import hybrid, simulator

for device in (hybrid, simulator):
    with device(2):
        z = tl.full((1000,), 3, dtype="float32", device="cuda:1")
        assert (np.asarray(z.to_device("cuda:0").to_device("cpu")) == 3).all()
"""


@pytest.mark.parametrize(
    "program", [PROGRAM, pytest.param(PROGRAM + ON_CUDA, marks=needs_compiler)], ids=["cpu", "cuda"]
)
def test_everything_runs_without_names_that_windows_lacks(program, tmp_path):
    options = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    cache = tmp_path / "cache"
    python(*options, "-c", program, TENSORLAYOUT_CACHE_DIR=str(cache))
    suffixes = sorted({path.suffix for path in cache.glob("*.*")})
    assert suffixes == ([".cubin", ".so"] if program != PROGRAM else [])


def write(content):
    return lambda path: path.write_bytes(content)


def test_a_cache_keeps_what_was_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_CACHE_DIR", str(tmp_path / "cache"))
    counters = Counters()
    entry = disk_cache.cached_file("key", ".cubin", write(b"one"), counters)
    assert disk_cache.cached_file("key", ".cubin", write(b"two"), counters) == entry
    assert (entry.parent, disk_cache.read_entry(entry)) == (tmp_path / "cache", b"one")
    entry.write_bytes(b"damaged")
    disk_cache.cached_file("key", ".cubin", write(b"three"), counters)
    assert disk_cache.read_entry(entry) == b"three"
    assert (counters.compiles, counters.cache_hits) == (2, 1)


def test_an_entry_that_another_process_reads(tmp_path, monkeypatch):
    """Windows refuses to replace an open file: an entry that is intact then serves as well."""
    monkeypatch.setenv("TENSORLAYOUT_CACHE_DIR", str(tmp_path / "cache"))
    counters = Counters()
    entry = disk_cache.cached_file("key", ".cubin", write(b"one"), counters)
    octets = entry.read_bytes()
    entry.unlink()

    def make_while_another_does(path):
        path.write_bytes(b"two")
        monkeypatch.setattr(disk_cache, "_remove_if_possible", lambda path: None)
        monkeypatch.setattr(disk_cache.Path, "replace", refuse)
        entry.write_bytes(octets)

    def refuse(path, target):
        raise PermissionError(f"[WinError 5] Access is denied: {path} -> {target}")

    result = disk_cache.cached_file("key", ".cubin", make_while_another_does, counters)
    assert (result, disk_cache.read_entry(result)) == (entry, b"one")


def test_the_simulator_refuses_windows(monkeypatch):
    from tensorlayout.cuda.engine import simulator

    simulator.find_compiler.cache_clear()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(RuntimeError, match=r"^cuda: the simulator needs Linux or macOS; .* WSL$"):
        simulator.find_compiler()
