"""NumPy's ``.npz`` files: a zip archive of ``.npy`` files."""

from __future__ import annotations

import zipfile
from typing import IO

from tensorlayout.files import npy
from tensorlayout.tensor import Tensor


def prepare_contents(tensors: dict[str, Tensor]) -> dict[str, npy.Elements]:
    """Return the elements to write by name; ValueError for a name with a null character."""
    for key in tensors:
        if "\0" in key:
            raise ValueError(f"names in an archive end at a null character, {key!r} has one")
    return {key: npy.prepare_contents(x) for key, x in tensors.items()}


def write_stream(file: IO[bytes], contents: dict[str, npy.Elements]) -> None:
    """Write the archive uncompressed, as `numpy.savez`."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, elements in contents.items():
            # The header of a member precedes its elements, when its size is still unknown: without
            # force_zip64 zipfile refuses to go beyond 2 GiB.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_stream(member, elements)


def read_file(file: str | IO[bytes]) -> dict[str, Tensor]:
    """Read the tensors of an .npz archive, by name."""
    tensors = {}
    with zipfile.ZipFile(file) as archive:
        for name, member in _members_by_name(archive.namelist()).items():
            with archive.open(member) as elements:
                tensors[name] = npy.read_stream(elements, archive.getinfo(member).file_size)
    return tensors


def _members_by_name(members: list[str]) -> dict[str, str]:
    """Return the members by name: as in NumPy, ``a.npy`` is ``a`` unless another member is."""
    names: dict[str, str] = {}
    # Shorter names first: where both exist, "a" gets its own name, and "a.npy" keeps the suffix.
    for member in sorted(members, key=len):
        short_name = member.removesuffix(".npy")
        is_free = names.get(short_name, member) == member
        names[short_name if is_free else member] = member
    member_positions = {member: position for position, member in enumerate(members)}
    return dict(sorted(names.items(), key=lambda item: member_positions[item[1]]))
