"""Type checkers accept `right`, and refuse each marked line of `wrong`.

Both files are also run, so that annotations neither forbid what works nor allow what fails.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlayout as tl

HERE = Path(__file__).parent
RIGHT, WRONG = HERE / "right.py", HERE / "wrong.py"
PLACE = Path(tl.__file__).parents[1]
LINES = dict(enumerate(WRONG.read_text("utf-8").splitlines(), 1))
MARKED = {number: line for number, line in LINES.items() if line.endswith("  # E")}

optional = {
    name: pytest.mark.skipif(not importlib.util.find_spec(name), reason=f"optional: {name}")
    for name in ("mypy", "basedpyright")
}


def errors(*command: str, cwd: Path) -> dict[str, set[int]]:
    """The numbers of the lines that a type checker finds wrong, by file."""
    paths = [str(PLACE), *filter(None, [os.environ.get("PYTHONPATH")])]
    run = subprocess.run(
        [sys.executable, "-m", *command, str(RIGHT), str(WRONG)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    results: dict[str, set[int]] = {RIGHT.name: set(), WRONG.name: set()}
    for path, line in re.findall(r"^ *(.+?):(\d+):[\d: -]* error\b", run.stdout, re.MULTILINE):
        results.get(Path(path).name, set()).add(int(line))  # elsewhere, a caller sees none
    return results


@pytest.mark.ci
@optional["mypy"]
def test_mypy(pytestconfig, tmp_path):
    cache = getattr(pytestconfig, "cache", None)  # none where pytest keeps nothing
    kept = cache.mkdir("mypy") if cache else tmp_path
    result = errors("mypy", "--strict", "--config-file=", f"--cache-dir={kept}", cwd=PLACE)
    assert result == {RIGHT.name: set(), WRONG.name: set(MARKED)}


@pytest.mark.ci
@optional["basedpyright"]
def test_pyright(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', "utf-8")
    python = ("--pythonpath", sys.executable)
    result = errors("basedpyright", "--project", str(tmp_path), *python, cwd=tmp_path)
    assert result == {RIGHT.name: set(), WRONG.name: set(MARKED)}


def test_right_uses_run():
    exec(compile(RIGHT.read_text("utf-8"), RIGHT.name, "exec"), {"__name__": "right"})


def test_wrong_uses_fail():
    unmarked = "\n".join(line for number, line in LINES.items() if number not in MARKED)
    names: dict[str, object] = {}
    exec(compile(unmarked, WRONG.name, "exec"), names)
    accepted = []
    assert len(MARKED) > 70
    for line in MARKED.values():
        try:
            exec(line, dict(names))
        except (TypeError, ValueError, AttributeError, IndexError):
            continue
        accepted.append(line)
    assert accepted == []
