"""Placement of operands' storage: anywhere, at odd addresses, or between guard pages.

With `pages` set, what is read or written beyond either end ends the process, instead of going on
with what happens to lie there; so does a write to storage that is read-only.
"""

from __future__ import annotations

import ctypes
import mmap
import zlib
from contextlib import contextmanager, nullcontext

import numpy as np
import numpy_memory
import tensors
from tensors import as_dtype

import tensorlayout as tl

_NOTHING, _READ = 0, mmap.PROT_READ
_PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

pages = False


@contextmanager
def guarded(active=True):
    """While the block lasts, operands on the CPU lie beside pages of no access.

    Before them too, some of them; and NumPy's new arrays, where there is a compiler.
    """
    global pages
    before, pages = pages, active
    ours = numpy_memory.ours(guard=True) if active and numpy_memory.library() else nullcontext()
    try:
        with ours:
            yield
    finally:
        pages = before


def stored(values, layout, fill_padding=False, shift=0, readonly=False):
    """As `tensors.over`: slots that hold a copy of `values`.

    `shift`: how many **bytes** the storage begins behind an address that suits its dtype.
    """
    if tl.default_device() != "cpu":
        x = tensors.over(values, layout, fill_padding)
        return tensors.read_only(x) if readonly else x
    octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    place = _beside_a_page if pages else _anywhere
    octets = place(octets, shift, values.dtype.itemsize, readonly)
    filled = fill_padding and not readonly  # the values have it already
    return tl.from_storage(octets, layout, dtype=as_dtype(values.dtype.name), fill_padding=filled)


def _anywhere(octets, shift, itemsize, readonly):
    if not shift:
        result = octets.copy()
    else:
        room = np.empty(octets.size + shift + itemsize, np.uint8)
        first = -room.ctypes.data % itemsize + shift
        result = room[first : first + octets.size]
        result[...] = octets
    result.flags.writeable = not readonly
    return result


def _beside_a_page(octets, shift, itemsize, readonly):
    """A copy that ends, or begins, where memory does; the same values lie the same way."""
    used = -(-(octets.size + shift) // _PAGE) * _PAGE or _PAGE
    memory = mmap.mmap(-1, used + 2 * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    at_end = zlib.crc32(octets[:64].tobytes()) % 3 < 2
    first = _PAGE + used - octets.size - (-shift % itemsize) if at_end else _PAGE + shift
    result = whole[first : first + octets.size]
    result[...] = octets
    address = whole.ctypes.data
    for start, access in ((0, _NOTHING), (_PAGE + used, _NOTHING)):
        _protect(address + start, _PAGE, access)
    if readonly:
        _protect(address + _PAGE, used, _READ)
        result.flags.writeable = False
    return result


def _protect(address, count, access):
    if _libc.mprotect(address, count, access):
        raise OSError(ctypes.get_errno(), "mprotect")
