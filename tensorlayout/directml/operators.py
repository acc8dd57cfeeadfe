"""Operators ready for use: descriptors compiled, tensors bound, hazards refused."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from enum import IntEnum
from operator import is_
from typing import Any, NamedTuple, ParamSpec, TypeVar

from tensorlayout.devices import Device, as_device
from tensorlayout.directml import tables
from tensorlayout.directml.constants import TensorFlags
from tensorlayout.directml.operator_desc import Given, OperatorDesc
from tensorlayout.directml.rules import check_sizes, check_type
from tensorlayout.directml.tensor_desc import TensorDesc, asked, described
from tensorlayout.functions import calling
from tensorlayout.plan.base import Exposed, backend
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import Tensor, TensorSpec

_P = ParamSpec("_P")
_R = TypeVar("_R")
Out = Tensor | Sequence[Tensor] | None


class Operator:
    """A validated descriptor, as often as wanted applied to tensors: see `compile`."""

    def __init__(self, desc: OperatorDesc, feature_level: str) -> None:
        self.desc = desc
        self.feature_level = feature_level
        slots = [_Slot(name, tensor) for name, tensor in desc._tensors() if tensor is not None]
        self._inputs = [slot for slot in slots if not slot.member.startswith("Output")]
        self._bound = [slot for slot in self._inputs if not slot.owned]
        self._outputs = [slot for slot in slots if slot.member.startswith("Output")]
        self._owned: list[Tensor] | None = None
        self._ready = Ready(desc)
        # What was held against each slot, and fits.
        self._fitting: set[tuple[str, TensorSpec]] = set()

    def initialize(self, *owned: Tensor) -> Operator:
        """Keep copies of the inputs whose descriptors have the flag OWNED_BY_DML; gives `self`."""
        slots = [slot for slot in self._inputs if slot.owned]
        self._check_many(owned, slots, " by initialize()")
        self._owned = [x.copy() for x in owned]
        return self

    def __call__(self, *inputs: Tensor, out: Out = None) -> Any:
        """Run it: the output, or a tuple of them; new tensors, laid out as described, or `out`.

        Tensors must be what the descriptors say: data type, sizes, and placement (strides, or
        packed row-major where these are left out). Inputs may overlap each other; an output may not
        share a byte with an input, but the same bytes exactly where the operator works in place.
        """
        name = self.desc.operator
        self._check_many(inputs, self._bound)
        given = self._with_owned(inputs)
        device = given[0].device if given else None
        if out is None:
            outs = self._ready.made(device)
        else:
            outs = _several(name, out, len(self._outputs))
            self._check_many(outs, self._outputs)
        one_device(name, [x._spec for x in (*given, *outs)])
        aligned: Given = given
        if len(given) < self._ready.arity:
            left = iter(given)
            aligned = tuple(None if d is None else next(left) for d in self.desc.inputs_of)
        return self._ready.run(aligned, outs, apart=out is None)

    def _with_owned(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if len(self._bound) == len(self._inputs):
            return inputs
        if self._owned is None:
            members = ", ".join(slot.member for slot in self._inputs if slot.owned)
            msg = f"{self.desc.operator}: {members} must be bound by initialize() first"
            raise ValueError(msg)
        kept, bound = iter(self._owned), iter(inputs)
        return tuple(next(kept if slot.owned else bound) for slot in self._inputs)

    def _check_many(self, tensors: Sequence[Any], slots: list[_Slot], by: str = "") -> None:
        name = self.desc.operator
        if len(tensors) != len(slots):
            members = ", ".join(slot.member for slot in slots) or "none"
            msg = f"{name}: {len(slots)} tensors must be bound{by} ({members}), got {len(tensors)}"
            raise TypeError(msg)
        for x, slot in zip(tensors, slots, strict=True):
            by_place = slot.desc.guaranteed_base_offset_alignment or slot.desc.declared
            if by_place or type(x) is not Tensor or (slot.member, x._spec) not in self._fitting:
                found = calling.tensor(name, x, slot.member)
                _check_bound(name, found, slot)
                self._fitting.add((slot.member, found._spec))

    def __repr__(self) -> str:
        return f"Operator({self.desc!r}, feature_level={self.feature_level!r})"


class _Slot(NamedTuple):
    """What a tensor is bound to."""

    member: str
    desc: TensorDesc

    @property
    def owned(self) -> bool:
        return self.desc.flags == TensorFlags.OWNED_BY_DML


def compile(desc: OperatorDesc, feature_level: str | int = tables.HIGHEST) -> Operator:
    """A reusable operator of a descriptor, which is validated; errors as `validate` gives them.

    >>> import tensorlayout as tl
    >>> from tensorlayout.directml import JoinOperatorDesc, TensorDesc, compile
    >>> piece = TensorDesc("FLOAT32", (1, 1, 1, 2))
    >>> join = compile(JoinOperatorDesc(inputs=[piece, piece], axis=3))
    >>> x = tl.asarray([[[[1, 2]]]], dtype=tl.float32)
    >>> join(x, x)
    Tensor([[[[1., 2., 1., 2.]]]], dtype=float32, device='cpu')
    """
    if not isinstance(desc, OperatorDesc):
        msg = f"compile: desc must be an operator descriptor, got {calling.shown(desc)}"
        raise TypeError(msg)
    level = tables.as_level(feature_level, desc.operator)
    return Operator(desc.validate(level), level)


def call(
    desc: OperatorDesc, inputs: Given, out: Out, feature_level: str | int, device: Any = None
) -> Any:
    """What an operator's function does: `desc` describes `inputs`, and `out` if there is one.

    `device`: of the outputs of operators without inputs.
    """
    level = tables.as_level(feature_level, desc.operator)
    ready = _validated(desc, level, desc._numbers())
    place = None if device is None else as_device(device, f"{desc.operator}: device")
    described_outs = ready.desc.outputs_of
    outs: Given = (None,) * len(described_outs)
    if out is not None:
        outs = _several(desc.operator, out, len(described_outs))
    elif all(x is None for x in inputs):
        outs = ready.made(place)
    tensors: Given = (*inputs, *outs)
    where = one_device(desc.operator, [x._spec for x in tensors if x is not None])
    if place is not None and place != where:
        msg = f"{desc.operator}: device must be that of the tensors, {where}, got {place}"
        raise ValueError(msg)
    result = ready.run(inputs, outs)
    _latest.call = ready, inputs, len(outs)  # after what other operators it called
    return result


class Ready:
    """A validated descriptor with what its calls need at hand."""

    __slots__ = ("arity", "declared", "desc", "many", "sources", "targets")

    def __init__(self, desc: OperatorDesc) -> None:
        members = [member for member, _ in desc._tensors()]
        self.desc = desc
        self.sources = [member for member in members if not member.startswith("Output")]
        self.targets = [member for member in members if member.startswith("Output")]
        self.arity = len(self.sources)
        self.declared = {m: d.declared for m, d in desc._tensors() if d is not None}
        self.many = len(self.targets) > 1 or _is_array(desc)

    def run(self, inputs: Given, outs: Given, *, apart: bool = False) -> Any:
        """Carry it out on tensors that fit: the output, or a tuple of them.

        `apart`: outputs are known to be in memory of their own.
        """
        if outs[0] is not None and not apart:
            _check_hazards(self, inputs, outs)
        try:
            results = self.desc._run(inputs, outs)
        except MemoryError as error:
            raise self._short(error) from None
        return results if self.many else results[0]

    def made(self, device: Any) -> tuple[Tensor, ...]:
        """New tensors for all outputs, as they are described."""
        try:
            return tuple(d.empty(device=device) for d in self.desc.outputs_of if d is not None)
        except MemoryError as error:
            raise self._short(error) from None

    def _short(self, error: MemoryError) -> MemoryError:
        """A MemoryError in the name of the operator."""
        return MemoryError(f"{self.desc.operator}: {str(error).partition(': ')[2] or error}")


# ---- Calls that are made again


class _Latest(threading.local):
    call: tuple[Ready, Given, int] | None = None


_latest = _Latest()
_MOST_CALLS = 1024


def remembered(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`function`, which finds what it has validated before by what it is called with.

    That is the specs of tensors and all else by value. To describe tensors and to validate takes
    several times as long as a small operation. Tensors among the keywords, but for ``out``, and
    arguments of unusual types go the longer way.
    """
    known: dict[Any, tuple[Ready, int]] = {}

    @functools.wraps(function)
    def again(*args: _P.args, **options: _P.kwargs) -> _R:
        tensors: list[Any] = []
        try:
            key = (*[_key(x, tensors) for x in args], *[_option(*each) for each in options.items()])
            found = known.get(key)
        except TypeError:
            return function(*args, **options)
        out: Any = options.get("out")
        if found is not None:
            ready, count = found
            outs: Any = (None,) * count if out is None else out
            result: Any = ready.run(tuple(tensors), outs if type(outs) in _SEQUENCES else (outs,))
            return result  # type: ignore[no-any-return]
        _latest.call = None
        called = function(*args, **options)
        if tensors and _latest.call is not None:
            ready, inputs, count = _latest.call
            if len(inputs) == len(tensors) and all(map(is_, inputs, tensors)):
                if len(known) >= _MOST_CALLS:
                    known.clear()
                known[key] = ready, count
        return called

    return again


