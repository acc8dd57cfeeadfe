"""What all operator descriptors share: members, the table of what is supported, sizes of outputs.

A descriptor is a frozen dataclass. Its members are those of the C structure, without ``Tensor`` at
the end and in Python's spelling: ``InputTensors`` is ``inputs``, ``IndexDimensions`` is
``index_dimensions``. Counts that only say how long an array is are not members. The annotation of a
member is its kind: it says what may be given, and what is checked. An operator adds two methods:
`_rule`, its own rules, and `_run`, what it does.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, Self, dataclass_transform, get_args

from tensorlayout.directml import constants, tables
from tensorlayout.directml.constants import UINT32_MAX, ScaleBias, TensorFlags, as_data_type, refuse
from tensorlayout.directml.rules import Expected, expected, rounded, truncated, typed, with_size
from tensorlayout.directml.tensor_desc import TensorDesc, asked, integers
from tensorlayout.functions import arguments
from tensorlayout.tensor import Tensor

# The kinds of members: what may be given. The descriptor holds tuples and members of enumerations.
Tensors = Sequence[TensorDesc]
Integers = Sequence[int]
Naturals = Sequence[int]  # an entry for each dimension, from 0
Positives = Sequence[int]  # an entry for each dimension, from 1
Steps = Sequence[int]  # an entry for each dimension, with a sign
Positive = int
Signed = int
Axis = int
Number = int | float
Float = int | float  # FLOAT, whatever the tensors hold
Scalar = int | float  # of the data type of the tensors
Pair = Sequence[float]
AnyDataType = Any
Mode = constants.PaddingMode | str | int
Interpolation = constants.InterpolationMode | str | int
Direction = constants.AxisDirection | str | int
Order = constants.DepthSpaceOrder | str | int
Duplicates = Literal["last", "error"]

Outputs = tuple[Tensor | None, ...]  # tensors to be written to, None for new ones


class Member(NamedTuple):
    """A member of a descriptor."""

    name: str
    spelling: str  # its name in C
    kind: str  # the annotation
    optional: bool

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or an array of them."""
        return self.kind in ("TensorDesc", "Tensors")

    @property
    def is_output(self) -> bool:
        """Whether it is a tensor that is written to."""
        return self.is_tensor and self.spelling.startswith("Output")


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True)
class OperatorDesc:
    """An operator and its members, all but the memory: the plan of a call.

    >>> from tensorlayout.directml import OperatorDesc, TensorDesc, TileOperatorDesc
    >>> desc = TileOperatorDesc(input=TensorDesc("INT32", (2,)), repeats=(3,))
    >>> isinstance(desc, OperatorDesc), desc.operator, desc.validate().output.sizes
    (True, 'TILE', (6,))
    """

    operator: ClassVar[str]
    in_place: ClassVar[bool] = False
    _members: ClassVar[tuple[Member, ...]]

    def __init_subclass__(cls, operator: str = "", *, in_place: bool = False) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        if operator:
            cls.operator, cls.in_place = operator, in_place
            cls._members = tuple(_members_of(cls))

    def __post_init__(self) -> None:
        if type(self) is OperatorDesc:
            rule = "must be the descriptor of an operator, such as JoinOperatorDesc"
            refuse("OperatorDesc", rule, TypeError)
        for member in self._members:
            value = getattr(self, member.name)
            if value is not None or not member.optional:
                made = _MADE[member.kind](self.operator, member.spelling, value)
                object.__setattr__(self, member.name, made)

    @property
    def inputs_of(self) -> tuple[TensorDesc | None, ...]:
        """The descriptors of all inputs, in the order of the members; None: left out."""
        return tuple(desc for name, desc in self._tensors() if not name.startswith("Output"))

    @property
    def outputs_of(self) -> tuple[TensorDesc | None, ...]:
        """The descriptors of all outputs, in the order of the members; None: by the rule."""
        return tuple(desc for name, desc in self._tensors() if name.startswith("Output"))

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
        self._check_members()
        whole = self._completed(self._rule())
        for name, desc in whole._tensors():
            if name.startswith("Output"):
                assert desc is not None
                whole._check_supported(name, desc, level)
                whole._check_output(name, desc)
        return whole

    def _rule(self) -> tuple[Expected, ...]:
        """What the outputs must be; ValueError or TypeError where another rule is broken."""
        return (expected(self._leading()),)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Carry it out on the output, or a tuple of several, and the inputs; the output or outputs.

        Outputs are written to, None asks for new ones.
        """
        raise NotImplementedError

    @classmethod
    def _asked(cls, given: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The outputs that arguments of the function ask for, as members; `given`: the others.

        Here one output, by its sizes or its data type; what is not asked for is as in the input.
        ``out``, where it is given, must be it.
        """
        (output,) = (member for member in cls._members if member.is_output)
        source = next((desc for desc in given.values() if isinstance(desc, TensorDesc)), None)
        sizes: Any = kwargs.get("sizes", kwargs.get("output_sizes", source and source.sizes))
        if sizes is None and output.optional:
            return {}
        kind = kwargs.get("data_type", source and source.data_type)
        made = asked(f"{cls.operator}: {output.spelling}", kind, sizes)
        found = given.get(output.name)
        if found is not None:
            cls._check_type(output.spelling, found, made.data_type)
            cls._check_sizes(output.spelling, found, made.sizes)
        return {output.name: found or made}

    def _leading(self) -> TensorDesc:
        """The tensor whose dimensions and data type the other members go by."""
        found = next((desc for _, desc in self._tensors() if desc is not None), None)
        if found is None:
            self._refuse("OutputTensor must be given without InputTensor, got None")
        return found

    def _dimensions(self) -> int:
        """How many entries arrays have."""
        return self._leading().rank

    def _element(self, name: str) -> int | float:
        """A number among the members as an element of the tensors."""
        (member,) = (each for each in self._members if each.name == name)
        convert = truncated if member.kind == "Float" else typed
        kind = self._leading().data_type
        return convert(self.operator, member.spelling, getattr(self, name), kind)

    # --- checks ----------------------------------------------------------------------------------

    def _tensors(self) -> Iterator[tuple[str, TensorDesc | None]]:
        """Each tensor member by its name in C, ``InputTensors[1]`` where there are several."""
        for member in self._members:
            if member.is_tensor:
                value = getattr(self, member.name)
                if isinstance(value, tuple):
                    yield from ((f"{member.spelling}[{i}]", desc) for i, desc in enumerate(value))
                else:
                    yield member.spelling, value

    def _check_supported(self, name: str, desc: TensorDesc, level: str) -> None:
        """The table's row: data type and rank."""
        tensor = name.partition("[")[0]
        allowed = tables.support(self.operator, level)[tensor]
        if desc.data_type not in allowed.data_types:
            names = ", ".join(t.name for t in allowed.data_types)
            rule = f"{name}: DataType must be one of {names} at feature level {level}"
            came = f"{desc.data_type.name}; {self._lowest(name, desc)}"
            self._refuse(f"{rule}, got {came}", TypeError)
        low, high = allowed.ranks
        if not low <= desc.rank <= high:
            span = f"{low}" if low == high else f"{low} to {high}"
            rule = f"{name}: DimensionCount must be {span} at feature level {level}"
            self._refuse(f"{rule}, got {desc.rank}; {self._lowest(name, desc)}")

    def _lowest(self, name: str, desc: TensorDesc) -> str:
        tensor, kind = name.partition("[")[0], desc.data_type
        lowest = tables.lowest_level(self.operator, tensor, kind, desc.rank)
        if lowest is None:
            return f"no level allows {kind.name} with {desc.rank} dimensions"
        return f"the lowest level that allows it is {lowest}"

    def _check_values(self, level: str) -> None:
        """Values of enumerations that came later than the operator."""
        for attribute, levels in tables.later_values(self.operator).items():
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
                self._check_axis(value, self._leading().rank)
            elif kind in ("Float", "Scalar"):
                self._element(field)
            elif kind == "AnyDataType" and value is not None:
                wanted = self._leading().data_type
                if value != wanted:
                    rule = f"{spelling} must be {wanted.name}, that of the output"
                    self._refuse(f"{rule}, got {value.name}", TypeError)
            elif kind in _RANGES:
                if isinstance(value, tuple) and len(value) != self._dimensions():
                    rule = f"{spelling} must have {self._dimensions()} entries, DimensionCount"
                    self._refuse(f"{rule}, got {len(value)}")
                self._check_range(kind, spelling, value if isinstance(value, tuple) else (value,))

    def _check_output(self, name: str, desc: TensorDesc) -> None:
        if desc.layout.is_overlapping:
            rule = "elements of an output must not share memory"
            came = f"Sizes {desc.sizes} and Strides {desc.strides}"
            self._refuse(f"{name}: {rule}, got {came}")
        if desc.flags == TensorFlags.OWNED_BY_DML:
            self._refuse(f"{name}: Flags OWNED_BY_DML is for inputs only")

    def _completed(self, rules: tuple[Expected, ...]) -> Self:
        """Self with outputs as the rules say: given ones are held against them."""
        outputs = [each for each in self._tensors() if each[0].startswith("Output")]
        pairs = zip(outputs, rules, strict=True)
        made = (self._fitting(name, desc, rule) for (name, desc), rule in pairs)
        changes: dict[str, Any] = {}
        for member in self._members:
            if member.is_output:
                changes[member.name] = tuple(made) if member.kind == "Tensors" else next(made)
        return dataclasses.replace(self, **changes)

    def _fitting(self, name: str, desc: TensorDesc | None, rule: Expected) -> TensorDesc:
        if desc is None:
            return asked(f"{self.operator}: {name}", *rule)
        self._check_same(name, desc, rule)
        return desc

    # --- rules that operators share; `member` is what errors call the tensor ---------------------

    @classmethod
    def _refuse(cls, text: str, kind: type[Exception] = ValueError) -> NoReturn:
        refuse(cls.operator, text, kind)

    @classmethod
    def _check_range(cls, kind: str, member: str, numbers: tuple[int, ...]) -> None:
        """Numbers of a kind fit their 32 bits."""
        low, high, rule = _RANGES[kind]
        for number in numbers:
            if not low <= number <= high:
                cls._refuse(f"{member} must {rule}, got {arguments.shown(number)}")

    @classmethod
    def _check_axis(cls, axis: int, rank: int) -> None:
        """Axis counts from 0 and is below the rank."""
        if not 0 <= axis < rank:
            cls._refuse(f"Axis must be 0 to {rank - 1}, got {arguments.shown(axis)}")

    @classmethod
    def _check_type(cls, member: str, desc: TensorDesc, kind: constants.DataType) -> None:
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
    def _check_sizes(cls, member: str, desc: TensorDesc, sizes: tuple[int, ...]) -> None:
        """The sizes of a tensor follow from others."""
        if desc.sizes != sizes:
            cls._refuse(f"{member}: Sizes must be {sizes}, got {desc.sizes}")

    @classmethod
    def _check_shape(cls, member: str, desc: TensorDesc, sizes: tuple[int, ...]) -> None:
        """The rank and the sizes of a tensor follow from others."""
        cls._check_rank(member, desc, len(sizes))
        cls._check_sizes(member, desc, sizes)

    @classmethod
    def _check_same(cls, member: str, desc: TensorDesc, rule: Expected) -> None:
        """One data type, one rank, the same sizes."""
        cls._check_type(member, desc, rule.data_type)
        cls._check_shape(member, desc, rule.sizes)

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


