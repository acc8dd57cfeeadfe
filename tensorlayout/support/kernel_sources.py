"""Locations of the CUDA sources: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def kernel_directory(package: Path = _PACKAGE) -> Path:
    """The folder of the kernel sources.

    A wheel carries them as ``tensorlayout/kernels``; an editable install leaves them at the top of
    the checkout. FileNotFoundError where neither is there. `package`: the folder of the package.

    >>> (kernel_directory() / "README.md").is_file()
    True
    """
    installed = package / "kernels"
    if installed.is_dir():
        return installed
    beside = package.parent / "kernels"
    # Any folder may be called "kernels"; a checkout also has the build description of the package.
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    msg = (
        f"kernels: no folder of kernel sources at {installed} (installed) or {beside} (checkout);"
        " install the package again"
    )
    raise FileNotFoundError(msg)


def header_directory() -> Path:
    """The folder of what kernels include. FileNotFoundError as of `kernel_directory`."""
    return kernel_directory() / "include"
