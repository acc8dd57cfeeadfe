"""What all operator descriptors share: members, the table of what is supported, sizes of outputs.

A descriptor is a frozen dataclass. Its members are those of the C structure, without ``Tensor`` at
the end and in Python's spelling: ``InputTensors`` is ``inputs``, ``IndexDimensions`` is
``index_dimensions``. Counts that only say how long an array is are not members. An operator adds
two methods: `_rule`, its own rules, and `_run`, what it does.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from tensorlayout.directml import tables
from tensorlayout.directml.constants import (
    AxisDirection,
    DataType,
    DepthSpaceOrder,
    InterpolationMode,
    PaddingMode,
    TensorFlags,
    data_type,
    member,
)
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.functions import calling
from tensorlayout.tensor import Tensor

# What may be given for a member; the descriptor holds tuples and members of enumerations.
Integers = Sequence[int]
Number = int | float
Tensors = Sequence[TensorDesc]
AnyDataType = Any
Mode = PaddingMode | str | int
Interpolation = InterpolationMode | str | int
Direction = AxisDirection | str | int
Order = DepthSpaceOrder | str | int

Given = tuple[Tensor | None, ...]


class Expected(NamedTuple):
    """What a rule says of an output."""

    data_type: DataType
    sizes: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class OperatorDesc:
    """An operator and its members, all but the memory: the plan of a call."""

    operator: ClassVar[str]
    in_place: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self) is OperatorDesc:
            msg = "OperatorDesc: must be the descriptor of an operator, such as JoinOperatorDesc"
            raise TypeError(msg)
        for field in _fields(self):
            value = getattr(self, field.name)
            if value is None and field.optional:
                continue
            where = f"{self.operator}: {field.member}"
            object.__setattr__(self, field.name, _normalised(where, field.kind, value))

    @property
    def inputs_of(self) -> tuple[TensorDesc | None, ...]:
        """The descriptors of all inputs, in the order of the members; None: left out."""
        return tuple(desc for name, desc in self._tensors() if not name.startswith("Output"))

    @property
    def outputs_of(self) -> tuple[TensorDesc | None, ...]:
        """The descriptors of all outputs, in the order of the members; None: by the rule."""
        return tuple(desc for name, desc in self._tensors() if name.startswith("Output"))

    def _numbers(self) -> tuple[str, ...]:
        """The members that are numbers, signs of zeros included."""
        kinds = ("Number", "Sequence[float]")
        return tuple(repr(getattr(self, f.name)) for f in _fields(self) if f.kind in kinds)

    def validate(self, feature_level: str | int = tables.HIGHEST) -> Self:
        """The descriptor, outputs that were left out filled in, if a feature level allows it.

        ValueError (TypeError for data types) names the operator, the member, the rule and what
        came; where a higher level allows it, the lowest such level, too.
        """
        level = tables.as_level(feature_level, self.operator)
        tables.support(self.operator, level)
        for name, desc in self._tensors():
            if desc is not None:
                self._check_supported(name, desc, level)
        self._check_values(level)
        whole = self._completed(self._rule())
        for name, desc in whole._tensors():
            if name.startswith("Output"):
                assert desc is not None
                whole._check_supported(name, desc, level)
                whole._check_output(name, desc)
        return whole

    def _rule(self) -> tuple[Expected, ...]:
        """What the outputs must be; ValueError or TypeError where another rule is broken."""
        raise NotImplementedError

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        """Carry it out on tensors that fit; `outs` are written to, None asks for new ones."""
        raise NotImplementedError

    # --- tensors ---------------------------------------------------------------------------------

    def _tensors(self) -> Iterator[tuple[str, TensorDesc | None]]:
        """Each tensor member by its name in C, ``InputTensors[1]`` where there are several."""
        for field in _fields(self):
            if field.is_tensor:
                value = getattr(self, field.name)
                if isinstance(value, tuple):
                    yield from ((f"{field.member}[{i}]", desc) for i, desc in enumerate(value))
                else:
                    yield field.member, value

    def _check_supported(self, name: str, desc: TensorDesc, level: str) -> None:
        """The table's row: data type and rank."""
        tensor = name.partition("[")[0]
        allowed = tables.support(self.operator, level)[tensor]
        if desc.data_type not in allowed.data_types:
            names = ", ".join(t.name for t in allowed.data_types)
            rule = f"DataType must be one of {names} at feature level {level}"
            msg = self._refusal(name, rule, desc.data_type.name, desc)
            raise TypeError(msg)
        low, high = allowed.ranks
        if not low <= desc.rank <= high:
            span = f"{low}" if low == high else f"{low} to {high}"
            rule = f"DimensionCount must be {span} at feature level {level}"
            raise ValueError(self._refusal(name, rule, desc.rank, desc))

    def _refusal(self, name: str, rule: str, came: object, desc: TensorDesc) -> str:
        tensor = name.partition("[")[0]
        lowest = tables.lowest_level(self.operator, tensor, desc.data_type, desc.rank)
        fix = f"the lowest level that allows it is {lowest}"
        if lowest is None:
            fix = f"no level allows {desc.data_type.name} with {desc.rank} dimensions"
        return f"{self.operator}: {name}: {rule}, got {came}; {fix}"

    def _check_values(self, level: str) -> None:
        """Values of enumerations that came later than the operator."""
        for attribute in tables.later_values(self.operator):
            value = getattr(self, python_name(attribute)).name
            lowest = tables.since(self.operator, attribute, value)
            if not tables.reaches(level, lowest):
                msg = (
                    f"{self.operator}: {attribute} {value} is not available at feature level"
                    f" {level}; the lowest level that allows it is {lowest}"
                )
                raise ValueError(msg)

    def _check_output(self, name: str, desc: TensorDesc) -> None:
        if desc.layout.is_overlapping:
            msg = (
                f"{self.operator}: {name}: elements of an output must not share memory,"
                f" got Sizes {desc.sizes} and Strides {desc.strides}"
            )
            raise ValueError(msg)
        if desc.flags == TensorFlags.OWNED_BY_DML:
            msg = f"{self.operator}: {name}: Flags OWNED_BY_DML is for inputs only"
            raise ValueError(msg)

    def _completed(self, expected: tuple[Expected, ...]) -> Self:
        """Self with outputs as the rule says: given ones are held against it."""
        left = iter(expected)
        changes: dict[str, Any] = {}
        for field in _fields(self):
            if not (field.is_tensor and field.member.startswith("Output")):
                continue
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                changes[field.name] = tuple(
                    self._fitting(f"{field.member}[{i}]", desc, next(left))
                    for i, desc in enumerate(value)
                )
            else:
                changes[field.name] = self._fitting(field.member, value, next(left))
        return dataclasses.replace(self, **changes)

    def _fitting(self, name: str, desc: TensorDesc | None, rule: Expected) -> TensorDesc:
        if desc is None:
            return asked(f"{self.operator}: {name}", *rule)
        if desc.data_type != rule.data_type:
            came = desc.data_type.name
            msg = f"{self.operator}: {name}: DataType must be {rule.data_type.name}, got {came}"
            raise TypeError(msg)
        if desc.rank != len(rule.sizes):
            count = len(rule.sizes)
            msg = f"{self.operator}: {name}: DimensionCount must be {count}, got {desc.rank}"
            raise ValueError(msg)
        if desc.sizes != rule.sizes:
            msg = f"{self.operator}: {name}: Sizes must be {rule.sizes}, got {desc.sizes}"
            raise ValueError(msg)
        return desc