_WITH_SIGN = -(2**31), 2**31 - 1, "fit 32 bits with a sign"
_RANGES: dict[str, tuple[int, int, str]] = {
    "Naturals": (0, UINT32_MAX, "be 0 to 2**32 - 1"),
    "Positives": (1, UINT32_MAX, "be 1 to 2**32 - 1"),
    "Positive": (1, UINT32_MAX, "be 1 to 2**32 - 1"),
    "Steps": _WITH_SIGN,
    "Signed": _WITH_SIGN,
}


def _members_of(desc: type[OperatorDesc]) -> Iterator[Member]:
    """The members of an operator's descriptor, spelt as in the table where they are tensors."""
    tensors = {python_name(name): name for name in tables.support(desc.operator)}
    for field in dataclasses.fields(desc):
        spelling = "".join(part.capitalize() for part in field.name.split("_"))
        kind = str(field.type).removesuffix(" | None")
        yield Member(field.name, tensors.get(field.name, spelling), kind, kind != field.type)


def python_name(spelling: str) -> str:
    """The name of a member in Python: ``InputTensors`` is ``inputs``."""
    short = re.sub("Tensor(s?)$", r"\1", spelling)
    return re.sub(r"(?<!^)(?=[A-Z])", "_", short).lower()


# --- members as descriptors hold them: hashable, enumerations as such ----------------------------


