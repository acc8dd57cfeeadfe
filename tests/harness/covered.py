"""Coverage of the package and of its kernels by tests.

    python tests/harness/covered.py -n 2 tests/copy/test_cuda_copy.py

The arguments are pytest's. Python is measured by coverage.py (the extra `coverage`), kernels by
GCC's gcov: the simulator compiles them by a command that counts lines. Data lie in
``.coverage-data`` and add up over calls; ``python tests/harness/covered.py report`` prints what
nothing has run. ``rm -r .coverage-data`` begins anew.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / ".coverage-data"

# Each object has notes of its own: -dumpdir says where, since it is compiled in a passing folder.
COMPILER = f"""#!/bin/sh
exec g++ --coverage -dumpdir "{DATA}/kernels/$(mktemp -u XXXXXXXXXXXX)-" "$@"
"""


def run(arguments):
    """Run pytest with both counts; its exit status."""
    (DATA / "kernels").mkdir(parents=True, exist_ok=True)
    compiler = DATA / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o700)
    counted = {
        "COVERAGE_FILE": str(DATA / "python"),
        "CXX": str(compiler),
        "TENSORLAYOUT_CACHE_DIR": str(DATA / "cache"),
        "TENSORLAYOUT_SIMULATOR_FLAGS": "-O0",
    }
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **counted}, check=False).returncode


def kernels():
    """By the name of a source, how often each of its lines ran, in all objects together."""
    lines = defaultdict(lambda: defaultdict(int))
    for counts in sorted((DATA / "kernels").glob("*.gcda")):
        command = ["gcov", "--json-format", "--stdout", str(counts)]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for file in json.loads(said)["files"]:
            path = (ROOT / file["file"]).resolve()
            if path.is_relative_to(ROOT / "kernels"):
                for line in file["lines"]:
                    lines[path.name][line["line_number"]] += line["count"]
    return lines


def report():
    """Print lines and branches of Python, and lines of kernels, that nothing has run."""
    environment = {**os.environ, "COVERAGE_FILE": str(DATA / "python")}
    for arguments in (["combine", "--quiet", "--append"], ["report"]):
        command = [sys.executable, "-m", "coverage", *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, check=False)
    result = kernels()
    for name, lines in sorted(result.items()):
        if missed := [str(number) for number, count in sorted(lines.items()) if not count]:
            print(f"kernels/{name}: {len(missed)} of {len(lines)}: {', '.join(missed)}")
    counts = [count for lines in result.values() for count in lines.values()]
    print(f"kernels: {sum(map(bool, counts))} of {len(counts)} lines run")


if __name__ == "__main__":
    if shutil.which("gcov") is None:
        sys.exit("covered: gcov is not installed; it comes with g++")
    sys.exit(report() if sys.argv[1:] == ["report"] else run(sys.argv[1:]))
