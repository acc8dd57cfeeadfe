"""Operators on tensors: descriptors compiled, tensors bound, hazards refused; functions' calls.

Each function calls `run` with its descriptor and the members that its arguments are. What was
validated once is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast

from tensorlayout.devices import Device, as_device
from tensorlayout.directml import constants, tables
from tensorlayout.directml.constants import TensorFlags, in_name_of, within
from tensorlayout.directml.members import Member
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.tensor_desc import TensorDesc, desc_of
from tensorlayout.errors import REFUSALS, refuse, under
from tensorlayout.functions import arguments
from tensorlayout.functions.creation import empty
from tensorlayout.functions.manipulation import reshape
from tensorlayout.plan import backend, one_device
from tensorlayout.tensor import Tensor, TensorSpec

HIGHEST = tables.HIGHEST  # the feature level of functions that are given none

Given = Sequence[Tensor]


class _Slot(NamedTuple):
    """A tensor member: what a tensor is bound to."""

    member: str
    desc: TensorDesc


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
        self._kept = [slot for slot in self._inputs if slot.desc.flags == TensorFlags.OWNED_BY_DML]
        self._bound = [slot for slot in self._inputs if slot not in self._kept]
        self._outputs = [slot for slot in slots if slot.member.startswith("Output")]
        self._owned: list[Tensor] | None = None
        # What was held against each slot, and fits.
        self._fitting: set[tuple[str, TensorSpec]] = set()
        self._arity = len(self._inputs)
        self._device: Device | None = None  # of the outputs of operators without inputs
        self._single = len(self._outputs) == 1 and "[" not in self._outputs[0].member

    def initialize(self, *owned: Tensor) -> Operator:
        """Keep copies of the inputs whose descriptors have the flag OWNED_BY_DML; gives `self`."""
        given = under(self.desc.operator, self._fit, owned, self._kept, " by initialize()")
        self._owned = [x.copy() for x in given]
        return self

    def __call__(self, *inputs: Tensor, out: Tensor | Given | None = None) -> Any:
        """Run it: the output, or a tuple of them; new tensors, laid out as described, or `out`.

        Tensors must be what the descriptors say: data type, sizes, and placement (strides, or
        packed row-major where these are left out). Inputs may overlap each other; an output may not
        share a byte with an input, but the same bytes exactly where the operator works in place.
        """
        try:
            return self._run(self._all_bound(inputs, out), described=True)
        except REFUSALS as error:
            raise in_name_of(self.desc.operator, error) from None

    def _all_bound(self, inputs: Given, out: Tensor | Given | None) -> list[Tensor]:
        """The inputs, owned ones among them, and what is given as `out`."""
        given = self._fit(inputs, self._bound)
        if len(given) < self._arity:
            if self._owned is None:
                members = ", ".join(slot.member for slot in self._kept)
                raise ValueError(f"{members} must be bound by initialize() first")
            kept, bound = iter(self._owned), iter(given)
            given = [next(kept if slot in self._kept else bound) for slot in self._inputs]
        if out is not None:
            outs = out if isinstance(out, (tuple, list)) else (out,)
            if len(outs) != len(self._outputs):
                raise ValueError(f"out must be {len(self._outputs)} tensors, got {len(outs)}")
            given += self._fit(outs, self._outputs)
        if given:
            one_device([x.spec for x in given])
        return given

    def _fit(self, tensors: Sequence[Any], slots: list[_Slot], by: str = "") -> list[Tensor]:
        """The tensors that are bound to slots; the errors for those that are not as described."""
        if len(tensors) != len(slots):
            members = ", ".join(slot.member for slot in slots) or "none"
            rule = f"{len(slots)} tensors must be bound{by} ({members})"
            raise TypeError(f"{rule}, got {len(tensors)}")
        given = []
        for x, slot in zip(tensors, slots, strict=True):
            found = arguments.tensor(x, slot.member)
            given.append(found)
            by_place = slot.desc.guaranteed_base_offset_alignment or slot.desc.declared
            if by_place or (slot.member, found.spec) not in self._fitting:
                _check_bound(found, slot)
                self._fitting.add((slot.member, found.spec))
        return given

    def _run(self, given: Given, *, described: bool = False) -> Any:
        """Carry it out on inputs that fit, and outputs, else new ones: the output, or a tuple.

        `described`: new outputs are laid out as their descriptors say, not like the first input.
        """
        inputs: Given = given
        outs: list[Tensor] = []
        if len(given) > self._arity:
            inputs, outs = given[: self._arity], list(given[self._arity :])
            self._check_hazards(inputs, outs)
        try:
            if not outs and (described or not inputs):
                device = inputs[0].device if inputs else self._device
                outs = [slot.desc.empty(device=device) for slot in self._outputs]
            elif not outs and not self.desc._makes_output:
                for slot in self._outputs:
                    outs.append(new_output(slot.desc, inputs[0]))
            if not outs:
                return self.desc._run(None, *inputs)
            into = outs[0] if self._single else tuple(outs)
            self.desc._run(into, *inputs)
            return into
        except MemoryError as error:  # in the name of a function inside
            raise MemoryError(vars(error).get("said", error)) from None
        except IndexError as error:
            name, _, text = str(error).partition(": ")
            if name != self.desc.operator:  # of a launch before, that is waited for now
                raise
            raise IndexError(f"IndicesTensor: {text}") from None

    # --- hazards ---------------------------------------------------------------------------------

    def _check_hazards(self, inputs: Given, outs: Given) -> None:
        """Outputs can be written, and share bytes with nothing but an input that is the same."""
        for slot, x in zip(self._outputs, outs, strict=True):
            within(slot.member, arguments.writable, x)
        slots, spans = (*self._inputs, *self._outputs), []
        for slot, x in zip(slots, (*inputs, *outs), strict=True):
            spans.append((slot.member, _range(x, slot.desc.declared)))
        read, written = spans[: self._arity], spans[self._arity :]
        for number, (target, span) in enumerate(written):
            for member, other in (*read, *written[number + 1 :]):
                shared, is_input = _shared(span, other), not member.startswith("Output")
                in_place = is_input and self.desc.in_place
                if shared and not (in_place and span == other):
                    rule = "exactly the same bytes or none" if in_place else "no memory"
                    came = f"got {shared} bytes shared{'; copy() the input' if is_input else ''}"
                    raise ValueError(f"{target} must share with {member} {rule}, {came}")

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
    return Operator(desc.validate(feature_level), tables.as_level(feature_level))


def new_output(desc: TensorDesc, like: Tensor) -> Tensor:
    """A new tensor for an output: packed, in the order of `like` if that has as many dimensions."""
    layout = like.spec.layout
    order = layout.minor_to_major if len(layout.shape) == len(desc.sizes) else None
    dtype = desc.data_type.dtype
    return empty(desc.sizes, dtype=dtype, device=like.spec.device, layout=order)


def _check_bound(x: Tensor, slot: _Slot) -> None:
    member, desc = slot
    if x.dtype != desc.data_type.dtype:
        described = f"{member} is described as {desc.data_type.name}"
        raise TypeError(f"{described}, got dtype {x.dtype}")
    if x.shape != desc.sizes:
        raise ValueError(f"{member} is described with Sizes {desc.sizes}, got shape {x.shape}")
    if not x.layout.at_origin.same_placement(desc.layout):
        came = f"got {x.strides}; describe the tensor by TensorDesc.of()"
        raise ValueError(f"{member} is described with strides {desc.layout.strides}, {came}")
    left = x.spec.layout.required_size * x.itemsize
    if x.home is not None:  # the bytes of the storage from the lowest element on
        left = int(x.home[0].nbytes) - x.home[1] * x.itemsize
    if left < desc.declared:
        raise ValueError(f"{member}: TotalTensorSizeInBytes is {desc.declared}, got {left} bytes")
    alignment = desc.guaranteed_base_offset_alignment
    offset = x.layout.lowest * x.itemsize
    if alignment and offset % alignment:
        rule = "promises an offset that is a multiple of GuaranteedBaseOffsetAlignment"
        raise ValueError(f"{member} {rule} {alignment}, got {offset} bytes")


_Span = tuple[int, int]  # addresses


def _range(x: Tensor, declared: int = 0) -> _Span:
    """The bytes from the first to the last element, gaps included, or as declared: addresses."""
    layout, itemsize = x.spec.layout, x.itemsize
    first = backend(x.device).exposed(x).address - layout.offset * itemsize
    return first, first + max(layout.required_size * itemsize, declared)


def share_bytes(one: Tensor, other: Tensor) -> bool:
    """Return whether the bytes of two tensors meet, gaps included."""
    return one.device == other.device and _shared(_range(one), _range(other)) > 0


def _shared(one: _Span, other: _Span) -> int:
    """Return how many bytes are in both, if any."""
    return max(min(one[1], other[1]) - max(one[0], other[0]), 0)


# --- calls of functions ---------------------------------------------------------------------------

specs_of = attrgetter("spec")
_TENSORS, _INTEGERS, _NUMBERS = {Tensor}, {int}, {int, float}
_SEQUENCES = {tuple, list, constants.Size2D, constants.ScaleBias}
# Types whose values cannot change, and so can be keys.
_BY_VALUE = {
    *(str, bool, type(None), Device, *constants.PREFIXES),
    *(type(kind.dtype) for kind in constants.DataType if kind.bits >= 8),
}

# Validated operators, by the calls that they carry out.
_operators: dict[tuple[Any, ...], Operator] = {}
_MOST = 4096


def run(
    desc: type[OperatorDesc],
    values: tuple[Any, ...],
    out: Any,
    feature_level: str | int,
    asking: dict[str, Any] | None = None,
) -> Tensor:
    """Carry out an operator on the arguments of its function, into `out` or new tensors.

    `values`: those of the members that are neither outputs nor data types, in their order, tensors
    for descriptors. `asking`: what new outputs are to be: `device`, and see `OperatorDesc._asked`.
    """
    call = values if asking is None else (*values, *asking.values())
    if out is not None:
        call = (*call, out)
    tensors: list[Any] = []
    key = operator = None
    try:
        try:
            key = (desc, feature_level, type(feature_level), *_keyed(call, tensors))
            operator = _operators.get(key)
        except (TypeError, ValueError):  # of what may change, nothing is kept
            key = None
        if operator is None:
            seen = len(tensors)
            operator, tensors = _made(desc, values, out, feature_level, asking or {})
            if key is not None and len(tensors) == seen:  # no tensor stands for a number
                if len(_operators) == _MOST:
                    _operators.clear()
                _operators[key] = operator
        return operator._run(tensors)
    except REFUSALS as error:
        raise in_name_of(desc.operator, error) from error.__cause__


# The same for operators with other outputs than one.
run_pair: Callable[..., tuple[Tensor, Tensor]] = cast("Any", run)
run_several: Callable[..., tuple[Tensor, ...]] = cast("Any", run)


def _keyed(values: Iterable[Any], tensors: list[Any]) -> list[Any]:
    """Return the parts of a key that stand for arguments; add their tensors to `tensors`.

    TypeError or ValueError for what may change. Types tell values apart that are equal, texts the
    zeros.
    """
    key: list[Any] = []
    for x in values:
        kind = type(x)
        if kind is Tensor:
            tensors.append(x)
            key.append(x.spec)
        elif kind is int:
            key.append(x)
        elif kind is float:
            key.append(repr(x))
        elif kind in _BY_VALUE:
            key.append((kind, x))
        elif kind in _SEQUENCES:
            kinds = set(map(type, x))
            if kinds == _TENSORS:
                tensors += x
                key.append(tuple(map(specs_of, x)))
            elif kinds <= _INTEGERS:
                key.append(tuple(x))
            elif kinds <= _NUMBERS:
                key.append(tuple(map(repr, x)))
            else:
                raise TypeError
        else:
            raise TypeError
    return key


def _made(
    desc: type[OperatorDesc],
    values: tuple[Any, ...],
    out: Any,
    level: str | int,
    asking: dict[str, Any],
) -> tuple[Operator, list[Tensor]]:
    tensors: list[Tensor] = []
    given: dict[str, Any] = {}
    for member, value in zip(desc._given, values, strict=True):
        is_tensor = member in desc._tensor_members and not (value is None and member.optional)
        given[member.name] = _described(member, value, tensors) if is_tensor else value
    if out is not None:
        outputs = desc._outputs
        outs = (out,) if len(outputs) == 1 else arguments.tensors(out, "out")
        if len(outs) != len(outputs):
            raise ValueError(f"out must be {len(outputs)} tensors, got {len(outs)}")
        for member, x in zip(outputs, outs, strict=True):
            given[member.name] = _described(member, x, tensors)
    wanted = {word: value for word, value in asking.items() if word != "device"}
    described = desc._with_asked(given, wanted) if wanted else desc(**given)
    operator = Operator(described.validate(level), tables.as_level(level))
    device = asking.get("device")
    operator._device = None if device is None else as_device(device, "device")
    if tensors:
        where = one_device([x.spec for x in tensors])
        if operator._device not in (None, where):
            came = operator._device
            raise ValueError(f"device must be that of the tensors, {where}, got {came}")
    return operator, tensors


def _described(member: Member, given: Any, tensors: list[Tensor]) -> Any:
    """The descriptor of a tensor, or those of a sequence of tensors, at least one."""
    if member.kind == "TensorDesc":
        return _desc(member.spelling, given, tensors)
    given = arguments.tensors(given, member.spelling)
    return tuple(_desc(f"{member.spelling}[{i}]", x, tensors) for i, x in enumerate(given))


def _desc(member: str, x: Any, tensors: list[Tensor]) -> TensorDesc:
    tensors.append(arguments.tensor(x, member))
    return within(member, desc_of, tensors[-1].spec)


def seen_as(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A view with dimensions split, or with sizes of 1 added or dropped: those always exist."""
    return reshape(x, sizes, copy=False)