_SEQUENCES = (tuple, list)
_BY_VALUE = frozenset((int, str, bool, type(None)))


def _key(x: Any, tensors: list[Any]) -> Any:
    """What stands for a positional argument; its tensors are added to `tensors`."""
    kind = type(x)
    if kind is Tensor:
        tensors.append(x)
        return x._spec
    if kind in _SEQUENCES:
        kinds = set(map(type, x))
        if kinds == {Tensor}:
            tensors.extend(x)
            return tuple([each._spec for each in x])
        if kinds == {int}:
            return tuple(x)
    return _by_value(x)


def _by_value(x: Any) -> Any:
    """Equal numbers of different types, and zeros of both signs, are told apart."""
    kind = type(x)
    if kind in _BY_VALUE or issubclass(kind, IntEnum):
        return kind, x
    if kind is float:
        return kind, repr(x)
    raise TypeError


def _option(name: str, x: Any) -> Any:
    if name == "out":
        return name, _key(x, [])
    return name, tuple(x) if type(x) in _SEQUENCES and set(map(type, x)) == {int} else _by_value(x)


def desc_of(operator: str, member: str, x: Any) -> TensorDesc:
    """The descriptor of a tensor given to a function; ValueError as the rules of tensors say."""
    found = calling.tensor(operator, x, member)
    try:
        return described(found._spec)
    except (TypeError, ValueError) as error:
        msg = f"{operator}: {member}: {str(error).partition(': ')[2]}"
        raise type(error)(msg) from None


