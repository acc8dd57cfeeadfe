"""Run the official conformance suite of the array API standard on tensorlayout.

    ARRAY_API_TESTS_DIR=… python tests/conformance --device cpu --max-examples 500 --seed 1

The suite is https://github.com/data-apis/array-api-tests, with its submodule `array-api`; the
variable names a checkout of it. Nothing is skipped and no failure is expected: lists of such tests
in the checkout are not read. Three mistakes of the suite are corrected while it runs (see
`corrections`), unless ``--as-published``. The exit status is the suite's.

The suite tests the default device of a namespace and knows no other, so `--device` makes its choice
the default, by TENSORLAYOUT_DEFAULT_DEVICE.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import summary

HERE = Path(__file__).parent
VARIABLE = "ARRAY_API_TESTS_DIR"
CLONE = "git clone --recurse-submodules https://github.com/data-apis/array-api-tests"
PACKAGES = ("tensorlayout", "pytest", "hypothesis", "ndindex", "pytest_jsonreport", "xdist")


class CannotRunError(Exception):
    """The suite cannot be started; the message says what to do."""


def missing_packages() -> None:
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        msg = f"not installed: {', '.join(absent)}; run: pip install -e '.[conformance]'"
        raise CannotRunError(msg)


def checkout(version: str) -> Path:
    """The folder of the suite, with the text of the standard that it reads."""
    argument = os.environ.get(VARIABLE)
    if not argument:
        msg = f"{VARIABLE} must name a checkout of the suite; make one with: {CLONE}"
        raise CannotRunError(msg)
    folder = Path(argument).expanduser().resolve()
    if not (folder / "array_api_tests").is_dir():
        msg = f"{VARIABLE}: {folder} holds no folder array_api_tests; make one with: {CLONE}"
        raise CannotRunError(msg)
    stubs = folder / "array-api" / "src" / "array_api_stubs" / f"_{version.replace('.', '_')}"
    if not stubs.is_dir():
        msg = (
            f"{VARIABLE}: {folder} holds no text of the standard {version};"
            f" run: git -C {folder} submodule update --init"
        )
        raise CannotRunError(msg)
    return folder


def check_device(wanted: str, available: Sequence[str]) -> None:
    if wanted not in available and f"{wanted}:0" not in available:  # "cuda" is the first one
        msg = f"--device {wanted}: not available; available: {', '.join(available)}"
        raise CannotRunError(msg)


def run(folder: Path, version: str, options: argparse.Namespace, report: Path) -> int:
    """The suite's exit status; its findings are written to `report`."""
    import tensorlayout  # the one that is found here is the one that is tested

    paths = [str(Path(tensorlayout.__file__).parents[1]), str(HERE)]
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "tensorlayout",
        "ARRAY_API_TESTS_VERSION": version,
        "TENSORLAYOUT_DEFAULT_DEVICE": options.device,
        # Examples that failed earlier are not tried again: the seed alone decides.
        "HYPOTHESIS_STORAGE_DIRECTORY": str(report.parent / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    for name in ("PYTEST_ADDOPTS", "ARRAY_API_TESTS_SKIP_DTYPES", "ARRAY_API_TESTS_MAX_ARRAY_SIZE"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider"]
    command += ["--skips-file", os.devnull, "--xfails-file", os.devnull]
    # A busy machine is no lack of conformance.
    command += ["--disable-deadline", "--disable-warnings", "-n", options.n]
    command += ["--max-examples", str(options.max_examples)]
    command += ["--hypothesis-seed", str(options.seed)]
    command += ["--json-report", f"--json-report-file={report}"]
    if not options.as_published:
        command += ["-p", "corrections"]
    return subprocess.run(command, check=False, cwd=folder, env=environment).returncode


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--device", default="cpu", help="the device to test (default: cpu)")
    parser.add_argument(
        "--max-examples",
        type=int,
        default=100,
        help="examples of each test (default: 100); a tenth of it in the suite's slow tests",
    )
    parser.add_argument("--seed", type=int, help="of the examples (default: another each time)")
    parser.add_argument("-n", default="auto", help="processes (default: one for each core)")
    parser.add_argument(
        "--as-published", action="store_true", help="without the corrections to the suite"
    )
    parser.add_argument(
        "--page", type=Path, help="put the counts into this page, under the device's heading"
    )
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.randrange(2**32)
    return options


def main() -> int:
    options = arguments()
    try:
        missing_packages()
        import tensorlayout as tl
        from tensorlayout.cuda.engine.driver import driver

        version = tl.__array_api_version__
        folder = checkout(version)
        info = tl.__array_namespace_info__()
        check_device(options.device, list(map(str, info.devices())))
    except CannotRunError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        status = run(folder, version, options, report)
        if not report.is_file():
            print(f"conformance: the suite wrote no report, exit status {status}", file=sys.stderr)
            return status or 2
        findings = json.loads(report.read_text("utf-8"))
    facts = summary.facts(
        folder, options.max_examples, options.seed, corrected=not options.as_published
    )
    if options.device.startswith("cuda") and driver().name == "simulator":
        facts.append("kernels on the simulator")
    text = summary.section(options.device, facts, findings)
    print(f"\n{text}")
    if options.page:
        options.page.write_text(
            summary.with_section(options.page.read_text("utf-8"), text), "utf-8"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
