"""Inspection: capabilities of this namespace and devices of this machine."""

from __future__ import annotations

from tensorlayout import devices, dtypes
from tensorlayout.dtypes import DType
from tensorlayout.errors import call_with_error_name
from tensorlayout.functions.data_types import isdtype
from tensorlayout.typing import DeviceLike, Kind

__all__ = ["__array_namespace_info__"]


class NamespaceInfo:
    """The result of `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, bool | int]:
        """Return the capabilities: boolean masks, data-dependent shapes, ranks up to 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> devices.Device:
        """Return the default device of new tensors."""
        return devices.default_device()

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, DType]:
        """Return the dtypes of new tensors by kind of number."""
        devices.as_device(device, "default_dtypes: device")
        return {
            "real floating": dtypes.float64,
            "complex floating": dtypes.complex128,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(
        self, *, device: DeviceLike | None = None, kind: Kind | tuple[Kind, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes of a kind, by name; others such as float16 are left out."""
        devices.as_device(device, "dtypes: device")
        return {
            d.name: d
            for d in dtypes.STANDARD
            if kind is None or call_with_error_name("dtypes", isdtype, d, kind)
        }

    def devices(self) -> tuple[devices.Device, ...]:
        """Return the devices of this machine."""
        return devices.available_devices()


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """Return the capabilities of this namespace (standard: "Inspection").

    Takes no operands. The result has the methods `capabilities`, `default_device`,
    `default_dtypes`, `devices` and `dtypes`.

    >>> import tensorlayout as tl
    >>> tl.__array_namespace_info__().capabilities()["max dimensions"]
    64
    """
    return NamespaceInfo()
