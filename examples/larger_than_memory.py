"""Images larger than memory: from NHWC to normalised NCHW with padded rows, on Dask and on Cubed.

    pip install '.[engines]'                               # in a checkout
    python examples/larger_than_memory.py                  # 8 GB of images, two workers of 2 GB
    python examples/larger_than_memory.py --size 512MB --memory 1GB --engines dask

It makes a Zarr array of images (uint8, N x H x W x C), finds mean and deviation of each channel,
and writes float16, N x C x H x W, to another Zarr array. Each block is computed by tensorlayout
into rows that begin at multiples of 256 bytes, as a GPU wants them, and again by NumPy. In the
middle of each run one of the two workers is killed. The results are compared, by checksum, with
what one process computes with NumPy, block by block.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import logging
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import zarr

HEIGHT, WIDTH, CHANNELS = 512, 500, 3
PITCH = 256  # bytes: where rows of the result begin, at multiples
WORKERS = 2

ZarrArray = zarr.Array[Any]


# --- The work: functions of one block, the same for both engines ---------------------------------


def sums_of_block(block: Any, library: str) -> Any:
    """Sum and sum of squares of each channel, in a block of shape (1, 1, 2, C)."""
    xp = importlib.import_module(library)
    x = xp.astype(xp.asarray(block), xp.float32)
    # Squares of bytes in float64 are exact, in any order: all libraries give the same bits.
    first = xp.sum(x, axis=(0, 1, 2), dtype=xp.float64)
    second = xp.sum(x * x, axis=(0, 1, 2), dtype=xp.float64)
    return xp.reshape(xp.stack([first, second]), (1, 1, 2, CHANNELS))


def normalised_block(block: Any, mean: Any, scale: Any, library: str) -> Any:
    """(x - mean) * scale of each channel, N x C x H x W, in float16, rows padded to 256 bytes."""
    xp = importlib.import_module(library)
    x = xp.permute_dims(xp.asarray(block), (0, 3, 1, 2))  # a view
    low = xp.reshape(xp.asarray(mean, dtype=xp.float32), (-1, 1, 1))
    factor = xp.reshape(xp.asarray(scale, dtype=xp.float32), (-1, 1, 1))
    if library == "tensorlayout":
        rows = xp.Layout.pitched(x.shape, PITCH, xp.float16, padding_value="ZERO")
        return _chain()(x, low, factor, out=xp.empty(x.shape, dtype=xp.float16, layout=rows))
    padded = xp.zeros((*x.shape[:3], -(-2 * WIDTH // PITCH) * PITCH // 2), dtype=xp.float16)
    padded[..., :WIDTH] = (xp.astype(x, xp.float32) - low) * factor
    return padded[..., :WIDTH]


@functools.cache
def _chain() -> Callable[..., Any]:
    """One pass over the elements, whatever the layouts."""
    import tensorlayout as tl

    def chain(x: Any, low: Any, factor: Any) -> Any:
        return tl.astype((tl.astype(x, tl.float32) - low) * factor, tl.float16)

    return tl.fuse(chain)


# --- The plan: two passes, written once for both engines -----------------------------------------


def run(engine: Any, images: ZarrArray, target: ZarrArray, library: str) -> None:
    """Statistics of all blocks, then all blocks normalised into `target`."""
    lazy = engine.opened(images)
    parts, whole = lazy.chunks[0], tuple((n,) for n in target.shape[1:])
    few = ((1,) * len(parts), (1,), (2,), (CHANNELS,))
    sums = engine.map_blocks(sums_of_block, lazy, dtype=np.float64, chunks=few, library=library)
    first, second = np.sum(np.asarray(engine.computed(sums)), axis=(0, 1))
    mean, scale = mean_and_scale(first, second, images.size // CHANNELS)
    normal = engine.map_blocks(
        normalised_block,
        lazy,
        dtype=np.float16,
        chunks=(parts, *whole),
        mean=mean,
        scale=scale,
        library=library,
    )
    engine.store(normal, target)


def mean_and_scale(first: Any, second: Any, count: int) -> tuple[list[float], list[float]]:
    """Of each channel: the mean, and one over the standard deviation."""
    mean = first / count
    return mean.tolist(), (1 / np.sqrt(second / count - mean**2)).tolist()


class OnDask:
    """Dask's `LocalCluster`: workers that a nanny starts anew when they die."""

    def __init__(self, memory: int, scratch: Path) -> None:
        import dask.array
        import distributed

        self.array, self.distributed = dask.array, distributed
        self.cluster = distributed.LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            memory_limit=memory,
            local_directory=str(scratch),
            dashboard_address="127.0.0.1:0",
        )
        self.client = distributed.Client(self.cluster)
        self.map_blocks = functools.partial(dask.array.map_blocks, meta=np.empty((0,) * 4))
        print("dashboard:", self.client.dashboard_link, flush=True)

    def opened(self, images: ZarrArray) -> Any:
        return self.array.from_zarr(images)

    def computed(self, lazy: Any) -> Any:
        return self._waited(lazy.persist()).compute()

    def store(self, lazy: Any, target: ZarrArray) -> None:
        stored = self.array.store(lazy, target, lock=False, compute=False)
        self._waited(self.client.compute(stored)).result()

    def _waited(self, future: Any) -> Any:
        self.distributed.progress(future, notebook=False)
        print(flush=True)
        return future

    def workers(self) -> list[int]:
        return list(self.client.run(os.getpid).values())

    def peaks(self) -> list[int]:
        """Bytes, of the workers that are there at the end."""
        return list(self.client.run(peak_memory).values())

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


