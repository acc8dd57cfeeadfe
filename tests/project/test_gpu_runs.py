"""Effects of `gpu_runs` on a test run, each in a new process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_runs import FIRST
from processes import python

TESTS = Path(__file__).parents[1]

LOSING = """
class CUDARuntimeError(RuntimeError):
    status = 700

def test_before():
    pass

def test_that_loses_it():
    try:
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access")
    except RuntimeError as error:
        raise AssertionError("wrong values") from error

def test_after():
    pass
"""

NO_GPU = """
import sys
from fake_cupy import Recorder, fake_cupy
sys.modules["cupy"] = fake_cupy(Recorder({count}))
"""


def run(folder, *options, **variables):
    """The exit status, and all that was said."""
    paths = [str(folder), str(TESTS / "harness"), str(TESTS.parent)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "gpu_runs", "-c", os.devnull, "-q", *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables},
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def losing(tmp_path):
    (tmp_path / "test_losing.py").write_text(LOSING)
    return tmp_path


LINE = (
    "test_losing.py::test_that_loses_it: the CUDA context is lost: cudaErrorIllegalAddress: an"
    " illegal memory access"
)


def test_a_lost_context_ends_a_run(losing):
    status, said = run(losing, "-p", "no:xdist")
    assert status != 0
    assert said.count(LINE) == 1
    assert "1 failed, 1 passed" in said


@pytest.mark.ci
@pytest.mark.parametrize(("required", "count"), [("1", 0), ("1", 1), ("0", 0)])
def test_a_gpu_that_is_required(tmp_path, required, count):
    (tmp_path / "no_gpu.py").write_text(NO_GPU.format(count=count))
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass")
    options = ("-p", "no_gpu", "-p", "no:xdist")
    status, said = run(tmp_path, *options, TENSORLAYOUT_REQUIRE_GPU=required)
    if required == "1" and not count:
        assert status == pytest.ExitCode.USAGE_ERROR
        assert "TENSORLAYOUT_REQUIRE_GPU=1, and cuda: CuPy finds no GPU" in said
    else:
        assert (status, "1 passed" in said) == (0, True)


@pytest.mark.ci
def test_what_says_most_comes_first():
    files = {name.partition("::")[0] for name in FIRST}
    paths = sorted(path for path in TESTS.rglob("test_*.py") if path.name in files)
    options = ("-m", "gpu", "--collect-only", "-q", "-p", "no:xdist")
    listed = python("-m", "pytest", *options, *paths, cwd=TESTS)
    names = [line.rpartition("/")[2] for line in listed.splitlines() if "::" in line]
    assert names[: len(FIRST)] == list(FIRST)
    assert len(names) > len(FIRST)
