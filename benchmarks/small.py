"""``python -m benchmarks small``: calls on 8 x 8 float32, where what the host does is all the time.

A row may take PyTorch's time, or 0.8 us more than NumPy where that is more.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks.measure import Call, Timing, measure, python_calls
from benchmarks.peers import OURS, torch
from benchmarks.report import table

MORE_THAN_NUMPY = 0.8e-6

Calls = dict[str, Call]

_iadd: Callable[[Any, Any], object] = operator.iadd


@dataclass(frozen=True)
class SmallResult:
    """A row, its times, and how many Python functions our call enters."""

    name: str
    timing: Timing
    python_calls: int

    def least(self, peer: str) -> float:
        """The least time of a peer, in seconds."""
        return min(self.timing.rounds[peer])

    @property
    def target(self) -> float:
        """The time, in seconds, that ours is to stay within."""
        limit = self.least("numpy") + MORE_THAN_NUMPY
        return max(limit, self.least("torch")) if "torch" in self.timing.rounds else limit

    @property
    def missed(self) -> bool:
        """Return True if our shortest time exceeds the target."""
        return self.least(OURS) > self.target


class _Operands:
    """The same values in each library: a row's operands, some of them written to."""

    def __init__(self, of: Any) -> None:
        random = np.random.default_rng(0)
        values = random.random((8, 8), np.float32)
        self.x, self.y = of(values), of(random.random((8, 8), np.float32))
        self.written, self.mask = of(np.zeros((8, 8), np.float32)), of(values > 0.5)
        self.indices = of(np.array([6, 0, 3, 3, 1]))
        self.scalar, self.plane = of(np.array(1.5, np.float32)), of(values[:, None].copy())
        self.values, self.rows = values, values.tolist()


def _common(a: _Operands, xp: Any) -> Calls:
    """Calls that every library spells alike."""
    x, y, written, mask, indices, scalar = a.x, a.y, a.written, a.mask, a.indices, a.scalar
    return {
        "`x[1]`": lambda: x[1],
        "`x[1:, ::2]`": lambda: x[1:, ::2],
        "`x[1, 2]`": lambda: x[1, 2],
        "`x[1] = 0`": lambda: operator.setitem(written, 1, 0),
        "`x[1:, ::2] = 0`": lambda: operator.setitem(
            written, (slice(1, None), slice(0, None, 2)), 0
        ),
        "iteration over x": lambda: [None for _ in x],
        "`x.T`": lambda: x.T,
        "`x.mT`": lambda: x.mT,
        "reshape": lambda: xp.reshape(x, (4, 16)),
        "broadcast_to": lambda: xp.broadcast_to(x, (4, 8, 8)),
        "sum": lambda: xp.sum(x),
        "sum by axis": lambda: xp.sum(x, axis=0),
        "mean": lambda: xp.mean(x),
        "argmax": lambda: xp.argmax(x),
        "any": lambda: xp.any(mask),
        "matmul": lambda: xp.matmul(x, y),
        "`x[mask]`": lambda: x[mask],
        "`x[indices]`": lambda: x[indices],
        "stack": lambda: xp.stack((x, y)),
        "where": lambda: xp.where(mask, x, y),
        "asarray of a list": lambda: xp.asarray(a.rows, dtype=xp.float32),
        "asarray of a NumPy array": lambda: xp.asarray(a.values),
        "zeros": lambda: xp.zeros((8, 8), dtype=xp.float32),
        "ones": lambda: xp.ones((8, 8), dtype=xp.float32),
        "full": lambda: xp.full((8, 8), 1.5, dtype=xp.float32),
        "arange": lambda: xp.arange(8),
        "argsort": lambda: xp.argsort(x),
        "`x + x`": lambda: x + x,
        "`x + 1.5`": lambda: x + 1.5,
        "`x += x`": lambda: _iadd(written, written),
        "`x > 0`": lambda: x > 0,
        "exp": lambda: xp.exp(x),
        "clip": lambda: xp.clip(x, 0.25, 0.75),
        "`float(x0)`": lambda: float(scalar),
        "tolist": lambda: x.tolist(),
        "from_dlpack": lambda: xp.from_dlpack(a.values),
        "np.asarray(x)": lambda: np.asarray(x),
    }


