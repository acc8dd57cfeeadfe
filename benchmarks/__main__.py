"""``python -m benchmarks cpu``: ours against NumPy, array-api-strict and PyTorch."""

from __future__ import annotations

import argparse
from pathlib import Path

from tqdm import tqdm

from benchmarks import report
from benchmarks.cpu import rows
from benchmarks.measure import measure


def main() -> None:
    """Time the rows and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("device", choices=["cpu"])
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds TEXT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rounds as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    asked = parser.parse_args()

    chosen = [row for row in rows(asked.quick) if asked.only in row.name]
    rounds = 5 if asked.quick else 7
    results = []
    # disable=None: no bar where stderr is no terminal.
    for row in tqdm(chosen, disable=None, leave=False, unit="row"):
        timing = measure(row.make(), rounds, batch=0.003, pause=0.005)
        results.append(report.Result(row, timing))
    print(report.text(results))
    if asked.json:
        report.save_json(results, asked.json)
    if asked.markdown:
        asked.markdown.write_text(report.markdown(results), "utf-8")


if __name__ == "__main__":
    main()
