"""What is done with photographs by ``python -m tensorlayout demo``, compared with NumPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorlayout.demo import ledger
from tensorlayout.demo.errors import RefusedError
from tensorlayout.devices import as_device

if TYPE_CHECKING:
    from PIL.Image import Image

    from tensorlayout.demo.ledger import Known, Ledger
    from tensorlayout.demo.pictures import Picture


def run(images: Sequence[str], out: str, device: str) -> None:
    """The whole demo: reads, computes, prints the table and writes the pictures.

    RefusedError for a wrong argument or file, DifferenceError where a step is not NumPy's.
    """
    if importlib.util.find_spec("PIL") is None:
        msg = "the demo reads and writes pictures with Pillow: pip install 'tensorlayout[demo]'"
        raise RefusedError(msg)
    from tensorlayout.demo import pictures

    try:
        as_device(device, "demo: --device")
    except ValueError as error:
        raise RefusedError(str(error)) from None
    folder = pictures.folder(out)
    loaded = pictures.load(images)
    _introduce(loaded, device)
    for name, image in _steps(loaded, device).items():
        print(f"wrote {pictures.save(image, folder / name)}")


def _introduce(loaded: Sequence[Picture], device: str) -> None:
    from tensorlayout.demo import pipeline

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

    from tensorlayout.demo import handover, pipeline, sheet

    book = ledger.Ledger(device=device)
    print(ledger.head())
    made = pipeline.batch(book, pipeline.read(book, loaded, device))
    pitched, nhwc = pipeline.normalise(book, made)
    normalised = pipeline.viewable(book, pitched)
    mosaic = pipeline.mosaic(book, made.nhwc)
    drawn = {
        "mosaic.png": fromarray(ledger.host(mosaic.tensor)),
        "normalised.png": fromarray(ledger.host(normalised.tensor)),
        "layouts.png": sheet.sheet(made.nhwc.tensor[0, ...], pipeline.PITCH),
        **_parts(book, made.nhwc),
    }
    legend = ledger.LEGEND + (ledger.LEGEND_OF_KERNELS if device.startswith("cuda") else ())
    print("", *legend, "", sep="\n")
    print(*handover.shared(nhwc.tensor, nhwc.array), sep="\n")
    print(f"\n{book.summary()}")
    return drawn


def _parts(book: Ledger, batch: Known) -> dict[str, Image]:
    """What is done with a batch besides, in memory as NHWC."""
    from tensorlayout.demo import directml, statistics
    from tensorlayout.demo.panels import captioned_sheet

    drawn, least, where = {}, directml.LEAST, "a batch that lies in memory as NHWC"
    if min(batch.array.shape[2:]) < least:
        book.heading(f"DirectML: left out, the pictures are smaller than {least} x {least}")
    else:
        book.heading("DirectML's operators")
        found, title = directml.run(book, batch), f"DirectML's operators on {where}"
        drawn["directml.png"] = captioned_sheet(title, found, columns=4)
    book.heading("statistics, sums, sorting and colours")
    found, title = statistics.run(book, batch), f"What is done next with {where}"
    drawn["statistics.png"] = captioned_sheet(title, found, columns=3)
    return drawn
