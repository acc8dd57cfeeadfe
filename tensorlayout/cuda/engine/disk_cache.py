"""Cache of compiled kernels on disk, by a hash of all inputs of the compiler.

An entry is one file, ``<key><suffix>``: the compiler's output, then a checksum, which loaders
ignore. It is created by an atomic rename, so readers see all of it or nothing. An entry whose
checksum does not match is compiled again. Changed sources leave old entries behind, which are
removed once they have been unused for `MAX_AGE`.

Entries are loaded and executed. So folders and entries are used only if they belong to this user
and no other user can write to them; otherwise a folder for temporary files takes their place.
Windows has no such owners and modes: there, the folders of the user's profile are taken as they
are.
"""

from __future__ import annotations

import contextlib
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
from tensorlayout.support.lazy_imports import import_lazily

MAX_AGE = 60 * 24 * 3600  # seconds since the last use
PATIENCE = 300  # seconds to wait for another process that compiles the same entry
_ROOM = 2**22  # free bytes below which an error of the compiler means a full disk

# Names of entries, and of folders in which one is compiled. Nothing else is ever removed, because
# the user may have other files in the folder.
_OURS = re.compile(r".*[0-9a-f]{32}((\.[0-9a-f]{16})?\.\w+|-\w+)")

_CHECKSUM_BYTES = hashlib.sha256().digest_size

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)


def read_with_includes(path: Path, folder: Path) -> dict[str, bytes]:
    """Return the text of a file and of all files that it includes by ``#include "…"``, recursively.

    Keys are the names in the includes, in order of first mention. Headers are looked up in the
    folder of the including file, then in `folder`; a missing one is left to the compiler's message.
    All branches of ``#if`` count.
    """
    texts: dict[str, bytes] = {}

    def read_file_and_includes(name: str, file: str) -> None:
        status = os.stat(file)
        texts[name], headers = _read_text_and_includes(file, status.st_mtime_ns, status.st_size)
        for header in headers:
            if header not in texts:
                places = (os.path.join(base, header) for base in (os.path.dirname(file), folder))
                place = next(filter(os.path.isfile, places), None)
                if place is not None:
                    read_file_and_includes(header, place)

    read_file_and_includes(path.name, str(path))
    return texts


# Kernels share most headers, so reading them again would be half the time of a first call whose
# kernel is on disk.
@functools.lru_cache
def _read_text_and_includes(file: str, mtime_ns: int, size: int) -> tuple[bytes, list[str]]:
    """Return the text of a file with this time and size, and the names in its includes."""
    with open(file, "rb") as opened:
        text = opened.read()
    return text, [header.decode() for header in _INCLUDE.findall(text)]


def cache_key(*parts: str | bytes) -> str:
    """Return a hash of all `parts` in order, 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # The length in front keeps the parts "ab", "c" apart from "a", "bc".
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


def cached_file(key: str, suffix: str, make: Callable[[Path], None], counters: Counters) -> Path:
    """Return the entry of `key`; a missing one is written by ``make(path)``, to a temporary path.

    Raises RuntimeError if no folder can hold it, or from the compiler.
    """
    place = cache_folder()
    try:
        return _find_or_make_entry(place, key + suffix, make, counters)
    except (OSError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and _has_free_space(place):
            raise  # an error in the source, not a full disk
        reason = error
    try:
        return _find_or_make_entry(temporary_folder(), key + suffix, make, counters)
    except OSError as error:
        msg = (
            f"cuda: compiled kernels can be kept neither in {place} ({reason}) nor in"
            f" {temporary_folder()} ({error}); set TENSORLAYOUT_CACHE_DIR to a folder of "
            "yours with room"
        )
        raise RuntimeError(msg) from None


def read_entry(entry: Path) -> bytes:
    """Return the compiler's output in an entry from `cached_file`, without the checksum."""
    return entry.read_bytes()[:-_CHECKSUM_BYTES]


