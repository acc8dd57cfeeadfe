"""``info``: versions, devices and the cache of plans."""

from __future__ import annotations

import platform
from importlib import metadata

import tensorlayout as tl
from tensorlayout.devices import available, default_device, why_no_cuda
from tensorlayout.plan import cache_info

REQUIRED = ("numpy", "ml_dtypes")
OPTIONAL = ("torch", "cupy", "cupy-cuda12x", "cupy-cuda13x", "pillow")


def report() -> str:
    """Return a line for each thing worth knowing in a report of a problem."""
    facts = [("tensorlayout", tl.__version__), ("Python", platform.python_version())]
    facts += [(name, version(name) or "not installed") for name in REQUIRED]
    facts += [(name, f"{found} (optional)") for name in OPTIONAL if (found := version(name))]
    facts += [("array API", tl.__array_api_version__), ("platform", platform.platform())]
    facts += [("devices", ", ".join(map(str, available()))), ("CUDA", _cuda())]
    cache = cache_info()
    plans = f"{cache.currsize} of at most {cache.maxsize} plans in this process"
    found = f"{plans}, {cache.hits} hits, {cache.misses} misses"
    facts += [("default device", _default()), ("plan cache", found)]
    return "\n".join(f"{name:<17} {value}" for name, value in facts)


def version(distribution: str) -> str | None:
    """Return the version of an installed distribution, which is not imported; None without it."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cuda() -> str:
    """Name the driver of CUDA, or say why there is none."""
    if reason := why_no_cuda():
        return f"none; {reason}"
    from tensorlayout.cuda.engine.driver import driver

    return {"simulator": "the simulator", "cupy": "CuPy"}[driver().name]


def _default() -> str:
    try:
        return str(default_device())
    except ValueError as error:  # what the variable names is not here
        return f"none; {error}"
