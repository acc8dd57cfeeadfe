"""What all operator descriptors share: members, the table of what is supported, sizes of outputs.

A descriptor is a frozen dataclass. Its members are those of the C structure, without ``Tensor`` at
the end and in Python's spelling: ``InputTensors`` is ``inputs``, ``IndexDimensions`` is
``index_dimensions``. Counts that only say how long an array is are not members. An operator adds
two methods: `_rule`, its own rules, and `_run`, what it does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, dataclass_transform

from tensorlayout.directml import constants, members, tables
from tensorlayout.directml.constants import (
    AxisDirection,
    DataType,
    DataTypeLike,
    PaddingMode,
    TensorFlags,
    as_data_type,
)
from tensorlayout.directml.members import RANGES, Member, as_element, members_of, python_name
from tensorlayout.directml.tensor_desc import TensorDesc, asked, integers, listed
from tensorlayout.errors import refuse
from tensorlayout.functions import arguments
from tensorlayout.support.interning import cached_property


class Expected(NamedTuple):
    """What a rule says of an output."""

    data_type: DataType
    sizes: tuple[int, ...]

    @classmethod
    def like(cls, desc: TensorDesc, sizes: Sequence[int] | None = None) -> Expected:
        """An output of the data type of `desc`, and of its sizes unless others are given."""
        return cls(desc.data_type, desc.sizes if sizes is None else tuple(sizes))


def effective_rank(desc: TensorDesc) -> int:
    """The number of dimensions without leading sizes of 1."""
    return max((desc.rank - d for d, n in enumerate(desc.sizes) if n > 1), default=0)


def with_size(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
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
    _members: ClassVar[tuple[Member, ...]]
    _tensor_members: ClassVar[tuple[Member, ...]]
    _outputs: ClassVar[tuple[Member, ...]]
    _given: ClassVar[tuple[Member, ...]]  # those that functions take

    def __init_subclass__(cls, operator: str = "", *, in_place: bool = False) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        if operator:
            cls.operator, cls.in_place = operator, in_place
            cls._members = tuple(members_of(cls, [*tables.support(operator)]))
            cls._tensor_members = tuple(member for member in cls._members if member.is_tensor)
            cls._outputs = tuple(member for member in cls._members if member.is_output)
            data_types = [member for member in cls._members if member.kind == "AnyDataType"]
            rest = {*cls._outputs, *data_types}
            cls._given = tuple(member for member in cls._members if member not in rest)

    def __post_init__(self) -> None:
        if type(self) is OperatorDesc:
            rule = "must be the descriptor of an operator, such as JoinOperatorDesc"
            refuse("OperatorDesc", rule, TypeError)
        for member in self._members:
            held = member.held(self.operator, getattr(self, member.name))
            object.__setattr__(self, member.name, held)

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
        level = tables.as_level(feature_level, self.operator)
        tables.support(self.operator, level)
        for name, desc in self._tensors:
            if desc is not None:
                self._check_supported(name, desc, level)
        self._check_values(level)
        self._check_members()
        whole = self._completed(self._rule())
        for name, desc in whole._tensors:
            if name.startswith("Output"):
                assert desc is not None
                whole._check_supported(name, desc, level)
                whole._check_output(name, desc)
        return whole

    def _rule(self) -> tuple[Expected, ...]:
        """What the outputs must be; ValueError or TypeError where another rule is broken."""
        return (Expected.like(self._leading()),)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Carry it out on the output, or a tuple of several, and the inputs; the output or outputs.

        Outputs are written to, None asks for new ones.
        """
        raise NotImplementedError

    @classmethod
    def _asked(cls, given: dict[str, Any], *_: Any, **asking: Any) -> dict[str, Any]:
        """The outputs that arguments of the function ask for, as members; `given`: the others.

        Here one output, by its `sizes` or its `data_type`; what is not asked for is as in the
        input.
        """
        (output,) = cls._outputs
        source = next((desc for desc in given.values() if isinstance(desc, TensorDesc)), None)
        sizes: Any = asking.get("sizes", source and source.sizes)
        if sizes is None and output.optional:
            return {}
        kind = asking.get("data_type", source and source.data_type)
        return {output.name: asked(f"{cls.operator}: {output.spelling}", kind, sizes)}

    @classmethod
    def _with_asked(cls, given: dict[str, Any], asking: dict[str, Any]) -> Self:
        """The descriptor with outputs as asked for; those of ``out`` must be so."""
        wanted = cls._asked(given, **asking)
        found, rule = cls(**wanted | given), cls(**given | wanted)
        if len(found.outputs_of) != len(rule.outputs_of):
            came = len(found.outputs_of)
            cls._refuse(f"out must be {len(rule.outputs_of)} tensors, got {came}")
        for (name, desc), (_, asked_for) in zip(found._tensors, rule._tensors, strict=True):
            if desc is not None and asked_for is not None:
                cls._check_same(name, desc, asked_for)
        return found

    def _leading(self) -> TensorDesc:
        """The tensor whose dimensions and data type the other members go by."""
        found = next((desc for _, desc in self._tensors if desc is not None), None)
        if found is None:
            self._refuse("OutputTensor must be given without InputTensor, got None")
        return found

    def _dimensions(self) -> int:
        """Return how many entries arrays have."""
        return self._leading().rank

    @cached_property
    def _elements(self) -> dict[str, int | float]:
        """Numbers among the members, as elements of the tensors."""
        kind = self._leading().data_type
        numbers = [member for member in self._members if member.kind in ("Float", "Scalar")]
        return {m.name: as_element(self.operator, m, getattr(self, m.name), kind) for m in numbers}

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
        tensor, kind, rank = name.partition("[")[0], desc.data_type, desc.rank
        allowed = tables.support(self.operator, level)[tensor]
        if allowed.allows(kind, rank):
            return
        rows = tables.ROWS[self.operator].items()
        lowest = next((own for own, table in rows if table[tensor].allows(kind, rank)), None)
        fix = f"no level allows {kind.name} with {rank} dimensions"
        if lowest is not None:
            fix = f"the lowest level that allows it is {lowest}"
        if kind not in allowed.data_types:
            names = ", ".join(t.name for t in allowed.data_types)
            rule = f"{name}: DataType must be one of {names} at feature level {level}"
            self._refuse(f"{rule}, got {kind.name}; {fix}", TypeError)
        low, high = allowed.ranks
        span = f"{low}" if low == high else f"{low} to {high}"
        rule = f"{name}: DimensionCount must be {span} at feature level {level}"
        self._refuse(f"{rule}, got {rank}; {fix}")

    def _check_values(self, level: str) -> None:
        """Values of enumerations that came later than the operator."""
        for attribute, levels in tables.SINCE[self.operator].items():
            value = getattr(self, python_name(attribute)).name
            lowest = levels.get(value, level)
            if not tables.reaches(level, lowest):
                rule = f"{attribute} {value} is not available at feature level {level}"
                self._refuse(f"{rule}; the lowest level that allows it is {lowest}")

    def _check_members(self) -> None:
        """What the kind of a member says of its value."""
        for field, spelling, kind, _ in self._members:
            value = getattr(self, field)
            if kind == "Tensors" and not value:
                count = spelling.replace("Tensors", "Count")
                self._refuse(f"{count} must be at least 1, got 0")
            elif kind == "Axis":
                self._check_between("Axis", value, 0, self._leading().rank - 1)
            elif kind in ("Float", "Scalar"):
                _ = self._elements  # worked out, they fit
            elif kind == "AnyDataType" and value is not None:
                wanted = self._leading().data_type
                if value != wanted:
                    rule = f"{spelling} must be {wanted.name}, that of the output"
                    self._refuse(f"{rule}, got {value.name}", TypeError)
            elif kind in RANGES:
                numbers = value if isinstance(value, tuple) else (value,)
                if numbers is value and len(numbers) != self._dimensions():
                    rule = f"{spelling} must have {self._dimensions()} entries, DimensionCount"
                    self._refuse(f"{rule}, got {len(numbers)}")
                self._check_range(kind, spelling, numbers)

    def _check_output(self, name: str, desc: TensorDesc) -> None:
        if desc.layout.is_overlapping:
            rule = "elements of an output must not share memory"
            came = f"Sizes {desc.sizes} and Strides {desc.strides}"
            self._refuse(f"{name}: {rule}, got {came}")
        if desc.flags == TensorFlags.OWNED_BY_DML:
            self._refuse(f"{name}: Flags OWNED_BY_DML is for inputs only")

    def _completed(self, rules: tuple[Expected, ...]) -> Self:
        """Self with outputs as the rules say: given ones are held against them."""
        outputs = [each for each in self._tensors if each[0].startswith("Output")]
        made = []
        for (name, desc), rule in zip(outputs, rules, strict=True):
            if desc is not None:
                self._check_same(name, desc, rule)
            made.append(desc or asked(f"{self.operator}: {name}", *rule))
        values: list[Any] = [tuple(made)] if self._outputs[0].kind == "Tensors" else made
        names = [member.name for member in self._outputs]
        return dataclasses.replace(self, **dict(zip(names, values, strict=True)))

    # --- rules that operators share; `member` is what errors call the tensor ---------------------

    @classmethod
    def _refuse(cls, text: str, kind: type[Exception] = ValueError) -> NoReturn:
        refuse(cls.operator, text, kind)

    @classmethod
    def _check_between(cls, member: str, number: int, low: int, high: int, why: str = "") -> None:
        """A number lies from `low` to `high`, for a reason."""
        if not low <= number <= high:
            came = arguments.shown(number)
            cls._refuse(f"{member} must be {low} to {high}{why}, got {came}")

    @classmethod
    def _check_range(cls, kind: str, member: str, numbers: tuple[int, ...]) -> None:
        """Numbers of a kind fit their 32 bits."""
        low, high, rule = RANGES[kind]
        for number in numbers:
            if not low <= number <= high:
                cls._refuse(f"{member} must {rule}, got {arguments.shown(number)}")

    @classmethod
    def _check_type(cls, member: str, desc: TensorDesc, kind: DataType) -> None:
        """Tensors that share data have one DataType."""
        if desc.data_type != kind:
            came = desc.data_type.name
            cls._refuse(f"{member}: DataType must be {kind.name}, got {came}", TypeError)

    @classmethod
    def _check_rank(cls, member: str, desc: TensorDesc, rank: int) -> None:
        """All tensors of an operator have one DimensionCount."""
        if desc.rank != rank:
            cls._refuse(f"{member}: DimensionCount must be {rank}, got {desc.rank}")

    @classmethod
    def _check_shape(cls, member: str, desc: TensorDesc, sizes: tuple[int, ...]) -> None:
        """The rank and the sizes of a tensor follow from others."""
        cls._check_rank(member, desc, len(sizes))
        if desc.sizes != sizes:
            cls._refuse(f"{member}: Sizes must be {sizes}, got {desc.sizes}")

    @classmethod
    def _check_same(
        cls,
        member: str,
        desc: TensorDesc,
        like: TensorDesc | Expected,
        sizes: tuple[int, ...] | None = None,
    ) -> None:
        """One data type, one rank, the same sizes, unless others are given."""
        cls._check_type(member, desc, like.data_type)
        cls._check_shape(member, desc, like.sizes if sizes is None else sizes)

    @classmethod
    def _check_away(cls, member: str, desc: TensorDesc, sizes: Sequence[int], axis: int) -> None:
        """Sizes are given away from `axis`; along it they are free."""
        cls._check_rank(member, desc, len(sizes))
        wanted = with_size(sizes, axis, desc.sizes[axis])
        if desc.sizes != wanted:
            rule = f"Sizes away from Axis {axis} must be {wanted}"
            cls._refuse(f"{member}: {rule}, got {desc.sizes}")

    @classmethod
    def _counted(cls, tensor: str, desc: TensorDesc, member: str, count: int) -> tuple[int, ...]:
        """The last `count` sizes, which `member` says count: those before them must be 1."""
        cut = desc.rank - count
        if any(n != 1 for n in desc.sizes[:cut]):
            rule = f"Sizes before the last {count}, {member}, must be 1"
            cls._refuse(f"{tensor}: {rule}, got {desc.sizes}")
        return desc.sizes[cut:]


class OneToOne(OperatorDesc):
    """A descriptor of an input and an output that may be left out."""

    input: TensorDesc
    output: TensorDesc | None = None
