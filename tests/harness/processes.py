"""Python in a process of its own, which finds the modules that this one does."""

import os
import subprocess
import sys


def python(*arguments, status=0, cwd=None, **variables):
    """Run Python, which must end with `status`; return its output. `variables`: its environment."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
        cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout
