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
from typing import Any, NamedTuple, Protocol

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.plan import apart, tiled
from tensorlayout.tensor import Tensor, TensorSpec

Run = Callable[..., Tensor]

# Plans kept. One holds a few kilobytes (layouts, closures), never data.
CACHE_SIZE = 4096


class CaptureError(RuntimeError):
    """A call that a CUDA graph cannot hold, refused by its backend; `call` names the function."""


class Plan(Protocol):
    """What every plan says: the result (for a write in place, the destination)."""

    @property
    def result(self) -> TensorSpec:
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


class Exposed(NamedTuple):
    """Memory as other libraries are told of it."""

    address: int  # of the element at index (0, …, 0)
    readonly: bool
    owner: object  # to be kept while the memory is used


class Backend(Protocol):
    """What the module of a kind of device offers: ``tensorlayout.cpu``, ``tensorlayout.cuda``."""

    def prepare(self, plan: Plan, /) -> Run:
        """The function of the operands that carries out a plan; NotImplementedError without one."""

    def takes_tiles(self, plan: Plan, /) -> bool:
        """Whether `prepare` takes a plan of tiled tensors; else they are copied out of their tiles.

        Plans that `tiled.moves` it takes in any case.
        """

    def disturbs(self, plan: Plan, /) -> Callable[[Tensor, Tensor], Any] | None:
        """What says whether a write into the first tensor may change the second before it is read.

        Such operands are copied before a plan is run. None where that cannot be, or where the
        backend sees to it itself.
        """

    def read(self, x: Tensor, /) -> Any:
        """The bytes of `x` from its lowest slot on, as many as its layout requires, on the host.

        An array of uint8, for reading: it may share the memory of `x`.
        """

    def exposed(self, x: Tensor, /) -> Exposed:
        """Where the elements of `x` are."""

    def borrowed(
        self,
        address: int,
        dtype: DType,
        shape: tuple[int, ...],
        byte_steps: tuple[int, ...],
        device: Device,
        owner: object,
        /,
        *,
        readonly: bool,
    ) -> Tensor | None:
        """A tensor over memory of another library, `owner` kept with it.

        `address`: of the element at index (0, …, 0). None where strides are no whole elements.
        """

    def current_stream(self, device: Device, /) -> int | None:
        """The stream of `device` on which this thread works; None where there are none."""

    def ready(self, name: str, stream: Any, device: Device, /) -> None:
        """See to it that another library may use, on `stream`, what has been enqueued on ours.

        Errors, which begin with `name`, for a stream that the device does not have.
        """


def prepare(operation: Operation, *key: Any) -> Run:
    """Plan a call and have the backend of its device prepare it, without the cache."""
    plan = tiled.planned(operation, key)
    where = backend(plan.result.device)
    if tiled.needs_strides(plan, key, where.takes_tiles):
        return tiled.prepare(operation, key, plan, prepare)
    try:
        run = where.prepare(plan)
    except NotImplementedError as error:
        msg = f"{operation.name}: {error}"
        raise NotImplementedError(msg) from None
    disturbs = where.disturbs(plan)
    return run if disturbs is None else apart.prepare(operation, key, run, disturbs, prepared)


# Typed by hand: operations are hashable by identity, which their protocol does not say.
_cached: Any = functools.lru_cache(maxsize=CACHE_SIZE)(prepare)
prepared: _Prepared = _cached


def backend(device: Device) -> Backend:
    """The backend of a device, imported when first asked for: ``tensorlayout.cpu``, …."""
    module: Any = importlib.import_module(f"tensorlayout.{device.kind}")
    found: Backend = module
    return found


def cache_info() -> Any:
    """Hits, misses, the size limit and the current size of the cache of plans."""
    return prepared.cache_info()


def cache_clear() -> None:
    """Forget all plans."""
    prepared.cache_clear()
