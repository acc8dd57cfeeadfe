"""A pytest plugin: what Dask's, SciPy's and xarray's tests run on is tensorlayout."""

import importlib
import os
import sys
import types

import numpy as np
import pytest

import tensorlayout as tl

if os.environ.get("CONSUMER") == "xarray":
    # Its tests of array namespaces import this one, and its class of arrays.
    sys.modules["array_api_strict"] = tl
    sys.modules["array_api_strict._array_object"] = types.SimpleNamespace(Array=tl.Tensor)


class Drawn:
    """A generator of random numbers that draws tensors."""

    def __init__(self, generator):
        self.generator = generator

    def __getattr__(self, name):
        found = getattr(self.generator, name)
        if not callable(found) or name == "bit_generator":
            return found
        return lambda *args, **options: tl.asarray(found(*args, **options))


class CuPy(types.ModuleType):
    """CuPy's names over tensors: what makes arrays is ours, the rest is what NumPy calls."""

    __version__ = "14.0.0"
    ndarray, asnumpy = tl.Tensor, staticmethod(np.asarray)
    random = types.SimpleNamespace(
        default_rng=lambda *seed: Drawn(np.random.default_rng(*seed)),
        RandomState=lambda *seed: Drawn(np.random.RandomState(*seed)),
    )

    def __getattr__(self, name):
        found = getattr(np, name)
        if isinstance(found, (type, types.ModuleType)) or not callable(found):
            return found
        return lambda *args, **options: made(found(*args, **options))


def made(found):
    return tl.asarray(found) if isinstance(found, np.ndarray) else found


def pytest_configure():
    """Dask's tests of other libraries' arrays are of CuPy's."""
    if os.environ.get("CONSUMER") == "dask":
        sys.modules["cupy"] = CuPy("cupy")
        tl.Tensor.get = lambda x: np.asarray(x)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """SciPy's fixture `xp` runs over the libraries that its conftest names; here over one."""
    if os.environ.get("CONSUMER") != "scipy":
        return
    # Without this, tests marked as NumPy's alone would run.
    importlib.import_module("scipy.conftest").xp_known_backends.add("tensorlayout")
    for fixture in metafunc._arg2fixturedefs.get("xp", ()):
        fixture.params = (pytest.param(tl, id="tensorlayout"),)
