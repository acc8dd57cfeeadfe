"""Base class of plans, and the protocol of the backends that execute them.

An *operation* has a pure method ``plan(*key)``: from specs (dtype, layout at slot 0, device), kinds
of Python scalars and static parameters it works out the result and how to get there. Offsets,
pointers and scalar values never are part of the key.
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

# From the operands of a call to its result.
Run = Callable[..., Tensor]

# ``write(out, *operands)``: fills memory that is there.
Write = Callable[..., object]

# ``overlaps(out, operand)``: True if a write into `out` may change `operand` before it is read.
OverlapTest = Callable[[Tensor, Tensor], Any]


class CaptureError(RuntimeError):
    """A call that a CUDA graph cannot hold, refused by its backend."""


class Plan:
    """One step of work on tensors, described without their data: a dataclass that nobody changes.

    Each subclass has a `result`, the spec of the tensor that is made or written.

    Attributes:
        kind: name under which each backend finds the function that compiles such plans.
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
        """A field, or a property, of each subclass."""
        raise NotImplementedError

    @property
    def trace_kind(self) -> Kind:
        """Return what a trace calls it."""
        return "view" if self.result_kind == "view" else "compute"

    def check_destination_fits(self, destination: TensorSpec) -> None:
        """Refuse a tensor that the result does not fit."""
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
        return "destinations" in getattr(self, "__match_args__", ())

    def with_destination(self, destination: TensorSpec) -> Self:
        """Return the plan that writes into a tensor of any layout, which the result fits."""
        plan: Any = self
        return replace(plan, result=destination, destinations=1)


class Operation(Protocol):
    """Something that can be planned."""

    @property
    def name(self) -> str:
        """The public name, for traces; whoever calls puts it in front of errors."""

    def plan(self, *key: Any) -> Plan:
        """Return the plan of a call; pure."""


@plan_dataclass
class DestinationPlan(Plan):
    """A plan whose result is the first operand of the call."""

    destinations = 1

    name: str
    result: TensorSpec


@plan_dataclass
class DestinationOperation:
    """An operation that writes into its first operand, and whose key says all of its plan."""

    name: str
    plan_class: type[DestinationPlan]

    def plan(self, result: TensorSpec, *key: Any) -> DestinationPlan:
        check_same_device([result, *(item for item in key if isinstance(item, TensorSpec))])
        return self.plan_class(self.name, result, *key)


class ExportInfo(NamedTuple):
    """Memory as other libraries are told of it."""

    address: int  # of the element at index (0, …, 0)
    readonly: bool  # also where elements share slots, which nobody may write
    owner: object  # to be kept while the memory is used


class Backend(Protocol):
    """Protocol of the backend modules: ``tensorlayout.cpu``, ``tensorlayout.cuda``."""

    def compile_plan(self, plan: Any, /) -> Any:
        """Return the `Write`, or the `Run`, of a plan, as its `result_kind` says."""

    def compile_allocating(self, plan: Any, /) -> Run | None:
        """Return a `Run` that carries out a ``new`` plan in one go, where that is faster."""

    def tensor_allocator(self, spec: TensorSpec, /) -> Callable[[], Tensor]:
        """Return a function that makes new tensors; on CUDA a write has to fill their padding."""

    def accepts_layouts(self, plan: Any, has_sub_byte_layouts: bool, /) -> bool:
        """Return whether a plan is carried out in its layouts, of which some have no strides.

        `below_a_byte`: whether some are packed so. Other plans run on strided copies.
        """

    def overlap_test(self, plan: Any, /) -> OverlapTest | None:
        """Return what tells the operands that a write would disturb, which are copied before.

        None where that cannot be, or where the backend sees to it itself.
        """

    def read_bytes(self, x: Tensor, /) -> Any:
        """Return the bytes of `x` from its lowest slot to its highest, on the host.

        An array of uint8, for reading: it may share the memory of `x`.
        """

    def export_info(self, x: Tensor, /) -> ExportInfo:
        """Return the address of the elements of `x`."""

    def wrap_external(
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
        """Return a tensor over memory of another library; None for parts of elements as strides.

        `address`: of the element at index (0, …, 0).
        """

    def wrap_external_slots(
        self, address: int, spec: TensorSpec, owner: object, /, *, readonly: bool
    ) -> Tensor:
        """Return such a tensor packed below a byte; the lowest slot begins at `address`."""

    def current_stream(self, device: Device, /) -> int | None:
        """Return the stream on which this thread works; None where there are none."""

    def make_external_stream_wait(self, name: str, stream: Any, device: Device, /) -> None:
        """Have `stream` of another library wait for ours; errors, with `name`, if it is none."""


def backend_of(device: Device) -> Backend:
    """Return the backend of a device, imported when first asked for: ``tensorlayout.cpu``, …."""
    return import_lazily(f"tensorlayout.{device.kind}")
