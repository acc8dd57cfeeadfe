"""``tensorlayout demo``: a pipeline on photographs, each step of which is compared with NumPy."""

from __future__ import annotations

import argparse
import base64
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template

from PIL.Image import Image

from tensorlayout.cli import info
from tensorlayout.cli.demo import pipeline
from tensorlayout.cli.demo.drawing import layouts
from tensorlayout.cli.demo.pictures import complaints, load, staged
from tensorlayout.cli.demo.table import HEAD, TEXTS, Table
from tensorlayout.tracing.html import STYLE, section

PAGE = "tensorlayout-demo.html"
FIGURE = "<figure><figcaption>{}</figcaption>{}</figure>"


def run(options: argparse.Namespace) -> None:
    """Print the table, and write the pictures, the facts and the page: all of them, or nothing.

    CommandError for a picture or folder that cannot be used, and where NumPy differs.
    """
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if options.json != "-":
            print(text)

    targets = [Path(options.out, name) for name in TEXTS["pictures"]]
    targets += [Path(options.report, PAGE)] if options.report else []
    targets += [Path(options.json)] if options.json not in (None, "-") else []
    with staged(targets) as places:
        photographs, lines = load(options.images)
        about = {line[:17].strip(): line[18:] for line in info.report().splitlines()}
        simulated = options.device != "cpu" and about["CUDA"] == "the simulator"
        table = Table(say, options.device, 0 if simulated else options.repeat)
        versions = [f"{name} {about[name]}" for name in ("tensorlayout", "numpy", "Python")]
        say("\n".join([", ".join(versions), *lines, f"device: {options.device}", "", HEAD]))
        drawn = pipeline.run(table, photographs)
        facts = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "about": about,
            "device": options.device,
            "pictures": lines,
            "steps": [step.facts for step in table.steps],
        }
        with complaints("cannot write what was found"):
            for target, place in places.items():
                if target.name in drawn:
                    drawn[target.name].save(place, compress_level=4)
                elif target.name == PAGE:
                    place.write_text(_page(table, "\n".join(said), drawn), "utf-8")
                elif target.suffix == ".json":
                    place.write_text(json.dumps(facts, indent=1), "utf-8")
        written = [target for target, place in places.items() if place.exists()]
    say("\n".join(f"wrote {target}" for target in written))
    if options.json == "-":
        print(json.dumps(facts, indent=1))


def _page(table: Table, said: str, drawn: Mapping[str, Image]) -> str:
    """Return a page that needs nothing from elsewhere."""
    words, figures = TEXTS["pictures"], []
    for name, image in drawn.items():
        buffer = io.BytesIO()
        image.save(buffer, "jpeg", quality=90)
        source = f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
        figures.append(FIGURE.format(words[name]["page"], f'<img src="{source}" alt="{name}">'))
    small = zip(words["layouts.png"]["panels"], layouts((3, 2, 4), 6), strict=True)
    return Template(Path(__file__).with_name("page.html").read_text("utf-8")).substitute(
        style=STYLE,
        said=escape(said),
        layouts="".join(FIGURE.format(f"{name}: {x}", x.draw().svg) for name, x in small),
        pictures="".join(figures),
        trace="".join(section(step.title, step.trace) for step in table.steps),
    )