def desc_of_out(operator: str, out: Any, member: str = "OutputTensor") -> TensorDesc | None:
    """The descriptor of ``out=``."""
    return None if out is None else desc_of(operator, member, out)


def wanted_output(name: str, data_type: Any, sizes: Any, out: Tensor | None) -> TensorDesc:
    """The output that is asked for, which ``out=`` must be."""
    wanted = asked(f"{name}: OutputTensor", data_type, sizes)
    given = desc_of_out(name, out)
    if given is None:
        return wanted
    check_type(name, "OutputTensor", given, wanted.data_type)
    check_sizes(name, "OutputTensor", given, wanted.sizes)
    return given


def tensors_of(operator: str, member: str, given: Any) -> tuple[tuple[Tensor, ...], Any]:
    """A sequence of tensors, at least one, and their descriptors."""
    tensors = calling.tensors(operator, given, member)
    return tensors, tuple(desc_of(operator, f"{member}[{i}]", x) for i, x in enumerate(tensors))


@functools.lru_cache(maxsize=1024)
def _validated(desc: OperatorDesc, level: str, numbers: tuple[str, ...]) -> Ready:
    """A validated descriptor; `numbers` tell those apart that are equal, such as 0.0 and -0.0."""
    return Ready(desc.validate(level))


def _is_array(desc: OperatorDesc) -> bool:
    """Whether the outputs are an array of any length, which gives a tuple even for one."""
    return hasattr(desc, "outputs")


