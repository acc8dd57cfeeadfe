"""What is done with photographs by ``tensorlayout demo``, compared with NumPy."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tensorlayout.demo import ledger
from tensorlayout.demo.errors import RefusedError
from tensorlayout.devices import as_device
from tensorlayout.words import shown

if TYPE_CHECKING:
    from PIL.Image import Image

    from tensorlayout.demo.ledger import Known, Ledger
    from tensorlayout.demo.pictures import Picture
    from tensorlayout.demo.progress import Bar

FIXED, DIRECTML = 35, 11  # steps besides those of each picture, and of DirectML's part


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked for: the folder of the pictures, the device, and the rest.

    `repeat`: how many warm calls are timed. `json`: a file, or - for stdout, which then has nothing
    else. `report`: the folder of the page.
    """

    out: str
    device: str = "cpu"
    repeat: int = 5
    json: str | None = None
    report: str | None = None


def run(images: Sequence[str], options: Options) -> None:
    """The whole demo: reads, computes, prints the table and writes the pictures.

    RefusedError for a wrong argument or file, DifferenceError where a step is not NumPy's.
    """
    if importlib.util.find_spec("PIL") is None:
        msg = "the demo reads and writes pictures with Pillow: pip install 'tensorlayout[demo]'"
        raise RefusedError(msg)
    from tensorlayout.demo import pictures, report
    from tensorlayout.demo.progress import Bar

    _check(options)
    folder = pictures.folder(options.out)
    page = None if options.report is None else pictures.folder(options.report) / report.NAME
    if options.json not in (None, "-") and not Path(str(options.json)).parent.is_dir():
        msg = f"demo: --json {shown(options.json)}: no such folder"
        raise RefusedError(msg)
    left_out: list[str] = []
    loaded = pictures.load(images, left_out)
    with Bar("step", _steps_ahead(loaded, options.device)) as bar:
        say = (lambda _: None) if options.json == "-" else bar.write
        for line in _introduced(loaded, left_out, options.device):
            say(line)
        book = _book(options, say, bar)
        drawn = _steps(book, loaded)
        written = [pictures.save(image, folder / name) for name, image in drawn.items()]
        facts = report.facts(book, loaded, left_out)
        if page is not None:
            pictures.write(page, report.page(book, facts, drawn))
            written.append(page)
        if options.json not in (None, "-"):
            pictures.write(Path(str(options.json)), f"{json.dumps(facts, indent=1)}\n")
            written.append(Path(str(options.json)))
        for path in written:
            say(f"wrote {path}")
    if options.json == "-":
        print(json.dumps(facts, indent=1))


def _check(options: Options) -> None:
    try:
        as_device(options.device, "demo: --device")
    except ValueError as error:
        raise RefusedError(str(error)) from None
    if options.repeat < 1:
        msg = f"demo: --repeat must be at least 1, got {options.repeat}"
        raise RefusedError(msg)
    # The picture in `--json a.jpg` is not to be overwritten.
    if options.json not in (None, "-") and not str(options.json).endswith(".json"):
        msg = (
            f"demo: the file of --json must end with .json, got {shown(options.json)};"
            " for the standard output write --json after the pictures, or --json=-"
        )
        raise RefusedError(msg)


def _book(options: Options, say: Callable[[str], None], bar: Bar) -> Ledger:
    """The empty ledger; on the simulator, whose time says nothing, without times."""
    from tensorlayout.demo.beside import libraries

    if options.device == "cpu":
        return ledger.Ledger(say, "cpu", options.repeat, libraries(), done=bar.step)
    from tensorlayout.cuda.engine.driver import driver

    repeat = 0 if driver().name == "simulator" else options.repeat
    return ledger.Ledger(say, options.device, repeat, done=bar.step)


def _steps_ahead(loaded: Sequence[Picture], device: str) -> int:
    """How many steps there will be."""
    from tensorlayout.demo import directml, pipeline

    size = pipeline.common_size(loaded)
    cut = sum((p.height, p.width) != size for p in loaded)
    moved = 0 if device == "cpu" else len(loaded)
    return 2 * len(loaded) + cut + moved + FIXED + DIRECTML * (min(size) >= directml.LEAST)


def _introduced(loaded: Sequence[Picture], left_out: Sequence[str], device: str) -> list[str]:
    from tensorlayout.demo import pipeline

    lines = []
    for picture in loaded:
        notes = "".join(f"; {note}" for note in picture.notes)
        lines.append(f"{picture.name}: {picture.width} x {picture.height} pixels{notes}")
    lines += [f"left out: {each}" for each in left_out]
    height, width = pipeline.common_size(loaded)
    if any((p.height, p.width) != (height, width) for p in loaded):
        lines.append(f"the pictures differ in size: cut to {width} x {height}, from the middle")
    if width % pipeline.PITCH == 0:
        lines.append(
            f"{width} bytes a row are a multiple of {pipeline.PITCH}: no row needs padding"
        )
    return [*lines, f"device: {device}\n"]


def _steps(book: Ledger, loaded: Sequence[Picture]) -> dict[str, Image]:
    """All parts in one table, and what they drew: by the name of the file."""
    from PIL.Image import fromarray

    from tensorlayout.demo import handover, normalising, pipeline, sheet

    book.announce(book.head())
    made = pipeline.batch(book, pipeline.read(book, loaded, book.device))
    pitched, nhwc = pipeline.normalise(book, made)
    normalised = pipeline.viewable(book, pitched)
    mosaic = pipeline.mosaic(book, made.nhwc)
    drawn = {
        "mosaic.png": fromarray(ledger.host(mosaic.tensor)),
        "normalised.png": normalising.drawn(made.nhwc, pitched, normalised),
        "layouts.png": sheet.sheet(made.nhwc.tensor[0, ...], pipeline.PITCH),
        **_parts(book, made.nhwc),
    }
    if total := book.total():
        book.announce(book.line(total))
    lines = ["", *book.legend(), "", *handover.shared(nhwc.tensor, nhwc.array)]
    book.announce("\n".join([*lines, "", book.summary()]))
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
