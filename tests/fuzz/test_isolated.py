"""Searches in a process of their own: memory that runs out, and operands beside guard pages."""

import signal
import subprocess
import sys

import guard
import isolated
import numpy as np
import numpy_memory
import pytest
import running

import tensorlayout as tl
from tensorlayout.layout import Layout

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mmap as Linux has it")


def findings_of(option, cases, seed):
    def describe(number):
        case, _ = running.case_of(seed, number, few=False)
        return case.name, case.source()

    arguments = ["--device", "cpu", "--seed", seed, option]
    return isolated.search(arguments, describe, cases, 0, float("inf"))


@pytest.mark.parametrize(("option", "cases"), [("--shortage", 8), ("--guard", 80)])
def test_cases_in_a_process_of_their_own(option, cases):
    findings = findings_of(option, cases, seed=2033)
    assert not findings.differences, running.format_findings(findings)
    assert sum(findings.counts.values()) == cases


@pytest.mark.long
@pytest.mark.parametrize(("option", "cases"), [("--shortage", 3_000), ("--guard", 20_000)])
def test_more_cases_in_a_process_of_their_own(option, cases):
    findings = findings_of(option, cases, seed=2035)
    assert not findings.differences, running.format_findings(findings)


# --- that something is found ---------------------------------------------------------------------

BEYOND = """
import sys; sys.path[:0] = {path!r}
import ctypes, numpy as np, guard
from tensorlayout.layout import Layout
guard.pages = True
x = guard.stored(np.arange(4, dtype=np.{dtype}), Layout((4,)), readonly={readonly})
address = np.asarray(x).ctypes.data
{act}
"""


@pytest.mark.parametrize(
    ("dtype", "readonly", "act"),
    [
        ("int8", False, "ctypes.string_at(address, 4 + 4096)"),
        ("int64", False, "ctypes.string_at(address - 4096, 4)"),
        ("int64", True, "ctypes.memset(address, 0, 8)"),
    ],
)
def test_reads_beyond_and_writes_to_what_is_read_only_are_seen(dtype, readonly, act):
    code = BEYOND.format(path=sys.path, dtype=dtype, readonly=readonly, act=act)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGSEGV, done.stderr


@pytest.mark.skipif(numpy_memory.library() is None, reason="optional: a C++ compiler")
def test_the_allocation_that_fails_is_the_one_asked_for():
    x = tl.asarray(np.arange(3.0))
    x + x
    with numpy_memory.ours() as allocator:
        allocator.fail_after(0)
        with pytest.raises(MemoryError, match=r"^add: "):
            x + x
        assert allocator.still_left() < 0
        assert (x + x).shape == (3,)


def test_storage_at_odd_addresses():
    x = guard.stored(np.arange(4, dtype=np.int32), Layout((4,)), shift=3)
    assert np.asarray(x).ctypes.data % 4 == 3
    assert np.asarray(x).tolist() == [0, 1, 2, 3]
