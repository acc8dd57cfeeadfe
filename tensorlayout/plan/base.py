"""What every plan says, and what the backend of a device offers to carry plans out.

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
from tensorlayout.plan.rules import one_device
from tensorlayout.plan.steps import Kind
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.support.light_dataclasses import planned as planned
from tensorlayout.tensor import Tensor, TensorSpec

# From the operands of a call to its result.
Run = Callable[..., Tensor]

# ``write(out, *operands)``: fills memory that is there.
Write = Callable[..., object]

# ``disturbs(out, operand)``: whether a write into one may change the other before it is read.
Disturbs = Callable[[Tensor, Tensor], Any]


class CaptureError(RuntimeError):
    """A call that a CUDA graph cannot hold, refused by its backend."""


class Plan:
    """What is known of a call before its data is touched: a dataclass that nobody changes.

    Each subclass has a `result`, the spec of what is made or written, and says in class variables
    how it is to be treated, so that nobody asks for its class.

    Attributes:
        kind: the name under which each backend has a function that carries such plans out.
        makes: what that function gives. ``new``: a `Write`, into a tensor that `run` allocates, or
            that the caller gives. ``view``: a `Run` that moves no element. ``own``: a `Run` whose
            memory a library allocates, or whose size depends on data.
        given: whether the first operand is what the result is written into. The padding of such a
            tensor is left alone.
        any_layout: whether a ``new`` plan also writes into a layout that is not the planned one.
        moves_elements: whether every backend carries it out in any layout, tiled ones too.
        keeps_form: whether a result of tiled operands is tiled as they are.
        reads_destination: whether what is written into is read as well.
        overlap: what operands of a write may share with the destination without being disturbed.
            ``nothing``; ``itself``: each element may be exactly where it is written; None: callers
            keep them apart.

    """

    __slots__ = ()

    kind: ClassVar[str]
    makes: ClassVar[Literal["new", "view", "own"]] = "new"
    given: bool = False
    any_layout: ClassVar[bool] = False
    moves_elements: ClassVar[bool] = False
    keeps_form: ClassVar[bool] = False
    reads_destination: ClassVar[bool] = False
    overlap: ClassVar[Literal["nothing", "itself"] | None] = None

    @property
    def result(self) -> TensorSpec:
        """A field, or a property, of each subclass."""
        raise NotImplementedError

    @property
    def destinations(self) -> int:
        """How many operands, the first ones, are written into."""
        return int(self.given)

    @property
    def record(self) -> Kind:
        """What a trace calls it."""
        return "view" if self.makes == "view" else "compute"

    def check_into(self, destination: TensorSpec) -> None:
        """Refuse a tensor that the result does not fit."""
        one_device([self.result, destination])
        found, wanted = self.result.layout.shape, destination.layout.shape
        if found != wanted:
            raise ValueError(f"a result of shape {found} does not fit {wanted}")
        if self.result.dtype != destination.dtype:
            came = f"{self.result.dtype}, which is not the {destination.dtype}"
            raise TypeError(f"the result has dtype {came} of the destination")

    def into(self, destination: TensorSpec) -> Self:
        """The plan that writes into a tensor of any layout, which the result fits."""
        changed: Any = self
        return replace(changed, result=destination, given=True)  # type: ignore[no-any-return]


class Operation(Protocol):
    """Something that can be planned."""

    @property
    def name(self) -> str:
        """The public name, for traces; whoever calls puts it in front of errors."""

    def plan(self, *key: Any) -> Plan:
        """Return the plan of a call; pure."""


@planned
class WrittenPlan(Plan):
    """A plan whose result is the first operand of the call."""

    given = True

    name: str
    result: TensorSpec


@planned
class Written:
    """An operation that writes into its first operand, and whose key says all of its plan."""

    name: str
    planned: type[WrittenPlan]

    def plan(self, result: TensorSpec, *key: Any) -> WrittenPlan:
        one_device([result, *(each for each in key if isinstance(each, TensorSpec))])
        return self.planned(self.name, result, *key)


class Exposed(NamedTuple):
    """Memory as other libraries are told of it."""

    address: int  # of the element at index (0, …, 0)
    readonly: bool  # also where elements share slots, which nobody may write
    owner: object  # to be kept while the memory is used


class Backend(Protocol):
    """What the module of a kind of device offers: ``tensorlayout.cpu``, ``tensorlayout.cuda``."""

    def carry_out(self, plan: Any, /) -> Any:
        """Return the `Write`, or the `Run`, for a plan, as its `makes` says."""

    def direct(self, plan: Any, /) -> Run | None:
        """Return a `Run` that carries out a ``new`` plan in one go, where that is faster."""

    def new_tensors(self, spec: TensorSpec, /) -> Callable[[], Tensor]:
        """Return a function that makes new tensors; on CUDA a write has to fill their padding."""

    def takes_tiles(self, plan: Any, /) -> bool:
        """Return whether a plan that moves no elements is carried out on tiled tensors."""

    def disturbs(self, plan: Any, /) -> Disturbs | None:
        """Return what tells the operands that a write would disturb, which are copied before.

        None where that cannot be, or where the backend sees to it itself.
        """

    def read(self, x: Tensor, /) -> Any:
        """Return the bytes of `x` from its lowest slot to its highest, on the host.

        An array of uint8, for reading: it may share the memory of `x`.
        """

    def exposed(self, x: Tensor, /) -> Exposed:
        """Return the address of the elements of `x`."""

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
        """Return a tensor over memory of another library; None for parts of elements as strides.

        `address`: of the element at index (0, …, 0).
        """

    def borrowed_slots(
        self, address: int, spec: TensorSpec, owner: object, /, *, readonly: bool
    ) -> Tensor:
        """Return such a tensor packed below a byte; the lowest slot begins at `address`."""

    def current_stream(self, device: Device, /) -> int | None:
        """Return the stream on which this thread works; None where there are none."""

    def ready(self, name: str, stream: Any, device: Device, /) -> None:
        """Have `stream` of another library wait for ours; errors, with `name`, if it is none."""


def backend(device: Device) -> Backend:
    """Return the backend of a device, imported when first asked for: ``tensorlayout.cpu``, …."""
    return loaded(f"tensorlayout.{device.kind}")  # type: ignore[no-any-return]
