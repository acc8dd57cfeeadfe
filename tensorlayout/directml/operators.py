"""Execution of operators: compiled descriptors, checked tensors, overlapping memory, functions.

Each function calls `run_operator` with its descriptor class and its arguments as members. Validated
operators are cached, so that a repeated call skips validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast

from tensorlayout.devices import Device, as_device
from tensorlayout.directml import constants, tables
from tensorlayout.directml.constants import (
    TensorFlags,
    call_with_error_prefix,
    prefix_operator_name,
)
from tensorlayout.directml.members import Member
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.tensor_desc import TensorDesc, desc_from_spec
from tensorlayout.errors import REFUSALS, call_with_error_name, raise_named_error
from tensorlayout.functions import arguments
from tensorlayout.functions.creation import empty
from tensorlayout.functions.manipulation import reshape
from tensorlayout.plan import backend_of, check_same_device
from tensorlayout.tensor import Tensor, TensorSpec

HIGHEST = tables.HIGHEST  # default feature level of functions

Tensors = Sequence[Tensor]


class _TensorSlot(NamedTuple):
    """Tensor member to which a tensor is bound."""

    member_name: str
    desc: TensorDesc


class Operator:
    """Validated descriptor that can be applied to tensors any number of times; see `compile`.

    >>> import tensorlayout as tl
    >>> from tensorlayout.directml import Operator, TensorDesc, TileOperatorDesc, compile
    >>> twice = compile(TileOperatorDesc(input=TensorDesc("INT32", (2,)), repeats=(2,)))
    >>> isinstance(twice, Operator), twice(tl.asarray([1, 2], dtype=tl.int32))
    (True, Tensor([1, 2, 1, 2], dtype=int32, device='cpu'))
    """

    def __init__(self, desc: OperatorDesc, feature_level: str) -> None:
        _check_is_descriptor("Operator", desc)
        self.desc = desc
        self.feature_level = feature_level
        slots = [
            _TensorSlot(name, tensor_desc)
            for name, tensor_desc in desc._named_tensors
            if tensor_desc is not None
        ]
        self._input_slots = [slot for slot in slots if not slot.member_name.startswith("Output")]
        self._owned_slots = [
            slot for slot in self._input_slots if slot.desc.flags == TensorFlags.OWNED_BY_DML
        ]
        self._passed_slots = [slot for slot in self._input_slots if slot not in self._owned_slots]
        self._output_slots = [slot for slot in slots if slot.member_name.startswith("Output")]
        self._owned_tensors: list[Tensor] | None = None
        # Specs that passed the checks of a slot, so that repeated calls skip them.
        self._accepted_specs: set[tuple[str, TensorSpec]] = set()
        self._input_count = len(self._input_slots)
        self._device: Device | None = None  # for outputs of operators without inputs
        # SPLIT has a list of outputs, OutputTensors[0] and so on, and returns a tuple even for one.
        self._has_single_output = (
            len(self._output_slots) == 1 and "[" not in self._output_slots[0].member_name
        )

    def initialize(self, *owned: Tensor) -> Operator:
        """Copy the inputs whose descriptors have the flag OWNED_BY_DML; return the operator."""
        bound_tensors = call_with_error_name(
            self.desc.operator, self._check_bindings, owned, self._owned_slots, " by initialize()"
        )
        # A copy, as at initialization in DirectML: later changes of the caller's tensor have no
        # effect.
        self._owned_tensors = [x.copy() for x in bound_tensors]
        return self

    def __call__(self, *inputs: Tensor, out: Tensor | Tensors | None = None) -> Any:
        """Run the operator and return its output, or a tuple of outputs.

        Outputs are `out`, or new tensors laid out as described. Tensors must match the descriptors
        in data type, sizes and placement (strides, or packed row-major without strides). Inputs may
        overlap each other. An output must not share a byte with an input, except exactly the same
        bytes if the operator works in place.
        """
        try:
            return self._execute(self._collect_bound_tensors(inputs, out), as_described=True)
        except REFUSALS as error:
            raise prefix_operator_name(self.desc.operator, error) from None

    def _collect_bound_tensors(self, inputs: Tensors, out: Tensor | Tensors | None) -> list[Tensor]:
        """Return the inputs, including owned ones, and the outputs from `out`."""
        bound_tensors = self._check_bindings(inputs, self._passed_slots)
        if len(bound_tensors) < self._input_count:
            if self._owned_tensors is None:
                members = ", ".join(slot.member_name for slot in self._owned_slots)
                raise ValueError(f"{members} must be bound by initialize() first")
            # Both lists are in the order of the members, so merging them slot by slot restores that
            # order.
            owned, passed = iter(self._owned_tensors), iter(bound_tensors)
            bound_tensors = [
                next(owned if slot in self._owned_slots else passed) for slot in self._input_slots
            ]
        if out is not None:
            outputs = out if isinstance(out, (tuple, list)) else (out,)
            if len(outputs) != len(self._output_slots):
                raise ValueError(
                    f"out must be {len(self._output_slots)} tensors, got {len(outputs)}"
                )
            bound_tensors += self._check_bindings(outputs, self._output_slots)
        if bound_tensors:
            check_same_device([x.spec for x in bound_tensors])
        return bound_tensors

    def _check_bindings(
        self, tensors: Sequence[Any], slots: list[_TensorSlot], binding_function: str = ""
    ) -> list[Tensor]:
        """Return the tensors for slots; raise an error for a tensor that does not match."""
        if len(tensors) != len(slots):
            members = ", ".join(slot.member_name for slot in slots) or "none"
            rule = f"{len(slots)} tensors must be bound{binding_function} ({members})"
            raise TypeError(f"{rule}, got {len(tensors)}")
        checked = []
        for x, slot in zip(tensors, slots, strict=True):
            checked_tensor = arguments.as_tensor(x, slot.member_name)
            checked.append(checked_tensor)
            # Specs have no offset and no address, so a promise about the offset or the bytes behind
            # the elements is checked for each tensor anew.
            depends_on_offset = (
                slot.desc.guaranteed_base_offset_alignment or slot.desc.declared_total_bytes
            )
            if (
                depends_on_offset
                or (slot.member_name, checked_tensor.spec) not in self._accepted_specs
            ):
                _check_bound_tensor(checked_tensor, slot)
                self._accepted_specs.add((slot.member_name, checked_tensor.spec))
        return checked

    def _execute(self, tensors: Tensors, *, as_described: bool = False) -> Any:
        """Run on checked tensors and return the output, or a tuple of outputs.

        `as_described`: new outputs have the layout of their descriptors, not the order of the first
        input.
        """
        inputs: Tensors = tensors
        outputs: list[Tensor] = []
        if len(tensors) > self._input_count:
            inputs, outputs = tensors[: self._input_count], list(tensors[self._input_count :])
            self._check_output_aliasing(inputs, outputs)
        try:
            if not outputs and (as_described or not inputs):
                device = inputs[0].device if inputs else self._device
                outputs = [slot.desc.empty(device=device) for slot in self._output_slots]
            # What `_execute` allocates itself is written once, in the layout that its plan chooses.
            elif not outputs and not self.desc._allocates_output:
                for slot in self._output_slots:
                    outputs.append(allocate_output(slot.desc, inputs[0]))
            if not outputs:
                return self.desc._execute(None, *inputs)
            destination = outputs[0] if self._has_single_output else tuple(outputs)
            self.desc._execute(destination, *inputs)
            return destination
        except MemoryError as error:  # it begins with the name of an internal function
            raise MemoryError(vars(error).get("said", error)) from None
        except IndexError as error:
            name, _, text = str(error).partition(": ")
            if name != self.desc.operator:  # an earlier launch failed, and is reported only now
                raise
            raise IndexError(f"IndicesTensor: {text}") from None

    # --- overlapping memory ----------------------------------------------------------------------

    def _check_output_aliasing(self, inputs: Tensors, outputs: Tensors) -> None:
        """Raise ValueError for read-only outputs, and outputs that overlap other tensors."""
        for slot, x in zip(self._output_slots, outputs, strict=True):
            call_with_error_prefix(slot.member_name, arguments.check_writable, x)
        # Whole ranges are compared, gaps included, because DirectML may overwrite any byte between
        # the first and the last one of an output.
        slots, byte_ranges = (*self._input_slots, *self._output_slots), []
        for slot, x in zip(slots, (*inputs, *outputs), strict=True):
            byte_ranges.append((slot.member_name, _byte_range(x, slot.desc.declared_total_bytes)))
        input_ranges = byte_ranges[: self._input_count]
        output_ranges = byte_ranges[self._input_count :]
        for number, (target, span) in enumerate(output_ranges):
            # An output is compared with all inputs and with the outputs after it: each pair once.
            for member, other in (*input_ranges, *output_ranges[number + 1 :]):
                shared, is_input = _shared_byte_count(span, other), not member.startswith("Output")
                in_place = is_input and self.desc.in_place
                if shared and not (in_place and span == other):
                    rule = "exactly the same bytes or none" if in_place else "no memory"
                    violation = (
                        f"got {shared} bytes shared{'; copy() the input' if is_input else ''}"
                    )
                    raise ValueError(f"{target} must share with {member} {rule}, {violation}")

    def __repr__(self) -> str:
        return f"Operator({self.desc!r}, feature_level={self.feature_level!r})"


def compile(desc: OperatorDesc, feature_level: str | int = tables.HIGHEST) -> Operator:
    """Return a reusable operator for a descriptor, after validating it.

    `desc`: any `OperatorDesc`. Raises `ValueError`, or `TypeError` for data types, if
    `feature_level` does not allow it.

    >>> import tensorlayout as tl
    >>> from tensorlayout.directml import JoinOperatorDesc, TensorDesc, compile
    >>> piece = TensorDesc("FLOAT32", (1, 1, 1, 2))
    >>> join = compile(JoinOperatorDesc(inputs=[piece, piece], axis=3))
    >>> x = tl.asarray([[[[1, 2]]]], dtype=tl.float32)
    >>> join(x, x)
    Tensor([[[[1., 2., 1., 2.]]]], dtype=float32, device='cpu')
    """
    _check_is_descriptor("compile", desc)
    return Operator(desc.validate(feature_level), tables.parse_feature_level(feature_level))


def _check_is_descriptor(name: str, desc: Any) -> None:
    if not isinstance(desc, OperatorDesc):
        received = arguments.format_argument(desc)
        raise_named_error(name, f"desc must be an operator descriptor, got {received}", TypeError)


def allocate_output(desc: TensorDesc, template: Tensor) -> Tensor:
    """Return a new tensor, packed in the order of `template` if the ranks are equal."""
    layout = template.spec.layout
    order = layout.minor_to_major if len(layout.shape) == len(desc.sizes) else None
    dtype = desc.data_type.dtype
    return empty(desc.sizes, dtype=dtype, device=template.spec.device, layout=order)


def _check_bound_tensor(x: Tensor, slot: _TensorSlot) -> None:
    member, desc = slot
    if x.dtype != desc.data_type.dtype:
        described = f"{member} is described as {desc.data_type.name}"
        raise TypeError(f"{described}, got dtype {x.dtype}")
    if x.shape != desc.sizes:
        raise ValueError(f"{member} is described with Sizes {desc.sizes}, got shape {x.shape}")
    if not x.layout.at_origin.same_placement(desc.layout):
        received = f"got {x.strides}; describe the tensor by TensorDesc.of()"
        raise ValueError(f"{member} is described with strides {desc.layout.strides}, {received}")
    available_bytes = x.spec.layout.required_size * x.itemsize
    # A view may use the bytes of its storage from its lowest element on.
    if x.home is not None:
        available_bytes = int(x.home[0].nbytes) - x.home[1] * x.itemsize
    if available_bytes < desc.declared_total_bytes:
        declared = f"TotalTensorSizeInBytes is {desc.declared_total_bytes}"
        raise ValueError(f"{member}: {declared}, got {available_bytes} bytes")
    alignment = desc.guaranteed_base_offset_alignment
    # The lowest element begins where the binding would.
    offset = x.layout.lowest * x.itemsize
    if alignment and offset % alignment:
        rule = "promises an offset that is a multiple of GuaranteedBaseOffsetAlignment"
        raise ValueError(f"{member} {rule} {alignment}, got {offset} bytes")


_AddressRange = tuple[int, int]  # addresses


def _byte_range(x: Tensor, declared_bytes: int = 0) -> _AddressRange:
    """Return the addresses from the first to the last byte of the elements, or as declared."""
    layout, itemsize = x.spec.layout, x.itemsize
    # A spec's layout begins at its lowest slot. Its offset is where element 0 is, which differs
    # with negative strides: going back by it leads to the first byte.
    first_address = backend_of(x.device).export_info(x).address - layout.offset * itemsize
    return first_address, first_address + max(layout.required_size * itemsize, declared_bytes)


def has_overlapping_bytes(first: Tensor, other: Tensor) -> bool:
    """Return whether the byte ranges of two tensors overlap, gaps included."""
    return (
        first.device == other.device
        and _shared_byte_count(_byte_range(first), _byte_range(other)) > 0
    )


def _shared_byte_count(first: _AddressRange, other: _AddressRange) -> int:
    """Return the number of bytes in both ranges."""
    return max(min(first[1], other[1]) - max(first[0], other[0]), 0)


# --- functions ------------------------------------------------------------------------------------

spec_of = attrgetter("spec")
_TENSORS, _INTEGERS, _NUMBERS = {Tensor}, {int}, {int, float}
_SEQUENCES = {tuple, list, constants.Size2D, constants.ScaleBias}
# Only immutable values can be cache keys.
_IMMUTABLE_TYPES = {
    *(str, bool, type(None), Device, *constants.PREFIXES),
    *(type(kind.dtype) for kind in constants.DataType if kind.bits >= 8),
}

# Validated operators by call.
_operators: dict[tuple[Any, ...], Operator] = {}
# Attributes may be computed from data, so without a limit the cache would grow forever.
_MAX_CACHED_OPERATORS = 4096


def run_operator(
    desc: type[OperatorDesc],
    values: tuple[Any, ...],
    out: Any,
    feature_level: str | int,
    requests: dict[str, Any] | None = None,
) -> Tensor:
    """Run an operator on the arguments of its function, into `out` or new tensors.

    `values`: members except outputs and data types, in order, with tensors for descriptors.
    `requests`: properties of new outputs: `device`, and those of `OperatorDesc._requested_outputs`.
    """
    arguments_and_out = values if requests is None else (*values, *requests.values())
    if out is not None:
        arguments_and_out = (*arguments_and_out, out)
    tensors: list[Any] = []
    key = operator = None
    try:
        try:
            # The type of the level belongs to the key: 0x3000 == 12288.0, and only the integer is a
            # level.
            key = (desc, feature_level, type(feature_level), *_call_key(arguments_and_out, tensors))
            operator = _operators.get(key)
        except (TypeError, ValueError):  # calls with mutable arguments are not cached
            key = None
        if operator is None:
            # Building may add tensors that the key does not know, when numbers stand for tensors.
            keyed_count = len(tensors)
            operator, tensors = _build_operator(desc, values, out, feature_level, requests or {})
            if key is not None and len(tensors) == keyed_count:  # no number was passed as a tensor
                # Emptying everything is rare and cheap compared with bookkeeping in each call.
                if len(_operators) == _MAX_CACHED_OPERATORS:
                    _operators.clear()
                _operators[key] = operator
        return operator._execute(tensors)
    except REFUSALS as error:
        raise prefix_operator_name(desc.operator, error) from error.__cause__


# The same function, typed for operators with several outputs.
run_operator_pair: Callable[..., tuple[Tensor, Tensor]] = cast("Any", run_operator)
run_operator_tuple: Callable[..., tuple[Tensor, ...]] = cast("Any", run_operator)


def _call_key(values: Iterable[Any], tensors: list[Any]) -> list[Any]:
    """Return the cache key of arguments, and append their tensors to `tensors`.

    TypeError or ValueError for mutable arguments. Keys distinguish 1, 1.0 and True, which are
    equal, and 0.0 from -0.0.
    """
    key: list[Any] = []
    for x in values:
        value_type = type(x)
        if value_type is Tensor:
            tensors.append(x)
            key.append(x.spec)
        elif value_type is int:
            key.append(x)
        elif value_type is float:
            key.append(repr(x))
        elif value_type in _IMMUTABLE_TYPES:
            key.append((value_type, x))
        elif value_type in _SEQUENCES:
            item_types = set(map(type, x))
            if item_types == _TENSORS:
                tensors += x
                key.append(tuple(map(spec_of, x)))
            elif item_types <= _INTEGERS:
                key.append(tuple(x))
            elif item_types <= _NUMBERS:
                key.append(tuple(map(repr, x)))
            else:
                raise TypeError
        else:
            raise TypeError
    return key


def _build_operator(
    desc: type[OperatorDesc],
    values: tuple[Any, ...],
    out: Any,
    level: str | int,
    requests: dict[str, Any],
) -> tuple[Operator, list[Tensor]]:
    tensors: list[Tensor] = []
    members_so_far: dict[str, Any] = {}
    for member, value in zip(desc._argument_members, values, strict=True):
        is_tensor = member in desc._tensor_members and not (value is None and member.optional)
        members_so_far[member.name] = (
            _describe_tensors(member, value, tensors) if is_tensor else value
        )
    if out is not None:
        outputs = desc._output_members
        output_tensors = (out,) if len(outputs) == 1 else arguments.as_tensor_sequence(out, "out")
        if len(output_tensors) != len(outputs):
            raise ValueError(f"out must be {len(outputs)} tensors, got {len(output_tensors)}")
        for member, x in zip(outputs, output_tensors, strict=True):
            members_so_far[member.name] = _describe_tensors(member, x, tensors)
    # The device belongs to the call and not to a descriptor, which has no memory.
    output_requests = {word: value for word, value in requests.items() if word != "device"}
    described = (
        desc._with_requested_outputs(members_so_far, output_requests)
        if output_requests
        else desc(**members_so_far)
    )
    operator = Operator(described.validate(level), tables.parse_feature_level(level))
    device = requests.get("device")
    operator._device = None if device is None else as_device(device, "device")
    if tensors:
        tensor_device = check_same_device([x.spec for x in tensors])
        if operator._device not in (None, tensor_device):
            device_argument = operator._device
            raise ValueError(
                f"device must be that of the tensors, {tensor_device}, got {device_argument}"
            )
    return operator, tensors


def _describe_tensors(member: Member, value: Any, tensors: list[Tensor]) -> Any:
    """Return the descriptor of a tensor, or those of a non-empty sequence of tensors."""
    if member.kind == "TensorDesc":
        return _collect_and_describe_tensor(member.spelling, value, tensors)
    value = arguments.as_tensor_sequence(value, member.spelling)
    return tuple(
        _collect_and_describe_tensor(f"{member.spelling}[{i}]", x, tensors)
        for i, x in enumerate(value)
    )


def _collect_and_describe_tensor(member_name: str, x: Any, tensors: list[Tensor]) -> TensorDesc:
    tensors.append(arguments.as_tensor(x, member_name))
    return call_with_error_prefix(member_name, desc_from_spec, tensors[-1].spec)


def view_reshaped(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return a view with dimensions split, or sizes of 1 added or removed."""
    return reshape(x, sizes, copy=False)
