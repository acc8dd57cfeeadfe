"""Base class of all operator descriptors: members, supported types, sizes of outputs.

A descriptor is a frozen dataclass. Its members are those of the C structure in Python's spelling,
without a trailing ``Tensor``: ``InputTensors`` is ``inputs``, ``IndexDimensions`` is
``index_dimensions``. Counts that only give the length of an array are omitted. An operator adds two
methods: `_expected_outputs` or `_output_sizes`, its own rules, and `_execute`, its work. Both raise
errors without the operator's name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self, dataclass_transform

from tensorlayout.directml import members, tables
from tensorlayout.directml.constants import (
    DataType,
    TensorFlags,
    call_with_error_prefix,
    check_range,
    prefix_operator_name,
)
from tensorlayout.directml.members import KINDS, Member
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.errors import REFUSALS, raise_named_error
from tensorlayout.support.interning import cached_property

# Required data type and sizes of an output.
ExpectedOutput = tuple[DataType, Sequence[int]]


def rank_without_leading_ones(desc: TensorDesc) -> int:
    """Return the number of dimensions without leading sizes of 1."""
    return max((desc.rank - d for d, n in enumerate(desc.sizes) if n > 1), default=0)


def replace_size(sizes: Sequence[int], axis: int, size: Any) -> tuple[Any, ...]:
    """Return `sizes` with another size along `axis`."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True)
