"""Configuration of all tests: hypothesis profiles, and the devices that tests run on."""

import os
import sys
from pathlib import Path

import design
import gpu_runs
import pytest
from hypothesis import settings
from on_devices import DEVICES, devices_of, entered, is_long
from simulated import SEED, last_seed

# No deadline: two busy cores are no reason to fail. Draws differ from run to run, and a failure
# prints the lines that repeat it; in CI they are the same each time, so that what lands is judged
# by the change and not by luck.
settings.register_profile("search", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("gate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("gate" if os.environ.get("CI") else "search")

# Importing it hides names for good, and pytest would import it to look for examples.
collect_ignore = ["harness/without_posix.py"]

# Half the time to compile, and small tensors take as long.
os.environ.setdefault("TENSORLAYOUT_SIMULATOR_FLAGS", "-O0")


# Where bytecode may not be written beside the sources, as in many containers, it is kept elsewhere:
# each process that a test starts would compile the package again.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_report_header():
    return f"{design.VARIABLE}={design.SEED}"


def pytest_configure(config):
    config.pluginmanager.register(gpu_runs)


def pytest_generate_tests(metafunc):
    """Tests that use `device` run on each, those marked `cpu` on the CPU alone."""
    if "device" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("cpu")
        long = "not long" not in metafunc.config.option.markexpr
        result = DEVICES[:1] if marked else devices_of(metafunc.module.__name__, long)
        metafunc.parametrize("device", result, indirect=True, scope="module")


@pytest.hookimpl(trylast=True, specname="pytest_generate_tests")
def pytest_choose_parameters(metafunc):
    """Of a test of several parameters, each value is tried on each device, not all combinations.

    Which combinations those are follows from the seed; the others are `long`.
    """
    config, calls = metafunc.config, metafunc._calls  # there is no public way to take some away
    left_out = {name for name in ("long", "gpu") if f"not {name}" in config.option.markexpr}
    groups = {}
    for call in calls:
        marks = {mark.name for mark in call.marks}
        if not (is_long(call.params) or {"long", *left_out} & marks):
            device = call.params.get("device"), "gpu" in marks
            case = call, tuple(map(_known, call.params.items()))
            groups.setdefault(device, []).append(case)
    name = f"{metafunc.module.__name__}.{metafunc.function.__name__}"
    chosen = {id(c) for (d, _), g in groups.items() for c in design.covering(f"{name} {d}", g)}
    if "long" in left_out and not any("[" in name for name in config.args):
        calls[:] = [call for call in calls if id(call) in chosen] or calls[:1]
    for call in calls:
        if id(call) not in chosen:
            call.marks.append(pytest.mark.long.mark)


def _known(parameter):
    """A parameter's name and value, or what tells that value from others."""
    name, value = parameter
    return name, value if isinstance(value, (str, int, type)) else id(value)


@pytest.hookimpl(tryfirst=True)  # before those marked are left out
def pytest_collection_modifyitems(items):
    # What a GPU leaves to long runs, the hybrid leaves out.
    items[:] = [item for item in items if not (_is_long(item) and _device(item) == "hybrid")]
    for item in items:
        if _is_long(item):
            item.add_marker("long")
        if item.get_closest_marker("long"):
            item.own_markers = [mark for mark in item.own_markers if mark.name != "gpu"]
    _sort_by_device(items)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_share(config, items):
    shared = design.shared(items)
    if len(shared) < len(items):
        chosen = set(shared)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = shared


def _sort_by_device(items):
    """In each file, tests on the CPU come first: `device` stays open until the file's last test."""
    places = {}
    for item in items:
        places.setdefault(item.path, len(places))
    items.sort(key=lambda item: (places[item.path], _device(item) not in (None, "cpu")))


def _is_long(item):
    return hasattr(item, "callspec") and is_long(item.callspec.params)


def _device(item):
    return item.callspec.params.get("device") if hasattr(item, "callspec") else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails on the hybrid says what draws the same order again."""
    report = yield
    if report.failed and _device(item) == "hybrid":
        report.sections.append(("hybrid", f"{SEED}={last_seed[0]}"))
    return report


@pytest.fixture(scope="module")
def device(request):
    """The device that is the default while a test runs, so that new tensors are made there."""
    with entered(request.param) as result:
        yield result
