"""docs/gpu-first-hour.md, without a GPU: commands parse, files are there, scripts run."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from processes import python
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout.cuda.engine.simulator import checking

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import gpu_plans

ROOT = Path(__file__).parents[2]

PAGE = (ROOT / "docs" / "gpu-first-hour.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SCRIPT = re.compile(
    r"^cat > \"\$SEEN/(\w+\.py)\" <<'PYTHON'\n(.*?)^PYTHON\n", re.DOTALL | re.MULTILINE
)
SCRIPTS = {name: code for block in BLOCKS for name, code in SCRIPT.findall(block)}


def commands():
    """The words of every command, scripts left out; of variables only that they are some."""
    for block in BLOCKS:
        for line in SCRIPT.sub("", block).replace("\\\n", "").splitlines():
            words = shlex.split(line, comments=True)
            yield [word for word in words if not re.match(r"[A-Z_]+=", word)]


def after(*program):
    """Return the arguments of each call of a program."""
    results = []
    for words in commands():
        for at in range(len(words)):
            if tuple(words[at : at + len(program)]) == program:
                rest = words[at + len(program) :]
                end = [k for k, word in enumerate(rest) if word in ("|", "||", ";")]
                results.append(rest[: end[0]] if end else rest)
    assert results, program
    return results


def test_every_program_is_known_here():
    known = {"python3", "pip", "python", "export", "for", "done", "compute-sanitizer", "ncu"}
    assert {words[0] for words in commands() if words} == known


@pytest.mark.ci
@pytest.mark.parametrize("words", [*after("python", "-m", "pytest"), *after("$SEEN/unpooled.py")])
def test_files_of_pytest_commands_have_gpu_tests(words):
    pytest.importorskip("xdist", reason="optional: pytest-xdist")
    files = [word for word in words if word.startswith("tests/")]
    assert all((ROOT / name).is_file() for name in files)
    # Nothing runs; of the whole suite one file stands for all. Each has tests for a GPU.
    listed = python(
        "-m", "pytest", *words, *(() if files else ["tests/scan/test_scans.py"]), "--co", cwd=ROOT
    )
    result = set(re.findall(r"^(tests/[\w/]+\.py)::", listed, re.MULTILINE))
    assert result == set(files or ["tests/scan/test_scans.py"])


@pytest.mark.ci
def test_what_the_benchmark_is_given():
    ((_, *argument),) = after("python", "-m", "benchmarks")
    assert argument == ["--results", "$SEEN"]
    assert (
        python("-m", "benchmarks", "gpu", *argument, "--dry-run", "--only", "none", cwd=ROOT)
        == "\n"
    )


@pytest.mark.ci
def test_what_the_fuzz_is_given():
    (argument,) = after("python", "tests/fuzz")
    options = re.findall(r"--[\w-]+", python("tests/fuzz", "--help", cwd=ROOT))
    assert {word for word in argument if word.startswith("--")} <= set(options)
    assert "--gpu" in argument


def test_files_that_are_named():
    for name in re.findall(r"`((?:benchmarks|kernels)/[\w./]+)`", PAGE):
        assert (ROOT / name).exists(), name
    assert set(re.findall(r"\$SEEN/(\w+\.py)", PAGE)) == SCRIPTS.keys()


FAKE = """\
class Stream:
    def __init__(self, non_blocking): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def synchronize(self): pass
    def begin_capture(self): pass
    def end_capture(self): return self
    def launch(self): pass
class cuda: Stream = Stream; set_allocator = print
"""


@needs_compiler
def test_the_first_script(tmp_path):
    """On the simulator, and without graphs, which CuPy has."""
    (tmp_path / "cupy.py").write_text(FAKE, "utf-8")
    (tmp_path / "smoke.py").write_text(SCRIPTS["smoke.py"], "utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    variables = {"TENSORLAYOUT_CUDA_SIMULATOR": "1", "PYTHONPATH": path}
    lines = python(tmp_path / "smoke.py", cwd=ROOT, **variables).splitlines()
    last = re.search(r"the last one `(.*?)`", PAGE)[1]
    assert lines == ["a kernel", "a gather", "a graph", last]


# ---- What is predicted

TABLE = re.findall(r"^\| `(\w+)` \| (\d+), (\d+) \| (\d+) % \| ([\d.]+) % \|", PAGE, re.MULTILINE)


def test_each_kernel_that_is_looked_at_is_launched_once():
    with gpu_plans.without_device():
        uses = gpu_plans.kernels_of(lambda: exec(SCRIPTS["counted.py"], {}))
    (argument,) = after("ncu")
    chosen = re.compile(argument[argument.index("--kernel-name") + 1].removeprefix("regex:"))
    results = [use.kernel.name for use in uses if chosen.search(use.kernel.name)]
    assert results == [name for name, *_ in TABLE]
    assert {use.launches for use in uses} == {1}


CALLS = {
    "copy_flat": ((512, 1024), lambda x, y: y.__setitem__(..., x)),
    "copy_tiles": ((2048, 1024), lambda x, y: tl.to_layout(x, (0, 1))),
    "scan_lines": ((512, 1024), lambda x, y: tl.cumulative_sum(x, axis=1)),
    "scan_columns": ((64, 4096), lambda x, y: tl.cumulative_sum(x, axis=0)),
}


@needs_compiler
@pytest.mark.parametrize(("name", "read", "written", "used", "conflicts"), TABLE)
def test_what_is_counted(name, read, written, used, conflicts):
    """The same kernels on fewer elements; each element is moved once."""
    shape, call = CALLS[name]
    with simulator(1):
        x = tl.ones(shape, dtype=tl.float32, device="cuda")
        y = tl.empty_like(x)
        with checking("count") as record:
            call(x, y)
    ((kernel, counts),) = record.counts.items()
    assert kernel.name == name
    assert counts.loads.units / counts.loads.accesses == int(read)
    assert counts.stores.units / counts.stores.accesses == int(written)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == int(used) / 100
    assert round(100 * (counts.bank_conflict_ratio - 1), 1) == float(conflicts)
    assert counts.loads.bytes == counts.stores.bytes == x.nbytes
