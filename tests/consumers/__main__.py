"""Run the tests that another library installs, with tensorlayout as its array library.

    python tests/consumers sklearn
    python tests/consumers scipy --modules integrate,signal

Nothing is downloaded: `pip install -e .[consumers]` brings the libraries with their tests. Each
failure is printed with its reason, then how often each reason occurred. The exit status is that of
pytest. `docs/consumers.md` says what was found.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
SCIPY = (
    "_lib,cluster,constants,differentiate,fft,integrate,interpolate,linalg,ndimage,optimize,"
    "signal,spatial,special,stats"
)

# For each library: its tests, what pytest is told, and the environment that chooses the namespace.
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
    "scipy": (
        [],
        ["-k", "tensorlayout and not test_array_api_lazy"],
        {"SCIPY_ARRAY_API": "1"},
    ),
    "sklearn": (["."], ["-k", "tensorlayout"], {"SCIPY_ARRAY_API": "1"}),
    "xarray": (["tests/test_array_api.py"], [], {}),
}


def run(name: str, modules: str, options: list[str], report: Path) -> int:
    """The exit status of pytest; what it found is written to `report`."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        sys.exit(f"{name} is not installed; run: pip install -e '.[consumers]'")
    import tensorlayout  # the one that is found here is the one that is tested

    tests, told, variables = CONSUMERS[name]
    folder = Path(found.origin).parent
    if name == "scipy":
        tests = modules.split(",")
    paths = [str(Path(tensorlayout.__file__).parents[1]), str(HERE)]
    environment = {**os.environ, **variables, "CONSUMER": name, "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "backend",
        "-p",
        "no:cacheprovider",
        "-q",
        "--continue-on-collection-errors",
    ]
    command += ["-W", "default", "--tb=line", "--disable-warnings", f"--junitxml={report}"]
    command += [f"--rootdir={folder}"]  # so that pytest finds the library's conftest.py
    command += [*told, *(str(folder / part) for part in tests), *options]
    return subprocess.run(command, check=False, env=environment, cwd=report.parent).returncode


def summary(report: Path) -> None:
    """Print the failures, the counts, and the reasons by frequency."""
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        bad = [part for part in case if part.tag in ("failure", "error")]
        counts["failed" if bad else "skipped" if len(case.findall("skipped")) else "passed"] += 1
        for part in bad:
            reason = (part.get("message") or part.text or "").strip().partition("\n")[0]
            reasons[reason] += 1
            print(f"FAILED {case.get('classname')}::{case.get('name')}: {reason}")
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/consumers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("library", choices=CONSUMERS)
    parser.add_argument("--modules", default=SCIPY, help="SciPy's (default: %(default)s)")
    options, rest = parser.parse_known_args()  # the rest is for pytest
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        status = run(options.library, options.modules, rest, report)
        if report.exists():
            summary(report)
    return status


if __name__ == "__main__":
    sys.exit(main())
