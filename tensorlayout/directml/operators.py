"""Operators ready for use: descriptors compiled, tensors bound, hazards refused."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensorlayout.devices import Device
from tensorlayout.directml import tables
from tensorlayout.directml.constants import TensorFlags
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.errors import refuse, under
from tensorlayout.functions import arguments
from tensorlayout.plan import Exposed, backend, one_device
from tensorlayout.tensor import Tensor, TensorSpec

Given = Sequence[Tensor]


class _Slot(NamedTuple):
    """A tensor member: what a tensor is bound to."""

    member: str
    desc: TensorDesc

    @property
    def owned(self) -> bool:
        return self.desc.flags == TensorFlags.OWNED_BY_DML


class Operator:
    """A validated descriptor, as often as wanted applied to tensors: see `compile`.

    >>> import tensorlayout as tl
    >>> from tensorlayout.directml import Operator, TensorDesc, TileOperatorDesc, compile
    >>> twice = compile(TileOperatorDesc(input=TensorDesc("INT32", (2,)), repeats=(2,)))
    >>> isinstance(twice, Operator), twice(tl.asarray([1, 2], dtype=tl.int32))
    (True, Tensor([1, 2, 1, 2], dtype=int32, device='cpu'))
    """

    def __init__(self, desc: OperatorDesc, feature_level: str) -> None:
        self.desc = desc
        self.feature_level = feature_level
        slots = [_Slot(name, tensor) for name, tensor in desc._tensors if tensor is not None]
        self._inputs = [slot for slot in slots if not slot.member.startswith("Output")]
        self._bound = [slot for slot in self._inputs if not slot.owned]
        self._outputs = [slot for slot in slots if slot.member.startswith("Output")]
        self._owned: list[Tensor] | None = None
        # What was held against each slot, and fits.
        self._fitting: set[tuple[str, TensorSpec]] = set()
        self._arity = len(self._inputs)
        self._device: Device | None = None  # of the outputs of operators without inputs
        self._single = len(self._outputs) == 1 and "[" not in self._outputs[0].member
        self._new: Any = None if self._single else (None,) * len(self._outputs)
        self._left_out = (None,) * (len(desc.inputs_of) - len(self._inputs))

    def initialize(self, *owned: Tensor) -> Operator:
        """Keep copies of the inputs whose descriptors have the flag OWNED_BY_DML; gives `self`."""
        slots = [slot for slot in self._inputs if slot.owned]
        self._check_many(owned, slots, " by initialize()")
        self._owned = [x.copy() for x in owned]
        return self

    def __call__(self, *inputs: Tensor, out: Tensor | Given | None = None) -> Any:
        """Run it: the output, or a tuple of them; new tensors, laid out as described, or `out`.

        Tensors must be what the descriptors say: data type, sizes, and placement (strides, or
        packed row-major where these are left out). Inputs may overlap each other; an output may not
        share a byte with an input, but the same bytes exactly where the operator works in place.
        """
        name = self.desc.operator
        self._check_many(inputs, self._bound)
        given = self._with_owned(inputs)
        if out is not None:
            outs = out if isinstance(out, (tuple, list)) else (out,)
            if len(outs) != len(self._outputs):
                refuse(name, f"out must be {len(self._outputs)} tensors, got {len(outs)}")
            outs = [under(name, arguments.tensor, x, "out") for x in outs]
            self._check_many(outs, self._outputs)
            given = (*given, *outs)
        if given:
            under(name, one_device, [x.spec for x in given])
        return self._run(given, described=True)

    def _with_owned(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if len(self._bound) == len(self._inputs):
            return inputs
        if self._owned is None:
            members = ", ".join(slot.member for slot in self._inputs if slot.owned)
            refuse(self.desc.operator, f"{members} must be bound by initialize() first")
        kept, bound = iter(self._owned), iter(inputs)
        return tuple(next(kept if slot.owned else bound) for slot in self._inputs)

    def _check_many(self, tensors: Sequence[Any], slots: list[_Slot], by: str = "") -> None:
        name = self.desc.operator
        if len(tensors) != len(slots):
            members = ", ".join(slot.member for slot in slots) or "none"
            rule = f"{len(slots)} tensors must be bound{by} ({members})"
            refuse(name, f"{rule}, got {len(tensors)}", TypeError)
        for x, slot in zip(tensors, slots, strict=True):
            by_place = slot.desc.guaranteed_base_offset_alignment or slot.desc.declared
            if by_place or type(x) is not Tensor or (slot.member, x.spec) not in self._fitting:
                found = under(name, arguments.tensor, x, slot.member)
                _check_bound(name, found, slot)
                self._fitting.add((slot.member, found.spec))

    def _run(self, tensors: Given, *, described: bool = False) -> Any:
        """Carry it out on inputs that fit, and outputs, else new ones: the output, or a tuple.

        `described`: new outputs are laid out as their descriptors say, not like the inputs.
        """
        into, outs = self._new, None
        if len(tensors) > self._arity:
            tensors, outs = tensors[: self._arity], tensors[self._arity :]
            self._check_hazards(tensors, outs)
        try:
            if outs is None and (described or not tensors):
                device = tensors[0].device if tensors else self._device
                outs = tuple(slot.desc.empty(device=device) for slot in self._outputs)
            if outs is not None:
                into = outs[0] if self._single else outs
            return self.desc._run(into, *(tensors or self._left_out))
        except MemoryError as error:
            msg = f"{self.desc.operator}: {str(error).partition(': ')[2] or error}"
            raise MemoryError(msg) from None
        except IndexError as error:
            who, _, what = str(error).partition(": ")
            if who != self.desc.operator:  # of a launch before, that is waited for now
                raise
            raise IndexError(f"{who}: IndicesTensor: {what}") from None

    # --- hazards ---------------------------------------------------------------------------------

    def _check_hazards(self, inputs: Given, outs: Given) -> None:
        """Outputs can be written, and share bytes with nothing but an input that is the same."""
        name = self.desc.operator
        for slot, x in zip(self._outputs, outs, strict=True):
            under(f"{name}: {slot.member}", arguments.writable, x)
        read, written = _places(self._inputs, inputs), _places(self._outputs, outs)
        for number, (target, span) in enumerate(written):
            for member, other in read:
                if _meet(span, other) and not (span == other and self.desc.in_place):
                    same = "exactly the same bytes or none"
                    rule = same if self.desc.in_place else "no memory: not done in place"
                    came = f"got {_shared(span, other)}; copy() the input"
                    refuse(name, f"{target} must share with {member} {rule}, {came}")
            for another, other in written[number + 1 :]:
                if _meet(span, other):
                    rule = f"must share no memory with {another}, got {_shared(span, other)}"
                    refuse(name, f"{target} {rule}")

    def __repr__(self) -> str:
        return f"Operator({self.desc!r}, feature_level={self.feature_level!r})"


def compile(desc: OperatorDesc, feature_level: str | int = tables.HIGHEST) -> Operator:
    """A reusable operator of a descriptor, which is validated.

    `desc`: any `OperatorDesc`. ValueError (TypeError for data types) for what `feature_level` does
    not allow.

    >>> import tensorlayout as tl
    >>> from tensorlayout.directml import JoinOperatorDesc, TensorDesc, compile
    >>> piece = TensorDesc("FLOAT32", (1, 1, 1, 2))
    >>> join = compile(JoinOperatorDesc(inputs=[piece, piece], axis=3))
    >>> x = tl.asarray([[[[1, 2]]]], dtype=tl.float32)
    >>> join(x, x)
    Tensor([[[[1., 2., 1., 2.]]]], dtype=float32, device='cpu')
    """
    if not isinstance(desc, OperatorDesc):
        came = arguments.shown(desc)
        refuse("compile", f"desc must be an operator descriptor, got {came}", TypeError)
    level = tables.as_level(feature_level, desc.operator)
    return Operator(desc.validate(level), level)


def _check_bound(name: str, x: Tensor, slot: _Slot) -> None:
    member, desc = slot
    if x.dtype != desc.data_type.dtype:
        described = f"{member} is described as {desc.data_type.name}"
        refuse(name, f"{described}, got dtype {x.dtype}", TypeError)
    if x.shape != desc.sizes:
        refuse(name, f"{member} is described with Sizes {desc.sizes}, got shape {x.shape}")
    if not x.layout.at_origin.same_placement(desc.layout):
        came = f"got {x.strides}; describe the tensor by TensorDesc.of()"
        refuse(name, f"{member} is described with strides {desc.layout.strides}, {came}")
    left = x.spec.layout.required_size * x.itemsize
    if x.home is not None:  # the bytes of the storage from the lowest element on
        left = int(x.home[0].nbytes) - x.home[1] * x.itemsize
    if left < desc.declared:
        refuse(name, f"{member}: TotalTensorSizeInBytes is {desc.declared}, got {left} bytes")
    alignment = desc.guaranteed_base_offset_alignment
    offset = x.layout.lowest * x.itemsize
    if alignment and offset % alignment:
        rule = "promises an offset that is a multiple of GuaranteedBaseOffsetAlignment"
        refuse(name, f"{member} {rule} {alignment}, got {offset} bytes")


_Span = tuple[int, int]  # addresses


def _places(slots: list[_Slot], tensors: Given) -> list[tuple[str, _Span]]:
    pairs = zip(slots, tensors, strict=True)
    return [(member, _range(x, desc.declared)) for (member, desc), x in pairs]


def _range(x: Tensor, declared: int = 0) -> _Span:
    """The bytes from the first to the last element, gaps included, or as declared: addresses."""
    layout, itemsize = x.spec.layout, x.itemsize
    first = _exposed(x.device.kind)(x).address - layout.offset * itemsize
    return first, first + max(layout.required_size * itemsize, declared)


@functools.cache
def _exposed(kind: str) -> Callable[[Tensor], Exposed]:
    return backend(Device(kind, 0)).exposed


def share_bytes(one: Tensor, other: Tensor) -> bool:
    """Return whether the bytes of two tensors meet, gaps included."""
    return one.device == other.device and _meet(_range(one), _range(other))


def _meet(one: _Span, other: _Span) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _shared(one: _Span, other: _Span) -> str:
    return f"{min(one[1], other[1]) - max(one[0], other[0])} bytes shared"
