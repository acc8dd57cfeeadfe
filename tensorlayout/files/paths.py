"""What is at a path, and how something new gets there: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import IO


def kind_of(file: str | IO[bytes]) -> str:
    """The format of what is at a path, or in an open file, by its first bytes."""
    if not isinstance(file, str):
        begin = file.tell()
        head = file.read(10)
        file.seek(begin)
    elif os.path.isdir(file):
        return "zarr"
    else:
        with open(file, "rb") as opened:
            head = opened.read(10)
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    if head[8:9] == b"{" and isinstance(file, str):
        return "safetensors"
    about = "; a pickle can run any code, so it is not read" if head[:1] == b"\x80" else ""
    msg = f"load: {file} is no .npy, .npz, .safetensors or Zarr{about}"
    raise ValueError(msg)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """A path beside the given one, which takes its place at the end, and goes after an error."""
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, "zarr.json")):
        msg = f"save: {path} is a folder of something else"
        raise ValueError(msg)
    part = os.path.join(folder, f".{secrets.token_hex(8)}.part{os.path.splitext(name)[1]}")
    old = f"{part}.old"
    try:
        yield part
        if os.path.isdir(path):  # nothing replaces a folder that is not empty
            os.rename(path, old)
            os.rename(part, path)
            shutil.rmtree(old)
        else:
            os.replace(part, path)
    except BaseException:
        if os.path.isdir(old) and not os.path.exists(path):
            os.rename(old, path)
        shutil.rmtree(old, ignore_errors=True)
        if os.path.isdir(part):
            shutil.rmtree(part, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.remove(part)
        raise
