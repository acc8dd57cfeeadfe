"""``demo``: what is done with photographs, each step compared with NumPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorlayout.cli import ledger as book
from tensorlayout.cli.errors import CommandError
from tensorlayout.devices import as_device

if TYPE_CHECKING:
    from PIL.Image import Image

    from tensorlayout.cli.pictures import Picture
    from tensorlayout.cli.pipeline import Batch


def run(images: Sequence[str], out: str, device: str) -> None:
    """The whole demo: reads, computes, prints the table and writes the pictures.

    CommandError for a wrong argument or file, DifferenceError where a step is not NumPy's.
    """
    if importlib.util.find_spec("PIL") is None:
        msg = "the demo reads and writes pictures with Pillow: pip install 'tensorlayout[demo]'"
        raise CommandError(msg)
    from tensorlayout.cli import pictures

    _check_device(device)
    folder = pictures.folder(out)
    loaded = pictures.load(images)
    _introduce(loaded, device)
    for name, image in _steps(loaded, device).items():
        print(f"wrote {pictures.save(image, folder / name)}")


def _check_device(device: str) -> None:
    try:
        as_device(device, "demo: --device")
    except ValueError as error:
        raise CommandError(str(error)) from None


def _introduce(loaded: Sequence[Picture], device: str) -> None:
    from tensorlayout.cli import pipeline

    for picture in loaded:
        notes = "".join(f"; {note}" for note in picture.notes)
        print(f"{picture.name}: {picture.height} x {picture.width} pixels{notes}")
    height, width = pipeline.common_size(loaded)
    if any((p.height, p.width) != (height, width) for p in loaded):
        print(f"the pictures differ in size: cut to {height} x {width}, from the middle")
    if width % pipeline.PITCH == 0:
        print(f"{width} bytes a row are a multiple of {pipeline.PITCH}: no row needs padding")
    print(f"device: {device}\n")


def _steps(loaded: Sequence[Picture], device: str) -> dict[str, Image]:
    """All parts in one table, and what they drew: by the name of the file."""
    from PIL.Image import fromarray

    from tensorlayout.cli import handover, pipeline, sheet

    ledger = book.Ledger(device=device)
    print(book.head())
    tensors = pipeline.read(ledger, loaded, device)
    height, width = pipeline.common_size(loaded)
    made = pipeline.batch(
        ledger, tensors, [p.pixels[pipeline.middle(p, height, width)] for p in loaded]
    )
    pitched, nhwc, values = pipeline.normalise(ledger, made, device)
    normalised = pipeline.viewable(ledger, pitched, values)
    mosaic = pipeline.mosaic(ledger, made)
    drawn = {
        "mosaic.png": fromarray(book.host(mosaic)),
        "normalised.png": fromarray(book.host(normalised)),
        "layouts.png": sheet.sheet(made.nhwc[0, ...], pipeline.PITCH),
        **_directml(ledger, made),
        **_statistics(ledger, made),
    }
    print()
    legend = book.LEGEND + (book.LEGEND_OF_KERNELS if device.startswith("cuda") else ())
    print("\n".join(legend), end="\n\n")
    print("\n".join(handover.shared(nhwc, values)))
    print(f"\n{ledger.summary()}")
    return drawn


def _directml(ledger: book.Ledger, made: Batch) -> dict[str, Image]:
    from tensorlayout.cli import directml_part, panels

    if not directml_part.fits(made.nhwc):
        least = directml_part.LEAST
        ledger.heading(f"DirectML: left out, the pictures are smaller than {least} x {least}")
        return {}
    ledger.heading("DirectML's operators")
    found = directml_part.run(ledger, made.nhwc, made.pixels)
    title = "DirectML's operators on a batch that lies in memory as NHWC"
    return {"directml.png": panels.captioned_sheet(title, found, columns=4)}


def _statistics(ledger: book.Ledger, made: Batch) -> dict[str, Image]:
    from tensorlayout.cli import panels, statistics_part

    ledger.heading("statistics, sums, sorting and colours")
    found = statistics_part.run(ledger, made.nhwc, made.pixels)
    title = "What is done next with a batch that lies in memory as NHWC"
    return {"statistics.png": panels.captioned_sheet(title, found, columns=3)}
