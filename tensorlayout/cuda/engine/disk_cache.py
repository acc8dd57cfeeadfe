"""Compiled kernels kept on disk, found again by everything that went into them.

An entry is one file, ``<key><suffix>``: what the compiler made, then a checksum, which loaders pass
over. It appears by an atomic rename, so a reader sees all of it or nothing. One that does not fit
its checksum is made again. Every change of a header leaves some behind, which are removed later.

What is here is loaded and run. So folders and entries are used only where they are ours and nobody
else can write to them; in place of other folders, one in that for temporary files is used.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
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
from typing import Any

from tensorlayout.cuda.engine.driver import Counters

MAX_AGE = 60 * 24 * 3600  # seconds since the last use
PATIENCE = 300  # seconds that a process waits for another one that makes the same entry
_ROOM = 2**22  # free bytes that a compiler needs at least

# Names of entries, and of folders in which one is being made. Nothing else is ever removed: the
# folder may be one that the user also has other files in.
_OURS = re.compile(r".*[0-9a-f]{32}((\.[0-9a-f]{16})?\.\w+|-\w+)")

_CHECKSUM_BYTES = hashlib.sha256().digest_size

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)


def read_with_includes(path: Path, folder: Path) -> dict[str, bytes]:
    """Read a file and all that it includes by ``#include "…"``, in order of first mention.

    The keys are the names in the includes. Headers are looked up beside the file that includes
    them, then in `folder`. One that is in neither is left to the compiler's message. Branches of
    ``#if`` are not told apart.
    """
    texts: dict[str, bytes] = {}

    def read_file_and_includes(name: str, file: str) -> None:
        with open(file, "rb") as opened:
            texts[name] = text = opened.read()
        for header in map(bytes.decode, _INCLUDE.findall(text)):
            places = [os.path.join(base, header) for base in (os.path.dirname(file), str(folder))]
            place = next(filter(os.path.isfile, places), None)
            if place is not None and header not in texts:
                read_file_and_includes(header, place)

    read_file_and_includes(path.name, str(path))
    return texts


def cache_key(*parts: str | bytes) -> str:
    """Return 32 hexadecimal digits for all `parts` together, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


def cached_file(key: str, suffix: str, make: Callable[[Path], None], counters: Counters) -> Path:
    """Return the file of `key`. Where there is none, ``make(path)`` writes it, elsewhere at first.

    RuntimeError where no folder can take it.
    """
    place = cache_folder()
    try:
        return _cached_in_folder(place, key + suffix, make, counters)
    except (OSError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and _has_free_space(place):
            raise  # the compiler's own
        reason = error
    try:
        return _cached_in_folder(temporary_folder(), key + suffix, make, counters)
    except OSError as error:
        msg = (
            f"cuda: compiled kernels can be kept neither in {place} ({reason}) nor in"
            f" {temporary_folder()} ({error}); set TENSORLAYOUT_CACHE_DIR to a folder of "
            "yours with room"
        )
        raise RuntimeError(msg) from None


def read_entry(entry: Path) -> bytes:
    """Read what was made for an entry that `cached` gave."""
    return entry.read_bytes()[:-_CHECKSUM_BYTES]


def _cached_in_folder(
    folder: Path, name: str, make: Callable[[Path], None], counters: Counters
) -> Path:
    entry = folder / name
    if not _is_complete_entry(entry):
        with _entry_lock(folder, name):
            if not _is_complete_entry(entry):
                _make_entry(entry, make)
                counters.compiles += 1
                return entry
    counters.cache_hits += 1
    return entry


def _is_complete_entry(entry: Path) -> bool:
    """Return whether an entry is there, as it was made, and ours; note that it is used."""
    try:
        with _open_private_file(entry) as file:
            whole = file.read()
            with contextlib.suppress(OSError):
                os.utime(file.fileno())
    except OSError:  # it is not there, or no file of ours
        return False
    checksum = hashlib.sha256(whole[:-_CHECKSUM_BYTES]).digest()
    return bool(checksum == whole[-_CHECKSUM_BYTES:])


def _make_entry(entry: Path, make: Callable[[Path], None]) -> None:
    _remove_unused_entries(entry.parent)
    with tempfile.TemporaryDirectory(
        prefix=f"{entry.stem}-", dir=entry.parent, ignore_cleanup_errors=True
    ) as own:
        new_file = Path(own) / f"made{entry.suffix}"
        make(new_file)
        new_file.chmod(0o700)  # whatever the mask of new files lets others do
        checksum = hashlib.sha256(new_file.read_bytes()).digest()
        with new_file.open("ab") as file:
            file.write(checksum)
        _remove_if_possible(entry)
        new_file.rename(entry)


@contextlib.contextmanager
def _entry_lock(folder: Path, name: str) -> Iterator[None]:
    """Let processes that want the same entry take turns: the first makes it, the others find it.

    A byte of one file is locked, a byte for each name, until the process lets go of it or ends.
    Where files cannot be locked, or the other process takes too long (it may have been stopped),
    each process makes the entry, which is as right and slower.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            file = stack.enter_context(_open_private_file(folder / "turns", os.O_RDWR | os.O_CREAT))
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(name.encode()))
                    break
                except (BlockingIOError, PermissionError):  # another process has it
                    time.sleep(0.02)
        yield


def _open_private_file(path: Path, flags: int = os.O_RDONLY) -> Any:
    """Open a regular file of ours that nobody else can write to. OSError for others."""
    # Without O_NONBLOCK, a named pipe would make it wait.
    number = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        status = os.fstat(number)
        if not (stat.S_ISREG(status.st_mode) and _is_writable_by_us_only(status)):
            raise PermissionError(f"{path} is no file of this user alone")
        return open(number, "rb" if flags == os.O_RDONLY else "r+b", 0)
    except BaseException:
        os.close(number)
        raise


def _is_writable_by_us_only(status: os.stat_result) -> bool:
    """Return whether a file is ours, and nobody else can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


@functools.cache
def _remove_unused_entries(folder: Path) -> None:
    """Remove entries that nobody has used for long; once in a process."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may be doing the same
            unused = time.time() - path.lstat().st_mtime > MAX_AGE
            if unused and _OURS.fullmatch(path.name):
                _remove_if_possible(path)


def _remove_if_possible(path: Path) -> None:
    """Remove what can be removed; a folder is left by a process that was killed."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()


def cache_folder() -> Path:
    """Return ``$TENSORLAYOUT_CACHE_DIR``, else ``tensorlayout`` in the user's cache, if usable."""
    asked = os.environ.get("TENSORLAYOUT_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return (
        _usable_cache_folder(Path(asked or os.path.join(base, "tensorlayout")))
        or temporary_folder()
    )


def _usable_cache_folder(folder: Path) -> Path | None:
    """Return `place`, if files of ours can be made there and run, and nobody else can make any."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = folder.resolve(strict=True)  # a link may be led elsewhere later
        if not _is_writable_by_us_only(folder.stat()) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, ValueError, RuntimeError):  # also of names that are none, and circles of links
        return None


def _has_free_space(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free >= _ROOM
    except OSError:
        return False


@functools.cache
def temporary_folder() -> Path:
    """Return the user's folder in the one for temporary files; a new one if it is not usable."""
    place = Path(tempfile.gettempdir()) / f"tensorlayout-{os.geteuid()}"
    if not place.is_symlink() and (usable := _usable_cache_folder(place)):
        return usable
    return Path(tempfile.mkdtemp(prefix="tensorlayout-"))
