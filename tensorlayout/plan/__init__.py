"""Plans: all that can be known of a call before its data is touched, made once and kept.

An *operation* has a pure method ``plan(*key)``: from specs (dtype, layout at slot 0, device), kinds
of Python scalars and static parameters it works out the result and how to get there. `prepared`
hands the plan to the device's backend, which turns it into a function of the operands, and keeps
that. Offsets, pointers and scalar values never are part of the key.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, Protocol

from tensorlayout.devices import Device
from tensorlayout.tensor import Spec, Tensor

Run = Callable[..., Tensor]

# Plans kept. One holds a few kilobytes (layouts, closures), never data.
CACHE_SIZE = 4096


class Plan(Protocol):
    """What every plan says: the result (for a write in place, the destination)."""

    @property
    def result(self) -> Spec:
        """The spec of the result."""


class _Prepared(Protocol):
    def __call__(self, operation: Operation, *key: Any) -> Run: ...
    def cache_info(self) -> Any: ...
    def cache_clear(self) -> None: ...


class Operation(Protocol):
    """Something that can be planned."""

    @property
    def name(self) -> str:
        """The public name, for errors and traces."""

    def plan(self, *key: Any) -> Plan:
        """The plan of a call; pure."""


def prepare(operation: Operation, *key: Any) -> Run:
    """Plan a call and have the backend of its device prepare it, without the cache."""
    plan = operation.plan(*key)
    return backend(plan.result.device)(plan)


# Typed by hand: operations are hashable by identity, which their protocol does not say.
_cached: Any = functools.lru_cache(maxsize=CACHE_SIZE)(prepare)
prepared: _Prepared = _cached


def backend(device: Device) -> Callable[[Plan], Run]:
    """The backend of a device, imported when first asked for: ``tensorlayout.cpu``, …."""
    module = importlib.import_module(f"tensorlayout.{device.kind}")
    found: Callable[[Plan], Run] = module.prepare
    return found


def cache_info() -> Any:
    """Hits, misses, the size limit and the current size of the cache of plans."""
    return prepared.cache_info()


def cache_clear() -> None:
    """Forget all plans."""
    prepared.cache_clear()
