"""Devices: ``cpu`` and ``cuda:N``; which are here, and which one new tensors get."""

from __future__ import annotations

import functools
import os
from typing import Any

from tensorlayout.errors import refuse, shown
from tensorlayout.support.context_blocks import Block, Scope
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.support.light_dataclasses import frozen


@frozen
class Device:
    """A place where tensors live; compares equal to its name.

    >>> import tensorlayout as tl
    >>> tl.Device("cpu"), tl.Device("cpu") == "cpu"
    (Device('cpu'), True)
    """

    kind: str
    number: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not isinstance(self.number, int):
            came = f"{shown(self.kind)} and {shown(self.number)}"
            refuse("Device", f"must be a kind and a number, got {came}", TypeError)

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.number}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, Device) and (self.kind, self.number) == (other.kind, other.number)

    def __hash__(self) -> int:
        return hash("cpu" if self.kind == "cpu" else str(self))  # of its name, to which it is equal


CPU = Device("cpu")

VARIABLE = "TENSORLAYOUT_DEFAULT_DEVICE"

# The extra that brings CUDA, for errors.
_INSTALL = "pip install tensorlayout[cuda12]"
_SIMULATE = "TENSORLAYOUT_CUDA_SIMULATOR=1 simulates one"


@functools.cache
def available() -> tuple[Device, ...]:
    """The devices of this machine, the CPU first."""
    return (CPU, *_cuda()[0])


@functools.cache
def _cuda() -> tuple[tuple[Device, ...], str]:
    """The CUDA devices, or why there are none; the driver is imported here, when asked for."""
    from importlib.util import find_spec

    simulated = os.environ.get("TENSORLAYOUT_CUDA_SIMULATOR", "0") not in ("", "0")
    if not simulated and find_spec("cupy") is None:
        return (), f"cuda needs an NVIDIA GPU and CuPy: {_INSTALL}; {_SIMULATE}"
    try:
        count = loaded("tensorlayout.cuda.engine.driver").driver().device_count()
    except Exception as error:  # whatever a driver raises, there are no devices
        found = str(error).removeprefix("cuda: ").partition("\n")[0]
        told = simulated or "pip install" in found
        return (), f"cuda: {found}" + ("" if told else f" ({_INSTALL}, and an NVIDIA GPU)")
    devices = tuple(Device("cuda", number) for number in range(count))
    return devices, "" if devices else f"cuda finds no NVIDIA GPU ({_INSTALL})"


def why_no_cuda() -> str:
    """Return why no CUDA device is here, and what would help; empty where there is one."""
    return _cuda()[1]


def as_device(device: Any, argument: str = "device:") -> Device:
    """A `Device` from a device, its name, or None for the default.

    ``"cuda"`` is the first of its kind. ValueError for one that is not here, TypeError for what
    names none; `argument` is what errors call it, such as ``"zeros: device"``.
    """
    if device is None:
        return default_device()
    known = isinstance(device, (str, Device))
    if device is CPU or (known and device == CPU):
        return CPU
    found = next((d for d in available() if known and (d == device or d.kind == device)), None)
    if found is None:
        have = ", ".join(map(str, available()))
        came = shown(device) if known else type(device).__name__
        why = why_no_cuda() if known and str(device).startswith("cuda") else ""
        msg = f"{argument} must be one of those available ({have}), got {came}"
        raise (ValueError if known else TypeError)(f"{msg}; {why}" if why else msg)
    return found


_using: Scope[Device] = Scope("using", lasting=True)
_process_default: Device | None = None


def default_device() -> Device:
    """The device of new tensors that are made without ``device=``.

    That of the innermost `using_device` block; else what `set_default_device` set; else what the
    variable ``TENSORLAYOUT_DEFAULT_DEVICE`` names; else the CPU. ValueError if the variable names a
    device that is not here.

    Tensors made from tensors, and from arrays that have a device, stay where those are.

    >>> import tensorlayout as tl
    >>> with tl.using_device("cpu"):
    ...     tl.default_device()
    Device('cpu')
    """
    return _using.get() or _process_default or _named_by_the_variable()


@functools.cache
def _named_by_the_variable() -> Device:
    return as_device(os.environ.get(VARIABLE) or CPU, VARIABLE)


def set_default_device(device: Device | str | None) -> None:
    """Make `device` the default of the process, in all threads; None: as it was at the start.

    A `using_device` block keeps its own. ValueError for a device that is not here.

    >>> import tensorlayout as tl
    >>> tl.set_default_device("cpu")
    >>> tl.default_device()
    Device('cpu')
    >>> tl.set_default_device(None)
    """
    global _process_default
    _process_default = None if device is None else as_device(device, "set_default_device: device")


def using_device(device: Device | str) -> Block[Device, Device]:
    """Make `device` the default inside the block: of this thread, and of tasks begun in it.

    ValueError for a device that is not here.

    >>> import tensorlayout as tl
    >>> with tl.using_device("cpu"):
    ...     print(tl.zeros(2).device)
    cpu
    """
    if device is None:
        refuse("using_device", "device must be a device or its name, got None", TypeError)
    return _using.saying(as_device(device, "using_device: device"))
