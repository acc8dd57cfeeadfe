"""``python -m benchmarks import``: how long a first ``import tensorlayout`` takes, beside NumPy's.

Each import is in a fresh interpreter, the libraries in turn, with bytecode in a folder of the run's
own: so it makes no difference whether the package was ever imported here. What starts the
interpreter is not counted. The package needs NumPy, whose import is in its time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Timing
from benchmarks.peers import OURS
from benchmarks.report import table

# At most this share of the time of `import numpy`.
TARGET = 1.5

FIRST_SUM = "tensorlayout, and a first x + y"

STATEMENTS = {
    "numpy": "import numpy",
    OURS: "import tensorlayout",
    FIRST_SUM: "import tensorlayout as tl; x = tl.ones((2, 3)); x + x",
}

_TIMED = """
import time
wall, process = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - wall, time.process_time() - process)
"""


def timings(rounds: int) -> tuple[Timing, Timing]:
    """Wall time and process time of each statement, in seconds."""
    wall: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    process: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for statement in STATEMENTS.values():
            _once(statement, environment)
        for _ in range(rounds):
            for name, statement in STATEMENTS.items():
                spent = _once(statement, environment)
                wall[name].append(spent[0])
                process[name].append(spent[1])
    return _timing(wall), _timing(process)


def _timing(rounds: Mapping[str, list[float]]) -> Timing:
    return Timing({name: tuple(times) for name, times in rounds.items()})


def _once(statement: str, environment: Mapping[str, str]) -> tuple[float, float]:
    command = [sys.executable, "-c", _TIMED.format(statement=statement)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    wall, process = map(float, done.stdout.split())
    return wall, process


def markdown(wall: Timing, process: Timing, machine: list[str]) -> str:
    """The page."""
    header = ["milliseconds", "wall", "process", "wall / NumPy's", "process / NumPy's"]
    lines = [
        [
            name,
            _spread(wall, name),
            _spread(process, name),
            _ratio(wall, name),
            _ratio(process, name),
        ]
        for name in STATEMENTS
    ]
    rounds = len(wall.rounds[OURS])
    ratio = wall.ratio(OURS, "numpy").middle
    notes = [
        "`python -m benchmarks import`: the import alone, in fresh interpreters in turn, with",
        f"bytecode. Medians of {rounds} rounds, least to greatest; ratios are of the same round.",
        "",
        f"Target: {TARGET} times NumPy's wall time, {'met' if ratio <= TARGET else 'missed'}.",
    ]
    return "\n".join(["# Import", "", *notes, "", *machine, "", *table(header, lines), ""])


def _spread(timing: Timing, name: str) -> str:
    times = [1e3 * seconds for seconds in timing.rounds[name]]
    return f"{median(times):.1f} ({min(times):.1f} to {max(times):.1f})"


def _ratio(timing: Timing, name: str) -> str:
    ratio = timing.ratio(name, "numpy")
    return f"{ratio.middle:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
