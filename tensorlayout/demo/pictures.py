"""Pictures in and out, by Pillow: the one part of the demo that is not tensors."""

from __future__ import annotations

import math
import os
import stat
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageOps

from tensorlayout.demo.errors import RefusedError
from tensorlayout.demo.progress import Bar

if TYPE_CHECKING:
    from collections.abc import Iterator

PHOTOGRAPHS = ("astronaut.jpg", "rocket.jpg")
# What Pillow's modes are called in the notes.
_MODES = {"1": "black and white", "L": "grey", "LA": "grey with alpha", "P": "palette"}
# Pixels of all pictures together, so that the demo takes seconds and at most a gigabyte.
MOST_PIXELS = 4_000_000
MOST_PICTURES = 64  # a row of the table each
# Pixels of one picture as it is read, and copied a few times: what packs well is small on disk.
MOST_DECODED = 2**25


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture: `octets` are its RGB bytes, rows of pixels; `notes` what was changed."""

    name: str
    height: int
    width: int
    octets: bytes
    notes: tuple[str, ...]

    @property
    def pixels(self) -> np.ndarray[Any, Any]:
        """The bytes as NumPy sees them: height × width × 3."""
        return np.frombuffer(self.octets, np.uint8).reshape(self.height, self.width, 3)


def load(paths: Sequence[str], left_out: list[str] | None = None) -> list[Picture]:
    """The pictures of `paths`, files and folders of them, or the photographs of this package.

    What of a folder cannot be read, and what is too much, is said in `left_out`. RefusedError for a
    file that cannot be read, and where nothing can.
    """
    if not paths:
        folder = files("tensorlayout.demo") / "photographs"
        with ExitStack() as stack:
            own = [stack.enter_context(as_file(folder / name)) for name in PHOTOGRAPHS]
            return [_picture(path.name, path, len(own)) for path in own]
    listed = [each for path in paths for each in _listed(path)]
    left = [] if left_out is None else left_out
    if len(listed) > MOST_PICTURES:
        left.append(f"all but the first {MOST_PICTURES} of {len(listed)} pictures")
    found, some = [], listed[:MOST_PICTURES]
    with Bar("picture", len(some)) as bar:
        for path, in_folder in some:
            try:
                found.append(_picture(Path(path).name, path, len(some)))
            except RefusedError as error:
                if not in_folder:
                    raise
                left.append(str(error))
            bar.step()
    if not found:
        msg = f"no picture can be read; {left[-1]}"
        raise RefusedError(msg)
    return found


def _listed(path: str) -> list[tuple[str, bool]]:
    """A file, or the pictures of a folder by name; and whether they are a folder's."""
    if not os.path.isdir(path):
        return [(path, False)]
    suffixes = {s for s, form in Image.registered_extensions().items() if form in Image.OPEN}
    with _complaints(f"cannot read {path}"):
        found = sorted(
            name
            for name in os.listdir(path)
            if Path(name).suffix.lower() in suffixes and not name.startswith(".")
        )
    if not found:
        msg = f"cannot read {path}: no pictures are in it"
        raise RefusedError(msg)
    return [(os.path.join(path, name), True) for name in found]


def _picture(name: str, path: str | Path, count: int) -> Picture:
    with _complaints(f"cannot read {path}"), _opened(path) as opened:
        notes = [f"the first of {n} frames"] if (n := getattr(opened, "n_frames", 1)) > 1 else []
        upright = ImageOps.exif_transpose(opened)
        image, said = _in_rgb(upright)
        smaller = _reduced(image, count)
    notes += said
    if smaller.size != image.size:
        notes.append(f"reduced from {image.width} x {image.height}")
    return Picture(name, smaller.height, smaller.width, smaller.tobytes(), tuple(notes))


def _opened(path: str | Path) -> Image.Image:
    """A file whose header is read and found fit to be decoded; ValueError for what is not."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for, a device is endless
        msg = "it is no file"
        raise ValueError(msg)
    opened = Image.open(path)
    width, height = opened.size
    if not 1 <= width * height <= MOST_DECODED:
        opened.close()
        msg = f"{width} x {height} pixels are not from 1 to {MOST_DECODED}"
        raise ValueError(msg)
    return opened


@contextmanager
def _complaints(doing: str) -> Iterator[None]:
    """Turn whatever Pillow raises at a bad file into one line."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except Exception as error:  # its readers raise whatever they stumble over
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        msg = f"{doing}: {reason}"
        raise RefusedError(msg) from None


def _in_rgb(image: Image.Image) -> tuple[Image.Image, list[str]]:
    """The picture in RGB, and a note if it was in anything else."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image.copy(), []
    mode = _MODES.get(image.mode, image.mode)
    if image.mode.startswith("I"):  # 16 bits of grey
        return image.point(lambda v: v * (1 / 256)).convert("L").convert("RGB"), [
            "16-bit grey made RGB"
        ]
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        said = f"{mode} made RGB on a white ground"
        return Image.alpha_composite(white, clear).convert("RGB"), [said]
    return image.convert("RGB"), [f"{mode} made RGB"]


def _reduced(image: Image.Image, count: int) -> Image.Image:
    """The picture made smaller if `count` such pictures were too many pixels."""
    excess = image.width * image.height * count / MOST_PIXELS
    if excess <= 1:
        return image
    scale = 1 / math.sqrt(excess)
    least, most = sorted(max(1, int(n * scale)) for n in image.size)
    most = min(most, MOST_PIXELS // count // least)
    size = (most, least) if image.width > image.height else (least, most)
    return image.resize(size, Image.Resampling.BOX)


def folder(out: str) -> Path:
    """The folder `out`, made if need be, and known to take files; RefusedError if it does not."""
    path = Path(out)
    with _complaints(f"cannot write to {out}"):
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".tensorlayout-probe"
        probe.write_bytes(b"")
        probe.unlink()
    return path


def save(image: Image.Image, path: Path) -> Path:
    """Write a PNG."""
    with _complaints(f"cannot write {path}"):
        image.save(path, format="PNG", compress_level=4)
    return path


def write(path: Path, text: str) -> None:
    """Write a text."""
    with _complaints(f"cannot write {path}"):
        path.write_text(text, "utf-8", errors="backslashreplace")
