"""Base class of plans, and the protocol of the backends that execute them.

An *operation* has a pure method ``plan(*key)``. The key consists of specs (dtype, layout at slot 0,
device), types of Python scalars, and static parameters; the plan says which result the call has and
how to compute it. Offsets, pointers and values of scalars are never part of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.plan.events import Kind
from tensorlayout.plan.rules import check_same_device
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import plan_dataclass as plan_dataclass
from tensorlayout.tensor import Tensor, TensorSpec

# ``run(*operands)``: returns the result of a call.
Run = Callable[..., Tensor]

# ``write(out, *operands)``: writes the result into existing memory.
Write = Callable[..., object]

# ``overlaps(out, operand)``: True if a write into `out` may change `operand` before it is read.
OverlapTest = Callable[[Tensor, Tensor], Any]


class Plan:
    """One step of work on tensors, described without their data: an immutable dataclass.

    Each subclass has a `result`, the spec of the tensor that is created or written.

    Attributes:
        kind: key of the backends' tables of functions that compile such plans.
        destinations: number of leading operands that are written into; their padding is unchanged.
            A plan with a field of this name can also write into a tensor of any layout.
        result_kind: kind of the compiled function. ``new``: a `Write` into a tensor that `run`
            allocates, or into destinations. ``view``: a `Run` that moves no element. ``own``: a
            `Run` whose memory a library allocates, or whose size depends on data.
        partial: True if only some elements of the destination are written. Then it is read as well,
            and no other operand may share memory with it.
        in_place: True if operands may be exactly where the result is written, element by element.
            If neither is True, callers keep operands and destinations apart.

    """

    __slots__ = ()

    kind: ClassVar[str]
    destinations: int = 0
    result_kind: ClassVar[Literal["new", "view", "own"]] = "new"
    partial: ClassVar[bool] = False
    in_place: ClassVar[bool] = False

    @property
    def result(self) -> TensorSpec:
        """Spec of the result; each subclass has a field or property of this name."""
        raise NotImplementedError

    @property
    def trace_kind(self) -> Kind:
        """Kind of record that a trace shows for the plan."""
        return "view" if self.result_kind == "view" else "compute"

    def check_destination_fits(self, destination: TensorSpec) -> None:
        """Raise ValueError or TypeError if the result does not fit `destination`."""
        check_same_device([self.result, destination])
        result_shape, destination_shape = self.result.layout.shape, destination.layout.shape
        if result_shape != destination_shape:
            raise ValueError(f"a result of shape {result_shape} does not fit {destination_shape}")
        if self.result.dtype != destination.dtype:
            mismatch = f"{self.result.dtype}, which is not the {destination.dtype}"
            raise TypeError(f"the result has dtype {mismatch} of the destination")

    @property
    def can_write_into_destination(self) -> bool:
        """True if `with_destination` accepts a tensor of any layout."""
        # `__match_args__` lists fields, but not class attributes such as `Plan.destinations`.
        return "destinations" in getattr(self, "__match_args__", ())

    def with_destination(self, destination: TensorSpec) -> Self:
        """Return the plan that writes into `destination`, of any layout; the result must fit."""
        plan: Any = self
        return replace(plan, result=destination, destinations=1)


class Operation(Protocol):
    """An operation that can be planned."""

    @property
    def name(self) -> str:
        """Public name, for traces and for the caller to put in front of error messages."""

    def plan(self, *key: Any) -> Plan:
        """Return the plan of a call; has no side effects."""


@plan_dataclass
class DestinationPlan(Plan):
    """A plan whose result is the first operand of the call."""

    destinations = 1

    name: str
    result: TensorSpec


@plan_dataclass
class DestinationOperation:
    """An operation that writes into its first operand, and whose key has all fields of its plan."""

    name: str
    plan_class: type[DestinationPlan]

    def plan(self, result: TensorSpec, *key: Any) -> DestinationPlan:
        check_same_device([result, *(item for item in key if isinstance(item, TensorSpec))])
        return self.plan_class(self.name, result, *key)


class ExportInfo(NamedTuple):
    """Memory as it is described to other libraries."""

    address: int  # of the element at index (0, …, 0)
    readonly: bool  # True also if elements share slots
    owner: object  # must be kept alive while the memory is used


class Backend(Protocol):
    """Protocol of the backend modules: ``tensorlayout.cpu``, ``tensorlayout.cuda``."""

    def compile_plan(self, plan: Any, /) -> Any:
        """Compile a plan to a `Write` or a `Run`, depending on its `result_kind`."""

    def compile_allocating(self, plan: Any, /) -> Run | None:
        """Return a `Run` that allocates and computes at once, if that is faster; otherwise None."""

    def tensor_allocator(self, spec: TensorSpec, /) -> Callable[[], Tensor]:
        """Return a function that allocates tensors; on CUDA a write has to fill their padding."""

    def accepts_layouts(self, plan: Any, has_sub_byte_layouts: bool, /) -> bool:
        """Return whether a plan can run directly in its layouts, some of which have no strides.

        `has_sub_byte_layouts`: some are packed below a byte. Plans that are not accepted run on
        strided copies.
        """

    def overlap_test(self, plan: Any, /) -> OverlapTest | None:
        """Return a test for operands that a write would change before they are read.

        None if that cannot happen, or if the backend handles it itself.
        """

    def read_bytes(self, x: Tensor, /) -> Any:
        """Return the bytes of `x` from its lowest slot to its highest, as uint8 on the host.

        The array is only for reading, because it may share the memory of `x`.
        """

    def export_info(self, x: Tensor, /) -> ExportInfo:
        """Return the address of `x`, whether it is read-only, and the owner of its memory."""

    def wrap_external(
        self,
        address: int,
        dtype: DType,
        shape: tuple[int, ...],
        byte_strides: tuple[int, ...],
        device: Device,
        owner: object,
        /,
        *,
        readonly: bool,
    ) -> Tensor | None:
        """Return a tensor over another library's memory; None if strides are no whole elements.

        `address`: of the element at index (0, …, 0). `byte_strides`: strides in **bytes**.
        """

    def wrap_external_slots(
        self, address: int, spec: TensorSpec, owner: object, /, *, readonly: bool
    ) -> Tensor:
        """Return a tensor of `spec` over another library's memory.

        Its lowest slot begins at `address`.
        """

    def current_stream(self, device: Device, /) -> int | None:
        """Return the stream on which this thread works; None on devices without streams."""

    def make_external_stream_wait(self, name: str, stream: Any, device: Device, /) -> None:
        """Make another library's `stream` wait for ours; `name` is the prefix of errors."""


def backend_of(device: Device) -> Backend:
    """Return the backend of a device (``tensorlayout.cpu``, …), imported at first use."""
    return import_lazily(f"tensorlayout.{device.kind}")
