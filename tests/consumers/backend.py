"""A pytest plugin: what SciPy's and xarray's tests run on is tensorlayout."""

import importlib
import os
import sys
import types

import pytest

import tensorlayout as tl

if os.environ.get("CONSUMER") == "xarray":
    # Its tests of array namespaces import this one, and its class of arrays.
    sys.modules["array_api_strict"] = tl
    sys.modules["array_api_strict._array_object"] = types.SimpleNamespace(Array=tl.Tensor)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """SciPy's fixture `xp` runs over the libraries that its conftest names; here over one."""
    if os.environ.get("CONSUMER") != "scipy":
        return
    # Without this, tests marked as NumPy's alone would run.
    importlib.import_module("scipy.conftest").xp_known_backends.add("tensorlayout")
    for fixture in metafunc._arg2fixturedefs.get("xp", ()):
        fixture.params = (pytest.param(tl, id="tensorlayout"),)