class OperatorDesc:
    """Operator with all of its members, but without memory.

    Members are the arguments of the function, with a `TensorDesc` for each tensor. `validate` adds
    omitted outputs, and raises `ValueError`, or `TypeError` for data types.

    >>> from tensorlayout.directml import OperatorDesc, TensorDesc, TileOperatorDesc
    >>> desc = TileOperatorDesc(input=TensorDesc("INT32", (2,)), repeats=(3,))
    >>> isinstance(desc, OperatorDesc), desc.operator, desc.validate().output.sizes
    (True, 'TILE', (6,))
    """

    operator: ClassVar[str]
    in_place: ClassVar[bool] = False
    # If True, `_execute` accepts None for the output and returns a new tensor.
    _allocates_output: ClassVar[bool] = False
    _members: ClassVar[tuple[Member, ...]]
    _tensor_members: ClassVar[tuple[Member, ...]]
    _output_members: ClassVar[tuple[Member, ...]]
    _argument_members: ClassVar[tuple[Member, ...]]  # members that are arguments of functions

    def __init_subclass__(cls, operator: str = "", *, in_place: bool = False) -> None:
        super().__init_subclass__()
        # The decorator returns the class itself, because it adds no slots, so subclasses need no
        # decorator.
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        if operator:
            cls.operator, cls.in_place = operator, in_place
            cls._members = tuple(members.descriptor_members(cls))
            cls._tensor_members = tuple(m for m in cls._members if m.kind in members.TENSORS)
            cls._output_members = tuple(
                m for m in cls._tensor_members if m.spelling.startswith("Output")
            )
            inputs_and_attributes = [m for m in cls._members if m not in cls._output_members]
            # Types of typed scalars must be those of the tensors, so functions do not ask for them.
            cls._argument_members = tuple(
                m for m in inputs_and_attributes if m.kind != "AnyDataType"
            )

    def __post_init__(self) -> None:
        if type(self) is OperatorDesc:
            rule = "must be the descriptor of an operator, such as JoinOperatorDesc"
            raise_named_error("OperatorDesc", rule, TypeError)
        try:
            for member in self._members:
                object.__setattr__(
                    self, member.name, member.normalize_value(getattr(self, member.name))
                )
        except REFUSALS as error:
            raise prefix_operator_name(self.operator, error) from None

    @property
    def input_descs(self) -> tuple[TensorDesc | None, ...]:
        """Descriptors of all inputs in the order of the members; None for omitted ones."""
        return tuple(desc for name, desc in self._named_tensors if not name.startswith("Output"))

    @property
    def output_descs(self) -> tuple[TensorDesc | None, ...]:
        """Descriptors of all outputs in the order of the members; None for omitted ones."""
        return tuple(desc for name, desc in self._named_tensors if name.startswith("Output"))

    def validate(self, feature_level: str | int = tables.HIGHEST) -> Self:
        """Return the descriptor with omitted outputs added, if `feature_level` allows it.

        Raises `ValueError`, or `TypeError` for data types, with operator, member, rule and received
        value, and with the lowest level that allows it, if any.
        """
        try:
            level = tables.parse_feature_level(feature_level)
            tables.operator_support(self.operator, level)
            for name, desc in self._named_tensors:
                if desc is not None:
                    self._check_supported(name, desc, level)
            self._check_members(level)
            return self._fill_in_outputs(level)
        except REFUSALS as error:
            raise prefix_operator_name(self.operator, error) from None

    def _expected_outputs(self) -> Sequence[ExpectedOutput]:
        """Return data types and sizes of the outputs; ValueError or TypeError if a rule is broken.

        The base class has one output with the data type of the reference tensor and
        `_output_sizes`.
        """
        return [(self._reference_tensor().data_type, self._output_sizes())]

    def _output_sizes(self) -> Sequence[int]:
        """Return the sizes of the only output: by default, those of the reference tensor."""
        return self._reference_tensor().sizes

    def _execute(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output (or a tuple of outputs), the first argument, from the inputs."""
        raise NotImplementedError

    @classmethod
    def _requested_outputs(
        cls, members_so_far: dict[str, Any], *_: Any, **requests: Any
    ) -> dict[str, Any]:
        """Return the outputs that a function's arguments request, as members.

        `members_so_far`: all other members. The base class has one output, requested by `sizes` or
        `data_type`; by default both are those of the input. None stands for an omitted output.
        """
        (output,) = cls._output_members
        missing_names = [word for word, value in requests.items() if value is None]
        if output.optional and len(missing_names) == len(requests):
            return {}
        if output.optional and missing_names:
            raise ValueError(
                f"{' and '.join(requests)} must be given together, got no {missing_names[0]}"
            )
        source = next(
            (desc for desc in members_so_far.values() if isinstance(desc, TensorDesc)), None
        )
        sizes: Any = requests.get("sizes", source and source.sizes)
        data_type = requests.get("data_type", source and source.data_type)
        return {output.name: call_with_error_prefix(output.spelling, TensorDesc, data_type, sizes)}

    @classmethod
    def _with_requested_outputs(
        cls, members_so_far: dict[str, Any], requests: dict[str, Any]
    ) -> Self:
        """Return the descriptor with the requested outputs, which tensors of ``out`` must match."""
        requested = cls._requested_outputs(members_so_far, **requests)
        # The same members with different precedence: in `complete` the tensors of `out` win, in
        # `expected` what the function's arguments request.
        complete, expected = cls(**requested | members_so_far), cls(**members_so_far | requested)
        if len(complete.output_descs) != len(expected.output_descs):
            count = len(complete.output_descs)
            raise ValueError(f"out must be {len(expected.output_descs)} tensors, got {count}")
        for (name, desc), (_, expected_desc) in zip(
            complete._named_tensors, expected._named_tensors, strict=True
        ):
            if desc is not None and expected_desc is not None:
                check_tensor(name, desc, expected_desc.sizes, expected_desc.data_type)
        return complete

    def _reference_tensor(self) -> TensorDesc:
        """Return the tensor that determines rank and data type for the other members.

        It is the last output if that is required, else the first tensor.
        """
        tensor_descs = [desc for _, desc in self._named_tensors if desc is not None]
        if not tensor_descs:
            rule = "OutputTensor, or sizes and data_type, must be given without InputTensor"
            raise ValueError(f"{rule}, got None")
        return tensor_descs[0 if self._output_members[0].optional else -1]

    def _array_member_length(self) -> int:
        """Return the number of entries that array members must have."""
        return self._reference_tensor().rank

    @cached_property
    def _element_valued_attributes(self) -> dict[str, int | float]:
        """Numeric members as elements of the tensors."""
        data_type = self._reference_tensor().data_type
        numbers = [member for member in self._members if KINDS[member.kind].is_element]
        return {
            m.name: members.to_tensor_element(m, getattr(self, m.name), data_type) for m in numbers
        }

    # --- checks ----------------------------------------------------------------------------------

    @cached_property
    def _named_tensors(self) -> list[tuple[str, TensorDesc | None]]:
        """Tensor members by name in C, with an index if there are several: ``InputTensors[1]``."""
        named_descs: list[tuple[str, TensorDesc | None]] = []
        for member in self._tensor_members:
            value = getattr(self, member.name)
            if isinstance(value, tuple):
                named_descs += [(f"{member.spelling}[{i}]", desc) for i, desc in enumerate(value)]
            else:
                named_descs.append((member.spelling, value))
        return named_descs

    def _check_supported(self, name: str, desc: TensorDesc, level: str) -> None:
        """Raise an error if the table lacks the data type or rank of a tensor at `level`."""
        support_query = level, desc.data_type, desc.rank
        call_with_error_prefix(
            name, tables.check_supported, self.operator, name.partition("[")[0], *support_query
        )

    def _check_members(self, level: str = tables.HIGHEST) -> None:
        """Check members against the rules of their kinds."""
        for name, spelling, kind, _ in self._members:
            value, (_, low, high, element) = getattr(self, name), KINDS[kind]
            # DirectML counts arrays by a member of their own, such as InputCount.
            if kind == "Tensors" and not value:
                count = spelling.replace("Tensors", "Count")
                raise ValueError(f"{count} must be at least 1, got 0")
            if kind == "Axis":
                check_range("Axis", value, 0, self._reference_tensor().rank - 1)
            elif element:
                # Raises for numbers that do not fit the data type.
                _ = self._element_valued_attributes
            elif kind == "AnyDataType" and value is not None:
                expected_type = self._reference_tensor().data_type
                if value != expected_type:
                    rule = f"{spelling} must be {expected_type.name}, that of the output"
                    raise TypeError(f"{rule}, got {value.name}")
            elif spelling in tables.VALUE_LEVELS:
                lowest_level = tables.VALUE_LEVELS[spelling].get(value.name, level)
                if not tables.is_level_at_least(level, lowest_level):
                    rule = f"{spelling} {value.name} is not available at feature level {level}"
                    raise ValueError(f"{rule}; the lowest level that allows it is {lowest_level}")
            elif low is not None:
                numbers = value if isinstance(value, tuple) else (value,)
                # A tuple is an array member, which needs an entry for each dimension.
                if numbers is value and len(numbers) != (length := self._array_member_length()):
                    rule = f"{spelling} must have {length} entries, DimensionCount"
                    raise ValueError(f"{rule}, got {len(numbers)}")
                for number in numbers:
                    check_range(spelling, number, low, high)

    def _fill_in_outputs(self, level: str) -> Self:
        """Return the descriptor with outputs as the rules require; check the specified ones."""
        outputs = [
            named_desc for named_desc in self._named_tensors if named_desc[0].startswith("Output")
        ]
        names, new_outputs = {member.spelling: member.name for member in self._output_members}, {}
        for (name, desc), (data_type, sizes) in zip(outputs, self._expected_outputs(), strict=True):
            if desc is None:
                desc = new_outputs[names[name]] = call_with_error_prefix(
                    name, TensorDesc, data_type, sizes
                )
                self._check_supported(name, desc, level)
            else:
                check_tensor(name, desc, sizes, data_type)
            # DirectML's pages do not say whether an output may have strides of 0. An element with
            # several values has none that could be promised.
            if desc.layout.is_overlapping:
                rule = "elements of an output must not share memory"
                received = f"Sizes {desc.sizes} and Strides {desc.strides}"
                raise ValueError(f"{name}: {rule}, got {received}")
            # The flag means that the contents are copied at initialization, before any output
            # exists.
            if desc.flags == TensorFlags.OWNED_BY_DML:
                raise ValueError(f"{name}: Flags OWNED_BY_DML is for inputs only")
        return dataclasses.replace(self, **new_outputs)


# --- shared rules; `member_name` is the tensor's name in errors ----------------------------------


def check_tensor(
    member_name: str,
    desc: TensorDesc,
    sizes: Sequence[int | None],
    data_type: DataType | None = None,
) -> None:
    """Raise TypeError for another data type and ValueError for other sizes.

    None for a size or the data type allows any.
    """
    if data_type is not None and desc.data_type != data_type:
        received = desc.data_type.name
        raise TypeError(f"{member_name}: DataType must be {data_type.name}, got {received}")
    if desc.rank != len(sizes):
        raise ValueError(f"{member_name}: DimensionCount must be {len(sizes)}, got {desc.rank}")
    pairs = zip(sizes, desc.sizes, strict=True)
    expected_sizes = tuple([n if size is None else size for size, n in pairs])
    if desc.sizes != expected_sizes:
        raise ValueError(f"{member_name}: Sizes must be {expected_sizes}, got {desc.sizes}")


def last_sizes(
    member_name: str, sizes: tuple[int, ...], count: int, reason: str
) -> tuple[int, ...]:
    """Return the last `count` sizes; ValueError with a reason if another size is not 1."""
    leading_count = max(len(sizes) - count, 0)
    if any(n != 1 for n in sizes[:leading_count]):
        rule = f"Sizes before the last {count}, {reason}, must be 1"
        raise ValueError(f"{member_name}: {rule}, got {sizes}")
    return sizes[leading_count:]


class OneToOne(OperatorDesc):
    """Descriptor of one input and one output, which may be omitted."""

    input: TensorDesc
    output: TensorDesc | None = None
