"""Paired timing: the peers of a row take turns, round by round, so that noise meets all of them.

A ratio is taken within a round and only then summarised: what slows the machine for a second
slows both sides of the ratios of that second.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from types import FrameType

Call = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """Ours over a peer's: the median of the rounds, and the least and the greatest."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one figure for each round, for each peer that took part."""

    rounds: Mapping[str, tuple[float, ...]]

    def middle(self, peer: str) -> float:
        """The median time of a peer."""
        return median(self.rounds[peer])

    def ratio(self, ours: str, peer: str) -> Ratio:
        """Return our time divided by the peer's."""
        pairs = zip(self.rounds[ours], self.rounds[peer], strict=True)
        ratios = [a / b for a, b in pairs]
        return Ratio(median(ratios), min(ratios), max(ratios))


def measure(
    calls: Mapping[str, Call], rounds: int, batch: float, pause: float, warm: bool = True
) -> Timing:
    """Time every call in every round, in the order given.

    A turn is as many calls as fill `batch` seconds, after one that is not counted (`warm`). `pause`
    is waited out at the end of a round: PyTorch's threads keep a processor busy for some
    milliseconds after their work, which is nothing that the next peer should pay for.
    """
    counts = {peer: _count(call, batch) for peer, call in calls.items()}
    rows: dict[str, list[float]] = {peer: [] for peer in calls}
    for _ in range(rounds):
        for peer, call in calls.items():
            if warm:
                call()
            rows[peer].append(_turn(call, counts[peer]))
        time.sleep(pause)
    return Timing({peer: tuple(times) for peer, times in rows.items()})


def rounds_within(calls: Mapping[str, Call], seconds: float, least: int, most: int) -> int:
    """Return how many rounds fit into `seconds`, estimated from one cold call of each."""
    one = sum(_turn(call, 1) for call in calls.values())
    return min(max(least, int(seconds / one)), most)


def python_calls(call: Call, folder: str = "") -> int:
    """Count the Python functions that a warm call enters, a figure without noise.

    `folder`: count only functions of files below it; the text ends with a separator.
    """
    entered = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call" and frame.f_code.co_filename.startswith(folder)

    for _ in range(3):
        call()
    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return entered - (not folder)  # without `call` itself, which is in no folder of interest


def _count(call: Call, batch: float) -> int:
    call()
    count = 1
    while (spent := count * _turn(call, count)) < batch / 4:
        count *= 4
    return max(1, round(count * batch / spent))


def _turn(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
