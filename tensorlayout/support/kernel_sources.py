"""Locations of the CUDA sources: in the installed package, or next to it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def kernel_directory(package: Path = _PACKAGE) -> Path:
    """Return the folder of the kernel sources; FileNotFoundError if there is none."""
    installed, in_checkout = package / "kernels", package.parent / "kernels"
    if installed.is_dir():
        return installed
    # An unrelated folder may be called "kernels", but only a checkout has our build description.
    if in_checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return in_checkout
    raise FileNotFoundError(
        f"kernels: no folder of kernel sources at {installed} (installed) or {in_checkout} "
        "(checkout);"
        " install the package again"
    )


def header_directory() -> Path:
    """Return the folder of headers that kernels include."""
    return kernel_directory() / "include"
