"""The programs in examples/, on little; continuous integration runs them on more."""

import asyncio
import gc
import os
import runpy
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "larger_than_memory.py"


@pytest.mark.cpu
@pytest.mark.parametrize("engine", ["dask", "cubed"])
def test_larger_than_memory(engine, tmp_path):
    """Both libraries give the right result although a worker of each is killed."""
    for name in ("dask.array", "distributed") if engine == "dask" else ("cubed",):
        pytest.importorskip(name, reason=f"{name} is optional")
    command = [sys.executable, str(EXAMPLE), "--size", "40MB", "--block", "3MB", "--memory", "1GB"]
    command += ["--engines", engine, "--folder", str(tmp_path)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    # One line tells of the worker that was killed, and no traceback.
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    if engine == "cubed":
        assert done.stdout.count("a worker died; the finished blocks are kept") == 2
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(engine)][-2:]
    assert [(row[1], *row[-2:]) for row in rows] == [
        ("tensorlayout", "1", "right"),
        ("numpy", "1", "right"),
    ]


@pytest.mark.cpu
def test_one_line_tells_of_a_killed_worker(capsys, caplog):
    """Futures of a broken pool that nobody asks would each log a traceback."""
    pytest.importorskip("zarr", reason="zarr is optional")
    example = runpy.run_path(str(EXAMPLE))

    async def break_pool():
        for _ in range(2):
            asyncio.get_running_loop().create_future().set_exception(BrokenProcessPool("killed"))

    def compute(resume):
        if not resume:
            asyncio.run(break_pool())
            raise BrokenProcessPool("killed")
        return "resumed"

    assert example["resume_after_kills"](compute) == "resumed"
    gc.collect()
    assert capsys.readouterr().out == "a worker died; the finished blocks are kept\n"
    assert caplog.records == []
