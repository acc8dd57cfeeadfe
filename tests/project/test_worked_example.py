"""The worked example of CONTRIBUTING.md: its blocks, word for word, in a copy of this checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from simulated import needs_compiler

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "docs", "kernels", "tensorlayout", "tests")

# A line that ends in paths and a colon, and the block below it.
BLOCK = re.compile(r"^([^\n]*):\n\n```(py|cpp|diff)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATH = re.compile(r"`([\w.]+(?:/[\w.]+)+)`")

# What meets the example: its own test, and those that hold lists against the code.
MET = (
    "tests/pack",
    "tests/ops/test_ops.py::test_layouts_and_dtypes[cpu-packbits]",
    "tests/ops/test_ops.py::test_layouts_and_dtypes[simulator-packbits]",
    "tests/ops/test_table.py::test_every_function_is_drawn",
    "tests/project/test_families.py",
    "tests/project/test_architecture.py",
    "tests/project/test_docs.py::test_every_public_function_is_in_the_table",
    "tests/project/test_docs.py::test_what_a_function_gives[cpu-packbits]",
    "tests/project/test_docs.py::test_what_a_function_gives[simulator-packbits]",
    "tests/project/test_errors.py::test_every_public_function_is_tried[cpu]",
    "tests/project/test_errors.py::test_axes_outside[cpu]",
    "tests/project/test_errors.py::test_refused[cpu-beyond the standard]",
    "tests/cuda/test_gpu_branches.py::test_files_without_a_call",
    "tests/cuda/test_gpu_branches.py::test_a_call_of_each_file[pack.cu]",
    "tests/cuda/test_every_kernel.py::test_every_kernel_has_a_case",
    "tests/cuda/test_every_kernel.py::test_many_blocks[simulator-packs]",
)


def copied(to):
    """The files of the checkout, but what was made of them."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, to / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, to)


def changed(text, diff):
    """A file with the new lines of each hunk; its other lines are there once, in a row."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        assert all(line[0] in " +" for line in lines), hunk
        before = "".join(line[1:] for line in lines if line[0] == " ")
        assert text.count(f"\n{before}") == 1, before
        after = "".join(line[1:] for line in lines)
        text = text.replace(f"\n{before}", f"\n{after}")
    return text


def example():
    """Path, language and text of each block of the example."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.split("\n## Add an operation with a kernel\n")[1].split("\n## ")[0]
    result = BLOCK.findall(section)
    assert len(result) == section.count("```") // 2 - 1  # the last block is a command
    return [(path, *block) for head, *block in result for path in PATH.findall(head)]


@pytest.mark.ci
@needs_compiler
def test_the_example_is_a_change_that_passes(tmp_path):
    copied(tmp_path)
    for name, language, text in example():
        path = tmp_path / name
        if language == "diff":
            path.write_text(changed(path.read_text("utf-8"), text), "utf-8")
        else:
            assert not path.exists(), name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *MET]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr
