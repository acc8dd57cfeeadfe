"""Reading pictures and writing files, with Pillow; independent of tensors."""

from __future__ import annotations

import math
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageOps

from tensorlayout.cli.answers import CommandError
from tensorlayout.typing import Array

PHOTOGRAPHS = str(Path(__file__).parent / "photographs")
# Names of Pillow's modes in notes for the user.
MODES = {"1": "black and white", "L": "grey", "LA": "grey with alpha", "P": "palette"}
MODES |= {"I;16": "16-bit grey"}
# Limit for all pictures together: the demo takes seconds and at most a gigabyte.
MAX_PIXELS = 4_000_000
MAX_PICTURES = 64
# Limit for one picture when decoded. A small file can hold a huge picture that compresses well,
# and reading copies it a few times.
MAX_DECODED_PIXELS = 2**25


def load_pictures(paths: Sequence[str]) -> tuple[Array, list[str]]:
    """Return pictures (N, H, W, 3), cropped from the middle to a common size, and notes on them.

    `paths`: files and folders; by default the included photographs. CommandError if a file named in
    `paths` cannot be read, or if there is no picture.
    """
    files = [file for path in paths or [PHOTOGRAPHS] for file in _list_picture_files(path)]
    pictures: list[Array] = []
    lines: list[str] = []
    for path, in_folder in files[:MAX_PICTURES]:
        try:
            pictures.append(_read_picture(path, min(len(files), MAX_PICTURES), lines))
        except CommandError as error:
            if not in_folder:
                raise
            lines.append(f"left out: {error}")
    if not pictures:
        raise CommandError(f"no picture can be read; {lines[-1]}")
    if len(files) > MAX_PICTURES:
        lines.append(f"left out: all but the first {MAX_PICTURES} of {len(files)} pictures")
    height, width, _ = np.min([picture.shape for picture in pictures], axis=0)
    if any(picture.shape != (height, width, 3) for picture in pictures):
        lines.append(f"the pictures differ in size: cut to {width} x {height}, from the middle")
    cropped = []
    for picture in pictures:
        top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
        cropped.append(picture[top : top + height, left : left + width])
    return np.stack(cropped), lines


def _list_picture_files(path: str) -> list[tuple[Path, bool]]:
    """Return the file, or a folder's pictures by name, each with whether a folder had it."""
    if not os.path.isdir(path):
        return [(Path(path), False)]
    suffixes = {s for s, form in Image.registered_extensions().items() if form in Image.OPEN}
    with as_command_errors(f"cannot read {path}"):
        entries = sorted(Path(path).iterdir())
    picture_files = [e for e in entries if e.suffix.lower() in suffixes and e.name[0] != "."]
    if not picture_files:
        raise CommandError(f"cannot read {path}: no pictures are in it")
    return [(entry, True) for entry in picture_files]


def _read_picture(path: Path, picture_count: int, lines: list[str]) -> Array:
    """Decode one of `picture_count` pictures, and append a note on it to `lines`."""
    with as_command_errors(f"cannot read {path}"):
        # Opening a pipe would block, and a device may be endless.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is not a regular file")
        with Image.open(path) as source_image:
            size = source_image.width * source_image.height
            if not 1 <= size <= MAX_DECODED_PIXELS:
                raise ValueError(
                    f"the image has {size:,} pixels; the limit is {MAX_DECODED_PIXELS:,}"
                )
            frames = getattr(source_image, "n_frames", 1)
            upright = ImageOps.exif_transpose(source_image)
            notes = [f"the first of {frames} frames"] if frames > 1 else []
            image = _convert_to_rgb(upright, notes)
        if size * picture_count > MAX_PIXELS:
            notes.append(f"reduced from {image.width} x {image.height}")
            side = math.isqrt(MAX_PIXELS // picture_count)
            image.thumbnail((side, side), Image.Resampling.BOX)
        lines.append("; ".join([f"{path.name}: {image.width} x {image.height} pixels", *notes]))
        return np.asarray(image)


def _convert_to_rgb(image: Image.Image, notes: list[str]) -> Image.Image:
    """Convert an image to RGB; append a note if it had another mode or transparency."""
    is_transparent, mode = image.has_transparency_data, MODES.get(image.mode, image.mode)
    if image.mode == "RGB" and not is_transparent:
        return image.copy()
    notes.append(f"{mode} made RGB{' on a white ground' * is_transparent}")
    if image.mode.startswith("I"):
        # Pillow's own conversion from 16 bits clips at 255 instead of scaling.
        return image.point(lambda v: v * (1 / 256)).convert("L").convert("RGB")
    if is_transparent:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")


@contextmanager
def as_command_errors(action: str) -> Iterator[None]:
    """Turn any exception of the block into a CommandError of one line."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except Exception as error:  # Pillow's decoders raise arbitrary exceptions for broken files
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CommandError(f"{action}: {reason}") from None


@contextmanager
def staged_files(targets: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Yield a temporary file per target; written files replace their targets if all went well.

    After an error no new file and no new folder is left.
    """
    with ExitStack() as stack:
        temporary_files = {}
        for target in targets:
            # On the file system of the target, so that replacing it is a rename.
            nearest = next(path for path in target.absolute().parents if os.path.lexists(path))
            with as_command_errors(f"cannot write to {target.parent}"):
                folder = TemporaryDirectory(prefix=".tensorlayout-", dir=nearest)
                temporary_files[target] = Path(stack.enter_context(folder), target.name)
        yield temporary_files
        new_paths: list[Path] = []
        try:
            for target, temporary_file in temporary_files.items():
                with as_command_errors(f"cannot write {target}"):
                    if temporary_file.exists():
                        _move_file(temporary_file, target, new_paths)
        except BaseException:
            for path in reversed(new_paths):
                with suppress(OSError):  # the first error tells more
                    path.rmdir() if path.is_dir() else path.unlink()
            raise


def _move_file(file: Path, target: Path, new_paths: list[Path]) -> None:
    """Move a file, and append the folders and the file that did not exist to `new_paths`."""
    for folder in reversed(target.parents):
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            new_paths.append(folder)
    is_new = not os.path.lexists(target)
    file.replace(target)
    if is_new:
        new_paths.append(target)
