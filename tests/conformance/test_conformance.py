"""The script that runs the official suite: what it refuses, and the table it writes."""

import importlib.machinery
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path

import corrections
import pytest
import summary

import tensorlayout as tl

FOLDER = Path(__file__).parent
VARIABLE = "ARRAY_API_TESTS_DIR"
VERSION = tl.__array_api_version__.replace(".", "_")


PACKAGES = ("ndindex", "pytest_jsonreport", "xdist")  # only the suite needs these


@pytest.fixture(name="script")
def _script(tmp_path, monkeypatch):
    """The script's names, where all packages are installed and a checkout is whole."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    (tmp_path / "array_api_tests").mkdir()
    (tmp_path / "array-api" / "src" / "array_api_stubs" / f"_{VERSION}").mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return types.SimpleNamespace(**runpy.run_path(str(FOLDER / "__main__.py")))


def refusal(script, monkeypatch, capsys, *arguments):
    """Return what the script says before it would start the suite."""
    monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
    assert script.main() == 2
    return capsys.readouterr().err


def test_the_script_says_what_is_missing():
    environment = {k: v for k, v in os.environ.items() if k != VARIABLE}
    environment["PYTHONPATH"] = str(Path(tl.__file__).parents[1])
    hiding = "import sys; sys.modules['xdist'] = None; sys.argv = ['conformance'];"
    code = f"{hiding} import runpy; runpy.run_path({str(FOLDER)!r}, run_name='__main__')"
    run = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment
    )
    assert run.returncode == 2
    assert run.stderr.startswith("conformance: not installed: ")
    assert "xdist; run: pip install" in run.stderr


def test_what_is_not_there(script, tmp_path, monkeypatch, capsys):
    device = refusal(script, monkeypatch, capsys, "--device", "cuda:7")
    available = ", ".join(map(str, tl.__array_namespace_info__().devices()))
    assert device == f"conformance: --device cuda:7: not available; available: {available}\n"
    (tmp_path / "array-api" / "src" / "array_api_stubs" / f"_{VERSION}").rmdir()
    submodule = refusal(script, monkeypatch, capsys)
    assert "submodule update --init" in submodule
    assert tl.__array_api_version__ in submodule
    (tmp_path / "array_api_tests").rmdir()
    assert "holds no folder array_api_tests" in refusal(script, monkeypatch, capsys)
    monkeypatch.delenv(VARIABLE)
    variable = refusal(script, monkeypatch, capsys)
    assert f"{VARIABLE} must name a checkout of the suite; make one with: git clone" in variable


def test_a_device_is_named_with_its_number_or_without(script):
    for name in ("cpu", "cuda", "cuda:0"):
        script.check_device(name, ["cpu", "cuda:0"])
    for name in ("cuda:1", "cud", "cpu:0"):
        with pytest.raises(script.CannotRunError, match=f"--device {name}: not available"):
            script.check_device(name, ["cpu", "cuda:0"])


class Exporter:
    """An array that is on the GPU, or says that it is on the CPU, and what it was asked for."""

    def __init__(self, where):
        self.where, self.asked = where, []

    def __dlpack_device__(self):
        return self.where

    def __dlpack__(self, **options):
        self.asked.append(options)
        if options.get("copy") is False and options.get("dl_device", self.where) != self.where:
            raise BufferError


@pytest.mark.parametrize(
    ("where", "copy", "asked", "corrected"),
    [
        ((1, 0), {"copy": False}, {"dl_device": (1, 0)}, False),
        ((2, 0), {"copy": False}, {}, False),
        ((2, 0), {}, {"dl_device": (1, 0)}, False),
        ((2, 0), {"copy": False}, {"dl_device": (1, 0)}, True),
    ],
)
def test_an_export_that_needs_a_copy_must_be_refused(where, copy, asked, corrected):
    tried = []

    def test(**arguments):
        tried.append(arguments)

    x = Exporter(where)
    inputs = {"x": x, "copy_kw": copy, "dl_device_kw": asked, "max_version_kw": {}, "data": None}
    corrections._refusing_what_needs_a_copy(test)(**inputs)
    assert tried == ([] if corrected else [inputs])
    assert x.asked == ([{**copy, **asked}] if corrected else [])


def test_an_export_that_copies_all_the_same_fails():
    x = Exporter((2, 0))
    x.__class__ = type("Careless", (Exporter,), {"__dlpack__": lambda self, **options: None})
    arguments = {"x": x, "copy_kw": {"copy": False}, "dl_device_kw": {"dl_device": (1, 0)}}
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        corrections._refusing_what_needs_a_copy(lambda **_: None)(**arguments)


FINDINGS = {
    "tests": [
        {"nodeid": "array_api_tests/test_set_functions.py::test_unique_all", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_fft.py::test_fft", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_fft.py::test_fft[a::b]", "outcome": "error"},
        {"nodeid": "array_api_tests/test_fft.py::test_ifft", "outcome": "skipped"},
        {"nodeid": "array_api_tests/test_fft.py::test_rfft", "outcome": "xpassed"},
    ]
}
SECTION = """\
## Results on cpu

- one
- two

| tests | passed | failed | skipped |
| ---: | ---: | ---: | ---: |
| 5 | 2 | 2 | 1 |

- failed: `array_api_tests/test_fft.py::test_fft[a::b]`
- failed: `array_api_tests/test_fft.py::test_rfft`
- skipped: `array_api_tests/test_fft.py::test_ifft`
"""


def test_the_section_of_a_device():
    assert summary.section("cpu", ["one", "two"], FINDINGS) == SECTION


def test_a_section_replaces_its_older_version():
    page = "# Title\n\ntext\n"
    first = summary.with_section(page, "## Results on cpu\n\nold\n")
    assert first == "# Title\n\ntext\n\n## Results on cpu\n\nold\n"
    both = summary.with_section(first, "## Results on cuda:0\n\nother\n")
    assert both == f"{first}\n## Results on cuda:0\n\nother\n"
    new = summary.with_section(both, "## Results on cpu\n\nnew\n")
    assert new == both.replace("old", "new")


def test_facts_name_versions_and_seed(tmp_path):
    lines = summary.facts(tmp_path, 500, 7, corrected=False)
    assert lines[1] == "array-api-tests of unknown version, as published"
    assert f"tensorlayout {tl.__version__}, numpy " in lines[2]
    assert lines[3] == "500 examples (a tenth in the suite's slow tests), seed 7"