def _several(name: str, out: Any, count: int) -> tuple[Tensor, ...]:
    several = out if isinstance(out, (tuple, list)) else (out,)
    if len(several) != count:
        msg = f"{name}: out must be {count} tensors, got {len(several)}"
        raise ValueError(msg)
    return tuple(calling.tensor(name, x, "out") for x in several)


def _check_bound(name: str, x: Tensor, slot: _Slot) -> None:
    member, desc = slot
    if x.dtype != desc.data_type.dtype:
        msg = f"{name}: {member} is described as {desc.data_type.name}, got dtype {x.dtype}"
        raise TypeError(msg)
    if x.shape != desc.sizes:
        msg = f"{name}: {member} is described with Sizes {desc.sizes}, got shape {x.shape}"
        raise ValueError(msg)
    if not x.layout.at_origin.same_placement(desc.layout):
        msg = (
            f"{name}: {member} is described with strides {desc.layout.strides}, got {x.strides};"
            " describe the tensor by TensorDesc.of()"
        )
        raise ValueError(msg)
    left = _bytes_from(x)
    if left < desc.declared:
        msg = f"{name}: {member}: TotalTensorSizeInBytes is {desc.declared}, got {left} bytes"
        raise ValueError(msg)
    alignment = desc.guaranteed_base_offset_alignment
    offset = x.layout.lowest * x.itemsize
    if alignment and offset % alignment:
        msg = (
            f"{name}: {member} promises an offset that is a multiple of"
            f" GuaranteedBaseOffsetAlignment {alignment}, got {offset} bytes"
        )
        raise ValueError(msg)


# --- hazards ------------------------------------------------------------------------------------

_Span = tuple[int, int]  # addresses
_Place = tuple[str, _Span]  # of a member


def _check_hazards(ready: Ready, inputs: Given, outs: Given) -> None:
    """Outputs can be written, and share bytes with nothing but an input that is the very same."""
    desc = ready.desc
    known, pairs = ready.declared, zip(ready.targets, outs, strict=True)
    written = [
        (m, _range(calling.writable(f"{desc.operator}: {m}", x), known[m]))
        for m, x in pairs
        if x is not None
    ]
    pairs = zip(ready.sources, inputs, strict=True)
    read = [(m, _range(x, known[m])) for m, x in pairs if x is not None]
    for number, (target, span) in enumerate(written):
        for member, other in read:
            if _meet(span, other):
                _check_in_place(desc, (target, span), (member, other))
        for another, other in written[number + 1 :]:
            if _meet(span, other):
                rule = f"must share no memory with {another}, got {_shared(span, other)}"
                msg = f"{desc.operator}: {target} {rule}"
                raise ValueError(msg)


def _check_in_place(desc: OperatorDesc, target: _Place, source: _Place) -> None:
    (name, span), (member, other) = target, source
    if span == other and desc.in_place:
        return
    rule = "exactly the same bytes or none" if desc.in_place else "no memory: not done in place"
    came = f"got {_shared(span, other)}"
    msg = f"{desc.operator}: {name} must share with {member} {rule}, {came}; copy() the input"
    raise ValueError(msg)


def _range(x: Tensor, declared: int = 0) -> _Span:
    """The bytes from the first to the last element, gaps included, or as declared: addresses."""
    layout, itemsize = x._spec.layout, x.itemsize
    first = _exposed(x.device.kind)(x).address - layout.offset * itemsize
    return first, first + max(layout.required_size * itemsize, declared)


def _bytes_from(x: Tensor) -> int:
    """The bytes of the storage from the lowest element on."""
    if x._home is None:
        return x._spec.layout.required_size * x.itemsize
    return int(x._home.storage.nbytes) - x._home.slot * x.itemsize


@functools.cache
def _exposed(kind: str) -> Callable[[Tensor], Exposed]:
    return backend(Device(kind, 0)).exposed


def share_bytes(one: Tensor, other: Tensor) -> bool:
    """Whether the bytes of two tensors meet, gaps included."""
    return one.device == other.device and _meet(_range(one), _range(other))


def _meet(one: _Span, other: _Span) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _shared(one: _Span, other: _Span) -> str:
    return f"{min(one[1], other[1]) - max(one[0], other[0])} bytes shared"
