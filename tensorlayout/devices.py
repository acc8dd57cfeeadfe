"""Devices ``cpu`` and ``cuda:N``: available ones, and the default for new tensors."""

from __future__ import annotations

import functools
import os
from typing import Any

from tensorlayout.errors import raise_named_error, short_repr
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import frozen_dataclass


@frozen_dataclass
class Device:
    """A device that holds tensors; it compares equal to its name.

    - `kind`: ``"cpu"`` or ``"cuda"``.
    - `number`: number of the device among those of its kind; 0 by default.

    Raises TypeError if `kind` is no text or `number` no integer.

    >>> import tensorlayout as tl
    >>> tl.Device("cpu"), tl.Device("cpu") == "cpu"
    (Device('cpu'), True)
    """

    kind: str
    number: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not isinstance(self.number, int):
            received = f"{short_repr(self.kind)} and {short_repr(self.number)}"
            raise_named_error("Device", f"must be a kind and a number, got {received}", TypeError)

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.number}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, Device) and (self.kind, self.number) == (other.kind, other.number)

    def __hash__(self) -> int:
        # A device equals its name, so both must have the same hash.
        return hash("cpu" if self.kind == "cpu" else str(self))


CPU = Device("cpu")

VARIABLE = "TENSORLAYOUT_DEFAULT_DEVICE"

# Advice for error messages.
_INSTALL = "pip install 'cupy-cuda12x[ctk]'"
_SIMULATE = "TENSORLAYOUT_CUDA_SIMULATOR=1 simulates one"


@functools.cache
def available_devices() -> tuple[Device, ...]:
    """Return the devices of this machine, the CPU first."""
    return (CPU, *_detect_cuda_devices()[0])


@functools.cache
def _detect_cuda_devices() -> tuple[tuple[Device, ...], str]:
    """Return the CUDA devices, and the reason if there are none. This imports the driver."""
    from importlib.util import find_spec

    simulated = os.environ.get("TENSORLAYOUT_CUDA_SIMULATOR", "0") not in ("", "0")
    # This looks for CuPy without importing it.
    if not simulated and find_spec("cupy") is None:
        return (), f"cuda needs an NVIDIA GPU and CuPy: {_INSTALL}; {_SIMULATE}"
    try:
        count = import_lazily("tensorlayout.cuda.engine.driver").driver().device_count()
    except Exception as error:  # any failure of the driver means that there are no devices
        reason = str(error).removeprefix("cuda: ").partition("\n")[0]
        has_advice = simulated or "pip install" in reason
        return (), f"cuda: {reason}" + ("" if has_advice else f" ({_INSTALL}, and an NVIDIA GPU)")
    devices = tuple(Device("cuda", number) for number in range(count))
    return devices, "" if devices else f"cuda finds no NVIDIA GPU ({_INSTALL})"


def cuda_unavailable_reason() -> str:
    """Return why there is no CUDA device, with advice; empty if there is one."""
    return _detect_cuda_devices()[1]


def as_device(device: Any, argument: str = "device:") -> Device:
    """Return a `Device` from a device, its name, or None for the default.

    ``"cuda"`` is the first CUDA device. `argument`: prefix of errors, such as ``"zeros: device"``.

    Raises ValueError for a device that is not available, TypeError for other objects.
    """
    if device is None:
        return default_device()
    is_name_or_device = isinstance(device, (str, Device))
    # Listing the other devices would import the CUDA driver.
    if device is CPU or (is_name_or_device and device == CPU):
        return CPU
    match = next(
        (d for d in available_devices() if is_name_or_device and (d == device or d.kind == device)),
        None,
    )
    if match is None:
        available_names = ", ".join(map(str, available_devices()))
        received = short_repr(device) if is_name_or_device else type(device).__name__
        reason = ""
        if is_name_or_device and str(device).startswith("cuda"):
            reason = cuda_unavailable_reason()
        elif is_name_or_device and str(device).lower().startswith("gpu"):
            reason = "GPUs are called 'cuda' or 'cuda:0'"
        msg = f"{argument} must be one of those available ({available_names}), got {received}"
        raise (ValueError if is_name_or_device else TypeError)(
            f"{msg}; {reason}" if reason else msg
        )
    return match


_device_scope: Scope[Device] = Scope("using", outlives_block=True)
_process_default: Device | None = None


def default_device() -> Device:
    """Return the device of new tensors that are created without ``device=``.

    It is the device of the innermost `using_device` block; otherwise the one from
    `set_default_device`, then from the environment variable ``TENSORLAYOUT_DEFAULT_DEVICE``, then
    the CPU. Tensors created from tensors, or from arrays with a device, stay on that device.

    Raises ValueError if the variable names a device that is not available.

    >>> import tensorlayout as tl
    >>> with tl.using_device("cpu"):
    ...     tl.default_device()
    Device('cpu')
    """
    return _device_scope.innermost_value() or _process_default or _device_from_environment()


@functools.cache
def _device_from_environment() -> Device:
    return as_device(os.environ.get(VARIABLE) or CPU, VARIABLE)


def set_default_device(device: Device | str | None) -> None:
    """Make `device` the default of the process, in all threads.

    `device`: a device or its name; None restores the default of the start of the process.
    `using_device` blocks keep their own default.

    Raises ValueError for a device that is not available, TypeError for other objects.

    >>> import tensorlayout as tl
    >>> tl.set_default_device("cpu")
    >>> tl.default_device()
    Device('cpu')
    >>> tl.set_default_device(None)
    """
    global _process_default
    _process_default = None if device is None else as_device(device, "set_default_device: device")


def using_device(device: Device | str) -> ScopeContext[Device, Device]:
    """Make `device` the default inside a ``with`` block.

    `device`: a device or its name. The default applies to this thread, and to asyncio tasks that
    are started in the block.

    Raises ValueError for a device that is not available, TypeError for other objects and None.

    >>> import tensorlayout as tl
    >>> with tl.using_device("cpu"):
    ...     print(tl.zeros(2).device)
    cpu
    """
    if device is None:
        raise_named_error(
            "using_device", "device must be a device or its name, got None", TypeError
        )
    return _device_scope.scope_with_value(as_device(device, "using_device: device"))
