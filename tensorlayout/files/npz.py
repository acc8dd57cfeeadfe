"""NumPy's file of several arrays by name: a zip archive of its files of one."""

from __future__ import annotations

import zipfile
from typing import IO

from tensorlayout.files import npy
from tensorlayout.tensor import Tensor


def prepared(tensors: dict[str, Tensor]) -> dict[str, npy.Elements]:
    """Return what to write. ValueError for a name that an archive would cut."""
    for key in tensors:
        if "\0" in key:
            raise ValueError(f"names in an archive end at a null character, {key!r} has one")
    return {key: npy.prepared(x) for key, x in tensors.items()}


def put(file: IO[bytes], ready: dict[str, npy.Elements]) -> None:
    """Write the archive, not compressed, as `numpy.savez` does."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, elements in ready.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.put(member, elements)


def read(file: str | IO[bytes]) -> dict[str, Tensor]:
    """Return the tensors by name."""
    found = {}
    with zipfile.ZipFile(file) as archive:
        for name, member in _names(archive.namelist()).items():
            with archive.open(member) as elements:
                found[name] = npy.got(elements, archive.getinfo(member).file_size)
    return found


def _names(members: list[str]) -> dict[str, str]:
    """Return the members by name: as in NumPy, ``a.npy`` is called ``a`` unless another one is."""
    names: dict[str, str] = {}
    for member in sorted(members, key=len):
        short = member.removesuffix(".npy")
        free = names.get(short, member) == member
        names[short if free else member] = member
    places = {member: place for place, member in enumerate(members)}
    return dict(sorted(names.items(), key=lambda item: places[item[1]]))
