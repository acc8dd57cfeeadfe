"""What all operator descriptors share: members, the table of what is supported, sizes of outputs.

A descriptor is a frozen dataclass. Its members are those of the C structure, without ``Tensor`` at
the end and in Python's spelling: ``InputTensors`` is ``inputs``, ``IndexDimensions`` is
``index_dimensions``. Counts that only say how long an array is are not members. An operator adds
two methods: `_rule`, its own rules, and `_run`, what it does. Both raise errors without names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self, dataclass_transform

from tensorlayout.directml import members, tables
from tensorlayout.directml.constants import DataType, TensorFlags, check_between, in_name_of, within
from tensorlayout.directml.members import KINDS, Member
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.errors import REFUSALS, refuse
from tensorlayout.support.interning import cached_property

# The data type and the sizes that an output must have.
Expected = tuple[DataType, Sequence[int]]


def effective_rank(desc: TensorDesc) -> int:
    """The number of dimensions without leading sizes of 1."""
    return max((desc.rank - d for d, n in enumerate(desc.sizes) if n > 1), default=0)


def with_size(sizes: Sequence[int], axis: int, size: Any) -> tuple[Any, ...]:
    """`sizes` with another size along `axis`."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True)
class OperatorDesc:
    """An operator and its members, all but the memory: the plan of a call.

    Members are what the function takes, each tensor as a `TensorDesc`. `validate` fills in outputs
    that may be left out, and raises ValueError (TypeError for data types).

    >>> from tensorlayout.directml import OperatorDesc, TensorDesc, TileOperatorDesc
    >>> desc = TileOperatorDesc(input=TensorDesc("INT32", (2,)), repeats=(3,))
    >>> isinstance(desc, OperatorDesc), desc.operator, desc.validate().output.sizes
    (True, 'TILE', (6,))
    """

    operator: ClassVar[str]
    in_place: ClassVar[bool] = False
    _makes_output: ClassVar[bool] = False  # `_run` takes None for the output, and returns a new one
    _members: ClassVar[tuple[Member, ...]]
    _tensor_members: ClassVar[tuple[Member, ...]]
    _outputs: ClassVar[tuple[Member, ...]]
    _given: ClassVar[tuple[Member, ...]]  # those that functions take

    def __init_subclass__(cls, operator: str = "", *, in_place: bool = False) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        if operator:
            cls.operator, cls.in_place = operator, in_place
            cls._members = tuple(members.members_of(cls))
            cls._tensor_members = tuple(m for m in cls._members if m.kind in members.TENSORS)
            cls._outputs = tuple(m for m in cls._tensor_members if m.spelling.startswith("Output"))
            rest = [m for m in cls._members if m not in cls._outputs]
            cls._given = tuple(m for m in rest if m.kind != "AnyDataType")

    def __post_init__(self) -> None:
        if type(self) is OperatorDesc:
            rule = "must be the descriptor of an operator, such as JoinOperatorDesc"
            refuse("OperatorDesc", rule, TypeError)
        try:
            for member in self._members:
                object.__setattr__(self, member.name, member.held(getattr(self, member.name)))
        except REFUSALS as error:
            raise in_name_of(self.operator, error) from None

    @property
    def inputs_of(self) -> tuple[TensorDesc | None, ...]:
        """The descriptors of all inputs, in the order of the members; None: left out."""
        return tuple(desc for name, desc in self._tensors if not name.startswith("Output"))

    @property
    def outputs_of(self) -> tuple[TensorDesc | None, ...]:
        """The descriptors of all outputs, in the order of the members; None: by the rule."""
        return tuple(desc for name, desc in self._tensors if name.startswith("Output"))

    def validate(self, feature_level: str | int = tables.HIGHEST) -> Self:
        """The descriptor, outputs that were left out filled in, if a feature level allows it.

        ValueError (TypeError for data types) names the operator, the member, the rule and what
        came; where a higher level allows it, the lowest such level, too.
        """
        try:
            level = tables.as_level(feature_level)
            tables.row(self.operator, level)
            for name, desc in self._tensors:
                if desc is not None:
                    self._check_supported(name, desc, level)
            self._check_members(level)
            return self._completed(level)
        except REFUSALS as error:
            raise in_name_of(self.operator, error) from None

    def _rule(self) -> Sequence[Expected]:
        """Return what the outputs must be; ValueError or TypeError where another rule is broken.

        Here one output, of the data type of the tensor that leads and of the sizes of `_sizes`.
        """
        return [(self._leading().data_type, self._sizes())]

    def _sizes(self) -> Sequence[int]:
        """The sizes of the only output; errors as of `_rule`."""
        return self._leading().sizes

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Write the output, or a tuple of several, which comes first, from the inputs."""
        raise NotImplementedError

    @classmethod
    def _asked(cls, given: dict[str, Any], *_: Any, **asking: Any) -> dict[str, Any]:
        """The outputs that arguments of the function ask for, as members; `given`: the others.

        Here one output, by its `sizes` or its `data_type`; what is not asked for is as in the
        input. Where an output may be left out, None may be asked for.
        """
        (output,) = cls._outputs
        missing = [word for word, value in asking.items() if value is None]
        if output.optional and len(missing) == len(asking):
            return {}
        if output.optional and missing:
            raise ValueError(f"{' and '.join(asking)} must be given together, got no {missing[0]}")
        source = next((desc for desc in given.values() if isinstance(desc, TensorDesc)), None)
        sizes: Any = asking.get("sizes", source and source.sizes)
        kind = asking.get("data_type", source and source.data_type)
        return {output.name: within(output.spelling, TensorDesc, kind, sizes)}

    @classmethod
    def _with_asked(cls, given: dict[str, Any], asking: dict[str, Any]) -> Self:
        """The descriptor with outputs as asked for; those of ``out`` must be so."""
        wanted = cls._asked(given, **asking)
        found, rule = cls(**wanted | given), cls(**given | wanted)
        if len(found.outputs_of) != len(rule.outputs_of):
            came = len(found.outputs_of)
            raise ValueError(f"out must be {len(rule.outputs_of)} tensors, got {came}")
        for (name, desc), (_, asked_for) in zip(found._tensors, rule._tensors, strict=True):
            if desc is not None and asked_for is not None:
                check(name, desc, asked_for.sizes, asked_for.data_type)
        return found

    def _leading(self) -> TensorDesc:
        """The tensor whose dimensions and data type the other members go by.

        That is the last output if it may not be left out, else the first tensor.
        """
        given = [desc for _, desc in self._tensors if desc is not None]
        if not given:
            rule = "OutputTensor, or sizes and data_type, must be given without InputTensor"
            raise ValueError(f"{rule}, got None")
        return given[0 if self._outputs[0].optional else -1]

    def _dimensions(self) -> int:
        """Return how many entries arrays have."""
        return self._leading().rank

    @cached_property
    def _elements(self) -> dict[str, int | float]:
        """Numbers among the members, as elements of the tensors."""
        kind = self._leading().data_type
        numbers = [member for member in self._members if KINDS[member.kind].element]
        return {m.name: members.as_element(m, getattr(self, m.name), kind) for m in numbers}

    # --- checks ----------------------------------------------------------------------------------

    @cached_property
    def _tensors(self) -> list[tuple[str, TensorDesc | None]]:
        """Each tensor member by its name in C, ``InputTensors[1]`` where there are several."""
        found: list[tuple[str, TensorDesc | None]] = []
        for member in self._tensor_members:
            value = getattr(self, member.name)
            if isinstance(value, tuple):
                found += [(f"{member.spelling}[{i}]", desc) for i, desc in enumerate(value)]
            else:
                found.append((member.spelling, value))
        return found

    def _check_supported(self, name: str, desc: TensorDesc, level: str) -> None:
        """The table's row: data type and rank."""
        given = level, desc.data_type, desc.rank
        within(name, tables.check, self.operator, name.partition("[")[0], *given)

    def _check_members(self, level: str = tables.HIGHEST) -> None:
        """What the kind of a member says of its value."""
        for name, spelling, kind, _ in self._members:
            value, (_, low, high, element) = getattr(self, name), KINDS[kind]
            if kind == "Tensors" and not value:
                count = spelling.replace("Tensors", "Count")
                raise ValueError(f"{count} must be at least 1, got 0")
            if kind == "Axis":
                check_between("Axis", value, 0, self._leading().rank - 1)
            elif element:
                _ = self._elements  # worked out, they fit
            elif kind == "AnyDataType" and value is not None:
                wanted = self._leading().data_type
                if value != wanted:
                    rule = f"{spelling} must be {wanted.name}, that of the output"
                    raise TypeError(f"{rule}, got {value.name}")
            elif spelling in tables.SINCE:
                lowest = tables.SINCE[spelling].get(value.name, level)
                if not tables.reaches(level, lowest):
                    rule = f"{spelling} {value.name} is not available at feature level {level}"
                    raise ValueError(f"{rule}; the lowest level that allows it is {lowest}")
            elif low is not None:
                numbers = value if isinstance(value, tuple) else (value,)
                if numbers is value and len(numbers) != self._dimensions():
                    rule = f"{spelling} must have {self._dimensions()} entries, DimensionCount"
                    raise ValueError(f"{rule}, got {len(numbers)}")
                for number in numbers:
                    check_between(spelling, number, low, high)

    def _completed(self, level: str) -> Self:
        """Self with outputs as the rules say: given ones are held against them."""
        outputs = [each for each in self._tensors if each[0].startswith("Output")]
        names, filled = {member.spelling: member.name for member in self._outputs}, {}
        for (name, desc), (kind, sizes) in zip(outputs, self._rule(), strict=True):
            if desc is None:
                desc = filled[names[name]] = within(name, TensorDesc, kind, sizes)
                self._check_supported(name, desc, level)
            else:
                check(name, desc, sizes, kind)
            if desc.layout.is_overlapping:
                rule = "elements of an output must not share memory"
                came = f"Sizes {desc.sizes} and Strides {desc.strides}"
                raise ValueError(f"{name}: {rule}, got {came}")
            if desc.flags == TensorFlags.OWNED_BY_DML:
                raise ValueError(f"{name}: Flags OWNED_BY_DML is for inputs only")
        return dataclasses.replace(self, **filled)


