"""Tensors in files, with their layouts: `save`, `savez` and `load`.

The formats belong to other libraries, which read and write them. Every file holds the elements in
the order that its format specifies, so that other programs read the right values; the text of the
layout is stored with them if the format cannot express it.

Above `functions`; only the package imports it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any, Literal, cast

from tensorlayout.devices import as_device
from tensorlayout.errors import short_repr
from tensorlayout.functions.arguments import as_tensor
from tensorlayout.functions.interchange import to_device
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor
from tensorlayout.typing import DeviceLike

__all__ = ["load", "save", "savez"]

_File = str | os.PathLike[str] | IO[bytes]
_FORMATS = {".npy": "npy", ".npz": "npz", ".safetensors": "safetensors", ".zarr": "zarr"}


def save(file: _File, x: Tensor | Mapping[str, Tensor], /) -> None:
    """Write a tensor, or several by name, to a file, with dtype and layout.

    - `file`: a path whose suffix selects the format, or an open binary file, which gets ``.npy``.
    - `x`: a tensor on any device, or a dict of tensors. ``.npy`` holds one row-major or
      column-major tensor, ``.npz`` several by name; ``.safetensors`` and ``.zarr``, which need
      those libraries, hold any.

    The file keeps a layout's form: order, padding and tiles, but not the gaps and repetitions of a
    view. It appears as a whole or not at all, and replaces an existing file at the end. dtypes:
    NumPy's files and Zarr have no bfloat16 and no narrow type; safetensors has no complex128, and
    of the narrow types only float8_e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e8m0fnu and, with an even last
    dimension, float4_e2m1fn.

    Raises `ValueError` if the format cannot express the form or the dtype, before anything is
    written; `TypeError` for an object that is not a tensor; `ImportError` if the library is
    missing.

    >>> import os, tempfile
    >>> import tensorlayout as tl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.npy")
    ...     tl.save(path, tl.asarray([[1, 2], [3, 4]], layout="F"))
    ...     tl.load(path).strides
    (1, 2)
    """
    file = _normalize_file(file, "write")
    kind = _FORMATS.get(os.path.splitext(file)[1].lower()) if isinstance(file, str) else "npy"
    if kind is None:
        raise ValueError(f"the path must end in {', '.join(_FORMATS)}, got {short_repr(file)}")
    if isinstance(x, Mapping):
        for name in x:
            if not isinstance(name, str):
                raise TypeError(f"names must be str, got {short_repr(name)}")
        x = {name: as_tensor(value, f"x[{name!r}]") for name, value in x.items()}
        if kind == "npy":
            raise ValueError(".npy holds one tensor; use .npz, .safetensors or .zarr for several")
    else:
        x = as_tensor(x, "x")
        if kind == "npz":
            raise ValueError(".npz holds tensors by name; use .npy, or savez")
    _write_file(file, kind, x)


def savez(file: _File, /, *args: Tensor, **kwargs: Tensor) -> None:
    """Write tensors to a ``.npz`` file of NumPy, by position and by name.

    - `file`: a path, to which ``.npz`` is appended if missing, or an open binary file.
    - `args`: tensors named ``arr_0``, ``arr_1`` and so on.
    - `kwargs`: tensors by name.

    dtypes: all except bfloat16 and narrow types. Layouts are those of `save` for ``.npy``.

    Raises errors as `save`; `ValueError` also if a name occurs twice.

    >>> import os, tempfile
    >>> import tensorlayout as tl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tl.savez(os.path.join(folder, "both"), tl.ones(2), scale=tl.zeros(3))
    ...     sorted(tl.load(os.path.join(folder, "both.npz")))
    ['arr_0', 'scale']
    """
    file = _normalize_file(file, "write")
    if isinstance(file, str) and not file.lower().endswith(".npz"):
        file += ".npz"
    tensors = {f"arr_{i}": x for i, x in enumerate(args)}
    if repeated_names := tensors.keys() & kwargs.keys():
        raise ValueError(f"{min(repeated_names)} is the name of an argument by position, too")
    tensors = {key: as_tensor(x, key) for key, x in (tensors | kwargs).items()}
    _write_file(file, "npz", tensors)


def load(
    file: _File,
    /,
    *,
    mmap_mode: Literal["r", "r+", "c"] | None = None,
    device: DeviceLike | None = None,
    out: Tensor | Mapping[str, Tensor] | None = None,
) -> Any:
    """Read a tensor, or a dict of tensors by name, from a file, in the layouts they had.

    - `file`: path of a ``.npy``, ``.npz`` or safetensors file or of a Zarr folder, or an open
      binary file of NumPy's formats, which is read from its position. The content decides about the
      format.
    - `mmap_mode`: map the memory of a ``.npy`` file: ``"r"`` read-only, ``"r+"`` written through,
      ``"c"`` written to memory only.
    - `device`: device of the tensors; by default the CPU.
    - `out`: a tensor, or a dict of tensors, that receives the elements and is returned. It needs
      the shape and dtype in the file, and keeps its layout and device.

    Returns tensors of any dtype, as stored. Layout: the stored one; files of other programs give
    row-major tensors, or column-major ones if ``.npy`` files are. With `out`, Zarr and ``.npy``
    need no other memory of that size.

    Raises `ValueError` for an `out` that does not match, with nothing written, and for a file
    that is truncated, damaged, of another format, or has far more padding than elements;
    `OSError` if it cannot be read; `ImportError` if the library is missing. Nothing in a file is
    executed.

    >>> import os, tempfile
    >>> import tensorlayout as tl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.npy")
    ...     tl.save(path, tl.ones(3))
    ...     tl.load(path)
    Tensor([1., 1., 1.], dtype=float64, device='cpu')
    """
    file = _normalize_file(file, "readinto")
    if mmap_mode not in (None, "r", "r+", "c"):
        raise ValueError(f"mmap_mode must be None, 'r', 'r+' or 'c', got {short_repr(mmap_mode)}")
    if out is not None and (mmap_mode is not None or device is not None):
        other = "mmap_mode" if mmap_mode is not None else "device"
        raise ValueError(f"out is memory of its own; leave {other} out")
    target_device = None if device is None else as_device(device, "device")
    targets = None if out is None else import_lazily("tensorlayout.files.forms").Targets(out)
    kind = _detect_format(file)
    if mmap_mode and (kind != "npy" or not isinstance(file, str)):
        raise ValueError(f"only .npy at a path can be mapped, not {file}")
    module = import_lazily(f"tensorlayout.files.{kind}")
    try:
        if targets is not None and kind == "zarr":
            return module.read_file(file, targets)
        # A mapped file can be copied to `out` without other memory of its size.
        mode = "r" if targets is not None and kind == "npy" and isinstance(file, str) else mmap_mode
        loaded_tensors = module.map_file(file, mode) if mode else module.read_file(file)
        if targets is not None:
            targets.copy_into_destinations(loaded_tensors)
            return targets.out
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        # Libraries do not document what they raise for broken files.
        if targets is not None and error is targets.mismatch_error:
            raise
        # Libraries raise OSErrors without a number, and the system EINVAL if a damaged file makes
        # a library seek to a negative position. Other OSErrors are not the file's fault.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise ValueError(f"{file} is damaged, or not for tensors: {error}") from error
    if target_device is None:
        return loaded_tensors
    if isinstance(loaded_tensors, Tensor):
        return to_device(loaded_tensors, target_device)
    return {name: to_device(x, target_device) for name, x in loaded_tensors.items()}


def _normalize_file(file: Any, method_name: str) -> str | IO[bytes]:
    """Return an open file that has `method_name`, else a path; TypeError for other types."""
    if hasattr(file, method_name):
        return cast(IO[bytes], file)
    try:
        return os.fsdecode(file)
    except TypeError:
        raise TypeError(
            f"file must be a path or an open binary file, got {short_repr(file)}"
        ) from None


def _write_file(file: str | IO[bytes], kind: str, x: Tensor | dict[str, Tensor]) -> None:
    module = import_lazily(f"tensorlayout.files.{kind}")
    contents = module.prepare_contents(x)
    if not isinstance(file, str):
        module.write_stream(file, contents)
        return
    with _replace_when_complete(file) as temporary_path:
        if kind not in ("npy", "npz"):
            module.write_path(temporary_path, contents)
            return
        with open(temporary_path, "xb") as stream:
            module.write_stream(stream, contents)


def _detect_format(file: str | IO[bytes]) -> str:
    """Return the format of a path or an open file, by its first bytes."""
    if not isinstance(file, str):
        start_position = file.tell()
        first_bytes = file.read(10)
        file.seek(start_position)
    elif os.path.isdir(file):
        return "zarr"
    else:
        with open(file, "rb") as stream:
            first_bytes = stream.read(10)
    if first_bytes.startswith(b"\x93NUMPY"):
        return "npy"
    # An archive without members consists of its end record, PK 5 6.
    if first_bytes.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    # safetensors: 8 bytes with the length of the header, then the header in JSON.
    if first_bytes[8:9] == b"{" and isinstance(file, str):
        return "safetensors"
    pickle_note = (
        "; a pickle can run any code, so it is not read" if first_bytes[:1] == b"\x80" else ""
    )
    raise ValueError(f"{file} is no .npy, .npz, .safetensors or Zarr{pickle_note}")


@contextlib.contextmanager
def _replace_when_complete(path: str) -> Iterator[str]:
    """Yield a path in a hidden folder next to `path`, which replaces `path` at the end."""
    # If the path is a link, replace what it points to, not the link.
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        code = errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT
        raise OSError(code, os.strerror(code), folder)
    # Only a Zarr folder may be replaced: saving must not delete anything else.
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, "zarr.json")):
        raise ValueError(f"{path} is a folder of something else")
    # In the same folder, so that the replacement is a rename within one file system.
    temporary_directory = import_lazily("tempfile").TemporaryDirectory
    with temporary_directory(
        dir=folder, prefix=".", ignore_cleanup_errors=True
    ) as temporary_folder:
        temporary_path = os.path.join(temporary_folder, f"new.part{os.path.splitext(name)[1]}")
        replaced_path = f"{temporary_path}.old"
        try:
            yield temporary_path
            if os.path.isdir(path):  # os.replace fails for a folder that is not empty
                os.rename(path, replaced_path)
                os.rename(temporary_path, path)
            else:
                os.replace(temporary_path, path)
        except BaseException:
            # Interrupted between the two renames: restore the old folder.
            if os.path.isdir(replaced_path) and not os.path.exists(path):
                os.rename(replaced_path, path)
            raise
