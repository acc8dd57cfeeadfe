"""Pictures in and files out, by Pillow and the file system: nothing here knows of tensors."""

from __future__ import annotations

import math
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageOps

from tensorlayout.cli.answers import CommandError
from tensorlayout.typing import Array

PHOTOGRAPHS = str(Path(__file__).parent / "photographs")
# What Pillow's modes are called in the notes.
MODES = {"1": "black and white", "L": "grey", "LA": "grey with alpha", "P": "palette"}
MODES |= {"I;16": "16-bit grey"}
# Pixels of all pictures together, so that the demo takes seconds and at most a gigabyte.
MOST_PIXELS = 4_000_000
MOST_PICTURES = 64
# Pixels of one picture as it is read, and copied a few times: what packs well is small on disk.
MOST_DECODED = 2**25


def load(paths: Sequence[str]) -> tuple[Array, list[str]]:
    """Return the middles of pictures (N, H, W, 3), of their common size, and lines on them.

    `paths`: files and folders, by default our own. CommandError if a file or all cannot be read.
    """
    listed = [each for path in paths or [PHOTOGRAPHS] for each in _listed(path)]
    found: list[Array] = []
    lines: list[str] = []
    for path, in_folder in listed[:MOST_PICTURES]:
        try:
            found.append(_picture(path, min(len(listed), MOST_PICTURES), lines))
        except CommandError as error:
            if not in_folder:
                raise
            lines.append(f"left out: {error}")
    if not found:
        raise CommandError(f"no picture can be read; {lines[-1]}")
    if len(listed) > MOST_PICTURES:
        lines.append(f"left out: all but the first {MOST_PICTURES} of {len(listed)} pictures")
    height, width, _ = np.min([picture.shape for picture in found], axis=0)
    if any(picture.shape != (height, width, 3) for picture in found):
        lines.append(f"the pictures differ in size: cut to {width} x {height}, from the middle")
    middles = []
    for picture in found:
        top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
        middles.append(picture[top : top + height, left : left + width])
    return np.stack(middles), lines


def _listed(path: str) -> list[tuple[Path, bool]]:
    """Return a file, or the pictures of a folder by name; and whether they are a folder's."""
    if not os.path.isdir(path):
        return [(Path(path), False)]
    suffixes = {s for s, form in Image.registered_extensions().items() if form in Image.OPEN}
    with complaints(f"cannot read {path}"):
        entries = sorted(Path(path).iterdir())
    found = [e for e in entries if e.suffix.lower() in suffixes and e.name[0] != "."]
    if not found:
        raise CommandError(f"cannot read {path}: no pictures are in it")
    return [(entry, True) for entry in found]


def _picture(path: Path, count: int, lines: list[str]) -> Array:
    """Decode one of `count` pictures, and add a line on it."""
    with complaints(f"cannot read {path}"):
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for, a device is endless
            raise ValueError("it is no file")
        with Image.open(path) as opened:
            size = opened.width * opened.height
            if not 1 <= size <= MOST_DECODED:
                raise ValueError(f"the picture has {size:,} pixels; the limit is {MOST_DECODED:,}")
            frames, upright = getattr(opened, "n_frames", 1), ImageOps.exif_transpose(opened)
            words = [f"the first of {frames} frames"] if frames > 1 else []
            image = _in_rgb(upright, words)
        if size * count > MOST_PIXELS:
            words.append(f"reduced from {image.width} x {image.height}")
            side = math.isqrt(MOST_PIXELS // count)
            image.thumbnail((side, side), Image.Resampling.BOX)
        lines.append("; ".join([f"{path.name}: {image.width} x {image.height} pixels", *words]))
        return np.asarray(image)


def _in_rgb(image: Image.Image, words: list[str]) -> Image.Image:
    """Return the picture in RGB, and say if it was in anything else."""
    clear, mode = image.has_transparency_data, MODES.get(image.mode, image.mode)
    if image.mode == "RGB" and not clear:
        return image.copy()
    words.append(f"{mode} made RGB{' on a white ground' * clear}")
    if image.mode.startswith("I"):
        return image.point(lambda v: v * (1 / 256)).convert("L").convert("RGB")
    if clear:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")


@contextmanager
def complaints(doing: str) -> Iterator[None]:
    """Turn whatever Pillow or the system raises into one line."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except Exception as error:  # readers of pictures raise whatever they stumble over
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CommandError(f"{doing}: {reason}") from None


@contextmanager
def staged(targets: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Give a temporary file for each target; those written become it if the block ends well."""
    with ExitStack() as stack:
        places = {}
        for target in targets:
            nearest = next(path for path in target.absolute().parents if os.path.lexists(path))
            with complaints(f"cannot write to {target.parent}"):
                folder = TemporaryDirectory(prefix=".tensorlayout-", dir=nearest)
                places[target] = Path(stack.enter_context(folder), target.name)
        yield places
        for target, place in places.items():
            with complaints(f"cannot write {target}"):
                if place.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    place.replace(target)
