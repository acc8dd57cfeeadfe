"""Plant known faults in the code, one at a time, and say which test finds each, and how soon.

    python tests/mutation/planted --check               # only check that each fault fits the code
    python tests/mutation/planted NaN --file cpu.toml   # faults with "NaN" in their name
    python tests/mutation/planted --full --out report.json

The TOML files beside this file list the faults of one layer each. `file` contains `old` exactly
once; the fault replaces it by `new`. `effect` is what users see: values, error, crash, memory (read
or written where it must not be), speed, leak, text. `tests` are arguments of pytest that should
find the fault, the quickest first, and options such as "-mci"; `--full` runs all tests if they do
not. A run that takes `timeout` seconds counts as found.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[3]
EFFECTS = ("values", "error", "crash", "memory", "speed", "leak", "text")
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no")
FAILURE = re.compile(r"(?m)^(?:FAILED|ERROR) (.*?)(?: - |$)")
OUTCOMES = {None: "timeout", 0: "not found", 4: "no tests", 5: "no tests"}  # by exit status
SECONDS = itertools.count(10**9)  # times of changed files, which Python compares in whole seconds


class Fault(NamedTuple):
    """A fault, and the file that lists it."""

    layer: str
    name: str
    file: str
    old: str
    new: str
    effect: str
    tests: list[str]
    timeout: float = 900  # seconds of a run

    @property
    def fits(self) -> bool:
        """True if the fault can be planted, and its tests exist."""
        count = (ROOT / self.file).read_text("utf-8").count(self.old)
        tests = [test for test in self.tests if not test.startswith("-")]
        there = tests and all((ROOT / test.split("::")[0]).exists() for test in tests)
        right = bool(there) and self.effect in EFFECTS
        return right and count == 1 and self.old != self.new

    @contextmanager
    def planted(self, folder: Path) -> Iterator[None]:
        """Plant the fault in a copy of the files while the block lasts."""
        path = folder / self.file
        text = path.read_text("utf-8")
        try:
            path.write_text(text.replace(self.old, self.new), "utf-8")
            os.utime(path, (second := next(SECONDS), second))
            yield
        finally:
            path.write_text(text, "utf-8")


def read_faults(options: argparse.Namespace) -> list[Fault]:
    """Read the faults that the command line asks for."""
    folder = Path(__file__).parent
    files = options.file or sorted(path.name for path in folder.glob("*.toml"))
    lists = {file: tomllib.loads((folder / file).read_text("utf-8"))["fault"] for file in files}
    faults = [Fault(file, **entry) for file, entries in lists.items() for entry in entries]
    words = [word.lower() for word in options.name] or [""]
    return [fault for fault in faults if any(word in fault.name.lower() for word in words)]


def copy_tracked(folder: Path) -> None:
    """Copy the files that git tracks, with their present content."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def run_tests(folder: Path, arguments: list[str], timeout: float) -> dict[str, Any]:
    """Run tests in a session of their own, which is killed at the end; say which one failed."""
    variables = {**os.environ, "PYTHONPATH": str(folder), "CI": "1"}  # CI: repeatable draws
    begin, log = time.monotonic(), folder / "pytest.log"
    with log.open("w") as text:
        results: Any = {"cwd": folder, "env": variables, "stdout": text, "stderr": text}
        pytest = subprocess.Popen([*PYTEST, *arguments], start_new_session=True, **results)
        try:
            status = pytest.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(pytest.pid, signal.SIGKILL)
    failure = FAILURE.search(log.read_text(errors="replace"))
    test = failure[1] if failure else f"pytest ended with {status}" * bool(status)
    seconds = round(time.monotonic() - begin, 1)
    return {"outcome": OUTCOMES.get(status, "found"), "seconds": seconds, "test": test}


def main() -> int:
    """Run the command line; the exit status is 1 if a fault does not fit or is not found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*", help="a part of a name")
    parser.add_argument("--file", action="append", metavar="LIST.toml", help="a list of faults")
    parser.add_argument("--check", action="store_true", help="only check that each fault fits")
    parser.add_argument("--full", action="store_true", help="run all tests if `tests` pass")
    parser.add_argument("--out", type=Path, help="a JSON file of results")
    options = parser.parse_args()
    faults, results = read_faults(options), []
    misfits = [f"{fault.layer}: {fault.name}" for fault in faults if not fault.fits]
    print(*misfits, f"{len(faults)} faults, {len(misfits)} do not fit the code", sep="\n")
    if options.check or misfits:
        return bool(misfits)
    with tempfile.TemporaryDirectory(prefix="planted-") as result:
        copy_tracked(folder := Path(result))
        for fault in faults:
            with fault.planted(folder):
                outcome = run_tests(folder, ["-n", "0", *fault.tests], fault.timeout)
                if options.full and outcome["outcome"] == "not found":
                    outcome = run_tests(folder, ["-n", "2"], 4 * fault.timeout)
            name = f"{fault.layer}: {fault.name}"
            print(
                f"{outcome['outcome']:9} {outcome['seconds']:6} s  {name}  {outcome['test']}",
                flush=True,
            )
            results.append({**fault._asdict(), **outcome})
            if options.out:
                options.out.write_text(json.dumps(results, indent=1), "utf-8")
    good = [report for report in results if report["outcome"] in ("found", "timeout")]
    for key in ("layer", "effect"):
        counts = Counter(report[key] for report in good)
        for value, count in Counter(report[key] for report in results).items():
            print(f"{key:6}  {value:16}  {counts[value]:4} of {count:4} found")
    return len(good) < len(results)


if __name__ == "__main__":
    sys.exit(main())
