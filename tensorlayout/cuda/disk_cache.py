"""Compiled kernels kept on disk, found again by everything that went into them.

An entry is one file, ``<key>.<checksum><suffix>``. It appears by an atomic rename, so a reader sees
all of it or nothing. Of processes that want the same kernel at once, one compiles it. An entry
whose content does not fit its checksum is removed and made again. One that was not used for long is
removed when another is made: every change of a header leaves some behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from tensorlayout.cuda.driver import Counters
from tensorlayout.layout.once import once

MAX_AGE = 60 * 24 * 3600  # seconds since the last use

# Names of entries, and of folders in which one is being made. Nothing else is ever removed: the
# folder may be one that the user also has other files in.
_OURS = re.compile(r".*[0-9a-f]{32}(\.[0-9a-f]{16}\.\w+|-\w+)")

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)


def sources(path: Path, folder: Path) -> dict[Path, bytes]:
    """A file and all that it includes by ``#include "…"``, in order of first mention: their texts.

    Headers are looked up beside the file that includes them, then in `folder`. One that is in
    neither is left to the compiler's message. Branches of ``#if`` are not told apart.
    """
    found: dict[Path, bytes] = {}

    def visit(file: Path) -> None:
        if file in found:
            return
        found[file] = text = file.read_bytes()
        for name in _INCLUDE.findall(text):
            places = (base / name.decode() for base in (file.parent, folder))
            header = next((place for place in places if place.is_file()), None)
            if header is not None:
                visit(header.resolve())

    visit(path.resolve())
    return found


def key_of(*parts: str | bytes) -> str:
    """A name for all `parts` together, in their order; 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


def cached(key: str, suffix: str, make: Callable[[Path], None], counters: Counters) -> Path:
    """The file of `key`. Where there is none, ``make(path)`` writes it, at a path of its own."""
    place = folder()
    found = _entry(place, key, suffix)
    if found is None:
        with _turn(place, key):
            found = _entry(place, key, suffix)
            if found is None:
                return _made(place, key, suffix, make, counters)
    counters.cache_hits += 1
    return found


def _entry(place: Path, key: str, suffix: str) -> Path | None:
    """The entry of `key`, if there is one that is whole; any other is removed."""
    for entry in place.glob(f"{key}.*{suffix}"):
        if entry.name == _entry_name(key, entry, suffix):
            with contextlib.suppress(OSError):  # a folder that may only be read is good enough
                os.utime(entry)
            return entry
        entry.unlink(missing_ok=True)
    return None


def _made(
    place: Path, key: str, suffix: str, make: Callable[[Path], None], counters: Counters
) -> Path:
    counters.cache_misses += 1
    _remove_unused(place)
    with tempfile.TemporaryDirectory(prefix=f"{key}-", dir=place) as own:
        made = Path(own) / f"made{suffix}"
        make(made)
        counters.compiles += 1
        return made.rename(place / _entry_name(key, made, suffix))


@contextlib.contextmanager
def _turn(place: Path, key: str) -> Iterator[None]:
    """Processes that want the same entry take turns: the first makes it, the others find it.

    A byte of one file is locked, a byte for each key, until the process lets go of it or ends.
    Where files cannot be locked, each process makes the entry, which is as right and slower.
    """
    with (place / "turns").open("ab") as file:
        with contextlib.suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, zlib.crc32(key.encode()))
        yield


def _remove_unused(place: Path) -> None:
    for path in place.iterdir():
        with contextlib.suppress(OSError):  # another process may be doing the same
            unused = time.time() - path.stat().st_mtime > MAX_AGE
            if unused and _OURS.fullmatch(path.name):
                if path.is_dir():  # left by a process that was killed
                    shutil.rmtree(path)
                else:
                    path.unlink()


def _entry_name(key: str, entry: Path, suffix: str) -> str:
    try:
        content = entry.read_bytes()
    except OSError:  # another process has just removed it, or it cannot be read
        return ""
    return f"{key}.{hashlib.sha256(content).hexdigest()[:16]}{suffix}"


def folder() -> Path:
    """Where entries are: ``$TENSORLAYOUT_CACHE_DIR``, else ``tensorlayout`` in the user's cache.

    If that cannot be written to, a folder of the user's in the one for temporary files.
    """
    asked = os.environ.get("TENSORLAYOUT_CACHE_DIR")
    if asked:
        return _usable(Path(asked)) or _temporary()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return _usable(Path(base) / "tensorlayout") or _temporary()


def _usable(place: Path) -> Path | None:
    """`place`, if files can be made in it."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError:
        return None


@once
def _temporary() -> Path:
    # What is here is loaded and run: nobody else may have made it, nor be able to write to it.
    place = Path(tempfile.gettempdir()) / f"tensorlayout-{os.getuid()}"
    if usable := _usable(place):
        status = usable.lstat()
        private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022
        if private and status.st_uid == os.getuid():
            return usable
    return Path(tempfile.mkdtemp(prefix="tensorlayout-"))
