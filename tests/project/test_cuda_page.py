"""The examples of docs/cuda.md, run as a reader would: files written, programs started."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from simulated import needs_compiler

PAGE = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text("utf-8")
SESSIONS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)

pytestmark = needs_compiler


def steps(session):
    """Each command of a session, and what follows it."""
    parts = re.split(r"^\$ (.*)\n", session, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.split()[1])
def test_sessions(session, tmp_path):
    environment = os.environ | {"TENSORLAYOUT_CUDA_SIMULATOR": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    for command, text in steps(session):
        match command.split():
            case ["cat", name]:
                (tmp_path / name).write_text(text, "utf-8")
            case ["python", name]:
                run = subprocess.run(
                    [sys.executable, name],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                said = (run.stdout + run.stderr).splitlines()[-1]
                # The page breaks long lines, and addresses differ.
                shown = re.sub(r"0x[0-9a-f]+", "0x…", " ".join(text.split()))
                assert re.sub(r"0x[0-9a-f]+", "0x…", said) == shown, run.stderr
            case ["export", "TENSORLAYOUT_CUDA_SIMULATOR=1"]:
                pass
            case _:
                pytest.fail(f"what is {command}?")


def test_there_are_four_sessions():
    assert len(SESSIONS) == 4
