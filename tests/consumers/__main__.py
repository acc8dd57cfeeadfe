"""Run the tests that other libraries install, with tensorlayout as their array library.

    python tests/consumers
    python tests/consumers sklearn xarray
    python tests/consumers scipy --sample 2000 --seed 1
    python tests/consumers scipy --modules integrate,signal

Without names, all suites run in turn. Nothing is downloaded: `pip install -e .[consumers]` brings
the libraries with their tests. Each failure is printed with its reason, then the counts and seconds
of each suite.

`failures.toml` lists the known failures. The exit status is 1 if another test fails, or if a listed
one passes. A listed test must run, unless only part of a suite does: with `--sample`, `--modules`,
or options for pytest. `docs/consumers.md` describes the results.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
LIST = HERE / "failures.toml"
SCIPY = (
    "_lib,cluster,constants,differentiate,fft,integrate,interpolate,linalg,ndimage,optimize,"
    "signal,spatial,special,stats"
)

# For each library: its tests, options of pytest that select some, and environment variables that
# choose the namespace. The order is that of a run of all.
CONSUMERS: dict[str, tuple[list[str], list[str], dict[str, str]]] = {
    # Its own configuration makes warnings errors. The test that is left out asks for delegation to
    # libraries that it knows, and it leaves it out for array-api-strict, too.
    "array_api_extra": (
        ["tests/main"],
        [
            "-W",
            "error::DeprecationWarning",
            "-k",
            "tensorlayout and not (TestNUnique and test_delegates)",
        ],
        {},
    ),
    # Without what asks a network: object stores, and the services of clouds. Without Numba, which
    # does not compile what Cubed gives it.
    "cubed": (
        ["tests"],
        ["-k", "not obstore and not s3 and not modal and not cloud and not jit"],
        {"CUBED_BACKEND_ARRAY_API_MODULE": "tensorlayout", "AWS_EC2_METADATA_DISABLED": "true"},
    ),
    # Those of arrays of CuPy, whose names tensors are given.
    "dask": (["array/tests"], ["-k", "test_cupy"], {}),
    # The test that is left out is of lazy arrays: it names the libraries that have none.
    "scipy": ([], ["-k", "tensorlayout and not test_array_api_lazy"], {"SCIPY_ARRAY_API": "1"}),
    "sklearn": (["."], ["-k", "tensorlayout"], {"SCIPY_ARRAY_API": "1"}),
    "xarray": (["tests/test_array_api.py"], [], {}),
}


@dataclasses.dataclass
class Result:
    """The outcome of a suite: counts by outcome, and the failed tests with their reasons."""

    seconds: float
    counts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    failed: dict[str, str] = dataclasses.field(default_factory=dict)
    ran: set[str] = dataclasses.field(default_factory=set)

    def line(self, name: str) -> str:
        counts = (f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return f"{name}: {', '.join(counts)}, {self.seconds:.0f} s"


def run(name: str, modules: str, options: list[str], sample: str) -> Result:
    """Run a suite in a process of its own; `sample` is ``N:SEED``, or empty for all tests."""
    library = importlib.util.find_spec(name)
    if library is None or library.origin is None:
        sys.exit(f"{name} is not installed; run: pip install -e '.[consumers]'")
    import tensorlayout  # the one that is found here is the one that is tested

    tests, selection, variables = CONSUMERS[name]
    folder = Path(library.origin).parent
    if name == "scipy":
        tests = modules.split(",")
    paths = [str(Path(tensorlayout.__file__).parents[1]), str(HERE)]
    environment = {**os.environ, **variables, "CONSUMER": name, "CONSUMER_SAMPLE": sample}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-p", "backend", "-p", "no:cacheprovider", "-q"]
    command += ["--continue-on-collection-errors", "-W", "default", "--tb=line"]
    command += ["--disable-warnings", f"--rootdir={folder}"]  # so that pytest finds its conftest.py
    command += [*selection, *(str(folder / part) for part in tests), *options]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command.append(f"--junitxml={report}")
        status = subprocess.run(command, check=False, env=environment, cwd=scratch).returncode
        result = Result(time.monotonic() - start)
        if report.exists():
            read(report, result)
    if status not in (0, 1) or not result.ran:  # pytest did not get to the end
        result.failed["the whole suite"] = f"exit status {status} of pytest"
    return result


def read(report: Path, result: Result) -> None:
    """Add what pytest reported of each test to a result."""
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        result.ran.add(test)
        bad = [part for part in case if part.tag in ("failure", "error")]
        result.counts["failed" if bad else "skipped" if case.findall("skipped") else "passed"] += 1
        for part in bad:
            reason = (part.get("message") or part.text or "").strip().partition("\n")[0]
            result.failed[test] = reason


def differences(result: Result, known: dict[str, str], partial: bool) -> list[str]:
    """Return a line for each difference between the failures of a suite and the known ones."""
    lines = [f"NEW {test}: {why}" for test, why in result.failed.items() if test not in known]
    for test in known.keys() - result.failed.keys():
        if test in result.ran:
            lines.append(f"PASSED although {LIST.name} lists it: {test}")
        elif not partial:
            lines.append(f"NOT RUN although {LIST.name} lists it: {test}")
    return sorted(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/consumers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("libraries", nargs="*", metavar="library", help=", ".join(CONSUMERS))
    parser.add_argument("--modules", default=SCIPY, help="SciPy's (default: %(default)s)")
    parser.add_argument("--sample", type=int, metavar="N", help="run N tests of each suite")
    parser.add_argument("--seed", type=int, help="chooses the sample (default: a new one)")
    options, rest = parser.parse_known_args()  # the rest is for pytest
    unknown = set(options.libraries) - set(CONSUMERS)
    if unknown:
        parser.error(f"no suites: {', '.join(sorted(unknown))}; known: {', '.join(CONSUMERS)}")
    seed = random.randrange(10**6) if options.seed is None else options.seed
    sample = "" if options.sample is None else f"{options.sample}:{seed}"
    partial = bool(sample or rest) or options.modules != SCIPY
    known = tomllib.loads(LIST.read_text("utf-8"))
    lines, results = [], []
    for name in options.libraries or CONSUMERS:
        print(f"== {name}", f"(sample {sample})" * bool(sample), flush=True)
        result = run(name, options.modules, rest, sample)
        for test, reason in result.failed.items():
            print(f"FAILED {test}: {reason}")
        lines.append(result.line(name))
        results += [f"{name}: {line}" for line in differences(result, known[name], partial)]
    print("", *results, *lines, sep="\n")
    return 1 if results else 0


if __name__ == "__main__":
    sys.exit(main())
