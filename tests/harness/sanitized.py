"""Tests with the simulator's kernels under GCC's sanitizers of addresses and undefined behaviour.

    python tests/harness/sanitized.py -n 2 tests/copy/test_cuda_copy.py

The arguments are pytest's. The simulator's own checks see what goes through `load` and `store`; the
sanitizers see all else too: arrays of parameters, local arrays, arithmetic, conversions, what the
driver does. What they find ends the process with a message; under ``-n`` the test that ran is named
and the others go on. Memory around what the simulator allocates is poisoned, so that an access one
byte past it is found.
"""

import ctypes
import os
import re
import subprocess
import sys
import weakref
from pathlib import Path

from tensorlayout.cuda.engine import simulator

FLAGS = "-O0 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"


def library():
    """The path of the sanitizer's library, which a process must load first; None: there is none."""
    command = [*simulator.find_compiler()[0], "-print-file-name=libasan.so"]
    path = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    return path if path.is_absolute() else None


def environment():
    """The variables of a process that runs its kernels under the sanitizers."""
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    unburdened = ["env", "-u", "LD_PRELOAD", *simulator.find_compiler()[0]]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "LD_PRELOAD": str(library()),
        "CXX": " ".join(unburdened),
        "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TENSORLAYOUT_SIMULATOR_FLAGS": FLAGS,
    }


def poison_around_memory():
    """Poison what lies around the memory of each buffer that is allocated from now on."""
    loaded = ctypes.CDLL(None)
    poison, heal = (
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)((name, loaded))
        for name in ("__asan_poison_memory_region", "__asan_unpoison_memory_region")
    )
    allocate = simulator.SimulatorDriver.allocate

    def poisoning(self, nbytes, device):
        buffer = allocate(self, nbytes, device)
        memory = buffer._owner
        begin, end = memory.ctypes.data, memory.ctypes.data + memory.nbytes
        poison(begin, buffer.pointer - begin)
        poison(buffer.pointer + nbytes, end - buffer.pointer - nbytes)
        weakref.finalize(memory, heal, begin, end - begin).atexit = False
        return buffer

    simulator.SimulatorDriver.allocate = poisoning


def main():
    if library() is None:
        sys.exit("tests/harness/sanitized.py needs the sanitizers of GCC")
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "sanitized"]
    # What a dying process writes would be lost, were it captured.
    command = [*pytest, "--capture=sys", *sys.argv[1:]]
    with subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, text=True, errors="replace"
    ) as tests:
        for line in tests.stderr:
            if not re.match(r" +#\d\d", line):  # of the calls, the innermost ten
                print(line, end="", flush=True)
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
elif "libasan" in os.environ.get("LD_PRELOAD", ""):
    poison_around_memory()
