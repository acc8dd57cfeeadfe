"""What every plan says, and what the backend of a device offers to carry plans out.

An *operation* has a pure method ``plan(*key)``: from specs (dtype, layout at slot 0, device), kinds
of Python scalars and static parameters it works out the result and how to get there. Offsets,
pointers and scalar values never are part of the key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

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

    if TYPE_CHECKING:

        @property
        def result(self) -> TensorSpec:
            """What is made, or written into."""

    @property
    def destinations(self) -> int:
        """How many operands, the first ones, are written into."""
        return int(self.given)

    @property
    def record(self) -> Kind:
        """What a trace calls it: ``view``, ``compute``, ``copy`` or ``relayout``."""
        return "view" if self.makes == "view" else "compute"

    def check_into(self, destination: TensorSpec) -> None:
        """Refuse a tensor that the result does not fit."""
        one_device([self.result, destination])
        found, wanted = self.result.layout.shape, destination.layout.shape
        if found != wanted:
            msg = f"a result of shape {found} does not fit {wanted}"
            raise ValueError(msg)
        if self.result.dtype != destination.dtype:
            came = f"{self.result.dtype}, which is not the {destination.dtype}"
            msg = f"the result has dtype {came} of the destination"
            raise TypeError(msg)

    def into(self, destination: TensorSpec) -> Self:
        """The plan that writes into a tensor of any layout, which the result fits."""
        changed: Any = self
        return replace(changed, result=destination, given=True)  # type: ignore[no-any-return]


class Operation(Protocol):
    """Something that can be planned."""

    @property
    def name(self) -> str:
        """The public name, for errors and traces."""

    def plan(self, *key: Any) -> Plan:
        """The plan of a call; pure. Its errors say no name: who calls puts it there."""


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
        """The plan. ValueError for tensors of several devices."""
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
        """What carries out a plan, as its `makes` says: a `Write`, or a `Run`."""

    def direct(self, plan: Any, /) -> Run | None:
        """A `Run` that carries out a ``new`` plan in one go, where that is faster; else None."""

    def new_tensors(self, spec: TensorSpec, /) -> Callable[[], Tensor]:
        """What makes one new tensor of a spec after the other.

        On the CPU its padding holds its value; on CUDA whatever writes the elements writes that.
        """

    def takes_tiles(self, plan: Any, /) -> bool:
        """Whether a plan of tiled tensors is carried out; else they are copied out of their tiles.

        A plan that moves elements is, in any case.
        """

    def disturbs(self, plan: Any, /) -> Disturbs | None:
        """What tells the operands that a write would disturb, which are copied before.

        None where that cannot be, or where the backend sees to it itself.
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

    def borrowed_slots(
        self, address: int, spec: TensorSpec, owner: object, /, *, readonly: bool
    ) -> Tensor:
        """A tensor over memory of another library that is packed below a byte.

        `address`: of the byte that the lowest slot of `spec` begins.
        """

    def current_stream(self, device: Device, /) -> int | None:
        """The stream of `device` on which this thread works; None where there are none."""

    def ready(self, name: str, stream: Any, device: Device, /) -> None:
        """See to it that another library may use, on `stream`, what has been enqueued on ours.

        Errors, which begin with `name`, for a stream that the device does not have.
        """


def backend(device: Device) -> Backend:
    """The backend of a device, imported when first asked for: ``tensorlayout.cpu``, …."""
    return _backend(device.kind)


@functools.cache
def _backend(kind: str) -> Backend:
    module: Any = loaded(f"tensorlayout.{kind}")
    found: Backend = module
    return found
