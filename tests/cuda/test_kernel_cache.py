"""The cache of compiled kernels: what it trusts, and where it goes when a folder is no good."""

import errno
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
import zlib

import pytest
from simulated import needs_compiler

from tensorlayout.cuda.engine import disk_cache, simulator
from tensorlayout.cuda.engine.disk_cache import read_entry
from tensorlayout.cuda.engine.driver import Counters

OTHER = 12345  # the number of a user who is somebody else
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


def write(content):
    return lambda path: path.write_bytes(content)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The folder that takes the place of one that is no good."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(disk_cache.tempfile, "tempdir", str(tmp_path / "temporary"))
    disk_cache.temporary_folder.cache_clear()
    yield tmp_path / "temporary" / f"tensorlayout-{os.geteuid()}"
    disk_cache.temporary_folder.cache_clear()


WAYS = ["TENSORLAYOUT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"]


@pytest.fixture(params=WAYS)
def asked(request, tmp_path, monkeypatch, elsewhere):
    """The folder that each of the variables chooses, made."""
    for name in WAYS[:2]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(request.param, str(tmp_path / "home"))
    inside = {"XDG_CACHE_HOME": "tensorlayout", "HOME": ".cache/tensorlayout"}
    place = tmp_path / "home" / inside.get(request.param, "")
    place.mkdir(parents=True, mode=0o700)
    return place


