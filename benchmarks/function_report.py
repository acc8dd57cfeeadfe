"""The tables of the functions: ratios by dtype, then by layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.functions import LAYOUTS, NBYTES, ROW_MAJOR, TYPES, functions_of
from benchmarks.measure import Timing
from benchmarks.peers import OURS
from benchmarks.report import Result, duration, machine, table

Found = Mapping[tuple[str, str, str], Result]  # by function, dtype and layout


def markdown(results: Sequence[Result], floors: Mapping[str, Timing]) -> str:
    """The page for ``benchmarks/results``, which is also what the terminal shows."""
    missed = [r for r in results if r.above]
    names = functions_of([r.row for r in results])
    by_case = {(r.row.function, r.row.dtype, r.row.layout): r for r in results}
    per_byte = _least(floors["bytes"], "numpy") / (2 * NBYTES)
    lines = [
        "# Functions against NumPy",
        "",
        *[f"{line}  " for line in machine()],
        "",
        *_explained(floors),
        "",
        f"{len(missed)} of {len(results)} cases above target.",
        "",
        "## Row-major, by dtype",
        "",
        *table(
            ["function", "ours", "over the floor", *TYPES],
            [[name, *_by_dtype(name, by_case, per_byte)] for name in names],
        ),
        "",
        "## By layout",
        "",
        *table(
            ["function", "dtype", *LAYOUTS], [[name, *_by_layout(name, by_case)] for name in names]
        ),
        "",
    ]
    if missed:
        lines += ["## Above target", ""]
        lines += [f"- {r.row.name}: {_missed(r)}" for r in missed] + [""]
    return "\n".join(lines)


def _explained(floors: Mapping[str, Timing]) -> list[str]:
    bytes_, calls = floors["bytes"], floors["calls"]
    rate = 2 * NBYTES / _least(bytes_, "numpy") / 1e9
    copies, ours = (duration(_least(bytes_, peer)) for peer in ("numpy", OURS))
    sums, our_sums = (duration(_least(calls, peer)) for peer in ("numpy", OURS))
    return [
        "Operands of 16 MB. A figure is our time over NumPy's for the same strided arrays: the"
        " median of the rounds' ratios, in brackets the least to the greatest; **bold** above"
        " target, which is 1.05, and 1.10 for functions that are repaired to the standard's"
        " special cases. In the second table a second figure follows: our time over our own on"
        " row-major operands, target 1.10.",
        "",
        f"Two floors. Bytes: NumPy copies 16 MB into existing memory in {copies}, we in {ours};"
        f" {rate:.1f} GB/s of bytes read and written. *Over the floor* is our least time over that"
        " of the operands' and the result's bytes at this rate. Calls: the sum of 8 float32 takes"
        f" NumPy {sums}, and {our_sums} here: one look-up of a plan and one call of NumPy. A"
        " repaired function makes a few calls for each block of 256 KiB.",
    ]


def _by_dtype(name: str, by_case: Found, per_byte: float) -> list[str]:
    """Empty cells for what was not timed."""
    results = [by_case.get((name, dtype, ROW_MAJOR)) for dtype in TYPES]
    timed = [r for r in results if r is not None]
    if not timed:
        return [""] * (len(TYPES) + 2)
    least = _least(timed[0].timing, OURS)
    return [
        duration(least),
        f"{least / (per_byte * timed[0].row.nbytes):.1f}",
        *[_ratio(r, "numpy") if r is not None else "" for r in results],
    ]


def _by_layout(name: str, by_case: Found) -> list[str]:
    dtype = next(d for n, d, _ in by_case if n == name)
    results = [by_case.get((name, dtype, layout)) for layout in LAYOUTS]
    return [dtype, *[f"{_ratio(r, 'numpy')}; {_ratio(r, ROW_MAJOR)}" if r else "" for r in results]]


def _ratio(result: Result, peer: str) -> str:
    ratio = result.ratios[peer]
    middle = f"**{ratio.middle:.2f}**" if peer in result.above else f"{ratio.middle:.2f}"
    return f"{middle} ({ratio.low:.2f} to {ratio.high:.2f})"


def _missed(result: Result) -> str:
    ratios = result.ratios
    by = [f"{ratios[peer].middle:.2f} of {peer}" for peer in result.above]
    return f"{duration(result.timing.middle(OURS))}, {', '.join(by)}"


def _least(timing: Timing, peer: str) -> float:
    return min(timing.rounds[peer])