class OnCubed:
    """Cubed's processes; when one dies its pool is broken, and the computation is resumed."""

    def __init__(self, memory: int, scratch: Path) -> None:
        import cubed
        from cubed.diagnostics.tqdm import TqdmProgressBar
        from cubed.runtime.types import Callback

        peaks = self.measured_peaks = [0]

        class Peaks(Callback):  # type: ignore[misc]
            def on_task_end(self, event: Any) -> None:
                peaks.append(event.peak_measured_mem_end or 0)

        self.cubed, self.callbacks = cubed, [TqdmProgressBar(), Peaks()]
        self.spec = cubed.Spec(
            work_dir=str(scratch),
            allowed_mem=memory,
            executor_name="processes",
            executor_options={"max_workers": WORKERS},
        )
        self.map_blocks = cubed.map_blocks

    def opened(self, images: ZarrArray) -> Any:
        return self.cubed.from_zarr(images.store, spec=self.spec)

    def computed(self, lazy: Any) -> Any:
        return resume_after_kills(
            lambda resume: lazy.compute(callbacks=self.callbacks, resume=resume)
        )

    def store(self, lazy: Any, target: ZarrArray) -> None:
        stored = self.cubed.store(lazy, target, compute=False)
        self.computed(stored[0])

    def workers(self) -> list[int]:
        import psutil

        children = psutil.Process().children()
        return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]

    def peaks(self) -> list[int]:
        """Bytes, of the worker that had the most."""
        return [max(self.measured_peaks)]

    def close(self) -> None:
        """Its processes have ended."""


def resume_after_kills(compute: Callable[[bool], Any]) -> Any:
    """Return `compute(False)`, or `compute(True)` after each worker that died, in one line."""
    # Each unfinished task of a broken pool would log the same traceback.
    logging.getLogger("asyncio").addFilter(_is_no_broken_pool)
    resume = False
    while True:
        try:
            return compute(resume)
        except BrokenProcessPool:
            print("a worker died; the finished blocks are kept", flush=True)
            resume = True


def _is_no_broken_pool(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], BrokenProcessPool))


ENGINES: dict[str, Any] = {"dask": OnDask, "cubed": OnCubed}


# --- Around it: images, one that kills, checksums, figures ---------------------------------------


def images_of(number: int, count: int) -> np.ndarray[Any, Any]:
    """The images of a block, a function of its number alone."""
    random = np.random.default_rng(number)
    noise = random.integers(0, 200, (count, HEIGHT, WIDTH, CHANNELS), dtype=np.uint8)
    return noise + np.asarray([0, 20, 50], np.uint8)