def _standard(a: _Operands, xp: Any) -> Calls:
    """Calls that PyTorch spells differently from the standard."""
    x, y, indices, plane = a.x, a.y, a.indices, a.plane
    return _common(a, xp) | {
        "permute_dims": lambda: xp.permute_dims(plane, (2, 0, 1)),
        "expand_dims": lambda: xp.expand_dims(x, axis=1),
        "squeeze": lambda: xp.squeeze(plane, axis=1),
        "flip": lambda: xp.flip(x, axis=0),
        "max by axis": lambda: xp.max(x, axis=0),
        "take": lambda: xp.take(x, indices, axis=0),
        "concat": lambda: xp.concat((x, y)),
        "astype": lambda: xp.astype(x, xp.float64),
        "sort": lambda: xp.sort(x),
        "copy": lambda: x.copy(),
        "cumulative_sum": lambda: xp.cumulative_sum(x, axis=0),
        "nonzero": lambda: xp.nonzero(x),
        "unique_values": lambda: xp.unique_values(x),
    }


def _ours() -> Calls:
    a = _Operands(tl.asarray)
    return _standard(a, tl) | {"tl.to_layout": lambda: tl.to_layout(a.x, (0, 1))}


def _numpy() -> Calls:
    a = _Operands(np.asarray)
    return _standard(a, np) | {"tl.to_layout": lambda: np.asfortranarray(a.x)}


def _torch() -> Calls:
    a = _Operands(torch.asarray)
    x, y, indices, plane = a.x, a.y, a.indices, a.plane
    return _common(a, torch) | {
        "permute_dims": lambda: torch.permute(plane, (2, 0, 1)),
        "expand_dims": lambda: torch.unsqueeze(x, 1),
        "squeeze": lambda: torch.squeeze(plane, 1),
        "flip": lambda: torch.flip(x, (0,)),
        "max by axis": lambda: torch.amax(x, 0),
        "take": lambda: torch.index_select(x, 0, indices),
        "concat": lambda: torch.concat((x, y)),
        "astype": lambda: x.to(torch.float64),
        "sort": lambda: torch.sort(x),
        "copy": lambda: x.clone(),
        "cumulative_sum": lambda: torch.cumsum(x, 0),
        "nonzero": lambda: torch.nonzero(x, as_tuple=True),
        "unique_values": lambda: torch.unique(x),
        "tl.to_layout": lambda: x.mT.contiguous().mT,
    }


def rows() -> dict[str, Calls]:
    """For each row the call of each library, ours between the others: NumPy, ours, PyTorch."""
    libraries = {"numpy": _numpy(), OURS: _ours()}
    if torch is not None:
        libraries["torch"] = _torch()
    return {
        name: {peer: calls[name] for peer, calls in libraries.items()} for name in libraries[OURS]
    }


def timed(only: str, quick: bool) -> Iterator[SmallResult]:
    """The rows whose name holds the text, one after the other."""
    rounds, batch = (3, 0.0002) if quick else (21, 0.002)
    for name, calls in rows().items():
        if only in name:
            counted = python_calls(calls[OURS])
            yield SmallResult(name, measure(calls, rounds, batch, pause=0.0), counted)


def markdown(results: list[SmallResult], machine: list[str]) -> str:
    """The page."""
    peers = list(results[0].timing.rounds) if results else [OURS]
    peers.sort(key=[OURS, "numpy", "torch"].index)
    header = ["8 x 8 float32", *peers, "target", "ours / target", "Python calls", "missed"]
    lines = table(header, [_line(r, peers) for r in results], last="---")
    missed = sum(r.missed for r in results)
    notes = [
        "`python -m benchmarks small`: microseconds of a warm call, the least of the rounds and in",
        "brackets their median. Target, for the least: PyTorch's time, or 0.8 us more than NumPy's",
        "where that is more. Python calls: functions in Python that our call enters.",
        "",
        f"{missed} of {len(results)} rows miss.",
    ]
    return "\n".join(["# Small calls", "", *notes, "", *machine, "", *lines, ""])


def _line(result: SmallResult, peers: list[str]) -> list[str]:
    times = [f"{1e6 * result.least(p):.2f} ({1e6 * result.timing.middle(p):.2f})" for p in peers]
    share = f"{result.least(OURS) / result.target:.2f}"
    missed = "missed" if result.missed else ""
    return [
        result.name,
        *times,
        f"{1e6 * result.target:.2f}",
        share,
        str(result.python_calls),
        missed,
    ]
