"""Devices: ``cpu`` and ``cuda:N``."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Device:
    """A place where tensors live; compares equal to its name.

    >>> as_device("cpu")
    Device('cpu')
    >>> as_device("cpu") == "cpu"
    True
    """

    kind: str
    number: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not isinstance(self.number, int):
            msg = f"Device: must be a kind and a number, got {self.kind!r} and {self.number!r}"
            raise TypeError(msg)

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.number}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, Device) and (self.kind, self.number) == (other.kind, other.number)

    def __hash__(self) -> int:
        return hash(str(self))


CPU = Device("cpu")


@functools.cache
def available() -> tuple[Device, ...]:
    """The devices of this machine, the CPU first."""
    return (CPU,)


def as_device(device: Any, argument: str = "device:") -> Device:
    """A `Device` from a device, its name, or None for the default.

    ValueError if it is not here, TypeError for what names none; `argument` is what errors call it,
    such as ``"zeros: device"``.
    """
    if device is None or device is CPU:
        return CPU
    found = next((d for d in available() if d == device or d.kind == device), None)
    if found is None:
        have = ", ".join(map(str, available()))
        known = isinstance(device, (str, Device))
        came = repr(device) if known else type(device).__name__
        msg = f"{argument} must be one of those available ({have}), got {came}"
        raise (ValueError if known else TypeError)(msg)
    return found
