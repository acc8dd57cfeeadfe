"""``tensorlayout demo``: a pipeline on photographs, each step checked against NumPy."""

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
from tensorlayout.cli.demo.drawing import demo_layouts
from tensorlayout.cli.demo.pictures import as_command_errors, load_pictures, staged_files
from tensorlayout.cli.demo.table import HEADER_ROW, TEXTS, Table
from tensorlayout.tracing.html import STYLE, render_section

PAGE = "tensorlayout-demo.html"
FIGURE = "<figure><figcaption>{}</figcaption>{}</figure>"


def run_demo(options: argparse.Namespace) -> None:
    """Print the table and write pictures, facts and page: all files, or none.

    CommandError if a picture or folder cannot be used, and if a result differs from NumPy's.
    """
    printed_lines: list[str] = []

    def record_and_print_line(text: str) -> None:
        printed_lines.append(text)
        if options.json != "-":
            print(text)

    targets = [Path(options.out, name) for name in TEXTS["pictures"]]
    targets += [Path(options.report, PAGE)] if options.report else []
    targets += [Path(options.json)] if options.json not in (None, "-") else []
    with staged_files(targets) as temporary_files:
        photographs, lines = load_pictures(options.images)
        versions_by_name = {
            line[:17].strip(): line[18:] for line in info.version_report().splitlines()
        }
        # Times of the simulator say nothing about a GPU, so nothing is timed on it.
        simulated = options.device != "cpu" and versions_by_name["CUDA"] == "the simulator"
        table = Table(record_and_print_line, options.device, 0 if simulated else options.repeat)
        versions = [
            f"{name} {versions_by_name[name]}" for name in ("tensorlayout", "numpy", "Python")
        ]
        record_and_print_line(
            "\n".join([", ".join(versions), *lines, f"device: {options.device}", "", HEADER_ROW])
        )
        images = pipeline.run_pipeline(table, photographs)
        facts = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "about": versions_by_name,
            "device": options.device,
            "pictures": lines,
            "steps": [step.json_facts for step in table.steps],
        }
        with as_command_errors("cannot write the results"):
            for target, temporary_file in temporary_files.items():
                if target.name in images:
                    images[target.name].save(temporary_file, compress_level=4)
                elif target.name == PAGE:
                    temporary_file.write_text(
                        _html_page(table, "\n".join(printed_lines), images), "utf-8"
                    )
                elif target.suffix == ".json":
                    temporary_file.write_text(json.dumps(facts, indent=1), "utf-8")
        written = [
            target for target, temporary_file in temporary_files.items() if temporary_file.exists()
        ]
    record_and_print_line("\n".join(f"wrote {target}" for target in written))
    if options.json == "-":
        print(json.dumps(facts, indent=1))


def _html_page(table: Table, printed_text: str, images: Mapping[str, Image]) -> str:
    """Return a self-contained page: styles and pictures are part of it."""
    captions, figures = TEXTS["pictures"], []
    for name, image in images.items():
        buffer = io.BytesIO()
        image.save(buffer, "jpeg", quality=90)
        source = f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
        figures.append(FIGURE.format(captions[name]["page"], f'<img src="{source}" alt="{name}">'))
    small_layouts = zip(captions["layouts.png"]["panels"], demo_layouts((3, 2, 4), 6), strict=True)
    return Template(Path(__file__).with_name("page.html").read_text("utf-8")).substitute(
        style=STYLE,
        said=escape(printed_text),
        layouts="".join(FIGURE.format(f"{name}: {x}", x.draw().svg) for name, x in small_layouts),
        pictures="".join(figures),
        trace="".join(render_section(step.title, step.trace) for step in table.steps),
    )