@pytest.fixture
def place(tmp_path, monkeypatch, elsewhere):
    monkeypatch.setenv("TENSORLAYOUT_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def entry(content=b"one", key="key", counters=None):
    return disk_cache.cached_file(key, ".so", write(content), counters or Counters())


def planted(place, content=b"planted", key="key"):
    """An entry that fits its checksum, made by somebody else."""
    file = place / f"{key}.so"
    file.write_bytes(content + hashlib.sha256(content).digest())
    file.chmod(0o600)
    return file


def test_the_folder_of_each_variable_is_used(asked):
    assert entry().parent == asked
    planted(asked, key="other")
    assert read_entry(entry(b"ours", "other")) == b"planted"


def given_away(path):
    os.chown(path, OTHER, -1)


def of_mode(mode):
    return pytest.param(lambda path: path.chmod(mode), id=f"{mode:o}")


@pytest.mark.parametrize(
    "spoil", [pytest.param(given_away, marks=as_root), *map(of_mode, (0o770, 0o720, 0o702, 0o1777))]
)
def test_a_folder_of_others_or_that_others_can_write_to_is_not_trusted(asked, elsewhere, spoil):
    planted(asked)
    spoil(asked)
    result = entry()
    assert (result.parent, read_entry(result)) == (elsewhere, b"one")


@pytest.mark.parametrize(
    "spoil", [pytest.param(given_away, marks=as_root), *map(of_mode, (0o620, 0o602))]
)
def test_an_entry_of_others_or_that_others_can_write_to_is_made_again(asked, spoil):
    file = planted(asked)
    spoil(file)
    assert read_entry(entry()) == b"one"
    assert file.stat().st_uid == os.geteuid()


def test_a_link_is_followed_to_a_folder_of_ours_alone(asked, elsewhere, tmp_path):
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    asked.rmdir()
    asked.symlink_to(real)
    assert entry().parent == real
    real.chmod(0o777)
    assert entry().parent == elsewhere


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_an_entry_is_ours_whatever_the_mask_of_new_files(place, mask):
    before = os.umask(mask)
    try:
        first = entry()
        assert stat.S_IMODE(first.stat().st_mode) & 0o022 == 0
        assert entry(b"two") == first
    finally:
        os.umask(before)


def linked(path):
    (path.parent / "target").write_bytes(b"one")
    path.symlink_to(path.parent / "target")


IN_PLACE = {
    "fifo": os.mkfifo,
    "folder": lambda path: (path / "inside").mkdir(parents=True),
    "link": linked,
    "link to itself": lambda path: path.symlink_to(path.name),
    "truncated": lambda path: path.write_bytes(b"on"),
    "longer": lambda path: path.write_bytes(b"one more"),
}


@pytest.fixture
def soon():
    """Fail a test that waits."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("20 seconds have passed"))
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", IN_PLACE)
def test_what_is_in_the_place_of_an_entry_is_replaced(asked, kind, soon):
    file = planted(asked, b"one")
    file.unlink()
    IN_PLACE[kind](file)
    result = entry()
    assert (result, read_entry(result)) == (file, b"one")
    assert stat.S_ISREG(result.lstat().st_mode)


@pytest.mark.parametrize("kind", ["fifo", "folder", "link to itself"])
def test_what_is_in_the_place_of_the_lock_does_no_harm(asked, kind, soon):
    IN_PLACE[kind](asked / "turns")
    assert read_entry(entry()) == b"one"


def test_a_process_that_holds_the_lock_for_ever_is_not_waited_for_for_ever(
    place, monkeypatch, soon
):
    place.mkdir(mode=0o700)
    monkeypatch.setattr(disk_cache, "PATIENCE", 0.2)
    code = f"""
        import fcntl, os, signal
        file = open({str(place / "turns")!r}, "ab")
        os.chmod(file.fileno(), 0o600)
        fcntl.lockf(file, fcntl.LOCK_EX, 1, {zlib.crc32(b"key.so")})
        print("held", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            assert read_entry(entry()) == b"one"
        finally:
            other.kill()


def test_the_others_wait_for_the_one_that_makes_an_entry(place):
    place.mkdir(mode=0o700)
    code = """
        import sys, time
        from pathlib import Path
        from tensorlayout.cuda.engine import disk_cache
        from tensorlayout.cuda.engine.driver import Counters
        def make(path):
            time.sleep(0.3)
            path.write_bytes(b"one")
        counters = Counters()
        disk_cache.cached_file("key", ".so", make, counters)
        print(counters.compiles)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(item.communicate()[0] for item in started) == ["0\n", "1\n"]


# ---- Entries


def test_an_entry_is_made_once(place):
    counters = Counters()
    first = entry(b"one", counters=counters)
    again = entry(b"two", counters=counters)
    other = entry(b"three", "other", counters)
    assert first == again
    assert read_entry(first) == b"one"
    assert read_entry(other) == b"three"
    assert (counters.compiles, counters.cache_hits) == (2, 1)
    assert sorted(place.glob("*.*")) == sorted([first, other])


def test_entries_not_used_for_long_are_removed(place):
    used, unused, new = (f"copy-{disk_cache.cache_key(name)}" for name in ("used", "unused", "new"))
    kept = entry(b"", used)
    entry(b"", unused)
    (place / f"{unused}-h4lf_m4d").mkdir()  # by a process that was killed
    (place / "letters.so").touch()
    for path in place.iterdir():
        os.utime(path, (0, 0))
    disk_cache._remove_unused_entries.cache_clear()  # as in another process
    assert entry(b"", used) == kept
    result = entry(b"", new)
    assert set(place.glob("*.*")) == {kept, result, place / "letters.so"}


def test_an_entry_that_does_not_compile_is_tried_once_and_leaves_nothing(place):
    tried = []

    def fail(path):
        tried.append(path)
        path.write_bytes(b"half")
        raise RuntimeError("error: expected ';'")

    with pytest.raises(RuntimeError, match="expected ';'"):
        disk_cache.cached_file("key", ".so", fail, Counters())
    assert len(tried) == 1
    assert list(place.glob("*.*")) == []


def test_a_temporary_folder_that_others_can_write_to_is_not_trusted(place, elsewhere):
    place.touch()
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    assert disk_cache.cache_folder() not in (place, elsewhere)


def test_keys_tell_parts_apart():
    assert disk_cache.cache_key("a", "bc") != disk_cache.cache_key("ab", "c")


def test_sources_follow_includes(tmp_path):
    headers = tmp_path / "headers"
    headers.mkdir()
    (tmp_path / "a.cu").write_text('#include "b.cuh"\n  #  include "far.cuh"\n#include <vector>\n')
    (tmp_path / "b.cuh").write_text('#include "a.cu"\n#include "missing.cuh"\n// #include "c"\n')
    (headers / "far.cuh").write_text("")
    result = disk_cache.read_with_includes(tmp_path / "a.cu", headers)
    assert list(result) == ["a.cu", "b.cuh", "far.cuh"]
    assert result["far.cuh"] == b""


def test_a_header_of_two_kernels_is_read_once_until_it_changes(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.cu").write_text('#include "header.cuh"\n')
    header = tmp_path / "header.cuh"
    header.write_text("// first")
    first = disk_cache.read_with_includes(tmp_path / "a.cu", tmp_path)["header.cuh"]
    assert disk_cache.read_with_includes(tmp_path / "b.cu", tmp_path)["header.cuh"] is first
    header.write_text("// second")
    changed = disk_cache.read_with_includes(tmp_path / "a.cu", tmp_path)["header.cuh"]
    assert (first, changed) == (b"// first", b"// second")


@needs_compiler
def test_a_change_of_a_header_compiles_anew(tmp_path, monkeypatch, place):
    file = tmp_path / "file.cu"
    file.write_text('#include "header.cuh"\nKERNEL(one, Nothing) {}\n')
    header = '#include "memory.cuh"\nstruct Nothing { int64_t unused; };\n'
    counters = Counters()
    (tmp_path / "header.cuh").write_text(header)
    first = simulator.compile_shared_object(str(file), (), counters)
    assert simulator.compile_shared_object(str(file), (), counters) == first
    (tmp_path / "header.cuh").write_text(header + "// changed\n")
    changed = simulator.compile_shared_object(str(file), (), counters)
    typed = simulator.compile_shared_object(str(file), (("ELEMENT", "float"),), counters)
    monkeypatch.setenv("TENSORLAYOUT_SIMULATOR_FLAGS", "-O1")
    flagged = simulator.compile_shared_object(str(file), (), counters)
    unit = f'#include "{file}"\nKERNEL(two, Nothing) {{}}\n'
    monkeypatch.setattr(simulator.kernel_shapes, "simulator_source", lambda *_: unit)
    instantiated = simulator.compile_shared_object(str(file), (), counters)
    assert len({first, changed, typed, flagged, instantiated}) == 5
    assert (counters.compiles, counters.cache_hits) == (5, 1)


# ---- No room


NO_ROOM = OSError(errno.ENOSPC, "No space left on device")


def full(place, error=NO_ROOM):
    """A compiler that fails in one folder as on a disk without room."""

    def make(path):
        if path.is_relative_to(place):
            raise error
        path.write_bytes(b"one")

    return make


def test_a_full_disk_is_passed_over(asked, elsewhere):
    counters = Counters()
    result = disk_cache.cached_file("key", ".so", full(asked), counters)
    assert (result.parent, read_entry(result)) == (elsewhere, b"one")
    assert counters.compiles == 1
    assert list(asked.glob("key*")) == []


def test_a_compiler_without_room_is_started_elsewhere(place, elsewhere, monkeypatch):
    no_room = RuntimeError("cuda: could not compile: No space left on device")
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(disk_cache.shutil, "disk_usage", lambda _: usage)
    result = disk_cache.cached_file("key", ".so", full(place, no_room), Counters())
    assert result.parent == elsewhere


def test_no_room_anywhere_names_both_folders_and_the_fix(place, elsewhere):
    with pytest.raises(RuntimeError) as refused:
        disk_cache.cached_file("key", ".so", full(place.parent), Counters())
    text = str(refused.value)
    assert str(place) in text
    assert str(elsewhere) in text
    assert "set TENSORLAYOUT_CACHE_DIR to a folder of yours with room" in text


def test_a_folder_whose_files_cannot_be_run(place, elsewhere, monkeypatch):
    status = os.statvfs
    there = str(place)

    def no_run(path):
        result = status(path)
        fields = list(result)
        if str(path).startswith(there):
            fields[8] |= os.ST_NOEXEC
        return os.statvfs_result(fields)

    monkeypatch.setattr(disk_cache.os, "statvfs", no_run)
    assert entry().parent == elsewhere


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "{file}/inside"])
def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch, elsewhere, name):
    (tmp_path / "file").touch()
    name = name.format(file=tmp_path / "file")
    monkeypatch.setattr(disk_cache.os, "environ", {"TENSORLAYOUT_CACHE_DIR": name})
    assert entry().parent == elsewhere
    assert elsewhere.stat().st_mode & 0o077 == 0


# ---- Compilers


def test_a_compiler_that_does_not_end_is_ended_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(simulator, "PATIENCE", 0.5)
    pipe = tmp_path / "pipe"  # which is closed when all have ended that write to it
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    command = f"exec 5>{pipe}; sleep 100 & kill -STOP $$"
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^cuda: sh was given 0.5 seconds and has not ended"):
        simulator.run_command(["sh", "-c", command])
    os.set_blocking(reading, True)
    assert os.read(reading, 1) == b""
    os.close(reading)
    assert time.monotonic() - begin < 20


def test_a_file_that_cannot_be_loaded_has_words(tmp_path):
    (tmp_path / "no.so").write_bytes(b"no library")
    with pytest.raises(RuntimeError, match=r"cannot be loaded: .*; set TENSORLAYOUT_CACHE_DIR to"):
        simulator._load_library(tmp_path / "no.so")