def make_images(path: Path, nbytes: int, block: int) -> ZarrArray:
    """A Zarr array of so many bytes of images, made block by block."""
    image_bytes = HEIGHT * WIDTH * CHANNELS
    per_block = max(1, block // image_bytes)
    count = max(1, nbytes // image_bytes)
    images = _zarr(path, (count, HEIGHT, WIDTH, CHANNELS), per_block, np.uint8)
    for number, (begin, end) in enumerate(_blocks(images)):
        images[begin:end] = images_of(number, end - begin)
    return images


def _zarr(path: Path, shape: tuple[int, ...], per_block: int, dtype: Any) -> ZarrArray:
    """Blocks as they are in memory: noise does not shrink."""
    chunks = (min(per_block, shape[0]), *shape[1:])
    return zarr.create_array(
        zarr.storage.LocalStore(path), shape=shape, chunks=chunks, dtype=dtype, compressors=None
    )


def _blocks(array: ZarrArray) -> Iterator[tuple[int, int]]:
    for begin in range(0, array.shape[0], array.chunks[0]):
        yield begin, min(begin + array.chunks[0], array.shape[0])


def checksum(array: ZarrArray) -> int:
    """The CRC of all elements, row-major."""
    crc = 0
    for begin, end in _blocks(array):
        crc = zlib.crc32(np.ascontiguousarray(array[begin:end]).tobytes(), crc)
    return crc


def expected(images: ZarrArray) -> int:
    """The checksum of the result, by NumPy alone, in one process, block by block."""
    pairs = list(_blocks(images))
    first, second = sum(sums_of_block(images[b:e], "numpy")[0, 0] for b, e in pairs)
    mean, scale = mean_and_scale(first, second, images.size // CHANNELS)
    crc = 0
    for begin, end in pairs:
        block = normalised_block(images[begin:end], mean, scale, "numpy")
        crc = zlib.crc32(np.ascontiguousarray(block).tobytes(), crc)
    return crc


def peak_memory() -> int:
    """The most **bytes** that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def kill_one(engine: Any, folder: Path, blocks: int, killed: list[int]) -> None:
    """Kill a worker when a third of the blocks of the result are written."""
    while len(list(folder.glob("c/*/0/0/0"))) < blocks / 3:
        time.sleep(0.05)
    victim = engine.workers()[0]
    os.kill(victim, signal.SIGKILL)
    killed.append(victim)


def one_run(asked: argparse.Namespace) -> None:
    """One engine, one library, in this process; the last line is what the summary needs."""
    folder = Path(asked.folder)
    images = zarr.open_array(folder / "images", mode="r")
    shape = (images.shape[0], CHANNELS, HEIGHT, WIDTH)
    shutil.rmtree(folder / "result", ignore_errors=True)
    target = _zarr(folder / "result", shape, images.chunks[0], np.float16)
    engine = ENGINES[asked.engine](asked.memory, folder / "scratch")
    killed: list[int] = []
    if not asked.no_kill:
        arguments = (engine, folder / "result", math.ceil(shape[0] / images.chunks[0]), killed)
        threading.Thread(target=kill_one, args=arguments, daemon=True).start()
    start = time.perf_counter()
    try:
        run(engine, images, target, asked.library)
        seconds = time.perf_counter() - start
        figures = {"seconds": seconds, "peaks": engine.peaks(), "killed": len(killed)}
    finally:
        engine.close()
    moved = 2 * images.nbytes + target.nbytes  # read twice, written once
    print(json.dumps({**figures, "bytes": moved, "checksum": checksum(target)}))


def in_a_process(asked: argparse.Namespace, engine: str, library: str) -> dict[str, Any]:
    """`one_run` in a fresh process: Cubed reads its array library from a variable, once."""
    command = [sys.executable, __file__, "--engine", engine, "--library", library]
    command += ["--folder", asked.folder, "--memory", str(asked.memory)]
    command += ["--no-kill"] if asked.no_kill else []
    environment = {**os.environ, "CUBED_BACKEND_ARRAY_API_MODULE": library}
    print(f"\n{engine}, {library}", flush=True)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    *lines, last = done.stdout.splitlines()
    print("\n".join(line for line in lines if line.strip()))
    report: dict[str, Any] = json.loads(last)
    return report


def nbytes(text: str) -> int:
    """Bytes, of a text such as 512MB or 8GB, by powers of ten."""
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    number, unit = (text[:-2], text[-2:].upper()) if text[-2:].upper() in units else (text, "")
    return int(float(number) * units.get(unit, 1))


def main() -> int:
    """Make the images, run all engines with both libraries, print the summary."""
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.description = __doc__
    parser.add_argument("--size", type=nbytes, default="8GB", help="of the images (default: 8GB)")
    parser.add_argument("--block", type=nbytes, default="48MB", help="of images (default: 48MB)")
    parser.add_argument("--memory", type=nbytes, default="2GB", help="of a worker (default: 2GB)")
    parser.add_argument("--engines", default="dask,cubed", help="(default: dask,cubed)")
    parser.add_argument("--folder", help="where to work (default: a temporary folder, removed)")
    parser.add_argument("--no-kill", action="store_true", help="let all workers live")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.engine:
        one_run(asked)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        asked.folder = asked.folder or temporary
        return compare(asked)


def compare(asked: argparse.Namespace) -> int:
    """All runs, and their table; 0 where every result is right."""
    folder = Path(asked.folder)
    print(f"making {asked.size / 1e9:.1f} GB of images", flush=True)
    images = make_images(folder / "images", asked.size, asked.block)
    print(f"{images.shape[0]} images in {math.ceil(images.shape[0] / images.chunks[0])} blocks")
    start = time.perf_counter()
    right = expected(images)
    print(f"NumPy, one process: {time.perf_counter() - start:.1f} s, checksum {right:08x}")
    rows: list[tuple[str, ...]] = [
        ("engine", "blocks are", "seconds", "GB/s", "peak of a worker", "killed", "result")
    ]
    wrong = 0
    for engine in asked.engines.split(","):
        for library in ("tensorlayout", "numpy"):
            report = in_a_process(asked, engine, library)
            is_right = report["checksum"] == right
            wrong += not is_right
            rate = report["bytes"] / report["seconds"] / 1e9
            peak = ", ".join(f"{peak / 1e6:.0f} MB" for peak in report["peaks"])
            result = "right" if is_right else "WRONG"
            figures = [f"{report['seconds']:.1f}", f"{rate:.2f}", peak, f"{report['killed']}"]
            rows.append((engine, library, *figures, result))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
