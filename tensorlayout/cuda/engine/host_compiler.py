"""Kernels made into shared objects by the C++ compiler of the host, for the simulator."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from tensorlayout.cuda.engine import disk_cache, kernel_shapes
from tensorlayout.cuda.engine.driver import Counters
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

# No -march=native: cached files may meet another processor.
FLAGS = (
    "-std=c++17",
    "-O1",  # -O2 takes twice as long, and most of what is simulated is small
    "-fPIC",
    "-ffp-contract=off",  # a result must not depend on what the compiler fuses
    "-fno-fast-math",
    "-fno-strict-aliasing",  # kernels move elements of one type as packs of another
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",  # nothing of one file may stand in for that of another
    "-fno-asynchronous-unwind-tables",  # which only exceptions and debuggers read
    "-U_FORTIFY_SOURCE",  # takes jumps between stacks for mistakes
    "-DTENSORLAYOUT_SIMULATOR",
)

# Included by the files that are compiled for most dtypes; with all that it includes, a fifth of the
# time that g++ takes for one of them. So g++ compiles it once.
_PRECOMPILED = "operations.cuh"

# Seconds that a compiler gets. The longest file takes 20 of them; a compiler that was stopped, or
# waits for an answer, would take for ever.
PATIENCE = 300


def run(command: list[str]) -> tuple[int, str, str]:
    """Run a command, for `PATIENCE` at most; return its exit status, what it wrote, its errors."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
        errors="replace",
        start_new_session=True,  # a compiler starts others: all of them are ended
    ) as started:
        try:
            written, said = started.communicate(timeout=PATIENCE)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            msg = f"cuda: {command[0]} was given {PATIENCE} seconds and has not ended"
            raise RuntimeError(msg) from None
    return started.returncode, written, said


@functools.cache
def compiler() -> tuple[tuple[str, ...], str]:
    """Return the command of the C++ compiler, ``$CXX`` first, and its version."""
    asked = os.environ.get("CXX")
    for command in [asked] if asked else ["g++", "clang++"]:
        words = tuple(shlex.split(command))
        if words and shutil.which(words[0]):
            return words, run([*words, "--version"])[1]
    found = f"CXX={asked}, which is not there" if asked else "none"
    msg = (
        f"cuda: the simulator needs a C++ compiler (g++ or clang++), and found {found};"
        " install one or set CXX"
    )
    raise RuntimeError(msg)


def shared_object(
    file: str, types: kernel_shapes.Types, counters: Counters, index: str = "int32_t"
) -> Path:
    """Compile a file of kernels, in all its shapes for the macros `types`, or find it in the cache.

    `index`: their macro INDEX, where they have it.
    """
    given = (*FLAGS, *shlex.split(os.environ.get("TENSORLAYOUT_SIMULATOR_FLAGS", "")))
    flags = (*given, *(f"-D{name}={value}" for name, value in types))
    path = kernel_directory() / file
    texts = disk_cache.sources(path, header_directory())
    unit = kernel_shapes.unit(file, types, index)
    key = f"{path.stem}-{_key(texts, *flags, unit)}"
    common, header = header_directory() / _PRECOMPILED, None
    if counters.compiles and common in texts and not disk_cache.is_kept(key, ".so"):
        included = _key(disk_cache.sources(common, header_directory()), *given)
        header = _precompiled(given, f"{common.stem}-{included}", disk_cache.folder())

    def make(target: Path) -> None:
        written, arguments = target.with_suffix(".cpp"), ("-shared", *flags, "-o", str(target))
        if header is not None:
            link = target.parent / f"{_PRECOMPILED}.gch"  # taken in place of what is included
            link.symlink_to(header)
            written.write_text(f'#include "{_PRECOMPILED}"\n{unit}', "utf-8")
            with contextlib.suppress(RuntimeError):  # some flags make headers that cannot be used
                _compile(path, *arguments, str(written))
                return
            link.unlink()
        written.write_text(unit, "utf-8")
        _compile(path, *arguments, str(written))

    return disk_cache.cached(key, ".so", make, counters)


@functools.cache
def _precompiled(flags: tuple[str, ...], key: str, place: Path) -> Path | None:
    """Compile the header that most files include; None where g++ cannot make it.

    `place`: the folder of the cache, to look again where that changes.
    """
    if "Free Software Foundation" not in compiler()[1]:  # others look for such headers elsewhere
        return None

    def make(target: Path) -> None:
        written = target.with_suffix(".hpp")
        written.write_text(f'#include "{_PRECOMPILED}"\n', "utf-8")
        _compile(written, *flags, "-x", "c++-header", str(written), "-o", str(target))

    try:
        return disk_cache.cached(key, ".gch", make, Counters())
    except RuntimeError:  # no room, or flags with which there is no such header
        return None


def _key(texts: dict[Path, bytes], *parts: str) -> str:
    """Return a name for what the compiler makes of these files, as it is told by `parts`."""
    command, version = compiler()
    names = (each.name for each in texts)
    return disk_cache.key_of(*command, version, *parts, *names, *texts.values())


def _compile(path: Path, *arguments: str) -> None:
    """Run the compiler; RuntimeError with its message about `path` if it fails."""
    command = compiler()[0]
    folders = (f"-I{each}" for each in (kernel_directory(), header_directory()))
    failed, _, said = run([*command, *folders, *arguments])
    if failed:
        msg = f"cuda: {command[0]} could not compile {path.name}:\n{said.strip()}"
        raise RuntimeError(msg)
