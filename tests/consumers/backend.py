"""A pytest plugin: other libraries' tests run on tensorlayout."""

import importlib
import os
import random
import shutil
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
        result = getattr(self.generator, name)
        if not callable(result) or name == "bit_generator":
            return result
        return lambda *args, **options: tl.asarray(result(*args, **options))


class CuPy(types.ModuleType):
    """CuPy's names over tensors: what makes arrays is ours, the rest is what NumPy calls."""

    __version__ = "14.0.0"
    ndarray, asnumpy = tl.Tensor, staticmethod(np.asarray)
    random = types.SimpleNamespace(
        default_rng=lambda *seed: Drawn(np.random.default_rng(*seed)),
        RandomState=lambda *seed: Drawn(np.random.RandomState(*seed)),
    )

    def __getattr__(self, name):
        result = getattr(np, name)
        if isinstance(result, (type, types.ModuleType)) or not callable(result):
            return result
        return lambda *args, **options: as_tensor(result(*args, **options))


def as_tensor(result):
    return tl.asarray(result) if isinstance(result, np.ndarray) else result


def combinations(include_numpy_namespaces=True):
    """Yield the namespace, device and dtype of scikit-learn's tests: tensorlayout's only."""
    yield "tensorlayout", "cpu", "float64"
    yield "tensorlayout", "cpu", "float32"


def mixed_inputs():
    """Yield the pairs of namespaces that scikit-learn converts between."""
    pair = importlib.import_module("sklearn.utils._array_api").NamespaceAndDevice
    ours, numpys, strict = (
        pair("tensorlayout", "cpu"),
        pair("numpy", None),
        pair("array_api_strict", "device1"),
    )
    yield ours, numpys, "tensorlayout to numpy"
    yield numpys, ours, "numpy to tensorlayout"
    yield strict, ours, "array_api_strict to tensorlayout"


def pytest_configure():
    """Replace what the test modules import: CuPy for Dask, the namespaces of scikit-learn."""
    if os.environ.get("CONSUMER") == "cubed":
        if not shutil.which("dot"):  # the plans that many tests draw are checked without a drawing
            importlib.import_module("pydot").Dot.create = lambda *args, **options: b""
        # Recent asynchronous clients list no workers, and Cubed then refuses to start.
        client = importlib.import_module("distributed").Client
        client.scheduler_info = lambda self: self.cluster.scheduler_info
    if os.environ.get("CONSUMER") == "dask":
        sys.modules["cupy"] = CuPy("cupy")
        tl.Tensor.get = lambda x: np.asarray(x)
    if os.environ.get("CONSUMER") == "sklearn":
        namespaces = importlib.import_module("sklearn.utils._array_api")
        namespaces.yield_namespaces = lambda include_numpy_namespaces=True: ["tensorlayout"]
        namespaces.yield_namespace_device_dtype_combinations = combinations
        namespaces.yield_mixed_namespace_input_permutations = mixed_inputs


@pytest.hookimpl(trylast=True)  # after those that are not selected were left out
def pytest_collection_modifyitems(items):
    """Keep a sample of the tests: as many as `CONSUMER_SAMPLE` says, ``N:SEED``."""
    sample = os.environ.get("CONSUMER_SAMPLE")
    if sample:
        count, seed = map(int, sample.split(":"))
        chosen = random.Random(seed).sample(range(len(items)), min(count, len(items)))
        items[:] = [items[number] for number in sorted(chosen)]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Run the fixtures `xp` (SciPy) and `library` (array-api-extra) with one namespace: ours."""
    consumer = os.environ.get("CONSUMER")
    if consumer == "scipy":
        # Without this, tests marked as NumPy's alone would run.
        importlib.import_module("scipy.conftest").xp_known_backends.add("tensorlayout")
        name, parameter = "xp", pytest.param(tl, id="tensorlayout")
        for fixture in metafunc._arg2fixturedefs.get("devices", ()):  # expects a list of devices()
            fixture.func = scipy_devices
    elif consumer == "array_api_extra":
        name, parameter = "library", pytest.param(extra_backend(), id="tensorlayout")
    else:
        return
    for fixture in metafunc._arg2fixturedefs.get(name, ()):
        fixture.params = (parameter,)


def scipy_devices(xp):
    return [*xp.__array_namespace_info__().devices(), None]


def extra_backend():
    """Return a member of array-api-extra's enum of backends, which has none for tensorlayout."""
    backend = importlib.import_module("array_api_extra._lib._backends").Backend
    member = object.__new__(backend)
    member._name_, member._value_ = "TENSORLAYOUT", "tensorlayout"
    return member
