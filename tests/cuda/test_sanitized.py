"""Kernels in a Python process under the sanitizers of the compiler, as `sanitized` starts it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sanitized
from simulated import needs_compiler

HERE = Path(__file__).parent

pytestmark = needs_compiler

LAUNCH = f"""
import sys
sys.path.append({str(HERE)!r})
import sanitized
from test_simulator import faulty, floats, open_driver, run
simulated = open_driver()
x, y = floats(simulated, 8), floats(simulated, 8)
run(simulated, faulty(sys.argv[1]), 1, y, x, int(sys.argv[2]))
print("nothing found")
"""


@pytest.fixture(scope="module", autouse=True)
def library():
    if not shutil.which("env") or sanitized.library() is None:
        pytest.skip("optional: the sanitizers of the C++ compiler")


def launched(name, count):
    return subprocess.run(
        [sys.executable, "-c", LAUNCH, name, str(count)],
        env=sanitized.environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "right", "wrong", "message"),
    [
        ("read_past_the_end_unasked", None, 8, "use-after-poison"),
        pytest.param("read_past_the_end_unasked", 7, -1, "use-after-poison", marks=pytest.mark.ci),
        pytest.param("read_misaligned_unasked", 4, 2, "misaligned address", marks=pytest.mark.ci),
        pytest.param("overflow", 2**31 - 2, 2**31 - 1, "integer overflow: 2", marks=pytest.mark.ci),
    ],
)
def test_faults_that_only_sanitizers_see(name, right, wrong, message):
    done = launched(name, wrong)
    assert done.returncode != 0
    assert message in done.stderr
    assert name in done.stderr
    if right is not None:
        done = launched(name, right)
        assert (done.stdout, done.stderr, done.returncode) == ("nothing found\n", "", 0)


@pytest.mark.long
def test_all_device_tests_under_sanitizers():
    device = ["-k", "test_cuda_ or (simulator and not test_simulator)"]
    command = [sys.executable, sanitized.__file__, "-n", "2", *device, str(HERE.parent)]
    assert subprocess.run(command, check=False).returncode == 0