def _desc(operator: str, member: str, value: Any) -> TensorDesc:
    if not isinstance(value, TensorDesc):
        refuse(operator, f"{member} must be a TensorDesc, got {arguments.shown(value)}", TypeError)
    return value


def _descs(operator: str, member: str, value: Any) -> tuple[TensorDesc, ...]:
    if not isinstance(value, (list, tuple)):
        came = arguments.shown(value)
        refuse(operator, f"{member} must be a list of TensorDesc, got {came}", TypeError)
    return tuple(_desc(operator, f"{member}[{i}]", desc) for i, desc in enumerate(value))


def _number(operator: str, member: str, value: Any) -> int | float:
    """A number; ValueError for one beyond all data types."""
    try:
        number: int | float = arguments.real(operator, member, value)
        float(number)
    except OverflowError:
        msg = f"{operator}: {member} must fit FLOAT64, got {arguments.shown(value)}"
        raise ValueError(msg) from None
    return number


def _scale_bias(operator: str, member: str, value: Any) -> ScaleBias:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        refuse(operator, f"{member} must be two numbers, got {arguments.shown(value)}", TypeError)
    members = zip(ScaleBias._fields, value, strict=True)
    parts = [(f"{member}: {part.capitalize()}", x) for part, x in members]
    float32 = constants.DataType.FLOAT32
    return ScaleBias(
        *(rounded(operator, part, arguments.real(operator, part, x), float32) for part, x in parts)
    )


def _one_of(kind: Any) -> Callable[[str, str, Any], Any]:
    return lambda operator, member, value: constants.member(f"{operator}: {member}", kind, value)


_MADE: dict[str, Callable[[str, str, Any], Any]] = {
    "TensorDesc": _desc,
    "Tensors": _descs,
    **dict.fromkeys(("Integers", "Naturals", "Positives", "Steps"), integers),
    **dict.fromkeys(("int", "Axis", "Positive", "Signed"), arguments.integer),
    "bool": arguments.truth,
    **dict.fromkeys(("Number", "Float", "Scalar"), _number),
    "Pair": _scale_bias,
    "AnyDataType": lambda operator, member, value: as_data_type(f"{operator}: {member}", value),
    "Mode": _one_of(constants.PaddingMode),
    "Interpolation": _one_of(constants.InterpolationMode),
    "Direction": _one_of(constants.AxisDirection),
    "Order": _one_of(constants.DepthSpaceOrder),
    "Duplicates": lambda operator, _, value: arguments.choice(
        operator, "duplicates", value, "'last' or 'error'", get_args(Duplicates)
    ),
}