class _Field(NamedTuple):
    """A member of a descriptor."""

    name: str
    member: str  # its name in C
    kind: str  # the annotation
    optional: bool

    @property
    def is_tensor(self) -> bool:
        return self.kind in ("TensorDesc", "Tensors")


_KNOWN: dict[str, tuple[_Field, ...]] = {}


def _fields(desc: OperatorDesc) -> tuple[_Field, ...]:
    """The members of a descriptor, found out once for each operator."""
    known = _KNOWN.get(desc.operator)
    if known is not None:
        return known
    tensors = {python_name(name): name for name in tables.support(desc.operator)}
    found = []
    for field in dataclasses.fields(desc):
        member = "".join(part.capitalize() for part in field.name.split("_"))
        kind = str(field.type).removesuffix(" | None")
        optional = kind != field.type
        found.append(_Field(field.name, tensors.get(field.name, member), kind, optional))
    return _KNOWN.setdefault(desc.operator, tuple(found))


def python_name(member: str) -> str:
    """The name of a member in Python: ``InputTensors`` is ``inputs``."""
    short = re.sub("Tensor(s?)$", r"\1", member)
    return re.sub(r"(?<!^)(?=[A-Z])", "_", short).lower()


def _normalised(where: str, kind: str, value: Any) -> Any:
    """A member as descriptors hold it: hashable, enumerations as such."""
    operator, _, name = where.partition(": ")
    if kind == "TensorDesc":
        return _desc(where, value)
    if kind == "Tensors":
        if not isinstance(value, (list, tuple)):
            msg = f"{where} must be a list of TensorDesc, got {calling.shown(value)}"
            raise TypeError(msg)
        return tuple(_desc(f"{where}[{i}]", desc) for i, desc in enumerate(value))
    if kind == "Integers":
        numbers = calling.integers(value, operator, name, none=False)
        return (numbers,) if isinstance(numbers, int) else numbers
    if kind == "int":
        return calling.integer(operator, name, value)
    if kind == "bool":
        return calling.truth(operator, name, value)
    if kind == "Number":
        return _number(operator, name, value)
    if kind == "AnyDataType":
        return data_type(where, value)
    if kind in _ENUMERATIONS:
        return member(where, _ENUMERATIONS[kind], value)
    return value


_ENUMERATIONS: dict[str, Any] = {
    "Mode": PaddingMode,
    "Interpolation": InterpolationMode,
    "Direction": AxisDirection,
    "Order": DepthSpaceOrder,
}


def _number(operator: str, member: str, value: Any) -> int | float:
    """A number; ValueError for one beyond all data types."""
    try:
        number: int | float = calling.real(operator, member, value)
        float(number)
    except OverflowError:
        msg = f"{operator}: {member} must fit FLOAT64, got {calling.shown(value)}"
        raise ValueError(msg) from None
    return number


def _desc(where: str, value: Any) -> TensorDesc:
    if not isinstance(value, TensorDesc):
        msg = f"{where} must be a TensorDesc, got {calling.shown(value)}"
        raise TypeError(msg)
    return value
