"""Functions on tensors, made from descriptors: tensors described, validated once, then found again.

A function is declared, and its declaration is its documentation; what it does follows from the
descriptor. Its first parameters are the input tensors; others are the members of their name, or
those whose names end with it (`mode` is ``padding_mode``); those that are left ask for outputs,
which the descriptor's `_asked` knows.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

from tensorlayout.devices import Device, as_device
from tensorlayout.directml import constants, tables
from tensorlayout.directml.constants import DataType, refuse
from tensorlayout.directml.operator_desc import Member, OperatorDesc
from tensorlayout.directml.operators import Operator
from tensorlayout.directml.tensor_desc import TensorDesc, described
from tensorlayout.functions import arguments
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.words import under

_P = ParamSpec("_P")
_R = TypeVar("_R")

specs_of = attrgetter("_spec")
_KEPT = 1024  # validated descriptors, for each function
_TENSORS, _INTEGERS, _NUMBERS = {Tensor}, {int}, {int, float}
_SEQUENCES = {tuple, list, constants.Size2D, constants.ScaleBias}
# What is found again by its value and type: it cannot change, and is no other where it is equal.
_BY_VALUE = {
    *(int, str, bool, type(None), Device, DataType, constants.PaddingMode),
    *(constants.InterpolationMode, constants.AxisDirection, constants.DepthSpaceOrder),
    *(type(kind.dtype) for kind in DataType if kind.bits >= 8),
}
_NEGATIVE_ZERO = repr(-0.0)  # equal to the other zero, so never kept


class _Numbers(tuple[float, ...]):
    """Numbers that are not all integers: another type, so that (1.0,) does not find (1,)."""


def carries_out(desc: type[OperatorDesc]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function that is only declared carry out a descriptor on its arguments."""

    def made(declared: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(declared)
        members = {name: _member(desc, name) for name in signature.parameters}
        tensors = [name for name, member in members.items() if member and member.is_tensor]

        def operator_of(names: tuple[str, ...], *values: Any) -> Operator:
            """The operator of a call; `names`: of the last of its arguments."""
            count = len(values) - len(names)
            args, options = values[:count], dict(zip(names, values[count:], strict=True))
            declared(*args, **options)  # says what is missing, or too much
            arguments = signature.bind(*args, **options)
            arguments.apply_defaults()
            return _operator(desc, members, arguments.arguments)

        known = functools.lru_cache(maxsize=_KEPT, typed=True)(operator_of)

        @functools.wraps(declared)
        def function(*args: _P.args, **options: _P.kwargs) -> _R:
            arguments: Any = args
            for name in tensors[len(args) :]:  # those given by name stand where they belong
                if name not in options:
                    break
                arguments = (*arguments, options.pop(name))
            names = tuple(options)
            if names:
                arguments = (*arguments, *options.values())
            given: list[Any] = []
            operator = None
            try:
                operator = known(names, *_keyed(arguments, given))
            except (TypeError, ValueError):
                given = []
            if operator is None:  # what is wrong is said of what came itself
                operator = operator_of(names, *arguments)
                for x in (*arguments[: len(tensors)], options.get("out")):
                    given += x if isinstance(x, (tuple, list)) else () if x is None else (x,)
            found: _R = operator._run(given)
            return found

        return function

    return made


def _keyed(values: Iterable[Any], given: list[Any]) -> list[Any]:
    """What stands for arguments in a key; their tensors are added to `given`.

    TypeError for what may change, or is another where it is equal.
    """
    key: list[Any] = []
    for x in values:
        kind = type(x)
        if kind is Tensor:
            given.append(x)
            key.append(x._spec)
        elif kind in _BY_VALUE:
            key.append(x)
        elif kind in _SEQUENCES:
            kinds = set(map(type, x))
            if kinds == _TENSORS:
                given += x
                key.append(tuple(map(specs_of, x)))
            elif kinds <= _INTEGERS:
                key.append(tuple(x))
            elif kinds <= _NUMBERS and _NEGATIVE_ZERO not in map(repr, x):
                key.append(_Numbers(x))
            else:
                raise TypeError
        elif kind is float and repr(x) != _NEGATIVE_ZERO:
            key.append(x)
        else:
            raise TypeError
    return key


def _member(desc: type[OperatorDesc], name: str) -> Member | None:
    """The member that a parameter gives; None for one that is no member."""
    name = "input" if name == "x" else name
    known = [m for m in desc._members if not m.is_output and m.kind != "AnyDataType"]
    exact = [m for m in known if m.name == name]
    return next(iter(exact or [m for m in known if m.name.endswith(f"_{name}")]), None)


def _operator(
    desc: type[OperatorDesc], members: dict[str, Member | None], arguments: dict[str, Any]
) -> Operator:
    """The descriptor of a call, validated; `arguments` has tensors or their specs."""
    name, specs = desc.operator, list[TensorSpec]()
    out, level, device = (arguments.pop(n, None) for n in ("out", "feature_level", "device"))
    given: dict[str, Any] = {}
    asking: dict[str, Any] = {}
    for argument, value in arguments.items():
        member = members[argument]
        if member is None:
            asking[argument] = value
        elif member.is_tensor and not (value is None and member.optional):
            given[member.name] = _described(name, member, value, specs)
        else:
            given[member.name] = value
    if out is not None:
        given |= _outputs(desc, out, specs)
    if asking:
        given |= desc._asked(given, **asking)
    described_as = desc(**given)
    level = tables.as_level(level, name)
    validated = described_as.validate(level)
    place = None if device is None else as_device(device, f"{name}: device")
    if specs:
        where = under(name, one_device, specs)
        if place is not None and place != where:
            refuse(name, f"device must be that of the tensors, {where}, got {place}")
    operator = Operator(validated, level)
    operator._device = place
    return operator


def _outputs(desc: type[OperatorDesc], out: Any, specs: list[TensorSpec]) -> dict[str, Any]:
    """The descriptors of ``out``, by member."""
    name, members = desc.operator, [member for member in desc._members if member.is_output]
    if len(members) == 1:
        return {members[0].name: _described(name, members[0], out, specs)}
    descs = _descs(name, "out", out, specs)
    if len(descs) != len(members):
        refuse(name, f"out must be {len(members)} tensors, got {len(descs)}")
    return dict(zip((member.name for member in members), descs, strict=True))


def _described(name: str, member: Member, given: Any, specs: list[TensorSpec]) -> Any:
    describe = _descs if member.kind == "Tensors" else _desc
    return describe(name, member.spelling, given, specs)


def _descs(name: str, member: str, given: Any, specs: list[TensorSpec]) -> tuple[TensorDesc, ...]:
    """The descriptors of a sequence of tensors, at least one."""
    if type(given) is not tuple or set(map(type, given)) != {TensorSpec}:
        given = arguments.tensors(name, given, member)
    return tuple(_desc(name, f"{member}[{i}]", x, specs) for i, x in enumerate(given))


def _desc(name: str, member: str, x: Any, specs: list[TensorSpec]) -> TensorDesc:
    """The descriptor of a tensor; ValueError as the rules of tensors say."""
    spec = x if type(x) is TensorSpec else arguments.tensor(name, x, member)._spec
    specs.append(spec)
    try:
        return described(spec)
    except (TypeError, ValueError) as error:
        msg = f"{name}: {member}: {str(error).partition(': ')[2]}"
        raise type(error)(msg) from None