# --- rules that operators share; `member` is what errors call the tensor --------------------------


def check(
    member: str, desc: TensorDesc, sizes: Sequence[int | None], kind: DataType | None = None
) -> None:
    """Raise TypeError for another data type than `kind`, ValueError for other sizes than these.

    A size of None may be any, and so may a data type of None.
    """
    if kind is not None and desc.data_type != kind:
        came = desc.data_type.name
        raise TypeError(f"{member}: DataType must be {kind.name}, got {came}")
    if desc.rank != len(sizes):
        raise ValueError(f"{member}: DimensionCount must be {len(sizes)}, got {desc.rank}")
    pairs = zip(sizes, desc.sizes, strict=True)
    wanted = tuple([n if size is None else size for size, n in pairs])
    if desc.sizes != wanted:
        raise ValueError(f"{member}: Sizes must be {wanted}, got {desc.sizes}")


def last(member: str, sizes: tuple[int, ...], count: int, why: str) -> tuple[int, ...]:
    """Return the last `count` sizes, as `why` says; ValueError where one before them is not 1."""
    before = max(len(sizes) - count, 0)
    if any(n != 1 for n in sizes[:before]):
        rule = f"Sizes before the last {count}, {why}, must be 1"
        raise ValueError(f"{member}: {rule}, got {sizes}")
    return sizes[before:]


class OneToOne(OperatorDesc):
    """A descriptor of an input and an output that may be left out."""

    input: TensorDesc
    output: TensorDesc | None = None
