"""Faults: each in a process of its own; and that what they look for is found where it is."""

import signal
import subprocess
import sys

import faults
import guard
import isolated
import numpy as np
import numpy_memory
import pytest
import running
from case import Case

import tensorlayout as tl
from tensorlayout.layout import Layout

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux", reason="mmap, fork and processors as Linux has them"
    )
]

FEW = {"memory": 8, "interrupt": 8, "threads": 1, "fork": 2, "affinity": 1}
MANY = {"memory": 3000, "interrupt": 1500, "threads": 200, "fork": 300, "affinity": 20}


def findings_of(*arguments, cases, seed, fault=None, device="cpu"):
    given = ["--device", device, "--seed", seed, *arguments]
    given += ["--fault", fault] if fault else []
    few = device == "cuda"

    def shown(number):
        if fault:
            scenario = faults.FAULTS[fault](seed, number, few)
            return scenario.name, scenario.source
        case, _ = running.case_of(seed, number, few)
        return case.name, case.source()

    return isolated.search(given, shown, cases, 0, float("inf"))


@pytest.mark.parametrize("fault", FEW)
def test_faults(fault):
    findings = findings_of(cases=FEW[fault], seed=2033, fault=fault)
    assert not findings.differences, running.told(findings)
    assert sum(findings.counts.values()) == FEW[fault]


def test_operands_beside_pages_of_no_access():
    findings = findings_of("--guard", cases=80, seed=2034)
    assert not findings.differences, running.told(findings)


@pytest.mark.long
@pytest.mark.parametrize("fault", MANY)
def test_more_faults(fault):
    findings = findings_of(cases=MANY[fault], seed=2035, fault=fault)
    assert not findings.differences, running.told(findings)


@pytest.mark.long
def test_more_operands_beside_pages_of_no_access():
    findings = findings_of("--guard", cases=20_000, seed=2036)
    assert not findings.differences, running.told(findings)


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


def test_an_interrupt_at_the_very_end_of_a_call_is_caught():
    code, space, escaped, came = compile("pass", "short", "exec"), {}, 0, 0
    for n in range(3000):
        try:
            came += faults._runs_into(code, space, n % 40 * 1e-6, 1.0, n % 3 + 1, 2e-5)
        except KeyboardInterrupt:
            escaped += 1
    assert came > 0
    assert escaped == 0


def test_a_case_that_dies_or_stops_is_told(monkeypatch):
    monkeypatch.setattr(isolated, "LONGEST", 0.5)
    assert isolated._name(-signal.SIGSEGV) == "died of SIGSEGV:"
    case = Case("x", "x + 1", {}, lambda: None)
    assert case.source() == "x + 1"