def _find_or_make_entry(
    folder: Path, name: str, make: Callable[[Path], None], counters: Counters
) -> Path:
    entry = folder / name
    if not _touch_if_intact(entry):
        with _entry_lock(folder, name):
            if not _touch_if_intact(entry):
                _make_entry(entry, make)
                counters.compiles += 1
                return entry
    counters.cache_hits += 1
    return entry


def _touch_if_intact(entry: Path) -> bool:
    """Return whether an entry exists, is intact and is ours; also update its time of last use."""
    try:
        with _open_private_file(entry) as file:
            whole = file.read()
            with contextlib.suppress(OSError):
                os.utime(entry)
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
        new_file.chmod(0o700)  # the umask may have allowed others to write
        checksum = hashlib.sha256(new_file.read_bytes()).digest()
        with new_file.open("ab") as file:
            file.write(checksum)
        # A file is replaced, but not a folder, which may stand in its place.
        _remove_if_possible(entry)
        try:
            new_file.replace(entry)
        except PermissionError:  # Windows replaces no file that another process reads
            if not _touch_if_intact(entry):
                raise


@contextlib.contextmanager
def _entry_lock(folder: Path, name: str) -> Iterator[None]:
    """Lock an entry, so that the first of several processes compiles it and the others find it.

    The lock is on one byte of a file, chosen by `name`; the system releases it when the process
    ends. If files cannot be locked (Windows has no POSIX locks), or the other process takes too
    long (it may be stopped), each process compiles the entry, which is just as correct.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            fcntl = import_lazily("fcntl")
            # POSIX locks exclude other processes only. Launchers have a lock of their own; other
            # threads may both compile, which is harmless.
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
    """Open a regular file of ours that no other user can write to. Raises OSError for others."""
    # Without O_NONBLOCK, opening a named pipe would block. Windows has neither flag.
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    number = os.open(path, flags, 0o600)
    try:
        status = os.fstat(number)
        if not (stat.S_ISREG(status.st_mode) and _is_writable_by_us_only(status)):
            raise PermissionError(f"{path} is no file of this user alone")
        return open(number, "r+b" if flags & os.O_RDWR else "rb", 0)
    except BaseException:
        os.close(number)
        raise


def _is_writable_by_us_only(status: os.stat_result) -> bool:
    """Return whether a file belongs to us, and no other user can write to it; True on Windows."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _forbids_execution(folder: Path) -> bool:
    """Return whether a folder is known to be mounted with noexec; only Linux tells."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


@functools.cache
def _remove_unused_entries(folder: Path) -> None:
    """Remove entries not used for `MAX_AGE`; once per process and folder."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may remove the same entry
            unused = time.time() - path.lstat().st_mtime > MAX_AGE
            if unused and _OURS.fullmatch(path.name):
                _remove_if_possible(path)


def _remove_if_possible(path: Path) -> None:
    """Remove a file, or the folder of a process that was killed; ignore errors."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()


def cache_folder() -> Path:
    """Return ``$TENSORLAYOUT_CACHE_DIR``, or a folder in the user's cache, or a temporary one."""
    folder_setting = os.environ.get("TENSORLAYOUT_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return (
        _usable_cache_folder(Path(folder_setting or os.path.join(base, "tensorlayout")))
        or temporary_folder()
    )


def _usable_cache_folder(folder: Path) -> Path | None:
    """Return the resolved folder if only we can write to it, and files in it can be executed."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = folder.resolve(strict=True)  # a symbolic link could be changed after the checks
        if not _is_writable_by_us_only(folder.stat()) or _forbids_execution(folder):
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, ValueError, RuntimeError):  # also invalid names, and loops of links
        return None


def _has_free_space(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free >= _ROOM
    except OSError:
        return False


@functools.cache
def temporary_folder() -> Path:
    """Return the user's folder among temporary files, or a new one if that is not usable."""
    user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    place = Path(tempfile.gettempdir()) / f"tensorlayout{user}"
    if not place.is_symlink() and (usable := _usable_cache_folder(place)):
        return usable
    return Path(tempfile.mkdtemp(prefix="tensorlayout-"))
