"""What all tests share: how hypothesis draws, and the devices that tests run on."""

import os

import pytest
from hypothesis import settings
from on_devices import DEVICES, ON_HYBRID, entered, is_long

# No deadline: two busy cores are no reason to fail. Draws differ from run to run, and a failure
# prints the lines that repeat it; in CI they are the same each time, so that what lands is judged
# by the change and not by luck.
settings.register_profile("search", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("gate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("gate" if os.environ.get("CI") else "search")


def pytest_generate_tests(metafunc):
    """Tests that use `device` run on each, those marked `cpu` on the CPU alone."""
    if "device" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("cpu")
        found = DEVICES[:1] if marked else DEVICES
        metafunc.parametrize("device", found, indirect=True, scope="module")


@pytest.hookimpl(tryfirst=True)  # before those marked are left out
def pytest_collection_modifyitems(items):
    on_hybrid = {item for item in items if _parameters(item).get("device") == "hybrid"}
    # What a GPU leaves to long runs, the hybrid leaves out.
    items[:] = [item for item in items if not (item in on_hybrid and is_long(_parameters(item)))]
    for item in items:
        if is_long(_parameters(item)) or (
            item in on_hybrid and item.module.__name__ not in ON_HYBRID
        ):
            item.add_marker("long")
        if item.get_closest_marker("long"):
            item.own_markers = [mark for mark in item.own_markers if mark.name != "gpu"]


def _parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


@pytest.fixture(scope="module")
def device(request):
    """The device that is the default while a test runs, so that new tensors are made there."""
    with entered(request.param) as found:
        yield found
