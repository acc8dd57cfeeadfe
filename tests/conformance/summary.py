"""Results of a run of the suite as a section of a page: facts of the run, and counts."""

from __future__ import annotations

import datetime
import platform
import subprocess
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("tensorlayout", "numpy", "hypothesis", "pytest")
HEADING = "## Results on "


def facts(folder: Path, max_examples: int, seed: int, *, corrected: bool) -> list[str]:
    """Describe where, when and how the suite ran."""
    described = subprocess.run(
        ["git", "-C", folder, "describe", "--tags", "--always"],
        check=False,
        capture_output=True,
        text=True,
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    examples = f"{max_examples} examples (a tenth in the suite's slow tests), seed {seed}"
    return [
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {platform.system()} {platform.machine()}",
        f"array-api-tests {described.stdout.strip() or 'of unknown version'},"
        f" {'with three corrections' if corrected else 'as published'}",
        f"Python {platform.python_version()}, {libraries}",
        examples,
    ]


def section(device: str, lines: list[str], findings: dict[str, Any]) -> str:
    """The heading of a device, the facts, the counts, and every test that did not pass."""
    tests = [(test["nodeid"], outcome(test["outcome"])) for test in findings["tests"]]
    counts = Counter(result for _, result in tests)
    cells = (counts.total(), counts["passed"], counts["failed"], counts["skipped"])
    others = sorted(f"- {result}: `{name}`" for name, result in tests if result != "passed")
    return "\n".join(
        [
            f"{HEADING}{device}",
            "",
            *(f"- {line}" for line in lines),
            "",
            "| tests | passed | failed | skipped |",
            "| ---: | ---: | ---: | ---: |",
            f"| {' | '.join(map(str, cells))} |",
            *(["", *others] if others else []),
            "",
        ]
    )


def outcome(word: str) -> str:
    """A pytest outcome as passed, failed or skipped; whatever is neither of the others failed."""
    return word if word in ("passed", "skipped") else "failed"


def with_section(page: str, text: str) -> str:
    """The page with this section in the place of its older version, or at the end."""
    heading = text.partition("\n")[0]
    before, *sections = page.split(f"\n{HEADING}")
    kept = [f"{HEADING}{other}" for other in sections]
    for i, other in enumerate(kept):
        if other.partition("\n")[0] == heading:
            kept[i] = text
            break
    else:
        kept.append(text)
    return "\n".join([before.rstrip("\n") + "\n", *(k.rstrip("\n") + "\n" for k in kept)])
