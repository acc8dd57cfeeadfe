"""``info``: versions, devices and the plan cache."""

from __future__ import annotations

import platform
from importlib import metadata

import tensorlayout as tl
from tensorlayout.devices import available_devices, cuda_unavailable_reason, default_device
from tensorlayout.plan import cache_info

# Needed to reproduce a reported problem.
REQUIRED = ("numpy", "ml_dtypes")
# Determine which devices and formats work.
OPTIONAL = ("torch", "cupy", "cupy-cuda12x", "cupy-cuda13x", "pillow")


def version_report() -> str:
    """Return the facts that a bug report needs, one per line."""
    facts = [("tensorlayout", tl.__version__), ("Python", platform.python_version())]
    facts += [(name, installed_version(name) or "not installed") for name in REQUIRED]
    facts += [
        (name, f"{cache_text} (optional)")
        for name in OPTIONAL
        if (cache_text := installed_version(name))
    ]
    facts += [("array API", tl.__array_api_version__), ("platform", platform.platform())]
    facts += [
        ("devices", ", ".join(map(str, available_devices()))),
        ("CUDA", _describe_cuda_driver()),
    ]
    cache = cache_info()
    plans = f"{cache.currsize} of at most {cache.maxsize} plans in this process"
    cache_text = f"{plans}, {cache.hits} hits, {cache.misses} misses"
    facts += [("default device", _describe_default_device()), ("plan cache", cache_text)]
    return "\n".join(f"{name:<17} {value}" for name, value in facts)


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution without importing it; None if missing."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _describe_cuda_driver() -> str:
    """Return the name of the CUDA driver, or the reason why there is none."""
    if reason := cuda_unavailable_reason():
        return f"none; {reason}"
    from tensorlayout.cuda.engine.driver import driver

    return {"simulator": "the simulator", "cupy": "CuPy"}[driver().name]


def _describe_default_device() -> str:
    try:
        return str(default_device())
    except ValueError as error:  # the environment variable names a missing device
        return f"none; {error}"
